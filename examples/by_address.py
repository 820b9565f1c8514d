"""Calling a kernel by its address, from anything that can call a C function.

A kernel is machine code with the signature

    void kernel(const double *const *in, double *const *out, double *work,
                const double *constants, const int32_t *tables)

It keeps no state of its own: scratch memory is the caller's, so several threads can use one kernel. This
example calls it with `ctypes`; a loop compiled by Numba or written in C does the same with the same five
pointers. Nothing is checked on this path: sizes, and that the numbers are finite, are the caller's
business.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

import whippletree as wt


def describe() -> wt.Mechanism:
    """A double pendulum."""
    m = wt.Mechanism("double pendulum")
    upper = m.body("upper", wt.rod(length=1.0, mass=1.0, axis="-z"))
    lower = m.body("lower", wt.rod(length=1.0, mass=1.0, axis="-z"))
    m.revolute("first", m.ground, upper, axis="y")
    m.revolute("second", upper, lower, at=(0, 0, -1), axis="y")
    return m


def main() -> dict[str, Any]:
    """Call the kernel of forward dynamics with pointers made by hand."""
    system = describe().build()
    kernel = system.kernels.kernel("forward_dynamics")
    for name, size in zip(kernel.input_names, kernel.input_sizes, strict=True):
        print(f"input {name}: {size} numbers")
    print("outputs:", *kernel.output_sizes)

    pointer = ctypes.c_void_p
    function = ctypes.CFUNCTYPE(None, pointer, pointer, pointer, pointer, pointer)(kernel.address)

    # One array per input, at its default (zeros; the declared values for "parameters"), and one per output.
    inputs = {name: kernel.default_input(name).copy() for name in kernel.input_names}
    outputs = [np.empty(size) for size in kernel.output_sizes]
    work = np.empty(kernel.work_size)
    in_pointers = (pointer * len(inputs))(*(x.ctypes.data for x in inputs.values()))
    out_pointers = (pointer * len(outputs))(*(x.ctypes.data for x in outputs))

    inputs["q"][:] = 0.4, -1.1
    inputs["v"][:] = 0.2, 0.7
    function(in_pointers, out_pointers, work.ctypes.data, kernel.constants_address, kernel.tables_address)
    by_address = outputs[0].copy()
    by_call = system.forward_dynamics(inputs["q"], inputs["v"])
    print("by address:", by_address)
    print("by call:   ", by_call)
    return {"by address": by_address, "by call": by_call, "q": inputs["q"], "v": inputs["v"]}


if __name__ == "__main__":
    main()
