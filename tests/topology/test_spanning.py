"""Which joints are cut: as few equations as possible, what the user wants, short loops. No mechanics here."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.sampling import rest
from support.work import calls
from topology.graphs import (
    Closing,
    Edge,
    between,
    closed_graphs,
    connects,
    depths,
    four_bars,
    graphs,
    lattice,
    nonzeros,
    spanning_trees,
    trees,
    ways,
)
from whippletree.errors import TopologyError
from whippletree.topology import GROUND, Plan, make_plan, spanning

Bodies = list[str]
Edges = list[Edge]


def tree_of(plan: Plan) -> set[int]:
    return {node.joint for node in plan.nodes}


def cut_names(plan: Plan) -> list[str]:
    return [plan.joint_names[cut.joint] for cut in plan.cuts]


def cost(edges: Edges, tree: set[int]) -> int:
    """The equations of the cuts, with prescribed joints as six."""
    return sum(6 if e.prescribed else 6 - e.nv for k, e in enumerate(edges) if k not in tree)


def cut_class(edge: Edge) -> tuple[bool, bool, int]:
    return (edge.nv == 0, edge.prescribed, 0 if edge.prescribed else edge.nv)


@st.composite
def graphs_with_cuts(draw: st.DrawFn) -> tuple[Bodies, Edges, list[str]]:
    """Graphs, and joints that a user may insist on cutting: those outside some spanning tree."""
    bodies, edges = draw(graphs(5, 4))
    keep: list[int] = []
    for k in draw(st.permutations(range(len(edges)))):
        if not _spare(edges, keep, k):
            keep.append(k)
    spare = [edge.name for k, edge in enumerate(edges) if k not in keep]
    chosen = draw(st.lists(st.sampled_from(spare), unique=True)) if spare else []
    return bodies, edges, chosen


def _spare(edges: Edges, keep: list[int], k: int) -> bool:
    """Whether joint k joins two bodies that others connect already."""
    reach = {edges[k].parent}
    for _ in keep:
        for i in keep:
            if edges[i].parent in reach or edges[i].child in reach:
                reach |= {edges[i].parent, edges[i].child}
    return edges[k].child in reach


@settings(deadline=None)
@given(graphs_with_cuts())
def test_no_spanning_tree_leaves_fewer_equations(case: tuple[Bodies, Edges, list[str]]) -> None:
    bodies, edges, cut = case
    plan = make_plan(bodies, edges, cut=cut)
    assert set(cut) <= set(cut_names(plan))
    out = {k for k, edge in enumerate(edges) if edge.name in cut}
    assert cost(edges, tree_of(plan)) == min(cost(edges, tree) for tree in spanning_trees(bodies, edges, out))


@settings(deadline=None)
@given(graphs(5, 4))
def test_welds_and_then_prescribed_joints_stay_whenever_possible(case: tuple[Bodies, Edges]) -> None:
    bodies, edges = case

    def kept(tree: set[int]) -> tuple[int, int]:
        return sum(edges[k].nv == 0 for k in tree), sum(edges[k].prescribed for k in tree)

    assert kept(tree_of(make_plan(bodies, edges))) == max(kept(tree) for tree in spanning_trees(bodies, edges))


@settings(deadline=None)
@given(closed_graphs())
def test_no_single_exchange_helps(case: tuple[Bodies, Edges, list[Closing]]) -> None:
    bodies, edges, closures = case
    tree = tree_of(make_plan(bodies, edges, closures=closures))
    best = (nonzeros(edges, closures, tree), depths(edges, tree))
    to = ways(edges, tree)
    for e, edge in enumerate(edges):
        if e not in tree:
            for f in between(to[edge.parent], to[edge.child]):
                if cut_class(edges[f]) == cut_class(edge):
                    other = tree ^ {e, f}
                    assert (nonzeros(edges, closures, other), depths(edges, other)) >= best


def first_tree(bodies: Bodies, edges: Edges) -> list[int]:
    graph = spanning.make_graph(bodies, edges, "ground")
    classes = [spanning._cost_class(edge) for edge in edges]
    return spanning._first_tree(graph, [edge.nv > 0 for edge in edges], classes, frozenset())


def tree_of_short_loops(bodies: Bodies, edges: Edges) -> list[int]:
    graph = spanning.make_graph(bodies, edges, "ground")
    classes = [spanning._cost_class(edge) for edge in edges]
    return spanning._tree_of_short_loops(graph, [edge.nv > 0 for edge in edges], classes, frozenset())


def search_from(bodies: Bodies, edges: Edges, closures: list[Closing], tree: list[int]) -> spanning._Search:
    graph = spanning.make_graph(bodies, edges, "ground")
    return spanning._Search(graph, edges, closures, [spanning._cost_class(e) for e in edges], tree, frozenset())


def searched(bodies: Bodies, edges: Edges, closures: list[Closing]) -> spanning._Search:
    """The search, after it ran."""
    search = search_from(bodies, edges, closures, first_tree(bodies, edges))
    search.run()
    return search


@settings(deadline=None)
@given(graphs(), st.randoms(use_true_random=False))
def test_gains_and_rises_are_those_of_the_exchanged_tree(case: tuple[Bodies, Edges], random: Random) -> None:
    bodies, edges = case
    tree: list[int] = []
    for k in random.sample(range(len(edges)), len(edges)):
        if not _spare(edges, tree, k):
            tree.append(k)
    search = search_from(bodies, edges, [], tree)
    now, here = nonzeros(edges, [], tree), depths(edges, tree)
    to = ways(edges, tree)
    for slot, e in enumerate(search.cut):
        around = between(to[edges[e].parent], to[edges[e].child])
        partners = [f for f in around if cut_class(edges[f]) == cut_class(edges[e])]
        others = {f: set(tree) ^ {e, f} for f in partners}
        assert search._gains(slot) == {f: nonzeros(edges, [], other) - now for f, other in others.items()}
        rises = {f: depths(edges, other) - here for f, other in others.items()}
        assert search._rises(slot) == {f: rise for f, rise in rises.items() if rise < 0}


def check_books(search: spanning._Search, edges: Edges, closures: list[Closing]) -> None:
    """What the search changed step by step is what its last tree gives at once."""
    to = ways(edges, search.tree)
    loops = [between(to[edges[k].parent], to[edges[k].child]) | {k} for k in search.cut]
    used = [sum(c.rows for c in closures if k in c.joints) for k in range(len(edges))]
    weights = [6 - edges[k].nv + used[k] for k in search.cut]
    for closure in closures:
        loops += [between(to[closure.bodies[0]], to[body]) for body in closure.bodies[1:]]
        weights += [closure.rows for _ in closure.bodies[1:]]
    assert [set(spanning._bits(mask)) for mask in search.loop] == loops
    assert search.length == [sum(edges[k].nv for k in loop) for loop in loops]
    assert search.weight == weights
    for k in range(len(edges)):
        assert set(spanning._bits(search.through[k])) == {slot for slot, loop in enumerate(loops) if k in loop}


@settings(deadline=None)
@given(closed_graphs())
def test_the_search_keeps_its_books(case: tuple[Bodies, Edges, list[Closing]]) -> None:
    check_books(searched(*case), case[1], case[2])


def test_the_search_keeps_its_books_on_a_net() -> None:
    bodies, edges = lattice(7, 7, range(3))
    closures = [Closing(f"gear{k}", ("b3_3", "b5_1"), (k, k + 9), 2) for k in range(0, 70, 3)]
    check_books(searched(bodies, edges, closures), edges, closures)


@settings(deadline=None)
@given(closed_graphs(), st.data())
def test_the_plan_depends_on_joints_and_closures_alone(
    case: tuple[Bodies, Edges, list[Closing]], data: st.DataObject
) -> None:
    bodies, edges, closures = case
    plan = make_plan(bodies, edges, closures=closures)
    assert plan == make_plan(data.draw(st.permutations(bodies)), edges, closures=closures)
    renamed = {body: f"z{len(bodies) - i}" for i, body in enumerate(bodies)} | {"ground": "ground"}
    moved = [Edge(e.name, renamed[e.parent], renamed[e.child], e.nq, e.nv, e.prescribed) for e in edges]
    held = [Closing(c.name, tuple(renamed[b] for b in c.bodies), c.joints, c.rows) for c in closures]
    again = make_plan([renamed[body] for body in bodies], moved, closures=held)
    assert [(n.parent, n.joint, n.reverse) for n in again.nodes] == [(n.parent, n.joint, n.reverse) for n in plan.nodes]
    assert (again.cuts, again.loops, again.groups) == (plan.cuts, plan.loops, plan.groups)


@settings(deadline=None)
@given(graphs(6, 4), st.data())
def test_cuts_that_leave_bodies_behind_are_refused(case: tuple[Bodies, Edges], data: st.DataObject) -> None:
    bodies, edges = case
    if not edges:
        return
    cut = data.draw(st.lists(st.sampled_from(edges), unique=True))
    names = [edge.name for edge in cut]
    if connects(bodies, edges, [k for k, edge in enumerate(edges) if edge not in cut]):
        assert set(names) <= set(cut_names(make_plan(bodies, edges, cut=names)))
    else:
        with pytest.raises(TopologyError, match="out of cut=") as error:
            make_plan(bodies, edges, cut=names)
        assert any(f'"{name}"' in str(error.value) for name in names)


@settings(deadline=None)
@given(trees())
def test_nothing_of_a_tree_can_be_cut(tree: tuple[Bodies, Edges]) -> None:
    bodies, edges = tree
    for edge in edges:
        with pytest.raises(TopologyError, match=f'joint "{edge.name}" is in no loop'):
            make_plan(bodies, edges, cut=[edge.name])


# Named cases


def ring(*nv: int) -> tuple[Bodies, Edges]:
    """One loop through the ground, with joints A, B, ... of given freedoms."""
    bodies = [f"b{i}" for i in range(1, len(nv))]
    stops = ["ground", *bodies, "ground"]
    return bodies, [Edge(chr(65 + i), stops[i], stops[i + 1], n, n) for i, n in enumerate(nv)]


@pytest.mark.parametrize(
    ("nv", "cut"),
    [
        ((1, 1, 1, 1), "C"),
        ((1, 1, 1), "B"),
        ((3, 1, 1, 1), "A"),
        ((1, 2, 1, 3, 1), "D"),
        ((3, 1, 1, 3, 1), "D"),
        ((0, 0, 1), "C"),
        ((0, 0), "B"),
        ((0, 0, 1, 1, 1, 1), "D"),
        ((1, 6, 1), "B"),
    ],
)
def test_what_is_cut_of_a_ring(nv: tuple[int, ...], cut: str) -> None:
    assert cut_names(make_plan(*ring(*nv))) == [cut]


def test_a_prescribed_joint_is_cut_last() -> None:
    bodies, edges = ring(1, 3, 1)
    moved = [edges[0], Edge("B", "b1", "b2", 3, 3, prescribed=True), edges[2]]
    assert cut_names(make_plan(bodies, moved)) == ["C"]
    assert cut_names(make_plan(bodies, [Edge(e.name, e.parent, e.child, 1, 1, True) for e in edges])) == ["B"]
    welded = [Edge("A", "ground", "b1", 0, 0), moved[1], Edge("C", "b2", "ground", 0, 0)]
    assert cut_names(make_plan(bodies, welded)) == ["B"]


def test_a_weld_is_cut_after_prescribed_joints_even_if_loops_get_longer() -> None:
    bodies, edges = ring(1, 0, 1, 1)
    moved = [Edge(e.name, e.parent, e.child, e.nq, e.nv, e.nv > 0) for e in edges]
    beside = [Edge(f"{e.name}{i}", e.parent, e.child) for e in edges if e.nv for i in range(4)]
    cut = cut_names(make_plan(bodies, [*moved, *beside]))
    assert "B" not in cut
    assert len(set(cut) & set("ACD")) == 1


def test_a_joint_that_a_closure_uses_is_rather_kept() -> None:
    bodies, edges = ring(1, 1, 1, 1)
    assert cut_names(make_plan(bodies, edges, closures=[Closing("gear", joints=(0, 2))])) == ["B"]
    bodies, edges = ring(1, 1, 3, 1)
    assert cut_names(make_plan(bodies, edges, closures=[Closing("gear", joints=(2,))])) == ["C"]


def test_a_rod_counts_when_the_tree_is_chosen() -> None:
    bodies, edges = ring(1, 1, 1, 1, 1, 1)
    assert cut_names(make_plan(bodies, edges)) == ["D"]
    assert cut_names(make_plan(bodies, edges, closures=[Closing("rod", ("b2", "b4"))])) != ["C"]
    assert cut_names(make_plan(bodies, edges, closures=[Closing("rod", ("b3", "ground"), rows=3)])) in (["C"], ["D"])


@pytest.mark.parametrize("n", [1, 2, 7, 1000])
def test_four_bars_in_a_row(n: int) -> None:
    plan = make_plan(*four_bars(n))
    for node in plan.nodes:
        assert node.depth == (1 if node.body.startswith("rocker") else 2)
    assert len(plan.cuts) == n
    for cut in plan.cuts:
        assert cut.base == GROUND
        assert sorted((len(cut.parent_path), len(cut.child_path))) == [1, 2]
    assert [group.rows for group in plan.groups] == [5 * n]


def test_planning_takes_work_in_proportion_to_the_number_of_four_bars() -> None:
    few, many = four_bars(50), four_bars(1000)
    assert calls(lambda: make_plan(*many)) < 20.5 * calls(lambda: make_plan(*few))


@pytest.mark.parametrize("shape", [(100, 10), *rest([((10, 100),)])])
@pytest.mark.parametrize("whole", [False, *rest([True])])
def test_a_net_is_planned_with_short_loops(shape: tuple[int, int], whole: bool) -> None:
    bodies, edges = lattice(*shape, range(shape[1]) if whole else [0])
    plan = make_plan(bodies, edges)
    steps = [len(cut.parent_path) + len(cut.child_path) for cut in plan.cuts]
    assert sum(steps) < 8 * len(steps)


def test_the_search_ends_after_a_fixed_amount_of_work(monkeypatch: pytest.MonkeyPatch) -> None:
    bodies, edges = lattice(12, 12, [0])
    short = make_plan(bodies, edges)
    monkeypatch.setattr(spanning, "_WORK", 300)
    plan = make_plan(bodies, edges)
    assert len(plan.cuts) == len(edges) - len(bodies)
    assert nonzeros(edges, [], tree_of(short)) < nonzeros(edges, [], tree_of(plan))
    monkeypatch.setattr(spanning, "_WORK", 0)
    starts = set(first_tree(bodies, edges)), set(tree_of_short_loops(bodies, edges))
    assert tree_of(make_plan(bodies, edges)) == min(starts, key=lambda tree: nonzeros(edges, [], tree))


def ladder(n: int) -> tuple[Bodies, Edges]:
    """Two rails of n rods, joined by a rung of two rods at every joint."""
    bodies, edges = [], []
    for i in range(n):
        for side in "LR":
            bodies.append(f"{side}{i}")
            edges.append(Edge(f"{side}{i}", f"{side}{i - 1}" if i else "ground", f"{side}{i}"))
        bodies += [f"N{i}", f"F{i}"]
        edges += [Edge(f"N{i}", f"L{i}", f"N{i}"), Edge(f"K{i}", f"N{i}", f"F{i}"), Edge(f"E{i}", f"F{i}", f"R{i}")]
    return bodies, edges


def test_a_long_ladder_has_short_loops() -> None:
    """Its breadth-first tree has loops of all lengths, and exchanging them all away would take too long."""
    bodies, edges = ladder(1000)
    plan = make_plan(bodies, edges)
    steps = [len(cut.parent_path) + len(cut.child_path) for cut in plan.cuts]
    assert len(steps) == 1000
    assert max(steps) <= 7


@settings(deadline=None)
@given(closed_graphs())
def test_the_tree_of_short_loops_has_no_dearer_cuts(case: tuple[Bodies, Edges, list[Closing]]) -> None:
    bodies, edges, closures = case
    tree = tree_of_short_loops(bodies, edges)
    assert connects(bodies, edges, tree)
    assert cost(edges, set(tree)) == cost(edges, tree_of(make_plan(bodies, edges)))
    assert search_from(bodies, edges, closures, tree).non_zeros() == nonzeros(edges, closures, tree)


def test_insisting() -> None:
    bodies, edges = ring(1, 1, 1, 1)
    for name in "ABCD":
        assert cut_names(make_plan(bodies, edges, cut=[name])) == [name]
    assert cut_names(make_plan(bodies, edges, cut=["A", "A"])) == ["A"]
    assert cut_names(make_plan(bodies, edges, cut="A")) == ["A"]
    assert cut_names(make_plan(bodies, [*edges, Edge("E", "b1", "b3", 3, 3)], cut=["B"])) == ["B", "E"]


@pytest.mark.parametrize(
    ("cut", "text"),
    [
        (["Q", "A", "R"], 'cut= names "Q", "R", but there is no joint of that name; the joints are "A", "B", "C"'),
        (
            ["A", "T"],
            'joint "T" is in no loop and cannot be cut: only it connects "t", "u" to the ground; take it out of cut=',
        ),
        (
            ["C", "A"],
            'joints "A", "C" cannot all be cut: together they connect "b1", "b2", "t", "u" to the ground; '
            "take at least one of them out of cut=",
        ),
    ],
)
def test_cuts_that_cannot_be(cut: list[str], text: str) -> None:
    bodies, edges = ring(1, 1, 1)
    edges += [Edge("T", "b1", "t"), Edge("U", "u", "t"), Edge("V", "t", "u")]
    with pytest.raises(TopologyError) as error:
        make_plan([*bodies, "t", "u"], edges, cut=cut)
    assert text in str(error.value)
