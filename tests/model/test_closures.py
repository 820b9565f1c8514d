"""Closures in a description: what is taken, what is refused, and that they travel."""

import copy
import math
import pickle

import casadi as ca
import numpy as np
import pytest

from support.processes import fingerprint_elsewhere
from whippletree.elements.closures import Coupling, Distance, Expression, Side
from whippletree.errors import ModelError
from whippletree.model import GROUND, ClosureHandle, Mechanism
from whippletree.spatial.placement import Placement


def mechanism(name="m", p=0.5):
    """Joints of several kinds, frames on bodies and on the ground, a parameter."""
    m = Mechanism(name, gravity=(0, 1.0, -2.0))
    m.parameter("p", p)
    for body in "abcde":
        m.body(body, mass=1.0)
    m.revolute("A", m.ground, "a")
    m.prismatic("B", "a", "b")
    m.cylindrical("C", "b", "c")
    m.spherical("ball", "c", "d")
    m.fixed("weld", "d", "e")
    m.free("flight", m.ground, m.body("f"))
    m.frame("tip", on="b", at=(1, 0, 0), rotation=[[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    m.frame("hook", on=m.ground, at=(0, 0, 2), rotation=[[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    return m


def parameter(m):
    return m.describe().parameters[0].symbol


OTHER = mechanism("other")
OTHER_JOINT = OTHER.revolute("J", "a", "c")


# ------------------------------------------------------------------ what is taken


def test_a_distance():
    m = mechanism()
    p = parameter(m)
    handle = m.distance("rod", "a", m.ground, length=2 * p, at=(1, 0, p), at_child=(0, 1, 0))
    assert isinstance(handle, ClosureHandle) and (handle.name, str(handle)) == ("rod", "rod")
    (use,) = m.describe().closures
    assert use.closure == Distance(use.closure.length)
    assert [body for body, _ in use.sides] == ["a", GROUND]
    assert use.sides[1][1] == Placement(point=(0, 1, 0)) and use.coordinates == ()
    folded = m.describe().folded().closure("rod")
    assert folded.closure == Distance(1.0)
    assert folded.sides[0][1] == Placement(point=(1, 0, 0.5))


def test_a_coupling():
    m = mechanism()
    joint = m.revolute("D", "a", "c")
    m.coupling("sum", {"A": 1, joint: parameter(m), ("C", 1): -2.5}, offset=0.25)
    use = m.describe().folded().closure("sum")
    assert use.closure == Coupling((1.0, 0.5, -2.5), 0.25)
    assert use.coordinates == (("A", 0), ("D", 0), ("C", 1)) and use.sides == ()


def test_one_joint_can_be_locked_and_two_coordinates_of_one_coupled():
    m = mechanism()
    m.coupling("lock", {"A": 1.0}, offset=0.3)
    m.coupling("thread", {("C", 0): 0.01, ("C", 1): -1.0})
    assert [use.coordinates for use in m.describe().closures] == [(("A", 0),), (("C", 0), ("C", 1))]


def test_a_gear():
    m = mechanism()
    m.gear("rack", "A", ("C", np.int64(1)), ratio=-0.05, offset=0.1)
    use = m.describe().closure("rack")
    assert use.coordinates == (("A", 0), ("C", 1))
    # q_C = ratio q_A + offset
    rows = use.closure.rows((), ca.SX([2.0, -0.05 * 2.0 + 0.1]), ca.SX([1.0, -0.05]), ca.SX(0))
    assert float(rows.phi) == pytest.approx(0.0)
    assert ca.DM(rows.K).full().tolist() == [[0.05, 1.0]]


def test_an_expression():
    m = mechanism()
    p, q = parameter(m), m.coordinate("C", 1)
    height = m.position("tip")[2] - m.position(m.ground)[2]
    m.closure("cam", height - p * ca.sin(q) - 0.1 * m.time)
    use = m.describe().closure("cam")
    assert isinstance(use.closure, Expression)
    assert use.closure.holonomic and use.closure.timed and use.closure.absolute
    assert use.coordinates == (("C", 1),)
    ((body, placement),) = use.sides
    assert body == "b" and placement == m.describe().frame("tip").placement
    assert m.describe().timed and not mechanism().describe().timed


def test_a_mechanism_is_timed_if_a_closure_is():
    m = mechanism()
    m.coupling("lock", {"A": 1.0})
    m.closure("cam", m.coordinate("B") - ca.sin(m.coordinate("A")))
    assert not m.describe().timed
    m.closure("drive", m.coordinate(joint="C") - m.time)
    assert m.describe().timed


def test_sides_and_coordinates_come_in_declared_order():
    m = mechanism()
    m.closure("one", m.position("tip")[0] + m.position("a")[1] + m.coordinate("C", 1) * m.coordinate("A"))
    other = mechanism()
    text = (other.coordinate("C", 1) * other.coordinate("A"), other.position("a")[1], other.position("tip")[0])
    other.closure("one", text[2] + text[1] + text[0])
    for use in (m.describe().closure("one"), other.describe().closure("one")):
        assert [body for body, _ in use.sides] == ["a", "b"]
        assert use.coordinates == (("A", 0), ("C", 1))
    assert m.describe().fingerprint() == other.describe().fingerprint()


def test_velocities_make_a_velocity_only_closure():
    m = mechanism()
    contact = m.velocity("f")[3:5] + ca.cross(m.velocity("f")[:3], ca.SX([0, 0, -0.3]))[:2]
    m.closure("rolling", contact)
    m.closure("drive", m.rate("A") - 2.0 * m.coordinate("A"))
    rolling, drive = m.describe().closures
    assert not rolling.closure.holonomic and rolling.closure.n_rows == 2
    assert not drive.closure.holonomic and not drive.closure.absolute and drive.coordinates == (("A", 0),)


def test_places_on_the_ground_are_numbers():
    m = mechanism()
    assert ca.DM(m.position("hook")).full().ravel().tolist() == [0, 0, 2]
    assert ca.DM(m.rotation("hook")).full().tolist() == [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    assert ca.DM(m.rotation(m.ground)).full().tolist() == np.eye(3).tolist()
    assert not np.any(ca.DM(m.velocity("hook")).full()) and m.velocity("ground").shape == (6, 1)
    m.closure("hang", ca.sumsqr(m.position("tip") - m.position("hook")) - 1)
    assert [body for body, _ in m.describe().closure("hang").sides] == ["b"]


def test_places_on_the_ground_may_hold_parameters():
    m = mechanism()
    m.frame("rail", on="ground", at=(parameter(m), 0, 0))
    m.closure("hang", m.position("tip")[0] - m.position("rail")[0])
    use = m.describe().folded().closure("hang")
    assert use.closure.arguments == (0.5,)


def test_symbols_are_the_same_every_time_and_cannot_be_spoiled():
    m = mechanism()
    first = m.position("tip")
    first[0] = 7.0
    assert ca.is_equal(m.position("tip")[1], first[1]) and m.position("tip")[0].is_symbolic()
    assert ca.is_equal(m.coordinate("A"), m.coordinate("A")) and ca.is_equal(m.time, m.time)
    assert m.rotation("tip").shape == (3, 3) and m.velocity("tip").shape == (6, 1)
    # each of them is another
    symbols = [
        *(m.position(place) for place in ("a", "tip")),
        *(ca.vec(m.rotation(place)) for place in ("a", "tip")),
        *(m.velocity(place) for place in ("a", "tip")),
        *(m.coordinate("C", k) for k in (0, 1)),
        *(m.rate("C", k) for k in (0, 1)),
        m.time,
    ]
    assert len({hash(symbol) for symbol in ca.symvar(ca.vertcat(*symbols))}) == 2 * (3 + 9 + 6 + 1 + 1) + 1


def test_an_expression_means_what_its_symbols_say():
    m = mechanism()
    w, u = m.velocity("tip")[:3], m.velocity("tip")[3:]
    R, p = m.rotation("tip"), m.position("tip")
    m.closure("mix", ca.dot(R[:, 1], u) + w[2] * p[0] * m.coordinate("A") - 3 * m.rate("C", 1) + m.time)
    use = m.describe().closure("mix")
    rng = np.random.default_rng(0)
    values = [rng.normal(size=shape) for shape in [(9, 1), (3, 1), (3, 1), (3, 1), (2, 1), (2, 1), (1, 1)]]
    Rn, pn, wn, un, qn, vn, tn = values
    result = float(use.closure.function(*values, []))
    expected = Rn[3:6, 0] @ un[:, 0] + wn[2, 0] * pn[0, 0] * qn[0, 0] - 3 * vn[1, 0] + tn[0, 0]
    assert result == pytest.approx(expected)


# ------------------------------------------------------------------ what is refused


def q(m):
    return m.coordinate("A")


REFUSED = [
    (["both", '"a"', "a distance needs two different bodies"], lambda m: m.distance("X", "a", "a", length=1.0)),
    (["both", '"ground"'], lambda m: m.distance("X", m.ground, "ground", length=1.0)),
    (["length must be positive", "spherical"], lambda m: m.distance("X", "a", "b", length=0.0)),
    (["length must be positive"], lambda m: m.distance("X", "a", "b", length=-1.0)),
    (["length must be positive"], lambda m: m.distance("X", "a", "b", length=parameter(m) - 0.5)),
    (["length must be finite"], lambda m: m.distance("X", "a", "b", length=math.nan)),
    (["length must be finite"], lambda m: m.distance("X", "a", "b", length=math.inf)),
    (["length is not finite"], lambda m: m.distance("X", "a", "b", length=1 / (parameter(m) - 0.5))),
    (["length depends on", "not a parameter"], lambda m: m.distance("X", "a", "b", length=parameter(OTHER))),
    (
        ["the point on the child", "not a parameter"],
        lambda m: m.distance("X", "a", "b", length=1, at_child=(q(m), 0, 0)),
    ),
    (["no body", "did you mean"], lambda m: m.distance("X", "a", "groud", length=1)),
    (["is a frame: give a body"], lambda m: m.distance("X", "a", "tip", length=1)),
    (["is a closure: give a body"], lambda m: m.distance("X", "a", m.coupling("K", {"A": 1}), length=1)),
    (["another mechanism", '"other"'], lambda m: m.distance("X", "a", OTHER.ground, length=1)),
    (["ratios must say"], lambda m: m.coupling("X", {})),
    (["ratios must say"], lambda m: m.coupling("X", [("A", 1.0)])),
    (["ratios must say"], lambda m: m.coupling("X", None)),
    (["all ratios are zero"], lambda m: m.coupling("X", {"A": 0.0, "B": 0})),
    (["all ratios are zero"], lambda m: m.coupling("X", {"A": parameter(m) - 0.5})),
    (['ratio of "B" must be finite'], lambda m: m.coupling("X", {"A": 1.0, "B": math.nan})),
    (['ratio of "B" must be a number'], lambda m: m.coupling("X", {"A": 1.0, "B": "2"})),
    (["offset must be finite"], lambda m: m.coupling("X", {"A": 1.0}, offset=math.inf)),
    (["offset", "not a parameter"], lambda m: m.coupling("X", {"A": 1.0}, offset=q(m))),
    (["a ratio depends on", "not a parameter"], lambda m: m.coupling("X", {"A": parameter(OTHER)})),
    (['"A" is given twice'], lambda m: m.coupling("X", {"A": 1.0, ("A", 0): 2.0})),
    (['"C" is given twice, at index 0'], lambda m: m.coupling("X", {"C": 1.0, ("C", 0): 2.0})),
    (["no joint", "did you mean", '"weld"'], lambda m: m.coupling("X", {"wled": 1.0})),
    (["no joint"], lambda m: m.coupling("X", {None: 1.0})),
    (["no joint"], lambda m: m.coupling("X", {("A", 0, 1): 1.0})),
    (["is a body: give a joint"], lambda m: m.coupling("X", {m.body("new"): 1.0})),
    (["joint of another mechanism", '"other"'], lambda m: m.coupling("X", {OTHER_JOINT: 1.0})),
    (['"A" has no coordinate 1', "0 (angle)"], lambda m: m.coupling("X", {("A", 1): 1.0})),
    (['"C" has no coordinate -1', "1 (displacement)"], lambda m: m.coupling("X", {("C", -1): 1.0})),
    (["index", "whole number"], lambda m: m.coupling("X", {("C", True): 1.0})),
    (["index", "whole number"], lambda m: m.coupling("X", {("C", 0.0): 1.0})),
    (["spherical", "quaternion", ".rotation"], lambda m: m.coupling("X", {"ball": 1.0})),
    (["free", "quaternion"], lambda m: m.coupling("X", {("flight", 5): 1.0})),
    (["fixed", "no coordinates"], lambda m: m.coupling("X", {"weld": 1.0})),
    (["ratio must not be zero"], lambda m: m.gear("X", "A", "B", ratio=0.0)),
    (["ratio must not be zero"], lambda m: m.gear("X", "A", "B", ratio=2 * parameter(m) - 1)),
    (["ratio must be finite"], lambda m: m.gear("X", "A", "B", ratio=math.nan)),
    (["ratio must be finite"], lambda m: m.gear("X", "A", "B", ratio=-math.inf)),
    (["ratio is not finite"], lambda m: m.gear("X", "A", "B", ratio=ca.log(parameter(m) - 0.5))),
    (["given twice"], lambda m: m.gear("X", "A", "A", ratio=2.0)),
    (["quaternion"], lambda m: m.gear("X", "A", "ball", ratio=2.0)),
    (["offset must be a number"], lambda m: m.gear("X", "A", "B", ratio=2.0, offset=None)),
    (["SX expression", "got 1.0"], lambda m: m.closure("X", 1.0)),
    (["SX expression"], lambda m: m.closure("X", None)),
    (["SX expression"], lambda m: m.closure("X", [q(m)])),
    (["SX expression"], lambda m: m.closure("X", ca.DM(1))),
    (["type MX"], lambda m: m.closure("X", ca.MX.sym("x"))),
    (["shape is (1, 2)", "vec"], lambda m: m.closure("X", ca.horzcat(q(m), q(m)))),
    (["shape is (0, 1)"], lambda m: m.closure("X", ca.SX(0, 1))),
    (["shape is (3, 3)"], lambda m: m.closure("X", m.rotation("a"))),
    (['depends on "stray"', ".coordinate"], lambda m: m.closure("X", q(m) - ca.SX.sym("stray"))),
    (['depends on "u", "v", "w", "x", ...'], lambda m: m.closure("X", ca.sum1(ca.vertcat(*map(ca.SX.sym, "uvwxyz"))))),
    (['depends on "A"'], lambda m: m.closure("X", OTHER.coordinate("A"))),
    (['depends on "t"'], lambda m: m.closure("X", q(m) - OTHER.time)),
    (['depends on "p"'], lambda m: m.closure("X", q(m) - parameter(OTHER))),
    (["not finite", "nan"], lambda m: m.closure("X", q(m) + math.nan)),
    (["not finite", "inf"], lambda m: m.closure("X", ca.atan(q(m) * math.inf))),
    (["the expression depends on no coordinate"], lambda m: m.closure("X", ca.SX(0.0))),
    (["the expression depends on no coordinate"], lambda m: m.closure("X", m.time - parameter(m))),
    (["the expression depends on no coordinate"], lambda m: m.closure("X", m.position("hook")[2] - 2)),
    (["expression[1] depends on no coordinate"], lambda m: m.closure("X", ca.vertcat(q(m), m.time))),
    (["expression[1] depends on no coordinate"], lambda m: m.closure("X", ca.vertcat(q(m), ca.SX(1, 1)))),
    (["expression[0] has no rate"], lambda m: m.closure("X", ca.vertcat(q(m), m.rate("A")))),
    (["not affine"], lambda m: m.closure("X", m.rate("A") ** 2)),
    (["not affine"], lambda m: m.closure("X", m.rate("A") * m.rate("B"))),
    (["not affine"], lambda m: m.closure("X", m.rate("A") * m.velocity("tip")[4] + m.rate("A"))),
    (["not affine"], lambda m: m.closure("X", ca.sin(m.velocity("a")[0]))),
    (["not affine"], lambda m: m.closure("X", ca.fabs(m.rate("A")))),
    (["not affine"], lambda m: m.closure("X", m.rate("A") + ca.sign(m.rate("B")))),
    (["not affine"], lambda m: m.closure("X", m.rate("A") + ca.floor(m.rate("A")))),
    (["not affine"], lambda m: m.closure("X", ca.if_else(m.rate("A") > 0, m.rate("A"), 0))),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case[0][0][:40])
def test_refused_with_the_reason_and_the_name(case):
    words, call = case
    m = mechanism()
    with pytest.raises(ModelError) as raised:
        call(m)
    for word in ['closure "X"', *words]:
        assert word in str(raised.value)
    assert all(use.name != "X" for use in m.describe().closures)
    m.coupling("X", {"A": 1.0})  # the name is still free


@pytest.mark.parametrize(
    ("words", "call"),
    [
        (["no joint", "did you mean"], lambda m: m.coordinate("wled")),
        (["fixed", "no coordinates"], lambda m: m.coordinate("weld")),
        (["quaternion"], lambda m: m.rate("ball", 1)),
        (["no coordinate 2"], lambda m: m.rate("C", 2)),
        (["whole number"], lambda m: m.coordinate("C", "1")),
        (["another mechanism"], lambda m: m.coordinate(OTHER_JOINT)),
        (["is a body: give a joint"], lambda m: m.coordinate(m.ground)),
        (["is a joint: give a body or a frame"], lambda m: m.position(m.revolute("J", "a", "c"))),
        (["no body or frame", "did you mean"], lambda m: m.rotation("hok")),
        (["no body or frame"], lambda m: m.velocity(3)),
        (["another mechanism"], lambda m: m.position(OTHER.ground)),
    ],
)
def test_symbols_refused_with_the_reason(words, call):
    with pytest.raises(ModelError) as raised:
        call(mechanism())
    for word in ['mechanism "m"', *words]:
        assert word in str(raised.value)


def test_joints_and_closures_share_their_names():
    m = mechanism()
    m.coupling("X", {"A": 1.0})
    for call in (
        lambda: m.distance("A", "a", "b", length=1.0),
        lambda: m.closure("X", q(m)),
        lambda: m.revolute("X", "a", "c"),
        lambda: m.gear("A", "A", "B", ratio=1.0),
    ):
        with pytest.raises(ModelError, match="is taken: joints and closures must have different names"):
            call()
    assert len(m.describe().closures) == 1 and len(m.describe().joints) == 6


def test_unknown_closures_are_named():
    m = mechanism()
    m.coupling("lock", {"A": 1.0})
    with pytest.raises(ModelError, match='no closure "look"; did you mean "lock"'):
        m.describe().closure("look")


# ------------------------------------------------------------------ travel


def closed(value=0.5, **changes):
    """A mechanism with a closure of every kind; each option changes one thing."""
    m = mechanism(p=value)
    p = parameter(m)
    m.distance(
        changes.get("name", "rod"), "a", changes.get("body", "c"), length=changes.get("length", 1.0) * p, at=(p, 0, 0)
    )
    m.coupling(
        "sum", {"A": changes.get("ratio", 1.0), ("C", changes.get("index", 0)): p}, offset=changes.get("offset", 0.1)
    )
    scale = changes.get("number", 2.0)
    text = m.position(changes.get("place", "tip"))[0] * scale - p * ca.sin(m.coordinate(changes.get("joint", "A")))
    m.closure("cam", changes.get("function", ca.exp)(text) - m.time)
    m.closure("skate", ca.dot(m.rotation("a")[:, 0], m.velocity("a")[3:]) - m.rate("B"))
    return m


CHANGES = {
    "name": "bar",
    "body": "d",
    "length": 2.0,
    "ratio": np.nextafter(1.0, 2.0),
    "index": 1,
    "offset": 0.2,
    "number": np.nextafter(2.0, 3.0),
    "place": "b",
    "joint": "B",
    "function": ca.sin,
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_changes_the_fingerprint(change):
    assert closed(**{change: CHANGES[change]}).describe().fingerprint() != closed().describe().fingerprint()


def test_the_order_of_closures_is_in_the_fingerprint():
    prints = set()
    for ratios in ((1.0, 2.0), (2.0, 1.0)):
        m = mechanism()
        for ratio in ratios:
            m.coupling(f"{ratio}", {"A": ratio})
        prints.add(m.describe().fingerprint())
    assert len(prints) == 2


def test_the_same_mechanism_has_the_same_fingerprint():
    one, two = closed().describe(), closed().describe()
    assert one == two and one.closures[0].name == two.closures[0].name
    assert closed(2.0).describe().fingerprint() == one.fingerprint() and closed(2.0).describe() != one


def test_the_fingerprint_is_the_same_in_another_process(tmp_path):
    assert fingerprint_elsewhere(closed(), tmp_path) == closed().describe().fingerprint()


@pytest.mark.parametrize("travel", [lambda d: pickle.loads(pickle.dumps(d)), copy.deepcopy, copy.copy])
def test_descriptions_and_mechanisms_travel(travel):
    m = closed()
    described = m.describe()
    back, again = travel(described), travel(m)
    assert back == described and again.describe() == described
    assert back.folded() == described.folded()
    assert back.timed and not back.closure("skate").closure.holonomic
    symbol = back.parameters[0].symbol
    used = {hash(entry) for use in back.closures for number in use.closure.entries() for entry in symbols_of(number)}
    assert used == {hash(symbol)}


def symbols_of(number):
    return [] if isinstance(number, float) else ca.symvar(number)


def test_a_mechanism_that_came_back_goes_on():
    m = closed()
    again, ground, joint = pickle.loads(pickle.dumps((m, m.ground, m.revolute("J", "a", "e"))))
    assert again.name == "m" and again.gravity == m.gravity
    again.distance("more", ground, "e", length=2.0 * parameter(again))
    again.closure("more too", again.coordinate(joint) - again.position("tip")[0])
    assert len(again.describe().closures) == 6 and len(m.describe().closures) == 4
    with pytest.raises(ModelError, match="is taken"):
        again.parameter("p", 1.0)
    with pytest.raises(ModelError, match='depends on "A"'):
        again.closure("old symbol", m.coordinate("A"))


def test_folding_leaves_no_symbols():
    folded = closed().describe().folded()
    assert all(isinstance(number, float) for number in folded.numbers())
    assert folded.closure("rod").closure == Distance(0.5)
    for kind in ("bodies", "joints", "closures", "frames"):
        names = [[element.name for element in getattr(d, kind)] for d in (folded, closed().describe())]
        assert names[0] == names[1]
    rows = folded.closure("cam").closure.rows
    side = Side(ca.SX.eye(3), ca.SX([0.1, 0.2, 0.3]), ca.SX.zeros(3), ca.SX.zeros(3))
    given = rows((side,), ca.SX([0.3]), ca.SX([0.0]), ca.SX(0.25))
    assert float(given.phi) == pytest.approx(math.exp(2.0 * 0.1 - 0.5 * math.sin(0.3)) - 0.25)
