"""The closures in numbers: residuals, rows and terms of the equations at a state, by CasADi's evaluator.

These serve assembly, rank decisions and the dense solution of single states; results for users come from kernels.
"""

from __future__ import annotations

import copy
import functools
from dataclasses import replace
from typing import NamedTuple

import casadi as ca
import numpy as np
import numpy.typing as npt

from whippletree.elements.bodies import OwnCoordinates
from whippletree.formulations.closures import loop_results as closed
from whippletree.formulations.closures.closure_set import ClosureSet, jacobian_rows
from whippletree.formulations.methods import absolute
from whippletree.formulations.nodes.frame_states import with_accelerations
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.recursions import articulated_body as articulated
from whippletree.formulations.recursions import composite_body as composite
from whippletree.foundation.arrays import Mask
from whippletree.foundation.once import made_once
from whippletree.kernels.kernel import Array
from whippletree.system.equations import Equations
from whippletree.system.lengths import LoopLengths, velocity_scale
from whippletree.system.loop_equations import joint_order
from whippletree.system.loop_families import Block, LoopFamilies, dense, loop_families
from whippletree.system.loop_plan import Conditions, KeptRows, Key
from whippletree.system.ranks import RowBlock, connected_blocks
from whippletree.system.tolerances import DATA_ACCURACY, RANK, SINGULAR_OVER_ACCURACY

__all__ = ["AbsoluteMatrix", "ClosureNumbers", "ClosureRow", "Indices", "LoopTerms", "Mask"]

Indices = npt.NDArray[np.int_]

_DIRECTIONS = ("turn about x", "turn about y", "turn about z", "shift along x", "shift along y", "shift along z")


class ClosureRow(NamedTuple):
    """A row of the full set: its closure (a cut joint or a described one), and the motion that it forbids."""

    closure: str
    direction: str
    angular: bool

    @property
    def unit(self) -> str:
        """The unit of the residual, with a space before it; nothing if that depends on a user's expression."""
        if self.angular:
            return " rad"
        return " m" if self.direction.startswith(("shift", "force along", "driven position")) else ""

    def rate_unit(self, times: int = 1) -> str:
        """The unit of its rate, or the rate of that; nothing if that depends on a user's expression.

        >>> ClosureRow("C", "turn about x", True).rate_unit(), ClosureRow("C", "shift along x", False).rate_unit(2)
        (' rad/s', ' m/s^2')
        """
        return self.unit and f"{self.unit}/s{'' if times == 1 else f'^{times}'}"


class LoopTerms(NamedTuple):
    """The tree's equations at a state: M a = right + C^T lambda, C a + second = 0, for all rows of all closures."""

    M: Array
    right: Array
    C: Array
    second: Array


class AbsoluteMatrix(NamedTuple):
    """The equations of `absolute` at a configuration: its rows and columns, and which entries can be nonzero."""

    rows: list[Key]
    columns: list[Key]
    A: Array
    pattern: Mask


class ClosureNumbers:
    """Residuals and rows of all closures of a mechanism at a configuration, as NumPy arrays.

    `lengths` are the characteristic lengths of the groups of loops: rows that are lengths are divided by that of their
    group, and columns of freedoms that are displacements multiplied, so that everything compares with angles. The *full
    set* of rows has six for each cut joint, on the velocities of all joints, so that nothing depends on where a loop is
    cut; the *tree's rows* are those that formulations use, on the velocities of the spanning tree. `accuracy` says how
    good the mechanism's data are, in radians and characteristic lengths.

    It knows nothing of plans: which rows are kept, and which freedoms are independent.
    """

    def __init__(self, equations: Equations, lengths: LoopLengths, accuracy: float = DATA_ACCURACY) -> None:
        self.equations, self.lengths, self.accuracy = equations, lengths, accuracy
        self._lock = equations.lock
        self.plan, self.description = equations.plan, equations.description
        self.closure_set = equations.closure_set(kept=False)
        self._last_tree_rows: tuple[tuple[bytes, float, bytes] | None, Array] = (None, np.zeros((0, 0)))

    def with_accuracy(self, accuracy: float) -> ClosureNumbers:
        """Return the same closures, with data of another accuracy; traces are shared."""
        other = copy.copy(self)
        other.accuracy = accuracy
        return other

    # ------------------------------------------------------------------ rows and scales

    @made_once
    def families(self) -> LoopFamilies | None:
        """The loops by families, if there are many; else None."""
        return loop_families(
            self.closure_set.attachments,
            self.equations.node_tree(),
            self.function,
            lambda: self._moving,
            lambda: self._resting,
        )

    @made_once
    def deformations(self) -> Mask:
        """Which freedoms (nv) deform a body, and move none."""
        found = np.zeros(self.plan.nv, dtype=bool)
        for use, (_, own) in zip(self.description.coordinate_owners, self.plan.coordinate_slices, strict=True):
            found[own] = isinstance(use.joint, OwnCoordinates) and use.joint.of.coordinate_scales() is not None
        return found

    def conditions(self, t: float = 0.0, parameters: Array | None = None) -> Conditions:
        """Return a time and parameters, those described unless given."""
        described = self.description.parameter_values
        return Conditions(float(t), np.array(described, dtype=np.float64) if parameters is None else parameters)

    @made_once
    def cut_freedoms(self) -> frozenset[int]:
        """The freedoms of cut joints, by their places in v."""
        return frozenset(i for c in self.closure_set.attachments.cuts for i in range(c.v.start, c.v.stop))

    @made_once
    def free_freedoms(self) -> Indices:
        """The freedoms of the spanning tree that are not prescribed, by their places in v."""
        mask = self.equations.prescribed_mask
        return np.array([i for i in range(self.plan.nv) if i not in self.cut_freedoms and not mask[i]], dtype=int)

    @made_once
    def rows(self) -> tuple[ClosureRow, ...]:
        """The rows of the full set, in their order."""
        attachments = self.closure_set.attachments
        named = [ClosureRow(cut.use.name, d, d.startswith("turn")) for cut in attachments.cuts for d in _DIRECTIONS]
        for f in attachments.all:
            if f.cut is None and f.driven is None:
                angular = f.name in self.lengths.angular
                named += [ClosureRow(f.name, label, angular) for label in f.closure.labels]
        return tuple(named)

    @made_once
    def positional(self) -> Mask:
        """Which rows of the full set are conditions on positions."""
        mask = [True] * (6 * len(self.closure_set.attachments.cuts))
        for f in self.closure_set.attachments.all:
            if f.cut is None and f.driven is None:
                mask += [f.closure.holonomic] * f.closure.n_rows
        return np.array(mask, dtype=bool)

    @made_once
    def tree_positional(self) -> Mask:
        """Which of the tree's rows are conditions on positions."""
        attached = self.closure_set.attachments.all
        return np.array([f.positional for f in attached for _ in range(f.closure.n_rows)], dtype=bool)

    @made_once
    def row_scale(self) -> Array:
        """The divisors of the rows of the full set."""
        return np.array([1.0 if row.angular else self.lengths.of_closure(row.closure) for row in self.rows])

    @made_once
    def column_scale(self) -> Array:
        """The factors that make velocities comparable with angular ones: 1, or a length for displacements."""
        return velocity_scale(self.description, self.lengths)

    @made_once
    def tree_row_scale(self) -> Array:
        """The divisors of the tree's rows: 1 for angles, else the length of their group."""
        labelled = [(f.name, label) for f in self.closure_set.attachments.all for label in f.closure.labels]
        angular = [label.startswith("moment") or "angular" in label for _, label in labelled]
        return np.array([1.0 if a else self.lengths.of_closure(n) for a, (n, _) in zip(angular, labelled, strict=True)])

    @property
    def negligible(self) -> float:
        """The share below which a singular value may be nothing but rounding, or an error of the data."""
        return max(RANK, SINGULAR_OVER_ACCURACY * self.accuracy)

    @made_once
    def blocks(self) -> tuple[RowBlock, ...]:
        """The rows of the full set that share freedoms, directly or by way of others, and these freedoms."""
        return connected_blocks(self._full_pattern)

    # ------------------------------------------------------------------ at a configuration

    def residual(self, q: Array, t: float, parameters: Array) -> Array:
        """Return how far each row of the full set is from closed, scaled."""
        if self.families is not None:
            return self.families.residual(q, t, parameters) / self.row_scale
        return np.asarray(self._residual(q, t, parameters).full().ravel() / self.row_scale)

    def openings(self, q: Array, v: Array, t: Array, parameters: Array) -> tuple[Array, Array]:
        """Return how far each full row is from closed in many states (n, m), and how fast it opens, scaled."""
        if self.families is not None:
            found = self.families.openings(q, v, t, parameters)
        else:
            inputs = (q.T, v.T, t[None, :], np.tile(parameters[:, None], len(t)))
            gap, rate = self._openings(*inputs)
            found = gap.full().T, rate.full().T
        return found[0] / self.row_scale, found[1] / self.row_scale

    def full_rows(self, q: Array, t: float, parameters: Array) -> tuple[Array, Array]:
        """Return the full set of rows on the velocities of all joints, scaled, and their drift."""
        if self.families is not None:
            blocks, moved = self.scaled_blocks(q, t, parameters)
            return dense(blocks, self.plan.nv), moved
        G, drift = self._rows(q, t, parameters)
        return G.full() / self.row_scale[:, None] * self.column_scale, drift.full().ravel() / self.row_scale

    def scaled_blocks(self, q: Array, t: float, parameters: Array) -> tuple[list[Block], Array]:
        """Return the full rows closure by closure, scaled, and their drift: of many loops."""
        assert self.families is not None
        blocks, drift = self.families.full_rows(q, t, parameters)
        ends = np.cumsum([len(block.rows) for block in blocks])
        scales = np.split(self.row_scale[:, None], ends[:-1])
        scaled = zip(blocks, scales, strict=True)
        return [Block(b.columns, b.rows / s * self.column_scale[b.columns]) for b, s in scaled], drift / self.row_scale

    def full_rows_of_all(self, q: Array, t: float, parameters: Array) -> Array:
        """Return the full sets of rows (n, m, nv) of many configurations (n, nq), scaled."""
        if self.families is not None or not len(q):
            own = [self.full_rows(one, t, parameters)[0] for one in q]
            return np.array(own).reshape(len(q), len(self.row_scale), self.plan.nv)
        G = self._rows(q.T, t, parameters)[0].full().reshape(len(self.row_scale), len(q), self.plan.nv)
        return np.asarray(G.transpose(1, 0, 2) / self.row_scale[:, None] * self.column_scale)

    def tree_rows(self, q: Array, t: float, parameters: Array) -> Array:
        """Return all rows as the formulations use them: on the tree's velocities (m, nv), not scaled."""
        if self.families is not None:
            return dense(self.families.tree_rows(q, t, parameters), self.plan.nv)
        return np.asarray(self._tree_rows(q, t, parameters).full())

    def scaled_tree_rows(self, q: Array, t: float, parameters: Array) -> Array:
        """Return the tree's rows, scaled; read only. The last are kept: plans are compared at one configuration."""
        asked = q.tobytes(), t, parameters.tobytes()
        kept, rows = self._last_tree_rows
        if kept != asked:
            rows = self.tree_rows(q, t, parameters) / self.tree_row_scale[:, None] * self.column_scale
            rows.flags.writeable = False
            self._last_tree_rows = asked, rows
        return rows

    def mass_matrix(self, q: Array, parameters: Array) -> Array:
        """Return the mass matrix (nv, nv) of the spanning tree, zero for prescribed freedoms."""
        M = self._inertias(q, parameters).full()
        given = self.equations.prescribed_mask
        M[given], M[:, given] = 0.0, 0.0
        return np.asarray(M)

    def terms(self, state: dict[str, Array], t: float, parameters: Array) -> LoopTerms:
        """Return the tree's equations with all rows; `state` has q, v, tau, a and wrenches by input name."""
        function, names = self._terms(tuple(sorted(n for n in state if n.startswith("wrench on "))))
        values = [state.get(name, self.description.state_values) for name in names]
        M, right, C, second = (x.full() for x in function(*values, t, parameters))
        return LoopTerms(M, right.ravel(), C, second.ravel())

    def lacking(self, state: dict[str, Array], a: Array, t: float, parameters: Array) -> Array:
        """Return the residual of the tree's joints at accelerations a (nv): right - M a, added up body by body.

        A heavy body is in the inertia of every joint that carries it, so that rounding of M a would move light ones.
        """
        function, names = self._lacking(tuple(sorted(n for n in state if n.startswith("wrench on "))))
        values = [state.get(name, self.description.state_values) for name in names]
        return np.asarray(function(*values, a, t, parameters).full().ravel())

    def hinge_pivots(self, q: Array, parameters: Array) -> Array:
        """Return each hinge's inertia relative to that of the bodies beyond it, zero where there is none."""
        found = self._hinges(q, parameters).full().ravel()
        return np.where(np.isfinite(found), found, 0.0)

    def stretched_inertias(self, parameters: Array) -> Array:
        """Return the inertia that each freedom (nv) meets with all that hangs on it stretched out (`hinge_scales`).

        It is zero for own coordinates of bodies and for freedoms of cut joints.
        """
        return np.asarray(self._stretched(parameters).full().ravel())

    def complete(self, q: Array, v: Array, a: Array, where: Conditions) -> Array:
        """Return accelerations with those of the cut joints filled in."""
        return np.asarray(self._complete(q, v, a, *where).full().ravel())

    def second(self, q: Array, v: Array, a: Array, where: Conditions) -> Array:
        """Return the second derivative of the full rows, scaled, for velocities and accelerations of all joints."""
        return np.asarray(self._second(q, v, a, *where).full().ravel() / self.row_scale)

    def static_reactions(self, q: Array, t: float, parameters: Array) -> Array:
        """Return the joint reactions (6 n_joints, m) of unit multipliers of all rows."""
        return np.asarray(self._static(q, t, parameters).full())

    def absolute_matrix(self, keep: KeptRows, q: Array, t: float, parameters: Array) -> AbsoluteMatrix:
        """Return the matrix of `absolute`'s equations with some rows of the closures kept."""
        keys, columns, pattern, function = self._absolute(keep)
        A = np.zeros(pattern.shape)
        A[pattern] = function(q, t, parameters).full().ravel()
        return AbsoluteMatrix(keys, columns, A, pattern)

    def opened_rows(self, q: Array, t: float, parameters: Array) -> tuple[Array, int]:
        """Return the conditions on chains that are open at bodies, row by row, and how many unknowns these have."""
        unknown, function = self._opened
        return np.asarray(function(q, t, parameters).full()), unknown

    # ------------------------------------------------------------------ traced once

    @made_once
    def _symbols(self) -> dict[str, ca.SX]:
        plan = self.plan
        sizes = {"q": plan.nq, "v": plan.nv, "tau": plan.nv, "a": plan.nv, "t": 1, "z": len(self.description.states)}
        return {name: ca.SX.sym(name, size) for name, size in sizes.items()}

    def function(self, name: str, inputs: list[ca.SX], outputs: list[ca.SX]) -> ca.Function:
        """Return a function of these inputs and, last, the parameters."""
        p = ca.SX.sym("p", len(self.description.parameters))
        named = ca.vertcat(*(parameter.symbol for parameter in self.description.parameters))
        if p.numel():
            outputs = [ca.substitute(ca.SX(out), named, p) for out in outputs]
        return ca.Function(name, [*inputs, p], [ca.densify(out) for out in outputs])

    @made_once
    def _residual(self) -> ca.Function:
        x = self._symbols
        return self.function("residual", [x["q"], x["t"]], [closed.full_residual(*self._resting)])

    @made_once
    def _resting(self) -> tuple[Unrolled, ClosureSet]:
        """The walk without velocities, and the closures: shared by functions of the configuration."""
        given = {"q": self._symbols["q"], "t": self._symbols["t"]}
        return self.equations.walk(given), self._closure_set(given)

    @made_once
    def _moving(self) -> tuple[Unrolled, ClosureSet]:
        """The walk with velocities, and the closures."""
        given = {name: self._symbols[name] for name in ("q", "v", "t")}
        return self.equations.walk(given), self._closure_set(given)

    @made_once
    def _openings(self) -> ca.Function:
        x, (walk, closure_set) = self._symbols, self._moving
        rates = [closed.cut_opening(walk, closure_set, cut) for cut in closure_set.attachments.cuts]
        rates += [held.rate for held in closed.described_states(walk, closure_set)]
        gaps = closed.full_residual(walk, closure_set)
        return self.function("openings", [x["q"], x["v"], x["t"]], [gaps, ca.SX(ca.vertcat(*rates))])

    @made_once
    def _rows(self) -> ca.Function:
        x = self._symbols
        rows, drift = closed.full_rows(*self._resting)
        return self.function("rows", [x["q"], x["t"]], [_matrix(rows, self.plan.nv), drift])

    @made_once
    def _full_pattern(self) -> Mask:
        """Which entries of `full_rows` can ever be other than zero."""
        rows = closed.full_rows(*self._resting)[0]
        pattern = np.zeros((len(rows), self.plan.nv), dtype=bool)
        for i, row in enumerate(rows):
            pattern[i, list(row)] = True
        return pattern

    @made_once
    def _tree_matrix(self) -> ca.SX:
        walk, closure_set = self._resting
        return _matrix(jacobian_rows(walk, closure_set.evaluate(walk)), self.plan.nv)

    @made_once
    def tree_pattern(self) -> Mask:
        """Which entries of `tree_rows` can ever be other than zero."""
        pattern = np.zeros(self._tree_matrix.shape, dtype=bool)
        pattern[self._tree_matrix.sparsity().get_triplet()] = True
        return pattern

    @made_once
    def _tree_rows(self) -> ca.Function:
        x = self._symbols
        return self.function("tree_rows", [x["q"], x["t"]], [self._tree_matrix])

    @made_once
    def _inertias(self) -> ca.Function:
        return self.function("inertias", [self._symbols["q"]], [composite.mass_matrix(self._resting[0])])

    @functools.cache  # noqa: B019
    def _acted(self, wrenches: tuple[str, ...]) -> tuple[dict[str, ca.SX], list[str], Unrolled]:
        """The symbols of a state, the names of those that are given, and the walk with all efforts."""
        x = dict(self._symbols)
        for name in wrenches:
            x[name] = ca.SX.sym("w", 6)
        no_loads = ca.SX.zeros(sum(use.force.n_loads for use in self.equations.description.reaction_laws))
        here = self.equations.loaded(self.equations.prescribed_only({**x, "loads": no_loads}))
        walk = self._closure_set(x).efforts_at_cuts(here.walk, here.tau)
        return x, ["q", "v", "tau", "a", *wrenches, "z"], walk

    @functools.cache  # noqa: B019
    def _terms(self, wrenches: tuple[str, ...]) -> tuple[ca.Function, list[str]]:
        x, names, walk = self._acted(wrenches)
        system = composite.equations(walk)
        held = self._closure_set(x).evaluate(with_accelerations(walk, system.given_accelerations()))
        nv = self.plan.nv
        M = ca.SX(nv, nv)
        for (i, j), value in system.mass.items():
            M[i, j] = M[j, i] = value
        right = ca.vertcat(*(system.right.get(i, 0) for i in range(nv)))
        rows = [{j: e for j, e in row.items() if j not in system.given} for row in jacobian_rows(walk, held)]
        second = ca.SX(ca.vertcat(*(one.second for one in held)))
        function = self.function(
            "terms", [*(x[n] for n in names), x["t"]], [M, ca.SX(right), _matrix(rows, nv), second]
        )
        return function, names

    @functools.cache  # noqa: B019
    def _lacking(self, wrenches: tuple[str, ...]) -> tuple[ca.Function, list[str]]:
        x, names, walk = self._acted(wrenches)
        found = ca.SX.sym("found", self.plan.nv)
        right = composite.equations(with_accelerations(walk, found)).right
        lacking = ca.SX(ca.vertcat(*(right.get(i, 0) for i in range(self.plan.nv))))
        return self.function("lacking", [*(x[n] for n in names), found, x["t"]], [lacking]), names

    @made_once
    def _hinges(self) -> ca.Function:
        q = self._symbols["q"]
        return self.function("hinges", [q], [articulated.hinge_inertias(self._resting[0])])

    @made_once
    def _stretched(self) -> ca.Function:
        found = ca.SX(self.plan.nv, 1)
        for constants in self.equations.node_tree().node_constants:
            for i, inertia in enumerate(constants.stretched_inertia):
                found[constants.v.start + i] = inertia
        return self.function("stretched", [], [found])

    @made_once
    def _complete(self) -> ca.Function:
        x = self._symbols
        closure_set = self._closure_set(x)
        a = closure_set.cut_accelerations(self.equations.walk({"q": x["q"], "v": x["v"]}), x["a"])
        return self.function("complete", [x["q"], x["v"], x["a"], x["t"]], [a])

    @made_once
    def _static(self) -> ca.Function:
        given = {"q": self._symbols["q"], "t": self._symbols["t"]}
        walk = self.equations.walk(given, weld=False)
        closure_set = self.equations.closure_set(given, weld=False, kept=False)
        held = closure_set.evaluate(walk)
        order = joint_order(self.equations)
        slices = closed.row_slices(held)
        unit = ca.SX.eye(slices[-1].stop)
        reactions = closed.static_reactions(walk, closure_set, [unit[where, :] for where in slices], order)
        return self.function("static", [given["q"], given["t"]], [reactions])

    @made_once
    def _second(self) -> ca.Function:
        x = self._symbols
        walk = with_accelerations(self.equations.walk({"q": x["q"], "v": x["v"]}), x["a"])
        second = closed.full_seconds(walk, self._closure_set(x))
        return self.function("second", [x["q"], x["v"], x["a"], x["t"]], [second])

    def _absolute(self, keep: KeptRows) -> tuple[list[Key], list[Key], Mask, ca.Function]:
        x = self._symbols
        given = {"q": x["q"], "t": x["t"]}
        closure_set = replace(self._closure_set(given), keep=keep)
        equations = absolute.bodies(self.equations.walk(given), closure_set)
        keys = list(equations.rows)
        columns = [(absolute.UNKNOWN_OF[k[0]], *k[1:]) for k in keys]
        place = {key: i for i, key in enumerate(columns)}
        pattern = np.zeros((len(keys), len(keys)), dtype=bool)
        entries = []
        for i, key in enumerate(keys):
            for column in sorted(equations.rows[key], key=lambda c: place[c]):
                pattern[i, place[column]] = True
                entries.append(equations.rows[key][column])
        function = self.function("absolute", [x["q"], x["t"]], [ca.SX(ca.vertcat(*entries))])
        return keys, columns, pattern, function

    @made_once
    def _opened(self) -> tuple[int, ca.Function]:
        from whippletree.formulations.natural.opened_chains import opened_rows  # only where it is asked for

        x = self._symbols
        rows, size, unknown = opened_rows(*self._resting)
        return unknown, self.function("opened", [x["q"], x["t"]], [_matrix(rows, size)])

    def _closure_set(self, symbols: dict[str, ca.SX]) -> ClosureSet:
        return self.equations.closure_set(symbols, kept=False)


def _matrix(rows: list[dict[int, ca.SX]], nv: int) -> ca.SX:
    """Return sparse rows as a matrix."""
    A = ca.SX(len(rows), nv)
    for i, row in enumerate(rows):
        for j, value in row.items():
            A[i, j] = value
    return A
