"""Tapes evaluated in plain Python."""

from __future__ import annotations

import math

import numpy as np

from whippletree.kernels.tape import Tape

EVALUATE = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "sin": math.sin,
    "cos": math.cos,
    "sqrt": math.sqrt,
    "fabs": abs,
    "fmax": max,
    "fma": lambda a, b, c: a * b + c,  # rounded twice, which is as good for a comparison
    "fnma": lambda a, b, c: c - a * b,
    "fms": lambda a, b, c: a * b - c,
}


def evaluated(tape: Tape, inputs: list[np.ndarray]) -> np.ndarray:
    """The outputs in their order, operation by operation in the tape's order."""
    values: list[float] = []
    for k, (name, operands) in enumerate(tape.operations):
        if name == "const":
            values.append(tape.constants[k])
        elif name == "input":
            argument, element = tape.inputs[k]
            values.append(float(inputs[argument][element]))
        else:
            values.append(EVALUATE[name](*(values[o] for o in operands)))  # fails unless operands come before
    return np.array([values[v] for _, _, v in tape.outputs])
