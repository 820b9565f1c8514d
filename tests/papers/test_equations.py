"""Every numbered equation of the texts: both sides in numbers, and the function that computes it is entered."""

from __future__ import annotations

import importlib
import sys
from types import FrameType

import pytest

from whippletree.analysis.equations import TEXTS
from whippletree.analysis.equations.equation import KINDS, Equation, Text
from whippletree.cli import main
from whippletree.errors import WhippletreeError

COUNTS = {"kang-yoon": 46}
"""How many numbered equations the texts have."""

pytestmark = pytest.mark.rest

ROWS = [(text, one) for text in TEXTS.values() for one in text.equations if one.kind == "A"]


def test_every_number_is_there_once() -> None:
    for key, count in COUNTS.items():
        assert [one.number for one in TEXTS[key].equations] == [str(k) for k in range(1, count + 1)]


@pytest.mark.parametrize(("text", "one"), ROWS, ids=[f"{text.key}-{one.number}" for text, one in ROWS])
def test_both_sides_agree(text: Text, one: Equation) -> None:
    """The sides agree on numbers, and the function in the table is entered while they are worked out."""
    assert one.says and one.form and one.letter
    code, entered = function_of(one).__code__, set()

    def see(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            entered.add(frame.f_code)

    state = text.state()  # a new one, so that everything is traced while we look
    sys.setprofile(see)
    try:
        gap = one.gap(state)
    finally:
        sys.setprofile(None)
    assert gap < 10.0**-one.digits
    assert code in entered, f"({one.number}) does not enter {one.function}"


def function_of(one: Equation) -> object:
    module, _, name = one.function.rpartition(".")
    found = getattr(importlib.import_module(f"whippletree.{module}"), name)
    return getattr(found, "__wrapped__", found)


def test_wrong_sides_are_told() -> None:
    """A sign, a transposed matrix or a lost term is far above what rounding leaves."""
    text = TEXTS["kang-yoon"]
    state, one = text.state(), text.of("28")
    left, right = one.sides(state)  # type: ignore[misc]
    wrong = Equation(one.number, "A", one.says, sides=lambda _: (left, -right))
    assert wrong.gap(state) > 0.1


def test_other_kinds_say_what_they_are() -> None:
    text = TEXTS["kang-yoon"]
    for one in text.equations:
        assert one.kind in KINDS
        if one.kind != "A":
            assert not one.sides
            with pytest.raises(WhippletreeError, match="nothing is compared"):
                one.gap(None)
    with pytest.raises(WhippletreeError, match="has no equation"):
        text.of("47")


def test_a_text_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """All rows stand in the table, each with its gap."""
    assert main(["papers", "kang-yoon"]) == 0
    said = capsys.readouterr().out
    for one in TEXTS["kang-yoon"].equations:
        assert any(line.split()[:2] == [one.number, one.kind] for line in said.splitlines())
    assert main(["papers", "kang-yon"]) == 2
    assert 'there is no text "kang-yon"; did you mean "kang-yoon"?' in capsys.readouterr().err
