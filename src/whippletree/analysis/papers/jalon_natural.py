"""Garcia de Jalon and Bayo: sizes in natural coordinates, shares of an iteration, and steps in real time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import casadi as ca

from whippletree.analysis.cost import counted
from whippletree.analysis.models import (
    PaperModel,
    bricard,
    car,
    five_bar_pendulum,
    heavy_truck,
    human_body,
    two_arms,
)
from whippletree.analysis.natural_profile import step_multiplications
from whippletree.analysis.natural_sizes import opened_size, plane_size
from whippletree.analysis.papers.figures import NOT_MEASURED
from whippletree.analysis.reports import PaperTable
from whippletree.elements.closures import Distance
from whippletree.errors import WhippletreeError
from whippletree.formulations.nodes.operation_stages import recording
from whippletree.kernels.tape import read_tape
from whippletree.natural.natural_steps import NaturalSteps
from whippletree.system import System

__all__ = ["element_shares", "iteration_shares", "jalon_realtime", "jalon_shares", "jalon_sizes"]


def jalon_sizes(times: bool = True) -> Iterator[PaperTable]:
    """Numbers of coordinates and equations that the chapter states."""
    arms, pendulum, ring = two_arms().build(), five_bar_pendulum(lumped=True).build(), bricard().build()
    human, plane = human_body().build(), plane_size(arms)
    rows = [
        ("example 8.1, natural coordinates, equations", "18, 9", "{}, {}".format(*plane.natural), "in the plane"),
        ("the same, mixed coordinates", "27, 18", "{}, {}".format(*plane.mixed), ""),
        ("the same, reference points", "21", str(plane.reference_point), ""),
        (
            "example 8.7, coordinates, conditions",
            "24, 24",
            f"{ring.natural.n_coordinates}, {ring.natural.n_conditions}",
            "",
        ),
        (
            "example 8.6, points and vectors",
            "5, 5",
            f"{len(pendulum.natural.points)}, {len(pendulum.natural.vectors)}",
            "masses at the ends of the rods, and a point at the tip",
        ),
        (
            "human body, points and vectors",
            "28, 62",
            f"{len(human.natural.points)}, {len(human.natural.vectors)}",
            "",
        ),
        *_truck_sizes(),
    ]
    yield PaperTable("Garcia de Jalon and Bayo, sizes in natural coordinates", ("size", "book", "here", "why"), rows)


def _truck_sizes() -> list[tuple[str, str, str, str]]:
    """Return the sizes of the truck, whose rods with two balls are closures."""
    truck = heavy_truck().build()
    opened, natural = opened_size(truck), truck.natural.n_coordinates
    rods = sum(isinstance(one.closure, Distance) for one in truck.description.closures)
    kinds = Counter(use.joint.kind for use in truck.description.joints)
    joints = (kinds["revolute"], kinds["spherical"] + 2 * rods, kinds["universal"])
    tree = [constants.use.joint for constants in truck.kernels.equations.node_tree().node_constants]
    bodies, left_out = len(tree) + rods, opened.removed + rods
    return [
        ("heavy truck, hinges, balls, cardan joints", "23, 15, 6", "{}, {}, {}".format(*joints), ""),
        ("the same, freedoms", "18", str(truck.mobility.mobility), "12 by Gruebler, and 6 conditions are redundant"),
        (
            "the same, bodies in B and its open freedoms",
            "31, 48",
            f"{len(tree)}, {sum(joint.nv for joint in tree)}",
            "31 bodies by rows M and c of table 8.4; two rods with balls at both ends are conditions",
        ),
        (
            "the same, bodies in A",
            "33 = 21 + 12",
            f"{bodies} = {bodies - left_out} + {left_out}",
            "on the chains and left out, the two rods among them",
        ),
        (
            "the same, coordinates in A",
            "285 = 246 + 39",
            f"{natural + opened.relative} = {natural} + {opened.relative}",
            "natural ones and those of the joints on the chains",
        ),
    ]


TABLE_86 = {
    "solution": ("solutions of equations", 35.0),
    "tangent matrix": ("forming the tangent matrix", 33.5),
    "residual": ("forming the residual", 14.6),
    "Jacobian and conditions": ("Jacobian matrix and constraints", 13.0),
    "update": ("updating velocities and accelerations", 3.5),
    "predictor": ("predictor", 0.4),
}
"""Table 8.6: shares of the time of an iteration in per cent, by our stages."""


def iteration_shares(system: System, iterations: int = 2) -> dict[str, float]:
    """Return which share of a step's multiplications and additions each stage takes, in per cent.

    >>> shares = iteration_shares(five_bar_pendulum().build())
    >>> round(sum(shares.values())), max(shares, key=shares.get) in ("solution", "tangent matrix")
    (100, True)
    """
    steps = NaturalSteps(system.natural, False, False)
    inputs = list(steps.inputs().values())
    with recording() as stages:
        result = steps.iterated()
    update = ca.vertcat(*steps.ended())
    found = {name: count.total for name, count in counted(inputs, result, stages).items()}
    found = {name: iterations * count for name, count in found.items()}
    found["update"] = _operations(inputs, update)
    found["predictor"] = _operations(inputs, steps.predicted())
    whole = sum(found.values())
    return {name: 100 * found.get(name, 0) / whole for name in TABLE_86}


def _operations(inputs: list[ca.SX], result: ca.SX) -> int:
    """Count the operations of a result by itself."""
    return read_tape(ca.Function("alone", inputs, [ca.densify(result)])).count().total


def jalon_shares(times: bool = True) -> Iterator[PaperTable]:
    """Table 8.6: the parts of an iteration."""
    models: dict[str, Callable[[], PaperModel]] = {
        "five-link pendulum": five_bar_pendulum,
        "Bricard": bricard,
        "human body": human_body,
    }
    systems = {name: make().build() for name, make in models.items()}
    traced = {name: iteration_shares(system) for name, system in systems.items()}
    small = [name for name in models if name != "human body"]
    by_book = {name: element_shares(systems[name]) for name in small}
    rows = [
        (
            words,
            f"{book:.1f} %",
            *(f"{by_book[name][stage]:.1f} %" for name in small),
            *(f"{traced[name][stage]:.1f} %" for name in models),
        )
        for stage, (words, book) in TABLE_86.items()
    ]
    yield PaperTable(
        "Garcia de Jalon and Bayo, table 8.6: shares of a step with two iterations",
        ("part", "book", *(f"{name}, as the book" for name in small), *(f"{name}, traced" for name in models)),
        rows,
        "The book's are shares of time, averages of many simulations. As the book: multiplications of arrays, "
        "element by element with full rows of a body's coordinates, and a solution within the smallest profile. As "
        "traced, zeros and constants cost nothing, which helps the tangent matrix most: the solution then has the "
        "larger share, the more so the larger the mechanism is.",
    )


def element_shares(system: System) -> dict[str, float]:
    """Return the shares of a step in per cent, counted element by element as the book does it.

    >>> shares = element_shares(five_bar_pendulum().build())
    >>> round(shares["solution"]), round(shares["tangent matrix"])
    (32, 36)
    """
    found = step_multiplications(system.natural.model)
    return {stage: 100 * found[stage] / sum(found.values()) for stage in TABLE_86}


REALTIME: dict[str, Callable[[], PaperModel]] = {
    "Bricard": bricard,
    "five-bar pendulum": five_bar_pendulum,
    "car": car,
    "human body": human_body,
    "heavy truck": heavy_truck,
}

_TIMED = 150_000
"""Operations of a straight line up to which it is compiled for the page; a longer one takes the compiler minutes."""

_LARGE = 10
"""Moving bodies beyond which loops of a step in natural coordinates are written for the timed page only."""


def jalon_realtime(times: bool = True) -> Iterator[PaperTable]:
    """The chapter's models in real time: which share of a millisecond a step takes."""
    rows = []
    for name, model in REALTIME.items():
        system = model().build()
        for method in ("semi_implicit", "rk4", "natural"):
            rows.append((name, method, *_share(system, method, times)))
    yield PaperTable(
        "Steps of 1 ms in real time",
        ("model", "method", "operations", "median", "of 1 ms"),
        rows,
        "Called from Python on one core; `natural` takes two iterations. The book's aim, a step in less than its own "
        "length, was one evaluation of the human body in 10 ms.",
    )


def _share(system: System, method: str, times: bool) -> tuple[str, str, str]:
    """Return operations, the median time and its share of the step."""
    if not times and method == "natural" and len(system.description.bodies) > _LARGE:
        return NOT_MEASURED, NOT_MEASURED, NOT_MEASURED
    try:
        stepper = system.realtime(step=1e-3, method=method, iterations=2)
        count = stepper.operations.total
    except WhippletreeError as refused:  # a mechanism that the method does not take, or a step too long to be one line
        return "-", f"refused: {refused}", "-"
    if not times:
        return f"{count}", NOT_MEASURED, NOT_MEASURED
    if count > _TIMED and method != "natural":
        return f"{count}", "too long to compile for this page", "-"
    median = stepper.measure(2000).median
    return f"{count}", f"{1e6 * median:.1f} µs", f"{median / 1e-3:.1%}"
