"""Every numbered equation of the texts: both sides in numbers, and the function that computes it is entered."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from whippletree.analysis.equations import TEXTS
from whippletree.analysis.equations.equation import KINDS, Equation, Text
from whippletree.analysis.equations.tree_motion import TreeMotion
from whippletree.cli import main
from whippletree.errors import WhippletreeError

OTHERS = {
    "kang-yoon": (46, "1 2 7 10 22 23 32"),
    "nikravesh": (30, "22 24"),
    "critchley-anderson": (
        111,
        "1 2 6 8 9 11 14 15 16 17 18 19 25 26 29 31 32 35 37 49 51 52 56 57 68 70 71 74 75 82 83 85 86 91 96 98 "
        "108 109 110",
    ),
    "jain": (69, "4 5 6 8 9 15 17 22 23 24 25 44 47 48 49 51 57"),
    "garcia-de-jalon": (
        135,
        "8.3 8.14 8.17 8.18 8.19 8.20 8.21 8.22 8.23 8.24 8.28 8.31 8.57 8.99 8.112 8.113 8.118 8.121 8.122 8.130",
    ),
}
"""How many numbered equations the texts have, and which of them no program computes."""

PAGES = Path(__file__).parents[2] / "docs" / "theory"

pytestmark = pytest.mark.rest


def faults(text: Text, one: Equation) -> Iterator[str]:
    """Yield what is wrong with a row."""
    if one.kind not in KINDS:
        yield "its kind is not one"
    if one.kind != "A":
        if one.form or one.function:
            yield "nothing is computed, but it has a form"
        return
    try:
        found = sourced(one.function)
    except (ImportError, AttributeError):
        yield f"there is no {one.function}"
        return
    words = re.findall(r"\w+", inspect.getsource(found))
    for name in re.findall(r"[\w+]+", one.letter) or ["no letter"]:
        if name not in words:
            yield f"{one.function} does not say {name}"
    for make in (WATCH.shared, WATCH.alone):  # what another row has traced is not traced again
        try:
            motion = make(text)
            with WATCH.looking() as entered:
                gap = one.gap(motion)
        except Exception as error:  # a letter that is not there, shapes that do not fit
            yield str(error)
            return
        if found.__code__ in entered:
            break
    else:
        yield f"it does not enter {one.function}"
    if not gap < 10.0**-one.digits:
        yield f"its sides are {gap:.0e} apart"


class Watch:
    """What is entered while letters and functions of motions are made, remembered with them."""

    def __init__(self) -> None:
        self.motions: dict[str, Any] = {}
        self.took: dict[Any, set[Any]] = {}
        self.open: list[set[Any]] = []

    def shared(self, text: Text) -> Any:
        if text.key not in self.motions:
            self.motions[text.key] = text.motion()
        return self.motions[text.key]

    def alone(self, text: Text) -> Any:
        return text.motion()

    @contextmanager
    def looking(self) -> Iterator[set[Any]]:
        """Look at what is entered."""

        def see(frame: FrameType, event: str, _: object) -> None:
            if event == "call":
                self.open[-1].add(frame.f_code)

        self.open.append(set())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(TreeMotion, "letter", self._kept(TreeMotion.letter))
            patch.setattr(TreeMotion, "function", self._kept(TreeMotion.function))
            sys.setprofile(see)
            try:
                yield self.open[-1]
            finally:
                sys.setprofile(None)
                self.open.clear()

    def _kept(self, make: Any) -> Any:
        def kept(motion: TreeMotion, *given: Any, **named: Any) -> Any:
            key = (motion.text, motion.heavier, make.__name__, repr((given[:1], *sorted(named.items()))))
            self.open.append(set())
            try:
                return make(motion, *given, **named)
            finally:
                took = self.took.setdefault(key, set())
                took |= self.open.pop()
                self.open[-1].update(took)

        return kept


WATCH = Watch()


def sourced(path: str) -> Any:
    """Return a function or method by its path."""
    names = path.split(".")
    for k in range(len(names) - 1, 0, -1):
        try:
            found: Any = importlib.import_module(".".join(["whippletree", *names[:k]]))
        except ModuleNotFoundError:
            continue
        for name in names[k:]:
            found = getattr(found, name)
        return inspect.unwrap(found)
    raise ImportError(path)


def wrong_in_order(text: Text) -> str:
    """Return what is wrong with the rows together: all numbers in order, and the kinds that the paper has."""
    count, others = OTHERS[text.key]
    rows = {one.number: one.kind for one in text.equations}
    numbers = [int(re.sub(r"\D", "", one.number.rpartition(".")[2]) or 0) for one in text.equations]
    numbers = [number for number in numbers if number]
    if len(rows) < len(text.equations) or {*numbers} != {*range(1, count + 1)}:
        return "a number is missing, or twice there"
    if any(b - a not in (0, 1) for a, b in pairwise(numbers)):
        return "the rows are not in order"
    if [number for number, kind in rows.items() if kind != "A"] != others.split():
        return "another row is computed, or not"
    return ""


@pytest.mark.parametrize("key", TEXTS)
def test_all_rows_are_there(key: str) -> None:
    assert not wrong_in_order(TEXTS[key])


ROWS = [(text, one) for text in TEXTS.values() for one in text.equations]


@pytest.mark.parametrize(("text", "one"), ROWS, ids=[f"{text.key}-{one.number}" for text, one in ROWS])
def test_a_row_is_right(text: Text, one: Equation) -> None:
    """The sides agree on numbers, and the function in the table is entered while they are worked out."""
    assert not list(faults(text, one))


def on_page(text: Text, row: Equation | None = None) -> str:
    """Return the rows of a text as they stand on its page, without the numbers of this machine."""
    changed = text if row is None else replace(text, equations=(row,))
    lines = changed.table(worked_out=False).markdown().splitlines()
    return "\n".join(line.rpartition(" |  |")[0] for line in lines if re.match(r"\| (\d|[ab] )", line))


def page_of(text: Text) -> list[str]:
    page = (PAGES / f"equations_{text.key.replace('-', '_')}.md").read_text()
    return [line[:-2].rpartition(" |")[0] for line in page.splitlines() if re.match(r"\| (\d|[ab] )", line)]


@pytest.mark.parametrize("key", TEXTS)
def test_the_page_is_that_of_the_rows(key: str) -> None:
    text = TEXTS[key]
    assert page_of(text) == [on_page(text, one) for one in text.equations]


@pytest.mark.deep
@pytest.mark.parametrize("key", TEXTS)
def test_changed_rows_are_told(key: str) -> None:
    """Twenty random rows, each with one thing changed: its number, its form, its function, its letter or its kind."""
    text, rng = TEXTS[key], np.random.default_rng(3)
    computed = [k for k, one in enumerate(text.equations) if one.kind == "A"]
    for k in rng.choice(computed, 20, replace=False):
        one = text.equations[k]
        for changed in wrongly(one, text.equations[rng.choice(computed)], rng):
            rows = (*text.equations[:k], changed, *text.equations[k + 1 :])
            told = bool(wrong_in_order(replace(text, equations=rows))) or any(faults(text, changed))
            told = told or on_page(text, changed) not in page_of(text)
            assert told, f"{one} changed to {changed}"


def wrongly(one: Equation, other: Equation, rng: np.random.Generator) -> Iterator[Equation]:
    """Yield a row with one thing changed, for each thing."""
    yield replace(one, number=str(int(re.sub(r"\D", "", one.number) or 1) + 1))
    yield replace(one, kind="S")
    yield replace(one, function=one.function + "d")
    if other.function != one.function:
        yield replace(one, function=other.function)
    yield replace(one, letter=one.letter + ", nowhere")
    signs = [found.start() for found in re.finditer(r" [+@-] ", one.form)]
    if signs:
        at = rng.choice(signs)
        yield replace(one, form=f"{one.form[:at]}{' - ' if one.form[at + 1] == '+' else ' + '}{one.form[at + 3 :]}")
    left, _, right = one.form.partition(" == ")
    yield replace(one, form=f"{left} == 1.01 * ({right.partition(';')[0]}) + 1e-3" if right else "0 == 1")


def test_nothing_is_not_compared() -> None:
    """BothSides that vanish say nothing."""
    text = TEXTS["kang-yoon"]
    with pytest.raises(WhippletreeError, match="nothing with nothing"):
        replace(text.of("3"), form="0 * m[j] == 0 * m[j] + 0").gap(text.motion())


def test_other_kinds_say_what_they_are() -> None:
    text = TEXTS["kang-yoon"]
    with pytest.raises(WhippletreeError, match="nothing is compared"):
        text.of("1").gap(text.motion())
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
