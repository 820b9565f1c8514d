"""The matrices of `text_letters`, traced over the state with the steps of the formulations.

Velocities and forces are [angular; linear]. Nikravesh's and Kang and Yoon's are in ground axes, at centres of mass or
at the text's reference point; Jain's in node axes at the nodes' origins. A block of a body stands in the rows of that
body and in the columns of its parent or its joint. Bodies that are welded together are one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import casadi as ca

from whippletree.elements.closures import JointClosure
from whippletree.errors import StateError
from whippletree.formulations.closures.ground_closures import closures_on_ground
from whippletree.formulations.methods import fully_recursive
from whippletree.formulations.methods.absolute import held_joints, tree_rows
from whippletree.formulations.methods.velocity_transformation import Accelerated, carry
from whippletree.formulations.natural.natural_conditions import natural_conditions
from whippletree.formulations.natural.natural_equations import walk_model
from whippletree.formulations.natural.natural_transformation import element_columns, element_motions
from whippletree.formulations.nodes.node_interface import AngularState, Articulated
from whippletree.formulations.nodes.sweeps import Kept, Unrolled
from whippletree.formulations.recursions import articulated_body
from whippletree.formulations.recursions.ground_axes import GroundBody, bodies, to_own
from whippletree.spatial import Rotation, Translation

if TYPE_CHECKING:
    from whippletree.system.equations import Equations, Request, Symbols

__all__ = ["letter", "natural_labels", "tree_row_labels"]

Traces = dict[str, Callable[[], ca.SX]]
"""Traces of a text's matrices by letter."""

LARGEST = 40
"""Bodies of the largest mechanism whose dense matrices are given: 240 rows and columns, seconds to compile."""


def letter(eq: Equations, request: Request, x: Symbols) -> ca.SX:
    """Return a letter of a text, row after row."""
    text, _, name = request.function.rpartition("/")
    _check(eq, text)
    return ca.densify(ca.vec(ca.densify(_TRACES[text](eq, x)[name]()).T))


def _check(eq: Equations, text: str) -> None:
    """Refuse flexible bodies, which no letter describes, and dense matrices that would fill the memory."""
    nodes = eq.node_tree().node_constants
    for flexible in eq.plan.own_slices:
        raise StateError(f'matrices of text "{text}" are for rigid bodies, and "{flexible}" is flexible')
    if len(nodes) > LARGEST:
        raise StateError(
            f"matrices of a text are dense, with six rows for each body: they are given for at most {LARGEST} bodies, "
            f"and this mechanism has {len(nodes)}"
        )


def _blocks(shape: tuple[int, int], blocks: Iterable[tuple[int, slice | int, ca.SX]]) -> ca.SX:
    """Return a matrix of blocks (6, k), each at a body's rows and in columns given by a slice or by another body."""
    whole = ca.SX(*shape)
    for k, where, block in blocks:
        columns = where if isinstance(where, slice) else _six(where)
        whole[_six(k), columns] = block
    return whole


def _six(k: int) -> slice:
    return slice(6 * k, 6 * k + 6)


def _inner(walk: Unrolled) -> list[tuple[int, int]]:
    """Return the nodes that hang on others, with these."""
    return [(k, parent) for k, parent in enumerate(walk.parents) if parent >= 0]


def _square(walk: Unrolled, block: Callable[[int], ca.SX]) -> ca.SX:
    """Return a block-diagonal matrix over bodies."""
    n = 6 * len(walk.nodes)
    return _blocks((n, n), ((k, k, block(k)) for k in range(len(walk.nodes))))


def _by_joint(walk: Unrolled, block: Callable[[int], ca.SX]) -> ca.SX:
    """Return blocks (6, nv) of joints in the rows of the bodies behind them."""
    shape = (6 * len(walk.nodes), walk.nv)
    return _blocks(shape, ((k, where, block(k)) for k, where in enumerate(walk.v_slices) if where.stop > where.start))


def _of_joints(walk: Unrolled, columns: int, block: Callable[[int], ca.SX], square: bool = False) -> ca.SX:
    """Return blocks (nv_k, columns) of joints in their rows; `square` ones in their columns too."""
    whole = ca.SX(walk.nv, columns)
    for k, where in enumerate(walk.v_slices):
        if where.stop > where.start and not walk.nodes[k].prescribed:
            whole[where, where if square else slice(0, columns)] = block(k)
    return whole


def _stacked(walk: Unrolled, block: Callable[[int], ca.SX], columns: int = 1) -> ca.SX:
    return ca.vertcat(ca.SX(0, columns), *(block(k) for k in range(len(walk.nodes))))


# ---------------------------------------------------------------------------------------------------------
# Nikravesh and others


def _nikravesh(eq: Equations, x: Symbols) -> Traces:
    walk = eq.walk({"q": x["q"]})
    seen = bodies(walk, "centroid")
    n = 6 * len(walk.nodes)

    def tree_constraints() -> ca.SX:
        whole = ca.SX(0, n)
        for _, row in tree_rows(walk):
            blocks = ((k, _at_centre(seen.at(k), F)) for k, F in row.node_forces.items())
            rows = ca.SX(row.bias.shape[0], n)
            for k, block in blocks:
                rows[:, _six(k)] = block.T
            whole = ca.vertcat(whole, rows)
        return whole

    def to_parents() -> ca.SX:
        shifts = [(k, parent, -_shift_of(seen.at(k))) for k, parent in _inner(walk)]
        return _blocks((n, n), shifts) + ca.SX.eye(n)

    return {
        "D": tree_constraints,
        "G": to_parents,
        "H": lambda: _by_joint(walk, lambda k: _joint_columns(seen.at(k))),
    }


def _at_centre(body: GroundBody, F: ca.SX) -> ca.SX:
    """Return forces on a node in ground axes at its centre of mass."""
    return Translation(-body.field.rho).force(Rotation(body.A).force(F))


def _shift_of(body: GroundBody) -> ca.SX:
    """Return B1 as a matrix."""
    return body.shift().motion(ca.densify(ca.SX.eye(6)))


def _joint_columns(body: GroundBody) -> ca.SX:
    """Return B2 for the joint's own velocities."""
    return Translation(body.field.rho).motion(body.axes)


# ---------------------------------------------------------------------------------------------------------
# Kang and Yoon


def _kang_yoon(reference: str, eq: Equations, x: Symbols) -> Traces:
    walk = eq.loaded(x).walk
    seen = bodies(walk, reference)
    _, joints = walk.inward(fully_recursive.eliminate, fully_recursive.Reduced.nothing(), seen)
    at_parent = Kept([_passed(k, seen, joints) for k in range(len(walk.nodes))])
    n = 6 * len(walk.nodes)

    def own_rows(k: int, rows: ca.SX) -> ca.SX:
        return to_own(walk.nodes[k], seen.at(k).A, rows)

    def pivots(k: int) -> ca.SX:
        return own_rows(k, own_rows(k, joints.at(k).M22).T)

    def closures() -> tuple[list[dict[int, ca.SX]], list[ca.SX], list[Any]]:
        if not eq.closed:
            return [], [], []
        states = closures_on_ground(walk, eq.closure_set({n: x[n] for n in ("q", "v") if n in x}), seen, reference)
        return *fully_recursive.carried(walk, seen, joints, states), list(states)

    def rows_of_closures() -> ca.SX:
        whole = ca.SX(walk.nv, eq.size("n_kept_rows"))
        for k, of_joint in enumerate(closures()[0]):
            for c, Phi2 in of_joint.items():
                whole[walk.v_slices[k], _rows_of(eq, c)] = own_rows(k, Phi2)
        return whole

    def reduced() -> ca.SX:
        efforts, _, states = closures()
        whole = ca.SX(eq.size("n_kept_rows"), eq.size("n_kept_rows"))
        for (i, j), value in fully_recursive.reduced_matrix(walk.nodes, joints, efforts, states).items():
            whole[i, j] = whole[j, i] = value
        return whole

    return {
        "B1": lambda: _blocks((n, n), ((k, parent, _shift_of(seen.at(k))) for k, parent in _inner(walk))),
        "B2": lambda: _by_joint(walk, lambda k: _joint_columns(seen.at(k))),
        "D": lambda: _stacked(walk, lambda k: seen.at(k).D),
        "M": lambda: _square(walk, lambda k: seen.at(k).M.articulated().matrix()),
        "Q": lambda: _stacked(walk, lambda k: seen.at(k).Q),
        "M11": lambda: _stacked(walk, lambda k: at_parent.at(k)[0], columns=6),
        "M21": lambda: _of_joints(walk, 6, lambda k: own_rows(k, joints.at(k).M21.T)),
        "M22": lambda: _of_joints(walk, walk.nv, pivots, square=True),
        "Q1": lambda: _stacked(walk, lambda k: at_parent.at(k)[1]),
        "Q2": lambda: _of_joints(walk, 1, lambda k: own_rows(k, joints.at(k).Q2)),
        "Phi2": rows_of_closures,
        "L": reduced,
        "gamma": lambda: -ca.vertcat(ca.SX(0, 1), *closures()[1]),
    }


def _passed(k: int, seen: Kept[GroundBody], joints: Kept[fully_recursive.Eliminated]) -> tuple[ca.SX, ca.SX]:
    """Return M11 and Q1 of a body with all that hangs on it (28)."""
    body, joint = seen.at(k), joints.at(k)
    left = joint.Q - joint.M.times(body.D)
    return body.shift().inertia(joint.M).matrix(), body.shift().force(left)


def _rows_of(eq: Equations, c: int) -> slice:
    """Return which kept rows are those of a closure."""
    counts = [len(keep) for keep in eq.loop_plan.keep]
    return slice(sum(counts[:c]), sum(counts[: c + 1]))


# ---------------------------------------------------------------------------------------------------------
# Garcia de Jalon and Bayo


def _garcia_de_jalon(eq: Equations, x: Symbols) -> Traces:
    def rates() -> ca.SX:
        whole = ca.SX(eq.plan.nq, eq.plan.nv)
        for q, v, joint in _joints(eq):
            whole[q, v] = joint.rate_map(x["q"][q])
        return whole

    def velocities() -> ca.SX:
        whole = ca.SX(eq.plan.nv, eq.plan.nq)
        for q, v, joint in _joints(eq):
            U = joint.rate_map(x["q"][q])
            whole[v, q] = ca.solve(U.T @ U, U.T) if q.stop - q.start != v.stop - v.start else ca.inv(U)
        return whole

    return {"V": velocities, "U": rates}


def _joints(eq: Equations) -> Iterable[tuple[slice, slice, Any]]:
    """Return where the coordinates and velocities of each joint with freedoms are, cut ones among them."""
    for use, (q, v) in zip(eq.description.joints, zip(eq.plan.q_slices, eq.plan.v_slices, strict=True), strict=True):
        if v.stop > v.start:
            yield q, v, use.joint


def _natural(eq: Equations, x: Symbols) -> Traces:
    walk = eq.walk({name: x[name] for name in ("q", "v") if name in x})
    model = walk_model(walk)
    seen = bodies(walk, "joint")
    places, accelerations = element_motions(model, seen, walk.outward(carry, Accelerated.ground(), seen))

    def columns() -> ca.SX:
        whole = ca.SX(3 * len(model.free), walk.nv)
        for e, where in model.places().items():
            for i, block in element_columns(walk, seen, model, e, places).items():
                whole[where, walk.v_slices[i]] = to_own(walk.nodes[i], seen.at(i).A, block.T).T
        return whole

    def second() -> ca.SX:
        return ca.vertcat(ca.SX(0, 1), *(accelerations[one.index] for one in model.free))

    def conditions() -> ca.SX:
        held = natural_conditions(model)
        now = ca.vertcat(ca.SX(0, 1), *(places[one.index] for one in model.free))
        return ca.substitute(ca.densify(held.jacobian), held.x, now)

    return {"R": columns, "S": second, "Phi_q": conditions}


# ---------------------------------------------------------------------------------------------------------
# Jain


def _jain(eq: Equations, x: Symbols) -> Traces:
    walk = eq.loaded(x).walk
    place = walk.outward(articulated_body.locate, AngularState.rest())
    _, hinge = walk.inward(articulated_body.eliminate_joint, Articulated.nothing(), place)
    n = 6 * len(walk.nodes)
    eye = ca.densify(ca.SX.eye(6))

    def shift(k: int) -> ca.SX:
        return ca.SX(walk.nodes[k].shift(place.at(k).x).force(eye))

    def gain(k: int) -> ca.SX:
        return ca.SX(hinge.at(k).gain())

    def through(k: int) -> ca.SX:
        """Return E taubar of a body, whose hinge is released unless it is prescribed."""
        node = walk.nodes[k]
        if node.prescribed or not node.v.shape[0]:
            return shift(k)
        return ca.SX(shift(k) @ (eye - gain(k) @ node.joint_map(place.at(k).x).T))

    def passed(step: Callable[[int], ca.SX]) -> ca.SX:
        """Return the sum of all products of steps from a body inward, and the identity."""
        whole = ca.SX.eye(n)
        for k, parent in _inner(walk):  # a parent's columns are complete, so that its rows reach all above
            whole[:, _six(k)] = whole[:, _six(parent)] @ step(k) + whole[:, _six(k)]
        return whole

    def to_parents(step: Callable[[int], ca.SX]) -> ca.SX:
        return _blocks((n, n), ((parent, k, step(k)) for k, parent in _inner(walk)))

    def carried_gains() -> ca.SX:
        blocks = []
        for k, parent in _inner(walk):
            if walk.nodes[k].v.shape[0] and not walk.nodes[k].prescribed:
                blocks.append((parent, walk.v_slices[k], shift(k) @ gain(k)))
        return _blocks((n, walk.nv), blocks)

    return {
        "H": lambda: _by_joint(walk, lambda k: walk.nodes[k].joint_map(place.at(k).x)).T,
        "E": lambda: to_parents(shift),
        "phi": lambda: passed(shift),
        "M": lambda: _square(walk, lambda k: walk.nodes[k].inertia.articulated().matrix()),
        "P": lambda: _square(walk, lambda k: hinge.at(k).P.matrix()),
        "D": lambda: _of_joints(walk, walk.nv, lambda k: hinge.at(k).D, square=True),
        "K": carried_gains,
        "psi": lambda: passed(through),
        "a": lambda: _stacked(walk, lambda k: place.at(k).a),
        "b": lambda: _stacked(walk, lambda k: place.at(k).b),
    }


_TRACES: dict[str, Callable[[Any, Any], Traces]] = {
    "nikravesh": _nikravesh,
    "kang-yoon/centroid": partial(_kang_yoon, "centroid"),
    "kang-yoon/joint": partial(_kang_yoon, "joint"),
    "kang-yoon/origin": partial(_kang_yoon, "origin"),
    "garcia-de-jalon": _garcia_de_jalon,
    "garcia-de-jalon/natural": _natural,
    "jain": _jain,
}


# ---------------------------------------------------------------------------------------------------------
# Names of rows


def tree_row_labels(eq: Equations) -> list[tuple[int, str]]:
    """Return the rows that joints of the tree hold: the node, and what it is."""
    walk = eq.walk({})
    return [(k, label) for k, joint in held_joints(walk) for label in JointClosure(joint).labels]


def natural_labels(eq: Equations) -> tuple[list[str], list[str]]:
    """Return the names of the coordinates of points and vectors of the tree, and of its conditions."""
    model = walk_model(eq.walk({}))
    elements = [f"{axis} of {one.name}" for one in model.free for axis in "xyz"]
    return elements, list(natural_conditions(model).names)
