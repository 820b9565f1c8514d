"""Flexible bodies from finite-element matrices: mass, stiffness, and where the nodes are.

Matrices are of a free structure, with three freedoms a node (translations along x, y, z) or six (and rotations about x,
y, z), node after node. An interface is a set of nodes: *rigid*, so that they move like one rigid body with it (RBE2),
or *average*, so that it follows their mean motion in the sense of least squares, and loads on it spread over them
(RBE3).

With mass matrices of solids, M_ij 1 for each pair of nodes, all integrals are exact for the elements' own shape
functions. Other mass matrices (six freedoms a node) give exactly the inertia of the undeformed body and the modes'
inertia and coupling with its motion; what changes with the deformation is taken from the mean of M over the three
directions of translations, and converges with the mesh.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from whippletree.elements.bodies.flexible import FlexibleBody
from whippletree.elements.bodies.flexible_data import Interface, Invariants, Stations
from whippletree.errors import ModelError
from whippletree.flexible_bodies.flexible_input import Array, SparseMatrix, choice, points
from whippletree.flexible_bodies.flexible_tolerances import ZERO_SHARE
from whippletree.flexible_bodies.mass_integrals import Damping, damping_matrix
from whippletree.flexible_bodies.matrix_checks import FiniteElements, checked_elements, node_triangles, real_matrix
from whippletree.flexible_bodies.modal_reduction import Structure, reduced_basis
from whippletree.flexible_bodies.mode_options import ModeOptions, read_mode_options
from whippletree.flexible_bodies.node_sets import NodeSet, read_node_sets, rigid_links
from whippletree.foundation.user_frames import user_facing

__all__ = ["flexible"]

REFERENCES = ("cantilever", "free", "chord")
MOST_STATIONS = 400
"""So many nodes at most are kept for pictures; of larger models every second, third ... node."""

MOST_SURFACE = 2500
"""So many nodes at most has a surface that is drawn; a larger one is drawn as a cloud of nodes."""


@user_facing
def flexible(
    mass: SparseMatrix,
    stiffness: SparseMatrix,
    nodes: ArrayLike,
    *,
    interfaces: Mapping[str, object],
    modes: int | str | None = None,
    highest_frequency: float | None = None,
    attachment: bool | str | Iterable[str] = False,
    reduction: str = "craig-bampton",
    reference: str = "cantilever",
    coupling: str = "rigid",
    damping: Damping = None,
    units: str = "m",
    surface: ArrayLike | None = None,
    stress: Mapping[str, Any] | None = None,
) -> FlexibleBody:
    """Return a flexible body from the mass and stiffness matrices of a free structure and its nodes (N, 3).

    Matrices are arrays or SciPy's sparse ones. `interfaces` gives for each name the numbers of its nodes, counted from
    zero, or {"nodes": [...], "at": point, "coupling": "rigid" or "average"}; it is at the middle of its nodes unless
    `at` says otherwise. `coupling` is that of interfaces that do not say it themselves.

    `modes`, `highest_frequency`, `attachment` and `damping` are as for `beam`. With `reduction="craig-bampton"` there
    are static modes for all interfaces, and the eigenmodes hold these; with "eigenmodes" they are free. The body frame
    moves with the first interface ("cantilever"), with the line from the first to the last ("chord"), or with the mean
    of the body ("free"). There is no geometric stiffening in such a body. `units="mm"` is for matrices in mm, t, s and
    N.

    `surface` (T, 3) are triangles between nodes, by which the body is drawn. `stress` is {"positions": (P, 3),
    "matrix": (6 P, freedoms)}, the matrix by which nodal displacements become the stresses xx, yy, zz, xy, yz, zx of
    each point; `run.stress` then tells them.

    >>> n = np.arange(24).reshape(8, 3)
    >>> corners = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
    >>> K = np.zeros((24, 24))
    >>> for i in range(8):  # a block of 28 springs
    ...     for j in range(i):
    ...         d = corners[i] - corners[j]
    ...         k = 1e6 * np.outer(d, d) / (d @ d)
    ...         for a, b, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
    ...             K[np.ix_(n[a], n[b])] += sign * k
    >>> flexible(np.eye(24), K, corners, interfaces={"left": range(4), "right": range(4, 8)}, modes=0)
    FlexibleBody(6 modes, interfaces: left, right)
    """
    elements = checked_elements(mass, stiffness, nodes, choice(units, ("m", "mm"), "flexible: units"))
    sets = read_node_sets(interfaces, elements.nodes, elements.per_node, coupling, elements.length_unit)
    reference = choice(reference, REFERENCES, "flexible: reference")
    options = read_mode_options("flexible", modes, highest_frequency, attachment, reduction, reference, sets)
    if options.nodal:
        raise ModelError('flexible: modes="nodal" is for beams; for matrices give a number, "all" or highest_frequency')
    model = _MatrixModel(elements, sets, options)
    return model.body(damping, {**model.drawn_nodes(surface), **model.stress_modes(stress)})


class _Basis(NamedTuple):
    """Displacements of all nodes for unit modal coordinates: translations (N, 3, n), all freedoms (N f, n)."""

    translation: Array
    freedoms: Array
    motion: dict[str, Array]  # (6, n) of each interface
    frequencies: Array


class _MatrixModel:
    """A finite-element model with interfaces, and the basis in which its coordinates are."""

    def __init__(self, elements: FiniteElements, sets: Mapping[str, NodeSet], options: ModeOptions) -> None:
        self.elements, self.sets, self.options = elements, sets, options
        self.basis = self._basis()

    def _basis(self) -> _Basis:
        el = self.elements
        links, maps = rigid_links(self.sets, el.nodes, el.per_node)
        K, M = (links.T @ matrix @ links for matrix in (el.stiffness, el.mass))
        conditions = self._conditions({name: W.toarray() for name, W in maps.items()}, links)
        V, frequencies = reduced_basis(Structure(K, M, conditions, maps), self.options.choice)
        el.check_frequency(float(frequencies[0]) if len(frequencies) else 0.0)
        freedoms = links @ V
        translation = freedoms.reshape(len(el.nodes), el.per_node, -1)[:, :3]
        return _Basis(translation, freedoms, {name: W @ V for name, W in maps.items()}, frequencies)

    def _conditions(self, motion: dict[str, Array], links: SparseMatrix) -> Array:
        """Return the six rows that tie the body frame to the structure."""
        # not empty: at least one interface, see read_node_sets
        first, last = next(iter(self.sets)), list(self.sets)[-1]
        if self.options.reference == "free":
            return np.asarray((links.T @ (self.elements.mass @ self.elements.rigid)).T)
        if self.options.reference == "cantilever":
            return motion[first]
        chord = self.sets[last].at - self.sets[first].at
        length = np.linalg.norm(chord)
        if len(self.sets) < 2 or length < 1e-9 * self.elements.extent:
            raise ModelError('flexible: reference="chord" needs two interfaces at different places')
        x = chord / length
        y = np.cross(np.eye(3)[np.argmin(np.abs(x))], x)
        y /= np.linalg.norm(y)
        across = np.stack([y, np.cross(x, y)])
        return np.vstack([motion[first][:3], x @ motion[first][3:], across @ motion[last][:3]])

    def body(self, damping: Damping, stations: Mapping[str, Any]) -> FlexibleBody:
        """Return the flexible body with these stations."""
        basis, el = self.basis, self.elements
        stiffness = np.diag(basis.frequencies**2)
        n = len(basis.frequencies)
        places = {
            name: Interface(each.at, translation=basis.motion[name][:3], rotation=basis.motion[name][3:])
            for name, each in self.sets.items()
        }
        return FlexibleBody.from_arrays(
            stiffness=stiffness,
            damping=damping_matrix(damping, stiffness, np.eye(n)),
            interfaces=places,
            inertia=self._invariants(),
            stations=Stations(**stations),
            size=el.extent,
        )

    def drawn_nodes(self, surface: ArrayLike | None) -> dict[str, Any]:
        """Return nodes for pictures, and rotations as their freedoms tell: those of a surface, or some of all."""
        N, n = self.basis.translation.shape[0], self.basis.translation.shape[2]
        some, more = np.arange(N)[:: -(-N // MOST_STATIONS)], dict[str, Any]()
        if surface is not None:
            corners = node_triangles(surface, N)
            used, numbered = np.unique(corners, return_inverse=True)
            if len(used) <= MOST_SURFACE:
                some, more = used, {"triangles": numbered.reshape(corners.shape)}
        rotation = np.zeros((N, 3, n))
        if self.elements.per_node == 6:
            rotation = self.basis.freedoms.reshape(N, 6, n)[:, 3:]
        modes = {"translation": self.basis.translation[some], "rotation": rotation[some]}
        return {"positions": self.elements.nodes[some], **modes, **more}

    def stress_modes(self, given: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the stresses of unit modes."""
        if given is None:
            return {}
        if not isinstance(given, Mapping) or set(given) != {"positions", "matrix"}:
            raise ModelError('flexible: stress must be {"positions": (P, 3), "matrix": (6 P, freedoms)}')
        where = points(given["positions"], "flexible: stress: positions") * self.elements.length_unit
        matrix = real_matrix(given["matrix"], "flexible: stress: matrix")
        wanted = (6 * len(where), len(self.basis.freedoms))
        if matrix.shape != wanted:
            raise ModelError(
                f"flexible: stress: matrix must have the shape {wanted}, six rows for each position and a column for "
                f"each freedom, but it is {matrix.shape}"
            )
        unit = self.elements.length_unit
        freedoms = self.basis.freedoms.reshape(len(self.elements.nodes), self.elements.per_node, -1).copy()
        freedoms[:, :3] /= unit  # N and mm make N/mm^2
        modes = matrix @ freedoms.reshape(wanted[1], -1) / unit**2
        return {"stress_positions": where, "stress": modes.reshape(len(where), 6, -1)}

    def _invariants(self) -> Invariants:
        """Return the integrals over the mass, as the module says."""
        el, basis = self.elements, self.basis
        scalar = el.scalar_mass()
        x, phi = el.nodes, basis.translation
        n = phi.shape[2]
        weighted = (scalar @ phi.reshape(len(x), -1)).reshape(len(x), 3, n)
        cross = np.einsum("ia,ibk->abk", x, weighted)
        modes = np.einsum("iak,ibl->abkl", phi, weighted)
        moving = el.rigid.T @ (el.mass @ basis.freedoms)  # the modes' momentum and angular momentum
        inertia = el.rigid.T @ (el.mass @ el.rigid)
        J = inertia[3:, 3:]
        # the momenta of the modes by the mass matrix itself, in place of those by its mean
        turning = np.stack([cross[1, 2] - cross[2, 1], cross[2, 0] - cross[0, 2], cross[0, 1] - cross[1, 0]])
        for i, a, b in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            missing = (moving[3 + i] - turning[i]) / 2
            cross[a, b] += missing
            cross[b, a] -= missing
        modes += np.eye(3)[:, :, None, None] * (np.eye(n) - np.einsum("aakl->kl", modes)) / 3
        return Invariants(
            mass=float(inertia[0, 0]),
            first=np.array([inertia[1, 5], inertia[2, 3], inertia[0, 4]]),
            second=np.trace(J) / 2 * np.eye(3) - J,
            mode_first=_cleaned(moving[:3]),
            cross=_cleaned(cross),
            modes=_cleaned(modes),
        )


def _cleaned(array: Array) -> Array:
    """Return an array with zeros for entries that are rounding beside the largest."""
    return np.where(np.abs(array) > ZERO_SHARE * np.abs(array).max(initial=0.0), array, 0.0)
