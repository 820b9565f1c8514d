"""The pieces of a system that its groups of calls work with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whippletree.model.description import Description
from whippletree.system.calls import Call
from whippletree.system.evaluator import Evaluator
from whippletree.system.input_reader import InputReader

if TYPE_CHECKING:
    from whippletree.system.system_kernels import SystemKernels

__all__ = ["SystemParts"]


class SystemParts:
    """Base of the groups of calls, each in a file of its own, of which `System` is made."""

    _evaluate: Evaluator
    _inputs: InputReader
    _cached: dict[str, Call]
    if TYPE_CHECKING:  # the kernels serve other rooms, and are no part of what users see
        description: Description
        kernels: SystemKernels
