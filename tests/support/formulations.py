"""Formulations of loops that tests walk through."""

from __future__ import annotations

from whippletree.system.equations import BY_GROUP, LOOP_FORMULATIONS

EXACT = tuple(name for name in LOOP_FORMULATIONS if name not in (BY_GROUP, "penalty"))
"""All that are exact, each for the whole mechanism."""

BASIC = ("tree_augmented", "joint_multipliers", "independent_coordinates", "absolute")
"""One for each set of unknowns: tests that take long make do with these."""
