"""A function that is evaluated as it was traced, rather than compiled: for analyses that ask once.

Machine code for a long trace takes some twenty thousand times as long to make as one evaluation by CasADi takes.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from whippletree.foundation.arrays import Array
from whippletree.foundation.once import made_once, present_lock, without_collecting
from whippletree.kernels.cache import DiskCache
from whippletree.kernels.entry import Signature
from whippletree.kernels.kernel import NotFiniteError

__all__ = ["Evaluated"]

_AT_ONCE = 64
"""How many states of a batch are evaluated without a word from Python."""


class Evaluated:
    """A function of named arrays, called as a `Kernel` is; the same state has the same bits alone and in a batch.

    `trace` is called only if the function is not in the cache.
    """

    entry = None

    def __init__(
        self,
        key: str,
        signature: Signature,
        trace: Callable[[], ca.Function],
        cache: DiskCache | None,
        defaults: Mapping[str, Array],
    ) -> None:
        self.signature, self._trace, self._cache = signature, trace, cache
        self._lock = present_lock()  # that of the model that it is made for
        self._key = f"evaluated|{ca.CasadiMeta.version()}|{key}"
        self._defaults = [defaults.get(name, np.zeros(size)) for name, size in signature.inputs]

    @property
    def input_names(self) -> list[str]:
        """The names of the inputs, in order."""
        return [name for name, _ in self.signature.inputs]

    @property
    def output_sizes(self) -> list[int]:
        """The sizes of the outputs, in order."""
        return self.signature.output_sizes

    @made_once
    def _function(self) -> ca.Function:
        """The function, from the cache if it is there."""
        entry = self._cache.load(self._key) if self._cache else None
        if entry is not None:
            return ca.Function.deserialize(zlib.decompress(entry["function"]).decode())
        with without_collecting():
            function = self._trace()
        if self._cache:
            self._cache.store(self._key, {"function": zlib.compress(function.serialize().encode(), 1)})
        return function

    @made_once
    def _batch(self) -> ca.Function:
        """The function for `_AT_ONCE` states."""
        return self._function.map(_AT_ONCE)

    def one(self, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
        """Evaluate one state, as `Kernel.one` does."""
        self.many(inputs, [output.reshape(1, -1) for output in outputs], 1, 1)

    def many(self, inputs: Sequence[Array | None], outputs: Sequence[Array], count: int, threads: int) -> None:
        """Evaluate `count` states one after the other, as `Kernel.many` does."""
        given = zip(self._defaults, inputs, strict=True)
        arrays = [np.ascontiguousarray(own if a is None else a) for own, a in given]
        _check_finite("input", arrays)
        whole = count - count % _AT_ONCE
        for start in range(0, whole, _AT_ONCE):
            _evaluate(self._batch, arrays, outputs, slice(start, start + _AT_ONCE))
        for k in range(whole, count):
            _evaluate(self._function, arrays, outputs, slice(k, k + 1))
        _check_finite("result", outputs)


def _evaluate(function: ca.Function, arrays: Sequence[Array], outputs: Sequence[Array], rows: slice) -> None:
    """Evaluate the states in some rows; arrays without rows are the same for all."""
    buffer: Any
    buffer, evaluate = function.buffer()
    count = rows.stop - rows.start
    inputs = [(a[rows] if a.ndim > 1 else a if count == 1 else np.tile(a, count)).data for a in arrays]
    for i, numbers in enumerate(inputs):
        buffer.set_arg(i, numbers)
    for i, output in enumerate(outputs):
        buffer.set_res(i, output[rows].data)
    evaluate()


def _check_finite(what: str, arrays: Sequence[Array]) -> None:
    """Refuse numbers that are not finite, and name the first state that has one."""
    for array in arrays:
        if not np.isfinite(array).all():
            raise NotFiniteError(what, int(np.argwhere(~np.isfinite(array))[0, 0]) if array.ndim > 1 else 0)
