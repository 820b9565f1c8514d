"""2 000 random mechanisms of any structure, masses and state: every formulation is right, or says that it is not.

The answer is that of plain NumPy in absolute coordinates (see `random_mechanisms`). Forty always run, each by `auto`
and two of the other formulations in turn; all run by all formulations in the deep tests.
"""

from __future__ import annotations

import pytest

from support.random_mechanisms import RIGHT, STRUCTURES, trial, verdicts
from support.sampling import deep

pytestmark = pytest.mark.rest

ALWAYS, ALL = 40, 2000


def assert_none_is_wrong(i: int, share: int | None = None) -> None:
    t = trial(i)
    found = verdicts(t, share=share)
    wrong = {name: words for name, words in found.items() if words.startswith("WRONG")}
    assert not wrong, (t.looped.name, wrong)
    if t.allowed == RIGHT:  # what is well conditioned has an answer
        assert found.get("auto") == "right", (t.looped.name, found)


@pytest.mark.parametrize("i", range(ALWAYS))
def test_a_few_are_right(i: int) -> None:
    assert_none_is_wrong(i, share=i)


@pytest.mark.parametrize("i", deep(range(ALL)))
def test_all_are_right_or_refused_in_words(i: int) -> None:
    assert_none_is_wrong(i)


def test_what_there_is_among_the_few() -> None:
    names = " ".join(trial(i).looped.name for i in range(ALWAYS))
    assert all(word in names for word in (*STRUCTURES, "plain", "spread", "light on heavy", "massless"))
    assert "moving" in names
    assert "at rest" in names
