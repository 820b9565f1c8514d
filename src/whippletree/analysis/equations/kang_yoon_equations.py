"""Kang and Yoon, "On the improvement of a fully recursive formulation": its equations, on two short chains in a ring.

Letters are the paper's, but velocities and forces are [angular; linear] here; with _O they are about the origin, with
_J about the joint point.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from whippletree.analysis.equations.equation import Array, Text, lever, rows
from whippletree.analysis.equations.tree_motion import Hung, HungTree, Letters, TreeMotion
from whippletree.model import BodyHandle, Mechanism

__all__ = ["KANG_YOON", "reduced_inertias"]

HOOK = (0.5, 0.6, -0.4)
"""Where a rod on the ground is hooked in."""


def _close(m: Mechanism, bodies: Mapping[str, BodyHandle]) -> None:
    """Close a ring by d1 and d2, and hang a rod to the ground, ss."""
    m.perpendicular("d1", bodies["d"], bodies["f"], axis="x", axis_child="z")
    m.in_plane("d2", bodies["d"], bodies["f"], normal="y", offset=0.3, at_child=(0.1, 0.0, 0.2))
    m.distance("ss", m.ground, bodies["e"], at=HOOK)


CHAINS = HungTree(
    {
        "a": Hung("", "revolute", (0.0, 0.0, 0.0), (0.2, 0.3, 1.0)),
        "b": Hung("a", "cylindrical", (0.3, 0.1, 0.4), (1.0, 0.2, -0.3)),
        "c": Hung("b", "prismatic", (-0.1, 0.3, 0.2), (0.1, 1.0, 0.4)),
        "d": Hung("", "revolute", (0.0, 0.0, 0.0), (0.5, 1.0, 0.1)),
        "e": Hung("d", "universal", (0.2, 0.4, 0.1)),
        "f": Hung("e", "revolute", (0.3, -0.2, 0.3), (1.0, 0.0, 0.7)),
    },
    _close,
)


def _rows(s: TreeMotion) -> dict[str, Array]:
    """Return the closures' rows on velocities of the centres, by body, from tables 1 and 3 in plain NumPy."""
    A, r, rc, rho = (s.letter(name) for name in ("A", "r", "rc", "rho"))
    rows = {name: np.zeros((3, 6)) for name in s.tree.bodies}
    n = np.cross(A["d"][:, 0], A["f"][:, 2])  # d1
    rows["d"][0, :3], rows["f"][0, :3] = n, -n
    normal, point = A["d"][:, 1], r["f"] + A["f"] @ np.array([0.1, 0.0, 0.2])  # d2
    rows["d"][1] = np.concatenate([np.cross(normal, point - r["d"]), -normal]) @ lever(-rho["d"])
    rows["f"][1] = np.concatenate([np.zeros(3), normal]) @ lever(point - rc["f"])
    direction = (r["e"] - HOOK) / np.linalg.norm(r["e"] - HOOK)  # ss
    rows["e"][2] = np.concatenate([np.zeros(3), direction]) @ lever(-rho["e"])
    return rows


def reduced_inertias(s: TreeMotion) -> dict[str, tuple[Array, Array]]:
    """Return M and Q of bodies with all that hangs on them (28, 29), in plain NumPy from M, Q, B1, B2 and D."""
    B1, B2, D, M, Q, tau = (s.letter(name) for name in ("B1", "B2", "D", "M", "Q", "tau"))
    found = {body: (M[body].copy(), Q[body].copy()) for body in s.tree.bodies}
    for body, parent in reversed(s.parents):
        if parent:
            beyond, force = found[body]
            left = force - beyond @ D[body]
            gain = beyond @ B2[body] @ np.linalg.inv(B2[body].T @ beyond @ B2[body])
            taken = left - gain @ (B2[body].T @ left + tau[body])
            M_i, Q_i = found[parent]
            found[parent] = (
                M_i + B1[body].T @ (beyond - gain @ B2[body].T @ beyond) @ B1[body],
                Q_i + B1[body].T @ taken,
            )
    return found


def _carried(s: TreeMotion, about: str = "") -> tuple[dict[str, Array], dict[str, Array]]:
    """Return the closures' rows on bodies with what is carried to them (40), and Phi2 of all joints (39)."""
    B1, B2 = s.letter(f"B1{about}"), s.letter(f"B2{about}")
    M21, M22 = s.letter("M21"), s.letter("M22")
    Phi = {body: rows.copy() for body, rows in s.letter("Phi").items()}
    Phi2 = {}
    for body, parent in reversed(s.parents):
        Phi2[body] = Phi[body] @ B2[body]
        if parent:
            Phi[parent] = Phi[parent] + Phi[body] @ B1[body] - Phi2[body] @ np.linalg.solve(M22[body], M21[body])
    return Phi, Phi2


LETTERS: Letters = {
    "d_theta": lambda s: s.v,
    "dd_theta": lambda s: s.a,
    **{
        f"{name}{end}": partial(TreeMotion.on_bodies, name=name, text=f"kang-yoon/{point}", columns=columns)
        for end, point in (("", "centroid"), ("_J", "joint"), ("_O", "origin"))
        for name, columns in (("B1", "parent"), ("B2", "joint"), ("D", "all"), ("M", "own"), ("Q", "all"))
    },
    **{name: partial(TreeMotion.on_bodies, name=name, columns="all") for name in ("M11", "Q1")},
    **{name: partial(TreeMotion.on_joints, name=name) for name in ("M21", "Q2")},
    "M22": lambda s: s.on_joints("M22", columns="own"),
    "Phi2_of_joints": lambda s: {body: rows.T for body, rows in s.on_joints("Phi2").items()},
    "L": lambda s: s.whole("L"),
    "gamma_bar": lambda s: s.whole("gamma")[:, 0],
    "gamma_bar_O": lambda s: s.whole("gamma", "kang-yoon/origin")[:, 0],
    "lam": lambda s: s.function("closure_efforts", formulation="fully_recursive/centroid"),
    "dd_theta_found": lambda s: s.function("forward_dynamics", formulation="fully_recursive/centroid"),
    "dd_q_found": lambda s: s.by_joint(s.letter("dd_theta_found")),
    "Mt": lambda s: {body: M for body, (M, _) in s.letter("with_tips").items()},
    "Qt": lambda s: {body: Q for body, (_, Q) in s.letter("with_tips").items()},
    "with_tips": reduced_inertias,
    "Phi": _rows,
    "Phi_O": lambda s: {body: rows @ lever(s.letter("rc")[body]) for body, rows in s.letter("Phi").items()},
    "Phi_t": lambda s: _carried(s)[0],
    "Phi2": lambda s: _carried(s)[1],
    # velocities about the origin, of the bodies' points that are there
    "Y_O": lambda s: {
        b: lever(-r) @ np.concatenate([s.letter("w")[b], s.letter("d_r")[b]]) for b, r in s.letter("r").items()
    },
    "bodies": lambda s: list(s.tree.bodies),
}

PLACES = {
    "GA": "formulations.recursions.ground_axes",
    "KI": "formulations.recursions.kinematics",
    "FR": "formulations.methods.fully_recursive",
    "GC": "formulations.closures.ground_closures",
}
"""Short names of modules below `whippletree`."""

_ROWS = """
1 S virtual power of one body, Newton's and Euler's equations at its centre
2 S the same with columns of six
3 A inertia of a body at its centre, and its force less the gyroscopic moment
  M[j] == diag(J[j], m[j] * eye(3));
  Q[j] == stack(-cross(w[j], J[j] @ w[j]), F[j])
  in GA._locate: M, Q
  on all
4 A a small displacement, moved to another point of the body
  rate(p[j]) == (T(p[j] - rc[j]) @ stack(w[j], rate(rc[j])))[3:]
  in KI.place: pose
5 A a velocity, moved in the same way
  Y_p[j] == T(p[j] - rc[j]) @ Y[j]
  in KI.move: V
6 A an acceleration, moved with what the turning adds
  d_Y_p[j] == T(p[j] - rc[j]) @ d_Y[j] + stack(zeros(3), cross(w[j], cross(w[j], p[j] - rc[j])))
  in KI.accelerate: alpha
7 S virtual power at another point
8 A inertia and force at another point, here the joint point
  M_J[j] == T(rho[j]).T @ M[j] @ T(rho[j]);
  Q_J[j] == T(rho[j]).T @ (Q[j] - M[j] @ stack(zeros(3), cross(w[j], cross(w[j], rho[j]))))
  in GA._locate: M, Q
9 A axes of a body from those of its parent and the joint's turning
  A[j] == A[i] @ turn[j]
  in KI.place: R
  on revolute
10 S axes of the centre's frame, which the paper itself does not need
11 A lever of the joint and place of the centre, turned into ground axes
  B1[j][3:, :3] == -tilde(s[j] + d[j] + A[j] @ local[j] - rho[i])
  in GA._locate: s, rho
  print a prime has become a superscript i
12 A what translational coordinates displace
  r[j] - r[i] - s[j] == u[j] * q[j][0]
  in KI.place: pose
  print a sum of coordinates, which holds for three slides only
  on prismatic
13 A the joint point from that of the parent
  B1_J[j][3:, :3] == -tilde(s[j] + d[j])
  in GA._locate: s
  print the sum is not printed
14 A joint point and centre, from body to body
  r[j] == r[i] + s[j] + d[j];
  rc[j] == r[j] + A[j] @ local[j]
  in KI.place: pose
  print superscripts are lost
15 A columns of the joint, turned into ground axes
  B2_J[j][:3, 0] == A[i] @ local_axis[j]
  in GA._locate: axes
  print C with a superscript
  on revolute
16 A columns of the joint from its rotation and its translation
  B2_J[j] @ d_q[j] == stack(rate(q[j][0]) * u[j], rate(q[j][1]) * u[j])
  in GA._locate: joint_map
  print one of two dots is lost
  on cylindrical
17 A turning of a body against its parent
  rate(A[i].T @ A[j]) == A[i].T @ tilde(B2_J[j][:3] @ d_q[j]) @ A[j]
  in GA._locate: w_ij
  print q for q'
  on cylindrical revolute universal
18 A translation of a joint point against the parent
  A[i] @ rate(A[i].T @ (r[j] - r[i])) == B2_J[j][3:] @ d_q[j]
  in GA._locate: v_ij
  print q for q'
  on cylindrical prismatic
19 A angular velocities add up along the chain
  w[j] == w[i] + B2_J[j][:3] @ d_q[j]
  in GA._locate: w
  print a subscript of w_i is lost
20 A rates of the vectors to joint point and centre
  rate(r[j] - r[i]) == cross(w[i], r[j] - r[i]) + B2_J[j][3:] @ d_q[j];
  rate(rho[j]) == cross(w[j], rho[j])
  in GA._locate: v
21 A velocities of joint point and centre
  d_r[j] == d_r[i] + rate(r[j] - r[i]);
  d_rc[j] == d_r[j] + rate(rho[j])
  in KI.move: V
22 S velocity of a centre from that of the parent's centre; the lever is rho_j throughout
23 D velocity of a body at its centre
24 A velocity of a body from its parent's and the joint's
  Y[j] == B1[j] @ Y[i] + B2[j] @ d_q[j]
  in GA._locate: B2
  print Y_j for Y_i
25 A B1 by the way between centres, B2 with the lever of the centre
  B1[j] == T(rc[j] - rc[i]);
  B2[j] == rows(B2_J[j][:3], B2_J[j][3:] - tilde(rho[j]) @ B2_J[j][:3])
  in GA._locate: step, B2
  print rho_i for rho_j
26 A acceleration of a body from its parent's and the joint's
  d_Y[j] == B1[j] @ d_Y[i] + B2[j] @ dd_q[j] + D[j]
  in GA._locate: D
27 A accelerations that velocities alone give, at the centre
  w_ij = B2_J[j][:3] @ d_q[j];
  v_ij = B2_J[j][3:] @ d_q[j];
  e = cross(w[i], w_ij) + A[i] @ rate(A[i].T @ B2_J[j][:3]) @ d_q[j];
  D[j] == stack(e, cross(w[i], rate(rc[j] - rc[i]) + v_ij) + cross(w_ij, rate(rho[j])) - cross(rho[j], e))
  in GA._locate: D, d, rho
  print q for q' in the last term; B'v is taken for constant
28 A inertia and force of a body seen through B1 and B2
  M11[j] == B1[j].T @ Mt[j] @ B1[j];
  M21[j] == B2[j].T @ Mt[j] @ B1[j];
  M22[j] == B2[j].T @ Mt[j] @ B2[j];
  Q1[j] == B1[j].T @ (Qt[j] - Mt[j] @ D[j]);
  Q2[j] == B2[j].T @ (Qt[j] - Mt[j] @ D[j]) + tau[j]
  in FR.eliminate: M21, M22, Q2
  print no motor: Q2 lacks tau
29 A the parent takes over what is left when a joint is eliminated
  Mt['b'] == M['b'] + M11['c'] - M21['c'].T @ inv(M22['c']) @ M21['c'];
  Qt['b'] == Q['b'] + Q1['c'] - M21['c'].T @ inv(M22['c']) @ Q2['c']
  in FR.eliminate: M, Q
30 A accelerations of joints and bodies, outward
  dd_q_found[j] == inv(M22[j]) @ (Q2[j] - M21[j] @ d_Y[i])
  in FR._accelerated: Y, M21, Q2
31 A velocity of the body's point that passes through the origin
  Y_O[j] == Y_O[i] + B2_O[j] @ d_q[j]
  in GA._locate: B2
  print v_O = v_j + r_j~ w_j: the tilde is lost
  on universal revolute
32 D velocity of a body about the origin
33 A about the origin B1 is the identity, and B2 has the lever of the joint point
  B1_O[j] == eye(6);
  B2_O[j] == rows(B2_J[j][:3], B2_J[j][3:] + tilde(r[j]) @ B2_J[j][:3])
  in GA._locate: B2
  print the tilde of r is lost
  on universal revolute
34 A acceleration of a body from its parent's, about the origin
  rate(Y_O[j]) == B1_O[j] @ rate(Y_O[i]) + B2_O[j] @ dd_q[j] + D_O[j]
  in GA._locate: D
  print q' for q''
  on universal revolute
35 A accelerations that velocities alone give, about the origin
  w_ij = B2_J[j][:3] @ d_q[j];
  v_ij = B2_J[j][3:] @ d_q[j];
  e = cross(w[i], w_ij) + A[i] @ rate(A[i].T @ B2_J[j][:3]) @ d_q[j];
  D_O[j] == stack(e, cross(w[i], v_ij) + cross(d_r[j], w_ij) + cross(r[j], e))
  in GA._locate: D, d, v_ij, w_ij
  print dots and tildes are lost
  on universal revolute
36 A inertia and force of a body about the origin
  f = F[j] + m[j] * cross(d_rc[j], w[j]);
  M_O[j] == block([[J[j] - m[j] * tilde(rc[j]) @ tilde(rc[j]), m[j] * tilde(rc[j])], [-m[j] * tilde(rc[j]), m[j] *
    eye(3)]]);
  Q_O[j] == stack(cross(rc[j], f) - cross(w[j], J[j] @ w[j]), f)
  in GA._locate: M, Q
  print dots are lost; w_1 is that of the body itself
  on universal revolute
37 A a closure on the accelerations of two bodies
  (Phi['d'] @ d_Y['d'] + Phi['f'] @ d_Y['f'])[:2] == -(rate(Phi['d']) @ Y['d'] + rate(Phi['f']) @ Y['f'])[:2];
  gamma_bar == L @ lam
  in GC._closure_state: ClosureState
  on closed
38 A all closures, stacked
  total(Phi[b] @ d_Y[b] for b in bodies) == -total(rate(Phi[b]) @ Y[b] for b in bodies);
  gamma_bar == L @ lam
  in GC._closure_state: ClosureState
  on closed
39 A rows of the closures through B1 and B2
  Phi2_of_joints[j] == Phi_t[j] @ B2[j]
  in FR.carried: Phi2
  on closed revolute universal
40 A the parent takes over rows of the closures
  Phi_t['e'] == Phi['e'] + Phi_t['f'] @ B1['f'] - Phi2['f'] @ inv(M22['f']) @ M21['f'];
  Phi2_of_joints['e'] == Phi_t['e'] @ B2['e']
  in FR.carried: Phi2, passed
  on closed
41 A reduced matrix and right side of the closures, added up over joints
  L == total(Phi2[b] @ inv(M22[b]) @ Phi2[b].T for b in bodies);
  gamma_bar == -total(rate(Phi[b]) @ Y[b] for b in bodies) - total(Phi2[b] @ inv(M22[b]) @ Q2[b] + Phi_t[b] @ D[b]
    for b in bodies)
  in FR.reduced_matrix: M22
  print gamma_bar on both sides; rows are those of (40)
  on closed
42 A multipliers from the reduced matrix
  lam == inv(L) @ gamma_bar
  in FR.solve: multipliers
  on closed
43 A accelerations of joints under the multipliers
  dd_q_found[j] == inv(M22[j]) @ (Q2[j] - M21[j] @ d_Y[i] + Phi2_of_joints[j].T @ lam)
  in FR.solve: a
  print Y''_i for Y'_i
  on closed
44 A a closure on accelerations about the origin
  (Phi_O['d'] @ rate(Y_O['d']) + Phi_O['f'] @ rate(Y_O['f']))[1] == -(rate(Phi_O['d']) @ Y_O['d'] +
    rate(Phi_O['f']) @ Y_O['f'])[1];
  gamma_bar_O == L @ lam
  in GC._closure_state: ClosureState
  print the dots of Y^' are lost
  on closed
45 A rows and right side moved to the origin
  Phi_O['f'] == cols(Phi['f'][:, :3] - Phi['f'][:, 3:] @ tilde(rc['f']), Phi['f'][:, 3:]);
  -total(rate(Phi_O[b]) @ Y_O[b] for b in bodies) == total(Phi[b][:, 3:] @ cross(d_rc[b], w[b]) - rate(Phi[b]) @
    Y[b] for b in bodies);
  gamma_bar_O == L @ lam
  in GC._closure_state: ClosureState
  print subscripts and dots are lost
  on closed
46 A all closures about the origin, stacked
  total(Phi_O[b] @ rate(Y_O[b]) for b in bodies) == -total(rate(Phi_O[b]) @ Y_O[b] for b in bodies);
  gamma_bar_O == L @ lam
  in GC._closure_state: ClosureState
  print the dots of Y^' are lost
  on closed
"""

KANG_YOON = Text(
    "kang-yoon",
    "Kang and Yoon, On the improvement of a fully recursive formulation",
    rows(_ROWS, PLACES),
    lambda: TreeMotion(CHAINS, LETTERS, "kang-yoon/centroid"),
)
"""All equations of the paper."""
