"""Analysis: the cost of formulations in operations, in parallel and in time; the papers' models and tables."""

from whippletree.analysis.cost import Costs, costs, traced
from whippletree.analysis.evaluation_times import Evaluation, seconds
from whippletree.analysis.family import Curves, compare
from whippletree.analysis.flow import Flow, Schedule, pairwise

__all__ = ["Costs", "Curves", "Evaluation", "Flow", "Schedule", "compare", "costs", "pairwise", "seconds", "traced"]
