"""Nikravesh and others: break-even points, speed-up in parallel, absolute against joint coordinates."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from whippletree.analysis.cost import costs, traced
from whippletree.analysis.family import Curves, compare
from whippletree.analysis.flow import Flow, pairwise
from whippletree.analysis.models import (
    PaperModel,
    bricard,
    closed_chain,
    deformable_chain,
    five_bar_pendulum,
    serial_chain,
    slider_four_bar,
    stanford_arm,
    star,
)
from whippletree.analysis.papers.figures import NOT_MEASURED, quotient, times_of
from whippletree.analysis.reports import PaperTable
from whippletree.kernels.kernel import Array
from whippletree.system import System

__all__ = [
    "break_even_curves",
    "nikravesh_absolute",
    "nikravesh_break_even",
    "nikravesh_deformable",
    "nikravesh_speed_up",
    "run_seconds",
    "speed_up_curves",
]

RECURSIVE, DIRECT = "fully_recursive/centroid", "velocity_transformation"

Family: TypeAlias = tuple[str, Callable[[int], PaperModel], tuple[int, ...], tuple[int, ...]]
"""The paper's break-even, the members, sizes to count, sizes to time."""

FAMILIES: dict[str, Family] = {
    "serial, revolute": ("6", lambda n: serial_chain(n, "revolute"), tuple(range(1, 13)), tuple(range(2, 11))),
    "serial, prismatic": ("9", lambda n: serial_chain(n, "prismatic"), tuple(range(1, 17)), tuple(range(2, 15, 2))),
    "serial, spherical": ("5", lambda n: serial_chain(n, "spherical"), tuple(range(1, 8)), tuple(range(2, 8))),
    "closed loop, revolute": ("about 12", closed_chain, tuple(range(6, 14)), tuple(range(7, 13))),
    "star, revolute": ("never", lambda n: star(n, "revolute"), tuple(range(1, 11)), (2, 5, 8)),
}
"""Families by name."""

_WHY = {
    "serial, revolute": "Per body the recursion costs the same again and again; R^T M R costs 6m + 6a for every two "
    "joints of a body's way, so its third power of n catches up. The paper's programs cross one "
    "joint earlier.",
    "serial, prismatic": "Slides turn nothing: axes and inertias are constant and R has no moments u x l, so what "
    "is left of the direct method is the solution, and it pays for longer. The paper's program "
    "knows no constants and forms its matrices every time, which takes more from the direct "
    "method than from the recursion.",
    "serial, spherical": "Three columns to a joint: R^T M R grows nine times as fast, the recursion by its 3 x 3 "
    "solution only. Both write a ball's columns along the ground's axes, where they are units.",
    "closed loop, revolute": "The five rows of a cut hinge on n joints and their solution come on top of both, and the "
    "recursion carries them through every body, so it pays later than in the open chain. In body axes "
    "(tree_augmented against joint_multipliers), where the recursion's share of the rows is "
    "larger, it is at 13.",
    "star, revolute": "Every way has one joint: R^T M R is diagonal, and there is nothing for a recursion to save. "
    "Traced, the two do the same operations but for the parent's share, which is not needed and "
    "the trace drops.",
}


def break_even_curves(
    times: bool = False, families: Mapping[str, Family] = FAMILIES
) -> Iterator[tuple[str, str, str, Curves]]:
    """Return for each family its name, the paper's break-even, the measured quantity, and the curves.

    >>> paper, chain, _, _ = FAMILIES["serial, revolute"]
    >>> name, paper, measure, curves = next(break_even_curves(families={"short": (paper, chain, (1, 2), ())}))
    >>> name, paper, measure, curves.crossings
    ('short', '6', 'unfolded', 0)
    """
    for name, (paper, family, sizes, timed) in families.items():
        for measure in ("unfolded", "operations", "seconds") if times else ("unfolded", "operations"):
            chosen = timed if measure == "seconds" else sizes
            yield name, paper, measure, compare(family, chosen, RECURSIVE, DIRECT, measure=measure, name=name)


def nikravesh_break_even(times: bool = True) -> Iterator[PaperTable]:
    """Figure 6: from how many joints on the recursive algorithm is the cheaper one."""
    found: dict[str, dict[str, str]] = {}
    crossed: dict[str, list[int]] = {}
    for name, _, measure, curves in break_even_curves(times):
        found.setdefault(name, {})[measure] = _where(curves)
        crossed.setdefault(name, []).append(curves.crossings)
    rows = [
        (
            name,
            FAMILIES[name][0],
            by["unfolded"],
            by["operations"],
            by.get("seconds", NOT_MEASURED),
            ", ".join(map(str, crossed[name])),
            _WHY[name],
        )
        for name, by in found.items()
    ]
    yield PaperTable(
        "Nikravesh and others, figure 6: joints from which on recursion is cheaper than a factorisation",
        ("family", "paper", "unfolded", "traced", "timed", "crossings", "why"),
        rows,
        f"Recursive is {RECURSIVE}, direct {DIRECT}: both in ground axes at the centre, as in the paper (27-30). The "
        "package's own pair in body axes, articulated against composite, crosses at 10 revolute and 2 spherical "
        "joints.",
    )


DEFORMABLE = {0: tuple(range(7, 13)), 1: tuple(range(2, 8)), 2: tuple(range(1, 6)), 4: (1, 2, 3, 4), 6: (1, 2, 3)}
"""Modes of each body, and the numbers of bodies that are compared."""


def nikravesh_deformable(times: bool = True) -> Iterator[PaperTable]:
    """Section 6: from how many bodies on recursion pays, by how many modes each of them has."""
    rows = []
    for modes, sizes in DEFORMABLE.items():
        family = partial(deformable_chain, modes=modes)
        found = [
            compare(family, sizes, "articulated", "composite", measure=measure, name=f"{modes} modes")
            for measure in (("operations", "seconds") if times else ("operations",))
        ]
        most = dict(zip(sizes, zip(found[0].of_first, found[0].of_second, strict=True), strict=True))[sizes[-1]]
        timed = _where(found[1]) if times else NOT_MEASURED
        share = f"{most[1] / most[0]:.2f} with {sizes[-1]}"
        rows.append((str(modes), "sooner than rigid" if modes else "-", _where(found[0]), timed, share))
    yield PaperTable(
        "Nikravesh and others, section 6: bodies from which on recursion pays, if they are deformable",
        ("modes a body", "paper", "traced", "timed", "operations, composite over articulated"),
        rows,
        "Serial chains of hinges between tubes, articulated against composite in body axes. The paper says that "
        "recursion pays with deformable bodies, without numbers. It does: the mass matrix has n (1 + modes) rows, and "
        "what a factorisation costs grows with the third power of that, while the recursion eliminates 1 + modes "
        "unknowns for each body. So what counts is the number of unknowns: about ten.",
    )


def _where(curves: Curves) -> str:
    """Return in words where the first of two becomes the cheaper one.

    >>> _where(Curves("chain", "recursive", "direct", (1, 2, 3), (5, 10, 15), (2, 9, 15)))
    'equal from 3'
    """
    pairs = list(zip(curves.of_first, curves.of_second, strict=True))
    equal = [abs(a - b) <= curves.noise * min(a, b) for a, b in pairs]
    if all(equal):
        return "equal"
    if curves.break_even is None:
        return "never"
    return str(curves.break_even) if curves.crossings or not equal[-1] else f"equal from {curves.break_even}"


def speed_up_curves() -> Iterator[tuple[int, Flow, Flow]]:
    """Return for 1 to 6 freedoms of the Stanford arm the graphs of formulation B, unfolded and traced, sums in pairs.

    >>> freedoms, unfolded, traced = next(speed_up_curves())
    >>> unfolded.largest_speed_up > traced.largest_speed_up
    True
    """
    for n in range(1, 7):
        system = stanford_arm(n).build()
        full, folded = (Flow(pairwise(traced(system, DIRECT, folded=by))) for by in (False, True))
        yield n, full, folded


def nikravesh_speed_up(times: bool = True) -> Iterator[PaperTable]:
    """Figure 7: the largest possible speed-up of the Stanford arm, and the share of it that p processors reach."""
    rows, last = [], None
    for n, full, flow in speed_up_curves():
        paper = {1: "about 11", 6: "about 76"}.get(n, "between")
        rows.append(
            (
                str(n),
                paper,
                f"{full.largest_speed_up:.1f}",
                f"{full.serial} / {full.critical}",
                f"{flow.largest_speed_up:.1f}",
                f"{flow.serial} / {flow.critical}",
            )
        )
        last = full
    yield PaperTable(
        "Nikravesh and others, figure 7: largest speed-up of the Stanford arm",
        ("freedoms", "paper", "unfolded", "serial / critical path", "traced", "serial / critical path"),
        rows,
        "One unit of time for every scalar operation, also for sines, cosines and divisions; the terms of a sum are "
        "added in pairs, those first that are there first. The critical path grows linearly with the freedoms, as the "
        "paper says: it is the chain of rotations outward, then the factorisation. With one freedom the limit is the "
        "paper's. The paper gives no serial work; here equal products are computed once, so with six freedoms less is "
        "left to share.",
    )
    assert last is not None
    schedules = [last.schedule(p) for p in (1, 2, 4, 8, 16, 32, 64)]
    yield PaperTable(
        "Speed-up against the number of processors, six freedoms, unfolded (the paper gives no figures)",
        ("processors", *(str(s.processors) for s in schedules)),
        [("speed-up", *(f"{s.speed_up:.1f}" for s in schedules))],
    )


RUN, STEP = 20.0, 1e-3
"""Seconds of the run in absolute coordinates and in joint coordinates, and its step."""


HANGING = {"R2": 2.6, "R3": -2.6, "R4": 2.6}
"""Where the four-bar on a slide begins to swing, without ever lying flat, which would be a singular position."""


def run_seconds(system: System, **options: Any) -> float:
    """Return the least CPU time of three runs, of which none compiles anything.

    >>> from whippletree.system.example_systems import pendulum
    >>> run_seconds(pendulum()) > 0
    True
    """
    taken = []
    for length in (10 * STEP, RUN, RUN, RUN):
        begin = time.process_time()
        system.simulate(length, every=length, method="rk4", step=STEP, **options)
        taken.append(time.process_time() - begin)
    return min(taken[1:])  # not empty: there are three runs


RUNS: dict[str, tuple[Callable[[], PaperModel], dict[str, float], str]] = {
    "four-bar on a slide": (slider_four_bar, HANGING, "joint_multipliers"),
    "Bricard": (bricard, {}, "joint_multipliers"),
    "five-bar pendulum": (five_bar_pendulum, {}, "auto"),
}
"""The models that are run in absolute and in joint coordinates, where they begin, and the formulation of the latter."""


def run_pair(name: str) -> tuple[System, Array, float, float]:
    """Return a model's system, where it begins, and the CPU times of its runs in absolute and in joint coordinates."""
    make, guess, formulation = RUNS[name]
    system = make().build()
    q = system.assemble(guess) if guess else system.q0
    absolute = run_seconds(system, q=q, coordinates="absolute")
    return system, q, absolute, run_seconds(system, q=q, formulation=formulation)


def _run_ratio(name: str) -> str:
    _, _, absolute, joint = run_pair(name)
    return f"{1e3 * absolute:.0f} ms / {1e3 * joint:.0f} ms = {absolute / joint:.1f}"


def nikravesh_absolute(times: bool = True) -> Iterator[PaperTable]:
    """The conclusion's example: absolute coordinates against joint coordinates with multipliers."""
    model = slider_four_bar()
    system = model.build()
    pair = {"absolute": "absolute", "joint": "joint_multipliers", "minimal": "independent_coordinates"}
    counts = {name: costs(system, f).total.total for name, f in pair.items()}
    taken = times_of(model, system, pair, times)
    rows = [
        (
            "absolute (1-4) to joint (11-14)",
            f"352 / 75 = {352 / 75:.1f}",
            f"{counts['absolute']} / {counts['joint']} = {counts['absolute'] / counts['joint']:.1f}",
            quotient(taken["absolute"], taken["joint"]),
            "One evaluation. Sparse elimination keeps the absolute coordinates from paying for full matrices.",
        ),
        (
            "the same, run against run",
            f"352 / 75 = {352 / 75:.1f}",
            NOT_MEASURED,
            _run_ratio("four-bar on a slide") if times else NOT_MEASURED,
            f"{RUN:g} s by rk4 with {STEP:g} s, CPU time. Absolute: position and quaternion of four bodies and 22 "
            "multipliers, each step brought back onto 22 conditions; joint: four coordinates and 2 multipliers. The "
            "paper's example is that of its figure 4 with force elements, which cost the same in both, in 10 s by a "
            "predictor-corrector of Adams and Bashforth.",
        ),
        *(
            (
                f"the same, run against run: {name}",
                "-",
                NOT_MEASURED,
                _run_ratio(name) if times else NOT_MEASURED,
                "Not in the paper. " + why,
            )
            for name, why in (
                ("Bricard", "A spatial loop of six hinges."),
                ("five-bar pendulum", "A tree, which joint coordinates describe without any condition."),
            )
        ),
        (
            "minimal (19) to joint (11-14)",
            "about 1",
            f"{counts['minimal']} / {counts['joint']} = {counts['minimal'] / counts['joint']:.1f}",
            quotient(taken["minimal"], taken["joint"]),
            "E is two numbers here, and found by elimination of a 2 x 2 block.",
        ),
    ]
    yield PaperTable(
        "Nikravesh and others, conclusion: the four-bar on a slide",
        ("ratio", "paper", "operations", "time", "why"),
        rows,
    )
    rows_ab = system.closure_jacobian(system.q0)
    E = system.kernels.closures.motion_basis(system.q0)
    columns = [system.v_slice(name).start for name in ("T1", "R2", "R3", "R4")]
    own = np.abs(rows_ab[:, system.v_slice("R5")]).max(axis=1) > 1e-9  # the row that gives the cut hinge its angle
    held = rows_ab[~own][:, columns]
    singular = np.linalg.svd(held, compute_uv=False)
    yield PaperTable(
        "Nikravesh and others, example: the matrices",
        ("matrix", "paper", "ours", "why"),
        [
            (
                "rank of D*B",
                "2 of 5 rows",
                f"{int((singular > 1e-9 * singular[0]).sum())} of {held.shape[0]} rows",
                "",
            ),
            (
                "E, by columns",
                "(1 0 0 0), (0 1 -1 1)",
                ", ".join("(" + " ".join(f"{x + 0.0:.0f}" for x in E[columns, k]) + ")" for k in range(E.shape[1])),
                "",
            ),
        ],
    )
