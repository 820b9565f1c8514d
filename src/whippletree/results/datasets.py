"""A run as labelled arrays, and back."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from whippletree._version import __version__
from whippletree.errors import ModelError, ResultError, StateError
from whippletree.foundation.arrays import Array
from whippletree.model.names import quoted, suggestion
from whippletree.results.certificate import Certificate
from whippletree.results.columns import columns
from whippletree.results.instants import Event
from whippletree.results.labels import Label, Labels
from whippletree.results.saved_models import model_text, system_of
from whippletree.spatial.scalars import shown

if TYPE_CHECKING:
    import xarray as xr

    from whippletree.results.trajectory import Trajectory
    from whippletree.system import System

__all__ = ["complete", "labelled", "restored"]

FORMAT = 1
"""The version of the contents of a file."""

AXES = ["x", "y", "z"]

Variables = dict[str, Any]


def labelled(run: Trajectory, what: tuple[str, ...]) -> xr.Dataset:
    """Return the states of a run as a dataset, and further quantities asked for.

    >>> from whippletree.results.example_runs import swing
    >>> dict(labelled(swing(), ("energy",)).sizes)
    {'time': 11, 'coordinate': 1, 'velocity': 1}
    """
    import xarray as xr

    variables = _states(run)
    coords = _coords(run.labels)
    for name in what:
        if not isinstance(name, str) or name not in _MORE:
            raise ModelError(f"a dataset has no quantity {suggestion(name, _MORE)}")
        more, along = _MORE[name](run)
        variables |= more
        coords |= along
    coords["time"] = ("time", run.t, {"units": "s"})
    return xr.Dataset(variables, coords, _attributes(run))


def complete(run: Trajectory) -> xr.Dataset:
    """Return everything there is to a run as a dataset: `restored` makes the run of it again."""
    data = labelled(run, ())
    data = data.assign_attrs(whippletree_run=FORMAT, certificate_ok=str(run.certificate.ok))
    texts = {"certificate": run.certificate.as_dict(), "info": run.info, "joints": list(run.labels.joints)}
    data = data.assign({name: ((), json.dumps(value, default=_plain)) for name, value in texts.items()})
    if run.system is not None:
        data = data.assign(model=((), model_text(run.system)))
    if run.parameters is not None:
        data = data.assign(parameters=(("time", "parameter")[-run.parameters.ndim :], run.parameters)).assign_coords(
            parameter=("parameter", _text(p.name for p in run.system.description.parameters) if run.system else [])
        )
    if run.efforts is not None:
        data = data.assign(tau=(("time", "velocity")[-run.efforts.ndim :], run.efforts))
    if run.work is not None:
        data = data.assign(work=(("time", "work_kind"), run.work, {"units": "J"}))
        data = data.assign_coords(work_kind=("work_kind", _text(("in", "dissipated"))))
    if run.events:
        data = data.assign(_events(run))
    return data


def restored(data: xr.Dataset, system: System | None, check: bool) -> dict[str, Any]:
    """Return the data of a run, from a dataset that `complete` made."""
    version = data.attrs.get("whippletree_run")
    if version is None:
        raise ResultError("it is not a run: runs are written by run.save(path)")
    if int(version) > FORMAT:
        raise ResultError(f"it was written by a later version of whippletree ({shown(data.attrs.get('whippletree'))})")
    labels = _labels(data)
    if system is not None:
        _check_system(labels, system, check)
    elif "model" in data:
        system = system_of(str(data["model"].item()), labels.fingerprint)
    n = data.sizes["time"]
    values: dict[str, object] = {"system": system, "t": data["time"].values, "labels": labels}
    for name, dims in _OF_STATES.items():
        values[name] = data[name].transpose(*dims).values if name in data else np.zeros((n, 0))
    values["certificate"] = Certificate.from_dict(json.loads(str(data["certificate"].item())))
    values["info"] = json.loads(str(data["info"].item()))
    values["parameters"] = data["parameters"].values if "parameters" in data else None
    values["efforts"] = data["tau"].values if "tau" in data else None
    values["work"] = data["work"].values if "work" in data else None
    values["events"] = _restored_events(data)
    return values


_OF_STATES = {"q": ("time", "coordinate"), "v": ("time", "velocity"), "z": ("time", "state")}


def _states(run: Trajectory) -> Variables:
    """Return the variables of the states; those without numbers are left out."""
    words = {"q": "coordinates", "v": "velocities", "z": "states of elements"}
    arrays = {name: (dims, getattr(run, name), {"long_name": words[name]}) for name, dims in _OF_STATES.items()}
    return {name: value for name, value in arrays.items() if value[1].shape[1]}


def _coords(labels: Labels) -> Variables:
    """Return the labels along coordinates, velocities and states, each with its joint and unit."""
    coords: Variables = {}
    for dim, own in (("coordinate", labels.coordinates), ("velocity", labels.velocities)):
        if own:
            coords[dim] = (dim, _text(label.text for label in own))
            coords[f"{dim}_joint"] = (dim, _text(label.owner for label in own))
            coords[f"{dim}_units"] = (dim, _text(label.unit or "1" for label in own))
    if labels.states:
        coords["state"] = ("state", _text(labels.states))
    return coords


def _attributes(run: Trajectory) -> dict[str, Any]:
    return {
        "title": f"run of {run.labels.mechanism}",
        "mechanism": run.labels.mechanism,
        "fingerprint": run.labels.fingerprint,
        "whippletree": __version__,
    }


def _text(words: Any) -> Any:
    return np.array([str(word) for word in words], dtype=object)


# ---------------------------------------------------------------------- quantities that can be added


def _accelerations(run: Trajectory) -> tuple[Variables, Variables]:
    return {"a": (("time", "velocity"), run.accelerations(), {"long_name": "accelerations"})}, {}


def _energy(run: Trajectory) -> tuple[Variables, Variables]:
    energy = run.energy()
    parts = {**energy._asdict(), "total": energy.total}
    return {f"{name}_energy": ("time", value, {"units": "J"}) for name, value in parts.items()}, {}


def _reactions(run: Trajectory) -> tuple[Variables, Variables]:
    found = run.reactions()
    dims = ("time", "joint", "axis")
    note = {"long_name": "on the child, at the joint, in ground axes"}
    variables = {
        "moment": (dims, found.wrenches[..., :3], {"units": "N m", **note}),
        "moment_unique": (dims, found.unique[..., :3]),
        "force": (dims, found.wrenches[..., 3:], {"units": "N", **note}),
        "force_unique": (dims, found.unique[..., 3:]),
    }
    return variables, {"joint": ("joint", _text(found)), "axis": ("axis", AXES)}


def _poses(run: Trajectory) -> tuple[Variables, Variables]:
    poses = _of_places(run, run.pose, (4, 4))
    variables = {
        "position": (("time", "body", "axis"), poses[..., :3, 3], {"units": "m"}),
        "rotation": (("time", "body", "axis", "own_axis"), poses[..., :3, :3], {"units": "1"}),
    }
    return variables, {**_bodies(run), "own_axis": ("own_axis", AXES)}


def _motions(run: Trajectory) -> tuple[Variables, Variables]:
    return _six(run, run.velocity, "velocity", "/s"), _bodies(run)


def _changes(run: Trajectory) -> tuple[Variables, Variables]:
    return _six(run, run.acceleration, "acceleration", "/s^2"), _bodies(run)


def _six(run: Trajectory, call: Callable[[str], Array], word: str, per: str) -> Variables:
    values = _of_places(run, call, (6,))
    dims = ("time", "body", "axis")
    return {
        f"angular_{word}": (dims, values[..., :3], {"units": f"rad{per}"}),
        f"linear_{word}": (dims, values[..., 3:], {"units": f"m{per}"}),
    }


def _of_places(run: Trajectory, call: Callable[[str], Array], shape: tuple[int, ...]) -> Array:
    """Return a quantity of all bodies and frames, (n, places, ...)."""
    places = _bodies(run)["body"][1]
    values = np.empty((len(run), len(places), *shape))
    for k, place in enumerate(places):
        values[:, k] = call(place)
    return values


def _bodies(run: Trajectory) -> Variables:
    if run.system is None:
        raise ResultError("bodies and frames need the run's system: load it with system=")
    description = run.system.description
    names = [*(body.name for body in description.bodies), *(frame.name for frame in description.frames)]
    return {"body": ("body", _text(names)), "axis": ("axis", AXES)}


def _forces(run: Trajectory) -> tuple[Variables, Variables]:
    found = columns(run, "forces")
    along = {"load": _text(label.text for label in found.labels), "load_units": _text(one.unit for one in found.labels)}
    note = {"long_name": "what force elements do to bodies and joints"}
    return {"loads": (("time", "load"), found.values, note)}, {name: ("load", texts) for name, texts in along.items()}


_MORE: dict[str, Callable[[Any], tuple[Variables, Variables]]] = {
    "accelerations": _accelerations,
    "energy": _energy,
    "reactions": _reactions,
    "forces": _forces,
    "poses": _poses,
    "body velocities": _motions,
    "body accelerations": _changes,
}

# ---------------------------------------------------------------------- reading


def _labels(data: xr.Dataset) -> Labels:
    """Return the labels that a file has."""

    def own(dim: str) -> tuple[Label, ...]:
        if dim not in data.coords:
            return ()
        found = []
        columns = (data[name].values for name in (dim, f"{dim}_joint", f"{dim}_units"))
        for text, joint, unit in zip(*columns, strict=True):
            found.append(Label(str(joint), str(text)[len(joint) + 1 :], "" if unit == "1" else str(unit)))
        return tuple(found)

    states = tuple(str(name) for name in data["state"].values) if "state" in data.coords else ()
    joints = tuple(str(name) for name in json.loads(str(data["joints"].item())))
    named = (str(data.attrs["mechanism"]), str(data.attrs["fingerprint"]))
    return Labels(*named, joints, own("coordinate"), own("velocity"), states)


def _check_system(labels: Labels, system: System, check: bool) -> None:
    """Refuse a system that the run was not made with."""
    mine = Labels.of(system)
    if mine.fingerprint == labels.fingerprint:
        return
    its, own = quoted(labels.mechanism), quoted(mine.mechanism)
    if (mine.joints, mine.coordinates, mine.states) != (labels.joints, labels.coordinates, labels.states):
        raise StateError(
            f"it is a run of {its} with {_in_words(labels)}, not of this system, {own} with {_in_words(mine)}"
        )
    if check:
        raise StateError(
            f"it is a run of another {its} than this system, {own}: the joints are the same, but masses, places or "
            f"other numbers are not (or it was folded, or described by another version of whippletree); build the "
            f"mechanism as it was, or pass check=False to use this one"
        )


def _in_words(labels: Labels) -> str:
    """Return a sentence about the system that the states of a run belong to."""
    states = f" and the states {_few(labels.states)}" if labels.states else ""
    return f"the joints {_few(labels.joints)}{states}"


def _few(names: tuple[str, ...], most: int = 20) -> str:
    """Return some names; those of a file may be many, and long."""
    said = [name if len(name) < 100 else shown(name) for name in names[:most]]
    return ", ".join([*said, "..."] if len(names) > most else said)


def _events(run: Trajectory) -> Variables:
    """Return the variables of the events."""
    variables: Variables = {
        "event_name": ("event", _text(event.name for event in run.events)),
        "event_time": ("event", np.array([event.t for event in run.events]), {"units": "s"}),
    }
    for name, (_, dim) in _OF_STATES.items():
        values = np.array([getattr(event, name) for event in run.events])
        if values.shape[1]:
            variables[f"event_{name}"] = (("event", dim), values)
    return variables


def _restored_events(data: xr.Dataset) -> tuple[Event, ...]:
    if "event_name" not in data:
        return ()
    names, times = data["event_name"].values, data["event_time"].values
    none = np.zeros((len(names), 0))
    parts = [data[f"event_{name}"].values if f"event_{name}" in data else none for name in _OF_STATES]
    return tuple(Event(str(name), float(t), *rows) for name, t, *rows in zip(names, times, *parts, strict=True))


def _plain(value: object) -> object:
    """Return a value of `info` as JSON has it: arrays as lists, anything else as text."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return str(value)
