"""Interfaces as sets of nodes: rigid ones, whose nodes move with the frame, and averages, which follow their nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from whippletree.errors import ModelError
from whippletree.flexible_bodies.flexible_input import Array, SparseMatrix, choice
from whippletree.flexible_bodies.flexible_tolerances import IN_LINE
from whippletree.foundation.arrays import Indices
from whippletree.spatial.scalars import number, shown, vector

__all__ = ["NodeSet", "read_node_sets", "rigid_links", "rigid_motions"]

COUPLINGS = ("rigid", "average")


class NodeSet(NamedTuple):
    """An interface: its nodes, the point where its frame is, and how it is tied to them."""

    nodes: Indices
    at: Array
    coupling: str


def read_node_sets(
    interfaces: object, nodes: Array, per_node: int, coupling: object, unit: float = 1.0
) -> dict[str, NodeSet]:
    """Read interfaces given by the numbers of their nodes; points are in the unit of the nodes as they were given."""
    coupling = choice(coupling, COUPLINGS, "flexible: coupling")
    if not isinstance(interfaces, Mapping) or not interfaces:
        raise ModelError(
            'flexible: interfaces must give node numbers by name, as in {"left": [0, 4, 5]}, for at least one '
            f"interface; got {shown(interfaces)}"
        )
    found: dict[str, NodeSet] = {}
    for name, given in interfaces.items():
        if not isinstance(name, str) or not name:
            raise ModelError(f"flexible: an interface needs a name, got {shown(name)}")
        try:
            found[name] = _read_set(given, nodes, coupling, unit)
            _check_frame(found[name], nodes, per_node)
        except ModelError as error:
            raise ModelError(f'flexible: interface "{name}": {error}') from None
    _check_overlaps(found)
    return found


def _read_set(given: object, nodes: Array, coupling: str, unit: float) -> NodeSet:
    at = None
    if isinstance(given, Mapping):
        unknown = set(given) - {"nodes", "at", "coupling"}
        if unknown or "nodes" not in given:
            raise ModelError(f'give "nodes", and perhaps "at" and "coupling"; got {shown(sorted(map(str, given)))}')
        at, coupling = given.get("at"), choice(given.get("coupling", coupling), COUPLINGS, "coupling")
        given = given["nodes"]
    numbers = _node_numbers(given, len(nodes))
    if at is None:
        return NodeSet(numbers, nodes[numbers].mean(axis=0), coupling)
    return NodeSet(numbers, unit * np.array([number(each, "at") for each in vector(at, "at")]), coupling)


def _node_numbers(given: object, count: int) -> Indices:
    listed: Any = given
    try:
        read = np.array([*listed])
    except TypeError:
        raise ModelError(f"its nodes must be a list of numbers, got {shown(given)}") from None
    if read.dtype == bool and read.shape == (count,):
        read = np.flatnonzero(read)
    if not read.size:
        raise ModelError("it has no nodes: give the numbers of some")
    if read.ndim != 1 or read.dtype.kind not in "iu":
        raise ModelError(f"its nodes must be whole numbers, got {shown(given)}")
    outside = read[(read < 0) | (read >= count)]
    if outside.size:
        raise ModelError(f"there is no node {outside[0]}: nodes count from 0 to {count - 1}")
    return np.unique(read)


def _check_frame(each: NodeSet, nodes: Array, per_node: int) -> None:
    """Refuse nodes that do not say how the frame turns."""
    if per_node == 6:
        return
    arms = nodes[each.nodes] - nodes[each.nodes].mean(axis=0)
    spread = np.linalg.svd(arms, compute_uv=False) if len(arms) > 1 else np.zeros(2)
    if spread[0] == 0.0 or spread[1] <= IN_LINE * spread[0]:
        where = "at one place" if spread[0] == 0.0 else "in a line"
        raise ModelError(
            f"its {len(each.nodes)} nodes are {where}, so that they have no rotation around it: nodes with three "
            "freedoms need three or more that are not in a line"
        )


def _check_overlaps(found: Mapping[str, NodeSet]) -> None:
    """Refuse a node that is in two rigid sets."""
    owner: dict[int, str] = {}
    for name, each in found.items():
        for node in each.nodes if each.coupling == "rigid" else ():
            if int(node) in owner:
                raise ModelError(
                    f'flexible: node {node} is in the rigid interfaces "{owner[int(node)]}" and "{name}", which would '
                    'be one body then: leave it out of one, or make one of them "average"'
                )
            owner[int(node)] = name


def rigid_links(
    sets: Mapping[str, NodeSet], nodes: Array, per_node: int
) -> tuple[SparseMatrix, dict[str, SparseMatrix]]:
    """Return the map (N f, m) from independent freedoms, and for each interface that (6, m) to its frame's motion.

    Independent are the freedoms of nodes that are in no rigid set, and after them six of each rigid set.
    """
    from scipy import sparse

    rigid = [name for name, each in sets.items() if each.coupling == "rigid"]
    bound = np.zeros(len(nodes), dtype=bool)
    for name in rigid:
        bound[sets[name].nodes] = True
    kept = np.flatnonzero(np.repeat(~bound, per_node))
    size = len(nodes) * per_node
    free = sparse.coo_array((np.ones(len(kept)), (kept, np.arange(len(kept)))), shape=(size, len(kept)))
    links = sparse.hstack([free, *(_spread(_arms(sets[name], nodes, per_node), sets[name], size) for name in rigid)])
    links = links.tocsr()
    maps = {}
    for name, each in sets.items():
        if each.coupling == "rigid":
            maps[name] = sparse.csr_array(np.eye(6, links.shape[1], len(kept) + 6 * rigid.index(name)))
        else:
            maps[name] = sparse.csr_array(_spread(_mean_motion(each, nodes, per_node).T, each, size).T @ links)
    return links, maps


def _arms(each: NodeSet, nodes: Array, per_node: int) -> Array:
    """Return how the freedoms of a set's nodes (k f, 6) move with its frame."""
    return rigid_motions(nodes[each.nodes] - each.at, per_node)


def _mean_motion(each: NodeSet, nodes: Array, per_node: int) -> Array:
    """Return the map (6, k f) from the nodes' freedoms to the frame's motion, by least squares.

    Rotations, where nodes have some, count with the distance of the nodes from the frame.
    """
    A = _arms(each, nodes, per_node)
    reach = np.sqrt(np.mean(np.sum((nodes[each.nodes] - each.at) ** 2, axis=1)))
    weight = np.tile([1.0] * 3 + [reach**2 if reach > 0 else 1.0] * (per_node - 3), len(each.nodes))
    return np.linalg.solve(A.T @ (weight[:, None] * A), A.T * weight)


def _spread(rows: Array, each: NodeSet, size: int) -> SparseMatrix:
    """Return rows of a set's freedoms as rows of all freedoms."""
    from scipy import sparse

    per_node = len(rows) // len(each.nodes)
    where = (per_node * each.nodes[:, None] + np.arange(per_node)).ravel()
    i, j = np.repeat(where, rows.shape[1]), np.tile(np.arange(rows.shape[1]), len(rows))
    return sparse.coo_array((rows.ravel(), (i, j)), shape=(size, rows.shape[1])).tocsr()


def rigid_motions(nodes: Array, per_node: int = 6) -> Array:
    """Return the rigid motions (N f, 6) of nodes: translations along and rotations about the axes of their frame.

    >>> rigid_motions(np.array([[1.0, 0.0, 0.0]]))[1, 5]
    np.float64(1.0)
    """
    R = np.zeros((len(nodes), 6, 6))
    R[:, :3, :3] = R[:, 3:, 3:] = np.eye(3)
    for i, turn in enumerate(np.eye(3)):
        R[:, :3, 3 + i] = np.cross(turn, nodes)
    return R[:, :per_node].reshape(-1, 6)
