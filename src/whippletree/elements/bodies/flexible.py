"""Flexible bodies in modal coordinates: small elastic deformation in a frame that moves at large.

A flexible body has a frame, its *reference frame*, and n modal coordinates eta. A material point at x in the undeformed
body is at x + Phi eta + 1/2 eta^T G eta; the second-order displacements G, where they are given, make the body stiffer
or softer under load, and are part of the same motion, so that inertia, energy and forces belong together. Joints and
forces attach to its interfaces, whose poses and their exact derivatives are (`rotation_vector_terms`)

    r = x + Phi eta + 1/2 eta^T G eta,      R = exp(theta~) A,      theta = Psi eta + 1/2 eta^T H eta          (1)
    v = (Phi + G eta) eta',                 w = T(theta) (Psi + H eta) eta'

Inside, stiffness K and damping D act on eta: a strain energy 1/2 eta^T K eta and the power eta'^T D eta'. The inertia
is in `modal_inertia`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import casadi as ca
import numpy as np

from whippletree.elements.bodies.array_store import ArrayStore
from whippletree.elements.bodies.elimination_basis import elimination_basis, exact_units
from whippletree.elements.bodies.flexible_data import (
    GeometricStiffness,
    Interface,
    Invariants,
    LumpedNodes,
    Stations,
)
from whippletree.elements.bodies.flexible_reading import (
    bends,
    inertia_arrays,
    interface_arrays,
    modal_matrix,
    mode_names,
    station_arrays,
    without_products,
)
from whippletree.elements.bodies.kind import BodyKind, OwnInertia, OwnVelocityForces
from whippletree.elements.bodies.modal_inertia import (
    SKEW_STIFFNESS,
    first_moment_at_rest,
    inertia_at,
    mode_scales,
    velocity_forces_at,
)
from whippletree.elements.bodies.station_motions import StationMotion, main_products, station_motion
from whippletree.elements.declaration import part, quantity
from whippletree.elements.forces.base import ElementForces, ElementState, Force
from whippletree.errors import ModelError, StateError
from whippletree.foundation.arrays import Array
from whippletree.foundation.once import made_once
from whippletree.foundation.user_frames import user_facing
from whippletree.spatial import rotation_vector_terms, stack
from whippletree.spatial.rotation import RotationVectorTerms
from whippletree.spatial.scalars import Scalar, number, shown

__all__ = [
    "LARGEST_DEFLECTION",
    "LARGEST_ROTATION",
    "FlexibleBody",
    "GeometricStiffness",
    "Interface",
    "Invariants",
    "LumpedNodes",
    "ModalForce",
    "Stations",
]


@dataclass(frozen=True, eq=False)
class ModalForce(Force):
    """Stiffness and damping on the modal coordinates of a body.

    >>> seen = ElementState((), ca.SX([0.5, 0]), ca.SX([0, 0]), ca.SX(0, 1), ca.SX(0))
    >>> ModalForce(ArrayStore.of_arrays({"stiffness": 4 * np.eye(2), "damping": np.zeros((2, 2))})).act(seen).stored
    SX(0.5)
    """

    arrays: ArrayStore = part(ArrayStore)

    @property
    def kind(self) -> str:
        """The kind of body, in messages and tables."""
        return "elastic forces"

    def act(self, seen: ElementState) -> ElementForces:
        """Return -K eta - D eta', the strain energy and the power that is lost."""
        K, D = self.arrays.matrix("stiffness"), self.arrays.matrix("damping")
        elastic, lost = ca.densify(K @ seen.q), ca.densify(D @ seen.v)
        none = ca.SX(0)
        return ElementForces((), -elastic - lost, ca.dot(seen.q, elastic) / 2, ca.dot(seen.v, lost), none)


class _Place(NamedTuple):
    """An interface at a state."""

    R: ca.SX
    p: ca.SX
    axes: ca.SX
    terms: RotationVectorTerms
    J: ca.SX  # dp/deta
    turning: ca.SX  # dtheta/deta
    bend: ca.SX  # G as (3 n, n)
    twist: ca.SX  # H as (3 n, n)


@user_facing
@dataclass(frozen=True, eq=False)
class FlexibleBody(BodyKind):
    """A flexible body in modal coordinates; made by `from_arrays`, or from a beam, matrices or a file.

    >>> spring_mounted = FlexibleBody.from_arrays(
    ...     stiffness=[[100.0]],
    ...     inertia=LumpedNodes([2.0], np.zeros((1, 3, 3)), [[1, 0, 0]], [[[0], [0], [1]]], np.zeros((1, 3, 1))),
    ...     interfaces={"tip": Interface((1, 0, 0), translation=[[0], [0], [1]])},
    ...     size=1.0,
    ... )
    >>> spring_mounted
    FlexibleBody(1 mode, interfaces: tip)
    >>> float(ca.DM(spring_mounted.mass_matrix(ca.SX(0)))[6, 6])
    2.0
    """

    outline: str = part(str)  # JSON: names of modes and interfaces, and what the report says
    arrays: ArrayStore = part(ArrayStore)
    size: Scalar = quantity(unit="m", sign="positive", why="deflections are compared with it")
    drawn: ArrayStore | None = part(ArrayStore, None)

    @classmethod
    def from_arrays(
        cls,
        *,
        stiffness: object,
        inertia: Invariants | LumpedNodes,
        interfaces: Mapping[str, Interface],
        size: float,
        damping: object = None,
        name_of_modes: Sequence[str] | None = None,
        geometric_stiffness: GeometricStiffness | None = None,
        stations: Stations | None = None,
        inertia_order: int = 2,
        stiffens: bool | None = None,
    ) -> FlexibleBody:
        """Return the body with these modal matrices (n, n), inertia, interfaces by name, and a typical length `size`.

        `inertia_order` says to which order in eta the inertia was given, and is part of the body's report; it is one
        at most if second-order displacements come without their products with modes. `stiffens` says whether
        second-order displacements are in it, where integrals alone do not tell.
        """
        K = modal_matrix("stiffness", stiffness)
        n = K.shape[0]
        D = np.zeros((n, n)) if damping is None else modal_matrix("damping", damping, n)
        names = mode_names(name_of_modes, n)
        if not isinstance(inertia, Invariants | LumpedNodes):
            raise ModelError("inertia must be Invariants or LumpedNodes")
        arrays = {"stiffness": K, "damping": D, **inertia_arrays(inertia, geometric_stiffness, n)}
        if not isinstance(interfaces, Mapping):
            raise ModelError("interfaces must be a mapping from names to Interface")
        scales = mode_scales(cast(Array, arrays["y0"])[9 + 3 * n :], n)
        for name, interface in interfaces.items():
            found = interface_arrays(name, interface, scales)
            if not arrays.keys().isdisjoint(found):
                raise ModelError(f'interface "{name}": a body has arrays of that name already, choose another name')
            arrays |= found
        bent = geometric_stiffness is not None or bends(inertia)
        stiffens = bent if stiffens is None else stiffens
        order = min(inertia_order, 1) if bent and without_products(inertia) else inertia_order
        outline = {"modes": names, "interfaces": list(interfaces), "order": order, "stiffens": stiffens}
        drawn = None
        if stations is not None:
            drawn = ArrayStore.of_arrays(station_arrays(stations, n))
            arrays["reach"] = np.array(
                [np.abs(drawn.array(each)).max(axis=(0, 1)) for each in ("translation", "rotation")]
            )
        length = number(size, "size")
        if length <= 0:
            raise ModelError(f"size must be positive, got {length:g}: deflections are compared with it")
        return cls(json.dumps(outline), ArrayStore.of_arrays(arrays), length, drawn)

    def __repr__(self) -> str:
        n = self.n_own
        return f"FlexibleBody({n} mode{'s' * (n != 1)}, interfaces: {', '.join(self.frames)})"

    @made_once
    def _outline(self) -> dict[str, Any]:
        found: dict[str, object] = json.loads(self.outline)
        return found

    @made_once
    def text(self) -> str:
        """The structure of the body without its numbers."""
        return super().text

    @property
    def labels(self) -> tuple[str, ...]:
        """The name of each modal coordinate."""
        return tuple(self._outline["modes"])

    @property
    def frames(self) -> tuple[str, ...]:
        """The names of the interfaces."""
        return tuple(self._outline["interfaces"])

    def random(self, rng: np.random.Generator) -> Array:
        """Return random modal coordinates with which the body stays within the range of its theory."""
        return rng.uniform(-1.0, 1.0, self.n_own) * self.amplitudes(
            _RANDOM_SHARE * LARGEST_DEFLECTION, _RANDOM_SHARE * LARGEST_ROTATION
        )

    @made_once
    def bare(self) -> FlexibleBody:
        """The same body without its stations."""
        return self if self.drawn is None else replace(self, drawn=None)

    def _check(self, sizes: tuple[int, ...]) -> None:
        """Refuse modal coordinates of another number than there are."""
        if sizes != (self.n_own,):
            given = sizes[0] if sizes else "a number"
            raise StateError(f"the body has {self.n_own} modal coordinates, and what is given has {given}")

    def coordinate_scales(self) -> Array:
        """Return how large each modal coordinate is where it alone takes the body to the end of its theory's range."""
        found = self.amplitudes(LARGEST_DEFLECTION, LARGEST_ROTATION)
        return np.where(found > 0, found, 1.0)

    def amplitudes(self, deflection: float, rotation: float) -> Array:
        """Return for each mode how large its coordinate is when it alone deflects the body by a share of its size.

        `rotation` limits the rotations of interfaces likewise, in radians.
        """
        n = self.n_own
        moved = np.sqrt(np.maximum(np.diag(self._modal_inertia), 0.0) / self.arrays.array("mass")[0])
        turned = np.zeros(n)
        if "reach" in self.arrays:  # of single nodes' displacements neither inertia nor interfaces tell
            moved, turned = np.maximum(moved, self.arrays.array("reach")[0]), self.arrays.array("reach")[1]
        for name in self.frames:
            moved = np.maximum(moved, np.abs(self.arrays.array(f"{name} translation")).max(axis=0))
            turned = np.maximum(turned, np.abs(self.arrays.array(f"{name} rotation")).max(axis=0))
        with np.errstate(divide="ignore"):
            found: Array = np.minimum(deflection * float(self.size) / moved, rotation / turned)
        return np.where(np.isfinite(found), found, 0.0)

    def internal_force(self) -> Force:
        """Return the elastic forces."""
        return ModalForce(self.arrays.only("stiffness", "damping"))

    # ------------------------------------------------------------------ numbers about a deformation

    def strain_energy(self, eta: Array) -> Array:
        """Return 1/2 eta^T K eta, in joules, for modal coordinates (..., n)."""
        self._check(np.shape(eta)[-1:])
        return np.asarray(np.einsum("...k,kl,...l->...", eta, self.arrays.array("stiffness"), eta) / 2)

    def places(self) -> ArrayStore:
        """Return positions, translations and rotations of all stations, or of the interfaces if it has none."""
        if self.drawn is not None:
            return self.drawn
        n = self.n_own
        shapes: dict[str, tuple[int, ...]] = {"position": (3,), "translation": (3, n), "rotation": (3, n)}
        if self.stiffens:
            shapes |= dict.fromkeys(("second order", "second order rotation"), (3, n, n))
        found = {
            name.replace(" ", "_"): np.array([self.arrays.array(f"{f} {name}") for f in self.frames]).reshape(
                -1, *shape
            )
            for name, shape in shapes.items()
        }
        return ArrayStore.of_arrays({"positions": found.pop("position"), **found})

    @made_once
    def main_products(self) -> Array:
        """The combinations (r, n, n) of products of modal coordinates by which it moves most to second order."""
        return main_products(self.places(), self.coordinate_scales())

    def motion(self, eta: Array) -> StationMotion:
        """Return where the stations are at modal coordinates (..., n), and how they move with these."""
        self._check(np.shape(eta)[-1:])
        return station_motion(self.places(), eta)

    def frequencies(self) -> Array:
        """Return the natural frequencies with the frame held, in radians per second.

        >>> from whippletree.flexible_bodies import beam, circle, steel
        >>> link = beam(length=1.0, section=circle(radius=0.01), material=steel, modes=2)
        >>> (link.frequencies() / (2 * np.pi)).round(1).tolist()
        [14.5, 14.5]
        """
        if not self.n_own:
            return np.zeros(0)
        inverse = np.linalg.inv(np.linalg.cholesky(self._modal_inertia))
        squares = np.linalg.eigvalsh(inverse @ self.arrays.array("stiffness") @ inverse.T)
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)))

    def lowest_frequency(self) -> float:
        """Return the lowest natural frequency with the frame held, in radians per second; infinite without modes."""
        return float(self.frequencies()[0]) if self.n_own else float("inf")

    def report(self) -> str:
        """Return in words the properties of the body, and the order of its inertia in the modal coordinates.

        >>> from whippletree.flexible_bodies import beam, circle, steel
        >>> print(beam(length=1.0, section=circle(radius=0.01), material=steel, modes=2).report())
        flexible body of 2.46615 kg with 2 modal coordinates
        natural frequencies with the frame held: 14.47 Hz, 14.47 Hz
        interfaces: root, tip
        inertia to order 2 in the modal coordinates
        loads stiffen it, by second-order displacements
        """
        hertz = [f"{each / (2 * np.pi):.4g} Hz" for each in self.frequencies()]
        listed = ", ".join([*hertz[:_LISTED], "..."] if len(hertz) > _LISTED else hertz)
        mass, n = self.arrays.array("mass")[0], self.n_own
        stiffens = "loads stiffen it, by second-order displacements"
        if not self.has_energy:
            stiffens += ", and by matrices that are not symmetric, used as given: energy is no check"
        return "\n".join(
            [
                f"flexible body of {mass:.6g} kg with {n} modal coordinate{'s' * (n != 1)}",
                *([f"natural frequencies with the frame held: {listed}"] if hertz else []),
                f"interfaces: {', '.join(self.frames)}",
                f"inertia to order {self._outline['order']} in the modal coordinates",
                stiffens if self.stiffens else "no geometric stiffening: it must not spin fast",
            ]
        )

    @property
    def stiffens(self) -> bool:
        """Whether second-order displacements make it stiffer or softer under load."""
        return bool(self._outline["stiffens"])

    @property
    def has_energy(self) -> bool:
        """Whether all its forces follow from energy: those of a load-dependent stiffness need be symmetric for that."""
        return SKEW_STIFFNESS not in self.arrays

    @made_once
    def _modal_inertia(self) -> Array:
        """E of the undeformed body."""
        found: Array = ca.DM(self.inertia(ca.SX.zeros(self.n_own)).own).full()
        return found

    # ------------------------------------------------------------------ where interfaces are

    def pose(self, frame: str, eta: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return an interface's axes and origin in the body frame (1)."""
        place = self._place(frame, eta)
        return place.R, place.p

    def frame_map(self, frame: str, eta: ca.SX) -> ca.SX:
        """Return the map (6, n) from modal rates to an interface's motion, in its own axes (1)."""
        place = self._place(frame, eta)
        return stack(place.axes.T @ (place.terms.tangent.T @ place.turning), place.R.T @ place.J)

    def frame_bias(self, frame: str, eta: ca.SX, rate: ca.SX) -> ca.SX:
        """Return an interface's acceleration at zero modal accelerations, in its own axes."""
        place, n = self._place(frame, eta), self.n_own
        turning = place.terms.bias(ca.densify(place.turning @ rate))
        twist = ca.reshape(place.twist @ rate, n, 3).T @ rate
        bend = ca.reshape(place.bend @ rate, n, 3).T @ rate
        angular = place.R.T @ turning + place.axes.T @ (place.terms.tangent.T @ twist)
        return stack(ca.densify(angular), ca.densify(place.R.T @ bend))

    def frame_motion(
        self, frame: str, eta: ca.SX, rate: ca.SX, combinations: ca.SX
    ) -> tuple[ca.SX, ca.SX, ca.SX] | None:
        """Return map, bias and velocity of an interface in body axes (1); nothing if it does not turn."""
        place, n = self._place(frame, eta), self.n_own
        if place.turning.nnz() == 0:
            return None
        twist = ca.reshape(place.twist @ rate, n, 3).T @ rate
        bend = ca.reshape(place.bend @ rate, n, 3).T @ rate
        T, turn = place.terms.tangent, ca.densify(place.turning @ rate)
        turning, moving = (_combined(each, combinations) for each in (place.turning, place.J))
        bias = stack(place.terms.bias(turn) + T @ twist, ca.densify(bend))
        return stack(T @ turning, moving), bias, stack(T @ turn, ca.densify(place.J @ rate))

    def combinations(self, frames: Sequence[str]) -> ca.SX:
        """Return B by which other bodies on these interfaces meet few of the unknowns (`elimination_basis`).

        It is used where the modal inertia is constant.
        """
        first = 9 + 3 * self.n_own
        varying = "F" in self.arrays or "node 0 inertia" in self.arrays
        if (
            varying
            or not self.n_own
            or not len(frames)
            or any(self.arrays.array(y)[first:].any() for y in ("y1", "y2"))
        ):
            return ca.SX(0, 0)
        A = np.vstack([self.arrays.array(f"{f} {what}") for f in frames for what in ("rotation", "translation")])
        B = elimination_basis(self._modal_inertia, A)
        return ca.SX(0, 0) if B is None else ca.sparsify(ca.SX(ca.DM(B)))

    def _place(self, frame: str, eta: ca.SX) -> _Place:
        if frame not in self.frames:
            raise ModelError(f"the body has no interface {shown(frame)}; there are {', '.join(self.frames)}")
        self._check((eta.numel(),))
        n = self.n_own
        names = ("position", "axes", "translation", "rotation", "second order", "second order rotation")
        x, axes, phi, psi, bend, twist = (self.arrays.matrix(f"{frame} {name}") for name in names)
        L, Q = (ca.reshape(each @ eta, n, 3).T for each in (bend, twist))
        terms = rotation_vector_terms(ca.densify((psi + Q / 2) @ eta))
        p = ca.densify(x + (phi + L / 2) @ eta)
        return _Place(ca.densify(terms.rotation @ axes), p, axes, terms, phi + L, psi + Q, bend, twist)

    # ------------------------------------------------------------------ inertia

    def inertia(self, eta: ca.SX) -> OwnInertia:
        """Return the generalised inertia by its parts."""
        self._check((eta.numel(),))
        return inertia_at(self.arrays, ca.densify(eta))

    def mass_and_first_moment(self) -> tuple[ca.SX, ca.SX]:
        """Return mass, and mass times the centre (3), undeformed."""
        return first_moment_at_rest(self.arrays)

    def velocity_forces(self, eta: ca.SX, rate: ca.SX, w: ca.SX) -> OwnVelocityForces:
        """Return the velocity forces beside the gyroscopic one of the frame's whole inertia."""
        self._check((eta.numel(),))
        return velocity_forces_at(self.arrays, ca.densify(eta), ca.densify(rate), ca.densify(w))

    def mass_matrix(self, eta: ca.SX) -> ca.SX:
        """Return the generalised inertia (6 + n, 6 + n) on [w; u; eta']."""
        found = self.inertia(eta)
        frame = found.rigid.articulated().matrix()
        return ca.SX(ca.blockcat([[frame, found.coupling], [found.coupling.T, found.own]]))


def _combined(H: ca.SX, combinations: ca.SX) -> ca.SX:
    """Return H B, with those entries exact that are zeros and ones up to rounding; H if there is no B."""
    if not combinations.numel():
        return H
    HB, size = H @ combinations, ca.fabs(H) @ ca.fabs(combinations)
    if not HB.is_constant():
        return HB
    return ca.sparsify(ca.SX(exact_units(ca.DM(HB).full(), ca.DM(size).full())))


LARGEST_DEFLECTION = 0.1
"""The share of a body's size up to which its deflections are small."""

LARGEST_ROTATION = 0.1
"""Rotations within one body up to which they are small, in radians."""

_LISTED = 12
"""So many natural frequencies are told in a report."""

_RANDOM_SHARE = 0.2  # of these that random modal coordinates reach
