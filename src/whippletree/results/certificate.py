"""The certificate of a run: the measures of its accuracy, and whether they are good enough."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from operator import itemgetter
from typing import Any

from whippletree.errors import StateError
from whippletree.foundation.notebook_html import html_list, html_section, html_table
from whippletree.foundation.old_names import old_names
from whippletree.foundation.once import made_once
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing
from whippletree.model.names import suggestion
from whippletree.results.certificate_measures import Measures

__all__ = ["Certificate", "measured_later"]

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


_MEASURES = tuple(field.name for field in fields(Measures))


@readable
@user_facing
@dataclass(frozen=True, eq=False, init=False)
class Certificate:
    """Whether a run is as it should be, and the measures that this rests on.

    `ok` is the answer, and `problems`, `checked` and `unchecked` say it in words. The measures that everyone looks at
    are attributes; all of them are there by name, and `as_dict` lists them: `run.certificate["corners"]`. Measures that
    are not known are NaN, and a run about which one that `ok` needs is not known is not `ok`.

    >>> c = Certificate(closure_residual=2e-13, velocity_residual=1e-12, energy_start=5.0, energy_end=5.0,
    ...                 work_in=0.0, work_dissipated=0.0, energy_scale=4.0, quaternion_error=0.0, steps=100)
    >>> c.ok, c.steps, c["energy_scale"]
    (True, 100, 4.0)
    """

    def __init__(self, **measures: Any) -> None:
        for name in measures:
            if name not in _MEASURES:
                raise StateError(f"a certificate has no measure {suggestion(name, _MEASURES)}")
        object.__setattr__(self, "_measures", Measures(**measures))

    @made_once
    def _measures(self) -> Measures:
        found: Measures = self.__dict__["_measure"]()
        del self.__dict__["_measure"]  # and what it was measured from, which may be large
        return found

    def __getstate__(self) -> dict[str, Measures]:
        return {"_measures": self._measures}

    def __getitem__(self, measure: str) -> Any:
        """Return any measure by its name.

        >>> Certificate(corners=2)["corners"]
        2
        """
        if measure not in _MEASURES:
            raise StateError(f"a certificate has no measure {suggestion(measure, _MEASURES)}")
        return getattr(self._measures, measure)

    @property
    def closure_residual(self) -> float:
        """The largest gap of any closure at any output, in radians and characteristic lengths."""
        return self._measures.closure_residual

    @property
    def velocity_residual(self) -> float:
        """The largest rate at which a closure opens at any output, in these units per second."""
        return self._measures.velocity_residual

    @property
    def energy_start(self) -> float:
        """The energy at the start, in joules, that in springs included."""
        return self._measures.energy_start

    @property
    def energy_end(self) -> float:
        """The energy at the end, in joules, that in springs included."""
        return self._measures.energy_end

    @property
    def work_in(self) -> float:
        """The work that efforts, drives and loads have put in, in joules."""
        return self._measures.work_in

    @property
    def work_dissipated(self) -> float:
        """The work that dampers and friction have taken out, in joules."""
        return self._measures.work_dissipated

    @property
    def energy_drift(self) -> float:
        """The largest energy error on the way, in joules: at the end of every step, or of 2000 at least."""
        return self._measures.energy_drift

    @property
    def quaternion_error(self) -> float:
        """The largest difference of a quaternion's length from one."""
        return self._measures.quaternion_error

    @property
    def steps(self) -> int:
        """Steps taken."""
        return self._measures.steps

    @property
    def refused(self) -> int:
        """Steps refused, and taken again with a smaller size."""
        return self._measures.refused

    @property
    def evaluations(self) -> int:
        """Evaluations of the accelerations."""
        return self._measures.evaluations

    @property
    def replans(self) -> tuple[float, ...]:
        """The times at which other coordinates were chosen as independent ones."""
        return self._measures.replans

    @property
    def singular(self) -> tuple[float, ...]:
        """The times at which the mechanism passed a singular position."""
        return self._measures.singular

    @property
    def wall_time(self) -> float:
        """How long the run took, in seconds."""
        return self._measures.wall_time

    @property
    def stopped(self) -> str:
        """Why the run ended before its time; empty if it did not."""
        return self._measures.stopped

    @property
    def digits(self) -> float:
        """How many digits are right in the worst coordinate; NaN unless the run was made with `verify=True`."""
        return self._measures.digits

    @property
    def energy_error(self) -> float:
        """The error of the energy balance, in joules: the run's gain of energy less the work done on it.

        >>> Certificate(energy_start=1.0, energy_end=2.5, work_in=2.0, work_dissipated=0.5).energy_error
        0.0
        """
        return self._measures.energy_error

    @property
    def energy_limit(self) -> float:
        """The largest energy error that passes: the tolerance times the scale, but no less than rounding.

        It is infinite where energy is no check.

        >>> c = Certificate(energy_start=1.0, energy_end=1.0, work_in=0.0, work_dissipated=0.0, energy_scale=2.0)
        >>> round(c.energy_limit * 1e6, 3)
        2.0
        """
        return self._measures.energy_limit

    @property
    def ok(self) -> bool:
        """Whether everything was measured and is within its limit.

        >>> Certificate().ok
        False
        """
        return not self.problems

    @property
    def problems(self) -> tuple[str, ...]:
        """The checks that failed, in words.

        >>> c = Certificate(closure_residual=1e-3, velocity_residual=0.0, energy_start=0.0, energy_end=0.0,
        ...                 work_in=0.0, work_dissipated=0.0, energy_scale=1.0, quaternion_error=0.0)
        >>> c.problems
        ('the closure residual is 0.001, more than 1e-10: loops came open; take a smaller step or tolerance',)
        """
        m = self._measures
        found = [f"the run ended before its time: {m.stopped}"] if m.stopped else []
        remedy = "take a smaller step or tolerance"
        gap, opening = (f" ({words})" if words else "" for words in (m.widest_gap, m.fastest_opening))
        for what, value, limit, means in (
            ("closure residual", m.closure_residual, m.closure_tolerance, f"loops came open{gap}"),
            ("velocity residual", m.velocity_residual, m.velocity_tolerance, f"loops are opening{opening}"),
            ("energy error", m.worst_energy, m.energy_limit, "energy came or went without work"),
            ("quaternion error", m.quaternion_error, m.quaternion_tolerance, "orientations are not rotations"),
        ):
            if math.isnan(value) or math.isnan(limit):
                found.append(f"the {what} is not known")
            elif not value <= limit:
                found.append(f"the {what} is {value:.3g}, more than {limit:.3g}: {means}; {remedy}")
        if m.gives_energy:
            why = f"{m.giving_energy}; check that law" if m.giving_energy else f"{_INEXACT}; {remedy}"
            found.append(f"the dissipated work is {m.work_dissipated:.3g} J: {why}")
        return (*found, *self._hidden_problems())

    def _hidden_problems(self) -> Iterator[str]:
        """Yield problems that do not show in residuals and in the energy of the whole."""
        m = self._measures
        total = m.closing_total_tolerance
        if math.isnan(total):
            total = _TOTAL_CLOSING * m.closing_tolerance
        closed = (("largest", m.closing_largest, m.closing_tolerance), ("summed", m.closing_total, total))
        for which, value, limit in closed:
            if value > limit:
                yield (
                    f"the {which} displacement that closed the loops is {value:.3g}, more than "
                    f"{limit:.3g}: closing hides the errors of steps; take a smaller step or tolerance"
                )
        if m.part_error > m.part_limit:
            yield (
                f"the energy error of the part {m.worst_part} is {m.part_error:.3g} J, more than "
                f"{m.part_limit:.3g} J by its own energies; take a smaller step or tolerance"
            )
        if m.state_growth > _STABLE:
            yield (
                f'the state "{m.growing_state}" is multiplied by {m.state_growth:.3g} in a step, though its law '
                f"makes it smaller: the steps are unstable; take a smaller step, or a method that chooses its steps"
            )
        if m.largest_turn > _WIDEST_TURN:
            yield (
                f'joint "{m.turning_joint}" turns by {math.degrees(m.largest_turn):.3g} degrees in a step, more '
                f"than {math.degrees(_WIDEST_TURN):.3g}: by its rate it should turn further; take a smaller step"
            )
        if m.digits < _FEWEST_DIGITS:
            yield (
                f"by further runs {m.digits:.1f} digits are right only, in {m.digits_of}: take a smaller step or "
                f"tolerance"
            )

    @property
    def unchecked(self) -> tuple[str, ...]:
        """The properties of the run that are not known, in words: `ok` does not speak of them.

        >>> Certificate().unchecked
        ('global error: not estimated (verify=True does)',)
        """
        m = self._measures
        found = [*m.out_of_range, *m.notes]
        if m.without_energy:
            found.append(
                f"energy is no check: the load-dependent stiffness of {', '.join(m.without_energy)} is not "
                f"symmetric, and is used as given"
            )
        if m.parts_unknown:
            found.append(f"energy balance of parts that meet only at the ground: {', '.join(m.parts_unknown)}")
        if not m.second_run:
            found.append("global error: not estimated (verify=True does)")
        elif math.isnan(m.digits):
            found.append(f"global error: {m.digits_of}")
        return tuple(found)

    @property
    def checked(self) -> tuple[str, ...]:
        """The checks that were made, in words.

        >>> Certificate(closing_largest=0.0, closing_total=0.0).checked
        ('closures', 'energy', 'quaternions')
        """
        m = self._measures
        found = ["closures", *([] if m.without_energy else ["energy"]), "quaternions"]
        found += [f"energy of {m.parts} parts"] if not math.isnan(m.part_error) else []
        found += ["growth of states"] if not math.isnan(m.state_growth) else []
        return tuple([*found, "further runs"] if m.second_run else found)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Certificate):
            return NotImplemented
        return self._measures.identity == other._measures.identity

    def __hash__(self) -> int:
        return hash(self._measures.identity)

    @property
    def summary(self) -> str:
        """Whether it is ok, and the checks made, in a line.

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
        """Return the printed lines, row by row."""
        m = self._measures
        gap, opening = (words and f": {words}" for words in (m.widest_gap, m.fastest_opening))
        allowed = "J, which is no check" if m.without_energy else f"at most {m.energy_limit:.2g} J"
        return [
            ("closure residual", f"{m.closure_residual:<10.2g} at most {m.closure_tolerance:.2g}{gap}"),
            ("velocity residual", f"{m.velocity_residual:<10.2g} at most {m.velocity_tolerance:.2g} /s{opening}"),
            ("energy error", f"{m.worst_energy:<10.2g} {allowed}"),
            ("energy", f"{m.energy_start:.6g} J at the start, {m.energy_end:.6g} J at the end"),
            ("work", f"{m.work_in:.6g} J put in, {m.work_dissipated:.6g} J dissipated"),
            ("quaternion error", f"{m.quaternion_error:<10.2g} at most {m.quaternion_tolerance:.2g}"),
            ("steps", f"{m.steps} taken, {m.refused} refused, {m.evaluations} evaluations"),
            ("plans remade", _times(m.replans)),
            ("singular positions", _times(m.singular)),
            ("wall time", f"{m.wall_time:.3g} s"),
        ]

    def _further_lines(self) -> Iterator[tuple[str, str]]:
        """Yield the rows that only some runs have."""
        m = self._measures
        if m.closing_total > 0:
            limit = "" if math.isnan(m.closing_tolerance) else f" at most {m.closing_tolerance:.2g}"
            yield "closing the loops", f"{m.closing_largest:<10.2g}{limit}, {m.closing_total:.2g} in all steps"
        if m.baumgarte:
            alpha, beta = m.baumgarte
            yield "Baumgarte's terms", f"alpha {alpha:g} /s, beta {beta:g} /s; the residuals are what loops drift by"
        if not math.isnan(m.part_error):
            yield "worst part", f"{m.part_error:<10.2g} at most {m.part_limit:.2g} J, {m.worst_part}"
        if not math.isnan(m.state_growth):
            yield (
                "growth of states",
                f"{m.state_growth:<10.2g} at most 1 in a step" + (f', "{m.growing_state}"' if m.growing_state else ""),
            )
        if not math.isnan(m.condition_residual):
            yield "natural conditions", f"{m.condition_residual:<10.2g} before fitting: {m.widest_condition}"
        if m.corners:
            yield "corners", f"{m.corners} of formulas, at each of which a step ends"
        if m.second_run:
            yield "further runs", m.second_run
            yield "digits that are right", f"{m.digits:.1f}, worst in {m.digits_of}"
            worst = sorted(zip(m.group_digits, m.groups, strict=True))
            yield from (("", f"{digits:.1f} in {group}") for digits, group in worst[1:_FEW])

    def as_dict(self) -> dict[str, Any]:
        """Return all measures by name, as plain numbers, text and lists, and the `version` of that; see `from_dict`.

        >>> Certificate(steps=3).as_dict()["steps"]
        3
        """
        return self._measures.packed()

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Certificate:
        """Return the certificate of these measures; those that are missing have their defaults.

        >>> Certificate.from_dict(Certificate(steps=3, replans=(0.5,)).as_dict()).replans
        (0.5,)
        """
        made = cls()
        object.__setattr__(made, "_measures", Measures.unpacked(values))
        return made


def measured_later(measure: Callable[[], Measures], *, at_once: bool = False) -> Certificate:
    """Return a certificate whose measures are taken when it is first looked at, or saved, unless it is `at_once`.

    >>> measured_later(lambda: print("now") or Measures(steps=3)).steps
    now
    3
    """
    made = object.__new__(Certificate)
    made.__dict__.update({"_measures": measure()} if at_once else {"_measure": measure})
    return made


_FORMER = {name: (f'Certificate["{name}"]', itemgetter(name)) for name in _MEASURES if not hasattr(Certificate, name)}
old_names(**_FORMER)(Certificate)  # all measures were attributes once


def _times(times: tuple[float, ...], few: int = 4) -> str:
    """Return how many times there are, and the first of them.

    >>> _times((0.5,)), _times(())
    ('1, at t = 0.5 s', 'none')
    """
    if not times:
        return "none"
    some = ", ".join(f"{t:.6g}" for t in times[:few])
    return f"{len(times)}, at t = {some}{', ...' if len(times) > few else ''} s"
