"""The engine room of a system: requests become kernels, and kernels become calls that check their arguments."""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from whippletree.errors import DynamicsError, StateError
from whippletree.formulations.methods.articulated import ARTICULATED
from whippletree.formulations.methods.registry import formulation_name, weighed_on_trees
from whippletree.foundation.old_names import warn_of_old
from whippletree.foundation.once import made_once
from whippletree.kernels.cache import DiskCache, open_cache
from whippletree.kernels.compile_notice import tracing_seconds
from whippletree.kernels.evaluated import Evaluated
from whippletree.kernels.kernel import Array, Kernel, NotFiniteError, Program
from whippletree.kernels.lowering import program_of
from whippletree.kernels.repeat import Repeated, least_seconds
from whippletree.kernels.tape import read_tape
from whippletree.model.argument_types import JointLike, PlaceLike
from whippletree.model.description import Description
from whippletree.model.names import suggestion
from whippletree.system.call_options import Branches
from whippletree.system.calls import Call
from whippletree.system.equations import Equations, Request
from whippletree.system.formulation_choice import FormulationChoice, close_ones, fastest
from whippletree.system.functions import FUNCTIONS
from whippletree.system.guards import worse_than_promised
from whippletree.system.input_reader import InputReader
from whippletree.system.loop_plan import LoopPlan
from whippletree.system.loop_services import LoopServices
from whippletree.system.size_policy import least_operations, thresholds
from whippletree.system.source import outside_source, source_key
from whippletree.system.state_space import StateSpace
from whippletree.system.tolerances import DATA_ACCURACY, NEXT_TO_LOCK, WELL_CONDITIONED
from whippletree.topology import Plan

if TYPE_CHECKING:
    from whippletree.system.large_composite import Pieces
    from whippletree.system.large_derivatives import DerivativesByColumn
    from whippletree.system.mobility import Mobility

__all__ = ["Engine"]

SMALL_TREE = 12
"""Trees of up to this many freedoms weigh the composite formulation; its cost grows with the cube of their depth."""

_RECENT = 64
"""How many kernels of other plans are kept although they are not in use."""


class KernelStore:
    """The kernels of a mechanism under all numeric plans, by their keys, and the disk cache that they are kept in."""

    def __init__(self) -> None:
        self.cache: DiskCache | None = open_cache()
        self.by_key: weakref.WeakValueDictionary[str, Kernel] = weakref.WeakValueDictionary()
        self.recent: deque[Kernel] = deque(maxlen=_RECENT)


class Engine:
    """Makes and keeps the kernels of a mechanism, and knows the names of their arguments.

    Its equations have a numeric plan of the loops, or none as long as that has not been made. `equations`, `store` and
    `loops` come from the engine of another plan, if there is one. `accuracy` tells how good the data are that loops are
    made of.
    """

    def __init__(
        self,
        description: Description,
        plan: Plan,
        equations: Equations | None = None,
        store: KernelStore | None = None,
        loops: LoopServices | None = None,
        loop_plan: LoopPlan | None = None,
        accuracy: float = DATA_ACCURACY,
    ) -> None:
        self.description, self.plan = description, plan
        self.states = StateSpace(description, plan)
        self.inputs = InputReader(description, self.states)
        self.equations = equations or Equations(description, plan)
        if loop_plan is not None:
            self.equations = self.equations.planned(loop_plan, self._group_methods)
        self.lock = self.equations.lock
        self._store = store or KernelStore()
        self._cache = self._store.cache
        self._calls: dict[tuple[Request, bool], Call] = {}
        self._kernels: dict[Request, Kernel] = {}
        self._traced: dict[Request, ca.Function] = {}  # traces that were made to be weighed
        self._checked = False
        self.loops = LoopServices(self.equations, self.states, self._cache, self.kernel, loops, None, accuracy)

    def request(
        self,
        name: str,
        *,
        formulation: Branches = "auto",
        frame: PlaceLike = "",
        wrenches: Sequence[PlaceLike] = (),
        joints: Sequence[JointLike] = (),
        **choice: object,
    ) -> Request:
        """Return the request of a call, every name in it checked."""
        if isinstance(name, str) and name == "G":
            warn_of_old('function "G"', '"gain"')
            name = "gain"
        if not isinstance(name, str) or name not in FUNCTIONS:
            raise StateError(f"there is no function {suggestion(name, FUNCTIONS)}")
        framed = FUNCTIONS[name].framed
        if framed and isinstance(frame, str) and not frame:
            raise StateError(f"{name} is about a body or frame: name it with frame=")
        scalar = getattr(wrenches, "shape", None) == ()  # an array that cannot be walked through
        if scalar or isinstance(wrenches, str | ca.DM | ca.SX | ca.MX) or not isinstance(wrenches, Iterable):
            raise StateError("wrenches= must list the bodies or frames at which wrenches act")
        about = self.inputs.place_name(frame) if framed else ""
        places = tuple(self.inputs.place_name(w) for w in wrenches)
        if len(set(places)) < len(places):
            raise StateError("wrenches= names a body or frame twice")
        some = self.inputs.joints(joints)
        if some and not FUNCTIONS[name].by_joint:
            owners = " and ".join(key for key, one in FUNCTIONS.items() if one.by_joint)
            raise StateError(f"joints= belongs to {owners}: {name} is not about single joints")
        chosen = {word: value for word, value in choice.items() if value is not None}
        return self.resolved(Request(name, formulation_name(formulation, **chosen), about, places, joints=some))

    def resolved(self, request: Request) -> Request:
        """Return a request with its formulation decided."""
        return self.equations.resolved(request, self._auto)

    def _auto(self, function: str) -> str:
        """Return the formulation that `auto` means for a function."""
        if self.equations.closed:
            return self.loops.auto.chosen.name
        return self.of_tree.name if FUNCTIONS[function].weighed else ARTICULATED.text

    @made_once
    def of_tree(self) -> FormulationChoice:
        """The formulation of a tree's forward dynamics, and why."""
        if self.equations.large or not 0 < self.plan.nv <= SMALL_TREE:
            return FormulationChoice(ARTICULATED.text, {}, {}, (), {})
        key = f"tree|{[one.text for one in weighed_on_trees()]}|{source_key()}|{self.description.fingerprint()}"
        kept = self._cache.load(key) if self._cache else None
        if kept and "tree" in kept:
            return FormulationChoice.unpacked(kept["tree"])
        weighed = self._weigh_tree()
        if self._cache:
            self._cache.store(key, {"tree": weighed.packed()})
        return weighed

    def _weigh_tree(self) -> FormulationChoice:
        """Count the operations of the candidates; a mass matrix is factorised only if it is well conditioned."""
        candidates, left_out = weighed_on_trees(), {}
        stretch = self._stretch()
        if not stretch < WELL_CONDITIONED:
            why = f"the mass matrix has a condition number of {stretch:.1g}"
            left_out = {one.text: why for one in candidates if not one.linear}
        some = [one.text for one in candidates if one.text not in left_out]
        if len(some) < 2:
            return FormulationChoice(some[0], {}, left_out, (), {})
        requests = {text: Request("forward_dynamics", text) for text in some}
        self._traced = {request: self.equations.trace(request) for request in requests.values()}
        counts = {text: read_tape(self._traced[request]).count().total for text, request in requests.items()}
        # not empty: there are two or more
        return FormulationChoice(min(counts, key=lambda text: counts[text]), counts, left_out, (), {})

    def tune(self) -> FormulationChoice:
        """Time the candidates that are close to the cheapest, and let `auto` mean the fastest of them."""
        if self.equations.closed:
            chosen = self.loops.auto.tune()
        else:
            times = self._tree_times(close_ones(self.of_tree.counts)) if self.of_tree.counts else {}
            name = fastest(self.of_tree.counts, times) if times else self.of_tree.name
            chosen = self.of_tree = self.of_tree._replace(name=name, times=times)
        self._calls.clear()
        return chosen

    def _tree_times(self, formulations: Sequence[str]) -> dict[str, float]:
        """Return the seconds of one evaluation of the forward dynamics in machine code."""
        parameters = np.array(self.description.parameter_values, dtype=np.float64)
        state = {"q": self.states.random(0), "parameters": parameters}
        kernels = {text: self.kernel(Request("forward_dynamics", text)) for text in formulations}
        return least_seconds({text: Repeated(kernel, state) for text, kernel in kernels.items()})

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

    def call(self, request: Request, *, once: bool = False) -> Call:
        """Return the call of a request, made when first asked for; what is asked for `once` is not compiled."""
        key = request, once
        call = self._calls.get(key)
        if call is None:
            with self.lock:
                call = self._calls[key] = self._calls.get(key) or self._new_call(*key)
        return call

    def _new_call(self, request: Request, once: bool) -> Call:
        resolved = self.resolved(request)
        large = self._by_column(resolved, once) or self._pieces(resolved) if self.equations.large else None
        kernel = large or (self._evaluated(resolved) if once else self.kernel(resolved))
        diagnose = functools.partial(self.diagnose, resolved)
        has_fallback = self.equations.closed and FUNCTIONS[request.function].has_fallback

        def solved(state: Mapping[str, Array | None]) -> Array:
            return self.loops.fallback.answer(resolved, state)

        return Call(kernel, self.inputs.argument, diagnose, solved if has_fallback else None)

    def kernel(self, request: Request) -> Kernel:
        """Return the kernel of a request, made when first asked for."""
        kernel = self._kernels.get(request)
        if kernel is None:
            function = FUNCTIONS[request.function]
            if self.plan.nv == 0 and not function.without_freedoms:
                raise StateError(f"{request.function} has no meaning for a system without freedoms")
            key = self._key(request)
            with self.lock:
                kernel = self._kernels[request] = self._store.by_key.get(key) or self._new_kernel(key, request)
        return kernel

    def _on_disk(self, request: Request, key: str) -> str:
        """Return a text that names everything that the code of a request depends on, for all mechanisms."""
        made_of = f"{source_key()}|{thresholds()}|{self.description.fingerprint()}|{outside_source(request.method)}"
        return f"{made_of}|{key}"

    def _key(self, request: Request) -> str:
        """Return a text that names what the code of a request depends on, for this mechanism."""
        key = f"{request}"
        if self.equations.closed and FUNCTIONS[request.function].planned:
            key += self.equations.code_key(request.method)
        return key

    def _new_kernel(self, key: str, request: Request) -> Kernel:
        """Return a kernel that neither this plan of the loops nor another one has asked for."""
        redundant = FUNCTIONS[request.function].prelude and self.equations.closed and self.equations.size("n_redundant")
        kernel = Kernel(
            self._on_disk(request, key) if self._cache else key,
            self.equations.signature(request),
            lambda: self._program(request),
            self._cache,
            self._defaults,
            what=f'{request.function} of "{self.description.name}"',
            seconds=lambda: self._compiling_seconds(request),
            effort=0 if redundant else 1,  # NumPy goes on with the result, and takes far longer than any kernel
        )
        self._store.by_key[key] = kernel
        self._store.recent.append(kernel)
        return kernel

    @made_once
    def _defaults(self) -> dict[str, Array]:
        """The values of inputs that a caller leaves out."""
        return {
            "tau": np.zeros(self.plan.nv),
            "a": np.zeros(self.plan.nv),
            "t": np.zeros(1),
            "z": np.array(self.description.state_values, dtype=np.float64),
            "parameters": np.array(self.description.parameter_values, dtype=np.float64),
        }

    def _evaluated(self, request: Request, *, changes: bool = False) -> Kernel | Evaluated:
        """Return a function, or its changes, without machine code, unless it is a loop, which is compiled at once."""
        from whippletree.programs.tangents import tangent_function
        from whippletree.system.large_derivatives import tangent_signature

        eq = self.equations
        if eq.rolls(request) or (changes and eq.reduces_by_items(request)):
            return self._tangent_kernel(request) if changes else self.kernel(request)
        key = self._on_disk(request, f"{'tangent|' * changes}{self._key(request)}")
        signature = eq.signature(request)
        if not changes:
            return Evaluated(key, signature, lambda: self._trace(request), self._cache, self._defaults)
        whole, varying = tangent_signature(signature)
        return Evaluated(
            key, whole, lambda: tangent_function(self._trace(request), varying), self._cache, self._defaults
        )

    def _by_column(self, request: Request, once: bool) -> DerivativesByColumn | None:
        """Return the calls that answer for derivatives of a large mechanism."""
        from whippletree.system.large_derivatives import DerivativesByColumn, differentiated

        if not differentiated(self.equations, request):
            return None
        if not self.equations.closed:
            self.check_hinges()
        dynamics = self.resolved(Request("forward_dynamics"))
        value, change = (
            (self._evaluated, functools.partial(self._evaluated, changes=True))
            if once
            else (self.kernel, self._tangent_kernel)
        )
        return DerivativesByColumn(
            self.equations,
            request,
            lambda part: value(self.resolved(part)),
            lambda part: change(self.resolved(part)),
            by_responses=self.equations.closed and self.equations.reduces_by_items(dynamics),
        )

    def _tangent_kernel(self, request: Request) -> Kernel:
        """Return the kernel of a function's changes along changes of its inputs, made when first asked for."""
        from whippletree.kernels.loop_lowering import RolledLoops
        from whippletree.programs.tangents import tangent_function, tangent_program
        from whippletree.system.large_derivatives import tangent_signature

        key = f"tangent|{self._key(request)}"
        with self.lock:
            kernel = self._store.by_key.get(key)
            if kernel is None:
                eq, name = self.equations, self.description.name
                signature, varying = tangent_signature(eq.signature(request))

                def program() -> Program:
                    if eq.rolls(request) or eq.reduces_by_items(request):
                        n_inputs = len(eq.signature(request).inputs)
                        return RolledLoops(tangent_program(eq.roll(request), n_inputs, varying))
                    return program_of(tangent_function(eq.trace(request), varying))

                what = f'derivatives of {request.function} of "{name}"'
                on_disk = self._on_disk(request, key) if self._cache else key
                kernel = Kernel(on_disk, signature, program, self._cache, self._defaults, what=what)
                self._store.by_key[key] = kernel
                self._store.recent.append(kernel)
        return kernel

    def _compiling_seconds(self, request: Request) -> float | None:
        """Return about how long a straight line takes; loops over the nodes, and what is traced already, are quick."""
        if request in self._traced or self.equations.rolls(request):
            return None
        return tracing_seconds(least_operations(self.equations, request))

    def _pieces(self, request: Request) -> Pieces | None:
        """Return what answers instead of one kernel, if the composite formulation is too large to be traced whole."""
        tree = request.method.tree
        asked = tree is not None and tree.in_pieces and FUNCTIONS[request.function].solved
        if not asked or self.equations.rolls(request):
            return None
        from whippletree.system.large_composite import Pieces

        self.check_hinges()
        signature, mask = self.equations.signature(request), self.equations.prescribed_mask
        whole = self.equations.rolls(replace(request, function="forward_dynamics"))
        return Pieces(request, signature, mask, self.kernel, None if whole else self._branch_solver, whole)

    @made_once
    def _branch_solver(self) -> Kernel | None:
        """The kernel that solves with the mass matrix of a large tree."""
        from whippletree.system.large_composite import branch_solver

        return branch_solver(self.equations.node_tree().node_constants, self.plan.nv, self._cache)

    def adopt(self, plan: LoopPlan, mobility: Mobility) -> None:
        """Go on with the first numeric plan of the loops; other plans belong to engines of their own (`planned`)."""
        self.equations = self.equations.planned(plan, self._group_methods)
        self.loops = LoopServices(self.equations, self.states, self._cache, self.kernel, self.loops, mobility)

    def _group_methods(self) -> Sequence[str]:
        """Return how each group of loops is solved by "by_group"."""
        return self.loops.auto.group_methods

    def planned(self, plan: LoopPlan) -> Engine:
        """Return an engine with another numeric plan of the loops; kernels that were made for that one are shared."""
        return Engine(self.description, self.plan, self.equations, self._store, self.loops, plan)

    def kernel_of(
        self, function: str, formulation: str = "auto", baumgarte: tuple[float, float] = (0.0, 0.0)
    ) -> Kernel:
        """Return the kernel of a function without further inputs."""
        return self.kernel(self.resolved(Request(function, formulation_name(formulation), baumgarte=baumgarte)))

    def _program(self, request: Request) -> Program:
        """Trace a request, in loops or as a straight line."""
        if not self.equations.rolls(request):
            return program_of(self._trace(request))
        from whippletree.kernels.loop_lowering import RolledLoops

        self._check_dynamics(request)
        return RolledLoops(self.equations.roll(request))

    def _trace(self, request: Request) -> ca.Function:
        """Trace a request as a straight line."""
        self._check_dynamics(request)
        return self._traced.pop(request) if request in self._traced else self.equations.trace(request)

    def _check_dynamics(self, request: Request) -> None:
        """Refuse dynamics of a tree with hinges that move nothing."""
        if FUNCTIONS[request.function].dynamic and not self.equations.closed:
            self.check_hinges()

    def check_hinges(self) -> None:
        """Refuse a joint whose articulated inertia is singular wherever the mechanism is.

        With parameters that depends on their values, so that a result has to be looked at (see `diagnose`).
        """
        watched = any(constants.watched for constants in self.equations.node_tree().node_constants)
        if self._checked or self.description.parameters or not watched:
            return
        worst = np.full(sum(position is not None for position in self.equations.node_tree().positions), np.inf)
        for seed in (0, 1):
            worst = np.fmin(worst, self._hinge_pivots(self.states.random(seed), np.zeros(0)))
        name = self._massless_joint(worst)
        if name is not None:
            raise DynamicsError(
                f'joint "{name}" moves nothing that has inertia in its direction, so its acceleration is not '
                f"determined; give mass or inertia to the bodies that hang on it, or prescribe the joint"
            )
        self._checked = True

    def _massless_joint(self, pivots: Array) -> str | None:
        """Return a joint whose inertia is none, if there is one.

        What is computed nearer to the ground is spoiled by it: the outermost such joint is at fault.
        """
        node_tree = self.equations.node_tree()
        tiny = [
            (constants.use.name, pivots[k])
            for constants, k in zip(node_tree.node_constants, node_tree.positions, strict=True)
            if k is not None
        ]
        tiny = [(name, pivot) for name, pivot in tiny if not pivot > 1.0]
        return tiny[-1][0] if tiny else None

    def _hinge_pivots(self, q: Array, parameters: Array) -> Array:
        """Return every hinge's smallest pivot over the least that is trusted; minus infinity where there is none."""
        pivots = self._pivot_function(q, parameters)
        return np.where(np.isfinite(pivots), pivots, -np.inf)

    @made_once
    def _pivot_function(self) -> Callable[[Array, Array], Array]:
        request = self.resolved(Request("hinge_inertias"))
        signature = self.equations.signature(request)
        count = len(signature.inputs)
        if not self.equations.rolls(request):
            function = self.equations.trace(request)
            return lambda q, parameters: np.array(function(*(q, parameters)[:count])).ravel()
        from whippletree.kernels.loop_lowering import RolledLoops

        program = RolledLoops(self.equations.roll(request))
        kernel = Kernel("", signature, lambda: program, None)

        def evaluate(q: Array, parameters: Array) -> Array:
            result = np.empty(signature.output_sizes[0])
            with contextlib.suppress(NotFiniteError):
                kernel.one([np.ascontiguousarray(x) for x in (q, parameters)[:count]], [result])
            return result

        return evaluate

    def diagnose(self, request: Request, state: Mapping[str, Array | None]) -> str:
        """Say why a result is not finite at a state."""
        function = request.function
        if function == "center_of_mass":
            return "the bodies have no mass together, or the numbers are too large to compute with"
        if FUNCTIONS[function].dynamic:
            locked = self.states.lock_in_words(np.asarray(state["q"]), NEXT_TO_LOCK)
            if locked:
                return locked
            given = state.get("parameters")
            values = np.array(self.description.parameter_values) if given is None else given
            name = self._massless_joint(self._hinge_pivots(np.asarray(state["q"]), values))
            if name is not None:
                here = "with these parameters" if self.description.parameters else "in this configuration"
                return (
                    f'joint "{name}" moves nothing that has inertia in its direction {here}; give mass or inertia to '
                    f"the bodies that hang on it, prescribe the joint, or keep away from there"
                )
        failure = self.equations.load_failure(state)
        if failure is not None:
            return failure
        faulty = self.equations.faulty_element(state)
        if faulty is not None:
            return f"{faulty} is not finite there; check what is written for it, and the state"
        if FUNCTIONS[function].solved and "iterations" in request.method.options:
            return worse_than_promised(request)
        return "the numbers are too large or too small to compute with; check the state, masses and lengths"
