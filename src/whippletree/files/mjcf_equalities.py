"""Equalities of MJCF: connect, weld, joint and tendon, between bodies or sites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.polynomial import Polynomial

from whippletree.elements.joints import Fixed, Joint, Prismatic, Revolute, Spherical
from whippletree.files.file_limits import PARALLEL
from whippletree.files.mjcf_options import word
from whippletree.files.neutral_model import WORLD, NeutralCoupling, NeutralJoint, NeutralModel
from whippletree.files.poses import from_quaternion, with_axis
from whippletree.files.start_gaps import poses_at
from whippletree.foundation.arrays import AnyArray
from whippletree.spatial.orientation import direction, matmul, rotation_between, transpose
from whippletree.spatial.placement import Placement

if TYPE_CHECKING:
    import mujoco

__all__ = ["add_equalities", "tendon_ratios"]

_TORQUE_SCALE = 10
"""Where the weight of a weld's rotation is among its data."""


class _Connect(NamedTuple):
    """A point of one body that is a point of another: the frames there, of sites or parallel at the start."""

    name: str
    bodies: tuple[str, str]
    frames: tuple[Placement, Placement]

    @property
    def points(self) -> tuple[AnyArray, AnyArray]:
        """The point on either body."""
        one, other = (np.array(frame.point, dtype=float) for frame in self.frames)
        return one, other


def add_equalities(mj: mujoco.MjModel, model: NeutralModel, bodies: Sequence[str], joints: Sequence[str]) -> None:
    """Add the equalities that hold bodies and joints together."""
    connects, poses = list[_Connect](), poses_at(model)
    for k in range(mj.neq):
        name = mj.equality(k).name or f"equality {k}"
        kind = word("Eq", mj.eq_type[k])
        if not mj.eq_active0[k]:
            model.remarks.add("kept aside", f'equality "{name}", which is not active at the start')
            continue
        if kind == "CONNECT":
            (one, on_one), (other, on_other) = _sides(mj, k, bodies, poses)
            connects.append(_Connect(name, (one, other), (on_one, on_other)))
        elif kind == "WELD":
            (one, on_one), (other, on_other) = _sides(mj, k, bodies, poses)
            label = _free_name(model, name)
            held = Fixed() if mj.eq_data[k][_TORQUE_SCALE] else Spherical()  # a weld that leaves rotations free
            model.joints[label] = NeutralJoint(label, held, one, other, on_one, on_other, closes=True)
        elif kind in ("JOINT", "TENDON"):
            coupling = _coupling(mj, k, name, joints)
            if coupling is None:
                model.remarks.add("not understood", f'equality "{name}" of tendons that run through space')
                continue
            model.couplings.append(coupling)
        else:
            model.remarks.add("not understood", f'equality "{name}" of a kind that holds no rigid bodies')
            continue
        model.remarks.add("changed", "equalities, which are soft in the file, are exact")
    _add_connects(model, connects)
    _tell_planar(model)


def _sides(
    mj: mujoco.MjModel, k: int, bodies: Sequence[str], poses: Mapping[str, Placement]
) -> list[tuple[str, Placement]]:
    """Return the two bodies of a connect or weld, and the frames on them that coincide.

    Frames of a connect without sites are parallel where the file starts: there what it closes is at zero.
    """
    ids, data = (int(mj.eq_obj1id[k]), int(mj.eq_obj2id[k])), mj.eq_data[k]
    if word("Obj", mj.eq_objtype[k]) == "SITE":
        return [(bodies[mj.site_bodyid[i]], from_quaternion(mj.site_quat[i], mj.site_pos[i])) for i in ids]
    first, second = bodies[max(ids[0], 0)], bodies[max(ids[1], 0)]
    if word("Eq", mj.eq_type[k]) == "CONNECT":
        points = (first, data[0:3]), (second, data[3:6])
        return [(body, Placement(transpose(poses[body].rotation), _three(point))) for body, point in points]
    return [(first, from_quaternion(data[6:10], data[3:6])), (second, Placement(point=_three(data[0:3])))]


def _three(values: AnyArray) -> tuple[float, float, float]:
    x, y, z = map(float, values)
    return x, y, z


def _free_name(model: NeutralModel, name: str) -> str:
    """Return a name that no joint has."""
    return name if name not in model.joints else _free_name(model, f"{name} (equality)")


# ---------------------------------------------------------------------- connect


def _add_connects(model: NeutralModel, connects: list[_Connect]) -> None:
    """Add connects as ball joints; two of them between the same bodies hold a line, and are a hinge."""
    waiting = [*connects]
    while waiting:
        one = waiting.pop(0)
        partner = next((other for other in waiting if _are_hinge(one, other)), None)
        label = _free_name(model, one.name)
        frames = one.frames
        joint: Joint = Spherical()
        if partner is not None:
            waiting.remove(partner)
            swapped = partner.points if partner.bodies == one.bodies else partner.points[::-1]
            frames = _along(frames, [b - a for a, b in zip(one.points, swapped, strict=True)])
            joint = Revolute()
            model.remarks.add("changed", f'connects "{one.name}" and "{partner.name}" together are a hinge')
        first, second = one.bodies
        model.joints[label] = NeutralJoint(label, joint, first, second, *frames, closes=True)


def _along(frames: tuple[Placement, Placement], axes: Sequence[AnyArray]) -> tuple[Placement, Placement]:
    """Turn two frames so that z is along an axis on each; where that is another axis of the frame, both alike."""
    seen = np.array(transpose(frames[0].rotation)) @ axes[0]
    nearest = int(np.abs(seen).argmax())
    over = with_axis(np.eye(3)[nearest] * np.sign(seen[nearest]))
    one, other = (_onto(frame @ over, axis) for frame, axis in zip(frames, axes, strict=True))
    return one, other


def _onto(frame: Placement, axis: AnyArray) -> Placement:
    """Turn a frame until its z is along an axis."""
    x, y, z = (row[2] for row in frame.rotation)
    turn = rotation_between((x, y, z), direction(_three(axis)))
    return Placement(matmul(turn, frame.rotation), frame.point)


def _are_hinge(one: _Connect, other: _Connect) -> bool:
    """Tell whether two connects hold two points of the same two bodies, as far apart on both."""
    if {*one.bodies} != {*other.bodies}:
        return False
    points = other.points if other.bodies == one.bodies else other.points[::-1]
    lengths = [float(np.linalg.norm(b - a)) for a, b in zip(one.points, points, strict=True)]
    return min(lengths) > PARALLEL and abs(lengths[0] - lengths[1]) < PARALLEL  # not empty: a connection has two points


# ---------------------------------------------------------------------- loops that are planar


def _tell_planar(model: NeutralModel) -> None:
    """Remark the effect of a connect or weld in a loop of parallel hinges."""
    poses = poses_at(model)
    for joint in model.joints.values():
        if not joint.closes or isinstance(joint.joint, Revolute):
            continue
        hinges = _planar_path(model, joint, poses)
        if hinges and isinstance(joint.joint, Spherical):
            model.remarks.add(
                "guessed",
                f'connect "{joint.name}" is a ball joint, as written; its loop is of parallel hinges, where it '
                "works as one more hinge",
            )
        elif hinges and isinstance(joint.joint, Fixed) and hinges <= 3:
            model.remarks.add(
                "changed",
                f'weld "{joint.name}", now exact, leaves no freedom to its loop of {hinges} parallel hinges: if a '
                "hinge is meant, write connect",
            )


def _planar_path(model: NeutralModel, closing: NeutralJoint, poses: dict[str, Placement]) -> int:
    """Return how many parallel hinges lie between the two sides of a closing joint, 0 if there is another joint."""
    above = {joint.child: joint for joint in model.joints.values() if not joint.closes}
    ways = []
    for side in (closing.parent, closing.child):
        way: list[NeutralJoint] = []
        here = side
        while here != WORLD and here in above and len(way) <= len(above):
            way.append(above[here])
            here = above[here].parent
        ways.append(way)
    shared = {joint.name for joint in ways[0]} & {joint.name for joint in ways[1]}
    path = [joint for way in ways for joint in way if joint.name not in shared and not isinstance(joint.joint, Fixed)]
    if not path or any(not isinstance(joint.joint, Revolute | Prismatic) for joint in path):
        return 0
    axes = [np.array((poses[joint.child] @ joint.on_child).rotation)[:, 2] for joint in path]
    hinges = [axis for joint, axis in zip(path, axes, strict=True) if isinstance(joint.joint, Revolute)]
    slides = [axis for joint, axis in zip(path, axes, strict=True) if isinstance(joint.joint, Prismatic)]
    if not hinges or any(np.linalg.norm(np.cross(hinges[0], axis)) > PARALLEL for axis in hinges):
        return 0
    return 0 if any(abs(float(hinges[0] @ axis)) > PARALLEL for axis in slides) else len(hinges)


# ---------------------------------------------------------------------- couplings


def tendon_ratios(mj: mujoco.MjModel, k: int, joints: Sequence[str]) -> dict[tuple[str, int], float] | None:
    """Return the joints of a fixed tendon and their coefficients; None for one that runs through space."""
    first, count = int(mj.tendon_adr[k]), int(mj.tendon_num[k])
    ratios: dict[tuple[str, int], float] = {}
    for w in range(first, first + count):
        if word("Wrap", mj.wrap_type[w]) != "JOINT":
            return None
        ratios[joints[int(mj.wrap_objid[w])], 0] = float(mj.wrap_prm[w])
    return ratios


def _coupling(mj: mujoco.MjModel, k: int, name: str, joints: Sequence[str]) -> NeutralCoupling | None:
    """Return a joint or tendon equality: first - its reference = polynomial of (second - its reference).

    It is None for tendons that run through space.
    """
    ids, data = (int(mj.eq_obj1id[k]), int(mj.eq_obj2id[k])), mj.eq_data[k]
    terms = [_length(mj, word("Eq", mj.eq_type[k]), i, joints) for i in ids if i >= 0]
    if None in terms:
        return None
    (first, reference), *rest = [term for term in terms if term is not None]
    if not rest:
        return NeutralCoupling(name, first, reference + float(data[0]))
    second, other = rest[0]
    powers = Polynomial([float(c) for c in data[:5]])(Polynomial([-other, 1.0]))
    return NeutralCoupling(name, first, reference, [float(c) for c in powers.coef], second)


def _length(
    mj: mujoco.MjModel, kind: str, i: int, joints: Sequence[str]
) -> tuple[dict[tuple[str, int], float], float] | None:
    """Return a joint's coordinate or a tendon's length as a sum of coordinates, and its value where the file starts."""
    if kind == "JOINT":
        return {(joints[i], 0): 1.0}, float(mj.qpos0[mj.jnt_qposadr[i]])
    ratios = tendon_ratios(mj, i, joints)
    return None if ratios is None else (ratios, float(mj.tendon_length0[i]))
