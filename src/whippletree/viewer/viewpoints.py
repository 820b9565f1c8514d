"""From where a scene is seen: of some cameras the one that sees most of the bodies and joints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from whippletree.viewer.framing import camera_choices
from whippletree.viewer.rasterizer import View2D, seen_triangles
from whippletree.viewer.scene import Scene
from whippletree.viewer.triangles import Mesh, merged, skin_mesh, solid_mesh

__all__ = ["well_seen"]

_SIZE = (150, 100)
"""Width and height in pixels of the picture on which visible parts are counted."""

_ENOUGH = 5
"""Of a picture of that size, so many pixels of a solid count as seen."""

_MOST = 400
"""With more solids than that, the first camera is taken."""


def well_seen(scene: Scene) -> Scene:
    """Return the scene with the camera that sees the most solids at its start.

    >>> from whippletree.system.example_systems import four_bar
    >>> from whippletree.viewer.scenes import still_scene
    >>> well_seen(still_scene(four_bar(), four_bar().q0)).camera.up
    (0.0, 0.0, 1.0)
    """
    cameras = camera_choices(scene.outline, np.array(scene.camera.up))
    if not 0 < len(scene.solids) + len(scene.skins) <= _MOST:
        return replace(scene, camera=cameras[0])
    meshes = [_coarse(solid_mesh(one)).placed(scene.track.pose(0, one.place)) for one in scene.solids]
    meshes += [skin_mesh(one.points, one.triangles).placed(scene.track.pose(0, one.place)) for one in scene.skins]
    owner = np.repeat(np.arange(len(meshes)), [len(one.triangles) for one in meshes])
    whole, counts = merged(meshes), []
    for camera in cameras:
        pixels = np.bincount(owner[seen_triangles(whole, View2D.of(camera, *_SIZE))], minlength=len(meshes))
        counts.append(int((pixels >= _ENOUGH).sum()))
    return replace(scene, camera=cameras[int(np.argmax(counts))])


def _coarse(mesh: Mesh) -> Mesh:
    """Return a mesh of few triangles: every so many-th is enough to tell whether a solid is seen."""
    if len(mesh.triangles) <= _FEW:
        return mesh
    used, triangles = np.unique(mesh.triangles[:: 1 + len(mesh.triangles) // _FEW], return_inverse=True)
    return Mesh(mesh.points[used], mesh.normals[used], triangles.reshape(-1, 3))


_FEW = 1000
"""Triangles of a solid that are looked at."""
