"""The plan's guarantees, on graphs of names and sizes: no mechanics here."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology.graphs import Edge, trees
from whippletree.errors import TopologyError
from whippletree.topology import Plan, Tree, make_plan
from whippletree.topology.plan import GROUND


@given(trees())
def test_parents_come_before_their_children(tree: tuple[list[str], list[Edge]]) -> None:
    plan = make_plan(*tree)
    for k, node in enumerate(plan.nodes):
        assert node.index == k
        assert GROUND <= node.parent < k


@given(trees())
def test_one_node_per_body_and_one_joint_per_node(tree: tuple[list[str], list[Edge]]) -> None:
    bodies, edges = tree
    plan = make_plan(bodies, edges)
    assert sorted(node.body for node in plan.nodes) == sorted(bodies)
    assert sorted(node.joint for node in plan.nodes) == list(range(len(edges)))
    for node in plan.nodes:
        assert plan.node_of(node.body) is node
        edge = edges[node.joint]
        near = "ground" if node.parent == GROUND else plan.nodes[node.parent].body
        assert (near, node.body) == ((edge.child, edge.parent) if node.reverse else (edge.parent, edge.child))


@given(trees())
def test_numbers_are_in_the_order_of_declaration(tree: tuple[list[str], list[Edge]]) -> None:
    bodies, edges = tree
    plan = make_plan(bodies, edges)
    assert plan.joint_names == tuple(edge.name for edge in edges)
    q = v = 0
    for k, edge in enumerate(edges):
        assert plan.q_slices[k] == slice(q, q + edge.nq)
        assert plan.v_slices[k] == slice(v, v + edge.nv)
        q, v = q + edge.nq, v + edge.nv
    assert (plan.nq, plan.nv) == (q, v)
    for node in plan.nodes:
        assert (node.q, node.v) == (plan.q_slices[node.joint], plan.v_slices[node.joint])


@given(trees())
def test_paths_children_and_depths_fit_together(tree: tuple[list[str], list[Edge]]) -> None:
    plan = make_plan(*tree)
    for node in plan.nodes:
        path = plan.support_path(node.index)
        assert path[-1] == node.index
        assert len(path) == node.depth
        steps = zip((GROUND, *path), path, strict=False)
        assert all(plan.nodes[far].parent == near for near, far in steps)
        assert all(plan.nodes[child].parent == node.index for child in plan.children[node.index])
    roots = sum(node.parent == GROUND for node in plan.nodes)
    assert sum(len(c) for c in plan.children) == len(plan.nodes) - roots


@given(trees())
def test_subtrees_are_numbered_in_one_piece(tree: tuple[list[str], list[Edge]]) -> None:
    plan = make_plan(*tree)
    for node in plan.nodes:
        below = [other.index for other in plan.nodes if node.index in plan.support_path(other.index)]
        assert below == list(range(node.index, node.index + len(below)))


@given(trees())
def test_the_tree_does_not_depend_on_the_order_of_bodies(tree: tuple[list[str], list[Edge]]) -> None:
    bodies, edges = tree
    assert make_plan(bodies, edges) == make_plan(sorted(bodies), edges)


@given(trees())
def test_a_tree_is_walked_depth_first_in_declared_order(tree: tuple[list[str], list[Edge]]) -> None:
    bodies, edges = tree
    plan = make_plan(bodies, edges)
    siblings = [*plan.children, tuple(node.index for node in plan.nodes if node.parent == GROUND)]
    for some in siblings:
        joints = [plan.nodes[i].joint for i in some]
        assert joints == sorted(joints)
    assert (plan.cuts, plan.loops, plan.groups, plan.tree_nv) == ((), (), (), plan.nv)


@given(trees(), st.data())
def test_one_joint_less_leaves_bodies_behind(tree: tuple[list[str], list[Edge]], data: st.DataObject) -> None:
    bodies, edges = tree
    if not bodies:
        return
    gone = data.draw(st.sampled_from(edges))
    with pytest.raises(TopologyError, match="not connected to the ground"):
        make_plan(bodies, [edge for edge in edges if edge is not gone])


def chain() -> tuple[list[str], list[Edge]]:
    joints = [Edge("A", "ground", "a"), Edge("B", "b", "a", 2, 2), Edge("C", "b", "c", 4, 3)]
    return ["a", "b", "c"], joints


def test_a_loop_away_from_the_ground_is_an_island() -> None:
    joints = [Edge("A", "a", "b"), Edge("B", "b", "c"), Edge("C", "c", "a")]
    with pytest.raises(TopologyError, match='"a", "b", "c" are not connected to the ground'):
        make_plan(["a", "b", "c"], joints)


@pytest.mark.parametrize(
    ("bodies", "text"),
    [
        (["x"], '"x" is not connected to the ground by any joint'),
        (["x", "y"], '"x", "y" are not connected'),
        ([f"x{i}" for i in range(8)], '"x4", ... are not connected'),
    ],
)
def test_islands_are_named_with_a_remedy(bodies: list[str], text: str) -> None:
    own, edges = chain()
    with pytest.raises(TopologyError) as error:
        make_plan([*own, *bodies], edges)
    assert text in str(error.value)
    assert "m.free(...)" in str(error.value)


def test_the_plan_in_words() -> None:
    text = str(make_plan(*chain()))
    assert text.splitlines()[0] == "3 bodies in a tree of depth 3, 6 freedoms, 7 coordinates; no loops"
    assert "b on a by B (walked from its child to its parent)" in text
    assert "c on b by C" in text


def test_nothing_at_all() -> None:
    plan = make_plan([], [])
    assert isinstance(plan, Plan)
    assert (plan.nq, plan.nv, plan.nodes, plan.children) == (0, 0, (), ())


def test_a_long_chain_needs_no_recursion() -> None:
    n = 5000
    bodies = [f"b{i}" for i in range(n)]
    edges = [Edge(f"j{i}", bodies[i - 1] if i else "ground", bodies[i]) for i in range(n)]
    plan = make_plan(bodies, edges)
    assert plan.nodes[-1].depth == n
    assert len(plan.support_path(n - 1)) == n


@given(trees())
def test_welded_bodies_are_one_rigid_group(tree: tuple[list[str], list[Edge]]) -> None:
    bodies, edges = tree
    plan = make_plan(bodies, edges)
    group_of = {body: k for k, group in enumerate(plan.rigid_groups) for body in group}
    assert sorted(group_of) == sorted(bodies)
    group_of["ground"] = 0
    moving = sum(edge.nv > 0 for edge in edges)
    assert len(plan.rigid_groups) == 1 + moving  # a joint that moves begins a group of its own
    for edge in edges:
        assert (group_of[edge.parent] == group_of[edge.child]) == (edge.nv == 0)


def test_a_body_with_own_coordinates_is_not_welded() -> None:
    edges = [Edge("W", "ground", "a", 0, 0), Edge("X", "a", "b", 0, 0)]
    assert make_plan(["a", "b"], edges).rigid_groups == (("a", "b"),)
    plan = make_plan(["a", "b"], edges, own={"a": 3})
    assert plan.rigid_groups == ((), ("a", "b"))
    assert plan.own_slices["a"] == (slice(0, 3), slice(0, 3))
    assert (plan.nq, plan.nv) == (3, 3)


@given(trees())
def test_a_tree_knows_paths_and_meeting_points(tree: tuple[list[str], list[Edge]]) -> None:
    plan = make_plan(*tree)
    found = Tree([node.parent for node in plan.nodes])
    assert found.children == plan.children
    for node in plan.nodes:
        assert tuple(found.path(node.index))[::-1] == plan.support_path(node.index)
        assert found.depth[node.index] == node.depth
        for other in plan.nodes[:5]:
            common = set(plan.support_path(node.index)) & set(plan.support_path(other.index))
            assert found.meet([node.index, other.index]) == max(common, default=GROUND)
        inside = [k for k in range(len(plan.nodes)) if node.index in plan.support_path(k)]
        assert found.subtree(node.index) == tuple(inside)
