"""What a formulation costs, before anything is compiled: operations by stage, the longest chain, and break-even points.

Every formulation is a trace, and a trace can be counted. The example is the quarter car of Kang and Yoon, whose paper
argues that velocities of bodies should refer to the point that is at the global origin at the moment. Three reference
points, one text: `reference=` chooses. Then two formulations along chains of hinges, one whose cost grows with the
number of bodies and one whose cost grows with its third power: where do they cross? `whippletree papers` prints all of
this for all models of the papers, with their figures beside.
"""

from __future__ import annotations

from typing import Any

import whippletree as wt
from whippletree.analysis import Flow, compare, costs, traced
from whippletree.analysis.models import quarter_car, serial_chain


def describe() -> wt.Mechanism:
    """Return the quarter car: chassis fixed, five moving bodies, three ball joints to be cut."""
    return quarter_car().mechanism


def main() -> dict[str, Any]:
    """Count by stage and by reference point, and find a break-even point."""
    system = quarter_car().build()
    counts = {point: costs(system, "fully_recursive", reference=point) for point in ("centroid", "joint", "origin")}
    for point, count in counts.items():
        print(f"{point}: {count.total}")
    print(counts["joint"], "\n")

    # the data-flow graph: no number of processors is faster than its longest chain
    flow = Flow(traced(system, "fully_recursive", reference="joint"))
    print(f"{flow.serial} operations, longest chain {flow.critical}: at most {flow.largest_speed_up:.1f} times as fast")
    for processors in (2, 4, 8):
        print(f"  on {processors} processors {flow.schedule(processors).speed_up:.2f} times")

    # recursion against a matrix R, chains of 3 to 8 hinges
    curves = compare(serial_chain, range(3, 9), "fully_recursive/joint", "velocity_transformation")
    print("recursive:", *(f"{x:.0f}" for x in curves.of_first))
    print("matrix R: ", *(f"{x:.0f}" for x in curves.of_second))
    print("recursion is cheaper from", curves.break_even, "joints on")
    return {"system": system, "counts": counts, "flow": flow, "curves": curves}


if __name__ == "__main__":
    main()
