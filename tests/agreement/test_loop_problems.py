"""Published mechanisms with loops, against closed forms and computations of their own in NumPy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import whippletree as wt
from support.absolute_balance import Equations, Stand, closed, energy, joint_pose, shifted
from support.formulations import EXACT
from support.loop_models import Coupling, Looped
from support.measures import relative
from support.reference_problems import (
    ANDREWS,
    ANDREWS_GUESS,
    ANDREWS_START,
    ANDREWS_TORQUE,
    GRAVITY,
    andrews,
    bricard,
    bricard_as_it_stands,
    four_bar_acceleration,
    four_bar_angles,
    n_four_bar,
    squeezer_accelerations,
    squeezer_closed,
    squeezer_jacobian,
    squeezer_spring,
)

Array = np.ndarray

FORMULATIONS = ("auto", *EXACT)
FLAT = 1e-6
FREE, HELD = 35, 36  # of the equations of Bricard's mechanism: five bodies and six hinges, one motion or none


# ---------------------------------------------------------------------------------------------------------
# N four-bars


@pytest.mark.parametrize("n", [1, 2, 5])
def test_four_bars(n: int) -> None:
    s = n_four_bar(n).build(guess=four_bar_angles(n, np.pi / 2))
    assert s.mobility.gruebler == 1 - 3 * n
    assert s.mobility.mobility == 1
    assert len(s.mobility.redundant) == 3 * n
    for angle, speed in ((np.pi / 2, -1.0), (1.1, 2.0), (0.3, -3.0), (-0.8, 0.5), (2.9, 1.5)):
        q, v = s.configuration(four_bar_angles(n, angle)), s.velocities(four_bar_angles(n, speed))
        expected = s.velocities(four_bar_angles(n, four_bar_acceleration(n, angle)))
        scale = max(np.abs(expected).max(), 1.0)  # upright, they do not accelerate
        for name in FORMULATIONS if n < 3 else ("auto",):
            a = s.forward_dynamics(q, v, formulation=name)
            assert np.abs(a - expected).max() < 1e-10 * scale, (name, angle)


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("angle", [0.0, np.pi])
def test_flat_four_bars(n: int, angle: float) -> None:
    """Where all rods lie in one line there are more freedoms for a moment; the motion goes on as a parallelogram."""
    s = n_four_bar(n).build(guess=four_bar_angles(n, np.pi / 2))
    q, v = s.configuration(four_bar_angles(n, angle)), s.velocities(four_bar_angles(n, -2.0))
    expected = s.velocities(four_bar_angles(n, four_bar_acceleration(n, angle)))
    for name in FORMULATIONS if n < 3 else ("auto",):
        assert relative(s.forward_dynamics(q, v, formulation=name)[None], expected[None]) < FLAT, name


@pytest.mark.parametrize("n", [1, 2, 5])
def test_four_bars_assembled_flat(n: int) -> None:
    """Built where they lie flat, they are the same mechanism, with the mobility it has everywhere else."""
    with pytest.warns(wt.AssemblyWarning, match="singular"):
        s = n_four_bar(n).build(guess=four_bar_angles(n, 0.0))
    assert s.mobility.mobility == 1
    assert np.abs(s.closure_residual(s.q0)).max() < 1e-12
    for angle in (0.0, 0.7):
        q, v = s.configuration(four_bar_angles(n, angle)), s.velocities(four_bar_angles(n, -2.0))
        expected = s.velocities(four_bar_angles(n, four_bar_acceleration(n, angle)))
        tolerance = FLAT if angle == 0.0 else 1e-10
        assert relative(s.forward_dynamics(q, v)[None], expected[None]) < tolerance


def test_four_bars_move_on_across_the_flat_position() -> None:
    """Close to it on either side, the answer is still the parallelogram's."""
    s = n_four_bar(1).build(guess=four_bar_angles(1, np.pi / 2))
    for angle in (1e-2, 1e-4, 1e-6, 1e-8, -1e-7, -1e-3):
        q, v = s.configuration(four_bar_angles(1, angle)), s.velocities(four_bar_angles(1, -2.0))
        expected = s.velocities(four_bar_angles(1, four_bar_acceleration(1, angle)))
        assert relative(s.forward_dynamics(q, v)[None], expected[None]) < FLAT, angle


def test_what_a_planar_four_bar_leaves_open() -> None:
    """Forces in the plane are determined, and so are moments about the hinges; all else is shared.

    The least shares are zero: no load acts out of the plane.
    """
    s = n_four_bar(1).build(guess=four_bar_angles(1, 1.0))
    q, v = s.configuration(four_bar_angles(1, 0.7)), s.velocities(four_bar_angles(1, -2.0))
    for name in FORMULATIONS:
        reactions = s.reactions(q, v, formulation=name)
        for joint in reactions:
            assert reactions[joint].unique.tolist() == [False, False, True, True, True, False]
            moment, force = reactions[joint].moment, reactions[joint].force
            assert np.abs([*moment, force[2]]).max() < 1e-12 * np.abs(force).max()
    # The couplers are level, so each hinge carries its half of the weight that rises with the other.
    weight = sum(reactions[f"A{i}"].force for i in range(2))
    rise = four_bar_acceleration(1, 0.7) * np.cos(0.7) - 4.0 * np.sin(0.7)
    aside = -four_bar_acceleration(1, 0.7) * np.sin(0.7) - 4.0 * np.cos(0.7)
    assert np.allclose(weight, [2.0 * aside, 3 * GRAVITY + 2.0 * rise, 0.0], atol=1e-11)


# ---------------------------------------------------------------------------------------------------------
# Bricard


def only_motion(e: Equations) -> Array:
    """The velocities of all bodies and joints for a unit rate of the first hinge."""
    return e.motions[:, 0] / e.joint_motions[0, 0]


def one_freedom(angle: float, speed: float) -> tuple[Array, Array, float]:
    """Bricard's mechanism by its energy alone: T = m(s) s'^2 / 2 and V(s) along its one path, s the first angle.

    Then s'' = -(V' + m' s'^2 / 2) / m, with derivatives along the path by differences of the sixth order. Also returns
    the coordinates and velocities there.
    """
    free = bricard_as_it_stands()

    def at(s: float) -> Stand:
        held = replace(free, couplings=(Coupling("hold", {("R1", 0): 1.0}, 0.0),))
        stand = Stand.of(held)
        for value in np.linspace(0.0, s, max(int(abs(s) / 0.05), 1) + 1)[1:]:
            aimed = replace(held, couplings=(replace(held.couplings[0], offset=float(value)),))
            step = value - stand.q["R1"][0]
            motion = only_motion(Equations(replace(stand, looped=free), rank=FREE))
            moved = shifted(replace(stand, looped=aimed), motion * step)
            stand = closed(moved, rank=HELD)
        return replace(stand, looped=free)

    def mass_and_height(s: float) -> tuple[float, float]:
        e = Equations(at(s), rank=FREE)
        motion = only_motion(e)
        return float(motion @ e.mass @ motion), energy(e)

    h = 4e-3
    weights = np.array([-1, 9, -45, 0, 45, -9, 1]) / (60 * h)
    around = np.array([mass_and_height(angle + k * h) for k in range(-3, 4)])
    dm, dv = weights @ around
    here = Equations(at(angle), rank=FREE)
    v = only_motion(here)[here.columns.of_joints] * speed
    q = np.concatenate([here.stand.q[f"R{i + 1}"] for i in range(6)])
    return q, v, float(-(dv + dm * speed**2 / 2) / around[3, 0])


@pytest.mark.rest
def test_bricard() -> None:
    """Gruebler's count is 0, the mobility 1, and it simply works."""
    s = bricard().build()
    assert (s.mobility.gruebler, s.mobility.mobility, len(s.mobility.redundant)) == (0, 1, 1)
    for angle, speed in ((0.0, 0.0), (0.0, 1.5), (0.6, -2.0), (-0.2, 1.0)):
        q, v, expected = one_freedom(angle, speed)
        there = placed_along(bricard_as_it_stands(), q)
        e = Equations(there, only_motion(Equations(there, rank=FREE)) * v[0], rank=FREE)
        for name in FORMULATIONS:
            a = s.forward_dynamics(q, v, formulation=name)
            assert abs(a[0] - expected) < 1e-8 * max(abs(expected), 1.0), (name, angle)
            assert relative(a[None], e.solve(np.zeros(6)).joints[None]) < 1e-9, (name, angle)


def placed_along(looped: Looped, q: Array) -> Stand:
    """The bodies' poses for coordinates, going along the chain."""
    poses = {"ground": np.eye(4)}
    for hinge, value in zip(looped.hinges[:5], q, strict=False):
        carried = poses[hinge.parent] @ hinge.on_parent @ joint_pose(hinge, np.array([value]))
        poses[hinge.child] = carried @ np.linalg.inv(hinge.on_child)
    return Stand(looped, poses, {f"R{i + 1}": q[i : i + 1] for i in range(6)}, 0.0)


# ---------------------------------------------------------------------------------------------------------
# Andrews


def test_andrews() -> None:
    """At the start, where it rests, and in motion, with the spring as a wrench on D."""
    s = andrews().build(guess=ANDREWS_GUESS, hold=["beta", "theta"])
    y = squeezer_closed()
    where = [s.v_slice(name).start for name in ANDREWS]
    assert np.abs(s.q0[where] - y).max() < 1e-13
    assert s.q0[where][0] == ANDREWS_START["beta"]
    assert s.mobility.mobility == 1
    assert s.mobility.gruebler == 10 - 18
    tau = s.velocities({"beta": ANDREWS_TORQUE})
    pull = {"D": np.array([0.0, 0.0, 0.0, *squeezer_spring(y), 0.0])}
    allowed = np.linalg.svd(squeezer_jacobian(y))[2][-1]
    for speed in (0.0, 300.0):
        dy = allowed / allowed[0] * speed
        v = s.consistent_velocities(s.q0, s.velocities({"beta": speed}), hold=["beta"])
        assert relative(v[where][None], dy[None]) < 1e-11 if speed else not v.any()
        expected = squeezer_accelerations(y, dy)
        for name in FORMULATIONS:
            a = s.forward_dynamics(s.q0, v, tau, wrenches=pull, formulation=name)
            assert relative(a[where][None], expected[None]) < 1e-9, (name, speed)
