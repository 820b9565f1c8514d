"""What is written as URDF, SDF or MJCF is read back as the same motion, or is refused by what is not held."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from support.written_back import written_back
from whippletree.cli import main
from whippletree.model.io.model_file import JointRange, Motor

MODELS = Path(__file__).parent / "models"


def arm() -> wt.Mechanism:
    """Joints of several kinds, with frames that are not where other formats want them."""
    m = wt.Mechanism("arm")
    first = m.body("first", wt.box((1.0, 0.1, 0.2), mass=2.0) + wt.sphere(0.05, mass=0.3, at=(0.5, 0.1, 0.2)))
    second = m.body("second", mass=1.0, com=(0.2, 0.1, 0.0), inertia=((0.02, 0.001, 0), (0.001, 0.03, 0), (0, 0, 0.04)))
    third = m.body("third", mass=0.5, inertia=(0.01, 0.02, 0.02))
    plate = m.body("plate", mass=0.2, com=(0, 0, 0.1), inertia=(1e-3, 1e-3, 1e-3))
    m.revolute("A", m.ground, first, at=(0, 0, 1), axis="y")
    m.revolute("B", first, second, at=(1, 0, 0), axis=(1, 2, 0), at_child=(0.1, 0, 0.3))
    m.prismatic("S", second, third, at=(0.4, 0, 0), axis="x", at_child=(0, 0.1, 0))
    m.fixed("weld", third, plate, at=(0, 0, 0.2))
    m.friction("bearing", "A", viscous=0.3)
    m.gear("pair", "A", "S", ratio=0.2, offset=0.05)
    return m


def parallelogram() -> wt.Mechanism:
    """A loop that is closed at zero coordinates."""
    m = wt.Mechanism("parallelogram")
    for name, length in (("left", 0.5), ("top", 1.0), ("right", 0.5)):
        m.body(name, wt.cylinder(0.02, length, mass=1.0, axis="x" if name == "top" else "z"))
    m.revolute("A", m.ground, "left", axis="y")
    m.revolute("B", "left", "top", at=(0, 0, 0.5), axis="y")
    m.revolute("D", m.ground, "right", at=(1, 0, 0), axis="y")
    m.revolute("C", "top", "right", at=(1, 0, 0), at_child=(0, 0, 0.5), axis="y")
    return m


def motion(s: wt.System, start: dict[str, float], names: str) -> dict[str, float]:
    """Accelerations of joints where some are held at a start."""
    q = s.assemble(start, hold=[*start])
    v = s.consistent_velocities(q, dict.fromkeys(start, 0.4), hold=[*start])
    a = s.forward_dynamics(q, v)
    return {name: float(a[s.v_slice(name)][0]) for name in names}


@pytest.mark.parametrize("ending", ["urdf", "sdf", "xml", "yaml"])
def test_a_tree_with_a_gear(ending: str, tmp_path: Path) -> None:
    m, path = arm(), tmp_path / f"arm.{ending}"
    wt.write(m, path)
    one = motion(m.build(), {"A": 0.3, "B": 0.2}, "ABS")
    assert motion(wt.read(path).build(), {"A": 0.3, "B": 0.2}, "ABS") == pytest.approx(one, rel=1e-10)


@pytest.mark.parametrize("ending", ["urdf", "sdf", "xml", "yaml"])
def test_a_loop(ending: str, tmp_path: Path) -> None:
    m, path = parallelogram(), tmp_path / f"loop.{ending}"
    wt.write(m, path)
    one = motion(m.build(), {"A": 0.4}, "ABD")
    assert motion(wt.read(path).build(), {"A": 0.4}, "ABD") == pytest.approx(one, rel=1e-9)


@pytest.mark.parametrize("start", [{}, {"A": 0.4, "B": -0.4, "D": 0.4}], ids=["at zero", "elsewhere"])
@pytest.mark.parametrize("ground_is", ["parent", "child"])
@pytest.mark.parametrize("axis", ["y", "-y"])
def test_a_hinge_that_closes_a_loop_keeps_its_coordinate_in_mjcf(
    start: dict[str, float], ground_is: str, axis: str, tmp_path: Path
) -> None:
    """Connects have no coordinate: it is zero where the file starts, or sites tell it."""
    m, path = parallelogram(), tmp_path / "loop.xml"
    rocker = m.body("rocker", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.revolute("E", "top", rocker, at=(0.3, 0, 0), axis="y")
    if ground_is == "parent":
        m.revolute("F", m.ground, rocker, at=(0.3, 0, 0), at_child=(0, 0, -0.5), axis=axis)
    else:
        m.revolute("F", rocker, m.ground, at=(0, 0, -0.5), at_child=(0.3, 0, 0), axis=axis)
    wt.write(wt.Model(m, {"guess": start | ({"E": 0.4} if start else {})}), path)
    s = wt.read(path).build()
    q = s.assemble({"A": 0.7, "B": -0.7, "D": 0.7, "E": 0.7}, hold=["A"])
    coordinate = {name: float(q[s.q_slice(name)][0]) for name in "ACDF"}
    sign = (1 if axis == "y" else -1) * (1 if ground_is == "parent" else -1)
    assert coordinate == pytest.approx({"A": 0.7, "C": 0.7, "D": 0.7, "F": sign * 0.7}, abs=1e-12)


def test_convert_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["turn", "left finger", "right finger"]
    start = {"turn": 0.3, "left finger": 0.2}
    one = motion(wt.read(MODELS / "gripper.urdf").build(), start, names)  # type: ignore[arg-type]
    for ending in ("yaml", "sdf", "xml", "urdf"):
        to = tmp_path / f"gripper.{ending}"
        assert main(["convert", str(MODELS / "gripper.urdf"), str(to)]) == 0
        assert "not understood: <gazebo> (line 28)" in capsys.readouterr().err
        assert motion(wt.read(to).build(), start, names) == pytest.approx(one, rel=1e-9)  # type: ignore[arg-type]
        assert main(["check", str(to)]) == 0
        capsys.readouterr()
    assert main(["run", str(MODELS / "four_bar.urdf"), "--duration", "0.1"]) == 0


def test_what_a_format_does_not_hold_is_refused_by_name(tmp_path: Path) -> None:
    m = arm()
    m.spring("strut", m.ground, "second", stiffness=10.0, free_length=1.0)
    for ending in ("urdf", "sdf", "xml"):
        with pytest.raises(wt.FileError, match='force "strut"'):
            wt.write(m, tmp_path / f"m.{ending}")
    thin = wt.Mechanism("thin")
    thin.revolute("A", thin.ground, thin.body("rod", wt.rod(length=0.1, mass=1e-3)))
    with pytest.raises(wt.FileError, match='body "rod", which moves with the inertia of a line'):
        wt.write(thin, tmp_path / "m.xml")
    screw = wt.Mechanism("screw")
    screw.screw("spindle", screw.ground, screw.body("nut", mass=1.0), lead=0.01)
    with pytest.raises(wt.FileError, match=r'm\.urdf is not written: URDF cannot hold the screw joint "spindle"'):
        wt.write(screw, tmp_path / "m.urdf")
    open_loop = wt.read(MODELS / "four_bar.urdf")
    with pytest.raises(wt.FileError, match='the loop at "C", which is not closed at zero coordinates'):
        wt.write(open_loop, tmp_path / "m.sdf")
    assert not list(tmp_path.iterdir())
    wt.write(screw, tmp_path / "m.sdf")
    assert np.isclose(wt.read(tmp_path / "m.sdf").mechanism.describe().joint("spindle").joint.lead, 0.01)


def test_all_that_a_format_does_not_hold_is_told_at_once(tmp_path: Path) -> None:
    m = arm()
    m.spring("strut", m.ground, "second", stiffness=10.0, free_length=1.0)
    m.torsion_spring("return", "B", stiffness=2.0)
    m.screw("spindle", "plate", m.body("nut", mass=1.0, inertia=(1, 1, 1)), lead=0.01, armature=0.2)
    m.revolute("motor", "plate", m.body("disc", wt.cylinder(0.1, 0.02, mass=1.0)), prescribed=True)
    with pytest.raises(wt.FileError) as caught:
        wt.write(m, tmp_path / "m.urdf")
    wanted = (
        *('force "strut", a Spring', 'the spring at joint "B"', 'the screw joint "spindle"'),
        *('the armature of joint "spindle"', 'joint "motor", whose motion is prescribed'),
    )
    for what in wanted:
        assert what in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_two_gears_on_one_joint_find_a_joint_each_that_follows(tmp_path: Path) -> None:
    m = wt.Mechanism("train")
    for name in "ABCD":
        m.revolute(name, m.ground, m.body(f"wheel {name}", wt.cylinder(0.1, 0.02, mass=1.0)), at=(ord(name), 0, 0))
    for other in "BCD":
        m.gear(f"{other} on A", "A", other, ratio=0.5 + 0.1 * ord(other))
    for ending in ("urdf", "sdf"):
        wt.write(m, tmp_path / f"m.{ending}")
        text = (tmp_path / f"m.{ending}").read_text(encoding="utf-8")
        assert text.count("<mimic") == 3
        one, other = (s.consistent_velocities(s.q0, {"A": 1.0}) for s in (m.build(), wt.read(text).build()))
        assert other == pytest.approx(one, rel=1e-12)


def test_actuators_and_motors_come_back(tmp_path: Path) -> None:
    """Servos with ranges, on a joint and on a sum of coordinates, a spring of such a sum, and motors."""
    pytest.importorskip("mujoco")
    (tmp_path / "arm.xml").write_text(
        """<mujoco><worldbody><body name="a"><joint name="A" axis="0 1 0" armature="0.1" range="-90 90"/>
<geom size=".1" pos="0 0 .3"/><body name="b" pos="0 0 .5"><joint name="B" axis="1 0 0" frictionloss="0.2" ref="20"/>
<geom size=".1" pos="0 .1 .3"/></body></body></worldbody>
<tendon><fixed name="sum"><joint joint="A" coef="0.5"/><joint joint="B" coef="-2"/></fixed>
<fixed name="band" stiffness="3" damping="0.2" springlength="0.1"><joint joint="A" coef="0.7"/>
<joint joint="B" coef="-2"/></fixed></tendon>
<actuator><position name="servo" joint="A" kp="3" ctrlrange="-1 1" forcerange="-2 2"/>
<position name="geared" joint="B" kp="3" gear="-2" ctrlrange="-1 1"/>
<position name="both" tendon="sum" kp="3" gear="-1.5" kv="0.2" ctrlrange="-1 2" forcerange="-1 2"/>
<motor name="motor" joint="A" gear="50" ctrlrange="-1 1" forcerange="-0.5 0.5"/><motor name="pull" tendon="sum"/>
</actuator></mujoco>""",
        encoding="utf-8",
    )
    model = wt.read(tmp_path / "arm.xml")
    assert model.motors["motor"] == Motor({"A": 50.0}, -0.5, 0.5)
    assert model.motors["pull"] == Motor({"A": 0.5, "B": -2.0})
    for ending in ("yaml", "xml"):
        wt.write(model, tmp_path / f"again.{ending}")
        again = wt.read(tmp_path / f"again.{ending}")
        assert again.motors == model.motors
        assert again.ranges == model.ranges
        one, other = model.build(), again.build()
        assert other.q0 == pytest.approx(one.q0, rel=1e-14)
        rng = np.random.default_rng(3)
        for controls in (0.5, 3.0, -3.0):
            q, v, given = rng.normal(size=2), rng.normal(size=2), dict.fromkeys(("servo", "geared", "both"), controls)
            wanted = one.forward_dynamics(q, v, parameters=given)
            assert other.forward_dynamics(q, v, parameters=given) == pytest.approx(wanted, rel=1e-12)


def test_ranges_of_all_kinds_come_back(tmp_path: Path) -> None:
    m = arm()
    given = {
        "A": JointRange(-1.0, 2.0, 3.0, 40.0),
        "B": JointRange(None, None, None, 5.0),
        "S": JointRange(-0.5, None, None, None),
    }
    model = wt.Model(m, ranges=given)
    for ending in ("yaml", "urdf", "sdf"):
        assert not wt.write(model, tmp_path / f"m.{ending}")
        assert wt.read(tmp_path / f"m.{ending}").ranges == given
    left_out = wt.write(model, tmp_path / "m.xml").about("left out")
    assert left_out == ("the largest speeds of joints", 'the range of joint "S", which is open or empty')
    held = wt.read(tmp_path / "m.xml").ranges
    assert (held["A"].lower, held["A"].upper, held["A"].effort, held["B"].effort) == (-1.0, 2.0, 40.0, 5.0)


def test_shapes_colours_and_meshes_come_back(tmp_path: Path) -> None:
    (tmp_path / "wedge.obj").write_text(
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n", encoding="utf-8"
    )
    (tmp_path / "m.urdf").write_text(
        """<robot name="m"><link name="base"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
<visual><origin xyz="0.1 0 0" rpy="0 0 0.5"/><geometry><box size="1 2 3"/></geometry>
<material name="red"><color rgba="1 0 0 0.4"/></material></visual>
<visual><geometry><mesh filename="wedge.obj" scale="2 2 2"/></geometry></visual>
<collision><geometry><sphere radius="0.3"/></geometry></collision></link></robot>""",
        encoding="utf-8",
    )
    model = wt.read(tmp_path / "m.urdf", base="free")
    (wanted,) = model.shapes.values()
    assert len(wanted) == 3
    for ending in ("urdf", "sdf", "xml"):
        wt.write(model, tmp_path / f"again.{ending}")
        (found,) = wt.read(tmp_path / f"again.{ending}").shapes.values()
        for one, other in zip(wanted, found, strict=True):
            assert (one.kind, one.color, one.collides) == (other.kind, other.color, other.collides)
            assert Path(one.file).name == Path(other.file).name
            assert one.size == pytest.approx(other.size, rel=1e-12)
            assert one.placement.matrix() == pytest.approx(other.placement.matrix(), abs=1e-12)


def test_names_that_formats_keep_for_themselves(tmp_path: Path) -> None:
    m = wt.Mechanism("world")
    m.revolute("world", m.ground, m.body("world", wt.box((1, 2, 3), mass=1.0)), axis="y")
    m.revolute("arm", "world", m.body("arm", wt.box((1, 2, 3), mass=1.0)), at=(1, 0, 0), axis="x")
    m.frame("hand", on="arm", at=(0, 0, 1))
    m.fixed("hand on arm", "arm", m.body("tool", wt.box((1, 1, 1), mass=1.0)))
    q, wanted = np.array([0.3, 0.4]), m.build()
    for ending in ("urdf", "sdf", "xml", "yaml"):
        wt.write(wt.Model(m, {"guess": {"arm": 0.2}}), tmp_path / f"m.{ending}")
        s = wt.read(tmp_path / f"m.{ending}").build()
        there = np.zeros(2)
        for name in ("world", "arm"):
            own = "world joint" if (name, ending) == ("world", "sdf") else name
            there[s.q_slice(own)] = q[wanted.q_slice(name)]
        a = wanted.forward_dynamics(q, np.zeros(2))[[wanted.v_slice(name).start for name in ("world", "arm")]]
        assert np.sort(s.forward_dynamics(there, np.zeros(2))) == pytest.approx(np.sort(a), rel=1e-12)


def test_a_mechanism_without_bodies_is_written(tmp_path: Path) -> None:
    for ending in ("urdf", "sdf", "xml", "yaml"):
        wt.write(wt.Mechanism("empty"), tmp_path / f"m.{ending}")
        assert wt.read(tmp_path / f"m.{ending}").build().nv == 0


def test_a_quadruped_that_floats_with_a_cover_whose_inertia_no_body_has(tmp_path: Path) -> None:
    """Frames that are not on their joints, a floating base, and what MuJoCo takes only together with its carrier."""
    m = wt.Mechanism("quadruped")
    trunk = m.body("trunk", wt.box((0.5, 0.2, 0.1), mass=8.0))
    m.free("floating", m.ground, trunk)
    cover = m.body("cover", wt.MassProperties.as_given(0.2, (0.1, 0, 0), (1e-4, 1e-4, 9e-4)))
    m.fixed("screws", trunk, cover, at=(0, 0, 0.05))
    for k, (x, y) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1))):
        thigh = m.body(f"thigh {k}", wt.box((0.04, 0.04, 0.2), mass=0.8, at=(0, 0, -0.1)))
        shank = m.body(f"shank {k}", wt.cylinder(0.01, 0.2, mass=0.2))
        m.revolute(f"hip {k}", trunk, thigh, at=(0.2 * x, 0.1 * y, 0), axis="y")
        m.revolute(f"knee {k}", thigh, shank, at=(0, 0, -0.2), at_child=(0, 0, 0.1), axis="y")
    for found in written_back(wt.Model(m), tmp_path, states=1):
        assert not found.lacking
        assert found.off < 1e-12, found


def test_a_free_joint_has_no_name_in_sdf(tmp_path: Path) -> None:
    """What nothing holds floats there, by a joint that is called after it: the report says so."""
    m = wt.Mechanism("flight")
    m.free("F", m.ground, m.body("craft", wt.box((1.0, 0.1, 0.2), mass=2.0)))
    report = wt.write(m, tmp_path / "flight.sdf")
    assert report.about("changed") == ('joint "F" is called "craft to ground": no word says it floats',)
    again = wt.read(tmp_path / "flight.sdf")
    assert again.build().joint_names == ("craft to ground",)
    assert not wt.write(again, tmp_path / "again.sdf").about("changed")
