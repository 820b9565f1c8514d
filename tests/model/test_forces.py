"""Forces and states in a description: what is taken, what is refused, and that they travel."""

import copy
import math
import pickle

import casadi as ca
import numpy as np
import pytest

from support.processes import fingerprint_elsewhere
from whippletree.elements.forces import Bushing, Contact, Friction, Limit, Load, Spring, TorsionSpring
from whippletree.errors import ModelError
from whippletree.model import GROUND, ForceHandle, Mechanism
from whippletree.spatial.placement import Placement

TURNED = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]


def mechanism(name="m", p=0.5):
    """Joints of several kinds, frames on bodies and on the ground, a parameter, a state."""
    m = Mechanism(name)
    m.parameter("p", p)
    for body in "abcde":
        m.body(body, mass=1.0)
    m.revolute("A", m.ground, "a")
    m.prismatic("B", "a", "b")
    m.cylindrical("C", "b", "c")
    m.spherical("ball", "c", "d")
    m.fixed("weld", "d", "e")
    m.free("flight", m.ground, m.body("f"))
    m.frame("tip", on="b", at=(1, 0, 0), rotation=TURNED)
    m.frame("hook", on=m.ground, at=(0, 0, 2), rotation=TURNED)
    m.state("z", 0.25, rate=lambda z: -z)
    return m


def parameter(m):
    return m.describe().parameters[0].symbol


def test_laws_and_symbols_stay_as_they_are_when_the_user_changes_what_was_given():
    """An entry of an SX can be set in place, and the function of a law is made when it is first needed."""

    def servo(change: bool) -> Mechanism:
        m = mechanism()
        q, rate, time, z = m.coordinate("A"), m.rate("A"), m.time, m.state_symbol("z")
        effort = 2 * q - rate * time + z
        m.actuator("servo", "A", effort=effort)
        m.spring("line", "a", "tip", law=lambda x, v: 3 * x + v)
        if change:
            for given in (effort, q, rate, time, z, m.elongation, m.elongation_rate):
                given[0] = 7.0
        m.load("push", "b", force=(m.coordinate("A"), m.rate("A") + m.time, m.state_symbol("z")))
        return m

    assert servo(change=True).describe().fingerprint() == servo(change=False).describe().fingerprint()


def folded(m, name="X"):
    return m.describe().folded().force(name)


OTHER = mechanism("other")


# ------------------------------------------------------------------ what is taken


def test_a_spring():
    m = mechanism()
    p = parameter(m)
    handle = m.spring("X", "tip", m.ground, stiffness=2 * p, free_length=p, damping=3, at=(1, 0, p), at_child=(0, 1, 0))
    assert isinstance(handle, ForceHandle) and (handle.name, str(handle)) == ("X", "X")
    use = folded(m)
    assert use.force == Spring(1.0, 0.5, 3.0) and use.coordinates == () and use.states == ()
    # the point is in the frame's coordinates
    assert use.sides == (("b", Placement(TURNED, (1, 1, 0.5))), (GROUND, Placement(point=(0, 1, 0))))


def test_a_damper_needs_no_length():
    m = mechanism()
    m.spring("X", "a", "b", damping=4.0)
    assert folded(m).force == Spring(0.0, 0.0, 4.0)
    m.spring("Y", "a", "b", stiffness=4.0, free_length=0)
    assert folded(m, "Y").force == Spring(4.0, 0.0, 0.0)


def test_laws():
    m = mechanism()
    p = parameter(m)
    m.spring("one", "a", "b", law=lambda x, rate: p * x**3 + rate, free_length=0.1)
    m.spring("two", "a", "b", law=p * m.elongation**3 + m.elongation_rate, free_length=0.1)
    one, two = m.describe().forces
    assert one.force == two.force and not one.force.timed
    reads = m.elongation * m.position("tip")[0] * m.coordinate("C", 1) * m.state_symbol("z") + ca.sin(m.time)
    m.spring("three", "a", m.ground, law=reads)
    use = m.describe().force("three")
    assert [body for body, _ in use.sides] == ["a", GROUND, "b"]
    assert use.coordinates == (("C", 1),) and use.states == ("z",) and use.force.timed
    m.spring("four", "a", "b", law=lambda x, rate: p * x + rate, energy=lambda x: p * x * x / 2)
    assert m.describe().force("four").force.law.size == 2
    m.spring("five", "a", "b", law=lambda x, rate: 3.0)
    assert m.describe().force("five").force.law.size == 1


def test_an_energy_may_have_corners_and_limits_of_its_own():
    m = mechanism()
    slack = m.elongation > 0
    m.spring(
        "rope", "a", "b", law=ca.if_else(slack, 5 * m.elongation, 0), energy=ca.if_else(slack, 2.5 * m.elongation**2, 0)
    )
    m.spring("log", "a", "b", law=1 / m.elongation, energy=ca.log(m.elongation))  # nothing for a negative one
    assert len(m.describe().forces) == 2


def test_a_bushing():
    m = mechanism()
    p = parameter(m)
    m.bushing("X", "a", "tip", stiffness=(1, 2, 3, 4, 5, p), damping=np.diag([6, 5, 4, 3, 2, 1.0]), at=(1, 0, 0))
    use = folded(m)
    assert use.force == Bushing.diagonal((1.0, 2.0, 3.0, 4.0, 5.0, 0.5), (6.0, 5.0, 4.0, 3.0, 2.0, 1.0))
    assert use.sides == (("a", Placement(point=(1, 0, 0))), ("b", Placement(TURNED, (1, 0, 0))))
    m.bushing("Y", "a", "b", stiffness=np.ones((6, 6)), pose=Placement(TURNED, (1, 2, 3)))
    use = folded(m, "Y")
    assert use.force == Bushing((1.0,) * 36, (0.0,) * 36)
    # as for the joint `fixed`, a pose alone is that of the child where nothing is deformed
    assert use.sides == (("a", Placement(TURNED, (1, 2, 3))), ("b", Placement()))


def test_forces_in_joints():
    m = mechanism()
    p = parameter(m)
    m.torsion_spring("T", "C", stiffness=p, rest=-p, damping=0.1, index=1)
    m.friction("F", "A", coulomb=p, viscous=0.2, speed=0.3)
    m.friction("G", "ball", viscous=p, index=2)
    m.limit("L", m.revolute("J", "a", "c"), lower=-1, upper=p, stiffness=100, damping=2, width=0.1)
    m.limit("U", "B", upper=0.5, stiffness=100)
    m.limit("D", "B", lower=0.5, stiffness=100)
    uses = m.describe().folded().forces
    assert [use.coordinates for use in uses] == [
        (("C", 1),),
        (("A", 0),),
        (("ball", 2),),
        (("J", 0),),
        (("B", 0),),
        (("B", 0),),
    ]
    assert [use.force for use in uses] == [
        TorsionSpring(0.5, -0.5, 0.1),
        Friction(0.5, 0.2, 0.3),
        Friction(0.0, 0.5, 0.01),
        Limit(-1.0, 0.5, 100.0, 2.0, 0.1),
        Limit(None, 0.5, 100.0, 0.0, 1e-3),
        Limit(0.5, None, 100.0, 0.0, 1e-3),
    ]


def test_an_actuator_reads_what_it_likes():
    m = mechanism()
    m.actuator("X", "flight", index=4, effort=m.state_symbol("z") + m.rate("C", 1) * m.velocity("tip")[0])
    use = m.describe().force("X")
    assert use.coordinates == (("flight", 4), ("C", 1)) and use.states == ("z",)
    assert [body for body, _ in use.sides] == ["b"] and not use.force.timed
    m.actuator("Y", "A", effort=2.5)
    assert m.describe().force("Y").coordinates == (("A", 0),)


def test_loads():
    m = mechanism()
    p = parameter(m)
    m.load("X", "tip", force=(p, 0, m.time), at=(1, 0, 0))
    m.load("Y", "tip", wrench=ca.vertcat(0, 0, 0, p, 0, m.time), at=(1, 0, 0))
    one, two = m.describe().forces
    assert one.force == two.force and one.force.timed and not one.force.follows
    assert one.sides == (("b", Placement(TURNED, (1, 1, 0))),)
    m.load("Z", "a", moment=[1, 2, 3], force=np.array([4, 5, 6]), frame="body")
    force = m.describe().force("Z").force
    assert isinstance(force, Load) and force.follows
    none = ca.SX(0, 1)
    inputs = [ca.SX(9, 0), *[ca.SX(3, 0)] * 3, none, none, none, none, ca.SX(0), none]
    assert ca.DM(force.wrench.function(*inputs)).full().ravel().tolist() == [1, 2, 3, 4, 5, 6]


def test_a_contact():
    m = mechanism()
    p = parameter(m)
    m.contact("X", "a", at=(0, 0, p), radius=p, stiffness=100, damping=p, friction=0.7, normal=(0, 3, 4), offset=2 * p)
    use = folded(m)
    assert isinstance(use.force, Contact) and use.sides == (("a", Placement(point=(0, 0, 0.5))),)
    assert use.force.entries() == (0.5, 0.0, 0.6, 0.8, 0.5, 100.0, 0.5, 0.7, 0.01, 1e-3)
    m.contact("Y", "a", stiffness=100, offset=0.1 * ca.sin(m.time) + m.position("tip")[0] * m.coordinate("C", 1))
    use = m.describe().force("Y")
    assert use.force.timed and [body for body, _ in use.sides] == ["a", "b"] and use.coordinates == (("C", 1),)


def test_states():
    m = mechanism()
    y = m.state("y", 2)
    assert y.is_symbolic() and ca.is_equal(y, m.state_symbol("y"))
    described = m.describe()
    assert [state.name for state in described.states] == ["z", "y"] and described.state_values == (0.25, 2.0)
    assert described.state("y").states == ()  # without a rate it stays where it is
    m.state_rate("y", m.state_symbol("z") * m.coordinate("A") - y + m.time)
    state = m.describe().state("y")
    assert state.states == ("y", "z") and state.coordinates == (("A", 0),) and state.value == 2.0
    assert m.describe().timed and not described.timed
    m.state_rate("y", lambda y: -y)
    assert m.describe().state("y").states == ("y",) and m.describe().state("y").rate.timed is False


def test_a_description_knows_what_depends_on_time():
    for write, forces, closures in (
        (lambda m: m.actuator("X", "A", effort=ca.sin(m.time)), True, False),
        (lambda m: m.contact("X", "a", stiffness=1, offset=m.time), True, False),
        (lambda m: m.state("y", 0, rate=m.time), True, False),
        (lambda m: m.closure("X", m.coordinate("A") - m.time), False, True),
        (lambda m: m.actuator("X", "A", effort=1.0), False, False),
    ):
        m = mechanism()
        write(m)
        d = m.describe()
        assert (d.forces_timed, d.closures_timed, d.timed) == (forces, closures, forces or closures)


# ------------------------------------------------------------------ what is refused


def q(m):
    return m.coordinate("A")


REFUSED = [
    (["both", '"a"', "a spring needs two different bodies"], lambda m: m.spring("X", "a", "a", damping=1)),
    (["both", '"b"'], lambda m: m.spring("X", "tip", "b", damping=1)),
    (["both", '"ground"'], lambda m: m.spring("X", "hook", m.ground, damping=1)),
    (["no body or frame", "did you mean"], lambda m: m.spring("X", "a", "groud", damping=1)),
    (
        ["parent", "is a joint: give a body or a frame"],
        lambda m: m.spring("X", m.revolute("J", "a", "c"), "b", damping=1),
    ),
    (["child", "another mechanism", '"other"'], lambda m: m.spring("X", "a", OTHER.ground, damping=1)),
    (["stiffness and free_length, or damping, or a law"], lambda m: m.spring("X", "a", "b")),
    (["free_length is missing"], lambda m: m.spring("X", "a", "b", stiffness=1)),
    (["stiffness must not be negative, got -1"], lambda m: m.spring("X", "a", "b", stiffness=-1, free_length=1)),
    (["free_length must not be negative"], lambda m: m.spring("X", "a", "b", stiffness=1, free_length=-1)),
    (["damping must not be negative"], lambda m: m.spring("X", "a", "b", damping=parameter(m) - 1)),
    (["damping must be finite"], lambda m: m.spring("X", "a", "b", damping=math.nan)),
    (["stiffness depends on", "not a parameter"], lambda m: m.spring("X", "a", "b", stiffness=q(m), free_length=1)),
    (
        ["the point on the child", "not a parameter"],
        lambda m: m.spring("X", "a", "b", damping=1, at_child=(q(m), 0, 0)),
    ),
    (["at must be 3 numbers"], lambda m: m.spring("X", "a", "b", damping=1, at=(1, 2))),
    (["either law or stiffness"], lambda m: m.spring("X", "a", "b", law=m.elongation, stiffness=1)),
    (["either law or damping"], lambda m: m.spring("X", "a", "b", law=m.elongation, damping=1)),
    (["energy is that of a law"], lambda m: m.spring("X", "a", "b", damping=1, energy=m.elongation)),
    (["law must be a number"], lambda m: m.spring("X", "a", "b", law="x")),
    (["law must be one number", "(2, 1)"], lambda m: m.spring("X", "a", "b", law=ca.vertcat(q(m), q(m)))),
    (['law depends on "stray"', ".elongation"], lambda m: m.spring("X", "a", "b", law=ca.SX.sym("stray"))),
    (['law depends on "elongation"'], lambda m: m.spring("X", "a", "b", law=OTHER.elongation)),
    (["law is a function", "failed"], lambda m: m.spring("X", "a", "b", law=lambda x: x)),
    (["energy does not belong", "0.001"], lambda m: m.spring("X", "a", "b", law=m.elongation, energy=m.elongation)),
    (["energy does not belong"], lambda m: m.spring("X", "a", "b", law=m.elongation + m.elongation_rate, energy=0.0)),
    (
        ["energy goes with a law that depends on elongation"],
        lambda m: m.spring("X", "a", "b", law=m.elongation * m.time, energy=m.elongation**2 / 2),
    ),
    (
        ["energy goes with a law"],
        lambda m: m.spring("X", "a", "b", law=m.elongation, energy=m.elongation**2 / 2 + m.state_symbol("z")),
    ),
    (["6 numbers or a 6 x 6 matrix"], lambda m: m.bushing("X", "a", "b", stiffness=(1, 2, 3))),
    (["6 numbers or a 6 x 6 matrix"], lambda m: m.bushing("X", "a", "b", stiffness=5.0)),
    (["stiffness must not be negative in any"], lambda m: m.bushing("X", "a", "b", stiffness=(1, 1, 1, 1, 1, -1))),
    (
        ["damping must not be negative in any"],
        lambda m: m.bushing("X", "a", "b", stiffness=np.eye(6), damping=-np.eye(6)),
    ),
    (["stiffness must be a symmetric"], lambda m: m.bushing("X", "a", "b", stiffness=np.triu(np.ones((6, 6))))),
    (["not a parameter"], lambda m: m.bushing("X", "a", "b", stiffness=(1, 1, 1, 1, 1, q(m)))),
    (["a bushing needs two different"], lambda m: m.bushing("X", "a", "a", stiffness=np.ones(6))),
    (["either pose or at"], lambda m: m.bushing("X", "a", "b", stiffness=np.ones(6), at=(1, 0, 0), pose=np.eye(4))),
    (["no joint", "did you mean", '"weld"'], lambda m: m.torsion_spring("X", "wled", stiffness=1)),
    (["fixed", "no coordinates"], lambda m: m.torsion_spring("X", "weld", stiffness=1)),
    (["spherical", "quaternion"], lambda m: m.torsion_spring("X", "ball", stiffness=1)),
    (['"A" has no coordinate 1'], lambda m: m.torsion_spring("X", "A", stiffness=1, index=1)),
    (["stiffness must not be negative"], lambda m: m.torsion_spring("X", "A", stiffness=-1)),
    (["rest must be a number"], lambda m: m.torsion_spring("X", "A", stiffness=1, rest="up")),
    (["damping must not be negative"], lambda m: m.torsion_spring("X", "A", stiffness=1, damping=-1)),
    (["give coulomb, viscous, or both"], lambda m: m.friction("X", "A")),
    (["coulomb must not be negative"], lambda m: m.friction("X", "A", coulomb=-1)),
    (["viscous must not be negative"], lambda m: m.friction("X", "A", viscous=-1)),
    (["speed must be positive, got 0.0"], lambda m: m.friction("X", "A", coulomb=1, speed=0)),
    (['"ball" has no freedom 3'], lambda m: m.friction("X", "ball", coulomb=1, index=3)),
    (["index of a freedom", "whole number"], lambda m: m.friction("X", "ball", coulomb=1, index=True)),
    (["give lower, upper, or both"], lambda m: m.limit("X", "A", stiffness=1)),
    (
        ["lower must be less than upper, got 1 and 0.5"],
        lambda m: m.limit("X", "A", lower=1, upper=parameter(m), stiffness=1),
    ),
    (["upper must be finite"], lambda m: m.limit("X", "A", upper=math.inf, stiffness=1)),
    (["width must be positive"], lambda m: m.limit("X", "A", upper=1, stiffness=1, width=0)),
    (["stiffness must not be negative"], lambda m: m.limit("X", "A", upper=1, stiffness=-1)),
    (["quaternion"], lambda m: m.limit("X", "flight", upper=1, stiffness=1)),
    (["effort must be a number"], lambda m: m.actuator("X", "A", effort=None)),
    (["effort is a function", "f(m.time)"], lambda m: m.actuator("X", "A", effort=lambda t: 2 * t)),
    (["effort is of CasADi's type MX"], lambda m: m.actuator("X", "A", effort=ca.MX.sym("x"))),
    (["effort must be one number"], lambda m: m.actuator("X", "A", effort=m.position("a"))),
    (['effort depends on "stray"', ".state"], lambda m: m.actuator("X", "A", effort=ca.SX.sym("stray"))),
    (['effort depends on "z"'], lambda m: m.actuator("X", "A", effort=OTHER.state_symbol("z"))),
    (["effort depends on .elongation", "law of a spring"], lambda m: m.actuator("X", "A", effort=m.elongation)),
    (["effort has a number in it that is not finite"], lambda m: m.actuator("X", "A", effort=q(m) * math.inf)),
    (["effort must be finite"], lambda m: m.actuator("X", "A", effort=math.nan)),
    (["fixed", "no coordinates"], lambda m: m.actuator("X", "weld", effort=1)),
    (["give force, moment, or wrench"], lambda m: m.load("X", "a")),
    (["either wrench or force"], lambda m: m.load("X", "a", wrench=np.ones(6), force=(1, 2, 3))),
    (["wrench must be 6 numbers"], lambda m: m.load("X", "a", wrench=np.ones(3))),
    (["force must be 3 numbers"], lambda m: m.load("X", "a", force=np.ones(6))),
    (["moment must be 3 numbers"], lambda m: m.load("X", "a", moment=3.0)),
    (["force[1] must be a number"], lambda m: m.load("X", "a", force=(1, "2", 3))),
    (["wrench is of CasADi's type MX"], lambda m: m.load("X", "a", wrench=ca.MX.sym("w", 6))),
    (["force is of CasADi's type MX"], lambda m: m.load("X", "a", force=ca.MX.sym("w", 3))),
    (['"ground" is the ground', "a load"], lambda m: m.load("X", m.ground, force=(1, 2, 3))),
    (['"hook" is the ground, or on it'], lambda m: m.load("X", "hook", force=(1, 2, 3))),
    (['frame must be "ground" or "body", got \'a\''], lambda m: m.load("X", "a", force=(1, 2, 3), frame="a")),
    (["at depends on", "not a parameter"], lambda m: m.load("X", "a", force=(1, 2, 3), at=(q(m), 0, 0))),
    (["a contact does not move"], lambda m: m.contact("X", "hook", stiffness=1)),
    (["radius must not be negative"], lambda m: m.contact("X", "a", stiffness=1, radius=-1)),
    (["normal must be"], lambda m: m.contact("X", "a", stiffness=1, normal="up")),
    (["normal", "zero"], lambda m: m.contact("X", "a", stiffness=1, normal=(0, 0, 0))),
    (["normal must be plain numbers"], lambda m: m.contact("X", "a", stiffness=1, normal=(0, 0, parameter(m)))),
    (["offset may depend on", "no velocity"], lambda m: m.contact("X", "a", stiffness=1, offset=m.rate("A"))),
    (["offset may depend on"], lambda m: m.contact("X", "a", stiffness=1, offset=m.state_symbol("z"))),
    (["speed must be positive"], lambda m: m.contact("X", "a", stiffness=1, speed=0)),
    (["width must be positive"], lambda m: m.contact("X", "a", stiffness=1, width=-1)),
    (["friction must not be negative"], lambda m: m.contact("X", "a", stiffness=1, friction=-0.1)),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case[0][0][:40])
def test_refused_with_the_reason_and_the_name(case):
    words, call = case
    m = mechanism()
    with pytest.raises(ModelError) as raised:
        call(m)
    for word in ['force "X"', *words]:
        assert word in str(raised.value)
    assert m.describe().forces == ()
    m.actuator("X", "A", effort=1.0)  # the name is still free


@pytest.mark.parametrize(
    ("words", "call"),
    [
        (["is taken: states"], lambda m: m.state("z", 1.0)),
        (["value must be a plain number"], lambda m: m.state("X", parameter(m))),
        (["value must be finite"], lambda m: m.state("X", math.inf)),
        (["value must be a number"], lambda m: m.state("X", "1")),
        (["rate must be a number"], lambda m: m.state("X", 1.0, rate="z")),
        (["rate is a function", "failed"], lambda m: m.state("X", 1.0, rate=lambda: 1)),
        (['rate depends on "stray"'], lambda m: m.state("X", 1.0, rate=ca.SX.sym("stray"))),
        (["no state", "did you mean", '"z"'], lambda m: m.state_rate("zz", 1.0)),
        (["rate must be one number"], lambda m: m.state_rate("z", m.position("a"))),
        (["a name must be text"], lambda m: m.state(3)),
    ],
)
def test_states_are_refused_with_the_reason(words, call):
    m = mechanism()
    before = m.describe()
    with pytest.raises(ModelError) as raised:
        call(m)
    for word in ['state "' if "text" not in words[0] else "state", *words]:
        assert word in str(raised.value)
    assert m.describe() == before


def test_symbols_of_states_are_refused_with_the_reason():
    with pytest.raises(ModelError, match='mechanism "m": there is no state "y"'):
        mechanism().state_symbol("y")
    m = mechanism()
    with pytest.raises(ModelError, match='closure "X": the expression depends on the state "z"'):
        m.closure("X", m.coordinate("A") - m.state_symbol("z"))


def test_names_of_forces():
    m = mechanism()
    m.actuator("A", "A", effort=1.0)  # joints are another matter
    m.state("A")
    with pytest.raises(ModelError, match='the name "A" is taken: forces must have different names'):
        m.friction("A", "A", viscous=1.0)
    with pytest.raises(ModelError, match="is a force: give a joint"):
        m.coordinate(m.friction("F", "A", viscous=1.0))
    with pytest.raises(ModelError, match='has no force "G"; there is "A", "F"'):
        m.describe().force("G")
    with pytest.raises(ModelError, match='has no state "G"'):
        m.describe().state("G")
    assert "2 forces" in repr(m) and "forces" not in repr(mechanism())


def test_symbols_cannot_be_spoiled():
    m = mechanism()
    for ask in (lambda: m.elongation, lambda: m.elongation_rate, lambda: m.state_symbol("z")):
        one = ask()
        one[0] = 7.0
        assert ask().is_symbolic()
    assert not ca.is_equal(m.elongation, m.elongation_rate)


# ------------------------------------------------------------------ travel


def loaded(value=0.5, **changes):
    """A mechanism with a force of every kind; each option changes one thing."""
    m = mechanism(p=value)
    p, get = parameter(m), changes.get
    y = m.state("y", get("start", 1.0))
    m.state_rate("y", get("rate", 2.0) * m.coordinate("A") - p * y * m.position("tip")[0])
    m.spring(get("name", "s"), "a", get("body", "c"), stiffness=get("stiffness", 1.0) * p, free_length=1, at=(p, 0, 0))
    m.spring(
        "law", "a", "tip", law=get("law", 3.0) * m.elongation * p + m.elongation_rate, free_length=get("free", 0.1)
    )
    m.bushing("bush", "a", "b", stiffness=(1, 2, 3, 4, get("k", 5.0), p), damping=np.eye(6) * get("c", 1.0))
    m.torsion_spring("torsion", get("joint", "A"), stiffness=p, rest=get("rest", 0.1))
    m.friction("friction", "C", coulomb=p, speed=get("speed", 0.1), index=get("index", 0))
    m.limit("limit", "A", **{get("stop", "upper"): 0.5}, stiffness=p, width=get("width", 0.1))
    m.actuator("actuator", "B", effort=get("function", ca.exp)(-m.time) * p + y * m.rate("A"))
    m.load(
        "load", get("place", "tip"), wrench=ca.vertcat(0, 0, p, m.velocity("a")[0], y, 0), frame=get("frame", "body")
    )
    m.contact(
        "contact", "d", stiffness=p, normal=get("normal", "z"), offset=get("offset", 0.2) + m.position("c")[0] * p
    )
    return m


CHANGES = {
    "name": "t",
    "start": np.nextafter(1.0, 2.0),
    "rate": np.nextafter(2.0, 3.0),
    "body": "d",
    "stiffness": 2.0,
    "law": np.nextafter(3.0, 4.0),
    "free": 0.2,
    "k": 6.0,
    "c": 2.0,
    "joint": "B",
    "rest": 0.2,
    "speed": 0.2,
    "index": 1,
    "stop": "lower",
    "width": 0.2,
    "function": ca.sin,
    "place": "b",
    "frame": "ground",
    "normal": "y",
    "offset": np.nextafter(0.2, 1.0),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_changes_the_fingerprint(change):
    assert loaded(**{change: CHANGES[change]}).describe().fingerprint() != loaded().describe().fingerprint()


def test_the_same_mechanism_has_the_same_fingerprint():
    one, two = loaded().describe(), loaded().describe()
    assert one == two
    assert loaded(2.0).describe().fingerprint() == one.fingerprint() and loaded(2.0).describe() != one
    assert one.fingerprint() != mechanism().describe().fingerprint()


def test_the_order_of_forces_is_in_the_fingerprint():
    prints = set()
    for names in ("AB", "BA"):
        m = mechanism()
        for name in names:
            m.friction(name, name, viscous=1.0)
        prints.add(m.describe().fingerprint())
    assert len(prints) == 2


def test_the_fingerprint_is_the_same_in_another_process(tmp_path):
    assert fingerprint_elsewhere(loaded(), tmp_path) == loaded().describe().fingerprint()


@pytest.mark.parametrize("travel", [lambda d: pickle.loads(pickle.dumps(d)), copy.deepcopy, copy.copy])
def test_descriptions_and_mechanisms_travel(travel):
    m = loaded()
    described = m.describe()
    back, again = travel(described), travel(m)
    assert back == described and again.describe() == described
    assert back.folded() == described.folded() and back.timed
    for one, two in zip(back.forces, described.forces, strict=True):
        assert (one.name, one.sides[1:], one.coordinates, one.states) == (
            two.name,
            two.sides[1:],
            two.coordinates,
            two.states,
        )
        assert type(one.force) is type(two.force) and one.force.text == two.force.text
    symbol = back.parameters[0].symbol
    used = {hash(s) for number in back.numbers() if not isinstance(number, float) for s in ca.symvar(number)}
    assert used == {hash(symbol)}


def test_a_mechanism_that_came_back_goes_on():
    m = loaded()
    again, strut = pickle.loads(pickle.dumps((m, m.friction("F", "A", viscous=1.0))))
    assert again.name == "m" and strut.name == "F" and len(again.describe().forces) == 10
    again.actuator("more", "A", effort=again.state_symbol("y") * again.state("new", 1.0))
    again.state_rate("y", again.state_symbol("new"))
    assert again.describe().force("more").states == ("new", "y") and len(m.describe().forces) == 10
    with pytest.raises(ModelError, match="is taken"):
        again.state("y")
    with pytest.raises(ModelError, match='depends on "y"'):
        again.actuator("old symbol", "A", effort=m.state_symbol("y"))


def test_folding_leaves_no_symbols():
    described = loaded().describe()
    folded = described.folded()
    assert all(isinstance(number, float) for number in folded.numbers())
    assert folded.force("s").force == Spring(0.5, 1.0, 0.0) and folded.state_values == (0.25, 1.0)
    assert [use.name for use in folded.forces] == [use.name for use in described.forces]
    assert folded.parameters == () and len(folded.closures) == 0


@pytest.mark.parametrize("value", [math.sin, math.sqrt, float, int, lambda x: round(float(x))])
def test_functions_of_numbers_refuse_formulas_in_words(value):
    m = Mechanism("m")
    with pytest.raises(ModelError, match=r"t is a formula.*casadi\.sin"):
        value(m.time)
