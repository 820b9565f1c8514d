"""Files that are rare but right are read, and what concerns looks only never refuses one; others end in words."""

from __future__ import annotations

import math
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import whippletree as wt

MODELS = Path(__file__).parent / "models"
ENORMOUS = "9" * 5000


def test_couplings_of_joints_that_hang_on_a_floating_base() -> None:
    """In free fall a torque turns the leg against trunk and rotor: momentum about y is kept, and the gear holds."""
    s = wt.read(MODELS / "rotors_on_a_float.urdf").build()
    tau = np.zeros(s.nv)
    tau[s.v_slice("hip")] = 2.0
    a = s.forward_dynamics(s.q0, s.v0, tau)
    hip, motor = (float(a[s.v_slice(name)][0]) for name in ("hip", "motor"))
    assert motor == pytest.approx(9 * hip, rel=1e-12)
    # trunk and rotor stay centred at the hip; the leg's centre is 0.2 m below it: (1 kg, 0.01), all else 5.1 kg
    reduced = 1.0 * 5.1 / 6.1
    M = np.array(
        [
            [0.3 + 1e-4 + 0.01 + reduced * 0.04, 0.01 + reduced * 0.04, 1e-4],
            [0.01 + reduced * 0.04] * 2 + [0],
            [1e-4, 0, 1e-4],
        ]
    )
    T = np.array([[1, 0], [0, 1], [0, 9]])
    expected = np.linalg.solve(T.T @ M @ T, [0, 2.0])
    assert hip == pytest.approx(expected[1], rel=1e-10)


def test_a_coupling_across_a_floating_joint_has_no_angle() -> None:
    text = (MODELS / "rotors_on_a_float.urdf").read_text(encoding="utf-8")
    with pytest.raises(wt.FileError, match=r'a coupling across the free joint "float" has no angle'):
        wt.read(text.replace('<successor link="rotor"/>', '<successor link="world"/>'))


def test_joints_that_a_file_beside_a_robot_makes_balls_of() -> None:
    model = wt.read(MODELS / "ball_bar.urdf")
    s = model.build()
    assert s.mobility.mobility == 1  # arm and bar are two sides of a triangle: the bar turns about its own line
    assert 'joint "elbow" is spherical, as ball_bar.yaml says' in str(model.report)
    assert model.ranges.keys() == set()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("['elbow']", "['knee']", 'there is no joint "knee"; there is "shoulder"'),
        ("['elbow']", "[]", "lists of the same length"),
        ("['SPHERICAL']", "['PLANAR']", "joint_type must be SPHERICAL"),
        ("joint_name: ['elbow']", "", "lists of the same length"),
    ],
)
def test_what_is_wrong_with_such_joints_is_told(old: str, new: str, message: str, tmp_path: Path) -> None:
    for name in ("ball_bar.urdf", "ball_bar.yaml"):
        (tmp_path / name).write_text((MODELS / name).read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(wt.FileError, match=rf"ball_bar\.yaml:\d+.*{message}"):
        wt.read(tmp_path / "ball_bar.urdf")


def test_includes_inside_includes_are_relative_to_the_file_that_includes_them() -> None:
    pytest.importorskip("mujoco")
    s = wt.read(MODELS / "included.xml").build()
    assert s.joint_names == ("shoulder", "wrist")
    np.testing.assert_allclose(s.pose(s.q0, "hand")[:3, 3], [0, 0, -0.4], atol=1e-12)


def test_skins_extensions_and_sensors_move_nothing() -> None:
    pytest.importorskip("mujoco")
    model = wt.read(MODELS / "skinned.xml")
    for what in ("skin", "sensor"):
        assert f"not understood: <{what}>" in str(model.report)
    plain = wt.read(
        '<mujoco>\n<worldbody><body name="arm"><joint name="hinge" axis="0 1 0"/>'
        '<geom type="capsule" size="0.05 0.2" pos="0 0 -0.2" mass="2"/></body></worldbody></mujoco>'
    )
    one, other = model.build(), plain.build()
    np.testing.assert_allclose(one.forward_dynamics([0.4], [0.1]), other.forward_dynamics([0.4], [0.1]), rtol=1e-13)


@pytest.mark.parametrize("name", ["looks.urdf", "looks.sdf"])
def test_what_concerns_looks_only_refuses_no_file(name: str) -> None:
    model = wt.read(MODELS / name)
    s = model.build()
    assert s.nv == 1
    # 2 kg at 0.5 m below the hinge, lying in the plane of z downwards at q = 0
    q = 0.3
    expected = -2 * 9.81 * 0.5 * math.sin(q) / (0.1 + 2 * 0.25)
    assert s.forward_dynamics([q], [0.0]) == pytest.approx([expected], rel=1e-12)
    assert "what a link looks like: " in str(model.report)
    shapes = model.shapes["arm"]
    assert {one.kind for one in shapes} == {"mesh", "sphere"}
    assert next(one.size for one in shapes if one.kind == "mesh") == (0.00254,) * 3


def test_the_first_of_several_poses_of_a_visual_counts() -> None:
    model = wt.read(MODELS / "looks.sdf")
    assert "a second <pose> of a <visual> (line 8)" in str(model.report)
    ball = next(one for one in model.shapes["arm"] if one.kind == "sphere")
    assert ball.placement.point[2] == pytest.approx(1.0)


def test_lines_are_right_behind_comments_that_are_not_xml() -> None:
    text = "<robot name='m'>\n<!-- one -- two\n three -->\n<link name='a'/>\n<joint name='j' type='strange'/>\n</robot>"
    with pytest.raises(wt.FileError, match=":5: "):
        wt.read(text)


def test_text_that_looks_like_a_comment_in_a_file_that_is_right_is_kept() -> None:
    text = "<robot name='m'><link name='a'/>\n<note><![CDATA[<!-- kept -- -->]]></note></robot>"
    assert wt.read(text).build().nv == 0


def test_frames_that_are_attached_in_a_ring_are_told() -> None:
    with pytest.raises(wt.FileError, match=r'ring\.sdf:\d+: "(one|other)" is attached to itself'):
        wt.read(MODELS / "ring.sdf")


def test_a_wrist_all_of_whose_motion_follows_one_angle() -> None:
    """The acceleration against the energy of the moving hand, which is a function of the angle and its rate."""
    s = wt.read(MODELS / "wrist.osim").build()
    assert s.mobility.mobility == 1
    v = s.consistent_velocities(s.q0, {"flexion": 0.7}, hold=["flexion"])
    a = s.forward_dynamics(s.q0, v)[s.v_slice("flexion")]
    assert a == pytest.approx([_wrist_acceleration(0.3, 0.7)], rel=1e-9)
    assert s.forward_dynamics(s.q0, v, formulation="tree_augmented")[s.v_slice("flexion")] == pytest.approx(a, rel=1e-9)


def _wrist_acceleration(angle: float, rate: float) -> float:
    q, w = ca.SX.sym("q"), ca.SX.sym("w")

    def turn(axis: int, by: ca.SX) -> ca.SX:
        R = ca.SX.eye(3)
        i, j = (axis + 1) % 3, (axis + 2) % 3
        R[i, i] = R[j, j] = ca.cos(by)
        R[j, i], R[i, j] = ca.sin(by), -ca.sin(by)
        return R

    R = turn(0, 0.5 * q) @ turn(1, 0.2 * q + 0.1) @ turn(2, 0.3 * q**2 - 0.4 * q)
    p = ca.vertcat(0.01 * q, 0.02 * q**2 + 0.01 * q, -0.03 * q) + R @ ca.DM([0.05, -0.1, 0.02])
    S = R.T @ ca.jacobian(R.reshape((9, 1)), q).reshape((3, 3))
    spin, speed = ca.vertcat(S[2, 1], S[0, 2], S[1, 0]) * w, ca.jacobian(p, q) * w
    kinetic = (0.5 * ca.sumsqr(speed) + ca.dot(spin, ca.DM([0.002, 0.001, 0.0015]) * spin)) / 2
    L = kinetic - 0.5 * 9.81 * p[1]
    momentum = ca.gradient(L, w)
    a = (ca.gradient(L, q) - ca.jacobian(momentum, q) * w) / ca.jacobian(momentum, w)
    return float(ca.Function("a", [q, w], [a])(angle, rate))


@pytest.mark.parametrize(
    "text",
    [
        f"ADAMS/View model\nPART/{ENORMOUS}, MASS=1\nEND\n",
        f"ADAMS/View model\nPART/1, GROUND\nMARKER/1, PART={ENORMOUS}\nEND\n",
        f"ADAMS\nPART/1, GROUND\nMARKER/1, PART=1\nSFORCE/1, I=1, J=1, TRANS, FUNCTION=DM({ENORMOUS},1)\nEND\n",
        f"ADAMS/View model\nPART/1, GROUND\nMARKER/1, PART=1\nCOUPLER/1, JOINTS={ENORMOUS},2, SCALES=1,2\nEND\n",
        f'<robot name="m"><link name="a"><inertial><mass value="{ENORMOUS}"/></inertial></link></robot>',
        f'<sdf version="{ENORMOUS}.{ENORMOUS}"><model name="m"><link name="a"/></model></sdf>',
        f'<sdf version="1.6"><model name="m"><link name="a"><inertial><mass>{ENORMOUS}</mass></inertial></link>'
        "</model></sdf>",
        f'<mujoco><worldbody><replicate count="{ENORMOUS}"><body/></replicate></worldbody></mujoco>',
        f"name: m\nbodies: {{a: {{mass: {ENORMOUS}}}}}\n",
        f"name: m\nbodies: {{a: {{mass: 1}}}}\nrun: {{duration: {ENORMOUS}}}\n",
    ],
)
def test_numbers_of_thousands_of_digits_are_refused_in_words(text: str) -> None:
    with pytest.raises(wt.FileError) as caught:
        wt.read(text)
    assert len(str(caught.value)) < 1000
    assert "limit" not in str(caught.value)  # the words of Python's own refusal


def test_a_loop_all_of_whose_joints_have_armature_is_cut_at_its_weld() -> None:
    """At rest, beside the accelerations that follow from MuJoCo's matrices with the weld taken as exact."""
    mujoco = pytest.importorskip("mujoco")
    mj = mujoco.MjModel.from_xml_path(str(MODELS / "welded_arm.xml"))
    data = mujoco.MjData(mj)
    mujoco.mj_forward(mj, data)
    M = np.zeros((mj.nv, mj.nv))
    mujoco.mj_fullM(mj, data, M) if mujoco.mj_version() >= 400 else mujoco.mj_fullM(mj, M, data.qM)
    J = data.efc_J.reshape(-1, mj.nv)[data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY]
    tau = np.array([1.0, -2.0, 0.5, 3.0])
    free = np.linalg.svd(J)[2][np.linalg.matrix_rank(J, tol=1e-9) :].T
    expected = free @ np.linalg.solve(free.T @ M @ free, free.T @ (tau - data.qfrc_bias))
    s = wt.read(MODELS / "welded_arm.xml").build()
    assert free.shape[1] == s.mobility.mobility == 1
    np.testing.assert_allclose(s.forward_dynamics(s.q0, s.v0, tau), expected, rtol=1e-9)
    assert np.abs(expected).min() > 1e-3


@pytest.mark.parametrize("control", [-3.0, -0.2, 0.1, 0.9])
def test_control_and_force_of_an_actuator_stay_in_their_ranges(control: float) -> None:
    mujoco = pytest.importorskip("mujoco")
    mj = mujoco.MjModel.from_xml_path(str(MODELS / "servo.xml"))
    data, s = mujoco.MjData(mj), wt.read(MODELS / "servo.xml").build()
    data.qpos[:], data.qvel[:], data.ctrl[:] = 0.05, 0.3, control
    mujoco.mj_forward(mj, data)
    found = s.forward_dynamics([0.05], [0.3], parameters={"servo": control})
    np.testing.assert_allclose(found, data.qacc_smooth, rtol=1e-10)


def test_joints_of_usd_that_say_of_each_axis_whether_it_moves() -> None:
    """Beside the same bodies in MuJoCo, on the hinges, slides and ball that the free axes are."""
    mujoco = pytest.importorskip("mujoco")
    pytest.importorskip("pxr")
    degree = math.radians(1)
    mj = mujoco.MjModel.from_xml_string(f"""<mujoco><option gravity="0 0 -9.75"/>
<compiler angle="radian" autolimits="false"/><worldbody><body>
<joint type="slide" axis="1 0 0"/><joint axis="0 1 0" stiffness="{0.5 / degree}" damping="{0.125 / degree}"
springref="{30 * degree}"/><inertial mass="2" pos="0.25 0 -0.5" diaginertia="0.25 0.5 0.375"/>
<body pos="0 0 -1"><joint axis="1 0 0"/><joint axis="0 1 0"/>
<inertial mass="1" pos="0 0.125 -0.25" diaginertia="0.125 0.25 0.1875"/>
<body pos="0 0 -0.5"><joint type="ball" pos="0.25 0 0"/>
<inertial mass="0.5" pos="0 0 -0.25" diaginertia="0.0625 0.0625 0.03125"/></body></body></body></worldbody></mujoco>""")
    data, model = mujoco.MjData(mj), wt.read(MODELS / "six_axes.usda")
    s = model.build()
    names = ("rail transX", "rail rotY", "neck", "hand")
    assert {use.name for use in s.description.joints} == {*names}
    assert model.ranges["rail transX"].upper == 3.0
    q = [0.3, -0.7, 0.4, 0.9, *np.array([0.8, 0.2, -0.4, 0.4])]
    v = [0.5, -0.2, 1.1, 0.6, 0.3, -0.9, 0.7]
    data.qpos[:], data.qvel[:] = q, v
    mujoco.mj_forward(mj, data)
    ours, rates, places, at = np.zeros(s.nq), np.zeros(s.nv), [], 0
    for name in names:
        rows = s.q_slice(name)
        ours[rows], at = q[at : at + rows.stop - rows.start], at + rows.stop - rows.start
        places += [*range(s.v_slice(name).start, s.v_slice(name).stop)]
    rates[places] = v
    np.testing.assert_allclose(s.forward_dynamics(ours, rates)[places], data.qacc, rtol=1e-9)


def test_a_second_axis_of_a_joint_is_told_and_the_first_counts() -> None:
    text = (MODELS / "looks.urdf").read_text(encoding="utf-8")
    twice = text.replace("</joint>", '<axis xyz="1 0 0"/></joint>', 1)
    model = wt.read(twice)
    assert "a second <axis> of a joint" in str(model.report)
    one, other = (m.build().forward_dynamics([0.3], [0.0]) for m in (model, wt.read(text)))
    np.testing.assert_array_equal(one, other)


def hand_of_four_bars(digits: int) -> str:
    """Six four-bars on a palm, in planes that lie aslant, with numbers of so many digits."""

    def words(values: np.ndarray) -> str:
        return " ".join(f"{float(x):.{digits}f}" for x in values)

    def link(name: str) -> str:
        moments = 'ixx="2e-4" iyy="3e-4" izz="2.5e-4" ixy="0" ixz="0" iyz="0"'
        return f'<link name="{name}"><inertial><mass value="0.1"/><inertia {moments}/></inertial></link>'

    def joint(name: str, parent: str, child: str, at: np.ndarray, axis: np.ndarray) -> str:
        ends = f'<parent link="{parent}"/><child link="{child}"/>'
        place = f'<origin xyz="{words(at)}"/><axis xyz="{words(axis)}"/>'
        return f'<joint name="{name}" type="continuous">{ends}{place}</joint>'

    parts = ['<robot name="hand"><link name="palm"/>']
    for k in range(6):
        along, axis = np.array([math.cos(k), math.sin(k), 0.0]), np.array([-math.sin(k), math.cos(k), 0.0])
        up, across, at = 0.04 * along + np.array([0, 0, 0.03]), 0.05 * along, 0.1 * along
        parts += [link(f"{name}{k}") for name in ("crank", "coupler", "rocker")]
        parts.append(joint(f"A{k}", "palm", f"crank{k}", at, axis))
        parts.append(joint(f"B{k}", f"crank{k}", f"coupler{k}", up, axis))
        parts.append(joint(f"D{k}", "palm", f"rocker{k}", at + across, axis))
        sides = [("predecessor", "coupler", across), ("successor", "rocker", up)]
        ends = [f'<{side} link="{name}{k}"><origin xyz="{words(p)}"/></{side}>' for side, name, p in sides]
        parts.append(f'<loop name="C{k}" type="revolute">{"".join(ends)}<axis xyz="{words(axis)}"/></loop>')
    return "\n".join(parts) + "</robot>"


@pytest.mark.rest
def test_a_hand_of_six_four_bars_whose_numbers_are_rounded_moves_as_the_exact_one() -> None:
    with pytest.warns(wt.AssemblyWarning, match="taken as rounded"):
        s = wt.read(hand_of_four_bars(6)).build()
    exact = wt.read(hand_of_four_bars(17)).build()
    assert s.mobility.mobility == exact.mobility.mobility == 6
    tau = np.zeros(s.nv)
    for k in range(6):
        tau[s.v_slice(f"A{k}")] = 0.01 * (k + 1)
    one, other = (each.forward_dynamics(each.q0, each.v0, tau) for each in (s, exact))
    np.testing.assert_allclose(one, other, atol=1e-3 * np.abs(other).max())


def test_an_accuracy_that_is_given_is_not_made_coarser() -> None:
    with pytest.raises(wt.AssemblyError, match=r"stays [\d.]+e-07 m off; .* build\(accuracy=1e-04\)"):
        wt.read(hand_of_four_bars(6)).build(accuracy=1e-9)


def test_the_oldest_worlds_and_their_joints_to_the_world() -> None:
    """The wing hangs 0.5 m beside a hinge that lies across; the post turns about the vertical and nothing drives it."""
    s = wt.read(MODELS / "old_world.sdf").build()
    assert set(s.joint_names) == {"footing", "hinge"}
    a = s.forward_dynamics(s.q0, s.v0)
    assert a[s.v_slice("hinge")] == pytest.approx([2 * 9.81 * 0.5 / (0.2 + 2 * 0.25)], rel=1e-12)
    assert a[s.v_slice("footing")] == pytest.approx([0.0], abs=1e-12)


def test_materials_that_xacro_makes_or_that_are_nowhere_refuse_nothing() -> None:
    pytest.importorskip("xacro")
    model = wt.read(MODELS / "painted.urdf.xacro", xacro=True)
    assert len(model.shapes["arm"]) == 2
    found = model.build().forward_dynamics([0.3], [0.0])
    assert found == pytest.approx([-2 * 9.81 * 0.5 * math.sin(0.3) / (0.1 + 2 * 0.25)], rel=1e-12)


def test_bodies_of_usd_that_are_not_where_their_joints_hold_them_are_told(tmp_path: Path) -> None:
    pytest.importorskip("pxr")
    text = (MODELS / "six_axes.usda").read_text(encoding="utf-8")
    assert "misses by" not in str(wt.read(MODELS / "six_axes.usda").report)
    place = tmp_path / "moved.usda"
    place.write_text(
        text.replace("double3 xformOp:translate = (0, 0, -1)", "double3 xformOp:translate = (0, 0.25, -1)")
    )
    model = wt.read(place)
    assert 'joint "neck" misses by 0.25 m or rad where the file puts its bodies' in str(model.report)
    s = model.build()
    np.testing.assert_allclose(s.pose(s.q0, "b")[:3, 3], [0, 0, -1], atol=1e-12)
