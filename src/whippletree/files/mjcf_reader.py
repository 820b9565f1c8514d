"""MJCF, the format of MuJoCo: the compiled arrays of its own reader become links, joints, equalities and actuators.

Coordinates are MuJoCo's: a hinge's is zero where `ref` says so. A body with several joints is a chain of bodies without
mass. Equalities are soft there, and exact here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whippletree.elements.bodies import MassProperties, Shape
from whippletree.elements.bodies.appearance import color_code
from whippletree.elements.joints import Fixed, Free, Joint, Prismatic, Revolute, Spherical
from whippletree.files.drawn_in import Surroundings
from whippletree.files.mjcf_actuators import add_actuators
from whippletree.files.mjcf_collisions import add_collisions, sizes_of
from whippletree.files.mjcf_equalities import add_equalities
from whippletree.files.mjcf_options import any_nonzero, carry_out_options, word
from whippletree.files.mjcf_source import PLAIN, compiled
from whippletree.files.neutral_model import WORLD, NeutralFrame, NeutralJoint, NeutralLink, NeutralModel
from whippletree.files.poses import about_axis, from_quaternion, with_axis
from whippletree.files.weights import Weightless
from whippletree.files.xml_source import XmlElement
from whippletree.model.io.model_file import JointRange
from whippletree.model.names import suggestion
from whippletree.spatial.placement import Placement

if TYPE_CHECKING:
    import mujoco

__all__ = ["read_mjcf"]

_KINDS: dict[str, type[Joint]] = {"FREE": Free, "BALL": Spherical, "SLIDE": Prismatic, "HINGE": Revolute}
_SHAPES = ("sphere", "capsule", "cylinder", "box", "mesh")


def read_mjcf(root: XmlElement, around: Surroundings, data: bytes, keyframe: str | int | None = None) -> NeutralModel:
    """Read a model through MuJoCo, to start at a keyframe if one is given."""
    model = NeutralModel(root.get("model") or "model", root.file)
    mj = compiled(root, around, data, model.remarks)
    lines = {
        e["name"]: e.line for e in root.below() if e.tag in ("body", "joint", "freejoint") and "name" in e.attributes
    }
    reading = _MjcfReading(mj, model, lines)
    found = reading.model()
    if keyframe is not None:
        reading.start_at(_key(mj, keyframe, root))
    return found


def _key(mj: mujoco.MjModel, keyframe: str | int, root: XmlElement) -> int:
    """Return the number of a keyframe."""
    names = [mj.key(k).name for k in range(mj.nkey)]
    if keyframe in names:
        return names.index(str(keyframe))
    if isinstance(keyframe, int) and not isinstance(keyframe, bool) and 0 <= keyframe < mj.nkey:
        return keyframe
    raise root.error(f"there is no keyframe {suggestion(keyframe, names)}: it has {mj.nkey} of them")


class _MjcfReading:
    """The arrays of a compiled model, body by body."""

    def __init__(self, mj: mujoco.MjModel, model: NeutralModel, lines: dict[str, int]) -> None:
        self._mj, self._m, self._lines = mj, model, lines
        self._aside = _collision_groups(mj)
        self._bodies = [WORLD]
        self._joints: list[str] = []

    def model(self) -> NeutralModel:
        """Return the whole model."""
        mj, m = self._mj, self._m
        carry_out_options(mj, m.remarks)
        m.gravity = tuple(float(g) for g in mj.opt.gravity)  # type: ignore[assignment]
        used: set[str] = set()
        for k in range(1, mj.nbody):
            self._bodies.append(_own_name(mj.body(k).name, f"body {k}", used))
        used = set()
        for k in range(mj.njnt):
            body = self._bodies[mj.jnt_bodyid[k]]
            self._joints.append(_own_name(mj.jnt(k).name, f"joint of {body}", used))
        for k in range(1, mj.nbody):
            self._body(k)
        self._frames()
        add_equalities(mj, m, self._bodies, self._joints)
        add_actuators(mj, m, self._joints)
        add_collisions(mj, m, self._bodies)
        self._tell()
        return m

    def start_at(self, key: int) -> None:
        """Start at a keyframe: coordinates and velocities of all joints."""
        mj, m = self._mj, self._m
        for j, name in enumerate(self._joints):
            joint, a, d = m.joints[name].joint, int(mj.jnt_qposadr[j]), int(mj.jnt_dofadr[j])
            q = [float(x) for x in mj.key_qpos[key][a : a + joint.nq]]
            v = [float(x) for x in mj.key_qvel[key][d : d + joint.nv]]
            if isinstance(joint, Free):
                q = [*q[3:], *q[:3]]
                R = np.array(from_quaternion(q[:4]).rotation)
                v = [*v[3:], *(R.T @ v[:3]).tolist()]
            m.guess[name] = q[0] if len(q) == 1 else tuple(q)
            if any(v):
                m.velocities[name] = v[0] if len(v) == 1 else tuple(v)
        if m.velocities and (m.couplings or any(joint.closes for joint in m.joints.values())):
            m.nearest = True
            m.remarks.add("changed", "velocities of the keyframe change as little as exact equalities ask for")

    # ------------------------------------------------------------------ bodies and joints

    def _body(self, k: int) -> None:
        mj, name = self._mj, self._bodies[k]
        own = from_quaternion(mj.body_iquat[k], mj.body_ipos[k])
        mass = MassProperties.as_given(float(mj.body_mass[k]), inertia=[float(i) for i in mj.body_inertia[k]])
        properties = mass.moved(at=own.point, rotation=own.rotation)
        link = NeutralLink(name, properties, self._lines.get(name), [*self._looks(k)])
        if mj.body_gravcomp[k]:
            self._m.later.append(Weightless(name, properties, float(mj.body_gravcomp[k])))
        first, count = int(mj.body_jntadr[k]), int(mj.body_jntnum[k])
        at = from_quaternion(mj.body_quat[k], mj.body_pos[k])
        parent = self._bodies[mj.body_parentid[k]]
        if count == 0:
            label = f"{name} on {parent or 'ground'}"
            self._m.joints[label] = NeutralJoint(label, Fixed(), parent, name, at, Placement(), link.line)
        for number, j in enumerate(range(first, first + count)):
            last = number == count - 1
            child = name if last else f"{name} behind {self._joints[j]}"
            if not last:
                self._m.links[child] = NeutralLink(child, line=link.line)
            self._joint(j, parent, child, at)
            parent, at = child, Placement()
        self._m.links[name] = link

    def _joint(self, j: int, parent: str, child: str, at: Placement) -> None:
        mj, name = self._mj, self._joints[j]
        kind = _KINDS[word("Joint", mj.jnt_type[j])]
        address, dof = int(mj.jnt_qposadr[j]), int(mj.jnt_dofadr[j])
        x, y, z = map(float, mj.jnt_pos[j])
        spot = Placement(point=(x, y, z))
        if kind is Free:
            on_parent, on_child = Placement(), Placement()
            pose = mj.qpos0[address : address + 7]
            self._m.guess[name] = (*map(float, pose[3:7]), *map(float, pose[0:3]))
        elif kind is Spherical:
            on_parent, on_child = at @ spot, spot
        else:
            reference = float(mj.qpos0[address])
            axis = spot @ with_axis(mj.jnt_axis[j])
            back = about_axis(-reference) if kind is Revolute else about_axis(0.0, -reference)
            on_parent, on_child = at @ axis @ back, axis
            if reference:
                self._m.guess[name] = reference
        use = NeutralJoint(name, kind(), parent, child, on_parent, on_child, self._lines.get(name))
        use.damping, use.friction = float(mj.dof_damping[dof]), float(mj.dof_frictionloss[dof])
        self._spring(j, use, address)
        self._armature(use, dof)
        self._range(j, use)
        if use.friction:
            self._m.remarks.add("changed", "dry friction of joints (frictionloss) is smooth near rest")
        if any_nonzero(mj, "dof_dampingpoly", dof) or any_nonzero(mj, "jnt_stiffnesspoly", j):
            self._m.remarks.add("not understood", f'what is not linear in stiffness and damping of joint "{name}"')
        self._m.joints[name] = use

    def _spring(self, j: int, use: NeutralJoint, address: int) -> None:
        stiffness = float(self._mj.jnt_stiffness[j])
        if stiffness and use.joint.nv == 1:
            use.stiffness, use.rest = stiffness, float(self._mj.qpos_spring[address])
        elif stiffness:
            self._m.remarks.add("not understood", f'the stiffness of the {use.joint.kind} joint "{use.name}"')

    def _armature(self, use: NeutralJoint, dof: int) -> None:
        inertia = float(self._mj.dof_armature[dof])  # the same for all freedoms of a joint
        if use.joint.nv <= 3:
            use.armature = inertia
        elif inertia:
            self._m.remarks.add("not understood", f'the armature of the {use.joint.kind} joint "{use.name}"')

    def _range(self, j: int, use: NeutralJoint) -> None:
        mj = self._mj
        effort = float(mj.jnt_actfrcrange[j][1]) if mj.jnt_actfrclimited[j] else None
        if effort is not None:
            self._m.remarks.add("kept aside", f'actuatorfrcrange of joint "{use.name}", which nothing enforces')
        if mj.jnt_limited[j] and use.joint.nv == 1:
            lower, upper = map(float, mj.jnt_range[j])
            use.range = JointRange(lower, upper, None, effort)
            self._m.remarks.add("kept aside", "ranges of joints, which nothing enforces (stops=True does)")
        elif mj.jnt_limited[j]:
            self._m.remarks.add("not understood", f'the range of the {use.joint.kind} joint "{use.name}"')
        elif effort is not None:
            use.range = JointRange(effort=effort)

    # ------------------------------------------------------------------ the rest

    def _looks(self, k: int) -> list[Shape]:
        mj, found = self._mj, []
        for g in range(int(mj.body_geomadr[k]), int(mj.body_geomadr[k]) + int(mj.body_geomnum[k])):
            kind = word("Geom", mj.geom_type[g]).lower()
            colliding = _collides(mj, g)
            if kind not in _SHAPES or not (colliding or self._is_seen(g)):
                continue
            looks = self._color(g), colliding and not self._is_seen(g)
            if kind == "mesh":
                found += self._mesh(g, *looks)
                continue
            pose = from_quaternion(mj.geom_quat[g], mj.geom_pos[g])
            found.append(Shape(kind, sizes_of(mj, g), pose, "", *looks))
        return found

    def _is_seen(self, g: int) -> bool:
        """Tell whether a geom is drawn as it stands: not if it is transparent, or in a group for collisions.

        Meshes for looks are drawn in any group, as bones that are hidden under a skin.
        """
        mj = self._mj
        bone = word("Geom", mj.geom_type[g]) == "MESH" and not _collides(mj, g)
        return float(mj.geom_rgba[g][3]) > 0.0 and (bone or int(mj.geom_group[g]) not in self._aside)

    def _color(self, g: int) -> str:
        rgba = tuple(map(float, self._mj.geom_rgba[g]))
        return "" if rgba == PLAIN else color_code(rgba)

    def _mesh(self, g: int, color: str, collides: bool) -> list[Shape]:
        """Return the mesh of a geom as its file has it: MuJoCo has moved it to its centre and principal axes."""
        mj, k = self._mj, int(self._mj.geom_dataid[g])
        start = int(mj.mesh_pathadr[k])
        if start < 0:
            return []
        file = bytes(mj.paths)[start:].split(b"\0")[0].decode("utf-8", "replace")
        moved = from_quaternion(mj.mesh_quat[k], mj.mesh_pos[k])
        pose = from_quaternion(mj.geom_quat[g], mj.geom_pos[g]) @ moved.inverse()
        return [Shape("mesh", tuple(map(float, mj.mesh_scale[k])), pose, file, color, collides)] if file else []

    def _frames(self) -> None:
        """Keep named sites as frames."""
        mj = self._mj
        for k in range(mj.nsite):
            if mj.site(k).name:
                pose = from_quaternion(mj.site_quat[k], mj.site_pos[k])
                self._m.frames.append(NeutralFrame(mj.site(k).name, self._bodies[mj.site_bodyid[k]], pose))

    def _tell(self) -> None:
        """Remark parts of the file that are not read."""
        mj, add = self._mj, self._m.remarks.add
        if mj.opt.density or mj.opt.viscosity or np.any(mj.opt.wind):
            add("not understood", "the density, viscosity or wind of a medium")
        for k in range(mj.nkey):
            name = mj.key(k).name or f"number {k}"
            add("kept aside", f"keyframe {name}: the start is the file's own unless keyframe= names it")
        if mj.nmocap:
            add("changed", "a mocap body is fixed to the ground")


def _collides(mj: mujoco.MjModel, g: int) -> bool:
    return bool(mj.geom_contype[g] or mj.geom_conaffinity[g])


def _collision_groups(mj: mujoco.MjModel) -> set[int]:
    """Return the groups of geoms that are not seen: those MuJoCo hides, and those beside meshes for looks only."""
    colliding, looks = set[int](), dict[int, bool]()
    for g, group in enumerate(mj.geom_group.tolist()):
        if _collides(mj, g):
            colliding.add(group)
        else:
            looks[group] = looks.get(group, False) or word("Geom", mj.geom_type[g]) == "MESH"
    meshed = any(looks[group] for group in looks if group < _HIDDEN)
    return {group for group in {*colliding, *looks} if group >= _HIDDEN or (meshed and group not in looks)}


_HIDDEN = 3
"""The first of the groups of geoms that MuJoCo does not draw unless it is asked to."""


def _own_name(name: str, default: str, used: set[str]) -> str:
    """Return a name that has not been used; unnamed things get the default."""
    found, k = name or default, 1
    while found in used:
        k += 1
        found = f"{name or default} {k}"
    used.add(found)
    return found
