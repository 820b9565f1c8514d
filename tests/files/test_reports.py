"""Nothing in a file is dropped silently: what each dialect has that is not read is in the report, with its line."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import whippletree as wt

URDF = """<robot name="r">
<link name="a"><collision><geometry><sphere radius="1"/></geometry></collision><sensor/></link>
<link name="b"><inertial><origin xyz="0 0 1" quat_xyzw="0 0 1 1" unit="mm"/><mass value="1"/>
<inertia ixx="1" iyy="2" izz="2" ixy="0" ixz="0" iyz="0" scale="2"/><density/></inertial></link>
<link name="c"/>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><safety_controller/>
<limit lower="-1" upper="1" acceleration="3"/><dynamics damping="1" spring_stiffness="4"/></joint>
<joint name="k" type="planar"><parent link="b"/><child link="c"/><limit lower="1"/></joint>
<transmission/></robot>"""

SDF = """<sdf version="1.11"><world name="w"><light/><model name="m"><plugin/>
<link name="a"><velocity_decay><linear>1</linear></velocity_decay><sensor/>
<inertial><mass>1</mass><fluid_added_mass/></inertial>
<collision name="c"><geometry><heightmap/></geometry></collision></link>
<link name="b"/>
<joint name="j" type="universal"><parent>a</parent><child>b</child><physics/>
<axis><xyz>1 0 0</xyz><initial_position>1</initial_position><dynamics><damping>1</damping></dynamics>
<limit><lower>-1</lower><stiffness>3</stiffness></limit></axis>
<axis2><xyz>0 1 0</xyz><dynamics><damping>1</damping></dynamics></axis2></joint>
</model></world></sdf>"""

ADAMS = """title
UNITS/
, LENGTH = METER, SYSTEM = MKS
PART/1, GROUND
PART/2, MASS = 1, CM = 20, IP = 1, 1, 1, VX = 3, MATERIAL = steel
MARKER/10, PART = 1
MARKER/20, PART = 2
JOINT/1, I = 20, J = 10, REVOLUTE, IC = 3, 4
REQUEST/1
END"""

OPENSIM = """<OpenSimDocument Version="40000"><Model name="m"><inference>3</inference>
<BodySet><objects><Body name="a"><mass>1</mass><density>3</density></Body></objects></BodySet>
<JointSet><objects><SliderJoint name="j"><socket_parent_frame>/ground</socket_parent_frame>
<socket_child_frame>a</socket_child_frame><warp/><coordinates><Coordinate name="q"><spring>3</spring></Coordinate>
</coordinates></SliderJoint></objects></JointSet>
<ForceSet><objects><CoordinateActuator name="motor"/></objects></ForceSet>
<ControllerSet><objects><PrescribedController name="c"/></objects></ControllerSet>
<components><Ligament/></components></Model></OpenSimDocument>"""

USD = """#usda 1.0
( metersPerUnit = 1
  upAxis = "Z" )
def Xform "a" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
{
    float physics:mass = 1
    float3 physics:diagonalInertia = (1, 1, 1)
    bool physics:kinematicEnabled = true
    float custom:stickiness = 3
    def Sphere "ball" (prepend apiSchemas = ["PhysicsCollisionAPI"])
    {
        double radius = 1
    }
}
def PhysicsRevoluteJoint "j" (prepend apiSchemas = ["PhysicsDriveAPI:angular"])
{
    rel physics:body1 = </a>
    float physxJoint:armature = 0.1
    float drive:angular:physics:targetVelocity = 3
    float drive:angular:physics:damping = 3
    float drive:angular:physics:maxForce = 7
}
"""


@pytest.mark.parametrize(
    ("text", "remarks"),
    [
        (
            URDF,
            [
                *(
                    "<sensor> of a link",
                    "shapes that collide",
                    "unit of <origin>",
                    "scale of <inertia>",
                    "<transmission>",
                ),
                *("<density> of an <inertial>", "<safety_controller> of a joint", "acceleration of <limit>"),
                *("spring_stiffness of <dynamics>", "<limit> of a planar joint"),
            ],
        ),
        (
            SDF,
            [
                *("<light> of a world", "<plugin> of a model", "<velocity_decay> of a link", "<sensor> of a link"),
                *("<fluid_added_mass> of an <inertial>", "<heightmap> as a geometry", "shapes that collide"),
                *("<physics> of a joint", "<initial_position> of an axis", "<stiffness> of a limit"),
                *("<dynamics> of a second axis", "<dynamics> of a universal joint"),
            ],
        ),
        (
            ADAMS,
            ["SYSTEM of UNITS/", "VX of a part: it starts at rest", "MATERIAL of PART/", "IC of JOINT/", "REQUEST/"],
        ),
        (
            OPENSIM,
            [
                *("<inference>", "<density> of a body", "<warp> of a joint", "<spring> of a coordinate"),
                *("CoordinateActuator, which is left out", "PrescribedController of <ControllerSet>", "<components>"),
            ],
        ),
    ],
    ids=["urdf", "sdf", "adams", "opensim"],
)
def test_what_is_not_read_is_in_the_report(text: str, remarks: list[str]) -> None:
    report = wt.read(text).report
    found = report.about("not understood")
    for remark in remarks:
        assert any(remark in one for one in found), (remark, found)
    assert len(found) == len(remarks), found
    assert all(remark.line for remark in report if remark.kind == "not understood")


def test_what_is_not_read_of_usd_is_in_the_report(tmp_path: Path) -> None:
    if importlib.util.find_spec("pxr") is None:
        pytest.skip("usd-core is not installed")
    path = tmp_path / "m.usda"
    path.write_text(USD, encoding="utf-8")
    model = wt.read(path)
    found = model.report.about("not understood")
    for remark in ("custom:stickiness", "collide", "physxJoint:armature", "targetVelocity"):
        assert any(remark in one for one in found), (remark, found)
    assert len(found) == 4
    assert any("which no forces move (kinematicEnabled)" in one for one in model.report.about("changed"))
    assert model.ranges["j"].effort == 7.0
    path.write_text(USD.replace("physics:maxForce = 7", "physics:damping = 7"), encoding="utf-8")
    wt.read(path)  # the same path, with other contents
    token = 'uniform token drive:angular:physics:type = "acceleration"'
    path.write_text(USD.replace("float drive:angular:physics:maxForce = 7", token), encoding="utf-8")
    with pytest.raises(wt.FileError, match='the drive of joint "j" is an acceleration'):
        wt.read(path)


def test_missing_inertias_are_told() -> None:
    guessed = wt.read(URDF).report.about("guessed")
    assert "a link without <inertial> has no mass" in guessed
    point = URDF.replace('<inertia ixx="1" iyy="2" izz="2" ixy="0" ixz="0" iyz="0" scale="2"/>', "")
    assert "a link with mass and no inertia is a point mass" in wt.read(point).report.about("guessed")


def test_a_quaternion_of_urdf_turns_as_it_says() -> None:
    found = wt.read(URDF).mechanism.describe().body("b").properties
    np.testing.assert_allclose(found.inertia, np.diag([2.0, 1.0, 2.0]), atol=1e-15)  # a quarter of a turn about z


def test_a_loop_of_rounded_data_is_told() -> None:
    text = """<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/></inertial></link>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>
<loop name="l" type="revolute"><predecessor link="a"><origin xyz="{} 0 0"/></predecessor>
<successor link="b"/><axis xyz="0 0 1"/></loop></robot>"""
    assert any("rounded to 1e-06" in remark for remark in wt.read(text.format("1e-8")).report.about("guessed"))
    assert any("open by 0.001 m" in remark for remark in wt.read(text.format("1e-3")).report.about("changed"))
    assert "loop" not in str(wt.read(text.format("0")).report)


def test_an_included_model_is_placed_by_one_of_its_frames(tmp_path: Path) -> None:
    (tmp_path / "arm.sdf").write_text(
        '<sdf version="1.9"><model name="arm"><link name="a"/><frame name="grip"><pose>0 0 2 0 0 0</pose></frame>'
        "</model></sdf>",
        encoding="utf-8",
    )
    path = tmp_path / "w.sdf"
    path.write_text(
        '<sdf version="1.9"><world name="w"><include><uri>arm.sdf</uri><static>true</static><pose>0 0 5 0 0 0</pose>'
        '<placement_frame>grip</placement_frame></include><model name="other"><link name="b"/></model></world></sdf>',
        encoding="utf-8",
    )
    s = wt.read(path).build()
    np.testing.assert_allclose(s.pose(s.q0, "arm::a")[:3, 3], [0, 0, 3], atol=1e-14)


def test_meshes_of_mjcf_may_be_on_the_search_path(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    (tmp_path / "model").mkdir()
    (tmp_path / "meshes").mkdir()
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    lines = [*("v {} {} {}".format(*p) for p in corners), *("f {} {} {}".format(*(k + 1 for k in f)) for f in faces)]
    (tmp_path / "meshes" / "t.obj").write_text("\n".join(lines), encoding="utf-8")
    path = tmp_path / "model" / "m.xml"
    path.write_text(
        """<mujoco><asset><mesh name="t" file="t.obj"/></asset><worldbody><body name="b"><freejoint/>
<geom type="mesh" mesh="t" density="600"/></body></worldbody></mujoco>""",
        encoding="utf-8",
    )
    with pytest.raises(wt.FileError, match=r'body "b" follows from the mesh t.obj, which is missing'):
        wt.read(path)
    found = wt.read(path, search=tmp_path / "meshes").mechanism.describe().body("b").properties
    assert found.mass == pytest.approx(100.0, rel=1e-6)
    np.testing.assert_allclose(found.com, 0.25, rtol=1e-6)
