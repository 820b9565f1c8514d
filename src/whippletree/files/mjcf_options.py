"""Options of MJCF that switch parts of a model off, and actuators' armature and damping, applied to MuJoCo's arrays.

Flags are known by the names that the installed MuJoCo gives them: their numbers differ from version to version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whippletree.files.neutral_model import Remarks

if TYPE_CHECKING:
    import mujoco

__all__ = ["any_nonzero", "carry_out_options", "count_of_actuators", "is_off", "is_switched_off", "word"]

_SWITCHED: dict[str, tuple[str, ...]] = {
    "damper": tuple(f"{place}_damping{law}" for place in ("dof", "tendon", "actuator") for law in ("", "poly")),
    "spring": ("jnt_stiffness", "jnt_stiffnesspoly", "tendon_stiffness", "tendon_stiffnesspoly"),
    "frictionloss": ("dof_frictionloss", "tendon_frictionloss"),
    "limit": ("jnt_limited", "tendon_limited"),
    "equality": ("eq_active0",),
    "contact": ("geom_contype", "geom_conaffinity"),
}
"""The arrays that are zero where a flag is off."""

_CONSTRAINTS = ("frictionloss", "limit", "equality", "contact")
"""The flags that are off where "constraint" is."""


def carry_out_options(mj: mujoco.MjModel, remarks: Remarks) -> None:
    """Set to zero the parts that flags switch off, and give joints and tendons their actuators' own dynamics."""
    off = _flags_off(mj)
    if "gravity" in off:
        mj.opt.gravity[:] = 0.0
    for flag in off & {*_SWITCHED} | ({*_CONSTRAINTS} if "constraint" in off else set()):
        for name in _SWITCHED[flag]:
            if hasattr(mj, name):
                getattr(mj, name)[...] = 0
    for flag in sorted(off & {*_SWITCHED, "gravity", "constraint", "actuation"}):
        remarks.add("changed", f'the file switches {flag} off (<flag {flag}="disable"/>), and so does the model')
    for k in range(count_of_actuators(mj)):
        _add_to_joint(mj, k, remarks)


def count_of_actuators(mj: mujoco.MjModel) -> int:
    """Return the number of actuators; since MuJoCo 4 one may have several controls, which `nu` counts."""
    return int(getattr(mj, "nactuator", mj.nu))


def is_off(mj: mujoco.MjModel, flag: str) -> bool:
    """Tell whether a flag of the options is disabled."""
    return flag in _flags_off(mj)


def is_switched_off(mj: mujoco.MjModel, k: int) -> bool:
    """Tell whether the options of a model switch an actuator off: all of them, or its group."""
    group = int(mj.actuator_group[k])
    return "actuation" in _flags_off(mj) or (0 <= group < 31 and bool(int(mj.opt.disableactuator) >> group & 1))


def word(family: str, number: int) -> str:
    """Return MuJoCo's word for one of its numbers.

    >>> word("Joint", 3), word("Wrap", 1)
    ('HINGE', 'JOINT')
    """
    import mujoco

    return str(getattr(mujoco, f"mjt{family}")(int(number)).name).split("_", 1)[1]


def any_nonzero(mj: mujoco.MjModel, name: str, k: int) -> bool:
    """Tell whether an array that not all versions of MuJoCo have is there and not zero."""
    array = getattr(mj, name, None)
    return array is not None and bool(np.any(array[k]))


def _flags_off(mj: mujoco.MjModel) -> set[str]:
    """Return the flags that are disabled, by their words in a file."""
    import mujoco

    bits = mujoco.mjtDisableBit.__members__.items()
    start, flags = "mjDSBL_", int(mj.opt.disableflags)
    return {name.removeprefix(start).lower() for name, bit in bits if name.startswith(start) and flags & int(bit)}


def _add_to_joint(mj: mujoco.MjModel, k: int, remarks: Remarks) -> None:
    """Add an actuator's own damping and armature to its joint or tendon, by the square of its gear."""
    own = [float(getattr(mj, f"actuator_{what}", np.zeros(k + 1))[k]) for what in ("damping", "armature")]
    name = mj.actuator(k).name or f"actuator {k}"
    if any_nonzero(mj, "actuator_dampingpoly", k):
        remarks.add("not understood", f'damping of actuator "{name}" that is not linear')
    if not any(own):
        return
    kind, target = word("Trn", mj.actuator_trntype[k]), int(mj.actuator_trnid[k][0])
    if kind in ("JOINT", "JOINTINPARENT") and word("Joint", mj.jnt_type[target]) in ("SLIDE", "HINGE"):
        place, where = "dof", int(mj.jnt_dofadr[target])
    elif kind == "TENDON":
        place, where = "tendon", target
    else:
        remarks.add("not understood", f'damping or armature of actuator "{name}"')
        return
    for what, value in zip(("damping", "armature"), own, strict=True):
        getattr(mj, f"{place}_{what}")[where] += float(mj.actuator_gear[k][0]) ** 2 * value
