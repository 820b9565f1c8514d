"""Random mechanisms with flexible bodies, for the package and for the independent assembly alike."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.spatial.transform import Rotation

import whippletree as wt
from support.flexible_assembly import Answer, FlexibleState, Held, Spot, solve
from whippletree.elements.bodies import FlexibleBody, Interface, LumpedNodes

Array = np.ndarray
GRAVITY = np.array([0.4, -0.7, -9.6])


@dataclass(frozen=True)
class RandomBody:
    """The raw data of a body: nodes, interfaces and modal matrices."""

    nodes: list[Spot]
    spots: dict[str, Spot]
    stiffness: Array
    damping: Array

    @property
    def n(self) -> int:
        return len(self.stiffness)

    def kind(self) -> FlexibleBody | wt.MassProperties:
        """The same for the package."""
        if not self.n:
            total = wt.MassProperties()
            for node in self.nodes:
                total = total + wt.MassProperties(node.mass, node.x, node.inertia)
            return total
        each = {name: np.array([getattr(node, name) for node in self.nodes]) for name in ("x", "phi", "psi", "G")}
        mass, inertia = (np.array([getattr(node, name) for node in self.nodes]) for name in ("mass", "inertia"))
        return FlexibleBody.from_arrays(
            stiffness=self.stiffness,
            damping=self.damping,
            size=1.0,
            inertia=LumpedNodes(mass, inertia, each["x"], each["phi"], each["psi"], each["G"]),
            interfaces={name: Interface(s.x, s.axes, s.phi, s.psi, s.G, s.H) for name, s in self.spots.items()},
        )


def random_body(
    rng: np.random.Generator, n: int, *, nodes: int = 2, bent: bool = True, rotary: bool = True
) -> RandomBody:
    def definite(size: int, scale: float) -> Array:
        A = rng.normal(size=(size, size))
        return scale * (A @ A.T + np.eye(size))

    def spot(mass: float, axes: Array) -> Spot:
        phi, psi = 0.5 * rng.normal(size=(2, 3, n))
        G, H = 0.3 * rng.normal(size=(2, 3, n, n)) * bent
        G, H = (each + each.swapaxes(1, 2) for each in (G, H))
        second = definite(3, 0.001) if rotary and mass else np.zeros((3, 3))
        inertia = np.trace(second) * np.eye(3) - second
        return Spot(rng.uniform(-0.5, 0.5, 3), phi, psi, G, H if not mass else 0 * H, axes, mass, inertia)

    made = [spot(rng.uniform(0.2, 1.0), np.eye(3)) for _ in range(nodes)]
    turned = Rotation.random(2, rng=rng).as_matrix()
    spots = {name: spot(0.0, axes) for name, axes in zip("ab", turned, strict=True)}
    return RandomBody(made, spots, definite(n, 20.0), definite(n, 0.2))


def traced(s: wt.System, name: str, *, frame: str = "", formulation: str = "auto", **inputs: Array) -> Array:
    """A function of a system as it is traced, without making machine code of it."""
    choice = {"formulation": formulation} if formulation != "auto" else {}
    f = s.function(name, frame=frame, **choice)
    return np.array(f(*(inputs.get(each, 0.0) for each in f.name_in()))).ravel()


@dataclass
class RandomMechanism:
    """A mechanism in the making, and what the assembly needs to know of it."""

    rng: np.random.Generator
    m: wt.Mechanism = field(default_factory=lambda: wt.Mechanism("random", gravity=GRAVITY))
    bodies: dict[str, RandomBody] = field(default_factory=dict)
    joints: dict[str, Held] = field(default_factory=dict)

    def add(self, n: int, kind: str, parent: str, *, at_interface: bool, **options: bool) -> None:
        """Add a body with so many modes behind a joint of a kind on a place."""
        name = f"b{len(self.bodies)}"
        self.bodies[name] = random_body(self.rng, n, **options)
        self.m.body(name, self.bodies[name].kind())
        place = f"{name}.a" if at_interface and n else name
        self.join(f"j{len(self.joints)}", kind, parent, place)

    def join(self, name: str, kind: str, parent: str, child: str, offsets: tuple[Array, Array] | None = None) -> None:
        at, at_child = self.rng.uniform(-0.2, 0.2, (2, 3)) if offsets is None else offsets
        axis, other = self.rng.normal(size=(2, 3))
        axis /= np.linalg.norm(axis)
        other -= axis * (other @ axis)
        other /= np.linalg.norm(other)
        ends = {"at": at, "at_child": at_child}
        if kind in ("revolute", "prismatic"):
            getattr(self.m, kind)(name, parent, child, axis=axis, **ends)
            other = axis
        elif kind == "universal":
            self.m.universal(name, parent, child, axis=axis, axis_child=other, **ends)
        else:
            getattr(self.m, kind)(name, parent, child, **ends)
        places = [self._spot(place) for place in (parent, child)]
        names = tuple(place.split(".")[0] for place in (parent, child))
        self.joints[name] = Held(kind, names, tuple(places), (at, at_child), axis, other)  # type: ignore[arg-type]

    def _spot(self, place: str) -> Spot:
        body, _, interface = place.partition(".")
        if body == "ground":
            return Spot.fixed(0)
        return self.bodies[body].spots[interface] if interface else Spot.fixed(self.bodies[body].n)

    def places(self) -> list[str]:
        """All places that something can be joined to."""
        own = [f"{name}.{end}" for name, body in self.bodies.items() if body.n for end in "ab"]
        return ["ground", *self.bodies, *own]

    def answer(self, s: wt.System, q: Array, v: Array, tau: Array) -> Answer:
        """What the independent assembly says at a state of the system."""
        bodies, efforts = {}, {}
        for name, body in self.bodies.items():
            T = traced(s, "pose", frame=name, q=q).reshape(4, 4)
            twist = traced(s, "velocity", frame=name, q=q, v=v)
            eta, rate = np.zeros(0), np.zeros(0)
            if body.n:
                eta, rate, efforts[name] = q[s.q_slice(name)], v[s.v_slice(name)], tau[s.v_slice(name)]
            pose = T[:3, :3], T[:3, 3], twist[:3], twist[3:]
            bodies[name] = FlexibleState(body.nodes, body.stiffness, body.damping, *pose, eta, rate)
        joints = {}
        for name, held in self.joints.items():
            effort = float(tau[s.v_slice(name)][0]) if held.kind == "revolute" else 0.0
            joints[name] = Held(held.kind, held.bodies, held.spots, held.offsets, held.axis, held.axis_child, effort)
        return solve(bodies, joints, GRAVITY, efforts)

    def efforts(self, s: wt.System) -> Array:
        """Random efforts on revolute joints and modes."""
        tau = np.zeros(s.nv)
        for name in [n for n, held in self.joints.items() if held.kind == "revolute"] + [
            n for n, body in self.bodies.items() if body.n
        ]:
            here = s.v_slice(name)
            tau[here] = self.rng.normal(size=here.stop - here.start)
        return tau


JOINTS = ("revolute", "spherical", "universal", "prismatic", "revolute")


def random_tree(seed: int, *, bodies: int = 3, most_modes: int = 2, rigid: int = 1, **options: bool) -> RandomMechanism:
    """A tree of bodies, most of them flexible, joined at their frames and interfaces."""
    rng = np.random.default_rng(seed)
    made = RandomMechanism(rng)
    for i in range(bodies):
        parent = str(rng.choice(made.places()[1:])) if i else "ground"
        n = int(rng.integers(1, most_modes + 1)) if i != rigid else 0
        made.add(n, str(rng.choice(JOINTS)), parent, at_interface=bool(rng.integers(2)), **options)
    return made


def random_loop(seed: int, **options: int) -> tuple[RandomMechanism, wt.System, Array]:
    """A tree with one more joint, which closes a loop where the tree happens to be; its system, and that place."""
    made = random_tree(seed, **options)
    tree = made.m.build()
    q = tree.random(seed)
    first, second = "ground", f"b{len(made.bodies) - 1}.b"
    poses = (np.eye(4), traced(tree, "pose", frame=second, q=q).reshape(4, 4))
    (R, p), (S, r) = ((T[:3, :3], T[:3, 3]) for T in poses)
    point = (p + r) / 2
    made.join("loop", "spherical", first, second, (R.T @ (point - p), S.T @ (point - r)))
    s = made.m.build(cut=["loop"])
    whole = s.q0.copy()
    for name in [*made.joints, *(n for n, body in made.bodies.items() if body.n)]:
        if name != "loop":
            whole[s.q_slice(name)] = q[tree.q_slice(name)]
    return made, s, s.assemble(whole)
