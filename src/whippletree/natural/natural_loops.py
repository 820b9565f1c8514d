"""The steps of `natural_steps` for large mechanisms: loops over elements, bodies, joints, conditions and blocks of K.

A straight line for a human body or a truck has 10^5 operations, which take minutes to compile. Here every condition,
body and joint is an item: those that are the same but for their numbers share one function
(`programs.function_forms`), and K is factored in blocks of three by three (`block_elimination`), of a point or vector
or of three relative coordinates, the last block being filled up with unknowns that are zero. Only the forces of
elements and efforts are one straight line, from joint coordinates to Q.

All is worked out in work memory, so that the same steps serve the kernels of the time loop and a whole step of real
time, which begins and ends with another column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import casadi as ca

from whippletree.formulations.natural.natural_model import GROUND, NaturalJoint
from whippletree.natural.block_elimination import BlockMatrix
from whippletree.natural.kept_energy import kept_energy
from whippletree.natural.natural_coordinates import NaturalCoordinates, forces_at
from whippletree.natural.natural_fit import FittedBody, fit_body, fit_joint
from whippletree.programs.function_forms import ExpressionForm, form_of_expression
from whippletree.programs.loop_program import ItemLoop, LoopProgram, ProgramStep, Segment, StepFunction
from whippletree.programs.step_tables import Bound, LoopTable, Numbers, WorkMemory, copied, segment, step_function

__all__ = ["NaturalLoops", "loops_fit"]

Steps = list[Segment | ItemLoop]

_BODY = 18
"""Numbers of a fitted body: axes, origin, turning rate and velocity."""


class _Condition(NamedTuple):
    """A condition: its form, where its numbers are, and the free elements that it is about, in the order of K."""

    form: ExpressionForm
    numbers: int
    elements: tuple[int, ...]


def loops_fit(natural: NaturalCoordinates) -> bool:
    """Tell whether the conditions of a mechanism can be written as loops: they do not change with time."""
    conditions = natural.symbolic_conditions
    return not ca.depends_on(conditions.phi, conditions.t)


class NaturalLoops:
    """Places in work memory, and the steps between them."""

    def __init__(self, natural: NaturalCoordinates) -> None:
        self.natural, self.model = natural, natural.model
        free, fixed = self.model.free, [one for one in self.model.elements if one.fixed]
        self.fixed = fixed
        self.n_free, self.n, self.m = len(free), natural.n_coordinates, natural.n_conditions
        self.n_blocks = -(-self.n // 3)  # elements, then relative coordinates by threes, the last ones with zeros
        self.whole = 3 * self.n_blocks
        self.place = {one.index: k for k, one in enumerate(free)}
        self.place |= {one.index: self.n_blocks + k for k, one in enumerate(fixed)}
        self.memory = WorkMemory()
        self._values: list[ca.SX] = []
        self.masses = self._masses()
        found = self._dependencies()
        pairs = {(a, b) for some in found for a in some for b in some} | set(self.masses)
        self.K = BlockMatrix(self.n_blocks, pairs, self.memory)
        self.conditions = [self._condition(r, some) for r, some in enumerate(found)]
        self._body_numbers = [self._keep(ca.vertsplit(ca.vec(body.W))) for body in self.model.bodies]
        self._mass_numbers = {
            (i, j): self._keep(ca.vertsplit(self._mass(i, j)))
            for i, j in self.K.places
            if self.K.rank[i] >= self.K.rank[j]
        }
        take, nq, nv = self.memory.take, natural.system.nq, natural.system.nv
        whole, everywhere = self.whole, self.whole + 3 * len(fixed)
        self.x0, self.v0, self.a0, self.lam, self.near = take(whole), take(whole), take(whole), take(self.m), take(nq)
        self.d, self.settings, self.t = take(whole), take(1 + 2 * self.m), take(1)
        self.h, self.alpha = self.settings.part(0, 1), self.settings.part(1, self.m)
        self.mu = self.settings.part(1 + self.m, self.m)
        self.x, self.v, self.a = take(everywhere), take(everywhere), take(whole)
        self.f, self.Q, self.change = take(whole), take(whole), take(1)
        self.bodies, self.q, self.speeds = take(_BODY * len(self.model.bodies)), take(nq), take(nv)
        self.drift, self.push, self.given = take(self.m), take(self.m), take(whole)
        self.middle_x, self.middle_v, self.middle_t = take(everywhere), take(everywhere), take(1)
        self.energies = take(2)
        self._joints = [self._joint(joint) for joint in self.model.joints]
        self.numbers = take(len(self._values)) if self._parametric else Numbers("constant", 0, len(self._values))

    # ------------------------------------------------------------------ numbers

    @property
    def _parametric(self) -> bool:
        return bool(self.natural.parameter_symbols)

    @property
    def constants(self) -> tuple[float, ...]:
        """The numbers of all items, unless they follow from parameters."""
        return () if self._parametric else tuple(float(value) for value in self._values)

    def _keep(self, values: Sequence[ca.SX]) -> int:
        self._values += values
        return len(self._values) - len(values)

    def prepared(self, parameters: Numbers | None) -> Steps:
        """Return the steps that run once: places on the ground, numbers that follow from parameters, filled blocks."""
        zeros = ca.SX.zeros(3 * len(self.fixed))
        places = ca.SX(ca.vertcat(ca.SX(0, 1), *(one.places[GROUND] for one in self.fixed)))
        rest = 3 * len(self.fixed)
        results: list[Bound] = [(places, region.part(self.whole, rest)) for region in (self.x, self.middle_x)]
        results += [(zeros, region.part(self.whole, rest)) for region in (self.v, self.middle_v)]
        filled = self.whole - self.n
        for region in (self.x0, self.v0, self.a0, self.d, self.Q) if filled else ():
            results.append((ca.SX.zeros(filled), region.part(self.n, filled)))
        given: list[Bound] = []
        if parameters is not None:
            given = [(self.natural.parameter_symbols[0], parameters)]
            results.append((ca.SX(ca.vertcat(*self._values)), self.numbers))
        return [segment(given, results)] if rest or filled or given else []

    def read(self, column: Numbers) -> Steps:
        """Return the loops that bring x, x', x'', lambda and joint coordinates, as far as a column has them."""
        return [loop for place, part in self._handed_on(column) for loop in copied(part, place)]

    def written(self, column: Numbers) -> Steps:
        """Return the loops that put them into a column."""
        return [loop for place, part in self._handed_on(column) for loop in copied(place, part)]

    def _handed_on(self, column: Numbers) -> list[tuple[Numbers, Numbers]]:
        found, at = [], 0
        for place in (*(region.part(0, self.n) for region in (self.x0, self.v0, self.a0)), self.lam, self.near):
            if at < column.size:
                found.append((place, column.part(at, place.size)))
            at += place.size
        return found

    def _masses(self) -> dict[tuple[int, int], ca.SX]:
        """Return M by pairs of blocks, each once: a number to be read times I_3, or a diagonal of relative ones."""
        found: dict[tuple[int, int], ca.SX] = {}
        for body in self.model.bodies:
            for i, e in enumerate(body.basis):
                for j, f in enumerate(body.basis[: i + 1]):
                    a, b = sorted((self.place[e], self.place[f]))
                    if b < self.n_free and not body.M[i, j].is_zero():
                        found[a, b] = found.get((a, b), ca.SX(0)) + body.M[i, j]
        for place, inertia in self.model.armature().items():
            found.setdefault((place // 3, place // 3), ca.SX.zeros(3))[place % 3] = inertia
        return found

    def _mass(self, i: int, j: int) -> ca.SX:
        return self.masses.get((min(i, j), max(i, j)), ca.SX(0))

    def _mass_number(self, i: int, j: int) -> int:
        return self._mass_numbers[(i, j) if (i, j) in self._mass_numbers else (j, i)]

    def _dependencies(self) -> list[set[int]]:
        """Return the free elements that each condition is about."""
        found: list[set[int]] = [set() for _ in range(self.m)]
        for r, j in zip(*self.natural.symbolic_conditions.jacobian.sparsity().get_triplet(), strict=True):
            found[r].add(j // 3)
        return found

    def _condition(self, r: int, some: set[int]) -> _Condition:
        conditions = self.natural.symbolic_conditions
        elements = tuple(sorted(some, key=self.K.rank.__getitem__))
        x = ca.vertcat(conditions.x, ca.SX.sym("none", self.whole - self.n))
        symbols = ca.SX(ca.vertcat(ca.SX(0, 1), *(x[3 * e : 3 * e + 3] for e in elements)))
        form = form_of_expression(conditions.phi[r], symbols)
        return _Condition(form, self._keep(form.numbers), elements)

    # ------------------------------------------------------------------ joint coordinates and forces

    def _joint(self, joint: NaturalJoint) -> tuple[ExpressionForm, int]:
        """Return the form of a joint's coordinates and velocities over its bodies and where it was; its numbers."""
        bodies, near = self._joint_symbols(joint)
        fitted = {node: _fitted(symbols) for node, symbols in bodies.items()}
        q, v = fit_joint(joint, fitted, near)
        form = form_of_expression(ca.SX(ca.vertcat(q, v)), ca.SX(ca.vertcat(*bodies.values(), near)))
        return form, self._keep(form.numbers)

    def _joint_symbols(self, joint: NaturalJoint) -> tuple[dict[int, ca.SX], ca.SX]:
        nodes = [frame.node for frame in joint.frames if frame.node != GROUND]
        return {node: ca.SX.sym("body", _BODY) for node in nodes}, ca.SX.sym("near", joint.joint.nq)

    def fitted(self, x: Numbers, v: Numbers) -> Steps:
        """Return the loops from places and velocities of elements to those of joints, starting from nearby values."""
        bodies, joints = LoopTable(), LoopTable()
        for k, body in enumerate(self.model.bodies):
            at = [3 * self.place[e] for e in body.basis]
            bodies.add(0, partial(self._body_step, x, v), (self._body_numbers[k], _BODY * k, *at))
        slices, own = self.natural.joint_slices, self.model.relative_places()
        for k, (joint, (form, numbers)) in enumerate(zip(self.model.joints, self._joints, strict=True)):
            if not joint.joint.nv:
                continue
            in_q, in_v = slices[k]
            nodes = [frame.node for frame in joint.frames if frame.node != GROUND]
            near, at = (x, own[k].start) if k in own else (self.near, in_q.start)
            row = (numbers, in_q.start, in_v.start, at, *(_BODY * node for node in nodes))
            make = partial(self._joint_step, joint, form, near)
            joints.add((len(nodes), joint.joint.nq, joint.joint.nv, k in own, form), make, row)
        return [bodies.loop(), *([joints.loop()] if joints.rows else [])]

    def _body_step(self, at: Numbers, moving: Numbers) -> StepFunction:
        W, x, v = ca.SX.sym("W", 4, 4), ca.SX.sym("x", 3, 4), ca.SX.sym("v", 3, 4)
        given: list[Bound] = [(W, self.numbers.by(1, 16))]
        for c in range(4):
            given += [(x[:, c], at.by(3 + c, 3)), (v[:, c], moving.by(3 + c, 3))]
        body = fit_body(W, ca.horzsplit(x), ca.horzsplit(v))
        found = ca.SX(ca.vertcat(ca.vec(body.R), body.p, body.w, body.u))
        return step_function(given, [(found, self.bodies.by(2, _BODY))])

    def _joint_step(self, joint: NaturalJoint, form: ExpressionForm, where: Numbers) -> StepFunction:
        bodies, near = self._joint_symbols(joint)
        numbers = ca.SX.sym("c", len(form.numbers))
        given: list[Bound] = [(numbers, self.numbers.by(1, len(form.numbers))), (near, where.by(4, near.numel()))]
        given += [(body, self.bodies.by(5 + k, _BODY)) for k, body in enumerate(bodies.values())]
        found = form.over(ca.vertsplit(ca.vertcat(*bodies.values(), near)), _scalars(numbers))
        nq, nv = joint.joint.nq, joint.joint.nv
        return step_function(given, [(found[:nq], self.q.by(2, nq)), (found[nq:], self.speeds.by(3, nv))])

    def fit_program(self) -> LoopProgram:
        """Return the program from x, x' and joint coordinates that are near (and parameters) to q and v."""
        sizes = (self.n, self.n, self.near.size)
        targets = (self.x, self.v, self.near)
        steps: list[ProgramStep] = []
        for argument, (size, target) in enumerate(zip(sizes, targets, strict=True)):
            steps += copied(Numbers("input", 0, size, argument=argument), target)
        steps += self.prepared(self.parameters(3))
        steps += copied(self.near, self.q)
        steps += self.fitted(self.x, self.v)
        steps += copied(self.q, Numbers("output", 0, self.q.size))
        steps += copied(self.speeds, Numbers("output", self.q.size, self.speeds.size))
        return self.program(steps)

    def parameters(self, argument: int) -> Numbers | None:
        """Return where parameters are if they are this input; None if there are none."""
        if not self._parametric:
            return None
        return Numbers("input", 0, self.natural.parameter_symbols[0].numel(), argument=argument)

    def program(self, steps: Sequence[ProgramStep]) -> LoopProgram:
        """Return the program of some steps."""
        return LoopProgram(tuple(steps), self.memory.size, self.constants)

    # ------------------------------------------------------------------ the rule

    def point(self) -> ItemLoop:
        """Return the loop that makes x, x', x'' of the displacement (8.128, 8.129)."""
        h, d, x0, v0, a0 = (ca.SX.sym(name, size) for name, size in (("h", 1), ("d", 3), ("x", 3), ("v", 3), ("a", 3)))
        given = [(h, self.h), (d, self.d.by(1, 3)), (x0, self.x0.by(1, 3)), (v0, self.v0.by(1, 3))]
        given.append((a0, self.a0.by(1, 3)))
        two = 2 / h
        moved = [
            (x0 + d, self.x.by(1, 3)),
            (two * d - v0, self.v.by(1, 3)),
            (two * (two * d - 2 * v0) - a0, self.a.by(1, 3)),
        ]
        return self._elements(step_function(given, moved))

    def middle(self) -> ItemLoop:
        """Return the loop that makes the middle of the step; x'' is then twice the mean acceleration."""
        h, d, x0, v0, t = (ca.SX.sym(name, size) for name, size in (("h", 1), ("d", 3), ("x", 3), ("v", 3), ("t", 1)))
        given = [(h, self.h), (t, self.t), (d, self.d.by(1, 3)), (x0, self.x0.by(1, 3)), (v0, self.v0.by(1, 3))]
        moved = [
            (x0 + d / 2, self.middle_x.by(1, 3)),
            (d / h, self.middle_v.by(1, 3)),
            (4 / h**2 * d - 4 / h * v0, self.a.by(1, 3)),
            (t - h / 2, self.middle_t),
        ]
        return self._elements(step_function(given, moved))

    def predicted(self) -> ItemLoop:
        """Return the loop that makes the displacement that the predictor gives (8.135)."""
        h, v0, a0 = (ca.SX.sym(name, size) for name, size in (("h", 1), ("v", 3), ("a", 3)))
        given = [(h, self.h), (v0, self.v0.by(1, 3)), (a0, self.a0.by(1, 3))]
        return self._elements(step_function(given, [(h * v0 + h**2 / 2 * a0, self.d.by(1, 3))]))

    def _elements(self, step: StepFunction) -> ItemLoop:
        table = LoopTable()
        for k in range(self.n_blocks):
            table.add(0, lambda: step, (3 * k,))
        return table.loop()

    def iteration(self, projections: bool) -> Steps:
        """Return an iteration (8.131) from the point and Q: the displacement moves on, and the change is measured."""
        x = ca.SX.sym("x", 3)
        step, d, before = ca.SX.sym("step", 3), ca.SX.sym("d", 3), ca.SX.sym("before")
        given = [(step, self.f.by(1, 3)), (d, self.d.by(1, 3))]
        moved = step_function(given, [(d + step, self.d.by(1, 3)), (ca.sumsqr(step), self.change.added)])
        acting = (2 if projections else 1) * x
        symmetric = not projections
        return [
            self._elements(step_function([(x, self.Q.by(1, 3))], [(acting, self.f.by(1, 3))])),
            self._mass_times(self.a, -1.0),
            self._stiff_masses(symmetric),
            *self._each_condition(_ConditionKind.balanced if symmetric else _ConditionKind.balanced_in_the_middle),
            self.K.factored(symmetric),
            *self.K.solved(self.f, symmetric),
            segment([], [(ca.SX(0), self.change)]),
            self._elements(moved),
            segment([(before, self.change)], [(ca.sqrt(before), self.change)]),
        ]

    def corrected(self, projections: bool) -> Steps:
        """Return the loop that corrects the multipliers at the point (8.126)."""
        return self._each_condition(partial(_ConditionKind.corrected, projections=projections))

    def projected_velocities(self, passes: int) -> Steps:
        """Return the steps that bring velocities onto the conditions with the least change, and keep their energy."""
        moving, x = self.v.part(0, self.n), ca.SX.sym("x", 3)
        steps: Steps = [self._stiff_masses(True), *self._each_condition(_ConditionKind.tangent), self.K.factored(True)]
        steps += [self._elements(step_function([], [(ca.SX.zeros(3), self.given.by(1, 3))]))]
        steps += [self._mass_times(moving, 1.0, into=self.given), *self._cleared(self.energies)]
        steps.append(self._quadratic(moving, 0))
        steps += [*self._cleared(self.push), *self._nearest(passes, drifting=False)]
        steps += [self._elements(step_function([(x, self.f.by(1, 3))], [(x, moving.by(1, 3))]))]
        steps.append(self._quadratic(moving, 1))
        energies = ca.SX.sym("T", 2)
        scaled = x * kept_energy(energies[0], energies[1])
        given = [(x, moving.by(1, 3)), (energies, self.energies)]
        return [*steps, self._elements(step_function(given, [(scaled, moving.by(1, 3))]))]

    def true_accelerations(self, passes: int) -> Steps:
        """Return the steps to the accelerations of the state, Q being there, with the factors of the velocities."""
        x, h, size = ca.SX.sym("x", 3), ca.SX.sym("h"), ca.SX.sym("size")
        begun = LoopTable()
        first = step_function([(size, self.lam.by(1, 1)), (h, self.h)], [(4 / h**2 * size, self.push.by(1, 1))])
        for r in range(self.m):
            begun.add(0, lambda: first, (r,))
        steps: Steps = [self._elements(step_function([(x, self.Q.by(1, 3))], [(x, self.given.by(1, 3))]))]
        steps += [*([begun.loop()] if self.m else []), *self._each_condition(_ConditionKind.drifting)]
        steps += self._nearest(passes, drifting=True)
        return [*steps, self._elements(step_function([(x, self.f.by(1, 3))], [(x, self.a.by(1, 3))]))]

    def _nearest(self, passes: int, *, drifting: bool) -> Steps:
        """Return the passes that solve K f = 4/h^2 `given` - Phi_x^T (alpha drift + push)."""
        x, h, steps = ca.SX.sym("x", 3), ca.SX.sym("h"), Steps()
        right = step_function([(x, self.given.by(1, 3)), (h, self.h)], [(4 / h**2 * x, self.f.by(1, 3))])
        for _ in range(passes):
            steps.append(self._elements(right))
            steps += self._each_condition(partial(_ConditionKind.held_back, drifting=drifting))
            steps += self.K.solved(self.f, True)
            steps += self._each_condition(partial(_ConditionKind.pushed, drifting=drifting))
        return steps

    def _quadratic(self, region: Numbers, which: int) -> ItemLoop:
        """Return the loop that adds up x^T M x."""
        table = LoopTable()
        x, y = ca.SX.sym("x", 3), ca.SX.sym("y", 3)
        total = self.energies.part(which, 1).added
        for (a, b), numbers in self._mass_numbers.items():
            if not self._mass(a, b).is_zero():
                m, from_numbers = self._mass_symbol(a, b)
                given: list[Bound] = [from_numbers, (x, region.by(2, 3)), (y, region.by(3, 3))]
                value = ca.dot(m * x, x) if m.numel() > 1 else m * ca.sumsqr(x) if a == b else 2 * m * ca.dot(x, y)
                step = partial(step_function, given, [(value, total)])
                table.add((a == b, m.numel()), step, (numbers, 3 * a, 3 * b))
        return table.loop()

    def _mass_symbol(self, a: int, b: int) -> tuple[ca.SX, Bound]:
        """Return a symbol for a mass of M, and where its numbers are."""
        m = ca.SX.sym("m", self._mass(a, b).numel())
        return m, (m, self.numbers.by(1, m.numel()))

    def forgotten(self) -> Steps:
        """Return the loop that sets the multipliers to zero."""
        return self._cleared(self.lam)

    def _cleared(self, region: Numbers) -> Steps:
        table = LoopTable()
        for r in range(region.size):
            table.add(0, lambda: step_function([], [(ca.SX(0), region.by(1, 1))]), (r,))
        return [table.loop()] if table.rows else []

    def _stiff_masses(self, symmetric: bool) -> ItemLoop:
        """Return the loop that sets K to 4/h^2 M, and to one where a block is filled."""
        table, at = LoopTable(), self.K.blocks.by(2, 9)
        h = ca.SX.sym("h")
        for (i, j), start in self.K.places.items():
            if symmetric and self.K.rank[i] < self.K.rank[j]:
                continue
            empty = self._mass(i, j).is_zero()
            filled = self.whole - self.n if i == j == self.n_blocks - 1 else 0
            m, from_numbers = self._mass_symbol(i, j)
            ones = ca.diag(ca.SX([0] * (3 - filled) + [1] * filled))
            value = ones if empty else 4 / h**2 * m * ca.SX.eye(3) if m.numel() == 1 else ones + 4 / h**2 * ca.diag(m)
            row = (self._mass_number(i, j), start)
            step = partial(step_function, [from_numbers, (h, self.h)], [(value, at)])
            table.add((empty, filled, m.numel()), step, row)
        return table.loop()

    def _mass_times(self, region: Numbers, factor: float, into: Numbers | None = None) -> ItemLoop:
        """Return the loop that adds a multiple of M times a column to f, or to another one."""
        table, target = LoopTable(), self.f if into is None else into
        x, y = ca.SX.sym("x", 3), ca.SX.sym("y", 3)
        first, second = target.by(2, 3).added, target.by(3, 3).added
        for (a, b), numbers in self._mass_numbers.items():
            if not self._mass(a, b).is_zero():
                m, from_numbers = self._mass_symbol(a, b)
                given: list[Bound] = [from_numbers, (x, region.by(2, 3)), (y, region.by(3, 3))]
                own, other = (factor * m * x, first), (factor * m * y, first)
                results = [own] if a == b else [other, (factor * m * x, second)]
                table.add((a == b, m.numel()), partial(step_function, given, results), (numbers, 3 * a, 3 * b))
        return table.loop()

    def _each_condition(self, make: Callable[[_ConditionKind], StepFunction]) -> Steps:
        """Return the loop over all conditions of a step that is made for each kind."""
        table = LoopTable()
        for r, one in enumerate(self.conditions):
            lower = [self.K.block(i, j) for a, i in enumerate(one.elements) for j in one.elements[: a + 1]]
            upper = [self.K.block(j, i) for a, i in enumerate(one.elements) for j in one.elements[:a]]
            row = (one.numbers, r, *(3 * e for e in one.elements), *lower, *upper)
            table.add(one.form, partial(self._condition_step, make, one), row)
        return [table.loop()] if table.rows else []

    def _condition_step(self, make: Callable[[_ConditionKind], StepFunction], one: _Condition) -> StepFunction:
        return make(_ConditionKind(self, one))

    def forces(self, loaded: bool, arguments: dict[str, Numbers], t: Numbers) -> Segment:
        """Return the straight line from joint coordinates, efforts and elements to Q."""
        natural = self.natural
        names = ("q", "v", "t") if loaded else ()
        own = {"q": self.q, "v": self.speeds, "t": t}
        where = {**{name: own[name] for name in names}, **(arguments if loaded else {})}
        symbols = {name: ca.SX.sym("given", numbers.size) for name, numbers in where.items() if name != "parameters"}
        Q = forces_at(natural, symbols if loaded else None)
        given: list[Bound] = [(symbol, where[name]) for name, symbol in symbols.items()]
        if "parameters" in arguments:
            given.append((natural.parameter_symbols[0], arguments["parameters"]))
        return segment(given, [(Q, self.Q.part(0, self.n))])


class _ConditionKind:
    """A kind of conditions: its symbols with where they are read, and the steps over it."""

    def __init__(self, loops: NaturalLoops, one: _Condition) -> None:
        self.loops, self.k = loops, len(one.elements)
        x, v = ca.SX.sym("x", 3 * self.k), ca.SX.sym("v", 3 * self.k)
        c = ca.SX.sym("c", len(one.form.numbers))
        self.phi = one.form.over(_scalars(x), _scalars(c))
        self.row = ca.jacobian(self.phi, x)
        self.rate = self.row @ v
        self.bias = ca.jtimes(self.rate, x, v)
        middle = ca.SX.sym("m", 3 * self.k)
        self.along = ca.substitute(self.row, x, middle)
        self.given: list[Bound] = [(c, loops.numbers.by(1, c.numel()))]
        for a in range(self.k):
            where = slice(3 * a, 3 * a + 3)
            self.given += [(x[where], loops.x.by(3 + a, 3)), (v[where], loops.v.by(3 + a, 3))]
            self.given.append((middle[where], loops.middle_x.by(3 + a, 3)))

    def _scalar(self, numbers: Numbers) -> ca.SX:
        symbol = ca.SX.sym("s")
        self.given.append((symbol, numbers if numbers.size == 1 else numbers.by(2, 1)))
        return symbol

    def _part(self, a: int) -> ca.SX:
        return self.row[:, 3 * a : 3 * a + 3]

    def _pull(self, size: ca.SX, row: ca.SX | None = None) -> list[Bound]:
        """Return the force of a multiplier, subtracted from f."""
        row = self.row if row is None else row
        return [(-row[:, 3 * a : 3 * a + 3].T * size, self.loops.f.by(3 + a, 3).added) for a in range(self.k)]

    def _stiff(self, beta: ca.SX) -> list[Bound]:
        """Return the terms of the condition in K."""
        found: list[Bound] = []
        for column, (a, b) in enumerate(_lower_pairs(self.k), 3 + self.k):
            block = (beta * self._part(a)).T @ self._part(b)
            at = self.loops.K.blocks.by(column, 9).added
            found.append((ca.tril(block) if a == b else block, at))
        return found

    def _stiff_in_the_middle(self) -> list[Bound]:
        """Return the terms of the condition in the matrix of the middle of the step, which is not symmetric."""
        heavy = 2 * self._scalar(self.loops.alpha) * self.along
        pairs = [*_lower_pairs(self.k), *((b, a) for a, b in _lower_pairs(self.k) if a != b)]
        found: list[Bound] = []
        for column, (a, b) in enumerate(pairs, 3 + self.k):
            block = heavy[:, 3 * a : 3 * a + 3].T @ self._part(b)
            found.append((block, self.loops.K.blocks.by(column, 9).added))
        return found

    def _held(self, projections: bool) -> ca.SX:
        """Return alpha (Phi + mu Phi')."""
        rate = 0 if projections else self._scalar(self.loops.mu) * self.rate
        return self._scalar(self.loops.alpha) * (self.phi + rate)

    def tangent(self) -> StepFunction:
        """Return the step that adds the condition to K alone."""
        return step_function(self.given, self._stiff(self._scalar(self.loops.alpha)))

    def balanced(self) -> StepFunction:
        """Return the step that adds the condition to K and to the residual."""
        alpha, h, mu = (self._scalar(one) for one in (self.loops.alpha, self.loops.h, self.loops.mu))
        results = self._stiff(alpha * (1 + 2 * mu / h))
        return step_function(self.given, results + self._pull(self._scalar(self.loops.lam) + self._held(False)))

    def balanced_in_the_middle(self) -> StepFunction:
        """Return the step that adds the condition to the matrix and to twice the residual, in the middle of a step."""
        results = self._stiff_in_the_middle()
        results += self._pull(2 * (self._scalar(self.loops.lam) + self._held(True)), self.along)
        return step_function(self.given, results)

    def corrected(self, projections: bool) -> StepFunction:
        """Return the step that corrects the multiplier."""
        held = self._held(projections)
        return step_function(self.given, [(held, self.loops.lam.by(2, 1).added)])

    def drifting(self) -> StepFunction:
        """Return Phi'' at zero accelerations."""
        return step_function(self.given, [(self.bias, self.loops.drift.by(2, 1))])

    def _drift(self, drifting: bool) -> ca.SX:
        return self._scalar(self.loops.drift) if drifting else ca.SX(0)

    def held_back(self, drifting: bool) -> StepFunction:
        """Return the step that subtracts a projection's force from f."""
        size = self._scalar(self.loops.alpha) * self._drift(drifting) + self._scalar(self.loops.push)
        return step_function(self.given, self._pull(size))

    def pushed(self, drifting: bool) -> StepFunction:
        """Return the step that corrects the multiplier of a projection from the solution in f."""
        moved = ca.SX(0)
        for a in range(self.k):
            found = ca.SX.sym("f", 3)
            self.given.append((found, self.loops.f.by(3 + a, 3)))
            moved = moved + self._part(a) @ found
        size = self._scalar(self.loops.alpha) * (moved + self._drift(drifting))
        return step_function(self.given, [(size, self.loops.push.by(2, 1).added)])


def _lower_pairs(k: int) -> list[tuple[int, int]]:
    return [(a, b) for a in range(k) for b in range(a + 1)]


def _scalars(column: ca.SX) -> list[ca.SX]:
    return ca.vertsplit(column) if column.numel() else []


def _fitted(symbols: ca.SX) -> FittedBody:
    return FittedBody(ca.reshape(symbols[:9], 3, 3), symbols[9:12], symbols[12:15], symbols[15:18])
