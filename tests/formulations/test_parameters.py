"""Parameters kept as inputs, folded in, or written as numbers: the same mechanism."""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt
from support.measures import evaluated, relative

DEFAULTS = {"mass": 2.0, "length": 0.7, "width": 0.2, "lead": 0.3, "g": 9.81, "offset": 0.15}
OTHERS = {"mass": 3.1, "length": 0.4, "width": 0.35, "lead": -0.6, "g": 1.62, "offset": -0.2}
FUNCTIONS = {
    "forward_dynamics": ("q", "v", "tau"),
    "inverse_dynamics": ("q", "v", "a"),
    "mass_matrix": ("q",),
    "reactions": ("q", "v", "tau"),
    "energy": ("q", "v"),
    "center_of_mass": ("q",),
}


def mechanism(values: dict[str, float], keep: bool) -> wt.Mechanism:
    """A boom on a screw, with a swinging load; numbers or parameters in every place they can be."""
    m = wt.Mechanism("crane")
    p = {name: m.parameter(name, value) for name, value in values.items()} if keep else values
    m.gravity = (0.1, 0.0, -p["g"])
    mast = m.body("mast", wt.box((p["width"], 0.1, 1.0), mass=p["mass"], at=(0, 0.1, 0.5)))
    boom = m.body("boom", wt.rod(length=p["length"], mass=1.5 * p["mass"], axis="x"))
    plate = m.body("plate", wt.box((0.1, p["width"], 0.2), mass=0.4))
    load = m.body("load", mass=p["mass"] ** 2, com=(0, p["offset"], -0.3), inertia=np.diag([0.2, 0.3, 0.25]))
    m.screw("lift", m.ground, mast, lead=p["lead"], axis=(0.1, 0.2, 1.0))
    m.revolute("luff", boom, mast, at=(0, 0, 0), at_child=(p["offset"], 0, 1.0), axis="y")
    m.fixed("weld", boom, plate, at=(p["length"] / 2, 0, p["offset"]))
    m.spherical("hook", boom, load, at=(p["length"], 0, 0))
    m.frame("tip", on=boom, at=(p["length"], p["offset"], 0))
    return m


def states(s: wt.System, count: int = 4) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    x = {name: rng.uniform(-1.0, 1.0, (count, s.nv)) for name in ("v", "tau", "a")}
    return {"q": np.array([s.random(rng) for _ in range(count)]), **x}


@pytest.mark.parametrize("values", [DEFAULTS, OTHERS], ids=["defaults", "others"])
def test_inputs_equal_numbers_equal_folded(values: dict[str, float]) -> None:
    kept, plain = mechanism(DEFAULTS, keep=True).build(), mechanism(values, keep=False).build()
    folded = mechanism(values, keep=True).build(fold=True)
    x = states(kept)
    numbers = np.tile(list(values.values()), (len(x["q"]), 1))
    for name, inputs in FUNCTIONS.items():
        given = [x[key] for key in inputs]
        expected = evaluated(plain.function(name), *given)
        assert relative(evaluated(kept.function(name), *given, numbers), expected) < 1e-12, name
        assert relative(evaluated(folded.function(name), *given), expected) < 1e-12, name
    for name, inputs in (("pose", "q"), ("jacobian", "q")):
        expected = evaluated(plain.function(name, frame="tip"), x[inputs])
        assert relative(evaluated(kept.function(name, frame="tip"), x[inputs], numbers), expected) < 1e-12


def test_values_change_without_compiling_again() -> None:
    kept = mechanism(DEFAULTS, keep=True).build()
    plain = {name: mechanism(v, keep=False).build() for name, v in (("a", DEFAULTS), ("b", OTHERS))}
    x = states(kept)
    state = x["q"], x["v"], x["tau"]
    expected = {name: evaluated(s.function("forward_dynamics"), *state) for name, s in plain.items()}
    address = kept.kernels.kernel("forward_dynamics").address
    assert relative(kept.forward_dynamics(*state), expected["a"]) < 1e-12
    assert relative(kept.forward_dynamics(*state, parameters=OTHERS), expected["b"]) < 1e-12
    only = {**DEFAULTS, "lead": OTHERS["lead"]}
    once = mechanism(only, keep=False).build().function("forward_dynamics")
    assert relative(kept.forward_dynamics(*state, parameters={"lead": only["lead"]}), evaluated(once, *state)) < 1e-12
    assert kept.kernels.kernel("forward_dynamics").address == address


def test_a_batch_of_parameters() -> None:
    kept = mechanism(DEFAULTS, keep=True).build()
    x = states(kept, 2)
    both = np.array([list(DEFAULTS.values()), list(OTHERS.values())])
    got = kept.forward_dynamics(x["q"], x["v"], x["tau"], parameters=both)
    for i, values in enumerate((DEFAULTS, OTHERS)):
        one = kept.forward_dynamics(x["q"][i], x["v"][i], x["tau"][i], parameters=values)
        assert np.array_equal(got[i], one)


def test_folding_costs_no_more() -> None:
    m = mechanism(DEFAULTS, keep=True)
    kept, folded = m.build(), m.build(fold=True)
    assert folded.kernels.operations("forward_dynamics").total < kept.kernels.operations("forward_dynamics").total
