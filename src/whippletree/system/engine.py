"""The engine room of a system: requests become kernels, and kernels become calls that check their arguments."""

from __future__ import annotations

import contextlib
import copy
import functools
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from whippletree.elements.bodies.rigid import can_be
from whippletree.errors import DynamicsError, ModelError, StateError
from whippletree.kernels.cache import DiskCache, open_cache
from whippletree.kernels.kernel import Array, Kernel, NotFiniteError, Program
from whippletree.kernels.loop_lowering import RolledLoops
from whippletree.kernels.tape import read_tape
from whippletree.kernels.unrolled import StraightLine
from whippletree.model.description import GROUND, Description
from whippletree.model.names import suggestion
from whippletree.spatial.scalars import expressions
from whippletree.system.calls import Argument, Call, as_array
from whippletree.system.choosing import Weighed
from whippletree.system.equations import FUNCTIONS, Equations, Request, formulation_name
from whippletree.system.large_composite import Pieces, branch_solver
from whippletree.system.loop_equations import LoopPlan
from whippletree.system.loops import Loops
from whippletree.system.source import source_key
from whippletree.system.states import StateSpace
from whippletree.topology import Plan

__all__ = ["Engine"]

SMALLEST_PIVOT = 1e-14
"""A hinge's inertia below this share of what hangs on it is none: what is left is rounding."""

SMALL_TREE = 12
"""Trees of up to this many freedoms weigh the composite formulation; its cost grows with the cube of their depth."""

WELL_CONDITIONED = 1e4
"""The condition number of a scaled mass matrix up to which it is factorised rather than swept over."""

_WEIGHED = frozenset({"forward_dynamics", "derivatives"})
_DYNAMIC = frozenset({"forward_dynamics", "driving_forces", "reactions", "closure_efforts"})
_RESCUED = _DYNAMIC | {"motion_basis", "self_stresses"}
_OPTIONAL = frozenset({"tau", "a", "t", "z"})
_WITHOUT_FREEDOMS = frozenset(
    {"pose", "center_of_mass", "energy", "reactions", "self_stresses", "state_rates", "powers"}
)

_DAMPED = frozenset(
    {"joint_multipliers", "velocity_transformation", "velocity_transformation/reference_point/multipliers"}
)
"""Formulations with multipliers in joint coordinates, to which Baumgarte's terms can be added."""

_JOINT_WISE = frozenset({"displace", "coordinate_rates", "integrate", "difference", "events", "event_values"})
"""Functions without a numeric plan of the loops in their code."""

_RECENT = 64
"""How many kernels of other plans are kept although nobody uses them."""

_FRAMED = frozenset({"pose", "velocity", "acceleration", "jacobian"})


class Engine:
    """Makes and keeps the kernels of a mechanism, and knows what their arguments are called."""

    def __init__(self, description: Description, plan: Plan) -> None:
        self.description, self.plan = description, plan
        self.states = StateSpace(description, plan)
        self.equations = Equations(description, plan)
        self._cache: DiskCache | None = open_cache()
        self._calls: dict[Request, Call] = {}
        self.ready: dict[str, Call] = {}
        self._kernels: dict[Request, Kernel] = {}
        self._shared: weakref.WeakValueDictionary[str, Kernel] = weakref.WeakValueDictionary()  # of all plans, by key
        self._recent: deque[Kernel] = deque(maxlen=_RECENT)
        self._traced: dict[Request, ca.Function] = {}  # traces that were made to be weighed
        self._checked = False

    def request(self, name: str, formulation: str, frame: Any, wrenches: Sequence[Any], **choice: Any) -> Request:
        """Return what is asked for, every name in it checked."""
        if not isinstance(name, str) or name not in FUNCTIONS:
            raise StateError(f"there is no function {suggestion(name, FUNCTIONS)}")
        if name in _FRAMED and isinstance(frame, str) and not frame:
            raise StateError(f"{name} is about a body or frame: name it with frame=")
        if isinstance(wrenches, str) or not isinstance(wrenches, Iterable):
            raise StateError("wrenches= must list the bodies or frames at which wrenches act")
        about = self.place_name(frame) if name in _FRAMED else ""
        places = tuple(self.place_name(w) for w in wrenches)
        if len(set(places)) < len(places):
            raise StateError("wrenches= names a body or frame twice")
        return self.resolved(Request(name, formulation_name(formulation, **choice), about, places))

    def resolved(self, request: Request) -> Request:
        """Return a request with its formulation decided."""
        return self.equations.resolved(request, self._auto)

    def _auto(self, function: str) -> str:
        """Return the formulation that `auto` means for a function."""
        if self.equations.closed:
            return self.loops.formulation
        return self.of_tree.name if function in _WEIGHED else "articulated"

    @functools.cached_property
    def of_tree(self) -> Weighed:
        """The formulation of a tree's forward dynamics, and why."""
        if self.equations.large or not 0 < self.plan.nv <= SMALL_TREE:
            return Weighed("articulated", {}, {}, (), {})
        key = f"tree|{source_key()}|{self.description.fingerprint()}"
        kept = self._cache.load(key) if self._cache else None
        if kept and "tree" in kept:
            return Weighed.unpacked(kept["tree"])
        weighed = self._weigh_tree()
        if self._cache:
            self._cache.store(key, {"tree": weighed.packed()})
        return weighed

    def _weigh_tree(self) -> Weighed:
        """Count the operations of both formulations, if the composite one may be used."""
        stretch = self._stretch()
        if not stretch < WELL_CONDITIONED:
            why = f"the mass matrix has a condition number of {stretch:.1g}"
            return Weighed("articulated", {}, {"composite": why}, (), {})
        requests = {name: Request("forward_dynamics", name) for name in ("articulated", "composite")}
        self._traced = {request: self.equations.trace(request) for request in requests.values()}
        counts = {name: read_tape(self._traced[request]).count().total for name, request in requests.items()}
        return Weighed(min(counts, key=lambda name: counts[name]), counts, {}, (), {})

    def _stretch(self) -> float:
        """Return the largest condition number of the scaled mass matrix over some random configurations."""
        function = self.equations.trace(Request("mass_matrix", "composite"))
        parameters = np.array(self.description.parameter_values, dtype=np.float64)
        free = ~np.array(self.equations.prescribed_mask, dtype=bool)
        worst = 1.0
        for seed in range(4):
            inputs = (self.states.random(seed), parameters)[: function.n_in()]
            M = np.array(function(*inputs)).reshape(self.plan.nv, -1)[np.ix_(free, free)]
            size = np.sqrt(np.diag(M))
            if not free.any() or not np.isfinite(M).all() or not (size > 0).all():
                return np.inf if free.any() else worst
            values = np.linalg.eigvalsh(M / np.outer(size, size))
            worst = max(worst, float(values[-1] / values[0]) if values[0] > 0 else np.inf)
        return worst

    @functools.cached_property
    def loops(self) -> Loops:
        """What there is to the loops of the mechanism."""
        return Loops(self.equations, self.states, self._cache, self.kernel)

    def dynamic(
        self,
        name: str,
        formulation: str,
        a: Any,
        wrenches: Mapping[Any, Any] | None,
        parameters: Any,
        *,
        t: float = 0.0,
        z: Any = None,
        check: bool = False,
        baumgarte: Any = None,
    ) -> tuple[Call, tuple[Any, ...]]:
        """Return the call, and the values of its inputs beyond the usual ones."""
        more: tuple[Any, ...] = ()
        frames: tuple[str, ...] = ()
        if self.equations.prescribed and name in _DYNAMIC:
            more = (self.given_accelerations(a),)
        elif a is not None:
            raise StateError("a= is for prescribed hinges, and there is none: declare one with prescribed=True")
        if wrenches is not None:
            if not isinstance(wrenches, Mapping):
                raise StateError("wrenches= must map bodies or frames to [moment; force]")
            named = {self.place_name(key): value for key, value in wrenches.items()}
            if len(named) < len(wrenches):
                raise StateError("wrenches= names a body or frame twice: add the wrenches up")
            frames = tuple(sorted(named))
            more += tuple(named[key] for key in frames)
        request = Request(name, formulation_name(formulation), "", frames, check, self.damping(baumgarte, formulation))
        if self.equations.stated(request):
            more += (z,)
        elif z is not None:
            raise StateError("z= is for auxiliary states, and there is none: declare one with mechanism.state(...)")
        if self.equations.timed(request):
            more += (as_array(t, self.argument("t", 1)),)
        values = self.parameters(parameters)
        if values is not None:
            more += (values,)
        return self.call(request), more

    def damping(self, baumgarte: Any, formulation: str) -> tuple[float, float]:
        """Return Baumgarte's two numbers, checked."""
        if baumgarte is None:
            return (0.0, 0.0)
        if formulation not in _DAMPED:
            raise StateError('baumgarte= belongs to formulation="joint_multipliers"')
        try:
            alpha, beta = (float(x) for x in baumgarte)
        except (TypeError, ValueError):
            raise StateError("baumgarte= must be two numbers, alpha and beta, in 1/s") from None
        if not (np.isfinite([alpha, beta]).all() and alpha >= 0 and beta >= 0):
            raise StateError("baumgarte= must be two finite numbers that are not negative")
        return alpha, beta

    def parameters(self, values: Any) -> Any:
        """Return the parameters' values as an array, or None for those described."""
        if values is None:
            return None
        known = {p.name: i for i, p in enumerate(self.description.parameters)}
        if isinstance(values, Mapping) and not values:
            return None
        if not known:
            raise StateError("this system has no parameters kept as inputs")
        if isinstance(values, Mapping):
            values = self._parameter_rows(values, known)
        self._check_bodies(values)
        return values

    def _parameter_rows(self, values: Mapping[str, Any], known: Mapping[str, int]) -> Array:
        """Return parameters given by name as an array; the others have their described values."""
        for name in values:
            if name not in known:
                raise StateError(f"there is no parameter {suggestion(name, known)}")
        columns = [np.asarray(values.get(p.name, p.value)) for p in self.description.parameters]
        try:
            return np.stack(np.broadcast_arrays(*columns), axis=-1)
        except ValueError:
            raise StateError("the parameters' batches do not fit together") from None

    def _check_bodies(self, values: Any) -> None:
        """Refuse parameters that make a mass negative, or an inertia one that no body can have."""
        rows = as_array(values, self.argument("parameters", len(self.description.parameters)))
        heavy, inert, function = self._open_bodies
        if not (heavy or inert) or not rows.size:
            return
        masses, inertias = (x.full() for x in function(rows.reshape(-1, rows.shape[-1]).T))
        for body, state in np.argwhere(masses < 0):
            raise StateError(
                f'these parameters give body "{heavy[body]}" the mass {masses[body, state]:g}: it must not be negative'
            )
        inertias = np.moveaxis(inertias.reshape(len(inert), 3, 3, masses.shape[1]), 3, 1)
        finite = np.isfinite(inertias).all(axis=(-2, -1))  # which parameter is not is told where it is used
        for body, state in np.argwhere(finite & ~can_be(inertias)):
            raise StateError(
                f'these parameters give body "{inert[body]}" the inertia {inertias[body, state].tolist()}, which no '
                "body has: its principal moments must not be negative, and none may exceed the sum of the others"
            )

    @functools.cached_property
    def _open_bodies(self) -> tuple[list[str], list[str], ca.Function]:
        """Bodies whose masses and whose inertias depend on parameters, and the function from parameters to those."""
        bodies = [(b.name, b.properties) for b in self.description.bodies]
        heavy = {name: p.mass for name, p in bodies if isinstance(p.mass, ca.SX)}
        entries = {name: [x for row in p.inertia for x in row] for name, p in bodies}
        inert = {name: ca.vertcat(*nine) for name, nine in entries.items() if expressions(nine)}
        symbols = ca.vertcat(*(p.symbol for p in self.description.parameters))
        results = [ca.vertcat(ca.SX(0, 1), *heavy.values()), ca.vertcat(ca.SX(0, 1), *inert.values())]
        return list(heavy), list(inert), ca.Function("bodies", [symbols], results)

    def place_name(self, place: Any) -> str:
        """Return the name of a body, frame or handle, checked."""
        name = getattr(place, "name", place)
        places = self._places
        if not isinstance(name, str) or (name != GROUND and name not in places):
            raise ModelError(f"there is no body or frame {suggestion(name, places)}")
        return str.__str__(name)

    @functools.cached_property
    def _places(self) -> dict[str, None]:
        names = [b.name for b in self.description.bodies] + [f.name for f in self.description.frames]
        return dict.fromkeys(names)

    def at_hand(self, name: str) -> Call:
        """Return the call without options, or "unchecked"; this is on the path of every microsecond."""
        call = self.ready.get(name)
        if call is None:
            function = name.removesuffix(", unchecked")
            checked = self.equations.closed and name in _DYNAMIC
            call = self.ready[name] = self.call(Request(function, check=checked))
        return call

    def call(self, request: Request) -> Call:
        """Return the call of a request, made when first asked for."""
        call = self._calls.get(request)
        if call is None:
            resolved = self.resolved(request)
            kernel = self._pieces(resolved) if self._in_pieces(resolved) else self.kernel(resolved)
            arguments = [self.argument(name, size) for name, size in kernel.signature.inputs]
            blame = functools.partial(self.blame, request.function)
            rescued = self.equations.closed and request.function in _RESCUED
            rescue = functools.partial(self.loops.rescue, resolved) if rescued else None
            call = Call(kernel, arguments, kernel.signature.shape, blame, rescue)
            self._calls[request] = call
        return call

    def kernel(self, request: Request) -> Kernel:
        """Return the kernel of a request, made when first asked for."""
        kernel = self._kernels.get(request)
        if kernel is None:
            if self.plan.nv == 0 and request.function not in _WITHOUT_FREEDOMS:
                raise StateError(f"{request.function} has no meaning for a system without freedoms")
            key = f"{source_key()}|{self.description.fingerprint()}|{request}"
            if self.equations.closed and request.function not in _JOINT_WISE:
                key += self.equations.loop_plan.key(request.formulation)
            kernel = self._kernels[request] = self._shared.get(key) or self._new_kernel(key, request)
        return kernel

    def _new_kernel(self, key: str, request: Request) -> Kernel:
        """Return a kernel that neither this plan of the loops nor another one has asked for."""
        defaults = {"tau": np.zeros(self.plan.nv), "a": np.zeros(self.plan.nv), "t": np.zeros(1)}
        defaults["z"] = np.array(self.description.state_values, dtype=np.float64)
        defaults["parameters"] = np.array(self.description.parameter_values, dtype=np.float64)
        signature = self.equations.signature(request)
        kernel = Kernel(key, signature, lambda: self._program(request), self._cache, defaults)
        self._shared[key] = kernel
        self._recent.append(kernel)
        return kernel

    def _in_pieces(self, request: Request) -> bool:
        """Tell whether the composite formulation is too large to be traced whole."""
        asked = request.formulation == "composite" and request.function in _DYNAMIC
        return asked and self.equations.large and not self.equations.rolls(request)

    def _pieces(self, request: Request) -> Pieces:
        """Return what answers instead of one kernel."""
        self.check_hinges()
        signature, mask = self.equations.signature(request), self.equations.prescribed_mask
        whole = self.equations.rolls(replace(request, function="forward_dynamics"))
        return Pieces(request, signature, mask, self.kernel, None if whole else self._branch_solver, whole)

    @functools.cached_property
    def _branch_solver(self) -> Kernel | None:
        """The kernel that solves with the mass matrix of a large tree."""
        return branch_solver(self.equations.node_tree().node_constants, self.plan.nv, self._cache)

    def planned(self, plan: LoopPlan) -> Engine:
        """Return an engine with another numeric plan of the loops; kernels that were made for that one are shared."""
        twin = copy.copy(self)
        twin.equations = self.equations.planned(plan)
        twin._calls, twin.ready, twin._kernels, twin._traced = {}, {}, {}, {}
        twin.loops = self.loops.planned(twin.equations, twin.kernel)
        return twin

    def kernel_of(self, function: str, formulation: str = "auto") -> Kernel:
        """Return the kernel of a function without further inputs."""
        return self.kernel(self.resolved(Request(function, formulation_name(formulation))))

    def _program(self, request: Request) -> Program:
        """Trace a request; dynamics are checked for hinges that move nothing."""
        if request.function in _DYNAMIC and not self.equations.closed:
            self.check_hinges()
        if self.equations.rolls(request):
            return RolledLoops(self.equations.roll(request))
        traced = self._traced.pop(request) if request in self._traced else self.equations.trace(request)
        return StraightLine(traced)

    def check_hinges(self) -> None:
        """Refuse a joint whose articulated inertia is singular wherever the mechanism is.

        With parameters that depends on their values, so that a result has to be looked at (see `blame`).
        """
        if self._checked or self.description.parameters:
            return
        worst = np.full(len(self.equations.node_tree().node_constants), np.inf)
        for seed in (0, 1):
            worst = np.fmin(worst, self._hinge_pivots(self.states.random(seed), np.zeros(0)))
        name = self._idle_joint(worst)
        if name is not None:
            raise DynamicsError(
                f'joint "{name}" moves nothing that has inertia in its direction, so its acceleration is not '
                f"determined; give mass or inertia to the bodies that hang on it, or prescribe the joint"
            )
        self._checked = True

    def _idle_joint(self, pivots: Array) -> str | None:
        """Return a joint whose inertia is none, if there is one.

        Where a pivot is not positive, what is computed nearer to the ground is spoiled: the outermost such joint is at
        fault.
        """
        node_tree = self.equations.node_tree()
        tiny = [
            (constants.use.name, pivots[k])
            for constants, k in zip(node_tree.node_constants, node_tree.positions, strict=True)
        ]
        tiny = [(name, pivot) for name, pivot in tiny if pivot < SMALLEST_PIVOT]
        positive = [name for name, pivot in tiny if pivot > 0]
        return positive[0] if positive else tiny[-1][0] if tiny else None

    def _hinge_pivots(self, q: Array, parameters: Array) -> Array:
        """Return every hinge's smallest relative pivot; minus infinity where it cannot be computed."""
        pivots = self._pivot_function(q, parameters)
        return np.where(np.isfinite(pivots), pivots, -np.inf)

    @functools.cached_property
    def _pivot_function(self) -> Callable[[Array, Array], Array]:
        request = self.resolved(Request("hinge_inertias"))
        signature = self.equations.signature(request)
        count = len(signature.inputs)
        if not self.equations.rolls(request):
            function = self.equations.trace(request)
            return lambda q, parameters: np.array(function(*(q, parameters)[:count])).ravel()
        program = RolledLoops(self.equations.roll(request))
        kernel = Kernel("", signature, lambda: program, None)

        def evaluate(q: Array, parameters: Array) -> Array:
            result = np.empty(signature.output_sizes[0])
            with contextlib.suppress(NotFiniteError):
                kernel.one([np.ascontiguousarray(x) for x in (q, parameters)[:count]], [result])
            return result

        return evaluate

    def blame(self, function: str, state: Mapping[str, Array | None]) -> str:
        """Say why a result is not finite at a state."""
        if function == "center_of_mass":
            return "the bodies have no mass together, or the numbers are too large to compute with"
        if function in _DYNAMIC:
            given = state.get("parameters")
            values = np.array(self.description.parameter_values) if given is None else given
            name = self._idle_joint(self._hinge_pivots(np.asarray(state["q"]), values))
            if name is not None:
                here = "with these parameters" if self.description.parameters else "in this configuration"
                return (
                    f'joint "{name}" moves nothing that has inertia in its direction {here}; give mass or inertia to '
                    f"the bodies that hang on it, prescribe the joint, or keep away from there"
                )
        faulty = self.equations.faulty_element(state)
        if faulty is not None:
            return f"{faulty} is not finite there; check what is written for it, and the state"
        return "the numbers are too large or too small to compute with; check the state, masses and lengths"

    def argument(self, name: str, size: int) -> Argument:
        """Describe an input for checks and messages."""
        if name in ("q", "q0", "q1"):
            return Argument(name, size, self.states.position_label, self.states.quaternions)
        if name == "z":
            states = [state.name for state in self.description.states]
            return Argument(name, size, lambda i: f'state "{states[i]}"', optional=True)
        if name == "t":
            return Argument(name, size, lambda i: "the time", optional=True)
        if name == "parameters":
            names = [p.name for p in self.description.parameters]
            return Argument(name, size, lambda i: f'parameter "{names[i]}"', optional=True)
        if name.startswith("wrench on "):
            parts = ("moment x", "moment y", "moment z", "force x", "force y", "force z")
            return Argument(name, size, lambda i: parts[i])
        word = {"tau": "the effort for the ", "a": "the rate of the "}.get(name, "")
        return Argument(name, size, lambda i: word + self.states.velocity_label(i), optional=name in _OPTIONAL)

    def given_accelerations(self, a: Any) -> Any:
        """Return accelerations given by joint, or as they are."""
        return self.states.velocities(a) if isinstance(a, Mapping) else a
