"""The record of a run, and the trajectory with its certificate that it becomes.

A `RunRecord` holds what the measures of a certificate need, apart from the simulation, which may go on to another run.
The states at the ends of steps are large: short runs keep theirs until their certificate is first looked at, and
longer ones, beside whose steps it costs little, are measured at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from whippletree.errors import WhippletreeError
from whippletree.kernels.kernel import Array
from whippletree.results.certificate import measured_later
from whippletree.results.certificate_measures import Measures
from whippletree.results.measure import measured
from whippletree.results.replay import Replay
from whippletree.results.trajectory import Trajectory
from whippletree.simulate.event_handling import SettingChange
from whippletree.simulate.sampled_run import SampledRun
from whippletree.simulate.simulation import Simulation
from whippletree.studies.state_growth import state_growth
from whippletree.studies.stiff_bodies import stiff_body
from whippletree.studies.verification import Agreement
from whippletree.system import System

__all__ = ["RunRecord", "doubts", "ended", "trajectory_of"]

_KEPT_UNMEASURED = 64_000
"""Bytes of states that a run keeps until its certificate is looked at."""

_CLOSING_SHARE = 100.0
"""Closing the loops may move the end of a step by so many times the tolerance of its error."""

_CLOSING_ROUNDING = 1e-12
"""The same bound at tolerances next to rounding."""

_CLOSING_ALL = 10.0
"""Closing the loops may move all steps together by so many times the bound for one, and by more in runs that go far or
take many steps; see `_CLOSING_WAY` and `_CLOSING_STEP`."""

_CLOSING_WAY = 0.3
"""Times the bound for one step, for each radian and characteristic length of the way."""

_CLOSING_STEP = 0.1
"""Times the bound for one step, for each step of adaptive methods: ten times the tolerance. A run that is ten times as
long may be moved ten times as far."""

_CLOSING_FIXED = 1e-5
"""The bound for one step of fixed size, for which no tolerance was given: five digits in one step, four in all."""

_ENERGY_SHARE = 100.0
"""Largest error of energies in runs with adaptive steps, in tolerances; a certificate allows every run a least error.
The motion errs by up to a thousand times the tolerance, mostly along itself, where energy does not change: correct runs
of `benchmarks/accuracy.py`, of all methods and tolerances, have lost at most 23 times the tolerance."""

_MOST_ENERGY = 1e-2
"""However large the tolerance, energies err by no more than that, as a share of their scale."""

_OPENING_RATE = Measures.velocity_tolerance / Measures.closure_tolerance
"""How fast loops may open, in 1/s, for each unit that they may be open."""


def ended(run: SampledRun) -> tuple[Array, Array, Array]:
    """Return times, rows and efforts of the outputs made; a run that ended early has one more, where it ended."""
    t, rows, efforts = run.outputs()
    now = run.simulation.run_state.t
    if len(rows) < len(run.asked) and (not len(t) or now > t[-1]):
        t = np.append(t, now)
        rows = np.vstack([rows, run.simulation.row()])
        efforts = efforts if efforts.ndim == 1 else np.vstack([efforts, run.simulation.tau])
    return t, rows, efforts


@dataclass(frozen=True, eq=False)
class RunRecord:
    """The record of a run for its certificate: how it was made, and the states that it has gone through.

    `marched` (n, 1 + row + nv) are times, states and efforts at the ends of steps; `t`, `rows` and `efforts` are those
    of the outputs. `changes` are the efforts and parameters that events have set, and `ended` the event that ended it.
    """

    system: System
    method: str
    tolerance: float
    adaptive: bool
    fixed_step: float
    steps: int
    amplification: Callable[[complex], float]
    baumgarte: tuple[float, float] | None
    closing: tuple[float, float, float]
    parameters: Array | None
    changes: list[SettingChange]
    ended: str
    marched: Array
    t: Array
    rows: Array
    efforts: Array

    @staticmethod
    def of(run: SampledRun, t: Array, rows: Array, efforts: Array) -> RunRecord:
        """Return the record of a run and its outputs.

        >>> from whippletree.simulate.simulation import _example
        >>> run = SampledRun(_example(), np.array([0.1]))
        >>> run.go()
        >>> record = RunRecord.of(run, *ended(run))
        >>> record.steps, record.marched.shape
        (100, (101, 6))
        """
        simulation = run.simulation
        return RunRecord(
            simulation.system,
            simulation.method,
            simulation.tolerance,
            simulation.adaptive,
            simulation.fixed_step,
            simulation.steps,
            simulation.stepper.amplification,
            simulation.baumgarte,
            simulation.closing,
            simulation.parameters,
            simulation.events.changes,
            simulation.events.ended,
            run.marched,
            t,
            rows,
            efforts,
        )

    def settings(self, t: Array, efforts: Array, *, present: bool = False) -> tuple[Array, Array | None]:
        """Return efforts and parameters at some times if events have changed them; the last may be the present."""
        changes = self.changes
        if not changes:
            return efforts, self.parameters
        which = np.searchsorted([change.t for change in changes], t, side="left") - 1
        if present or self.ended:
            which[-1] = len(changes) - 1
        if efforts.ndim == 1:
            efforts = np.array([changes[k].tau for k in which])
        return efforts, np.array([changes[k].parameters for k in which]) if changes[0].parameters.size else None

    def parts(self, rows: Array) -> tuple[Array, Array, Array, Array]:
        """Return coordinates, velocities, states of elements and work from rows of the run."""
        nq, nv = self.system.nq, self.system.nv
        return rows[:, :nq], rows[:, nq : nq + nv], rows[:, nq + nv : -2], rows[:, -2:]

    def replay(self, t: Array, rows: Array, efforts: Array, *, present: bool = False) -> Replay:
        """Return a replay of some states of the run, from which results follow."""
        q, v, z, work = self.parts(rows)
        _, parameters = self.settings(t, efforts, present=present)
        return Replay(self.system, t, q, v, z, parameters=parameters, efforts=efforts, work=work)

    def measures(self, counted: Mapping[str, Any]) -> Measures:
        """Return all measures; `counted` are those that the run itself has counted."""
        known: dict[str, Any] = {**counted, "notes": (*counted["notes"], *_locks_passed(self.system, self.marched))}
        try:
            found = self._measured()
        except (WhippletreeError, ArithmeticError, np.linalg.LinAlgError) as error:  # the run itself is not lost by it
            found, known["notes"] = {}, (*known["notes"], f"all that is measured, which failed: {error}")
        if self.baumgarte is not None:
            known |= self._drift(found)
        known["notes"] = (*known["notes"], *found.get("notes", ()))
        return Measures(**(found | known))

    def _measured(self) -> dict[str, Any]:
        """Return the measurements of a run at the ends of its steps, so that they do not depend on its outputs.

        Loops are looked at where they are delivered: velocities at the end of a step are those of its position
        before that was closed.
        """
        end = self.marched.shape[1] - self.system.nv
        seen = self.replay(self.marched[:, 0], self.marched[:, 1:end], self.marched[:, end:], present=True)
        growth = state_growth(self, seen)
        closes = self.baumgarte is None  # else nothing is brought back
        found = measured(
            seen,
            switched=bool(self.changes),
            outputs=self.replay(self.t, self.rows, self.efforts) if closes else None,
            energy_tolerance=self._energy_tolerance(),
        )
        notes = tuple(words for words in (growth.unresolved, stiff_body(self, seen, len(self.t))) if words)
        return {**found, "state_growth": growth.factor, "growing_state": growth.state, "notes": notes}

    def _energy_tolerance(self) -> float:
        """Return the largest error of energies as a share of their scale, from the run's tolerance if it has one."""
        asked = min(_ENERGY_SHARE * self.tolerance, _MOST_ENERGY) if self.adaptive else 0.0
        return max(asked, Measures.energy_tolerance)

    def closed(self) -> dict[str, Any]:
        """Return how far closing the loops has moved the run, and how far it may at most in one step."""
        if not self.system.kernels.closed:
            return {"closing_largest": 0.0, "closing_total": 0.0}
        largest, total, way = self.closing
        limit = max(_CLOSING_SHARE * self.tolerance, _CLOSING_ROUNDING) if self.adaptive else _CLOSING_FIXED
        times = max(_CLOSING_ALL, _CLOSING_WAY * way, _CLOSING_STEP * self.steps if self.adaptive else 0.0)
        return {
            "closing_largest": largest,
            "closing_total": total,
            "closing_tolerance": limit,
            "closing_total_tolerance": limit * times,
        }

    def _drift(self, found: Mapping[str, Any]) -> dict[str, Any]:
        """Return how far loops may drift that Baumgarte's terms hold: as far as closing might move a step elsewhere."""
        limit = self.closed()["closing_tolerance"]
        limits = {"closure_tolerance": limit, "velocity_tolerance": _OPENING_RATE * limit}
        widened = {name: max(value, found.get(name, 0.0)) for name, value in limits.items()}
        return {"baumgarte": self.baumgarte, **widened}


def trajectory_of(
    run: SampledRun,
    outputs: tuple[Array, Array, Array],
    stopped: str,
    wall: float,
    agreed: Agreement | None = None,
    *,
    at_once: bool = False,
) -> Trajectory:
    """Return the outputs of a run as a trajectory with a certificate, which may be measured when it is looked at."""
    simulation, (t, rows, efforts) = run.simulation, outputs
    record = RunRecord.of(run, t, rows, efforts)
    counted: dict[str, Any] = {
        "steps": simulation.steps,
        "refused": simulation.refused,
        "evaluations": simulation.evaluations,
        "replans": tuple(simulation.replans),
        "singular": tuple(simulation.singular),
        "wall_time": wall,
        "stopped": stopped,
        "corners": simulation.corners.passed,
        "notes": (*_notes(simulation), *_at_rest(agreed)),
    }
    counted |= record.closed() | _agreed(agreed)
    at_once = at_once or record.marched.nbytes > _KEPT_UNMEASURED
    certificate = measured_later(partial(record.measures, counted), at_once=at_once)
    info = {"method": simulation.method, "tolerance": simulation.tolerance, "formulation": simulation.formulation}
    if simulation.events.ended:
        info["ended_by"] = simulation.events.ended
    q, v, z, work = record.parts(rows)
    efforts, parameters = record.settings(t, efforts)
    return Trajectory(
        simulation.system,
        t,
        q,
        v,
        z,
        certificate,
        simulation.events.happened,
        info=info,
        parameters=parameters,
        efforts=efforts,
        work=work,
    )


def doubts(run: SampledRun, trajectory: Trajectory) -> tuple[str, ...]:
    """Return remarks on flexible bodies that may explain a failure: steps unstable for them, or large deformation."""
    made = RunRecord.of(run, *ended(run))
    unstable = "" if made.adaptive else stiff_body(made, trajectory.replay, len(trajectory.t))
    return (unstable,) if unstable else trajectory.certificate["out_of_range"]


def _notes(simulation: Simulation) -> tuple[str, ...]:
    """Return remarks on aspects of a run that its steps cannot show."""
    said = list(simulation.corners.unknown())
    if simulation.adaptive and simulation.system.description.forces and not np.isfinite(simulation.longest_step):
        said.append("peaks of forces that are smooth and narrower than a step (max_step= bounds that)")
    return tuple(said)


def _locks_passed(system: System, marched: Array) -> list[str]:
    """Return in words where three angles have passed their gimbal lock from one state of a run to the next."""
    said, t = [], marched[:, 0]
    for use, where in system.kernels.states.locking:
        free = np.array([float(use.joint.from_lock(row[where])) for row in marched[:, 1:]])
        passed = np.flatnonzero(free[1:] * free[:-1] <= 0)
        if passed.size:
            said.append(
                f'the angles of joint "{use.name}" at gimbal lock, which the run passed at about '
                f't = {t[passed[0] + 1]:.6g} s (coordinates="quaternion" have none)'
            )
    return said


def _at_rest(found: Agreement | None) -> tuple[str, ...]:
    """Say which joints have no digits to tell."""
    if found is None or not found.still:
        return ()
    return (f"digits of {', '.join(found.still)}: no motion beyond the errors of the joints connected with it",)


def _agreed(found: Agreement | None) -> dict[str, Any]:
    """Return the agreement of further runs with the first, for the certificate."""
    if found is None:
        return {}
    return {
        "second_run": found.words,
        "digits": found.digits,
        "digits_of": found.worst,
        "groups": tuple(found.groups),
        "group_digits": tuple(found.groups.values()),
    }
