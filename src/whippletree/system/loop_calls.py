"""The calls of a system about its loops: their mobility, states that satisfy them, the closures themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Unpack

import numpy as np
from numpy.typing import ArrayLike

from whippletree.errors import AssemblyError, AssemblyWarning
from whippletree.foundation.late_imports import imported
from whippletree.foundation.user_frames import warn
from whippletree.kernels.kernel import Array
from whippletree.model.argument_types import JointValues
from whippletree.system.call_options import HoldOptions, TimeOptions
from whippletree.system.evaluator import CallOptions
from whippletree.system.example_systems import four_bar  # noqa: F401 (for the examples)
from whippletree.system.input_reader import Mask, as_array
from whippletree.system.loop_plan import Conditions
from whippletree.system.public_call import public_call
from whippletree.system.system_parts import SystemParts

if TYPE_CHECKING:
    from whippletree.system.assembly import Assembled
    from whippletree.system.formulation_choice import FormulationChoice
    from whippletree.system.mobility import Mobility
    from whippletree.system.pose_guess import PoseGuess

__all__ = ["LoopCalls"]

_JUMP = 0.5
"""A coordinate that was given but moved farther than this in assembly (radians, lengths) is reported."""

_TRIES = 50
"""Random configurations from which the loops are tried to be closed before `random` gives up."""


class LoopCalls(SystemParts):
    """The calls of a system about its loops; on a tree, the answers are the plain ones."""

    @property
    def mobility(self) -> Mobility:
        """How the mechanism can move: Gruebler's count, the true mobility, redundant equations, by name.

        >>> s = four_bar()
        >>> s.mobility.gruebler, s.mobility.mobility, len(s.mobility.redundant)
        (-2, 1, 3)
        """
        return self.kernels.closures.mobility

    @property
    def chosen(self) -> FormulationChoice:
        """The formulation that `auto` uses for the dynamics, and why: operations of the candidates, groups, in words.

        Candidates are traced when this is first asked for, or needed; the answer is kept in the disk cache.

        >>> chosen = four_bar().chosen
        >>> chosen.name in chosen.counts, min(chosen.counts.values()) == chosen.counts[chosen.name]
        (True, True)
        """
        return self.kernels.closures.chosen

    @property
    def closure_rows(self) -> tuple[str, ...]:
        """The names of the rows of `closure_residual` and `closure_jacobian`: joint or closure, and direction.

        >>> four_bar().closure_rows[0]
        '"C": turn about x'
        """
        return self.kernels.closures.closure_rows

    @public_call
    def assemble(self, guess: JointValues = None, **options: Unpack[HoldOptions]) -> Array:
        """Return the closed configuration nearest to a guess: coordinates by joint, or all of them (nq).

        A guess by name may also give the poses of bodies or frames in the ground frame, 4 x 4 matrices or
        `Placement`s: `guess={"coupler": pose}`. Joints and bodies that the guess names stay where it puts them if the
        loops allow it, and joints in `hold` in any case. An `AssemblyWarning` tells when another branch had to be
        taken, or when the loops are closed folded; `AssemblyError` names a loop that stays open.

        Many guesses, (n, nq) or by joint (n), are closed in one call, each on its branch: the configurations (n, nq)
        are NaN where the loops stay open, and an `AssemblyWarning` tells which; see
        `whippletree.kinematics.assemble_batch`. So are guesses under many sets of parameters, each with its own
        lengths: leading sizes broadcast.

        >>> s = four_bar()
        >>> q = s.assemble({"A": 1.2})
        >>> bool(abs(q[0] - 1.2) < 1e-12), bool(abs(s.closure_residual(q)).max() < 1e-12)
        (True, True)
        >>> bool(abs(s.assemble({"coupler": s.pose(q, "coupler")}) - q).max() < 1e-8)
        True
        >>> s.assemble({"A": [0.5, 1.2, 2.0]}).shape
        (3, 4)
        """
        values = self._inputs.parameter_sets(options.get("parameters"))
        if (values is not None and values.ndim > 1) or (guess is not None and self._inputs.is_batch(guess)):
            return self._many_assembled({} if guess is None else guess, values, options)
        return self._assembled(guess, options)

    def _many_assembled(self, guess: JointValues, values: Array | None, options: HoldOptions) -> Array:
        """Return the closed configurations nearest to guesses, or to one guess with many sets of parameters."""
        assemble_batch = imported("whippletree.kinematics", "assemble_batch")
        if isinstance(guess, Mapping) or values is None or values.ndim == 1:
            return np.asarray(assemble_batch(self, guess, **options).q)
        q = self._inputs.configurations(guess)
        shape = self.kernels.closures.common_shape(guess=q, parameters=values)
        q, values = (np.broadcast_to(x, (*shape, x.shape[-1])).reshape(-1, x.shape[-1]) for x in (q, values))
        found = assemble_batch(self, q, **{**options, "parameters": values}).q
        return np.asarray(found.reshape((*shape, q.shape[-1])))

    def _under(self, options: TimeOptions) -> Conditions:
        """Return the time and the parameters of some options."""
        return self.kernels.closures.conditions(options.get("t", 0.0), options.get("parameters"))

    def _many(self, options: TimeOptions) -> bool:
        """Tell whether there are many times or many sets of parameters."""
        values = self._inputs.parameter_sets(options.get("parameters"))
        return np.ndim(options.get("t", 0.0)) > 1 or (values is not None and values.ndim > 1)

    def _held(self, options: HoldOptions) -> Mask:
        """Return which freedoms are held."""
        return self._inputs.freedoms(options.get("hold"), "hold")

    @public_call
    def random(self, seed: int | np.random.Generator | None = None) -> Array:
        """Return a random configuration, closed; the same one for the same seed.

        >>> s = four_bar()
        >>> bool((s.random(7) == s.random(7)).all())
        True
        """
        if not self.kernels.closed:
            return self.kernels.states.random(seed)
        rng, none = self.kernels.states.generator(seed), np.zeros(self._inputs.nv, dtype=bool)
        for _ in range(_TRIES):
            try:
                return self.kernels.loops.assembler.assemble(
                    self.kernels.states.random(rng), none, (), self.kernels.loops.conditions()
                ).q
            except AssemblyError:
                continue
        raise AssemblyError("no random configuration could be closed; start from q0 instead")

    def _assembled(self, guess: JointValues, options: HoldOptions) -> Array:
        """Return the closed configuration nearest to one guess."""
        joints, poses = self._inputs.pose_guesses(guess)
        q, given = self._inputs.guess(joints)
        if not self.kernels.closed:
            self._inputs.idle(**options)
            if not poses:
                return q
        where = self._under(options)
        named = np.logical_or.reduce([np.zeros(self._inputs.nv, dtype=bool), *given])
        posed = self._posed(poses, where)
        if posed is not None:
            q = posed.coordinates(q, named)
            given = [*given, *(posed.moving(q, name) for name in poses)]
        if not self.kernels.closed:
            self._report_poses(posed, q)
            return q
        found = self.kernels.loops.assembler.assemble(q, self._held(options), given, where)
        if found.nearly is not None:
            self.kernels.loops.planner.refuse_rounded(found.nearly, where)
        self._report_jump(q, found, named)
        self._report_poses(posed, found.q)
        if guess is None or isinstance(guess, Mapping):  # a whole configuration says where every joint is
            self._report_folded(found.q, where)
        return found.q

    def _posed(self, poses: dict[str, Array], where: Conditions) -> PoseGuess | None:
        """Return the guess made of poses of bodies, if there are any."""
        if not poses:
            return None
        from whippletree.system.pose_guess import PoseGuess

        loops = self.kernels.loops
        scale, length = loops.numbers.column_scale, loops.numbers.lengths.mechanism
        return PoseGuess(self.kernels.equations, loops.assembler.space, poses, where, scale, length)

    def _report_poses(self, posed: PoseGuess | None, q: Array) -> None:
        """Warn if a body ended up far from the pose that the guess gives it."""
        for name in () if posed is None else posed.poses:
            angle, far = posed.errors(q, name) if posed is not None else (0.0, 0.0)
            if angle > _JUMP or far > _JUMP * self.kernels.loops.numbers.lengths.mechanism:
                warn(
                    f'"{name}" ended up {far:.3g} m and {angle:.3g} rad from the pose that the guess gives it: the '
                    f"joints do not bring it there; check the pose, which is in the ground frame",
                    AssemblyWarning,
                )

    def _report_folded(self, q: Array, where: Conditions) -> None:
        """Warn if loops are closed folded."""
        found = None if self.kernels.loops.numbers.families is not None else self.kernels.loops.folded.names(q, where)
        if found is not None:
            warn(
                f'the loops are closed folded: joints "{found[0]}" and "{found[1]}", which share no body, lie upon '
                f"each other; give a guess on the branch that is meant, by more joints or by the pose of a body",
                AssemblyWarning,
            )

    def _report_jump(self, guess: Array, found: Assembled, given: Mask) -> None:
        """Warn if a coordinate that was asked for ended up far away, or another start was needed."""
        loops = self.kernels.loops
        moved = np.abs(loops.assembler.space.difference(guess, found.q) / loops.numbers.column_scale)
        far = np.flatnonzero(given & (moved > _JUMP))
        if far.size:
            i = int(far[np.argmax(moved[far])])
            coordinate = f"the {self.kernels.states.velocity_label(i).replace('velocity', 'position')}"
            warn(
                f"the loops could not be closed near the guess: {coordinate} moved by "
                f"{moved[i] * loops.numbers.column_scale[i]:.3g}; check the branch, or hold the joint",
                AssemblyWarning,
            )
        elif not found.straight:
            start, remedy = ("guess", "nearer guess") if given.any() else ("design position", "guess")
            warn(
                f"the loops could not be closed straight from the {start}, but from another start: check that the "
                f"branch is the one that is meant, or give a {remedy}",
                AssemblyWarning,
            )

    @public_call
    def consistent_velocities(self, q: ArrayLike, v: JointValues = None, **options: Unpack[HoldOptions]) -> Array:
        """Return the velocities nearest to `v` (by joint, or nv) that the loops allow; those named or held stay.

        Leading sizes of `q`, `v`, times and parameters broadcast; an error tells which state of a batch it is about.

        >>> s = four_bar()
        >>> v = s.consistent_velocities(s.q0, {"A": 1.0})
        >>> bool(abs(v[0] - 1.0) < 1e-12), bool(abs(s.closure_jacobian(s.q0) @ v).max() < 1e-12)
        (True, True)
        """
        guess, given = self._inputs.motions(v, "v")
        if not self.kernels.closed:
            self._inputs.idle(q=q, **options)
            return self._all_allowed(options, q=self._inputs.configurations(q), v=guess)
        q, held = self._inputs.finite_configurations(q), self._held(options)
        nearest = self.kernels.loops.consistency.velocities
        return self._each(lambda where, q, v: nearest(q, v, where, held, given), options, q=q, v=guess)

    def _each(self, answer: Callable[..., Array], options: TimeOptions, **vectors: Array) -> Array:
        """Return answers at a state, or at each state of a batch, under its own time and parameters."""
        return self.kernels.closures.for_each(answer, options.get("t", 0.0), options.get("parameters"), **vectors)

    def _all_allowed(self, options: TimeOptions, **state: Array) -> Array:
        """Return the last vector of a mechanism without loops as it is, once for each state of a batch."""
        times = as_array(options.get("t", 0.0), self._inputs.argument("t", 1))
        values = self._inputs.parameter_sets(options.get("parameters"))
        shape = self.kernels.closures.common_shape(**state, t=times, parameters=values)
        *_, motion = state.values()
        return np.array(np.broadcast_to(motion, (*shape, motion.shape[-1])))

    @public_call
    def consistent_accelerations(
        self, q: ArrayLike, v: ArrayLike, a: JointValues = None, **options: Unpack[HoldOptions]
    ) -> Array:
        """Return the accelerations nearest to `a` (by joint, or nv) that the loops allow at a consistent state.

        Leading sizes of `q`, `v`, `a`, times and parameters broadcast, as in `consistent_velocities`.

        >>> s = four_bar()
        >>> a = s.consistent_accelerations(s.q0, s.v0, {"A": 2.0})
        >>> bool(abs(a[0] - 2.0) < 1e-12)
        True
        """
        guess, given = self._inputs.motions(a, "a")
        if not self.kernels.closed:
            self._inputs.idle(q=q, v=v, **options)
            q, v = self._inputs.configurations(q), self._inputs.velocities(v)
            return self._all_allowed(options, q=q, v=v, a=guess)
        q, v, held = self._inputs.finite_configurations(q), self._inputs.velocities(v), self._held(options)
        nearest = self.kernels.loops.consistency.accelerations
        return self._each(lambda where, q, v, a: nearest(q, v, a, where, held, given), options, q=q, v=v, a=guess)

    @public_call
    def closure_residual(self, q: ArrayLike, **options: Unpack[TimeOptions]) -> Array:
        """Return how far the closures are from closed, row by row, in radians and metres; see `closure_rows`.

        >>> s = four_bar()
        >>> bool(abs(s.closure_residual(s.q0)).max() < 1e-12)
        True
        """
        q = self._inputs.configurations(q)
        if not self.kernels.closed:
            self._inputs.idle(**options)
            return np.zeros((*q.shape[:-1], 0))
        if q.ndim > 1 or self._many(options):
            return self._evaluate("closure_residual", (q,), CallOptions(**options))
        numbers = self.kernels.loops.numbers
        return np.asarray(numbers.residual(q, *self._under(options)) * numbers.row_scale)

    @public_call
    def closure_jacobian(self, q: ArrayLike, **options: Unpack[TimeOptions]) -> Array:
        """Return the closures' rows on the velocities of all joints; see `closure_rows`.

        >>> s = four_bar()
        >>> s.closure_jacobian(s.q0).shape
        (6, 4)
        """
        q = self._inputs.configurations(q)
        if not self.kernels.closed:
            self._inputs.idle(**options)
            return np.zeros((*q.shape[:-1], 0, self._inputs.nv))
        if q.ndim > 1 or self._many(options):
            return self._evaluate("closure_jacobian", (q,), CallOptions(**options))
        numbers = self.kernels.loops.numbers
        rows = numbers.full_rows(q, *self._under(options))[0]
        return np.asarray(rows * numbers.row_scale[:, None] / numbers.column_scale)
