"""A few mechanisms for tests of kernels and calls, with what is needed to look at bits."""

from __future__ import annotations

from functools import cache
from typing import Any

import casadi as ca
import numpy as np

import whippletree as wt
from whippletree.kernels.entry import Signature
from whippletree.kernels.kernel import Kernel
from whippletree.kernels.lowering import StraightLine


def arm(joints: int = 3, name: str = "arm", prescribed: tuple[int, ...] = ()) -> wt.Mechanism:
    """Return a chain of revolute joints with mixed axes, and a frame at its tip."""
    m = wt.Mechanism(name)
    before: Any = m.ground
    for i in range(joints):
        link = m.body(f"link {i}", wt.rod(0.5, mass=1.0 + 0.1 * i) + wt.sphere(0.1, mass=0.5, at=(0.2, 0.1, 0.05)))
        at = (0.5, 0.0, 0.1) if i else (0.0, 0.0, 0.0)
        m.revolute(f"joint {i}", before, link, at=at, axis="zyx"[i % 3], prescribed=i in prescribed)
        before = link
    if joints:
        turned = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
        m.frame("tip", on=before, at=(0.5, 0.1, -0.2), rotation=turned)
    return m


def floating(name: str = "floating") -> wt.Mechanism:
    """Return a free body with a spherical and a prismatic branch: two quaternions."""
    m = wt.Mechanism(name)
    base = m.body("base", wt.box((0.3, 0.2, 0.1), mass=3.0))
    m.free("flight", m.ground, base)
    ball = m.body("ball", wt.box((0.1, 0.1, 0.4), mass=1.0, at=(0.0, 0.0, -0.2)))
    m.spherical("socket", base, ball, at=(0.1, 0.0, 0.0))
    piston = m.body("piston", wt.cylinder(0.05, 0.2, mass=0.7))
    m.prismatic("slide", base, piston, at=(-0.1, 0.0, 0.0), axis=(1.0, 1.0, 0.0))
    return m


@cache
def chain() -> wt.System:
    """Return the system of an arm of three joints."""
    return arm(3).build()


@cache
def floater() -> wt.System:
    """Return the system of `floating`."""
    return floating().build()


def four_bar(lengths: tuple[float, float, float, float] = (1.0, 2.0, 1.5, 2.0)) -> wt.Mechanism:
    """Crank, coupler, rocker and the distance of the ground pivots, in the x-z plane."""
    crank_length, coupler_length, rocker_length, base = lengths
    m = wt.Mechanism("four-bar")
    crank = m.body("crank", wt.rod(length=crank_length, mass=1.0, axis="x"))
    coupler = m.body("coupler", wt.rod(length=coupler_length, mass=2.0, axis="x"))
    rocker = m.body("rocker", wt.rod(length=rocker_length, mass=1.5, axis="x"))
    m.revolute("A", m.ground, crank, axis="y")
    m.revolute("B", crank, coupler, at=(crank_length, 0, 0), axis="y")
    m.revolute("C", coupler, rocker, at=(coupler_length, 0, 0), at_child=(rocker_length, 0, 0), axis="y")
    m.revolute("D", m.ground, rocker, at=(base, 0, 0), axis="y")
    return m


UPRIGHT = {"A": 1.2, "B": -1.0, "D": 1.6}
"""Where `upright_four_bar` stands, roughly."""


def upright_four_bar() -> wt.Mechanism:
    """Return a four-bar of three rods in the x-y plane, in which gravity is along -y."""
    m = wt.Mechanism("four-bar", gravity=(0, -9.81, 0))
    rods = [m.body(f"rod {i}", wt.rod(length=1.0 + 0.2 * i, mass=1.0, axis="x")) for i in range(3)]
    m.revolute("A", m.ground, rods[0], axis="z")
    m.revolute("B", rods[0], rods[1], at=(1, 0, 0), axis="z")
    m.revolute("C", rods[1], rods[2], at=(1.2, 0, 0), at_child=(1.4, 0, 0), axis="z")
    m.revolute("D", m.ground, rods[2], at=(1.5, 0, 0), axis="z")
    return m


def crank_and_rocker() -> wt.Mechanism:
    """A four-bar whose crank turns; the rocker's angle says nothing of it where the rocker turns back."""
    m = wt.Mechanism("crank and rocker", gravity=(0, 0, 0))
    crank = m.body("crank", wt.rod(length=0.3, mass=1.0, axis="x"))
    coupler = m.body("coupler", wt.rod(length=1.0, mass=1.0, axis="x"))
    rocker = m.body("rocker", wt.rod(length=0.8, mass=1.0, axis="x"))
    m.revolute("A", m.ground, crank, axis="z")
    m.revolute("B", crank, coupler, at=(0.3, 0, 0), axis="z")
    m.revolute("D", m.ground, rocker, at=(1, 0, 0), axis="z")
    m.revolute("C", coupler, rocker, at=(1, 0, 0), at_child=(0.8, 0, 0), axis="z")
    return m


def loaded(name: str = "loaded") -> wt.Mechanism:
    """Return an arm with its payload and gravity as parameters."""
    m = arm(3, name)
    payload, g = m.parameter("payload", 2.0), m.parameter("g", 9.81)
    m.gravity = (0.0, 0.0, -g)
    m.fixed("grip", "link 2", m.body("load", wt.sphere(0.1, mass=payload)), at=(0.5, 0.0, 0.0))
    return m


def state(system: wt.System, seed: int = 0, batch: tuple[int, ...] = ()) -> tuple[Any, Any, Any]:
    """Return random q, v and tau."""
    rng = np.random.default_rng(seed)
    count = int(np.prod(batch)) if batch else 1
    q = np.array([system.random(rng) for _ in range(count)]).reshape(*batch, system.nq)
    return q, rng.normal(size=(*batch, system.nv)), rng.normal(size=(*batch, system.nv))


def kernel_of(function: ca.Function, **options: Any) -> Kernel:
    """Return a kernel of any CasADi function, without a disk cache; its first result is seen as a vector."""
    inputs = tuple((function.name_in(i), function.numel_in(i)) for i in range(function.n_in()))
    outputs = tuple((function.name_out(i), function.numel_out(i)) for i in range(function.n_out()))
    signature = Signature(inputs, outputs, (outputs[0][1],))
    return Kernel("test", signature, lambda: StraightLine(function), None, **options)


def run_one(kernel: Kernel, *inputs: Any) -> list[np.ndarray]:
    """Evaluate one state the plain way and return the outputs."""
    outputs = [np.full(size, np.nan) for size in kernel.output_sizes]
    kernel.one([np.atleast_1d(np.asarray(x, dtype=np.float64)) for x in inputs], outputs)
    return outputs


def run_many(kernel: Kernel, *inputs: Any, threads: int = 1) -> list[np.ndarray]:
    """Evaluate a batch (rows) and return the outputs."""
    arrays = [np.ascontiguousarray(x, dtype=np.float64) for x in inputs]
    count = max(len(a) for a in arrays if a.ndim > 1)
    outputs = [np.full((count, size), np.nan) for size in kernel.output_sizes]
    kernel.many(arrays, outputs, count, threads)
    return outputs


def bits(array: Any) -> np.ndarray:
    """Return the numbers' bits, so that comparisons tell -0.0 from 0.0."""
    return np.ascontiguousarray(array, dtype=np.float64).view(np.int64)


def same_bits(a: Any, b: Any) -> bool:
    """Tell whether two arrays are equal bit by bit."""
    return np.shape(a) == np.shape(b) and bool((bits(a) == bits(b)).all())
