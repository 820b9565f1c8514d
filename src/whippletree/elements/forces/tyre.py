"""A tyre: a thin disc on an elastic contact patch that deflects along the road and relaxes as the wheel rolls.

The wheel's centre is the origin of the side, s its spin axis, R its radius, n the road's normal. Its lowest point is at
R e from the centre, where e is the downward direction in the wheel's plane; x = s x n / |s x n| points forward along
the road and y = n x x to the left. The normal force N follows from the depth of the lowest point as in `Contact`.

Let u be the sliding velocity of the material point of the wheel at the contact point, along x and y, and V the speed at
which the wheel rolls: the road passes the contact patch at V. The patch is a pair of springs with the deflections z,

    z_i' = -h u_i - (|V| / sigma_i + g) z_i,      F_i = h k_i z_i,      k_i = C_i / sigma_i         (1)

with the slip stiffness C (N per unit of slip) and the relaxation length sigma along x and y; h is 1 on the road and 0
above it (`smooth.gate`). In steady rolling with the slip s = u / V and g = 0 the force is -C s, and it gets there as
1 - exp(-distance / sigma). With friction mu, let rho = |k z| / (mu N) be the share of what friction can carry, and

    g = h |k u| / (mu N) rho^2                                                                     (2)

Then rho in steady rolling solves rho / x + rho^3 = 1, x = |C s| / (mu N): C s for little slip, mu N when it slides, and
in between within 0.11 mu N of the brush model's 1 - (1 - x / 3)^3. Standing still, the patch holds the wheel like a
spring; where it rolls slower than `speed`, |V| stands for sqrt(V^2 + speed^2), by which it creeps.

Power is accounted for exactly: F . u = -d/dt (sum k_i z_i^2 / 2) - sum k_i z_i^2 (|V| / sigma_i + g).

The force along the road acts behind the lowest point by the pneumatic trail t (1 - rho)^2, which aligns the wheel; u is
taken there, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import casadi as ca

from whippletree.elements.declaration import part, quantity, unit_axis
from whippletree.elements.element_tolerances import COINCIDENT_POINTS, TYRE_LOAD_SHARE, UPRIGHT
from whippletree.elements.forces.base import ElementForces, ElementState, Force, SeenFormula
from whippletree.elements.forces.formula import Formula
from whippletree.elements.forces.smooth import Stop, gate, stopped
from whippletree.spatial.orientation import Direction
from whippletree.spatial.scalars import Scalar
from whippletree.spatial.vectors import cross, stack

__all__ = ["Tyre"]


_ROLLS = "a tyre answers over a length that it rolls"


class _Patch(NamedTuple):
    """The contact patch: its directions, the arms of its forces from the wheel's centre, and its moving points."""

    n: ca.SX
    x: ca.SX
    y: ca.SX
    lowest: ca.SX  # the arm of the normal force
    arm: ca.SX  # that of the force along the road
    stop: Stop
    hold: ca.SX  # h
    sliding: ca.SX  # (2,), u
    rolling: ca.SX  # |V|
    rise: ca.SX
    k: ca.SX  # (2,)
    relaxation: ca.SX  # (2,), sigma
    share: ca.SX  # rho


@dataclass(frozen=True, eq=False)
class Tyre(Force):
    """A tyre that slips, relaxes and slides, and carries a wheel on the road normal . x = offset.

    The wheel turns about `axis` through the point `at`. `stiffness` and `damping` are vertical; forces along the road
    are `slip_stiffness` times the longitudinal slip (as `cornering_stiffness` unless given) and `cornering_stiffness`
    times the slip angle for little slip, once the wheel has rolled a few times the lengths `relaxation` and
    `lateral_relaxation` (the radius, and as the other, unless given). All are those at the load that the tyre is made
    for. With `friction` the force is never more than that times the normal force; without, the tyre is linear. `trail`
    is the pneumatic trail, `rolling_resistance` the moment against rolling over normal force and radius. Slower than
    `speed` the tyre creeps. `offset` is as for `contact`. Its two deflections are auxiliary states, zero at the start
    unless `initial` is given. The equations are in `whippletree.elements.forces.tyre`.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> m.tyre("front", m.body("wheel", mass=20.0), radius=0.3, stiffness=2e5, cornering_stiffness=6e4).name
    'front'
    """

    word: ClassVar[str] = "tyre"
    n_sides: ClassVar[int] = 1
    on: ClassVar[str] = "wheel"
    state_labels: ClassVar[tuple[str, ...]] = ("longitudinal deflection", "lateral deflection")

    offset: Formula = part(Formula, 0.0, of="positions")
    normal: Direction = unit_axis()
    axis: Direction = unit_axis("y")
    radius: Scalar = quantity(unit="m", sign="positive", needed=True)
    stiffness: Scalar = quantity(unit="N/m", sign="positive", needed=True)
    damping: Scalar = quantity(0.0, unit="N s/m", sign="not negative")
    cornering_stiffness: Scalar = quantity(unit="N/rad", sign="not negative", needed=True)
    slip_stiffness: Scalar = quantity(unit="N", sign="not negative", like="cornering_stiffness")
    relaxation: Scalar = quantity(unit="m", sign="positive", why=_ROLLS, like="radius")
    lateral_relaxation: Scalar = quantity(unit="m", sign="positive", why=_ROLLS, like="relaxation")
    friction: Scalar | None = quantity(None, sign="positive", why="None is a linear tyre", optional=True)
    trail: Scalar = quantity(0.0, unit="m", sign="not negative")
    rolling_resistance: Scalar = quantity(0.0, sign="not negative")
    speed: Scalar = quantity(0.01, unit="m/s", sign="positive")
    width: Scalar = quantity(1e-3, unit="m", sign="positive")

    def told(self) -> dict[str, Any]:
        """Return the road before the numbers, and the axis after them."""
        own = super().told()
        axis = own.pop("axis")
        return {"normal": own.pop("normal"), **own, "axis": axis}

    @property
    def timed(self) -> bool:
        """Whether the road moves with time."""
        return self.offset.timed

    def formulas(self, seen: ElementState) -> tuple[SeenFormula, ...]:
        """Return the formula of the road's height."""
        return (SeenFormula(self.offset, self._road(seen), ca.SX(0, 1)),)

    def act(self, seen: ElementState) -> ElementForces:
        """Return the wrench on the wheel at its centre."""
        side, z, patch = seen.sides[0], seen.z[0:2], self._patch(seen)
        F = patch.hold * patch.k * z
        up, along = patch.stop.force * patch.n, F[0] * patch.x + F[1] * patch.y
        spin = side.R @ ca.SX(ca.vertcat(*self.axis))
        turning = ca.dot(side.w, spin)
        brake = self.rolling_resistance * self.radius * patch.stop.force
        brake *= turning / ca.sqrt(turning * turning + (self.speed / self.radius) ** 2)
        wrench = stack(cross(patch.lowest, up) + cross(patch.arm, along) - brake * spin, up + along)
        faded = ca.dot(patch.k * z * z, patch.rolling / patch.relaxation + self._sliding_rate(patch))
        none = (ca.SX.zeros(6) for _ in seen.sides[1:])
        return ElementForces(
            (wrench, *none),
            ca.SX.zeros(seen.q.shape[0]),
            patch.stop.stored + ca.dot(patch.k, z * z) / 2,
            patch.stop.dissipated + faded + brake * turning,
            patch.stop.force * patch.rise,
        )

    def rates(self, seen: ElementState) -> ca.SX:
        """Return how fast the contact patch deflects, (1)."""
        patch = self._patch(seen)
        fading = patch.rolling / patch.relaxation + self._sliding_rate(patch)
        return ca.densify(-patch.hold * patch.sliding - fading * seen.z[0:2])

    def _road(self, seen: ElementState) -> ElementState:
        """Return the input of the expression for the height of the road."""
        return seen.beyond(1, 0)._replace(z=seen.z[len(self.state_labels) :])

    def _patch(self, seen: ElementState) -> _Patch:
        """Return the contact patch in a situation."""
        side, road = seen.sides[0], self._road(seen)
        n, spin = ca.SX(ca.vertcat(*self.normal)), side.R @ ca.SX(ca.vertcat(*self.axis))
        forward = cross(spin, n)
        length = ca.sqrt(ca.sumsqr(forward) + UPRIGHT**2)
        x = forward / length
        lowest = self.radius * cross(spin, x)  # downward in the wheel's plane
        rise = self.offset.rate(road)
        depth = self.offset.value(road) - ca.dot(n, side.p + lowest)
        # of the rim, another point may become the lowest: it moves along x, which does not change the depth
        sinking = rise - ca.dot(n, side.u + cross(side.w, lowest))
        stop = stopped(depth, sinking, self.stiffness, self.damping, self.width)
        k = ca.vertcat(self.slip_stiffness / self.relaxation, self.cornering_stiffness / self.lateral_relaxation)
        share = self._share(k * seen.z[0:2], stop.force)
        V = ca.dot(x, side.u + cross(side.w - spin * ca.dot(side.w, spin), lowest))  # of the wheel as it is carried
        shift = -self.trail * (1 - ca.fmin(share, 1)) ** 2 * V / ca.sqrt(V * V + self.speed**2)
        arm = lowest + shift * x
        u, y = side.u + cross(side.w, arm), cross(n, x)
        sliding = ca.vertcat(ca.dot(x, u), ca.dot(y, u))
        rolling = ca.sqrt((V - sliding[0]) ** 2 + self.speed**2)
        sigma = ca.SX(ca.vertcat(self.relaxation, self.lateral_relaxation))
        hold = gate(depth, self.width)
        return _Patch(n, x, y, lowest, arm, stop, hold, sliding, rolling, rise, ca.SX(k), sigma, share)

    def _share(self, F: ca.SX, N: ca.SX) -> ca.SX:
        """Return rho, the used share of the largest possible friction."""
        return ca.SX(0) if self.friction is None else _length(F, COINCIDENT_POINTS) / self._carried(self.friction, N)

    def _carried(self, friction: Scalar, N: ca.SX) -> ca.SX:
        """Return the largest force of friction at the normal force N."""
        return friction * _length(N, TYRE_LOAD_SHARE * self.stiffness * self.width)

    def _sliding_rate(self, patch: _Patch) -> ca.SX:
        """Return g of (2)."""
        if self.friction is None:
            return ca.SX(0)
        pulled = _length(patch.k * patch.sliding, self.speed * patch.k[0])
        return patch.hold * pulled / self._carried(self.friction, patch.stop.force) * patch.share**2


def _length(x: ca.SX, least: Scalar) -> ca.SX:
    """Return the length of a vector, kept from zero by a small number."""
    return ca.sqrt(ca.sumsqr(x) + least**2)
