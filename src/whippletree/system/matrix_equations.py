"""The papers' matrices by their names, traced over the coordinates.

With Y the velocities [angular; linear] of all bodies at their centres of mass, in ground axes, and v the joints':

    B       Y = B v                                                             Nikravesh 5-10
    R       Y = R z', z' being v but along the ground's axes at balls and
            floating bases                                                      Garcia de Jalon and Bayo 8.99-8.105
    D*      what cut joints and closures hold: D* Y = 0                         Nikravesh 11
    C       the rows of D* B that are independent of each other: C v = 0        Nikravesh 12-15
    E       v = E times the independent velocities, C E = 0                     Nikravesh 16-25
    G       gains P H* D^-1 of the articulated-body recursion, in node axes     Jain 7

Bodies that are welded together are one. The rates of bodies' own coordinates stand below the bodies in B and R, and in
the last columns of D*: they are absolute coordinates too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca

from whippletree.formulations.closures.closure_set import jacobian_rows
from whippletree.formulations.methods.absolute import cut_rows
from whippletree.formulations.methods.velocity_transformation import velocity_map
from whippletree.formulations.nodes.node_interface import AngularState, Articulated
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.recursions import articulated_body
from whippletree.formulations.recursions.ground_axes import bodies
from whippletree.spatial import Rotation, Translation
from whippletree.system.loop_equations import motion_basis

if TYPE_CHECKING:
    from whippletree.system.equations import Equations, Request, Symbols

__all__ = [
    "closure_matrix",
    "gain_matrix",
    "minimal_matrix",
    "reference_point_matrix",
    "row_matrix",
    "velocity_matrix",
]


def velocity_matrix(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return B, row after row."""
    walk = _walk(eq, x)
    seen = bodies(walk, "centroid")
    blocks = []
    for k in range(len(walk.nodes)):
        own = {}
        for i in walk.tree.path(k):
            joint = seen.at(i)
            if joint.axes.shape[1]:
                own[i] = Translation(seen.at(k).p - joint.r).motion(joint.axes)
        blocks.append(own)
    return _by_rows(_with_own_rates(eq, walk, blocks))


def reference_point_matrix(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return R, row after row."""
    walk = _walk(eq, x)
    return _by_rows(_with_own_rates(eq, walk, velocity_map(walk, bodies(walk, "centroid"))))


def row_matrix(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return D*, row after row: all rows of all closures."""
    walk = _walk(eq, x)
    n = len(walk.nodes)
    seen, own = bodies(walk, "centroid"), own_rates(eq)
    whole = []
    for one in cut_rows(walk, _all(eq, x)):
        block = ca.densify(ca.SX(one.bias.shape[0], 6 * n + len(own)))
        for k, F in one.node_forces.items():
            body = seen.at(k)
            at_centre = Translation(-body.field.rho).force(Rotation(body.A).force(F))
            block[:, 6 * k : 6 * k + 6] = at_centre.T
        for i, column in one.own.items():
            block[:, 6 * n + own.index(i)] = column
        whole.append(block)
    return _by_rows(ca.SX(ca.vertcat(ca.SX(0, 6 * n + len(own)), *whole)))


def closure_matrix(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return C, row after row: the rows that the plan keeps, on the joints of the spanning tree."""
    if not eq.closed:
        return ca.SX(0, 1)
    walk, closure_set = _walk(eq, x), eq.closure_set(_given(x))
    rows = jacobian_rows(walk, closure_set.evaluate(walk))
    C = ca.densify(ca.SX(len(rows), eq.plan.nv))
    for r, row in enumerate(rows):
        for j, value in row.items():
            C[r, j] = value
    return _by_rows(C)


def minimal_matrix(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return E, row after row."""
    if not eq.closed:
        return _by_rows(ca.densify(ca.SX.eye(eq.plan.nv)))
    return motion_basis(eq, request, x)


def gain_matrix(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return G, row after row: each joint's columns in the six rows of the body behind it."""
    walk = _walk(eq, x)
    place = walk.outward(articulated_body.locate, AngularState.rest())
    _, hinge = walk.inward(articulated_body.eliminate_joint, Articulated.nothing(), place)
    whole = ca.densify(ca.SX(6 * len(walk.nodes), eq.plan.nv))
    for k, node in enumerate(walk.nodes):
        if node.shared:
            continue
        own, joint = walk.homes.get(k, slice(0, 0)), walk.v_slices[k]
        columns = [*range(own.start, own.stop)]
        columns += [] if node.prescribed else [*range(joint.start, joint.stop)]
        if columns:
            whole[6 * k : 6 * k + 6, columns] = hinge.at(k).gain()
    return _by_rows(whole)


def own_rates(eq: Equations) -> list[int]:
    """Return where in v the rates of bodies' own coordinates are."""
    return [i for _, v in eq.plan.own_slices.values() for i in range(v.start, v.stop)]


def _given(x: Symbols) -> Symbols:
    return {name: x[name] for name in ("q", "t") if name in x}


def _walk(eq: Equations, x: Symbols) -> Unrolled:
    return eq.walk({"q": x["q"]})


def _all(eq: Equations, x: Symbols) -> Any:
    return eq.closure_set(_given(x), kept=False)


def _with_own_rates(eq: Equations, walk: Unrolled, blocks: list[dict[int, ca.SX]]) -> ca.SX:
    """Return blocks of columns by joint, body after body, and the own rates below."""
    own = own_rates(eq)
    whole = ca.densify(ca.SX(6 * len(blocks) + len(own), eq.plan.nv))
    for k, row in enumerate(blocks):
        for i, block in row.items():
            where = walk.v_slices[i]
            whole[6 * k : 6 * k + 6, where] = whole[6 * k : 6 * k + 6, where] + block
    for n, i in enumerate(own):
        whole[6 * len(blocks) + n, i] = 1
    return whole


def _by_rows(matrix: ca.SX) -> ca.SX:
    return ca.densify(ca.vec(matrix.T))
