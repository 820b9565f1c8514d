"""The interface of a system for other rooms: its kernels by name, its space of states, its loops and their plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypedDict, Unpack

import casadi as ca

from whippletree.foundation.once import made_once
from whippletree.kernels.kernel import Kernel
from whippletree.kernels.tape import OperationCount, read_tape
from whippletree.model.argument_types import Freedoms, JointLike, JointValues
from whippletree.system.call_options import FunctionOptions
from whippletree.system.closure_services import ClosureServices
from whippletree.system.derivative_calls import MinimalMaps
from whippletree.system.element_calls import ElementStates
from whippletree.system.equations import Equations, Request
from whippletree.system.evaluator import Evaluator
from whippletree.system.example_systems import pendulum  # noqa: F401 (for the examples)
from whippletree.system.input_reader import InputReader
from whippletree.system.loop_plan import LoopPlan
from whippletree.system.loop_services import LoopServices
from whippletree.system.public_call import with_options
from whippletree.system.state_space import StateSpace

if TYPE_CHECKING:
    from whippletree.system.formulation_choice import FormulationChoice
    from whippletree.system.system import System

__all__ = ["BuildOptions", "SystemKernels"]


class BuildOptions(TypedDict):
    """The options that a system was built with, beside its description."""

    fold: bool
    guess: JointValues
    hold: Freedoms | None
    cut: Sequence[JointLike] | None
    dependent: Freedoms | None
    accuracy: float


class SystemKernels:
    """The kernels of a system by function name, and the interface for other rooms: `system.kernels`.

    Time loops, certificates and cost analyses are made of these. `evaluate(function, state, options)` runs a function
    from Python, `of(function)` is its kernel, `states` names coordinates and velocities, `inputs` reads what users
    give, `equations` traces, `closed` tells whether there are loops. `closures`, `elements` and `derivatives` are the
    groups of calls, `build_options` what the system was built with. Another numeric plan of the loops belongs to
    another system: `planned(plan)`.

    >>> s = pendulum()
    >>> s.kernels.of("forward_dynamics").input_names, s.kernels.closed
    (['q', 'v', 'tau'], False)
    """

    def __init__(
        self,
        evaluate: Evaluator,
        *,
        build_options: BuildOptions,
        planned: Callable[[LoopPlan], System],
        once: Callable[[], System],
    ) -> None:
        self._engine = engine = evaluate.engine
        self.closures, self.elements = ClosureServices(evaluate), ElementStates(evaluate)
        self.derivatives = MinimalMaps(evaluate)
        self.build_options, self._planned, self._once = build_options, planned, once
        self.evaluate: Evaluator = evaluate
        self.states: StateSpace = engine.states
        self.inputs: InputReader = engine.inputs
        self.closed: bool = engine.equations.closed

    @property
    def equations(self) -> Equations:
        """The equations over symbols, which are traced on request."""
        return self._engine.equations

    @property
    def loops(self) -> LoopServices:
        """What numbers say about the loops, under the present plan."""
        return self._engine.loops

    @property
    def loop_plan(self) -> LoopPlan:
        """The numeric plan of the loops: rows that are kept, and which coordinates are independent."""
        return self.equations.loop_plan

    def planned(self, plan: LoopPlan) -> System:
        """Return the system with another numeric plan of the loops; what was traced and compiled is shared."""
        return self._planned(plan)

    @made_once
    def once(self) -> System:
        """The same system for an analysis that asks for each function a few times: evaluated, and not compiled.

        >>> s = pendulum()
        >>> bool(s.kernels.once.forward_dynamics(s.q0, s.v0).round(9) == s.forward_dynamics(s.q0, s.v0).round(9))
        True
        """
        return self._once()

    def tune(self) -> FormulationChoice:
        """Let `auto` mean the fastest formulation here, and return what was found; see `ClosureServices.tune`."""
        return self.closures.tune()

    def of(self, function: str, formulation: str = "auto", baumgarte: tuple[float, float] = (0.0, 0.0)) -> Kernel:
        """Return the kernel of a function without further inputs."""
        return self._engine.kernel_of(function, formulation, baumgarte)

    # ------------------------------------------------------------------ the equations behind a function

    @with_options
    def request(self, /, name: str, **options: Unpack[FunctionOptions]) -> Request:
        """Return what is asked for, every name in it checked and the formulation decided."""
        return self._engine.request(name, **options)

    @with_options
    def function(self, /, name: str, **options: Unpack[FunctionOptions]) -> ca.Function:
        """Return any function of the system as a CasADi Function; see `System.function`."""
        with self._engine.lock:
            return self.equations.trace(self._engine.request(name, **options))

    @with_options
    def c_source(self, /, name: str, **options: Unpack[FunctionOptions]) -> str:
        """Return any function of the system as C source.

        >>> "mass_matrix" in pendulum().c_source("mass_matrix")
        True
        """
        function = self.function(name, **options)
        generator = ca.CodeGenerator(f"{function.name()}.c", {"with_header": False})
        generator.add(function)
        return str(generator.dump())

    def readable_source(self, name: str, language: str, **options: Unpack[FunctionOptions]) -> str:
        """Return any function of the system as source that a person can read."""
        from whippletree.system.readable_source import readable_source

        with self._engine.lock:
            return readable_source(self.equations, self.request(name, **options), language)

    @with_options
    def operations(self, /, name: str, **options: Unpack[FunctionOptions]) -> OperationCount:
        """Return the scalar operations of one evaluation, after folding and merging, before fusing.

        >>> pendulum().kernels.operations("forward_dynamics").trigonometric
        1
        """
        with self._engine.lock:
            request = self._engine.request(name, **options)
            if self.equations.rolls(request):
                from whippletree.kernels.loop_lowering import RolledLoops

                return RolledLoops(self.equations.roll(request)).count()
            return read_tape(self.equations.trace(request)).count()

    @with_options
    def kernel(self, /, name: str, **options: Unpack[FunctionOptions]) -> Kernel:
        """Return any function of the system as a kernel that can be called by address.

        >>> pendulum().kernels.kernel("forward_dynamics").input_names
        ['q', 'v', 'tau']
        """
        return self._engine.kernel(self._engine.request(name, **options))
