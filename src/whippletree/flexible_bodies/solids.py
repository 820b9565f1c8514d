"""Flexible solids: linear elasticity on a mesh, by scikit-fem, then reduced like any finite-element matrices."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from whippletree.elements.bodies.flexible import FlexibleBody
from whippletree.errors import ModelError
from whippletree.flexible_bodies.flexible_input import Array, count, positive
from whippletree.flexible_bodies.materials import Material
from whippletree.flexible_bodies.matrix_bodies import flexible
from whippletree.foundation.user_frames import user_facing
from whippletree.spatial.scalars import shown, truth

__all__ = ["solid"]

FACES = {f"{sign}{axis}": (i, sign) for i, axis in enumerate("xyz") for sign in "-+"}
ON_FACE = 1e-9  # of the extent: nodes of a face are placed with rounding only
MOST_ELEMENTS = 50_000  # a million freedoms


@user_facing
def solid(
    mesh: Any,
    material: Material,
    *,
    interfaces: Mapping[str, Any],
    modes: int | str | None = None,
    highest_frequency: float | None = None,
    attachment: bool | str | Iterable[str] = False,
    reduction: str = "craig-bampton",
    reference: str = "cantilever",
    coupling: str = "rigid",
    damping: Any = None,
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


def _skfem() -> Any:
    try:
        import skfem
    except ImportError:
        raise ModelError('solid: it needs scikit-fem: pip install "whippletree[fem]"') from None
    return skfem


def _mesh(given: Any) -> Any:
    """Return a mesh of scikit-fem."""
    skfem = _skfem()
    if isinstance(given, str | Path):
        try:
            return skfem.Mesh.load(str(given))
        except Exception as error:  # the readers of mesh files raise whatever they meet
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


def _several(given: Any, size: int, what: str) -> list[Any]:
    if not isinstance(given, Iterable) or isinstance(given, str) or len(found := list(given)) != size:
        raise ModelError(f"solid: {what} must be {size} numbers, got {shown(given)}")
    return found


def _numbers_of_elements(given: Any, size: int) -> list[int]:
    found = [count(each, "solid: elements") for each in _several(given, size, "elements")]
    total = math.prod(found) * (1 if size == 3 else 4 * found[0])
    if total > MOST_ELEMENTS:
        raise ModelError(f"solid: {total} elements are more than {MOST_ELEMENTS}: take fewer, they are quadratic")
    return found


def _cylinder(skfem: Any, given: Mapping[str, Any]) -> Any:
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

    def __init__(self, mesh: Any, material: Material) -> None:
        skfem = _skfem()
        quadratic = {8: skfem.ElementHex2, 4: skfem.ElementTetP2}.get(int(mesh.refdom.nnodes))
        if quadratic is None:
            raise ModelError("solid: the mesh must be of bricks or of tetrahedra")
        self.mesh, self.material, self._element = mesh, material, skfem.ElementVector(quadratic())
        self.basis = skfem.Basis(mesh, self._element)
        E, nu = material.youngs_modulus, material.poisson_ratio
        self.lame, self.shear = E * nu / ((1 + nu) * (1 - 2 * nu)), material.shear_modulus
        groups = (self.basis.nodal_dofs, self.basis.edge_dofs, self.basis.facet_dofs, self.basis.interior_dofs)
        self.order = np.concatenate([each.T.ravel() for each in groups if each.size])
        self.nodes = np.asarray(self.basis.doflocs[:, self.order[::3]].T)  # corners first

    def matrices(self) -> tuple[Any, Any]:
        """Return mass and stiffness, the three freedoms of a node one after another."""
        skfem = _skfem()
        from skfem.helpers import ddot, dot, eye, sym_grad, trace

        def strain_energy(u: Any, v: Any, _: Any) -> Any:
            strain = sym_grad(u)
            return ddot(self.lame * eye(trace(strain), 3) + 2 * self.shear * strain, sym_grad(v))

        density, order = self.material.density, self.order
        K = skfem.BilinearForm(strain_energy).assemble(self.basis)
        M = skfem.BilinearForm(lambda u, v, _: density * dot(u, v)).assemble(self.basis)
        return M[order][:, order], K[order][:, order]

    def stress(self) -> dict[str, Any]:
        """Return Gauss's points of second order, where stresses are best, and those there for unit nodal displacements.

        The matrix has six rows for each point, and a column for each freedom of the nodes.
        """
        from scipy import sparse

        basis = _skfem().Basis(self.mesh, self._element, intorder=3 if len(self.mesh.t) == 8 else 2)
        rows, columns, entries = [], [], []
        shape = (self.mesh.nelements, len(basis.W))
        first = 6 * np.arange(shape[0] * shape[1])
        for i, field in enumerate(basis.basis):
            gradient = np.broadcast_to(field[0].grad, (3, 3, *shape))
            strain = (gradient + gradient.swapaxes(0, 1)) / 2
            stress = 2 * self.shear * strain + self.lame * np.einsum("iieg->eg", strain) * np.eye(3)[..., None, None]
            for k, (a, b) in enumerate(((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))):
                rows.append(first + k)
                columns.append(np.repeat(basis.element_dofs[i], shape[1]))
                entries.append(stress[a, b].ravel())
        where = (np.concatenate(rows), np.concatenate(columns))
        whole = sparse.coo_array((np.concatenate(entries), where), shape=(6 * len(first), basis.N)).tocsc()
        return {
            "positions": np.asarray(basis.global_coordinates()).reshape(3, -1).T,
            "matrix": whole[:, self.order],
        }


def _surface(mesh: Any) -> Array:
    """Return triangles between the corners of the mesh: its outer faces."""
    faces = mesh.facets[:, mesh.boundary_facets()]
    parts = [faces[[0, k, k + 1]] for k in range(1, len(faces) - 1)]
    return np.asarray(np.concatenate(parts, axis=1).T)


def _nodes_of(name: str, given: Any, nodes: Array) -> Any:
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
