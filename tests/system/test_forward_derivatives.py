"""Derivatives of accelerations, with loops: against differences of high order, closed forms and Pinocchio."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whippletree as wt
from support.closed_differences import Neighbour, differences
from support.loop_models import built
from support.random_loops import MEMBERS, case
from support.sampling import deep, sampled
from whippletree.linear import minimal_coordinates

Array = np.ndarray

TOLERANCE = 1e-8

# One with few coordinates of every third family runs always: most of the time goes into compiling its derivatives.
SMALL = {
    ("one loop", 9),
    ("overconstrained", 0),
    ("rods", 4),
    ("velocity only", 2),
}


def columns(here: Neighbour, kind: str) -> list[int]:
    s = here.s
    if kind == "a":
        return [i for use, v in zip(s.description.joints, s.plan.v_slices, strict=True) if use.prescribed
                for i in range(v.start, v.stop)]  # fmt: skip
    minimal = minimal_coordinates(s, here.q)
    counts = {
        "q": len(minimal.displacements),
        "v": len(minimal.velocities),
        "tau": s.nv,
        "t": int(here.timed),
        "z": len(here.z),
        "parameters": len(here.parameters),
    }
    found = list(range(counts[kind]))
    if kind == "parameters" and any(row.closure.startswith("rod ") for row in s.mobility.redundant):
        # longer rods contradict each other where one of them is redundant: there is no derivative by their length
        found.remove([p.name for p in s.description.parameters].index("shift"))
    return found


def assert_differences(here: Neighbour, h: float = 0.02) -> None:
    """All columns agree with differences, relative to the largest of their kind or of the accelerations."""
    found = here.s.forward_dynamics_derivatives(here.q, here.v, here.tau, **here.options())
    a = here.accelerations()
    for kind, ours in found.by_kind().items():
        values = ours[:, None] if kind == "t" else ours
        scale = max(np.abs(values).max(initial=0.0), np.abs(a).max())
        asked = columns(here, kind)
        for j in asked:
            off = np.abs(values[:, j] - differences(here, kind, j, h=h)).max() / scale
            assert off < TOLERANCE, (kind, j, off)
        if kind in ("t", "a"):
            others = np.setdiff1d(np.arange(values.shape[1]), asked)
            assert not values[:, others].any()


def of_case(s: wt.System, c: Any, **more: Any) -> Neighbour:
    described = s.description
    state = {"z": np.array(described.state_values), "parameters": np.array(described.parameter_values)}
    state |= {"a": np.zeros(s.nv), "t": c.looped.t, "wrenches": dict(c.loads)} | more
    return Neighbour(s, c.q, c.v, c.tau, **state).closed()


@pytest.mark.parametrize(("family", "i"), sampled(MEMBERS, SMALL.__contains__, core=2))
def test_random_mechanisms(family: str, i: int) -> None:
    """By everything, parameters included: masses, lengths, places, offsets, a stiffness."""
    c = case(family, i)
    assert_differences(of_case(built(c.looped, parameters=True), c))


def four_bar(*, prescribed: str = "", drive: bool = False, cut: str = "C") -> wt.System:
    """A four-bar whose lengths, places and stiffness are parameters, with a spring, a damper and a sensor that lags."""
    m = wt.Mechanism("four-bar")
    b, L, k = m.parameter("b", 1.3), m.parameter("L", 2.0), m.parameter("k", 30.0)
    crank = m.body("crank", wt.rod(length=0.6, mass=1.0, axis="x"))
    coupler = m.body("coupler", mass=2.0, com=[b / 2, 0.1, 0], inertia=[0.02, 0.3, 0.3 + 0.01 * b])
    rocker = m.body("rocker", wt.rod(length=1.2, mass=1.5, axis="x"))
    for name, parent, child, at, at_child in (
        ("A", m.ground, crank, (0, 0, 0), (0, 0, 0)),
        ("B", crank, coupler, (0.6, 0, 0), (0, 0, 0)),
        ("C", coupler, rocker, (b, 0, 0), (1.2, 0, 0)),
        ("D", m.ground, rocker, (L, 0, 0), (0, 0, 0)),
    ):
        m.revolute(name, parent, child, at=at, at_child=at_child, axis="y", prescribed=name == prescribed)
    m.torsion_spring("spring", "C", stiffness=k, damping=0.4)
    m.spring(
        "bar", m.ground, coupler, at=(1, 0, -1), at_child=(0.4, 0, 0.1), stiffness=k * 2, free_length=0.3, damping=1.0
    )
    y = m.state("y", 0.3)
    m.state_rate("y", (m.coordinate("A") - y) / 0.1)
    m.actuator("motor", "B", effort=-2.0 * y + 0.3 * m.time * m.rate("C"))
    if drive:
        m.drive("crank drive", "A", position=0.4 + 0.7 * m.time + 0.2 * m.time**2)
    return m.build(guess={"A": 0.4, "D": -2.0}, cut=[cut])


def moving_four_bar(options: dict[str, Any]) -> Neighbour:
    s = four_bar(**options)
    rng = np.random.default_rng(1)
    t = 0.2 if options.get("drive") else 0.0
    q = s.assemble(s.q0, **({"t": t} if t else {}))
    v = rng.uniform(-1, 1, s.nv)
    state = Neighbour(s, q, v, rng.uniform(-3, 3, s.nv), rng.uniform(-2, 2, s.nv), t, np.array([0.2]),
                     np.array(s.description.parameter_values))  # fmt: skip
    return state.closed()


@pytest.mark.parametrize(
    "options",
    [{"prescribed": "A"}, {"prescribed": "C"}, {"drive": True, "cut": "A"}, *deep([{}, {"drive": True}])],
)
def test_four_bar_with_everything(options: dict[str, Any]) -> None:
    assert_differences(moving_four_bar(options), h=0.004)


RESULTS: dict[str, Any] = {
    "pose": lambda x: x.s.pose(x.q, "coupler", **x.parameter_options()),
    "velocity": lambda x: x.s.velocity(x.q, x.v, "coupler", **x.parameter_options()),
    "acceleration": lambda x: x.s.acceleration(x.q, x.v, x.accelerations(), "coupler", **x.parameter_options()),
    "energy": lambda x: x.evaluated("energy"),
    "momentum": lambda x: x.evaluated("momentum"),
    "center_of_mass": lambda x: x.evaluated("center_of_mass"),
    "reactions": lambda x: x.s.reactions(x.q, x.v, x.tau, **x.options()).wrenches,
    "driving_forces": lambda x: x.s.driving_forces(x.q, x.v, x.tau, **x.options()),
    "closure_efforts": lambda x: x.evaluated("closure_efforts"),
    "closure_residual": lambda x: x.evaluated("closure_residual"),
    "closure_jacobian": lambda x: x.evaluated("closure_jacobian"),
    "element_forces": lambda x: x.evaluated("element_forces"),
    "state_rates": lambda x: x.evaluated("state_rates"),
    "powers": lambda x: x.evaluated("powers"),
}


@pytest.mark.parametrize("options", [{"prescribed": "A"}, *deep([{}, {"drive": True}])])
def test_derivatives_of_results(options: dict[str, Any]) -> None:
    """Every result of a four-bar with redundant closures, by all that it depends on."""
    here = moving_four_bar(options)
    for name, of in RESULTS.items():
        frame = {"frame": "coupler"} if name in ("pose", "velocity", "acceleration") else {}
        found = here.s.derivatives_of(name, here.q, here.v, here.tau, **frame, **here.options())
        value = of(here)
        for kind, ours in found.by_kind().items():
            columns_of = ours[..., None] if kind == "t" else ours
            assert columns_of.shape[:-1] == value.shape
            scale = max(np.abs(columns_of).max(initial=0.0), np.abs(value).max(), 1e-3)
            for j in columns(here, kind):
                off = np.abs(columns_of[..., j] - differences(here, kind, j, of, h=0.004)).max() / scale
                assert off < TOLERANCE, (name, kind, j, off)


def test_pendulum_in_closed_form() -> None:
    """A rod of length L on a hinge: a = 3 g / (2 L) cos q + 3 tau / (m L^2), the length and mass being parameters."""
    m = wt.Mechanism("pendulum")
    L, mass = m.parameter("L", 0.8), m.parameter("mass", 2.0)
    rod = m.body("rod", mass=mass, com=[L / 2, 0, 0], inertia=[0, mass * L**2 / 12, mass * L**2 / 12])
    m.revolute("hinge", m.ground, rod, axis="y")
    s = m.build()
    q, tau, g = 0.3, 0.7, 9.81
    d = s.forward_dynamics_derivatives([q], [1.3], [tau])
    unit = 3 / (2.0 * 0.8**2)
    assert d.q[0, 0] == pytest.approx(-3 * g / (2 * 0.8) * np.sin(q), rel=1e-12)
    assert d.v[0, 0] == pytest.approx(0.0, abs=1e-12)
    assert d.tau[0, 0] == pytest.approx(unit, rel=1e-12)
    by_length = -3 * g / (2 * 0.8**2) * np.cos(q) - 2 * unit * tau / 0.8
    assert d.parameters[0] == pytest.approx([by_length, -unit * tau / 2.0], rel=1e-12)


def test_parallelogram_in_closed_form() -> None:
    """A four-bar of parallel cranks with a translating coupler: (J + m r^2) a = -m g r cos q, in one coordinate."""
    m, r, mass = wt.Mechanism("parallelogram"), 0.5, 3.0
    cranks = [m.body(name, wt.rod(length=r, mass=1.2, axis="x")) for name in ("left", "right")]
    coupler = m.body("coupler", mass=mass, com=[0.5, 0, 0], inertia=[0.1, 0.1, 0.1])
    for name, crank, x in (("A", cranks[0], 0.0), ("D", cranks[1], 1.0)):
        m.revolute(name, m.ground, crank, at=(x, 0, 0), axis="y")
    m.revolute("B", cranks[0], coupler, at=(r, 0, 0), axis="y")
    m.revolute("C", coupler, cranks[1], at=(1.0, 0, 0), at_child=(r, 0, 0), axis="y")
    s = m.build(guess={"A": 0.4, "D": 0.4, "B": -0.4}, dependent=["B", "D"])
    q = s.assemble({"A": 0.4, "D": 0.4, "B": -0.4, "C": 0.4})
    v = s.consistent_velocities(q, {"A": 1.1})
    J, lever = 2 * 1.2 * r**2 / 3 + mass * r**2, 9.81 * (1.2 * r + mass * r)
    d, place = s.forward_dynamics_derivatives(q, v), s.v_slice("A").start
    j = minimal_coordinates(s, q).displacements.tolist().index(place)
    assert d.q[place, j] == pytest.approx(-lever / J * np.sin(q[place]), rel=1e-9)
    assert d.tau[place, place] == pytest.approx(1 / J, rel=1e-9)


def test_trees_against_pinocchio() -> None:
    pin = pytest.importorskip("pinocchio")
    from support.pinocchio_models import mechanism_from_pinocchio, random_state, state_from_pinocchio

    model = pin.buildSampleModelManipulator()
    theirs = random_state(model, np.random.default_rng(0), 3)
    ours = state_from_pinocchio(model, *theirs)
    s, data = mechanism_from_pinocchio(model).build(), model.createData()
    d = s.forward_dynamics_derivatives(ours.q, ours.v, ours.tau)
    for k in range(3):
        pin.computeABADerivatives(model, data, theirs.q[k], theirs.v[k], theirs.tau[k])
        inverse = np.triu(data.Minv) + np.triu(data.Minv, 1).T
        for one, other in ((d.q[k], data.ddq_dq), (d.v[k], data.ddq_dv), (d.tau[k], inverse)):
            assert np.abs(one - other).max() < 1e-10 * np.abs(other).max()


def test_batches_functions_and_refusals() -> None:
    here = moving_four_bar({})
    s, options = here.s, here.options()
    one = s.forward_dynamics_derivatives(here.q, here.v, here.tau, **options)
    many = s.forward_dynamics_derivatives(np.stack([here.q] * 5), here.v, here.tau, **options)
    for first, second in zip(one, many, strict=True):
        assert second.shape == (5, *first.shape)
        assert np.array_equal(first, second[3])
    residuals = s.closure_residual(np.stack([here.q, s.q0]), parameters=here.parameters)
    assert residuals.shape == (2, len(s.closure_rows))
    assert s.closure_jacobian(here.q[None], parameters=here.parameters)[0] == pytest.approx(
        s.closure_jacobian(here.q, parameters=here.parameters), abs=1e-14
    )
    with pytest.raises(wt.StateError, match="pose"):
        s.derivatives_of("poses", here.q, here.v)
    with pytest.raises(wt.StateError, match="frame="):
        s.derivatives_of("pose", here.q, here.v)
    with pytest.raises(wt.StateError, match="open"):
        s.forward_dynamics_derivatives(here.q + 0.1, here.v, here.tau, **options)


def test_refusals_at_singular_positions() -> None:
    """A parallelogram lying flat, and a crank and slider at its dead position: words that name the loop, never NaN."""
    m = wt.Mechanism("parallelogram")
    cranks = [m.body(name, wt.rod(length=0.5, mass=1.2, axis="x")) for name in ("left", "right")]
    coupler = m.body("coupler", wt.rod(length=1.0, mass=1.0, axis="x"))
    for name, crank, x in (("A", cranks[0], 0.0), ("D", cranks[1], 1.0)):
        m.revolute(name, m.ground, crank, at=(x, 0, 0), axis="y")
    m.revolute("B", cranks[0], coupler, at=(0.5, 0, 0), axis="y")
    m.revolute("C", coupler, cranks[1], at=(1.0, 0, 0), at_child=(0.5, 0, 0), axis="y")
    s = m.build(guess={"A": 0.4, "D": 0.4, "B": -0.4, "C": 0.4}, cut=["C"])
    for call in (
        lambda q: s.forward_dynamics_derivatives(q, np.zeros(4)),
        lambda q: s.derivatives_of("pose", q, np.zeros(4), frame="coupler"),
        s.kernels.derivatives.minimal_coordinates,
    ):
        with pytest.raises(wt.DynamicsError, match=r'singular at this configuration.* in the loop closed by "C"'):
            call(np.zeros(4))

    m = wt.Mechanism("slider-crank")
    crank, rod = (
        m.body(name, wt.rod(length=size, mass=1.0, axis="x")) for name, size in (("crank", 0.3), ("rod", 1.0))
    )
    slider = m.body("slider", mass=1.0, inertia=[0.1, 0.1, 0.1])
    m.revolute("A", m.ground, crank, axis="y")
    m.revolute("B", crank, rod, at=(0.3, 0, 0), axis="y")
    m.revolute("C", rod, slider, at=(1.0, 0, 0), axis="y")
    m.prismatic("S", m.ground, slider, axis="x")
    s = m.build(guess={"A": 1.2, "S": 1.0}, dependent=["A", "B"], cut=["C"])
    q = s.assemble({"A": 0.0, "B": 0.0, "C": 0.0, "S": 1.3}, hold=["A"])
    with pytest.raises(wt.DynamicsError, match=r'coordinates \("S"\) do not determine .* "C" closes .* dependent='):
        s.forward_dynamics_derivatives(q, np.zeros(4))
