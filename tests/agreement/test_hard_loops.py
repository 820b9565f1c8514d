"""Random mechanisms of all families, and such as are hard to compute: the right number, or words.

2000 by CasADi's evaluator and 200 in machine code, each by all formulations, against equations in absolute coordinates
in plain NumPy (`absolute_balance.refined`). An answer is right if its relative error is at most 1e-9, or a hundred
roundings times the condition number of the equations, after balancing (far from the origin, roundings of the distance);
for rounded data, a hundred times what their rounding changes. One of each family runs always.
"""

from __future__ import annotations

import numpy as np
import pytest

from support.hard_agreement import acceleration, compiled_acceleration, reaction_errors, verdicts
from support.hard_loops import HARD, NONE, Hard, hard
from support.loop_models import built
from support.random_loops import FAMILIES
from support.sampling import sampled

pytestmark = pytest.mark.rest

EVERY, COMPILED = 125, 13
ALL = (*HARD, *FAMILIES)
MEMBERS = [(family, i) for family in ALL for i in range(EVERY)]
ALWAYS = (
    *(("folded", i) for i in (4, 7, 10)),
    ("rounded", 6),
    *(("mixed", i) for i in (5, 6)),
    ("far", 5),
    ("expressions", 0),
)
IN_MACHINE_CODE = [(family, i) for family in ALL for i in range(EVERY, EVERY + COMPILED)]


def test_there_are_enough() -> None:
    assert len(MEMBERS) >= 2000
    assert len(IN_MACHINE_CODE) >= 200
    assert {family for family, _ in ALWAYS} >= set(HARD)


def assert_right_or_refused(h: Hard, found: dict[str, str]) -> None:
    wrong = {name: words for name, words in found.items() if words.startswith("WRONG")}
    assert not wrong, wrong
    if not h.singular:  # what is regular has an answer
        assert found.get("auto") == "right", found


@pytest.mark.parametrize(("family", "i"), sampled(MEMBERS, lambda key: key in ALWAYS))
def test_the_right_number_or_words(family: str, i: int) -> None:
    h = hard(family, i)
    assert_right_or_refused(h, verdicts(h, acceleration))


@pytest.mark.deep
@pytest.mark.parametrize(("family", "i"), IN_MACHINE_CODE)
def test_the_right_number_or_words_in_machine_code(family: str, i: int) -> None:
    h = hard(family, i)
    assert_right_or_refused(h, verdicts(h, compiled_acceleration))


@pytest.mark.parametrize(
    ("family", "i"), sampled([key for key in MEMBERS if key[0] != "rounded"], lambda key: key in ALWAYS)
)
def test_reactions_balance_every_body(family: str, i: int) -> None:
    """By the formulations in turn; the equations of bodies are written anew, at their centres of mass."""
    h = hard(family, i)
    if not h.singular:
        error = reaction_errors(built(h.case.looped), h, i)
        assert error <= h.allowed, (error, h.allowed)


@pytest.mark.parametrize("family", HARD)
def test_what_is_hard_about_them(family: str) -> None:
    """They are consistent to rounding and well conditioned once balanced, but for links that are folded."""
    found = [hard(family, i) for i in range(8)]
    assert sum(not h.singular for h in found) >= 5
    for h in found:
        e = h.case.equations
        residual, rate = np.abs(e.rows.residual).max(), np.abs(e.rows.G @ e.v).max()
        most = {"rounded": 1e-7, "far": 1e-9}.get(family, 1e-12)
        assert max(residual, rate) < most
        assert h.singular or h.allowed < NONE
