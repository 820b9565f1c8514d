"""Where joints are: all combinations of `at`, `axis`, `pose` and their child forms, for every joint, also in YAML.

What is expected is written down again here, in plain NumPy, from the table of docs/start/conventions.md.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import whippletree as wt
from support.sampling import rest
from whippletree.elements.joints import Fixed, Free, Spherical
from whippletree.errors import FileError, ModelError
from whippletree.model import Mechanism
from whippletree.model.io import read_text, write_text

Array = np.ndarray
AXES = {"fixed": 0, "spherical": 0, "free": 0, "universal": 2}
TYPES = {"fixed": Fixed(), "spherical": Spherical(), "free": Free()}
KINDS = ("fixed", "revolute", "prismatic", "screw", "cylindrical", "planar", "universal", "spherical", "free")
EDGE = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # columns y, z, x


def turn(axis: str, angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    i, j = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
    R = np.eye(3)
    R[i, i] = R[j, j] = c
    R[j, i], R[i, j] = s, -s
    return R


def pose_of(rotation: Any = None, point: Any = (0, 0, 0)) -> Array:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = np.eye(3) if rotation is None else rotation, point
    return T


POSE = pose_of(turn("x", 0.4) @ turn("z", -1.1) @ turn("y", 0.7), (0.3, -0.2, 0.5))
POSE_CHILD = pose_of(turn("y", 1.3) @ turn("x", -0.6), (-0.1, 0.4, 0.2))
AT, AT_CHILD = (1.0, 2.0, 3.0), (0.5, -0.5, 0.25)

ON_PARENT: list[dict[str, Any]] = [{}, {"at": AT}, {"axis": "x"}, {"at": AT, "axis": "x"}, {"pose": POSE}]
ON_CHILD: list[dict[str, Any]] = [
    {},
    {"at_child": AT_CHILD},
    {"axis_child": "y"},
    {"at_child": AT_CHILD, "axis_child": "y"},
    {"pose_child": POSE_CHILD},
]
SIDES = [{**near, **far} for near, far in itertools.product(ON_PARENT, ON_CHILD)]


def expected(kind: str, given: dict[str, Any]) -> tuple[Array, Array] | None:
    """The joint frame on the parent and on the child; nothing if that is to be refused."""
    axes = AXES.get(kind, 1)
    named = {"axis", "axis_child"} & set(given)
    if axes == 0 and named:
        return None
    if axes == 2 and (("pose" in given and named) or ("pose_child" in given and "pose" not in given)):
        return None
    along = {"x": EDGE, "y": EDGE @ EDGE, "z": np.eye(3)}
    if "pose" in given:
        near, far = given["pose"], np.eye(3)
    elif axes == 2:
        # x of the frame is the parent's axis, z the child's: "x" and "y", as they are by default
        near = pose_of(np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]).T, given.get("at", (0, 0, 0)))
        far = near[:3, :3]
    else:
        near = pose_of(along[given.get("axis", "z")], given.get("at", (0, 0, 0)))
        far = near[:3, :3]
    if axes == 1 and "axis_child" in given:
        z = far[:, 2]
        # the smallest turn from z to y: by a right angle, about their normal
        far = {(1.0, 0.0): turn("z", np.pi / 2), (0.0, 1.0): turn("x", -np.pi / 2)}[z[0], z[2]] @ far
    return near, given.get("pose_child", pose_of(far, given.get("at_child", (0, 0, 0))))


def described(kind: str, given: dict[str, Any]) -> Mechanism:
    m = Mechanism("m")
    m.body("parent", mass=1.0, com=(0.1, 0, 0), inertia=np.eye(3))
    m.body("child", mass=1.0, com=(0, 0.2, 0), inertia=np.eye(3))
    m.free("base", m.ground, "parent")
    if AXES.get(kind) == 0 and "axis" in " ".join(given):  # only the call for joints of any type takes an axis
        m.joint("J", "parent", "child", TYPES[kind], **given)
    else:
        getattr(m, kind)("J", "parent", "child", **given, **({"lead": 0.3} if kind == "screw" else {}))
    return m


def written(kind: str, given: dict[str, Any]) -> str:
    """The same as a model file; a pose as point and rotation, or as a matrix."""

    def value(key: str, x: Any) -> Any:
        if key == "pose":
            return {"at": x[:3, 3].tolist(), "rotation": x[:3, :3].tolist()}
        return x if isinstance(x, str) else np.asarray(x).tolist()

    keys = {kind: ["parent", "child"], **{key: value(key, x) for key, x in given.items()}}
    if kind == "screw":
        keys["lead"] = 0.3
    body = "{mass: 1, com: %s, inertia: [1, 1, 1]}"
    return (
        f"name: m\nbodies:\n  parent: {body % [0.1, 0, 0]}\n  child: {body % [0, 0.2, 0]}\n"
        f"joints:\n  base: {{free: [ground, parent]}}\n  J: {str(keys).replace(chr(39), chr(34))}\n"
    )


def neutral_pose(s: wt.System, where: Array) -> Array:
    """The child's pose in the parent, with the parent anywhere and the joint at zero."""
    q = s.configuration()
    base = s.q_slice("base")
    q[base.start + 4 : base.stop] = where
    return np.linalg.inv(s.pose(q, "parent")) @ s.pose(q, "child")


@pytest.mark.parametrize("given", SIDES, ids=lambda given: " ".join(given) or "nothing")
@pytest.mark.parametrize("kind", KINDS)
def test_every_combination(kind: str, given: dict[str, Any]) -> None:
    wanted = expected(kind, given)
    if wanted is None:
        with pytest.raises(ModelError, match='joint "J"'):
            described(kind, given)
        with pytest.raises(FileError, match="J"):
            read_text(written(kind, given))
        return
    m = described(kind, given)
    use = m.describe().joint("J")
    for placement, frame in zip((use.on_parent, use.on_child), wanted, strict=True):
        assert np.abs(placement.matrix() - frame).max() < 1e-15
    read = read_text(written(kind, given)).mechanism.describe().joint("J")
    again = read_text(write_text(m)).mechanism.describe().joint("J")
    assert (read.on_parent, read.on_child) == (again.on_parent, again.on_child) == (use.on_parent, use.on_child)


@pytest.mark.rest
@pytest.mark.parametrize("kind", KINDS)
def test_a_pose_alone_is_the_pose_of_the_child(kind: str) -> None:
    """At zero coordinates, by the engine's kinematics; with a point of the child, that point is at the pose."""
    s = described(kind, {"pose": POSE}).build()
    assert np.abs(neutral_pose(s, (3.0, -2.0, 1.0)) - POSE).max() < 1e-14
    s = described(kind, {"pose": POSE, "at_child": AT_CHILD}).build()
    moved = neutral_pose(s, (3.0, -2.0, 1.0))
    assert np.abs(moved[:3, :3] - POSE[:3, :3]).max() < 1e-14
    assert np.abs((moved @ [*AT_CHILD, 1.0])[:3] - POSE[:3, 3]).max() < 1e-14


@pytest.mark.parametrize("kind", ["revolute", *rest(["prismatic", "screw"])])
@pytest.mark.parametrize("given", SIDES, ids=lambda given: " ".join(given) or "nothing")
def test_the_joint_moves_along_its_axis(kind: str, given: dict[str, Any]) -> None:
    """A unit of the coordinate is the motion of the joint frame about and along its z, on both bodies."""
    frames = expected(kind, given)
    assert frames is not None
    near, far = frames
    s = described(kind, given).build()
    q = s.configuration({"J": 0.8})
    across = np.linalg.inv(s.pose(q, "parent") @ near) @ s.pose(q, "child") @ far
    angle, shift = {"revolute": (0.8, 0.0), "prismatic": (0.0, 0.8), "screw": (0.8, 0.8 * 0.3 / (2 * np.pi))}[kind]
    assert np.abs(across - pose_of(turn("z", angle), (0, 0, shift))).max() < 1e-14


@pytest.mark.parametrize(("axis", "other"), [("z", "-z"), ("x", "-x"), ("y", "-y"), ((1, 1, 0), (-2, -2, 0))])
def test_the_opposite_axis_is_half_a_turn_about_x_of_the_joint_frame(axis: Any, other: Any) -> None:
    use = described("revolute", {"axis": axis, "axis_child": other}).describe().joint("J")
    near, far = (placement.matrix()[:3, :3] for placement in (use.on_parent, use.on_child))
    assert np.abs(near.T @ far - np.diag([1.0, -1.0, -1.0])).max() < 1e-15


def test_a_bushing_is_placed_like_a_weld() -> None:
    """Nothing is deformed where the child's pose is that which is given."""
    m = Mechanism("m", gravity=(0, 0, 0))
    m.free("base", m.ground, m.body("child", mass=1.0, inertia=np.eye(3)))
    m.bushing("rubber", m.ground, "child", pose=POSE, stiffness=np.ones(6))
    s = m.build()
    w = np.sqrt(1 + np.trace(POSE[:3, :3])) / 2
    skewed = POSE[:3, :3] - POSE[:3, :3].T
    quaternion = [w, *(np.array([skewed[2, 1], skewed[0, 2], skewed[1, 0]]) / (4 * w))]
    q = s.configuration({"base": [*quaternion, *POSE[:3, 3]]})
    assert np.abs(s.pose(q, "child") - POSE).max() < 1e-15
    assert np.abs(s.forward_dynamics(q, s.v0)).max() < 1e-14
    assert np.abs(s.forward_dynamics(s.configuration(), s.v0)).max() > 0.1


BAD: list[tuple[str, dict[str, Any]]] = [
    ("4 x 4", {"pose": np.eye(3)}),
    ("4 x 4", {"pose": "here"}),
    ("right-handed", {"pose": np.diag([1.0, 1, -1, 1])}),
    ("orthonormal", {"pose": np.diag([1.0, 2, 1, 1])}),
    ("finite", {"pose": np.full((4, 4), np.nan)}),
    ("must be a number", {"pose": POSE, "pose_child": np.zeros((4, 4, 4))}),
    ("pose or at", {"pose": POSE, "at": AT}),
    ("pose_child or at_child", {"pose_child": POSE, "at_child": AT}),
    ("3 numbers", {"at": (1, 2)}),
    ("finite", {"at_child": (np.inf, 0, 0)}),
]


@pytest.mark.parametrize(("words", "given"), BAD, ids=lambda x: x if isinstance(x, str) else " ".join(x))
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_place_is_refused_in_words(kind: str, words: str, given: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match=words):
        described(kind, given)
