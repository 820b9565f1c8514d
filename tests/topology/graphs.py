"""Graphs of names and sizes for the tests of the plan, and the plainest answers to questions about them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from hypothesis import strategies as st


@dataclass(frozen=True)
class Edge:
    name: str
    parent: str
    child: str
    nq: int = 1
    nv: int = 1
    prescribed: bool = False


@dataclass(frozen=True)
class Closing:
    name: str
    bodies: tuple[str, ...] = ()
    joints: tuple[int, ...] = ()
    rows: int = 1


@st.composite
def trees(draw: st.DrawFn, most: int = 25) -> tuple[list[str], list[Edge]]:
    """Random trees, with joints in any order, described either way, of any size."""
    n = draw(st.integers(0, most))
    bodies = [f"b{i}" for i in range(n)]
    edges = []
    for i, body in enumerate(bodies):
        near = draw(st.sampled_from(["ground", *bodies[:i]]))
        ends = (near, body) if draw(st.booleans()) else (body, near)
        edges.append(draw(_edges(f"j{i}", *ends)))
    return draw(st.permutations(bodies)), draw(st.permutations(edges))


@st.composite
def _edges(draw: st.DrawFn, name: str, parent: str, child: str) -> Edge:
    nv = draw(st.sampled_from([1, 1, 1, 0, 2, 3, 6]))
    prescribed = nv > 0 and draw(st.sampled_from([False, False, False, True]))
    return Edge(name, parent, child, nv + draw(st.integers(0, 1)), nv, prescribed)


@st.composite
def graphs(draw: st.DrawFn, most: int = 9, extra: int = 6) -> tuple[list[str], list[Edge]]:
    """Random connected graphs, several joints between two bodies among them."""
    bodies, edges = draw(trees(most))
    if not bodies:
        return bodies, edges
    names = st.lists(st.sampled_from(["ground", *bodies]), min_size=2, max_size=2, unique=True)
    for i in range(draw(st.integers(0, extra))):
        edges.append(draw(_edges(f"x{i}", *draw(names))))
    return bodies, draw(st.permutations(edges))


@st.composite
def closed_graphs(draw: st.DrawFn, most: int = 9, extra: int = 6) -> tuple[list[str], list[Edge], list[Closing]]:
    """Random connected graphs with closures on bodies, on joints and on both."""
    bodies, edges = draw(graphs(most, extra))
    ends = st.lists(st.sampled_from(["ground", *bodies]), max_size=3, unique=True)
    used = st.lists(st.sampled_from(range(len(edges))), max_size=2, unique=True) if edges else st.just([])
    closures = [
        Closing(f"c{i}", tuple(draw(ends)), tuple(draw(used)), draw(st.integers(1, 3)))
        for i in range(draw(st.integers(0, 3)))
    ]
    return bodies, edges, closures


def four_bars(n: int) -> tuple[list[str], list[Edge]]:
    """Rockers on the ground, each coupled to the next: n loops in a row."""
    joints = [Edge(f"G{i}", "ground", f"rocker{i}") for i in range(n + 1)]
    for i in range(n):
        joints.append(Edge(f"A{i}", f"rocker{i}", f"coupler{i}"))
        joints.append(Edge(f"B{i}", f"coupler{i}", f"rocker{i + 1}"))
    return [f"rocker{i}" for i in range(n + 1)] + [f"coupler{i}" for i in range(n)], joints


def lattice(rows: int, columns: int, grounded: Iterable[int]) -> tuple[list[str], list[Edge]]:
    """A net of bodies; some of its first row are on the ground."""
    bodies = [f"b{i}_{j}" for i in range(rows) for j in range(columns)]
    joints = [Edge(f"g{j}", "ground", f"b0_{j}") for j in grounded]
    for i in range(rows):
        for j in range(columns):
            if i + 1 < rows:
                joints.append(Edge(f"d{i}_{j}", f"b{i}_{j}", f"b{i + 1}_{j}"))
            if j + 1 < columns:
                joints.append(Edge(f"r{i}_{j}", f"b{i}_{j}", f"b{i}_{j + 1}"))
    return bodies, joints


# Plain answers


def ways(edges: Sequence[Edge], tree: Iterable[int]) -> dict[str, tuple[int, ...]]:
    """Return the joints from the ground to every body that some joints reach."""
    found: dict[str, tuple[int, ...]] = {"ground": ()}
    left = list(tree)
    while True:
        for k in left:
            ends = edges[k].parent, edges[k].child
            if (ends[0] in found) != (ends[1] in found):
                near, far = ends if ends[0] in found else ends[::-1]
                found[far] = (*found[near], k)
                left.remove(k)
                break
        else:
            return found


def connects(bodies: Sequence[str], edges: Sequence[Edge], tree: Iterable[int]) -> bool:
    return len(ways(edges, tree)) == len(bodies) + 1


def spanning_trees(bodies: Sequence[str], edges: Sequence[Edge], cut: Collection[int] = ()) -> Iterator[set[int]]:
    """Yield every spanning tree that leaves out some joints."""
    allowed = [k for k in range(len(edges)) if k not in cut]
    for tree in combinations(allowed, len(bodies)):
        if connects(bodies, edges, tree):
            yield set(tree)


def between(way: tuple[int, ...], other: tuple[int, ...]) -> set[int]:
    """Return the joints on the way from one body to another, given theirs from the ground."""
    return set(way) ^ set(other)


def nonzeros(edges: Sequence[Edge], closures: Sequence[Closing], tree: Collection[int]) -> int:
    """Return rows times freedoms of the tree, summed over all cut joints and closures."""
    to = ways(edges, tree)

    def around(a: str, b: str) -> int:
        return sum(edges[k].nv for k in between(to[a], to[b]))

    total = 0
    for k, edge in enumerate(edges):
        used = sum(closure.rows for closure in closures if k in closure.joints)
        total += used * edge.nv if k in tree else (6 - edge.nv + used) * around(edge.parent, edge.child)
    for closure in closures:
        total += closure.rows * sum(around(closure.bodies[0], body) for body in closure.bodies[1:])
    return total


def depths(edges: Sequence[Edge], tree: Collection[int]) -> int:
    """Return the sum of the depths of all bodies, welds not counted."""
    return sum(edges[k].nv > 0 for way in ways(edges, tree).values() for k in way)
