"""The system: a plan, its kernels, and the calls that users make."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import attrgetter
from types import MethodType
from typing import TYPE_CHECKING, Any, Unpack

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from whippletree.errors import StateError
from whippletree.formulations.methods.registry import formulation_name
from whippletree.foundation.late_imports import Verb, imported
from whippletree.foundation.notebook_html import html_section, html_table
from whippletree.foundation.old_names import old_names
from whippletree.foundation.once import made_once
from whippletree.foundation.short_text import counted
from whippletree.foundation.user_frames import user_facing
from whippletree.kernels.kernel import Array
from whippletree.model.argument_types import ByJoint, Freedoms, JointLike
from whippletree.model.description import Description
from whippletree.model.names import suggestion
from whippletree.spatial.scalars import shown, truth
from whippletree.system.call_options import (
    DynamicsOptions,
    ForceOptions,
    FunctionOptions,
    InverseOptions,
    MassOptions,
    SourceOptions,
)
from whippletree.system.derivative_calls import DerivativeCalls
from whippletree.system.element_calls import ElementCalls
from whippletree.system.engine import Engine
from whippletree.system.evaluator import Evaluator, JointValues, ParameterValues, options_of
from whippletree.system.example_systems import four_bar, pendulum, quarter_car  # noqa: F401 (for the examples)
from whippletree.system.fast_path import fast_path
from whippletree.system.kinematic_calls import KinematicCalls
from whippletree.system.loop_calls import LoopCalls
from whippletree.system.planning import plan_of, with_welds
from whippletree.system.public_call import public_call
from whippletree.system.reaction_calls import ReactionCalls
from whippletree.system.system_kernels import BuildOptions, SystemKernels
from whippletree.system.tolerances import COARSEST_DATA, DATA_ACCURACY
from whippletree.topology import Plan

if TYPE_CHECKING:
    import whippletree.equilibria
    import whippletree.kinematics.inverse_kinematics
    import whippletree.kinematics.joint_sweeps
    import whippletree.linear
    import whippletree.realtime
    import whippletree.studies
    import whippletree.system.matrix_calls
    import whippletree.viewer
    from whippletree.natural import NaturalCoordinates
    from whippletree.system.absolute_coordinates import AbsoluteCoordinates

__all__ = ["BuildOptions", "System"]


def _of_room(room: str, name: str) -> tuple[str, Callable[[Any], Any]]:
    """Return the successor of a method that is a function of a room."""
    return f"whippletree.{room}.{name}(system, ...)", lambda s: MethodType(imported(f"whippletree.{room}", name), s)


@old_names(
    actuation=_of_room("kinematics", "actuation"),
    assemble_batch=_of_room("kinematics", "assemble_batch"),
    build_options="kernels.build_options",
    characteristic_length="kernels.closures.characteristic_length",
    closure_errors="kernels.closures.closure_errors",
    closure_lengths="kernels.closures.closure_lengths",
    coordinates="configuration",
    data_slack="kernels.closures.data_slack",
    dissipated_powers="kernels.elements.dissipated_powers",
    eigenvalues_over=_of_room("equilibria", "eigenvalues_over"),
    element_states="kernels.elements.names",
    equilibrium_path=_of_room("equilibria", "equilibrium_path"),
    kernel="kernels.kernel",
    minimal_coordinates=_of_room("linear", "minimal_coordinates"),
    mobility_at=_of_room("kinematics", "mobility_at"),
    motion_basis=('System.matrices(q)["E"]', attrgetter("kernels.closures.motion_basis")),
    n_bodies=("len(System.description.bodies)", attrgetter("_n_bodies")),
    neutral="configuration",
    normalize="configuration",
    opening_in_words="kernels.closures.opening_in_words",
    operations="kernels.operations",
    penalty_error="kernels.closures.penalty_error",
    redundancy=("len(System.mobility.redundant)", attrgetter("kernels.closures.redundancy")),
    states=("z={...} by name in every call", attrgetter("kernels.inputs.auxiliary")),
    station_jacobians=_of_room("kinematics", "station_jacobians"),
    station_poses=_of_room("kinematics", "station_poses"),
    tune="kernels.tune",
    view=_of_room("viewer", "view"),
    with_loop_plan="kernels.planned",
)
@user_facing
class System(KinematicCalls, LoopCalls, ReactionCalls, ElementCalls, DerivativeCalls):
    """A mechanism ready to compute: `system = mechanism.build()`.

    Calls take one state `(n,)` or a batch `(..., n)`; a batch is shared among threads (`threads=`, all processors by
    default), and the results do not depend on how. `out=` takes an array for the result.

    The calls come in groups: dynamics (here), kinematics, reactions, loops, force elements, derivatives, and what
    functions are made of. Each group is a class of its own, in a file of its own.

    >>> import whippletree as wt
    >>> m = wt.Mechanism("pendulum")
    >>> rod = m.body("rod", wt.rod(length=1.0, mass=2.0, axis="x"))
    >>> hinge = m.revolute("hinge", m.ground, rod, axis="y")
    >>> s = m.build()
    >>> bool(abs(s.forward_dynamics([0.0], [0.0])[0] - 1.5 * 9.81) < 1e-12)
    True
    """

    def __init__(
        self,
        description: Description,
        *,
        fold: bool = False,
        guess: JointValues = None,
        hold: Freedoms | None = None,
        cut: Sequence[JointLike] | None = None,
        dependent: Freedoms | None = None,
        accuracy: float = DATA_ACCURACY,
    ) -> None:
        accuracy = _accuracy(accuracy)
        self._options = BuildOptions(fold=fold, guess=guess, hold=hold, cut=cut, dependent=dependent, accuracy=accuracy)
        self.description = description.folded() if truth(fold, "fold=") else description
        whole, cut = with_welds(self.description, cut)
        self.plan: Plan = plan_of(whole, cut)
        self.nq, self.nv = self.plan.nq, self.plan.nv
        self._n_bodies = len(description.bodies)
        self._use(Engine(whole, self.plan, accuracy=accuracy))
        if self.kernels.closed:
            q = self._assembled(guess, {"hold": hold})
            self._q0, self._v0 = self.kernels.closures.begin(q, dependent)
            self.plan = replace(self.plan, notes=self.kernels.closures.choice_in_words)
            self._check_laws(self._q0)
        else:
            self._q0, self._v0 = self._assembled(guess, {}), np.zeros(self.nv)

    def _use(self, engine: Engine, *, once: bool = False) -> None:
        """Make what the groups of calls work with, on an engine."""
        self._engine, self._inputs, self._lock = engine, engine.inputs, engine.lock
        self._evaluate = Evaluator(engine, once=once)
        self._cached = self._evaluate.cached
        self.kernels = SystemKernels(
            self._evaluate,
            build_options=self._options,
            planned=lambda plan: _Variant(self, engine.planned(plan), once=once),
            once=lambda: self if once else _Variant(self, engine, once=True),
        )

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.description, {**self._options, "guess": self._q0, "hold": None})

    def __repr__(self) -> str:
        joints = f" of joints, mobility {self.mobility.mobility}" if self.kernels.closed else ""
        bodies = counted(self._n_bodies, "body")
        return f'System "{self.description.name}": {bodies}, {counted(self.nv, "freedom")}{joints}'

    def _repr_html_(self) -> str:
        described = self.description
        counts = [
            ("bodies", self._n_bodies),
            ("freedoms of the joints" if self.kernels.closed else "freedoms", self.nv),
            ("loops", len(self.plan.loops)),
            ("mobility", self.mobility.mobility),
            ("closures", ", ".join(use.name for use in described.closures)),
            ("forces", ", ".join(use.name for use in described.forces)),
            ("states of elements", ", ".join(self.kernels.elements.names)),
            ("parameters", ", ".join(f"{one.name} = {one.value:g}" for one in described.parameters)),
        ]
        joints = [
            (
                use.name,
                use.joint.kind,
                use.parent,
                use.child,
                ", ".join(f"{x:.6g}" for x in self._q0[self.q_slice(use.name)]),
            )
            for use in described.joints
        ]
        head = ("joint", "type", "parent", "child", "coordinates at the start")
        shown_counts = html_table(row for row in counts if row[1] != "")
        return html_section(f'System "{described.name}"', shown_counts, html_table(joints, head))

    # ------------------------------------------------------------------ names and states

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joints in the order of `q` and `v`.

        >>> pendulum().joint_names
        ('hinge',)
        """
        return tuple(use.name for use in self.description.joints)

    @property
    def q0(self) -> Array:
        """A configuration to start from: the guess that the system was built with, loops closed; else the neutral one.

        >>> pendulum().q0
        array([0.])
        """
        return self._q0.copy()

    @property
    def v0(self) -> Array:
        """Velocities to start from: zero, or those that time-dependent closures demand.

        >>> pendulum().v0
        array([0.])
        """
        return self._v0.copy()

    @public_call
    def q_slice(self, joint: JointLike) -> slice:
        """Return where a joint's coordinates are in `q`.

        >>> pendulum().q_slice("hinge")
        slice(0, 1, None)
        """
        return self.kernels.states.q_slice(joint)

    @public_call
    def v_slice(self, joint: JointLike) -> slice:
        """Return where a joint's velocities are in `v`, efforts and accelerations.

        >>> pendulum().v_slice("hinge")
        slice(0, 1, None)
        """
        return self.kernels.states.v_slice(joint)

    @public_call
    def configuration(self, values: JointValues = None) -> Array:
        """Return a configuration (nq) from coordinates by joint, the others neutral: joint frames coincide.

        Coordinates of all joints, (nq) or (..., nq), are copied, with every quaternion scaled to unit length.

        >>> pendulum().configuration({"hinge": 0.5}), pendulum().configuration()
        (array([0.5]), array([0.]))
        """
        return self.kernels.states.configuration(values)

    @public_call
    def velocities(self, values: ByJoint) -> Array:
        """Return a vector (nv) from joints' velocities, accelerations or efforts by name; the others are zero.

        >>> pendulum().velocities({"hinge": 2.0})
        array([2.])
        """
        return self.kernels.states.velocities(values)

    # ------------------------------------------------------------------ dynamics

    @fast_path
    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: JointValues = None,
        *,
        out: Array | None = None,
        **options: Unpack[DynamicsOptions],
    ) -> Array:
        """Return the accelerations (nv) under joint efforts `tau`, wrenches at frames, and the described forces.

        Efforts are given whole, or by joint: `tau={"A": 1.0}`, the others being zero. At prescribed hinges the
        acceleration is taken from `a`. `wrenches` maps frames or bodies to [moment; force] at their origin, in ground
        axes. `z` are the auxiliary states, `z0` unless given. With loops, a state that does not satisfy the closures is
        refused unless `check=False`; `baumgarte=(alpha, beta)` adds 2 alpha phi' + beta^2 phi to what the closures are
        driven by (formulations "joint_multipliers", "tree_augmented", "fully_recursive", and "velocity_transformation"
        with `closed_by="multipliers"`). Some formulations leave a choice, such as `reference="joint"` of
        "fully_recursive".

        >>> pendulum().forward_dynamics([0.0], [0.0]).round(6)
        array([14.715])
        """
        return self._evaluate.answer("forward_dynamics", (q, v, tau), options, out)

    @fast_path
    def driving_forces(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: JointValues = None,
        *,
        out: Array | None = None,
        **options: Unpack[DynamicsOptions],
    ) -> Array:
        """Return the efforts (nv): `tau` at free joints, and at prescribed hinges those of their acceleration `a`.

        >>> pendulum().driving_forces([0.0], [0.0], [0.5])  # nothing is prescribed here
        array([0.5])
        """
        return self._evaluate.answer("driving_forces", (q, v, tau), options, out)

    @fast_path
    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: JointValues = None,
        *,
        out: Array | None = None,
        **options: Unpack[InverseOptions],
    ) -> Array:
        """Return the joint efforts (nv) for accelerations `a`.

        With loops, or with `actuators`, only those joints act (names, or (name, index) pairs; all joints by default).
        If there are more of them than freedoms, the efforts of least norm are returned; if there are too few for the
        motion, it is refused. Of a batch, each state is looked at with its own parameters.

        >>> pendulum().inverse_dynamics([0.0], [0.0], [0.0]).round(6)
        array([-9.81])
        """
        actuators, threads = options.pop("actuators", None), options.get("threads")
        given = options_of(options, checked=True)
        if self.kernels.closed or actuators is not None:
            formulation_name(given.formulation)  # which is looked at, and not needed
            return self.kernels.closures.actuator_efforts(q, v, a, actuators, given, out, threads, self._uncontrolled)
        return self._evaluate("inverse_dynamics", (q, v, a), given, out, threads)

    def _uncontrolled(self, q: Array, acting: list[tuple[str, int]], t: float, parameters: ParameterValues) -> str:
        """Say which motion some actuated freedoms do not control at a configuration."""
        actuation = imported("whippletree.kinematics", "actuation")
        return str(actuation(self, q, actuators=acting, t=t, parameters=parameters).words)

    @fast_path
    def bias_force(
        self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, **options: Unpack[ForceOptions]
    ) -> Array:
        """Return the joint efforts (nv) that hold the accelerations at zero: velocity terms, gravity and all forces.

        >>> pendulum().bias_force([0.0], [0.0]).round(6)
        array([-9.81])
        """
        return self._evaluate.answer("bias_force", (q, v), options, out)

    @fast_path
    def mass_matrix(self, q: ArrayLike, *, out: Array | None = None, **options: Unpack[MassOptions]) -> Array:
        """Return the mass matrix (nv, nv).

        >>> pendulum().mass_matrix([0.0]).round(6)
        array([[0.666667]])
        """
        return self._evaluate.answer("mass_matrix", (q,), options, out)

    # ------------------------------------------------------------------ the work of other rooms

    simulate = Verb(lambda: whippletree.studies.simulate)
    simulate_many = Verb(lambda: whippletree.studies.simulate_many)
    realtime = Verb(lambda: whippletree.realtime.realtime)
    equilibrium = Verb(lambda: whippletree.equilibria.equilibrium)
    linearize = Verb(lambda: whippletree.linear.linearize)
    inverse_kinematics = Verb(lambda: whippletree.kinematics.inverse_kinematics.inverse_kinematics)
    sweep_joint = Verb(lambda: whippletree.kinematics.joint_sweeps.sweep_joint)
    matrices = Verb(lambda: whippletree.system.matrix_calls.matrices)
    show = Verb(lambda: whippletree.viewer.show)

    # ------------------------------------------------------------------ other coordinates

    @made_once
    def natural(self) -> NaturalCoordinates:
        """The points and unit vectors of the mechanism, their conditions, and conversions of states.

        >>> four_bar().natural.n_coordinates
        15
        """
        found: NaturalCoordinates = imported("whippletree.natural", "NaturalCoordinates")(self)
        return found

    @made_once
    def absolute(self) -> AbsoluteCoordinates:
        """The mechanism in absolute coordinates: position and quaternion of every body, every joint a closure.

        >>> four_bar().absolute.n_coordinates
        21
        """
        found: AbsoluteCoordinates = imported("whippletree.system.absolute_coordinates", "AbsoluteCoordinates")(self)
        return found

    @public_call
    def c_source(self, /, name: str, **options: Unpack[SourceOptions]) -> str:
        """Return a function of the system as C source, or a step of fixed length with `name="step"`.

        Options of a function are those of `function`. Those of a step are `realtime`'s, `prefix`, which begins all
        names of the file ("model" unless given), and `frames`, whose poses and velocities are its outputs.

        >>> "mass_matrix" in four_bar().c_source("mass_matrix")
        True
        >>> "int crank_step(crank_state *state" in four_bar().c_source("step", step=1e-3, prefix="crank")
        True
        """
        given: dict[str, Any] = {**options}
        if name != "step":
            for option in given.keys() & (
                SourceOptions.__annotations__.keys() - FunctionOptions.__annotations__.keys()
            ):
                raise StateError(f'{option}= belongs to c_source("step")')
            return self.kernels.c_source(name, **given)
        prefix, frames = given.pop("prefix", ""), given.pop("frames", ())
        known = inspect.signature(self.realtime).parameters
        for option in given.keys() - known.keys():
            raise StateError(f'c_source("step") has no option {suggestion(option, [*known, "prefix", "frames"])}')
        return self.realtime(**given).c_source(name=prefix, frames=frames)

    def readable_source(self, name: str, language: str = "python", **options: Any) -> str:
        """Return a function of the system as source that a person can read: Python with NumPy, or "c".

        Quantities are named by letter and joint (`w_elbow_z`), and each step of a recursion says what it does.
        Options are those of `function`.

        >>> print(pendulum().readable_source("mass_matrix").splitlines()[3])
        def mass_matrix(q):
        """
        return self.kernels.readable_source(name, language, **options)

    # ------------------------------------------------------------------ force elements

    @property
    def nz(self) -> int:
        """The number of auxiliary states.

        >>> quarter_car().nz
        1
        """
        return len(self.kernels.elements.names)

    @property
    def z0(self) -> Array:
        """The auxiliary states at the start, as described.

        >>> quarter_car().z0
        array([0.])
        """
        return self.kernels.elements.initial()

    # ------------------------------------------------------------------ the equations behind a function

    @public_call
    def function(self, /, name: str, **options: Unpack[FunctionOptions]) -> ca.Function:
        """Return any function of the system as a CasADi Function.

        Inputs are in the order of `name_in()`, wrenches in that in which they are listed. Each input and the output is
        one column; matrices are row by row. `joints=["A"]` asks for the reactions of some joints alone.

        >>> pendulum().function("mass_matrix").name_in()
        ['q']
        """
        return self.kernels.function(name, **options)


def _accuracy(value: float | None) -> float:
    """Return the accuracy of data as a number, or refuse it."""
    found = value if isinstance(value, int | float) and not isinstance(value, bool) else np.nan
    if not 0 <= found <= COARSEST_DATA:
        raise StateError(
            f"accuracy= tells how good the data of loops are, in radians and characteristic lengths: a number from 0 "
            f"(exact) to {COARSEST_DATA:g}, not {shown(value)}"
        )
    return float(found)


class _Variant(System):
    """A system under another numeric plan of its loops, or not compiled; what was traced is shared with the first."""

    def __init__(self, first: System, engine: Engine, *, once: bool) -> None:
        for name in ("_options", "_n_bodies", "_q0", "_v0", "description", "plan", "nq", "nv"):
            setattr(self, name, getattr(first, name))
        self._use(engine, once=once)


def _rebuild(description: Description, options: BuildOptions) -> System:
    return System(description, **options)
