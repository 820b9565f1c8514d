"""Flexible beams: straight, tapered or curved, in modal or nodal coordinates.

The finite elements are those of `beam_elements`, the modes those of `modal_reduction`. Second-order displacements keep
the beam's strains linear in its coordinates: with small rotations theta, strains Gamma and curvatures kappa of the
modes, the geometrically exact beam (Reissner 1981; Simo 1985) r' = R(theta) (t + Gamma), kappa = T(theta)^T theta', has
to second order, for theta = Psi eta + 1/2 eta^T H eta and r = x + Phi eta + 1/2 eta^T G eta,

    H_kl' = sym(Psi_k x Psi_l')                                                                                (1)
    G_kl' = sym(2 Psi_k x Gamma_l + Psi_k x (Psi_l x t)) + H_kl x t                                            (2)

sym being the mean of the two orders of k and l. (2) holds the shortening of a bent beam, -1/2 (v'^2 + w'^2), by which
it is stiffened in rotation, and what bends a twisted beam sideways. Both are integrated from the root.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from whippletree.elements.bodies.body_chains import PART_END, BodyChain
from whippletree.elements.bodies.flexible import FlexibleBody
from whippletree.elements.bodies.flexible_data import Interface, Invariants, LumpedNodes, Stations
from whippletree.errors import ModelError
from whippletree.flexible_bodies.beam_elements import running_integrals
from whippletree.flexible_bodies.beam_mesh import BeamMesh, beam_mesh, read_interfaces, split_interfaces
from whippletree.flexible_bodies.cross_sections import Section, outlines
from whippletree.flexible_bodies.flexible_input import Array, SparseMatrix, choice, count
from whippletree.flexible_bodies.flexible_tolerances import (
    ALL_SECOND_ORDER,
    MOST_BEAM_ELEMENTS,
    MOST_COORDINATES,
    MOST_NODAL,
    MOST_STATION_NUMBERS,
    MOST_STRESS_NUMBERS,
)
from whippletree.flexible_bodies.mass_integrals import Damping, damping_matrix, integral, point_invariants
from whippletree.flexible_bodies.materials import Material
from whippletree.flexible_bodies.modal_reduction import Structure, reduced_basis
from whippletree.flexible_bodies.mode_options import ModeOptions, read_mode_options
from whippletree.flexible_bodies.nodal_integrals import nodal_invariants
from whippletree.flexible_bodies.node_sets import rigid_motions
from whippletree.flexible_bodies.section_fibres import fibre_stresses
from whippletree.foundation.arrays import Indices
from whippletree.foundation.user_frames import user_facing
from whippletree.spatial.orientation import AxisLike
from whippletree.spatial.scalars import listed, truth

__all__ = ["beam"]

THEORIES = ("euler-bernoulli", "timoshenko")
MASSES = ("consistent", "lumped")
REFERENCES = ("cantilever", "free", "chord")


@user_facing
def beam(
    *,
    section: Section | Sequence[Section],
    material: Material,
    length: float | None = None,
    stations: ArrayLike | None = None,
    axis: AxisLike = "x",
    across: AxisLike | None = None,
    elements: int = 10,
    modes: int | str | None = None,
    highest_frequency: float | None = None,
    interfaces: Mapping[str, float] | None = None,
    attachment: bool | str | Iterable[str] | None = None,
    reduction: str = "eigenmodes",
    reference: str = "cantilever",
    theory: str = "euler-bernoulli",
    mass: str = "consistent",
    damping: Damping = None,
    stiffening: bool | None = None,
    substructures: int = 1,
    stress: bool = False,
) -> FlexibleBody | BodyChain:
    """Return a flexible beam, for `Mechanism.body`.

    It goes from its root, at the body's origin, along `axis` for its `length`, or through `stations`, points in the
    body frame. With a list of sections, one for each station or evenly along the length, it is tapered. The section's y
    axis is `across`; along "x" and "-x" it is y, along "y" and "-y" z, along "z" and "-z" x. Its interfaces are "root",
    "tip" and those that `interfaces` gives as fractions of the length; all of them are parallel to the body frame while
    it is undeformed.

    Its coordinates are the lowest `modes` eigenmodes (6 unless given), or those up to a `highest_frequency` in Hz, or
    with "all" a complete set; "nodal" keeps the displacements and rotations of all nodes instead. `attachment` names
    interfaces (True: all) that get static modes for unit loads on top, so that the response to forces there is exact at
    rest; `reduction="craig-bampton"` does so for all interfaces, and holds them in the eigenmodes. The body frame moves
    with the root ("cantilever"), with the line from root to tip ("chord"), or with the mean of the body ("free").

    `damping` is a damping ratio, a list of ratios, or Rayleigh's {"mass": a, "stiffness": b}. `stiffening` is the
    second-order displacements by which a spinning beam is stiffer; more than twelve nodal coordinates have none, all
    other beams do unless it is False. `mass="lumped"` puts rigid masses on the nodes.

    With `substructures`, so many bodies of equal length are welded into one, each in a frame of its own: the beam may
    then bend as far as it likes. Each has static modes for loads at its end (unless `attachment` is False), and `modes`
    counts what it has besides, none unless given. In a mechanism they are called "link.1", "link.2" and so on, and
    "link" with its interfaces stands for them wherever a place goes.

    With `stress`, the stresses in the outermost fibres of the sections at the nodes are known (`run.stress`): those of
    the coordinates that it has, so that static modes (`attachment`) or "all" of them belong to it where loads count.

    >>> from whippletree.flexible_bodies import steel, tube
    >>> beam(length=1.0, section=tube(radius=0.02, wall=0.002), material=steel, modes=4)
    FlexibleBody(4 modes, interfaces: root, tip)
    >>> bar = beam(length=1.0, section=tube(radius=0.02, wall=0.002), material=steel, attachment="tip", stress=True)
    >>> bar.drawn.array("stress_positions").shape  # 24 fibres at each of 11 nodes
    (264, 3)
    """
    shear = choice(theory, THEORIES, "beam: theory") == "timoshenko"
    reference = choice(reference, REFERENCES, "beam: reference")
    lumped = choice(mass, MASSES, "beam: mass") == "lumped"
    places, total = read_interfaces(interfaces), count(elements, "beam: elements", most=MOST_BEAM_ELEMENTS)
    number = count(substructures, "beam: substructures", most=MOST_BEAM_ELEMENTS)
    if number > 1 and reference != "cantilever":
        raise ModelError('beam: substructures are welded root to tip: they need reference="cantilever"')
    if attachment is None:
        attachment = number > 1
    known = truth(stress, "beam: stress=")
    if number > 1 and modes is None and highest_frequency is None and attachment:
        modes = 0
    parts = []
    for bounds, own in split_interfaces(places, number):
        options = read_mode_options(
            "beam", modes, highest_frequency, _own_attachment(attachment, places, own), reduction, reference, own
        )
        line = (length, stations, axis, across, section, material)
        mesh = beam_mesh(*line, max(1, round(total / number)), shear, own, bounds, known)
        if number > 1:
            mesh = mesh.at_its_root()
        stiff = None if stiffening is None else truth(stiffening, "stiffening=")
        parts.append(_BeamModel(mesh, options, lumped).body(damping, stiff))
    return parts[0] if number == 1 else BodyChain(tuple(parts))


def _own_attachment(attachment: object, places: Mapping[str, float], own: Mapping[str, float]) -> object:
    """Return which interfaces of a part get static modes; the end of a part gets some if the tip does."""
    given = [attachment] if isinstance(attachment, str) else listed(attachment)
    if given is None:
        return attachment
    unknown = [name for name in given if not isinstance(name, str) or name not in places]
    if unknown:
        return unknown
    return [name for name in own if name in given or (name == PART_END and "tip" in given)]


_Integrated = tuple[Array, Invariants | LumpedNodes, tuple[Array, Array] | None]


class _BeamModel:
    """A beam's finite elements, and the basis in which its coordinates are."""

    def __init__(self, mesh: BeamMesh, options: ModeOptions, lumped: bool) -> None:
        self.mesh, self.options, self.lumped = mesh, options, lumped
        self.structure = self._structure()
        self.names: tuple[str, ...] | None
        if options.nodal:
            self.basis, self.names = self._nodal_basis()
        else:
            self.basis, _ = reduced_basis(self.structure, options.choice)
            self.names = None
        most = MOST_NODAL if options.nodal and not lumped else MOST_COORDINATES
        if self.basis.shape[1] > most:
            raise ModelError(
                f"beam: it would have {self.basis.shape[1]} coordinates, and {most} are the most: take "
                "fewer elements or modes, or split the beam into several"
            )
        first = 6 * np.arange(len(mesh.nodes) - 1)[:, None] + np.arange(12)
        self.u, self.r, self.strains = (field @ self.basis[first][:, None] for field in mesh.elements.fields())

    # ------------------------------------------------------------------ finite elements

    def _structure(self) -> Structure:
        mesh = self.mesh
        K, M = _assembled(mesh.elements.stiffness()), self._mass_matrix()
        maps = {name: _unit_rows(6 * node, 6, len(mesh.nodes)) for name, node in mesh.interfaces.items()}
        return Structure(K, M, self._conditions(M), maps)

    def _mass_matrix(self) -> SparseMatrix:
        if not self.lumped:
            return _assembled(self.mesh.elements.mass())
        masses, moments = self.mesh.elements.lumped()
        blocks = np.zeros((len(masses), 12, 12))
        for node in (0, 1):
            here = slice(6 * node, 6 * node + 3), slice(6 * node + 3, 6 * node + 6)
            blocks[:, here[0], here[0]] = masses[:, node, None, None] * np.eye(3)
            blocks[:, here[1], here[1]] = moments[:, node]
        return _assembled(blocks)

    def _conditions(self, M: SparseMatrix) -> Array:
        """Return the six rows (6, m) that tie the body frame to the beam."""
        nodes = self.mesh.nodes
        if self.options.reference == "cantilever":
            return _unit_rows(0, 6, len(nodes))
        if self.options.reference == "free":
            return np.asarray((M @ rigid_motions(nodes)).T)
        x, y, z = self.mesh.elements.axes[0].T
        chord = nodes[-1] - nodes[0]
        if np.linalg.norm(chord) < 1e-6 * self.mesh.length:
            raise ModelError("beam: its root and tip are at the same place: it has no chord, choose another reference")
        if np.linalg.norm(np.cross(chord, x)) > 1e-9 * np.linalg.norm(chord):
            x = chord / np.linalg.norm(chord)
            y = np.cross(z, x) if abs(z @ x) < 0.9 else np.cross(y, x)
            y /= np.linalg.norm(y)
            z = np.cross(x, y)
        rows = np.zeros((6, 6 * len(nodes)))
        rows[:3, :3] = np.eye(3)
        rows[3, 3:6] = x
        rows[4, -6:-3], rows[5, -6:-3] = y, z
        return rows

    def _nodal_basis(self) -> tuple[Array, tuple[str, ...]]:
        rows = self.structure.conditions
        if np.any(np.count_nonzero(rows, axis=1) != 1):
            raise ModelError(
                'beam: modes="nodal" needs a frame that holds single nodal displacements: take reference="cantilever", '
                'or "chord" for a beam along x, y or z'
            )
        kept = np.flatnonzero(~np.any(rows, axis=0))
        words = [f"{what} along {axis}" for what in ("displacement", "angle") for axis in "xyz"]
        words[3:] = [word.replace("along", "about") for word in words[3:]]
        return np.eye(self.structure.size)[:, kept], tuple(f"{words[i % 6]}, node {i // 6}" for i in kept)

    # ------------------------------------------------------------------ second order

    def second_order(self) -> tuple[Array, Array, Array, Array]:
        """Return G and H at Gauss's points (E, g, 3, n, n), and at the nodes (N, 3, n, n), by (1) and (2)."""
        el = self.mesh.elements
        gamma, kappa = (el.axes[:, None] @ self.strains[:, :, rows] for rows in (slice(0, 3), slice(3, 6)))
        t = el.axes[:, None, :, 0, None, None]
        psi = self.r
        H, H_nodes = self._integrated(_symmetric(_cross(psi[..., None], kappa[..., None, :])))
        bending = _cross(psi[..., None], _cross(psi[..., None, :], t))
        slope = _symmetric(2 * _cross(psi[..., None], gamma[..., None, :]) + bending) + _cross(H, t)
        G, G_nodes = self._integrated(slope)
        if self.options.reference == "free":  # the frame stays in the mean of the body
            el_mass = el.density * el.sections[..., 0] * el.weights
            mean = np.einsum("eg,egakl->akl", el_mass, G) / el_mass.sum()
            G, G_nodes = G - mean, G_nodes - mean
        return G, H, G_nodes, H_nodes

    def _integrated(self, slopes: Array) -> tuple[Array, Array]:
        """Return integrals from the root to Gauss's points and to the nodes."""
        within = np.einsum("e,hg,eg...->eh...", self.mesh.elements.lengths, running_integrals(), slopes)
        nodes = np.concatenate([np.zeros((1, *within.shape[2:])), np.cumsum(within[:, -1], axis=0)])
        return nodes[:-1, None] + within[:, :-1], nodes

    # ------------------------------------------------------------------ the body

    @property
    def _many_nodal(self) -> bool:
        """Whether its coordinates are nodal freedoms, so many that they must not be coupled each with each."""
        return self.options.nodal and not self.lumped and self.basis.shape[1] > ALL_SECOND_ORDER

    def body(self, damping: Damping, stiffening: bool | None) -> FlexibleBody:
        """Return the flexible body."""
        if stiffening and self._many_nodal:
            raise ModelError(
                f"beam: {self.basis.shape[1]} nodal coordinates have no second-order displacements, which would couple "
                "each with each: take modes or substructures for a beam that loads stiffen, or stiffening=False"
            )
        stiffening = not self._many_nodal if stiffening is None else stiffening
        M = self.basis.T @ (self.structure.mass @ self.basis)
        stiffness, inertia, bent = self._by_elements() if self._many_nodal else self._by_modes(stiffening)
        at_node = [] if bent is None else list(zip(*bent, strict=True))
        by_node = self.basis.reshape(len(self.mesh.nodes), 2, 3, -1)
        places = {
            name: Interface(
                self.mesh.nodes[node], None, by_node[node, 0], by_node[node, 1], *(at_node[node] if at_node else ())
            )
            for name, node in self.mesh.interfaces.items()
        }
        return FlexibleBody.from_arrays(
            name_of_modes=self.names,
            stiffness=stiffness,
            damping=damping_matrix(damping, stiffness, M),
            interfaces=places,
            inertia=inertia,
            stations=self._stations(*(bent or (None, None))),
            size=self.mesh.length,
        )

    def _by_modes(self, stiffening: bool) -> _Integrated:
        """Return stiffness, inertia, and G and H at the nodes if there are any, for modes that reach everywhere."""
        el = self.mesh.elements
        stiffness = integral("eg,egs,egsk,egsl->kl", el.weights, el.elasticity(), self.strains, self.strains)
        if not stiffening:
            return stiffness, self._lumped_nodes(None) if self.lumped else self._invariants(None, None), None
        G, H, G_nodes, H_nodes = self.second_order()
        inertia = self._lumped_nodes(G_nodes) if self.lumped else self._invariants(G, H)
        return stiffness, inertia, (G_nodes, H_nodes)

    def _by_elements(self) -> _Integrated:
        """Return the same for coordinates that are single nodal freedoms."""
        stiffness = self.basis.T @ (self.structure.stiffness @ self.basis)
        return stiffness, nodal_invariants(self.mesh.elements, _places(self.basis)), None

    def _invariants(self, G: Array | None, H: Array | None) -> Invariants:
        """Return the integrals over the material points of all sections."""
        return point_invariants(self._points(e, G, H) for e in range(len(self.mesh.nodes) - 1))

    def _points(self, e: int, G: Array | None, H: Array | None) -> tuple[Array, Array, Array, Array | None]:
        """Return masses, positions, modes and second-order displacements of an element's material points."""
        el, n = self.mesh.elements, self.basis.shape[1]
        mass, arm = (each[e] for each in el.mass_points())  # (g, 4), (g, 4, 3)
        at = el.positions[e][:, None] + arm
        psi, arm = self.r[e][:, None], arm[..., None]
        phi = self.u[e][:, None] + _cross(psi, arm)
        bend = None
        if G is not None and H is not None:
            arm = arm[..., None]
            turned = _cross(psi[..., None], _cross(psi[..., None, :], arm))
            bend = (G[e][:, None] + _cross(H[e][:, None], arm) + _symmetric(turned)).reshape(-1, 3, n, n)
        return mass.ravel(), at.reshape(-1, 3), phi.reshape(-1, 3, n), bend

    def _lumped_nodes(self, G_nodes: Array | None) -> LumpedNodes:
        nodes, elements = self.mesh.nodes, self.mesh.elements
        masses, moments = elements.lumped()
        mass, inertia = np.zeros(len(nodes)), np.zeros((len(nodes), 3, 3))
        for node in (0, 1):
            mass[node : len(masses) + node] += masses[:, node]
            inertia[node : len(masses) + node] += moments[:, node]
        by_node = self.basis.reshape(len(nodes), 2, 3, -1)
        return LumpedNodes(mass, inertia, nodes, by_node[:, 0], by_node[:, 1], G_nodes)

    def _stations(self, G_nodes: Array | None, H_nodes: Array | None) -> Stations:
        """Return the nodes, with the section forces there: the mean of those of the elements on both sides."""
        mesh, el = self.mesh, self.mesh.elements
        first = 6 * np.arange(len(mesh.nodes) - 1)[:, None] + np.arange(12)
        ends = el.fields(np.array([0.0, 1.0]))[2] @ self.basis[first][:, None]
        forces = _at_ends(el.elasticity())[..., None] * ends
        moments = forces[:, :, 4:]
        slope = (moments[:, 1] - moments[:, 0]) / el.lengths[:, None, None]
        forces[:, :, 1] = -slope[:, None, 1]  # Q_y = -M_z', Q_z = M_y'
        forces[:, :, 2] = slope[:, None, 0]
        forces = _between(forces)
        axes, numbers = np.concatenate([el.axes[:1], el.axes]), _between(_at_ends(el.sections))
        by_node = self.basis.reshape(len(mesh.nodes), 2, 3, -1)
        few = G_nodes is not None and G_nodes.size <= MOST_STATION_NUMBERS
        return Stations(
            mesh.nodes,
            by_node[:, 0],
            by_node[:, 1],
            forces,
            axes,
            second_order=G_nodes if few else None,
            second_order_rotation=H_nodes if few else None,
            outline=outlines(numbers),
            **self._stresses(forces, numbers, axes),
        )

    def _stresses(self, forces: Array, numbers: Array, axes: Array) -> dict[str, Array]:
        """Return the stresses of unit modes in the fibres at the nodes, if they are asked for."""
        fibres, n = self.mesh.fibres, self.basis.shape[1]
        if fibres is None:
            return {}
        size = fibres.shape[0] * fibres.shape[1] * 6 * n
        if size > MOST_STRESS_NUMBERS:
            raise ModelError(
                f"beam: stress=True would take {size} numbers, more than {MOST_STRESS_NUMBERS}: take fewer elements or "
                "modes, or several beams"
            )
        places = self.mesh.nodes[:, None] + np.einsum("sai,sfi->sfa", axes[:, :, 1:], fibres[..., :2])
        found = fibre_stresses(fibres, numbers, axes) @ forces[:, None]
        return {"stress_positions": places.reshape(-1, 3), "stress": found.reshape(-1, 6, n)}


def _places(basis: Array) -> Indices:
    """Return for each freedom which coordinate it is, of a basis of single freedoms; -1 where it is none."""
    found = np.full(basis.shape[0], -1)
    freedoms, coordinates = np.nonzero(basis)
    found[freedoms] = coordinates
    return found


def _assembled(blocks: Array) -> SparseMatrix:
    """Return the matrix of elements (E, 12, 12) in a row, as a sparse array."""
    from scipy import sparse

    first = 6 * np.arange(len(blocks))[:, None] + np.arange(12)
    rows, columns = np.repeat(first, 12, axis=1), np.tile(first, (1, 12))
    size = 6 * (len(blocks) + 1)
    found = sparse.coo_array((blocks.ravel(), (rows.ravel(), columns.ravel())), shape=(size, size)).tocsr()
    found.eliminate_zeros()
    return found


def _unit_rows(first: int, rows: int, nodes: int) -> Array:
    return np.eye(rows, 6 * nodes, first)


def _cross(a: Array, b: Array, axis: int = 2) -> Array:
    """Return the cross product along an axis of arrays that broadcast."""
    a1, a2, a3 = np.moveaxis(a, axis, 0)
    b1, b2, b3 = np.moveaxis(b, axis, 0)
    return np.stack([a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1], axis=axis)


def _symmetric(array: Array) -> Array:
    """Return the mean over the two orders of the last two indices."""
    return np.asarray((array + array.swapaxes(-1, -2)) / 2)


def _between(ends: Array) -> Array:
    """Return values at the nodes, from those at the ends (E, 2, ...) of elements: the mean of both sides."""
    return np.concatenate([ends[:1, 0], (ends[:-1, 1] + ends[1:, 0]) / 2, ends[-1:, 1]])


def _at_ends(values: Array) -> Array:
    """Return values at the ends (E, 2, 6) of elements, from the line through the outer Gauss points."""
    from whippletree.flexible_bodies.beam_elements import gauss_rule

    x, _ = gauss_rule()
    slope = (values[:, -1] - values[:, 0]) / (x[-1] - x[0])
    start = values[:, 0] - slope * x[0]
    return np.stack([start, start + slope], axis=1)
