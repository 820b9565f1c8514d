"""One arm in every dialect: two links on hinges, about y and then about x, written by hand each time."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import whippletree as wt

LINKS = {
    "a": (2.0, (0.1, 0.0, -0.3), (0.02, 0.03, 0.015)),
    "b": (1.5, (0.0, 0.05, -0.2), (0.01, 0.02, 0.025)),
}


def words(values: tuple[float, ...], between: str = " ") -> str:
    return between.join(map(repr, values))


def urdf() -> str:
    links = "".join(
        f'<link name="{n}"><inertial><origin xyz="{words(c)}"/><mass value="{m}"/><inertia ixx="{x}" iyy="{y}" '
        f'izz="{z}" ixy="0" ixz="0" iyz="0"/></inertial></link>\n'
        for n, (m, c, (x, y, z)) in LINKS.items()
    )
    return f"""<robot name="arm"><link name="world"/>{links}
<joint name="p" type="continuous"><parent link="world"/><child link="a"/><axis xyz="0 1 0"/></joint>
<joint name="q" type="continuous"><parent link="a"/><child link="b"/><origin xyz="0 0 -0.6"/><axis xyz="1 0 0"/></joint>
</robot>"""


def sdf() -> str:
    links = "".join(
        f'<link name="{n}"><pose>0 0 {-0.6 if n == "b" else 0} 0 0 0</pose><inertial><pose>{words(c)} 0 0 0</pose>'
        f"<mass>{m}</mass><inertia><ixx>{x}</ixx><iyy>{y}</iyy><izz>{z}</izz></inertia></inertial></link>\n"
        for n, (m, c, (x, y, z)) in LINKS.items()
    )
    return f"""<sdf version="1.9"><model name="arm">{links}
<joint name="p" type="revolute"><parent>world</parent><child>a</child><axis><xyz>0 1 0</xyz></axis></joint>
<joint name="q" type="revolute"><parent>a</parent><child>b</child><axis><xyz>1 0 0</xyz></axis></joint>
</model></sdf>"""


def mjcf() -> str:
    inertials = [
        f'<inertial mass="{m}" pos="{words(c)}" diaginertia="{words(moments)}"/>' for m, c, moments in LINKS.values()
    ]
    return f"""<mujoco model="arm"><worldbody><body name="a"><joint name="p" axis="0 1 0"/>{inertials[0]}
<body name="b" pos="0 0 -0.6"><joint name="q" axis="1 0 0"/>{inertials[1]}</body></body></worldbody></mujoco>"""


def opensim() -> str:
    bodies = "".join(
        f'<Body name="{n}"><mass>{m}</mass><mass_center>{words(c)}</mass_center><inertia>{words(moments)} 0 0 0'
        "</inertia></Body>\n"
        for n, (m, c, moments) in LINKS.items()
    )

    def joint(name: str, parent: str, child: str, at: str, axis: str) -> str:
        return f"""<CustomJoint name="joint of {child}"><socket_parent_frame>seat</socket_parent_frame>
<socket_child_frame>/bodyset/{child}</socket_child_frame><coordinates><Coordinate name="{name}"/></coordinates>
<frames><PhysicalOffsetFrame name="seat"><socket_parent>{parent}</socket_parent><translation>{at}</translation>
</PhysicalOffsetFrame></frames><SpatialTransform><TransformAxis name="rotation1"><coordinates>{name}</coordinates>
<axis>{axis}</axis></TransformAxis></SpatialTransform></CustomJoint>"""

    joints = joint("p", "/ground", "a", "0 0 0", "0 1 0") + joint("q", "/bodyset/a", "b", "0 0 -0.6", "1 0 0")
    return f"""<OpenSimDocument Version="40000"><Model name="arm"><gravity>0 0 -9.81</gravity>
<BodySet><objects>{bodies}</objects></BodySet><JointSet><objects>{joints}</objects></JointSet></Model></OpenSimDocument>"""


def adams() -> str:
    (m, c, i), (n, d, j) = LINKS.values()
    return f"""title: arm
UNITS/
, LENGTH = METER, MASS = KILOGRAM, FORCE = NEWTON, TIME = SECOND
PART/1, GROUND
MARKER/1, PART = 1, REULER = 0, -90D, 0
PART/2, MASS = {m}, CM = 20, IP = {words(i, ", ")}
MARKER/20, PART = 2, QP = {words(c, ", ")}
MARKER/21, PART = 2, REULER = 0, -90D, 0
MARKER/22, PART = 2, QP = 0, 0, -0.6, REULER = 90D, 90D, 0
PART/3, QG = 0, 0, -0.6, MASS = {n}, CM = 30, IP = {words(j, ", ")}
MARKER/30, PART = 3, QP = {words(d, ", ")}
MARKER/31, PART = 3, REULER = 90D, 90D, 0
JOINT/1, REVOLUTE, I = 21, J = 1
JOINT/2, REVOLUTE, I = 31, J = 22
ACCGRAV/
, KGRAV = -9.81
END"""


def usd() -> str:
    bodies = "".join(
        f"""def Xform "{n}" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
{{
    double3 xformOp:translate = (0, 0, {-0.6 if n == "b" else 0})
    uniform token[] xformOpOrder = ["xformOp:translate"]
    float physics:mass = {m}
    point3f physics:centerOfMass = ({words(c, ", ")})
    float3 physics:diagonalInertia = ({words(moments, ", ")})
}}
"""
        for n, (m, c, moments) in LINKS.items()
    )
    return f"""#usda 1.0
( metersPerUnit = 1
  upAxis = "Z" )
def PhysicsScene "scene"
{{
    float physics:gravityMagnitude = 9.81
    vector3f physics:gravityDirection = (0, 0, -1)
}}
{bodies}
def PhysicsRevoluteJoint "p"
{{
    uniform token physics:axis = "Y"
    rel physics:body1 = </a>
}}
def PhysicsRevoluteJoint "q"
{{
    uniform token physics:axis = "X"
    rel physics:body0 = </a>
    rel physics:body1 = </b>
    point3f physics:localPos0 = (0, 0, -0.6)
}}
"""


def accelerations(model: wt.Model, names: tuple[str, str] = ("p", "q")) -> np.ndarray:
    s = model.build()
    q, v = s.configuration(dict(zip(names, (0.4, -0.7), strict=True))), np.zeros(s.nv)
    for name, value in zip(names, (1.2, -0.8), strict=True):
        v[s.v_slice(name)] = value
    a = s.forward_dynamics(q, v)
    return np.array([a[s.v_slice(name)][0] for name in names])


def test_the_same_arm_from_every_dialect() -> None:
    wanted = accelerations(wt.read(urdf()))
    assert np.abs(wanted).min() > 1.0
    found = {"SDF": accelerations(wt.read(sdf())), "OpenSim": accelerations(wt.read(opensim()))}
    found["Adams"] = accelerations(wt.read(adams()), ("joint 1", "joint 2"))
    if importlib.util.find_spec("mujoco") is not None:
        found["MJCF"] = accelerations(wt.read(mjcf()))
    for name, values in found.items():
        np.testing.assert_allclose(values, wanted, rtol=1e-12, err_msg=name)


def test_the_same_arm_from_usd_in_single_precision(tmp_path: Path) -> None:
    if importlib.util.find_spec("pxr") is None:
        pytest.skip("usd-core is not installed")
    path = tmp_path / "arm.usda"
    path.write_text(usd(), encoding="utf-8")
    np.testing.assert_allclose(accelerations(wt.read(path)), accelerations(wt.read(urdf())), rtol=1e-6)
