"""Garcia de Jalon and Bayo: operations stage by stage of formulations A and B, and times of B beside two others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from numpy.typing import ArrayLike

from whippletree.analysis.cost import Costs, costs
from whippletree.analysis.evaluation_times import Batch, Evaluation, seconds
from whippletree.analysis.models import PaperModel, bricard, car, five_bar_pendulum, heavy_truck, human_body
from whippletree.analysis.natural_comparators import COMPARATORS, dependent_evaluation, dependent_function
from whippletree.analysis.natural_sizes import element_pairs
from whippletree.analysis.papers.figures import duration, percent, quotient, work
from whippletree.analysis.recounts import velocity_map_count
from whippletree.analysis.reports import PaperTable
from whippletree.kernels.tape import OperationCount, read_tape
from whippletree.system import System

__all__ = ["jalon_counts", "jalon_counts_a", "jalon_times"]

B = "velocity_transformation"

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

A = f"{B}/natural/multipliers"

TABLE_83_A: dict[str, Entry] = {
    "position": (1820, 859),
    "velocity": (615, 441),
    "S": (1089, 915),
    "R": (4716, 3537),
    "R^T M R": (25824, 22142 + 3918),
    "R^T (Q - M S)": (3060 + 3060, 2885 + 2885),
    "solution": (16710, 16170),
}
"""Table 8.3, formulation A."""

TABLE_84_A: dict[str, Entry] = {
    "position": (1500, 1222),
    "velocity": (507, 627),
    "S": (561, 492),
    "R": (960, 726),
    "R^T M R": (25890, 20893 + 897),
    "R^T (Q - M S)": (4947 + 2040, 4120 + 1870),
    "closures": (2220 + 432, 1850 + 432),
    "solution": (16000, 16000),
}
"""Table 8.4, formulation A."""

PRINTED_TOTALS = {"8.4 A": "55084m", "8.4 B": "23406a"}
"""Totals of table 8.4 that are not the sums of the rows above them; the book's other total of each is."""

_STAGES_A = {
    "position": "as in B, without the centres",
    "velocity": "turning rates only; the book has velocities of points and vectors",
    "S": "centripetal matrices of bodies, then one product (9m) for each element",
    "R": "6m for each pair of a point or vector and a joint on its way; what bodies share is worked out once, from the "
    "body of it that is nearest to the ground, and in the book (row above) for each body",
    "R^T M R": "M R takes 4 x 4 products of rows, zeros of M left out, then R^T; with its assembly",
    "R^T (Q - M S)": "M S, 48m a body, and R^T once; the book has R^T Q and R^T M S apart. Efforts, loads and weights "
    "are in it",
    "closures": "64 conditions: of the ten bodies that are left out, of their joints, and of two rods; the book has "
    "twelve bodies with 36m each, 6m for each of 72 conditions",
    "solution": "the book factorises a full matrix; zeros between branches are kept here",
}

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
    "R^T (Q - c - M S)": "31 bodies with 48 freedoms: a product for every column, not for every pair, and M S, 12m a "
    "body",
    "closures": "36 conditions, as in the book, whose 108m for c2 - Phi S are 3m each; here they are in the axes of "
    "the loop's base, the chassis, which turns",
    "solution": "C M^-1 C^T for the thirty conditions that are independent, as sparse as the loops allow",
}


def jalon_counts(times: bool = True) -> Iterator[PaperTable]:
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
                        work(as_book),
                        percent(as_book.multiplications, m),
                        "",
                        f"6m + 3a for each of the pairs of a body and a joint; levers {levers.additions}a",
                    )
                )
            ours = full[stage]
            why = other.get(stage, _STAGES[stage])
            rows.append((stage, f"{m}m + {a}a", work(ours), percent(ours.multiplications, m), work(folded[stage]), why))
        m, a = _sums(book)
        every, traced = (sum((one[stage] for stage in book), OperationCount()) for one in (full, folded))
        why = _about_total(f"{title[:3]} B")
        rows.append(("total", f"{m}m + {a}a", work(every), percent(every.multiplications, m), work(traced), why))
        yield PaperTable(
            f"Garcia de Jalon and Bayo, table {title}, formulation B",
            ("stage", "book", "counted, unfolded", "of it", "traced", "why"),
            rows,
            "m multiplications, a additions. Forces of the described springs are with Q - c.",
        )


def jalon_counts_a(times: bool = True) -> Iterator[PaperTable]:
    """Tables 8.3 and 8.4, column A, stage by stage, beside column B with the book's solution."""
    for title, model, book, other in (
        ("8.3: human body", human_body(), TABLE_83_A, TABLE_83),
        ("8.4: heavy truck", heavy_truck(), TABLE_84_A, TABLE_84),
    ):
        system = model.build()
        full, beside = costs(system, A, folded=False), costs(system, B, folded=False)
        rows = []
        points, vectors = element_pairs(system)
        for stage, (m, a) in book.items():
            if stage == "R":
                counted = OperationCount(6 * (points + vectors), 6 * points + 3 * vectors)
                share = percent(counted.multiplications, m)
                rows.append(("R, as the book counts", f"{m}m + {a}a", work(counted), share, _PAIRS))
            ours = full[stage]
            rows.append((stage, f"{m}m + {a}a", work(ours), percent(ours.multiplications, m), _STAGES_A[stage]))
        m, a = _sums(book)
        why = _about_total(f"{title[:3]} A")
        rows.append(("total", f"{m}m + {a}a", work(full.total), percent(full.total.multiplications, m), why))
        of_book = m / sum(x for x, _ in other.values())
        ratio = _with_full_solution(full, book["solution"][0]) / _with_full_solution(beside, book["solution"][0])
        why = "both with the book's solution of a full matrix"
        rows.append(("A over B, multiplications", f"{of_book:.2f}", f"{ratio:.2f}", "", why))
        natural = system.natural
        size = f"{len(natural.points)} points, {len(natural.vectors)} vectors, {natural.n_conditions} conditions"
        yield PaperTable(
            f"Garcia de Jalon and Bayo, table {title}, formulation A",
            ("stage", "book", "counted, unfolded", "of it", "why"),
            rows,
            f"m multiplications, a additions. The natural model has {size}; numbers of coordinates are the book's, but "
            f"its figures are lost, and which bodies share what may differ. Loops are opened by leaving "
            f"out bodies' conditions, and closed by multipliers that are iterated, so that dependent ones may stay.",
        )


def _sums(book: Mapping[str, Entry]) -> Entry:
    """Return the multiplications and the additions of all rows of a table."""
    return sum(m for m, _ in book.values()), sum(a for _, a in book.values())


def _about_total(column: str) -> str:
    """Return the remark on a total of the book that is not the sum of its rows, or nothing."""
    printed = PRINTED_TOTALS.get(column)
    return "" if printed is None else f"the sum of the rows; the book prints {printed}"


def _with_full_solution(counted: Costs, multiplications: int) -> int:
    """Return the multiplications with those of a solution of a full matrix instead of the counted one."""
    return counted.total.multiplications - counted["solution"].multiplications + multiplications


_PAIRS = (
    "6m + 3a for each pair of a point or vector of a body and a joint on its way, 3a more for points; the book's "
    "figures are 393 pairs of either for the human body, 82 and 78 for the truck"
)

TABLE_85: dict[str, tuple[Callable[[], PaperModel], float, float, float]] = {
    "Bricard": (bricard, 8.01, 8.73, 1.33),
    "five-bar pendulum": (five_bar_pendulum, 12.00, 18.65, 1.29),
    "car": (car, 87.79, 224.54, 12.21),
    "human body": (human_body, 91.30, 942.64, 23.39),
}
"""Table 8.5: penalty, matrix R, formulation B, in milliseconds on a MIPS 3000 of 25 MHz."""


def jalon_times(times: bool = True) -> Iterator[PaperTable]:
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
                duration(taken.get(B)),
                ", ".join(_operations_over_b(system)),
                *(quotient(taken.get(other), taken.get(B)) for other in (*COMPARATORS, "absolute", "independent")),
            )
        )
    yield PaperTable(
        "Garcia de Jalon and Bayo, table 8.5: time of an evaluation",
        (
            "model",
            "book: penalty / B, matrix R / B",
            "book: B",
            "ours: B",
            "operations: penalty / B, matrix R / B",
            "penalty / B",
            "matrix R / B",
            "absolute / B",
            "independent / B",
        ),
        rows,
        "The book's two comparators are in dependent natural coordinates with full matrices (sections 5.1.4, 5.2.3); "
        "here they are traced with their sparsity, which saves the more the larger the mechanism is, so that the "
        "ratios are smaller. Absolute coordinates and independent joint coordinates stand beside. "
        "Loops are closed by independent coordinates in B too (8.116-8.120). On a tree "
        "all coordinates are independent, and composite bodies stand there.",
    )
    yield from _evaluations(times)


def _contestants(system: System, q: ArrayLike, v: ArrayLike) -> dict[str, Evaluation]:
    closed = bool(system.plan.cuts or system.description.closures)
    return {
        B: Evaluation(system, q, v, B, closed_by="independent"),
        **{how: dependent_evaluation(system, q, v, how) for how in COMPARATORS},
        "absolute": Evaluation(system, q, v, "absolute"),
        "independent": Evaluation(system, q, v, "independent_coordinates" if closed else "composite"),
    }


def _operations_over_b(system: System) -> list[str]:
    """Return how many operations the book's two comparators take, over those of B."""
    own = system.kernels.operations("forward_dynamics", formulation=f"{B}/reference_point/independent").total
    counts = [read_tape(dependent_function(system, how)).count().total for how in COMPARATORS]
    return [f"{count / own:.1f}" for count in counts]


BARS = {("human body", "auto"): 350_000, ("human body", B): 100_000}
"""How many evaluations a second there shall be at least, one by one."""


def _evaluations(times: bool) -> Iterator[PaperTable]:
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
    yield PaperTable(
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
