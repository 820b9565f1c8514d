"""The trapezoidal rule in natural coordinates with positions as unknowns (Garcia de Jalon and Bayo 8.127-8.135).

From x, x', x'' at the start of a step h, the end follows by Newton's iteration on

    f(x) = M x'' + Phi_x^T (alpha (Phi + mu Phi') + lambda) - Q = 0                                       (8.132)
    x' = 2/h x - (x'_n + 2/h x_n),     x'' = 4/h^2 x - (x''_n + 4/h x'_n + 4/h^2 x_n)                     (8.128-8.129)

with the quasi-tangent matrix, which is symmetric and needs no pivoting,

    K = 4/h^2 M + Phi_x^T alpha (1 + 2 mu / h) Phi_x                                                      (8.134)

begun at x_n + h x'_n + h^2/2 x''_n (8.135). The unknown is d = x - x_n: differences of coordinates would lose digits
that 2/h and 4/h^2 make large. alpha and mu are given for each condition. lambda is zero (penalty), or
corrected, lambda <- lambda + alpha (Phi + mu Phi'), and the step solved again (8.126; anew from zero in each step).

With `projections`, mu is zero, lambda is corrected after each iteration and kept from step to step, and the equations
of motion hold in the middle of the step, x_m = x_n + d / 2, where the conditions pull:

    M (x'_n+1 - x'_n) / h + Phi_x(x_m)^T (lambda + alpha Phi(x_n+1)) = Q(x_m),     x'_n+1 = 2/h d - x'_n           (1)

Phi being quadratic, Phi_x(x_m) d is what Phi changes by: nothing. So what holds bodies together does no work, which it
does along directions at the end of the step. The matrix, 4/h^2 M + 2 Phi_x(x_m)^T alpha Phi_x(x_n+1), is no longer
symmetric, and needs no pivoting either. Then velocities are brought onto the conditions by the least change, measured
with M, and scaled so that they keep their kinetic energy; accelerations are those of the state:

    K x' = 4/h^2 M x'* ,          K x'' = 4/h^2 Q - Phi_x^T (alpha gamma + 4/h^2 lambda)

(Bayo and Ledesma; Cuadrado, Cardenal and Bayo; directions in the middle: Garcia Orden and Goicolea). The conditions are
then satisfied on all three levels.

Forces follow from joint coordinates that are fitted to x in every iteration. The book's term -Q_x is left out of K: an
iteration then takes the error of a spring's force down by (omega h / 2)^2, omega being the circular frequency of what
it carries, so that steps must be well below its period.

Four kernels are traced: `predict`, `iterate`, `augment` and `finish`. What is handed on from step to step is one column
of x, x', x'', lambda and, if there are forces, the joint coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import casadi as ca
import numpy as np

from whippletree.formulations.nodes.operation_stages import record_stage
from whippletree.foundation.once import made_once
from whippletree.kernels.kernel import Array, Kernel
from whippletree.natural.kept_energy import kept_energy
from whippletree.natural.natural_coordinates import NaturalCoordinates, fitted_joints, forces_at, natural_kernel
from whippletree.natural.natural_loops import NaturalLoops
from whippletree.natural.natural_start import start_accelerations
from whippletree.programs.loop_program import ItemLoop, LoopProgram, ProgramStep, Segment
from whippletree.programs.step_tables import Numbers, copied
from whippletree.symbolic.sparse_factors import (
    SparseLU,
    SymmetricFactor,
    add_to,
    factor_lu,
    factor_symmetric,
    minimum_degree,
)

__all__ = ["NaturalSteps", "StateLayout"]

_PROJECTIONS = 2
"""Passes of a projection: each leaves about 1 / (alpha h^2 / 4 m) of the error."""


class StateLayout(NamedTuple):
    """Where things are in the column that is handed on."""

    n: int
    m: int
    nq: int

    @property
    def size(self) -> int:
        """How long it is."""
        return 3 * self.n + self.m + self.nq

    def parts(self, column: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX, ca.SX]:
        """Return x, x', x'', lambda and the joint coordinates."""
        n, m = self.n, self.m
        return column[:n], column[n : 2 * n], column[2 * n : 3 * n], column[3 * n : 3 * n + m], column[3 * n + m :]


class _Iterate(NamedTuple):
    """An iterate: coordinates, velocities and accelerations of the rule, conditions, residual pieces."""

    x: ca.SX
    v: ca.SX
    a: ca.SX
    phi: ca.SX
    rate: ca.SX
    rows: list[dict[int, ca.SX]]
    bias: ca.SX


@dataclass(eq=False)
class NaturalSteps:
    """The kernels of the time loop. `loaded` says that there are forces beside gravity, or efforts.

    `wrenches` are places on which wrenches act, as inputs.
    """

    natural: NaturalCoordinates
    loaded: bool
    projections: bool
    wrenches: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        natural = self.natural
        n, m = natural.n_coordinates, natural.n_conditions
        self.layout = StateLayout(n, m, natural.system.nq if self.loaded else 0)
        self.start = ca.SX.sym("start", self.layout.size)
        self.d = ca.SX.sym("d", n)
        self.settings = ca.SX.sym("settings", 1 + 2 * m)
        self.t = ca.SX.sym("t")
        self.tau = ca.SX.sym("tau", natural.system.nv)
        self.acting = {f"wrench on {place}": ca.SX.sym("wrench", 6) for place in self.wrenches}

    @property
    def h(self) -> ca.SX:
        """The step."""
        return self.settings[0]

    @property
    def alpha(self) -> ca.SX:
        """The penalties (m)."""
        return self.settings[1 : 1 + self.layout.m]

    @property
    def mu(self) -> ca.SX:
        """The times mu (m)."""
        return self.settings[1 + self.layout.m :]

    # ------------------------------------------------------------------ kernels

    def _kernel(
        self, name: str, size: int, make: Callable[[], ca.SX | LoopProgram], inputs: dict[str, ca.SX] | None = None
    ) -> Kernel:
        given = self.inputs() if inputs is None else inputs
        about = f"{self.loaded}|{self.projections}|{self.wrenches}"
        return natural_kernel(self.natural, name, given, size, make, about)

    def begin(self, q: Array, v: Array, inputs: Mapping[str, Array]) -> Array:
        """Return x'' (n) at the start of a run, at efforts, time, wrenches and parameters that are given by name."""
        natural = self.natural
        parameters = inputs.get("parameters")
        x, rates = natural.state(q, v, parameters=parameters)
        given, values = {"q": q, "v": v, **inputs}, natural.parameter_values(parameters)
        names, function = self._acting_forces
        Q = np.array(function(*(given[name] for name in names), *values)).ravel()
        return start_accelerations(natural, x, rates, Q, parameters)

    @made_once
    def _acting_forces(self) -> tuple[list[str], ca.Function]:
        """Q at a state in joint coordinates, and by which names its inputs are known."""
        natural = self.natural
        sizes = {"q": natural.system.nq, "v": natural.system.nv}
        symbols = {name: ca.SX.sym(name, size) for name, size in sizes.items()}
        symbols |= {"tau": self.tau, "t": self.t, **self.acting}
        function = ca.Function("Q", [*symbols.values(), *natural.parameter_symbols], [forces_at(natural, symbols)])
        return list(symbols), function

    @made_once
    def predict(self) -> Kernel:
        """Heun's predictor (8.135)."""
        inputs = {"start": self.start, "settings": self.settings}
        return self._kernel("natural prediction", self.layout.n, self.predicted, inputs)

    def predicted(self) -> ca.SX:
        """Return the displacement that the predictor gives, over symbols."""
        _, v, a, _, _ = self.layout.parts(self.start)
        return self.h * v + self.h**2 / 2 * a

    @made_once
    def iterate(self) -> Kernel:
        """One iteration (8.131), and the size of its change."""
        loops = self.natural.loops
        make = self.iterated if loops is None else partial(self._iteration_loops, loops)
        return self._kernel("natural iteration", self.layout.n + 1, make)

    def iterated(self) -> ca.SX:
        """Return the next displacement and the size of the change, over symbols."""
        n, point = self.layout.n, self._point()
        middle = self._middle() if self.projections else None
        record_stage("Jacobian and conditions", [point.phi, point.rate, point.rows])
        f = self._residual(point) if middle is None else self._middle_residual(point, middle)
        record_stage("residual", f)
        factors = self._tangent(point) if middle is None else self._middle_tangent(point, middle)
        change = factors.solve({i: -f[i] for i in range(n)})
        step = ca.SX(ca.vertcat(*(change[i] for i in range(n))))
        record_stage("solution", step)
        return ca.SX(ca.vertcat(self.d + step, ca.norm_2(step)))

    @made_once
    def augment(self) -> Kernel:
        """The start of the step with corrected multipliers (8.126)."""
        loops = self.natural.loops
        make = self.corrected if loops is None else partial(self._correction_loops, loops)
        return self._kernel("natural multipliers", self.layout.size, make)

    def corrected(self) -> ca.SX:
        """Return the start of the step with corrected multipliers, over symbols."""
        n, column = self.layout.n, ca.SX(self.start)
        column[3 * n : 3 * n + self.layout.m] = self.layout.parts(self.start)[3] + self._held(self._point())
        return column

    @made_once
    def finish(self) -> Kernel:
        """The end of the step, from its displacement."""

        def make() -> ca.SX | LoopProgram:
            loops = self.natural.loops
            if loops is not None:
                return self._end_loops(loops)
            x, v, a, kept = self.ended()
            near = self.layout.parts(self.start)[4]
            return ca.vertcat(x, v, a, kept, fitted_joints(self.natural, x, v, near)[0] if self.loaded else near)

        return self._kernel("natural step end", self.layout.size, make)

    def ended(self) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """Return x, x', x'' and lambda at the end of the step, from its displacement, over symbols."""
        point = self._point()
        lam = self.layout.parts(self.start)[3]
        v, a = self._projected(point) if self.projections else (point.v, point.a)
        return point.x, v, a, lam if self.projections else ca.SX.zeros(self.layout.m)

    # ------------------------------------------------------------------ loops, for large mechanisms

    def _arguments(self) -> dict[str, Numbers]:
        """Return where the inputs are, by name."""
        sizes = {name: symbol.numel() for name, symbol in self.inputs().items()}
        if self.natural.parameter_symbols:
            sizes["parameters"] = self.natural.parameter_symbols[0].numel()
        return {name: Numbers("input", 0, size, argument=k) for k, (name, size) in enumerate(sizes.items())}

    def _read(self, loops: NaturalLoops) -> list[ProgramStep]:
        """Return the steps that bring the inputs to where they are worked with, and the rule's x, x', x''."""
        given = self._arguments()
        steps: list[ProgramStep] = [*loops.read(given["start"])]
        for name, place in (("d", loops.d), ("settings", loops.settings), ("t", loops.t)):
            steps += copied(given[name], place)
        return [*steps, *loops.prepared(given.get("parameters")), loops.point()]

    def _iteration_loops(self, loops: NaturalLoops) -> LoopProgram:
        steps = [*self._read(loops), *self.iteration(loops, self._arguments())]
        n = self.layout.n
        steps += [*copied(loops.d.part(0, n), Numbers("output", 0, n)), *copied(loops.change, Numbers("output", n, 1))]
        return loops.program(steps)

    def iteration(self, loops: NaturalLoops, arguments: Mapping[str, Numbers]) -> list[Segment | ItemLoop]:
        """Return an iteration from the point: forces at fitted joint coordinates, and the solution."""
        begun: list[Segment | ItemLoop] = [loops.middle()] if self.projections else []
        at = (loops.middle_x, loops.middle_v, loops.middle_t) if self.projections else (loops.x, loops.v, loops.t)
        return [*begun, *self._acting(loops, arguments, *at), *loops.iteration(self.projections)]

    def _acting(
        self, loops: NaturalLoops, arguments: Mapping[str, Numbers], x: Numbers, v: Numbers, t: Numbers
    ) -> list[Segment | ItemLoop]:
        """Return the steps to Q at places and velocities of elements."""
        acting = {name: where for name, where in arguments.items() if name in ("tau", "parameters", *self.acting)}
        fitted: list[Segment | ItemLoop] = [*copied(loops.near, loops.q), *loops.fitted(x, v)] if self.loaded else []
        return [*fitted, loops.forces(self.loaded, acting, t)]

    def _correction_loops(self, loops: NaturalLoops) -> LoopProgram:
        steps = [*self._read(loops), *loops.corrected(self.projections)]
        return loops.program([*steps, *loops.written(self._result())])

    def _result(self) -> Numbers:
        return Numbers("output", 0, self.layout.size)

    def _end_loops(self, loops: NaturalLoops) -> LoopProgram:
        steps, result, n = self._read(loops), self._result(), self.layout.n
        steps += self.end(loops, self._arguments())
        for k, where in enumerate((loops.x, loops.v, loops.a)):
            steps += copied(where.part(0, n), result.part(k * n, n))
        steps += copied(loops.lam, result.part(3 * n, self.layout.m))
        if self.loaded:
            steps += [*copied(loops.near, loops.q), *loops.fitted(loops.x, loops.v)]
            steps += copied(loops.q, result.part(3 * n + self.layout.m, self.layout.nq))
        return loops.program(steps)

    def end(self, loops: NaturalLoops, arguments: Mapping[str, Numbers]) -> list[ProgramStep]:
        """Return the end of a step from its point: projections, or multipliers that begin anew."""
        if not self.projections:
            return [*loops.forgotten()]
        acting = self._acting(loops, arguments, loops.x, loops.v, loops.t)
        return [*loops.projected_velocities(_PROJECTIONS), *acting, *loops.true_accelerations(_PROJECTIONS)]

    # ------------------------------------------------------------------ expressions

    def inputs(self) -> dict[str, ca.SX]:
        """Return the symbols that iterations depend on, by name."""
        named = {"start": self.start, "d": self.d, "settings": self.settings, "tau": self.tau, "t": self.t}
        return {**named, **self.acting}

    def _point(self) -> _Iterate:
        """Return the iterate (8.128, 8.129)."""
        x0, v0, a0, _, _ = self.layout.parts(self.start)
        h = self.h
        x = x0 + self.d
        v = 2 / h * self.d - v0
        a = 4 / h**2 * self.d - 4 / h * v0 - a0
        at = self.natural.symbolic_conditions.at(x, v, self.t)
        return _Iterate(x, v, a, at.phi, at.rate, at.rows, at.bias)

    def _middle(self) -> _Iterate:
        """Return the middle of the step: places and velocities; twice the mean acceleration."""
        x0, v0, _, _, _ = self.layout.parts(self.start)
        x, v = x0 + self.d / 2, self.d / self.h
        at = self.natural.symbolic_conditions.at(x, v, self.t)
        return _Iterate(x, v, 4 / self.h**2 * self.d - 4 / self.h * v0, at.phi, at.rate, at.rows, at.bias)

    def _held(self, point: _Iterate) -> ca.SX:
        """Return alpha (Phi + mu Phi')."""
        rate = 0 if self.projections else self.mu * point.rate
        return self.alpha * (point.phi + rate)

    def _residual(self, point: _Iterate) -> ca.SX:
        """Return f (8.132)."""
        lam = self.layout.parts(self.start)[3] + self._held(point)
        return self._mass_times(point.a) + self._pulled(point, lam) - self._forces(point, self.t)

    def _middle_residual(self, point: _Iterate, middle: _Iterate) -> ca.SX:
        """Return twice the residual of the equations of motion in the middle of the step (1)."""
        lam = self.layout.parts(self.start)[3] + self._held(point)
        acting = self._forces(middle, self.t - self.h / 2)
        return self._mass_times(middle.a) + 2 * (self._pulled(middle, lam) - acting)

    @made_once
    def _mass(self) -> dict[tuple[int, int], ca.SX]:
        """Entries of M, one half."""
        model, where = self.natural.model, self.natural.model.places()
        M: dict[tuple[int, int], ca.SX] = {}
        for body in model.bodies:
            for i, e in enumerate(body.basis):
                for j, f in enumerate(body.basis):
                    if e >= f and e in where and f in where and not body.M[i, j].is_zero():
                        for c in range(3):
                            add_to(M, (where[e].start + c, where[f].start + c), body.M[i, j])
        return M | {(i, i): inertia for i, inertia in model.armature().items()}

    def _mass_times(self, a: ca.SX) -> ca.SX:
        total = [ca.SX(0)] * self.layout.n
        for (i, j), value in self._mass.items():
            total[i] = total[i] + value * a[j]
            if i != j:
                total[j] = total[j] + value * a[i]
        return ca.SX(ca.vertcat(ca.SX(0, 1), *total))

    def _pulled(self, point: _Iterate, lam: ca.SX) -> ca.SX:
        """Return Phi_x^T lambda."""
        total = [ca.SX(0)] * self.layout.n
        for r, row in enumerate(point.rows):
            for j, value in row.items():
                total[j] = total[j] + value * lam[r]
        return ca.SX(ca.vertcat(ca.SX(0, 1), *total))

    def _forces(self, point: _Iterate, t: ca.SX) -> ca.SX:
        """Return Q: weight, and the forces of elements and efforts at fitted joint coordinates."""
        if not self.loaded:
            return forces_at(self.natural, None)
        q, v = fitted_joints(self.natural, point.x, point.v, self.layout.parts(self.start)[4])
        return forces_at(self.natural, {"q": q, "v": v, "tau": self.tau, "t": t, **self.acting})

    def _tangent(self, point: _Iterate) -> SymmetricFactor:
        """Return the factors of K (8.134)."""
        h = self.h
        beta = self.alpha if self.projections else self.alpha * (1 + 2 * self.mu / h)
        matrix = {place: 4 / h**2 * value for place, value in self._mass.items()}
        for r, row in enumerate(point.rows):
            for i, value in row.items():
                heavy = beta[r] * value
                for j, other in row.items():
                    if j <= i:
                        add_to(matrix, (i, j), heavy * other)
        record_stage("tangent matrix", matrix)
        return factor_symmetric(matrix, minimum_degree(matrix, list(range(self.layout.n))))

    def _middle_tangent(self, point: _Iterate, middle: _Iterate) -> SparseLU:
        """Return the factors of the matrix of (1): conditions act along their directions in the middle."""
        n, h = self.layout.n, self.h
        matrix: dict[int, dict[int, ca.SX]] = {i: {} for i in range(n)}
        for (i, j), value in self._mass.items():
            for a, b in {(i, j), (j, i)}:
                add_to(matrix[a], b, 4 / h**2 * value)
        for r, (along, row) in enumerate(zip(middle.rows, point.rows, strict=True)):
            for i, value in along.items():
                heavy = 2 * self.alpha[r] * value
                for j, other in row.items():
                    add_to(matrix[i], j, heavy * other)
        record_stage("tangent matrix", matrix)
        order = minimum_degree({(i, j) for i, row in matrix.items() for j in row}, list(range(n)))
        return factor_lu(matrix, [(i, i) for i in order])

    def _projected(self, point: _Iterate) -> tuple[ca.SX, ca.SX]:
        """Return velocities on the conditions with the least change, and the accelerations that belong to them."""
        factors, h, n = self._tangent(point), self.h, self.layout.n

        def nearest(push: ca.SX, drift: ca.SX, lam: ca.SX) -> ca.SX:
            found = ca.SX.zeros(n)
            for _ in range(_PROJECTIONS):
                right = push - self._pulled(point, self.alpha * drift + lam)
                solved = factors.solve({i: right[i] for i in range(n)})
                found = ca.SX(ca.vertcat(*(solved[i] for i in range(n))))
                lam = lam + self.alpha * (self._along(point, found) + drift)
            return found

        none, moving = ca.SX.zeros(self.layout.m), self._mass_times(point.v)
        v = nearest(4 / h**2 * moving, none, none)
        v = v * kept_energy(ca.dot(point.v, moving), ca.dot(v, self._mass_times(v)))
        at = self.natural.symbolic_conditions.at(point.x, v, self.t)
        acting = self._forces(point._replace(v=v), self.t)
        return v, nearest(4 / h**2 * acting, at.bias, 4 / h**2 * self.layout.parts(self.start)[3])

    def _along(self, point: _Iterate, rates: ca.SX) -> ca.SX:
        """Return Phi_x times a column."""
        rows = [sum((value * rates[j] for j, value in row.items()), ca.SX(0)) for row in point.rows]
        return ca.SX(ca.vertcat(ca.SX(0, 1), *rows))
