"""Nikravesh and others, "Systematic generation of multibody equations of motion": its equations.

They are worked out on the chains of `kang_yoon_equations`, whose ring is closed by a cut hinge, and the two lettered
ones on the paper's own four-bar on a slider. Velocities and forces are [angular; linear] here; x are the bodies'
absolute coordinates, and D and C have rows of our signs.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from whippletree.analysis.equations.equation import Array, Text, rows
from whippletree.analysis.equations.kang_yoon_equations import CHAINS
from whippletree.analysis.equations.tree_motion import HungTree, Letters, TreeMotion
from whippletree.elements.bodies import box
from whippletree.model import BodyHandle, Mechanism
from whippletree.system import System

__all__ = ["NIKRAVESH"]


def _close(m: Mechanism, bodies: Mapping[str, BodyHandle]) -> None:
    """Hold a point of the one tip in a plane of the other chain, and a point of its parent on a sphere."""
    m.in_plane("plane", bodies["c"], bodies["f"], normal="y", offset=0.3, at_child=(0.1, 0.0, 0.2))
    m.distance("rod", m.ground, bodies["e"], at=(0.5, 0.6, -0.4))


RING = HungTree(CHAINS.bodies, _close)


def _four_bar() -> System:
    """Return the paper's four-bar on a slider, whose hinges are parallel; the last one is cut."""
    axis = np.array([1.0, -1.0, 0.0]) / np.sqrt(2.0)
    places = {"R2": (0.0, 0.0, 0.0), "R3": (0.0, 0.0, 2.0), "R4": (1.0, 1.0, 2.0)}
    pose = np.eye(4)
    pose[:3, :3] = np.stack([[0.0, 0.0, 1.0], np.array([-1.0, -1.0, 0.0]) / np.sqrt(2.0), axis], axis=1)
    pose[:3, 3] = (1.0, 1.0, 0.0)
    m = Mechanism("four-bar on a slider")
    bodies = [m.body(f"body {k}", box((0.2, 0.2, 0.2), mass=1.0)) for k in range(1, 5)]
    m.prismatic("T1", m.ground, bodies[0], axis="x")
    for (name, at), near, far in zip(places.items(), bodies, bodies[1:], strict=False):
        m.revolute(name, near, far, at=at, at_child=at, axis=tuple(axis))
    m.revolute("R5", bodies[0], bodies[3], pose=pose, pose_child=pose)
    return m.build(cut=["R5"], dependent=["R3", "R4"])


def _shifts(s: System) -> Array:
    """Return the rows of D* on the shifts at the cut hinge, P1 less P4 in ground axes."""
    rows = np.array(s.function("D*")(s.q0)).reshape(-1, 24)[:3]
    return -np.linalg.inv(rows[:, 21:]) @ rows  # the last body's point as it moves with its centre


def _example(s: TreeMotion) -> dict[str, Any]:
    """Return D* B of the example, the rows that C spans, and E, with the columns T1, R2, R3 and R4."""
    found = _four_bar()
    columns = [found.v_slice(name).start for name in ("T1", "R2", "R3", "R4")]
    B = np.array(found.function("B")(found.q0)).reshape(24, -1)[:, columns]
    C = np.array(found.function("C")(found.q0)).reshape(-1, found.nv)[:, columns]
    E = np.array(found.function("E")(found.q0)).reshape(found.nv, -1)[columns]
    return {"DB": _shifts(found) @ B, "C": C, "E": E}


def _choice(s: TreeMotion) -> tuple[list[int], list[int]]:
    """Return which velocities depend, and which are independent."""
    free = list(s.system.kernels.loop_plan.choice.independent)
    return [i for i in range(s.system.nv) if i not in free], free


def _bodies(s: TreeMotion, name: str) -> Array:
    return np.concatenate([s.letter(name)[body] for body in s.tree.bodies])


def _accelerations(formulation: str) -> Any:
    return partial(TreeMotion.function, name="forward_dynamics", formulation=formulation)


def _whole(name: str, text: str = "nikravesh") -> Any:
    return partial(TreeMotion.whole, name=name, text=text)


def _opened(s: TreeMotion) -> Array:
    """Return coordinates that are off the loops' by little."""
    return np.asarray(s.system.integrate(s.q, 1e-4 * np.ones(s.system.nv)))


def _residual(s: TreeMotion, q: Array) -> Array:
    return np.array(s.system.function("closure_residual")(q)).ravel()


def _twin(s: TreeMotion) -> Array:
    """Return the residual of all joints between absolute coordinates, where the loops are closed."""
    twin = s.system.absolute
    q, _ = twin.state(s.q, s.v)
    return np.array(twin.system.function("closure_residual")(q)).ravel()


LETTERS: Letters = {
    "x": _twin,
    "d_x": lambda s: _bodies(s, "Y"),
    "dd_x": lambda s: _bodies(s, "d_Y"),
    "d_theta": lambda s: s.v,
    "dd_theta": lambda s: s.a,
    "tau_all": lambda s: s.tau,
    **{name: _whole(name) for name in ("D", "B", "C", "E", "G", "H")},
    "Dstar": _whole("D*"),
    "M": _whole("M", "kang-yoon/centroid"),
    "g": lambda s: s.whole("Q", "kang-yoon/centroid")[:, 0],
    "square": lambda s: s.whole("D", "kang-yoon/centroid")[:, 0],
    "Mt": lambda s: s.function("mass_matrix", ["q"]).reshape(s.system.nv, -1),
    "f": lambda s: s.tau - s.function("bias_force", ["q", "v"]),
    "by_composite": _accelerations("composite"),
    "by_bodies": _accelerations("absolute"),
    "by_transformation": _accelerations("velocity_transformation"),
    "by_multipliers": _accelerations("joint_multipliers"),
    "by_independent": _accelerations("independent_coordinates"),
    "by_recursion": _accelerations("fully_recursive/centroid"),
    "nu": lambda s: s.function("closure_efforts", formulation="joint_multipliers"),
    "Psi": lambda s: _residual(s, s.q),
    "Psi_open": lambda s: _residual(s, _opened(s)),
    "C_open": lambda s: np.array(s.system.function("C")(_opened(s))).reshape(-1, s.system.nv),
    "step": lambda s: s.system.difference(_opened(s), s.system.assemble(_opened(s))),
    "dep": lambda s: _choice(s)[0],
    "ind": lambda s: _choice(s)[1],
    "example": _example,
}

PLACES = {
    "CS": "formulations.closures.closure_set",
    "AC": "formulations.methods.absolute",
    "ME": "system.matrix_equations",
    "KI": "formulations.recursions.kinematics",
    "CB": "formulations.recursions.composite_body",
    "VT": "formulations.methods.velocity_transformation",
    "JM": "formulations.methods.joint_multipliers",
    "LR": "formulations.closures.loop_results",
    "IC": "formulations.methods.independent_coordinates",
    "PT": "formulations.closures.partition",
    "AS": "system.assembly",
    "TM": "system.text_matrices",
    "FR": "formulations.methods.fully_recursive",
    "GA": "formulations.recursions.ground_axes",
}
"""Short names of modules below `whippletree`."""

_ROWS = """
1 A joints hold absolute coordinates together
  x == 0
  in CS.ClosureSet._evaluate: closure
  on closed
2 A velocities that joints allow
  max(abs(D @ d_x)) == 0
  in AC.tree_rows: _tree_row
  digits 12
3 A and accelerations
  D @ dd_x == -rate(D) @ d_x
  in AC.tree_rows: _tree_row
4 A Newton's and Euler's equations of all bodies with the joints' multipliers
  c = M @ dd_x - g - pinv(B.T) @ tau_all;
  c == D.T @ pinv(D.T) @ c;
  dd_theta == by_bodies
  in AC.forward_dynamics: bodies
5 A bodies follow joints
  d_x == B @ d_theta
  in ME.velocity_matrix: seen, axes
6 A what joints do, joints allow
  D @ B == 0
  in ME.velocity_matrix: axes
  digits 12
7 A accelerations of bodies
  dd_x == B @ dd_theta + rate(B) @ d_theta
  in KI.accelerate: acceleration
8 A a tree in joint coordinates
  Mt @ by_composite == f
  in CB.forward_dynamics: equations
9 A its mass matrix
  Mt == B.T @ M @ B
  in CB.mass_matrix: compose
10 A its forces
  f == tau_all + B.T @ (g - M @ rate(B) @ d_theta);
  Mt @ by_transformation == f
  in VT.equations: force, Q
  print a bracket is lost
11 A loops are closed
  Psi == 0
  in CS.ClosureSet._evaluate: closure
  on closed
12 A velocities close them
  C @ d_theta == 0
  in ME.closure_matrix: C
  on closed
  digits 8
13 A accelerations close them
  C @ dd_theta == -rate(C) @ d_theta
  in CS.ClosureSet._closure_state: bias
  print the left side is Psi''
  on closed
14 A joint coordinates with the loops' multipliers
  Mt @ by_multipliers == f + C.T @ nu
  in JM.solve: multipliers
  print v for the multiplier nu
  on closed
15 A what cut joints hold, on joints
  C == Dstar @ B
  in ME.row_matrix: whole
  on closed
16 A all velocities from independent ones
  d_theta == E @ d_theta[ind]
  in LR.motion_basis: choice
  on closed
  digits 8
17 A they close the loops
  C @ E == 0
  in ME.minimal_matrix: motion_basis
  on closed
18 A all accelerations from independent ones
  dd_theta == E @ dd_theta[ind] + rate(E) @ d_theta[ind];
  dd_theta == by_independent
  in IC.solve: a
  print said to be the derivative of (17), which is that of (16)
  on closed
  digits 8
19 A minimal equations of motion
  E.T @ Mt @ E @ by_independent[ind] == E.T @ (f - Mt @ rate(E) @ d_theta[ind])
  in IC.solve: reduced
  print said to use (16), which is (17)
  on closed
20 A their mass matrix
  E.T @ B.T @ M @ B @ E @ by_independent[ind] == E.T @ (f - Mt @ rate(E) @ d_theta[ind])
  in PT.reduced: mass, E
  on closed
21 A their forces
  E.T @ Mt @ E @ dd_theta[ind] == E.T @ (f - Mt @ rate(E) @ d_theta[ind])
  in PT.Partition.particular: given
  print theta'_i is not printed
  on closed
22 S velocities, dependent ones apart
23 A E from the parts of C
  E[ind] == eye(len(ind));
  E[dep] == -inv(C[:, dep]) @ C[:, ind]
  in PT.eliminate: choice
  on closed
24 S accelerations, dependent ones apart
25 A accelerations of dependent joints that velocities alone give
  (rate(E) @ d_theta[ind])[dep] == -inv(C[:, dep]) @ rate(C) @ d_theta;
  by_independent == dd_theta
  in PT.Partition.particular: given
  print theta'_i is not printed
  on closed
  digits 8
26 A a Newton step closes the loops; here the smallest one
  C_open @ step == -Psi_open
  in AS.Assembler._newton: q
  print rows that C dropped are among those of phi*
  on closed
  digits 2
a A D* B of the example
  example['DB'] == 2**0.5 * block([[0, 0, -1, -1], [0, 0, -1, -1], [0, -1, -1, 0]])
  in ME.row_matrix: whole
b A C and E of the example
  C = 2**0.5 * block([[0, 0, -1, -1], [0, -1, -1, 0]]);
  example['C'] == example['C'] @ pinv(C) @ C;
  C @ example['E'] == 0
  in ME.closure_matrix: C
27 A B by the steps from bodies to their parents
  B == inv(G) @ H
  in TM._nikravesh: to_parents, seen
28 A a body's velocity less its parent's is the joint's
  G @ d_x == H @ d_theta
  in TM._nikravesh: to_parents
29 A equations of motion with these steps
  H.T @ inv(G).T @ (M @ inv(G) @ (H @ by_recursion + square) - g) == tau_all
  in FR.forward_dynamics: acceleration
30 A velocity terms, body by body
  rate(G) @ d_x - rate(H) @ d_theta == -square;
  G @ dd_x == H @ dd_theta + square
  in GA._locate: D
"""

NIKRAVESH = Text(
    "nikravesh",
    "Nikravesh and others, Systematic generation of multibody equations of motion",
    rows(_ROWS, PLACES),
    lambda: TreeMotion(RING, LETTERS, "nikravesh"),
)
"""All equations of the paper."""
