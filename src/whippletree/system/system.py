"""The system: a plan and its kernels, and the calls that users make."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from whippletree.conveniences import convenience
from whippletree.elements.bodies import rod
from whippletree.errors import StateError
from whippletree.kernels.kernel import Array, Kernel
from whippletree.kernels.rolled import RolledLoops
from whippletree.kernels.tape import OperationCount, read_tape
from whippletree.model import Mechanism
from whippletree.model.description import GROUND, Description
from whippletree.system.calls import Call, as_array
from whippletree.system.closed_calls import ClosedCalls
from whippletree.system.derivative_calls import DerivativeCalls
from whippletree.system.engine import Engine
from whippletree.system.equations import Request, formulation_name
from whippletree.system.loaded_calls import LoadedCalls
from whippletree.system.loop_equations import LoopPlan
from whippletree.system.results import Energy, Momentum, Reactions
from whippletree.topology import Plan, make_plan

__all__ = ["System"]

AUTO = "auto"
"""The formulation that is best for a function."""

Wrenches = Mapping[Any, Any]


class System(ClosedCalls, LoadedCalls, DerivativeCalls):
    """A mechanism ready to compute: `system = mechanism.build()`.

    Calls take one state `(n,)` or a batch `(..., n)`; a batch is shared among threads (`threads=`, all processors by
    default), and the results do not depend on how. `out=` takes an array for the result.

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
        guess: Any = None,
        hold: Any = None,
        cut: Any = None,
        dependent: Any = None,
    ) -> None:
        self._options = {"fold": fold, "guess": guess, "hold": hold, "cut": cut, "dependent": dependent}
        self.description = description.folded() if fold else description
        self.plan: Plan = _planned(description, cut)
        self.nq, self.nv = self.plan.nq, self.plan.nv
        self.n_bodies = len(description.bodies)
        self._engine = Engine(self.description, self.plan)
        self._states = self._engine.states
        self._ready = self._engine.ready
        self._timed = self.description.timed
        self._closed = self._engine.equations.closed
        self._q0 = self._neutral_or(guess)
        self._v0 = np.zeros(self.nv)
        if self._closed:
            self._begin(guess, hold, dependent)
            self.plan = replace(self.plan, notes=self._choice_in_words)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.description, {**self._options, "guess": self._q0, "hold": None})

    def __repr__(self) -> str:
        return f'System "{self.description.name}": {self.n_bodies} bodies, {self.nv} freedoms'

    def _with_plan(self, plan: LoopPlan) -> System:
        """Return this system with another numeric plan of the loops; what was traced and compiled is shared."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._engine = self._engine.planned(plan)
        twin._ready = twin._engine.ready
        return twin

    # ------------------------------------------------------------------ names and states

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joints in the order of `q` and `v`.

        >>> s = _pendulum()
        >>> s.joint_names
        ('hinge',)
        """
        return self.plan.joint_names

    @property
    def q0(self) -> Array:
        """A configuration to start from: the guess that the system was built with, loops closed; else the neutral one.

        >>> s = _pendulum()
        >>> s.q0
        array([0.])
        """
        return self._q0.copy()

    @property
    def v0(self) -> Array:
        """Velocities to start from: zero, or what time-dependent closures ask for.

        >>> s = _pendulum()
        >>> s.v0
        array([0.])
        """
        return self._v0.copy()

    def q_slice(self, joint: str) -> slice:
        """Return where a joint's coordinates are in `q`.

        >>> s = _pendulum()
        >>> s.q_slice("hinge")
        slice(0, 1, None)
        """
        return self._states.q_slice(joint)

    def v_slice(self, joint: str) -> slice:
        """Return where a joint's velocities are in `v`, efforts and accelerations.

        >>> s = _pendulum()
        >>> s.v_slice("hinge")
        slice(0, 1, None)
        """
        return self._states.v_slice(joint)

    def coordinates(self, values: Mapping[str, Any]) -> Array:
        """Return a configuration from joints' coordinates by name; the others are neutral.

        >>> s = _pendulum()
        >>> s.coordinates({"hinge": 0.5})
        array([0.5])
        """
        return self._states.coordinates(values)

    def velocities(self, values: Mapping[str, Any]) -> Array:
        """Return a vector (nv) from joints' velocities, accelerations or efforts by name; the others are zero.

        >>> s = _pendulum()
        >>> s.velocities({"hinge": 2.0})
        array([2.])
        """
        return self._states.velocities(values)

    def neutral(self) -> Array:
        """Return the configuration in which all joint frames coincide.

        >>> s = _pendulum()
        >>> s.neutral()
        array([0.])
        """
        return self._states.neutral()

    def random(self, seed: int | np.random.Generator | None = None) -> Array:
        """Return a random configuration; the same one for the same seed.

        >>> s = _pendulum()
        >>> bool(s.random(7) == s.random(7))
        True
        """
        if self._closed:
            return self._random_closed(self._states.generator(seed))
        return self._states.random(seed)

    def normalize(self, q: Any) -> Array:
        """Return a copy of `q` with every quaternion scaled to unit length.

        >>> s = _pendulum()
        >>> s.normalize([0.5])  # there are no quaternions in a pendulum
        array([0.5])
        """
        return self._states.normalize(q)

    def integrate(self, q: Any, dv: Any, *, out: Any = None) -> Array:
        """Return the configuration reached from `q` by the displacement `dv` (nv), quaternions on the sphere.

        >>> s = _pendulum()
        >>> s.integrate([0.5], [0.25])
        array([0.75])
        """
        return self._engine.call(Request("integrate")).run((q, dv), out)

    def difference(self, q0: Any, q1: Any, *, out: Any = None) -> Array:
        """Return the displacement (nv) that leads from `q0` to `q1`.

        >>> s = _pendulum()
        >>> s.difference([0.5], [0.75])
        array([0.25])
        """
        return self._engine.call(Request("difference")).run((q0, q1), out)

    def coordinate_rates(self, q: Any, v: Any, *, out: Any = None) -> Array:
        """Return the rates of the coordinates (nq) for velocities `v`.

        >>> s = _pendulum()
        >>> s.coordinate_rates([0.5], [2.0])
        array([2.])
        """
        return self._engine.call(Request("coordinate_rates")).run((q, v), out)

    # ------------------------------------------------------------------ dynamics

    def forward_dynamics(
        self,
        q: Any,
        v: Any,
        tau: Any = None,
        *,
        a: Any = None,
        t: float = 0.0,
        z: Any = None,
        wrenches: Wrenches | None = None,
        parameters: Any = None,
        formulation: str = "auto",
        baumgarte: Any = None,
        check: bool = True,
        out: Any = None,
        threads: int | None = None,
        **choice: Any,
    ) -> Array:
        """Return the accelerations (nv) under joint efforts `tau`, wrenches at frames, and the described forces.

        At prescribed hinges the acceleration is taken from `a`. `wrenches` maps frames or bodies to [moment; force]
        at their origin, in ground axes. `z` are the auxiliary states, `z0` unless given. With loops, a state that does
        not satisfy the closures is refused unless `check=False`; `baumgarte=(alpha, beta)` adds
        2 alpha phi' + beta^2 phi to what the closures are driven by (formulation "joint_multipliers"). Some
        formulations leave a choice, such as `reference="joint"` of "fully_recursive".

        >>> s = _pendulum()
        >>> s.forward_dynamics([0.0], [0.0]).round(6)
        array([14.715])
        """
        if choice:
            formulation = formulation_name(formulation, **choice)
        plain = a is None and wrenches is None and parameters is None and formulation is AUTO and baumgarte is None
        if plain and z is None and not self._timed:
            name = "forward_dynamics" if check else "forward_dynamics, unchecked"
            call = self._ready.get(name) or self._engine.at_hand(name)
            result = call.empty() if out is None else out
            if call.entry(result, q, v, tau) == 0:
                return result
            return call.long_way((q, v, tau), out, threads)
        call, more = self._dynamic("forward_dynamics", formulation, a, t, z, wrenches, parameters, check, baumgarte)
        return call.run((q, v, tau, *more), out, threads)

    def driving_forces(
        self,
        q: Any,
        v: Any,
        tau: Any = None,
        *,
        a: Any = None,
        t: float = 0.0,
        z: Any = None,
        wrenches: Wrenches | None = None,
        parameters: Any = None,
        formulation: str = "auto",
        baumgarte: Any = None,
        check: bool = True,
        out: Any = None,
        threads: int | None = None,
        **choice: Any,
    ) -> Array:
        """Return the efforts (nv): `tau` at free joints, and what prescribed hinges need for their acceleration `a`.

        >>> s = _pendulum()
        >>> s.driving_forces([0.0], [0.0], [0.5])  # nothing is prescribed here
        array([0.5])
        """
        if choice:
            formulation = formulation_name(formulation, **choice)
        plain = a is None and wrenches is None and parameters is None and formulation is AUTO and baumgarte is None
        if plain and z is None and not self._timed:
            name = "driving_forces" if check else "driving_forces, unchecked"
            call = self._ready.get(name) or self._engine.at_hand(name)
            result = call.empty() if out is None else out
            if call.entry(result, q, v, tau) == 0:
                return result
            return call.long_way((q, v, tau), out, threads)
        call, more = self._dynamic("driving_forces", formulation, a, t, z, wrenches, parameters, check, baumgarte)
        return call.run((q, v, tau, *more), out, threads)

    def reactions(
        self,
        q: Any,
        v: Any,
        tau: Any = None,
        *,
        a: Any = None,
        t: float = 0.0,
        z: Any = None,
        wrenches: Wrenches | None = None,
        parameters: Any = None,
        formulation: str = "auto",
        baumgarte: Any = None,
        check: bool = True,
        frame: Any = GROUND,
        threads: int | None = None,
        **choice: Any,
    ) -> Reactions:
        """Return the wrench that every joint transmits to its described child, by joint name.

        It acts at the joint point on that child and includes the actuator's effort. Axes are the ground's, or those
        of `frame`, a body or a frame.

        >>> s = _pendulum()
        >>> s.reactions([0.0], [0.0])["hinge"].force.round(3)  # a falling rod weighs a quarter
        array([0.   , 0.   , 4.905])
        """
        if choice:
            formulation = formulation_name(formulation, **choice)
        call, more = self._dynamic("reactions", formulation, a, t, z, wrenches, parameters, check, baumgarte)
        wrenches_out = call.run((q, v, tau, *more), None, threads)
        name = self._engine.place_name(frame)
        R = None if name == GROUND else self.pose(q, name, parameters=parameters)[..., None, :3, :3]
        unique = None
        if self._closed and self.redundancy:
            wrenches_out, unique = self._shared(wrenches_out, q, R, t, parameters)
        if R is not None:
            pairs = wrenches_out.reshape(*wrenches_out.shape[:-1], 2, 3)
            wrenches_out = np.einsum("...ji,...kj->...ki", R, pairs).reshape(wrenches_out.shape)
        return Reactions(self.joint_names, wrenches_out, unique)

    def inverse_dynamics(
        self,
        q: Any,
        v: Any,
        a: Any = None,
        *,
        actuators: Any = None,
        t: float = 0.0,
        z: Any = None,
        wrenches: Wrenches | None = None,
        parameters: Any = None,
        formulation: str = "auto",
        check: bool = True,
        out: Any = None,
        threads: int | None = None,
    ) -> Array:
        """Return the joint efforts (nv) for accelerations `a`.

        With loops, or with `actuators`, only those joints act (names, or (name, index) pairs; all joints by default).
        If there are more of them than freedoms, the efforts of least norm are returned; if there are too few for the
        motion, it is refused.

        >>> s = _pendulum()
        >>> s.inverse_dynamics([0.0], [0.0], [0.0]).round(6)
        array([-9.81])
        """
        if self._closed or actuators is not None:
            return self._actuated(q, v, a, actuators, t, z, wrenches, parameters, formulation, check, out, threads)
        if wrenches is None and parameters is None and formulation is AUTO and z is None and not self._timed:
            call = self._ready.get("inverse_dynamics") or self._engine.at_hand("inverse_dynamics")
            result = call.empty() if out is None else out
            if call.entry(result, q, v, a) == 0:
                return result
            return call.long_way((q, v, a), out, threads)
        call, more = self._engine.dynamic("inverse_dynamics", formulation, None, wrenches, parameters, t=t, z=z)
        return call.run((q, v, a, *more), out, threads)

    def bias_force(
        self,
        q: Any,
        v: Any,
        *,
        t: float = 0.0,
        z: Any = None,
        wrenches: Wrenches | None = None,
        parameters: Any = None,
        formulation: str = "auto",
        out: Any = None,
        threads: int | None = None,
    ) -> Array:
        """Return the joint efforts (nv) that hold the accelerations at zero: velocity terms, gravity and all forces.

        >>> s = _pendulum()
        >>> s.bias_force([0.0], [0.0]).round(6)
        array([-9.81])
        """
        if wrenches is None and parameters is None and formulation is AUTO and z is None and not self._timed:
            call = self._ready.get("bias_force") or self._engine.at_hand("bias_force")
            result = call.empty() if out is None else out
            if call.entry(result, q, v) == 0:
                return result
            return call.long_way((q, v), out, threads)
        call, more = self._engine.dynamic("bias_force", formulation, None, wrenches, parameters, t=t, z=z)
        return call.run((q, v, *more), out, threads)

    def mass_matrix(
        self,
        q: Any,
        *,
        t: float = 0.0,
        parameters: Any = None,
        formulation: str = "auto",
        out: Any = None,
        threads: int | None = None,
    ) -> Array:
        """Return the mass matrix (nv, nv).

        >>> s = _pendulum()
        >>> s.mass_matrix([0.0]).round(6)
        array([[0.666667]])
        """
        if parameters is None and formulation is AUTO:
            call = self._ready.get("mass_matrix") or self._engine.at_hand("mass_matrix")
            result = call.empty() if out is None else out
            if call.entry(result, q) == 0:
                return result
            return call.long_way((q,), out, threads)
        call, more = self._engine.dynamic("mass_matrix", formulation, None, None, parameters)
        return call.run((q, *more), out, threads)

    # ------------------------------------------------------------------ motion

    def simulate(self, duration: float, **options: Any) -> Any:
        """Simulate for a duration in seconds and return the `Trajectory`, with a certificate.

        Options: `every` (seconds between outputs) or `times`, `q`, `v`, `z` (the start; `q0`, `v0`, `z0` by default),
        `tau` (constant joint efforts), `method` ("dopri5", "dop853", "adams"; with a fixed `step` "rk4" and
        "semi_implicit_euler", and for stiff springs "trapezoidal" and "generalized_alpha" with its `spectral_radius`),
        `tolerance`, `formulation`, `parameters`, `progress`; `controller`, a function of (t, q, v, z) that returns
        efforts, and its `period`; `on_event`, a function that is called at events; `checkpoint`, a file from which
        `whippletree.resume` goes on, and `checkpoint_every` so many seconds. See `whippletree.studies`.

        >>> s = _pendulum()
        >>> run = s.simulate(1.0, every=0.25)
        >>> len(run), run.certificate.ok
        (5, True)
        """
        return convenience("simulate")(self, duration, **options)

    # ------------------------------------------------------------------ kinematics

    def pose(self, q: Any, name: Any, *, t: float = 0.0, parameters: Any = None, out: Any = None) -> Array:
        """Return the pose of a body or frame: a 4 x 4 matrix in the ground frame.

        >>> s = _pendulum()
        >>> s.pose([-np.pi / 2], "rod").round(6)[:3, 0] + 0.0  # the rod stands upright
        array([0., 0., 1.])
        """
        return self._about("pose", name, (q,), parameters, out)

    def velocity(
        self,
        q: Any,
        v: Any,
        name: Any,
        *,
        t: float = 0.0,
        frame: str = GROUND,
        parameters: Any = None,
        out: Any = None,
    ) -> Array:
        """Return the velocity [angular; linear] of a body's or frame's origin, in ground axes or its own ("body").

        >>> s = _pendulum()
        >>> s.velocity([0.0], [3.0], "rod")[:3]
        array([0., 3., 0.])
        """
        axes = self._axes(q, name, frame, parameters)
        return _turned(self._about("velocity", name, (q, v), parameters, out), axes)

    def acceleration(
        self,
        q: Any,
        v: Any,
        a: Any,
        name: Any,
        *,
        t: float = 0.0,
        frame: str = GROUND,
        parameters: Any = None,
        out: Any = None,
    ) -> Array:
        """Return the acceleration [angular; linear] of a body's or frame's origin for joint accelerations `a`.

        >>> s = _pendulum()
        >>> s.acceleration([0.0], [0.0], [2.0], "rod")[:3]
        array([0., 2., 0.])
        """
        axes = self._axes(q, name, frame, parameters)
        return _turned(self._about("acceleration", name, (q, v, a), parameters, out), axes)

    def jacobian(
        self,
        q: Any,
        name: Any,
        *,
        t: float = 0.0,
        frame: str = GROUND,
        parameters: Any = None,
        out: Any = None,
    ) -> Array:
        """Return the Jacobian (6, nv): velocity [angular; linear] of a body's or frame's origin is J v.

        >>> s = _pendulum()
        >>> s.jacobian([0.0], "rod")[:3, 0]
        array([0., 1., 0.])
        """
        axes = self._axes(q, name, frame, parameters)
        if self._engine.equations.large:
            result = self._jacobian_by_wrenches(q, self._engine.place_name(name), parameters, out)
        else:
            result = self._about("jacobian", name, (q,), parameters, out)
        return _turned(result, axes, matrix=True)

    def energy(self, q: Any, v: Any, *, t: float = 0.0, parameters: Any = None) -> Energy:
        """Return kinetic and potential energy; the latter is zero with all mass at the ground's origin.

        What springs and other force elements store is in the potential energy.

        >>> s = _pendulum()
        >>> s.energy([0.0], [3.0]).kinetic.round(6)
        np.float64(3.0)
        """
        if self._timed:
            call, more = self._engine.dynamic("energy", AUTO, None, None, parameters, t=t)
            both = call.run((q, v, *more))
        else:
            both = self._plain("energy", (q, v), parameters)
        return Energy(both[..., 0], both[..., 1])

    def momentum(
        self, q: Any, v: Any, *, about: str = "center_of_mass", t: float = 0.0, parameters: Any = None
    ) -> Momentum:
        """Return angular and linear momentum; the angular one about the centre of mass, or `about="origin"`.

        >>> s = _pendulum()
        >>> s.momentum([0.0], [3.0]).linear.round(6) + 0.0
        array([ 0.,  0., -3.])
        """
        if not isinstance(about, str) or about not in ("center_of_mass", "origin"):
            raise StateError(f'about= must be "center_of_mass" or "origin", not {about!r}')
        h = self._plain("momentum", (q, v), parameters)
        angular, linear = h[..., 0:3], h[..., 3:6]
        if about == "center_of_mass":
            center = self.center_of_mass(q, parameters=parameters)
            angular = angular - np.cross(center, linear)
        return Momentum(angular, linear)

    def center_of_mass(self, q: Any, *, t: float = 0.0, parameters: Any = None) -> Array:
        """Return the centre of mass (3) of all bodies, in the ground frame.

        >>> s = _pendulum()
        >>> s.center_of_mass([-np.pi / 2]).round(6) + 0.0
        array([0. , 0. , 0.5])
        """
        return self._plain("center_of_mass", (q,), parameters)

    # ------------------------------------------------------------------ what a function is made of

    def function(
        self, name: str, *, frame: Any = "", formulation: str = "auto", wrenches: Sequence[Any] = (), **choice: Any
    ) -> ca.Function:
        """Return any function of the system as a CasADi Function.

        Inputs are in the order of `name_in()`, wrenches in that in which they are listed. Each input and the output is
        one column; matrices are row by row.

        >>> s = _pendulum()
        >>> s.function("mass_matrix").name_in()
        ['q']
        """
        return self._engine.equations.trace(self._engine.request(name, formulation, frame, wrenches, **choice))

    def c_source(
        self, name: str, *, frame: Any = "", formulation: str = "auto", wrenches: Sequence[Any] = (), **choice: Any
    ) -> str:
        """Return any function of the system as C source.

        >>> s = _pendulum()
        >>> "mass_matrix" in s.c_source("mass_matrix")
        True
        """
        function = self.function(name, frame=frame, formulation=formulation, wrenches=wrenches, **choice)
        generator = ca.CodeGenerator(f"{function.name()}.c", {"with_header": False})
        generator.add(function)
        return str(generator.dump())

    def operations(
        self, name: str, *, frame: Any = "", formulation: str = "auto", wrenches: Sequence[Any] = (), **choice: Any
    ) -> OperationCount:
        """Return the scalar operations of one evaluation, after folding and merging, before fusing.

        >>> s = _pendulum()
        >>> s.operations("forward_dynamics").trigonometric
        1
        """
        request = self._engine.request(name, formulation, frame, wrenches, **choice)
        if self._engine.equations.rolls(request):
            return RolledLoops(self._engine.equations.roll(request)).count()
        return read_tape(self._engine.equations.trace(request)).count()

    def kernel(
        self, name: str, *, frame: Any = "", formulation: str = "auto", wrenches: Sequence[Any] = (), **choice: Any
    ) -> Kernel:
        """Return any function of the system as a kernel that can be called by address.

        >>> s = _pendulum()
        >>> s.kernel("forward_dynamics").input_names
        ['q', 'v', 'tau']
        """
        return self._engine.kernel(self._engine.request(name, formulation, frame, wrenches, **choice))

    # ------------------------------------------------------------------ inside

    def _jacobian_by_wrenches(self, q: Any, name: str, parameters: Any, out: Any) -> Array:
        """Return a large model's Jacobian row by row: J^T w for the six unit wrenches."""
        q = as_array(q, self._engine.argument("q", self.nq))
        given: tuple[Any, ...] = (q[..., None, :], np.eye(6))
        more = self._engine.parameters(parameters)
        if more is not None:
            values = as_array(more, self._engine.argument("parameters", len(self.description.parameters)))
            given = (*given, values[..., None, :] if values.ndim > 1 else values)
        if name == GROUND:
            result = np.zeros((*q.shape[:-1], 6, self.nv))
            if out is not None:
                Call.checked_out(out, result.shape)[...] = result
            return result if out is None else out
        return self._engine.call(Request("wrench_efforts", "auto", "", (name,))).run(given, out)

    def _dynamic(
        self,
        name: str,
        formulation: str,
        a: Any,
        t: float,
        z: Any,
        wrenches: Wrenches | None,
        parameters: Any,
        check: bool,
        baumgarte: Any,
    ) -> tuple[Call, tuple[Any, ...]]:
        """Return the call of a function that solves the equations of motion, and its further inputs."""
        checked = bool(check) and self._closed
        return self._engine.dynamic(
            name, formulation, a, wrenches, parameters, t=t, z=z, check=checked, baumgarte=baumgarte
        )

    def _plain(self, name: str, values: tuple[Any, ...], parameters: Any) -> Array:
        given = self._engine.parameters(parameters)
        if given is None:
            return self._engine.at_hand(name).run(values)
        return self._engine.call(Request(name)).run((*values, given))

    def _about(self, name: str, place: Any, values: tuple[Any, ...], parameters: Any, out: Any) -> Array:
        more = self._engine.parameters(parameters)
        given = values if more is None else (*values, more)
        return self._engine.call(Request(name, "auto", self._engine.place_name(place))).run(given, out)

    def _axes(self, q: Any, name: Any, frame: str, parameters: Any) -> Array | None:
        """Return the axes in which a result is asked for, None for those of the ground.

        They are found before the result, which may be written over q.
        """
        if isinstance(frame, str) and frame == GROUND:
            return None
        if not isinstance(frame, str) or frame != "body":
            raise StateError(f'frame= must be "ground" or "body", not {frame!r}')
        return np.array(self.pose(q, name, parameters=parameters)[..., :3, :3])


def _turned(value: Array, axes: Array | None, *, matrix: bool = False) -> Array:
    """Turn [angular; linear], or a matrix with such columns, into the axes, in place."""
    if axes is None:
        return value
    columns = value if matrix else value[..., None]
    R = np.swapaxes(axes, -1, -2)
    turned = np.concatenate([np.matmul(R, columns[..., i : i + 3, :]) for i in (0, 3)], axis=-2)
    value[...] = turned if matrix else turned[..., 0]
    return value


@functools.cache
def _pendulum() -> System:
    """Return the system of the examples: the pendulum that the docstring of `System` builds.

    >>> _pendulum()
    System "pendulum": 1 bodies, 1 freedoms
    """
    m = Mechanism("pendulum")
    m.revolute("hinge", m.ground, m.body("rod", rod(length=1.0, mass=2.0, axis="x")), axis="y")
    return m.build()


def _planned(description: Description, cut: Any) -> Plan:
    """Return the plan of a mechanism."""
    names = [use.name for use in description.joints]
    edges = [_Edge(u.name, u.parent, u.child, u.joint.nq, u.joint.nv, u.prescribed) for u in description.joints]
    closures = [
        _Closing(
            use.name,
            tuple(body for body, _ in use.sides) + ((GROUND,) if use.closure.absolute else ()),
            tuple(names.index(joint) for joint, _ in use.coordinates),
            use.closure.n_rows,
        )
        for use in description.closures
    ]
    if isinstance(cut, str) or not (cut is None or isinstance(cut, Iterable)):
        raise StateError("cut= must list the joints to be cut")
    insisted = [str(getattr(joint, "name", joint)) for joint in cut or ()]
    return make_plan([body.name for body in description.bodies], edges, closures=closures, cut=insisted)


class _Edge(NamedTuple):
    """A joint as the plan sees it."""

    name: str
    parent: str
    child: str
    nq: int
    nv: int
    prescribed: bool


class _Closing(NamedTuple):
    """A closure as the plan sees it."""

    name: str
    bodies: tuple[str, ...]
    joints: tuple[int, ...]
    rows: int


def _rebuild(description: Description, options: dict[str, Any]) -> System:
    return System(description, **options)
