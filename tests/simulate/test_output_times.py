"""What a run is does not depend on when one looks at it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import whippletree as wt
from support.sampling import rest
from whippletree.system.example_systems import four_bar


def spun_arm() -> wt.System:
    """A fast rotor that carries a ball joint: angles with whole turns, a quaternion, and a spring."""
    m = wt.Mechanism("rotor with a bob")
    rotor = m.body("rotor", mass=1.0, inertia=(1.0, 1.0, 1.0))
    m.revolute("A", m.ground, rotor, axis="z")
    m.spherical("ball", rotor, m.body("bob", mass=0.2, com=(0, 0, -0.25), inertia=(0.01, 0.01, 0.005)), at=(0.5, 0, 0))
    m.torsion_spring("spring", "A", stiffness=0.5, damping=0.1)
    return m.build()


RUNS: list[dict[str, Any]] = [
    *({"method": method, "tolerance": 1e-7} for method in ("dopri5", "dop853", "adams")),
    *(
        {"method": method, "step": 2e-3}
        for method in ("rk4", "semi_implicit_euler", "trapezoidal", "generalized_alpha")
    ),
    *({"method": method, "tolerance": 1e-4, "adaptive": True} for method in ("trapezoidal", "generalized_alpha")),
    {"coordinates": "absolute", "tolerance": 1e-7},
    {"coordinates": "absolute", "method": "rk4", "step": 2e-3},
    {"formulation": "natural", "step": 2e-3},
    {"formulation": "natural", "step": 2e-3, "projections": True},
]


@pytest.mark.parametrize("options", RUNS, ids=lambda given: "-".join(map(str, given.values())))
@pytest.mark.parametrize(("make", "start"), [(four_bar, {}), *rest([(spun_arm, {"v": {"A": 8 * math.pi}})])])
def test_every_nth_output_is_every_nth_row(make: Any, start: dict[str, Any], options: dict[str, Any]) -> None:
    s = make()
    fine = s.simulate(0.96, every=0.02, **start, **options)
    for n in (3, 48):
        coarse = s.simulate(0.96, every=n * 0.02, **start, **options)
        assert coarse.t == pytest.approx(fine.t[::n], abs=1e-14)
        for a, b in ((coarse.q, fine.q), (coarse.v, fine.v)):
            np.testing.assert_allclose(a, b[::n], rtol=0, atol=1e-10)
        assert coarse.certificate.ok == fine.certificate.ok
        assert coarse.certificate.energy_drift == pytest.approx(fine.certificate.energy_drift, rel=1e-6, abs=1e-14)
