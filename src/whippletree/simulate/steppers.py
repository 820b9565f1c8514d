"""The contract of integration methods, and the registry by which `method="..."` finds them.

A run goes on in stretches. The driver prepares a method for the kernels of the run, lets it advance by some steps, and
looks at the status that it returns: all outputs made, an event, a numeric plan to be made anew, or a failure. It knows
nothing of what a step is. A method is one class: derive it from `PythonStepper` (see `python_stepping`) and write the
step in plain Python, or from `CompiledStepper` and write it in machine code, and register it:

    register_stepper("leapfrog", Leapfrog)

Events, outputs, checkpoints, controllers, loops and the certificate then work with it. Singular positions too: a method
that does not cross them itself leaves that to a Runge-Kutta method, for one step, and begins anew behind it.
"""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from whippletree.errors import StateError
from whippletree.foundation.user_frames import user_facing
from whippletree.kernels.kernel import Array
from whippletree.simulate.kernel_bindings import KernelBindings
from whippletree.simulate.loop_code import address
from whippletree.simulate.native_structs import KINDS, NativeStruct
from whippletree.simulate.packed_forms import ArrayForm, NumberForm, read_array
from whippletree.simulate.run_state import RunState
from whippletree.simulate.run_tolerances import CORNER_HOP
from whippletree.simulate.time_loop import SMALLEST_ALLOWED, TOLERANCE, StepperCode, run_stretch
from whippletree.simulate.zero_crossings import EventWatch
from whippletree.spatial.scalars import shown

__all__ = [
    "CompiledStepper",
    "MethodOptions",
    "OutputWindow",
    "Stepper",
    "Stretch",
    "make_stepper",
    "method_names",
    "register_stepper",
]


@user_facing
@dataclass(frozen=True)
class MethodOptions:
    """The arguments of a run about its method: `simulate(method=..., tolerance=..., ...)`."""

    method: str
    tolerance: float = 1e-8
    step: float | None = None
    adaptive: bool | None = None
    spectral_radius: float | None = None


class OutputWindow:
    """Times of outputs, and the rows that they are written to: those of a whole run, of which a stretch sees some.

    These are `count` of them: the times from `start` on, and the rows from `row` on. Where that is in memory does not
    have to be asked again for every stretch.

    >>> window = OutputWindow(np.array([0.0, 0.1, 0.2]), np.zeros((3, 4)))
    >>> window.show(1, 0, 2)
    >>> window.until.tolist(), window.end, window.rows.shape
    ([0.1, 0.2], 0.2, (2, 4))
    """

    def __init__(self, times: Array, rows: Array) -> None:
        self._times, self._rows = times, rows
        self._times_at, self._rows_at, self._row_bytes = times.ctypes.data, rows.ctypes.data, rows.strides[0]
        self.show(0, 0, len(times))

    def show(self, start: int, row: int, count: int) -> None:
        """Let the next stretch see these."""
        self.start, self.row, self.count = start, row, count

    @property
    def end(self) -> float:
        """The last time."""
        return float(self._times.item(self.start + self.count - 1))

    @property
    def until(self) -> Array:
        """The times."""
        return self._times[self.start : self.start + self.count]

    @property
    def rows(self) -> Array:
        """The rows."""
        return self._rows[self.row : self.row + self.count]

    @property
    def addresses(self) -> tuple[int, int]:
        """Where the times and the rows are in memory."""
        return self._times_at + 8 * self.start, self._rows_at + self._row_bytes * self.row


@dataclass
class Stretch:
    """The next task of a method: go on until all outputs are written, or so many steps are taken."""

    bindings: KernelBindings
    run: RunState
    watch: EventWatch
    outputs: OutputWindow
    smallest: float = 0.0  # a step that is smaller is a failure
    steps: int = 1
    brief: bool = False  # so short that the interpreter's lock may be kept

    @property
    def until(self) -> Array:
        """The times of the outputs."""
        return self.outputs.until

    @property
    def rows(self) -> Array:
        """Where they are written."""
        return self.outputs.rows


class Stepper(ABC):
    """An integration method in one run.

    The driver calls `prepare` when kernels are bound, at the start and after every change of the numeric plan; then
    `advance` again and again; and `forget` whenever the state, the efforts or the parameters are not those that the
    last step left. `memory` is all that a method may keep from one step to the next: it is in every checkpoint and in
    every clone, so that a run goes on to the same bits.
    """

    estimates_error: bool = False
    """Whether the method can choose its steps by a tolerance."""

    takes_fixed_steps: ClassVar[bool] = True
    """Whether it can take steps of a fixed size."""

    adaptive_by_default: bool = False
    """Whether it chooses its steps unless the run says otherwise."""

    crosses_singular: ClassVar[bool] = False
    """Whether it goes across singular positions itself."""

    resumes_own_step: ClassVar[bool] = True
    """Whether it goes on with its own step size where another method has gone across, or with that of the other."""

    takes_spectral_radius: ClassVar[bool] = False

    corner_hop: ClassVar[float] = CORNER_HOP
    """The size of a step across a corner of a formula, as a share of one that goes over it."""

    def __init__(self, options: MethodOptions) -> None:
        self.options, name = options, options.method
        if options.spectral_radius is not None and not self.takes_spectral_radius:
            raise StateError('spectral_radius= belongs to method "generalized_alpha"')
        if not isinstance(options.adaptive, bool | np.bool_ | None):
            raise StateError(f"adaptive= must be True, False or None, not {shown(options.adaptive)}")
        if options.adaptive and not self.estimates_error:
            raise StateError(f'method "{name}" does not estimate its error: it cannot choose its steps')
        if options.adaptive is False and not self.takes_fixed_steps:
            raise StateError(f'method "{name}" chooses its steps: leave adaptive= out')
        self.adaptive = self.adaptive_by_default if options.adaptive is None else bool(options.adaptive)
        if options.step is None and not self.adaptive:
            raise StateError(f'method "{name}" takes steps of a fixed size: give step= in seconds')
        self.memory = np.zeros(0)
        self._efforts = b""  # those that the memory is for

    @property
    def tolerance(self) -> float:
        """The tolerance of a step's error."""
        return self.options.tolerance

    @abstractmethod
    def prepare(self, bindings: KernelBindings, run: RunState) -> None:
        """Get ready for a run with these kernels; a memory that was left for them stays."""

    @abstractmethod
    def advance(self, stretch: Stretch) -> int:
        """Go on with a run, always from the end of a good step to that of another; return a `Status`."""

    def forget(self) -> None:
        """Begin anew with the next step."""
        self.memory = np.zeros(0)

    def anew(self) -> Stepper:
        """Return the method for another run, as new; `prepare` is called for it."""
        return make_stepper(self.options)

    def amplification(self, rate: complex) -> float:
        """Return the factor of a step on a state z' = rate z, with h = 1; NaN if that is not known."""
        return np.nan

    def stuck(self) -> int:
        """Return the velocity in which an iteration of the last step was farthest off (`Status.STUCK`)."""
        return 0

    # ------------------------------------------------------------------ what a step leaves to the next

    def use_efforts(self, tau: Array) -> None:
        """Be told the efforts of the next steps: a memory of others is forgotten."""
        given = tau.tobytes()
        if given != self._efforts:
            self.forget()
            self._efforts = given

    def pack(self) -> dict[str, Array]:
        """Return the memory of the method from step to step."""
        return {"memory": self.memory.copy(), "memory_efforts": np.frombuffer(self._efforts)}

    def unpack(self, arrays: Mapping[str, Array]) -> None:
        """Restore the data of `pack`."""
        self.memory, self._efforts = arrays["memory"].copy(), arrays["memory_efforts"].tobytes()

    def unpack_from_file(self, arrays: Mapping[str, Array], nv: int) -> None:
        """Restore the data of `pack`, which may come from anywhere: refuse data that no run can have left."""
        read_array(ArrayForm((-1,), entries=self.memory_entries(nv)), arrays, "memory")
        read_array(ArrayForm((-1,)), arrays, "memory_efforts")
        self.unpack(arrays)

    def memory_entries(self, nv: int) -> Mapping[int, NumberForm]:
        """Return the forms of entries of the memory that are not any finite number: counts, orders, places in v."""
        return {}


_CODE, _BUFFERS, _RUN, _WATCH, _TIMES, _TIME_COUNT, _ROWS, _ROW_COUNT, _WIDTH, _MOST = range(10)
"""The arguments of `run_stretch` as words: structs by their addresses, arrays by address and sizes."""


_ENTRY_FORMS = tuple(
    kind(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p) for kind in (ctypes.CFUNCTYPE, ctypes.PYFUNCTYPE)
)
"""How machine code is entered: other threads may run meanwhile, or not, which is faster for brief stretches."""


class CompiledStepper(Stepper):
    """A method in machine code: `time_loop` calls its step by address.

    A subclass names its functions, `step_function` and `look_back_function`, and `structs` returns what they work with.
    """

    step_function: ClassVar[str]
    look_back_function: ClassVar[str]
    evaluates_end: ClassVar[bool] = False
    _code: StepperCode

    def __init__(self, options: MethodOptions) -> None:
        super().__init__(options)
        self._limits = np.zeros(2)
        self._limits[TOLERANCE] = self.tolerance if self.adaptive else 0.0
        self._words, self._status = (ctypes.c_int64 * (_MOST + 1))(), ctypes.c_int64()
        self._places = ctypes.addressof(self._words), ctypes.addressof(self._status)
        self._prepared: tuple[KernelBindings, RunState] | None = None
        self._structs: tuple[NativeStruct, NativeStruct] | None = None

    @abstractmethod
    def structs(self, bindings: KernelBindings) -> tuple[NativeStruct, NativeStruct]:
        """Return the structs `method` and `work` of `StepperCode`; `memory` has its size then."""

    def memory_size(self, bindings: KernelBindings) -> int:
        """Return how many numbers the method keeps from step to step."""
        return 0

    def anew(self) -> Stepper:
        """Return itself if it keeps no memory from step to step: `prepare` clears the rest."""
        if self._prepared is None or self.memory.size:
            return super().anew()
        self._efforts = b""
        return self

    def prepare(self, bindings: KernelBindings, run: RunState) -> None:
        """Make the structs that machine code works with, or clear those that were made for the same kernels."""
        if self._structs is not None and self._prepared == (bindings, run) and not self.memory.size:
            work = self._structs[1]
            for name, kind in work.fields.items():
                if KINDS[kind][1]:
                    getattr(work, name).fill(0)
            return
        size = self.memory_size(bindings)
        if self.memory.size != size:
            self.memory = np.zeros(size)
        method, work = self._structs = self.structs(bindings)
        self._prepared = bindings, run
        functions = address(self.step_function), address(self.look_back_function)
        self._code = StepperCode(method.address, work.address, self._limits, int(self.evaluates_end), *functions)
        self._words[_CODE], self._words[_BUFFERS] = self._code.address, bindings.buffers.address
        self._words[_RUN], self._words[_WIDTH] = run.address, bindings.row_size
        self._entry, self._brief_entry = (form(address(run_stretch.symbol)) for form in _ENTRY_FORMS)

    def forget(self) -> None:
        """Begin anew with the next step; the memory stays where machine code knows it."""
        self.memory[:] = 0.0

    def advance(self, stretch: Stretch) -> int:
        """Let machine code go on."""
        words, outputs, self._limits[SMALLEST_ALLOWED] = self._words, stretch.outputs, stretch.smallest
        words[_WATCH], words[_MOST] = stretch.watch.address, stretch.steps
        words[_TIMES], words[_ROWS] = outputs.addresses
        words[_TIME_COUNT] = words[_ROW_COUNT] = outputs.count
        if (self._brief_entry if stretch.brief else self._entry)(*self._places):
            raise MemoryError("there is not enough memory for a step")
        return self._status.value


# ---------------------------------------------------------------------- the registry

_METHODS: dict[str, Callable[[MethodOptions], Stepper]] = {}


@user_facing
def register_stepper(name: str, make: Callable[[MethodOptions], Stepper]) -> None:
    """Let `method=name` mean a method: a class of steppers, or another function that makes one from its options."""
    if not isinstance(name, str) or not callable(make):
        raise StateError(f"a method has a name and a function that makes it, not {shown(name)} and {shown(make)}")
    _METHODS[name] = make


@user_facing
def method_names() -> tuple[str, ...]:
    """Return the names of all methods."""
    return tuple(_METHODS)


def make_stepper(options: MethodOptions) -> Stepper:
    """Return the method that is meant by a name, for one run."""
    name = options.method
    if not isinstance(name, str) or name not in _METHODS:
        raise StateError(f"there is no method {shown(name)}; choose one of {', '.join(_METHODS)}")
    return _METHODS[name](options)
