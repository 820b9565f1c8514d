"""The calls of a system about the wrenches that its joints and closures transmit."""

from __future__ import annotations

from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from whippletree.elements.forces import MOMENT_AND_FORCE
from whippletree.errors import DynamicsError, ModelError, StateError
from whippletree.foundation.once import made_once
from whippletree.kernels.kernel import Array
from whippletree.model.description import GROUND
from whippletree.system.call_options import DynamicsOptions, ReactionOptions
from whippletree.system.evaluator import CallOptions, JointValues, ParameterValues, options_of
from whippletree.system.example_systems import four_bar, pendulum  # noqa: F401 (for the examples)
from whippletree.system.public_call import public_call
from whippletree.system.quantities import Reactions
from whippletree.system.system_parts import SystemParts

__all__ = ["ReactionCalls"]

_UNIQUE = 1e-9
"""A component is unique if no self-stress, scaled to size one, has more than this in it."""


class ReactionCalls(SystemParts):
    """Wrenches that joints transmit, and the multipliers of closures."""

    @public_call
    def reactions(
        self, /, q: ArrayLike, v: ArrayLike, tau: JointValues = None, **options: Unpack[ReactionOptions]
    ) -> Reactions:
        """Return the wrench that every joint transmits to its described child, by joint name.

        It acts at the joint point on that child and includes the actuator's effort. Axes are the ground's, or those
        of `frame`, a body or a frame. With `joints=["A"]` only those joints' wrenches are computed, in this order.

        >>> s = pendulum()
        >>> s.reactions([0.0], [0.0])["hinge"].force.round(3)  # a falling rod weighs a quarter
        array([0.   , 0.   , 4.905])
        """
        frame, joints = options.pop("frame", GROUND), options.pop("joints", None)
        given, threads, parameters = (
            options_of(options, checked=True),
            options.get("threads"),
            options.get("parameters"),
        )
        asked = self._inputs.joints(joints)
        if joints is not None and not asked:
            raise StateError('joints= names no joint; leave it out for all of them, or list some: joints=["A"]')
        names = self._involved(asked)
        found = self._wrenches((q, v, tau), given, names, threads)
        name = self._inputs.place_name(frame)
        R = None if name == GROUND else self._evaluate.at_place("pose", name, (q,), parameters)[..., None, :3, :3]
        unique = None
        if self.kernels.closures.redundancy and (not asked or self._shares(asked)):
            found, stresses = self._least(found, self._self_stresses(q, given.t, parameters, names))
            none = self._evaluate.engine.equations.loop_plan.negligible(_UNIQUE)
            unique = np.abs(_turned(stresses, R)).max(axis=-1) <= none
        turned = _turned(found[..., None], R)[..., 0]
        described = tuple(use.name for use in self.description.joints)  # the plan may have welds behind them
        names, asked = names or self._inputs.states.plan.joint_names, asked or described
        if asked == names:
            return Reactions(asked, turned, unique)
        places = [names.index(one) for one in asked]
        return Reactions(asked, turned[..., places, :], None if unique is None else unique[..., places, :])

    def _wrenches(
        self, state: tuple[object, ...], options: CallOptions, names: tuple[str, ...], threads: int | None
    ) -> Array:
        """Return the wrenches of some joints, or of all; a loop over many nodes finds all of them anyway."""
        equations, engine = self._evaluate.engine.equations, self._evaluate.engine
        if names and equations.large and not equations.closed:
            everything = self._evaluate("reactions", state, options, None, threads)
            return everything[..., [engine.plan.joint_names.index(name) for name in names], :]
        return self._evaluate("reactions", state, options._replace(joints=names), None, threads)

    def _involved(self, joints: tuple[str, ...]) -> tuple[str, ...]:
        """Return some joints, with those among which redundancy may leave their reactions open."""
        if not joints or not self.kernels.closures.redundancy:
            return joints
        shared = [name for circle in self._circles if circle & set(joints) for name in circle]
        order = self._inputs.states.plan.joint_names
        return (*joints, *sorted(set(shared) - set(joints), key=order.index))

    def _shares(self, joints: tuple[str, ...]) -> bool:
        """Tell whether redundancy may leave reactions of some joints open."""
        return any(circle & set(joints) for circle in self._circles)

    @made_once
    def _circles(self) -> list[set[str]]:
        """The joints of loops that have redundant equations, those of loops that share joints together."""
        equations = self._evaluate.engine.equations
        joints = {loop.name: set(loop.joints) for loop in equations.plan.loops}
        pairs = zip(equations.attachments().all, equations.loop_plan.keep, strict=True)
        kept = [
            (joints.get(held.name, set(equations.plan.joint_names)), held.closure.n_rows - len(keep))
            for held, keep in pairs
        ]
        circles: list[tuple[set[str], int]] = []
        for own, redundant in kept:
            apart = [one for one in circles if not one[0] & own]
            met = [one for one in circles if one[0] & own]
            merged = own.union(*(one[0] for one in met)), redundant + sum(one[1] for one in met)
            circles = [*apart, merged]
        return [names for names, redundant in circles if redundant]

    def _check_laws(self, q: Array) -> None:
        """Refuse force laws on components of reactions that redundancy leaves open, as they are at a configuration."""
        laws = self._evaluate.engine.description.reaction_laws
        if not laws or not self.kernels.closures.redundancy:
            return
        from whippletree.system.reaction_laws import read_components

        joints = tuple(dict.fromkeys(name for use in laws for name in use.reactions))
        names = self._involved(joints)
        if not self._shares(joints):
            return
        order, engine = self._inputs.states.plan.joint_names, self._evaluate.engine
        _, stresses = self._least(np.zeros((len(names), 6)), self._self_stresses(q, 0.0, None, names))
        negligible = engine.equations.loop_plan.negligible(_UNIQUE)
        for law, read in read_components(engine.equations).items():
            for joint, components in read.items():
                use = engine.description.joints[order.index(joint)]
                pose = self._evaluate.at_place("pose", use.parent, (q,))
                R = pose[:3, :3] @ np.array(use.on_parent.rotation, dtype=np.float64)
                open_ = np.abs(_turned(stresses[names.index(joint)], R)).max(axis=-1) > negligible
                left = [MOMENT_AND_FORCE[k] for k in components if open_[k]]
                if left:
                    raise ModelError(
                        f'force "{law}" depends on {", ".join(left)} of the reaction of joint "{joint}", which rigid '
                        "bodies do not determine: redundant equations leave open how the joints share it "
                        f"({', '.join(self._sharing(stresses, names))}); let a joint give way there (a ball or a "
                        "cylindrical joint instead of a hinge), or use components that are unique"
                    )

    def _sharing(self, stresses: Array, names: tuple[str, ...]) -> list[str]:
        """Return the joints, in quotes, among which something is left open."""
        return [f'"{name}"' for name, own in zip(names, stresses, strict=True) if np.abs(own).max() > _UNIQUE]

    def _least(self, wrenches: Array, Z: Array) -> tuple[Array, Array]:
        """Return the reactions of least norm among those that redundancy leaves open, and a basis of what it does.

        The norm is that of all joints' forces and moments, the latter over the characteristic length.
        """
        shape = wrenches.shape
        Z = np.broadcast_to(Z, (*shape, Z.shape[-1]))
        weight = np.ones(6)
        weight[:3] /= self.kernels.closures.characteristic_length
        W = (Z * weight[:, None]).reshape(*shape[:-2], -1, Z.shape[-1])
        basis, s, _ = np.linalg.svd(W, full_matrices=False)
        basis = basis * (s > 1e-12 * s[..., :1])[..., None, :]
        flat = (wrenches * weight).reshape(*shape[:-2], -1, 1)
        least = flat - basis @ (np.swapaxes(basis, -1, -2) @ flat)
        return least.reshape(shape) / weight, basis.reshape(*shape, Z.shape[-1])

    def _self_stresses(
        self, q: ArrayLike, t: ArrayLike, parameters: ParameterValues, joints: tuple[str, ...] = ()
    ) -> Array:
        """Return the reactions that balance by themselves (..., n_joints, 6, k), of some joints or of all."""
        try:
            return self._evaluate("self_stresses", (q,), CallOptions(t=t, parameters=parameters, joints=joints))
        except DynamicsError:  # some configuration is singular: one by one, their numbers may differ
            q = self._inputs.configurations(q)
            found = self.kernels.closures.self_stresses(q, t, parameters)
            order = self._inputs.states.plan.joint_names
            return found[..., [order.index(name) for name in joints or order], :, :]

    @public_call
    def closure_forces(
        self, /, q: ArrayLike, v: ArrayLike, tau: JointValues = None, **options: Unpack[DynamicsOptions]
    ) -> dict[str, Array]:
        """Return the multipliers of every described closure by name: a rod's force, a coupling's effort.

        A rod that pushes its ends apart has a positive force. Where equations are redundant, those that are not used
        have none.

        >>> s = four_bar()
        >>> s.closure_forces(s.q0, s.v0)
        {}
        """
        if not self._evaluate.closed:
            return {}
        values = self._evaluate.answer("closure_efforts", (q, v, tau), options)
        equations = self._evaluate.engine.equations
        result: dict[str, Array] = {}
        start = 0
        for attachment, keep in zip(equations.attachments().all, equations.loop_plan.keep, strict=True):
            if attachment.cut is None and attachment.driven is None:
                own = np.zeros((*values.shape[:-1], attachment.closure.n_rows))
                own[..., list(keep)] = values[..., start : start + len(keep)]
                result[attachment.name] = own
            start += len(keep)
        return result


def _turned(columns: Array, R: Array | None) -> Array:
    """Return columns [moment; force] (..., 6, n) in other axes R, those of the ground if there are none."""
    if R is None:
        return columns
    pairs = columns.reshape(*columns.shape[:-2], 2, 3, columns.shape[-1])
    turned: Array = np.einsum("...ji,...kjn->...kin", R, pairs).reshape(columns.shape)
    return turned
