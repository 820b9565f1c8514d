"""Fuzzing: whatever is in a file or an argument, it is right or is refused in words, soon and within its memory.

A few cases of each campaign run always, those of two campaigns in the core, and all of them deep. A case that fails is
repeated by its number: see `support/limited_child.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz import public_calls
from support.limited_child import failures
from support.sampling import deep, rest


@pytest.mark.parametrize(
    ("campaign", "start", "end"),
    [
        ("fuzz.api_calls", 0, 150),
        ("fuzz.model_files", 0, 60),
        *rest(
            [
                ("fuzz.tampered_checkpoints", 0, 15),
                ("fuzz.tampered_results", 0, 30),
                ("fuzz.public_calls", 0, 500),
                ("fuzz.command_lines", 0, 36),
                ("fuzz.foreign_files", 0, 64),
                ("fuzz.mesh_contents", 0, 70),
            ]
        ),
        *deep(
            [
                ("fuzz.tampered_checkpoints", 15, 2000),
                ("fuzz.tampered_results", 30, 2000),
                ("fuzz.api_calls", 150, 10_000),
                ("fuzz.public_calls", 500, 20_000),
                ("fuzz.command_lines", 36, 3000),
                ("fuzz.model_files", 60, 10_000),
                ("fuzz.foreign_files", 64, 16_000),
                ("fuzz.mesh_contents", 70, 16_000),
            ]
        ),
    ],
)
def test_nothing_gets_out_of_hand(campaign: str, start: int, end: int, tmp_path: Path) -> None:
    found = failures(campaign, start, end, tmp_path)
    assert not found, "\n".join(found)


def test_whatever_users_call_is_among_the_cases(tmp_path: Path) -> None:
    """Objects of a new kind get a line in `public_calls.OBJECTS`, packages that export one in `PACKAGES`."""
    assert public_calls.unreached(public_calls.prepare(tmp_path)) == []


@pytest.mark.rest
def test_arguments_that_no_parameter_takes_are_told_in_words(tmp_path: Path) -> None:
    """All public calls without arguments, with far too many, and with one of a name that nothing has."""
    calls, raw = public_calls.misfits(public_calls.prepare(tmp_path))
    assert calls > 2000
    assert raw == []
