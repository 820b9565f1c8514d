"""Random Pinocchio models with every joint type that both engines have, the same for the same seed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin

from support.random_trees import random_mass_properties, random_pose, random_rotation

Rng = np.random.Generator


def _direction(rng: Rng) -> np.ndarray:
    axis = rng.normal(size=3)
    return axis / np.linalg.norm(axis)


def _universal(rng: Rng) -> pin.JointModelUniversal:
    R = random_rotation(rng)
    return pin.JointModelUniversal(R[:, 0], R[:, 2])


def _pitch(rng: Rng) -> float:
    return float(rng.choice([-1, 1]) * rng.uniform(0.02, 0.3))


JOINTS: dict[str, Callable[[Rng], pin.JointModel]] = {
    "RX": lambda rng: pin.JointModelRX(),
    "RY": lambda rng: pin.JointModelRY(),
    "RZ": lambda rng: pin.JointModelRZ(),
    "RevoluteUnaligned": lambda rng: pin.JointModelRevoluteUnaligned(_direction(rng)),
    "RUBX": lambda rng: pin.JointModelRUBX(),
    "RUBY": lambda rng: pin.JointModelRUBY(),
    "RUBZ": lambda rng: pin.JointModelRUBZ(),
    "RevoluteUnboundedUnaligned": lambda rng: pin.JointModelRevoluteUnboundedUnaligned(),  # no axis from Python
    "PX": lambda rng: pin.JointModelPX(),
    "PY": lambda rng: pin.JointModelPY(),
    "PZ": lambda rng: pin.JointModelPZ(),
    "PrismaticUnaligned": lambda rng: pin.JointModelPrismaticUnaligned(_direction(rng)),
    "HX": lambda rng: pin.JointModelHX(_pitch(rng)),
    "HY": lambda rng: pin.JointModelHY(_pitch(rng)),
    "HZ": lambda rng: pin.JointModelHZ(_pitch(rng)),
    "HelicalUnaligned": lambda rng: pin.JointModelHelicalUnaligned(_direction(rng), _pitch(rng)),
    "Universal": _universal,
    "Spherical": lambda rng: pin.JointModelSpherical(),
    "Planar": lambda rng: pin.JointModelPlanar(),
    "FreeFlyer": lambda rng: pin.JointModelFreeFlyer(),
}
"""How each shared joint is drawn."""


def random_parents(rng: Rng, n_bodies: int) -> list[int]:
    """The parents of joints 1 to n of a random tree, numbered depth first, as Pinocchio's `crba` needs."""
    branching = rng.uniform(0.0, 0.7)
    children: list[list[int]] = [[] for _ in range(n_bodies + 1)]
    for i in range(n_bodies):
        hangs_on = int(rng.integers(0, i + 1)) if rng.random() < branching else i
        children[hangs_on].append(i + 1)
    parents, waiting = [], [(child, 0) for child in reversed(children[0])]
    while waiting:
        body, parent = waiting.pop()
        parents.append(parent)
        waiting += [(child, len(parents)) for child in reversed(children[body])]
    return parents


def random_pinocchio_model(seed: int, n_bodies: int, *, joints: tuple[str, ...] = tuple(JOINTS)) -> pin.Model:
    """A random tree with up to 70 % of the bodies branching off anywhere; one first body in three floats.

    On the last body and on a random one there are frames, "tip" and "tool".
    """
    rng = np.random.default_rng([seed, n_bodies])
    model = pin.Model()
    model.name = f"random {seed}"
    model.gravity.linear = rng.uniform(-10.0, 10.0, 3)
    floating = rng.random() < 1 / 3
    for i, parent in enumerate(random_parents(rng, n_bodies)):
        kind = "FreeFlyer" if floating and i == 0 else str(rng.choice(joints))
        k = model.addJoint(parent, JOINTS[kind](rng), pin.SE3(random_pose(rng)), f"joint {i}")
        own = random_mass_properties(rng)
        inertia = pin.Inertia(own["mass"], own["com"], own["inertia"])
        model.appendBodyToJoint(k, inertia, pin.SE3.Identity())
    for name, k in (("tip", n_bodies), ("tool", int(rng.integers(1, n_bodies + 1)))):
        model.addFrame(pin.Frame(name, k, 0, pin.SE3(random_pose(rng)), pin.FrameType.OP_FRAME))
    return model
