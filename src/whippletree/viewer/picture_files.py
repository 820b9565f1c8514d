"""PNG and GIF pictures of scenes, without a browser."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from whippletree.errors import ResultError
from whippletree.kernels.kernel import Array
from whippletree.viewer.framing import fitted
from whippletree.viewer.rasterizer import View2D, rasterize
from whippletree.viewer.scene import Scene
from whippletree.viewer.scene_colors import BACK, GRID, INK, body_color, linear, solid_color, strut_color
from whippletree.viewer.triangles import Mesh, merged, skin_mesh, solid_mesh, strut_mesh

if TYPE_CHECKING:
    from PIL.Image import Dither, Image

__all__ = ["frame_mesh", "gif", "picture", "png"]

_GIF_FRAMES = 100
"""So many pictures are in a GIF at most."""

_NAMES_FROM = 200
"""Names are written on pictures that are at least so many pixels high."""

_CELLS = 12
"""Cells of the ground's grid from its middle to its edge."""


def png(scene: Scene, *, frame: int = 0, size: tuple[int, int] = (900, 600)) -> bytes:
    """Return a PNG picture of one instant.

    >>> from whippletree.system.example_systems import four_bar
    >>> from whippletree.viewer.scenes import still_scene
    >>> png(still_scene(four_bar(), four_bar().q0), size=(90, 60))[1:4]
    b'PNG'
    """
    file, view = io.BytesIO(), _view(scene, size, frame)
    picture(scene, frame, view, _background(scene, view, scene.followed(frame))).save(file, "PNG", optimize=True)
    return file.getvalue()


def gif(scene: Scene, *, size: tuple[int, int] = (600, 400), speed: float = 1.0) -> bytes:
    """Return a GIF of the whole motion, which is repeated for ever.

    >>> from whippletree.results.example_runs import swing
    >>> from whippletree.viewer.scenes import run_scene
    >>> gif(run_scene(swing()), size=(60, 40))[:6]
    b'GIF89a'
    """
    track, file = scene.track, io.BytesIO()
    span = float(track.t[-1] - track.t[0]) / speed
    count = max(1, min(len(track), _GIF_FRAMES, math.ceil(25 * span)))
    times = np.linspace(track.t[0], track.t[-1], count)
    rows = [int(np.argmin(np.abs(track.t - t))) for t in times]
    views = [_view(scene, size, row) for row in rows]
    looked_from = [*zip(rows, views, strict=True)]
    backs = [
        _background(scene, view, scene.followed(row))
        for row, view in (looked_from[:1] if scene.follow is None else looked_from)
    ]
    seen = (picture(scene, row, view, backs[k % len(backs)]) for k, (row, view) in enumerate(looked_from))
    first = next(seen)  # not empty: there is one
    palette = first.quantize(128)  # the same for all: what does not move does not flicker
    images = [one.quantize(palette=palette, dither=_no_dither()) for one in (first, *seen)]
    pause = max(20, round(1000 * span / max(count - 1, 1)))
    images[0].save(file, "GIF", save_all=True, append_images=images[1:], duration=pause, loop=0, optimize=False)
    return file.getvalue()


def picture(scene: Scene, frame: int, view: View2D, back: Array) -> Image:
    """Return the picture of an instant, with a grid on the floor and the joints' names, if these are few."""
    mesh, colors = frame_mesh(scene, frame)
    found = _image(rasterize(mesh, colors, view, back))
    if scene.named and view.height >= _NAMES_FROM:
        points = [scene.track.pose(frame, one.place) @ one.pose[:, 3] for one in scene.joints]
        where, _ = view.project(np.array(points).reshape(-1, 4)[:, :3])
        _drawn_names(found, [one.name for one in scene.joints], where)
    return found


def frame_mesh(scene: Scene, frame: int) -> tuple[Mesh, Array]:
    """Return all triangles at an instant, and the colours of their corners."""
    meshes, colors = [], []
    for solid in scene.solids:
        meshes.append(solid_mesh(solid).placed(scene.track.pose(frame, solid.place)))
        colors.append(linear(solid_color(solid)))
    for strut in scene.struts:
        start, end = (
            (scene.track.pose(frame, place) @ [*point, 1.0])[:3]
            for place, point in ((strut.first, strut.first_point), (strut.second, strut.second_point))
        )
        meshes.append(strut_mesh(strut.kind, start, end, strut.radius))
        colors.append(linear(strut_color(strut)))
    for skin, amplitudes in zip(scene.skins, scene.skin_amplitudes(scene.track), strict=True):
        surface = skin_mesh(skin.at(amplitudes[frame]), skin.triangles)
        meshes.append(surface.placed(scene.track.pose(frame, skin.place)))
        colors.append(linear(body_color(skin.color)))
    counts = [len(one.points) for one in meshes]
    return merged(meshes), np.repeat(np.array(colors).reshape(-1, 3), counts, axis=0)


def _view(scene: Scene, size: tuple[int, int], frame: int) -> View2D:
    """Return the view of the scene's camera at an instant, as near as a picture of this size allows."""
    away = np.array(scene.camera.position) - np.array(scene.camera.target)
    camera = fitted(scene.outline, away / np.linalg.norm(away), np.array(scene.camera.up), size[0] / size[1])
    view = View2D.of(camera, *size)
    return view._replace(position=view.position + scene.followed(frame))


def _background(scene: Scene, view: View2D, gone: Array) -> Array:
    """Return the background (height, width, 3), with the grid's lines where they are seen."""
    up = np.array(scene.camera.up)
    a = np.cross(up, np.eye(3)[int(np.argmin(np.abs(up)))])
    a = a / np.linalg.norm(a)
    b = np.cross(up, a)
    x, y = np.meshgrid(np.arange(view.width) + 0.5, np.arange(view.height) + 0.5)
    rays = np.stack([(x - view.width / 2) / view.focal, (view.height / 2 - y) / view.focal, -np.ones_like(x)], axis=2)
    rays = rays @ view.axes
    drop, rise = rays @ up, float(view.position @ up) - scene.floor
    with np.errstate(divide="ignore", invalid="ignore"):
        ground = view.position + (-rise / drop)[..., None] * rays
        depth = -rise / drop
    step = _nice(scene.extent / 8)
    away = ground - scene.middle - gone
    reach = np.linalg.norm(away - (away @ up)[..., None] * up, axis=2)
    fade = np.clip(1 - reach / (_CELLS * step), 0.0, 1.0) * (depth > 0)
    line = np.zeros(fade.shape)
    for axis in (a, b):
        at = ground @ axis / step
        width = depth / view.focal / step / np.maximum(np.abs(drop), 0.15) * 0.8  # about a pixel
        line = np.maximum(line, np.clip(1.0 - np.abs(at - np.round(at)) / np.maximum(width, 1e-12), 0.0, 1.0))
    share = np.nan_to_num(line * fade)[..., None]
    return np.asarray((1 - share) * linear(BACK) + share * linear(GRID))


def _nice(size: float) -> float:
    power = 10 ** math.floor(math.log10(max(size, 1e-12)))
    return float(next(k * power for k in (1, 2, 5, 10) if k * power >= size * (1 - 1e-12)))  # not empty: ten are enough


def _drawn_names(found: Image, names: list[str], where: Array) -> None:
    """Write names beside points that are in a picture; where two would overlap, the later one is left out."""
    from PIL import ImageDraw, ImageFont

    ink, font = ImageDraw.Draw(found), ImageFont.load_default(14)
    taken: list[tuple[float, ...]] = []
    for name, (right, low) in zip(names, where.tolist(), strict=True):
        if not (0 <= right <= found.width and 0 <= low <= found.height):
            continue
        x, y = max(min(right + 13, found.width - ink.textlength(name, font=font) - 4), 4), low - 27
        box = ink.textbbox((x, y), name, font=font, stroke_width=2)
        if all(box[0] >= o[2] or o[0] >= box[2] or box[1] >= o[3] or o[1] >= box[3] for o in taken):
            taken.append(box)
            ink.text((x, y), name, fill=INK, font=font, stroke_width=2, stroke_fill=BACK)


def _no_dither() -> Dither:
    from PIL.Image import Dither

    return Dither.NONE


def _image(pixels: npt.NDArray[np.uint8]) -> Image:
    try:
        from PIL.Image import fromarray
    except ImportError:
        raise ResultError('pictures need Pillow: install it with pip install "whippletree[plot]"') from None
    return fromarray(pixels)
