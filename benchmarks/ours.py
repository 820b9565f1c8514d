"""Our kernels in a native loop, called by address: what C code that uses them would see."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from models import Ring
from native_code import library, pointer
from peers import FORWARD, INVERSE, MASS
from timing import Run

KERNELS = {FORWARD: "forward_dynamics", INVERSE: "inverse_dynamics", MASS: "mass_matrix"}
INPUTS = {FORWARD: ("q", "v", "tau"), INVERSE: ("q", "v", "a"), MASS: ("q",)}


def _aligned(size: int) -> np.ndarray:
    """Zeros that start on a cache line."""
    room = np.zeros(size + 8)
    skip = -(room.ctypes.data // 8) % 8
    return room[skip : skip + size]


class KernelLoop:
    """One kernel of a system over a ring of states."""

    def __init__(self, system: Any, ring: Ring, task: str) -> None:
        self.task = task
        self.nv = ring.model.nv
        self.kernel = kernel = system.kernel(KERNELS[task])
        given = {name: getattr(ring.ours, name) for name in INPUTS[task]}
        strides, rings = [], []
        for name, size in zip(kernel.input_names, kernel.input_sizes, strict=True):
            if name in given:
                rings.append(np.ascontiguousarray(given.pop(name), dtype=float))
                strides.append(size)
            else:  # wrenches, parameters and the like: the same for all states
                rings.append(np.ascontiguousarray(kernel.default_input(name), dtype=float))
                strides.append(0)
        if given:
            raise RuntimeError(f"kernel {KERNELS[task]} has no input {', '.join(given)}")
        self._rings, self._strides = rings, np.array(strides, dtype=np.int64)
        self._outs = [_aligned(size) for size in kernel.output_sizes]
        self._work = _aligned(kernel.work_size)
        addresses = ctypes.c_void_p * max(1, len(rings))
        outs = ctypes.c_void_p * len(self._outs)
        code = library("ours.c", "gcc", ["-Wall"])
        self._run = code.ours_run
        self._run.restype = ctypes.c_double
        self._head = (
            ctypes.c_void_p(kernel.address),
            ctypes.c_long(len(rings)),
            addresses(*[array.ctypes.data for array in rings]),
            pointer(self._strides),
            ctypes.c_long(len(ring.ours.q)),
            outs(*[out.ctypes.data for out in self._outs]),
            pointer(self._work),
            ctypes.c_void_p(kernel.constants_address or None),
            ctypes.c_void_p(kernel.tables_address or None),
        )

    def _evaluate(self, start: int, count: int) -> float:
        return self._run(*self._head, ctypes.c_long(start), ctypes.c_long(count))

    def run(self) -> Run:
        return lambda count: self._evaluate(0, count)

    def answer(self, k: int) -> np.ndarray:
        self._evaluate(k, 1)
        result = self._outs[0].copy()
        return result.reshape(self.nv, self.nv) if self.task == MASS else result
