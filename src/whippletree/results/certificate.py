"""The certificate of a run: what was measured about it, and whether that is good enough."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, astuple, dataclass, fields
from typing import Any

from whippletree.errors import StateError
from whippletree.foundation.notebook_html import html_list, html_section, html_table
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing
from whippletree.model.names import suggestion
from whippletree.spatial.scalars import shown

__all__ = ["ROUNDING", "Certificate"]

ROUNDING = 1e-12
"""An energy error below this share of the energies themselves is rounding."""

_TOTAL_CLOSING = 10.0
"""The displacements by which loops were closed may sum up to so many times the largest that is allowed, if no other
limit is known."""

_STABLE = 1.0 + 1e-9
"""A state that its law makes smaller must not be multiplied by more than that in a step."""

_WIDEST_TURN = 0.5
"""A step in natural coordinates may turn a joint by so many radians: the rule then misses two hundredths of its rate
times h, which is 2 tan(turn / 2), and whole turns can be counted."""

_FEW = 4
"""Groups of coordinates that are printed with the digits that are right, the worst first."""

_INEXACT = "no force element's law gives energy at any state looked at, so that the integral of the work is inexact"
"""Why the dissipated work is negative where no element is to blame."""

_FEWEST_DIGITS = 3.0
"""A run with fewer right digits is not confirmed."""


@readable
@user_facing
@dataclass(frozen=True, eq=False)
class Certificate:
    """What was measured about a run, and the limits it is held to.

    `closure_residual` is the largest gap of any closure at any output, in radians and characteristic lengths, and
    `velocity_residual` the largest rate at which one opens; `widest_gap` and `fastest_opening` say in metres or
    radians, and in these per second, how large that is and of which joint or closure. Energies include what springs
    store. `energy_scale` is what the energy error is compared with: the largest kinetic energy (of the states
    and of the mean velocities between them) and the range of the
    rest; `energy_drift` is the largest energy error on the way, where that was watched: at the
    end of every step, or of 2000 evenly spaced ones at least, whatever outputs a run has. `energy_tolerance` is the
    share of the scale that the error may be, of the whole and of parts: 1e-6, and more in runs that choose their steps
    by a tolerance above 1e-8. Measures that are not known are NaN, and a run about which one of these, other than the
    drift, is not known is not `ok`.

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
    `turning_joint` turns in a step at most. `digits` is how many are right, as further runs, `second_run`, let
    one estimate it, in the worst coordinate, `digits_of`, and `group_digits` for each of `groups`; there is none unless
    the run was made with `verify=True`, and then the global error is not estimated. `unchecked` says in words what is
    not known.

    >>> c = Certificate(closure_residual=2e-13, velocity_residual=1e-12, energy_start=5.0, energy_end=5.0,
    ...                 work_in=0.0, work_dissipated=0.0, energy_scale=4.0, quaternion_error=0.0, steps=100)
    >>> c.ok
    True
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
        """The energy that came from nowhere, in joules: what the run gained beyond the work done on it.

        >>> Certificate(energy_start=1.0, energy_end=2.5, work_in=2.0, work_dissipated=0.5).energy_error
        0.0
        """
        return self.energy_end - self.energy_start - self.work_in + self.work_dissipated

    @property
    def _worst_energy(self) -> float:
        """The energy error at the end, or the largest on the way if that is known."""
        at_end = abs(self.energy_error)
        return at_end if math.isnan(self.energy_drift) or at_end > self.energy_drift else self.energy_drift

    @property
    def energy_limit(self) -> float:
        """The largest energy error that passes: the tolerance times the scale, but no less than rounding.

        It is infinite where energy is no check.

        >>> c = Certificate(energy_start=1.0, energy_end=1.0, work_in=0.0, work_dissipated=0.0, energy_scale=2.0)
        >>> round(c.energy_limit * 1e6, 3)
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

        >>> c = Certificate(energy_start=1.0, energy_end=1.5, work_in=0.0, work_dissipated=-0.5, energy_scale=1.0)
        >>> c.gives_energy
        True
        """
        return self.work_dissipated < -self.energy_limit

    @property
    def ok(self) -> bool:
        """Whether everything was measured and is within its limit.

        >>> Certificate().ok
        False
        """
        return not self.problems

    @property
    def problems(self) -> tuple[str, ...]:
        """What is not as it should be, in words.

        >>> c = Certificate(closure_residual=1e-3, velocity_residual=0.0, energy_start=0.0, energy_end=0.0,
        ...                 work_in=0.0, work_dissipated=0.0, energy_scale=1.0, quaternion_error=0.0)
        >>> c.problems
        ('the closure residual is 0.001, more than 1e-10: loops came open; take a smaller step or tolerance',)
        """
        found = [f"the run ended before its time: {self.stopped}"] if self.stopped else []
        remedy = "take a smaller step or tolerance"
        gap, opening = (f" ({words})" if words else "" for words in (self.widest_gap, self.fastest_opening))
        for what, value, limit, means in (
            ("closure residual", self.closure_residual, self.closure_tolerance, f"loops came open{gap}"),
            ("velocity residual", self.velocity_residual, self.velocity_tolerance, f"loops are opening{opening}"),
            ("energy error", self._worst_energy, self.energy_limit, "energy came or went without work"),
            ("quaternion error", self.quaternion_error, self.quaternion_tolerance, "orientations are not rotations"),
        ):
            if math.isnan(value) or math.isnan(limit):
                found.append(f"the {what} is not known")
            elif not value <= limit:
                found.append(f"the {what} is {value:.3g}, more than {limit:.3g}: {means}; {remedy}")
        if self.gives_energy:
            why = f"{self.giving_energy}; check that law" if self.giving_energy else f"{_INEXACT}; {remedy}"
            found.append(f"the dissipated work is {self.work_dissipated:.3g} J: {why}")
        return (*found, *self._hidden_problems())

    def _hidden_problems(self) -> Iterator[str]:
        """Yield what is wrong and does not show in residuals and in the energy of the whole."""
        total = self.closing_total_tolerance
        if math.isnan(total):
            total = _TOTAL_CLOSING * self.closing_tolerance
        closed = (("largest", self.closing_largest, self.closing_tolerance), ("summed", self.closing_total, total))
        for which, value, limit in closed:
            if value > limit:
                yield (
                    f"the {which} displacement that closed the loops is {value:.3g}, more than "
                    f"{limit:.3g}: closing hides the errors of steps; take a smaller step or tolerance"
                )
        if self.part_error > self.part_limit:
            yield (
                f"the energy error of the part {self.worst_part} is {self.part_error:.3g} J, more than "
                f"{self.part_limit:.3g} J by its own energies; take a smaller step or tolerance"
            )
        if self.state_growth > _STABLE:
            yield (
                f'the state "{self.growing_state}" is multiplied by {self.state_growth:.3g} in a step, though its law '
                f"makes it smaller: the steps are unstable; take a smaller step, or a method that chooses its steps"
            )
        if self.largest_turn > _WIDEST_TURN:
            yield (
                f'joint "{self.turning_joint}" turns by {math.degrees(self.largest_turn):.3g} degrees in a step, more '
                f"than {math.degrees(_WIDEST_TURN):.3g}: by its rate it should turn further; take a smaller step"
            )
        if self.digits < _FEWEST_DIGITS:
            yield (
                f"by further runs {self.digits:.1f} digits are right only, in {self.digits_of}: take a smaller step or "
                f"tolerance"
            )

    @property
    def unchecked(self) -> tuple[str, ...]:
        """What is not known about the run, in words: `ok` does not speak of it.

        >>> Certificate().unchecked
        ('global error: not estimated (verify=True does)',)
        """
        found = [*self.out_of_range, *self.notes]
        if self.without_energy:
            found.append(
                f"energy is no check: the load-dependent stiffness of {', '.join(self.without_energy)} is not "
                f"symmetric, and is used as given"
            )
        if self.parts_unknown:
            found.append(f"energy balance of parts that meet only at the ground: {', '.join(self.parts_unknown)}")
        if not self.second_run:
            found.append("global error: not estimated (verify=True does)")
        elif math.isnan(self.digits):
            found.append(f"global error: {self.digits_of}")
        return tuple(found)

    @property
    def checked(self) -> tuple[str, ...]:
        """What was looked at, in words.

        >>> Certificate(closing_largest=0.0, closing_total=0.0).checked
        ('closures', 'energy', 'quaternions')
        """
        found = ["closures", *([] if self.without_energy else ["energy"]), "quaternions"]
        found += [f"energy of {self.parts} parts"] if not math.isnan(self.part_error) else []
        found += ["growth of states"] if not math.isnan(self.state_growth) else []
        return tuple([*found, "further runs"] if self.second_run else found)

    def __eq__(self, other: object) -> bool:
        return self._identity == other._identity if isinstance(other, Certificate) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> str:
        """All figures as text, in which NaN equals itself."""
        return repr(astuple(self))

    @property
    def summary(self) -> str:
        """Whether it is ok, and what was checked, in a line.

        >>> Certificate().summary
        'Certificate: NOT ok; checked: closures, energy, quaternions'
        """
        known = ", ".join(self.checked)
        return f"Certificate: ok as far as checked: {known}" if self.ok else f"Certificate: NOT ok; checked: {known}"

    def _repr_html_(self) -> str:
        rows = html_table([*self._lines(), *self._further_lines()])
        wrong = [f"! {problem}" for problem in self.problems]
        return html_section(self.summary, html_list(wrong), rows, html_list(f"? {one}" for one in self.unchecked))

    def __str__(self) -> str:
        lines = [self.summary]
        lines += [f"  {name:<18} {text}" for name, text in (*self._lines(), *self._further_lines())]
        lines += [f"  ? {unknown}" for unknown in self.unchecked]
        lines += [f"  ! {problem}" for problem in self.problems]
        return "\n".join(lines)

    def _lines(self) -> list[tuple[str, str]]:
        """Return what is printed, row by row."""
        gap, opening = (words and f": {words}" for words in (self.widest_gap, self.fastest_opening))
        allowed = "J, which is no check" if self.without_energy else f"at most {self.energy_limit:.2g} J"
        return [
            ("closure residual", f"{self.closure_residual:<10.2g} at most {self.closure_tolerance:.2g}{gap}"),
            ("velocity residual", f"{self.velocity_residual:<10.2g} at most {self.velocity_tolerance:.2g} /s{opening}"),
            ("energy error", f"{self._worst_energy:<10.2g} {allowed}"),
            ("energy", f"{self.energy_start:.6g} J at the start, {self.energy_end:.6g} J at the end"),
            ("work", f"{self.work_in:.6g} J put in, {self.work_dissipated:.6g} J dissipated"),
            ("quaternion error", f"{self.quaternion_error:<10.2g} at most {self.quaternion_tolerance:.2g}"),
            ("steps", f"{self.steps} taken, {self.refused} refused, {self.evaluations} evaluations"),
            ("plans remade", _times(self.replans)),
            ("singular positions", _times(self.singular)),
            ("wall time", f"{self.wall_time:.3g} s"),
        ]

    def _further_lines(self) -> Iterator[tuple[str, str]]:
        """Yield the rows that only some runs have."""
        if self.closing_total > 0:
            limit = "" if math.isnan(self.closing_tolerance) else f" at most {self.closing_tolerance:.2g}"
            yield "closing the loops", f"{self.closing_largest:<10.2g}{limit}, {self.closing_total:.2g} in all steps"
        if self.baumgarte:
            alpha, beta = self.baumgarte
            yield "Baumgarte's terms", f"alpha {alpha:g} /s, beta {beta:g} /s; the residuals are what loops drift by"
        if not math.isnan(self.part_error):
            yield "worst part", f"{self.part_error:<10.2g} at most {self.part_limit:.2g} J, {self.worst_part}"
        if not math.isnan(self.state_growth):
            yield (
                "growth of states",
                f"{self.state_growth:<10.2g} at most 1 in a step"
                + (f', "{self.growing_state}"' if self.growing_state else ""),
            )
        if not math.isnan(self.condition_residual):
            yield "natural conditions", f"{self.condition_residual:<10.2g} before fitting: {self.widest_condition}"
        if self.corners:
            yield "corners", f"{self.corners} of formulas, at each of which a step ends"
        if self.second_run:
            yield "further runs", self.second_run
            yield "digits that are right", f"{self.digits:.1f}, worst in {self.digits_of}"
            worst = sorted(zip(self.group_digits, self.groups, strict=True))
            yield from (("", f"{digits:.1f} in {group}") for digits, group in worst[1:_FEW])

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name, as plain numbers, text and lists; see `from_dict`.

        >>> Certificate(steps=3).as_dict()["steps"]
        3
        """
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> Certificate:
        """Return the certificate of these fields; those that are missing have their defaults.

        >>> Certificate.from_dict(Certificate(steps=3, replans=(0.5,)).as_dict()).replans
        (0.5,)
        """
        if not isinstance(values, Mapping):
            raise StateError(f"a certificate is made from a mapping of its fields, not {shown(values)}")
        kinds = {field.name: str(field.type) for field in fields(cls)}
        for name in values:
            if name not in kinds:
                raise StateError(f"a certificate has no field {suggestion(name, kinds)}")
        return cls(**{name: _field(name, kinds[name], value) for name, value in values.items()})


def _field(name: str, kind: str, value: Any) -> Any:
    """Return a field's value in its own type, or say that it cannot be one."""
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
    raise StateError(f'the certificate\'s field "{name}" cannot be {shown(value)}')


def _times(times: tuple[float, ...], few: int = 4) -> str:
    """Return how many times there are, and the first of them.

    >>> _times((0.5,)), _times(())
    ('1, at t = 0.5 s', 'none')
    """
    if not times:
        return "none"
    some = ", ".join(f"{t:.6g}" for t in times[:few])
    return f"{len(times)}, at t = {some}{', ...' if len(times) > few else ''} s"
