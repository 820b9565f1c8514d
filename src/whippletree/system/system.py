"""The system: a plan and its kernels, and the calls that users make."""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

import whippletree
from whippletree._version import __version__
from whippletree.elements.bodies import rod
from whippletree.errors import DynamicsError, ModelError, StateError
from whippletree.kernels.cache import DiskCache, open_cache
from whippletree.kernels.kernel import Array, Kernel, NotFinite, Program
from whippletree.kernels.rolled import RolledLoops
from whippletree.kernels.tape import OperationCount, read_tape
from whippletree.kernels.unrolled import StraightLine
from whippletree.model import Mechanism
from whippletree.model.description import GROUND, Description
from whippletree.model.names import suggestion
from whippletree.system.calls import Argument, Call, as_array, check_together
from whippletree.system.dense import solve_forward
from whippletree.system.equations import Equations, Request
from whippletree.system.results import Energy, Momentum, Reactions
from whippletree.topology import Plan, make_plan

__all__ = ["System"]

SMALLEST_PIVOT = 1e-12
"""A hinge's inertia below this share of what hangs on it is taken as none."""

_DYNAMIC = frozenset({"forward_dynamics", "driving_forces", "reactions"})
_OPTIONAL = frozenset({"tau", "a"})
AUTO = "auto"
"""The formulation that is best for a function."""

Wrenches = Mapping[Any, Any]


class System:
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

    def __init__(self, description: Description, *, fold: bool = False) -> None:
        self._options = {"fold": fold}
        self.description = description.folded() if fold else description
        edges = [_Edge(use.name, use.parent, use.child, use.joint.nq, use.joint.nv) for use in description.joints]
        self.plan: Plan = make_plan([body.name for body in description.bodies], edges)
        self.nq, self.nv = self.plan.nq, self.plan.nv
        self.n_bodies = len(description.bodies)
        self._equations = Equations(self.description, self.plan)
        self._cache: DiskCache | None = open_cache()
        self._calls: dict[Request, Call] = {}
        self._ready: dict[str, Call] = {}
        self._kernels: dict[Request, Kernel] = {}
        self._checked = False

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.description, self._options)

    def __repr__(self) -> str:
        return f'System "{self.description.name}": {self.n_bodies} bodies, {self.nv} freedoms'

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
        """A configuration to start from: the neutral one.

        >>> s = _pendulum()
        >>> s.q0
        array([0.])
        """
        return self.neutral()

    @property
    def v0(self) -> Array:
        """Velocities to start from: zero.

        >>> s = _pendulum()
        >>> s.v0
        array([0.])
        """
        return np.zeros(self.nv)

    def q_slice(self, joint: str) -> slice:
        """Return where a joint's coordinates are in `q`.

        >>> s = _pendulum()
        >>> s.q_slice("hinge")
        slice(0, 1, None)
        """
        return self.plan.q_slices[self._joint_index(joint)]

    def v_slice(self, joint: str) -> slice:
        """Return where a joint's velocities are in `v`, efforts and accelerations.

        >>> s = _pendulum()
        >>> s.v_slice("hinge")
        slice(0, 1, None)
        """
        return self.plan.v_slices[self._joint_index(joint)]

    def coordinates(self, values: Mapping[str, Any]) -> Array:
        """Return a configuration from joints' coordinates by name; the others are neutral.

        >>> s = _pendulum()
        >>> s.coordinates({"hinge": 0.5})
        array([0.5])
        """
        return self._fill(self.neutral(), values, self.q_slice, "coordinates")

    def velocities(self, values: Mapping[str, Any]) -> Array:
        """Return a vector (nv) from joints' velocities, accelerations or efforts by name; the others are zero.

        >>> s = _pendulum()
        >>> s.velocities({"hinge": 2.0})
        array([2.])
        """
        return self._fill(np.zeros(self.nv), values, self.v_slice, "velocities")

    def neutral(self) -> Array:
        """Return the configuration in which all joint frames coincide.

        >>> s = _pendulum()
        >>> s.neutral()
        array([0.])
        """
        parts = [use.joint.neutral() for use in self.description.joints]
        return np.concatenate([np.zeros(0), *parts])

    def random(self, seed: int | np.random.Generator | None = None) -> Array:
        """Return a random configuration; the same one for the same seed.

        >>> s = _pendulum()
        >>> bool(s.random(7) == s.random(7))
        True
        """
        try:
            rng = seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed)
        except Exception:
            raise StateError("the seed must be a whole number of at least 0, or a NumPy generator") from None
        return np.concatenate([np.zeros(0), *(use.joint.random(rng) for use in self.description.joints)])

    def normalize(self, q: Any) -> Array:
        """Return a copy of `q` with every quaternion scaled to unit length.

        >>> s = _pendulum()
        >>> s.normalize([0.5])  # there are no quaternions in a pendulum
        array([0.5])
        """
        result = np.array(as_array(q, Argument("q", self.nq, self._position_label)))
        for where in self._quaternions():
            e = result[..., where]
            size = np.abs(e).max(axis=-1, keepdims=True)  # so that squares neither overflow nor vanish
            if not (np.isfinite(size) & (size > 0)).all():
                raise StateError(
                    f"q[{where.start}:{where.stop}] ({self._position_label(where.start)}) has no direction: "
                    f"give four finite numbers that are not all zero"
                )
            e /= size
            e /= np.linalg.norm(e, axis=-1, keepdims=True)
        return result

    def integrate(self, q: Any, dv: Any, *, out: Any = None) -> Array:
        """Return the configuration reached from `q` by the displacement `dv` (nv), quaternions on the sphere.

        >>> s = _pendulum()
        >>> s.integrate([0.5], [0.25])
        array([0.75])
        """
        return self._call(Request("integrate")).run((q, dv), out)

    def difference(self, q0: Any, q1: Any, *, out: Any = None) -> Array:
        """Return the displacement (nv) that leads from `q0` to `q1`.

        >>> s = _pendulum()
        >>> s.difference([0.5], [0.75])
        array([0.25])
        """
        return self._call(Request("difference")).run((q0, q1), out)

    def coordinate_rates(self, q: Any, v: Any, *, out: Any = None) -> Array:
        """Return the rates of the coordinates (nq) for velocities `v`.

        >>> s = _pendulum()
        >>> s.coordinate_rates([0.5], [2.0])
        array([2.])
        """
        return self._call(Request("coordinate_rates")).run((q, v), out)

    # ------------------------------------------------------------------ dynamics

    def forward_dynamics(
        self,
        q: Any,
        v: Any,
        tau: Any = None,
        *,
        a: Any = None,
        t: float = 0.0,
        wrenches: Wrenches | None = None,
        parameters: Any = None,
        formulation: str = "auto",
        out: Any = None,
        threads: int | None = None,
    ) -> Array:
        """Return the accelerations (nv) under joint efforts `tau` and wrenches at frames.

        At prescribed hinges the acceleration is taken from `a`. `wrenches` maps frames or bodies to [moment; force]
        at their origin, in ground axes.

        >>> s = _pendulum()
        >>> s.forward_dynamics([0.0], [0.0]).round(6)
        array([14.715])
        """
        if a is None and wrenches is None and parameters is None and formulation is AUTO:
            return self._at_hand("forward_dynamics").run((q, v, tau), out, threads)
        if _text(formulation) == "composite" and self._equations.large:
            return self._dense("forward_dynamics", (q, v, tau), a, wrenches, parameters, out, threads)
        call, more = self._dynamic("forward_dynamics", formulation, a, wrenches, parameters)
        return call.run((q, v, tau, *more), out, threads)

    def driving_forces(
        self,
        q: Any,
        v: Any,
        tau: Any = None,
        *,
        a: Any = None,
        t: float = 0.0,
        wrenches: Wrenches | None = None,
        parameters: Any = None,
        formulation: str = "auto",
        out: Any = None,
        threads: int | None = None,
    ) -> Array:
        """Return the efforts (nv): `tau` at free joints, and what prescribed hinges need for their acceleration `a`.

        >>> s = _pendulum()
        >>> s.driving_forces([0.0], [0.0], [0.5])  # nothing is prescribed here
        array([0.5])
        """
        if a is None and wrenches is None and parameters is None and formulation is AUTO:
            return self._at_hand("driving_forces").run((q, v, tau), out, threads)
        if _text(formulation) == "composite" and self._equations.large:
            return self._dense("driving_forces", (q, v, tau), a, wrenches, parameters, out, threads)
        call, more = self._dynamic("driving_forces", formulation, a, wrenches, parameters)
        return call.run((q, v, tau, *more), out, threads)

    def reactions(
        self,
        q: Any,
        v: Any,
        tau: Any = None,
        *,
        a: Any = None,
        t: float = 0.0,
        wrenches: Wrenches | None = None,
        parameters: Any = None,
        formulation: str = "auto",
        frame: Any = GROUND,
        threads: int | None = None,
    ) -> Reactions:
        """Return the wrench that every joint transmits to its described child, by joint name.

        It acts at the joint point on that child and includes the actuator's effort. Axes are the ground's, or those
        of `frame`, a body or a frame.

        >>> s = _pendulum()
        >>> s.reactions([0.0], [0.0])["hinge"].force.round(3)  # a falling rod weighs a quarter
        array([0.   , 0.   , 4.905])
        """
        if _text(formulation) == "composite" and self._equations.large:
            wrenches_out = self._dense("reactions", (q, v, tau), a, wrenches, parameters, None, threads)
        else:
            call, more = self._dynamic("reactions", formulation, a, wrenches, parameters)
            wrenches_out = call.run((q, v, tau, *more), None, threads)
        name = self._place_name(frame)
        if name != GROUND:
            R = self.pose(q, name, parameters=parameters)[..., None, :3, :3]
            pairs = wrenches_out.reshape(*wrenches_out.shape[:-1], 2, 3)
            wrenches_out = np.einsum("...ji,...kj->...ki", R, pairs).reshape(wrenches_out.shape)
        return Reactions(self.joint_names, wrenches_out)

    def inverse_dynamics(
        self,
        q: Any,
        v: Any,
        a: Any = None,
        *,
        t: float = 0.0,
        wrenches: Wrenches | None = None,
        parameters: Any = None,
        formulation: str = "auto",
        out: Any = None,
        threads: int | None = None,
    ) -> Array:
        """Return the joint efforts (nv) for accelerations `a`.

        >>> s = _pendulum()
        >>> s.inverse_dynamics([0.0], [0.0], [0.0]).round(6)
        array([-9.81])
        """
        if wrenches is None and parameters is None and formulation is AUTO:
            return self._at_hand("inverse_dynamics").run((q, v, a), out, threads)
        call, more = self._dynamic("inverse_dynamics", formulation, None, wrenches, parameters)
        return call.run((q, v, a, *more), out, threads)

    def bias_force(
        self,
        q: Any,
        v: Any,
        *,
        t: float = 0.0,
        wrenches: Wrenches | None = None,
        parameters: Any = None,
        formulation: str = "auto",
        out: Any = None,
        threads: int | None = None,
    ) -> Array:
        """Return the joint efforts (nv) that hold the accelerations at zero: velocity terms, gravity and wrenches.

        >>> s = _pendulum()
        >>> s.bias_force([0.0], [0.0]).round(6)
        array([-9.81])
        """
        if wrenches is None and parameters is None and formulation is AUTO:
            return self._at_hand("bias_force").run((q, v), out, threads)
        call, more = self._dynamic("bias_force", formulation, None, wrenches, parameters)
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
            return self._at_hand("mass_matrix").run((q,), out, threads)
        call, more = self._dynamic("mass_matrix", formulation, None, None, parameters)
        return call.run((q, *more), out, threads)

    # ------------------------------------------------------------------ kinematics

    def pose(self, q: Any, name: Any, *, t: float = 0.0, parameters: Any = None, out: Any = None) -> Array:
        """Return the pose of a body or frame: a 4 x 4 matrix in the ground frame.

        >>> s = _pendulum()
        >>> s.pose([-np.pi / 2], "rod").round(6)[:3, 0] + 0.0  # the rod stands upright
        array([0., 0., 1.])
        """
        return self._about("pose", name, (q,), parameters, out)

    def velocity(
        self, q: Any, v: Any, name: Any, *, t: float = 0.0, frame: str = GROUND, parameters: Any = None, out: Any = None
    ) -> Array:
        """Return the velocity [angular; linear] of a body's or frame's origin, in ground axes or (`frame="body"`) its own.

        >>> s = _pendulum()
        >>> s.velocity([0.0], [3.0], "rod")[:3]
        array([0., 3., 0.])
        """
        result = self._about("velocity", name, (q, v), parameters, out)
        return self._in_axes(result, q, name, frame, parameters)

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
        result = self._about("acceleration", name, (q, v, a), parameters, out)
        return self._in_axes(result, q, name, frame, parameters)

    def jacobian(
        self, q: Any, name: Any, *, t: float = 0.0, frame: str = GROUND, parameters: Any = None, out: Any = None
    ) -> Array:
        """Return the Jacobian (6, nv): velocity [angular; linear] of a body's or frame's origin is J v.

        >>> s = _pendulum()
        >>> s.jacobian([0.0], "rod")[:3, 0]
        array([0., 1., 0.])
        """
        if self._equations.large:
            result = self._jacobian_by_wrenches(q, self._place_name(name), parameters, out)
        else:
            result = self._about("jacobian", name, (q,), parameters, out)
        return self._in_axes(result, q, name, frame, parameters, matrix=True)

    def energy(self, q: Any, v: Any, *, t: float = 0.0, parameters: Any = None) -> Energy:
        """Return kinetic and potential energy; the latter is zero with all mass at the ground's origin.

        >>> s = _pendulum()
        >>> s.energy([0.0], [3.0]).kinetic.round(6)
        np.float64(3.0)
        """
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
        self, name: str, *, frame: Any = "", formulation: str = "auto", wrenches: Sequence[Any] = ()
    ) -> ca.Function:
        """Return any function of the system as a CasADi Function.

        >>> s = _pendulum()
        >>> s.function("mass_matrix").name_in()
        ['q']
        """
        return self._equations.trace(self._request(name, formulation, frame, wrenches))

    def c_source(
        self, name: str, *, frame: Any = "", formulation: str = "auto", wrenches: Sequence[Any] = ()
    ) -> str:
        """Return any function of the system as C source.

        >>> s = _pendulum()
        >>> "mass_matrix" in s.c_source("mass_matrix")
        True
        """
        function = self.function(name, frame=frame, formulation=formulation, wrenches=wrenches)
        generator = ca.CodeGenerator(f"{function.name()}.c", {"with_header": False})
        generator.add(function)
        return str(generator.dump())

    def operations(
        self, name: str, *, frame: Any = "", formulation: str = "auto", wrenches: Sequence[Any] = ()
    ) -> OperationCount:
        """Return the scalar operations of one evaluation, after folding and merging, before fusing.

        >>> s = _pendulum()
        >>> s.operations("forward_dynamics").trigonometric
        1
        """
        request = self._request(name, formulation, frame, wrenches)
        if self._equations.rolls(request):
            return RolledLoops(self._equations.roll(request)).count()
        return read_tape(self._equations.trace(request)).count()

    def kernel(
        self, name: str, *, frame: Any = "", formulation: str = "auto", wrenches: Sequence[Any] = ()
    ) -> Kernel:
        """Return any function of the system as a kernel that can be called by address.

        >>> s = _pendulum()
        >>> s.kernel("forward_dynamics").input_names
        ['q', 'v', 'tau']
        """
        return self._kernel(self._request(name, formulation, frame, wrenches))

    # ------------------------------------------------------------------ inside

    def _request(self, name: str, formulation: str, frame: Any, wrenches: Sequence[Any]) -> Request:
        if not isinstance(name, str) or name not in _SHAPES:
            raise StateError(f"there is no function {suggestion(name, _SHAPES)}")
        if name in _FRAMED and isinstance(frame, str) and not frame:
            raise StateError(f"{name} is about a body or frame: name it with frame=")
        if isinstance(wrenches, str) or not isinstance(wrenches, Iterable):
            raise StateError("wrenches= must list the bodies or frames at which wrenches act")
        about = self._place_name(frame) if name in _FRAMED else ""
        places = tuple(sorted({self._place_name(w) for w in wrenches}))
        return Request(name, _text(formulation), about, places).resolved()

    def _dynamic(
        self, name: str, formulation: str, a: Any, wrenches: Wrenches | None, parameters: Any
    ) -> tuple[Call, tuple[Any, ...]]:
        """Return the call, and the values of its inputs beyond the usual ones."""
        more: tuple[Any, ...] = ()
        frames: tuple[str, ...] = ()
        if self._equations.prescribed and name in _DYNAMIC:
            more = (self._given_accelerations(a),)
        elif a is not None:
            raise StateError("a= is for prescribed hinges, and there is none: declare one with prescribed=True")
        if wrenches is not None:
            if not isinstance(wrenches, Mapping):
                raise StateError("wrenches= must map bodies or frames to [moment; force]")
            named = {self._place_name(key): value for key, value in wrenches.items()}
            if len(named) < len(wrenches):
                raise StateError("wrenches= names a body or frame twice: add the wrenches up")
            frames = tuple(sorted(named))
            more += tuple(named[key] for key in frames)
        if parameters is not None:
            more += (self._parameters(parameters),)
        return self._call(Request(name, _text(formulation), "", frames)), more

    def _dense(
        self,
        name: str,
        state: tuple[Any, Any, Any],
        a: Any,
        wrenches: Wrenches | None,
        parameters: Any,
        out: Any,
        threads: int | None,
    ) -> Array:
        """Answer with the composite formulation for a large model (see `dense`)."""
        self._check_hinges()
        arguments = [self._argument(key, self.nv if key != "q" else self.nq) for key in ("q", "v", "tau")]
        q, v, tau = (
            None if value is None and argument.optional else as_array(value, argument)
            for value, argument in zip(state, arguments, strict=True)
        )
        mask = np.array([use.prescribed for use in self.description.joints for _ in range(use.joint.nv)])
        if a is not None and not mask.any():
            raise StateError("a= is for prescribed hinges, and there is none: declare one with prescribed=True")
        named = self._given_accelerations(a)
        full = np.zeros(self.nv) if named is None else as_array(named, self._argument("a", self.nv))
        options = {"wrenches": wrenches, "parameters": parameters, "threads": threads}
        check_together([*arguments, self._argument("a", self.nv)], [q, v, tau, full])
        with np.errstate(all="ignore"):
            solution = solve_forward(self, (q, v, tau), np.where(mask, full, 0.0), mask, **options)
        if not np.isfinite(solution).all():
            raise DynamicsError(f"the result is not finite: {self._blame(name)}")
        if name == "driving_forces":
            needed = self.inverse_dynamics(q, v, solution, **options)
            solution = np.where(mask, needed, 0.0 if tau is None else tau)
        elif name == "reactions":
            call, more = self._dynamic("motion_reactions", "composite", None, wrenches, parameters)
            solution = call.run((q, v, solution, *more), None, threads)
        if out is None:
            return solution
        checked = Call.checked_out(out, solution.shape)
        checked[...] = solution
        return checked

    def _jacobian_by_wrenches(self, q: Any, name: str, parameters: Any, out: Any) -> Array:
        """Return a large model's Jacobian row by row: J^T w for the six unit wrenches."""
        q = as_array(q, self._argument("q", self.nq))
        given: tuple[Any, ...] = (q[..., None, :], np.eye(6))
        if parameters is not None:
            values = as_array(self._parameters(parameters), self._argument("parameters", len(self.description.parameters)))
            given = (*given, values[..., None, :] if values.ndim > 1 else values)
        if name == GROUND:
            result = np.zeros((*q.shape[:-1], 6, self.nv))
            if out is not None:
                Call.checked_out(out, result.shape)[...] = result
            return result if out is None else out
        return self._call(Request("wrench_efforts", "auto", "", (name,))).run(given, out)

    def _given_accelerations(self, a: Any) -> Any:
        return self.velocities(a) if isinstance(a, Mapping) else a

    def _parameters(self, values: Any) -> Any:
        """Return the parameters' values as an array, or None for those described."""
        if values is None:
            return None
        known = {p.name: i for i, p in enumerate(self.description.parameters)}
        if not known:
            raise StateError("this system has no parameters kept as inputs")
        if not isinstance(values, Mapping):
            return values
        for name in values:
            if name not in known:
                raise StateError(f"there is no parameter {suggestion(name, known)}")
        columns = [np.asarray(values.get(p.name, p.value)) for p in self.description.parameters]
        try:
            return np.stack(np.broadcast_arrays(*columns), axis=-1)
        except ValueError:
            raise StateError("the parameters' batches do not fit together") from None

    def _plain(self, name: str, values: tuple[Any, ...], parameters: Any) -> Array:
        if parameters is None:
            return self._at_hand(name).run(values)
        return self._call(Request(name)).run((*values, self._parameters(parameters)))

    def _about(self, name: str, place: Any, values: tuple[Any, ...], parameters: Any, out: Any) -> Array:
        given = values if parameters is None else (*values, self._parameters(parameters))
        return self._call(Request(name, "auto", self._place_name(place))).run(given, out)

    def _in_axes(
        self, value: Array, q: Any, name: Any, frame: str, parameters: Any, *, matrix: bool = False
    ) -> Array:
        """Turn [angular; linear], or a matrix with such columns, into the body's axes if that is asked for."""
        if isinstance(frame, str) and frame == GROUND:
            return value
        if not isinstance(frame, str) or frame != "body":
            raise StateError(f'frame= must be "ground" or "body", not {frame!r}')
        R = np.swapaxes(self.pose(q, name, parameters=parameters)[..., :3, :3], -1, -2)
        columns = value if matrix else value[..., None]
        parts = [np.matmul(R, columns[..., i : i + 3, :]) for i in (0, 3)]
        turned = np.concatenate(parts, axis=-2)
        value[...] = turned if matrix else turned[..., 0]
        return value

    def _place_name(self, place: Any) -> str:
        """Return the name of a body, frame or handle, checked."""
        name = getattr(place, "name", place)
        places = self._places
        if not isinstance(name, str) or (name != GROUND and name not in places):
            raise ModelError(f"there is no body or frame {suggestion(name, places)}")
        return str.__str__(name)

    @functools.cached_property
    def _places(self) -> dict[str, None]:
        names = [b.name for b in self.description.bodies] + [f.name for f in self.description.frames]
        return dict.fromkeys(names)

    def _joint_index(self, joint: Any) -> int:
        name = getattr(joint, "name", joint)
        if not isinstance(name, str) or name not in self._joints:
            raise ModelError(f"there is no joint {suggestion(name, self._joints)}")
        return self._joints[name]

    @functools.cached_property
    def _joints(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.joint_names)}

    def _fill(self, vector: Array, values: Mapping[str, Any], where: Callable[[str], slice], what: str) -> Array:
        if not isinstance(values, Mapping):
            raise StateError(f"give the {what} by joint: a mapping from names to numbers")
        for name, value in values.items():
            place = where(name)
            size = place.stop - place.start
            joint = f'joint "{getattr(name, "name", name)}"'
            try:
                numbers = np.atleast_1d(np.asarray(value))
            except Exception:
                numbers = np.array([None])
            if numbers.dtype.kind not in "fiu":
                raise StateError(f"{joint} has {size} {what}, which must be real numbers")
            if numbers.shape != (size,):
                raise StateError(f"{joint} has {size} {what}, not {numbers.size}")
            vector[place] = numbers
        return vector

    def _quaternions(self) -> tuple[slice, ...]:
        return tuple(
            slice(q.start, q.start + 4)
            for use, q in zip(self.description.joints, self.plan.q_slices, strict=True)
            if use.joint.quaternion
        )

    def _at_hand(self, name: str) -> Call:
        """Return the call without options; this is on the path of every microsecond."""
        call = self._ready.get(name)
        if call is None:
            call = self._ready[name] = self._call(Request(name))
        return call

    def _call(self, request: Request) -> Call:
        """Return the call of a request, made when first asked for."""
        call = self._calls.get(request)
        if call is None:
            resolved = request.resolved()
            kernel = self._kernel(resolved)
            shape = tuple({"nv": self.nv, "nq": self.nq, "nj": len(self.joint_names)}.get(s, s) for s in _SHAPES[request.function])
            arguments = [self._argument(name, size) for name, size in kernel.signature.inputs]
            call = Call(kernel, arguments, shape, functools.partial(self._blame, request.function))  # type: ignore[arg-type]
            self._calls[request] = call
        return call

    def _kernel(self, request: Request) -> Kernel:
        kernel = self._kernels.get(request)
        if kernel is None:
            if self.nv == 0 and request.function not in ("pose", "center_of_mass", "energy", "reactions"):
                raise StateError(f"{request.function} has no meaning for a system without freedoms")
            key = f"{_source_key()}|{self.description.fingerprint()}|{request}"
            defaults = {name: np.zeros(self.nv) for name in _OPTIONAL}
            defaults["parameters"] = np.array(self.description.parameter_values, dtype=np.float64)
            signature = self._equations.signature(request)
            kernel = Kernel(key, signature, lambda: self._program(request), self._cache, defaults)
            self._kernels[request] = kernel
        return kernel

    def _program(self, request: Request) -> Program:
        """Trace a request; dynamics are checked for hinges that move nothing."""
        if request.function in _DYNAMIC:
            self._check_hinges()
        if self._equations.rolls(request):
            return RolledLoops(self._equations.roll(request))
        return StraightLine(self._equations.trace(request))

    def _check_hinges(self) -> None:
        """Refuse a joint whose articulated inertia is singular."""
        if self._checked:
            return
        worst = np.full(len(self._equations.skeleton().bones), np.inf)
        pivots = self._hinge_inertias()
        for seed in (0, 1):
            at = pivots(self.random(seed))
            worst = np.fmin(worst, np.where(np.isfinite(at), at, -np.inf))
        for k in np.flatnonzero(worst < SMALLEST_PIVOT):
            name = self._equations.skeleton().by_position(int(k)).use.name
            raise DynamicsError(
                f'joint "{name}" moves nothing that has inertia in its direction, so its acceleration is not '
                f"determined; give mass or inertia to the bodies that hang on it, or prescribe the joint"
            )
        self._checked = True

    def _hinge_inertias(self) -> Callable[[Array], Array]:
        """Return the function from a configuration to every hinge's smallest relative pivot."""
        request = Request("hinge_inertias").resolved()
        values = np.array(self.description.parameter_values, dtype=np.float64)
        if not self._equations.rolls(request):
            function = self._equations.trace(request)
            more = [values] if values.size else []
            return lambda q: np.array(function(q, *more)).ravel()
        signature = self._equations.signature(request)
        program = RolledLoops(self._equations.roll(request))
        kernel = Kernel("", signature, lambda: program, None, {"parameters": values})

        def evaluate(q: Array) -> Array:
            result = np.empty(signature.output_sizes[0])
            with contextlib.suppress(NotFinite):
                kernel.one([q, *([values] if values.size else [])], [result])
            return result

        return evaluate

    def _blame(self, function: str) -> str:
        """Say what a result that is not finite may come from."""
        if function == "center_of_mass":
            return "the bodies have no mass together, or the numbers are too large to compute with"
        if function in _DYNAMIC:
            self._check_hinges()
        return "the numbers are too large or too small to compute with, or a parameter makes a joint's inertia vanish"

    def _argument(self, name: str, size: int) -> Argument:
        """Describe an input for checks and messages."""
        if name in ("q", "q0", "q1"):
            return Argument(name, size, self._position_label, self._quaternions())
        if name == "parameters":
            names = [p.name for p in self.description.parameters]
            return Argument(name, size, lambda i: f'parameter "{names[i]}"', optional=True)
        if name.startswith("wrench on "):
            parts = ("moment x", "moment y", "moment z", "force x", "force y", "force z")
            return Argument(name, size, lambda i: parts[i])
        word = {"tau": "the effort for the ", "a": "the rate of the "}.get(name, "")
        return Argument(name, size, lambda i: word + self._velocity_label(i), optional=name in _OPTIONAL)

    def _position_label(self, i: int) -> str:
        return self._label(i, self.plan.q_slices, "position_labels")

    def _velocity_label(self, i: int) -> str:
        return self._label(i, self.plan.v_slices, "velocity_labels")

    def _label(self, i: int, slices: Sequence[slice], labels: str) -> str:
        for use, where in zip(self.description.joints, slices, strict=True):
            if where.start <= i < where.stop:
                return f'{getattr(use.joint, labels)[i - where.start]} of joint "{use.name}"'
        return "it"


_SHAPES: dict[str, tuple[str | int, ...]] = {
    "forward_dynamics": ("nv",),
    "driving_forces": ("nv",),
    "inverse_dynamics": ("nv",),
    "bias_force": ("nv",),
    "mass_matrix": ("nv", "nv"),
    "reactions": ("nj", 6),
    "motion_reactions": ("nj", 6),
    "wrench_efforts": ("nv",),
    "pose": (4, 4),
    "velocity": (6,),
    "acceleration": (6,),
    "jacobian": (6, "nv"),
    "energy": (2,),
    "momentum": (6,),
    "center_of_mass": (3,),
    "coordinate_rates": ("nq",),
    "integrate": ("nq",),
    "difference": ("nv",),
}
_FRAMED = frozenset({"pose", "velocity", "acceleration", "jacobian"})


class _Edge:
    """A joint as the plan sees it."""

    def __init__(self, name: str, parent: str, child: str, nq: int, nv: int) -> None:
        self.name, self.parent, self.child, self.nq, self.nv = name, parent, child, nq, nv


@functools.cache
def _pendulum() -> System:
    """Return the system of the examples: the pendulum that the docstring of `System` builds.

    >>> _pendulum()
    System "pendulum": 1 bodies, 1 freedoms
    """
    m = Mechanism("pendulum")
    m.revolute("hinge", m.ground, m.body("rod", rod(length=1.0, mass=2.0, axis="x")), axis="y")
    return m.build()


def _text(formulation: Any) -> str:
    """Return the name of a formulation, if it can be one."""
    if not isinstance(formulation, str):
        raise StateError(f"formulation= must be the name of one, not {formulation!r}")
    return formulation


def _rebuild(description: Description, options: dict[str, Any]) -> System:
    return System(description, **options)


@functools.cache
def _source_key() -> str:
    """Return a hash of the package's version and source, on which every trace depends."""
    digest = hashlib.sha256(__version__.encode())
    for path in sorted(Path(whippletree.__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
