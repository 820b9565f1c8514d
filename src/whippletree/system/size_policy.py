"""What becomes one straight line of operations, what a loop over the nodes, and what is refused, by size.

A straight line runs faster, but takes time to compile that grows with its length; a loop over the nodes is compiled at
once, however many they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whippletree.errors import StateError
from whippletree.system.functions import FUNCTIONS

if TYPE_CHECKING:
    from whippletree.system.equations import Equations, Request

__all__ = [
    "MOST_TRACED",
    "ROLL_FROM",
    "STRAIGHT",
    "check_length",
    "has_equal_parts",
    "least_operations",
    "pairs_loop",
    "reduces_by_items",
    "rolls",
    "thresholds",
    "too_long",
]

ROLL_FROM = 48
"""From this many nodes on, functions are loops over the nodes rather than one straight line."""

STRAIGHT = 50_000
"""Up to this many instructions, large mechanisms with loops are one straight line all the same, which runs faster."""

MOST_TRACED = 1_500_000
"""What would have more operations than this, traced one by one, is refused: it would take many minutes."""

MANY_PAIRS = 100
"""From so many pairs of freedoms on, a loop over them is worth while."""

_PER_NODE, _PER_ENTRY = 100, 10
"""Operations that a node costs at the very least in a mechanism with loops, and an entry of a mass matrix."""


def thresholds() -> str:
    """Return what decides, together with a mechanism and a request, whether its code is a loop: a part of its key.

    >>> thresholds()
    '48|50000|100'
    """
    return f"{ROLL_FROM}|{STRAIGHT}|{MANY_PAIRS}"


def rolls(eq: Equations, request: Request) -> bool:
    """Tell whether a request is answered by loops: it is for large models, where there is such a form."""
    function = FUNCTIONS[request.function]
    if pairs_loop(eq, request):
        return True
    if not eq.large:
        return False
    if has_equal_parts(eq, request) and eq.parts(request) is not None:
        return True
    if eq.closed and (function.solved or function.of_loops):
        return eq.reduces_by_items(request) and eq.reduction_items(request)[1] > STRAIGHT
    if function.of_elements or (function.loaded and eq.description.reaction_laws):
        return False
    if not function.rolled or (function.solved and not _formulation_rolls(request)):
        return False
    # on the ground there is nothing to walk
    return not request.frame or eq.node_tree().where[request.frame][0] >= 0


def pairs_loop(eq: Equations, request: Request) -> bool:
    """Tell whether derivatives are made in loops over pairs: of a tree that is not small, all of whose joints move.

    >>> from whippletree.system.example_systems import pendulum
    >>> kernels = pendulum().kernels
    >>> pairs_loop(kernels.equations, kernels.request("forward_dynamics_derivatives"))
    False
    """
    if request.function != "forward_dynamics_derivatives" or eq.closed or eq.prescribed or eq.large:
        return False
    if eq.description.reaction_laws:
        return False
    from whippletree.formulations.rolled.rolled_walk import unknowns

    constants = eq.node_tree().node_constants
    if any(one.shared or one.home is not None for one in constants):
        return False
    return sum(depth + 1 for _, _, depth, _ in unknowns(constants).rows) >= MANY_PAIRS


def has_equal_parts(eq: Equations, request: Request) -> bool:
    """Tell whether a request of a large mechanism is put together from parts that meet only at the ground."""
    if not (eq.closed and eq.large) or request.wrenches:
        return False
    from whippletree.system.part_program import PART_FUNCTIONS

    if request.function not in PART_FUNCTIONS:
        return False
    if eq.description.reaction_laws:
        return False
    solved = FUNCTIONS[request.function].solved
    if solved and not (request.method.exact and set(request.method.needs) <= {"reduction"}):
        return False
    return bool(eq.part_families())


def _formulation_rolls(request: Request) -> bool:
    tree = request.method.tree
    return tree is not None and request.function in tree.rolled


def reduces_by_items(eq: Equations, request: Request) -> bool:
    """Tell whether loops are solved item by item: forward dynamics by a formulation that can, all rows carried."""
    if not eq.large or request.function != "forward_dynamics" or not request.method.loops_roll:
        return False
    if eq.prescribed or eq.description.reaction_laws:
        return False
    from whippletree.formulations.rolled.rolled_reduction import can_roll

    return can_roll(eq.attachments(), eq.node_tree()) and not eq.reduction_pairs(request)


def too_long(eq: Equations, request: Request) -> bool:
    """Tell whether a function of loops has no rolled form and would be a very long straight line."""
    if not (eq.closed and eq.large and FUNCTIONS[request.function].of_closures) or eq.reduces_by_items(request):
        return False
    if has_equal_parts(eq, request):
        return False
    return least_operations(eq, request) > MOST_TRACED


def least_operations(eq: Equations, request: Request) -> int:
    """Return how many operations a straight line of a mechanism with loops has at the very least, before it is traced.

    It is about half of what is found then.
    """
    tree = eq.node_tree().tree
    entries = sum(tree.depth) if FUNCTIONS[request.function].solved and not request.method.linear else 0
    return _PER_NODE * len(tree) + _PER_ENTRY * entries


def check_length(eq: Equations, request: Request) -> None:
    """Refuse what would be a straight line that takes many minutes to trace."""
    if too_long(eq, request):
        bodies, loops = len(eq.plan.nodes), len(eq.plan.cuts) + len(eq.description.closures)
        by = f' by "{request.formulation}"' if FUNCTIONS[request.function].solved else ""
        raise StateError(
            f"{request.function} of a mechanism with {bodies} moving bodies and {loops} loops would be one "
            f"straight line{by}, which takes many minutes to trace. Only forward_dynamics "
            f'by "coordinate_reduction" is a loop over the bodies, without prescribed joints, drives and written '
            f"closures: ask for that, or for a part of the mechanism"
        )
