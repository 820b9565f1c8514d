"""The declaration of a formulation: one way to solve the equations of motion, as an object.

Every formulation solves, for the accelerations a of the spanning tree's joints and the multipliers lambda of the
closures' rows,

    M(q) a + b(q, v) = tau + C(q)^T lambda
    C(q) a + gamma(q, v, t) = 0

with M and b of the spanning tree, C the closures' rows on its velocities, and gamma what of their second derivative no
acceleration brings. A tree has the first line only, without lambda. Driving forces, reactions, accelerations of cut
joints and what time loops need follow from the solution, for all formulations in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca

from whippletree.errors import StateError
from whippletree.formulations.closures.closure_set import ClosureSet
from whippletree.formulations.closures.loop_solution import JOINT, Coordinates, Solution
from whippletree.formulations.closures.partition import Choice
from whippletree.formulations.nodes.sweeps import Unrolled

__all__ = ["DECISIONS", "Candidacy", "Formulation", "LoopProblem", "LoopSizes", "NumericDecisions", "TreeMethod"]

DECISIONS = ("absolute_pivots", "element_pivots", "penalty_weights", "compliance", "reduction", "group_methods")
"""Numeric decisions that a formulation may need, beyond the partition into dependent and independent freedoms."""

Matter = tuple[str, int, int]


@dataclass(frozen=True)
class NumericDecisions:
    """Decisions about the loops made from numbers, before tracing: the formulation's `needs`, the others empty.

    `choice` holds the independent freedoms and the order in which the dependent ones are eliminated; it is always
    there. `absolute_pivots` is the order of elimination in absolute coordinates, `element_pivots` the conditions and
    coordinates of chains that are open at bodies, in their order of elimination, `penalty_weights` has a number for
    each row, `compliance` the largest acceleration that a unit effort on each freedom makes with closed loops,
    `reduction` is the row with which each dependent freedom is eliminated on the way inward, and `group_methods` says
    how each group of loops is solved.
    """

    choice: Choice
    absolute_pivots: Sequence[tuple[Matter, Matter]] = ()
    element_pivots: Sequence[tuple[int, int]] = ()
    penalty_weights: Sequence[float] = ()
    compliance: Sequence[float] = ()
    reduction: Mapping[int, int] = field(default_factory=dict)
    group_methods: Sequence[str] = ()


@dataclass(frozen=True)
class LoopProblem:
    """The input of a formulation of loops.

    `walk` is the spanning tree at the state, with all forces on it, its accelerations zero but at prescribed joints;
    `closure_set` the closures with the rows that are kept; `baumgarte` the numbers alpha and beta. `coordinates` says
    where M, b and C come from, for formulations that solve the same equations in several coordinates.
    """

    walk: Unrolled
    closure_set: ClosureSet
    decisions: NumericDecisions
    baumgarte: tuple[float, float] = (0.0, 0.0)
    coordinates: Coordinates = JOINT


@dataclass(frozen=True)
class TreeMethod:
    """How a formulation solves a tree; all functions take the walk, unrolled or rolled.

    Driving forces and reactions that a formulation does not find by itself follow from its accelerations by inverse
    dynamics. `rolled` names the functions that are also traced as loops over the nodes. With forces, which are not
    rolled, a large tree is solved `in_pieces`, kernel after kernel. `weighed` says whether `auto` counts it for small
    trees. Accelerations that iterations find come with their estimated error.
    """

    accelerations: Callable[[Any], ca.SX | tuple[ca.SX, ca.SX]]
    driving_forces: Callable[[Any], ca.SX] | None = None
    reactions: Callable[[Any], ca.SX] | None = None
    rolled: frozenset[str] = frozenset()
    in_pieces: bool = False
    weighed: bool = False


@dataclass(frozen=True)
class LoopSizes:
    """Sizes of a mechanism with loops, which bound the cost of a formulation from below.

    `groups` holds for each group of loops its nodes and how many freedoms are independent in it. `depths(freedoms)`
    returns for each of some freedoms how many of them are on its way to the ground, with itself.
    """

    nodes: int
    freedoms: int
    independent: tuple[int, ...]
    groups: tuple[tuple[int, int], ...]
    depths: Callable[[Iterable[int]], Sequence[int]]

    def factorisation(self, freedoms: Iterable[int]) -> int:
        """Return the operations for the tree's mass matrix, its use in later steps, and its factorization."""
        entries = sum(self.depths(range(self.freedoms)))
        return 10 * entries + sum(depth**2 for depth in self.depths(freedoms))


@dataclass(frozen=True)
class Candidacy:
    """How `auto` weighs a formulation of mechanisms with loops.

    Candidates are counted in the `order` of these numbers: those whose cost grows slowly first, and all after the one
    that they `resemble` (its text): if that takes many more operations than the cheapest, they are not traced. The
    operations counted are multiplied by `weight`, how long one takes beside those of the others. `most_nodes` is the
    largest mechanism for which it is traced; `general_axes` says that it pays only where joint axes are general;
    `at_least` returns operations that it takes in any case.
    """

    order: float
    weight: float = 1.0
    resembles: str = ""
    most_nodes: int | None = None
    general_axes: bool = False
    at_least: Callable[[LoopSizes], int] | None = None


@dataclass(frozen=True, eq=False)
class Formulation:
    """One way to solve the equations of motion (see the module), with the options chosen within it.

    `name` is what people write as `formulation=`. Where that leaves a choice, each way is a formulation of its own,
    with the same name and other `options`, by which people choose; the one that is registered first is the default.
    Where options are numbers, or mappings from bodies or joints, `with_options` makes the formulation with those that
    are asked for, or refuses them; `bodies` are the names that such mappings speak of.

    `tree` solves trees and `solve` mechanisms with loops, if it can. `needs` names what numbers must decide for it
    (among `DECISIONS`). Of a formulation it is said that

    - it is not `exact`: its solution has an estimated error, and `kernels.closures.penalty_error` says what to expect
    - it `keeps_all_rows` of the closures, dependent ones too
    - it `takes_baumgarte`, that is, the terms 2 alpha phi' + beta^2 phi can be added to gamma
    - `own_baumgarte`, alpha and beta of such terms that its own options ask for
    - it is `linear`: no matrix is factorised whose entries grow with the square of the tree's depth
    - it `inverts_mass` of the tree, which must be regular by itself: multipliers are solved for
    - it goes `by_groups` of loops
    - its `loops_roll`: large mechanisms are solved in a loop over bodies and closures

    `candidacy` says how `auto` weighs it, if it does, and `refusal(parents)` why a tree is too large for it, in words.

    >>> Formulation("mine", options={"sharp": "very"}).text
    'mine/very'
    """

    name: str
    options: Mapping[str, str] = field(default_factory=dict)
    tree: TreeMethod | None = None
    solve: Callable[[LoopProblem], Solution] | None = None
    needs: tuple[str, ...] = ()
    exact: bool = True
    keeps_all_rows: bool = False
    takes_baumgarte: bool = False
    own_baumgarte: tuple[float, float] = (0.0, 0.0)
    linear: bool = False
    inverts_mass: bool = False
    by_groups: bool = False
    loops_roll: bool = False
    candidacy: Candidacy | None = None
    refusal: Callable[[Sequence[int]], str] | None = None
    with_options: Callable[[Mapping[str, str]], Formulation] | None = None
    bodies: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Its name and its chosen options, as it is printed and kept in caches."""
        return "/".join([self.name, *self.options.values()])

    def solved(self, problem: LoopProblem) -> Solution:
        """Return the solution of a mechanism with loops."""
        if self.solve is None:
            raise StateError(f'formulation "{self.text}" does not solve mechanisms with loops')
        return self.solve(problem)
