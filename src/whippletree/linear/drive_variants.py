"""Drives as inputs: the same mechanism with a drive let go, so that its acceleration or its effort can be given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from whippletree.elements.drivers import Motion
from whippletree.errors import StateError
from whippletree.linear.linear_signals import signal_list
from whippletree.linear.nominal_state import NominalState
from whippletree.model.description import ClosureUse, Description
from whippletree.system import System

__all__ = ["free_drives"]

_WORDS = ("acceleration", "effort")


def free_drives(at: NominalState, inputs: Sequence[object]) -> tuple[NominalState, list[object]]:
    """Return the state of a mechanism in which drives that are inputs do not hold their joints, and the joints' inputs.

    "motor.acceleration" makes the joint of drive "motor" a prescribed one: its position and rate become states.
    "motor.effort" makes it a free one, on which the drive's present effort acts. A prescribed joint becomes free in the
    same way by "joint.effort".
    """
    names = signal_list(inputs, "inputs")
    drives = {use.name: use for use in at.system.description.closures if isinstance(use.closure, Motion)}
    prescribed = {use.name for use in at.system.description.joints if use.prescribed}
    for k, given in enumerate(names):
        owner, _, word = given.rpartition(".") if isinstance(given, str) else ("", "", "")
        if isinstance(given, str) and given in drives:
            raise StateError(f'inputs=: "{given}" is a drive: write "{given}.acceleration" or "{given}.effort"')
        if word in _WORDS and owner in drives:
            at, names[k] = _let_go(at, drives[owner], word)
        elif word == "effort" and owner in prescribed:
            at = _free_joint(at, owner)
    return at, names


def _let_go(at: NominalState, drive: ClosureUse, word: str) -> tuple[NominalState, str]:
    """Return the state without a drive, its joint prescribed or with the drive's effort on it."""
    s = at.system
    if not drive.coordinates:
        raise StateError(f'inputs=: drive "{drive.name}" moves a point: only drives of joint coordinates can be inputs')
    (joint, index), *_ = drive.coordinates
    if s.v_slice(joint).stop - s.v_slice(joint).start > 1:
        raise StateError(
            f'inputs=: drive "{drive.name}" moves one of several coordinates of joint "{joint}", which cannot be let '
            "go by itself: use two joints, or prescribe the joint"
        )
    effort = s.closure_forces(at.q, at.v, at.tau, **at.options)[drive.name][0]
    rate = at.accelerations()
    closures = tuple(use for use in s.description.closures if use.name != drive.name)
    joints = tuple(
        replace(use, prescribed=word == "acceleration") if use.name == joint else use for use in s.description.joints
    )
    other = _variant(at, replace(s.description, closures=closures, joints=joints))
    if word == "effort":
        tau = at.tau.copy()
        tau[s.v_slice(joint).start + index] += effort
        return replace(at, system=other, tau=tau), f"{joint}.effort"
    a = np.zeros(s.nv) if at.a is None else at.a.copy()
    a[s.v_slice(joint)] = rate[s.v_slice(joint)]
    return replace(at, system=other, a=a), f"{joint}.acceleration"


def _free_joint(at: NominalState, joint: str) -> NominalState:
    """Return the state with a prescribed joint let go, and the effort on it that keeps it moving as given."""
    s = at.system
    where, tau = s.v_slice(joint), at.tau.copy()
    tau[where] = s.driving_forces(at.q, at.v, at.tau, **at.options)[where]
    joints = tuple(replace(use, prescribed=False) if use.name == joint else use for use in s.description.joints)
    other = _variant(at, replace(s.description, joints=joints))
    return replace(at, system=other, tau=tau, a=at.a if other.kernels.equations.prescribed else None)


def _variant(at: NominalState, description: Description) -> System:
    """Return the system of another description at the same configuration, coordinates in the same order."""
    options = at.system.kernels.build_options.copy()
    options["guess"], options["hold"] = at.q, None
    other = System(description, **options)
    if other.joint_names != at.system.joint_names or other.nq != at.system.nq:
        raise StateError("the mechanism without its drive has its coordinates in another order")
    return other.kernels.once
