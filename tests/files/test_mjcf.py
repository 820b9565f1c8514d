"""MJCF beside MuJoCo itself: trees written for these tests, and equalities taken as exact."""

from __future__ import annotations

import re
from pathlib import Path

import mujoco
import numpy as np
import pytest

import whippletree as wt

MODELS = Path(__file__).parent / "models"


def body(name: str, inside: str, **place: str) -> str:
    given = " ".join(f'{key}="{value}"' for key, value in place.items())
    return f'<body name="{name}" {given}>{inside}</body>'


BOX = '<geom type="box" size="0.1 0.05 0.2" pos="0.05 0.1 0.02" density="900"/>'
ROD = '<geom type="capsule" fromto="0 0 0 0.4 0.1 0.2" size="0.03"/>'
GIVEN = '<inertial pos="0.1 0 0.2" quat="1 0.2 0.1 0" mass="1.3" diaginertia="0.02 0.03 0.04"/>'
TREES = {
    "hinge": body("a", f'<joint name="j" axis="1 2 0" pos="0.1 0 0.2"/>{BOX}', pos="0 0 1", euler="30 20 10"),
    "reference": body(
        "a", f'<joint name="j" axis="0 1 0" ref="40" springref="10" stiffness="3" damping="0.2"/>{ROD}', pos="1 0 0"
    ),
    "slide": body("a", f'<joint name="s" type="slide" axis="1 0 1" ref="0.3" stiffness="20" springref="0.1"/>{BOX}'),
    "ball": body("a", f'<joint name="b" type="ball" pos="0 0.1 0" damping="0.3"/>{ROD}', quat="1 0.3 0 0.2"),
    "free": body("a", f'<freejoint name="f"/>{GIVEN}', pos="0.3 0.2 1", euler="0 40 0"),
    "two joints": body(
        "a", f'<joint name="x" axis="1 0 0"/><joint name="y" axis="0 1 0" pos="0 0 0.1"/>{BOX}', pos="0 1 0"
    ),
    "three joints": body(
        "a",
        f'<joint name="s" type="slide" axis="0 0 1"/><joint name="x" axis="1 0 0"/><joint name="z" axis="0 0 1"/>{ROD}'
        + body("b", f'<joint name="k" axis="0 1 1" damping="0.1"/>{GIVEN}', pos="0.4 0 0", euler="0 0 50"),
    ),
    "armature": body(
        "a",
        f'<joint name="one" axis="0 1 0" armature="0.2"/>{ROD}'
        + body(
            "b",
            f'<joint name="two" axis="1 1 0" armature="0.05"/>{BOX}'
            + body("c", f'<joint name="three" type="slide" axis="0 0 1" armature="0.4"/>{GIVEN}', pos="0 0.2 0"),
            pos="0.4 0.1 0.2",
        ),
    ),
    "branches": body(
        "trunk",
        f'<freejoint name="f"/>{BOX}'
        + body("left", f'<joint name="l" axis="1 0 0" armature="0.01"/>{ROD}', pos="0 0.2 0")
        + body("right", f'<joint name="r" axis="1 0 0"/>{ROD}' + body("fixed", GIVEN, pos="0.3 0 0"), pos="0 -0.2 0"),
        pos="0 0 2",
    ),
    "tendon": body("a", f'<joint name="p" axis="0 1 0"/>{ROD}', pos="0 0 1")
    + body("b", f'<joint name="q" axis="0 1 0" damping="0.4"/>{BOX}', pos="1 0 1"),
}
EXTRA = {
    "tendon": '<tendon><fixed name="t" stiffness="8" damping="0.5" springlength="0.2"><joint joint="p" coef="0.6"/>'
    '<joint joint="q" coef="-1.5"/></fixed></tendon><actuator><position name="servo" joint="p" kp="4" kv="0.3"/>'
    '<motor name="m" tendon="t"/></actuator>',
}


def text_of(name: str) -> str:
    return (
        f'<mujoco model="{name}"><option gravity="0.5 -1 -9.81"/>\n'
        '<default><geom contype="0" conaffinity="0"/></default>'
        f"<worldbody>{TREES[name]}</worldbody>{EXTRA.get(name, '')}</mujoco>"
    )


def rotation(wxyz: np.ndarray) -> np.ndarray:
    found = np.zeros(9)
    mujoco.mju_quat2Mat(found, wxyz)
    return found.reshape(3, 3)


def moved(mj: mujoco.MjModel, rng: np.random.Generator) -> mujoco.MjData:
    """A random state of MuJoCo's."""
    data = mujoco.MjData(mj)
    step = rng.normal(size=mj.nv) * 0.7
    mujoco.mj_integratePos(mj, data.qpos, step, 1.0)
    data.qvel[:] = rng.normal(size=mj.nv)
    data.qfrc_applied[:] = rng.normal(size=mj.nv)
    mujoco.mj_forward(mj, data)
    return data


def mass_matrix(mj: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """MuJoCo's mass matrix, column by column."""
    found = np.zeros((mj.nv, mj.nv))
    for k, unit in enumerate(np.eye(mj.nv)):
        mujoco.mj_mulM(mj, data, found[k], unit)
    return found


def maps(s: wt.System, mj: mujoco.MjModel, data: mujoco.MjData) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Our coordinates at MuJoCo's state, T with our velocities = T theirs, and T' theirs."""
    q, T, bias = np.array(s.q0), np.zeros((s.nv, mj.nv)), np.zeros(s.nv)
    for j in range(mj.njnt):
        name, a, d = mj.jnt(j).name, mj.jnt_qposadr[j], mj.jnt_dofadr[j]
        rows = s.v_slice(name)
        if mj.jnt_type[j] == 0:
            pose, R = data.qpos[a : a + 7], rotation(data.qpos[a + 3 : a + 7])
            q[s.q_slice(name)] = [*pose[3:], *pose[:3]]
            T[rows.start : rows.start + 3, d + 3 : d + 6] = np.eye(3)
            T[rows.start + 3 : rows.stop, d : d + 3] = R.T
            w, u = data.qvel[d + 3 : d + 6], R.T @ data.qvel[d : d + 3]
            bias[rows.start + 3 : rows.stop] = -np.cross(w, u)
        else:
            n = 4 if mj.jnt_type[j] == 1 else 1
            q[s.q_slice(name)] = data.qpos[a : a + n]
            T[rows, d : d + rows.stop - rows.start] = np.eye(rows.stop - rows.start)
    return q, T, bias


def test_what_mujoco_warns_of_is_in_the_report(recwarn: pytest.WarningsRecorder) -> None:
    text = text_of("hinge").replace("<option", '<compiler settotalmass="3"/><option')
    model = wt.read(text)
    assert sum(body.properties.mass for body in model.mechanism.describe().bodies) == pytest.approx(3.0)
    assert any("MuJoCo warns: compiler attribute 'settotalmass'" in said for said in model.report.about("changed"))
    assert not recwarn.list


@pytest.mark.parametrize("name", TREES)
def test_trees_agree_with_mj_forward(name: str) -> None:
    text = text_of(name)
    mj = mujoco.MjModel.from_xml_string(text)
    data = moved(mj, np.random.default_rng(len(name)))
    s = wt.read(text).build()
    q, T, bias = maps(s, mj, data)
    v = T @ data.qvel
    M = mass_matrix(mj, data)
    ours = T.T @ s.mass_matrix(q) @ T
    np.testing.assert_allclose(ours, M, rtol=0, atol=1e-9 * np.abs(M).max())
    # our generalised forces are those of T: tau_theirs = T^T tau, and M a + bias = tau
    passive = data.qfrc_passive + data.qfrc_actuator
    acting = data.qfrc_bias - passive
    found = T.T @ (np.asarray(s.bias_force(q, v)) + s.mass_matrix(q) @ bias)
    np.testing.assert_allclose(found, acting, rtol=0, atol=1e-9 * max(1.0, np.abs(acting).max()))
    tau = np.linalg.lstsq(T.T, data.qfrc_applied, rcond=None)[0]
    a = s.forward_dynamics(q, v, tau)
    theirs = T @ data.qacc + bias
    np.testing.assert_allclose(a, theirs, rtol=0, atol=1e-9 * max(1.0, np.abs(theirs).max()))


FLAGS = ("", "gravity", "damper", "spring", "actuation", "frictionloss", "constraint", "equality", "limit", "contact")


def switched(options: str) -> str:
    """A model with everything that options can switch off, beside what is always there."""
    tendon = (
        '<tendon><fixed name="t" stiffness="8" damping="0.5"><joint joint="p" coef="0.6"/>'
        '<joint joint="q" coef="-1.5"/></fixed></tendon>'
    )
    actuators = (
        '<actuator><position name="servo" joint="p" kp="4" kv="0.3" group="1"/>'
        '<position name="other" joint="q" kp="3" group="2"/>'
        '<motor name="geared" joint="p" gear="3" damping="0.2" armature="0.04"/>'
        '<motor name="pulling" tendon="t" gear="2" damping="0.1"/></actuator>'
    )
    return (
        f'<mujoco>\n<option gravity="0.5 -1 -9.81" {options}</option>'
        '<default><geom contype="0" conaffinity="0"/></default><worldbody>'
        + body("a", f'<joint name="p" axis="0 1 0" stiffness="5" damping="0.3"/>{ROD}', pos="0 0 1")
        + body("b", f'<joint name="q" axis="0 1 0" damping="0.4"/>{BOX}', pos="1 0 1")
        + f"</worldbody>{tendon}{actuators}</mujoco>"
    )


@pytest.mark.parametrize("flag", FLAGS)
def test_what_a_flag_switches_off_is_off(flag: str) -> None:
    """Names of flags come from the library: their numbers have changed between its versions."""
    check_against_mujoco(switched(f'><flag {flag}="disable"/>' if flag else ">"))


@pytest.mark.parametrize("groups", ["1", "2", "1 2"])
def test_groups_of_actuators_that_are_switched_off_do_nothing(groups: str) -> None:
    text = switched(f'actuatorgroupdisable="{groups}">')
    check_against_mujoco(text)
    told = " ".join(wt.read(text).report.about("kept aside"))
    assert ('"servo"' in told) == ("1" in groups)


def check_against_mujoco(text: str) -> None:
    mj = mujoco.MjModel.from_xml_string(text)
    data = moved(mj, np.random.default_rng(3))
    s = wt.read(text).build()
    q, T, bias = maps(s, mj, data)
    tau = np.linalg.lstsq(T.T, data.qfrc_applied, rcond=None)[0]
    theirs = T @ data.qacc + bias
    ours = s.forward_dynamics(q, T @ data.qvel, tau)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9 * max(1.0, np.abs(theirs).max()))


@pytest.mark.parametrize("flag", ["equality", "constraint"])
def test_equalities_that_are_switched_off_hold_nothing(flag: str) -> None:
    text = (MODELS / "rocker.xml").read_text()
    assert "<equality>" in text and "<option" in text
    off = re.sub(r"<option([^>]*?)/>", rf'<option\1><flag {flag}="disable"/></option>', text)
    assert flag in off
    s = wt.read(off).build()
    assert s.mobility.mobility > wt.read(text).build().mobility.mobility


def test_what_is_not_linear_in_a_tendon_is_told() -> None:
    text = switched(">").replace('stiffness="8"', 'stiffness="8 1 2"')
    assert any('tendon "t"' in said for said in wt.read(text).report.about("not understood"))


def test_limits_of_actuator_forces_are_told() -> None:
    text = switched(">").replace('stiffness="5"', 'stiffness="5" actuatorfrcrange="-1 1"')
    assert any('actuatorfrcrange of joint "p"' in said for said in wt.read(text).report.about("kept aside"))


def test_a_weld_without_torque_holds_a_point() -> None:
    bars = body("a", f"<freejoint/>{ROD}", pos="0 0 1") + body("b", f"<freejoint/>{BOX}", pos="1 0 1")
    text = (
        '<mujoco>\n<worldbody>{}</worldbody><equality><weld body1="a" body2="b" torquescale="{}"/></equality></mujoco>'
    )
    assert [wt.read(text.format(bars, k)).build().mobility.mobility for k in (0, 1)] == [9, 6]


def test_equalities_of_tendons_through_space_are_told() -> None:
    bars = body("a", f'<joint name="p"/>{ROD}<site name="s"/>', pos="0 0 1")
    text = (
        f'<mujoco>\n<worldbody>{bars}<site name="w" pos="1 0 0"/></worldbody><tendon><spatial name="rope">'
        '<site site="s"/><site site="w"/></spatial></tendon><equality><tendon name="hold" tendon1="rope"/></equality>'
        "</mujoco>"
    )
    assert any('equality "hold"' in said for said in wt.read(text).report.about("not understood"))


def test_loops_taken_as_exact() -> None:
    """Accelerations of a linkage with a connect, a gear and rotors, against MuJoCo's matrices in the null space."""
    path = MODELS / "rocker.xml"
    mj = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(mj)
    mujoco.mj_forward(mj, data)
    s = wt.read(path).build()
    assert s.mobility.mobility == 2
    assert not mujoco.mj_isSparse(mj)
    J = data.efc_J.reshape(data.nefc, mj.nv)
    J = J[data.efc_type == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)]
    M = mass_matrix(mj, data)
    force = data.qfrc_passive + data.qfrc_actuator - data.qfrc_bias
    N = np.linalg.svd(J)[2][np.linalg.matrix_rank(J, tol=1e-9) :].T
    exact = N @ np.linalg.solve(N.T @ M @ N, N.T @ force)
    names = [mj.jnt(j).name for j in range(mj.njnt)]
    a = s.forward_dynamics(s.q0, s.v0)
    ours = np.concatenate([a[s.v_slice(name)] for name in names])
    np.testing.assert_allclose(ours, exact, rtol=0, atol=1e-9 * np.abs(exact).max())


PAIR = """<mujoco>
<worldbody>
<body name="a"><joint name="A" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 1 0 0" size=".05"/>
<body name="b" pos="1 0 .5"><joint name="B" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 1 0 -1" size=".05"/></body></body>
<body name="c" pos="2 0 0"><joint name="D" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -1" size=".05"/></body>
</worldbody>
<equality>{}</equality></mujoco>"""


def test_two_connects_on_one_axis_are_a_hinge() -> None:
    two = '<connect name="C1" body1="b" body2="c" anchor="1 0 -1"/>'
    two += '<connect name="C2" body1="c" body2="b" anchor="0 .3 -.5"/>'
    model = wt.read(PAIR.format(two))
    assert any("together are a hinge" in text for text in model.report.about("changed"))
    assert model.mechanism.describe().joint("C1").joint.kind == "revolute"
    one = wt.read(PAIR.format(two.partition('<connect name="C2')[0]))
    assert any("works as one more hinge" in text for text in one.report.about("guessed"))
    a, b = model.build(), one.build()
    assert a.mobility.mobility == b.mobility.mobility == 1
    first, second = (s.forward_dynamics(s.q0, s.v0)[:3] for s in (a, b))
    np.testing.assert_allclose(first, second, atol=1e-9)


def test_a_weld_where_a_hinge_is_meant_is_told() -> None:
    model = wt.read(PAIR.format('<weld name="W" body1="b" body2="c"/>'))
    assert any("leaves no freedom" in text for text in model.report.about("changed"))
    assert model.build().mobility.mobility == 0


def test_what_a_file_must_not_draw_in(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "other.xml").write_text("<mujoco/>", encoding="utf-8")
    path = inside / "m.xml"
    path.write_text('<mujoco>\n<include file="../other.xml"/>\n<worldbody/></mujoco>', encoding="utf-8")
    with pytest.raises(wt.FileError, match=re.escape(f"{path}:2: ") + ".*outside"):
        wt.read(path)
    path.write_text(
        '<mujoco>\n<worldbody><replicate count="1e9"><geom size="1"/></replicate></worldbody></mujoco>',
        encoding="utf-8",
    )
    with pytest.raises(wt.FileError, match="copies"):
        wt.read(path)


def test_a_missing_mesh_is_named_with_its_body(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    mesh = '<asset><mesh name="hull" file="hull.stl"/></asset>'
    inside = '<body name="ship"><freejoint/><geom type="mesh" mesh="hull"/>{}</body>'
    path.write_text(f"<mujoco>{mesh}<worldbody>{inside.format('')}</worldbody></mujoco>", encoding="utf-8")
    with pytest.raises(wt.FileError, match=r'body "ship" follows from the mesh hull.stl, which is missing'):
        wt.read(path)
    path.write_text(f"<mujoco>{mesh}<worldbody>{inside.format(GIVEN)}</worldbody></mujoco>", encoding="utf-8")
    model = wt.read(path)
    assert model.mechanism.describe().body("ship").properties.mass == pytest.approx(1.3)
    assert [str(one) for one in model.report if "hull.stl" in str(one)] == [
        f"not understood: meshes that are not found (hull.stl) in {tmp_path.resolve()}: name their folder with search="
    ]


def test_a_mistake_is_told_with_its_line() -> None:
    with pytest.raises(wt.FileError, match=r"^<text>:3: MuJoCo does not read it"):
        wt.read("<mujoco>\n<worldbody>\n<body><jiont/></body></worldbody></mujoco>")


def test_a_start_at_a_keyframe() -> None:
    text = """<mujoco><worldbody><body name="a"><freejoint name="f"/><geom size="0.1"/></body></worldbody>
    <keyframe><key name="up" qpos="1 2 3 0.6 0 0.8 0" qvel="1 0 0 0 0 2"/></keyframe></mujoco>"""
    model = wt.read(text, keyframe="up")
    s = model.build()
    q, v = model.initial(s)
    np.testing.assert_allclose(s.pose(q, "a")[:3, 3], [1, 2, 3], atol=1e-12)
    np.testing.assert_allclose(s.velocity(q, v, "a")[3:], [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(v[:3], [0, 0, 2], atol=1e-12)
    with pytest.raises(wt.FileError, match='there is no keyframe "down"; there is "up"'):
        wt.read(text, keyframe="down")


def test_velocities_of_a_keyframe_that_exact_equalities_do_not_allow(tmp_path: Path) -> None:
    text = """<mujoco><worldbody><body name="box" pos="1 0 1"><freejoint name="j"/>
<geom type="box" size=".5 .1 .1" mass="1"/></body></worldbody>
<equality><connect body1="box" anchor="-0.5 0 0"/></equality>
<keyframe><key name="k" qpos="1 0 1 1 0 0 0" qvel="0 0 2 0 0 0"/></keyframe></mujoco>"""
    model = wt.read(text, keyframe="k")
    assert any("velocities of the keyframe" in text for text in model.report.about("changed"))
    s = model.build()
    q, v = model.initial(s)
    w, u = s.velocity(q, v, "box")[:3], s.velocity(q, v, "box")[3:]
    np.testing.assert_allclose(u + np.cross(w, [-0.5, 0.0, 0.0]), 0.0, atol=1e-12)  # the anchor rests
    assert u[2] > 0.5  # and the box still rises
    wt.write(model, tmp_path / "k.yaml")
    again = wt.read(tmp_path / "k.yaml").start
    assert again["nearest"] is True
    assert [*again["velocities"]["j"]] == [*model.start["velocities"]["j"]]
