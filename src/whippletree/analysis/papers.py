"""The papers' tables and figures with our figures beside them, and why they differ where they do.

Times are CPU times of one core for one evaluation of the accelerations in machine code (`timing`). Operations are
counted as the papers count, on symbols with nothing folded (`unfolded`, `recounts`), and as traced (`cost`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from whippletree.analysis.absolute_trees import tree_evaluation
from whippletree.analysis.cost import costs, traced
from whippletree.analysis.family import Curves, compare
from whippletree.analysis.flow import Flow, pairwise
from whippletree.analysis.models import (
    PaperModel,
    bricard,
    car,
    closed_chain,
    five_bar_pendulum,
    heavy_truck,
    human_body,
    quarter_car,
    serial_chain,
    slider_four_bar,
    stanford_arm,
    star,
)
from whippletree.analysis.recounts import origin_savings, velocity_map_count
from whippletree.analysis.reports import Table
from whippletree.analysis.timing import Batch, Evaluation, seconds
from whippletree.kernels.tape import OperationCount
from whippletree.system import System

__all__ = ["HEAD", "REPORTS", "break_even_curves", "reports", "speed_up_curves"]

B = "velocity_transformation"
RECURSIVE, DIRECT = "fully_recursive/centroid", "velocity_transformation"

NOT_MEASURED = "-"

HEAD = """# The papers' tables and figures beside ours

Written by `whippletree papers --page docs/papers_tables.md`. [papers.md](papers.md) says what is compared and how it is
counted. Times are those of the machine on which the page was written."""
"""How the page of all tables begins."""


def reports(times: bool = True) -> Iterator[Table]:
    """Return all tables, one after the other; without `times` nothing is compiled or measured.

    >>> next(reports(times=False)).title
    'Kang and Yoon, results: multiplications that the origin saves per body'
    """
    for report in REPORTS:
        yield from report(times)


# ---------------------------------------------------------------------------------------------------------
# Kang and Yoon


def kang_yoon_savings(times: bool = True) -> Iterator[Table]:
    """The multiplications that the origin saves, counted as the paper counts."""
    rows = []
    for n, m, what in ((1, 0, "hinge, open"), (3, 0, "ball, open"), (1, 9, "hinge, m = 9"), (3, 9, "ball, m = 9")):
        saved = origin_savings(n, m)
        parts = ", ".join(f"{value:+d} {name}" for name, value in saved.items() if value)
        rows.append((what, f">= {36 + 6 * n + 6 * m}", str(sum(saved.values())), parts))
    yield Table(
        "Kang and Yoon, results: multiplications that the origin saves per body",
        ("body", "paper", "ours", "by equation"),
        rows,
        "Equations (28), (30), (36) and (39) on full matrices of symbols, products as written.",
    )


def kang_yoon_quarter_car(times: bool = True) -> Iterator[Table]:
    """Table 5, and the same for serial chains: the three reference points as traced, in operations and in time."""
    rows = []
    cases: list[tuple[str, PaperModel]] = [("quarter car", quarter_car())]
    cases += [(f"chain of {n} {kind}", serial_chain(n, kind)) for n, kind in ((6, "revolute"), (6, "spherical"))]
    for name, model in cases:
        system = model.build()
        q, v = model.state(system)
        names = {point: f"fully_recursive/{point}" for point in ("centroid", "joint", "origin")}
        counts = {p: costs(system, f).total.total for p, f in names.items()}
        full = {p: costs(system, f, folded=False).total.total for p, f in names.items()}
        taken = (
            seconds({p: Evaluation(system, q, v, f) for p, f in names.items()}) if times else dict.fromkeys(names, None)
        )
        for point in names:
            paper = {"centroid": "0.50 ms, 1", "origin": "0.43 ms, 0.86"}.get(point, "between")
            rows.append(
                (
                    name,
                    point,
                    paper if name == "quarter car" else NOT_MEASURED,
                    _ratio(full[point], full["centroid"]),
                    _ratio(counts[point], counts["centroid"]),
                    _time(taken[point], taken["centroid"]),
                )
            )
    yield Table(
        "Kang and Yoon, table 5: the three reference points (and chains)",
        ("model", "reference", "paper", "operations, unfolded", "operations, traced", "time, traced"),
        rows,
        "On chains the origin saves, as in the paper, though less: it shifts nothing, but a body's inertia there takes "
        "its full form (36), the joint's columns get the moment r x u, and (29) subtracts full matrices. In the "
        "quarter car it costs more: four of the five bodies hang on the chassis, where there is nothing to shift to "
        "(the paper's program shifts them all the same), and the rows of the closures are full. The joint point is "
        "cheaper than both, not between: a trace knows the zeros, and there a hinge's or ball's B2 has no linear part, "
        "so M21, M22 and Phi2 take half the products. At the centroid M is sparse but B2 is full. In time "
        "a chain of hinges waits for its longest chain of operations, as long at the origin as at the centroid.",
    )


# ---------------------------------------------------------------------------------------------------------
# Nikravesh and others


FAMILIES: dict[str, tuple[str, Callable[[int], PaperModel], tuple[int, ...], tuple[int, ...]]] = {
    "serial, revolute": ("6", lambda n: serial_chain(n, "revolute"), tuple(range(1, 13)), tuple(range(2, 11))),
    "serial, prismatic": ("9", lambda n: serial_chain(n, "prismatic"), tuple(range(1, 17)), tuple(range(2, 15, 2))),
    "serial, spherical": ("5", lambda n: serial_chain(n, "spherical"), tuple(range(1, 8)), tuple(range(2, 8))),
    "closed loop, revolute": ("about 12", closed_chain, tuple(range(6, 12)), (7, 8, 9, 10)),
    "star, revolute": ("never", lambda n: star(n, "revolute"), tuple(range(1, 11)), (2, 5, 8)),
}
"""Families by name: the paper's break-even, the members, sizes to count, sizes to time."""

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
    "closed loop, revolute": "The rows of a cut ball on n joints and their solution come on top of both, and the "
    "recursion carries them through every body. The paper's double of the open chain is "
    "for cut hinges, five equations; in body axes (tree_augmented against "
    "joint_multipliers) the break-even is at 13.",
    "star, revolute": "Every way has one joint: R^T M R is diagonal, and there is nothing for a recursion to save. "
    "Traced, the two do the same operations but for the parent's share, which nobody needs and "
    "the trace drops.",
}


def break_even_curves(times: bool = False) -> Iterator[tuple[str, str, str, Curves]]:
    """Return for each family its name, the paper's break-even, what is measured, and the curves.

    >>> name, paper, measure, curves = next(break_even_curves())
    >>> name, paper, measure, curves.crossings
    ('serial, revolute', '6', 'unfolded', 1)
    """
    for name, (paper, family, sizes, timed) in FAMILIES.items():
        for measure in ("unfolded", "operations", "seconds") if times else ("unfolded", "operations"):
            chosen = timed if measure == "seconds" else sizes
            yield name, paper, measure, compare(family, chosen, RECURSIVE, DIRECT, measure=measure, name=name)


def nikravesh_break_even(times: bool = True) -> Iterator[Table]:
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
    yield Table(
        "Nikravesh and others, figure 6: joints from which on recursion is cheaper than a factorisation",
        ("family", "paper", "unfolded", "traced", "timed", "crossings", "why"),
        rows,
        f"Recursive is {RECURSIVE}, direct {DIRECT}: both in ground axes at the centre, as in the paper (27-30). The "
        "package's own pair in body axes, articulated against composite, crosses at 10 revolute and 2 spherical "
        "joints.",
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


def nikravesh_speed_up(times: bool = True) -> Iterator[Table]:
    """Figure 7: the largest possible speed-up of the Stanford arm, and what p processors reach of it."""
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
    yield Table(
        "Nikravesh and others, figure 7: largest speed-up of the Stanford arm",
        ("freedoms", "paper", "unfolded", "serial / critical path", "traced", "serial / critical path"),
        rows,
        "One unit of time for every scalar operation, also for sines, cosines and divisions; the terms of a sum are "
        "added in pairs, those first that are there first. The critical path grows linearly with the freedoms, as the "
        "paper says: it is the chain of rotations outward, then the factorisation. With one freedom the limit is the "
        "paper's. With six the serial work is less than the paper's, since equal products are computed once, so "
        "less is left to share.",
    )
    assert last is not None
    schedules = [last.schedule(p) for p in (1, 2, 4, 8, 16, 32, 64)]
    yield Table(
        "Speed-up against the number of processors, six freedoms, unfolded (the paper gives no figures)",
        ("processors", *(str(s.processors) for s in schedules)),
        [("speed-up", *(f"{s.speed_up:.1f}" for s in schedules))],
    )


def nikravesh_absolute(times: bool = True) -> Iterator[Table]:
    """The conclusion's example: absolute coordinates against joint coordinates with multipliers."""
    model = slider_four_bar()
    system = model.build()
    q, v = model.state(system)
    pair = {"absolute": "absolute", "joint": "joint_multipliers", "minimal": "independent_coordinates"}
    counts = {name: costs(system, f).total.total for name, f in pair.items()}
    taken: dict[str, Any] = dict.fromkeys(pair, None)
    if times:
        taken = dict(seconds({name: Evaluation(system, q, v, f) for name, f in pair.items()}))
    rows = [
        (
            "absolute (1-4) to joint (11-14)",
            f"352 / 75 = {352 / 75:.1f}",
            f"{counts['absolute']} / {counts['joint']} = {counts['absolute'] / counts['joint']:.1f}",
            _quotient(taken["absolute"], taken["joint"]),
            "The paper's figure is of whole simulations with force elements; here of one evaluation. Sparse "
            "elimination keeps the absolute coordinates from paying for full matrices.",
        ),
        (
            "minimal (19) to joint (11-14)",
            "about 1",
            f"{counts['minimal']} / {counts['joint']} = {counts['minimal'] / counts['joint']:.1f}",
            _quotient(taken["minimal"], taken["joint"]),
            "E is two numbers here, and found by elimination of a 2 x 2 block.",
        ),
    ]
    yield Table(
        "Nikravesh and others, conclusion: the four-bar on a slide",
        ("ratio", "paper", "operations", "time", "why"),
        rows,
    )
    rows_ab = system.closure_jacobian(system.q0)
    E = system.motion_basis(system.q0)
    columns = [system.v_slice(name).start for name in ("T1", "R2", "R3", "R4")]
    own = np.abs(rows_ab[:, system.v_slice("R5")]).max(axis=1) > 1e-9  # the row that gives the cut hinge its angle
    held = rows_ab[~own][:, columns]
    singular = np.linalg.svd(held, compute_uv=False)
    yield Table(
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


# ---------------------------------------------------------------------------------------------------------
# Garcia de Jalon and Bayo


Entry = tuple[int, int]

TABLE_83: dict[str, Entry] = {
    "position": (1560, 960),
    "velocity": (360, 360),
    "S": (840, 840),
    "M": (1080, 480),
    "Q - c": (600, 360),
    "R": (1050, 525),
    "R^T M R": (7482, 5285 + 700),
    "R^T (Q - c - M S)": (1050 + 1050, 875 + 995),
    "solution": (16710, 16170),
}
"""Table 8.3, formulation B: multiplications and additions; assembly is with R^T M R."""

TABLE_84: dict[str, Entry] = {
    "position": (1170, 720),
    "velocity": (585, 360),
    "S": (870, 540),
    "M": (837, 372),
    "Q - c": (465, 279),
    "R": (306, 153),
    "R^T M R": (1947, 1394 + 900),
    "R^T (Q - c - M S)": (306 + 306, 255 + 348),
    "closures": (1224 + 108, 1374 + 108),
    "solution": (16000, 16000),
}
"""Table 8.4, formulation B."""

_STAGES = {
    "position": "27m for the product of rotations, 12m for a joint frame in any position, 18m for joint point and "
    "centre; the book's 39m have joints on axes of the body",
    "velocity": "turning rates only: accelerations need no linear velocity here (next row); the book has both",
    "S": "centripetal terms as one matrix a body (6m) and two products (18m), d = w x w_ij (6m); with the row above "
    "33m a body, the book's two rows 30m (human) and 49m (truck)",
    "M": "full inertia tensors, 45m + 30a a body; the book's 27m + 12a are for principal axes, which as traced take "
    "18m, or 9m if two of the three are equal",
    "Q - c": "w x Jw from the products of w that S has computed: 12m a body, not 15m",
    "R": "multiplications equal the book's pair by pair; the lever g_b - r_i (3a) is not counted there",
    "R^T M R": "with its assembly",
    "R^T (Q - c - M S)": "the book has R^T (Q - c) and R^T M S apart, 6m a pair each; here M S, 12m a body, is taken "
    "off before, and R^T comes once",
    "closures": "Phi R and c2 - Phi S: two rows of the book",
    "solution": "the book factorises a full matrix; zeros between branches are kept here",
}
_TRUCK = {
    "Q - c": "efforts at the ten cut joints, turned into the bodies' axes, and the springs' forces are in it",
    "velocity": "turning rates only: accelerations need no linear velocity here",
    "R": "balls cost nothing, cardan joints two columns; the book counts one column of a hinge for every pair, which "
    "gives its figure exactly (row above)",
    "R^T M R": "as many columns to a pair as the joint has, but those of balls and of the base are units",
    "R^T (Q - c - M S)": "33 bodies with 48 freedoms: a product for every column, not for every pair, and M S, 12m a "
    "body",
    "closures": "rods and balls in the axes of the loop's base, the chassis, which turns",
    "solution": "C M^-1 C^T for thirty equations, as sparse as the loops allow",
}


def jalon_counts(times: bool = True) -> Iterator[Table]:
    """Tables 8.3 and 8.4, column B, stage by stage."""
    for title, model, book, other in (
        ("8.3: human body", human_body(), TABLE_83, {}),
        ("8.4: heavy truck", heavy_truck(), TABLE_84, _TRUCK),
    ):
        system = model.build()
        full, folded = costs(system, B, folded=False), costs(system, B)
        rows = []
        as_book, levers = velocity_map_count(system)
        for stage, (m, a) in book.items():
            if stage == "R":
                rows.append(
                    (
                        "R, as the book counts",
                        f"{m}m + {a}a",
                        _ma(as_book),
                        _percent(as_book.multiplications, m),
                        "",
                        f"6m + 3a for each of the pairs of a body and a joint; levers {levers.additions}a",
                    )
                )
            ours = full[stage]
            why = other.get(stage, _STAGES[stage])
            rows.append((stage, f"{m}m + {a}a", _ma(ours), _percent(ours.multiplications, m), _ma(folded[stage]), why))
        m, a = sum(x for x, _ in book.values()), sum(y for _, y in book.values())
        rows.append(
            ("total", f"{m}m + {a}a", _ma(full.total), _percent(full.total.multiplications, m), _ma(folded.total), "")
        )
        yield Table(
            f"Garcia de Jalon and Bayo, table {title}, formulation B",
            ("stage", "book", "counted, unfolded", "of it", "traced", "why"),
            rows,
            "m multiplications, a additions. Forces of the described springs are with Q - c.",
        )


TABLE_85: dict[str, tuple[Callable[[], PaperModel], float, float, float]] = {
    "Bricard": (bricard, 8.01, 8.73, 1.33),
    "five-bar pendulum": (five_bar_pendulum, 12.00, 18.65, 1.29),
    "car": (car, 87.79, 224.54, 12.21),
    "human body": (human_body, 91.30, 942.64, 23.39),
}
"""Table 8.5: penalty, matrix R, formulation B, in milliseconds on a MIPS 3000 of 25 MHz."""


def jalon_times(times: bool = True) -> Iterator[Table]:
    """Table 8.5: times of formulation B beside two others."""
    rows = []
    for name, (make, penalty, matrix_r, own) in TABLE_85.items():
        model = make()
        system = model.build()
        q, v = model.state(system)
        contestants = _contestants(system, q, v) if times else {}
        taken = seconds(contestants) if times else {}
        rows.append(
            (
                name,
                f"{penalty / own:.1f}, {matrix_r / own:.1f}",
                f"{own} ms",
                _time(taken.get(B), None),
                *(_quotient(taken.get(other), taken.get(B)) for other in ("absolute", "independent")),
            )
        )
    yield Table(
        "Garcia de Jalon and Bayo, table 8.5: time of an evaluation",
        (
            "model",
            "book: penalty / B, matrix R / B",
            "book: B",
            "ours: B",
            "absolute / B",
            "independent / B",
        ),
        rows,
        "The book's two comparators are in dependent natural coordinates with full matrices, which do not exist "
        "here yet; beside B stand absolute coordinates and independent joint coordinates, both sparse and traced, "
        "so the ratios are smaller. Loops are closed by independent coordinates in B too (8.116-8.120). On a tree "
        "all coordinates are independent, and composite bodies stand there.",
    )
    yield from _evaluations(times)


def _contestants(system: System, q: Any, v: Any) -> dict[str, Evaluation]:
    closed = bool(system.plan.cuts or system.description.closures)
    return {
        B: Evaluation(system, q, v, B, closed_by="independent"),
        "absolute": Evaluation(system, q, v, "absolute") if closed else tree_evaluation(system, q, v),
        "independent": Evaluation(system, q, v, "independent_coordinates" if closed else "composite"),
    }


BARS = {("human body", "auto"): 350_000, ("human body", B): 100_000}
"""How many evaluations a second there shall be at least, one by one."""


def _evaluations(times: bool) -> Iterator[Table]:
    """How many evaluations a second the large models make, one by one and in batches, on one core."""
    if not times:
        return
    rows = []
    for name, make in (("human body", human_body), ("car", car), ("heavy truck", heavy_truck)):
        model = make()
        system = model.build()
        q, v = model.state(system)
        for formulation in ("auto", B):
            full = formulation if formulation == "auto" else f"{B}/reference_point/independent"
            one, many = Evaluation(system, q, v, full), Batch(system, q, v, full)
            taken = seconds({"one": one, "many": many}, rounds=60)
            bar = BARS.get((name, formulation))
            rows.append((name, full, *_against(1 / taken["one"], bar), f"{1 / taken['many']:,.0f}"))
    yield Table(
        "Evaluations a second on one core",
        ("model", "formulation", "bar", "one by one", "", "in batches"),
        rows,
        "The best of sixty bursts, one by one and batches in turn: a neighbour on the same core halves either. Batches "
        "are of 256 states.",
    )


def _against(found: float, bar: int | None) -> tuple[str, str, str]:
    """Return a bar, a figure, and whether it is met."""
    if bar is None:
        return "", f"{found:,.0f}", ""
    return f"{bar:,}", f"{found:,.0f}", "met" if found >= bar else "missed"


def not_yet(times: bool = True) -> Iterator[Table]:
    """What is not compared."""
    yield Table(
        "Not compared",
        ("table or figure", "why"),
        [
            ("Garcia de Jalon and Bayo, tables 8.3 and 8.4, column A", "natural coordinates do not exist here yet"),
            ("table 8.6, examples 8.6 and 8.7, figures 8.24-8.28", "trapezoidal rule in natural coordinates: the same"),
            ("Critchley and Anderson, figures", "lost in the text; cost along loops is in docs/loops.md"),
            ("Jain", "no figures of cost"),
        ],
    )


REPORTS: tuple[Callable[[bool], Iterator[Table]], ...] = (
    kang_yoon_savings,
    kang_yoon_quarter_car,
    nikravesh_break_even,
    nikravesh_speed_up,
    nikravesh_absolute,
    jalon_counts,
    jalon_times,
    not_yet,
)
"""All reports, in the order in which they are shown."""


def _ma(count: OperationCount) -> str:
    return f"{count.multiplications}m + {count.additions}a"


def _percent(ours: int, theirs: int) -> str:
    return f"{100 * ours / theirs:.0f} %"


def _ratio(value: float, of: float) -> str:
    return f"{value:.0f}, {value / of:.2f}"


def _time(value: float | None, of: float | None) -> str:
    if value is None:
        return NOT_MEASURED
    return f"{1e6 * value:.2f} µs" + ("" if of is None else f", {value / of:.2f}")


def _quotient(value: float | None, of: float | None) -> str:
    return NOT_MEASURED if value is None or of is None else f"{value / of:.1f}"
