"""The calls of a system that are about its loops."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from whippletree.errors import AssemblyError, AssemblyWarning, DynamicsError, StateError
from whippletree.kernels.kernel import Array
from whippletree.system.assembly import Assembled
from whippletree.system.calls import Argument, Call, as_array
from whippletree.system.choosing import Weighed
from whippletree.system.engine import Engine
from whippletree.system.equations import formulation_name
from whippletree.system.mobility import Mobility
from whippletree.system.states import StateSpace

__all__ = ["ClosedCalls"]

_JUMP = 0.5
"""A coordinate that was given but moved farther than this in assembly (radians, lengths) is reported."""

_UNIQUE = 1e-9
"""A component is unique if no self-stress, scaled to size one, has more than this in it."""

_TRIES = 50


class ClosedCalls:
    """What `System` can say and do about loops; on a tree, the answers are the plain ones."""

    nq: int
    nv: int
    _engine: Engine
    _states: StateSpace
    _closed: bool
    _q0: Array
    _v0: Array

    # ------------------------------------------------------------------ what the mechanism can do

    @property
    def mobility(self) -> Mobility:
        """How the mechanism can move: Gruebler's count, the true mobility, redundant equations, by name.

        >>> s = _four_bar()
        >>> s.mobility.gruebler, s.mobility.mobility, len(s.mobility.redundant)
        (-2, 1, 3)
        """
        if not self._closed:
            labels = tuple(self._states.freedom_name(i) for i in range(self.nv))
            return Mobility(self.nv, self.nv, (), labels, 1.0, self.nv)
        found = self._engine.loops.mobility
        assert found is not None
        return found

    @property
    def chosen(self) -> Weighed:
        """The formulation that `auto` uses for the dynamics, and why: operations of the candidates, groups, in words.

        Candidates are traced when this is first asked for, or needed; the answer is kept in the disk cache.

        >>> from whippletree.system.examples import four_bar
        >>> chosen = four_bar().chosen
        >>> chosen.name in chosen.counts, min(chosen.counts.values()) == chosen.counts[chosen.name]
        (True, True)
        """
        return self._engine.loops.auto.chosen if self._closed else self._engine.of_tree

    def tune(self) -> Weighed:
        """Let `auto` mean the fastest formulation on this machine, and return what was found.

        What `auto` means otherwise follows from operations, and is the same everywhere. Here the candidates that are
        close to the cheapest are compiled and timed, which takes some seconds, and this system uses the fastest from
        now on; so results may differ in their last digits from those of another machine.

        >>> from whippletree.system.examples import four_bar
        >>> s = four_bar()
        >>> s.tune().name == s.chosen.name
        True
        >>> s.chosen.times[s.chosen.name] > 0
        True
        """
        return self._engine.tune()

    def _choice_in_words(self) -> str:
        """Return what the plan says about the formulation; a model without masses is for kinematics only."""
        masses = any(
            not isinstance(m, float) or m for m in (b.properties.mass for b in self._engine.description.bodies)
        )
        return str(self.chosen) if masses else "no masses: for kinematics only"

    def mobility_at(self, q: Any, *, t: float = 0.0) -> Mobility:
        """Return the mobility as found around a closed configuration; see `mobility`.

        >>> s = _four_bar()
        >>> s.mobility_at(s.q0).mobility
        1
        """
        where = self._one_configuration(q)
        if not self._closed:
            return self.mobility
        loops, dependent = self._engine.loops, self._engine.equations.loop_plan.dependent
        return loops.planner.analyse(where, loops.conditions(t), dependent)

    @property
    def redundancy(self) -> int:
        """The number of equations that follow from the others.

        >>> _four_bar().redundancy
        3
        """
        if not self._closed:
            return 0
        equations = self._engine.equations
        return equations.attachments().n_rows - sum(len(rows) for rows in equations.loop_plan.keep)

    @property
    def characteristic_length(self) -> float:
        """The mean size of the bodies: what lengths are compared with.

        >>> round(_four_bar().characteristic_length, 3)
        1.5
        """
        return self._engine.loops.numbers.length

    @property
    def penalty_error(self) -> float:
        """The relative error to expect of the formulation "penalty".

        >>> _four_bar().penalty_error < 1e-3
        True
        """
        return self._engine.equations.loop_plan.penalty_error() if self._closed else 0.0

    # ------------------------------------------------------------------ consistent states

    def assemble(self, guess: Any = None, *, hold: Any = None, t: float = 0.0, parameters: Any = None) -> Array:
        """Return the closed configuration nearest to a guess: coordinates by joint, or all of them (nq).

        Joints that the guess names stay where it puts them if the loops allow it, and those in `hold` in any case.
        An `AssemblyWarning` tells when another branch had to be taken; `AssemblyError` names a loop that stays open.

        >>> s = _four_bar()
        >>> q = s.assemble({"A": 1.2})
        >>> bool(abs(q[0] - 1.2) < 1e-12), bool(abs(s.closure_residual(q)).max() < 1e-12)
        (True, True)
        """
        q, given = self._guess(guess)
        if not self._closed:
            return q
        loops = self._engine.loops
        where = loops.conditions(self._time(t), self._given_parameters(parameters))
        found = loops.assembler.assemble(q, self._freedoms(hold, "hold"), given, where)
        self._report_jump(q, found, np.logical_or.reduce([np.zeros(self.nv, dtype=bool), *given]))
        return found.q

    def consistent_velocities(
        self, q: Any, v: Any = None, *, hold: Any = None, t: float = 0.0, parameters: Any = None
    ) -> Array:
        """Return the velocities nearest to `v` (by joint, or nv) that the loops allow; those named or held stay.

        >>> s = _four_bar()
        >>> v = s.consistent_velocities(s.q0, {"A": 1.0})
        >>> bool(abs(v[0] - 1.0) < 1e-12), bool(abs(s.closure_jacobian(s.q0) @ v).max() < 1e-12)
        (True, True)
        """
        guess, given = self._motion(v, "v")
        if not self._closed:
            return guess
        q = self._one_configuration(q)
        loops = self._engine.loops
        where = loops.conditions(self._time(t), self._given_parameters(parameters))
        return loops.consistency.velocities(q, guess, where, self._freedoms(hold, "hold"), given)

    def consistent_accelerations(
        self, q: Any, v: Any, a: Any = None, *, hold: Any = None, t: float = 0.0, parameters: Any = None
    ) -> Array:
        """Return the accelerations nearest to `a` (by joint, or nv) that the loops allow at a consistent state.

        >>> s = _four_bar()
        >>> a = s.consistent_accelerations(s.q0, s.v0, {"A": 2.0})
        >>> bool(abs(a[0] - 2.0) < 1e-12)
        True
        """
        guess, given = self._motion(a, "a")
        if not self._closed:
            return guess
        q, v = self._one_configuration(q), as_array(v, self._engine.argument("v", self.nv))
        loops = self._engine.loops
        where = loops.conditions(self._time(t), self._given_parameters(parameters))
        held = self._freedoms(hold, "hold")
        return loops.consistency.accelerations(q, v, guess, where, held, given)

    # ------------------------------------------------------------------ closures

    @property
    def closure_rows(self) -> tuple[str, ...]:
        """What the rows of `closure_residual` and `closure_jacobian` are: of which joint or closure, and which way.

        >>> _four_bar().closure_rows[0]
        '"C": turn about x'
        """
        if not self._closed:
            return ()
        return tuple(f'"{row.closure}": {row.direction}' for row in self._engine.loops.numbers.rows)

    def closure_residual(self, q: Any, *, t: float = 0.0, parameters: Any = None) -> Array:
        """Return how far the closures are from closed, row by row, in radians and metres; see `closure_rows`.

        >>> s = _four_bar()
        >>> bool(abs(s.closure_residual(s.q0)).max() < 1e-12)
        True
        """
        q = self._one_configuration(q)
        if not self._closed:
            return np.zeros(0)
        loops = self._engine.loops
        where = loops.conditions(self._time(t), self._given_parameters(parameters))
        return np.asarray(loops.numbers.residual(q, *where) * loops.numbers.row_scale)

    def _openings(self, q: Array, v: Array, t: Array, parameters: Any) -> tuple[Array, Array]:
        """Return how far the closures are from closed in many states (n, m), and how fast they open.

        In radians and characteristic lengths.
        """
        loops = self._engine.loops
        _, values = loops.conditions(0.0, self._given_parameters(parameters))
        return loops.numbers.openings(q, v, t, values)

    def closure_jacobian(self, q: Any, *, t: float = 0.0, parameters: Any = None) -> Array:
        """Return the closures' rows on the velocities of all joints; see `closure_rows`.

        >>> s = _four_bar()
        >>> s.closure_jacobian(s.q0).shape
        (6, 4)
        """
        q = self._one_configuration(q)
        if not self._closed:
            return np.zeros((0, self.nv))
        numbers = self._engine.loops.numbers
        where = self._engine.loops.conditions(self._time(t), self._given_parameters(parameters))
        return np.asarray(numbers.full_rows(q, *where)[0] * numbers.row_scale[:, None] / numbers.column_scale)

    def motion_basis(self, q: Any, *, t: float = 0.0, parameters: Any = None) -> Array:
        """Return E (nv, n): all joints' velocities for unit rates of the independent coordinates (Nikravesh 17).

        >>> s = _four_bar()
        >>> s.motion_basis(s.q0).shape
        (4, 1)
        """
        if not self._closed:
            shape = np.asarray(self._configurations(q)).shape[:-1]
            return np.array(np.broadcast_to(np.eye(self.nv), (*shape, self.nv, self.nv)))
        if not self._engine.equations.loop_plan.choice.independent:
            return np.zeros((*self._configurations(q).shape[:-1], self.nv, 0))
        call, more = self._engine.dynamic("motion_basis", "auto", None, None, parameters, t=t)
        return call.run((q, *more))

    def closure_forces(
        self,
        q: Any,
        v: Any,
        tau: Any = None,
        *,
        a: Any = None,
        t: float = 0.0,
        z: Any = None,
        wrenches: Any = None,
        parameters: Any = None,
        formulation: str = "auto",
        check: bool = True,
        **choice: Any,
    ) -> dict[str, Array]:
        """Return the multipliers of every described closure by name: a rod's force, a coupling's effort.

        A rod that pushes its ends apart has a positive force. Where equations are redundant, those that are not used
        have none.

        >>> s = _four_bar()
        >>> s.closure_forces(s.q0, s.v0)
        {}
        """
        if not self._closed:
            return {}
        options = {"t": t, "z": z, "check": check}
        formulation = formulation_name(formulation, **choice)
        call, more = self._engine.dynamic("closure_efforts", formulation, a, wrenches, parameters, **options)
        values = call.run((q, v, tau, *more))
        equations = self._engine.equations
        result: dict[str, Array] = {}
        start = 0
        for attachment, keep in zip(equations.attachments().all, equations.loop_plan.keep, strict=True):
            if attachment.cut is None and attachment.driven is None:
                own = np.zeros((*values.shape[:-1], attachment.closure.n_rows))
                own[..., list(keep)] = values[..., start : start + len(keep)]
                result[attachment.name] = own
            start += len(keep)
        return result

    # ------------------------------------------------------------------ what System's calls need

    def _begin(self, guess: Any, hold: Any, dependent: Any) -> None:
        """Assemble from the guess, and decide about the loops there."""
        wanted: frozenset[int] | None = None
        if dependent is not None:
            wanted = frozenset(np.flatnonzero(self._freedoms(dependent, "dependent")).tolist())
        self._q0 = self.assemble(guess, hold=hold)
        where = self._engine.loops.conditions()
        plan, mobility = self._engine.loops.planner.make(self._q0, where, wanted)
        self._engine.adopt(plan, mobility)
        self._v0 = self._engine.loops.consistency.velocities(self._q0, np.zeros(self.nv), where)
        if mobility.singular:
            warnings.warn(
                f"the mechanism is assembled near a singular configuration: the closures' smallest singular value is "
                f"{mobility.smallest:.2g} of the largest; give another guess if that is not meant",
                AssemblyWarning,
                stacklevel=4,
            )

    def _random_closed(self, rng: np.random.Generator) -> Array:
        """Return a random configuration, closed."""
        loops = self._engine.loops
        none = np.zeros(self.nv, dtype=bool)
        for _ in range(_TRIES):
            try:
                return loops.assembler.assemble(self._states.random(rng), none, (), loops.conditions()).q
            except AssemblyError:
                continue
        raise AssemblyError("no random configuration could be closed; start from q0 instead")

    def _shared(self, wrenches: Array, q: Any, R: Array | None, t: float, parameters: Any) -> tuple[Array, Any]:
        """Return the reactions of least norm among those that redundancy leaves open, and which are unique.

        The norm is that of all joints' forces and moments, the latter over the characteristic length.
        """
        Z = self._self_stresses(q, t, parameters)
        shape = wrenches.shape
        Z = np.broadcast_to(Z, (*shape, Z.shape[-1]))
        weight = np.ones(6)
        weight[:3] /= self.characteristic_length
        n = Z.shape[-1]
        W = (Z * weight[:, None]).reshape(*shape[:-2], -1, n)
        basis, s, _ = np.linalg.svd(W, full_matrices=False)
        basis = basis * (s > 1e-12 * s[..., :1])[..., None, :]
        flat = (wrenches * weight).reshape(*shape[:-2], -1, 1)
        least = flat - basis @ (np.swapaxes(basis, -1, -2) @ flat)
        stresses = basis.reshape(*shape, n)
        if R is not None:
            pairs = stresses.reshape(*shape[:-1], 2, 3, n)
            stresses = np.einsum("...ji,...kjn->...kin", R, pairs).reshape(stresses.shape)
        unique = np.abs(stresses).max(axis=-1) <= _UNIQUE
        return least.reshape(shape) / weight, unique

    def _self_stresses(self, q: Any, t: float, parameters: Any) -> Array:
        """Return the reactions that balance by themselves (..., n_joints, 6, k)."""
        call, more = self._engine.dynamic("self_stresses", "auto", None, None, parameters, t=t)
        try:
            return call.run((q, *more))
        except DynamicsError:  # some configuration is singular: one by one, their numbers may differ
            loops = self._engine.loops
            where = loops.conditions(self._time(t), self._given_parameters(parameters))
            q = self._configurations(q)
            found = [loops.consistency.self_stresses(one, where) for one in q.reshape(-1, self.nq)]
            most = max(Z.shape[-1] for Z in found)
            padded = [np.pad(Z, ((0, 0), (0, 0), (0, most - Z.shape[-1]))) for Z in found]
            return np.array(padded).reshape(*q.shape[:-1], *padded[0].shape)

    def _actuated(
        self,
        q: Any,
        v: Any,
        a: Any,
        actuators: Any,
        t: float,
        z: Any,
        wrenches: Any,
        parameters: Any,
        formulation: str,
        check: bool,
        out: Any,
        threads: int | None,
    ) -> Array:
        """Return the efforts of some joints that make the mechanism move as given: E^T tau = E^T tau_tree."""
        formulation_name(formulation)
        acting = self._freedoms(actuators, "actuators") if actuators is not None else np.ones(self.nv, dtype=bool)
        q, v = self._configurations(q), as_array(v, self._engine.argument("v", self.nv))
        a = np.zeros(self.nv) if a is None else as_array(a, self._engine.argument("a", self.nv))
        if check and self._closed:
            self._check_motion(q, v, a, t, parameters)
        call, more = self._engine.dynamic("inverse_dynamics", "auto", None, wrenches, parameters, t=t, z=z)
        tree = call.run((q, v, a, *more), None, threads)
        E = self._all_motions(q, t, parameters)
        needed = np.einsum("...ij,...i->...j", E, tree)
        A = np.swapaxes(E[..., acting, :], -1, -2)
        efforts = np.einsum("...ij,...j->...i", np.linalg.pinv(A, rcond=1e-10), needed)
        left = np.einsum("...ij,...j->...i", A, efforts) - needed
        scale = np.abs(needed).max(initial=0.0) + np.abs(tree).max(initial=0.0)
        if np.abs(left).max(initial=0.0) > 1e-8 * max(scale, 1e-300):
            raise DynamicsError(
                f"these {int(acting.sum())} actuated freedoms cannot make this motion: the mechanism has mobility "
                f"{E.shape[-1]}, and a part of the motion is out of their reach; name more actuators"
            )
        result = np.zeros((*np.broadcast_shapes(efforts.shape[:-1]), self.nv))
        result[..., acting] = efforts
        if out is None:
            return result
        Call.checked_out(out, result.shape)[...] = result
        return np.asarray(out)

    def _all_motions(self, q: Array, t: float, parameters: Any) -> Array:
        """Return a basis of all motions that the loops allow, prescribed joints moving too."""
        if not self._closed or not self._engine.equations.prescribed:
            return self.motion_basis(q, t=t, parameters=parameters)
        loops = self._engine.loops
        where = loops.conditions(self._time(t), self._given_parameters(parameters))
        rows = q.reshape(-1, self.nq)
        bases = [loops.consistency.motions(one, where, moving=True) for one in rows]
        return np.array(bases).reshape(*q.shape[:-1], self.nv, -1)

    def _check_motion(self, q: Array, v: Array, a: Array, t: float, parameters: Any) -> None:
        """Refuse a state or accelerations that do not satisfy the closures."""
        loops = self._engine.loops
        where = loops.conditions(self._time(t), self._given_parameters(parameters))
        batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], a.shape[:-1])
        rows = [np.broadcast_to(x, (*batch, x.shape[-1])).reshape(-1, x.shape[-1]) for x in (q, v, a)]
        for one_q, one_v, one_a in zip(*rows, strict=True):
            loops.consistency.check(one_q, one_v, where)
            loops.consistency.check_accelerations(one_q, one_v, one_a, where)

    # ------------------------------------------------------------------ arguments

    def _guess(self, guess: Any) -> tuple[Array, list[Any]]:
        """Return a guess as coordinates, and which freedoms it was about, joint by joint."""
        given: list[Any] = []
        if guess is None:
            return self._states.neutral(), given
        if isinstance(guess, Mapping):
            q = self._states.coordinates(guess)
            for joint in guess:
                mask = np.zeros(self.nv, dtype=bool)
                mask[self._states.v_slice(joint)] = True
                given.append(mask)
        else:
            q = np.array(self._one_configuration(guess))
        if not np.isfinite(q).all():
            i = int(np.flatnonzero(~np.isfinite(q))[0])
            raise StateError(f"the guess for the {self._states.position_label(i)} is {q[i]}: it must be finite")
        return self._states.normalize(q), given

    def _as_guess(self, q: Any) -> Any:
        """Return coordinates given by joint as a configuration, others as they are."""
        return self._states.coordinates(q) if isinstance(q, Mapping) else q

    def _efforts(self, tau: Any) -> Array:
        """Return efforts given by joint or all of them."""
        return self._motion(tau, "tau")[0]

    def _neutral_or(self, guess: Any) -> Array:
        return self._guess(guess)[0]

    def _motion(self, values: Any, name: str) -> tuple[Array, Any]:
        """Return velocities or accelerations given by joint or all of them, and which were given by joint."""
        given = np.zeros(self.nv, dtype=bool)
        if values is None:
            return np.zeros(self.nv), given
        if isinstance(values, Mapping):
            for joint in values:
                given[self._states.v_slice(joint)] = True
            result = self._states.velocities(values)
        else:
            result = np.array(as_array(values, self._engine.argument(name, self.nv)))
        if result.ndim != 1 or not np.isfinite(result).all():
            raise StateError(f"{name} must be one vector of {self.nv} finite numbers, or numbers by joint")
        return result, given

    def _freedoms(self, names: Any, what: str) -> Any:
        """Return which freedoms are named: joints, or (joint, index) pairs."""
        mask = np.zeros(self.nv, dtype=bool)
        if names is None:
            return mask
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise StateError(f"{what}= must list joints, or (joint, index) pairs")
        for item in names:
            joint, index = item if isinstance(item, tuple) and len(item) == 2 else (item, None)
            where = self._states.v_slice(joint)
            if index is None:
                mask[where] = True
                continue
            if not isinstance(index, int | np.integer) or not 0 <= index < where.stop - where.start:
                raise StateError(f'{what}=: joint "{joint}" has no freedom {index!r}')
            mask[where.start + int(index)] = True
        return mask

    def _configurations(self, q: Any) -> Array:
        return as_array(q, self._engine.argument("q", self.nq))

    def _one_configuration(self, q: Any) -> Array:
        array = self._configurations(q)
        if array.ndim != 1:
            raise StateError(f"this call takes one configuration of {self.nq} numbers, not a batch")
        if not np.isfinite(array).all():
            i = int(np.flatnonzero(~np.isfinite(array))[0])
            raise StateError(f"q[{i}] is {array[i]}: {self._states.position_label(i)} must be a finite number")
        return array

    def _time(self, t: Any) -> float:
        array = as_array(t, Argument("t", 1, lambda i: "the time"))
        if array.shape != (1,) or not np.isfinite(array[0]):
            raise StateError("t must be one finite number, the time")
        return float(array[0])

    def _given_parameters(self, parameters: Any) -> Array | None:
        values = self._engine.parameters(parameters)
        if values is None:
            return None
        array = as_array(values, self._engine.argument("parameters", len(self._engine.description.parameters)))
        if array.ndim != 1:
            raise StateError("this call takes one set of parameters, not a batch")
        return array

    def _report_jump(self, guess: Array, found: Assembled, given: Any) -> None:
        """Warn if a coordinate that was asked for ended up far away, or another start was needed."""
        loops = self._engine.loops
        moved = np.abs(loops.assembler.space.difference(guess, found.q) / loops.numbers.column_scale)
        far = np.flatnonzero(given & (moved > _JUMP))
        if far.size:
            i = int(far[np.argmax(moved[far])])
            raise_to = f"the {self._states.velocity_label(i).replace('velocity', 'position')}"
            warnings.warn(
                f"the loops could not be closed near the guess: {raise_to} moved by "
                f"{moved[i] * loops.numbers.column_scale[i]:.3g}; check the branch, or hold the joint",
                AssemblyWarning,
                stacklevel=3,
            )
        elif not found.straight:
            warnings.warn(
                "the loops could not be closed straight from the guess, but from another start: check that the branch "
                "is the one that is meant, or give a nearer guess",
                AssemblyWarning,
                stacklevel=3,
            )


def _four_bar() -> Any:
    """Return the four-bar of the examples.

    >>> _four_bar().nv
    4
    """
    from whippletree.system.examples import four_bar

    return four_bar()
