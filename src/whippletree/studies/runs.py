"""The result of many runs: labelled arrays with a status for each, and the trajectory of any one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from whippletree._version import __version__
from whippletree.errors import StateError, WhippletreeError
from whippletree.foundation.arrays import Array, FilePath
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing
from whippletree.results.tables import save_dataset
from whippletree.results.trajectory import Trajectory
from whippletree.spatial.scalars import shown
from whippletree.studies.case_values import CaseValues
from whippletree.studies.run_outputs import RunOutput
from whippletree.system import System

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["DONE", "ENDED", "FAILED", "NOT_MADE", "NOT_STARTED", "RunStatuses", "Runs"]

DONE, ENDED, FAILED, NOT_STARTED, NOT_MADE = range(5)
_MEANINGS = "done ended_by_event failed not_started not_made"
"""The meanings of the numbers of a status, in the words of the CF conventions."""

_FIGURES = (
    ("closure_residual", "1"),
    ("velocity_residual", "1/s"),
    ("energy_error", "J"),
    ("energy_drift", "J"),
    ("energy_limit", "J"),
    ("quaternion_error", "1"),
    ("digits", "1"),
    ("steps", "1"),
    ("refused", "1"),
    ("evaluations", "1"),
)
"""The figures of certificates that are kept of every run, and their units."""


class RunStatuses:
    """How each of many runs ended, and the figures of its certificate.

    >>> statuses = RunStatuses(2)
    >>> statuses.put(0, None, StateError("the loops are open"))
    >>> statuses.status.tolist(), statuses.words
    ([3, 4], {0: 'the loops are open'})
    """

    def __init__(self, count: int) -> None:
        self.status = np.full(count, NOT_MADE, dtype=np.int8)
        self.words: dict[int, str] = {}
        self.ok = np.zeros(count, dtype=bool)
        self.end = np.full(count, np.nan)
        self.figures = np.full((count, len(_FIGURES)), np.nan)

    def put(self, number: int, run: Trajectory | None, error: WhippletreeError | None) -> None:
        """Note how a run ended: with an error, and before that as far as its trajectory."""
        said = "" if error is None else str(error)
        if run is None:
            self.status[number] = NOT_STARTED
        else:
            certificate, ended = run.certificate, run.info.get("ended_by")
            self.status[number] = DONE if ended is None else ENDED
            if error is not None or certificate.stopped:
                self.status[number] = NOT_MADE if certificate.stopped == "interrupted" else FAILED
            said = said or (f'ended by event "{ended}"' if ended else "; ".join(certificate.problems))
            self.ok[number], self.end[number] = certificate.ok, run.t[-1]
            self.figures[number] = [getattr(certificate, name) for name, _ in _FIGURES]
        if said:
            self.words[number] = said

    def variables(self, dims: tuple[str, ...], shape: tuple[int, ...]) -> dict[str, Any]:
        """Return them as variables of a dataset."""
        words = np.full(len(self.status), "", dtype=object)
        for number, said in self.words.items():
            words[number] = said
        flags = {"flag_values": "0 1 2 3 4", "flag_meanings": _MEANINGS}
        found: dict[str, Any] = {
            "status": (dims, self.status.reshape(shape), flags),
            "words": (dims, words.reshape(shape)),
            "end_time": (dims, self.end.reshape(shape), {"units": "s"}),
            "certificate_ok": (dims, self.ok.reshape(shape)),
        }
        for (name, units), column in zip(_FIGURES, self.figures.T, strict=True):
            found[name] = (dims, column.reshape(shape), {"units": units})
        return found


@readable
@user_facing
class Runs:
    """Many runs: the result of `system.simulate_many`.

    `dataset` has what was asked for as labelled arrays over the runs, with units; the `status` of every run (0 done, 1
    ended by an event, 2 failed on its way, 3 not started, 4 not made because the call was interrupted), its `words`,
    and the figures of its certificate. `runs[17]` is the `Trajectory` of one run, `runs[2, 5]` where runs have two
    dimensions; one whose states were not kept is made again, to the same bits.

    >>> from whippletree.system.example_systems import pendulum
    >>> runs = pendulum().simulate_many(1.0, v={"hinge": [1.0, 2.0]}, outputs="final")
    >>> runs.dataset["status"].values.tolist(), runs[1].t[-1]
    ([0, 0], np.float64(1.0))
    """

    def __init__(
        self,
        system: System,
        values: CaseValues,
        t: Array,
        statuses: RunStatuses,
        outputs: list[RunOutput],
        again: Callable[[int], Trajectory],
    ) -> None:
        self.system, self.shape = system, values.shape
        self._values, self._t, self._statuses, self._outputs, self._again = values, t, statuses, outputs, again
        self._dataset: xr.Dataset | None = None

    def __len__(self) -> int:
        return len(self._values)

    def __str__(self) -> str:
        counts = np.bincount(self._statuses.status, minlength=5)
        said = [f"{n} {word.replace('_', ' ')}" for n, word in zip(counts, _MEANINGS.split(), strict=True) if n]
        lines = [f'{len(self)} runs of "{self.system.description.name}": {", ".join(said)}']
        doubtful = int(np.count_nonzero((self._statuses.status <= ENDED) & ~self._statuses.ok))
        lines += [f"{doubtful} of them with a certificate that is not ok"] if doubtful else []
        lines += [f"  {n}: {self._statuses.words[n]}" for n in sorted(self._statuses.words)[:_LISTED]]
        return "\n".join(lines)

    def __iter__(self) -> Iterator[Trajectory]:
        return (self._one(number) for number in range(len(self)))

    def __getitem__(self, key: object) -> Trajectory:
        """Return the trajectory of a run, by its number, or its numbers along the runs' dimensions.

        >>> from whippletree.system.example_systems import pendulum
        >>> runs = pendulum().simulate_many(1.0, v={"hinge": [1.0, 2.0]}, every=0.5)
        >>> runs[-1].v[0]
        array([2.])
        """
        return self._one(self._number(key))

    def _number(self, key: object) -> int:
        """Return the number of a run, counted through all dimensions."""
        keys = key if isinstance(key, tuple) else (key,)
        sizes = self.shape if len(keys) > 1 else (len(self),)
        whole = all(isinstance(one, int | np.integer) and not isinstance(one, bool) for one in keys)
        if not whole or len(keys) != len(sizes):
            raise StateError(f"a run is picked by its number, or by {len(self.shape)} of them, not by {shown(key)}")
        if not all(-size <= one < size for one, size in zip(keys, sizes, strict=True)):
            raise StateError(f"there is no run {shown(key)}: their sizes are {self.shape}")
        return int(np.ravel_multi_index([one % size for one, size in zip(keys, sizes, strict=True)], sizes))

    def _one(self, number: int) -> Trajectory:
        status = self._statuses.status[number]
        if status in (NOT_STARTED, NOT_MADE):
            raise StateError(
                f"run {number} was not made: {self._statuses.words.get(number, 'the call was interrupted')}"
            )
        for output in self._outputs:
            kept = output.trajectory(number)
            if kept is not None:
                return kept
        try:
            return self._again(number)
        except WhippletreeError as error:
            if getattr(error, "trajectory", None) is None:
                raise
            return error.trajectory  # type: ignore[attr-defined, no-any-return]

    @property
    def dataset(self) -> xr.Dataset:
        """The outputs asked for, as labelled arrays over the runs and time.

        >>> from whippletree.system.example_systems import pendulum
        >>> runs = pendulum().simulate_many(1.0, v={"hinge": [1.0, 2.0]}, outputs={"hinge": ["max", "time of max"]})
        >>> runs.dataset["hinge max"].dims, runs.dataset["hinge max"].units
        (('run',), 'rad')
        """
        if self._dataset is None:
            self._dataset = self._labelled()
        return self._dataset

    def _labelled(self) -> xr.Dataset:
        import xarray as xr

        dims = ("run",) if len(self.shape) == 1 else tuple(f"run_{k}" for k in range(len(self.shape)))
        variables: dict[str, Any] = {}
        coords: dict[str, Any] = {}
        for output in self._outputs:
            found, along = output.variables(dims, self.shape)
            variables |= found
            coords |= along
        if any("time" in value[0] for value in variables.values()):
            coords["time"] = ("time", self._t, {"units": "s"})
        variables |= self._statuses.variables(dims, self.shape)
        for name, values in self._values.varying("parameters").items():
            if name not in variables and name not in coords:
                coords[name] = (dims, values)
        named = self.system.description
        about = {"title": f"runs of {named.name}", "mechanism": named.name, "fingerprint": named.fingerprint()}
        return xr.Dataset(variables, coords, {**about, "whippletree": __version__})

    def save(self, path: FilePath) -> None:
        """Write the dataset as NetCDF ("runs.nc"), whole or not at all; `xarray.open_dataset` reads it."""
        save_dataset(self.dataset, path)


_LISTED = 5
"""How many runs that went wrong are printed."""
