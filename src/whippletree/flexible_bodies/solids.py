"""Flexible solids: linear elasticity on a mesh, by scikit-fem, then reduced like any finite-element matrices."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from whippletree.elements.bodies.flexible import FlexibleBody
from whippletree.errors import ModelError
from whippletree.flexible_bodies.flexible_input import Array, SparseMatrix, count, positive
from whippletree.flexible_bodies.mass_integrals import Damping
from whippletree.flexible_bodies.materials import Material
from whippletree.flexible_bodies.matrix_bodies import flexible
from whippletree.foundation.user_frames import user_facing
from whippletree.spatial.scalars import shown, truth

SkfemObject: TypeAlias = Any
"""The module, a mesh or a basis of scikit-fem's, whose library says no types."""

__all__ = ["solid"]

FACES = {f"{sign}{axis}": (i, sign) for i, axis in enumerate("xyz") for sign in "-+"}
ON_FACE = 1e-9  # of the extent: nodes of a face are placed with rounding only
MOST_ELEMENTS = 10_000  # some 300 000 freedoms, and gigabytes while they are integrated


@user_facing
def solid(
    mesh: object,
    material: Material,
    *,
    interfaces: Mapping[str, object],
    modes: int | str | None = None,
    highest_frequency: float | None = None,
    attachment: bool | str | Iterable[str] = False,
    reduction: str = "craig-bampton",
    reference: str = "cantilever",
    coupling: str = "rigid",
    damping: Damping = None,
    stress: bool = False,
) -> FlexibleBody:
    """Return a flexible solid; needs the extra `fem` (scikit-fem).

    `mesh` is a mesh of scikit-fem, the name of a mesh file, or a shape with the numbers of its elements:
    {"box": (1.0, 0.1, 0.05), "elements": (20, 2, 1)}, which begins at the origin and goes along x, y and z, or
    {"cylinder": radius, "length": 1.0, "elements": (2, 20)}, along x. Elements are quadratic.

    `interfaces` are faces of the box around the mesh ("-x": the one at the smallest x), or functions that take the
    nodes (N, 3) and tell which belong to it. With `stress`, the stresses at Gauss's points of the elements are
    known (`run.stress`). Everything else is as for `flexible`.
    """
    if not isinstance(material, Material):
        raise ModelError(f"solid: material must be a Material such as steel, got {shown(material)}")
    known = truth(stress, "solid: stress=")
    shape = _mesh(mesh)
    elements = _SolidElements(shape, material)
    if not isinstance(interfaces, Mapping):
        raise ModelError(f'solid: interfaces must be faces by name, as in {{"root": "-x"}}, got {shown(interfaces)}')
    sets = {name: _nodes_of(name, given, elements.nodes) for name, given in interfaces.items()}
    return flexible(
        *elements.matrices(),
        elements.nodes,
        interfaces=sets,
        modes=modes,
        highest_frequency=highest_frequency,
        attachment=attachment,
        reduction=reduction,
        reference=reference,
        coupling=coupling,
        damping=damping,
        surface=_surface(shape),
        stress=elements.stress() if known else None,
    )


def _skfem() -> SkfemObject:
    try:
        import skfem
    except ImportError:
        raise ModelError('solid: it needs scikit-fem: pip install "whippletree[fem]"') from None
    return skfem


def _mesh(given: object) -> SkfemObject:
    """Return a mesh of scikit-fem."""
    skfem = _skfem()
    if isinstance(given, str | Path):
        try:
            return skfem.Mesh.load(str(given))
        except (Exception, SystemExit) as error:  # the readers of mesh files raise whatever they meet, and exit
            raise ModelError(f"solid: the mesh file {given} cannot be read: {error}") from None
    if not isinstance(given, Mapping):
        if not hasattr(given, "refdom") or getattr(given, "p", np.zeros(0)).shape[0] != 3:
            raise ModelError(f"solid: mesh must be a mesh in space, the name of a file, or a shape, got {shown(given)}")
        return given
    if set(given) == {"box", "elements"}:
        sizes = [positive(each, "solid: box") for each in _several(given["box"], 3, "box")]
        numbers = _numbers_of_elements(given["elements"], 3)
        return skfem.MeshHex.init_tensor(*(np.linspace(0, a, n + 1) for a, n in zip(sizes, numbers, strict=True)))
    if set(given) == {"cylinder", "length", "elements"}:
        return _cylinder(skfem, given)
    raise ModelError(
        'solid: give {"box": (a, b, c), "elements": (i, j, k)} or {"cylinder": r, "length": l, "elements": (i, j)}; '
        f"got {shown(sorted(map(str, given)))}"
    )


def _several(given: Iterable[Any], size: int, what: str) -> list[Any]:
    if not isinstance(given, Iterable) or isinstance(given, str) or len(found := list(given)) != size:
        raise ModelError(f"solid: {what} must be {size} numbers, got {shown(given)}")
    return found


def _numbers_of_elements(given: Iterable[Any], size: int) -> list[int]:
    found = [count(each, "solid: elements") for each in _several(given, size, "elements")]
    total = math.prod(found) * (1 if size == 3 else 4 * found[0])
    if total > MOST_ELEMENTS:
        raise ModelError(f"solid: {total} elements are more than {MOST_ELEMENTS}: take fewer, they are quadratic")
    return found


def _cylinder(skfem: SkfemObject, given: Mapping[str, Any]) -> SkfemObject:
    """Return a cylinder along x: a square of bricks whose cross-section is mapped onto the disc."""
    radius, length = positive(given["cylinder"], "solid: cylinder"), positive(given["length"], "solid: length")
    across, along = _numbers_of_elements(given["elements"], 2)
    sides = np.linspace(-1, 1, 2 * across + 1)
    mesh = skfem.MeshHex2.from_mesh(skfem.MeshHex.init_tensor(np.linspace(0, length, along + 1), sides, sides))
    x, y, z = mesh.doflocs
    round_y, round_z = y * np.sqrt(1 - z**2 / 2), z * np.sqrt(1 - y**2 / 2)
    return skfem.MeshHex2(np.stack([x, radius * round_y, radius * round_z]), mesh.t)


class _SolidElements:
    """Linear elasticity on a mesh, with quadratic elements."""

    def __init__(self, mesh: SkfemObject, material: Material) -> None:
        skfem = _skfem()
        quadratic = {8: skfem.ElementHex2, 4: skfem.ElementTetP2}.get(int(mesh.refdom.nnodes))
        if quadratic is None:
            raise ModelError("solid: the mesh must be of bricks or of tetrahedra")
        self.mesh, self.material, self._element = mesh, material, skfem.ElementVector(quadratic())
        self.basis = skfem.Basis(mesh, self._element)
        groups = (self.basis.nodal_dofs, self.basis.edge_dofs, self.basis.facet_dofs, self.basis.interior_dofs)
        self.order = np.concatenate([each.T.ravel() for each in groups if each.size])
        self.nodes = np.asarray(self.basis.doflocs[:, self.order[::3]].T)  # corners first

    def matrices(self) -> tuple[SparseMatrix, SparseMatrix]:
        """Return mass and stiffness, the three freedoms of a node one after another."""
        basis, n = self.basis, len(self.basis.basis)
        mass, stiffness = (np.empty((self.mesh.nelements, n, n)) for _ in range(2))
        for first in range(0, self.mesh.nelements, _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            weights = basis.dx[some, :, None, None]
            strain = self._strains(basis, some)
            stress = self._elasticity() @ strain
            stiffness[some] = _products(weights * strain, stress)
            moved = np.stack([_spread(field[0], basis, some) for field in basis.basis], axis=-1)
            mass[some] = _products(self.material.density * weights * moved, moved)
        return self._assembled(mass), self._assembled(stiffness)

    def stress(self) -> dict[str, Array]:
        """Return Gauss's points of second order, where stresses are best, and those there for unit nodal displacements.

        The matrix has six rows for each point, and a column for each freedom of the nodes.
        """
        from scipy import sparse

        basis = _skfem().Basis(self.mesh, self._element, intorder=3 if len(self.mesh.t) == 8 else 2)
        entries = self._elasticity() @ self._strains(basis, slice(None))  # (elements, points, 6, freedoms)
        elements, points, *_ = entries.shape
        rows = np.arange(6 * elements * points).reshape(elements, points, 6, 1)
        columns = basis.element_dofs.T[:, None, None, :]
        where = np.broadcast_to(rows, entries.shape).ravel(), np.broadcast_to(columns, entries.shape).ravel()
        whole = sparse.coo_array((entries.ravel(), where), shape=(rows.size, basis.N)).tocsc()
        return {
            "positions": np.asarray(basis.global_coordinates()).reshape(3, -1).T,
            "matrix": whole[:, self.order],
        }

    def _elasticity(self) -> Array:
        """Return Hooke's law (6, 6) between strains and stresses xx, yy, zz, xy, yz, zx."""
        E, nu = self.material.youngs_modulus, self.material.poisson_ratio
        law = np.diag([2.0] * 3 + [1.0] * 3) * self.material.shear_modulus
        law[:3, :3] += E * nu / ((1 + nu) * (1 - 2 * nu))
        return law

    def _strains(self, basis: SkfemObject, some: slice) -> Array:
        """Return the strains (elements, points, 6, freedoms) of unit displacements; shear strains are angles."""
        found = []
        for field in basis.basis:
            slope = _spread(field[0].grad, basis, some)  # (elements, points, 3, 3)
            twice = slope + slope.swapaxes(-1, -2)
            both = [np.diagonal(slope, axis1=-2, axis2=-1), np.stack([twice[..., a, b] for a, b in _SHEARS], axis=-1)]
            found.append(np.concatenate(both, axis=-1))
        return np.stack(found, axis=-1)

    def _assembled(self, blocks: Array) -> SparseMatrix:
        """Return the sparse matrix of all elements, in the order of the nodes."""
        from scipy import sparse

        dofs = self.basis.element_dofs.T
        where = (np.broadcast_to(each, blocks.shape).ravel() for each in (dofs[:, :, None], dofs[:, None, :]))
        size = self.basis.N
        whole = sparse.coo_array((blocks.ravel(), tuple(where)), shape=(size, size)).tocsr()
        return whole[self.order][:, self.order]


_SHEARS = ((0, 1), (1, 2), (2, 0))
_AT_ONCE = 200
"""So many elements are integrated together."""


def _spread(found: Array, basis: SkfemObject, some: slice) -> Array:
    """Return values or slopes of one shape function in some elements, components last."""
    values = np.asarray(found)
    whole = np.broadcast_to(values, (*values.shape[:-2], *basis.dx.shape))
    return np.moveaxis(whole[..., some, :], (-2, -1), (0, 1))


def _products(left: Array, right: Array) -> Array:
    """Return the sums of products (elements, n, n) over points and components."""
    e, g, c, n = left.shape
    return np.asarray(left.reshape(e, g * c, n).swapaxes(1, 2) @ right.reshape(e, g * c, n))


def _surface(mesh: SkfemObject) -> Array:
    """Return triangles between the corners of the mesh: its outer faces."""
    faces = mesh.facets[:, mesh.boundary_facets()]
    parts = [faces[[0, k, k + 1]] for k in range(1, len(faces) - 1)]
    return np.asarray(np.concatenate(parts, axis=1).T)


def _nodes_of(name: str, given: object, nodes: Array) -> object:
    """Return the nodes of an interface."""
    if isinstance(given, str):
        if given not in FACES:
            raise ModelError(f'solid: interface "{name}" must be a face ({", ".join(FACES)}) or a function')
        axis, sign = FACES[given]
        end = nodes[:, axis].min() if sign == "-" else nodes[:, axis].max()
        return np.flatnonzero(np.abs(nodes[:, axis] - end) <= ON_FACE * np.ptp(nodes, axis=0).max())
    if callable(given):
        told = np.asarray(given(nodes))
        if told.shape != (len(nodes),):
            raise ModelError(
                f'solid: interface "{name}": its function must tell for each of the {len(nodes)} nodes whether it '
                f"belongs to it; its result has the shape {told.shape}"
            )
        return np.flatnonzero(told.astype(bool))
    return given
