"""One file per formulation: the steps or the solution, and at its end the declaration that registers it.

A formulation of your own is registered in the same way, from anywhere:

    from whippletree.formulations.methods import Formulation, LoopProblem, register

    MINE = register(Formulation("mine", solve=solve))

Those that `auto` weighs on trees are imported here; the others when one of them is asked for, or all are.
"""

from whippletree.formulations.methods import articulated, composite
from whippletree.formulations.methods.formulation import (
    Candidacy,
    Formulation,
    LoopProblem,
    LoopSizes,
    NumericDecisions,
    TreeMethod,
)
from whippletree.formulations.methods.registry import find, register, register_when_needed, unregister

__all__ = [
    "Candidacy",
    "Formulation",
    "LoopProblem",
    "LoopSizes",
    "NumericDecisions",
    "TreeMethod",
    "absolute",
    "articulated",
    "by_branch",
    "composite",
    "constraint_embedding",
    "coordinate_reduction",
    "find",
    "fully_recursive",
    "independent_coordinates",
    "joint_multipliers",
    "natural",
    "penalty",
    "register",
    "tree_augmented",
    "unregister",
    "velocity_transformation",
]

_MODULES = {
    "absolute": "absolute",
    "by_branch": "by_branch",
    "by_group": "constraint_embedding",
    "constraint_embedding": "constraint_embedding",
    "coordinate_reduction": "coordinate_reduction",
    "fully_recursive": "fully_recursive",
    "independent_coordinates": "independent_coordinates",
    "joint_multipliers": "joint_multipliers",
    "natural": "natural",
    "penalty": "penalty",
    "tree_augmented": "tree_augmented",
    "velocity_transformation": "velocity_transformation",
}
"""The modules in which formulations are registered, by the name of the formulation."""

_WEIGHED = (
    *("by_group", "constraint_embedding", "coordinate_reduction", "independent_coordinates", "joint_multipliers"),
    *("tree_augmented", "velocity_transformation"),
)
"""Those of them that `auto` weighs for mechanisms with loops."""

register_when_needed({name: f"{__name__}.{module}" for name, module in _MODULES.items()}, _WEIGHED)
