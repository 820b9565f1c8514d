"""OpenSim models of both versions, against plain NumPy and closed forms."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from support.opensim_by_numpy import NumpyLeg

MODELS = Path(__file__).parent / "models"
Q = {
    "pelvis_tilt": 0.1,
    "pelvis_tx": 0.3,
    "pelvis_ty": 0.95,
    "hip_flexion": 0.4,
    "hip_adduction": -0.1,
    "hip_rotation": 0.2,
    "knee_angle": -0.72,
    "ankle_angle": 0.15,
}
V = dict(zip(Q, (0.5, -1.0, 0.3, 2.0, -1.5, 0.7, -3.0, 1.1), strict=True))


@pytest.fixture(scope="module")
def leg() -> wt.System:
    model = wt.read(MODELS / "leg_4.osim")
    return model.mechanism.build(guess={**model.start["guess"], **Q}, hold=[*Q], dependent=model.start["dependent"])


def state(s: wt.System) -> tuple[np.ndarray, np.ndarray]:
    return s.q0, s.consistent_velocities(s.q0, V, hold=[*V])


def test_poses_and_velocities_of_custom_joints(leg: wt.System) -> None:
    by_numpy = NumpyLeg(MODELS / "leg_4.osim")
    q, v = state(leg)
    assert leg.mobility.mobility == len(Q)
    poses, moving = by_numpy.poses(Q), by_numpy.moving(Q, V, {})
    for name, body in by_numpy.bodies.items():
        np.testing.assert_allclose(leg.pose(q, name), poses[name], atol=1e-13)
        w, _, u, _, _ = moving[name]
        found = leg.velocity(q, v, name)
        com = poses[name][:3, :3] @ [float(x) for x in body.findtext("mass_center", "").split()]
        np.testing.assert_allclose(found[:3], w, atol=1e-9)
        np.testing.assert_allclose(found[3:] + np.cross(found[:3], com), u, atol=1e-9)
    heel = poses["foot"] @ [-0.05, 0.01, 0.0, 1.0]
    np.testing.assert_allclose(leg.pose(q, "heel")[:3, 3], heel[:3], atol=1e-13)


def test_motion_of_custom_joints_by_virtual_work(leg: wt.System) -> None:
    """Along the accelerations that the package finds, weight and inertia balance the ankle's spring alone."""
    q, v = state(leg)
    a = leg.forward_dynamics(q, v)
    found = {name: float(a[leg.v_slice(name)][0]) for name in Q}
    needed = NumpyLeg(MODELS / "leg_4.osim").efforts(Q, V, found)
    spring = -15.0 * (Q["ankle_angle"] - 0.1) - 0.5 * V["ankle_angle"]
    assert needed.pop("ankle_angle") == pytest.approx(spring, abs=1e-6)
    assert max(map(abs, needed.values())) < 1e-6  # forces of 200 N, differences of second order


def test_both_versions_are_the_same_mechanism() -> None:
    one, other = (wt.read(MODELS / name).mechanism.describe() for name in ("leg_3.osim", "leg_4.osim"))
    assert (one.joints, one.closures, one.forces, one.gravity) == (
        other.joints,
        other.closures,
        other.forces,
        other.gravity,
    )
    assert [(body.name, body.properties) for body in one.bodies] == [(b.name, b.properties) for b in other.bodies]


@pytest.mark.deep
def test_a_leg_keeps_its_energy_and_its_laws() -> None:
    model = wt.read(MODELS / "leg_4.osim")
    run = model.simulate(duration=0.05, tolerance=1e-9)
    assert run.certificate.ok
    by_numpy = NumpyLeg(MODELS / "leg_4.osim")
    last = {name: float(run[name][-1]) for name in Q}
    np.testing.assert_allclose(run.position("toes")[-1], by_numpy.poses(last)["toes"][:3, 3], atol=1e-9)


def test_the_report_of_a_leg() -> None:
    model = wt.read(MODELS / "leg_4.osim")
    text = str(model.report)
    for part in (
        'coordinate "toe_angle" is locked',
        'coordinate "knee_angle_beta" starts at -0.63',
        "not understood: Thelen2003Muscle, which is left out (2 times, first in line 234)",
        "not understood: WrapCylinder",
        "ranges of joints",
    ):
        assert part in text
    assert model.ranges["knee_angle"] == wt.model.io.model_file.JointRange(-2.1, 0.2)
    box, mesh = model.shapes["pelvis"]
    assert (box.kind, box.size, mesh.file, mesh.size) == ("box", (0.2, 0.16, 0.24), "pelvis.vtp", (1.0, 1.0, 2.0))
    assert model.start["velocities"] == {"pelvis_tx": 0.4}


def test_a_leg_written_as_yaml_is_the_same(tmp_path: Path) -> None:
    model = wt.read(MODELS / "leg_3.osim")
    wt.write(model, tmp_path / "leg.yaml")
    again = wt.read(tmp_path / "leg.yaml")
    assert again.mechanism.describe() == model.mechanism.describe()
    assert again.start == model.start


# ---------------------------------------------------------------------- joints and constraints one by one


def document(bodies: str, joints: str, more: str = "") -> str:
    return f"""<OpenSimDocument Version="40500"><Model name="m"><gravity>0 0 0</gravity>
<BodySet><objects>{bodies}</objects></BodySet>
<JointSet><objects>{joints}</objects></JointSet>{more}</Model></OpenSimDocument>"""


def body(name: str) -> str:
    return f'<Body name="{name}"><mass>2</mass><inertia>0.1 0.2 0.25 0 0 0</inertia></Body>\n'


def joint(kind: str, name: str, parent: str, child: str, values: dict[str, float], more: str = "") -> str:
    coordinates = "".join(
        f'<Coordinate name="{key}"><default_value>{value!r}</default_value></Coordinate>'
        for key, value in values.items()
    )
    return f"""<{kind} name="{name}"><socket_parent_frame>{parent}</socket_parent_frame>
<socket_child_frame>{child}</socket_child_frame><coordinates>{coordinates}</coordinates>{more}</{kind}>"""


def turned(axes: str, *angles: float) -> np.ndarray:
    R = np.eye(3)
    for axis, angle in zip(axes, angles, strict=True):
        k = "xyz".index(axis)
        i, j = (k + 1) % 3, (k + 2) % 3
        turn = np.eye(3)
        turn[i, i] = turn[j, j] = math.cos(angle)
        turn[j, i], turn[i, j] = math.sin(angle), -math.sin(angle)
        R = R @ turn
    return R


COUPLER = "<ConstraintSet><objects><CoordinateCouplerConstraint name='c'>{}</CoordinateCouplerConstraint></objects>"
NORMAL = turned("xyz", 0.3, -0.4, 0.5)[:, 2]


@pytest.mark.parametrize(
    ("kind", "values", "R", "p", "more"),
    [
        ("WeldJoint", (), np.eye(3), (0, 0, 0), ""),
        ("PinJoint", (0.3,), turned("z", 0.3), (0, 0, 0), ""),
        ("SliderJoint", (0.3,), np.eye(3), (0.3, 0, 0), ""),
        ("UniversalJoint", (0.3, -0.4), turned("xy", 0.3, -0.4), (0, 0, 0), ""),
        ("GimbalJoint", (0.3, -0.4, 0.5), turned("xyz", 0.3, -0.4, 0.5), (0, 0, 0), ""),
        ("BallJoint", (0.3, -0.4, 0.5), turned("xyz", 0.3, -0.4, 0.5), (0, 0, 0), ""),
        ("PlanarJoint", (0.3, 1.0, 2.0), turned("z", 0.3), (1, 2, 0), ""),
        ("FreeJoint", (0.3, -0.4, 0.5, 1.0, 2.0, 3.0), turned("xyz", 0.3, -0.4, 0.5), (1, 2, 3), ""),
        (
            "EllipsoidJoint",
            (0.3, -0.4, 0.5),
            turned("xyz", 0.3, -0.4, 0.5),
            NORMAL * (0.1, 0.2, 0.3),
            "<radii_x_y_z>0.1 0.2 0.3</radii_x_y_z>",
        ),
    ],
)
def test_kinds_of_joints(kind: str, values: tuple[float, ...], R: np.ndarray, p: tuple[float, ...], more: str) -> None:
    given = {f"q{k}": value for k, value in enumerate(values)}
    s = wt.read(document(body("a"), joint(kind, "j", "/ground", "/bodyset/a", given, more))).build()
    assert s.mobility.mobility == len(values)
    np.testing.assert_allclose(s.pose(s.q0, "a")[:3, :3], R, atol=1e-14)
    np.testing.assert_allclose(s.pose(s.q0, "a")[:3, 3], p, atol=1e-14)


def test_speeds_of_balls_and_free_joints_are_in_the_parents_axes() -> None:
    free = joint("FreeJoint", "j", "/ground", "/bodyset/a", {f"q{k}": 0.1 * k + 0.3 for k in range(6)})
    for k in range(6):
        free = free.replace(f'name="q{k}">', f'name="q{k}"><default_speed_value>{k + 1}</default_speed_value>')
    model = wt.read(document(body("a"), free))
    s = model.build()
    q, v = model.initial(s)
    np.testing.assert_allclose(s.velocity(q, v, "a"), [1, 2, 3, 4, 5, 6], atol=1e-13)


def test_coordinates_of_a_ball_that_something_names_are_angles() -> None:
    more = """<ForceSet><objects><SpringGeneralizedForce name="s"><coordinate>q1</coordinate><stiffness>2</stiffness>
</SpringGeneralizedForce></objects></ForceSet>"""
    ball = joint("BallJoint", "j", "/ground", "/bodyset/a", {"q0": 0.0, "q1": 0.5, "q2": 0.0})
    s = wt.read(document(body("a"), ball, more)).build()
    a = s.forward_dynamics(s.q0, s.v0)
    assert a[s.v_slice("q1")] == pytest.approx([-2 * 0.5 / 0.2], rel=1e-12)


def test_a_joint_that_another_joints_coordinate_moves() -> None:
    """The coordinate of the first joint, which moves nothing there, is the displacement of the second."""
    custom = (
        "<SpatialTransform><TransformAxis name='translation1'>{}<axis>1 0 0</axis></TransformAxis></SpatialTransform>"
    )
    first = joint("CustomJoint", "j", "/ground", "/bodyset/a", {"p": 0.4}, custom.format(""))
    second = joint("CustomJoint", "k", "/bodyset/a", "/bodyset/b", {}, custom.format("<coordinates>p</coordinates>"))
    s = wt.read(document(body("a") + body("b"), first + second)).build()
    assert s.mobility.mobility == 1
    np.testing.assert_allclose(s.pose(s.q0, "b")[:3, 3], [0.4, 0, 0], atol=1e-14)
    alone = wt.read(document(body("a"), first))
    assert any('coordinate "p", which moves nothing' in text for text in alone.report.about("not understood"))
    assert alone.build().nv == 0


def test_a_driven_and_a_reversed_joint() -> None:
    driven = joint("PinJoint", "j", "/ground", "/bodyset/a", {"q": 0.0})
    law = "<prescribed>true</prescribed><prescribed_function><Sine><amplitude>0.5</amplitude><omega>3</omega>"
    driven = driven.replace("</Coordinate>", f"{law}<offset>0.1</offset></Sine></prescribed_function></Coordinate>")
    s = wt.read(document(body("a"), driven)).build()
    assert s.mobility.mobility == 0
    assert s.q0 == pytest.approx([0.1], abs=1e-12)
    assert s.consistent_velocities(s.q0, {}, t=0.0) == pytest.approx([1.5], rel=1e-12)
    back = joint("SliderJoint", "j", "/ground", "/bodyset/a", {"q": 0.4}, "<reverse>true</reverse>")
    s = wt.read(document(body("a"), back)).build()
    assert s.pose(s.q0, "a")[0, 3] == pytest.approx(-0.4, abs=1e-14)


TWO = joint("FreeJoint", "f", "/ground", "/bodyset/a", {f"p{k}": 0.0 for k in range(6)}) + joint(
    "FreeJoint", "g", "/ground", "/bodyset/b", dict(zip((f"q{k}" for k in range(6)), (0, 0, 0, 1, 0, 0), strict=True))
)


@pytest.mark.parametrize(
    ("text", "freedoms"),
    [
        ("<PointConstraint name='c'>{sides}<location_body_1>1 0 0</location_body_1></PointConstraint>", 9),
        ("<WeldConstraint name='c'>{frames}<frames><PhysicalOffsetFrame name='o'><socket_parent>/bodyset/a"
         "</socket_parent><translation>1 0 0</translation></PhysicalOffsetFrame></frames></WeldConstraint>", 6),
        ("<ConstantDistanceConstraint name='c'>{sides}<constant_distance>1</constant_distance>"
         "</ConstantDistanceConstraint>", 11),
        ("<PointOnLineConstraint name='c'><socket_line_body>a</socket_line_body><line_direction_vec>2 0 0"
         "</line_direction_vec><point_on_line>0 0 0</point_on_line><socket_follower_body>b</socket_follower_body>"
         "<point_on_follower>0 0 0</point_on_follower></PointOnLineConstraint>", 10),
        ("<PointConstraint name='c'><isEnforced>false</isEnforced></PointConstraint>", 12),
        ("<RollingOnSurfaceConstraint name='c'/>", 12),
    ],
)  # fmt: skip
def test_constraints(text: str, freedoms: int) -> None:
    sides = "<socket_body_1>/bodyset/a</socket_body_1><socket_body_2>/bodyset/b</socket_body_2>"
    frames = "<socket_frame1>o</socket_frame1><socket_frame2>/bodyset/b</socket_frame2>"
    inner = text.format(sides=sides, frames=frames)
    model = wt.read(document(body("a") + body("b"), TWO, f"<ConstraintSet><objects>{inner}</objects></ConstraintSet>"))
    s = model.build()
    assert s.mobility.mobility == freedoms
    np.testing.assert_allclose(s.pose(s.q0, "b")[:3, 3], [1, 0, 0], atol=1e-12)
    if freedoms == 12:
        assert '"c"' in str(model.report)


def test_stops_of_a_coordinate() -> None:
    """Limits at -20 and 30 degrees, with a transition of 4 degrees."""
    more = """<ForceSet><objects><CoordinateLimitForce name="s"><coordinate>q</coordinate>
<upper_stiffness>3</upper_stiffness><upper_limit>30</upper_limit><lower_stiffness>2</lower_stiffness><lower_limit>-20</lower_limit><damping>0.5</damping>
<transition>4</transition></CoordinateLimitForce></objects></ForceSet>"""
    s = wt.read(document(body("a"), PIN, more)).build()
    speed = 1.3
    for q in (-0.6, -0.35, 0.1, 0.53, 0.9):
        up, low = math.degrees(q) - 30.0, -20.0 - math.degrees(q)
        rise = [float(np.polyval([6, -15, 10, 0, 0, 0], np.clip(d / 4.0, 0, 1))) for d in (up, low)]
        effort = -rise[0] * 3 * up + rise[1] * 2 * low - 0.5 * sum(rise) * math.degrees(speed)
        assert s.forward_dynamics([q], [speed]) == pytest.approx([effort / 0.25], rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    ("locked", "freedoms", "start"),
    [([], 1, {"p": 0.3, "q": 0.68}), (["q"], 0, {"p": -0.2}), (["p"], 0, {"q": 0.68}), (["p", "q"], 0, {})],
)
def test_a_coupler_of_locked_coordinates(locked: list[str], freedoms: int, start: dict[str, float]) -> None:
    """q = 0.08 + 2 p, from p = 0.3 and q = -0.32, some of which are locked there."""
    coupler = COUPLER.format(
        "<coupled_coordinates_function><LinearFunction><coefficients>2 0.08</coefficients></LinearFunction>"
        "</coupled_coordinates_function><independent_coordinate_names>p</independent_coordinate_names>"
        "<dependent_coordinate_name>q</dependent_coordinate_name>"
    )
    joints = joint("PinJoint", "j", "/ground", "/bodyset/a", {"p": 0.3})
    joints += joint("PinJoint", "k", "/bodyset/a", "/bodyset/b", {"q": -0.32})
    for name in locked:
        joints = joints.replace(f'name="{name}">', f'name="{name}"><locked>true</locked>')
    model = wt.read(document(body("a") + body("b"), joints, coupler + "</ConstraintSet>"))
    s = model.build()
    assert s.mobility.mobility == freedoms
    for name, value in start.items():
        assert s.q0[s.q_slice(name)] == pytest.approx([value], abs=1e-12)
    assert ("it holds nothing" in str(model.report)) == (len(locked) == 2)


def test_springs_and_bushings() -> None:
    more = """<ForceSet><objects><PointToPointSpring name="s">
<socket_body1>a</socket_body1><socket_body2>b</socket_body2>
<point1>0 0 0</point1><point2>0 0 0</point2><stiffness>3</stiffness><rest_length>0.4</rest_length></PointToPointSpring>
<BushingForce name="u"><socket_frame1>/ground</socket_frame1><socket_frame2>/bodyset/b</socket_frame2>
<rotational_stiffness>1 1 1</rotational_stiffness><translational_stiffness>5 1 1</translational_stiffness>
</BushingForce><HuntCrossleyForce name="h"/></objects></ForceSet>"""
    model = wt.read(document(body("a") + body("b"), TWO, more))
    s = model.build()
    a = s.forward_dynamics(s.q0, s.v0)
    assert a[s.v_slice("f")][3] == pytest.approx(3 * 0.6 / 2, rel=1e-12)
    assert a[s.v_slice("g")][3] == pytest.approx((-3 * 0.6 - 5 * 1.0) / 2, rel=1e-12)
    assert "not understood: HuntCrossleyForce" in str(model.report)


PIN = joint("PinJoint", "j", "/ground", "/bodyset/a", {"q": 0.0})


def test_a_file_that_does_not_say_its_units_and_has_a_set_in_another_file() -> None:
    more = "<length_units>Unassigned</length_units><ContactForceSet file='contact.xml'/>"
    report = wt.read(document(body("a"), PIN, more)).report
    assert any("<length_units> is not said: taken as meters" in text for text in report.about("guessed"))
    assert any("<ContactForceSet>, which is in another file" in text for text in report.about("not understood"))


@pytest.mark.parametrize(("angle", "follows"), [(-2.0, -1.0), (-0.5, 0.5), (0.5, 2.0), (3.0, 7.0)])
def test_a_coupler_by_straight_pieces_that_has_the_name_of_its_coordinate(angle: float, follows: float) -> None:
    both = PIN.replace('"q"', '"p"') + joint("PinJoint", "k", "/ground", "/bodyset/b", {"q": 0.0})
    more = COUPLER.replace("'c'", "'q'").format(
        "<independent_coordinate_names>p</independent_coordinate_names>"
        "<dependent_coordinate_name>q</dependent_coordinate_name>"
        "<coupled_coordinates_function><PiecewiseLinearFunction><x>-1 0 1</x><y>0 1 3</y></PiecewiseLinearFunction>"
        "</coupled_coordinates_function>"
    )
    model = wt.read(document(body("a") + body("b"), both, f"{more}</ConstraintSet>"))
    s = model.build()
    q = s.assemble({"p": angle}, hold=["p"])
    assert q[s.q_slice("q")] == pytest.approx([follows], abs=1e-12)
    assert any('closure "q" is called "q 2"' in text for text in model.report.about("changed"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<OpenSimDocument>\n</OpenSimDocument>", "there is no <Model>"),
        ("<Model name='m'>\n<DynamicsEngine/></Model>", "a file of OpenSim 1"),
        ("<OpenSimDocument><Model>\n<BodySet file='b.xml'/></Model></OpenSimDocument>", "in another file, 'b.xml'"),
        (document(body("a"), PIN).replace("<gravity>", "<length_units>feet</length_units><gravity>"), "must be meters"),
        (document(body("a"), PIN.replace("/bodyset/a", "/bodyset/arm")), 'no body or frame "arm"'),
        (document(body("a"), PIN.replace("PinJoint", "HingeJoint")), 'no joint of the type "HingeJoint"'),
        (document(body("a") + body("a"), PIN), 'second body "a"'),
        (document(body("a"), joint("PinJoint", "j", "/ground", "/bodyset/a", {})), "PinJoint has 1 coordinates, got 0"),
        (document(body("a").replace("2</mass>", "-2</mass>"), PIN), "must not be negative"),
        (document(body("a"), PIN.replace("0.0</def", "x</def")), "finite numbers, got 'x'"),
        (
            document(body("a"), PIN, COUPLER.format("<dependent_coordinate_name>z</dependent_coordinate_name>")
                     + "</ConstraintSet>"),
            'no coordinate "z"',
        ),
        (
            document(body("a"), PIN.replace("PinJoint", "CustomJoint").replace(
                "</CustomJoint>", "<SpatialTransform><TransformAxis name='rotation1'><coordinates>q</coordinates>"
                "<axis>0 0 1</axis><StepFunction name='function'/></TransformAxis></SpatialTransform>"
                "</CustomJoint>")),
            "StepFunction is no function that is read here",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line(text: str, message: str) -> None:
    with pytest.raises(wt.FileError, match=r"^<text>:\d+: ") as caught:
        wt.read(text)
    assert message in str(caught.value)
