"""The loops of a mechanism: analysed, assembled, and looked after where kernels give up."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import casadi as ca
import numpy as np

from whippletree.errors import AssemblyError, DynamicsError, StateError
from whippletree.formulations.methods.coordinate_reduction import closure_extents
from whippletree.formulations.recursions import kinematics
from whippletree.kernels.cache import DiskCache
from whippletree.kernels.kernel import Array, Kernel
from whippletree.kernels.repeat import Repeated, least_seconds
from whippletree.model.description import Description
from whippletree.system.assembly import Assembler, Conditions
from whippletree.system.choosing import ALONG_GROUND, CANDIDATES, Chooser, Weighed, timing
from whippletree.system.closures import ClosureNumbers
from whippletree.system.decisions import CLEARLY, Decision, alternatives, decide, lasting, on_grid, smallest
from whippletree.system.equations import Equations, Request
from whippletree.system.loop_equations import CONSISTENT, LoopPlan
from whippletree.system.many_loops import every_joint_moves_mass
from whippletree.system.mobility import Mobility, analyse
from whippletree.system.ranks import choose_pivots, rank_of
from whippletree.system.reduction import pair_up
from whippletree.system.rescue import Rescuer, idle_motion
from whippletree.system.source import source_key
from whippletree.system.state_space import StateSpace

__all__ = ["Loops", "characteristic_length"]

PENALTY = 1e7
"""A penalty weight is this many times the stiffness against which its row moves."""

_OF_TREE = ("tree_augmented", "joint_multipliers", ALONG_GROUND[1])
"""Formulations that need a regular mass matrix of the tree."""

_SMALL = 12
"""Nodes up to which velocity transformations are weighed: what they take grows with the cube of a chain's length."""

_DECIDED: dict[str, bytes] = {}
"""What was decided in this process, so that mechanisms that are alike choose alike, also without a cache."""

_REMEMBERED = 1000
"""How many decisions are remembered at most."""

_ALIKE = (0.5, 4.0)
"""Between which shares of what it was where a plan was made a pivot is where the plan is taken up again."""

Decided = TypeVar("Decided")

_SINGULAR_NEARBY = 1e-3
_SINGULAR_HERE = 1e-9
"""Singular values of the closures below this share of the largest are none, at a single configuration."""

_SINGULAR = 1e-11
"""Eigenvalues of a mass matrix, and inertias of hinges, below this share of the largest are none."""


class Loops:
    """The closures of a mechanism, and what numbers say about them."""

    def __init__(
        self,
        equations: Equations,
        states: StateSpace,
        cache: DiskCache | None,
        kernel: Callable[[Request], Kernel],
    ) -> None:
        self.equations, self.states, self._cache, self.kernel = equations, states, cache, kernel
        self.description, self.plan = equations.description, equations.plan
        self.length = characteristic_length(equations.description)
        self.numbers = ClosureNumbers(equations, self.length)
        self.assembler = Assembler(self.numbers, self._moved("integrate"), self._moved("difference"), self._random)
        self.mobility: Mobility | None = None
        self.dependent: frozenset[int] | None = None  # freedoms that shall depend on the others
        self._first: Loops | None = None  # those with another plan that this one came after

    @property
    def parameters(self) -> Array:
        """The parameters' described values."""
        return np.array(self.description.parameter_values, dtype=np.float64)

    def conditions(self, t: float = 0.0, parameters: Array | None = None) -> Conditions:
        """Return the conditions of an assembly."""
        return Conditions(float(t), self.parameters if parameters is None else parameters)

    # ------------------------------------------------------------------ analysis

    def analyse(self, q: Array, where: Conditions) -> Mobility:
        """Return what is found around a closed configuration."""
        return self._analysed(q, where)[1]

    def decide(self, q: Array, where: Conditions) -> Mobility:
        """Analyse, and let the equations use what was found."""
        decision, self.mobility = self._analysed(q, where)
        if self.numbers.kinds is None:
            wanted = self.dependent or frozenset()
            decision = lasting(self.assembler, decision, where, self.rank, wanted, self._height)
            names = tuple(self.states.freedom_name(i) for i in decision.choice.independent)
            self.mobility = replace(self.mobility, independent=names)
        self.equations.loops = self.plan_of(decision, where)
        return self.mobility

    def planned(self, equations: Equations, kernel: Callable[[Request], Kernel]) -> Loops:
        """Return the same loops with another numeric plan, that of some equations; what `auto` means stays the same."""
        twin = copy.copy(self)
        twin.equations, twin.kernel, twin._first = equations, kernel, self
        for name in ("_rescuer", "_chooser", "chosen", "group_methods", "candidates", "penalty_error"):
            twin.__dict__.pop(name, None)
        equations.loops = replace(equations.loop_plan, group_methods=lambda: twin.group_methods)
        return twin

    def better(self, q: Array, where: Conditions, others: Sequence[LoopPlan] = ()) -> LoopPlan | None:
        """Return a plan made at a configuration, if it is clearly better there than the present one.

        Of those that are about as good, one that would have been good also where others were made comes first, and
        dependent freedoms that were asked for stay so.
        """
        decisions, present = self._ways_on(q, where, others), self.equations.loop_plan
        qualities = [smallest(self.numbers, one.keep, one.choice, q, where) for one in decisions]
        good = [n for n, quality in enumerate(qualities) if quality * CLEARLY >= max(qualities)]
        best, quality = decisions[good[0]], qualities[good[0]]
        enough = quality > 0.0 and quality >= CLEARLY * self._quality(present, q, where)
        if not enough or present.decides(best.keep, best.choice):
            return None
        plain = self.numbers.kinds is None and not self.states.quaternions
        return self.plan_of(on_grid(self.numbers, best, where) if plain else best, where)

    def _ways_on(self, q: Array, where: Conditions, others: Sequence[LoopPlan]) -> list[Decision]:
        """Return decisions at a configuration, in the order in which they are welcome."""
        numbers, full = self.numbers, self.rank
        wanted = self.dependent or frozenset()
        if numbers.kinds is not None or rank_of(numbers.full_rows(q, *where)[0]) != full:
            decision, mobility = self._analysed(q, where)
            return [decision, *alternatives(numbers, decision.q, where, mobility.mobility)]
        decisions = [decide(numbers, q, where, full, wanted), *alternatives(numbers, q, where, self.plan.nv - full)]
        try:
            return [decide(numbers, q, where, full, wanted, also=[plan.q for plan in others]), *decisions]
        except np.linalg.LinAlgError:  # no order of elimination goes everywhere
            return decisions

    def known(self, plan: LoopPlan, others: Sequence[LoopPlan], q: Array, where: Conditions) -> LoopPlan:
        """Return one of some other plans that does as well at a configuration as a better plan, or else that one.

        Its pivots have to be about as large as where it was made: by that they are watched.
        """
        enough = self._quality(self.equations.loop_plan, q, where) * CLEARLY
        enough = max(enough, self._quality(plan, q, where) / CLEARLY)
        best, most = plan, 0.0
        for other in others:
            here, there = self._quality(other, q, where), other.strength()
            low, high = _ALIKE
            if here >= enough and low * there < here < high * there and here > most:
                best, most = other, here
        return best

    @property
    def rank(self) -> int:
        """How many freedoms the closures take away."""
        return self.plan.nv - (self.mobility.mobility if self.mobility else 0)

    def singular(self, q: Array, where: Conditions) -> bool:
        """Tell whether a configuration is next to one where the closures lose rank."""
        rank = self.rank
        s = np.linalg.svd(self.numbers.full_rows(q, *where)[0], compute_uv=False)
        return bool(rank and s[rank - 1] < _SINGULAR_NEARBY * s[0])

    def _quality(self, plan: LoopPlan, q: Array, where: Conditions) -> float:
        """Return the smallest pivot of what a plan eliminates at a configuration, scaled, in the plan's order."""
        return smallest(self.numbers, plan.keep, plan.choice, q, where)

    def plan_of(self, decision: Decision, where: Conditions) -> LoopPlan:
        """Return a plan from what was decided, and under which conditions; the plan keeps what it needs of them."""
        decision = decision._replace(q=decision.q.copy())
        where = where._replace(parameters=where.parameters.copy())

        @functools.cache
        def pivots() -> tuple[Any, ...]:
            return self._absolute_pivots(decision, where)

        @functools.cache
        def weights() -> tuple[float, ...]:
            return self._penalty(decision.q, where)[0]

        @functools.cache
        def reduction() -> dict[int, int]:
            return self._reduction(decision, where)

        @functools.cache
        def strength() -> float:
            return smallest(self.numbers, *decision, where)

        @functools.cache
        def idle() -> bool:
            described = where._replace(parameters=self.parameters)  # so that all plans of one key agree
            return self._moves_nothing(decision.q, described)

        def methods() -> tuple[str, ...]:
            return self.group_methods

        return LoopPlan(*decision, where, self.length, strength, idle, pivots, weights, reduction, methods)

    def _analysed(self, q: Array, where: Conditions) -> tuple[Decision, Mobility]:
        return analyse(self.assembler, q, where, self.states.freedom_name, self._cut_axes, self.dependent)

    def _cut_axes(self, q: Array, joint: str) -> Array:
        """Return the axes of a cut joint's child side in the ground frame."""
        use = self.description.joint(joint)
        node_tree = self.equations.node_tree()
        index, placement = node_tree.where[use.child]
        R = np.array((placement @ use.on_child).rotation, dtype=np.float64)
        return R if index < 0 else np.asarray(self._node_axes(q).full()[3 * index : 3 * index + 3] @ R)

    @functools.cached_property
    def _node_axes(self) -> ca.Function:
        return self._placed(lambda walk: ca.vertcat(*(kept.R for kept in kinematics.poses(walk).records)))

    def _height(self, q: Array) -> float:
        """Return the potential energy of the weights."""
        return float(self._weights(q))

    @functools.cached_property
    def _weights(self) -> ca.Function:
        gravity = ca.vertcat(*self.description.gravity)
        return self._placed(lambda walk: -ca.dot(gravity, kinematics.momentum(walk)[1]))

    def _placed(self, of: Callable[[Any], ca.SX]) -> ca.Function:
        """Return a function of the configuration, with the described values of the parameters."""
        q = ca.SX.sym("q", self.plan.nq)
        named = ca.vertcat(*(p.symbol for p in self.description.parameters))
        out = of(self.equations.walk({"q": q}))
        return ca.Function("placed", [q], [ca.substitute(out, named, ca.DM(self.parameters)) if named.numel() else out])

    # ------------------------------------------------------------------ what formulations need

    @property
    def formulation(self) -> str:
        """The cheapest exact formulation, by operations."""
        return self.chosen.name

    @functools.cached_property
    def chosen(self) -> Weighed:
        """The formulation that `auto` uses, and why; the same under all plans, since it may be timed."""
        if self._first is not None:
            return self._first.chosen
        rolled = Request("forward_dynamics", "coordinate_reduction")
        by_items = self.numbers.kinds is not None and self.equations.reduces_by_items(rolled)
        if by_items or self.equations.too_long(rolled):
            count = len(self.numbers.closure_set.attachments.cuts)
            words = f"with {count} loops its straight line would take long to compile"
            others = {name: words for name in CANDIDATES if name != rolled.formulation}
            return Weighed(rolled.formulation, {}, others, (), {})
        return self._kept("auto", lambda: self._chooser.choose().packed(), Weighed.unpacked)

    @functools.cached_property
    def group_methods(self) -> tuple[str, ...]:
        """How each group of loops is solved by "by_group"."""

        def weigh() -> bytes:
            return " ".join(group.method for group in self._chooser.group_choices).encode()

        return self._kept("groups", weigh, lambda data: tuple(data.decode().split()))

    def _kept(self, what: str, make: Callable[[], bytes], read: Callable[[bytes], Decided]) -> Decided:
        """Return a decision from the disk cache or that of this process, or make it and keep it there."""
        how = "timed" if timing() else "counted"
        key = f"{what}|{how}|{source_key()}|{self.description.fingerprint()}|{self.equations.loop_plan.key('')}"
        kept = self._cache.load(key) if self._cache else None
        if kept and what in kept:
            return read(kept[what])
        made = _DECIDED.get(key)
        if made is None:
            made = make()
            while len(_DECIDED) >= _REMEMBERED:
                _DECIDED.pop(next(iter(_DECIDED)))
            _DECIDED[key] = made
        if self._cache:
            self._cache.store(key, {what: made})
        return read(made)

    @functools.cached_property
    def _chooser(self) -> Chooser:
        return Chooser(self.equations, self.candidates, self._evaluation_times)

    def _evaluation_times(self, formulations: Sequence[str]) -> dict[str, float]:
        """Return the seconds of one evaluation of the forward dynamics in machine code."""
        state = {"q": self.equations.loop_plan.q, "parameters": self.parameters}
        requests = {name: Request("forward_dynamics", name) for name in formulations}
        return least_seconds({name: Repeated(self.kernel(request), state) for name, request in requests.items()})

    @functools.cached_property
    def candidates(self) -> tuple[str, ...]:
        """The formulations that `auto` weighs: those that need the tree's own inertia only if it has one."""
        plan = self.equations.loop_plan
        regular = self._tree_regular(plan.q, plan.where)
        small = len(self.equations.node_tree().node_constants) <= _SMALL
        names = (name for name in CANDIDATES if regular or name not in _OF_TREE)
        return tuple(name for name in names if small or name not in ALONG_GROUND)

    def _tree_regular(self, q: Array, where: Conditions) -> bool:
        """Tell whether the tree by itself has a regular mass matrix."""
        many = self.equations.large or self.numbers.kinds is not None
        if many and every_joint_moves_mass(self.equations.node_tree()):
            return True
        pivots = self.numbers.hinge_pivots(q, where.parameters)
        return bool((pivots > _SINGULAR).all())

    def _moves_nothing(self, q: Array, where: Conditions) -> bool:
        """Tell whether a motion that the loops allow moves nothing that has inertia, as a rod between two balls."""
        if self._tree_regular(q, where):
            return False
        try:
            allowed = self.motions(q, where)
        except DynamicsError:  # singular here: every state is looked at by itself
            return False
        return idle_motion(self._terms(q, where).M, allowed) is not None

    def _is_cut(self, i: int) -> bool:
        return any(c.v.start <= i < c.v.stop for c in self.numbers.closure_set.attachments.cuts)

    def _terms(self, q: Array, where: Conditions) -> Any:
        none = np.zeros(self.plan.nv)
        state = {"q": q, "v": none, "tau": none, "a": none}
        return self.numbers.terms(state, *where)

    def _absolute_pivots(self, decision: Decision, where: Conditions) -> tuple[Any, ...]:
        (keys, columns), A, pattern = self.numbers.absolute_matrix(decision.keep, decision.q, *where)
        size = np.abs(A).max(axis=1, keepdims=True)
        try:
            places = choose_pivots(A / np.where(size > 0, size, 1.0), pattern)
        except np.linalg.LinAlgError:
            raise DynamicsError(
                'formulation "absolute" has no solution here: a motion that the loops allow moves nothing that has '
                "inertia; give mass or inertia to what it moves, or take another formulation"
            ) from None
        return tuple((keys[i], columns[j]) for i, j in places)

    def _reduction(self, decision: Decision, where: Conditions) -> dict[int, int]:
        """Return the row with which each dependent freedom is eliminated in `coordinate_reduction`.

        Nothing is paired, which is cheapest, unless the dependent coordinates were asked for, or the tree has joints
        that move nothing with inertia.
        """
        if self.dependent is None and self._tree_regular(decision.q, where):
            return {}
        rows = self.equations.attachments().places(decision.keep)
        C = self.numbers.tree_rows(decision.q, *where)[rows] * self.numbers.column_scale
        C = C / np.maximum(np.sqrt(np.einsum("ij,ij->i", C, C)), 1e-300)[:, None]
        node_tree = self.equations.node_tree()
        parents, freedoms = node_tree.tree.parents, node_tree.elimination_order()
        spans = zip(*closure_extents(self.equations.attachments(), node_tree.tree, node_tree.homes), strict=True)
        of_rows = [span for span, keep in zip(spans, decision.keep, strict=True) for _ in keep]
        return pair_up(C, freedoms, of_rows, parents, {column for _, column in decision.choice.pivots})

    def _penalty(self, q: Array, where: Conditions) -> tuple[tuple[float, ...], float]:
        """Return the weights of all rows, and the relative error that they leave."""
        terms = self._terms(q, where)
        free = np.flatnonzero(np.diag(terms.M) != 0)
        C, M = terms.C[:, free], terms.M[np.ix_(free, free)]
        A = C @ np.linalg.lstsq(M, C.T, rcond=_SINGULAR)[0]
        d = np.diag(A)
        scaled = C * self.numbers.column_scale[free]
        used = np.flatnonzero(np.sqrt(np.einsum("ij,ij->i", scaled, scaled)) > 1e-9 * self.length)
        weights = np.zeros(len(d))
        weights[used] = PENALTY / d[used]
        s = np.linalg.eigvalsh(A[np.ix_(used, used)] / np.sqrt(np.outer(d[used], d[used])))
        s = s[s > 1e-9 * s.max(initial=0.0)]
        once = 50 / (PENALTY * s.min(initial=1.0))  # what the closures miss by, and again of that
        size = np.sqrt(np.diag(M))
        stretch = np.linalg.eigvalsh(M / np.outer(size, size))
        rounding = np.finfo(float).eps * PENALTY * stretch.max(initial=1.0) / max(stretch.min(initial=1.0), _SINGULAR)
        return tuple(weights.tolist()), float(once**2 + rounding)

    @functools.cached_property
    def penalty_error(self) -> float:
        """The relative error that the penalty formulation is expected to have."""
        plan = self.equations.loop_plan
        return self._penalty(plan.q, plan.where)[1]

    # ------------------------------------------------------------------ states

    def check(self, q: Array, v: Array, t: float, parameters: Array | None) -> None:
        """Refuse a state that does not satisfy the closures."""
        where = self.conditions(t, parameters)
        r = self.numbers.residual(q, *where)
        if np.abs(r).max(initial=0.0) > CONSISTENT:
            raise StateError(self._open(r) + "; make it consistent with q = system.assemble(q), or pass check=False")
        G, drift = self.numbers.full_rows(q, *where)
        slip = G @ (v / self.numbers.column_scale) + drift
        if not np.abs(slip).max(initial=0.0) <= CONSISTENT * (1 + np.abs(v).max(initial=0.0)):
            k = int(np.abs(slip).argmax())
            row = self.numbers.rows[k]
            raise StateError(
                f'the velocities do not satisfy "{row.closure}": its {row.direction} is {abs(slip[k]):.3g} /s off; '
                f"make them consistent with v = system.consistent_velocities(q, v), or pass check=False"
            )

    def motions(self, q: Array, where: Conditions, *, moving: bool = False) -> Array:
        """Return a basis of the velocities that the closures allow, prescribed joints at rest unless `moving`."""
        _, s, Vt = np.linalg.svd(self.numbers.full_rows(q, *where)[0])
        rank = self.rank
        if rank and s[rank - 1] <= _SINGULAR_HERE * s[0]:
            raise DynamicsError(
                "the mechanism is singular at this configuration: more motions are possible at first order than it has "
                "freedoms; move off it"
            )
        free = np.array(self.equations.prescribed_mask, dtype=bool)
        N = Vt[rank:].T
        if free.any():  # motions that leave prescribed joints at rest
            _, s, Vt = np.linalg.svd(N[free])
            N = N @ Vt[int((s > _SINGULAR_HERE).sum()) :].T if not moving else N
        return np.asarray(N * self.numbers.column_scale[:, None])

    def self_stresses(self, q: Array, where: Conditions) -> Array:
        """Return all joint reactions (n_joints, 6, k) that balance by themselves at a configuration.

        By singular values: at a singular configuration there are more of them than elsewhere.
        """
        cut = [self._is_cut(i) for i in range(self.plan.nv)]
        C = self.numbers.tree_rows(q, *where)[:, ~np.array(cut, dtype=bool)]
        size = np.sqrt(np.einsum("ij,ij->i", C, C))
        size = np.where(size > 1e-9 * size.max(initial=0.0), size, 1.0)
        U, s, _ = np.linalg.svd(C / size[:, None])
        rank = int((s > _SINGULAR_HERE * s.max(initial=0.0)).sum())
        Y = U[:, rank:] / size[:, None]
        S = self.numbers.static_reactions(q, *where)
        return np.asarray((S @ Y).reshape(len(self.description.joints), 6, -1))

    def check_accelerations(self, q: Array, v: Array, a: Array, where: Conditions) -> None:
        """Refuse accelerations that the closures do not allow."""
        left = self.numbers.second(q, v, a, *where)
        worst = np.abs(left).max(initial=0.0)
        if worst > CONSISTENT * (1 + np.abs(a).max(initial=0.0) + v @ v):
            row = self.numbers.rows[int(np.abs(left).argmax())]
            raise StateError(
                f'the accelerations do not satisfy "{row.closure}": its {row.direction} is {worst:.3g} /s^2 off; make '
                f"them consistent with a = system.consistent_accelerations(q, v, a), or pass check=False"
            )

    def consistent_accelerations(self, q: Array, v: Array, a: Array, given: Any, held: Any, where: Conditions) -> Array:
        """Return the accelerations nearest to `a` that the closures allow."""
        bias = self.numbers.second(q, v, np.zeros(self.plan.nv), *where)
        for fixed in (held | given, held):
            try:
                return self.assembler.projected(q, a, fixed, where, bias, "accelerations")
            except AssemblyError:
                if (fixed == held).all():
                    raise
        raise AssertionError

    def _open(self, r: Array) -> str:
        k = int(np.abs(r).argmax())
        row = self.numbers.rows[k]
        size = abs(float(r[k] * self.numbers.row_scale[k]))
        loop = self.assembler.loop_in_words(row.closure)
        return f"the state leaves {loop} open: its {row.direction} is {size:.3g}{row.unit} off"

    def accelerations(self, state: Mapping[str, Array | None]) -> Array:
        """Return the accelerations at a state by singular values, at a singular one by their limit."""
        return self._rescuer.answer(Request("forward_dynamics", self.formulation), state)

    def rescue(self, request: Request, state: Mapping[str, Array | None]) -> Array:
        """Answer for a state that a kernel could not: refuse it if it is inconsistent, else solve it with pivoting."""
        return self._rescuer.answer(request, state)

    @functools.cached_property
    def _rescuer(self) -> Rescuer:
        return Rescuer(self)

    # ------------------------------------------------------------------ moving on the manifold, in Python

    def _moved(self, function: str) -> Callable[[Array, Array], Array]:
        @functools.cache
        def traced() -> ca.Function:
            return self.equations.trace(Request(function, "kinematics"))

        def evaluate(a: Array, b: Array) -> Array:
            extra = (self.parameters,) if self.description.parameters else ()
            return np.asarray(traced()(a, b, *extra).full().ravel())

        return evaluate

    def _random(self, rng: np.random.Generator) -> Array:
        """Return a random configuration, displacements within the characteristic length."""
        q = self.states.random(rng)
        for use, (where, _) in zip(self.description.coordinate_owners, self.plan.coordinate_slices, strict=True):
            for i, label in enumerate(use.joint.position_labels):
                if "angle" not in label and "quaternion" not in label:
                    q[where.start + i] *= self.length
        return q


def characteristic_length(description: Description) -> float:
    """Return the mean size of the bodies: the largest distance between what is joined to a body, and its centre.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> hinge = m.revolute("hinge", m.ground, m.body("ball", mass=1.0, com=(0.5, 0, 0)))
    >>> characteristic_length(m.describe())
    0.5
    """
    numbers = description.folded() if description.parameters else description
    points: dict[str, list[Any]] = {body.name: [] for body in numbers.bodies}
    for body in numbers.bodies:
        if body.properties.mass:
            points[body.name].append(body.properties.com)
    for use in numbers.joints:
        for name, placement in ((use.parent, use.on_parent), (use.child, use.on_child)):
            if name in points:
                points[name].append(placement.point)
    for closure in numbers.closures:
        for name, placement in closure.sides:
            if name in points:
                points[name].append(placement.point)
    sizes = [_extent(np.array(of_body, dtype=np.float64)) for of_body in points.values() if of_body]
    sizes = [size for size in sizes if size > 0]
    return float(np.mean(sizes)) if sizes else 1.0


def _extent(points: Array) -> float:
    """Return the largest distance between any two points."""
    apart = points[:, None, :] - points[None, :, :]
    return float(np.sqrt((apart**2).sum(axis=-1)).max())
