"""What Mechanism accepts, what it makes of it, and what it refuses."""

import math

import casadi as ca
import numpy as np
import pytest

from whippletree.elements.bodies import MassProperties, rod, sphere
from whippletree.elements.joints import Revolute, Screw
from whippletree.errors import ModelError
from whippletree.model import Description, Mechanism
from whippletree.spatial.placement import Placement

ALIGNED = ["fixed", "spherical", "free"]
WITH_AXIS = ["revolute", "prismatic", "cylindrical", "planar"]


def pair():
    m = Mechanism("pair")
    return m, m.body("a", mass=1.0), m.body("b", mass=1.0)


def quarter_turn():
    pose = np.eye(4)
    pose[:3, :3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    pose[:3, 3] = [1, 2, 3]
    return pose


def test_the_four_bar_of_the_design():
    m = Mechanism("four-bar", gravity=(0, 0, -9.81))
    crank = m.body("crank", rod(length=1.0, mass=1.0, axis="x"))
    coupler = m.body("coupler", rod(length=2.0, mass=2.0, axis="x"))
    rocker = m.body("rocker", rod(length=1.5, mass=1.5, axis="x"))
    m.revolute("A", m.ground, crank, axis="y")
    m.revolute("B", crank, coupler, at=(1, 0, 0), axis="y")
    m.revolute("C", coupler, rocker, at=(2, 0, 0), at_child=(1.5, 0, 0), axis="y")
    m.revolute("D", m.ground, rocker, at=(2, 0, 0), axis="y")
    d = m.describe()
    assert isinstance(d, Description)
    assert [body.name for body in d.bodies] == ["crank", "coupler", "rocker"]
    assert [(use.name, use.parent, use.child) for use in d.joints] == [
        ("A", "ground", "crank"),
        ("B", "crank", "coupler"),
        ("C", "coupler", "rocker"),
        ("D", "ground", "rocker"),
    ]
    assert d.joint("C").on_child.point == (1.5, 0.0, 0.0)
    assert d.joint("C").joint == Revolute()
    assert d.body("rocker").properties.com == (0.75, 0.0, 0.0)
    assert not any(use.prescribed for use in d.joints)


def test_bodies_can_be_given_by_name_and_the_ground_can_be_a_child():
    m, _, _ = pair()
    m.revolute("J", "a", "b")
    m.free("F", "a", "ground", prescribed=np.True_)
    m.frame("tip", on="ground", at=[1, 2, 3])
    assert m.describe().joint("F").child == "ground"
    assert m.describe().joint("F").prescribed is True
    assert m.describe().frame("tip").placement == Placement(point=(1, 2, 3))


@pytest.mark.parametrize("kind", [*ALIGNED, *WITH_AXIS])
def test_by_default_both_joint_frames_are_the_bodies_frames(kind):
    m, a, b = pair()
    getattr(m, kind)("J", a, b)
    use = m.describe().joint("J")
    assert use.joint.kind == kind
    assert use.on_parent == use.on_child == Placement()


@pytest.mark.parametrize("kind", [*ALIGNED, *WITH_AXIS])
def test_poses_are_taken_as_they_are(kind):
    m, a, b = pair()
    getattr(m, kind)("J", a, b, pose=quarter_turn(), pose_child=Placement(point=(1, 0, 0)))
    getattr(m, kind)("K", a, b, pose=quarter_turn().tolist(), at_child=(0, 0, 5))
    use, other = m.describe().joints
    assert np.array_equal(use.on_parent.matrix(), quarter_turn())
    assert use.on_child == Placement(point=(1, 0, 0))
    assert other.on_child == Placement(point=(0, 0, 5))


@pytest.mark.parametrize("kind", WITH_AXIS)
def test_bodies_are_parallel_at_zero_unless_the_child_has_its_own_axis(kind):
    m, a, b = pair()
    getattr(m, kind)("J", a, b, axis=(1, 2, 3))
    getattr(m, kind)("K", a, b, axis=(1, 2, 3), axis_child=(-3, 0.5, 1))
    use, other = m.describe().joints
    assert use.on_parent.rotation == use.on_child.rotation
    # with its own axis, the child is turned so that the two axes coincide, and no further
    child_in_parent = np.array(other.on_parent.rotation) @ np.array(other.on_child.rotation).T
    axis, own = np.array([1, 2, 3]) / math.sqrt(14), np.array([-3, 0.5, 1]) / math.sqrt(10.25)
    assert np.allclose(child_in_parent @ own, axis, atol=1e-15)
    assert np.trace(child_in_parent) == pytest.approx(1 + 2 * (axis @ own), abs=1e-14)


def test_the_axes_of_a_universal_joint():
    m, a, b = pair()
    m.universal("default", a, b)
    m.universal("given", a, b, axis=(1, 1, 0), axis_child=(0, 0, -2), at=(1, 0, 0), at_child=(0, 1, 0))
    m.universal("posed", a, b, pose=quarter_turn())
    default, given, posed = m.describe().joints
    assert np.array_equal(np.array(default.on_parent.rotation)[:, [0, 2]], np.eye(3)[:, [0, 1]])
    R = np.array(given.on_parent.rotation)
    assert np.allclose(R[:, 0], np.array([1, 1, 0]) / math.sqrt(2), atol=1e-15)
    assert np.array_equal(R[:, 2], [0, 0, -1])
    assert given.on_parent.rotation == given.on_child.rotation
    assert given.on_child.point == (0.0, 1.0, 0.0)
    assert np.array_equal(posed.on_parent.matrix(), quarter_turn()) and posed.on_child == Placement()


def test_a_screw_keeps_its_lead():
    m, a, b = pair()
    lead = m.parameter("lead", -0.01)
    m.screw("S", a, b, lead=5)
    m.screw("T", a, b, lead=2 * lead, axis="x")
    first, second = m.describe().joints
    assert first.joint == Screw(5.0)
    assert ca.is_equal(ca.substitute(second.joint.lead, lead, 1.0), ca.SX(2))


def test_parameters_go_wherever_a_number_goes():
    m = Mechanism("m")
    p = m.parameter("p", 0.5)
    m.gravity = (0, 0, -20 * p)
    a = m.body("a", mass=p, com=ca.vertcat(p, 0, 0), inertia=np.eye(3) * p)
    b = m.body("b", sphere(p, density=1000))
    m.revolute("J", a, b, at=(p, 0, 0), at_child=[0, 1 / p, 0])
    m.frame("F", on=b, at=(0, 0, p**2))
    d = m.describe()
    assert d.parameter_values == (0.5,)
    assert [parameter.name for parameter in d.parameters] == ["p"]
    assert ca.symvar(ca.vertcat(*d.numbers()))[0].name() == "p"


def test_a_description_is_not_changed_by_what_comes_after():
    m, a, b = pair()
    before = m.describe()
    m.revolute("J", a, b)
    assert before.joints == ()


def test_arrays_are_copied():
    m = Mechanism("m")
    com, inertia = np.zeros(3), np.eye(3)
    m.body("a", mass=1.0, com=com, inertia=inertia)
    com[:], inertia[:] = 7, 7
    assert m.describe().body("a").properties == MassProperties(1.0, (0, 0, 0), np.eye(3))


def test_a_refused_call_leaves_the_mechanism_as_it_was():
    m, a, b = pair()
    before = m.describe()
    for call in (
        lambda: m.body("c", mass=-1),
        lambda: m.frame("f", on="nobody"),
        lambda: m.revolute("J", a, b, axis=(0, 0, 0)),
        lambda: m.screw("J", a, b, lead=0.0),
        lambda: m.parameter("p", math.nan),
        lambda: setattr(m, "gravity", None),
    ):
        with pytest.raises(ModelError):
            call()
    assert m.describe() == before
    m.body("c", mass=1)
    m.revolute("J", a, b)


def test_handles():
    m, a, b = pair()
    joint = m.revolute("J", a, b)
    assert (str(a), a.name, str(joint), m.ground.name) == ("a", "a", "J", "ground")
    assert "mechanism" not in repr(a)
    assert repr(m) == '<Mechanism "pair": 2 bodies, 1 joint, 0 closures, 0 frames>'
    with pytest.raises(AttributeError):
        a.name = "c"


def refused(words, call):
    with pytest.raises(ModelError) as caught:
        call()
    for word in words:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)


OTHER = Mechanism("other")
FOREIGN = OTHER.body("theirs")
STRAY = ca.SX.sym("stray")
THEIRS = OTHER.parameter("theirs", 1.0)


@pytest.mark.parametrize(
    ("words", "call"),
    [
        (['"a"', "taken"], lambda m, a, b: m.body("a")),
        (['"a"', "taken"], lambda m, a, b: m.frame("a", on=b)),
        (['"ground"', "belongs"], lambda m, a, b: m.body("ground")),
        (["''", "blank"], lambda m, a, b: m.body("")),
        (["blank"], lambda m, a, b: m.body("  ")),
        (["printable"], lambda m, a, b: m.body("two\nlines")),
        (["3", "text"], lambda m, a, b: m.body(3)),
        (['body "c"', "mass", "negative"], lambda m, a, b: m.body("c", mass=-1)),
        (['body "c"', "com", "without mass"], lambda m, a, b: m.body("c", com=(0, 0, 0))),
        (['body "c"', "either properties or mass"], lambda m, a, b: m.body("c", sphere(1, 1), mass=1)),
        (['body "c"', "MassProperties"], lambda m, a, b: m.body("c", 1.0)),
        (['body "c"', "triangle"], lambda m, a, b: m.body("c", mass=1, inertia=np.diag([1, 1, 3]))),
        (['body "c"', '"stray"', ".parameter"], lambda m, a, b: m.body("c", mass=STRAY)),
        (['body "c"', '"theirs"', "this mechanism"], lambda m, a, b: m.body("c", mass=THEIRS)),
        (['joint "J"', "zero"], lambda m, a, b: m.revolute("J", a, b, axis=(0, 0, 0))),
        (['joint "J"', "two different"], lambda m, a, b: m.revolute("J", a, a)),
        (['joint "J"', "two different"], lambda m, a, b: m.revolute("J", m.ground, "ground")),
        (['joint "J"', "nobody", '"a"'], lambda m, a, b: m.revolute("J", a, "nobody")),
        (['joint "J"', "another mechanism", '"other"'], lambda m, a, b: m.revolute("J", a, FOREIGN)),
        (['joint "J"', "another mechanism"], lambda m, a, b: m.revolute("J", OTHER.ground, a)),
        (['joint "J"', "None"], lambda m, a, b: m.revolute("J", a, None)),
        (['joint "J"', "is a frame"], lambda m, a, b: m.revolute("J", a, m.frame("f", on=b))),
        (['joint "J"', "is a joint"], lambda m, a, b: m.revolute("J", a, m.revolute("K", a, b))),
        (['joint "J"', "pose or at"], lambda m, a, b: m.revolute("J", a, b, at=(0, 0, 0), pose=np.eye(4))),
        (['joint "J"', "pose or axis"], lambda m, a, b: m.revolute("J", a, b, axis="z", pose=np.eye(4))),
        (
            ['joint "J"', "pose_child or axis_child"],
            lambda m, a, b: m.revolute("J", a, b, axis_child="z", pose_child=np.eye(4)),
        ),
        (['joint "J"', "4 x 4"], lambda m, a, b: m.revolute("J", a, b, pose=np.eye(3))),
        (
            ['joint "J"', "pose", "orthonormal"],
            lambda m, a, b: m.revolute("J", a, b, pose=np.diag([2, 1, 1, 1])),
        ),
        (['joint "J"', "at_child"], lambda m, a, b: m.revolute("J", a, b, at_child=(0, 0))),
        (
            ['joint "J"', "axis_child", "parameter"],
            lambda m, a, b: m.revolute("J", a, b, axis_child=(0, 0, STRAY)),
        ),
        (['joint "J"', '"stray"'], lambda m, a, b: m.revolute("J", a, b, at=(0, 0, STRAY))),
        (
            ['joint "J"', '"stray"'],
            lambda m, a, b: m.revolute("J", a, b, pose_child=Placement(point=(STRAY, 0, 0))),
        ),
        (['joint "J"', "True or False"], lambda m, a, b: m.revolute("J", a, b, prescribed=1)),
        (['joint "J"', "does not move"], lambda m, a, b: m.fixed("J", a, b, prescribed=True)),
        (['joint "J"', "lead", "revolute"], lambda m, a, b: m.screw("J", a, b, lead=0)),
        (['joint "J"', "lead", "finite"], lambda m, a, b: m.screw("J", a, b, lead=math.nan)),
        (['joint "J"', "perpendicular", "45"], lambda m, a, b: m.universal("J", a, b, axis_child=(1, 1, 0))),
        (['joint "J"', "needs pose"], lambda m, a, b: m.universal("J", a, b, pose_child=np.eye(4))),
        (['joint "J"', "axis_child"], lambda m, a, b: m.universal("J", a, b, pose=np.eye(4), axis_child="z")),
        (['frame "f"', '"nobody"'], lambda m, a, b: m.frame("f", on="nobody")),
        (['frame "f"', "rotation", "right-handed"], lambda m, a, b: m.frame("f", on=a, rotation=-np.eye(3))),
        (['frame "f"', "at must be 3"], lambda m, a, b: m.frame("f", on=a, at=1.0)),
        (['parameter "p"', "number"], lambda m, a, b: m.parameter("p", "2")),
        (['parameter "p"', "plain"], lambda m, a, b: m.parameter("p", STRAY)),
        (['mechanism "pair"', "gravity"], lambda m, a, b: setattr(m, "gravity", 9.81)),
        (['mechanism "bad"', "gravity", '"stray"'], lambda m, a, b: Mechanism("bad", gravity=(0, 0, STRAY))),
        (["None", "text"], lambda m, a, b: Mechanism(None)),
    ],
)
def test_what_is_wrong_is_said_with_its_name_and_a_remedy(words, call):
    m, a, b = pair()
    refused(words, lambda: call(m, a, b))


def test_names_may_not_repeat_within_joints_and_within_parameters():
    m, a, b = pair()
    m.revolute("a", a, b)  # a joint may be called like a body
    m.parameter("a", 1.0)
    refused(['joint "a"', "taken", "joints"], lambda: m.fixed("a", a, b))
    refused(['parameter "a"', "taken", "parameters"], lambda: m.parameter("a", 2.0))


def test_expressions_are_checked_at_the_parameters_values():
    m = Mechanism("m")
    p = m.parameter("p", -2.0)
    refused(['body "c"', "parameters' values", "negative"], lambda: m.body("c", mass=p))
    refused(['body "c"', "not finite"], lambda: m.body("c", mass=ca.sqrt(p)))
    refused(['body "c"', "triangle"], lambda: m.body("c", mass=1, inertia=ca.diag(ca.vertcat(-p, -p, -3 * p))))
    refused(['body "c"', "symmetric"], lambda: m.body("c", mass=1, inertia=[[9, p, 0], [1, 9, 0], [0, 0, 9]]))
    refused(['joint "J"', "lead must not be zero"], lambda: m.screw("J", "ground", m.body("a"), lead=p + 2))
    refused(['joint "K"', "finite"], lambda: m.free("K", "ground", "a", at=(1 / (p + 2), 0, 0)))
    m.body("c", mass=-p, inertia=[[9, p, 0], [2 * p / 2, 9, 0], [0, 0, 9]])


def test_a_misspelt_name_is_recognised():
    m = Mechanism("m")
    m.body("coupler")
    refused(['did you mean "coupler"'], lambda: m.frame("f", on="copuler"))
    refused(['did you mean "coupler"'], lambda: m.describe().body("couplr"))
    refused(["none yet"], lambda: m.describe().joint("A"))
    refused(["no frame 3"], lambda: m.describe().frame(3))
