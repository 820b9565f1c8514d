"""Equations with nothing folded: every constant of the mechanism is a symbol, as when the papers count.

In a trace, zeros and ones of a mechanism's dimensions cost nothing. The papers' programs multiply them all the same.
Here places, axes, masses and inertias, gravity, and the places where closures hold on, are symbols, whatever their
values; so every body is shifted and every matrix is full. What depends on constants alone is computed once.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca

from whippletree.formulations.closures.closure_frames import ClosureAttachments
from whippletree.formulations.nodes.frame_states import NodeFrame
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.model.description import Description
from whippletree.spatial import RigidInertia
from whippletree.system.equations import Equations
from whippletree.topology import Plan

__all__ = ["Unfolded"]


class Unfolded(Equations):
    """The equations of a mechanism over symbols for its constants; `constants` lists those made so far."""

    def __init__(self, description: Description, plan: Plan) -> None:
        super().__init__(description, plan)
        self._made: dict[str, ca.SX] = {}

    @property
    def constants(self) -> ca.SX:
        """All constants as one column."""
        return ca.vertcat(ca.SX(0, 1), *(ca.vec(symbol) for symbol in self._made.values()))

    def walk(self, symbols: dict[str, ca.SX], *, weld: bool = True, toward: str = "") -> Unrolled:
        """Return the walk with symbols for constants."""
        plain = super().walk(symbols, weld=weld, toward=toward)
        nodes = []
        for k, node in enumerate(plain.nodes):
            inertia = node.inertia
            if not inertia.m.is_zero():
                J = self._symbol_of(f"J{k}", 6)
                full = ca.blockcat([[J[0], J[1], J[2]], [J[1], J[3], J[4]], [J[2], J[4], J[5]]])
                inertia = RigidInertia(self._symbol_of(f"m{k}", 1), self._symbol_of(f"h{k}", 3), full)
            nodes.append(
                replace(
                    node,
                    rotation=self._symbol_of(f"C{k}", 3, 3),
                    point=self._symbol_of(f"s{k}", 3),
                    inertia=inertia,
                )
            )
        gravity = self._symbol_of("g", 3)
        parents, v_slices, positions = plain.parents, plain.v_slices, plain.positions
        homes, node_of = plain.homes, plain.node_of
        return Unrolled(nodes, parents, v_slices, plain.nv, gravity, positions, homes=homes, node_of=node_of)

    def attachments(self, *, weld: bool = True) -> ClosureAttachments:
        """Return the closures with symbols for where they hold on."""
        plain = super().attachments(weld=weld)
        known: dict[int, NodeFrame] = {}

        def frame(old: NodeFrame) -> NodeFrame:
            if id(old) not in known:
                n = len(known)
                known[id(old)] = replace(
                    old, rotation=self._symbol_of(f"G{n}", 3, 3), point=self._symbol_of(f"p{n}", 3)
                )
            return known[id(old)]

        cuts = tuple(replace(cut, frames=(frame(cut.frames[0]), frame(cut.frames[1]))) for cut in plain.cuts)
        return ClosureAttachments(tuple(replace(f, frames=tuple(map(frame, f.frames))) for f in plain.all), cuts)

    def _symbol_of(self, name: str, rows: int, columns: int = 1) -> ca.SX:
        if name not in self._made:
            self._made[name] = ca.SX.sym(name, rows, columns)
        return self._made[name]
