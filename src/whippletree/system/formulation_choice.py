"""The choice of `auto`, and its reasons; the candidates worth timing, and the one taken of those timed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from whippletree.foundation.short_text import readable

__all__ = ["FormulationChoice", "GroupChoice", "close_ones", "fastest"]

_CLOSE = (1.5, 1.2)
"""A candidate with up to this many times the operations of the cheapest may be as fast, if they are few, or many."""

_FEW = 300
"""Up to this many operations, time is spent on waiting for results rather than on operations."""

_FASTER = 0.97
"""One that has more operations must take less than this share of the time to be taken."""

_COMPILED = 20_000
"""How many operations may be compiled in order to be timed: some two or three seconds."""

_WAYS = {
    "embedded": "embedded",
    "composite": "embedded, by composite inertias",
    "branches": "embedded with its branches, by composite inertias",
    "augmented": "by multipliers",
}


class GroupChoice(NamedTuple):
    """A group of loops, what it amounts to, and how it is solved; `counts` holds the operations of each method.

    It has `freedoms` in the tree, `equations` between them, and `independent` ones left; `alike` counts groups like it.
    """

    loops: tuple[str, ...]
    base: str
    bodies: int
    freedoms: int
    equations: int
    independent: int
    method: str
    counts: Mapping[str, int]
    alike: int = 1

    def __str__(self) -> str:
        named = ", ".join(self.loops[:4]) + (f", ... ({len(self.loops)} loops)" if len(self.loops) > 4 else "")
        like = f", and {self.alike - 1} more like it" if self.alike > 1 else ""
        words = (
            f"group of {named} on {self.base}{like}: {self.bodies} bodies with {self.freedoms} freedoms and "
            f"{self.equations} equations, {self.independent} independent; {_WAYS[self.method]}"
        )
        others = [f"{_WAYS[name]} {n}" for name, n in self.counts.items() if name != self.method]
        if not others:
            return words
        return f"{words} ({self.counts[self.method]} operations; {', '.join(others)})"


@readable
class FormulationChoice(NamedTuple):
    """The formulation that `auto` uses: its name, the operations of the candidates, and the ones left out, and why.

    `times` holds seconds per evaluation of those that were timed.

    >>> from whippletree.system.example_systems import four_bar
    >>> print(four_bar().chosen.name)
    independent_coordinates
    """

    name: str
    counts: Mapping[str, int]
    left_out: Mapping[str, str]
    groups: tuple[GroupChoice, ...]
    times: Mapping[str, float]

    def __str__(self) -> str:
        lines = []
        if self.counts:
            ordered = sorted(self.counts.items(), key=lambda item: (item[0] != self.name, item[1]))
            said = ", ".join(f"{name} {count}" for name, count in ordered)
            lines.append(f"{self.name} is used; operations for the tree's accelerations: {said}")
        else:
            lines.append(f"{self.name} is used")
        if self.times:
            timed = ", ".join(f"{name} {1e6 * seconds:.2g} us" for name, seconds in self.times.items())
            lines.append(f"  timed: {timed}")
        lines += [f"  {name} left out: {why}" for name, why in self.left_out.items()]
        lines += [f"  {group}" for group in self.groups]
        return "\n".join(lines)

    def packed(self) -> bytes:
        """Return it for the disk cache."""
        groups = [group._asdict() for group in self.groups]
        return json.dumps({**self._asdict(), "groups": groups}).encode()

    @staticmethod
    def unpacked(data: bytes) -> FormulationChoice:
        """Return the choice from its packed form."""
        found = json.loads(data)
        groups = tuple(GroupChoice(**{**g, "loops": tuple(g["loops"])}) for g in found.pop("groups"))
        return FormulationChoice(groups=groups, **found)


def close_ones(counts: Mapping[str, int]) -> list[str]:
    """Return the cheapest, and those close to it, as long as they do not take long to compile.

    >>> close_ones({"a": 1000, "b": 1100, "c": 1300})
    ['a', 'b']
    """
    least = min(counts.values())  # not empty: tuning asks only where something was counted
    most = _CLOSE[least > _FEW] * least
    chosen: list[str] = []
    total = 0
    for name in sorted(counts, key=lambda name: counts[name]):
        total += counts[name]
        if counts[name] > most or (chosen and total > _COMPILED):
            break
        chosen.append(name)
    return chosen


def fastest(counts: Mapping[str, int], times: Mapping[str, float]) -> str:
    """Return the one with the fewest operations of those that are as fast as the fastest, or nearly so.

    >>> fastest({"a": 100, "b": 120}, {"a": 1.0, "b": 0.98}), fastest({"a": 100, "b": 120}, {"a": 1.0, "b": 0.9})
    ('a', 'b')
    """
    least = min(times.values(), default=0.0)
    fast = [name for name in counts if not times or times.get(name, float("inf")) * _FASTER <= least]
    return min(fast, key=lambda name: counts[name])  # not empty: the fastest is one of them
