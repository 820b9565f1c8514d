"""A system wired for time loops: kernels, the arrays they work on, and their addresses."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from whippletree.kernels.kernel import Array, Kernel
from whippletree.simulate.collocation_crossing import RULE
from whippletree.simulate.kernel_calls import KernelBuffers
from whippletree.simulate.runge_kutta import addresses
from whippletree.simulate.runge_kutta_stages import Method
from whippletree.simulate.singular_positions import StepWork
from whippletree.system import System

__all__ = ["KernelBindings"]


class KernelBindings:
    """The kernels of a run; made anew when the numeric plan changes.

    `keep` holds what the addresses point to.
    """

    def __init__(self, system: System, formulation: str, tau: Array, parameters: Array | None) -> None:
        self.system = system
        engine = system._engine
        self.closed = engine.equations.closed
        self.powers = system.description.powered
        nq, nv = system.nq, system.nv
        self.arrays: dict[str, Array] = {
            "q": np.array(system.q0),
            "u": np.zeros(nv),
            "v": np.zeros(nv),
            "z": np.array(system.z0),
            "t": np.zeros(1),
            "tau": np.array(tau, dtype=np.float64),
            "here": np.zeros(nq),
            "base": np.zeros(nq),
            "spare_q": np.zeros(nq),
            "spare_v": np.zeros(nv),
            "displaced": np.zeros(nq + nv),
            "parameters": engine.loops.parameters if parameters is None else np.array(parameters),
            "a": np.zeros(nv),
            "least": np.zeros(6),
            "nearest": np.zeros(nq),
        }
        plain = not (self.closed or self.powers or system.description.states)
        rates = engine.kernel_of("forward_dynamics" if plain else "derivatives", formulation)
        self.arrays["rates"] = np.zeros(rates.output_sizes[0])
        self.arrays["projected"] = np.zeros(2 * nv + 2)
        self.keep: list[Any] = []
        self.newton: Any = None  # what implicit methods need, wired when one comes
        self.adams: Any = None  # the same for the Adams method
        self._attempt: StepWork | None = None
        kernels = np.zeros((3, 6), dtype=np.int64)
        self.quaternions = np.array([w.start for w in system._states.quaternions], dtype=np.int64)
        self.plain = plain and not self.quaternions.size
        if self.quaternions.size:
            kernels[0] = self.bind(engine.kernel_of("displace"), {}, "displaced")
        kernels[1] = self.bind(rates, {"q": "here"}, "rates")
        if self.closed:
            kernels[2] = self.bind(engine.kernel_of("project"), {"q": "here"}, "projected")
        self.kernels = kernels
        self.watched = np.zeros(6, dtype=np.int64)
        self.arrays["events"] = np.zeros(len(system.description.events))
        if system.description.events:
            self.watched[:] = self.bind(engine.kernel_of("events"), {"q": "here"}, "events")

    def of_events(self, function: str, q: Array, v: Array, z: Array, t: float) -> Array:
        """Return what events watch, or the values that they set, at a state."""
        kernel = self.system._engine.kernel_of(function)
        given = {"q": q, "v": v, "z": z, "t": np.array([t]), "parameters": self.arrays["parameters"]}
        result = np.zeros(kernel.output_sizes[0])
        kernel.one([np.ascontiguousarray(given[name]) for name in kernel.input_names], [result])
        return result

    def bind(self, kernel: Kernel, renamed: dict[str, str], output: str) -> list[int]:
        """Return the six addresses of a kernel that reads and writes these arrays."""
        inputs = np.array(
            [self.arrays[renamed.get(name, name)].ctypes.data for name in kernel.input_names] or [0], dtype=np.int64
        )
        outputs = np.array([self.arrays[output].ctypes.data], dtype=np.int64)
        work = np.empty(max(kernel.work_size, 1) + 8)
        self.keep += [inputs, outputs, work, kernel]
        at_line = work.ctypes.data + (-work.ctypes.data) % 64
        return [
            kernel.address,
            inputs.ctypes.data,
            outputs.ctypes.data,
            at_line,
            kernel.constants_address,
            kernel.tables_address,
        ]

    def attempt(self, method: Method) -> StepWork:
        """Return what one step of a Runge-Kutta method works with."""
        nq, nv, size = self.system.nq, self.system.nv, 2 * self.system.nv + self.system.nz + 2
        shape = (max(method.b.size, method.dense.shape[0], 1), size)
        if self._attempt is None or self._attempt.k.shape != shape:
            across = (RULE.c.size, size)
            self._attempt = StepWork(
                np.zeros(nq),
                np.zeros(size),
                np.zeros(nq + size - nv),
                np.zeros(size),
                np.zeros(self.arrays["least"].size),
                np.zeros(shape),
                np.zeros(across),
                np.zeros(across),
            )
        return self._attempt

    @functools.cached_property
    def buffers(self) -> KernelBuffers:
        """What the time loops need."""
        a = self.arrays
        return KernelBuffers(
            self.kernels,
            a["q"],
            a["u"],
            a["v"],
            a["z"],
            a["t"],
            a["tau"],
            a["here"],
            a["displaced"],
            a["rates"],
            a["projected"],
            a["base"],
            a["spare_q"],
            a["spare_v"],
            self.quaternions,
            a["least"],
            a["nearest"],
            *addresses(),
        )
