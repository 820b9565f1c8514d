"""A system bound for time loops: kernels, the arrays they work on, and their addresses."""

from __future__ import annotations

import functools

import numpy as np

from whippletree.kernels.kernel import Array, Kernel
from whippletree.model.formula_corner_lists import corners_in_state
from whippletree.simulate import system_interface
from whippletree.simulate.kernel_calls import KernelBuffers
from whippletree.simulate.loop_code import address
from whippletree.system import System

__all__ = ["KernelBindings"]


class KernelBindings:
    """The kernels of a run under a numeric plan, and their arrays.

    With Baumgarte's terms the rates hold the loops together, and nothing is put back onto the closures.

    >>> from whippletree.system.example_systems import pendulum
    >>> bindings = KernelBindings(pendulum(), "auto", None)
    >>> bindings.y_size, bindings.row_size, bindings.closed
    (4, 4, False)
    """

    def __init__(
        self,
        system: System,
        formulation: str,
        parameters: Array | None,
        baumgarte: tuple[float, float] | None = None,
    ) -> None:
        self.system = system
        self.closed = system_interface.is_closed(system)
        self.powers = system.description.powered
        self.quaternions = system_interface.quaternion_starts(system)
        self.scale = system_interface.scale(system)
        nq, nv = system.nq, system.nv
        self.coordinate_scale = system_interface.coordinate_scale(system)
        self._arrays: dict[str, Array] = {"q": np.array(system.q0), "z": np.array(system.z0)}
        self.parameters = np.array(system_interface.default_parameters(system) if parameters is None else parameters)
        self._arrays["parameters"] = self.parameters
        self._arrays["q_scale"] = self.coordinate_scale
        for name in ("u", "v", "tau", "spare_v", "a"):
            self.array(name, nv)
        for name in ("here", "base", "spare_q", "nearest"):
            self.array(name, nq)
        for name, size in (("t", 1), ("displaced", nq + nv), ("projected", 2 * nv + 3), ("pivots", 6)):
            self.array(name, size)
        self._keep: list[object] = []  # what the addresses point to
        plain = not (self.closed or self.powers or system.description.states)
        self.plain = plain and not self.quaternions.size
        rates = system_interface.kernel(
            system, "forward_dynamics" if plain else "derivatives", formulation, baumgarte or (0.0, 0.0)
        )
        self.array("rates", rates.output_sizes[0])
        self._kernels = np.zeros((3, 6), dtype=np.int64)
        if self.quaternions.size:
            self._kernels[0] = self.bind("displace", {}, "displaced")
        self._kernels[1] = self._bound(rates, {"q": "here"}, "rates")
        if self.closed:
            self._kernels[2] = self.bind("project" if baumgarte is None else "leave_open", {"q": "here"}, "projected")
        self.event_kernel = np.zeros(6, dtype=np.int64)
        self.event_values = self.array("events", len(system.description.events))
        if system.description.events:
            self.event_kernel[:] = self.bind("events", {"q": "here"}, "events")
        self.corner_values = self.array("corners", len(corners_in_state(system.description)))
        self.corner_kernel = np.zeros(6, dtype=np.int64)
        if self.corner_values.size:
            self.corner_kernel[:] = self.bind("corners", {"q": "here"}, "corners")

    @property
    def y_size(self) -> int:
        """How many numbers the vector y = [u, v, z, work] has."""
        return 2 * self.system.nv + self.system.nz + 2

    @property
    def row_size(self) -> int:
        """How many numbers a row [q, v, z, work] has."""
        return self.system.nq + self.y_size - self.system.nv

    def clear(self) -> None:
        """Forget all states that kernels have worked on, as if it were made anew."""
        for name, array in self._arrays.items():
            if name not in ("parameters", "q_scale"):
                array.fill(0.0)
        self._arrays["q"][:], self._arrays["z"][:] = self.system.q0, self.system.z0

    def array(self, name: str, size: int) -> Array:
        """Make an array that kernels know by this name."""
        self._arrays[name] = np.zeros(size)
        return self._arrays[name]

    def bind(self, function: str, renamed: dict[str, str], output: str) -> list[int]:
        """Return the six addresses of a kernel that reads and writes these arrays, inputs under other names."""
        return self._bound(system_interface.kernel(self.system, function), renamed, output)

    def _bound(self, kernel: Kernel, renamed: dict[str, str], output: str) -> list[int]:
        inputs = np.array(
            [self._arrays[renamed.get(name, name)].ctypes.data for name in kernel.input_names] or [0], dtype=np.int64
        )
        outputs = np.array([self._arrays[output].ctypes.data], dtype=np.int64)
        work = np.empty(max(kernel.work_size, 1) + 8)
        self._keep += [inputs, outputs, work, kernel]
        at_line = work.ctypes.data + (-work.ctypes.data) % 64
        return [
            kernel.address,
            inputs.ctypes.data,
            outputs.ctypes.data,
            at_line,
            kernel.constants_address,
            kernel.tables_address,
        ]

    def of_events(self, function: str, q: Array, v: Array, z: Array, t: float) -> Array:
        """Return the values that events watch, or those that they set, at a state."""
        kernel = system_interface.kernel(self.system, function)
        given = {"q": q, "v": v, "z": z, "t": np.array([t]), "parameters": self.parameters}
        result = np.zeros(kernel.output_sizes[0])
        kernel.one([np.ascontiguousarray(given[name]) for name in kernel.input_names], [result])
        return result

    @functools.cached_property
    def buffers(self) -> KernelBuffers:
        """Return the argument of machine code: the arrays, the kernels, and the functions that it calls by address."""
        own = {"kernels": self._kernels, "quaternions": self.quaternions}
        made = KernelBuffers(
            *(
                address(name) if kind == "Address" else own[name] if name in own else self._arrays[name]
                for name, kind in KernelBuffers.fields.items()
            )
        )
        made.owner = self
        return made
