"""One force element of every kind, put at random places of any mechanism; the same for the same generator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

import whippletree as wt
from support.loop_models import Looped, described
from support.random_trees import random_pose
from whippletree.elements.joints import Joint
from whippletree.model import Description, Frame

Array = np.ndarray


def plain_coordinates(m: wt.Mechanism) -> list[tuple[str, int]]:
    """The joint coordinates whose rates are velocities, of joints that are free to move."""
    joints = m.describe().joints
    return [(use.name, k) for use in joints if moves(use.joint) and not use.prescribed for k in range(use.joint.nv)]


def moves(joint: Joint) -> bool:
    return joint.nv > 0 and not joint.quaternion


def load_up(m: wt.Mechanism, rng: np.random.Generator, joints: Sequence[tuple[str, int]] = ()) -> None:
    """Add springs, bushings, stops and all the rest; `joints` are coordinates to act on, any unless given.

    >>> m = wt.Mechanism("m")
    >>> hinge = m.revolute("A", m.ground, m.body("arm", mass=1.0))
    >>> load_up(m, np.random.default_rng(0))
    >>> len(m.describe().forces), [state.name for state in m.describe().states]
    (16, ['fast', 'slow'])
    """
    bodies = [body.name for body in m.describe().bodies]
    coordinates = list(joints) or plain_coordinates(m)
    unit = m.parameter("unit", float(rng.uniform(0.5, 2.0)))

    def body() -> str:
        return str(rng.choice(bodies))

    def two() -> tuple[str, str]:
        a, b = rng.choice(["ground", *bodies], 2, replace=False)
        return str(a), str(b)

    def point() -> Array:
        return rng.uniform(-0.5, 0.5, 3)

    def joint() -> dict[str, Any]:
        name, index = coordinates[int(rng.integers(len(coordinates)))]
        return {"joint": name, "index": index}

    def size(low: float = 0.5, high: float = 5.0) -> float:
        return float(rng.uniform(low, high))

    fast = m.state("fast", size(), rate=lambda z: (ca.sin(m.time) - z) / 0.1)
    slow = m.state("slow", size())
    m.state_rate("slow", fast * m.position(body())[0] - slow)
    for k in range(2):
        ends = {"at": point(), "at_child": point()}
        m.spring(f"spring {k}", *two(), **ends, stiffness=size() * unit, free_length=size(0.1), damping=size())
    m.spring("rope", *two(), at=point(), law=lambda x, rate: 3 * x**3 + (1 + x * x) * rate, free_length=0.2 * unit)
    law = m.elongation**3 * unit + m.elongation_rate * (1 + m.elongation**2)
    m.spring("rubber", *two(), at_child=point(), law=law, energy=unit * m.elongation**4 / 4)
    m.spring("driven", *two(), at=point(), law=fast * m.elongation - 0.3 * m.elongation_rate * m.time)
    poses = {"pose": random_pose(rng), "pose_child": random_pose(rng)}
    m.bushing("bushing", *two(), stiffness=rng.uniform(1, 5, 6), damping=rng.uniform(0, 2, 6), **poses)
    root = rng.normal(size=(2, 6, 6))
    matrices = {"stiffness": root[0] @ root[0].T, "damping": root[1] @ root[1].T}
    m.bushing("full bushing", *two(), at=point(), **matrices)
    if coordinates:
        m.torsion_spring("torsion", **joint(), stiffness=size() * unit, rest=size(-1), damping=size())
        m.friction("friction", **joint(), coulomb=size(), viscous=size(), speed=size(0.1, 0.5))
        m.limit("limit", **joint(), lower=-0.2, upper=0.3 * unit, stiffness=size(10, 50), damping=size(), width=0.4)
        q, v = joint(), joint()
        effort = fast - 2 * m.coordinate(*q.values()) * m.rate(*v.values()) + m.velocity(body())[4] * ca.cos(m.time)
        m.actuator("actuator", **joint(), effort=effort)
    wrench = ca.vertcat(m.velocity(body())[:3], slow, ca.exp(-m.time), m.position(body())[2])
    m.load("load", body(), at=point(), wrench=wrench)
    m.load("thrust", body(), at=point(), force=(1, 2 * unit, ca.sin(m.time)), moment=(0, fast, 0), frame="body")
    ground = {"normal": rng.normal(size=3), "width": size(0.3, 1.0), "stiffness": size(10, 50), "damping": size()}
    m.contact("contact", body(), at=point(), radius=size(0, 0.5), friction=size(0.1, 1.0), speed=size(0.1), **ground)
    bump = {"offset": 0.5 * ca.sin(m.time) + 0.3 * m.position(body())[1], "friction": size(0.1, 1.0)}
    m.contact("bump", body(), at=point(), **bump, **ground)
    m.contact("deep", body(), at=point(), **{**ground, "offset": size(2, 4), "friction": 0.8, "speed": 0.5})


def loaded(looped: Looped, rng: np.random.Generator) -> wt.Mechanism:
    """A mechanism with loops, and everything on it."""
    m = described(looped)
    plain = [hinge for hinge in looped.hinges if hinge.kind not in ("fixed", "spherical", "free")]
    load_up(m, rng, [(hinge.name, k) for hinge in plain for k in range(hinge.nv)])
    return m


def without_forces(described: Description) -> tuple[Description, dict[str, list[str]]]:
    """The same mechanism with no forces in it, and a frame at every side of every force, by the forces' names."""
    frames, names = list(described.frames), {}
    for use in described.forces:
        names[use.name] = [f"{use.name}, side {k}" for k in range(len(use.sides))]
        frames += [Frame(name, *side) for name, side in zip(names[use.name], use.sides, strict=True)]
    return replace(described, forces=(), states=(), frames=tuple(frames)), names


def as_given(
    s: wt.System, names: dict[str, list[str]], q: Array, v: Array, **options: Any
) -> tuple[Array, dict[str, Array]]:
    """What the forces of a system do at a state, as efforts (nv) and wrenches at those frames."""
    tau, wrenches = np.zeros(s.nv), {}
    for name, force in s.forces(q, v, **options).items():
        for (joint, index), effort in zip(force.coordinates, force.efforts, strict=True):
            tau[s.v_slice(joint).start + index] += effort
        for frame, wrench in zip(names[name], force.wrenches, strict=True):
            if np.any(wrench):
                wrenches[frame] = wrench
    return tau, wrenches


def energy_rate(s: wt.System, q: Array, v: Array, a: Array, t: float) -> float:
    """How fast the energy of a system changes along its motion, by an exact directional derivative."""
    energy, rates = s.function("energy"), s.function("coordinate_rates")
    names = [energy.name_in(i) for i in range(energy.n_in())]
    x = {name: ca.SX.sym(name, energy.size1_in(i)) for i, name in enumerate(names)}
    values = {"q": q, "v": v, "t": [t], "parameters": s.description.parameter_values}
    more = [values["parameters"]] if "parameters" in [rates.name_in(i) for i in range(rates.n_in())] else []
    flow = {"q": rates(q, v, *more), "v": a, "t": 1.0}
    total = ca.sum1(energy(*x.values()))
    change = sum(ca.jtimes(total, x[name], ca.SX(ca.DM(flow[name]))) for name in names if name in flow)
    return float(ca.Function("change", list(x.values()), [change])(*(values[name] for name in names)))
