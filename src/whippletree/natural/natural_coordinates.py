"""The natural coordinates of a system by name, and conversions of states both ways: `system.natural`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from whippletree.errors import StateError
from whippletree.formulations.closures.closure_frames import ClosureAttachment, ClosureCoordinate
from whippletree.formulations.closures.closure_set import ClosureSet
from whippletree.formulations.natural.natural_conditions import (
    TURNED,
    HeldClosure,
    NaturalConditions,
    natural_conditions,
    unstated,
)
from whippletree.formulations.natural.natural_equations import (
    NaturalMotion,
    natural_forces,
    natural_joints,
    refuse_own_coordinates,
)
from whippletree.formulations.natural.natural_model import (
    NaturalElement,
    NaturalJoint,
    NaturalModel,
    make_natural_model,
)
from whippletree.formulations.nodes.frame_states import NodeFrame
from whippletree.formulations.nodes.node_tree import column
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.foundation.notebook_html import html_section, html_table
from whippletree.foundation.old_names import old_names
from whippletree.foundation.once import made_once
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing
from whippletree.kernels.cache import open_cache
from whippletree.kernels.kernel import Array, Kernel, Signature
from whippletree.kernels.loop_lowering import RolledLoops
from whippletree.kernels.lowering import StraightLine
from whippletree.model.names import quoted
from whippletree.natural.natural_fit import fit_bodies, fit_joint
from whippletree.programs.loop_program import LoopProgram
from whippletree.spatial import skew
from whippletree.spatial.scalars import shown
from whippletree.system import System
from whippletree.system.equations import Equations
from whippletree.system.source import source_key

if TYPE_CHECKING:
    from whippletree.natural.natural_loops import NaturalLoops
    from whippletree.system.evaluator import ParameterValues

__all__ = ["LARGE", "NaturalCoordinates", "NaturalPart", "fitted_joints", "forces_at", "natural_kernel"]

LARGE = 40
"""With more natural coordinates steps are loops over bodies and conditions: one straight line takes long to compile."""

_SETTLED = 1e-12
"""Joint coordinates that change by less from one fit to the next are found."""

_MOST_FITS = 20
"""Largest number of fits of joint coordinates, each of which starts from the one before."""

_FIT_TOLERANCE = 1e-6
"""Natural coordinates that are fitted must satisfy their conditions to this share of the largest coordinate."""


class NaturalPart(NamedTuple):
    """A point, a unit vector, or a joint's coordinate: name, bodies, whether it is on the ground, where it is in x."""

    name: str
    bodies: tuple[str, ...]
    fixed: bool
    where: slice | None


@old_names(coordinates="configuration")
@user_facing
@readable
class NaturalCoordinates:
    """The points and unit vectors of a mechanism, their conditions, and conversions of states.

    The coordinates x are those of the elements that are not on the ground, three each: points in metres, and vectors;
    then the joint coordinates that gears and other closures depend on, and those of joints with armature, which is
    their mass (`relative`), with all their turns. Bodies that are welded together are one. `mass_matrix` is constant;
    `conditions` names the residuals, which are squares of lengths and products of them for rigid bodies, and what
    joints hold beyond the elements they share.

    >>> from whippletree.system.example_systems import four_bar
    >>> natural = four_bar().natural
    >>> [one.name for one in natural.points], natural.n_coordinates, natural.n_conditions
    (['B', 'C'], 15, 15)
    >>> x = natural.configuration(four_bar().q0)
    >>> bool(abs(natural.residual(x)).max() < 1e-12)
    True
    """

    def __init__(self, system: System) -> None:
        self.system = system
        self._lock = system.kernels.equations.lock
        self.equations: Equations = system.kernels.equations
        self.made: dict[object, object] = {}  # what time loops have made of it
        self._symbols = {name: ca.SX.sym(name, size) for name, size in (("q", system.nq), ("v", system.nv))}

    # ------------------------------------------------------------------ sizes and names

    @made_once
    def model(self) -> NaturalModel:
        """The natural model: elements, bodies, conditions."""
        walk, tree = self.walk, self.equations.node_tree()
        refuse_own_coordinates(walk)
        names = [_body_name(tree.where, k) for k in range(len(walk.nodes))]
        joints = [constants.use.name for constants in tree.node_constants]
        described = self.system.description
        frames = []
        for frame in described.frames:
            index, placement = tree.where[frame.name]
            frames.append((frame.name, NodeFrame(index, ca.SX.eye(3), column(placement.point))))
        values = {p.symbol.name(): p.value for p in described.parameters}
        inertias = [node.inertia for node in walk.nodes]
        made = make_natural_model(names, inertias, natural_joints(walk, self.closure_set, joints), frames, values)
        armed = [k for k, joint in enumerate(made.joints) if joint.armature is not None]
        turned = tuple(k for k in armed if _turns(made.joints[k]))
        return replace(made, relative=self._relative_joints(made, armed, turned), turned=turned)

    @made_once
    def walk(self) -> Unrolled:
        """The bodies at the symbols of a state, without loads."""
        return self.equations.walk(dict(self._symbols))

    @made_once
    def closure_set(self) -> ClosureSet | None:
        """The closures at the symbols of a state, all rows; None without loops."""
        return self.equations.closure_set(dict(self._symbols), kept=False) if self.equations.closed else None

    @made_once
    def _described_conditions(self) -> tuple[ClosureAttachment, ...]:
        """The described closures that are conditions on positions."""
        attached = self.closure_set.attachments.all if self.closure_set is not None else ()
        return tuple(one for one in attached if one.cut is None and one.driven is None and one.closure.holonomic)

    def _joint_of(self, coordinate: ClosureCoordinate) -> int:
        """Return the joint that a closure's coordinate belongs to, among those of the model."""
        return len(self.walk.nodes) + coordinate.cut if coordinate.cut is not None else int(coordinate.node or 0)

    def _relative_joints(self, model: NaturalModel, armed: Sequence[int], turned: Sequence[int]) -> tuple[int, ...]:
        """Return the joints whose coordinates are unknowns.

        Closures depend on them, or the type states nothing, or they have armature, which is then their mass.
        """
        found = {self._joint_of(c) for one in self._described_conditions for c in one.coordinates}
        found |= {*armed} - {*turned}
        bare = unstated(model)
        found |= {k for k, joint in enumerate(model.joints) if joint in bare and joint.joint.nq == joint.joint.nv}
        return tuple(sorted(found))

    @made_once
    def held(self) -> tuple[HeldClosure, ...]:
        """The described closures that are conditions, and where the coordinates are that they depend on."""
        where = self.model.relative_places()
        return tuple(
            HeldClosure(
                one.name,
                one.closure,
                one.frames,
                tuple(where[self._joint_of(c)].start + c.component for c in one.coordinates),
            )
            for one in self._described_conditions
        )

    @made_once
    def symbolic_conditions(self) -> NaturalConditions:
        """The conditions over symbols."""
        return natural_conditions(self.model, self.held)

    @property
    def points(self) -> tuple[NaturalPart, ...]:
        """The points that move."""
        return tuple(self._part(one) for one in self.model.free if one.is_point)

    @property
    def vectors(self) -> tuple[NaturalPart, ...]:
        """The unit vectors that move."""
        return tuple(self._part(one) for one in self.model.free if not one.is_point)

    @property
    def relative(self) -> tuple[NaturalPart, ...]:
        """The coordinates of joints that are unknowns beside the elements: gears depend on them, or they have mass.

        Of a ball or free joint with armature these are the axes and the origin of the child, as its parent sees them.
        """
        names = ["ground", *(body.name for body in self.model.bodies)]
        found = []
        for k, where in {**self.model.relative_places(), **self.model.turned_places()}.items():
            joint = self.model.joints[k]
            bodies = tuple(names[frame.node + 1] for frame in joint.frames)
            labels = TURNED if k in self.model.turned else joint.joint.position_labels
            for i, label in zip(range(where.start, where.stop), labels, strict=False):
                found.append(NaturalPart(f"{joint.name} {label}", bodies, False, slice(i, i + 1)))
        return tuple(found)

    @property
    def fixed(self) -> tuple[NaturalPart, ...]:
        """The points and vectors on the ground."""
        return tuple(self._part(one) for one in self.model.elements if one.fixed)

    @property
    def conditions(self) -> tuple[str, ...]:
        """The names of the conditions."""
        return self.symbolic_conditions.names

    @property
    def n_coordinates(self) -> int:
        """The number of natural coordinates."""
        return self.model.n_coordinates

    @property
    def n_conditions(self) -> int:
        """The number of conditions; some may follow from others."""
        return len(self.conditions)

    @made_once
    def mass_matrix(self) -> Array:
        """The constant mass matrix (n, n), with parameters as described."""
        return self.mass_at()

    def mass_at(self, parameters: ParameterValues = None) -> Array:
        """Return the mass matrix (n, n) for parameters."""
        n, where = self.n_coordinates, self.model.places()
        M = np.zeros((n, n))
        given = self.parameter_values(parameters)
        values, armature = map(np.array, self._masses.call([ca.DM(one) for one in given]))
        for k, body in enumerate(self.model.bodies):
            for i, e in enumerate(body.basis):
                for j, f in enumerate(body.basis):
                    if e in where and f in where:
                        M[where[e], where[f]] += values[i, 4 * k + j] * np.eye(3)
        own = list(self.model.armature())
        M[own, own] = armature.ravel()
        return M

    @made_once
    def _masses(self) -> ca.Function:
        """M of all bodies beside each other (4, 4 n), and armature of relative coordinates, of the parameters."""
        blocks = ca.densify(ca.SX(ca.horzcat(*(body.M for body in self.model.bodies))))
        armature = ca.densify(ca.SX(ca.vertcat(ca.SX(0, 1), *self.model.armature().values())))
        return ca.Function("M", self.parameter_symbols, [blocks, armature])

    def rows_at(self, x: ArrayLike, rates: ArrayLike, parameters: ParameterValues = None) -> tuple[Array, Array]:
        """Return Phi_x (m, n) and Phi'' at zero accelerations (m) at coordinates and velocities, t = 0."""
        x, rates = (self._one(value, name) for value, name in ((x, "x"), (rates, "rates")))
        rows, bias = self._rows_and_bias(x, rates, 0.0, *self.parameter_values(parameters))
        return np.array(rows), np.array(bias).ravel()

    @made_once
    def _rows_and_bias(self) -> ca.Function:
        """Phi_x and Phi'' at zero accelerations, of x, x', t and the parameters."""
        conditions = self.symbolic_conditions
        v = ca.SX.sym("v", self.n_coordinates)
        bias = conditions.at(conditions.x, v, conditions.t).bias
        given = [conditions.x, v, conditions.t, *self.parameter_symbols]
        return ca.Function("rows", given, [ca.densify(conditions.jacobian), bias])

    @made_once
    def masses(self) -> Array:
        """The masses of the bodies, with parameters as described."""
        return np.array([self._described_value(node.inertia.m).item() for node in self.walk.nodes])

    def _described_value(self, matrix: ca.SX) -> Array:
        """Return numbers, parameters being as described."""
        described = self.system.description.parameters
        if described:
            symbols = ca.vertcat(*(p.symbol for p in described))
            matrix = ca.substitute(matrix, symbols, ca.DM([p.value for p in described]))
        return np.array(ca.evalf(ca.densify(matrix)))

    def _part(self, one: NaturalElement) -> NaturalPart:
        names = ["ground", *(body.name for body in self.model.bodies)]
        return NaturalPart(
            one.name, tuple(names[k + 1] for k in sorted(one.places)), one.fixed, self.model.places().get(one.index)
        )

    # ------------------------------------------------------------------ conversions

    def configuration(self, q: ArrayLike, *, parameters: ParameterValues = None) -> Array:
        """Return x (n) of a configuration, or (k, n) of several."""
        found = self._rows(q, "q", self.system.nq)
        return self.state(found, np.zeros((*found.shape[:-1], self.system.nv)), parameters=parameters)[0]

    def state(self, q: ArrayLike, v: ArrayLike, *, parameters: ParameterValues = None) -> tuple[Array, Array]:
        """Return x and x' (n) of a state in joint coordinates, or (k, n) of several.

        `parameters` are as described unless given, here and in all that follows.

        >>> from whippletree.system.example_systems import pendulum
        >>> x, rates = pendulum().natural.state([0.0], [2.0])
        >>> x.shape, rates.shape
        ((6,), (6,))
        """
        q, v = self._rows(q, "q", self.system.nq), self._rows(v, "v", self.system.nv)
        both = self._run(self._place, q, v, parameters=parameters)
        return both[..., : self.n_coordinates], both[..., self.n_coordinates :]

    def joint_state(
        self,
        x: ArrayLike,
        rates: ArrayLike | None = None,
        *,
        near: ArrayLike | None = None,
        parameters: ParameterValues = None,
    ) -> tuple[Array, Array]:
        """Return q and v that belong to natural coordinates and velocities, bodies fitted to rigid ones.

        Angles are those nearest to `near` (`q0` unless given), or to the `relative` ones in x. Coordinates that are far
        from satisfying the conditions are refused.

        >>> from whippletree.system.example_systems import pendulum
        >>> s = pendulum()
        >>> q, v = s.natural.joint_state(*s.natural.state([7.0], [2.0]), near=[6.5])
        >>> q.round(9), v.round(9)
        (array([7.]), array([2.]))
        """
        n = self.n_coordinates
        x = self._rows(x, "x", n)
        rates = np.zeros(x.shape) if rates is None else self._rows(rates, "rates", n)
        residual = self.residual(x, parameters=parameters)
        worst = int(np.abs(residual).max(axis=tuple(range(residual.ndim - 1))).argmax())
        if np.abs(residual).max() > _FIT_TOLERANCE * max(1.0, float(np.abs(x).max()) ** 2):
            raise StateError(
                f"these are not the natural coordinates of rigid bodies at their joints: the condition "
                f'"{self.conditions[worst]}" is off by {np.abs(residual).max():.3g}'
            )
        start = self.system.q0 if near is None else self._rows(near, "near", self.system.nq)
        return self.fit(x, rates, start, parameters=parameters)

    def fit(
        self, x: ArrayLike, rates: ArrayLike, near: ArrayLike, *, parameters: ParameterValues = None
    ) -> tuple[Array, Array]:
        """Return the joint coordinates and velocities nearest to natural ones, however far off these are."""
        nq = self.system.nq
        x, rates = (self._rows(value, name, self.n_coordinates) for value, name in ((x, "x"), (rates, "rates")))
        near = self._rows(near, "near", nq)
        if rates.shape != x.shape or near.shape not in ((nq,), (*x.shape[:-1], nq)):
            raise StateError(f"x=, rates= and near= must have rows alike, not {x.shape}, {rates.shape}, {near.shape}")
        q = np.broadcast_to(near, (*x.shape[:-1], nq)).copy()
        for _ in range(_MOST_FITS):
            both = self._run(self._fit, x, rates, q, parameters=parameters)
            moved = np.abs(both[..., :nq] - q).max(initial=0.0)
            q, v = both[..., :nq].copy(), both[..., nq:]
            if moved <= _SETTLED:
                break
        return q, v

    def residual(self, x: ArrayLike, *, parameters: ParameterValues = None) -> Array:
        """Return the residuals Phi(x) of the conditions (m) at t = 0, or (k, m)."""
        return self._run(self._residual, self._rows(x, "x", self.n_coordinates), parameters=parameters)

    def jacobian(self, x: ArrayLike, *, parameters: ParameterValues = None) -> Array:
        """Return Phi_x (m, n)."""
        x = self._one(x, "x")
        conditions = self.symbolic_conditions
        found = ca.Function("jacobian", [conditions.x, conditions.t, *self.parameter_symbols], [conditions.jacobian])
        return np.array(ca.densify(found(x, 0.0, *self.parameter_values(parameters))))

    def _rows(self, value: ArrayLike, name: str, size: int) -> Array:
        """Return finite numbers (size) or (k, size)."""
        try:
            found = np.array(value, dtype=np.float64)
        except Exception:  # whatever an object answers that is asked for numbers
            found = np.full(1, np.nan)
        if found.ndim not in (1, 2) or found.shape[-1] != size or not np.isfinite(found).all():
            raise StateError(f"{name}= must be {size} finite numbers, or rows of so many, not {shown(value)}")
        return np.ascontiguousarray(found)

    def _one(self, value: ArrayLike, name: str) -> Array:
        """Return the coordinates or velocities (n) of one state."""
        found = self._rows(value, name, self.n_coordinates)
        if found.ndim > 1:
            raise StateError(f"{name}= must be the {self.n_coordinates} numbers of one state, not {found.shape}")
        return found

    # ------------------------------------------------------------------ kernels

    @property
    def parameter_symbols(self) -> list[ca.SX]:
        """The parameters as one input of functions, if there are any."""
        described = self.system.description.parameters
        return [ca.SX(ca.vertcat(*(p.symbol for p in described)))] if described else []

    def parameter_values(self, given: ParameterValues = None) -> list[Array]:
        """Return the numbers of the parameters as one input, as described unless given; nothing if there are none."""
        described = self.system.description.parameters
        if not described:
            return []
        values = self.system.kernels.inputs.parameter_set(given)
        return [np.array([p.value for p in described], dtype=np.float64) if values is None else values]

    @made_once
    def _place(self) -> Kernel:
        def make() -> ca.SX:
            motion = NaturalMotion.of(self.walk, self.model)
            free, q, v = self.model.free, self._symbols["q"], self._symbols["v"]
            own = [(self.model.joints[k].joint, *self.joint_slices[k]) for k in self.model.relative]
            places = [*(motion.x[one.index] for one in free), *(q[in_q] for _, in_q, _ in own)]
            rates = [motion.velocity[one.index] for one in free]
            rates += [joint.rate_map(q[in_q]) @ v[in_v] for joint, in_q, in_v in own]
            for k in self.model.turned:
                in_q, in_v = self.joint_slices[k]
                joint = self.model.joints[k].joint
                shift, own_v = joint.shift(joint.configuration(q[in_q])), v[in_v]
                R = shift.rotation()
                places += [ca.vec(R), *([shift.position()] if joint.nv > 3 else [])]
                rates += [ca.vec(R @ skew(own_v[0:3])), *([R @ own_v[3:6]] if joint.nv > 3 else [])]
            return ca.SX(ca.vertcat(ca.SX(0, 1), *places, *rates))

        return natural_kernel(self, "natural coordinates", dict(self._symbols), 2 * self.n_coordinates, make)

    @made_once
    def _fit(self) -> Kernel:
        x, v = (ca.SX.sym(name, self.n_coordinates) for name in ("x", "rates"))
        near = ca.SX.sym("near", self.system.nq)
        inputs = {"x": x, "rates": v, "near": near}
        size = self.system.nq + self.system.nv

        def make() -> ca.SX | LoopProgram:
            return self.loops.fit_program() if self.loops else ca.SX(ca.vertcat(*fitted_joints(self, x, v, near)))

        return natural_kernel(self, "joint coordinates", inputs, size, make)

    @property
    def large(self) -> bool:
        """Whether steps are written as loops."""
        return self.n_coordinates > LARGE

    @property
    def loops(self) -> NaturalLoops | None:
        """The loops by which a large mechanism is evaluated; None if it is written as one straight line."""
        return self._loops if self.large else None

    @made_once
    def _loops(self) -> NaturalLoops | None:
        from whippletree.natural.natural_loops import NaturalLoops, loops_fit  # only for large mechanisms

        return NaturalLoops(self) if loops_fit(self) else None

    @made_once
    def joint_slices(self) -> list[tuple[slice, slice]]:
        """Where the coordinates and velocities of each joint are in q and v."""
        tree = self.equations.node_tree().node_constants
        cuts = self.closure_set.attachments.cuts if self.closure_set is not None else ()
        return [(one.q, one.v) for one in tree] + [(one.q, one.v) for one in cuts]

    @made_once
    def _residual(self) -> Kernel:
        conditions = self.symbolic_conditions
        phi = ca.substitute(conditions.phi, conditions.t, ca.SX(0))
        return natural_kernel(self, "conditions", {"x": conditions.x}, self.n_conditions, lambda: phi)

    def _run(self, kernel: Kernel, *inputs: Array, parameters: ParameterValues) -> Array:
        """Evaluate a kernel for one state, or for rows of states."""
        rows = max((a.shape[0] for a in inputs if a.ndim > 1), default=0)
        more: list[Array | None] = list(self.parameter_values(parameters))
        given: list[Array | None] = [np.ascontiguousarray(a) for a in inputs]
        size = kernel.output_sizes[0]
        if not rows:
            result = np.empty(size)
            kernel.one([*given, *more], [result])
            return result
        result = np.empty((rows, size))
        kernel.many([*given, *more], [result], rows, 1)
        return result

    # ------------------------------------------------------------------ shown

    def _table(self) -> list[tuple[str, str, str]]:
        rows = []
        kinds = (("point", self.points), ("vector", self.vectors), ("joint", self.relative), ("fixed", self.fixed))
        for kind, parts in kinds:
            rows += [(kind, part.name, ", ".join(part.bodies)) for part in parts]
        return rows

    def _head(self) -> str:
        own = f" and {len(self.relative)} coordinates of joints" if self.relative else ""
        return (
            f'Natural coordinates of "{self.system.description.name}": {len(self.points)} points and '
            f"{len(self.vectors)} vectors{own}, {self.n_coordinates} coordinates; {self.n_conditions} conditions"
        )

    def __str__(self) -> str:
        rows = self._table()
        width = max((len(name) for _, name, _ in rows), default=0)
        return "\n".join([self._head(), *(f"  {kind:<7} {name:<{width}}  {of}" for kind, name, of in rows)])

    def _repr_html_(self) -> str:
        conditions = html_table([(name,) for name in self.conditions], ("condition",))
        return html_section(self._head(), html_table(self._table(), ("", "name", "bodies")), conditions)


def _turns(joint: NaturalJoint) -> bool:
    """Tell whether the velocities of a joint with armature are those of a ball or free joint, and not rates.

    Others that are no rates of coordinates are refused, and armature that would not be constant masses.
    """
    kind, a = joint.joint, joint.armature
    q = ca.SX.sym("q", kind.nq)
    rates = kind.rate_map(q)
    if rates.is_square() and (rates - ca.SX.eye(kind.nv)).is_zero():
        return False
    known = kind.nv in (3, 6) and (kind.joint_map(kind.configuration(q)) - ca.SX.eye(6)[:, : kind.nv]).is_zero()
    if known and (a is None or all((a[i] - a[3]).is_zero() for i in range(4, a.numel()))):
        return True
    why = (
        "must be one number for its three displacements, which are along axes that turn: give it one"
        if known
        else "is no mass of anything, its velocities being no rates of its coordinates: take it away"
    )
    raise StateError(
        f"in natural coordinates the armature of the {kind.kind} joint {quoted(joint.name)} {why}, or run in the "
        "coordinates of joints"
    )


def _body_name(where: dict[str, tuple[int, Any]], node: int) -> str:
    """Return the name of a node: of its first body."""
    return next(name for name, (index, _) in where.items() if index == node)  # not empty: every node has a body


def natural_kernel(
    natural: NaturalCoordinates,
    name: str,
    inputs: dict[str, ca.SX],
    size: int,
    make: Callable[[], ca.SX | LoopProgram],
    about: str = "",
) -> Kernel:
    """Return a kernel of inputs by name and one result (size); parameters are an input beside them, the last one.

    It is traced only if its code is not in the disk cache.
    """
    given = {**inputs, **dict(zip(["parameters"], natural.parameter_symbols, strict=False))}
    signature = Signature(tuple((label, symbol.numel()) for label, symbol in given.items()), ((name, size),), (size,))

    def program() -> StraightLine | RolledLoops:
        made = make()
        if isinstance(made, LoopProgram):
            return RolledLoops(made)
        return StraightLine(ca.Function(name.replace(" ", "_"), list(given.values()), [ca.densify(made)]))

    defaults = dict(zip(["parameters"], natural.parameter_values(), strict=False))
    key = f"{source_key()}|{natural.equations.description.fingerprint()}|natural {name}|{about}|{signature}"
    key += f"|{natural.system.plan.cuts}|{natural.large}"
    what = f'{name} of "{natural.system.description.name}"'
    return Kernel(key, signature, program, open_cache(), defaults, what=what)


def forces_at(natural: NaturalCoordinates, given: Mapping[str, ca.SX] | None) -> ca.SX:
    """Return Q (n) at a state in joint coordinates with efforts and elements; of weights alone if none is given."""
    eq, walk = natural.equations, natural.walk
    if given is not None:
        here = eq.loaded(dict(given))
        walk = here.walk
        if eq.closed:
            walk = eq.closure_set(dict(given), kept=False).efforts_at_cuts(walk, here.tau)
    return natural_forces(walk, natural.model)


def fitted_joints(natural: NaturalCoordinates, x: ca.SX, rates: ca.SX, near: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return q and v as expressions of natural coordinates and velocities."""
    bodies = dict(enumerate(fit_bodies(natural.model, x, rates)))
    q, v = ca.SX(near), ca.SX.zeros(natural.system.nv)
    own = natural.model.relative_places()
    for k, (joint, (in_q, in_v)) in enumerate(zip(natural.model.joints, natural.joint_slices, strict=True)):
        found = fit_joint(joint, bodies, x[own[k]] if k in own else near[in_q])
        if joint.joint.nv:
            q[in_q], v[in_v] = found
    return q, v
