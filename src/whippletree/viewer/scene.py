"""A scene: the drawn parts of a mechanism, their places on bodies, and the motion of the bodies.

Nothing here depends on how it is drawn. The page in a browser, glTF files and pictures are all made from a `Scene`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from whippletree.files.surfaces import Surface
from whippletree.foundation.arrays import Indices
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing
from whippletree.kernels.kernel import Array
from whippletree.viewer.proportions import NAMED

__all__ = [
    "GROUND_PLACE",
    "Arrow",
    "Camera",
    "Curve",
    "FrameMark",
    "JointMark",
    "PathMark",
    "Scene",
    "Skin",
    "Solid",
    "Strut",
    "Track",
]

GROUND_PLACE = -1
"""The place of things on the ground; the others are numbered as in `Scene.places`."""


@readable
@dataclass(frozen=True, eq=False)
class Solid:
    """A solid on a place: a box (x, y, z), sphere (radius), cylinder, capsule or cone (radius, length) or mesh.

    It is centred at its `pose` on the place, a cylinder, capsule or cone along z. `role` is "body", "joint", "support"
    or "collision"; `color` numbers the bodies' colours, unless `paint` is the code of one. A mesh has a `surface`, and
    its size are the factors along its axes.

    >>> Solid(0, "sphere", (0.1,), np.eye(4)).role
    'body'
    """

    place: int
    kind: str
    size: tuple[float, ...]
    pose: Array
    role: str = "body"
    color: int = 0
    surface: Surface | None = None
    paint: str = ""


@dataclass(frozen=True, eq=False)
class Strut:
    """A part between points of two places: a "rod", a "spring", a "guide" or a "beam".

    >>> Strut("rod", "tie", 0, np.zeros(3), GROUND_PLACE, np.ones(3), 0.01).second
    -1
    """

    kind: str
    name: str
    first: int
    first_point: Array
    second: int
    second_point: Array
    radius: float
    color: int = 0


@readable
@dataclass(frozen=True, eq=False)
class Skin:
    """A surface on a place that deforms: points (N, 3), triangles (T, 3) of them, and shapes (n, N, 3).

    With amplitudes a (n,), which a `Track` has for all skins one after the other, points are at
    points + sum a_k shapes_k.

    >>> Skin(0, np.zeros((3, 3)), np.arange(3)[None], np.ones((1, 3, 3)), 0).at(np.array([2.0])).tolist()[0]
    [2.0, 2.0, 2.0]
    """

    place: int
    points: Array
    triangles: Indices
    shapes: Array
    color: int

    def at(self, amplitudes: Array) -> Array:
        """Return the points (..., N, 3) on the place, deformed by amplitudes (..., n)."""
        return np.asarray(self.points + np.einsum("...k,kna->...na", amplitudes, self.shapes))


@dataclass(frozen=True, eq=False)
class JointMark:
    """The name, kind and frame of a joint on its parent's place, z along its axis; whether a loop is cut there.

    >>> JointMark("A", "revolute", GROUND_PLACE, np.eye(4), (2,), False).axes
    (2,)
    """

    name: str
    kind: str
    place: int
    pose: Array
    axes: tuple[int, ...]  # of the frame's three: those about or along which it moves
    cut: bool


@dataclass(frozen=True, eq=False)
class FrameMark:
    """A named frame on a place."""

    name: str
    place: int
    pose: Array


@dataclass(frozen=True, eq=False)
class PathMark:
    """A named point of a place whose path is drawn."""

    name: str
    place: int
    point: Array


@readable
@dataclass(frozen=True, eq=False)
class Arrow:
    """A force over time: a vector (n, 3) in ground axes, at a point of a place. `kind` is "reaction" or "force"."""

    name: str
    kind: str
    place: int
    point: Array
    vectors: Array


@readable
@dataclass(frozen=True, eq=False)
class Curve:
    """A quantity over time, (n,), that is plotted beside the scene; those of one `unit` share a diagram."""

    name: str
    unit: str
    values: Array


@readable
@dataclass(frozen=True, eq=False)
class Track:
    """How all places move: times (n,), positions (n, places, 3), unit quaternions (n, places, 4), w first.

    >>> still = Track("", np.zeros(1), np.zeros((1, 2, 3)), np.tile([1.0, 0, 0, 0], (1, 2, 1)))
    >>> len(still), still.pose(0, GROUND_PLACE)[0].tolist()
    (1, [1.0, 0.0, 0.0, 0.0])
    """

    label: str
    t: Array
    positions: Array
    quaternions: Array
    amplitudes: Array = field(default_factory=lambda: np.zeros((1, 0)))  # (n, all) of the skins, in metres

    def __len__(self) -> int:
        return len(self.t)

    def pose(self, frame: int, place: int) -> Array:
        """Return the pose (4, 4) of a place at an instant."""
        found = np.eye(4)
        if place != GROUND_PLACE:
            found[:3, :3] = rotation_of(self.quaternions[frame, place])
            found[:3, 3] = self.positions[frame, place]
        return found


@dataclass(frozen=True)
class Camera:
    """From where the scene is seen: a position, the point it looks at, and which way is up."""

    position: tuple[float, float, float]
    target: tuple[float, float, float]
    up: tuple[float, float, float]


@user_facing
@readable
@dataclass(frozen=True, eq=False)
class Scene:
    """The drawn parts and their motion; the first of the `tracks` is the motion, others are shown beside it.

    `unit` is the radius of links, `outline` (k, 3) are points that a picture has to hold, at the edges of everything at
    all times, and `floor` is how high the ground's grid is, along `camera.up`. `closures` tells in words what holds
    besides joints. The camera goes along with the point that `follow` names.

    >>> from whippletree.system.example_systems import four_bar
    >>> from whippletree.viewer.scenes import still_scene
    >>> scene = still_scene(four_bar(), four_bar().q0)
    >>> scene.places, [mark.name for mark in scene.joints if mark.cut]
    (('crank', 'coupler', 'rocker'), ['C'])
    """

    title: str
    places: tuple[str, ...]
    solids: tuple[Solid, ...]
    struts: tuple[Strut, ...]
    joints: tuple[JointMark, ...]
    frames: tuple[FrameMark, ...]
    tracks: tuple[Track, ...]
    unit: float
    outline: Array
    floor: float
    camera: Camera
    closures: tuple[str, ...] = ()
    paths: tuple[PathMark, ...] = ()
    arrows: tuple[Arrow, ...] = ()
    curves: tuple[Curve, ...] = ()
    notes: tuple[str, ...] = field(default=())
    skins: tuple[Skin, ...] = ()
    follow: PathMark | None = None

    @property
    def named(self) -> bool:
        """Whether the names of joints are shown at first: of few joints, and not over a robot that has meshes."""
        return len(self.joints) <= NAMED and all(one.surface is None for one in self.solids)

    def followed(self, frame: int) -> Array:
        """Return how far the camera has gone along at an instant (3,)."""
        if self.follow is None:
            return np.zeros(3)
        poses = [self.track.pose(k, self.follow.place) for k in (0, frame)]
        here, there = (pose[:3, :3] @ self.follow.point + pose[:3, 3] for pose in poses)
        return np.asarray(there - here)

    def skin_amplitudes(self, track: Track) -> list[Array]:
        """Return the amplitudes (frames, n) of each skin."""
        ends = np.cumsum([len(one.shapes) for one in self.skins])
        return np.split(track.amplitudes, ends[:-1], axis=1) if self.skins else []

    @property
    def track(self) -> Track:
        """The motion."""
        return self.tracks[0]

    @property
    def extent(self) -> float:
        """The length of the diagonal of the box that holds everything."""
        return float(np.linalg.norm(np.ptp(self.outline, axis=0)))

    @property
    def middle(self) -> Array:
        """The middle of that box."""
        return np.asarray((self.outline.min(axis=0) + self.outline.max(axis=0)) / 2)


def rotation_of(quaternion: Array) -> Array:
    """Return the rotation matrix of a unit quaternion, w first.

    >>> rotation_of(np.array([0.0, 0, 0, 1])).diagonal().tolist()
    [-1.0, -1.0, 1.0]
    """
    w, x, y, z = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
