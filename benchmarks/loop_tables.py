"""Forward dynamics with closed loops: native loop against native loop, and one call from Python."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bars import LOOP_ERROR, LOOP_MUJOCO, LOOP_PINOCCHIO, Options, best_of, disturbable, insist, micro, ratio, verdict
from loop_models import Problem
from loop_peers import Contestant, mujoco_contestants, pinocchio_calls, pinocchio_contestants, worst
from ours import KernelLoop
from timing import Times, bursts, calls, one_core, table

from whippletree.errors import WhippletreeError
from whippletree.formulations.methods import registry

FORMULATIONS = tuple(one.text for one in registry.loop_formulations() if one.text != "by_group" and not one.options)
PLAIN, UNCHECKED = "ours", "ours, unchecked"
COUNTS = 1e-5
"""Pinocchio's settings count as long as their error is not larger than this."""


class Built(NamedTuple):
    """One of our formulations: its loop; its operations, or why there is none; seconds to its first result."""

    loop: Contestant | None
    operations: object
    seconds: float | None


class Ours(NamedTuple):
    """Our system, and the seconds from its description to it."""

    system: Any
    seconds: float


class Entry(NamedTuple):
    """All who take part in one problem, and their times."""

    problem: Problem
    ours: Ours | None
    built: Mapping[str, Built]
    pinocchio: Sequence[Contestant]
    mujoco: Sequence[Contestant]
    times: Mapping[str, Times]


def compare(problems: Sequence[Problem], options: Options) -> None:
    entries = [_timed(problem, options) for problem in problems]
    _print_contest(entries)
    if not options.peers_only:
        _print_formulations(entries)
    _print_peers(entries)
    _print_calls(entries, options)


def _timed(problem: Problem, options: Options) -> Entry:
    ours = None if options.peers_only else _ours(problem)
    built = {} if ours is None else {name: _built(problem, ours.system, name) for name in FORMULATIONS}
    mine = [each.loop for each in built.values() if each.loop is not None]
    pinocchio, mujoco = pinocchio_contestants(problem), mujoco_contestants(problem)
    with one_core():
        times = bursts({one.name: one.run for one in (*mine, *pinocchio, *mujoco)}, options.rounds)
    return Entry(problem, ours, built, pinocchio, mujoco, times)


def _ours(problem: Problem) -> Ours:
    mechanism, guess = problem.mechanism(), problem.guess()
    begin = time.perf_counter()
    system = mechanism.build(guess=guess)
    return Ours(system, time.perf_counter() - begin)


def _built(problem: Problem, system: Any, formulation: str) -> Built:
    begin = time.perf_counter()
    try:
        kernel = system.kernels.kernel("forward_dynamics", formulation=formulation)
    except WhippletreeError as reason:
        return Built(None, str(reason), None)
    state = problem.ours()
    loop = KernelLoop(kernel, {"q": state.q, "v": state.v, "tau": state.tau}, state.v.shape[1:])
    loop.answer(0)
    seconds = time.perf_counter() - begin
    error = worst([loop.answer(k) for k in range(len(state.q))], state.a)
    operations = system.kernels.operations("forward_dynamics", formulation=formulation)
    return Built(Contestant(formulation, loop.run(), error), operations, seconds)


def _fastest(times: Mapping[str, Times], group: Sequence[Contestant]) -> Contestant | None:
    return min(group, key=lambda one: times[one.name].median, default=None)


def _error(one: Contestant) -> str:
    return f"{one.error:.0e}"


# ---------------------------------------------------------------------------------------------------------
# Tables


def _print_contest(entries: Sequence[Entry]) -> None:
    header = ["mechanism", "ours", "error", "bar", "Pinocchio, C++", "error", "ratio", "bar"]
    table(
        "Forward dynamics with closed loops, native loop against native loop, µs per evaluation, one core",
        [*header, "MuJoCo's step, C", "error", "ratio", "bar"],
        [_contest(entry) for entry in entries],
        "Error: the largest of any acceleration in any state, rad/s² or m/s², against the exact solution. Ratio: how "
        f"many times as fast our best formulation is. Pinocchio: its fastest with an error of at most {COUNTS:g}.",
    )


def _contest(entry: Entry) -> list[object]:
    mine = [each.loop for each in entry.built.values() if each.loop is not None]
    best = _fastest(entry.times, [one for one in mine if one.error <= LOOP_ERROR] or mine)
    row = [entry.problem.name, *_cells(entry, best)]
    row.append("-" if best is None else verdict(best.error, LOOP_ERROR, at_most=True))
    exact = [one for one in entry.pinocchio if one.error <= COUNTS]
    for group, bar in ((exact, LOOP_PINOCCHIO), (entry.mujoco, LOOP_MUJOCO)):
        theirs = _fastest(entry.times, group)
        times = [None if one is None else entry.times[one.name] for one in (best, theirs)]
        gain = ratio(*times)
        row += [*_cells(entry, theirs), gain, disturbable(verdict(gain, bar), *times)]
    return row


def _cells(entry: Entry, one: Contestant | None) -> list[object]:
    """Time with the contestant's name, error."""
    if one is None:
        return [None, None]
    return [f"{micro(entry.times[one.name]):.3g} ({one.name})", _error(one)]


def _print_formulations(entries: Sequence[Entry]) -> None:
    rows: list[list[object]] = []
    for entry in entries:
        for formulation, built in entry.built.items():
            figures = [None, None] if built.loop is None else [micro(entry.times[formulation]), _error(built.loop)]
            build = entry.ours.seconds if entry.ours else None
            rows.append([entry.problem.name, formulation, *figures, built.operations, build, built.seconds])
    header = ["mechanism", "formulation", "µs", "error", "operations", "build, s", "then to the first result, s"]
    note = "Build: from the description to an assembled system, with an empty cache."
    table("Our formulations", header, rows, note)


def _print_peers(entries: Sequence[Entry]) -> None:
    rows = [
        [entry.problem.name, engine, one.name, micro(entry.times[one.name]), _error(one)]
        for entry in entries
        for engine, group in (("Pinocchio", entry.pinocchio), ("MuJoCo", entry.mujoco))
        for one in group
    ]
    header = ["mechanism", "engine", "how; which tree; which build", "µs", "error"]
    table("The peers' choices", header, rows, "In brackets: accuracy, regularisation, most iterations.")


def _print_calls(entries: Sequence[Entry], options: Options) -> None:
    rows = []
    for problem, ours, *_ in entries:
        theirs = pinocchio_calls(problem)
        contestants = {name: calls(once) for name, once in theirs.items()}
        if ours is not None:
            contestants |= _our_calls(problem, ours.system)
        with one_core():
            times = bursts(contestants, options.rounds)
        best = best_of(times, tuple(theirs))
        mine = [times.get(name) for name in (PLAIN, UNCHECKED)]
        gains = [ratio(one, times[best]) for one in mine]
        rows.append([problem.name, *map(micro, mine), f"{micro(times[best]):.3g} ({best})", *gains])
    header = ["mechanism", "ours", "ours, check=False", "Pinocchio", "ratio", "ratio, check=False"]
    table("One state, one call from Python, µs (no bar)", header, rows, "Pinocchio: its fastest, whatever its error.")


def _our_calls(problem: Problem, system: Any) -> dict[str, Any]:
    state = problem.ours()
    q, v, tau = (x[0].copy() for x in (state.q, state.v, state.tau))
    insist(f"{problem.name}, call from Python", worst([system.forward_dynamics(q, v, tau)], state.a[:1]))
    return {
        PLAIN: calls(lambda: system.forward_dynamics(q, v, tau)),
        UNCHECKED: calls(lambda: system.forward_dynamics(q, v, tau, check=False)),
    }
