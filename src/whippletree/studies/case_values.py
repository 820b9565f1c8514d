"""Values of many runs: arguments for all of them, with leading sizes that broadcast, and those of one run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from whippletree.errors import StateError
from whippletree.kernels.kernel import Array
from whippletree.model.names import suggestion
from whippletree.spatial.scalars import masked, shown
from whippletree.system import System

__all__ = ["CaseValues"]


class _Given(NamedTuple):
    """Numbers for one argument, or one entry of an argument that is given by name: `array` is (leading, own)."""

    argument: str
    entry: Any
    array: Array
    own: tuple[int, ...]

    @property
    def text(self) -> str:
        return self.argument if self.entry is None else f'{self.argument}["{getattr(self.entry, "name", self.entry)}"]'

    @property
    def leading(self) -> tuple[int, ...]:
        return self.array.shape[: self.array.ndim - len(self.own)]


class CaseValues:
    """The start, the efforts and the parameters of many runs.

    Each argument may have leading sizes: `q` (..., nq), or by joint (...) and (..., k) where a joint has several
    coordinates; likewise `v`, `tau`, `z` and `parameters`; `t0` (...). The leading sizes broadcast to `shape`.

    >>> from whippletree.system.example_systems import quarter_car
    >>> values = CaseValues(quarter_car(), v={"wheel travel": [0.1, 0.2]}, t0=1.0)
    >>> len(values), values.of(1)
    (2, {'v': {'wheel travel': array(0.2)}, 't0': 1.0})
    """

    def __init__(self, system: System, **given: object) -> None:
        self._described = system.description.parameter_values
        self._names = [one.name for one in system.description.parameters]
        self._given: list[_Given] = []
        self._whole: dict[str, object] = {}  # empty mappings, which have no sizes
        for argument, value in given.items():
            if isinstance(value, Mapping):
                self._whole[argument] = {}
                self._given += [_by_name(system, argument, name, own) for name, own in value.items()]
            elif value is not None:
                self._given.append(_read(argument, None, value, _sizes(system)[argument]))
        try:
            self.shape = np.broadcast_shapes(*(one.leading for one in self._given))
        except ValueError:
            sizes = ", ".join(f"{one.text} {one.leading}" for one in self._given if one.leading)
            raise StateError(f"the runs' leading sizes do not fit together: {sizes}") from None
        self._spread = [np.broadcast_to(one.array, (*self.shape, *one.own)) for one in self._given]

    def __len__(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    def of(self, number: int) -> dict[str, Any]:
        """Return the arguments of one run, counted through all dimensions, as a call for it alone takes them."""
        where = np.unravel_index(number, self.shape)
        found: dict[str, Any] = {name: {} for name in self._whole}
        for one, spread in zip(self._given, self._spread, strict=True):
            value = spread[where]
            if one.entry is None:
                found[one.argument] = value if one.own else float(value)
            else:
                found[one.argument][one.entry] = value if one.own else np.asarray(value)
        return found

    def parameter_rows(self, numbers: range) -> Array:
        """Return the values of all parameters in some runs (n, np)."""
        where = np.unravel_index(np.asarray(numbers), self.shape or (1,))
        rows = np.tile(np.array(self._described, dtype=np.float64), (len(numbers), 1))
        for one, spread in zip(self._given, self._spread, strict=True):
            if one.argument == "parameters":
                rows[:, slice(None) if one.entry is None else self._names.index(one.entry)] = spread[
                    where if self.shape else ...
                ]
        return rows

    def varying(self, argument: str) -> dict[str, Array]:
        """Return the arguments by name that differ from run to run: (runs' shape, own)."""
        return {
            str(getattr(one.entry, "name", one.entry)): spread
            for one, spread in zip(self._given, self._spread, strict=True)
            if one.argument == argument and one.entry is not None and one.leading
        }

    def spread(self, argument: str) -> Array | None:
        """Return the values of an argument that is given whole, for all runs; None if it was not given so."""
        for one, spread in zip(self._given, self._spread, strict=True):
            if one.argument == argument and one.entry is None:
                return np.asarray(spread)
        return None


def _sizes(system: System) -> dict[str, tuple[int, ...]]:
    """Return the shape that each argument has for one run."""
    np_ = len(system.description.parameters)
    return {
        "q": (system.nq,),
        "v": (system.nv,),
        "tau": (system.nv,),
        "z": (system.nz,),
        "parameters": (np_,),
        "t0": (),
    }


def _by_name(system: System, argument: str, name: Any, value: object) -> _Given:
    """Read one entry of an argument that is given by joint, or by parameter."""
    if argument == "parameters":
        known = [one.name for one in system.description.parameters]
        if name not in known:
            raise StateError(f"there is no parameter {suggestion(name, known)}")
        return _read(argument, name, value, ())
    if argument not in ("q", "v", "tau"):
        raise StateError(f"{argument}= cannot be given by name: give an array")
    place = (system.q_slice if argument == "q" else system.v_slice)(name)
    count = place.stop - place.start
    return _read(argument, name, value, () if count == 1 else (count,))


def _read(argument: str, entry: Any, value: object, own: tuple[int, ...]) -> _Given:
    """Return numbers as an array whose last sizes are an argument's own."""
    try:
        array = np.array(None) if masked(value) else np.asarray(value)
    except Exception:  # whatever a foreign sequence raises, it is no array
        array = np.array(None)
    one = _Given(argument, entry, array, own)
    if array.dtype.kind not in "fiu":
        raise StateError(f"{one.text} must hold real numbers, not {shown(value)}")
    if own and array.ndim == 0 and own == (1,):
        array = array.reshape(1)
    if array.ndim < len(own) or array.shape[array.ndim - len(own) :] != own:
        raise StateError(
            f"{one.text} must have the last size {own[0]}, with the runs' sizes before it, but its shape is "
            f"{array.shape}"
        )
    return one._replace(array=array.astype(np.float64))
