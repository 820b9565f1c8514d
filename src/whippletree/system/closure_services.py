"""A system's closures in numbers, for other rooms and for its own calls: `system.kernels.closures`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from whippletree.errors import AssemblyWarning, DynamicsError, StateError, WhippletreeError
from whippletree.foundation.user_frames import warn
from whippletree.kernels.kernel import Array
from whippletree.model.argument_types import Freedoms, JointValues
from whippletree.spatial.scales import vanishing
from whippletree.system.calls import batch_shape, checked_out, number_of_threads
from whippletree.system.evaluator import AUTO, CallOptions, Evaluator, ParameterValues
from whippletree.system.example_systems import four_bar  # noqa: F401 (for the examples)
from whippletree.system.input_reader import as_array, state_in_batch
from whippletree.system.loop_plan import Conditions, LoopPlan
from whippletree.system.loop_services import LoopServices
from whippletree.system.tolerances import OPEN_OVER_ACCURACY

if TYPE_CHECKING:
    from whippletree.system.formulation_choice import FormulationChoice
    from whippletree.system.mobility import Mobility

__all__ = ["ClosureServices"]

_JUMP = 0.5
"""A coordinate that was given but moved farther than this in assembly (radians, lengths) is reported."""


class ClosureServices:
    """The calls of a system about the numbers of its loops; on a tree, the answers are the plain ones."""

    def __init__(self, evaluate: Evaluator) -> None:
        self._evaluate, self._inputs = evaluate, evaluate.inputs
        self._engine, self._states = evaluate.engine, evaluate.inputs.states
        self.closed = evaluate.closed
        self.nv = self._inputs.nv

    @property
    def loops(self) -> LoopServices:
        """The pieces that look after the closures, under the present plan."""
        return self._engine.loops

    def conditions(self, t: ArrayLike, parameters: ParameterValues) -> Conditions:
        """Return time and parameters, as given, under which the closures are looked at."""
        return self.loops.conditions(self._inputs.time(t), self._inputs.parameter_set(parameters))

    def for_each(
        self, answer: Callable[..., Array], t: ArrayLike, parameters: ParameterValues, **vectors: Array
    ) -> Array:
        """Return `answer(conditions, *vectors)` at a state, or at each state of a batch, under its own conditions.

        The leading sizes of time, parameters and vectors broadcast. What is wrong with a state of a batch is said with
        its index. An empty batch is answered with the sizes of its last vector.

        >>> s = four_bar()
        >>> states = np.stack([s.q0, s.q0, s.q0])
        >>> s.kernels.closures.for_each(lambda where, q: q[:1], 0.0, None, q=states).shape
        (3, 1)
        """
        inputs = self._inputs
        given = {**vectors, "t": as_array(t, inputs.argument("t", 1)), "parameters": inputs.parameter_sets(parameters)}
        shape = self.common_shape(**given)
        rows = {name: np.broadcast_to(x, (*shape, x.shape[-1])) for name, x in given.items() if x is not None}
        found: list[Array] = []
        for index in np.ndindex(shape):
            one = {name: np.array(x[index]) for name, x in rows.items()}
            where = self.loops.conditions(inputs.time(one.pop("t")), one.pop("parameters", None))
            try:
                found.append(answer(where, *one.values()))
            except WhippletreeError as error:
                if not shape:
                    raise
                raise type(error)(f"{state_in_batch(index).strip()}: {error}") from None
        answers = np.array(found) if found else np.zeros((0, [*vectors.values()][-1].shape[-1]))
        return answers.reshape((*shape, *answers.shape[1:]))

    def common_shape(self, **given: Array | None) -> tuple[int, ...]:
        """Return the shape to which the leading sizes of arguments broadcast; those that do not fit are named.

        >>> four_bar().kernels.closures.common_shape(q=np.zeros((3, 1, 4)), v=np.zeros((2, 4)))
        (3, 2)
        """
        sizes = {name: 0 if x is None else x.shape[-1] for name, x in given.items()}
        return batch_shape([self._inputs.argument(name, n) for name, n in sizes.items()], [*given.values()])

    def begin(self, q: Array, dependent: Freedoms | None) -> tuple[Array, Array]:
        """Decide about the loops at a closed configuration, and return a configuration and velocities to start."""
        wanted: frozenset[int] | None = None
        if dependent is not None:
            wanted = frozenset(np.flatnonzero(self._inputs.freedoms(dependent, "dependent")).tolist())
        where = self.loops.conditions()
        plan, mobility = self.loops.planner.make(q, where, wanted)
        self._report_independent(wanted or frozenset(), plan)
        self._engine.adopt(plan, mobility)
        if plan.slack:
            q, _ = self.loops.on_kept_rows(q, np.zeros(self.nv), where)
        v = self.loops.consistency.velocities(q, np.zeros(self.nv), where)
        if mobility.singular:
            warn(
                f"the mechanism is assembled near a singular configuration: the closures' smallest singular value is "
                f"{mobility.smallest:.2g} of the largest; give another guess if that is not meant",
                AssemblyWarning,
            )
        return q, v

    def _report_independent(self, wanted: frozenset[int], plan: LoopPlan) -> None:
        """Warn if freedoms that were to be dependent are not, so that others depend in their place."""
        names = self._states.freedom_name
        kept = [names(i) for i in plan.choice.independent if i in wanted]
        if kept:
            independent = _listed([names(i) for i in plan.choice.independent])
            warn(
                f"dependent= asks that {_listed(kept)} depend on others, which the loops do not allow here: "
                f"independent are {independent}; ask for other joints, or for fewer",
                AssemblyWarning,
            )

    @property
    def mobility(self) -> Mobility:
        """Return Gruebler's count, the true mobility and the redundant equations."""
        if not self.closed:
            from whippletree.system.mobility import Mobility

            labels = tuple(self._states.freedom_name(i) for i in range(self.nv))
            own = self._engine.plan.n_own
            return Mobility(self.nv, self.nv, (), labels, 1.0, self.nv, own)
        found = self.loops.mobility
        assert found is not None
        return found

    @property
    def chosen(self) -> FormulationChoice:
        """Return the formulation that `auto` uses for the dynamics, and why."""
        return self.loops.auto.chosen if self.closed else self._engine.of_tree

    def tune(self) -> FormulationChoice:
        """Let `auto` mean the fastest formulation on this machine, and return the measured choice.

        What `auto` means otherwise follows from operations, and is the same everywhere. Here the candidates that are
        close to the cheapest are compiled and timed, which takes some seconds, and this system uses the fastest from
        now on; so results may differ in their last digits from those of another machine.

        >>> from whippletree.model import Mechanism
        >>> s = Mechanism.of(four_bar().description).build()
        >>> s.kernels.tune().name == s.chosen.name
        True
        >>> s.chosen.times[s.chosen.name] > 0
        True
        """
        chosen = self._engine.tune()
        self._evaluate.forget()
        return chosen

    def choice_in_words(self) -> str:
        """Return the words of the plan on the formulation; a model without masses is for kinematics only."""
        masses = (body.mass_and_first_moment()[0] for body in self._engine.description.bodies)
        if not all(m.is_zero() for m in masses):
            return str(self.chosen)
        return "no masses: for kinematics only"

    @property
    def redundancy(self) -> int:
        """Return the number of equations that follow from the others."""
        if not self.closed:
            return 0
        equations = self._engine.equations
        return equations.attachments().n_rows - sum(len(rows) for rows in equations.loop_plan.keep)

    @property
    def characteristic_length(self) -> float:
        """Return the mean size of the bodies."""
        return self.loops.numbers.lengths.mechanism

    @property
    def penalty_error(self) -> float:
        """Return the relative error to expect of the formulation "penalty"."""
        return self._engine.equations.loop_plan.penalty.error if self.closed else 0.0

    def check_motion(self, q: Array, v: Array, a: Array, t: ArrayLike, parameters: ParameterValues) -> None:
        """Refuse states or accelerations that do not satisfy the closures, each under its own conditions."""
        consistency = self.loops.consistency

        def check(where: Conditions, q: Array, v: Array, a: Array) -> Array:
            consistency.check(q, v, where)
            consistency.check_accelerations(q, v, a, where)
            return a

        self.for_each(check, t, parameters, q=q, v=v, a=a)

    @property
    def closure_rows(self) -> tuple[str, ...]:
        """Return the names of the closures' rows: joint or closure, and direction."""
        if not self.closed:
            return ()
        return tuple(f'"{row.closure}": {row.direction}' for row in self.loops.numbers.rows)

    @property
    def closure_lengths(self) -> Array:
        """Return the length that each row of the closures is compared with."""
        return self.loops.numbers.row_scale.copy() if self.closed else np.zeros(0)

    def data_slack(self, v: Array) -> tuple[float, float]:
        """Return how far redundant equations may be open because of the accuracy of the data, and how fast.

        That is zero if they agree but for rounding; in radians and characteristic lengths, `v` (n, nv) are velocities.

        >>> four_bar().kernels.closures.data_slack(np.ones((1, 4)))
        (0.0, 0.0)
        """
        v = self._inputs.velocities(v)
        open_by = OPEN_OVER_ACCURACY * self._engine.equations.loop_plan.slack if self.closed else 0.0
        speed = np.linalg.norm(v / self.loops.numbers.column_scale, axis=1).max(initial=0.0) if open_by else 0.0
        return open_by, float(open_by * speed)

    def opening_in_words(self, errors: Array, *, rate: bool = False) -> str:
        """Say which of the closures' errors, or their rates, is the largest; these are as `closure_errors` has them.

        In metres or radians, and these per second. Nothing is said about errors that are all zero.

        >>> four_bar().kernels.closures.opening_in_words(np.array([0.0, 0.0, 0.0, 2e-9, 0.0, 0.0]), rate=True)
        '3e-09 m/s in "C": shift along x'
        """
        rows = self.loops.numbers.rows if self.closed else ()
        if errors.shape != (len(rows),):
            raise StateError(f"errors must be those of {len(rows)} closure rows, and their shape is {errors.shape}")
        if not errors.any():
            return ""
        k = int(np.argmax(errors))
        row, size = rows[k], errors[k] * self.loops.numbers.row_scale[k]
        return f'{size:.2g}{row.rate_unit() if rate else row.unit} in "{row.closure}": {row.direction}'

    def closure_errors(self, q: Array, v: Array, t: Array, parameters: ParameterValues = None) -> tuple[Array, Array]:
        """Return how far the closures are from closed in many states (n, m), and how fast they open.

        In radians and characteristic lengths.

        >>> s = four_bar()
        >>> errors, rates = s.kernels.closures.closure_errors(s.q0[None], s.v0[None], np.zeros(1))
        >>> errors.shape, rates.shape
        ((1, 6), (1, 6))
        """
        _, values = self.loops.conditions(0.0, self._inputs.parameter_set(parameters))
        q, v = self._inputs.configurations(q), self._inputs.velocities(v)
        times = as_array(t, self._inputs.argument("t", len(q)))
        if q.ndim != 2 or v.ndim != 2 or times.ndim != 1 or len(v) != len(q):
            raise StateError("q, v and t must be those of as many states: of the shapes (n, nq), (n, nv) and (n,)")
        return self.loops.numbers.openings(q, v, times, values)

    def motion_basis(self, q: ArrayLike, *, t: float = 0.0, parameters: ParameterValues = None) -> Array:
        """Return E (nv, n): all joints' velocities for unit rates of the independent coordinates (Nikravesh 17).

        >>> s = four_bar()
        >>> s.kernels.closures.motion_basis(s.q0).shape
        (4, 1)
        """
        if not self.closed:
            self._inputs.idle(t=t, parameters=parameters)
            shape = self._inputs.configurations(q).shape[:-1]
            return np.array(np.broadcast_to(np.eye(self.nv), (*shape, self.nv, self.nv)))
        if not self._engine.equations.loop_plan.choice.independent:
            return np.zeros((*self._inputs.configurations(q).shape[:-1], self.nv, 0))
        return self._evaluate("motion_basis", (q,), CallOptions(t=t, parameters=parameters))

    def _all_motions(self, q: Array, t: Any, parameters: ParameterValues) -> Array:
        """Return a basis of all motions that the loops allow, prescribed joints moving too."""
        if not self.closed or not self._engine.equations.prescribed:
            return self.motion_basis(q, t=t, parameters=parameters)
        motions = self.loops.consistency.motions
        return self.for_each(lambda where, one: motions(one, where, moving=True), t, parameters, q=q)

    def self_stresses(self, q: Array, t: ArrayLike, parameters: ParameterValues) -> Array:
        """Return the reactions (..., n_joints, 6, k) that balance by themselves, singular or not; k is the most."""
        stresses: list[Array] = []

        def count(where: Conditions, one: Array) -> Array:
            stresses.append(self.loops.consistency.self_stresses(one, where))
            return np.array(stresses[-1].shape[-1])

        counts = self.for_each(count, t, parameters, q=q)
        most = counts.max(initial=0)
        padded = np.array([np.pad(Z, ((0, 0), (0, 0), (0, most - Z.shape[-1]))) for Z in stresses])
        return padded.reshape((*counts.shape, *padded.shape[1:]))

    def actuator_efforts(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: JointValues,
        actuators: Freedoms | None,
        options: CallOptions,
        out: Array | None,
        threads: int | None,
        uncontrolled: Callable[[Array, list[tuple[str, int]], float, ParameterValues], str],
    ) -> Array:
        """Return the efforts of some joints that make the mechanism move as given: E^T tau = E^T tau_tree."""
        inputs, t, parameters = self._inputs, options.t, options.parameters
        number_of_threads(threads)
        acting = np.ones(self.nv, dtype=bool) if actuators is None else inputs.freedoms(actuators, "actuators")
        q, v = inputs.configurations(q), inputs.velocities(v)
        a = np.zeros(self.nv) if a is None else inputs.accelerations(a)
        if options.check and self.closed:
            self.check_motion(q, v, a, t, parameters)
        call, more = self._evaluate.prepare("inverse_dynamics", options._replace(formulation=AUTO, check=False))
        tree = call.run((q, v, a, *more), None, threads)
        E = self._all_motions(q, t, parameters)
        needed = np.einsum("...ij,...i->...j", E, tree)
        A = np.swapaxes(E[..., acting, :], -1, -2)
        efforts = np.einsum("...ij,...j->...i", np.linalg.pinv(A, rcond=1e-10), needed)
        left = np.abs(np.einsum("...ij,...j->...i", A, efforts) - needed)
        if not vanishing(left, needed, tree, share=1e-8).all():
            at = np.unravel_index(int(left.argmax()), left.shape)[:-1]
            values = inputs.parameter_sets(parameters)
            given = (q, as_array(t, inputs.argument("t", 1)), np.zeros(0) if values is None else values)
            one_q, one_t, one_set = (np.broadcast_to(x, (*left.shape[:-1], x.shape[-1]))[at] for x in given)
            freedoms = [(self._states.joint_of(int(i)), int(i)) for i in np.flatnonzero(acting)]
            named = [(joint, i - self._states.v_slice(joint).start) for joint, i in freedoms]
            raise DynamicsError(
                f"these {len(named)} actuated freedoms cannot make this motion{state_in_batch(tuple(map(int, at)))}: "
                f"{uncontrolled(one_q, named, float(one_t[0]), None if values is None else one_set)}"
            )
        shape = (*efforts.shape[:-1], self.nv)
        result = np.empty(shape) if out is None else checked_out(out, shape)
        result[...] = 0.0
        result[..., acting] = efforts
        return result


def _listed(names: list[str]) -> str:
    """Return names in quotes."""
    return ", ".join(f'"{name}"' for name in names)
