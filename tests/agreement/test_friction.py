"""Friction from reactions on random mechanisms, against equations in absolute coordinates in plain NumPy.

The reference knows no friction: efforts are given to it, reactions come out, and friction is found by fixed-point
iteration outside. The engine solves all at once, by every formulation.
"""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt
from support.formulations import EXACT
from support.loop_agreement import computed
from support.loop_models import built
from support.random_loops import FAMILIES, MEMBERS, Case, case
from support.sampling import sampled, shared

Array = np.ndarray

MU, RADIUS, SPEED = 0.15, 0.05, 0.01
ALWAYS = (("one loop", 2), ("overconstrained", 0))


def rubbing(s: wt.System, c: Case) -> list[str]:
    """Revolute and prismatic joints whose forces are determined, at most four."""
    unique = c.equations.unique(s.kernels.closures.characteristic_length)
    kinds = {use.name: use.joint.kind for use in s.description.joints if not use.prescribed}
    return [name for name, kind in kinds.items() if kind in ("revolute", "prismatic") and unique[name][3:].all()][:4]


def with_friction(s: wt.System, joints: list[str]) -> wt.System:
    m = wt.Mechanism.of(s.description)
    for name in joints:
        turning = {"radius": RADIUS} if s.description.joint(name).joint.kind == "revolute" else {}
        m.friction(f"rub {name}", name, coefficient=MU, speed=SPEED, **turning)
    return m.build(guess=s.q0)


def reference(s: wt.System, c: Case, joints: list[str]) -> Array:
    """Accelerations with friction, by fixed-point iteration."""
    rubbed = np.zeros(s.nv)
    for _ in range(200):
        solution = c.equations.solve(c.tau + rubbed, c.loads)
        reactions = solution.reactions(s.kernels.closures.characteristic_length)
        before, rubbed = rubbed, np.zeros(s.nv)
        for name in joints:
            use, at = s.description.joint(name), s.v_slice(name).start
            axis = s.pose(c.q, use.parent)[:3, :3] @ np.array(use.on_parent.rotation, dtype=float)[:, 2]
            force = reactions[name][3:]
            load = np.linalg.norm(force - axis * (axis @ force))
            rubbed[at] = -MU * load * np.tanh(c.v[at] / SPEED) * (RADIUS if use.joint.kind == "revolute" else 1.0)
        if np.abs(rubbed - before).max() < 1e-13 * np.abs(rubbed).max():
            break
    else:
        pytest.skip("fixed-point iteration of the reference does not converge")
    return np.asarray(solution.joints)


@pytest.mark.parametrize(("family", "i"), sampled([key for key in MEMBERS if key[1] < 6], lambda key: key in ALWAYS))
def test_random_mechanisms_that_rub(family: str, i: int) -> None:
    c = case(family, i)
    s = built(c.looped)
    joints = rubbing(s, c)
    if not joints:
        assert (family, i) not in ALWAYS
        pytest.skip("no joint whose force is determined")
    expected = reference(s, c, joints)
    rubs = with_friction(s, joints)
    for formulation in shared(EXACT, list(FAMILIES).index(family)):
        found = computed(rubs, c, "forward_dynamics", formulation)
        if not np.isfinite(found[0]):  # several bearings: what is sufficient for one solution is not given
            assert (family, i) not in ALWAYS
            with pytest.raises(wt.DynamicsError, match="may have no solution, or several"):
                rubs.forward_dynamics(c.q, c.v, c.tau, wrenches=c.loads, t=c.looped.t)
            found[0] = expected[0]
        assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max(), formulation
    assert (family, i) not in ALWAYS or np.abs(expected - c.a).max() > 1e-6  # friction does something
