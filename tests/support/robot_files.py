"""Robots from files, beside what Pinocchio reads from the same files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin

import whippletree as wt
from support.pinocchio_models import ROBOTS, shared_joint

__all__ = ["all_robots", "bare", "differences"]

PI = np.pi


def all_robots() -> list[Path]:
    """The URDFs of the package example-robot-data."""
    for folder in Path(pin.__file__).parents:
        if (folder / ROBOTS).is_dir():
            return sorted((folder / ROBOTS).rglob("*.urdf"))
    raise FileNotFoundError("install example-robot-data")


def bare(model: wt.Model) -> wt.System:
    """The tree of a model: without couplings and forces, which Pinocchio leaves out."""
    return wt.Mechanism.of(replace(model.mechanism.describe(), closures=(), forces=())).build()


def differences(path: Path, model: wt.Model, *, free: bool = False) -> dict[str, float]:
    """How far mass matrix, inverse and forward dynamics are from Pinocchio's at a random state, relative."""
    theirs = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer()) if free else pin.buildModelFromUrdf(str(path))
    data, rng = theirs.createData(), np.random.default_rng(7)
    s = bare(model)
    q, places = np.array(s.configuration()), []
    q_theirs = np.array(pin.neutral(theirs))
    for name, joint in zip(list(theirs.names)[1:], list(theirs.joints)[1:], strict=True):
        ours = f"{next(iter(model.mechanism.describe().bodies)).name} to ground" if name == "root_joint" else name
        numbers = shared_joint(joint).numbers
        rows = s.v_slice(ours)
        if numbers == "free":
            turn, p = rng.normal(size=4), rng.normal(size=3)
            turn /= np.linalg.norm(turn)
            q[s.q_slice(ours)] = [*turn, *p]
            q_theirs[joint.idx_q : joint.idx_q + 7] = [*p, *turn[1:], turn[0]]
            places += [rows.start + k for k in (3, 4, 5, 0, 1, 2)]
            continue
        angle = rng.uniform(-PI, PI)
        q[s.q_slice(ours)] = angle
        if numbers == "unbounded":
            q_theirs[joint.idx_q : joint.idx_q + 2] = np.cos(angle), np.sin(angle)
        else:
            q_theirs[joint.idx_q] = angle
        places.append(rows.start)
    assert sorted(places) == list(range(s.nv)) == list(range(theirs.nv))
    v, a, tau = (rng.normal(size=s.nv) for _ in range(3))
    M = pin.crba(theirs, data, q_theirs)
    M = np.triu(M) + np.triu(M, 1).T
    effort = pin.rnea(theirs, data, q_theirs, v[places], a[places])
    found = {
        "mass matrix": _relative(np.asarray(s.mass_matrix(q))[np.ix_(places, places)], M),
        "efforts": _relative(np.asarray(s.inverse_dynamics(q, v, a))[places], effort),
        "mass": abs(sum(body.properties.mass for body in model.mechanism.describe().bodies) - _file_mass(path)),
    }
    if np.linalg.cond(M) < 1e12:
        ours = np.asarray(s.forward_dynamics(q, v, tau))[places]
        # a residual of the equations of motion: what rounding does to an ill-conditioned matrix is no difference
        found["accelerations"] = _relative(pin.rnea(theirs, data, q_theirs, v[places], ours), tau[places])
    return found


def _relative(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(one - other).max() / max(np.abs(other).max(), 1e-30))


def _file_mass(path: Path) -> float:
    from xml.etree import ElementTree

    links = ElementTree.parse(path).getroot().findall("link")
    masses = [link.find("inertial/mass") for link in links]
    return sum(float(mass.get("value", "0")) for mass in masses if mass is not None)
