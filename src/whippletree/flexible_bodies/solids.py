"""Flexible solids: linear elasticity on a mesh, by scikit-fem, then reduced like any finite-element matrices."""

from __future__ import annotations

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
from whippletree.spatial.scalars import shown

__all__ = ["solid"]

FACES = {f"{sign}{axis}": (i, sign) for i, axis in enumerate("xyz") for sign in "-+"}
ON_FACE = 1e-9  # of the extent: nodes of a face are placed with rounding only


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
) -> FlexibleBody:
    """Return a flexible solid; needs the extra `fem` (scikit-fem).

    `mesh` is a mesh of scikit-fem, the name of a mesh file, or a shape with the numbers of its elements:
    {"box": (1.0, 0.1, 0.05), "elements": (20, 2, 1)}, which begins at the origin and goes along x, y and z, or
    {"cylinder": radius, "length": 1.0, "elements": (2, 20)}, along x. Elements are quadratic.

    `interfaces` are faces of the box around the mesh ("-x": the one at the smallest x), or functions that take the
    nodes (N, 3) and tell which belong to it. Everything else is as for `flexible`.
    """
    if not isinstance(material, Material):
        raise ModelError(f"solid: material must be a Material such as steel, got {shown(material)}")
    mass, stiffness, nodes = _matrices(_mesh(mesh), material)
    if not isinstance(interfaces, Mapping):
        raise ModelError(f'solid: interfaces must be faces by name, as in {{"root": "-x"}}, got {shown(interfaces)}')
    sets = {name: _nodes_of(name, given, nodes) for name, given in interfaces.items()}
    return flexible(
        mass,
        stiffness,
        nodes,
        interfaces=sets,
        modes=modes,
        highest_frequency=highest_frequency,
        attachment=attachment,
        reduction=reduction,
        reference=reference,
        coupling=coupling,
        damping=damping,
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
        sizes = [positive(each, "solid: box") for each in given["box"]]
        numbers = [count(each, "solid: elements") for each in given["elements"]]
        if len(sizes) != 3 or len(numbers) != 3:
            raise ModelError("solid: a box has three sizes, and three numbers of elements along them")
        return skfem.MeshHex.init_tensor(*(np.linspace(0, a, n + 1) for a, n in zip(sizes, numbers, strict=True)))
    if set(given) == {"cylinder", "length", "elements"}:
        return _cylinder(skfem, given)
    raise ModelError(
        'solid: give {"box": (a, b, c), "elements": (i, j, k)} or {"cylinder": r, "length": l, "elements": (i, j)}; '
        f"got {shown(sorted(map(str, given)))}"
    )


def _cylinder(skfem: Any, given: Mapping[str, Any]) -> Any:
    """Return a cylinder along x: a square of bricks whose cross-section is mapped onto the disc."""
    radius, length = positive(given["cylinder"], "solid: cylinder"), positive(given["length"], "solid: length")
    across, along = (count(each, "solid: elements") for each in given["elements"])
    sides = np.linspace(-1, 1, 2 * across + 1)
    mesh = skfem.MeshHex2.from_mesh(skfem.MeshHex.init_tensor(np.linspace(0, length, along + 1), sides, sides))
    x, y, z = mesh.doflocs
    round_y, round_z = y * np.sqrt(1 - z**2 / 2), z * np.sqrt(1 - y**2 / 2)
    return skfem.MeshHex2(np.stack([x, radius * round_y, radius * round_z]), mesh.t)


def _matrices(mesh: Any, material: Material) -> tuple[Any, Any, Array]:
    """Return mass, stiffness and nodes, the three freedoms of a node one after another."""
    skfem = _skfem()
    from skfem.helpers import ddot, dot, eye, sym_grad, trace

    quadratic = {8: skfem.ElementHex2, 4: skfem.ElementTetP2}.get(int(mesh.refdom.nnodes))
    if quadratic is None:
        raise ModelError("solid: the mesh must be of bricks or of tetrahedra")
    basis = skfem.Basis(mesh, skfem.ElementVector(quadratic()))
    E, nu = material.youngs_modulus, material.poisson_ratio
    lame, shear = E * nu / ((1 + nu) * (1 - 2 * nu)), material.shear_modulus

    def strain_energy(u: Any, v: Any, _: Any) -> Any:
        strain = sym_grad(u)
        return ddot(lame * eye(trace(strain), 3) + 2 * shear * strain, sym_grad(v))

    K = skfem.BilinearForm(strain_energy).assemble(basis)
    M = skfem.BilinearForm(lambda u, v, _: material.density * dot(u, v)).assemble(basis)
    groups = (basis.nodal_dofs, basis.edge_dofs, basis.facet_dofs, basis.interior_dofs)
    order = np.concatenate([each.T.ravel() for each in groups if each.size])
    return M[order][:, order], K[order][:, order], np.asarray(basis.doflocs[:, order[::3]].T)


def _nodes_of(name: str, given: Any, nodes: Array) -> Any:
    """Return the nodes of an interface."""
    if isinstance(given, str):
        if given not in FACES:
            raise ModelError(f'solid: interface "{name}" must be a face ({", ".join(FACES)}) or a function')
        axis, sign = FACES[given]
        end = nodes[:, axis].min() if sign == "-" else nodes[:, axis].max()
        return np.flatnonzero(np.abs(nodes[:, axis] - end) <= ON_FACE * np.ptp(nodes, axis=0).max())
    if callable(given):
        return np.flatnonzero(np.asarray(given(nodes), dtype=bool))
    return given
