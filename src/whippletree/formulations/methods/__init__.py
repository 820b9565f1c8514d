"""One file per formulation: the steps or the solution, and at its end the declaration that registers it.

A formulation of your own is registered in the same way, from anywhere:

    from whippletree.formulations.methods import Formulation, LoopProblem, register

    MINE = register(Formulation("mine", solve=solve))
"""

from whippletree.formulations.methods import (
    absolute,
    articulated,
    by_branch,
    composite,
    constraint_embedding,
    coordinate_reduction,
    fully_recursive,
    independent_coordinates,
    joint_multipliers,
    natural,
    penalty,
    tree_augmented,
    velocity_transformation,
)
from whippletree.formulations.methods.formulation import (
    Candidacy,
    Formulation,
    LoopProblem,
    LoopSizes,
    NumericDecisions,
    TreeMethod,
)
from whippletree.formulations.methods.registry import find, register, unregister

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
