"""Jain: reactions in loops from the by-products of the accelerations, beside one more sweep."""

from __future__ import annotations

from collections.abc import Iterator

from whippletree.analysis.models import (
    PaperModel,
    bricard,
    closed_chain,
    deformable_chain,
    human_body,
    quarter_car,
    serial_chain,
    slider_four_bar,
    stanford_arm,
)
from whippletree.analysis.reports import PaperTable
from whippletree.system import System
from whippletree.system.loop_equations import operation_count, reaction_ways

__all__ = ["jain_reactions", "jain_tree_forces", "reaction_counts"]

_METHODS = ("tree_augmented", "constraint_embedding")


def reaction_counts(system: System, formulation: str) -> dict[str, int]:
    """Return the operations of accelerations alone, and of all joints' reactions by each way that there is to them.

    >>> from whippletree.system.example_systems import four_bar
    >>> list(reaction_counts(four_bar(), "tree_augmented"))
    ['accelerations', 'sweep', 'by-products']
    """
    kernels = system.kernels
    request = kernels.request("reactions", formulation=formulation)
    x = kernels.equations.inputs(request)
    counts = {"accelerations": kernels.operations("forward_dynamics", formulation=formulation).total}
    for way, wrenches in reaction_ways(kernels.equations, request, x).items():
        counts[way] = operation_count(wrenches)
    return counts


def jain_reactions(times: bool = True) -> Iterator[PaperTable]:
    """The cost of all joints' reactions beyond accelerations, by one more sweep and from by-products (42-46, 69)."""
    cases: list[tuple[str, PaperModel]] = [
        ("four-bar on a slide", slider_four_bar()),
        ("closed chain of 6", closed_chain(6)),
        ("Bricard", bricard()),
        ("quarter car", quarter_car()),
    ]
    rows = []
    for name, model in cases:
        system = model.build()
        for formulation in _METHODS:
            counts = reaction_counts(system, formulation)
            base, sweep, shorter = counts["accelerations"], counts["sweep"], counts.get("by-products")
            first = system.joint_names[0]
            alone = system.kernels.operations("reactions", formulation=formulation, joints=[first]).total
            rows.append(
                (
                    name,
                    formulation,
                    str(base),
                    f"+{sweep - base}",
                    "none: welded joints" if shorter is None else f"+{shorter - base}",
                    "sweep" if shorter is None or sweep <= shorter else "by-products",
                    f"{alone - base:+d}",
                )
            )
    yield PaperTable(
        "Jain: reactions of all joints in loops, in operations beyond the accelerations",
        ("model", "formulation", "accelerations", "one more sweep", "by-products", "taken", "first joint alone"),
        rows,
        "Jain's claim is that f = P alpha + z comes at next to no cost. In loops by-products of the "
        "tree-augmented solution take P (alpha_f + delta alpha) and F lambda for every body (18 with 46), full "
        "articulated inertias and six columns of each closure, where a sweep of rigid inertias, most of whose terms "
        "the accelerations have left already, is often shorter; in embedded groups phi f' (68) is there from the "
        "multipliers and only the closures' forces are carried once more (69, corrected). Traces of both are counted, "
        "and the shorter one becomes the kernel (in the car, whose traces take long, by-products: +4000 beside +4783, "
        "and +4197 beside +6569). The reactions of one joint take what is needed for it only; the "
        "accelerations of other bodies may not be needed.",
    )


def jain_tree_forces(times: bool = True) -> Iterator[PaperTable]:
    """The cost of the forces across a tree's joints beyond the accelerations (14, 18; flexible bodies 41)."""
    cases: list[tuple[str, PaperModel]] = [
        ("chain of 6 hinges", serial_chain(6, "revolute")),
        ("chain of 12 hinges", serial_chain(12, "revolute")),
        ("chain of 6 balls", serial_chain(6, "spherical")),
        ("Stanford arm", stanford_arm(6)),
        ("human body", human_body()),
        ("chain of 4 flexible links, 2 modes each", deformable_chain(4, 2)),
    ]
    rows = []
    for name, model in cases:
        system = model.build()
        base = system.kernels.operations("forward_dynamics", formulation="articulated").total
        beyond = [
            system.kernels.operations("reactions", formulation="articulated", joints=joints).total - base
            for joints in (system.joint_names, system.joint_names[:1], system.joint_names[-1:])
        ]
        rows.append(
            (name, str(base), f"{beyond[0]:+d}", f"{100 * beyond[0] / base:.0f} %", *(f"{x:+d}" for x in beyond[1:]))
        )
    yield PaperTable(
        "Jain: forces across the joints of a tree, in operations beyond the accelerations",
        ("model", "accelerations", "all joints", "of it", "first joint alone", "last joint alone"),
        rows,
        "f = P (alpha - a) + z takes a full product with P for each joint, most of which the accelerations do not "
        "need. It is next to no cost where one force is asked for: for the first joint of a tree accelerations of "
        "the bodies beyond need not be worked out, so that it even takes less.",
    )
