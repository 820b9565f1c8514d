"""The data of a certificate: every measure of a run, and its limit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, fields
from typing import Any

from whippletree.errors import StateError
from whippletree.model.names import suggestion
from whippletree.spatial.scalars import shown

__all__ = ["FORMAT", "ROUNDING", "Measures"]

FORMAT = 2
"""The version of the measures as files hold them: of version 1 are those that name none."""

ROUNDING = 1e-12
"""An energy error below this share of the energies themselves is rounding."""


@dataclass(frozen=True, eq=False)
class Measures:
    """Every measure of a run, those that `Certificate` has an attribute for included; its brackets give all of them.

    `widest_gap` and `fastest_opening` say in metres or radians, and in these per second, how large the largest gap and
    rate of opening are, and of which joint or closure. `energy_scale` is what the energy error is compared with: the
    largest kinetic energy (of the states and of the mean velocities between them) and the range of the rest.
    `energy_tolerance` is the share of the scale that the error may be, of the whole and of parts: 1e-6, and more in
    runs that choose their steps by a tolerance above 1e-8. `giving_energy` names the element whose law gives energy.

    `closing_largest` and `closing_total` are the displacements by which loops were closed at the ends of steps, in
    radians and characteristic lengths: what closing has put right the integration had got wrong. Their sum may be
    `closing_total_tolerance`, which goes with the way travelled and, where steps are chosen, with their number.
    `baumgarte` are the numbers alpha and beta of a run that closes nothing: its residuals are the drift. `worst_part`
    is the part whose own balance of energy is worst, if there are `parts` that meet only at the ground. `state_growth`
    is the factor by which a fixed step multiplies the state `growing_state` though its law makes that smaller.
    `corners` is how many corners of formulas steps have ended at, and `out_of_range` says in words which flexible
    bodies leave the range of their theory. `without_energy` names bodies whose forces follow from no energy, so that it
    is no check. Of a run in natural coordinates, `condition_residual` is the largest residual of a condition at any
    step, before bodies were fitted, and `widest_condition` its name; `largest_turn` is by how many radians
    `turning_joint` turns in a step at most. `second_run` says in words which further runs `digits` come from, of the
    worst coordinate, `digits_of`, and `group_digits` for each of `groups`.
    """

    closure_residual: float = math.nan
    velocity_residual: float = math.nan
    widest_gap: str = ""
    fastest_opening: str = ""
    energy_start: float = math.nan
    energy_end: float = math.nan
    work_in: float = math.nan
    work_dissipated: float = math.nan
    giving_energy: str = ""
    energy_scale: float = math.nan
    energy_drift: float = math.nan
    quaternion_error: float = math.nan
    steps: int = 0
    refused: int = 0
    evaluations: int = 0
    replans: tuple[float, ...] = ()
    singular: tuple[float, ...] = ()
    wall_time: float = math.nan
    stopped: str = ""
    baumgarte: tuple[float, ...] = ()
    closing_largest: float = math.nan
    closing_total: float = math.nan
    parts: int = 1
    worst_part: str = ""
    part_error: float = math.nan
    part_limit: float = math.nan
    parts_unknown: tuple[str, ...] = ()
    state_growth: float = math.nan
    growing_state: str = ""
    corners: int = 0
    condition_residual: float = math.nan
    widest_condition: str = ""
    largest_turn: float = math.nan
    turning_joint: str = ""
    out_of_range: tuple[str, ...] = ()
    without_energy: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    second_run: str = ""
    digits: float = math.nan
    digits_of: str = ""
    groups: tuple[str, ...] = ()
    group_digits: tuple[float, ...] = ()
    closing_tolerance: float = math.nan
    closing_total_tolerance: float = math.nan
    closure_tolerance: float = 1e-10
    velocity_tolerance: float = 1e-8
    energy_tolerance: float = 1e-6
    quaternion_tolerance: float = 1e-10

    @property
    def energy_error(self) -> float:
        """The energy that came from nowhere, in joules."""
        return self.energy_end - self.energy_start - self.work_in + self.work_dissipated

    @property
    def worst_energy(self) -> float:
        """The energy error at the end, or the largest on the way if that is known."""
        at_end = abs(self.energy_error)
        return at_end if math.isnan(self.energy_drift) or at_end > self.energy_drift else self.energy_drift

    @property
    def energy_limit(self) -> float:
        """The largest energy error that passes: the tolerance times the scale, but no less than rounding.

        >>> m = Measures(energy_start=1.0, energy_end=1.0, work_in=0.0, work_dissipated=0.0, energy_scale=2.0)
        >>> round(m.energy_limit * 1e6, 3)
        2.0
        """
        if self.without_energy:
            return math.inf
        sizes = (self.energy_start, self.energy_end, self.work_in, self.work_dissipated)
        return self.energy_tolerance * self.energy_scale + ROUNDING * sum(abs(size) for size in sizes) / 2

    @property
    def gives_energy(self) -> bool:
        """Whether the work that dampers and friction have taken out is negative by more than the energy error may be.

        `giving_energy` then names the element whose law gives energy; if none does, the work's integral is inexact.

        >>> m = Measures(energy_start=1.0, energy_end=1.5, work_in=0.0, work_dissipated=-0.5, energy_scale=1.0)
        >>> m.gives_energy
        True
        """
        return self.work_dissipated < -self.energy_limit

    @property
    def identity(self) -> str:
        """All measures as text, in which NaN equals itself."""
        return repr(astuple(self))

    def packed(self) -> dict[str, Any]:
        """Return the measures as a file holds them, with the version of that.

        >>> Measures(replans=(0.5,)).packed()["replans"]
        [0.5]
        """
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        return {"version": FORMAT, **plain}

    @classmethod
    def unpacked(cls, values: Mapping[str, Any]) -> Measures:
        """Return the measures that a file holds, of this version or an earlier one.

        >>> Measures.unpacked({"version": 1, "steps": 3}).steps
        3
        """
        if not isinstance(values, Mapping):
            raise StateError(f"a certificate is made from a mapping of its measures, not {shown(values)}")
        kinds = {field.name: str(field.type) for field in fields(cls)}
        version = _read("version", "int", values.get("version", 1))
        if not 1 <= version <= FORMAT:
            raise StateError(f"it has a certificate of version {version}, and this whippletree reads up to {FORMAT}")
        given = {name: value for name, value in values.items() if name != "version"}
        for name in given:
            if name not in kinds:
                raise StateError(f"a certificate has no measure {suggestion(name, kinds)}")
        return cls(**{name: _read(name, kinds[name], value) for name, value in given.items()})


def _read(name: str, kind: str, value: Any) -> Any:
    """Return a measure's value in its own type, or say that it cannot be one."""
    try:
        if kind == "str" and isinstance(value, str):
            return value
        if kind == "int" and int(value) == value:
            return int(value)
        if kind == "float":
            return float(value)
        if kind.startswith("tuple[str") and not isinstance(value, str) and all(isinstance(one, str) for one in value):
            return tuple(value)
        if kind.startswith("tuple[float"):
            return tuple(float(one) for one in value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise StateError(f'the certificate\'s measure "{name}" cannot be {shown(value)}')
