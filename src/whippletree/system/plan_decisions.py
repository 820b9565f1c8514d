"""What a numeric plan of the loops decides for a formulation: the one place that reads a plan for a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whippletree.formulations.methods.formulation import Formulation, NumericDecisions

if TYPE_CHECKING:
    from whippletree.system.loop_plan import LoopPlan

__all__ = ["code_key", "decisions_of"]


def decisions_of(plan: LoopPlan, formulation: Formulation) -> NumericDecisions:
    """Return what a formulation needs of a plan."""
    return NumericDecisions(plan.choice, **{name: getattr(plan, name)() for name in formulation.needs})


def code_key(plan: LoopPlan, formulation: Formulation) -> str:
    """Return what the code of a formulation depends on."""
    decisions = decisions_of(plan, formulation)
    return plan.key() + repr([getattr(decisions, name) for name in formulation.needs])
