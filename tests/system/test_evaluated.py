"""Functions that are asked for once are evaluated as they were traced: equal to machine code, and never compiled."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import whippletree as wt
from support.systems import four_bar, loaded, same_bits, state
from system.test_large_derivatives import walker
from whippletree.errors import DynamicsError, StateError
from whippletree.kernels import kernel as kernels
from whippletree.kernels.evaluated import Evaluated
from whippletree.system.engine import Engine
from whippletree.system.example_systems import quarter_car
from whippletree.system.system_kernels import SystemKernels

MODELS: dict[str, Callable[[], wt.System]] = {
    "walker": lambda: walker().build(),
    "four-bar": lambda: four_bar().build(),
    "loaded": lambda: loaded().build(),
    "quarter car": quarter_car,
}


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    """An empty cache, and no compiler."""

    def refused(*_: object, **__: object) -> bytes:
        raise AssertionError("compiled")

    monkeypatch.setenv("WHIPPLETREE_CACHE", str(tmp_path))
    monkeypatch.setattr(kernels, "compile_ir", refused)


@pytest.mark.parametrize("name", MODELS)
def test_a_linear_model_and_its_modes_compile_nothing(name: str, uncompiled: None) -> None:
    assert len(MODELS[name]().linearize().modes())


@pytest.mark.parametrize("name", MODELS)
def test_linear_models_are_those_of_machine_code(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    s = MODELS[name]()
    evaluated = s.linearize()
    monkeypatch.setattr(SystemKernels, "once", property(lambda _: s))
    compiled = s.linearize()
    assert evaluated is not compiled
    for ours, theirs in zip((evaluated.A, evaluated.mass_matrix), (compiled.A, compiled.mass_matrix), strict=True):
        assert np.allclose(ours, theirs, rtol=1e-11, atol=1e-11 * np.abs(theirs).max())
    for body in s.description.bodies:
        J = s.jacobian(s.q0, body.name)
        assert np.allclose(evaluated.body_jacobians[body.name], J, rtol=0, atol=1e-12)


def test_states_have_the_same_bits_alone_and_in_a_batch() -> None:
    s = walker().build()
    q, v, _ = state(s, 3, (150,))
    together = s.derivatives_of("energy", q, v).values
    alone = np.array([s.derivatives_of("energy", a, b).values for a, b in zip(q, v, strict=True)])
    assert same_bits(together, alone)
    assert same_bits(s.derivatives_of("energy", q[:70].reshape(7, 10, -1), v[0]).values[3, 4],
                     s.derivatives_of("energy", q[34], v[0]).values)  # fmt: skip


def test_a_function_is_traced_once_for_all_processes(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHIPPLETREE_CACHE", str(tmp_path))
    first = walker().build().linearize()
    second = walker().build()
    monkeypatch.setattr(Engine, "_trace", None)
    assert same_bits(second.linearize().A, first.A)


def test_what_is_not_finite_is_told_as_of_machine_code() -> None:
    s = walker().build()
    q, v, _ = state(s, 3, (70,))
    v[66, 2] = np.inf
    with pytest.raises(StateError, match=r"v\[2\] of state 66|v\[2\].*state 66"):
        s.derivatives_of("energy", q, v)
    with pytest.raises(DynamicsError, match="not finite"):
        s.derivatives_of("energy", q[0], np.full(s.nv, 1e300))


def test_a_loop_is_compiled_all_the_same() -> None:
    m, before = wt.Mechanism("chain"), None
    for i in range(60):
        rod = m.body(f"rod {i}", wt.rod(length=0.2, mass=0.5, axis="x"))
        m.revolute(f"J{i}", before or m.ground, rod, at=(0.2 if i else 0.0, 0, 0), axis="yz"[i % 2])
        before = rod
    engine = m.build()._engine
    energy, reactions = engine.request("energy"), engine.request("jacobian", frame="rod 3")
    assert not isinstance(engine.call(energy, once=True).kernel, Evaluated)
    assert isinstance(engine.call(reactions, once=True).kernel, Evaluated)
