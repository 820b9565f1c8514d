"""Groups of loops on the nodes: each is complete, in one piece, and has nothing in it that could be left out."""

from __future__ import annotations

import numpy as np
import pytest

import whippletree as wt
from support.grouped_models import branched, cells
from support.loop_models import built
from support.random_loops import case
from whippletree.formulations.closures.loop_groups import NodeGroup, node_groups
from whippletree.topology import Tree


def grouped(s: wt.System) -> tuple[list[int], list[NodeGroup]]:
    """The nodes' parents, and the groups."""
    equations = s._engine.equations
    parents = [constants.parent for constants in equations.node_tree().node_constants]
    return parents, node_groups(Tree(parents), equations.attachments(), equations.loop_plan.keep)


def chain(n: int, **gears: tuple[int, int]) -> wt.System:
    """Links in a row, with gears between some of their joints."""
    m = wt.Mechanism("chain")
    body = m.ground
    for i in range(n):
        link = m.body(f"link {i}", wt.box(size=(0.1, 0.2, 1.0), mass=1.0))
        m.revolute(f"joint {i}", body, link, at=(0.1, 0, 1), axis="xyz"[i % 3])
        body = link
    for name, (a, b) in gears.items():
        m.gear(name, f"joint {a}", f"joint {b}", ratio=0.5)
    return m.build()


@pytest.mark.parametrize(
    ("family", "i"),
    [("one loop", 2), ("coupled, one base", 0), ("floating", 0), ("rods", 0), ("couplings", 1), ("expressions", 1)],
)
def test_groups_of_random_mechanisms(family: str, i: int) -> None:
    s = built(case(family, i).looped)
    parents, groups = grouped(s)
    node_constants, numbers = s._engine.equations.node_tree().node_constants, s._engine.loops.numbers
    C = numbers.tree_rows(s.q0, 0.0, np.zeros(0))
    touched = np.abs(C) > 1e-12
    node_of = {i: k for k, constants in enumerate(node_constants) for i in range(constants.v.start, constants.v.stop)}
    assert sum(len(group.nodes) for group in groups) == len({k for group in groups for k in group.nodes})
    for row in touched:  # no equation reaches from one group into another, or out of all
        nodes = {node_of[i] for i in np.flatnonzero(row)}
        assert not nodes or any(nodes <= set(group.nodes) for group in groups)
    for group in groups:
        assert all(parents[k] == group.base or parents[k] in group.nodes for k in group.nodes)


def test_a_gear_takes_in_what_lies_between() -> None:
    _, groups = grouped(chain(6, gear=(1, 4)))
    assert [(group.nodes, group.base) for group in groups] == [((1, 2, 3, 4), 0)]


def test_gears_that_cross_are_one_group_and_others_not() -> None:
    _, groups = grouped(chain(9, one=(0, 2), two=(2, 3), three=(5, 6), four=(7, 8)))
    assert [group.nodes for group in groups] == [(0, 1, 2, 3), (5, 6), (7, 8)]
    assert [group.base for group in groups] == [-1, 4, 6]
    _, groups = grouped(chain(9, one=(0, 2), two=(5, 6), around=(1, 7)))
    assert [group.nodes for group in groups] == [(0, 1, 2, 3, 4, 5, 6, 7)]
    assert groups[0].attachments == (0, 1, 2)


def test_cells_are_groups_of_their_own() -> None:
    _, groups = grouped(cells(3))
    assert [len(group.nodes) for group in groups] == [3, 3, 3]
    s = branched()
    _, groups = grouped(s)
    names = [{s._engine.equations.node_tree().node_constants[k].use.child for k in group.nodes} for group in groups]
    assert names == [{"crank", "coupler", "rocker"}, {"bob", "swing"}, {"leg", "foot"}]
