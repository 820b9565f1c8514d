"""Model files as the libraries that own their formats have them: masses, poses and accelerations at random states.

Loops, couplings and what is smooth here and not there (dry friction, limits, contact) are left out on both sides; so
is, where a library knows none of them, what springs and dampers do.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np

import whippletree as wt
from support.examined_files import folders_of
from whippletree.elements.forces import Friction
from whippletree.elements.joints import Fixed, Free, Spherical
from whippletree.model.names import quoted

if TYPE_CHECKING:
    from support.examined_files import Finding

__all__ = ["beside_owner"]

Array = np.ndarray
STATES = 3
FRAGMENTS = ("mujocoinclude", "has no <link>", "there is no rigid body in it", "cannot be read as USD")
"""What is said of files that hold no model of their own."""

MISSING = ("is not found in", "which is missing", "No such file or directory")


class RefusedError(Exception):
    """The owning library does not read the file."""


@dataclass(frozen=True)
class Block:
    """Where the numbers of one joint are, and how they are written there."""

    kind: str
    q: slice
    v: slice
    at_q: int
    at_v: int


def turned(w: float, x: float, y: float, z: float) -> Array:
    """The matrix of a unit quaternion."""
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2 * w * K + 2 * K @ K


def angles_of(R: Array) -> list[float]:
    """Roll, pitch and yaw of a rotation."""
    return [math.atan2(R[2, 1], R[2, 2]), math.asin(-R[2, 0]), math.atan2(R[1, 0], R[0, 0])]


class Beside:
    """A bare tree of ours, and where its numbers are in another library's vectors."""

    def __init__(self, s: wt.System, blocks: Sequence[Block], nq: int, nv: int) -> None:
        self.s, self.blocks, self.nq, self.nv = s, blocks, nq, nv
        assert sum(one.v.stop - one.v.start for one in blocks) == s.nv == nv, "other freedoms"

    def state(self, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        """Random coordinates, velocities and efforts."""
        q = np.array(self.s.configuration(), dtype=float)
        for use in self.s.description.joints:
            rows = self.s.q_slice(use.name)
            if isinstance(use.joint, Free | Spherical):
                turn = rng.normal(size=4)
                q[rows] = [*(turn / np.linalg.norm(turn)), *rng.normal(size=rows.stop - rows.start - 4)]
            elif not isinstance(use.joint, Fixed):
                q[rows] = rng.uniform(-1.2, 1.2, rows.stop - rows.start)
        return q, rng.normal(size=self.s.nv), rng.normal(size=self.s.nv)

    def there(self, q: Array, v: Array) -> tuple[Array, Array]:
        """The same state in the other library's numbers."""
        q_there, v_there = np.zeros(self.nq), np.zeros(self.nv)
        for one in self.blocks:
            x, T = q[one.q], self.map(one, q)
            n = T.shape[0]
            v_there[one.at_v : one.at_v + n] = np.linalg.solve(T, v[one.v])
            written: Sequence[float] = x
            match one.kind:
                case "circle":
                    written = [math.cos(x[0]), math.sin(x[0])]
                case "planar":
                    written = [x[1], x[2], math.cos(x[0]), math.sin(x[0])]
                case "ball xyzw":
                    written = [*x[1:], x[0]]
                case "ball rpy":
                    written = angles_of(turned(*x))
                case "free xyzw":
                    written = [*x[4:], *x[1:4], x[0]]
                case "free wxyz":
                    written = [*x[4:], *x[:4]]
            q_there[one.at_q : one.at_q + len(written)] = written
        return q_there, v_there

    def map(self, one: Block, q: Array) -> Array:
        """T with our velocities = T theirs."""
        x, O, E = q[one.q], np.zeros((3, 3)), np.eye(3)
        match one.kind:
            case "free xyzw":  # both in the body's axes
                return np.block([[O, E], [E, O]])
            case "free wxyz":  # linear in the world's axes
                return np.block([[O, E], [turned(*x[:4]).T, O]])
            case "free world":
                R = turned(*x[:4]).T
                return np.block([[R, O], [O, R]])
            case "ball rpy":
                return turned(*x[:4]).T
            case "planar":
                c, s = math.cos(x[0]), math.sin(x[0])
                return np.array([[0, 0, 1], [c, -s, 0], [s, c, 0]])
        return np.eye(one.v.stop - one.v.start)

    def accelerations(self, q: Array, v: Array, theirs: Array) -> Array:
        """Their accelerations in our coordinates: T a' + T' v'."""
        found = np.zeros(self.s.nv)
        for one in self.blocks:
            T = self.map(one, q)
            own = v[one.v]
            found[one.v] = T @ theirs[one.at_v : one.at_v + len(T)]
            if one.kind in ("free wxyz", "free world"):
                found[one.v][3:] -= np.cross(own[:3], own[3:])
            if one.kind == "planar":
                found[one.v][1:] += own[0] * np.array([-own[2], own[1]])
        return found

    def efforts(self, q: Array, tau: Array) -> Array:
        """Our efforts in their coordinates."""
        found = np.zeros(self.nv)
        for one in self.blocks:
            T = self.map(one, q)
            found[one.at_v : one.at_v + len(T)] = T.T @ tau[one.v]
        return found


class Differences(dict[str, float]):
    """The largest difference of each quantity, relative to its largest value."""

    def note(self, what: str, ours: Any, theirs: Any, least: float = 1e-3) -> None:
        """Take up what a quantity is on either side."""
        one, other = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
        if not other.size:
            return
        off = float(np.abs(one - other).max() / max(np.abs(other).max(), least))
        self[what] = max(self.get(what, 0.0), off if math.isfinite(off) else 1e300)

    def note_poses(self, ours: Mapping[str, Array], theirs: Mapping[str, Array]) -> None:
        """Take up the poses of all bodies that have a name on both sides."""
        names = [name for name in theirs if name in ours]
        assert names or not theirs, "no body has the same name"
        self.note("poses", [ours[name] for name in names], [theirs[name] for name in names], least=1.0)

    def note_accelerations(
        self, what: str, s: wt.System, state: tuple[Array, Array, Array], theirs: Array, parameters: Any = None
    ) -> None:
        """Take up accelerations; where rounding has spoilt both, the efforts that they need."""
        q, v, tau = state
        options = {} if parameters is None else {"parameters": parameters}
        ours = np.asarray(s.forward_dynamics(q, v, tau, **options))
        off = np.abs(ours - theirs).max() / max(np.abs(theirs).max(), 1e-3)
        if not off <= 1e-9:
            M = np.asarray(s.mass_matrix(q, **options))
            off = min(off, np.abs(M @ (ours - theirs)).max() / np.abs(M @ np.diag(theirs)).max(initial=1e-9))
        self[what] = max(self.get(what, 0.0), float(off) if math.isfinite(off) else 1e300)


def bare(model: wt.Model, tree: Iterable[str], forces: bool = False) -> wt.System:
    """The tree of a model: these joints, and what holds loose bodies; with dry friction taken off."""
    d = model.mechanism.describe()
    kept, names = [], {*tree}
    for use in d.joints:
        if use.name in names or use.name.endswith(" to ground"):
            kept.append(use)
    acting = []
    for use in d.forces if forces else ():
        if isinstance(use.force, Friction):
            use = replace(use, force=Friction(0.0, use.force.viscous, use.force.speed))  # noqa: PLW2901
        acting.append(use)
    return wt.Mechanism.of(replace(d, joints=tuple(kept), closures=(), forces=tuple(acting))).build()


def total_mass(model: wt.Model) -> float:
    return float(sum(float(body.properties.mass) for body in model.mechanism.describe().bodies))


# ---------------------------------------------------------------------------------------------------------
# MuJoCo


def mujoco_differences(path: Path, model: wt.Model | None, xml: str = "") -> Differences:
    import mujoco

    mujoco.set_mju_user_warning(lambda text: None)  # by itself it writes to a file in the current folder
    try:
        mj = mujoco.MjModel.from_xml_path(str(path))
    except Exception as error:
        raise RefusedError(f"MuJoCo: {' '.join(str(error).split())}") from None
    if model is None:
        return Differences()
    d, names = model.mechanism.describe(), [use.name for use in model.mechanism.describe().joints]
    tree = names[: sum(max(1, int(count)) for count in mj.body_jntnum[1:])]
    s = bare(model, tree, forces=True)
    moving = [use for use in d.joints if use.name in tree and use.joint.nv]
    kinds = {Free: "free wxyz"}
    there = Beside(
        s,
        [
            Block(
                kinds.get(type(use.joint), "same"),
                s.q_slice(use.name),
                s.v_slice(use.name),
                int(mj.jnt_qposadr[j]),
                int(mj.jnt_dofadr[j]),
            )
            for j, use in enumerate(moving)
        ],
        mj.nq,
        mj.nv,
    )
    found, data, rng = Differences(), mujoco.MjData(mj), np.random.default_rng(7)
    masses = {body.name: float(body.properties.mass) for body in d.bodies}
    named = {mj.body(k).name: k for k in range(1, mj.nbody) if mj.body(k).name in masses}
    found.note("masses", [masses[name] for name in named], mj.body_mass[[*named.values()]])
    found.note("masses", total_mass(model), mj.body_mass[1:].sum())
    parameters = {one.name: one.value for one in d.parameters}
    for _ in range(STATES if s.nv else 0):
        q, v, tau = there.state(rng)
        data.qpos[:], data.qvel[:] = there.there(q, v)
        for acted in (False, True):
            data.qfrc_applied[:] = data.ctrl[:] = 0.0
            control, effort = dict(parameters), np.zeros(s.nv)
            if acted:
                effort = tau.copy()
                data.qfrc_applied[:] = there.efforts(q, tau)
                control |= _controls(mj, data, model, moving, s, effort, rng)
            mujoco.mj_forward(mj, data)
            theirs = there.accelerations(q, v, data.qacc_smooth)
            what = "with actuators" if acted else "accelerations"
            found.note_accelerations(what, s, (q, v, effort), theirs, control or None)
        found.note_poses(
            s.poses(q),
            {name: _pose(data.xmat[k].reshape(3, 3), data.xpos[k]) for name, k in named.items()},
        )
    return found


def _pose(R: Array, p: Array) -> Array:
    found = np.eye(4)
    found[:3, :3], found[:3, 3] = R, p
    return found


def _controls(
    mj: Any, data: Any, model: wt.Model, moving: Sequence[Any], s: wt.System, effort: Array, rng: np.random.Generator
) -> dict[str, float]:
    """Set controls where both have the actuator: a parameter of ours, or a motor, which is an effort."""
    found, text = {}, str(model.report)
    parameters = {one.name for one in model.mechanism.describe().parameters}
    for k in range(mj.nu):
        name = mj.actuator(k).name or f"actuator {k}"
        low, high = mj.actuator_ctrlrange[k] if mj.actuator_ctrllimited[k] else (-1.0, 1.0)
        control = float(rng.uniform(low, high))
        if name in parameters:
            found[name] = data.ctrl[k] = control
        elif f"motor {quoted(name)}" in text and mj.actuator_trntype[k] == 0:
            use = moving[int(mj.actuator_trnid[k][0])]
            data.ctrl[k] = control
            effort[s.v_slice(use.name).start] += control * mj.actuator_gainprm[k][0] * mj.actuator_gear[k][0]
    return found


# ---------------------------------------------------------------------------------------------------------
# Pinocchio


def pinocchio_differences(path: Path, model: wt.Model | None, xml: str = "") -> Differences:
    import pinocchio as pin

    from support.pinocchio_models import shared_joint

    try:
        theirs = pin.buildModelFromXML(xml) if xml else pin.buildModelFromUrdf(str(path))
    except Exception as error:
        raise RefusedError(f"Pinocchio: {' '.join(str(error).split())}") from None
    if model is None:
        return Differences()
    d, names = model.mechanism.describe(), [*theirs.names][1:]
    root = ElementTree.fromstring(xml or path.read_bytes().lstrip())
    s = bare(model, [one.get("name", "") for one in root.findall("joint")])
    kinds = {"unbounded": "circle", "spherical": "ball xyzw", "free": "free xyzw", "planar": "planar"}
    blocks = [
        Block(
            kinds.get(shared_joint(joint).numbers, "same"), s.q_slice(name), s.v_slice(name), joint.idx_q, joint.idx_v
        )
        for name, joint in zip(names, [*theirs.joints][1:], strict=True)
    ]
    there, data, found = Beside(s, blocks, theirs.nq, theirs.nv), theirs.createData(), Differences()
    theirs.gravity.linear = np.array(d.gravity, dtype=float)
    found.note("masses", total_mass(model), sum(one.mass for one in theirs.inertias))
    rng = np.random.default_rng(7)
    for _ in range(STATES if s.nv else 0):
        q, v, tau = there.state(rng)
        q_there, v_there = there.there(q, v)
        for what, effort in (("accelerations", 0 * tau), ("with actuators", tau)):
            a = np.array(pin.aba(theirs, data, q_there, v_there, there.efforts(q, effort)))
            found.note_accelerations(what, s, (q, v, effort), there.accelerations(q, v, a))
        pin.framesForwardKinematics(theirs, data, q_there)
        bodies = [(k, one.name) for k, one in enumerate(theirs.frames) if one.type == pin.FrameType.BODY]
        found.note_poses(s.poses(q), {name: np.array(data.oMf[k].homogeneous) for k, name in bodies})
    return found


def expanded_differences(path: Path, model: wt.Model | None, xml: str = "") -> Differences:
    import xacro

    try:
        text = xacro.process_file(str(path)).toxml()
    except Exception as error:
        raise RefusedError(f"xacro: {' '.join(str(error).split())}") from None
    return pinocchio_differences(path, model, text)


# ---------------------------------------------------------------------------------------------------------
# Drake


def drake_differences(path: Path, model: wt.Model | None, xml: str = "") -> Differences:
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant
    from pydrake.multibody.tree import BodyIndex

    plant = MultibodyPlant(0.0)
    try:
        parser = Parser(plant)
        for folder in (path.parent, *map(Path, folders_of(path))):
            parser.package_map().PopulateFromFolder(str(folder))
        parser.AddModels(str(path))
        if model is not None:
            plant.mutable_gravity_field().set_gravity_vector(np.array(model.mechanism.describe().gravity, dtype=float))
        plant.Finalize()
    except Exception as error:
        raise RefusedError(f"Drake: {' '.join(str(error).split())}") from None
    if model is None:
        return Differences()
    d, found, rng = model.mechanism.describe(), Differences(), np.random.default_rng(7)
    masses = {body.name: float(body.properties.mass) for body in d.bodies}
    every = [plant.get_body(BodyIndex(k)) for k in range(plant.num_bodies())]
    bodies = {_known(body.scoped_name(), masses): body for body in every}
    found.note("masses", [masses[name] for name in bodies if name], [x.default_mass() for n, x in bodies.items() if n])
    found.note("masses", sum(masses.values()), sum(body.default_mass() for body in every[1:]))
    s = bare(model, [use.name for use in d.joints], forces=True)
    ours = {use.name: use.name for use in d.joints} | {
        use.child: use.name for use in d.joints if use.child not in d.joints
    }
    kinds = {"ball_rpy": "ball rpy", "quaternion_floating": "free world"}
    blocks = []
    for joint in (plant.get_joint(k) for k in plant.GetJointIndices()):
        if joint.num_velocities():
            scope = joint.child_body().scoped_name().get_full().rpartition("::")[0]
            name = ours[_known(f"{scope}::{joint.name()}", ours)]
            at = joint.position_start(), joint.velocity_start()
            blocks.append(Block(kinds.get(joint.type_name(), "same"), s.q_slice(name), s.v_slice(name), *at))
    there, context = Beside(s, blocks, plant.num_positions(), plant.num_velocities()), plant.CreateDefaultContext()
    for _ in range(STATES if s.nv else 0):
        q, v, tau = there.state(rng)
        q_there, v_there = there.there(q, v)
        plant.SetPositions(context, q_there)
        plant.SetVelocities(context, v_there)
        for what, effort in (("accelerations", 0 * tau), ("with actuators", tau)):
            plant.get_applied_generalized_force_input_port().FixValue(context, there.efforts(q, effort))
            a = np.array(plant.get_generalized_acceleration_output_port().Eval(context))
            found.note_accelerations(what, s, (q, v, effort), there.accelerations(q, v, a))
        poses = {n: plant.EvalBodyPoseInWorld(context, x).GetAsMatrix4() for n, x in bodies.items() if n}
        found.note_poses(s.poses(q), poses)
    return found


def _known(scoped: object, names: Iterable[str]) -> str:
    """The one of our names that Drake's stands for: with or without the model that it begins with."""
    full = scoped if isinstance(scoped, str) else scoped.get_full()  # type: ignore[attr-defined]
    short = full.partition("::")[2]
    return next((name for name in (full, short) if name and name in names), "")


# ---------------------------------------------------------------------------------------------------------
# OpenSim


def opensim_differences(path: Path, model: wt.Model | None, xml: str = "") -> Differences:
    """Compare at the start of the file, where loops are closed; without forces.

    OpenSim has a CasADi of its own, and so a process of its own.
    """
    d = s = None
    start: dict[str, tuple[float, float]] = {}
    if model is not None:
        d = model.mechanism.describe()
        whole, kept = model.build(), {key: value for key, value in model.start.items() if key in ("guess", "dependent")}
        s = wt.Mechanism.of(replace(d, forces=())).build(**kept)
        for use in d.joints:
            if use.joint.nv == 1:
                start[use.name] = float(whole.q0[s.q_slice(use.name)][0]), float(whole.v0[s.v_slice(use.name)][0])
    command = [sys.executable, "-m", "support.opensim_numbers", str(path), json.dumps(start)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("numbers ")]
    if not lines:
        raise (ImportError if "No module named" in done.stderr else RefusedError)(
            f"OpenSim: {done.stderr.strip()[-300:]}"
        )
    found = Differences()
    if model is None or s is None:
        return found
    theirs = json.loads(lines[-1].removeprefix("numbers "))
    found.note("masses", total_mass(model), theirs["mass"])
    a = np.asarray(s.forward_dynamics(whole.q0, whole.v0))
    ours = [float(a[s.v_slice(name)][0]) for name in theirs["accelerations"]]
    found.note("accelerations", ours, [*theirs["accelerations"].values()])
    found.note_poses(s.poses(whole.q0), {name: np.array(pose) for name, pose in theirs["poses"].items()})
    return found


# ---------------------------------------------------------------------------------------------------------
# Newton


SINGLE = 3e-6
"""Newton keeps single precision: differences below this are none."""


def newton_differences(path: Path, model: wt.Model | None, xml: str = "") -> Differences:
    """Compare masses, inertias and poses of bodies at the start; Newton moves them by steps, not by accelerations."""
    import newton
    import warp

    warp.config.quiet = True
    builder = newton.ModelBuilder()
    try:
        builder.add_usd(str(path))
    except ImportError:
        raise
    except Exception as error:
        raise RefusedError(f"Newton: {' '.join(str(error).split())}") from None
    found = Differences()
    if model is None:
        return found
    ours = {body.name: body.properties for body in model.mechanism.describe().bodies}
    s = model.build()
    poses, theirs, pairs = s.poses(s.q0), {}, []
    for k, label in enumerate(builder.body_label):
        name = label.lstrip("/") if label.lstrip("/") in ours else label.rpartition("/")[2]
        if name not in ours:
            continue
        x, y, z, a, b, c, w = map(float, builder.body_q[k])
        theirs[name] = _pose(turned(w, a, b, c), np.array([x, y, z]))
        pairs.append((ours[name], k))
    found.note("masses", [float(one.mass) for one, _ in pairs], [builder.body_mass[k] for _, k in pairs])
    moments = [np.array(one.about(one.com), dtype=float) for one, _ in pairs]
    found.note("inertias", moments, [np.array(builder.body_inertia[k]).reshape(3, 3) for _, k in pairs], least=1e-6)
    found.note_poses(poses, theirs)
    return Differences({what: 0.0 if value <= SINGLE else value for what, value in found.items()})


OWNERS: dict[str, Callable[..., Differences]] = {
    "MJCF": mujoco_differences,
    "URDF": pinocchio_differences,
    "xacro": expanded_differences,
    "SDF": drake_differences,
    "OpenSim": opensim_differences,
    "USD": newton_differences,
}


def beside_owner(path: Path, found: Finding, model: wt.Model | None) -> None:
    """Compare a file with the library that owns its format, and say why it counts neither way, if so."""
    said = found.refused or found.raw
    if any(words in said for words in FRAGMENTS):
        found.aside = "a fragment, or no model of bodies"
        return
    owner = OWNERS.get(found.format)
    try:
        if owner is None:
            found.uncompared = f"no library here that owns {found.format}"
        else:
            found.differences = dict(owner(path, model))
    except RefusedError as error:
        found.aside = found.uncompared = f"refused by its owner too: {error}"[:300]
        if model is not None:
            found.aside = ""
        return
    except ImportError as error:
        found.uncompared = f"{error}"
    except Exception as error:
        found.uncompared = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    if model is None and any(words in said for words in MISSING):
        found.aside = f"parts are not in the package: {said}"[:300]
    if not found.agrees and model is not None:
        found.named = _named_differences(model)


_LOOKS = ("shapes that collide", "looks like", "<sensor>", "mesh", "contact between", "<gazebo>", "<visual")


def _named_differences(model: wt.Model) -> str:
    """What a report says was not understood, but for looks, contact and sensors."""
    said = [one.text for one in model.report if one.kind in ("not understood", "guessed") or "misses by" in one.text]
    return "; ".join(text for text in said if not any(word in text for word in _LOOKS))[:600]
