"""The table of public calls says what the calls do: their options, errors, shapes and examples."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whippletree as wt
from whippletree.system.example_systems import four_bar
from whippletree.system.public_call import PublicCall, calls_of

STATE = {"q": "q0", "v": "v0", "tau": "v0", "a": "v0", "dv": "v0", "q0": "q0", "q1": "q0"}
OTHERS: dict[str, Any] = {"name": "coupler", "joint": "A", "values": {"A": 0.5}, "seed": 0, "guess": {"A": 1.0}}
VERBS: dict[str, tuple[Any, ...]] = {
    "simulate": (0.1,),
    "simulate_many": (0.1,),
    "inverse_kinematics": ({"coupler": [0.5, 0.8, 0.0]},),
    "sweep_joint": ("A", [1.0, 1.1]),
    "show": (None, "four_bar.png"),
}
"""Arguments of calls whose work is done in other rooms, where these are other ones."""
TABLE = sorted(calls_of(wt.System).values(), key=lambda call: call.name)


def test_the_table_has_a_row_for_every_public_method() -> None:
    methods = {name for name in dir(wt.System) if name[0] != "_" and callable(getattr(wt.System, name))}
    assert methods == {call.name for call in TABLE}
    assert {"simulate", "linearize", "realtime", "show", "c_source", "forward_dynamics"} <= methods


def given(s: wt.System, call: PublicCall) -> list[Any]:
    """Return a good argument for each part of a call's state."""
    if call.name in VERBS:
        return [*VERBS[call.name]]
    names = {"readable_source": "mass_matrix", "derivatives_of": "energy", "function": "energy", "c_source": "energy"}
    named = OTHERS | {"name": names.get(call.name, "coupler"), "language": "c"}
    return [getattr(s, STATE[one]) if one in STATE else named[one] for one in call.state]


@pytest.mark.parametrize("call", TABLE, ids=lambda call: call.name)
def test_each_call_is_a_method_with_the_signature_of_its_row(call: PublicCall) -> None:
    method = getattr(wt.System, call.name)
    shown = inspect.signature(method).parameters
    assert {*call.state, *call.options} <= set(shown)
    assert call.summary == (inspect.getdoc(method) or "").splitlines()[0]
    assert call.example


@pytest.mark.parametrize("call", TABLE, ids=lambda call: call.name)
def test_each_call_answers_and_refuses_other_options(
    call: PublicCall, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    s = four_bar()
    method, arguments = getattr(s, call.name), given(s, call)
    found = method(*arguments)
    if call.shape and isinstance(found, np.ndarray):
        numbers = {"nv": s.nv, "nq": s.nq}
        known = tuple(numbers.get(str(one), one) for one in call.shape)
        assert len(known) == found.ndim
        assert all(one == size for one, size in zip(known, found.shape, strict=True) if isinstance(one, int))
    if call.options:
        with pytest.raises((wt.StateError, TypeError), match=r'no (option|argument) ("colour"|colour=)'):
            method(*arguments, colour="red")


def test_options_have_one_default_everywhere() -> None:
    seen: dict[str, Any] = {}
    for call in TABLE:
        method = getattr(wt.System, call.name)
        of_system = method.__module__.startswith("whippletree.system")
        for name, one in inspect.signature(method).parameters.items():
            if name in call.options and of_system:
                assert seen.setdefault(name, one.default) == one.default
    assert (seen["t"], seen["check"], seen["formulation"], seen["parameters"]) == (0.0, True, "auto", None)


def test_options_of_c_source_belong_to_functions_or_to_steps() -> None:
    s = four_bar()
    with pytest.raises(wt.StateError, match='prefix= belongs to c_source\\("step"\\)'):
        s.c_source("energy", prefix="crank")
    with pytest.raises(wt.StateError, match='c_source\\("step"\\) has no option "joints"'):
        s.c_source("step", joints=["A"])
