"""Mechanisms with loops as a user meets them: assembly, mobility, reactions, inverse dynamics, and what is refused."""

from __future__ import annotations

import pickle
import warnings

import casadi as ca
import numpy as np
import pytest

import whippletree as wt
from support.formulations import BASIC, LOOPS
from support.sampling import sampled
from support.systems import four_bar

EXACT = (*BASIC, "constraint_embedding")


def platform() -> wt.Mechanism:
    """A plate on three legs, each a universal joint, a slider and a ball."""
    m = wt.Mechanism("platform")
    plate = m.body("plate", wt.cylinder(radius=0.5, length=0.1, mass=5.0, axis="z"))
    for k in range(3):
        angle = 2 * np.pi * k / 3
        low = (np.cos(angle), np.sin(angle), 0.0)
        top = (0.5 * np.cos(angle), 0.5 * np.sin(angle), 0.0)
        tube = m.body(f"tube {k}", wt.rod(length=0.6, mass=1.0, axis="z"))
        rod = m.body(f"rod {k}", wt.rod(length=0.6, mass=0.7, axis="z"))
        m.universal(f"base {k}", m.ground, tube, at=low, axis="x", axis_child="y")
        m.prismatic(f"slide {k}", tube, rod, axis="z")
        m.spherical(f"ball {k}", rod, plate, at=(0, 0, 0.6), at_child=top)
    return m


# ---------------------------------------------------------------------- states


def test_a_system_with_a_loop_starts_closed() -> None:
    s = four_bar().build(guess={"A": 1.0})
    assert s.q0[0] == pytest.approx(1.0, abs=1e-13)
    assert np.abs(s.closure_residual(s.q0)).max() < 1e-13
    tip = s.pose(s.q0, "coupler") @ [2.0, 0, 0, 1]
    other = s.pose(s.q0, "rocker") @ [1.5, 0, 0, 1]
    assert tip == pytest.approx(other, abs=1e-12)
    angles = s.q0
    assert angles[0] + angles[1] + angles[2] == pytest.approx(angles[3], abs=1e-12)  # the cut joint's own coordinate


def test_which_joint_is_cut_changes_nothing() -> None:
    m = four_bar()
    ways = [m.build(guess={"A": 1.0}, cut=[name]) for name in "ABCD"]
    assert [s.plan.joint_names[s.plan.cuts[0].joint] for s in ways] == list("ABCD")
    q = ways[0].q0
    v = ways[0].consistent_velocities(q, {"A": 2.0})
    tau = np.array([0.3, -0.2, 0.5, 0.1])
    first = ways[0].forward_dynamics(q, v, tau)
    reactions = ways[0].reactions(q, v, tau)
    for s in ways[1:]:
        assert s.q0 == pytest.approx(q, abs=1e-10)
        assert s.forward_dynamics(q, v, tau) == pytest.approx(first, rel=1e-10)
        again = s.reactions(q, v, tau)
        assert again.wrenches == pytest.approx(reactions.wrenches, abs=1e-9)
        assert (again.unique == reactions.unique).all()


def test_held_coordinates_stay_and_others_follow() -> None:
    s = four_bar().build(guess={"A": 1.0})
    q = s.assemble({"D": 1.3}, hold=["D"])
    assert q[3] == pytest.approx(1.3, abs=1e-14)
    with pytest.raises(wt.AssemblyError, match=r'loop of "C".*"A".*"D".*off.*hold fewer'):
        s.assemble({"A": 0.5, "D": 3.0}, hold=["A", "D"])


def test_velocities_are_made_consistent() -> None:
    s = platform().build()
    rng = np.random.default_rng(3)
    v = s.consistent_velocities(s.q0, rng.normal(size=s.nv))
    assert np.abs(s.closure_jacobian(s.q0) @ v).max() < 1e-12
    for k in range(3):  # the joint points of both bodies move alike
        on_rod = s.velocity(s.q0, v, f"rod {k}")
        arm = s.pose(s.q0, f"rod {k}")[:3, :3] @ [0, 0, 0.6]
        on_plate = s.velocity(s.q0, v, "plate")
        angle = 2 * np.pi * k / 3
        lever = s.pose(s.q0, "plate")[:3, :3] @ [0.5 * np.cos(angle), 0.5 * np.sin(angle), 0]
        near = on_rod[3:] + np.cross(on_rod[:3], arm)
        assert near == pytest.approx(on_plate[3:] + np.cross(on_plate[:3], lever), abs=1e-12)


def test_inconsistent_states_are_refused_by_name() -> None:
    s = four_bar().build(guess={"A": 1.0})
    q, v = s.q0, s.consistent_velocities(s.q0, {"A": 1.0})
    bad = q.copy()
    bad[1] += 0.01
    with pytest.raises(wt.StateError, match=r'loop of "C".*open.*assemble'):
        s.forward_dynamics(bad, v)
    with pytest.raises(wt.StateError, match=r'velocities do not satisfy "C".*consistent_velocities'):
        s.forward_dynamics(q, v + np.array([0.1, 0, 0, 0]))
    with pytest.raises(wt.StateError, match=r"in state 2: .*open"):
        s.forward_dynamics(np.array([q, q, bad]), v)
    assert np.isfinite(s.forward_dynamics(bad, v, check=False)).all()
    # checked and unchecked calls do not get into each other's way, whichever comes first and for one state or many
    one = s.forward_dynamics(bad, v, check=False)
    assert (s.forward_dynamics(np.array([bad, bad]), v, check=False) == one).all()
    with pytest.raises(wt.StateError, match="open"):
        s.forward_dynamics(bad, v)
    with pytest.raises(wt.StateError, match="open"):
        s.driving_forces(bad, v)
    assert np.isfinite(s.driving_forces(bad, v, check=False)).all()
    with pytest.raises(wt.StateError, match=r'accelerations do not satisfy "C"'):
        s.inverse_dynamics(q, v, np.ones(4), actuators=["A"])


def test_the_cut_joints_coordinate_is_checked_too() -> None:
    s = four_bar().build(guess={"A": 1.0}, cut=["C"])
    q = s.q0
    q[2] += 0.5
    with pytest.raises(wt.StateError, match='"C"'):
        s.forward_dynamics(q, s.v0)


def test_batches_equal_single_states() -> None:
    s = four_bar().build(guess={"A": 1.0})
    q = np.array([s.assemble({"A": x}) for x in np.linspace(0.6, 1.4, 9)])
    v = np.array([s.consistent_velocities(one, {"A": 2.0}) for one in q])
    together = s.forward_dynamics(q, v)
    assert (together == np.array([s.forward_dynamics(a, b) for a, b in zip(q, v, strict=True)])).all()
    wrenches = s.reactions(q, v).wrenches
    assert wrenches[4] == pytest.approx(s.reactions(q[4], v[4]).wrenches, abs=1e-12)


def test_systems_with_loops_pickle() -> None:
    s = four_bar().build(guess={"A": 1.0}, cut=["B"])
    again = pickle.loads(pickle.dumps(s))
    assert (again.q0 == s.q0).all()
    assert again.plan.cuts == s.plan.cuts
    assert (again.forward_dynamics(s.q0, s.v0) == s.forward_dynamics(s.q0, s.v0)).all()


def test_random_configurations_are_closed() -> None:
    s = four_bar().build(guess={"A": 1.0})
    q = s.random(5)
    assert np.abs(s.closure_residual(q)).max() < 1e-9
    assert (q == s.random(5)).all()


# ---------------------------------------------------------------------- branches and singular positions


def test_the_branch_of_the_guess_is_kept() -> None:
    s = four_bar().build(guess={"A": 1.0})
    up = s.assemble({"A": 1.0, "B": -0.7})
    with pytest.warns(wt.AssemblyWarning, match="check the branch"):
        down = s.assemble({"A": 1.0, "B": 2.0})  # far from where it closes
    assert abs(up[1] - down[1]) > 1.0
    assert up[0] == down[0] == 1.0


def test_a_jump_is_reported() -> None:
    s = four_bar((1.0, 2.0, 1.5, 3.0)).build(guess={"A": 1.0})
    with pytest.warns(wt.AssemblyWarning, match="moved by"):
        q = s.assemble({"A": 3.0})  # out of reach: the crank cannot get there
    assert np.abs(s.closure_residual(q)).max() < 1e-10


def parallelogram(guess: float) -> tuple[wt.System, np.ndarray]:
    m = four_bar((1.0, 2.0, 1.0, 2.0))
    q = {"A": guess, "B": -guess, "C": guess, "D": guess}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wt.AssemblyWarning)
        s = m.build(guess=q)
    return s, s.q0


@pytest.mark.parametrize("formulation", EXACT)
def test_the_flat_parallelogram_moves_on_its_branch(formulation: str) -> None:
    s, q = parallelogram(0.0)
    assert s.mobility.mobility == 1
    assert s.mobility.singular
    assert s.mobility.local == 2
    v = np.array([2.0, -2.0, 2.0, 2.0])
    a = s.forward_dynamics(q, v, formulation=formulation)
    # one freedom: I = (1 + 1.5) / 3 + 2, gravity torque 9.81 (0.5 + 0.75 + 2) at the horizontal
    exact = 9.81 * (0.5 + 0.75 + 2.0) / ((1.0 + 1.5) / 3 + 2.0)
    assert a == pytest.approx(exact * np.array([1, -1, 1, 1]), rel=1e-8)


def test_a_singular_start_is_warned_about() -> None:
    m = four_bar((1.0, 2.0, 1.0, 2.0))
    with pytest.warns(wt.AssemblyWarning, match="singular"):
        m.build(guess={"A": 0.0, "B": 0.0, "C": 0.0, "D": 0.0})


# ---------------------------------------------------------------------- mobility


def test_planar_loops_have_three_redundant_equations_by_name() -> None:
    report = four_bar().build(guess={"A": 1.0}).mobility
    assert (report.gruebler, report.mobility) == (-2, 1)
    assert {one.direction for one in report.redundant} == {"turn about x", "turn about y", "shift along z"}
    assert all(one.closure == "C" for one in report.redundant)
    axial = next(one for one in report.redundant if one.direction == "shift along z")
    assert np.abs(axial.axis) == pytest.approx([0, 1, 0], abs=1e-12)
    assert "mobility 1" in str(report)
    assert '"C": shift along z' in str(report)


def test_a_platform_has_no_redundancy() -> None:
    s = platform().build()
    assert (s.mobility.gruebler, s.mobility.mobility, s.mobility.redundant) == (6, 6, ())
    assert len(s.mobility.independent) == 6
    assert s.reactions(s.q0, s.v0)["ball 1"].unique.all()


def test_two_hinges_of_a_door() -> None:
    m = wt.Mechanism("door")
    door = m.body("door", wt.box(size=(1.0, 0.05, 2.0), mass=20.0))
    for k, height in enumerate((-0.8, 0.8)):
        m.revolute(f"hinge {k}", m.ground, door, at=(0, 0, height), at_child=(-0.5, 0, height), axis="z")
    s = m.build()
    assert (s.mobility.gruebler, s.mobility.mobility) == (-4, 1)
    r = s.reactions(s.q0, s.v0)
    assert r.shared == ("hinge 0", "hinge 1")
    total = r["hinge 0"].force + r["hinge 1"].force
    assert total == pytest.approx([0, 0, 20 * 9.81], abs=1e-9)
    assert r["hinge 0"].force[2] == pytest.approx(r["hinge 1"].force[2])  # least norm: an equal share
    assert not r["hinge 0"].unique[5]


def test_a_rigid_triangle_stands_still() -> None:
    m = wt.Mechanism("truss")
    left = m.body("left", wt.rod(length=1.0, mass=1.0, axis="x"))
    right = m.body("right", wt.rod(length=1.0, mass=1.0, axis="x"))
    m.revolute("A", m.ground, left, axis="y")
    m.revolute("B", m.ground, right, at=(1, 0, 0), axis="y")
    m.revolute("C", left, right, at=(1, 0, 0), at_child=(1, 0, 0), axis="y")
    s = m.build(guess={"A": -1.0, "B": -2.0})
    assert s.mobility.mobility == 0
    for formulation in ("auto", *EXACT):
        assert np.abs(s.forward_dynamics(s.q0, s.v0, formulation=formulation)).max() < 1e-10
    r = s.reactions(s.q0, s.v0)
    assert r["A"].force[2] + r["B"].force[2] == pytest.approx(2 * 9.81)


# ---------------------------------------------------------------------- inverse dynamics


def test_inverse_dynamics_with_exactly_enough_actuators() -> None:
    s = platform().build()
    rng = np.random.default_rng(0)
    v = s.consistent_velocities(s.q0, 0.3 * rng.normal(size=s.nv))
    a = s.consistent_accelerations(s.q0, v, rng.normal(size=s.nv))
    actuators = [*(f"slide {k}" for k in range(3)), *((f"base {k}", 0) for k in range(3))]
    tau = s.inverse_dynamics(s.q0, v, a, actuators=actuators)
    assert np.count_nonzero(tau) == 6
    assert s.forward_dynamics(s.q0, v, tau) == pytest.approx(a, abs=1e-8)


def test_too_many_actuators_share_with_least_norm() -> None:
    s = four_bar().build(guess={"A": 1.0})
    v = s.consistent_velocities(s.q0, {"A": 1.0})
    a = s.consistent_accelerations(s.q0, v, {"A": 0.5})
    one = s.inverse_dynamics(s.q0, v, a, actuators=["A"])
    both = s.inverse_dynamics(s.q0, v, a, actuators=["A", "D"])
    for tau in (one, both):
        assert s.forward_dynamics(s.q0, v, tau) == pytest.approx(a, abs=1e-10)
    assert np.linalg.norm(both) < np.linalg.norm(one)
    E = s.kernels.closures.motion_basis(s.q0)[:, 0]  # least norm: efforts in proportion to the rates they drive
    assert both[0] / both[3] == pytest.approx(E[0] / E[3])


def test_too_few_actuators_are_refused() -> None:
    s = platform().build()
    a = s.consistent_accelerations(s.q0, s.v0, {"slide 0": 1.0})
    with pytest.raises(wt.DynamicsError, match=r"2 actuated freedoms cannot.*mobility 6.*more actuators"):
        s.inverse_dynamics(s.q0, s.v0, a, actuators=["slide 0", "slide 1"])
    with pytest.raises(wt.ModelError, match='no joint "slide 9"'):
        s.inverse_dynamics(s.q0, s.v0, a, actuators=["slide 9"])


# ---------------------------------------------------------------------- prescribed joints, time, couplings


@pytest.mark.parametrize("cut", ["A", "C"])
def test_a_prescribed_joint_in_a_loop(cut: str) -> None:
    m = wt.Mechanism("driven")
    bodies = [m.body(name, wt.rod(length=x, mass=x, axis="x")) for name, x in (("a", 1.0), ("b", 2.0), ("c", 1.5))]
    m.revolute("A", m.ground, bodies[0], axis="y", prescribed=True)
    m.revolute("B", bodies[0], bodies[1], at=(1, 0, 0), axis="y")
    m.revolute("C", bodies[1], bodies[2], at=(2, 0, 0), at_child=(1.5, 0, 0), axis="y")
    m.revolute("D", m.ground, bodies[2], at=(2, 0, 0), axis="y")
    s = m.build(guess={"A": 1.0}, cut=[cut])
    v = s.consistent_velocities(s.q0, {"A": 1.5})
    expected = s.consistent_accelerations(s.q0, v, {"A": 0.7})
    for formulation in EXACT:
        a = s.forward_dynamics(s.q0, v, a={"A": 0.7}, formulation=formulation)
        assert a == pytest.approx(expected, abs=1e-10)
        effort = s.driving_forces(s.q0, v, a={"A": 0.7}, formulation=formulation)
        wanted = s.inverse_dynamics(s.q0, v, expected, actuators=["A"])
        assert effort == pytest.approx(wanted, abs=1e-9)


def test_prescribed_joints_that_fight_are_refused() -> None:
    m = four_bar()
    driven = wt.Mechanism("driven")
    del m
    bodies = [driven.body(name, wt.rod(length=x, mass=x, axis="x")) for name, x in (("a", 1.0), ("b", 2.0), ("c", 1.5))]
    driven.revolute("A", driven.ground, bodies[0], axis="y", prescribed=True)
    driven.revolute("B", bodies[0], bodies[1], at=(1, 0, 0), axis="y")
    driven.revolute("C", bodies[1], bodies[2], at=(2, 0, 0), at_child=(1.5, 0, 0), axis="y")
    driven.revolute("D", driven.ground, bodies[2], at=(2, 0, 0), axis="y", prescribed=True)
    with pytest.raises(wt.TopologyError, match=r'"A", "D".*not independent'):
        driven.build(guess={"A": 1.0})


def test_a_closure_in_time_moves_with_it() -> None:
    m = wt.Mechanism("excited")
    cart = m.body("cart", wt.box(size=(0.2, 0.2, 0.2), mass=1.0))
    rod = m.body("rod", wt.rod(length=1.0, mass=0.5, axis="z"))
    m.prismatic("rail", m.ground, cart, axis="x")
    m.revolute("pivot", cart, rod, axis="y")
    m.closure("shaker", m.coordinate("rail") - 0.1 * ca.sin(3 * m.time))
    s = m.build()
    assert s.v0[0] == pytest.approx(0.3)  # the drift at t = 0
    t = 0.4
    q = s.assemble({"pivot": 0.2}, t=t)
    v = s.consistent_velocities(q, {"pivot": 1.0}, t=t)
    assert (q[0], v[0]) == (pytest.approx(0.1 * np.sin(1.2)), pytest.approx(0.3 * np.cos(1.2)))
    for formulation in ("auto", *EXACT):
        a = s.forward_dynamics(q, v, t=t, formulation=formulation)
        assert a[0] == pytest.approx(-0.9 * np.sin(1.2), abs=1e-12)
        # the rod as a pendulum on an accelerated pivot, 0.5 m to its centre, inertia 1/3 m about the pivot
        expected = (9.81 * np.sin(q[1]) - a[0] * np.cos(q[1])) * 0.5 / (1 / 3)
        assert a[1] == pytest.approx(expected, rel=1e-10)
    with pytest.raises(wt.StateError, match="shaker"):
        s.forward_dynamics(q, v, t=0.5)


def test_gears_and_differentials() -> None:
    m = wt.Mechanism("gears", gravity=(0, 0, 0))
    for name, radius in (("pinion", 0.1), ("wheel", 0.3)):
        m.revolute(name, m.ground, m.body(f"{name} body", wt.cylinder(radius=radius, length=0.02, mass=1.0, axis="z")))
    m.gear("mesh", "pinion", "wheel", ratio=-1 / 3)
    s = m.build()
    assert s.mobility.mobility == 1
    I1, I2 = 0.5 * 0.1**2, 0.5 * 0.3**2
    for formulation in ("auto", *EXACT):
        a = s.forward_dynamics(s.q0, s.v0, [0.7, 0.0], formulation=formulation)
        assert a == pytest.approx([0.7 / (I1 + I2 / 9), -0.7 / (I1 + I2 / 9) / 3], rel=1e-12)
    effort = s.closure_forces(s.q0, s.v0, [0.7, 0.0])["mesh"]
    assert abs(effort[0]) == pytest.approx(abs(I2 * a[1]), rel=1e-12)
    assert s.reactions(s.q0, s.v0, [0.7, 0.0])["wheel"].moment[2] == pytest.approx(I2 * a[1], rel=1e-12)


def test_a_disc_that_rolls_without_slip() -> None:
    m = wt.Mechanism("disc")
    disc = m.body("disc", wt.cylinder(radius=0.3, length=0.02, mass=2.0, axis="y"))
    m.planar("plane", m.ground, disc, axis="y")
    slip = m.velocity(disc)
    m.closure("roll", slip[3] - 0.3 * slip[1])
    m.closure("floor", m.position(disc)[2] - 0.3)
    m.gravity = (9.81 * np.sin(0.2), 0, -9.81 * np.cos(0.2))
    s = m.build(guess={"plane": [0.0, 0.0, 0.0]})
    assert s.mobility.mobility == 1
    for formulation in ("auto", *EXACT):
        a = s.acceleration(s.q0, s.v0, s.forward_dynamics(s.q0, s.v0, formulation=formulation), "disc")
        assert a[3] == pytest.approx(9.81 * np.sin(0.2) / 1.5, rel=1e-12)


# ---------------------------------------------------------------------- what is refused, or named


def test_a_loop_that_cannot_be_closed_is_refused_with_its_joints() -> None:
    with pytest.raises(wt.AssemblyError, match=r'loop of "C" \(joints "A", "B", "C", "D"\) cannot be closed.* off'):
        four_bar((1.0, 2.0, 1.5, 9.0)).build()


def test_contradictory_closures() -> None:
    m = four_bar()
    m.distance("too long", "crank", "rocker", length=7.0, at=(1, 0, 0), at_child=(1.5, 0, 0))
    with pytest.raises(wt.AssemblyError, match="cannot be closed"):
        m.build(guess={"A": 1.0})
    m = wt.Mechanism("gears")
    for name in ("a", "b"):
        m.revolute(name, m.ground, m.body(f"body {name}", wt.sphere(radius=0.1, mass=1.0)))
    m.coupling("one", {"a": 1.0, "b": 1.0}, offset=0.0)
    m.coupling("other", {"a": 1.0, "b": 1.0}, offset=1.0)
    with pytest.raises(wt.AssemblyError, match=r'"one"|"other"'):
        m.build()


def test_two_equal_closures_are_a_named_redundancy() -> None:
    m = wt.Mechanism("gears", gravity=(0, 0, 0))
    for name in ("a", "b"):
        m.revolute(name, m.ground, m.body(f"body {name}", wt.sphere(radius=0.1, mass=1.0)))
    m.gear("one", "a", "b", ratio=2.0)
    m.gear("other", "a", "b", ratio=2.0)
    s = m.build()
    assert [one.closure for one in s.mobility.redundant] == ["other"]
    assert s.mobility.mobility == 1
    I = 0.4 * 0.1**2
    for formulation in ("auto", *EXACT):
        assert s.forward_dynamics(s.q0, s.v0, [1.0, 0.0], formulation=formulation)[0] == pytest.approx(1 / (5 * I))


def test_a_guess_far_away_still_closes_or_says_so() -> None:
    s = four_bar().build(guess={"A": 1.0})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wt.AssemblyWarning)
        q = s.assemble([200.0, -300.0, 57.0, 9.0])
    assert np.abs(s.closure_residual(q)).max() < 1e-9
    with pytest.raises(wt.StateError, match="finite"):
        s.assemble({"A": np.nan})


def test_a_cut_that_cannot_be() -> None:
    m = four_bar()
    with pytest.raises(wt.TopologyError, match="nothing"):
        m.build(cut=["nothing"])
    with pytest.raises(wt.TopologyError, match='"A"'):
        m.build(cut=["A", "C"])
    with pytest.raises(wt.StateError, match="cut="):
        m.build(cut="A")


def test_formulations_are_named() -> None:
    s = four_bar().build(guess={"A": 1.0})
    with pytest.raises(wt.StateError, match=r'"articulated" cannot give.*loops.*"tree_augmented"'):
        s.forward_dynamics(s.q0, s.v0, formulation="articulated")
    with pytest.raises(wt.StateError, match="baumgarte"):
        s.forward_dynamics(s.q0, s.v0, baumgarte=(1.0, 1.0))


def test_baumgarte_drives_an_open_loop_shut() -> None:
    s = four_bar().build(guess={"A": 1.0})
    q = s.q0
    q[1] += 1e-3
    plain = s.forward_dynamics(q, s.v0, formulation="joint_multipliers", check=False)
    driven = s.forward_dynamics(q, s.v0, formulation="joint_multipliers", check=False, baumgarte=(10.0, 10.0))
    shift = [k for k, name in enumerate(s.closure_rows) if "shift" in name]  # the cut joint's own angle is not driven
    J, phi = s.closure_jacobian(q)[shift], s.closure_residual(q)[shift]
    assert np.abs(phi).max() > 5e-4
    # the rows are in axes that the open loop has turned by a thousandth against each other
    assert J @ (driven - plain) == pytest.approx(-100.0 * phi, abs=1.5e-3 * 100 * np.linalg.norm(phi))


def test_a_massless_coupler_is_moved_by_its_loop() -> None:
    m = wt.Mechanism("massless coupler")
    crank = m.body("crank", wt.rod(length=1.0, mass=1.0, axis="x"))
    coupler = m.body("coupler")
    rocker = m.body("rocker", wt.rod(length=1.0, mass=1.0, axis="x"))
    m.revolute("A", m.ground, crank, axis="y")
    m.revolute("B", crank, coupler, at=(1, 0, 0), axis="y")
    m.revolute("C", coupler, rocker, at=(2, 0, 0), at_child=(1, 0, 0), axis="y")
    m.revolute("D", m.ground, rocker, at=(2, 0, 0), axis="y")
    s = m.build(guess={"A": 1.0, "B": -1.0, "C": 1.0, "D": 1.0})
    for formulation in ("auto", *EXACT):
        a = s.forward_dynamics(s.q0, s.v0, formulation=formulation)
        assert a[0] == pytest.approx(1.5 * 9.81 * np.cos(1.0), rel=1e-9)


def test_a_loop_without_any_mass_is_for_kinematics() -> None:
    m = wt.Mechanism("no masses")
    crank, coupler, rocker = (m.body(name) for name in ("crank", "coupler", "rocker"))
    m.revolute("A", m.ground, crank, axis="y")
    m.revolute("B", crank, coupler, at=(1, 0, 0), axis="y")
    m.revolute("C", coupler, rocker, at=(2, 0, 0), at_child=(1.5, 0, 0), axis="y")
    m.revolute("D", m.ground, rocker, at=(2, 0, 0), axis="y")
    s = m.build(guess={"A": 1.0})
    assert str(s.plan).endswith("no masses: for kinematics only")
    for formulation in ("auto", "constraint_embedding"):
        for tau in (None, [1.0, 0.0, 0.0, 0.0]):
            with pytest.raises(wt.DynamicsError, match="nothing that has inertia"):
                s.forward_dynamics(s.q0, s.v0, tau, formulation=formulation)


# ---------------------------------------------------------------------- where a plan's pivots vanish


def test_a_plan_made_on_one_branch_serves_the_other() -> None:
    """From the flat position the plan may be made on the crossed branch, where its pivots differ."""
    flat, _ = parallelogram(0.0)
    good, _ = parallelogram(0.5)
    w = np.array([1.0, -1.0, 1.0, 1.0])
    q, v, tau = 0.3 * w, w, np.array([5.0, 0.0, 0.0, 0.0])
    E = flat.kernels.closures.motion_basis(q)[:, 0]
    assert E / E[0] == pytest.approx(w, abs=1e-12)
    for formulation in ("auto", *EXACT):
        a = flat.forward_dynamics(q, v, tau, formulation=formulation)
        assert a == pytest.approx(good.forward_dynamics(q, v, tau), abs=1e-10)
        found = flat.reactions(q, v, tau, formulation=formulation)
        assert found.wrenches == pytest.approx(good.reactions(q, v, tau).wrenches, abs=1e-9)
    a = flat.forward_dynamics(q, v, tau)
    assert flat.inverse_dynamics(q, v, a, actuators=["A"])[0] == pytest.approx(5.0)


def test_a_singular_position_is_not_answered_at_random() -> None:
    s, q = parallelogram(0.0)
    with pytest.raises(wt.DynamicsError, match="singular"):
        s.kernels.closures.motion_basis(q)
    with pytest.raises(wt.DynamicsError, match="none of its branches"):
        s.forward_dynamics(q, [1.0, -2.0, 0.0, -1.0])
    r = s.reactions(q, [1.0, -1.0, 1.0, 1.0])["C"]
    assert not r.unique[3]  # along the links, which lie in one line
    assert r.unique[5]


@pytest.mark.parametrize("tail", [False, True])
def test_a_loop_of_welds(tail: bool) -> None:
    m = wt.Mechanism("welded")
    a, b = (m.body(name, wt.rod(length=1.0, mass=1.0, axis="x")) for name in "ab")
    m.fixed("w1", m.ground, a)
    m.fixed("w2", a, b, at=(1, 0, 0))
    m.fixed("w3", m.ground, b, at=(1, 0, 0))
    if tail:
        m.revolute("R", b, m.body("c", wt.rod(length=1.0, mass=1.0, axis="x")), at=(1, 0, 0), axis="y")
    s = m.build()
    assert s.mobility.mobility == int(tail)
    assert len(s.mobility.redundant) == 6
    r = s.reactions(s.q0, s.v0)
    hanging = -r["R"].force[2] if tail else 0.0
    assert r["w1"].force[2] + r["w3"].force[2] == pytest.approx(2 * 9.81 - hanging)
    assert r.shared[:3] == ("w1", "w2", "w3")


def test_welds_that_do_not_fit_are_refused() -> None:
    m = wt.Mechanism("welded")
    a = m.body("a", wt.rod(length=1.0, mass=1.0, axis="x"))
    m.fixed("w1", m.ground, a)
    m.fixed("w2", m.ground, a, at=(0, 0.5, 0))
    with pytest.raises(wt.AssemblyError, match=r'"w1", "w2"|"w2", "w1".*shift along y stays 0\.5 m off'):
        m.build()


CLOSED = {"A": 0.5, "D": -2.2}
SKEW, STRAIGHT = np.array([0.48, 0.64, 0.6]), np.array([1.0, 0.0, 0.0])


def spatial_four_bar(
    along: np.ndarray, *, spin: float = 0.0, named: bool = False, end: str = "spherical"
) -> wt.Mechanism:
    """A coupler between two balls, or a ball and a universal joint, which has no inertia about its own axis but `spin`.

    `along` is its direction in its own frame: along a coordinate axis zeros are exact, and elsewhere they are rounded.
    """
    m = wt.Mechanism("spatial four-bar")
    about_itself = m.parameter("spin", spin) if named else spin
    crank, rocker = (m.body(name, wt.rod(length=1.0, mass=1.0, axis="x")) for name in ("crank", "rocker"))
    across, about = np.eye(3) - np.outer(along, along), np.outer(along, along)
    inertia = [[across[i, j] / 12 + about_itself * about[i, j] for j in range(3)] for i in range(3)]
    rod = m.body("rod", mass=1.0, com=along / 2, inertia=inertia)
    m.revolute("A", m.ground, crank, axis="z")
    m.spherical("S", crank, rod, at=(0.5, 0, 0))
    if end == "spherical":
        m.spherical("T", rod, rocker, at=along, at_child=(1.0, 0, 0))
    else:
        m.universal("T", rod, rocker, at=along, at_child=(1.0, 0, 0), axis="z", axis_child="y")
    m.revolute("D", m.ground, rocker, at=(1.2, 0.3, 0.2), axis="y")
    return m


@pytest.mark.parametrize("along", [STRAIGHT, pytest.param(SKEW, marks=pytest.mark.deep)], ids=["straight", "skew"])
@pytest.mark.parametrize("formulation", sampled(["auto", *LOOPS], ["auto", *LOOPS[::3]].__contains__))
def test_a_rod_that_spins_without_inertia_is_refused(formulation: str, along: np.ndarray) -> None:
    s = spatial_four_bar(along).build(guess=CLOSED)
    for function in (s.forward_dynamics, s.reactions):
        if (formulation, function) != ("penalty", s.reactions):
            with pytest.raises(wt.DynamicsError, match=r"that the loops allow.* moves nothing that has inertia"):
                function(s.q0, s.v0, formulation=formulation)


@pytest.mark.parametrize("along", [pytest.param(STRAIGHT, marks=pytest.mark.deep), SKEW], ids=["straight", "skew"])
@pytest.mark.parametrize("formulation", ["auto", "absolute"])
def test_a_rod_that_spins_without_inertia_is_not_simulated(formulation: str, along: np.ndarray) -> None:
    s = spatial_four_bar(along).build(guess=CLOSED)
    with pytest.raises((wt.DynamicsError, wt.SimulationError), match="moves nothing that has inertia"):
        s.simulate(0.1, formulation=formulation)


def test_a_rod_whose_spin_is_given_by_a_parameter() -> None:
    given = spatial_four_bar(SKEW, named=True).build(guess=CLOSED)
    fixed = spatial_four_bar(SKEW, spin=0.02).build(guess=CLOSED)
    v = fixed.consistent_velocities(fixed.q0, {"A": 1.0, "S": (0.3, -0.2, 0.5)})
    expected = fixed.forward_dynamics(fixed.q0, v)
    found = given.forward_dynamics(fixed.q0, v, parameters={"spin": 0.02})
    assert np.abs(found - expected).max() < 1e-10 * np.abs(expected).max()
    with pytest.raises(wt.DynamicsError, match="moves nothing that has inertia"):
        given.forward_dynamics(fixed.q0, v)
    run, same = given.simulate(0.1, v=v, parameters={"spin": 0.02}), fixed.simulate(0.1, v=v)
    assert np.abs(run.q[-1] - same.q[-1]).max() < 1e-7
    with pytest.raises(wt.SimulationError, match="moves nothing that has inertia"):
        given.simulate(0.1, v=v)


def test_a_universal_joint_helps() -> None:
    s = spatial_four_bar(SKEW, end="universal").build(guess=CLOSED)
    v = s.consistent_velocities(s.q0, {"A": 1.0})
    first = s.forward_dynamics(s.q0, v)
    for formulation in EXACT:
        assert np.abs(s.forward_dynamics(s.q0, v, formulation=formulation) - first).max() < 1e-9 * np.abs(first).max()
