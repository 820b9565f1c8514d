"""What goes into a kernel and what comes out."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["UNIT_TOLERANCE", "Signature"]

UNIT_TOLERANCE = 1e-6
"""How far the square of a quaternion's length may be from one."""


@dataclass(frozen=True)
class Signature:
    """Names and sizes of a kernel's inputs and outputs, and the shape of the first output as users see it.

    `quaternions` lists (input, start) of four numbers that must have unit length.

    >>> Signature((("x", 2),), (("y", 1),), (1,)).input_sizes
    [2]
    """

    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, int], ...]
    shape: tuple[int, ...]
    quaternions: tuple[tuple[int, int], ...] = ()

    @property
    def input_sizes(self) -> list[int]:
        """The sizes of the inputs."""
        return [size for _, size in self.inputs]

    @property
    def output_sizes(self) -> list[int]:
        """The sizes of the outputs."""
        return [size for _, size in self.outputs]
