"""The outputs of each of many runs: states over time, final states, quantities by name, statistics, functions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from whippletree.errors import StateError, WhippletreeError
from whippletree.kernels.kernel import Array
from whippletree.model.names import suggestion
from whippletree.results.columns import columns
from whippletree.results.labels import Label, Labels
from whippletree.results.trajectory import Trajectory
from whippletree.simulate.simulation import State
from whippletree.spatial.scalars import shown
from whippletree.system import System

__all__ = ["RunOutput", "Variables", "run_outputs"]

Variables = dict[str, Any]

_WEIGHED = 2  # outputs that a mean over time needs


class RunOutput(Protocol):
    """One thing that is kept of each run."""

    def take(self, number: int, run: Trajectory, made: int) -> None:
        """Keep it of a run; one that has ended early has made fewer outputs, and has one more state at its end."""

    def variables(self, dims: tuple[str, ...], shape: tuple[int, ...]) -> tuple[Variables, Variables]:
        """Return variables and coordinates of a dataset; `dims` and `shape` are those of the runs."""

    def trajectory(self, number: int) -> Trajectory | None:
        """Return the whole trajectory of a run, if this output keeps it."""


def run_outputs(system: System, asked: object, count: int, t: Array) -> list[RunOutput]:
    """Return the outputs of `outputs=`, checked; `t` are the times of the outputs.

    >>> from whippletree.system.example_systems import pendulum
    >>> [type(one).__name__ for one in run_outputs(pendulum(), ["final", "rod.velocity"], 3, np.zeros(2))]
    ['_FinalState', '_WholeQuantity']
    """
    if isinstance(asked, Mapping):
        return [_output(system, name, how, count, t) for name, how in asked.items()]
    if callable(asked) and not hasattr(asked, "name"):
        return [_FinalFunction(None, asked, count)]
    items = [asked] if isinstance(asked, str) or not isinstance(asked, Sequence) else list(asked)
    return [_output(system, one, None, count, t) for one in items]


def _output(system: System, name: Any, how: Any, count: int, t: Array) -> RunOutput:
    """Return one output: a quantity by name, with statistics or whole, or a function with its name."""
    if how is None and isinstance(name, str) and name in _WORDS:
        return _WORDS[name](system, count, t)
    if callable(how):
        return _FinalFunction(str(name), how, count)
    labels = _labels(system, name)
    text = str(getattr(name, "name", name))
    if how is None:
        return _WholeQuantity(text, labels, count, t)
    wanted = [how] if isinstance(how, str) else how
    if not isinstance(wanted, Sequence) or not wanted:
        raise StateError(f'outputs= takes statistics over time of "{text}" as text, or as a list, not {shown(how)}')
    return _Statistics(text, labels, [(str(one), _statistic(one)) for one in wanted], count)


def _labels(system: System, name: Any) -> tuple[Label, ...]:
    """Return the labels of the numbers of a quantity; an unknown one is refused."""
    start = Trajectory(system, [0.0], system.q0[None], system.v0[None], work=np.zeros((1, 2)))
    return columns(start, name).labels


# ---------------------------------------------------------------------- states


class _OneOutput:
    """The base of all outputs: unless they say otherwise, they keep no trajectory."""

    def trajectory(self, number: int) -> Trajectory | None:
        return None


class _OverTime:
    """The states at all outputs; NaN where a run had ended."""

    def __init__(self, system: System, count: int, t: Array) -> None:
        self._system, self._count, self._outputs = system, count, len(t)
        self._runs: dict[int, tuple[Trajectory, int]] = {}

    def take(self, number: int, run: Trajectory, made: int) -> None:
        self._runs[number] = run, made

    def trajectory(self, number: int) -> Trajectory | None:
        return self._runs[number][0]

    def variables(self, dims: tuple[str, ...], shape: tuple[int, ...]) -> tuple[Variables, Variables]:
        sizes = {"q": self._system.nq, "v": self._system.nv, "z": self._system.nz}
        parts = {name: np.full((self._count, self._outputs, size), np.nan) for name, size in sizes.items()}
        for number, (run, made) in self._runs.items():
            for name, rows in parts.items():
                rows[number, :made] = getattr(run, name)[:made]
        whole = {name: rows.reshape(*shape, *rows.shape[1:]) for name, rows in parts.items()}
        return _of_states(Labels.of(self._system), whole, dims)


class _FinalState(_OneOutput):
    """The state in which each run ended, and when."""

    def __init__(self, system: System, count: int, t: Array) -> None:
        self._labels = Labels.of(system)
        self._end = np.full(count, np.nan)
        self._parts = {
            name: np.full((count, size), np.nan)
            for name, size in (("q", system.nq), ("v", system.nv), ("z", system.nz))
        }

    def take(self, number: int, run: Trajectory, made: int) -> None:
        self._end[number] = run.t[-1]
        for name, rows in self._parts.items():
            rows[number] = getattr(run, name)[-1]

    def variables(self, dims: tuple[str, ...], shape: tuple[int, ...]) -> tuple[Variables, Variables]:
        parts = {f"final_{n}": a.reshape(*shape, a.shape[1]) for n, a in self._parts.items()}
        found, coords = _of_states(self._labels, parts, dims, over_time=False)
        return found | {"final_time": (dims, self._end.reshape(shape), {"units": "s"})}, coords


def _of_states(
    labels: Labels, parts: Mapping[str, Array], dims: tuple[str, ...], *, over_time: bool = True
) -> tuple[Variables, Variables]:
    """Return states as variables, with labels along their last dimension."""
    along = {"q": "coordinate", "v": "velocity", "z": "state"}
    words = {"q": "coordinates", "v": "velocities", "z": "states of elements"}
    named = {"q": labels.coordinates, "v": labels.velocities, "z": tuple(Label(one, "", "") for one in labels.states)}
    found: Variables = {}
    coords: Variables = {}
    for name, array in parts.items():
        kind = name[-1]
        if not array.shape[-1]:
            continue
        dim = along[kind]
        found[name] = ((*dims, "time", dim) if over_time else (*dims, dim), array, {"long_name": words[kind]})
        coords[dim] = (dim, _text(label.text for label in named[kind]))
        coords[f"{dim}_units"] = (dim, _text(label.unit or "1" for label in named[kind]))
    return found, coords


_WORDS: dict[Any, Callable[[System, int, Array], RunOutput]] = {"state": _OverTime, "final": _FinalState}

# ---------------------------------------------------------------------- quantities by name


class _WholeQuantity(_OneOutput):
    """A quantity over time; NaN where a run had ended."""

    def __init__(self, name: str, labels: tuple[Label, ...], count: int, t: Array) -> None:
        self._name, self._labels = name, labels
        self._values = np.full((count, len(t), len(labels)), np.nan)

    def take(self, number: int, run: Trajectory, made: int) -> None:
        self._values[number, :made] = columns(run, self._name).values[:made]

    def variables(self, dims: tuple[str, ...], shape: tuple[int, ...]) -> tuple[Variables, Variables]:
        values = self._values.reshape(*shape, *self._values.shape[1:])
        return _labelled(self._name, self._labels, values, (*dims, "time"))


class _Statistics(_OneOutput):
    """Statistics over time of a quantity, of all outputs and the state in which a run ended."""

    def __init__(self, name: str, labels: tuple[Label, ...], wanted: list[tuple[str, Statistic]], count: int) -> None:
        self._name, self._labels, self._wanted = name, labels, wanted
        self._values = {word: np.full((count, len(labels)), np.nan) for word, _ in wanted}

    def take(self, number: int, run: Trajectory, made: int) -> None:
        values = columns(run, self._name).values
        for word, statistic in self._wanted:
            self._values[word][number] = statistic(run.t, values)

    def variables(self, dims: tuple[str, ...], shape: tuple[int, ...]) -> tuple[Variables, Variables]:
        found: Variables = {}
        coords: Variables = {}
        for word, values in self._values.items():
            labels = tuple(one._replace(unit="s") for one in self._labels) if word in _TIMES else self._labels
            whole = values.reshape(*shape, len(labels))
            own, along = _labelled(f"{self._name} {word}", labels, whole, dims, self._name)
            found |= own
            coords |= along
        return found, coords


def _labelled(
    name: str, labels: tuple[Label, ...], values: Array, dims: tuple[str, ...], owner: str = ""
) -> tuple[Variables, Variables]:
    """Return a quantity as a variable; one that has several numbers has a dimension with their names."""
    units = {label.unit for label in labels}
    said = {"units": units.pop() or "1"} if len(units) == 1 else {}
    if len(labels) == 1:
        return {name: (dims, values[..., 0], said)}, {}
    dim = f"{owner or name} component"
    coords = {dim: (dim, _text(label.text for label in labels))}
    if not said:
        coords[f"{dim} units"] = (dim, _text(label.unit or "1" for label in labels))
    return {name: ((*dims, dim), values, said)}, coords


Statistic = Callable[[Array, Array], Array]
"""A function of times (n,) and values (n, k) that returns (k,)."""


def _mean(t: Array, values: Array) -> Array:
    """Return the mean over time, by the trapezoidal rule."""
    if len(t) < _WEIGHED:
        return np.asarray(values[-1])
    widths = np.diff(t)[:, None]
    return np.asarray((0.5 * widths * (values[1:] + values[:-1])).sum(axis=0) / widths.sum())


_STATISTICS: dict[str, Statistic] = {
    "min": lambda t, values: values.min(axis=0),
    "max": lambda t, values: values.max(axis=0),
    "time of min": lambda t, values: t[values.argmin(axis=0)],
    "time of max": lambda t, values: t[values.argmax(axis=0)],
    "mean": _mean,
    "rms": lambda t, values: np.sqrt(_mean(t, values**2)),
    "final": lambda t, values: values[-1],
    "median": lambda t, values: np.quantile(values, 0.5, axis=0),
}
_TIMES = ("time of min", "time of max")


def _statistic(word: object) -> Statistic:
    """Return a statistic by its name.

    >>> _statistic("quantile 0.25")(np.arange(5.0), np.arange(5.0)[:, None])
    array([1.])
    """
    if isinstance(word, str) and word in _STATISTICS:
        return _STATISTICS[word]
    head, _, share = word.partition(" ") if isinstance(word, str) else ("", "", "")
    try:
        part = float(share) if head == "quantile" else np.nan
    except ValueError:
        part = np.nan
    if not 0.0 <= part <= 1.0:
        raise StateError(f"there is no statistic {suggestion(word, [*_STATISTICS, 'quantile 0.95'])}")
    return lambda t, values: np.asarray(np.quantile(values, part, axis=0))


# ---------------------------------------------------------------------- functions of the final state


class _FinalFunction(_OneOutput):
    """A user's function of the final state: a number, an array, or several by name."""

    def __init__(self, name: str | None, function: Callable[[State], Any], count: int) -> None:
        self._name, self._function, self._count = name, function, count
        self._values: dict[str, Array] = {}
        self._lock = threading.Lock()

    def take(self, number: int, run: Trajectory, made: int) -> None:
        work = np.zeros(2) if run.work is None else run.work[-1]
        state = State(float(run.t[-1]), run.q[-1].copy(), run.v[-1].copy(), run.z[-1].copy(), *work.tolist())
        try:
            given = self._function(state)
        except WhippletreeError:
            raise
        except Exception as error:  # whatever a user's function raises is told of its run
            raise StateError(f"the function of outputs= raised {type(error).__name__}: {error}") from error
        default = self._name or getattr(self._function, "__name__", "output").strip("<>")
        found = given if isinstance(given, Mapping) else {default: given}
        for name, value in found.items():
            self._put(str(name), number, value)

    def _put(self, name: str, number: int, value: object) -> None:
        try:
            array = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise StateError(f"the function of outputs= must return numbers, not {shown(value)}") from None
        with self._lock:
            if name not in self._values:
                self._values[name] = np.full((self._count, *array.shape), np.nan)
        rows = self._values[name]
        if rows.shape[1:] != array.shape:
            raise StateError(
                f"the function of outputs= returned an array of shape {array.shape}, and {rows.shape[1:]} of other runs"
            )
        rows[number] = array

    def variables(self, dims: tuple[str, ...], shape: tuple[int, ...]) -> tuple[Variables, Variables]:
        return {
            name: ((*dims, *(f"{name}_{k}" for k in range(rows.ndim - 1))), rows.reshape(*shape, *rows.shape[1:]))
            for name, rows in self._values.items()
        }, {}


# ---------------------------------------------------------------------- shared


def _text(words: Any) -> Any:
    return np.array([str(word) for word in words], dtype=object)
