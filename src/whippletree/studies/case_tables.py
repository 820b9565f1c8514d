"""The cases of a study, numbered: the last dimension counts fastest."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from whippletree.errors import StateError
from whippletree.foundation.arrays import AnyArray, Indices
from whippletree.foundation.user_frames import user_facing
from whippletree.model.names import quoted, suggestion
from whippletree.spatial.scalars import shown
from whippletree.studies.cases import CASE

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["RESERVED", "VECTORS", "Case", "CaseTable", "split_values"]

RESERVED = ("status", "words", "attempts")
"""Names of what a study itself says of each case."""

VECTORS = ("q", "v", "z", "tau")
"""Variables whose last dimension is not one of cases: states and efforts, with a number for each coordinate."""


@user_facing
class Case(Mapping[str, Any]):
    """One case: its variables by name, its number in the study, and a seed that follows from that number alone.

    >>> case = Case({"mass": 2.0}, 17, seed=5)
    >>> case["mass"], case.index, case.rng().random() == Case({}, 17, seed=5).rng().random()
    (2.0, 17, True)
    """

    __slots__ = ("_parameters", "_values", "index", "study_seed")

    def __init__(self, values: Mapping[str, Any], index: int, seed: int = 0, parameters: Iterable[str] = ()) -> None:
        self._values, self.index, self.study_seed, self._parameters = values, index, seed, parameters

    @property
    def parameters(self) -> dict[str, Any]:
        """The variables that are parameters of the mechanism, as every call of a system takes them."""
        return {name: self._values[name] for name in self._parameters}

    def __getitem__(self, name: str) -> Any:
        try:
            return self._values[name]
        except (KeyError, TypeError):  # what is no name has no hash at times
            raise StateError(f"the cases have no variable {suggestion(name, self._values)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        values = ", ".join(f"{name} = {value}" for name, value in self._values.items())
        return f"Case {self.index}: {values}"

    @property
    def seed(self) -> int:
        """A whole number for whatever is random in this case: it depends on the study's seed and on `index` alone."""
        return int(np.random.SeedSequence(self.study_seed, spawn_key=(self.index,)).generate_state(1, np.uint64)[0])

    def rng(self) -> np.random.Generator:
        """Return a new random generator, started with the seed."""
        return np.random.default_rng(self.seed)


class CaseTable:
    """Cases as arrays over their dimensions.

    >>> table = CaseTable({"mass": [1.0, 2.0, 3.0], "length": [0.1, 0.2, 0.3]})
    >>> len(table), table.dims, table.rows(1, 3)["length"]
    (3, ('case',), array([0.2, 0.3]))
    """

    def __init__(self, given: object) -> None:
        self.dataset = _as_dataset(given)
        self._vectors = {name: data.dims[-1] for name, data in self.dataset.variables.items() if name in VECTORS}
        inner = set(self._vectors.values())
        self.dims = tuple(str(dim) for dim in self.dataset.sizes if dim not in inner)
        self.shape = tuple(self.dataset.sizes[dim] for dim in self.dims)
        for name, dim in self._vectors.items():
            users = [str(other) for other, data in self.dataset.variables.items() if dim in data.dims[:-1]]
            if users:
                raise StateError(
                    f"the last dimension {quoted(dim)} of {quoted(name)} counts its coordinates, but in "
                    f"{quoted(users[0])} it counts cases: give it another name"
                )
        if not len(self):
            raise StateError("there are no cases: a dimension has length 0")
        for own in map(str, (*self.dataset.variables, *self.dims)):
            if own in RESERVED or not own:
                raise StateError(f"a variable of the cases cannot be called {quoted(own)}: results have that name")

    def __len__(self) -> int:
        return math.prod(self.shape)

    @property
    def stored(self) -> xr.Dataset:
        """The cases as they stand beside results: states and efforts as "given q", as results have these names too."""
        return self.dataset.rename({name: f"given {name}" for name in self._vectors})

    def check_apart(self, results: Mapping[str, Any]) -> None:
        """Refuse results whose names or dimensions (`.dims`) are those of cases."""
        for name, one in results.items():
            if name in self.stored.variables:
                raise StateError(f"{quoted(name)} is a variable of the cases: name the result differently")
            shared = {*one.dims, name}.intersection(self.dims)
            if shared:
                raise StateError(
                    f"the cases have a dimension {quoted(shared.pop())}, and so has the result {quoted(name)}: rename "
                    f"that of the cases, as cases.rename({{...}}) does"
                )

    def rows(self, start: int, stop: int) -> dict[str, AnyArray]:
        """Return the values of consecutive cases, (n,) or (n, k), by variable."""
        return self.at(np.arange(start, stop))

    def at(self, indices: Indices) -> dict[str, AnyArray]:
        """Return the values of cases by their numbers."""
        places = dict(zip(self.dims, np.unravel_index(indices, self.shape), strict=True)) if self.dims else {}
        found = {}
        for name, data in self.dataset.variables.items():
            along = data.dims[:-1] if name in self._vectors else data.dims
            picked = tuple(places[str(dim)] for dim in along)
            values = np.asarray(data.values)
            found[str(name)] = values[picked] if along else np.broadcast_to(values, (len(indices), *values.shape))
        return found

    @cached_property
    def fingerprint(self) -> str:
        """A sha256 of names, dimensions and numbers."""
        found = hashlib.sha256()
        for name, data in sorted(self.dataset.variables.items(), key=lambda item: str(item[0])):
            values = np.ascontiguousarray(data.values)
            text = values.dtype.kind not in "fiub"
            found.update(repr((str(name), data.dims, values.shape, "text" if text else values.dtype.str)).encode())
            found.update(repr(values.tolist()).encode() if text else values.tobytes())
        return found.hexdigest()


def split_values(rows: Mapping[str, AnyArray], k: int) -> dict[str, Any]:
    """Return the values of one of several cases.

    >>> split_values({"mass": np.array([1.0, 2.0])}, 1)
    {'mass': np.float64(2.0)}
    """
    return {name: values[k] for name, values in rows.items()}


def _as_dataset(given: Any) -> xr.Dataset:
    """Return cases as a dataset, whatever table they come as."""
    import xarray as xr

    if isinstance(given, xr.Dataset):
        dataset = given
    elif hasattr(given, "columns") and hasattr(given, "iloc"):  # a table of pandas: a case in each row
        dataset = xr.Dataset({str(name): (CASE, np.asarray(given[name])) for name in given.columns})
    elif isinstance(given, Mapping) and given:
        dataset = _of_mapping(given)
    else:
        raise StateError(
            f"cases= must be an xarray.Dataset, a mapping from names to arrays, or what wt.cases makes, "
            f"not {shown(given)}"
        )
    for name, data in dataset.variables.items():
        if data.dtype.kind in "fc" and not np.isfinite(data.values).all():
            raise StateError(f"the variable {quoted(name)} of the cases has numbers that are not finite")
    if not dataset.variables:
        raise StateError("the cases have no variables")
    return dataset


def _of_mapping(given: Mapping[Any, Any]) -> xr.Dataset:
    """Return arrays by name as a dataset: rows of one length vary together; others name their dimensions."""
    import xarray as xr

    variables: dict[str, Any] = {}
    for name, value in given.items():
        if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str | tuple | list):
            variables[str(name)] = value
            continue
        array = np.asarray(value.values if isinstance(value, xr.DataArray) else value)
        if isinstance(value, xr.DataArray):
            variables[str(name)] = (value.dims, array)
            continue
        most = 2 if name in VECTORS else 1
        if array.ndim > most or array.dtype == object:
            raise StateError(
                f"{quoted(name)} must be a number or a row of numbers, one for each case; an array over several "
                f"dimensions names them: (dimensions, values)"
            )
        inner = ("coordinate" if name == "q" else f"{name}_entry",) if name in VECTORS and array.ndim else ()
        variables[str(name)] = ((CASE,)[: array.ndim - len(inner)] + inner, array)
    try:
        return xr.Dataset(variables)
    except ValueError as error:
        sizes = ", ".join(f"{name}: {np.shape(data[1])}" for name, data in variables.items())
        raise StateError(
            f"the cases do not fit together ({sizes}): rows vary together, and wt.cases.grid multiplies them ({error})"
        ) from None
