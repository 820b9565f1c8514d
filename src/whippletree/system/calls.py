"""A call from Python: arguments checked, shapes made to agree, the kernel run, errors told by name."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from whippletree.errors import DynamicsError, StateError, WhippletreeError
from whippletree.kernels.entry import DONE, SLOW_PATH
from whippletree.kernels.evaluated import Evaluated
from whippletree.kernels.kernel import Array, Kernel, NotFiniteError
from whippletree.kernels.threads import processors
from whippletree.spatial.scalars import shown
from whippletree.system.input_reader import Argument, as_array, state_in_batch

if TYPE_CHECKING:
    from whippletree.system.large_composite import Pieces
    from whippletree.system.large_derivatives import DerivativesByColumn

__all__ = ["Call", "batch_shape", "checked_out", "number_of_threads"]

_ROWS = 2  # dimensions of a plain batch
_FLOAT = np.dtype(np.float64)


def _is_plain(array: object) -> bool:
    """Tell whether something is an array of contiguous doubles with at least one dimension."""
    if type(array) is not np.ndarray or array.dtype is not _FLOAT or array.ndim == 0:
        return False
    flags = array.flags
    return flags.c_contiguous and flags.aligned


Diagnosis = Callable[[dict[str, Array | None]], str]
"""Says why a result is not finite, given the inputs by name."""

Fallback = Callable[[dict[str, Array | None]], Array]
"""Answers for one state whose result from the kernel is not finite, or says why it cannot."""


def _no_entry(*_: object) -> int:
    """Stand in for a kernel's entry where there is none."""
    return SLOW_PATH


class Call:
    """A function of a system, ready to be called with arrays.

    `entry(result, *values)` is the fast way in for one state in plain arrays; it answers 0 if it has done the work.
    `empty()` makes an array for the result of one state.
    """

    def __init__(
        self,
        kernel: Kernel | Evaluated | Pieces | DerivativesByColumn,
        argument: Callable[[str, int], Argument],
        diagnose: Diagnosis,
        fallback: Fallback | None = None,
    ) -> None:
        self.kernel, self._argument, self._fallback = kernel, argument, fallback
        self.shape = shape = kernel.signature.shape
        self._size = math.prod(shape)
        self._diagnose = diagnose
        self.empty = functools.partial(np.empty, shape if len(shape) > 1 else self._size)
        self.entry: Callable[..., int] = self._first_entry

    @functools.cached_property
    def arguments(self) -> tuple[Argument, ...]:
        """The arguments, as errors and conversions know them."""
        return tuple(self._argument(name, size) for name, size in self.kernel.signature.inputs)

    def _first_entry(self, result: object, *values: object) -> int:
        """Stand in for the kernel's entry until a plain state comes: batches do without it, and need not compile it."""
        if not all(value is None or (type(value) is np.ndarray and value.ndim == 1) for value in values):
            return SLOW_PATH
        self.entry = self.kernel.entry or _no_entry
        return self.entry(result, *values)

    def run(self, values: tuple[object, ...], out: Array | None = None, threads: int | None = None) -> Array:
        """Evaluate; inputs left off at the end take their defaults."""
        result = self.empty() if out is None else out
        if self.entry(result, *values) == DONE:
            return result
        return self.slow_path(values, out, threads)

    def slow_path(self, values: tuple[Any, ...], out: Array | None, threads: int | None) -> Array:
        """Run a batch of plain arrays as it is; otherwise convert and check everything first."""
        values = (*values, *(None,) * (len(self.arguments) - len(values)))
        count = self._plain_rows(values, out)
        if count:
            result = np.empty((count, *self.shape)) if out is None else out
            try:
                self.kernel.many(values, [result.reshape(count, self._size)], count, number_of_threads(threads))
            except NotFiniteError:
                return self._converted(values, out, threads)  # which finds out what is wrong, and says so
            return result
        return self._converted(values, out, threads)

    def _plain_rows(self, values: tuple[Any, ...], out: Array | None) -> int:
        """Return the size of a batch (count, n) whose arrays need no conversion, or 0."""
        count: int | None = None
        for value, argument in zip(values, self.arguments, strict=True):
            if value is None:
                if not argument.optional:
                    return 0
                continue
            if not _is_plain(value) or value.shape[-1] != argument.size or value.ndim > _ROWS:
                return 0
            if value.ndim == _ROWS:
                if count is not None and value.shape[0] != count:
                    return 0
                count = value.shape[0]
            if out is not None and not (isinstance(out, np.ndarray) and not np.may_share_memory(value, out)):
                return 0
        if out is None or not count:
            return count or 0
        return count if _is_plain(out) and out.flags.writeable and out.shape == (count, *self.shape) else 0

    def _converted(self, values: tuple[object, ...], out: Array | None, threads: int | None) -> Array:
        """Convert and check everything, then run one state or a batch."""
        arrays = [
            None if value is None and argument.optional else as_array(value, argument)
            for value, argument in zip(values, self.arguments, strict=True)
        ]
        batch = batch_shape(self.arguments, arrays)
        shape = (*batch, *self.shape)
        result = np.empty(shape) if out is None else checked_out(out, shape)
        count = int(np.prod(batch)) if batch else 1
        private = out is not None and (
            not result.flags.aligned or any(a is not None and np.shares_memory(a, result) for a in arrays)
        )
        target = np.empty(result.shape) if private else result
        flat = np.asarray(target).reshape(count, self._size)
        try:
            if not batch:
                self.kernel.one(arrays, [flat[0]])
            elif count:
                rows = [a if a is None else _rows(a, batch, count) for a in arrays]
                self.kernel.many(rows, [flat], count, number_of_threads(threads))
        except NotFiniteError as error:
            if self._fallback is None or not all(a is None or np.isfinite(a).all() for a in arrays):
                raise self._explain(error, arrays, batch, count) from None
            self._one_by_one(arrays, batch, flat)
        if private:
            result[...] = target
        return result

    def _one_by_one(self, arrays: Sequence[Array | None], batch: tuple[int, ...], flat: Array) -> None:
        """Evaluate state by state; states that the kernel gives up are left to the fallback."""
        rows = [a if a is None or not batch else _rows(a, batch, len(flat)) for a in arrays]
        for k, result in enumerate(flat):
            state = [a if a is None or a.ndim == 1 else a[k] for a in rows]
            try:
                self.kernel.one(state, [result])
            except NotFiniteError:
                named = {a.name: x for a, x in zip(self.arguments, state, strict=True)}
                result[:] = self._answered(named, k, bool(batch))

    def _answered(self, state: dict[str, Array | None], k: int, of_batch: bool) -> Array:
        assert self._fallback is not None
        try:
            return self._fallback(state).reshape(-1)
        except WhippletreeError as error:
            if not of_batch:
                raise
            raise type(error)(f"in state {k}: {error}") from None

    def _explain(
        self, error: NotFiniteError, arrays: Sequence[Array | None], batch: tuple[int, ...], count: int
    ) -> Exception:
        """Find the number that is not finite, and name it."""
        for argument, array in zip(self.arguments, arrays, strict=True):
            if array is None or np.isfinite(array).all():
                continue
            index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
            return StateError(_not_finite(argument, array[index], index))
        rows = [a if a is None or not batch else _rows(a, batch, count) for a in arrays]
        state, number = self._first_fault(rows, error.state, count)
        where = f" of state {number}" if batch else ""
        return DynamicsError(f"the result{where} is not finite: {self._diagnose(state)}")

    def _first_fault(self, rows: Sequence[Array | None], start: int, count: int) -> tuple[dict[str, Array | None], int]:
        """Return the inputs and the index of the first state, from `start` on, whose result is not finite."""
        result = np.empty(self._size)
        for k in range(start, count):
            inputs = [a if a is None or a.ndim == 1 else a[k] for a in rows]
            try:
                self.kernel.one(inputs, [result])
            except NotFiniteError:
                break
        return {a.name: x for a, x in zip(self.arguments, inputs, strict=True)}, k


def checked_out(out: object, shape: tuple[int, ...]) -> Array:
    """Return an array given for a result, or raise an error that says why it cannot be one."""
    if not isinstance(out, np.ndarray) or out.dtype != np.float64:
        raise StateError("out= must be a float64 array")
    if out.shape != shape:
        raise StateError(f"out= must have the shape {shape}, not {out.shape}")
    if not out.flags.c_contiguous or not out.flags.writeable:
        raise StateError("out= must be contiguous and writeable")
    return out


def number_of_threads(threads: int | None) -> int:
    """Return how many threads work on a batch."""
    if threads is None:
        return processors()
    if isinstance(threads, bool) or not isinstance(threads, int | np.integer) or threads < 1:
        raise StateError(f"threads= must be a whole number of at least 1, not {shown(threads)}")
    return int(threads)


def batch_shape(arguments: Sequence[Argument], arrays: Sequence[Array | None]) -> tuple[int, ...]:
    """Return the shape that the arguments' leading dimensions broadcast to.

    >>> batch_shape([Argument("q", 2, str), Argument("v", 2, str)], [np.zeros((5, 2)), np.zeros(2)])
    (5,)
    """
    given = [(argument.name, a.shape) for argument, a in zip(arguments, arrays, strict=True) if a is not None]
    try:
        return np.broadcast_shapes(*(shape[:-1] for _, shape in given))
    except ValueError:
        shapes = ", ".join(f"{name} {shape}" for name, shape in given)
        raise StateError(f"the batches do not fit together: {shapes}; all leading sizes must agree") from None


def _not_finite(argument: Argument, value: float, index: tuple[int, ...]) -> str:
    state = state_in_batch(index[:-1])
    return f"{argument.name}[{index[-1]}]{state} is {value}: {argument.label(index[-1])} must be a finite number"


def _rows(array: Array, batch: tuple[int, ...], count: int) -> Array:
    """Return an argument as rows (count, size), or as one vector for all states."""
    if array.ndim == 1:
        return array
    size = array.shape[-1]
    return np.ascontiguousarray(np.broadcast_to(array, (*batch, size))).reshape(count, size)
