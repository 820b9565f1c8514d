"""Garcia de Jalon and Bayo, "Kinematic and dynamic simulation of multibody systems", chapter 8: its equations.

They are worked out on a floating body that carries two chains with all the joints of the chapter, which two closures
close. Letters are the book's, but that g are centres (rc here) and velocities and forces [angular; linear]; those of
formulation A end with _n. p are Euler parameters, e their vector part.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

from whippletree.analysis.equations.equation import Array, Text, rows, tilde
from whippletree.analysis.equations.garcia_de_jalon_rows import PLACES, ROWS
from whippletree.analysis.equations.kang_yoon_equations import reduced_inertias
from whippletree.analysis.equations.tree_motion import EDGES, Hung, HungTree, Letters, TreeMotion
from whippletree.formulations.methods.penalty import PenaltySettings
from whippletree.formulations.natural.natural_equations import NaturalMotion, natural_equations, walk_model
from whippletree.model import BodyHandle, Mechanism
from whippletree.natural.natural_steps import NaturalSteps

__all__ = ["GARCIA_DE_JALON"]

H, MU, ALPHA, OMEGA = 0.01, 0.002, 1e3, 3.0
"""Step, time and penalty of the steps in natural coordinates; the penalty's frequency."""


def _close(m: Mechanism, bodies: Mapping[str, BodyHandle]) -> None:
    """Hold the tip of one chain in a plane of the other, and a body at a distance from the ground."""
    m.in_plane("plane", bodies["c"], bodies["f"], normal="y", offset=0.3, at_child=(0.1, 0.0, 0.2))
    m.distance("rod", m.ground, bodies["e"], at=(0.5, 0.6, -0.4))


CHAINS = HungTree(
    {
        "a": Hung("", "free", (0.0, 0.0, 0.0)),
        "b": Hung("a", "revolute", (0.3, 0.1, 0.4), (1.0, 0.2, -0.3)),
        "c": Hung("b", "prismatic", (-0.1, 0.3, 0.2), (0.1, 1.0, 0.4)),
        "d": Hung("a", "cylindrical", (0.2, 0.2, 0.1), (0.5, 1.0, 0.1)),
        "e": Hung("d", "spherical", (0.2, 0.4, 0.1)),
        "f": Hung("e", "universal", (0.3, -0.2, 0.3)),
    },
    _close,
)


def _over_state(s: TreeMotion, make: Any) -> list[Array]:
    """Return expressions over a walk of the tree, in numbers at the state."""
    symbols = {"q": ca.SX.sym("q", s.system.nq), "v": ca.SX.sym("v", s.system.nv)}
    key = ("over state", make.__name__, "")
    if key not in s.functions:
        s.functions[key] = ca.Function("f", [*symbols.values()], make(s.system.kernels.equations.walk(symbols)))
    return [np.array(part) for part in s.functions[key](s.q, s.v)]


def _natural_motion(walk: Any) -> list[ca.SX]:
    """Return the free elements of the tree: places, velocities; and of vectors, where they point in their bodies."""
    model = walk_model(walk)
    motion = NaturalMotion.of(walk, model)
    free = [one.index for one in model.free]
    vectors = [one for one in model.free if not one.is_point]
    homes = [model.home(one) for one in vectors]
    x, v = (ca.vertcat(*(of[i] for i in free)) for of in (motion.x, motion.velocity))
    turned = ca.horzcat(*(motion.R[k] @ one.places[k] for k, one in zip(homes, vectors, strict=True))).T
    now = ca.horzcat(*(motion.x[one.index] for one in vectors)).T
    rates = ca.horzcat(*(motion.velocity[one.index] for one in vectors)).T
    turning = ca.horzcat(*(motion.w[k] for k in homes)).T
    return [x, v, turned, now, rates, turning]


def _natural_equations(walk: Any) -> list[ca.SX]:
    """Return M and Q of the tree's points and vectors, without efforts."""
    made = natural_equations(walk, None)
    n = made.model.n_coordinates
    M = ca.SX(n, n)
    for (i, j), value in made.mass.items():
        M[i, j] = M[j, i] = value
    return [ca.densify(M), ca.vertcat(*(made.right[i] for i in range(n)))]


def _elements(part: int) -> Any:
    return lambda s: _over_state(s, _natural_motion)[part].squeeze()


def _vector_rows(s: TreeMotion) -> Array:
    """Return the second rates of vectors, which R and S give."""
    model = walk_model(s.system.kernels.equations.walk({}))
    which = [k for k, one in enumerate(model.free) if not one.is_point]
    second = s.letter("R_n") @ s.a + s.letter("S_n")
    return np.asarray(second.reshape(-1, 3)[which])


def _turns(s: TreeMotion) -> dict[str, Array]:
    """Return the rotations of joints from their coordinates, as the description says."""
    q, turn, found = s.letter("q"), s.letter("turn"), {}
    for body, hung in s.tree.bodies.items():
        if hung.joint in ("revolute", "cylindrical"):
            found[body] = turn[body]
        elif hung.joint in ("spherical", "free"):
            e0, e = q[body][0], q[body][1:4]
            found[body] = (2 * e0**2 - 1) * np.eye(3) + 2 * (np.outer(e, e) + e0 * tilde(e))
        elif hung.joint == "universal":
            (c1, c2), (s1, s2) = np.cos(q[body]), np.sin(q[body])
            first = np.array([[1.0, 0.0, 0.0], [0.0, c1, -s1], [0.0, s1, c1]])
            found[body] = first @ np.array([[c2, 0.0, s2], [0.0, 1.0, 0.0], [-s2, 0.0, c2]])
        else:
            found[body] = np.eye(3)
    return found


def _level(s: TreeMotion) -> Array:
    """Return what turns velocities of balls and floating bases into the ground's axes."""
    whole = np.eye(s.system.nv)
    for body, hung in s.tree.bodies.items():
        if hung.joint in ("spherical", "free"):
            at = s.joint(body)
            whole[at, at] = np.kron(np.eye((at.stop - at.start) // 3), s.letter("A")[body])
    return whole


def _steps(s: TreeMotion) -> dict[str, Array]:
    """Return a step in natural coordinates, its pieces as the book names them."""
    natural = s.system.natural
    steps = NaturalSteps(natural, loaded=False, projections=False)
    n, m = natural.n_coordinates, natural.n_conditions
    rng = np.random.default_rng(5)
    x, v = natural.state(s.q, s.v)
    a, lam = rng.normal(size=n), rng.normal(size=m)
    start, settings = np.concatenate([x, v, a, lam]), np.concatenate([[H], np.full(m, ALPHA), np.full(m, MU)])
    d = H * v + 1e-3 * rng.normal(size=n)
    point = steps._point()  # noqa: SLF001
    f = steps._residual(point)  # noqa: SLF001
    jacobian = ca.vertcat(ca.SX(0, n), *(_row(row, n) for row in point.rows))
    x_symbol, v_symbol = ca.SX.sym("x", n), ca.SX.sym("v", n)
    at = natural.symbolic_conditions.at(x_symbol, v_symbol, steps.t)
    pull = ca.jacobian(
        ca.vertcat(ca.SX(0, n), *(_row(row, n) for row in at.rows)).T @ (held := ca.SX.sym("c", m)), x_symbol
    )
    pieces = {
        "d_next": steps.iterated()[:n],
        "lam_next": steps.corrected()[3 * n : 3 * n + m],
        "d_predicted": steps.predicted(),
        "x_1": point.x,
        "v_1": point.v,
        "a_1": point.a,
        "Phi_1": point.phi,
        "d_Phi_1": point.rate,
        "Phi_x": jacobian,
        "f_1": f,
        "K_full": ca.jacobian(f, steps.d),
    }
    given = [*steps.inputs().values()]
    function = ca.Function("step", given, [*pieces.values()])
    found = {
        name: np.array(value)
        for name, value in zip(pieces, function(start, d, settings, np.zeros(s.system.nv), 0.0), strict=True)
    }
    found = {name: value.ravel() if value.shape[1] == 1 else value for name, value in found.items()}
    c = lam + ALPHA * (found["Phi_1"] + MU * found["d_Phi_1"])
    curved = ca.Function("curved", [x_symbol, v_symbol, held], [pull])(found["x_1"], found["v_1"], c)
    moved = ca.Function("moved", [x_symbol, v_symbol], [ca.jacobian(at.rate, x_symbol)])(found["x_1"], found["v_1"])
    known = {"d_step": d, "x_0": x, "v_0": v, "a_0": a, "lam_0": lam, "h": np.array(H), "mu": np.array(MU)}
    known |= {"alpha": np.array(ALPHA), "beta": np.array(ALPHA * (1 + 2 * MU / H)), "curved": np.array(curved)}
    known |= {"rate_x": np.array(moved), "M_x": np.asarray(natural.mass_matrix)}
    return found | known | {"Q_x": _weight(s)}


def _row(row: Mapping[int, ca.SX], n: int) -> ca.SX:
    whole = ca.SX(1, n)
    for i, value in row.items():
        whole[i] = value
    return whole


def _weight(s: TreeMotion) -> Array:
    """Return Q of the weights."""
    natural = s.system.natural
    steps = NaturalSteps(natural, loaded=False, projections=False)
    return np.array(ca.evalf(steps._forces(steps._point(), steps.t))).ravel()  # noqa: SLF001


def _inverse(s: TreeMotion, v: Array, a: Array) -> Array:
    return np.array(s.system.function("inverse_dynamics")(s.q, v, a)).ravel()


def _units(s: TreeMotion) -> Array:
    """Return the efforts of unit accelerations at rest, less those of the weights, column by column."""
    rest = np.zeros(s.system.nv)
    return np.stack([_inverse(s, rest, unit) - _inverse(s, rest, rest) for unit in np.eye(s.system.nv)], axis=1)


def _own_blocks(s: TreeMotion) -> dict[str, Array]:
    """Return the columns of a body's own joint in its rows of R."""
    R = s.whole("R", "garcia-de-jalon")
    return {body: R[s.six(body), s.joint(body)] for body in s.tree.bodies}


def _accelerations(formulation: str) -> Any:
    return partial(TreeMotion.function, name="forward_dynamics", formulation=formulation)


def _penalty(s: TreeMotion) -> dict[str, Array]:
    """Return accelerations by a penalty in joint coordinates where the loops are open, and how far they are."""
    other = s.later(0.0)
    other.q = s.system.integrate(s.q, 1e-3 * np.ones(s.system.nv))
    other.v = s.v + 0.1
    C, h = other.whole("C", "nikravesh"), 1e-5
    ahead, back = (other.later(k * h).whole("C", "nikravesh") for k in (1, -1))
    text = "/".join(["penalty", *PenaltySettings(1e9, 4, OMEGA, 1.0).options().values()])
    return {
        "a": other.function("forward_dynamics", formulation=text),
        "C": C,
        "rate": C @ other.v,
        "square": (ahead - back) @ other.v / (2 * h),
        "gap": other.function("closure_residual", ["q"]),
    }


LETTERS: Letters = {
    **{
        f"{name}{end}": partial(TreeMotion.on_bodies, name=name, text=f"kang-yoon/{point}", columns=columns)
        for end, point in (("", "centroid"), ("_J", "joint"))
        for name, columns in (("B1", "parent"), ("B2", "joint"), ("D", "all"), ("M", "own"), ("Q", "all"))
    },
    "M11": partial(TreeMotion.on_bodies, name="M11", text="kang-yoon/centroid", columns="all"),
    "Q1": partial(TreeMotion.on_bodies, name="Q1", text="kang-yoon/centroid", columns="all"),
    "with_tips": reduced_inertias,
    "Mb": lambda s: {body: M for body, (M, _) in s.letter("with_tips").items()},
    "Qb": lambda s: {body: Q for body, (_, Q) in s.letter("with_tips").items()},
    "by_recursion": _accelerations("fully_recursive/centroid"),
    "dd_q_found": lambda s: s.by_joint(s.letter("by_recursion")),
    "theta": lambda s: s.q,
    "d_theta": lambda s: s.v,
    "dd_theta": lambda s: s.a,
    "tau_all": lambda s: s.tau,
    "by_inverse": lambda s: _inverse(s, s.v, s.a),
    "by_inverse_at_zero": lambda s: _inverse(s, s.v, 0 * s.a),
    "by_units": _units,
    "b": lambda s: s.function("bias_force", ["q", "v"]),
    "Mt": lambda s: s.function("mass_matrix", ["q"]).reshape(s.system.nv, -1),
    "by_composite": _accelerations("composite"),
    "V": lambda s: s.whole("V", "garcia-de-jalon"),
    "U": lambda s: s.whole("U", "garcia-de-jalon"),
    "R": lambda s: s.whole("R", "garcia-de-jalon"),
    "R_own": _own_blocks,
    "to_ground": _level,
    "d_z": lambda s: s.letter("to_ground") @ s.v,
    "Y_all": lambda s: np.concatenate([s.letter("Y")[body] for body in s.tree.bodies]),
    "d_Y_all": lambda s: np.concatenate([s.letter("d_Y")[body] for body in s.tree.bodies]),
    "M_all": lambda s: s.whole("M", "kang-yoon/centroid"),
    "Q_all": lambda s: s.whole("Q", "kang-yoon/centroid")[:, 0],
    "R_n": lambda s: s.whole("R", "garcia-de-jalon/natural"),
    "S_n": lambda s: s.whole("S", "garcia-de-jalon/natural")[:, 0],
    "Phi_q": lambda s: s.whole("Phi_q", "garcia-de-jalon/natural"),
    "x_n": _elements(0),
    "d_x_n": _elements(1),
    "turned": _elements(2),
    "n": _elements(3),
    "d_n": _elements(4),
    "w_n": _elements(5),
    "dd_n": _vector_rows,
    "M_n": lambda s: _over_state(s, _natural_equations)[0],
    "Q_n": lambda s: _over_state(s, _natural_equations)[1].ravel(),
    "Phi_n": lambda s: s.system.natural.residual(s.system.natural.configuration(s.q)),
    "by_A": _accelerations("velocity_transformation/natural/multipliers"),
    "by_B": _accelerations("velocity_transformation/reference_point/multipliers"),
    "by_A_independent": _accelerations("velocity_transformation/natural/independent"),
    "by_B_independent": _accelerations("velocity_transformation/reference_point/independent"),
    "open": _penalty,
    "Omega": lambda s: OMEGA,
    "by_natural": _accelerations("natural"),
    "lam": lambda s: s.function("closure_efforts", formulation="joint_multipliers"),
    "C": lambda s: s.whole("C", "nikravesh"),
    "E": lambda s: s.whole("E", "nikravesh"),
    "ind": lambda s: list(s.system.kernels.loop_plan.choice.independent),
    "turn_ij": _turns,
    "J_local": lambda s: {
        b: m
        / 12
        * np.diag([EDGES[1] ** 2 + EDGES[2] ** 2, EDGES[2] ** 2 + EDGES[0] ** 2, EDGES[0] ** 2 + EDGES[1] ** 2])
        for b, m in s.letter("m").items()
    },
    "steps": _steps,
    **{
        name: partial(lambda s, name: s.letter("steps")[name], name=name)
        for name in (
            *("d_next", "lam_next", "d_predicted", "x_1", "v_1", "a_1", "Phi_1", "d_Phi_1", "Phi_x", "f_1", "K_full"),
            *("d_step", "x_0", "v_0", "a_0", "lam_0", "h", "mu", "alpha", "beta", "curved", "rate_x", "M_x", "Q_x"),
        )
    },
}


def _motion() -> TreeMotion:
    return TreeMotion(CHAINS, LETTERS, "garcia-de-jalon")


GARCIA_DE_JALON = Text(
    "garcia-de-jalon",
    "Garcia de Jalon and Bayo, Kinematic and dynamic simulation of multibody systems, chapter 8",
    rows(ROWS, PLACES),
    _motion,
)
"""All equations of the chapter."""
