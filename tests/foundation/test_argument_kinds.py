"""Errors of Python that leave a public call are told in words where an argument is not what its annotation says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whippletree as wt
from whippletree.errors import CallError
from whippletree.foundation.argument_kinds import unfit_argument, unfit_call
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


class Asked:
    """Something with calls of all kinds."""

    def method(self, first: int, second: int = 0, *, third: int = 0) -> int:
        return first + second + third

    @classmethod
    def made(cls, number: int) -> Asked:
        return cls()

    @staticmethod
    def free(number: int, *more: int, **options: int) -> int:
        return number


@pytest.mark.parametrize(
    ("args", "options", "words"),
    [
        ((), {}, "method() needs first: it takes (first, second, *, third)"),
        ((1, 2, 3), {}, "method() takes 2 arguments without their names, not 3: (first, second, *, third)"),
        ((1,), {"frist": 2}, 'method() has no argument "frist"; did you mean "first"?'),
        ((1,), {"weight": 2}, 'method() has no argument "weight"; it takes (first, second, *, third)'),
        ((1,), {"w" * 5000: 2}, f'method() has no argument "{"w" * 100}"; it takes (first, second, *, third)'),
        ((1,), {"first": 2}, "method() has first twice, by its place and by its name"),
        ((), {"third": 2}, "method() needs first: it takes (first, second, *, third)"),
        ((1, 2), {"third": 2}, ""),
    ],
)
def test_arguments_without_a_parameter_are_told(args: tuple[int, ...], options: dict[str, int], words: str) -> None:
    assert unfit_call(Asked.method, (Asked(), *args), options) == (words and f"Asked.{words}")


@pytest.mark.parametrize(
    ("function", "args", "options", "words"),
    [
        (vars(Asked)["made"].__func__, (Asked,), {}, "Asked.made() needs number: it takes (number)"),
        (
            vars(Asked)["made"].__func__,
            (Asked, 1, 2),
            {},
            "Asked.made() takes 1 argument without its name, not 2: (number)",
        ),
        (Asked.free, (), {"other": 1}, "Asked.free() needs number: it takes (number, *more, **options)"),
        (Asked.free, (1, 2, 3), {"other": 1}, ""),
    ],
)
def test_methods_of_classes_too(
    function: Callable[..., object], args: tuple[Any, ...], options: dict[str, int], words: str
) -> None:
    assert unfit_call(function, args, options) == words


def test_methods_that_a_class_has_from_another_are_told_with_its_own_name() -> None:
    class Heir(Asked):
        pass

    assert unfit_call(Asked.method, (Heir(),), {}).startswith("Heir.method() needs first")


def test_a_call_error_is_caught_as_a_type_error_and_as_the_package_s() -> None:
    m = wt.Mechanism("m")
    for kind in (TypeError, wt.StateError, CallError):
        with pytest.raises(kind, match=r"Mechanism.body\(\) needs name"):
            m.body()  # type: ignore[call-arg]


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
    with pytest.raises(TypeError, match=r'tube\(\) has no argument "thickness"; it takes \(\*, radius, wall\)$'):
        wt.tube(radius=0.1, thickness=0.01)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"tube\(\) takes its arguments by name only: \(\*, radius, wall\)$"):
        wt.tube(0.1, 0.01)  # type: ignore[misc]
    with pytest.raises(TypeError, match=r'Mechanism\(\) has no argument "g"; it takes \(name, gravity\)$'):
        wt.Mechanism("m", g=9.81)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"write\(\) needs path"):
        wt.write(wt.Mechanism("m"))  # type: ignore[call-arg]
