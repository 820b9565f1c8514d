"""How the functions are traced that implicit methods need: a residual of inverse dynamics, and its exact derivative.

The unknowns of a step are the accelerations a of all joints, the closures' multipliers and the rates y of the elements'
states; the rows, in the same order, are

    the tree's joints      ID(q, v, a) - forces - C^T multipliers
    cut joints             how far their coordinates miss the bodies they join
    prescribed joints      a
    closures               phi, or for velocity-only ones their rate
    elements' states       y - z'(q, v, z, t)

With q displaced by u = ... + c_u a, v = ... + c_v a and z = ... + c_v y, the derivative of the rows by the unknowns is
one matrix, which is the kernel `newton_matrix`; rows on positions are divided by c_u, and velocity-only ones by c_v. At
c_u = c_v = 0 it is [M, -C^T; C, 0], by which velocities are put on the closures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca

from whippletree.formulations.closures.closure_projection import missed
from whippletree.formulations.closures.closure_set import ClosureSet, jacobian_rows
from whippletree.formulations.closures.element_derivatives import (
    closure_slopes,
    force_slopes,
    rate_slopes,
    speed_slopes,
)
from whippletree.formulations.closures.loop_solution import stacked_rows
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.recursions import composite_body
from whippletree.formulations.recursions.applied_derivatives import AppliedDerivatives
from whippletree.formulations.recursions.inverse_dynamics_derivatives import Matrix, differentiate
from whippletree.system.output_derivatives import by_displacements
from whippletree.system.tree_equations import element_rates, inverse_dynamics

if TYPE_CHECKING:
    from whippletree.system.equations import Equations, Request, Symbols
    from whippletree.system.reaction_laws import LoadSlopes

__all__ = ["inverse_dynamics_derivatives", "newton_matrix", "newton_residual"]


def inverse_dynamics_derivatives(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the derivatives of the tree's efforts for displacements, velocities and accelerations, row by row."""
    walk = eq.walk(x)
    found, outside = differentiate(walk), AppliedDerivatives(walk)
    closure_set = eq.closure_set(x, kept=False) if eq.closed else _none(eq)
    nothing = [ca.SX(len(rows), 1) for rows in closure_set.keep]
    efforts = force_slopes(walk, eq.nodes.acting(), eq.element_state(x), outside)
    closure_slopes(walk, closure_set, nothing, eq.loaded(x).tau, efforts, outside, prescribed=True)
    slopes = outside.project()
    nv = eq.plan.nv
    parts = []
    for own, forces in ((found.q, slopes["q"]), (found.v, slopes["v"]), (found.a, {})):
        part = ca.SX(nv, nv)
        _put(part, own)
        _put(part, forces, factor=-1)
        parts.append(part)
    if eq.description.reaction_laws:
        by_loads, laws = _load_slopes(eq, request, x, ca.SX(inverse_dynamics(eq, request, x)))
        by_state = by_displacements(eq, laws.g, x["q"]), ca.jacobian(laws.g, x["v"]), ca.jacobian(laws.g, x["a"])
        parts = [part + by_loads @ laws.changes(ca.densify(own)) for part, own in zip(parts, by_state, strict=True)]
    return ca.densify(ca.vertcat(*(ca.vec(part.T) for part in parts)))


def newton_residual(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the rows, and then how fast cut joints (nv) and closures come apart."""
    here, closure_set = eq.loaded(x), eq.closure_set(x) if eq.closed else _none(eq)
    walk = here.walk
    held = closure_set.evaluate(walk)
    acted = closure_set.efforts_at_cuts(walk, here.tau)
    nv = eq.plan.nv
    rows = ca.densify(ca.SX(nv, 1))
    needed = composite_body.inverse_dynamics(acted)
    for i, row in enumerate(jacobian_rows(walk, held)):
        for j, value in row.items():
            needed[j] = needed[j] - value * x["multipliers"][i]
    for node, where in zip(acted.nodes, acted.v_slices, strict=True):
        if where.stop > where.start and not node.on_frame:
            rows[where] = x["a"][where] if node.prescribed else needed[where] - node.tau
    apart = ca.densify(ca.SX(nv, 1))
    phi, speed = stacked_rows(held, "phi"), stacked_rows(held, "rate")
    for cut, rates in zip(closure_set.attachments.cuts, closure_set.cut_rates(walk), strict=True):
        if cut.joint.nv:
            rows[cut.v] = x["a"][cut.v] if cut.use.prescribed else -missed(walk, closure_set, cut)
            apart[cut.v] = 0 if cut.use.prescribed else x["v"][cut.v] - rates.rate
    first = 0
    for attachment, keep in zip(closure_set.attachments.all, closure_set.keep, strict=True):
        for i, number in enumerate(keep):
            if attachment.driven is not None:
                cut = closure_set.attachments.cuts[attachment.driven]
                phi[first + i] = missed(walk, closure_set, cut)[number]
                speed[first + i] = speed[first + i] - x["v"][cut.v][number]
            elif not attachment.positional:
                phi[first + i] = speed[first + i]
        first += len(keep)
    return ca.SX(ca.vertcat(rows, *phi, element_rates(eq, x), apart, *speed))


def newton_matrix(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return the derivative of the rows by the unknowns, row by row; `step` is (c_v, c_u)."""
    walk, closure_set = eq.walk(x), eq.closure_set(x) if eq.closed else _none(eq)
    state, values = eq.element_state(x), _multipliers(eq, closure_set, x)
    found, outside = differentiate(walk), AppliedDerivatives(walk)
    efforts = force_slopes(walk, eq.nodes.acting(), state, outside)
    closure_slopes(walk, closure_set, values, eq.loaded(x).tau, efforts, outside)
    slopes, rates = outside.project(), rate_slopes(walk, eq.nodes.acting(), state)
    nv, nz, nm = eq.plan.nv, len(eq.description.states), sum(len(rows) for rows in closure_set.keep)
    cv, cu = x["step"][0], x["step"][1]
    turned = _displacement_map(eq, x["u"])

    K, Dv, M, Z = ca.SX(nv, nv), ca.SX(nv, nv), ca.SX(nv, nv), ca.SX(nv, nz)
    _put(K, found.q)
    _put(K, slopes["q"], factor=-1)
    _put(Dv, found.v)
    _put(Dv, slopes["v"], factor=-1)
    _put(M, found.a)
    _put(Z, slopes["z"], factor=-1)
    C = ca.SX(nm, nv)
    _put_rows(C, jacobian_rows(walk, closure_set.evaluate(walk)))
    top = ca.horzcat(cu * (K @ turned) + cv * Dv + M, -C.T, cv * Z)
    lower = ca.horzcat(_closure_rows(walk, closure_set, C, turned, cv, cu), ca.SX(nm, nm + nz))
    Yq, Yv, Yz = ca.SX(nz, nv), ca.SX(nz, nv), ca.SX(nz, nz)
    for part, kind in ((Yq, "q"), (Yv, "v"), (Yz, "z")):
        _put(part, rates[kind])
    last = ca.horzcat(-cu * (Yq @ turned) - cv * Yv, ca.SX(nz, nm), ca.SX.eye(nz) - cv * Yz)
    whole = ca.vertcat(_given_rows(eq, walk, closure_set, top, turned), lower, last)
    if eq.description.reaction_laws:
        whole = whole + _load_columns(eq, request, x, turned)
    return ca.densify(ca.vec(whole.T))


def _load_columns(eq: Equations, request: Request, x: Symbols, turned: ca.SX) -> ca.SX:
    """Return what changes of loads do to the rows, where forces depend on reactions: (2) of `reaction_laws`."""
    none, (cv, cu) = ca.SX(0, 1), ca.vertsplit(x["step"])
    rows = newton_residual(eq, request, x)[: eq.size("n_unknowns"), :]
    by_loads, laws = _load_slopes(eq, request, x, rows)
    by_a = cu * (by_displacements(eq, laws.g, x["q"]) @ turned) + cv * ca.jacobian(laws.g, x["v"])
    by_a = by_a + ca.jacobian(laws.g, x["a"])
    by_others = ca.jacobian(laws.g, x.get("multipliers", none)), cv * ca.jacobian(laws.g, x.get("z", none))
    return ca.SX(by_loads @ laws.changes(ca.densify(ca.horzcat(by_a, *by_others))))


def _load_slopes(eq: Equations, request: Request, x: Symbols, rows: ca.SX) -> tuple[ca.SX, LoadSlopes]:
    """Return the derivative of rows by the loads of laws on reactions, and what these loads follow from."""
    from whippletree.system.reaction_laws import load_slopes  # only some mechanisms need it

    laws = load_slopes(eq, request, x)
    return ca.jacobian(rows, laws.loads), laws


def _closure_rows(walk: Unrolled, closure_set: ClosureSet, C: ca.SX, turned: ca.SX, cv: ca.SX, cu: ca.SX) -> ca.SX:
    """Return the closures' rows; those on velocities only are for these, and depend on positions besides."""
    rows = C @ turned
    speeds = speed_slopes(walk, closure_set)
    first = 0
    for attachment, keep in zip(closure_set.attachments.all, closure_set.keep, strict=True):
        if not attachment.positional:
            for i in range(first, first + len(keep)):
                slope = ca.SX(1, C.shape[1])
                _put(slope, speeds.get(i, {}))
                # c_u / c_v, and nothing when both are zero
                rows[i, :] = C[i, :] + (cu / (cv + (cv == 0))) * (slope @ turned)
        first += len(keep)
    return rows


def _given_rows(eq: Equations, walk: Unrolled, closure_set: ClosureSet, top: ca.SX, turned: ca.SX) -> ca.SX:
    """Put in the rows of prescribed and cut joints."""
    rows = ca.SX(top)
    one = ca.SX.eye(top.shape[1])
    for i, given in enumerate(eq.prescribed_mask):
        if given:
            rows[i, :] = one[i, :]
    G = ca.SX(top.shape[0], top.shape[0])
    cut_rows = iter(jacobian_rows(walk, closure_set.cut_rates(walk)))
    for cut in closure_set.attachments.cuts:
        for i in range(cut.v.start, cut.v.stop):
            own = next(cut_rows)  # not empty: the rows of all cut joints, one after another
            if not cut.use.prescribed:
                G[i, i] = 1
                for j, value in own.items():
                    G[i, j] = -value
                rows[i, :] = ca.horzcat(G[i, :] @ turned, ca.SX(1, top.shape[1] - top.shape[0]))
    return rows


def _displacement_map(eq: Equations, u: ca.SX) -> ca.SX:
    """Return how displacements of the configuration q + u follow from those of u (nv, nv)."""
    blocks = [
        use.joint.displacement_map(u[v, :])
        for use, (_, v) in zip(eq.description.coordinate_owners, eq.plan.coordinate_slices, strict=True)
        if use.joint.nv
    ]
    return ca.SX(ca.diagcat(*blocks))


def _multipliers(eq: Equations, closure_set: ClosureSet, x: Symbols) -> list[ca.SX]:
    """Return the multipliers of each closure."""
    values = x.get("multipliers", ca.SX(0, 1))
    parts, first = [], 0
    for keep in closure_set.keep:
        parts.append(values[first : first + len(keep)] if keep else ca.SX(0, 1))
        first += len(keep)
    return parts


def _none(eq: Equations) -> ClosureSet:
    """Return no closures."""
    return eq.closure_set(kept=False)


def _put(target: ca.SX, entries: Matrix, factor: float = 1) -> None:
    for (i, j), value in entries.items():
        target[i, j] = target[i, j] + factor * value


def _put_rows(target: ca.SX, rows: list[dict[int, ca.SX]]) -> None:
    for i, row in enumerate(rows):
        for j, value in row.items():
            target[i, j] = value
