"""Kang and Yoon: operations saved by the reference point."""

from __future__ import annotations

from collections.abc import Iterator

from whippletree.analysis.cost import costs
from whippletree.analysis.models import PaperModel, quarter_car, serial_chain
from whippletree.analysis.papers.figures import NOT_MEASURED, duration, ratio, times_of
from whippletree.analysis.recounts import origin_savings
from whippletree.analysis.reports import PaperTable

__all__ = ["kang_yoon_quarter_car", "kang_yoon_savings"]


def kang_yoon_savings(times: bool = True) -> Iterator[PaperTable]:
    """The multiplications that the origin saves, counted as the paper counts."""
    rows = []
    for n, m, what in ((1, 0, "hinge, open"), (3, 0, "ball, open"), (1, 9, "hinge, m = 9"), (3, 9, "ball, m = 9")):
        saved = origin_savings(n, m)
        parts = ", ".join(f"{value:+d} {name}" for name, value in saved.items() if value)
        rows.append((what, f">= {36 + 6 * n + 6 * m}", str(sum(saved.values())), parts))
    yield PaperTable(
        "Kang and Yoon, results: multiplications that the origin saves per body",
        ("body", "paper", "ours", "by equation"),
        rows,
        "Equations (28), (30), (36) and (39) on full matrices of symbols, products as written.",
    )


def kang_yoon_quarter_car(times: bool = True) -> Iterator[PaperTable]:
    """Table 5, and the same for serial chains: the three reference points as traced, in operations and in time."""
    rows = []
    cases: list[tuple[str, PaperModel]] = [("quarter car", quarter_car())]
    cases += [(f"chain of {n} {kind}", serial_chain(n, kind)) for n, kind in ((6, "revolute"), (6, "spherical"))]
    for name, model in cases:
        system = model.build()
        names = {point: f"fully_recursive/{point}" for point in ("centroid", "joint", "origin")}
        counts = {p: costs(system, f).total.total for p, f in names.items()}
        full = {p: costs(system, f, folded=False).total.total for p, f in names.items()}
        taken = times_of(model, system, names, times)
        for point in names:
            paper = {"centroid": "0.50 ms, 1", "origin": "0.43 ms, 0.86"}.get(point, "between")
            rows.append(
                (
                    name,
                    point,
                    paper if name == "quarter car" else NOT_MEASURED,
                    ratio(full[point], full["centroid"]),
                    ratio(counts[point], counts["centroid"]),
                    duration(taken[point], taken["centroid"]),
                )
            )
    yield PaperTable(
        "Kang and Yoon, table 5: the three reference points (and chains)",
        ("model", "reference", "paper", "operations, unfolded", "operations, traced", "time, traced"),
        rows,
        "The origin saves, as in the paper, on chains less than there: it shifts nothing, but a body's inertia there "
        "takes its full form (36), the joint's columns get the moment r x u, and (29) subtracts full matrices. The "
        "point is not the global origin but one of the ground for each tree, where its first joint is, which loses no "
        "digits and saves a first body's moments: in the quarter car four of the five bodies are first. The joint "
        "point is "
        "cheaper than both, not between: a trace knows the zeros, and there a hinge's or ball's B2 has no linear part, "
        "so M21, M22 and Phi2 take half the products. At the centroid M is sparse but B2 is full. In time "
        "a chain of hinges waits for its longest chain of operations, as long at the origin as at the centroid.",
    )
