"""Geoms of MJCF that collide, with MuJoCo's rules: bits, excluded and named pairs, and the larger friction counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from whippletree.files.mjcf_options import word
from whippletree.files.neutral_collisions import NeutralCollider, NeutralCollisions, NeutralPair
from whippletree.files.neutral_model import NeutralModel
from whippletree.files.poses import from_quaternion
from whippletree.foundation.arrays import Array

if TYPE_CHECKING:
    import mujoco

__all__ = ["add_collisions", "sizes_of"]


def sizes_of(mj: mujoco.MjModel, g: int) -> tuple[float, ...]:
    """Return the sizes of a geom as those of a `Shape`: MuJoCo has half lengths."""
    kind, size = word("Geom", mj.geom_type[g]), [float(x) for x in mj.geom_size[g]]
    if kind in ("PLANE", "MESH"):
        return ()
    return tuple({"SPHERE": size[:1], "BOX": [2 * x for x in size]}.get(kind, [size[0], 2 * size[1]]))


def add_collisions(mj: mujoco.MjModel, model: NeutralModel, bodies: Sequence[str]) -> None:
    """Add the shapes that collide; `bodies` are the names of the links."""
    import mujoco

    off = int(mj.opt.disableflags) & int(mujoco.mjtDisableBit.mjDSBL_FILTERPARENT)
    model.collisions = found = NeutralCollisions(
        neighbours_meet=bool(off), loops_meet=True, ground_meets=True, rougher_counts=True
    )
    in_pairs = {int(g) for ends in (mj.pair_geom1, mj.pair_geom2) for g in ends}
    names: dict[int, str] = {}
    for g in range(mj.ngeom):
        if mj.geom_contype[g] or mj.geom_conaffinity[g] or g in in_pairs:
            names[g] = found.add(_collider(mj, g, bodies))
    for signature in mj.exclude_signature:
        found.apart.add(frozenset((bodies[int(signature) >> 16], bodies[int(signature) & 0xFFFF])))
    for p in range(mj.npair):
        friction = float(mj.pair_friction[p][0]) if int(mj.pair_dim[p]) > 1 else 0.0
        ends = (names[int(mj.pair_geom1[p])], names[int(mj.pair_geom2[p])])
        found.pairs.append(NeutralPair(*ends, friction, float(mj.pair_margin[p])))
    _tell(mj, model, [*names])


def _collider(mj: mujoco.MjModel, g: int, bodies: Sequence[str]) -> NeutralCollider:
    link, kind = bodies[int(mj.geom_bodyid[g])], word("Geom", mj.geom_type[g]).lower()
    return NeutralCollider(
        mj.geom(g).name or link or "ground",
        link,
        kind,
        sizes_of(mj, g),
        from_quaternion(mj.geom_quat[g], mj.geom_pos[g]),
        friction=float(mj.geom_friction[g][0]),
        margin=float(mj.geom_margin[g]),
        is_of=int(mj.geom_contype[g]),
        meets=int(mj.geom_conaffinity[g]),
        priority=int(mj.geom_priority[g]),
        slippery=int(mj.geom_condim[g]) == 1,
        corners=_corners(mj, int(mj.geom_dataid[g])) if kind == "mesh" else None,
    )


def _corners(mj: mujoco.MjModel, mesh: int) -> Callable[[], Array]:
    """Return a function that returns the corners of a mesh, in the axes of its geom."""
    first, count = int(mj.mesh_vertadr[mesh]), int(mj.mesh_vertnum[mesh])
    return lambda: np.array(mj.mesh_vert[first : first + count], dtype=float)


def _tell(mj: mujoco.MjModel, model: NeutralModel, geoms: list[int]) -> None:
    """Remark properties of surfaces that our contacts do not have."""
    remarks = model.collisions.remarks
    remarks.append(("changed", "contacts are springs and dampers: solref and solimp go with MuJoCo's effective masses"))
    if any(int(mj.geom_condim[g]) > 3 for g in geoms) or any(int(dim) > 3 for dim in mj.pair_dim):
        remarks.append(("not understood", "torsional and rolling friction of contacts"))
