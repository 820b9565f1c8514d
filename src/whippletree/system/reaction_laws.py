"""Force laws on reactions: loads, reactions and accelerations found together.

A law makes loads l (its unknowns) of what joints transmit, r, and acts with forces that are affine in the loads; and
what joints transmit under forces is affine in these. So with r0 the wrenches without loads, and A their changes with
the loads,

    l = n(r),        r = r0 + A l                                                               (1)

which are as many equations as there are loads, one for each bearing. A = dr/dl comes from the trace of the reactions,
in which the loads are symbols; everything that it shares with the accelerations is computed once. (1) is solved by
`ITERATIONS` steps of Newton's method from l = n(r0), the same number at every state, and then checked:

- the residual of (1) is below `CONVERGED` of the loads;
- n(r0 + A l) draws loads together whatever they are: with K_ij the most that a unit of load j can change load i,
  I - K is an M-matrix, all of its pivots positive. Then (1) has one solution and no other. For one bearing that is also
  necessary: beyond K = 1 there are none or two (Painleve). For several it may refuse what has one; for laws that are
  written, K is that at the solution.

What does not pass is no number, which calls refuse in words (see `guards`).

Derivatives follow from (1) at the solution: with g(x, l) = n(x, r(x, l)), whatever the x are,

    dl = (I - dg/dl)^-1 (dg/dx) dx                                                              (2)

Newton's rows of implicit methods and equilibria have accelerations and multipliers among their unknowns, and with these
given, reactions are known: n(r) then depends on loads only where these are forces on bodies. Whether there is one
solution is a question to the accelerations, and is asked as in forward dynamics.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import casadi as ca
import numpy as np

from whippletree.elements.forces import BearingFriction
from whippletree.errors import ModelError, StateError
from whippletree.formulations.nodes.applied_forces import seen_by
from whippletree.formulations.nodes.frame_states import frame_state
from whippletree.system import loop_equations, tree_equations
from whippletree.system.functions import FUNCTIONS, derivatives_name
from whippletree.system.guards import guard
from whippletree.system.output_derivatives import reactions_of_motion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whippletree.kernels.kernel import Array
    from whippletree.system.equations import Equations, Request, Symbols

__all__ = [
    "CONVERGED",
    "ITERATIONS",
    "LoadEquations",
    "LoadSlopes",
    "check_function",
    "failure_in_words",
    "load_slopes",
    "read_components",
    "resolved",
]

ITERATIONS = 6
"""Steps of Newton's method: the first is exact where all forces keep their directions, the others double the digits."""

CONVERGED = 1e-9
"""The residual that is left of the loads, as a share of the largest."""

ONE_SOLUTION = 1e-9
"""What pivots of I - K must be above."""

_GIVEN_MOTION = ("inverse_dynamics", "bias_force", "motion_reactions")
"""Functions of a given motion, in which reactions of trees follow from the motion alone."""


class LoadEquations(NamedTuple):
    """The equations (1) at a state, over symbols: loads, what they are made of, and whether they can be trusted."""

    loads: ca.SX  # (n)
    r: ca.SX  # what joints transmit, six numbers for each joint of each law
    r0: ca.SX
    A: ca.SX
    K: ca.SX
    residual: ca.SX
    pivots: ca.SX

    @property
    def good(self) -> ca.SX:
        """One where the loads are the only solution."""
        size = ca.mmax(ca.fabs(self.loads))
        converged = ca.mmax(ca.fabs(self.residual)) <= CONVERGED * size
        return ca.logic_and(converged, ca.mmin(self.pivots) > ONE_SOLUTION)


def check_function(eq: Equations, function: str) -> None:
    """Refuse a function that does not know force laws on reactions."""
    if not eq.closed or function not in (*_GIVEN_MOTION, derivatives_name("inverse_dynamics")):
        return
    law = eq.description.reaction_laws[0].name
    raise StateError(
        f'force "{law}" depends on reactions, which inverse dynamics of a mechanism with loops cannot have: what its '
        "joints transmit depends on which of them act; prescribe joints and ask for driving_forces, or give friction a "
        "constant coulomb="
    )


def resolved(eq: Equations, request: Request, x: Symbols, output: ca.SX) -> ca.SX:
    """Return a traced result with the loads in it solved for."""
    loads, r = eq.load_symbols
    if not ca.depends_on(output, ca.vertcat(loads, r)):
        return output
    found = equations_at(eq, request, x)
    good = found.good
    if FUNCTIONS[request.function].newton:
        moved = equations_at(eq, replace(request, function="powers"), x)
        good = ca.logic_and(good, ca.mmin(moved.pivots) > ONE_SOLUTION)
    return guard(ca.substitute(output, ca.vertcat(loads, r), ca.vertcat(found.loads, found.r)), good)


def equations_at(eq: Equations, request: Request, x: Symbols) -> LoadEquations:
    """Return the loads at a state, with the equations they satisfy."""
    loads, r_symbol = eq.load_symbols
    n = loads.numel()
    r = _transmitted(eq, request, x)
    A, r0 = ca.jacobian(r, loads), ca.substitute(r, loads, ca.SX.zeros(n))
    if ca.depends_on(ca.vertcat(ca.vec(A), r0), ca.vertcat(loads, r_symbol)):
        law = eq.description.reaction_laws[0].name
        raise ModelError(f'force "{law}": what an element does must be affine in its loads')
    laws = _Laws(eq, x, r_symbol)
    found = laws.at(r0)
    for _ in range(ITERATIONS if A.nnz() else 0):
        r = r0 + A @ found
        step, _ = eliminated(ca.SX.eye(n) - laws.slope_at(r) @ A, found - laws.at(r))
        found = found - step
    r = r0 + A @ found
    K = ca.SX(ca.horzcat(*(laws.bounds_at(r, A[:, j]) for j in range(n))))
    _, pivots = eliminated(ca.densify(ca.SX.eye(n) - K), ca.SX.zeros(n))
    return LoadEquations(found, r, r0, A, K, found - laws.at(r), pivots)


class LoadSlopes(NamedTuple):
    """What (2) needs, over symbols for the loads: n(r) of these, and r itself."""

    g: ca.SX
    r: ca.SX
    loads: ca.SX

    def changes(self, dg: ca.SX) -> ca.SX:
        """Return the changes of the loads with columns of changes that n(r) has by itself."""
        matrix = ca.SX.eye(self.g.numel()) - ca.jacobian(self.g, self.loads)
        return eliminated(ca.densify(matrix), dg)[0]


def load_slopes(eq: Equations, request: Request, x: Symbols) -> LoadSlopes:
    """Return g of (2) at a state, by the reactions that a request has."""
    loads, r_symbol = eq.load_symbols
    r = _transmitted(eq, request, x)
    return LoadSlopes(_Laws(eq, x, r_symbol).at(r), r, loads)


class _Laws:
    """What the laws of a mechanism make of the wrenches r, over symbols for these."""

    def __init__(self, eq: Equations, x: Symbols, r: ca.SX) -> None:
        walk, state = eq.walk(x), eq.element_state(x)
        placed = [(force, place) for force, place in eq.nodes.acting().forces if force.n_loads]
        self._seen = [(force, place, seen_by(walk, place, state)) for force, place in placed]
        self._r = r
        self._loads = ca.SX(ca.vertcat(*(ca.densify(ca.SX(force.loads(seen))) for force, _, seen in self._seen)))
        self._slope = ca.jacobian(self._loads, r)

    def at(self, r: ca.SX) -> ca.SX:
        """Return the loads for wrenches."""
        return ca.SX(ca.substitute(self._loads, self._r, r))

    def slope_at(self, r: ca.SX) -> ca.SX:
        """Return the derivative of the loads."""
        return ca.SX(ca.substitute(self._slope, self._r, r))

    def bounds_at(self, r: ca.SX, change: ca.SX) -> ca.SX:
        """Return how much a change of the wrenches can change each load."""
        found = [force.load_bounds(seen, change[[*place.transmitted], 0]) for force, place, seen in self._seen]
        return ca.SX(ca.substitute(ca.densify(ca.SX(ca.vertcat(*found))), self._r, r))


def _transmitted(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return what the joints of all laws transmit, in the axes of their frames on the parent, over the loads."""
    names = tuple(dict.fromkeys(name for use in eq.description.reaction_laws for name in use.reactions))
    wrenches = _wrenches(eq, request, x, names)
    walk, parts = eq.walk(x), []
    laws = ((use, place) for use, (force, place) in zip(eq.description.forces, eq.nodes.acting().forces, strict=True))
    for use, place in laws:
        if use.force.n_loads:
            for name, frame in zip(use.reactions, place.joint_frames, strict=True):
                k, R = names.index(name), frame_state(walk, -1, frame).side.R
                parts += [R.T @ wrenches[6 * k : 6 * k + 3], R.T @ wrenches[6 * k + 3 : 6 * k + 6]]
    return ca.SX(ca.vertcat(*parts))


def _wrenches(eq: Equations, request: Request, x: Symbols, joints: tuple[str, ...]) -> ca.SX:
    """Return what joints transmit, in ground axes, by the formulation of a request if it has one."""
    if FUNCTIONS[request.function].newton or request.function in (*_GIVEN_MOTION, "inverse_dynamics_derivatives"):
        return eq.of_joints(replace(request, joints=joints), reactions_of_motion(eq, x))
    formulation = request.formulation
    if not FUNCTIONS[request.function].solved:
        formulation = "independent_coordinates" if eq.closed else "articulated"
    asked = replace(request, function="reactions", formulation=formulation, joints=joints, check=False)
    if not eq.closed:
        return ca.SX(tree_equations.reactions(eq, asked, x))
    return eq.of_joints(asked, loop_equations.reaction_ways(eq, asked, x)["sweep"])


def eliminated(matrix: ca.SX, right: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return the solution of linear equations, for columns on the right, by elimination along the diagonal; and pivots.

    >>> x, pivots = eliminated(ca.SX([[2, 1], [1, 1]]), ca.SX([3, 2]))
    >>> ca.DM(x), ca.DM(pivots)
    (DM([1, 1]), DM([2, 0.5]))
    """
    n, m = right.shape
    rows = [[matrix[i, j] for j in range(n)] + [right[i, j] for j in range(m)] for i in range(n)]
    for k in range(n):
        for i in range(k + 1, n):
            if not rows[i][k].is_zero():
                share = rows[i][k] / rows[k][k]
                rows[i] = [
                    a - share * b if j > k else ca.SX(0) for j, (a, b) in enumerate(zip(rows[i], rows[k], strict=True))
                ]
    solution = [[ca.SX(0)] * m for _ in range(n)]
    for k in reversed(range(n)):
        for c in range(m):
            rest = rows[k][n + c]
            for j in range(k + 1, n):
                rest = rest - rows[k][j] * solution[j][c]
            solution[k][c] = rest / rows[k][k]
    solved = ca.vertcat(*(ca.horzcat(*row) for row in solution))
    return ca.SX(solved), ca.SX(ca.vertcat(*(rows[k][k] for k in range(n))))


# ---------------------------------------------------------------------- in words


def read_components(eq: Equations) -> dict[str, dict[str, tuple[int, ...]]]:
    """Return by law and joint which components of the joint's reaction the law depends on."""
    x = {name: eq.symbol(name, size) for name, size in (("q", eq.plan.nq), ("v", eq.plan.nv))}
    x |= {"z": eq.symbol("z", len(eq.description.states)), "t": eq.symbol("t", 1)}
    walk, state = eq.walk(x), eq.element_state(x)
    found: dict[str, dict[str, tuple[int, ...]]] = {}
    for use, (force, place) in zip(eq.description.forces, eq.nodes.acting().forces, strict=True):
        if not force.n_loads:
            continue
        seen = seen_by(walk, place, state)
        columns = ca.which_depends(ca.SX(force.loads(seen)), seen.r, 1, False)
        used = [k for k, there in enumerate(columns) if there]
        found[use.name] = {
            name: tuple(k - 6 * i for k in used if 6 * i <= k < 6 * i + 6) for i, name in enumerate(use.reactions)
        }
    return found


def failure_in_words(eq: Equations, state: Mapping[str, object], margin: float = ONE_SOLUTION) -> str | None:
    """Say what is wrong with the loads at a state; nothing if they are good, and not next to where they are not."""
    described = eq.description
    given: dict[str, Any] = {"tau": np.zeros(eq.plan.nv), "a": np.zeros(eq.plan.nv), "z": described.state_values}
    given |= {"t": 0.0, "parameters": described.parameter_values}
    given |= {name: value for name, value in state.items() if value is not None}
    function = eq.once("loads in words", lambda: _diagnosis(eq))
    found = [value.full() for value in function.call([given[name] for name in function.name_in()])]
    loads, residual, pivots, K, at_rest = found
    names = [use.name for use in described.reaction_laws for _ in range(use.force.n_loads)]
    if not all(np.isfinite(value).all() for value in found):
        return None
    bad = np.flatnonzero(pivots.ravel() <= margin)
    if bad.size and pivots.min() > ONE_SOLUTION:
        return (
            f'force "{names[int(pivots.argmin())]}" is about to jam (Painleve\'s paradox): a unit of its load makes '
            "nearly another one"
        )
    if bad.size:
        return _several(eq, given, names, int(bad[0]), K, float(at_rest.ravel()[bad[0]]))
    if np.abs(residual).max() > CONVERGED * np.abs(loads).max():
        worst = names[int(np.abs(residual).argmax())]
        return (
            f'force "{worst}": its load does not converge with the reactions in {ITERATIONS} steps; smooth the law, or '
            "make it depend less on them"
        )
    return None


def _several(eq: Equations, given: Mapping[str, object], names: list[str], k: int, K: Array, at_rest: float) -> str:
    """Say that the loads have no solution, or several, or may have."""
    what = f'force "{names[k]}" at this state'
    remedy = "a smaller coefficient or another geometry has one solution, and so have bodies that give way"
    if len(names) == 1:
        how_many = _number_of_solutions(eq, given, at_rest) if _is_bearing(eq) else "no solution or several"
        return (
            f"{what} has {how_many} (Painleve's paradox): a unit of its load makes {float(K[0, 0]):.3g} more of it, "
            f"where one is the limit, and the joint jams; {remedy}"
        )
    others = ", ".join(f'"{name}"' for name in dict.fromkeys(names) if name != names[k])
    return (
        f"{what} may have no solution, or several (Painleve's paradox): with those of {others} the loads of these "
        f"bearings can drive each other up by a factor of {np.abs(np.linalg.eigvals(K)).max():.3g}, where one is the "
        f"limit; {remedy}"
    )


def _is_bearing(eq: Equations) -> bool:
    return isinstance(eq.description.reaction_laws[0].force, BearingFriction)


def _number_of_solutions(eq: Equations, given: Mapping[str, Any], scale: float) -> str:
    """Say how many loads one bearing has that jams: l - n(r0 + A l) is below zero at both ends, and concave between."""
    trial = eq.once("trial loads", lambda: _diagnosis(eq, trial=True))
    inputs = [given[name] for name in trial.name_in() if name != "trial"]
    tried = (scale + 1e-300) * np.geomspace(1e-4, 1e4, 2001)
    left = tried - trial(*inputs, tried[None, :]).full().ravel()
    return "two solutions" if left.max() > 0.0 else "no solution"


def _diagnosis(eq: Equations, *, trial: bool = False) -> ca.Function:
    """Return loads, their residual, the pivots, K, and the loads of the first step, as a function of a state.

    With `trial`, return what loads follow from some that are tried.
    """
    from whippletree.system.equations import Request

    request = Request("powers", "kinematics")
    x = eq.inputs(request)
    found = equations_at(eq, request, x)
    laws = _Laws(eq, x, eq.load_symbols[1])
    outputs = [found.loads, found.residual, found.pivots, found.K, laws.at(found.r0)]
    if trial:
        some = ca.SX.sym("trial", found.loads.numel())
        outputs, x = [laws.at(found.r0 + found.A @ some)], {**x, "trial": some}
    named = ca.vertcat(*(p.symbol for p in eq.description.parameters))
    inputs = {
        **{name: symbol for name, symbol in x.items() if name not in ("parameters", "trial")},
        "parameters": named,
    }
    if trial:
        inputs["trial"] = x["trial"]
    outs = [f"o{k}" for k in range(len(outputs))]
    return ca.Function("loads", [*inputs.values()], [ca.densify(one) for one in outputs], [*inputs], outs)
