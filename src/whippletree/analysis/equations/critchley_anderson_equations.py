"""Critchley and Anderson, "A generalized recursive coordinate reduction method": its equations, on one and two loops.

Bodies are 0 to 8 of a loop, of which 0 turns on the ground and 8 is the phantom copy of 0. u' are derivatives of
speeds, A the parts of accelerations that are explicit in them, oA those relative to the base; all at the bodies'
points, [angular; linear] in ground axes. What the package does with fronts, the literal text of the paper does with the
paper's letters (`analysis.literal.printed_reduction`); both are compared with each other. Speeds 1 and 2 are
independent at first; with _a, in the arbitrary selection, they are 1 and 5, and 2 to 4 depend.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from whippletree.analysis.equations.coupled_loops import two_loops
from whippletree.analysis.equations.critchley_anderson_rows import PLACES, ROWS
from whippletree.analysis.equations.equation import Array, Text, lever, rows
from whippletree.analysis.equations.tree_motion import Hung, HungTree, Letters, TreeMotion
from whippletree.analysis.literal.printed_reduction import LoopBody, LoopReduction, reduced
from whippletree.model import BodyHandle, Mechanism

__all__ = ["CRITCHLEY_ANDERSON", "LETTERS", "RING", "RingMotion", "loop_bodies"]

AT = (
    *((0.0, 0.0, 0.0), (0.3, 0.1, 0.4), (-0.1, 0.3, 0.2), (0.2, 0.2, 0.3), (0.2, 0.4, -0.1)),
    *((0.3, -0.2, 0.3), (-0.4, 0.1, 0.2), (0.1, -0.3, -0.2)),
)
AXES = (
    *((0.2, 0.3, 1.0), (1.0, 0.2, -0.3), (0.1, 1.0, 0.4), (0.5, 1.0, 0.1), (1.0, 0.0, 0.7)),
    *((-0.2, 0.6, 1.0), (0.4, -1.0, 0.3), (1.0, 0.5, 0.2)),
)
CLOSING, LAST = (0.7, 0.1, -0.4), (0.1, 0.2, 0.3)
"""The axis of the last joint, and its point on body 7."""


def _close(m: Mechanism, bodies: Mapping[str, BodyHandle]) -> None:
    """Join body 7 to body 0: the loop is closed where all angles are zero."""
    at = tuple(np.sum(AT[1:], axis=0) + np.array(LAST))
    m.revolute("B8", bodies["b7"], bodies["b0"], at=LAST, at_child=at, axis=CLOSING, axis_child=CLOSING)


def _hung(k: int) -> Hung:
    return Hung(f"b{k - 1}" if k else "", "revolute", AT[k], AXES[k])


RING = HungTree({f"b{k}": _hung(k) for k in range(8)}, _close, {"cut": ["B8"]})


class RingMotion(TreeMotion):
    """The loop in motion, without motors."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.tau = 0.0 * self.tau
        self.a = self.function("forward_dynamics")

    def pairs(self, on: str) -> list[tuple[Any, Any]]:
        """Return bodies by number, each with the one before."""
        if on in _PAIRS:
            return [(k, k - 1) for k in _PAIRS[on]]
        return super().pairs(on)


_PAIRS = {
    "real": range(1, 8),
    "loop": range(1, 9),
    "tree": range(8),
    "independent": (1, 2),
    "dependent": range(3, 9),
    "first": (1,),
    "arbitrary": (2, 3, 4, 6, 7, 8),
    "beyond": range(2, 9),
}


def _columns(s: TreeMotion) -> dict[int, Array]:
    """Return P of all joints in ground axes, that of the last one on the phantom."""
    found = {k: np.concatenate([s.letter("u")[f"b{k}"], np.zeros(3)])[:, None] for k in range(8)}
    axis = s.letter("A")["b7"] @ np.array(CLOSING) / np.linalg.norm(CLOSING)
    return found | {8: np.concatenate([axis, np.zeros(3)])[:, None]}


def _points(s: TreeMotion) -> dict[int, Array]:
    r, A = s.letter("r"), s.letter("A")
    return {k: r[f"b{k}"] for k in range(8)} | {8: r["b7"] + A["b7"] @ np.array(LAST)}


def _speeds(s: TreeMotion, vector: Array) -> dict[int, Array]:
    return {k: vector[s.system.v_slice(f"B{k}")] for k in range(9 if s.is_closed else 8)}


def _accelerations(s: TreeMotion, a: Array) -> dict[int, Array]:
    """Return accelerations of all bodies at some u', the phantom's by its joint."""
    f = s.function
    kept, s.a = s.a, a
    found = {k: f("acceleration", ["q", "v", "a"], frame=f"b{k}") for k in range(8)}
    s.a = kept
    if not s.is_closed:
        return found
    r, w, P = s.letter("r_k")[8] - s.letter("r_k")[7], s.letter("w")["b7"], s.letter("P")[8]
    moved = lever(r) @ found[7] + np.concatenate([np.zeros(3), np.cross(w, np.cross(w, r))])
    rate = s.v[s.system.v_slice("B8")]
    turned = np.concatenate([np.cross(w, P[:3, 0] * rate), np.zeros(3)])
    return found | {8: moved + P @ a[s.system.v_slice("B8")] + turned}


def _explicit(s: TreeMotion) -> dict[int, Array]:
    still = s.letter("still")
    return {k: one - still[k] for k, one in _accelerations(s, s.letter("found")).items()}


def _carried(s: TreeMotion, speeds: Mapping[int, Array], first: int = 1) -> dict[int, Array]:
    """Return what speeds from a body on move: 0A of u', 0V of u."""
    S, P, found = s.letter("S"), s.letter("P"), {first - 1: np.zeros(6)}
    for k in range(first, len(speeds)):
        found[k] = S[k].T @ found[k - 1] + P[k] @ speeds[k]
    return found


def _relative(s: TreeMotion, name: str) -> dict[int, Array]:
    r, of = s.letter("r_k"), s.letter(name)
    return {k: one - lever(r[k] - r[0]) @ of[0] for k, one in of.items()}


def _velocities(s: TreeMotion) -> dict[int, Array]:
    found = {k: np.concatenate([s.letter("w")[f"b{k}"], s.letter("d_r")[f"b{k}"]]) for k in range(8)}
    r, P = s.letter("r_k"), s.letter("P")
    return found | {8: lever(r[8] - r[7]) @ found[7] + P[8] @ s.letter("u_k")[8]} if s.is_closed else found


def _rest(s: TreeMotion) -> Array:
    """Return A_t: what the closure has without u', which is that the phantom moves with the base."""
    r, w, still = s.letter("r_k"), s.letter("w")["b0"], s.letter("still")
    r80 = r[8] - r[0]
    base = lever(r80) @ still[0] + np.concatenate([np.zeros(3), np.cross(w, np.cross(w, r80))])
    return np.asarray(still[8] - base)


def loop_bodies(s: TreeMotion) -> list[LoopBody]:
    """Return the loop as the literal text takes it."""
    r, P, I, F = (s.letter(name) for name in ("r_k", "P", "I", "F_k"))
    return [LoopBody(r[k], P[k], I[k], F[k]) for k in range(9)]


def _of(loop: str, name: str) -> Any:
    """Return letters of a reduced loop."""
    return lambda s: getattr(s.letter(loop), name)


def _efforts(s: TreeMotion) -> dict[str, Array]:
    """Return u' of everything by the literal text: the base's from its own row (12), the loop's outward."""
    found = {}
    for loop in ("loop", "loop_a"):
        one: LoopReduction = s.letter(loop)
        P = s.letter("P")[0]
        base = P @ np.linalg.solve(P.T @ one.I0[0] @ P, P.T @ one.Fj[0])
        rates, own = one.speeds(base)
        found[loop] = np.concatenate([np.linalg.pinv(P) @ base, *rates[1:]])
        found[f"{loop} own"] = np.stack(own)
    return found


def _articulated(s: TreeMotion) -> dict[str, dict[int, Array]]:
    """Return the recursive inertias and forces of the open chain, and its triangularisations (10, 20-22)."""
    I, F, T = dict(s.letter("I")), dict(s.letter("F_k")), {}
    S, P = s.letter("S"), s.letter("P")
    for k in range(7, 0, -1):
        p = k - 1
        M = P[k].T @ I[k] @ P[k]
        T[k] = S[k] @ (np.eye(6) - I[k] @ P[k] @ np.linalg.inv(M) @ P[k].T)
        I[p] = I[p] + T[k] @ I[k] @ S[k].T
        F[p] = F[p] + T[k] @ F[k]
    return {"I": I, "F": F, "T": T}


LETTERS: Letters = {
    "M_J": partial(TreeMotion.on_bodies, name="M", text="kang-yoon/joint"),
    "Q_J": partial(TreeMotion.on_bodies, name="Q", text="kang-yoon/joint", columns="all"),
    "Mt": lambda s: s.function("mass_matrix", ["q"]).reshape(s.system.nv, -1),
    "tau_all": lambda s: s.tau,
    "bias": lambda s: s.function("bias_force", ["q", "v"]),
    "E": lambda s: s.whole("E", "nikravesh"),
    "dd_theta": lambda s: s.a,
    "by_reduction": lambda s: s.function("forward_dynamics", formulation="coordinate_reduction"),
    "by_articulated": lambda s: s.function("forward_dynamics", formulation="articulated"),
    "r_k": _points,
    "P": _columns,
    "u_k": lambda s: _speeds(s, s.v),
    "by_inverse": lambda s: s.function("inverse_dynamics", ["q", "v", "a"]),
    "found": lambda s: s.letter("by_reduction" if s.is_closed else "by_articulated"),
    "d_u": lambda s: _speeds(s, s.letter("found")),
    "d_u_found": lambda s: _speeds(s, s.letter("by_reduction")),
    "d_u_all": lambda s: np.concatenate([*s.letter("d_u_found").values()]),
    "V_k": _velocities,
    "oV": lambda s: _relative(s, "V_k"),
    "still": lambda s: _accelerations(s, 0.0 * s.a),
    "A_k": _explicit,
    "oA": lambda s: _carried(s, s.letter("d_u")),
    "lever_of": lambda s: lever,
    "two": two_loops,
    "total_A": lambda s: _accelerations(s, s.a),
    "J_k": lambda s: {k: s.function("jacobian", ["q"], frame=f"b{k}").reshape(6, -1) for k in range(8)},
    "A_t": _rest,
    "V_t": lambda s: np.zeros(6),
    "I": lambda s: {k: s.letter("M_J")[f"b{k}"] for k in range(8)} | {8: np.zeros((6, 6))},
    "F_k": lambda s: (
        {k: s.letter("Q_J")[f"b{k}"] - s.letter("M_J")[f"b{k}"] @ s.letter("still")[k] for k in range(8)}
        | {8: np.zeros(6)}
    ),
    "S": lambda s: {k: lever(s.letter("r_k")[k] - s.letter("r_k")[k - 1]).T for k in range(1, len(s.letter("r_k")))},
    "toS": lambda s: {k: lever(s.letter("r_k")[8] - point).T for k, point in s.letter("r_k").items()},
    "oS": lambda s: {k: lever(point - s.letter("r_k")[0]).T for k, point in s.letter("r_k").items()},
    "loop": lambda s: reduced(loop_bodies(s), 2, s.letter("A_t")),
    "loop_a": lambda s: reduced(loop_bodies(s), 1, s.letter("A_t"), outer=[5]),
    **{name: _of("loop", name) for name in ("Q", "R", "X", "W", "Y", "Z", "I0", "Ij", "Fj", "folded")},
    "Tj": lambda s: {j: s.letter("loop").T(j) for j in (1, 2)},
    **{f"{name}_a": _of("loop_a", name) for name in ("Q", "R", "X", "W", "Y", "Z", "G", "H")},
    **{f"{name}_a": _of("loop_a", name) for name in ("K", "M_M", "I_M", "I0", "Ij", "Fj", "folded")},
    "literal": _efforts,
    "tips": _articulated,
    "beyond": lambda s: list(range(2, 9)),
    "beyond_a": lambda s: list(range(1, 9)),
}


CRITCHLEY_ANDERSON = Text(
    "critchley-anderson",
    "Critchley and Anderson, A generalized recursive coordinate reduction method",
    rows(ROWS, PLACES),
    lambda: RingMotion(RING, LETTERS, "critchley-anderson"),
)
"""All equations of the paper."""
