"""What a node remembers: one answer for one configuration, and never another node's or another motion's."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from whippletree.elements.joints import Joint, Revolute, Universal
from whippletree.elements.joints.reversal import Reversed
from whippletree.formulations.nodes.node import Node
from whippletree.spatial import RigidInertia

JOINTS = (Revolute(), Universal(), Reversed(Universal()))


def node_of(joint: Joint, name: str = "") -> Node:
    q, v = ca.SX.sym(f"q{name}", joint.nq), ca.SX.sym(f"v{name}", joint.nv)
    none = ca.SX.zeros(joint.nv)
    return Node(joint, ca.SX(ca.DM.eye(3)), ca.SX([0.1, 0.2, 0.3]), RigidInertia.zero(), q, v, none, none)


def numbers(node: Node, expression: ca.SX, q: list[float], v: list[float]) -> np.ndarray:
    return np.array(ca.Function("f", [node.q, node.v], [expression])(q[: node.q.numel()], v[: node.v.numel()]))


@pytest.mark.parametrize("joint", JOINTS, ids=lambda joint: f"{type(joint).__name__} {joint.kind}")
def test_what_is_asked_again_is_not_traced_again(joint: Joint) -> None:
    node = node_of(joint)
    x = node.configuration()
    loaded = replace(node, push=ca.SX.sym("f", 6), tau=ca.SX.sym("tau", joint.nv))
    for same in (node, loaded):
        assert same.configuration() is x
        assert same.shift(x) is node.shift(x)
        assert same.joint_map(x) is node.joint_map(x)
        assert same.joint_bias(x) is node.joint_bias(x)
    assert node.shift(x).rotation() is node.shift(x).rotation()


@pytest.mark.parametrize("joint", JOINTS, ids=lambda joint: f"{type(joint).__name__} {joint.kind}")
def test_another_motion_has_a_bias_of_its_own(joint: Joint) -> None:
    node = node_of(joint)
    x = node.configuration()
    moving, resting = node.joint_bias(x), node.idle().joint_bias(x)
    q, v = [0.4, -0.7], [1.5, 0.8]
    expected = numbers(node, joint.joint_bias(joint.configuration(node.q), node.v), q, v)
    assert (numbers(node, moving, q, v) == expected).all()
    assert (numbers(node, resting, q, v) == 0.0).all()


def test_another_configuration_is_traced_by_itself() -> None:
    node = node_of(Revolute())
    here, there = node.configuration(), ca.SX.sym("x", 2)
    assert node.shift(there) is not node.shift(here)
    turned = ca.Function("f", [there], [node.shift(there).rotation()])([0.0, 1.0])
    assert (np.array(turned) == [[0, -1, 0], [1, 0, 0], [0, 0, 1]]).all()


def test_nodes_share_nothing() -> None:
    one, other = node_of(Revolute(), "1"), node_of(Revolute(), "2")
    assert one.shift(one.configuration()) is not other.shift(other.configuration())
    assert ca.symvar(other.configuration())[0].name() == "q2"
