"""Two coupled loops on different bases, for the last equations of Critchley and Anderson (103-111).

Bodies 0 to 3 are a chain on the ground. At body 3 it parts: one branch goes back to body 0, the other to body 1. Both
have six hinges, all of which depend, so that speeds 1 to 3 are independent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from whippletree.analysis.equations.equation import Array, lever
from whippletree.analysis.equations.tree_motion import Hung, HungTree, TreeMotion
from whippletree.analysis.literal.printed_reduction import LoopBody, LoopReduction, reduced
from whippletree.model import BodyHandle, Mechanism

__all__ = ["two_loops"]

_RNG = np.random.default_rng(8)
_LAST = (0.1, 0.2, 0.3)
_CLOSING = {"i": (0.7, 0.1, -0.4), "j": (0.2, 1.0, 0.5)}
_BASES = {"i": 0, "j": 1}


def _hung(parent: str) -> Hung:
    at, axis = _RNG.uniform(-0.4, 0.4, 3), _RNG.normal(size=3)
    return Hung(parent, "revolute", tuple(at), tuple(axis))


_CHAIN = {f"c{k}": _hung(f"c{k - 1}" if k else "") for k in range(4)}
_BRANCHES = {f"{b}{k}": _hung(f"{b}{k - 1}" if k > 4 else "c3") for b in "ij" for k in range(4, 9)}


def _close(m: Mechanism, bodies: Mapping[str, BodyHandle]) -> None:
    """Join the ends of the branches to their bases; both loops are closed where all angles are zero."""
    for branch, base in _BASES.items():
        way = [f"c{k}" for k in range(base + 1, 4)] + [f"{branch}{k}" for k in range(4, 9)]
        at = np.sum([TREE.bodies[name].at for name in way], axis=0) + np.array(_LAST)
        name, axis = f"{branch}9".upper(), _CLOSING[branch]
        m.revolute(
            name, bodies[f"{branch}8"], bodies[f"c{base}"], at=_LAST, at_child=tuple(at), axis=axis, axis_child=axis
        )


TREE = HungTree({**_CHAIN, **_BRANCHES}, _close, {"cut": ["I9", "J9"]})


class _CoupledLoop:
    """One of the loops: its bodies from its base on, and accelerations of its phantom."""

    def __init__(self, s: TreeMotion, branch: str) -> None:
        self.s, base = s, _BASES[branch]
        self.names = [f"c{k}" for k in range(base, 4)] + [f"{branch}{k}" for k in range(4, 9)]
        r, A, w, u = (s.letter(name) for name in ("r", "A", "w", "u"))
        still = s.letter("still")
        last, axis = f"{branch}8", np.array(_CLOSING[branch]) / np.linalg.norm(_CLOSING[branch])
        end = r[last] + A[last] @ np.array(_LAST)
        column = np.concatenate([A[last] @ axis, np.zeros(3)])
        rate = s.v[s.system.v_slice(f"{branch}9".upper())]
        turned = np.concatenate([np.cross(w[last], column[:3] * rate), np.zeros(3)])
        first = self.names[0]
        at_end, at_base = (_moved(still[name], w[name], end - r[name]) for name in (last, first))
        self.A_t = at_end + turned - at_base
        I, F = s.letter("I_k"), s.letter("F_k")
        self.bodies = [LoopBody(r[n], np.append(u[n], np.zeros(3))[:, None], I[n], F[n]) for n in self.names]
        self.bodies.append(LoopBody(end, column[:, None], np.zeros((6, 6)), np.zeros(6)))
        self.p = 3 - base
        self.reduction: LoopReduction = reduced(self.bodies, self.p, self.A_t)

    def beyond(self) -> tuple[Array, Array, Array]:
        """Return a, b and c of (111): what the branch beyond body 3 has, as that body feels it."""
        own, point = self.bodies[self.p], self.reduction.S(0, self.p)
        on_base, on_own, force = self.reduction.folded
        return on_base - own.inertia @ point.T, on_own - own.inertia, force - own.F


def _moved(A: Array, w: Array, r: Array) -> Array:
    """Return an acceleration at another point of the body."""
    return np.asarray(lever(r) @ A + np.concatenate([np.zeros(3), np.cross(w, np.cross(w, r))]))


def two_loops(s: TreeMotion) -> dict[str, Any]:
    """Return accelerations as both bases see them, what both branches have for (111), and derivatives of speeds."""
    other = TreeMotion(TREE, {**s.letters, **_LETTERS}, "kang-yoon/joint", closed=True)
    other.tau = 0.0 * other.tau
    other.a = other.function("forward_dynamics", formulation="coordinate_reduction")
    i, j = _CoupledLoop(other, "i"), _CoupledLoop(other, "j")
    r, a = other.letter("r"), other.letter("explicit")
    names = [f"c{k}" for k in range(4)] + ["j4", "j5"]
    A = {k: a[name] for k, name in enumerate(names)}
    of_i, of_j = i.beyond(), j.beyond()
    own = i.bodies[3]
    u = other.letter("u")
    speeds = {k: other.a[other.joint(name)] for k, name in enumerate(names)}
    moved = {k: np.append(u[name], np.zeros(3)) * speeds[k] for k, name in enumerate(names)}
    iA, jA = (_carried({k: r[name] for k, name in enumerate(names)}, moved, base) for base in (0, 1))
    again = other.function("forward_dynamics", formulation="independent_coordinates")
    return {
        "A": A,
        "iA": iA,
        "jA": jA,
        "iS": {k: lever(r[name] - r["c0"]).T for k, name in enumerate(names)},
        "jS": {k: lever(r[name] - r["c1"]).T for k, name in enumerate(names)},
        "I": own.inertia,
        "F": own.F,
        "P": own.P,
        **{f"{letter}_i": value for letter, value in zip("abc", of_i, strict=True)},
        **{f"{letter}_j": value for letter, value in zip("abc", of_j, strict=True)},
        "d_u": again,
        "d_u_found": other.a,
    }


def _carried(r: Mapping[int, Array], moved: Mapping[int, Array], base: int) -> dict[int, Array]:
    """Return what the joints beyond a base add to accelerations."""
    found = {base: np.zeros(6)}
    for k in range(base + 1, len(r)):
        found[k] = lever(r[k] - r[k - 1]) @ found[k - 1] + moved[k]
    return found


def _of_bodies(s: TreeMotion, a: Array) -> dict[str, Array]:
    kept, s.a = s.a, a
    found = {name: s.function("acceleration", ["q", "v", "a"], frame=name) for name in s.tree.bodies}
    s.a = kept
    return found


_LETTERS = {
    "still": lambda s: _of_bodies(s, 0.0 * s.a),
    "explicit": lambda s: {name: one - s.letter("still")[name] for name, one in _of_bodies(s, s.a).items()},
    "I_k": lambda s: s.on_bodies("M"),
    "F_k": lambda s: {
        name: force - s.letter("I_k")[name] @ s.letter("still")[name]
        for name, force in s.on_bodies("Q", columns="all").items()
    },
}
