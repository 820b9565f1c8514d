"""Cuts, loops and groups on random graphs and in named cases: no mechanics here."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from topology.graphs import Closing, Edge, between, closed_graphs, four_bars, lattice, ways
from whippletree.topology import GROUND, Loop, Plan, make_plan

Case = tuple[list[str], list[Edge], list[Closing]]


def planned(case: Case) -> Plan:
    return make_plan(case[0], case[1], closures=case[2])


def body(plan: Plan, index: int) -> str:
    return "ground" if index == GROUND else plan.nodes[index].body


def ancestors(plan: Plan, index: int) -> list[int]:
    """The node itself, its parent, and so on to the ground."""
    line = [index]
    while line[-1] != GROUND:
        line.append(plan.nodes[line[-1]].parent)
    return line


@settings(deadline=None)
@given(closed_graphs())
def test_every_joint_is_in_the_tree_or_cut(case: Case) -> None:
    plan = planned(case)
    tree, cut = [node.joint for node in plan.nodes], [cut.joint for cut in plan.cuts]
    assert sorted(tree + cut) == list(range(len(case[1])))
    assert cut == sorted(cut)
    assert len(plan.nodes) == len(case[0])
    assert plan.tree_nv == sum(case[1][k].nv for k in tree)


@settings(deadline=None)
@given(closed_graphs())
def test_nodes_are_a_tree_in_order_with_subtrees_in_one_piece(case: Case) -> None:
    plan = planned(case)
    for k, node in enumerate(plan.nodes):
        edge = case[1][node.joint]
        assert node.index == k
        assert GROUND <= node.parent < k
        ends = (edge.child, edge.parent) if node.reverse else (edge.parent, edge.child)
        assert (body(plan, node.parent), node.body) == ends
        assert node.depth == len(ancestors(plan, k)) - 1
        assert node.nv == edge.nv
        assert plan.node_of(node.body) is node
        below = [other.index for other in plan.nodes if k in ancestors(plan, other.index)]
        assert below == list(range(k, k + len(below)))


@settings(deadline=None)
@given(closed_graphs())
def test_no_plan_changes_the_numbers(case: Case) -> None:
    bodies, edges, _ = case
    plan = planned(case)
    plans = [plan, *(make_plan(bodies, edges, cut=[plan.joint_names[cut.joint]]) for cut in plan.cuts)]
    q = v = 0
    for k, edge in enumerate(edges):
        for one in plans:
            assert one.q_slices[k] == slice(q, q + edge.nq)
            assert one.v_slices[k] == slice(v, v + edge.nv)
        q, v = q + edge.nq, v + edge.nv
    assert {(one.nq, one.nv) for one in plans} == {(q, v)}
    assert plan.joint_names == tuple(edge.name for edge in edges)


@settings(deadline=None)
@given(closed_graphs())
def test_paths_lead_from_the_nearest_common_ancestor_to_the_ends(case: Case) -> None:
    plan = planned(case)
    for cut in plan.cuts:
        edge = case[1][cut.joint]
        for path, end in ((cut.parent_path, edge.parent), (cut.child_path, edge.child)):
            walk = (cut.base, *path)
            assert body(plan, walk[-1]) == end
            assert all(plan.nodes[far].parent == near for near, far in zip(walk, path, strict=False))
        assert not set(cut.parent_path) & set(cut.child_path)


@settings(deadline=None)
@given(closed_graphs())
def test_a_cut_s_loop_goes_around(case: Case) -> None:
    _, edges, closures = case
    plan = planned(case)
    assert len(plan.loops) == len(plan.cuts) + len(closures)
    by_name = {edge.name: edge for edge in edges}
    for cut, loop in zip(plan.cuts, plan.loops, strict=False):
        edge = edges[cut.joint]
        assert (loop.name, loop.base, loop.rows) == (edge.name, cut.base, 6 - edge.nv)
        assert loop.name in loop.joints
        place = body(plan, loop.base)
        for name in loop.joints:
            ends = {by_name[name].parent, by_name[name].child}
            assert place in ends
            (place,) = ends - {place}
        assert place == body(plan, loop.base)
        assert len(set(loop.joints)) == len(loop.joints) == 1 + len(cut.parent_path) + len(cut.child_path)
        assert loop.nodes == tuple(sorted(i for i in cut.parent_path + cut.child_path if plan.nodes[i].nv))


@settings(deadline=None)
@given(closed_graphs())
def test_a_closure_s_loop_holds_what_its_bodies_and_joints_need(case: Case) -> None:
    _, edges, closures = case
    plan = planned(case)
    to = ways(edges, [node.joint for node in plan.nodes])
    for closure, loop in zip(closures, plan.loops[len(plan.cuts) :], strict=True):
        lines = [set(to[end]) for end in closure.bodies]
        shared = set[int]().union(*lines).intersection(*lines)
        need = set[int]().union(*lines) - shared
        for k in closure.joints:
            inside = any(node.joint == k for node in plan.nodes)
            need |= {k} if inside else between(to[edges[k].parent], to[edges[k].child])
        assert {plan.nodes[i].joint for i in loop.nodes} == {k for k in need if edges[k].nv}
        assert list(loop.nodes) == sorted(set(loop.nodes))
        cut = {k for k in closure.joints if any(one.joint == k for one in plan.cuts)}
        assert sorted(loop.joints) == sorted(edges[k].name for k in need | cut)
        assert (loop.name, loop.rows) == (closure.name, closure.rows)
        if lines:
            assert set(to[body(plan, loop.base)]) == shared
        else:
            assert all(loop.base in ancestors(plan, i)[1:] for i in loop.nodes)


@settings(deadline=None)
@given(closed_graphs())
def test_groups_partition_the_loops_and_share_no_node(case: Case) -> None:
    plan = planned(case)
    loops = {loop.name: loop for loop in plan.loops if loop.rows}
    assert sorted(name for group in plan.groups for name in group.loops) == sorted(loops)
    owner: dict[int, int] = {}
    for number, group in enumerate(plan.groups):
        members = [loops[name] for name in group.loops]
        assert group.nodes == tuple(sorted({i for loop in members for i in loop.nodes}))
        assert group.bases == tuple(sorted({loop.base for loop in members}))
        assert group.rows == sum(loop.rows for loop in members)
        assert all(owner.setdefault(i, number) == number for i in group.nodes)
        assert connected(members)
    order = list(loops)
    firsts = [order.index(group.loops[0]) for group in plan.groups]
    assert firsts == sorted(firsts)
    assert all(list(group.loops) == sorted(group.loops, key=order.index) for group in plan.groups)


def connected(loops: list[Loop]) -> bool:
    """Whether shared nodes lead from the first loop to all others."""
    reached, left = set(loops[0].nodes), loops[1:]
    while near := [loop for loop in left if reached & set(loop.nodes)]:
        left = [loop for loop in left if loop not in near]
        reached |= {i for loop in near for i in loop.nodes}
    return not left


# Named cases


def four_bar() -> tuple[list[str], list[Edge]]:
    ends = [("A", "ground", "crank"), ("B", "crank", "rod"), ("C", "rocker", "rod"), ("D", "rocker", "ground")]
    return ["crank", "rod", "rocker"], [Edge(*joint) for joint in ends]


def test_a_four_bar() -> None:
    plan = make_plan(*four_bar())
    (cut,), (loop,), (group,) = plan.cuts, plan.loops, plan.groups
    assert plan.joint_names[cut.joint] == "C"
    assert [body(plan, i) for i in cut.parent_path] == ["rocker"]
    assert [body(plan, i) for i in cut.child_path] == ["crank", "rod"]
    assert loop.joints == ("D", "C", "B", "A")
    assert (group.loops, group.nodes, group.bases, group.rows) == (("C",), (0, 1, 2), (GROUND,), 5)
    assert (plan.nv, plan.tree_nv) == (4, 3)


def test_two_hinges_of_a_door_are_a_loop() -> None:
    plan = make_plan(["door"], [Edge("upper", "ground", "door"), Edge("lower", "door", "ground")])
    (cut,) = plan.cuts
    assert (cut.joint, cut.base, cut.parent_path, cut.child_path) == (1, GROUND, (0,), ())
    assert plan.loops == (Loop("lower", (0,), ("upper", "lower"), GROUND, 5),)


def test_a_loop_away_from_the_ground_has_its_base_there() -> None:
    joints = [Edge("F", "ground", "a", 7, 6), Edge("A", "a", "b"), Edge("B", "b", "c"), Edge("C", "c", "a")]
    plan = make_plan(["a", "b", "c"], joints)
    (loop,) = plan.loops
    assert body(plan, loop.base) == "a"
    assert [body(plan, i) for i in loop.nodes] == ["b", "c"]
    assert loop.joints == ("A", "B", "C")


def test_loops_that_hang_on_the_same_body_are_apart_until_a_closure_joins_them() -> None:
    joints = [Edge(f"{side}{i}", *ends) for side in "LR" for i, ends in enumerate([
        ("ground", f"{side}a"), (f"{side}a", f"{side}b"), (f"{side}b", f"{side}c"), (f"{side}c", "ground")
    ])]  # fmt: skip
    bodies = [f"{side}{x}" for side in "LR" for x in "abc"]
    plan = make_plan(bodies, joints)
    assert [group.loops for group in plan.groups] == [("L2",), ("R2",)]
    plan = make_plan(bodies, joints, closures=[Closing("belt", joints=(0, 7))])
    assert [group.loops for group in plan.groups] == [("L2", "R2", "belt")]
    assert plan.groups[0].rows == 11
    plan = make_plan(bodies, joints, closures=[Closing("rod", ("La", "ground"))])
    assert [group.loops for group in plan.groups] == [("L2", "rod"), ("R2",)]


def test_coupled_loops_with_different_bases() -> None:
    bodies, joints = four_bar()
    joints += [Edge("E", "rod", "x"), Edge("F", "x", "y"), Edge("G", "y", "rod", 4, 3)]
    plan = make_plan([*bodies, "x", "y"], joints)
    assert [loop.name for loop in plan.loops] == ["C", "G"]
    assert [body(plan, loop.base) for loop in plan.loops] == ["ground", "rod"]
    assert [group.loops for group in plan.groups] == [("C",), ("G",)]
    joints += [Edge("H", "x", "ground", 4, 3)]
    plan = make_plan([*bodies, "x", "y"], joints)
    assert len(plan.groups) == 1
    assert [body(plan, base) for base in plan.groups[0].bases] == ["ground", "rod"]


def test_a_frame_welded_to_the_ground_couples_nothing() -> None:
    joints = [Edge("W", "ground", "frame", 0, 0)]
    for side in "LR":
        joints += [Edge(f"{side}1", "frame", f"{side}a"), Edge(f"{side}2", f"{side}a", f"{side}b")]
        joints += [Edge(f"{side}3", f"{side}b", "ground")]
    plan = make_plan(["frame", "La", "Lb", "Ra", "Rb"], joints)
    assert [group.loops for group in plan.groups] == [("L2",), ("R2",)]
    frame = plan.node_of("frame").index
    for cut, loop in zip(plan.cuts, plan.loops, strict=True):
        assert frame in cut.parent_path
        assert frame not in loop.nodes
        assert "W" in loop.joints


def test_a_free_joint_that_is_cut_couples_nothing() -> None:
    bodies, joints = four_bars(2)
    plan = make_plan(bodies, [*joints, Edge("F", "coupler0", "coupler1", 7, 6)])
    assert [loop.rows for loop in plan.loops] == [5, 5, 0]
    assert [group.loops for group in plan.groups] == [("B0", "B1")]


@pytest.mark.parametrize(
    ("closing", "nodes", "joints", "base"),
    [
        (Closing("rod", ("b", "ground")), "ab", "AB", "ground"),
        (Closing("rod", ("c", "a")), "bc", "BC", "a"),
        (Closing("rod", ("b", "d")), "bd", "BWE", "a"),
        (Closing("gear", (), (0, 1)), "ab", "AB", "ground"),
        (Closing("gear", (), (2, 1)), "bc", "CB", "a"),
        (Closing("gear", (), (2,)), "c", "C", "b"),
        (Closing("gear", (), (4,)), "d", "E", "e"),
        (Closing("cam", ("b",), (0,), 2), "a", "A", "b"),
        (Closing("none", ("a", "a"), ()), "", "", "a"),
        (Closing("clock", (), ()), "", "", "ground"),
    ],
)
def test_the_loop_of_a_closure(closing: Closing, nodes: str, joints: str, base: str) -> None:
    edges = [
        Edge("A", "ground", "a"), Edge("B", "a", "b"), Edge("C", "b", "c"), Edge("W", "e", "a", 0, 0),
        Edge("E", "e", "d"),
    ]  # fmt: skip
    plan = make_plan(list("abcde"), edges, closures=[closing])
    (loop,) = plan.loops
    assert plan.cuts == ()
    assert (loop.name, loop.rows) == (closing.name, closing.rows)
    assert "".join(sorted(body(plan, i) for i in loop.nodes)) == nodes
    assert "".join(loop.joints) == joints
    assert body(plan, loop.base) == base


def test_a_closure_on_a_cut_joint_takes_in_its_loop() -> None:
    bodies, joints = four_bar()
    joints = [*joints[:2], Edge("C", "rocker", "rod", 4, 3), joints[3]]
    plan = make_plan(bodies, joints, closures=[Closing("gear", (), (2,))])
    assert [loop.name for loop in plan.loops] == ["C", "gear"]
    assert plan.loops[1].nodes == plan.loops[0].nodes
    assert set(plan.loops[1].joints) == set("ABCD")
    assert plan.loops[1].base == GROUND
    assert len(plan.groups) == 1


# In words


def test_a_plan_with_loops_in_words() -> None:
    bodies, joints = four_bars(2)
    text = str(make_plan(bodies, joints, closures=[Closing("gear", (), (0, 3))]))
    assert text.splitlines() == [
        "5 bodies in a tree of depth 2, 7 freedoms (5 in the tree), 7 coordinates; 3 loops in 1 group",
        "  rocker0 on ground by G0",
        "    coupler0 on rocker0 by A0",
        "  rocker1 on ground by G1",
        "    coupler1 on rocker1 by A1",
        "  rocker2 on ground by G2",
        "2 joints are cut, with 10 equations:",
        "  B0 between coupler0 and rocker1, 5 equations: loop G0, A0, B0, G1 on ground",
        "  B1 between coupler1 and rocker2, 5 equations: loop G1, A1, B1, G2 on ground",
        "1 closure declared, with 1 equation:",
        "  gear, 1 equation: G0, A0 on ground",
        "group 1: loops B0, B1, gear, 11 equations; bodies rocker0, coupler0, rocker1, coupler1, rocker2; on ground",
    ]


def test_a_large_plan_in_words_is_short() -> None:
    text = str(make_plan(*lattice(20, 20, [0])))
    assert len(text.splitlines()) < 60
    assert max(map(len, text.splitlines())) < 240
    assert "400 bodies" in text
    assert "and 381 more" in text
