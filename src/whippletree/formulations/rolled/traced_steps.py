"""What the rolled walk writes down while it traces: kinds of nodes, drafts of steps, sweeps in the making."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import casadi as ca

from whippletree.formulations.nodes.node import Node
from whippletree.loops import Place

__all__ = [
    "ARRIVING",
    "CONSTANT",
    "LEAVING",
    "LOADS",
    "ROW",
    "STACK",
    "VARIANT",
    "Draft",
    "Kind",
    "Origin",
    "Q",
    "Sweep",
    "V",
]

# Columns of the tables.
VARIANT, ROW, CONSTANT, Q, V, ARRIVING, LEAVING, STACK, LOADS = range(9)

Origin = tuple[Any, ...]


@dataclass
class Kind:
    """Nodes that take the same steps: their common symbols, and which of their numbers differ."""

    node_constants: list[int]
    node: Node
    symbols: list[tuple[ca.SX, Origin]]
    varying: list[int]  # places in the list of constants that differ between nodes
    dynamic: list[int]  # of these, the ones that depend on parameters


@dataclass
class Draft:
    """One variant of a step before it is known what is needed of it."""

    kind: int
    symbols: list[tuple[ca.SX, Origin]]
    leaving: list[ca.SX]
    keep: list[ca.SX]
    record: Any  # what is kept, in its own form
    adds: bool = False


@dataclass
class Sweep:
    """A sweep in the making."""

    outward: bool
    drafts: dict[Any, Draft] = field(default_factory=dict)
    variant_of: list[Any] = field(default_factory=list)
    base: list[ca.SX] = field(default_factory=list)
    live: set[int] = field(default_factory=set)  # entries of what leaves that somebody needs
    kept: list[dict[int, None]] = field(default_factory=list)  # per kind, entries that go into rows
    outputs: list[tuple[int, int, int, Place]] = field(default_factory=list)  # kind, entry, element, place
    total: dict[int, ca.SX] = field(default_factory=dict)  # symbols of what arrives at the ground
    forced: bool = False
