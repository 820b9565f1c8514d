"""Bad input, end to end: each kind raises the package's own error, which names the element and the remedy."""

from __future__ import annotations

import contextlib
import warnings
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import whippletree as wt
from support.sampling import deep, examples
from support.systems import arm, floating, loaded, state

Z = np.zeros(1)
INERTIA = np.eye(3)


def refused(kind: type[Exception], *words: str):
    """Expect an error of ours whose message holds all the words."""

    class Expect(contextlib.AbstractContextManager):
        def __exit__(self, got, error, trace):
            assert got is not None, f"nothing was raised; expected {kind.__name__}"
            assert issubclass(got, kind), error
            assert issubclass(got, wt.WhippletreeError)
            for word in words:
                assert word in str(error), f"{word!r} is not in: {error}"
            return True

    return Expect()


# ---------------------------------------------------------------------- descriptions


@pytest.mark.parametrize("mass", [-1.0, -1e-300, np.nan, np.inf, -np.inf, "heavy", True, [1.0], 1j])
def test_mass(mass):
    m = wt.Mechanism("m")
    with refused(wt.ModelError, 'body "hammer"', "mass"):
        m.body("hammer", mass=mass)
    m.body("hammer", mass=1.0)  # the refused one left nothing behind


@pytest.mark.parametrize(("mass", "com"), [(1e308, (0, 0, -1)), (1.0, (1e160, 0, 0)), (2e305, (0, 0, 0))])
def test_what_would_overflow(mass, com):
    with refused(wt.ModelError, 'body "star"', "too large", "units"):
        wt.Mechanism("m").body("star", mass=mass, com=com)


def test_states_by_name_are_finite():
    m = wt.Mechanism("m")
    m.revolute("hinge", m.ground, m.body("b", wt.rod(length=1.0, mass=1.0)), axis="y")
    s = m.build()
    for value in (np.nan, np.inf):
        for fill in (s.kernels.states.coordinates, s.velocities):
            with refused(wt.StateError, 'joint "hinge"', "finite"):
                fill({"hinge": value})
        with refused(wt.StateError, 'joint "hinge"', "finite"):
            s.configuration([value])


def test_a_mass_that_a_parameter_makes_negative():
    m = wt.Mechanism("m")
    p = m.parameter("p", -2.0)
    with refused(wt.ModelError, 'body "hammer"', "parameters", "mass"):
        m.body("hammer", mass=p)


@pytest.mark.parametrize(
    ("inertia", "word"),
    [
        (np.diag([-1.0, 1.0, 1.0]), "negative"),
        ([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]], "negative"),
        (np.diag([1.0, 1.0, 3.0]), "triangle"),
        (np.diag([1.0, 1.0, 2.0001]), "triangle"),
        ([[1.0, 0.1, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], "symmetric"),
        (np.full((3, 3), np.nan), "inertia"),
        (np.eye(2), "inertia"),
    ],
)
def test_inertia(inertia, word):
    m = wt.Mechanism("m")
    with refused(wt.ModelError, 'body "top"', word):
        m.body("top", mass=1.0, inertia=inertia)


def test_thin_rods_and_point_masses_are_fine():
    m = wt.Mechanism("m")
    m.revolute("a", m.ground, m.body("rod", wt.rod(length=1.0, mass=1.0)), axis="y")
    m.revolute("b", "rod", m.body("bob", mass=1.0, com=(1.0, 0.0, 0.0)), axis="y")
    m.revolute("c", "rod", m.body("lamina", mass=1.0, inertia=np.diag([1.0, 1.0, 2.0])), axis="z")
    assert np.isfinite(m.build().forward_dynamics(np.ones(3), np.ones(3))).all()


def test_an_unconnected_body():
    m = arm(1)
    m.body("adrift", mass=1.0)
    with refused(wt.TopologyError, '"adrift"', "free"):
        m.build()
    m.revolute("joint 9", "adrift", m.body("adrift too", mass=1.0))
    with refused(wt.TopologyError, "adrift"):
        m.build()
    m.free("flight", m.ground, "adrift")
    assert m.build().nv == 8


def test_two_elements_of_one_name():
    m = arm(2)
    with refused(wt.ModelError, '"link 0"', "taken", "different names"):
        m.body("link 0", mass=1.0)
    with refused(wt.ModelError, '"joint 0"', "taken"):
        m.revolute("joint 0", "link 0", m.body("new", mass=1.0))
    with refused(wt.ModelError, '"tip"', "taken"):
        m.frame("tip", on="link 0")
    with refused(wt.ModelError, '"link 1"', "taken"):
        m.frame("link 1", on="link 0")
    with refused(wt.ModelError, '"ground"'):
        m.body("ground")


@pytest.mark.parametrize("axis", [(0, 0, 0), (0.0, -0.0, 0.0), (np.nan, 0, 1), (np.inf, 0, 0), (1, 0), "w", None, 3])
def test_axis(axis):
    m = wt.Mechanism("m")
    body = m.body("b", mass=1.0)
    if axis is None:  # the default
        m.revolute("hinge", m.ground, body, axis=None)
        return
    with refused(wt.ModelError, 'joint "hinge"', "axis"):
        m.revolute("hinge", m.ground, body, axis=axis)


# ---------------------------------------------------------------------- joints that move nothing


def massless_tip(prescribed=False):
    m = arm(2)
    m.revolute("wrist", "link 1", m.body("hand"), at=(0.5, 0, 0), axis="x", prescribed=prescribed)
    return m


def only_a_massless_body(prescribed=False):
    m = wt.Mechanism("m")
    m.prismatic("wrist", m.ground, m.body("hand"), prescribed=prescribed)
    return m


def rod_about_itself(prescribed=False):
    m = wt.Mechanism("m")
    m.revolute(
        "wrist",
        m.ground,
        m.body("rod", wt.rod(length=1.0, mass=2.0, axis="x")),
        axis="x",
        prescribed=prescribed,
    )
    return m


def skew_rod_about_itself(prescribed=False):
    m = arm(2)
    axis = np.array([1.0, 2.0, 3.0]) / np.sqrt(14)
    rod = m.body("rod", mass=1.0, com=tuple(0.5 * axis), inertia=(np.eye(3) - np.outer(axis, axis)) / 12)
    m.revolute("wrist", "link 1", rod, at=(0.1, 0.2, 0.3), axis=tuple(axis), prescribed=prescribed)
    return m


def point_on_a_ball(prescribed=False):
    m = wt.Mechanism("m")
    m.spherical("wrist", m.ground, m.body("bob", mass=1.0, com=(0.3, -0.4, 1.2)), prescribed=prescribed)
    return m


def point_at_the_center_of_a_ball(prescribed=False):
    m = wt.Mechanism("m")
    m.spherical("wrist", m.ground, m.body("bob", mass=1.0), prescribed=prescribed)
    return m


def free_point(prescribed=False):
    m = wt.Mechanism("m")
    m.free("wrist", m.ground, m.body("point", mass=1.0, com=(1.0, 2.0, 3.0)), prescribed=prescribed)
    return m


def point_on_a_cylindrical_axis(prescribed=False):
    m = wt.Mechanism("m")
    m.cylindrical("wrist", m.ground, m.body("bead", mass=1.0), axis=(1, 1, 1), prescribed=prescribed)
    return m


def parallel_wrist(prescribed=False):
    """Two parallel hinges at one point: the outer one moves nothing, nor does the inner one then."""
    m = wt.Mechanism("m")
    ring = m.body("ring")
    m.revolute("base", m.ground, ring, axis="z")
    m.revolute("wrist", ring, m.body("rod", wt.rod(1.0, mass=1.0, axis="z")), axis="z", prescribed=prescribed)
    return m


def massless_tip_of_a_long_chain(prescribed=False):
    m = arm(50)
    m.revolute("wrist", "link 49", m.body("hand"), at=(0.5, 0, 0), axis="x", prescribed=prescribed)
    return m


SINGULAR = [
    massless_tip,
    massless_tip_of_a_long_chain,
    only_a_massless_body,
    rod_about_itself,
    skew_rod_about_itself,
    point_on_a_ball,
    point_at_the_center_of_a_ball,
    free_point,
    point_on_a_cylindrical_axis,
]


@pytest.mark.parametrize("make", SINGULAR)
@pytest.mark.parametrize("formulation", ["articulated", "composite"])
def test_a_joint_that_moves_nothing(make, formulation):
    s = make().build()
    q, v, tau = state(s, 1)
    for call in (s.forward_dynamics, s.driving_forces, s.reactions):
        with refused(wt.DynamicsError, 'joint "wrist"', "prescribe", "inertia"):
            call(q, v, tau, formulation=formulation)
        with refused(wt.DynamicsError, 'joint "wrist"'):
            call(np.stack([q] * 9), v, tau, formulation=formulation)
    # what needs no accelerations goes on
    assert np.isfinite(s.inverse_dynamics(q, v, tau)).all()
    assert np.isfinite(s.mass_matrix(q)).all()
    assert np.isfinite(s.energy(q, v).total)


@pytest.mark.parametrize("make", SINGULAR)
@pytest.mark.parametrize("formulation", ["articulated", *deep(["composite"])])
def test_prescribing_the_joint_helps(make, formulation):
    s = make(prescribed=True).build()
    q, v, tau = state(s, 1)
    a = np.zeros(s.nv)
    a[s.v_slice("wrist")] = 0.5
    result = s.forward_dynamics(q, v, tau, a=a, formulation=formulation)
    assert np.isfinite(result).all()
    assert (result[s.v_slice("wrist")] == 0.5).all()
    assert np.isfinite(s.driving_forces(q, v, tau, a=a, formulation=formulation)).all()
    assert np.isfinite(s.reactions(q, v, tau, a=a, formulation=formulation).wrenches).all()


def test_a_prescribed_joint_does_not_excuse_its_neighbour():
    with refused(wt.DynamicsError, 'joint "base"'):
        parallel_wrist(prescribed=True).build().forward_dynamics(np.zeros(2), np.zeros(2))


def test_a_tiny_mass_is_no_singularity():
    m = wt.Mechanism("m")
    m.revolute("hinge", m.ground, m.body("speck", mass=1e-30, com=(1e-6, 0, 0)), axis="y")
    np.testing.assert_allclose(m.build().forward_dynamics(Z, Z), [9.81e6])


def test_a_parameter_that_makes_a_mass_vanish():
    m = wt.Mechanism("m")
    m.revolute("hinge", m.ground, m.body("bob", mass=m.parameter("p", 1.0), com=(1.0, 0, 0)), axis="y")
    s = m.build()
    assert np.isfinite(s.forward_dynamics(Z, Z)).all()
    with refused(wt.DynamicsError, '"hinge"', "with these parameters"):
        s.forward_dynamics(Z, Z, parameters=[0.0])
    with refused(wt.DynamicsError, "of state 1", '"hinge"', "parameters"):
        s.forward_dynamics(Z, Z, parameters={"p": [1.0, 0.0]})


def test_a_parameter_described_as_zero_with_code_in_the_cache():
    def bob(value):
        m = wt.Mechanism("m")
        m.revolute("hinge", m.ground, m.body("bob", mass=m.parameter("p", value), com=(1.0, 0, 0)), axis="y")
        return m.build()

    assert np.isfinite(bob(1.0).forward_dynamics(Z, Z)).all()
    with refused(wt.DynamicsError, 'joint "hinge"', "prescribe"):
        bob(0.0).forward_dynamics(Z, Z)
    assert np.isfinite(bob(0.0).forward_dynamics(Z, Z, parameters=[2.0])).all()


# ---------------------------------------------------------------------- states


@cache
def systems() -> tuple[wt.System, ...]:
    return (
        arm(2).build(),
        floating().build(),
        loaded().build(),
        arm(2, "driven", prescribed=(1,)).build(),
        arm(50, "long").build(),
    )


def test_states_of_wrong_shape_dtype_or_value():
    s = systems()[0]
    good = np.zeros(2)
    for bad, words in (
        (np.zeros(3), ("q must have 2 numbers", "(3,)")),
        (np.zeros((2, 3)), ("q must have 2 numbers", "(2, 3)")),
        (0.5, ("q must have 2 numbers",)),
        (["a", "b"], ("q must hold real numbers",)),
        ([1j, 0], ("q must hold real numbers", "complex")),
        ([True, False], ("q must hold real numbers", "bool")),
        ([np.nan, 0.0], ("q[0] is nan", 'angle of joint "joint 0"', "finite")),
        ([0.0, -np.inf], ("q[1] is -inf", 'angle of joint "joint 1"')),
        (None, ("q is missing",)),
    ):
        for call in (
            lambda q: s.forward_dynamics(q, good),
            lambda q: s.inverse_dynamics(q, good, good),
            lambda q: s.bias_force(q, good),
            s.mass_matrix,
            lambda q: s.reactions(q, good),
            lambda q: s.pose(q, "tip"),
            lambda q: s.jacobian(q, "tip"),
            lambda q: s.energy(q, good),
            lambda q: s.momentum(q, good),
            lambda q: s.integrate(q, good),
            lambda q: s.coordinate_rates(q, good),
            s.center_of_mass,
        ):
            with refused(wt.StateError, *words):
                call(bad)


@pytest.mark.parametrize("formulation", ["articulated", "composite"])
@pytest.mark.parametrize("size", [2, 50])
def test_efforts_that_are_not_finite_or_do_not_fit(formulation, size):
    s = arm(size, "efforts").build()
    q, v, tau = state(s, 3)
    tau[1] = np.nan
    for call in (s.forward_dynamics, s.driving_forces, s.reactions):
        with refused(wt.StateError, "tau[1] is nan", 'effort for the angular velocity of joint "joint 1"'):
            call(q, v, tau, formulation=formulation)
        with refused(wt.StateError, "do not fit together", f"tau (3, {size})"):
            call(np.stack([q] * 4), v, np.zeros((3, size)), formulation=formulation)
    with refused(wt.DynamicsError, "not finite"):
        s.forward_dynamics(q, 1e200 * v, formulation=formulation)


def test_numbers_that_are_too_large():
    s = systems()[1]
    q, v, _ = state(s, 2)
    with refused(wt.DynamicsError, "not finite", "too large"):
        s.forward_dynamics(q, 1e200 * v)
    with refused(wt.DynamicsError, "of state 0", "too large"):
        s.bias_force(np.stack([q, q]), 1e200 * v)


def test_the_cache_folder(tmp_path, monkeypatch):
    """More of this in the tests of the cache."""
    place = tmp_path / "not a folder"
    place.write_text("")
    monkeypatch.setenv("WHIPPLETREE_CACHE", str(place))
    with refused(wt.CacheError, str(place), "WHIPPLETREE_CACHE", "off"):
        arm(2).build()


# ---------------------------------------------------------------------- anything at all


numbers = st.one_of(
    st.floats(),
    st.floats(-3, 3),
    st.integers(-(2**70), 2**70),
    st.sampled_from([np.nan, np.inf, 1e308, -1e200, 5e-324, -0.0, 1e6, 1e19, True, None, "1", 1j]),
)
kinds = st.sampled_from(["f8", ">f8", "f4", "f2", "g", "i8", "u1", "?", "c16", "O", "U3", "M8[s]", "V8", "S2"])


@st.composite
def arrays(draw):
    """Return an array of any type, shape and layout."""
    shape = (*draw(st.lists(st.integers(0, 4), max_size=3)), draw(st.sampled_from([1, 2, 2, 3, 6, 10, 12])))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    values = rng.normal(size=shape) * 10.0 ** draw(st.sampled_from([0, 0, 0, 3, 150, 300, -320]))
    if draw(st.booleans()) and values.size:
        values.flat[draw(st.integers(0, values.size - 1))] = draw(st.floats())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array = np.zeros(shape, draw(kinds)) if draw(st.booleans()) else values
    layout = draw(st.integers(0, 4))
    if layout == 1:
        array = np.repeat(array, 2, axis=-1)[..., ::2]
    elif layout == 2:
        array = np.asfortranarray(array)
    elif layout == 3:
        array = array[..., ::-1]
    elif layout == 4:
        array.flags.writeable = False
    return array


@st.composite
def states(draw):
    """Return a good q or v, of some system, as a batch or not, at times with a spot."""
    s = systems()[draw(st.integers(0, 4))]
    batch = draw(st.sampled_from([(), (), (1,), (3,), (9,), (2, 3)]))
    value = state(s, draw(st.integers(0, 9)), batch)[draw(st.integers(0, 1))]
    if draw(st.integers(0, 3)) == 0:
        value.flat[draw(st.integers(0, value.size - 1))] = draw(st.floats())
    return value


junk = st.one_of(
    states(),
    states(),
    arrays(),
    numbers,
    st.lists(numbers, max_size=13),
    st.dictionaries(st.sampled_from(["joint 0", "joint 1", "tip", "payload", "", 3]), numbers, max_size=2),
    st.sampled_from(
        [
            "tip",
            "ground",
            "link 0",
            "base",
            "",
            (),
            {},
            [[]],
            [[1.0], [1.0, 2.0]],
            object(),
            range(2),
            slice(2),
        ]
    ),
)

OPTIONS = {
    "forward_dynamics": ("tau", "a", "wrenches", "parameters", "formulation", "out", "threads"),
    "driving_forces": ("tau", "a", "wrenches", "parameters", "formulation", "out", "threads"),
    "reactions": ("tau", "a", "wrenches", "parameters", "formulation", "frame", "threads"),
    "inverse_dynamics": ("a", "wrenches", "parameters", "formulation", "out", "threads"),
    "bias_force": ("wrenches", "parameters", "formulation", "out", "threads"),
    "mass_matrix": ("parameters", "formulation", "out", "threads"),
    "pose": ("parameters", "out"),
    "velocity": ("frame", "parameters", "out"),
    "acceleration": ("frame", "parameters", "out"),
    "jacobian": ("frame", "parameters", "out"),
    "energy": ("parameters",),
    "momentum": ("about", "parameters"),
    "center_of_mass": ("parameters",),
    "integrate": ("out",),
    "difference": ("out",),
    "coordinate_rates": ("out",),
    "configuration": (),
    "random": (),
    "velocities": (),
    "q_slice": (),
    "v_slice": (),
}
POSITIONAL = {
    "mass_matrix": 1,
    "pose": 2,
    "jacobian": 2,
    "velocity": 3,
    "acceleration": 4,
    "center_of_mass": 1,
    "configuration": 1,
    "random": 1,
    "velocities": 1,
    "q_slice": 1,
    "v_slice": 1,
}
MAY_HOLD_WHAT_WAS_GIVEN = {
    "velocities",
    "configuration",
}  # they pass numbers on, to be checked in use


def finite(value) -> bool:
    """Tell whether all numbers of a result are finite."""
    if isinstance(value, slice):
        return True
    if isinstance(value, wt.Reactions):
        value = value.wrenches
    if isinstance(value, tuple):
        return all(finite(part) for part in value)
    return bool(np.isfinite(np.asarray(value, dtype=np.float64)).all())


@settings(max_examples=examples(1000), deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(data=st.data())
def test_any_arguments_end_in_an_answer_or_our_error(data):
    s = systems()[data.draw(st.sampled_from([0, 0, 1, 1, 1, 2, 2, 3, 3, 4]))]
    name = data.draw(st.sampled_from(sorted(OPTIONS)))
    q, v, tau = state(s, data.draw(st.integers(0, 3)), data.draw(st.sampled_from([(), (), (9,)])))
    count = POSITIONAL.get(name, 2)
    place = data.draw(st.sampled_from(["ground", s.description.bodies[-1].name]))
    if name in ("pose", "jacobian"):
        arguments = [q, place]
    elif name == "velocity":
        arguments = [q, v, place]
    elif name == "acceleration":
        arguments = [q, v, tau, place]
    elif name == "difference":
        arguments = [q, q]
    else:
        arguments = [q, v][:count]
    # most arguments good, so that the call gets far
    for i in range(len(arguments)):
        if data.draw(st.integers(0, 2)) == 0:
            arguments[i] = data.draw(junk)
    chosen = data.draw(st.lists(st.sampled_from(OPTIONS[name]), unique=True, max_size=2)) if OPTIONS[name] else []
    options = {key: data.draw(junk) for key in chosen}
    if "formulation" in OPTIONS[name] and "formulation" not in options and data.draw(st.integers(0, 3)) == 0:
        options["formulation"] = "composite"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            result = getattr(s, name)(*arguments, **options)
        except wt.WhippletreeError as error:
            assert len(str(error)) > 10
            return
    if name not in MAY_HOLD_WHAT_WAS_GIVEN:
        assert finite(result)
