"""The store of a study: arrays over its cases, in Zarr.

Cases are shared out in chunks of consecutive ones, and every array of the store is cut at the same places: a chunk has
a file of its own in each of them, which is written by whoever computes it, and by nobody else. The data come first,
the status last: a chunk counts as done when its status is there. A file is replaced as a whole (by Zarr since 3.1.3),
so a process that is killed leaves either the file or none. Results that nobody wants to have stored are in memory, in
the same arrays.

Nothing in a store is run: it holds numbers, texts and JSON.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote

import numpy as np

from whippletree.errors import ResultError, StateError
from whippletree.foundation.arrays import AnyArray, Indices
from whippletree.foundation.late_imports import needed_library
from whippletree.results.output_files import as_path
from whippletree.spatial.scalars import shown
from whippletree.studies.case_tables import RESERVED, CaseTable
from whippletree.studies.study_arrays import ChunkArray, MemoryArray, chunk_array

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "ATTEMPTS",
    "FAILED",
    "MISSING",
    "STATUS",
    "WORDS",
    "Chunk",
    "ChunkLayout",
    "Outcome",
    "StudyStore",
    "Variable",
    "joined",
    "shown_place",
]

FORMAT = 1
"""The version of the store's contents."""

STATUS, WORDS, ATTEMPTS = RESERVED

MISSING, FAILED = -1, 2
"""Status of a case that has not been computed; and the least of those that failed. 0 is done, 1 ended by an event."""

_KINDS: dict[str, tuple[str, Any]] = {WORDS: ("U", ""), ATTEMPTS: ("<i2", 0), STATUS: ("i1", MISSING)}
"""The study's own data on each case: the kind of numbers or texts, and the initial value."""

_IN_MEMORY = {"U": object}
"""Texts have any length."""

_MARK = "whippletree_study"

_SAFE = " !#$&'()+,-.;=@[]^_`{}~"
"""Characters of a name that stand as they are in the name of a folder."""


class Variable(NamedTuple):
    """An output of each case: its own dimensions and their sizes, the kind of its numbers, its attributes."""

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    kind: str
    attrs: dict[str, Any]


class Outcome(NamedTuple):
    """The outcome of some cases: arrays (n, ...), a status for each, and words for those that failed."""

    values: dict[str, AnyArray]
    status: AnyArray
    words: list[str]

    @property
    def failed(self) -> int:
        """How many cases failed."""
        return int(np.count_nonzero(self.status >= FAILED))


def joined(parts: Sequence[Outcome], shapes: Mapping[str, tuple[int, ...]]) -> Outcome:
    """Return the outcomes of several cases as that of all together; NaN for those that have no numbers.

    >>> parts = [Outcome({"x": np.ones(1)}, np.zeros(1), [""]), Outcome({}, np.full(1, 2.0), ["it fell over"])]
    >>> joined(parts, {"x": ()}).values["x"]
    array([ 1., nan])
    """
    values = {
        name: np.concatenate([part.values.get(name, np.full((len(part.status), *shape), np.nan)) for part in parts])
        for name, shape in shapes.items()
    }
    status = np.concatenate([part.status for part in parts])
    return Outcome(values, status, [words for part in parts for words in part.words])


class Chunk(NamedTuple):
    """Consecutive cases from `start` to `stop`, and where they are in arrays over the dimensions of the cases."""

    start: int
    stop: int
    region: tuple[slice, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many cases it has along each dimension."""
        return tuple(part.stop - part.start for part in self.region)


@dataclass(frozen=True)
class ChunkLayout:
    """How cases over several dimensions are cut into chunks of consecutive ones.

    >>> layout = ChunkLayout.of((4, 5, 10), 25)
    >>> layout.chunk, len(layout), layout[3].start, layout[3].region
    ((1, 2, 10), 12, 50, (slice(1, 2, None), slice(0, 2, None), slice(0, 10, None)))
    """

    shape: tuple[int, ...]
    chunk: tuple[int, ...]

    @classmethod
    def of(cls, shape: tuple[int, ...], most: int) -> ChunkLayout:
        """Return the layout with the largest chunks of at most so many cases: whole last dimensions, a part of one."""
        chunk, left = [], max(1, most)
        for size in reversed(shape):
            own = min(size, left)
            chunk.append(own)
            left = left // size if own == size else 1
        return cls(shape, tuple(reversed(chunk)))

    @property
    def counts(self) -> tuple[int, ...]:
        """How many chunks there are along each dimension."""
        return tuple(-(-size // own) for size, own in zip(self.shape, self.chunk, strict=True))

    def __len__(self) -> int:
        return math.prod(self.counts)

    def __getitem__(self, k: int) -> Chunk:
        places = np.unravel_index(k, self.counts) if self.counts else ()
        corners = [int(place) * own for place, own in zip(places, self.chunk, strict=True)]
        region = tuple(
            slice(corner, min(corner + own, size))
            for corner, own, size in zip(corners, self.chunk, self.shape, strict=True)
        )
        start = int(np.ravel_multi_index(corners, self.shape)) if corners else 0
        return Chunk(start, start + math.prod(part.stop - part.start for part in region), region)


class StudyStore:
    """The arrays of a study's store; `place` is a path, an address that Zarr knows, or a store of Zarr; None is memory.

    `group` is what Zarr has there; in memory it is the cases and labels, as coordinates of a dataset.
    """

    def __init__(self, place: Any, group: Any, notes: Mapping[str, Any]) -> None:
        self.place, self._group = place, group
        self.attributes: dict[str, Any] = dict(notes)

    # ------------------------------------------------------------------ making and opening

    @classmethod
    def create(
        cls,
        place: Any,
        table: CaseTable,
        variables: Mapping[str, Variable],
        labels: Mapping[str, Any],
        layout: ChunkLayout,
        identity: Mapping[str, Any],
    ) -> StudyStore:
        """Make a store for all cases, in which nothing is done yet."""
        notes = {
            _MARK: FORMAT,
            "identity": dict(identity),
            "dims": list(table.dims),
            "shape": list(layout.shape),
            "chunk": list(layout.chunk),
            "variables": list(variables),
        }
        fixed = {str(name): (data.dims, data.values) for name, data in table.stored.variables.items()}
        fixed |= {name: (one.dims, one.values) for name, one in labels.items()}
        if place is None:
            return cls._in_memory(fixed, notes, variables)
        zarr = _zarr()
        if not getattr(place, "supports_deletes", True):
            raise StateError(
                f"{shown_place(place)} cannot replace what is written: a study needs a folder, or a store that can"
            )
        with _in_words(place):
            group = zarr.open_group(place, mode="w-", zarr_format=3)
            for name, (dims, values) in fixed.items():
                _array(group, _key(name), values.shape, values.shape, values.dtype, dims, None)[...] = values
            for name, one in variables.items():
                whole, part = (*layout.shape, *one.shape), (*layout.chunk, *one.shape)
                dims = (*table.dims, *one.dims)
                made = _array(group, _key(name), whole, part, np.dtype(one.kind), dims, np.nan, plain=True)
                made.attrs.update(one.attrs)
            for name, (kind, fill) in _KINDS.items():
                _array(group, name, layout.shape, layout.chunk, np.dtype(kind), table.dims, fill, plain=name != WORDS)
            group.attrs.update(notes)  # last: without the mark it is no study
        return cls(place, group, notes)

    @classmethod
    def _in_memory(
        cls, fixed: Mapping[str, Any], notes: Mapping[str, Any], variables: Mapping[str, Variable]
    ) -> StudyStore:
        """Return arrays in memory."""
        shape = tuple(notes["shape"])
        made = cls(None, dict(fixed), notes)
        made.variables = dict(variables)
        arrays = {name: np.full((*shape, *one.shape), np.nan, dtype=one.kind) for name, one in variables.items()}
        for name, (kind, fill) in _KINDS.items():
            arrays[name] = np.full(shape, fill, dtype=_IN_MEMORY.get(kind, kind))
        made._arrays = {name: MemoryArray(values) for name, values in arrays.items()}
        return made

    @classmethod
    def open(cls, place: Any, *, writing: bool = True) -> StudyStore | None:
        """Open a store; None if there is none there."""
        zarr = _zarr()
        try:
            group = zarr.open_group(place, mode="r+" if writing else "r", zarr_format=3)
        except (FileNotFoundError, zarr.errors.GroupNotFoundError):
            if isinstance(place, str) and "://" not in place and as_path(place).is_dir() and any(Path(place).iterdir()):
                raise ResultError(f"{place} is a folder with something else in it: name another store=") from None
            return None
        except Exception as error:  # whatever a file that is no store makes Zarr raise
            raise ResultError(f"{shown_place(place)} is not a store of a study: {error}") from None
        version = group.attrs.get(_MARK)
        if version is None:
            raise ResultError(
                f"{shown_place(place)} is not a store of a study, or one that was never finished being made: "
                f"name another store=, or remove it"
            )
        if version != FORMAT:
            raise ResultError(f"{shown_place(place)} was written in format {version}, and this version reads {FORMAT}")
        return cls(place, group, dict(group.attrs))

    # ------------------------------------------------------------------ contents

    @cached_property
    def layout(self) -> ChunkLayout:
        """How its cases are cut into chunks."""
        return ChunkLayout(tuple(self.attributes["shape"]), tuple(self.attributes["chunk"]))

    @property
    def identity(self) -> dict[str, Any]:
        """The identity of the study, and its start."""
        return dict(self.attributes["identity"])

    @cached_property
    def variables(self) -> dict[str, Variable]:
        """The outputs."""
        n = len(self.layout.shape)
        found = {}
        for name in self.attributes["variables"]:
            array = self._group[_key(name)]
            dims = tuple(array.metadata.dimension_names or ())[n:]
            found[name] = Variable(dims, tuple(array.shape[n:]), array.dtype.str, dict(array.attrs))
        return found

    @cached_property
    def _arrays(self) -> dict[str, ChunkArray]:
        given = {name: self._group[_key(name)] for name in (*self.attributes["variables"], *RESERVED)}
        return {name: chunk_array(one, one.metadata.codecs) for name, one in given.items()}

    def status(self) -> AnyArray:
        """Return the status of all cases, in the order of their numbers."""
        return self._arrays[STATUS].whole().reshape(-1)

    def attempts(self) -> AnyArray:
        """Return how often each case was tried."""
        return self._arrays[ATTEMPTS].whole().reshape(-1)

    def words_of(self, indices: Indices) -> list[str]:
        """Return the words about some cases."""
        shape, words = self.layout.shape, self._arrays[WORDS]
        regions = (tuple(slice(int(k), int(k) + 1) for k in np.unravel_index(index, shape)) for index in indices)
        return [str(words.read(region if shape else ()).reshape(-1)[0]) for region in regions]

    def undone(self, status: AnyArray) -> Iterator[int]:
        """Yield the numbers of the chunks that are not done, given the status of all cases."""
        layout = self.layout
        missing = (status == MISSING).reshape(layout.shape)
        for k in range(len(layout)):
            if missing[layout[k].region].any():
                yield k

    def dataset(self) -> xr.Dataset:
        """Return everything as a dataset whose numbers are read when they are looked at."""
        import xarray as xr

        outputs = (*self.attributes["variables"], *RESERVED)
        if self.place is None:
            cases = tuple(self.attributes["dims"])
            inner = {name: (one.dims, one.attrs) for name, one in self.variables.items()}
            found = {name: (self._arrays[name].whole(), *inner.get(name, ((), {}))) for name in outputs}
            return xr.Dataset(
                {name: ((*cases, *dims), values, attrs) for name, (values, dims, attrs) in found.items()},
                coords=self._group,
                attrs=self.attributes,
            )
        data = xr.open_zarr(self._group.store, chunks=None, consolidated=False, mask_and_scale=False)
        names = {key: unquote(str(key)) for key in data.variables if unquote(str(key)) != key}
        data = data.drop_vars(names).assign({name: data[key].variable for key, name in names.items()})
        whole: xr.Dataset = data.set_coords([name for name in data.data_vars if name not in outputs])
        return whole

    # ------------------------------------------------------------------ writing

    def begin(self, chunk: Chunk) -> None:
        """Note that a chunk is being tried."""
        with _in_words(self.place):
            attempts = self._arrays[ATTEMPTS]
            tried = np.minimum(attempts.read(chunk.region), np.iinfo("i2").max - 1)
            attempts.write(chunk.region, tried + 1)

    def write(self, chunk: Chunk, outcome: Outcome) -> None:
        """Write the outcome of a chunk: the data first, the status last."""
        with _in_words(self.place):
            for name, values in outcome.values.items():
                if name not in self.variables:
                    continue  # what no case had that was looked at first
                self._arrays[name].write(chunk.region, values.reshape((*chunk.shape, *values.shape[1:])))
            if any(outcome.words):
                self._arrays[WORDS].write(chunk.region, np.array(outcome.words, dtype=object).reshape(chunk.shape))
            self._arrays[STATUS].write(chunk.region, outcome.status.reshape(chunk.shape))


def _key(name: str) -> str:
    """Return a name as that of an array in a folder, on any system; `urllib.parse.unquote` is the inverse.

    >>> _key("tip max"), _key("left/knee.angle")
    ('tip max', 'left%2Fknee.angle')
    """
    key = quote(name, safe=_SAFE)
    return key if key.strip(".") and key != "zarr.json" else key.replace(".", "%2E")


def shown_place(place: object) -> str:
    """Return where a store is, for messages."""
    return str(place) if isinstance(place, str | os.PathLike) else shown(place)


class _in_words:  # noqa: N801 (reads as a verb)
    """Says in words why a store could not be written."""

    def __init__(self, place: object) -> None:
        self._place = place

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError) and not isinstance(error, ResultError):
            why = error.strerror or str(error) or type(error).__name__
            raise ResultError(
                f"the store {shown_place(self._place)} could not be written ({why}): what is in it stays, and "
                f"resume() goes on when there is room and permission"
            ) from error


def _array(
    group: Any, name: str, shape: Any, chunk: Any, kind: Any, dims: Any, fill: Any, *, plain: bool = False
) -> Any:
    """Make an array of a store; the numbers of a `plain` one are stored as they are."""
    text = kind.kind in "OUT"
    return group.create_array(
        name,
        shape=shape,
        chunks=tuple(max(1, size) for size in chunk),
        dtype=str if text else kind,
        fill_value=("" if text else 0) if fill is None else fill,
        dimension_names=[str(dim) for dim in dims],
        **({"compressors": None} if plain else {}),
    )


def _zarr() -> Any:
    zarr = needed_library("zarr", "studies", "study")
    if tuple(int(part) for part in zarr.__version__.split(".")[:3]) < (3, 1, 3):
        raise StateError(
            f"studies need zarr 3.1.3 or later, which writes files as a whole, and this is {zarr.__version__}: "
            f'pip install --upgrade "whippletree[study]"'
        )
    return zarr
