"""The work of a study on its cases: a call of the system by name, or a function of the user's, and its numbers.

Whatever the call returns becomes arrays by name, the same ones with the same sizes for every case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr  # not when the first case needs it, whose time is limited

from whippletree.equilibria import Equilibrium
from whippletree.errors import StateError
from whippletree.foundation.arrays import AnyArray
from whippletree.kinematics import JointSweep
from whippletree.kinematics.sweep_tables import columns
from whippletree.linear import LinearModel
from whippletree.model.io import Model
from whippletree.model.names import quoted, suggestion
from whippletree.spatial.scalars import shown
from whippletree.studies.case_tables import RESERVED
from whippletree.studies.study_stores import Variable
from whippletree.system import Reactions, System

if TYPE_CHECKING:
    from whippletree.studies.case_tables import Case

__all__ = [
    "CALLS",
    "CaseColumns",
    "CaseNumbers",
    "Found",
    "arguments_of",
    "one_result",
    "simulated",
    "start_of",
    "variables_of",
]

_AXES = np.array(["x", "y", "z"])
_NUMBER = (float, int)


class CaseNumbers(NamedTuple):
    """Numbers of one case, or of several with the cases first: their dimensions, the array, and its attributes.

    A `label` is the same for all cases: the names, places or units along a dimension.
    """

    dims: tuple[str, ...]
    values: AnyArray
    attrs: dict[str, Any] = {}  # noqa: RUF012 (never changed)
    label: bool = False


Found = dict[str, CaseNumbers]


def arguments_of(
    system: System, do: object, values: Mapping[str, Any], options: Mapping[str, Any], *, variants: bool = False
) -> dict[str, Any]:
    """Return the arguments of a call: its options, with parameters, states and efforts from the variables of cases.

    Where models are variants, a variable that a model does not know has been used to make it.

    >>> from whippletree.system.example_systems import pendulum
    >>> arguments_of(pendulum(), "simulate", {"q": np.zeros(1)}, {"every": 0.1})
    {'every': 0.1, 'q': array([0.])}
    """
    parameters = {one.name for one in system.description.parameters}
    found, own = dict(options), {name: value for name, value in values.items() if name in parameters}
    known = _ARGUMENTS.get(do, ()) if isinstance(do, str) else _ARGUMENTS["simulate"]
    for name, value in values.items():
        if name in own:
            continue
        if name in known:
            found[name] = value
        elif not variants:
            raise StateError(
                f'"{system.description.name}" has no parameter {suggestion(name, (*parameters, *known))}: variables of '
                f"the cases are parameters of the mechanism, or {', '.join(known)}"
            )
    if own:
        given = options.get("parameters") or {}
        if not isinstance(given, Mapping):
            raise StateError("parameters= beside cases that vary some must be given by name: parameters={'mass': 2.0}")
        found["parameters"] = {**given, **own}
    return found


def start_of(model: object, system: System) -> dict[str, Any]:
    """Return the start of a model's runs unless cases give another: that of its file."""
    if not isinstance(model, Model):
        return {}
    if model.start.get("equilibrium"):
        return {"start": "equilibrium", "v": model.start.get("velocities") or None}
    q, v = model.initial(system)
    return {"q": q, "v": v}


def simulated(
    system: System,
    rows: Mapping[str, AnyArray],
    count: int,
    keep: object,
    options: Mapping[str, Any],
    *,
    variants: bool = False,
) -> tuple[Found, AnyArray, list[str]]:
    """Simulate several cases in one call; return the numbers of all, with the cases first, a status and words."""
    given = arguments_of(system, "simulate", rows, options, variants=variants)
    given["t0"] = np.broadcast_to(given.get("t0", 0.0), count)  # as many runs as cases, whatever varies
    data = system.simulate_many(**given, outputs="state" if keep is None else keep, threads=1).dataset
    found: Found = {}
    for name, one in data.variables.items():
        label, dims = str(name), tuple(str(dim) for dim in one.dims)
        if dims[:1] != ("run",):
            found[label] = CaseNumbers(dims, one.values, {**one.attrs}, label=True)
        elif label not in RESERVED and label not in data.coords:
            found[label] = CaseNumbers(dims[1:], one.values.astype(float), {**one.attrs})
    return found, data["status"].values, [str(words) for words in data["words"].values]


def one_result(
    system: System,
    do: str | Callable[..., Any],
    case: Case,
    keep: object,
    options: Mapping[str, Any],
    *,
    variants: bool = False,
) -> Found:
    """Return the result of a call, or a user's function, for one case."""
    if callable(do):
        return _picked(_numbers(do(system, case, **options)), keep)
    return _picked(CALLS[do](system, arguments_of(system, do, case, options, variants=variants), _names(keep)), keep)


class CaseColumns:
    """The numbers of several cases side by side: arrays with the cases first, NaN for those without.

    They are what a template says, or what the first case has; those of other cases must be like them.

    >>> columns = CaseColumns(2)
    >>> columns.put(0, {"x": CaseNumbers((), np.array(3.0))}), columns.put(1, {"x": CaseNumbers(("k",), np.ones(2))})
    ('', '"x" has the shape (2,), and () in other cases')
    >>> columns.found["x"].values
    array([ 3., nan])
    """

    def __init__(self, count: int, template: Mapping[str, Variable] | None = None) -> None:
        self.found: Found = {}
        self._count, self._template = count, template
        if template is not None:
            self._begin(template, {})

    def _begin(self, template: Mapping[str, Variable], first: Found) -> None:
        self._template = template
        self.found = {
            name: CaseNumbers(one.dims, np.full((self._count, *one.shape), np.nan, dtype=one.kind), one.attrs)
            for name, one in template.items()
        } | {name: one for name, one in first.items() if one.label}

    def put(self, k: int, result: Found) -> str:
        """Keep the numbers of a case; return the way in which they differ from those of others, or nothing."""
        if self._template is None:
            self._begin(variables_of(result), result)
        template, count = self._template or {}, 0
        for name, one in result.items():
            if one.label:
                continue
            if name not in template:
                return self._other_names(result)
            _, shape, kind, _ = template[name]
            if one.values.shape != shape:
                return f"{quoted(name)} has the shape {one.values.shape}, and {shape} in other cases"
            if kind != "<c16" and one.values.dtype.kind == "c":
                return f"{quoted(name)} is complex, and real in other cases"
            count += 1
        if count != len(template):
            return self._other_names(result)
        for name in template:
            self.found[name].values[k] = result[name].values
        return ""

    def _other_names(self, result: Found) -> str:
        own = [name for name, one in result.items() if not one.label]
        return f"the result has {', '.join(own) or 'nothing'}, and other cases have {', '.join(self._template or ())}"


def variables_of(found: Found) -> dict[str, Variable]:
    """Return the variables of one case: names, dimensions, sizes."""
    return {
        name: Variable(one.dims, one.values.shape, "<c16" if one.values.dtype.kind == "c" else "<f8", one.attrs)
        for name, one in found.items()
        if not one.label
    }


# ---------------------------------------------------------------------- calls by name


def _equilibrium(system: System, given: dict[str, Any], names: tuple[str, ...]) -> Found:
    return _of_equilibrium(_balanced(system, given))


def _balanced(system: System, given: dict[str, Any]) -> Equilibrium:
    """Return the equilibrium that is found from the state of the case, or from a guess."""
    guess = given.pop("guess", None)
    return system.equilibrium(given.pop("q", guess), **given)


def _linearize(system: System, given: dict[str, Any], names: tuple[str, ...]) -> Found:
    """Linearise about the equilibrium, unless states are given."""
    if "q" in given:
        return _of_linear_model(system.linearize(**given))
    signals = {name: given.pop(name) for name in ("inputs", "outputs") if name in given}
    return _of_linear_model(_balanced(system, given).linearize(**signals))


def _sweep_joint(system: System, given: dict[str, Any], names: tuple[str, ...]) -> Found:
    start = given.pop("start", None)
    start = given.pop("q", start)
    joint, values = (given.pop(name, None) for name in ("joint", "values"))
    if joint is None or values is None:
        raise StateError('do="sweep_joint" needs joint= and values=, as System.sweep_joint takes them')
    return _of_sweep(system.sweep_joint(joint, values, start=start, **given), names)


def _reactions(system: System, given: dict[str, Any], names: tuple[str, ...]) -> Found:
    """Assemble the mechanism, find velocities that its loops allow, and return the reactions there."""
    where = {"parameters": given.get("parameters"), "t": given.get("t", 0.0)}
    q = system.assemble(given.pop("q", system.q0), **where)
    v = system.consistent_velocities(q, given.pop("v", None), **where)
    return _of_reactions(system.reactions(q, v, given.pop("tau", None), **given))


CALLS: dict[str, Callable[[System, dict[str, Any], tuple[str, ...]], Found]] = {
    "equilibrium": _equilibrium,
    "linearize": _linearize,
    "sweep_joint": _sweep_joint,
    "reactions": _reactions,
}
"""Calls of one case by name; `simulate` takes several at once."""

_ARGUMENTS: dict[object, tuple[str, ...]] = {
    "simulate": ("q", "v", "z", "tau", "t0"),
    "equilibrium": ("q", "z", "tau"),
    "linearize": ("q", "v", "z", "tau"),
    "sweep_joint": ("q",),
    "reactions": ("q", "v", "z", "tau"),
}


def _of_equilibrium(found: Equilibrium) -> Found:
    system, stable = found.system, {"stable": 1.0, "unstable": 0.0}.get(found.stability, np.nan)
    numbers = {
        "stable": CaseNumbers((), np.array(stable), {"long_name": "1 if stable, 0 if unstable"}),
        "residual": CaseNumbers((), np.array(found.residual), {"units": "N m"}),
    }
    for use in system.description.coordinate_owners:
        for what, value in zip(use.joint.position_labels, found.q[system.q_slice(use.name)], strict=True):
            numbers[f"{use.name}.{what}"] = CaseNumbers((), np.array(value))
    named = (
        *zip(system.kernels.elements.names, found.z, strict=True),
        *found.unknowns.items(),
        *found.hold_efforts.items(),
    )
    return numbers | {name: CaseNumbers((), np.array(value)) for name, value in named}


def _of_linear_model(found: LinearModel) -> Found:
    """Return eigenvalues, and the oscillations' frequencies and damping ratios, the slowest first, padded with NaN."""
    values = np.asarray(found.eigenvalues)
    count = max(1, len(values) // 2)
    rows = np.full((count, 3), np.nan)
    for k, mode in enumerate([one for one in found.modes() if one.kind == "oscillation"][:count]):
        rows[k] = mode.frequency, mode.damped_frequency, mode.damping_ratio
    return {
        "eigenvalue": CaseNumbers(("state",), values.astype(complex), {"units": "1/s"}),
        "frequency": CaseNumbers(("mode",), rows[:, 0], {"units": "Hz"}),
        "damped frequency": CaseNumbers(("mode",), rows[:, 1], {"units": "Hz"}),
        "damping ratio": CaseNumbers(("mode",), rows[:, 2], {"units": "1"}),
    }


def _of_sweep(found: JointSweep, names: tuple[str, ...]) -> Found:
    units = {"units": found.input_label.unit or "1"}
    numbers = {"input": CaseNumbers(("input",), np.asarray(found.values), units, label=True)}
    for label, values in columns(found, names):
        numbers[label.text] = CaseNumbers(("input",), np.asarray(values), {"units": label.unit or "1"})
    return numbers


def _of_reactions(found: Reactions) -> Found:
    dims, wrenches = ("joint", "axis"), np.asarray(found.wrenches)
    return {
        "moment": CaseNumbers(dims, wrenches[:, :3], {"units": "N m"}),
        "force": CaseNumbers(dims, wrenches[:, 3:], {"units": "N"}),
        "joint": CaseNumbers(("joint",), np.array(list(found)), label=True),
        "axis": CaseNumbers(("axis",), _AXES, label=True),
    }


# ---------------------------------------------------------------------- results of users' functions


def _numbers(given: Any) -> Found:
    """Return the result of a user's function as arrays by name."""
    if isinstance(given, _NUMBER):
        number: Any = np.float64(given)  # made in a third of the time of an array
        return {"result": CaseNumbers((), number)}
    if isinstance(given, Equilibrium):
        return _of_equilibrium(given)
    if isinstance(given, LinearModel):
        return _of_linear_model(given)
    if isinstance(given, xr.DataArray):
        given = given.to_dataset(name=str(given.name or "result"))
    if isinstance(given, xr.Dataset):
        found = {str(name): _numbers_of(str(name), one) for name, one in given.data_vars.items()}
        coords = {str(name): one for name, one in given.coords.items() if one.dims}
        return found | {
            name: CaseNumbers(tuple(map(str, one.dims)), one.values, dict(one.attrs), label=True)
            for name, one in coords.items()
        }
    items = given.items() if isinstance(given, Mapping) else [("result", given)]
    return {str(name): _numbers_of(str(name), value) for name, value in items}


def _numbers_of(name: str, value: Any) -> CaseNumbers:
    """Return one number or array that a function has returned."""
    if name in RESERVED or not name:
        raise StateError(
            f'"{name}" is what the study itself says of a case: name the result differently'
            if name
            else "a result must have a name"
        )
    array = _array(getattr(value, "values", value), name)
    dims = getattr(value, "dims", None)
    return CaseNumbers(
        tuple(f"{name} {k}" for k in range(array.ndim)) if dims is None else tuple(map(str, dims)),
        array,
        dict(getattr(value, "attrs", {})),
    )


def _array(value: object, name: object) -> AnyArray:
    """Return numbers as an array."""
    try:
        array = np.array(value)  # a copy: the next case may change what this one has returned
    except Exception:  # whatever a foreign sequence raises, it is no array
        array = np.array(None)
    if array.dtype.kind not in "fiubc":
        raise StateError(f"{quoted(name)} must be numbers, not {shown(value)}")
    return array.astype(complex if array.dtype.kind == "c" else float, copy=False)


def _names(keep: object) -> tuple[str, ...]:
    """Return the names of the outputs to keep."""
    if keep is None or isinstance(keep, str):
        return () if keep is None else (keep,)
    if not isinstance(keep, Sequence) or not all(isinstance(name, str) for name in keep):
        raise StateError(f"keep= must be the names of results, one or a list, not {shown(keep)}")
    return tuple(keep)


def _picked(found: Found, keep: object) -> Found:
    """Return the numbers that are asked for by name, all of them unless names are given; a sweep has picked already."""
    wanted = _names(keep)
    if not wanted or "input" in found:
        return found
    unknown = [name for name in wanted if name not in found]
    if unknown:
        raise StateError(f"the results have no {suggestion(unknown[0], found)}")
    dims = {dim for name in wanted for dim in found[name].dims}
    return {name: one for name, one in found.items() if name in wanted or (one.label and dims.issuperset(one.dims))}
