"""Mechanisms with closed loops for Pinocchio: a tree, and anchors where spherical joints and welds are cut.

Pinocchio closes loops by equal positions (3 rows) or equal poses (6 rows) of two frames. So a mechanism can be
compared, if each of its loops is cut at a spherical joint or a weld, no effort acts there, and no wrenches act.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin

from support.loop_models import GROUND, Hinge, Looped
from support.pinocchio_models import _bias, _map, _q_to
from support.random_loops import Case, Draft, Plane, Space, Sphere, unit

Array = np.ndarray

NUMBERS = {"spherical": "spherical", "planar": "planar", "free": "free"}
ACCURACY = 1e-13
SOFTNESS = 1e-9
ITERATIONS = 200


def joint_model(hinge: Hinge) -> pin.JointModel:
    match hinge.kind:
        case "revolute":
            return pin.JointModelRZ()
        case "prismatic":
            return pin.JointModelPZ()
        case "screw":
            return pin.JointModelHZ(hinge.lead / (2 * np.pi))
        case "universal":
            return pin.JointModelUniversal(np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0]))
        case "spherical":
            return pin.JointModelSpherical()
        case "planar":
            return pin.JointModelPlanar()
        case "free":
            return pin.JointModelFreeFlyer()
    raise ValueError(f"Pinocchio has no {hinge.kind} joint")


def _se3(pose: Array) -> pin.SE3:
    return pin.SE3(pose[:3, :3], pose[:3, 3])


@dataclass(frozen=True)
class Anchored:
    """A mechanism as Pinocchio sees it; `tree` are the joints in Pinocchio's order, the first being joint 1."""

    looped: Looped
    model: pin.Model
    tree: tuple[Hinge, ...]
    closures: list[pin.RigidConstraintModel]

    def numbers(self, q: Array) -> Array:
        """All joints' coordinates in Pinocchio's numbers."""
        own = self.looped.split_q(q)
        return np.concatenate([_q_to(NUMBERS.get(h.kind, "same"), own[h.name]) for h in self.tree])

    def velocities(self, q: Array, v: Array) -> Array:
        return np.concatenate([T.T @ x for T, x in self._each(q, v)])

    def efforts(self, q: Array, tau: Array) -> Array:
        """Power is the same in both engines' numbers, and T is orthogonal."""
        return self.velocities(q, tau)

    def accelerations(self, q: Array, v: Array, a: Array) -> dict[str, Array]:
        """Pinocchio's accelerations in our numbers, by joint."""
        own_q, own_v, start, found = self.looped.split_q(q), self.looped.split_v(v), 0, {}
        for hinge in self.tree:
            kind = NUMBERS.get(hinge.kind, "same")
            T = _map(kind, own_q[hinge.name], hinge.nv)
            found[hinge.name] = T @ a[start : start + hinge.nv] + _bias(kind, own_q[hinge.name], own_v[hinge.name])
            start += hinge.nv
        return found

    def _each(self, q: Array, x: Array) -> list[tuple[Array, Array]]:
        own_q, own = self.looped.split_q(q), self.looped.split_v(x)
        return [(_map(NUMBERS.get(h.kind, "same"), own_q[h.name], h.nv), own[h.name]) for h in self.tree]

    def solve(self, q: Array, v: Array, tau: Array) -> dict[str, Array]:
        """The accelerations of the joints in the tree, by Pinocchio's `constraintDynamics`.

        Its proximal iteration starts from a softened problem, and goes on until the closures' accelerations stop
        improving: redundant equations are no trouble.
        """
        data = self.model.createData()
        models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        for closure in self.closures:
            models.append(closure)
            datas.append(closure.createData())
        since_4 = int(pin.__version__.split(".")[0]) >= 4
        pin.initConstraintDynamics(self.model, data, models, *([datas] if since_4 else []))
        settings = pin.ProximalSettings(ACCURACY, SOFTNESS, ITERATIONS)
        state = self.numbers(q), self.velocities(q, v), self.efforts(q, tau)
        a = pin.constraintDynamics(self.model, data, *state, models, datas, settings)
        return self.accelerations(q, v, np.array(a))


def anchored(looped: Looped) -> Anchored:
    """Hand a mechanism to Pinocchio: all joints that are not cut must lead from the ground outward.

    Pinocchio's sweeps need its joints numbered depth first.
    """
    model = pin.Model()
    model.gravity.linear = looped.gravity
    parts = {part.name: part for part in looped.parts}
    ids, onward = {GROUND: 0}, {GROUND: np.eye(4)}  # a body's frame in the frame of Pinocchio's joint
    tree: list[Hinge] = []
    leading = {
        body: [h for h in looped.hinges if h.name not in looped.cut and h.parent == body] for body in looped.poses()
    }
    waiting = list(leading[GROUND])
    while waiting:
        hinge = waiting.pop()
        waiting += leading[hinge.child]
        placement = onward[hinge.parent] @ hinge.on_parent
        k = model.addJoint(ids[hinge.parent], joint_model(hinge), _se3(placement), hinge.name)
        part = parts[hinge.child]
        ids[hinge.child], onward[hinge.child] = k, np.linalg.inv(hinge.on_child)
        model.appendBodyToJoint(k, pin.Inertia(part.mass, part.com, part.inertia), _se3(onward[hinge.child]))
        tree.append(hinge)
    closures = []
    for hinge in looped.hinges:
        if hinge.name in looped.cut:
            kind = {"spherical": pin.ContactType.CONTACT_3D, "fixed": pin.ContactType.CONTACT_6D}[hinge.kind]
            sides = [(hinge.parent, hinge.on_parent), (hinge.child, hinge.on_child)]
            ends = [(ids[body], _se3(onward[body] @ on)) for body, on in sides]
            closures.append(pin.RigidConstraintModel(kind, model, *ends[0], *ends[1], pin.ReferenceFrame.LOCAL))
    return Anchored(looped, model, tuple(tree), closures)


def without_effort_at_cuts(case: Case) -> tuple[Array, Array]:
    """The efforts of a case with those at cut joints left out, and which velocities are of the tree."""
    kept = np.concatenate([np.full(hinge.nv, hinge.name not in case.looped.cut) for hinge in case.looped.hinges])
    return np.where(kept, case.tau, 0.0), kept


def arms_that_meet(d: Draft, i: int) -> int:
    """Pairs of arms with their tips welded or socketed together, on the ground, afloat, in space or in a plane."""
    rng = d.rng
    d.backward = 0.0
    base = d.float() if i % 4 == 3 else GROUND
    bodies = [base]
    for k in range(1 + int(rng.integers(0, 3))):
        kind = "spherical" if (i + k) % 2 else "fixed"
        group = (Space(), Plane(unit(rng)), Sphere(rng.uniform(-0.5, 0.5, 3)))[i % 3 if rng.random() < 0.5 else 0]
        freedoms = group.dimension + int(rng.integers(1, 3)) - (3 if kind == "spherical" else 0)
        kinds = d.kinds(group, max(freedoms, 3), without=("fixed", "cylindrical"))
        split = int(rng.integers(1, len(kinds)))
        tips = []
        for own in (kinds[:split], kinds[split:]):
            tip = str(rng.choice(bodies))
            for each in own:
                new = d.body()
                d.join(each, tip, new, group)
                tip = new
            tips.append(tip)
        if isinstance(group, Plane):
            kind = "fixed"
        frame = group.frame(rng, "spherical", d.pose(tips[0])[:3, 3] + rng.uniform(-0.3, 0.3, 3))
        d.cut.append(d.join(kind, *tips, frame=frame))
        bodies += tips
    return -1


def unloaded(case: Case) -> Case:
    """The same state without wrenches and without efforts at cut joints."""
    tau, _ = without_effort_at_cuts(case)
    return replace(case, tau=tau, loads={}, solution=case.equations.solve(tau))
