"""Jain, "Inter-body forces in recursive dynamics": its equations, on a tree with a loop and on a chain that bends.

Operators are those of `matrices(text="jain")`: rows and columns in the axes of the bodies' nodes, [angular; linear].
S are the bodies of the loop, of which b and d hang on a, and g hangs on c. O is a link's inboard node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from whippletree.analysis.equations.equation import Array, Text, lever, rows
from whippletree.analysis.equations.jain_rows import PLACES, ROWS
from whippletree.analysis.equations.tree_motion import GRAVITY, Hung, HungTree, Letters, TreeMotion
from whippletree.analysis.literal.jain_flexible import FlexibleLink, FlexibleNode, LinkMotion, phi, solve
from whippletree.elements.bodies import FlexibleBody, Interface, LumpedNodes
from whippletree.flexible_bodies import beam, steel, tube
from whippletree.foundation.once import made_once
from whippletree.model import BodyHandle, Mechanism
from whippletree.system import System

__all__ = ["JAIN", "LINKS", "flexible_chain"]


def _close(m: Mechanism, bodies: Mapping[str, BodyHandle]) -> None:
    """Close the loop over b, c, d and e."""
    m.in_plane("plane", bodies["c"], bodies["e"], normal="y", offset=0.3, at_child=(0.1, 0.0, 0.2))
    m.perpendicular("square", bodies["c"], bodies["e"], axis="x", axis_child="z")


TREE = HungTree(
    {
        "a": Hung("", "revolute", (0.0, 0.0, 0.0), (0.2, 0.3, 1.0)),
        "b": Hung("a", "cylindrical", (0.3, 0.1, 0.4), (1.0, 0.2, -0.3)),
        "c": Hung("b", "revolute", (-0.1, 0.3, 0.2), (0.1, 1.0, 0.4)),
        "d": Hung("a", "revolute", (0.2, 0.2, 0.1), (0.5, 1.0, 0.1)),
        "e": Hung("d", "spherical", (0.2, 0.4, 0.1)),
        "g": Hung("c", "revolute", (0.3, -0.2, 0.3), (1.0, 0.0, 0.7)),
    },
    _close,
)
RING = ("b", "c", "d", "e")


def _link(rng: np.random.Generator, prescribed: bool) -> FlexibleLink:
    """Return a link whose third mode turns its nodes."""

    def node(mass: float = 0.0) -> FlexibleNode:
        turning = np.zeros((3, 3))
        turning[:, 2] = 0.4 * rng.normal(size=3)
        inertia = np.diag(rng.uniform(0.01, 0.02, 3)) if mass else np.zeros((3, 3))
        return FlexibleNode(rng.uniform(-0.5, 0.5, 3), turning, 0.3 * rng.normal(size=(3, 3)), mass, inertia)

    S, axis = rng.normal(size=(3, 3)), rng.normal(size=3)
    nodes = [node(mass) for mass in (0.7, 1.1, 0.9, 0.5)]
    stiffness = 20 * (S @ S.T + np.eye(3))
    return FlexibleLink(nodes, node(), node(), stiffness, axis / np.linalg.norm(axis), prescribed)


_RNG = np.random.default_rng(3)
LINKS = [_link(_RNG, prescribed) for prescribed in (False, True, False)]
"""Three links from base to tip; the hinge of the second one is prescribed."""


def flexible_chain(links: Sequence[FlexibleLink], heavier: float = 1.0) -> System:
    """Return the links as a system."""
    m = Mechanism("flexible chain", gravity=tuple(GRAVITY))
    before = "ground"
    for k, link in enumerate(links):
        each = {
            name: np.array([getattr(node, name) for node in link.nodes]) for name in ("x", "translation", "turning")
        }
        masses = heavier * np.array([node.mass for node in link.nodes])
        inertias = heavier * np.array([node.inertia for node in link.nodes])
        ends = {"in": link.inboard, "out": link.outboard}
        kind = FlexibleBody.from_arrays(
            stiffness=link.stiffness,
            size=1.0,
            inertia=LumpedNodes(masses, inertias, each["x"], each["translation"], each["turning"]),
            interfaces={name: Interface(one.x, None, one.translation, one.turning) for name, one in ends.items()},
        )
        m.body(f"l{k}", kind)
        axis = tuple(link.axis)
        m.revolute(f"J{k}", before, f"l{k}.in", axis=axis, axis_child=axis, prescribed=link.prescribed)
        before = f"l{k}.out"
    return m.build()


class JainMotion(TreeMotion):
    """The tree in motion, and the chain of links: letters of links go by l0, l1 and l2."""

    def pairs(self, on: str) -> list[tuple[str, str]]:
        """Return links for equations `on links`, and bodies otherwise."""
        if on == "links":
            return [(f"l{k}", f"l{k - 1}" if k else "") for k in range(len(LINKS))]
        return super().pairs(on)

    @made_once
    def bent(self) -> FlexibleMotion:
        """The chain of links at a state; its third modes, which turn nodes, are at rest."""
        return FlexibleMotion(self.heavier)


class FlexibleMotion:
    """The links at a state of motion, as the package sees them and as the recursion of the text does."""

    def __init__(self, heavier: float, links: Sequence[FlexibleLink] = LINKS) -> None:
        self.links = links
        self.system = system = flexible_chain(links, heavier)
        rng = np.random.default_rng(11)
        self.q, self.v = 0.3 * rng.normal(size=system.nq), rng.normal(size=system.nv)
        self.tau = rng.normal(size=system.nv)
        self.names = [f"l{k}" for k in range(len(links))]
        for name in self.names:
            self.q[system.q_slice(name).stop - 1] = 0.0
        self.heavier = heavier
        self.values: dict[str, Array] = {}

    def function(self, name: str, frame: str = "", q: Array | None = None, v: Array | None = None) -> Array:
        """Return what a function gives at the state; efforts of prescribed hinges are their accelerations."""
        f = self.system.function(name, frame=frame, formulation="articulated" if name in _DYNAMIC else "auto")
        given = {"q": self.q if q is None else q, "v": self.v if v is None else v, "tau": self.tau, "a": self.tau}
        if name == "acceleration":
            given["a"] = self.accelerations
        return np.array(f(*(given[one] for one in f.name_in()))).ravel()

    @made_once
    def accelerations(self) -> Array:
        """Accelerations of all freedoms."""
        return self.function("forward_dynamics")

    def modes(self, vector: Array) -> dict[str, Array]:
        """Return the parts of the modes."""
        return {name: vector[self.system.v_slice(name)] for name in self.names}

    def hinge(self, vector: Array) -> dict[str, float]:
        """Return the parts of the hinges."""
        return {name: vector[self.system.v_slice(f"J{name[1:]}").start] for name in self.names}

    def frames(self, what: str, end: str = "") -> dict[str, Array]:
        """Return pose, velocity or acceleration of the links, or of their ends."""
        found = {name: self.function(what, name + end) for name in self.names}
        return {name: one.reshape(4, 4) if what == "pose" else one for name, one in found.items()}

    def wrenches(self) -> dict[str, Array]:
        """Return the wrenches of the hinges."""
        found = self.function("reactions").reshape(-1, 6)
        order = [use.name for use in self.system.description.joints]
        return {name: found[order.index(f"J{name[1:]}")] for name in self.names}

    @made_once
    def literal(self) -> dict[str, dict[str, Array]]:
        """What the recursion of the text finds."""
        pose, V = self.frames("pose"), self.frames("velocity")
        q, v, tau = ({name: x[self.system.v_slice(name)] for name in self.names} for x in (self.q, self.v, self.tau))
        rates, efforts = self.hinge(self.v), self.hinge(self.tau)
        states = [
            LinkMotion(pose[n][:3, :3], pose[n][:3, 3], V[n], q[n], v[n], rates[n], efforts[n], tau[n])
            for n in self.names
        ]
        links = [_heavier(link, self.heavier) for link in self.links]
        solve(links, states, GRAVITY)
        return {name: state.found for name, state in zip(self.names, states, strict=True)}


_DYNAMIC = ("forward_dynamics", "reactions", "driving_forces")


def _heavier(link: FlexibleLink, factor: float) -> FlexibleLink:
    nodes = [FlexibleNode(n.x, n.turning, n.translation, factor * n.mass, factor * n.inertia) for n in link.nodes]
    return FlexibleLink(nodes, link.inboard, link.outboard, link.stiffness, link.axis, link.prescribed)


def _six(s: TreeMotion, bodies: tuple[str, ...]) -> list[int]:
    return [i for body in bodies for i in range(*s.six(body).indices(10**6))]


def _speeds(s: TreeMotion, bodies: tuple[str, ...]) -> list[int]:
    return [i for body in bodies for i in range(*s.joint(body).indices(10**6))]


def _free(s: TreeMotion) -> list[int]:
    """Return which independent freedoms are the loop's."""
    free = list(s.system.kernels.loop_plan.choice.independent)
    return [k for k, i in enumerate(free) if i in _speeds(s, RING)]


def _part(name: str, of_rows: Any, of_columns: Any = None) -> Any:
    """Return a part of a letter."""

    def make(s: TreeMotion) -> Array:
        whole = s.letter(name)[of_rows(s)]
        return np.asarray(whole if of_columns is None else whole[:, of_columns(s)])

    return make


def _node_axes(s: TreeMotion) -> dict[str, Array]:
    """Return the axes of the bodies' nodes, which have the axes of their joints."""
    where = s.system.kernels.equations.node_tree().where
    return {body: A @ np.array(where[body][1].rotation).T for body, A in s.letter("A").items() if body}


def _in_axes(s: TreeMotion, vectors: Mapping[str, Array]) -> Array:
    """Return columns of bodies in their own axes, body after body."""
    whole = np.zeros(6 * len(s.tree.bodies))
    for body, _ in s.parents:
        whole[s.six(body)] = np.kron(np.eye(2), s.letter("N")[body].T) @ vectors[body]
    return whole


def _wrenches(s: TreeMotion) -> Array:
    """Return the forces of all joints, as the package gives them."""
    formulation = "constraint_embedding" if s.is_closed else "articulated"
    found = s.function("reactions", formulation=formulation).reshape(-1, 6)
    order = [use.name for use in s.system.description.joints]
    return _in_axes(s, {body: found[order.index(body.upper())] for body, _ in s.parents})


def _forces(s: TreeMotion) -> Array:
    """Return b with the weights."""
    fall = _in_axes(s, dict.fromkeys(s.tree.bodies, np.concatenate([np.zeros(3), GRAVITY])))
    return np.asarray(s.whole("b", "jain")[:, 0] - s.letter("M") @ fall)


def _of_tree(s: TreeMotion) -> Array:
    """Return the accelerations of the tree, whose loop is not there."""
    found = s.tree.build(s.heavier, closed=False).function("forward_dynamics", formulation="articulated")
    return np.array(found(s.q, s.v, s.tau)).ravel()


def _ring_alone(s: TreeMotion) -> Array:
    """Return the mass matrix of the loop's joints without the body that hangs on it."""
    fewer = replace(s.tree, bodies={name: hung for name, hung in s.tree.bodies.items() if name != "g"})
    system = fewer.build(s.heavier, closed=False)
    whole = np.array(system.function("mass_matrix")(s.q[: system.nq])).reshape(system.nv, -1)
    return np.asarray(whole[np.ix_(_speeds(s, RING), _speeds(s, RING))])


def _closures_on_bodies(s: TreeMotion) -> Array:
    """Return the closures' rows on velocities of the loop's bodies, at their origins and in their axes."""
    on_centres = s.whole("D*", "nikravesh")
    N, rho = s.letter("N"), s.letter("rho")
    return np.hstack([on_centres[:, s.six(b)] @ lever(rho[b]) @ np.kron(np.eye(2), N[b]) for b in RING])


def _cantilever(s: TreeMotion) -> Array:
    """Return translation and turning of a cantilever's modes at its root."""
    kind = beam(section=tube(radius=0.02, wall=0.002), material=steel, length=s.heavier, modes=4)
    assert isinstance(kind, FlexibleBody)
    return np.vstack([kind.arrays.array(f"root {each}") for each in ("translation", "rotation")])


def _accelerations(formulation: str) -> Any:
    return partial(TreeMotion.function, name="forward_dynamics", formulation=formulation)


def _links(make: Any) -> Any:
    return lambda s: make(s.bent)


def _found(name: str) -> Any:
    return lambda s: {link: one[name] for link, one in s.bent.literal.items() if name in one}


def _ends(which: str, part: str) -> Any:
    """Return something of the nodes at which links are held, or hold others, from the description."""
    return lambda s: {f"l{k}": getattr(getattr(link, which), part) for k, link in enumerate(LINKS)}


_RING, _OUTER, _BASE = (partial(_six, bodies=some) for some in (RING, ("g",), ("a",)))
_RING_SPEEDS, _OUTER_SPEEDS = (partial(_speeds, bodies=some) for some in (RING, ("g",)))

LETTERS: Letters = {
    "N": _node_axes,
    **{
        name: partial(TreeMotion.whole, name=name, text="jain") for name in ("H", "E", "phi", "M", "P", "D", "K", "psi")
    },
    "G": lambda s: s.whole("gain", "jain"),
    "a": lambda s: s.whole("a", "jain")[:, 0],
    "b": _forces,
    "n": lambda s: 6 * len(s.tree.bodies),
    "V": lambda s: _in_axes(s, {b: np.concatenate([s.letter("w")[b], s.letter("d_r")[b]]) for b in s.tree.bodies}),
    "alpha": lambda s: _in_axes(
        s, {b: np.concatenate([s.letter("d_w")[b], s.letter("dd_r")[b]]) for b in s.tree.bodies}
    ),
    "f": _wrenches,
    "theta": lambda s: s.q,
    "d_theta": lambda s: s.v,
    "dd_theta": lambda s: s.a,
    "tau_all": lambda s: s.tau,
    "Mt": lambda s: s.function("mass_matrix", ["q"]).reshape(s.system.nv, -1),
    "C": lambda s: s.function("bias_force", ["q", "v"]),
    "by_articulated": _accelerations("articulated"),
    "by_tree": _accelerations("tree_augmented"),
    "by_embedding": _accelerations("constraint_embedding"),
    "lam": lambda s: s.function("closure_efforts", formulation="tree_augmented"),
    "J": lambda s: s.whole("C", "nikravesh"),
    # the loop and what it hangs on
    "X_all": lambda s: s.whole("E", "nikravesh"),
    "X": lambda s: s.letter("X_all")[_RING_SPEEDS(s)][:, _free(s)],
    "d_theta_R": lambda s: s.v[list(s.system.kernels.loop_plan.choice.independent)][_free(s)],
    "dd_theta_R": lambda s: s.a[list(s.system.kernels.loop_plan.choice.independent)][_free(s)],
    "d_theta_S": lambda s: s.v[_RING_SPEEDS(s)],
    "dd_theta_S": lambda s: s.a[_RING_SPEEDS(s)],
    "embedded_S": lambda s: s.letter("by_embedding")[_RING_SPEEDS(s)],
    "T_S": lambda s: s.tau[_RING_SPEEDS(s)],
    "J_S": lambda s: s.letter("J")[:, _RING_SPEEDS(s)],
    "H_S": _part("H", _RING_SPEEDS, _RING),
    "phi_S": _part("phi", _RING, _RING),
    "M_S": _part("M", _RING, _RING),
    "E_S": _part("E", _BASE, _RING),
    "B_S": _part("E", _RING, _OUTER),
    **{f"{name}_S": _part(name, _RING) for name in ("V", "alpha", "a", "b", "f")},
    **{f"{name}_a": _part(name, _BASE) for name in ("V", "alpha", "a", "b", "f")},
    **{f"{name}_g": _part(name, _OUTER) for name in ("V", "alpha", "a", "b", "f")},
    "by_articulated_of_tree": _of_tree,
    "Mt_S": _ring_alone,
    "J_c": _closures_on_bodies,
    "M_a": _part("M", _BASE, _BASE),
    "M_g": _part("M", _OUTER, _OUTER),
    "H_g": _part("H", _OUTER_SPEEDS, _OUTER),
    "d_theta_g": lambda s: s.v[_OUTER_SPEEDS(s)],
    "dd_theta_g": lambda s: s.a[_OUTER_SPEEDS(s)],
    "T_g": lambda s: s.tau[_OUTER_SPEEDS(s)],
    # links that bend
    "eta": _links(lambda b: b.modes(b.q)),
    "d_eta": _links(lambda b: b.modes(b.v)),
    "dd_eta": _links(lambda b: b.modes(b.accelerations)),
    "d_hinge": _links(lambda b: b.hinge(b.v)),
    "dd_hinge": _links(lambda b: b.hinge(b.accelerations)),
    "pose": _links(lambda b: b.frames("pose")),
    "pose_O": _links(lambda b: b.frames("pose", ".in")),
    "pose_out": _links(lambda b: b.frames("pose", ".out")),
    "V_k": _links(lambda b: b.frames("velocity")),
    "V_O": _links(lambda b: b.frames("velocity", ".in")),
    "V_out": _links(lambda b: {"": np.zeros(6)} | b.frames("velocity", ".out")),
    "alpha_k": _links(lambda b: b.frames("acceleration")),
    "alpha_O": _links(lambda b: b.frames("acceleration", ".in")),
    "alpha_out": _links(lambda b: {"": np.zeros(6)} | b.frames("acceleration", ".out")),
    "f_O": _links(lambda b: b.wrenches()),
    "T_h": _links(lambda b: b.hinge(b.function("driving_forces"))),
    "T_m": _links(lambda b: b.modes(b.tau)),
    "x_out": _ends("outboard", "x"),
    "moved_out": _ends("outboard", "translation"),
    "turned_out": _ends("outboard", "turning"),
    "h": lambda s: {f"l{k}": link.axis for k, link in enumerate(LINKS)},
    **{
        name: _found(name)
        for name in ("M_fl", "b_fl", "Pi_B", "mu", "G_cr", "P_cr", "z_cr", "P_hinge", "z_hinge", "a_fl", "A_O", "Pi_O")
    },
    **{f"{name}_m": _found(name) for name in ("P", "z", "D", "a", "nu", "H", "eps")},
    "a_of_O": _found("a_O"),
    "a_of_out": _found("a_out"),
    "A_out": _found("A_out"),
    "gain": _found("gain"),
    "nu_hinge": _found("nu_hinge"),
    "f_beyond": _links(lambda b: dict(zip(b.names, [*list(b.wrenches().values())[1:], np.zeros(6)], strict=True))),
    "free": lambda s: {f"l{k}": float(not link.prescribed) for k, link in enumerate(LINKS)},
    "nu_all": lambda s: {name: one.get("nu_hinge", np.zeros(())) for name, one in s.bent.literal.items()},
    "gain_all": lambda s: {name: one.get("gain", np.zeros(6)) for name, one in s.bent.literal.items()},
    "phi_of": lambda s: phi,
    "cantilever": _cantilever,
}

JAIN = Text(
    "jain",
    "Jain, Inter-body forces in recursive dynamics",
    rows(ROWS, PLACES),
    lambda: JainMotion(TREE, LETTERS, "jain"),
)
"""All equations of the paper."""
