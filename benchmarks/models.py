"""The models that are timed, and their states in every engine's numbers.

Every engine gets its model from the same Pinocchio model, so that all of them compute the same thing.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pinocchio as pin

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.pinocchio_models import (
    AXES,
    State,
    mechanism_from_pinocchio,
    panda,
    random_state,
    shared_joint,
    state_from_pinocchio,
    state_to_pinocchio,
    talos,
    velocity_map,
)

__all__ = [
    "AXES",
    "Ring",
    "State",
    "chain",
    "mechanism_from_pinocchio",
    "panda",
    "ring_of",
    "robots",
    "shared_joint",
    "state_from_pinocchio",
    "state_to_pinocchio",
    "velocity_map",
]

RING = 64
"""How many different states a native loop goes round."""


@dataclass(frozen=True)
class Ring:
    """States of one model, ``(k, n)`` arrays, in Pinocchio's numbers and in ours."""

    model: pin.Model
    theirs: State

    @cached_property
    def ours(self) -> State:
        return state_from_pinocchio(self.model, *self.theirs)


def ring_of(model: pin.Model, count: int = RING, seed: int = 1) -> Ring:
    return Ring(model, random_state(model, np.random.default_rng(seed), count))


def robots() -> dict[str, pin.Model]:
    """The arm and the humanoid of the speed tables."""
    return {"Panda": panda(), "Talos": talos()}


def chain(joints: int, seed: int = 0) -> pin.Model:
    """A serial chain of revolute joints about z, y, x in turn; random offsets, random full inertias."""
    rng = np.random.default_rng(seed)
    model = pin.Model()
    model.name = f"chain of {joints}"
    turns = [pin.JointModelRZ(), pin.JointModelRY(), pin.JointModelRX()]
    parent = 0
    for i in range(joints):
        placement = pin.SE3(np.eye(3), rng.uniform(0.05, 0.3, 3))
        parent = model.addJoint(parent, turns[i % 3], placement, f"joint {i}")
        second_moments = rng.uniform(0.01, 0.05, 3)  # of the mass along three axes: any such body exists
        axes, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        inertia = axes @ np.diag(second_moments.sum() - second_moments) @ axes.T
        body = pin.Inertia(rng.uniform(0.5, 2.0), rng.uniform(-0.1, 0.1, 3), (inertia + inertia.T) / 2)
        model.appendBodyToJoint(parent, body, pin.SE3.Identity())
    return model
