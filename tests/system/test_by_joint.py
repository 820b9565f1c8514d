"""What can be given by joint: efforts wherever they are taken, and accelerations; and the words about loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whippletree as wt
from whippletree.results import Trajectory
from whippletree.simulate import Simulation
from whippletree.system.example_systems import four_bar, quarter_car


@pytest.fixture(scope="module")
def tree() -> wt.System:
    """Return a hinge and a ball, so that one joint has three freedoms, and a state."""
    m = wt.Mechanism("tree")
    arm = m.body("arm", wt.rod(1.0, 2.0))
    m.revolute("A", m.ground, arm, axis="y")
    m.spherical("ball", arm, m.body("hand", mass=1.0, inertia=(0.1, 0.2, 0.25)), at=(1, 0, 0))
    m.state("lag", rate=-2.0 * m.coordinate("A"))
    return m.build()


CALLS: dict[str, Any] = {
    "forward_dynamics": lambda s, q, v, tau: s.forward_dynamics(q, v, tau),
    "named formulation": lambda s, q, v, tau: s.forward_dynamics(q, v, tau, formulation="articulated"),
    "driving_forces": lambda s, q, v, tau: s.driving_forces(q, v, tau),
    "reactions": lambda s, q, v, tau: s.reactions(q, v, tau).wrenches,
    "state_rates": lambda s, q, v, tau: s.state_rates(q, v, tau),
    "derivatives": lambda s, q, v, tau: s.forward_dynamics_derivatives(q, v, tau).q,
    "a batch": lambda s, q, v, tau: s.forward_dynamics(np.stack([q, q]), np.stack([v, 2 * v]), tau),
    "a run": lambda s, q, v, tau: s.simulate(0.1, every=0.05, v=v, tau=tau).q,
    "a trajectory": lambda s, q, v, tau: Trajectory(s, [0.0, 1.0], [q, q], [v, v], efforts=tau).accelerations(),
}


@pytest.mark.parametrize("name", CALLS)
def test_efforts_by_joint_are_those_of_the_whole_vector(name: str, tree: wt.System) -> None:
    rng = np.random.default_rng(1)
    q, v = tree.random(rng), rng.normal(size=tree.nv)
    for _ in range(2):  # the second time by the fast path
        given = CALLS[name](tree, q, v, {"A": 1, "ball": (0.5, 0.0, -2.0)})
        assert (given == CALLS[name](tree, q, v, np.array([1.0, 0.5, 0.0, -2.0]))).all()
    some = CALLS[name](tree, q, v, {"ball": [0.5, 0.0, -2.0]})
    assert (some == CALLS[name](tree, q, v, [0.0, 0.5, 0.0, -2.0])).all()


def test_efforts_by_joint_with_loops() -> None:
    s = four_bar()
    whole = np.array([0.0, 0.0, 3.0, 0.0])
    assert (s.forward_dynamics(s.q0, s.v0, {"C": 3.0}) == s.forward_dynamics(s.q0, s.v0, whole)).all()
    assert (s.reactions(s.q0, s.v0, {"C": 3.0}).wrenches == s.reactions(s.q0, s.v0, whole).wrenches).all()
    assert s.closure_forces(s.q0, s.v0, {"C": 3.0}).keys() == s.closure_forces(s.q0, s.v0, whole).keys()


def test_efforts_of_a_simulation_by_joint(tree: wt.System) -> None:
    one, other = Simulation(tree, method="rk4", step=1e-2), Simulation(tree, method="rk4", step=1e-2)
    one.tau = {"A": 1.0}
    other.tau = np.array([1.0, 0.0, 0.0, 0.0])
    one.step(0.05)
    other.step(0.05)
    one.step(0.05, tau={"ball": (0.0, 1.0, 0.0)})
    other.step(0.05, tau=[0.0, 0.0, 1.0, 0.0])
    assert (one.state.q == other.state.q).all()


def test_accelerations_by_joint(tree: wt.System) -> None:
    q, v = tree.q0, tree.v0
    assert (tree.inverse_dynamics(q, v, {"A": 2.0}) == tree.inverse_dynamics(q, v, [2.0, 0.0, 0.0, 0.0])).all()


@pytest.mark.parametrize(
    ("tau", "words"),
    [
        ({"B": 1.0}, 'no joint "B"'),
        ({"A": [1.0, 2.0]}, 'joint "A" has 1 velocities, not 2'),
        ({"A": "x"}, "real numbers"),
        ({"A": np.nan}, "finite"),
    ],
)
def test_efforts_by_joint_that_are_none(tau: dict[str, Any], words: str, tree: wt.System) -> None:
    with pytest.raises(wt.WhippletreeError, match=words):
        tree.forward_dynamics(tree.q0, tree.v0, tau)


# ---------------------------------------------------------------------- words about loops


def test_baumgarte_names_all_formulations_that_take_it() -> None:
    s = four_bar()
    for formulation in ("auto", "independent_coordinates"):
        with pytest.raises(wt.StateError) as caught:
            s.forward_dynamics(s.q0, s.v0, formulation=formulation, baumgarte=(1.0, 1.0))
        words = str(caught.value)
        assert 'formulation="joint_multipliers"' in words
        assert '"velocity_transformation", coordinates="reference_point", closed_by="multipliers"' in words
    choices: list[dict[str, str]] = [
        {"formulation": "joint_multipliers"},
        {"formulation": "velocity_transformation", "closed_by": "multipliers"},
    ]
    found = [s.forward_dynamics(s.q0, s.v0, baumgarte=(1.0, 1.0), **choice) for choice in choices]
    assert abs(found[0] - found[1]).max() < 1e-9


def test_velocities_that_open_a_loop_are_told_in_metres_or_radians_per_second() -> None:
    s = four_bar()
    v = np.array([1.0, 0.0, 0.0, 0.0])
    rates = s.closure_jacobian(s.q0) @ v
    k = int(np.abs(rates / s.kernels.closures.closure_lengths).argmax())
    unit = "rad/s" if "turn" in s.closure_rows[k] else "m/s"
    with pytest.raises(wt.StateError, match=f"is {abs(rates[k]):.3g} {unit} off; .*or pass check=False"):
        s.forward_dynamics(s.q0, v)
    a = np.array([0.0, 0.0, 1.0, 0.0])
    rates = s.closure_jacobian(s.q0) @ a
    k = int(np.abs(rates / s.kernels.closures.closure_lengths).argmax())
    unit = "rad" if "turn" in s.closure_rows[k] else "m"
    with pytest.raises(wt.StateError, match=rf"is {abs(rates[k]):.3g} {unit}/s\^2 off"):
        s.inverse_dynamics(s.q0, s.v0, a)


def test_what_every_element_dissipates() -> None:
    s = quarter_car()
    rng = np.random.default_rng(2)
    q, v, z = rng.normal(size=(5, s.nq)) * 0.1, rng.normal(size=(5, s.nv)), rng.normal(size=(5, s.nz))
    each = s.kernels.elements.dissipated_powers(q, v, z=z)
    assert list(each) == [use.name for use in s.description.forces]
    assert sum(each.values()) == pytest.approx(s.powers(q, v, z=z).dissipated, rel=1e-12)
    shaped = s.kernels.elements.dissipated_powers(np.stack([q, -q]), v, z=z)  # as of all calls, leading sizes broadcast
    assert sum(shaped.values()) == pytest.approx(s.powers(np.stack([q, -q]), v, z=z).dissipated, rel=1e-12)
    assert {power.shape for power in s.kernels.elements.dissipated_powers(np.zeros((1, 0, s.nq)), s.v0).values()} == {
        (1, 0)
    }
    with pytest.raises(wt.StateError, match="the batches do not fit together"):
        s.kernels.elements.dissipated_powers(q, v[:3])
