"""Derivatives of external laws, and motion as it is seen from a base.

What acts (`AppliedLaw`) is differentiated by itself, with respect to the frames it sees, and brought to the joints by
the columns s_j and d_j of `inverse_dynamics_derivatives.py`, which also has the symbols.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import casadi as ca

from whippletree.elements.closures import Side
from whippletree.formulations.nodes.frame_states import NodeFrame, Turn
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.recursions.inverse_dynamics_derivatives import (
    DrivenMotion,
    Matrix,
    SpatialMotion,
    add_entry,
    ancestors,
    carry_motion,
    drive,
    force_cross,
)
from whippletree.spatial import cross, stack, twist_cross

__all__ = ["AppliedDerivatives", "AppliedLaw", "View", "view_from"]


class View:
    """The nodes beyond a base, and the columns of motion that their joints bring; a walk remembers its views."""

    def __init__(self, walk: Unrolled, base: int, turn: Turn) -> None:
        self.walk, self.base = walk, base
        # the ground has no place of its own: each tree has its reference point; a loop has its base's origin
        origin = ca.SX(0, 1) if base < 0 else ca.SX.zeros(3)
        axes = ca.SX.eye(3) if turn is None else ca.SX(ca.DM(turn)).T
        self._rest = SpatialMotion(ca.densify(axes), origin, *(ca.SX.zeros(6),) * 3, ())
        self._seats: dict[int, SpatialMotion] = {}
        self._driven: dict[int, tuple[DrivenMotion, ca.SX, ca.SX]] = {}

    def seat(self, k: int) -> SpatialMotion:
        """Return the seat of a node."""
        way = [n for n in ancestors(self.walk, k, self.base) if n not in self._seats]
        for n in reversed(way):
            parent = self.walk.parents[n]
            before = self._rest if parent == self.base else self._seats[parent]
            self._seats[n] = carry_motion(self.walk.nodes[n], before)[0]
        return self._seats[k]

    def driven(self, k: int) -> tuple[DrivenMotion, ca.SX, ca.SX]:
        """Return a node's motion with its acceleration, the base being at rest, and columns E and G of its joint."""
        way = [n for n in ancestors(self.walk, k, self.base) if n not in self._driven]
        for n in reversed(way):
            parent = self.walk.parents[n]
            resting = DrivenMotion(self._rest, ca.SX.zeros(6))
            self._driven[n] = drive(self.walk.nodes[n], resting if parent == self.base else self._driven[parent][0])
        return self._driven[k]

    def frame_changes(self, frame: NodeFrame) -> Iterator[tuple[int, ca.SX, ca.SX]]:
        """Return the freedoms on the way to a frame, with the frame's changes for a displacement and for a velocity.

        These are 18 numbers: its turning and displacement, and the changes of its angular velocity, of the velocity of
        its origin, of its angular acceleration and of the acceleration of the material point there.
        """
        (seat, A), _, _ = self.driven(frame.node)
        V, x = seat.V, seat.x + seat.R @ frame.point
        w, alpha = V[0:3], A[0:3]
        u = V[3:6] + cross(w, x)
        for n in ancestors(self.walk, frame.node, self.base):
            (own, _), E, G = self.driven(n)
            where = self.walk.v_slices[n]
            for j in range(where.stop - where.start):
                s, d = own.S[:, j], own.D[:, j]
                way = s[3:6] + cross(s[0:3], x)
                dV, dA = twist_cross(s, V) + d, twist_cross(s, A) + twist_cross(d, V) + E[:, j]
                speed = dV[3:6] + cross(dV[0:3], x) + cross(w, way)
                point = dA[3:6] + cross(dA[0:3], x) + cross(alpha, way) + cross(dV[0:3], u) + cross(w, speed)
                moved = stack(s[0:3], way, dV[0:3], speed, dA[0:3], point)
                dA = twist_cross(s, V) + G[:, j]
                point = dA[3:6] + cross(dA[0:3], x) + cross(s[0:3], u) + cross(w, way)
                yield where.start + j, moved, stack(ca.SX.zeros(6), s[0:3], way, dA[0:3], point)

    def columns(self, k: int) -> Iterator[tuple[int, ca.SX, ca.SX]]:
        """Return the freedoms on the way to a node, with s_j and d_j of each."""
        self.seat(k)
        for n in ancestors(self.walk, k, self.base):
            seat, where = self._seats[n], self.walk.v_slices[n]
            for j in range(where.stop - where.start):
                yield where.start + j, seat.S[:, j], seat.D[:, j]


def view_from(walk: Unrolled, base: int, turn: Turn) -> View:
    """Return the view from a base, made once for a walk."""
    key = ("view", base, turn)
    if key not in walk.memory:
        walk.memory[key] = View(walk, base, turn)
    view: View = walk.memory[key]
    return view


class AppliedLaw(NamedTuple):
    """Something that acts on frames and joints, at a state, with its derivatives.

    `wrenches` (6 for each frame) are at the frames' origins in base axes. The rows of `slope` are those of the
    wrenches, then one for each further result; its columns are, for each frame, turning, displacement, angular velocity
    and velocity (12), then the entries of `q`, `v` and `z`: places in the displacements, velocities and states.
    """

    base: int
    turn: Turn
    frames: tuple[NodeFrame, ...]
    sides: tuple[Side, ...]
    wrenches: ca.SX
    slope: ca.SX
    q: tuple[int, ...]
    v: tuple[int, ...]
    z: tuple[int, ...]

    def changes(self, walk: Unrolled) -> Iterator[tuple[str, int, ca.SX, dict[int, ca.SX]]]:
        """Return for every displacement, velocity and state the change of the results, and of the frames' places."""
        view = view_from(walk, self.base, self.turn)
        columns: dict[tuple[str, int], ca.SX] = {}
        shifted: dict[int, dict[int, ca.SX]] = {}
        for g, (frame, side) in enumerate(zip(self.frames, self.sides, strict=True)):
            if frame.node < 0 or frame.node == self.base:
                continue
            part = self.slope[:, 12 * g : 12 * g + 12]
            x, V = _arm(view, frame), view.seat(frame.node).V
            for j, s, d in view.columns(frame.node):
                way = s[3:6] + cross(s[0:3], x)
                turning = cross(s[0:3], side.w) + d[0:3]
                speed = (twist_cross(s, V) + d)[3:6] + cross(turning, x) + cross(side.w, way)
                _add(columns, ("q", j), part @ stack(s[0:3], way, turning, speed))
                _add(columns, ("v", j), part[:, 6:12] @ stack(s[0:3], way))
                ways = shifted.setdefault(j, {})
                ways[g] = ways[g] + way if g in ways else way
        at = 12 * len(self.frames)
        for kind, places in (("q", self.q), ("v", self.v), ("z", self.z)):
            for i in places:
                _add(columns, (kind, i), self.slope[:, at])
                at += 1
        for j in shifted:
            columns.setdefault(("q", j), ca.SX(self.slope.shape[0], 1))
        for (kind, j), change in columns.items():
            yield kind, j, ca.densify(change), shifted.get(j, {}) if kind == "q" else {}


def _add(columns: dict[tuple[str, int], ca.SX], key: tuple[str, int], value: ca.SX) -> None:
    if value.nnz():
        columns[key] = columns[key] + value if key in columns else value


def _arm(view: View, frame: NodeFrame) -> ca.SX:
    """Return where a frame is from the reference point."""
    seat = view.seat(frame.node)
    return seat.x + seat.R @ frame.point


class AppliedDerivatives:
    """The generalised forces of laws and their derivatives, gathered node by node and projected once.

    `slopes` has the derivatives for displacements (q), velocities (v) and states (z).
    """

    def __init__(self, walk: Unrolled) -> None:
        self.walk = walk
        self.slopes: dict[str, Matrix] = {"q": {}, "v": {}, "z": {}}
        self._wrenches: dict[tuple[int, Turn], dict[int, ca.SX]] = {}
        self._changes: dict[tuple[int, Turn], dict[tuple[str, int], dict[int, ca.SX]]] = {}

    def add(self, law: AppliedLaw) -> list[tuple[str, int, ca.SX]]:
        """Let a law act; return the changes of its further results."""
        view, key = view_from(self.walk, law.base, law.turn), (law.base, law.turn)
        wrenches = self._wrenches.setdefault(key, {})
        changes = self._changes.setdefault(key, {})
        arms = {}
        for g, frame in enumerate(law.frames):
            if frame.node >= 0 and frame.node != law.base:
                arms[g] = _arm(view, frame)
                _to_node(wrenches, frame.node, _moved(law.wrenches[6 * g : 6 * g + 6], arms[g]))
        further = []
        for kind, j, change, shifted in law.changes(self.walk):
            for g, x in arms.items():
                part = _moved(change[6 * g : 6 * g + 6], x)
                if g in shifted:
                    f = law.wrenches[6 * g + 3 : 6 * g + 6]
                    part = part + stack(cross(shifted[g], f), ca.SX.zeros(3))
                if not part.is_zero():
                    _to_node(changes.setdefault((kind, j), {}), law.frames[g].node, part)
            rest = change[6 * len(law.frames) :]
            if rest.numel() and not rest.is_zero():
                further.append((kind, j, rest))
        return further

    def add_change(
        self, base: int, turn: Turn, frames: Sequence[NodeFrame], kind: str, j: int, wrenches: Sequence[ca.SX]
    ) -> None:
        """Add a change of wrenches on frames for one displacement, velocity or state."""
        view = view_from(self.walk, base, turn)
        self._wrenches.setdefault((base, turn), {})
        parts = self._changes.setdefault((base, turn), {}).setdefault((kind, j), {})
        for frame, wrench in zip(frames, wrenches, strict=True):
            if frame.node >= 0 and frame.node != base:
                _to_node(parts, frame.node, _moved(wrench, _arm(view, frame)))

    def project(self) -> dict[str, Matrix]:
        """Bring everything to the joints."""
        for key, wrenches in self._wrenches.items():
            view = view_from(self.walk, *key)
            self._turn_with_joints(view, _inward(self.walk, wrenches, view.base))
            for (kind, j), parts in self._changes[key].items():
                for n, W in _inward(self.walk, parts, view.base).items():
                    where, effort = self.walk.v_slices[n], view.seat(n).S.T @ W
                    for i in range(where.stop - where.start):
                        add_entry(self.slopes[kind], where.start + i, j, effort[i])
        return self.slopes

    def _turn_with_joints(self, view: View, wrenches: dict[int, ca.SX]) -> None:
        """Add the effect of joint axes that move while wrenches stay."""
        slopes = self.slopes["q"]
        for n, W in wrenches.items():
            seat, where = view.seat(n), self.walk.v_slices[n]
            for i in range(where.stop - where.start):
                turned = force_cross(seat.S[:, i], W)
                for j, s, _ in view.columns(n):
                    add_entry(slopes, where.start + i, j, ca.dot(s, turned))
                for j, change in enumerate(seat.moved):
                    add_entry(slopes, where.start + i, where.start + j, ca.dot(change[:, i], W))


def _moved(wrench: ca.SX, x: ca.SX) -> ca.SX:
    """Return a wrench at x about the reference point."""
    return stack(wrench[0:3] + cross(x, wrench[3:6]), wrench[3:6])


def _to_node(wrenches: dict[int, ca.SX], node: int, W: ca.SX) -> None:
    wrenches[node] = wrenches[node] + W if node in wrenches else W


def _inward(walk: Unrolled, wrenches: dict[int, ca.SX], base: int) -> dict[int, ca.SX]:
    """Return for every node the sum of the wrenches on it and on everything beyond it."""
    total = dict(wrenches)
    nodes = {n for k in wrenches for n in ancestors(walk, k, base)}
    for n in sorted(nodes, reverse=True):
        parent = walk.parents[n]
        if parent != base and parent >= 0:
            _to_node(total, parent, total[n])
    return total
