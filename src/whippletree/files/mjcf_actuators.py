"""Actuators and fixed tendons of MJCF: efforts on joints besides their own springs and dampers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from whippletree.files.mjcf_equalities import tendon_ratios
from whippletree.files.mjcf_options import any_nonzero, count_of_actuators, is_off, is_switched_off, word
from whippletree.files.neutral_model import NeutralModel
from whippletree.model.io.model_file import Motor
from whippletree.spatial.scalars import Scalar

if TYPE_CHECKING:
    import mujoco

    from whippletree.files.neutral_translation import NeutralTranslation

__all__ = ["add_actuators"]

Ratios = Mapping[tuple[str, int], float]
Range = tuple[float, float] | None


def add_actuators(mj: mujoco.MjModel, model: NeutralModel, joints: Sequence[str]) -> None:
    """Add tendons' springs and actuators; motors without a law of their own take their efforts from `tau`."""
    for k in range(mj.ntendon):
        _tendon(mj, k, model, joints)
    for k in range(count_of_actuators(mj)):
        _actuator(mj, k, model, joints)


def _tendon(mj: mujoco.MjModel, k: int, model: NeutralModel, joints: Sequence[str]) -> None:
    name = mj.tendon(k).name or f"tendon {k}"
    ratios = tendon_ratios(mj, k, joints)
    stiffness, damping = float(mj.tendon_stiffness[k]), float(mj.tendon_damping[k])
    if mj.tendon_limited[k] or mj.tendon_frictionloss[k]:
        model.remarks.add("not understood", f'limits or dry friction of tendon "{name}"')
    if any_nonzero(mj, "tendon_actfrclimited", k):
        model.remarks.add("kept aside", f'actuatorfrcrange of tendon "{name}", which nothing enforces')
    if any_nonzero(mj, "tendon_stiffnesspoly", k) or any_nonzero(mj, "tendon_dampingpoly", k):
        model.remarks.add("not understood", f'what is not linear in stiffness and damping of tendon "{name}"')
    if mj.tendon_armature[k]:
        model.remarks.add("not understood", f'the armature of tendon "{name}"')
    if not stiffness and not damping:
        return
    lower, upper = map(float, mj.tendon_lengthspring[k])
    if ratios is None or (stiffness and lower != upper):
        model.remarks.add("not understood", f'the spring or damper of tendon "{name}"')
        return
    model.later.append(_TendonSpring(name, ratios, stiffness, lower, damping))
    model.remarks.add("changed", "springs of tendons act as efforts on their joints: their energy counts as work")


class _TendonSpring:
    """A spring and damper on a weighted sum of coordinates."""

    def __init__(self, name: str, ratios: Ratios, stiffness: float, rest: float, damping: float) -> None:
        self._name, self._ratios = name, ratios
        self._stiffness, self._rest, self._damping = stiffness, rest, damping

    def __call__(self, translation: NeutralTranslation) -> None:
        m = translation.mechanism
        length, rate = _sums(translation, self._ratios)
        tension = self._stiffness * (length - self._rest) + self._damping * rate
        for (joint, index), ratio in self._ratios.items():
            name = translation.force_name(f"{self._name} on {joint}")
            m.actuator(name, translation.joint_name(joint), effort=-ratio * tension, index=index)


def _sums(translation: NeutralTranslation, ratios: Ratios) -> tuple[Scalar, Scalar]:
    """Return a weighted sum of coordinates, and that of their rates."""
    m = translation.mechanism
    terms = [(translation.joint_name(joint), index, ratio) for (joint, index), ratio in ratios.items()]
    length = sum(ratio * m.coordinate(joint, index) for joint, index, ratio in terms)
    return length, sum(ratio * m.rate(joint, index) for joint, index, ratio in terms)


def _actuator(mj: mujoco.MjModel, k: int, model: NeutralModel, joints: Sequence[str]) -> None:
    name = mj.actuator(k).name or f"actuator {k}"
    if is_switched_off(mj, k):
        model.remarks.add("kept aside", f'actuator "{name}", which the options of the file switch off')
        return
    if any(int(getattr(mj, f"actuator_{what}", np.ones(k + 1))[k]) != 1 for what in ("ctrlnum", "outnum")):
        model.remarks.add("not understood", f'actuator "{name}", which has several controls or outputs')
        return
    gear, kind, target = mj.actuator_gear[k], word("Trn", mj.actuator_trntype[k]), int(mj.actuator_trnid[k][0])
    ratios: Ratios | None = None
    if kind in ("JOINT", "JOINTINPARENT") and word("Joint", mj.jnt_type[target]) in ("SLIDE", "HINGE"):
        ratios = {(joints[target], 0): float(gear[0])}
    elif kind == "TENDON":
        found = tendon_ratios(mj, target, joints)
        ratios = None if found is None else {key: float(gear[0]) * ratio for key, ratio in found.items()}
    if ratios is None:
        cranked = "a slider-crank transmission, which is no loop in the mechanics"
        which = cranked if kind == "SLIDERCRANK" else "its transmission"
        model.remarks.add("not understood", f'actuator "{name}": {which}')
        return
    dynamics, gains, biases = (
        word(family, getattr(mj, f"actuator_{family.lower()}type")[k]) for family in ("Dyn", "Gain", "Bias")
    )
    if dynamics != "NONE" or gains not in ("FIXED", "AFFINE") or biases not in ("NONE", "AFFINE"):
        model.remarks.add("not understood", f'actuator "{name}", which has a state, or is a muscle')
        return
    gain = [float(x) for x in mj.actuator_gainprm[k][:3]]
    if gains == "FIXED":
        gain = [gain[0], 0.0, 0.0]
    bias = [float(x) for x in mj.actuator_biasprm[k][:3]] if biases == "AFFINE" else [0.0] * 3
    if not np.any(bias) and not np.any(gain[1:]):
        where = " and ".join(f'{gain[0] * ratio:g} on "{joint}"' for (joint, _), ratio in ratios.items())
        model.remarks.add("kept aside", f'motor "{name}", whose unit control is an effort of {where}')
        efforts = {joint: gain[0] * ratio for (joint, _), ratio in ratios.items()}
        model.motors[name] = Motor(efforts, *_motor_range(gain[0], *_ranges(mj, k)))
        return
    model.later.append(_Law(name, ratios, gain, bias, *_ranges(mj, k)))
    model.remarks.add("changed", f'the control of actuator "{name}" is a parameter of that name, zero at first')


def _ranges(mj: mujoco.MjModel, k: int) -> tuple[Range, Range]:
    """Return the ranges in which an actuator's control and force stay, where it has them."""
    control = mj.actuator_ctrlrange[k] if mj.actuator_ctrllimited[k] and not is_off(mj, "clampctrl") else None
    force = mj.actuator_forcerange[k] if mj.actuator_forcelimited[k] else None
    return tuple(None if one is None else (float(one[0]), float(one[1])) for one in (control, force))  # type: ignore[return-value]


def _motor_range(gain: float, controls: Range, forces: Range) -> tuple[float | None, float | None]:
    """Return the controls that a motor's range of control and that of its force allow."""
    by_force = None if forces is None or not gain else sorted((forces[0] / gain, forces[1] / gain))
    ranges = [one for one in (controls, by_force) if one is not None]
    return max((low for low, _ in ranges), default=None), min((high for _, high in ranges), default=None)


def _within(value: Scalar, bounds: Range) -> Scalar:
    """Return a value, or the end of its range that it is beyond."""
    return value if bounds is None else ca.fmin(ca.fmax(value, bounds[0]), bounds[1])


class _Law:
    """An actuator whose force is affine in length and rate, with its control as a parameter."""

    def __init__(
        self, name: str, ratios: Ratios, gain: list[float], bias: list[float], controls: Range, forces: Range
    ) -> None:
        self._name, self._ratios, self._gain, self._bias = name, ratios, gain, bias
        self._controls, self._forces = controls, forces

    def __call__(self, translation: NeutralTranslation) -> None:
        m = translation.mechanism
        control = m.parameter(translation.parameter_name(self._name), 0.0)
        length, rate = _sums(translation, self._ratios)
        gain, bias = (a + b * length + c * rate for a, b, c in (self._gain, self._bias))
        force = _within(gain * _within(control, self._controls) + bias, self._forces)
        for (joint, index), ratio in self._ratios.items():
            label = self._name if len(self._ratios) == 1 else f"{self._name} on {joint}"
            place = translation.joint_name(joint)
            m.actuator(translation.force_name(label), place, effort=ratio * force, index=index)
