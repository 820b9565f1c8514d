"""Errors of Python that leave a public call are told in words where an argument is not what its annotation says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whippletree as wt
from whippletree.foundation.argument_kinds import unfit_argument
from whippletree.foundation.arrays import Array
from whippletree.foundation.user_frames import user_facing


def asked(
    text: str | None = None,
    whole: int = 0,
    real: float = 0.0,
    numbers: Sequence[float] = (),
    pair: tuple[str, int] = ("", 0),
    array: Array | None = None,
    table: Mapping[str, float] | None = None,
    function: Callable[[], object] | None = None,
    placement: wt.Placement | None = None,
    path: Path | None = None,
    several: Iterable[str] = (),
    anything: object = None,
    loose: Any = None,
) -> None:
    """A call with annotations of all kinds."""


@pytest.mark.parametrize(
    "given",
    [
        {"text": "a", "whole": 1, "real": 1, "numbers": [1, 2.5], "pair": ("a", 1), "array": np.zeros(3)},
        {"text": None, "whole": np.int64(3), "real": np.float32(1), "numbers": np.zeros(2), "array": np.zeros(2, int)},
        {"table": {"a": 1.0}, "function": print, "placement": wt.Placement(), "path": "a", "several": iter("ab")},
        {"anything": 1j, "loose": set()},
    ],
)
def test_what_fits_is_not_blamed(given: dict[str, Any]) -> None:
    assert unfit_argument(asked, (), given) == ""


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("text", 3, "text must be text or None, not int"),
        ("whole", True, "whole must be a whole number, not bool"),
        ("whole", 1.5, "whole must be a whole number, not float"),
        ("real", "1", "real must be a number, not str"),
        ("real", 10**400, "real must be a number, not int"),
        ("numbers", "12", "numbers must be a list of such: a number, not str"),
        ("numbers", [1, "2"], "numbers must be a list of such: a number, not list"),
        ("pair", ("a",), "pair must be a tuple, not tuple"),
        ("pair", ("a", "b"), "pair must be a tuple, not tuple"),
        ("array", [1.0], "array must be an array of numbers or None, not list"),
        ("array", np.array(["a"]), "array must be an array of numbers or None, not ndarray of <U1 and shape (1,)"),
        ("table", {"a": "b"}, "table must be a mapping or None, not dict"),
        ("function", 3, "function must be a function or None, not int"),
        ("placement", np.eye(4), "placement must be a Placement or None, not ndarray of float64 and shape (4, 4)"),
        ("path", 3, "path must be a path or None, not int"),
        ("several", 3, "several must be a list, not int"),
    ],
)
def test_what_does_not_fit_is_named(name: str, value: object, words: str) -> None:
    assert unfit_argument(asked, (), {name: value}) == f"asked(): {words}"


def test_faults_of_the_package_stay_as_they_are() -> None:
    @user_facing
    def faulty(value: float) -> float:
        return {}[value]  # type: ignore[no-any-return]

    with pytest.raises(KeyError):
        faulty(1.0)
    with pytest.raises(wt.StateError, match=r"faulty\(\): value must be a number, not str"):
        faulty("one")  # type: ignore[arg-type]


def test_functions_of_users_fail_as_they_do() -> None:
    m = wt.Mechanism("m")
    m.prismatic("x", m.ground, m.body("a", mass=1.0))

    def control(stepper: object) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        m.build().realtime().run(0.01, control)


def test_long_messages_are_shown_by_their_beginning_and_end() -> None:
    said = str(wt.ModelError(f"it begins {'x' * 100_000} and ends"))
    assert len(said) <= 4000 and said.startswith("it begins") and said.endswith("and ends")


def test_a_call_with_an_unknown_argument_names_the_known_ones() -> None:
    with pytest.raises(TypeError, match=r"argument 'thickness'; it takes radius=, wall=$"):
        wt.tube(radius=0.1, thickness=0.01)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"2 were given; it takes radius=, wall=$"):
        wt.tube(0.1, 0.01)  # type: ignore[misc]
    with pytest.raises(TypeError, match=r"'g'; it takes name=, gravity=$"):
        wt.Mechanism("m", g=9.81)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"argument: 'path'$"):
        wt.write(wt.Mechanism("m"))  # type: ignore[call-arg]
