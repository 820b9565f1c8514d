"""Our kernels in a native loop, called by address: what C code that uses them would see."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
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
    """One kernel over a ring of states: `given` holds the inputs that change, ``(k, n)`` arrays by name."""

    def __init__(self, kernel: Any, given: Mapping[str, np.ndarray], shape: tuple[int, ...]) -> None:
        self.kernel, self.shape = kernel, shape
        states = len(next(iter(given.values())))
        given = dict(given)
        strides, rings = [], []
        for name, size in zip(kernel.input_names, kernel.input_sizes, strict=True):
            if name in given:
                rings.append(np.ascontiguousarray(given.pop(name), dtype=float))
                strides.append(size)
            else:  # wrenches, parameters and the like: the same for all states
                rings.append(np.ascontiguousarray(kernel.default_input(name), dtype=float))
                strides.append(0)
        if given:
            raise RuntimeError(f"the kernel has no input {', '.join(given)}")
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
            ctypes.c_long(states),
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
        return self._outs[0].copy().reshape(self.shape)


def tree_loop(system: Any, ring: Ring, task: str) -> KernelLoop:
    nv = ring.model.nv
    given = {name: getattr(ring.ours, name) for name in INPUTS[task]}
    return KernelLoop(system.kernels.kernel(KERNELS[task]), given, (nv, nv) if task == MASS else (nv,))
