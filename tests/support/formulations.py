"""Formulations that tests walk through, as they are registered when a test asks."""

from __future__ import annotations

from whippletree.formulations.methods import registry
from whippletree.formulations.methods.formulation import Formulation

__all__ = ["BASIC", "EXACT", "LOOPS", "TREE_VARIANTS", "exact", "variants"]

BASIC = ("tree_augmented", "joint_multipliers", "independent_coordinates", "absolute")
"""One for each set of unknowns: tests that take long make do with these."""


def general(some: tuple[Formulation, ...]) -> list[Formulation]:
    """Those that take all bodies: natural coordinates are for rigid ones, and have tests of their own."""
    return [one for one in some if "natural" not in one.text.split("/")]


def exact() -> list[Formulation]:
    """All formulations of loops that are exact, each for the whole mechanism; those with options last."""
    some = [one for one in general(registry.loop_formulations()) if one.exact and one.text != "by_group"]
    return sorted(some, key=lambda one: bool(one.options))


def variants() -> tuple[str, ...]:
    """The same, with all that can be chosen within them."""
    return tuple(one.text for one in exact())


LOOPS = tuple(dict.fromkeys(one.name for one in general(registry.loop_formulations())))
"""The names of all formulations of loops."""

EXACT = tuple(dict.fromkeys(one.name for one in exact()))
"""The names of all that are exact, each for the whole mechanism."""

TREE_VARIANTS = tuple(one.text for one in general(registry.tree_formulations()))
"""All formulations of trees, with all that can be chosen within them."""
