"""Gymnasium's robots come to rest on their floor as in MuJoCo: as high, to what both sink in, and with their weight.

Friction creeps in both until none is needed; so what rests on two or four feet that only friction keeps apart comes to
the same rest from the same start. What falls over may lie in many ways: it starts from MuJoCo's rest, and stays there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import whippletree as wt

pytestmark = pytest.mark.deep
G = 9.81
ROBOTS = {"hopper": 30.0, "walker2d": 60.0, "half_cheetah": 200.0, "ant": 200.0, "humanoid": 20.0}
"""How long a fall and what creeps after it take."""

UNIQUE = ("hopper", "half_cheetah", "ant")
LEANING = (0.0, 0.0, 0.55, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, -1.0, 0.0, -1.0, 0.0, 1.0)
"""The ant's start that is in its file: that of its reference position is beyond the ranges of its joints."""


def file_of(robot: str) -> Path:
    gymnasium = pytest.importorskip("gymnasium", reason="Gymnasium's robots are not installed")
    return Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets" / f"{robot}.xml"


class Pair:
    """A robot here and in MuJoCo, where it has come to rest."""

    def __init__(self, robot: str) -> None:
        mujoco.set_mju_user_warning(lambda text: None)  # which would go into a file in the current folder
        self.mj = mujoco.MjModel.from_xml_path(str(file_of(robot)))
        self.data = mujoco.MjData(self.mj)
        if robot == "ant":
            self.data.qpos[:] = LEANING
        self.start = self.data.qpos.copy()
        while self.data.time < 60.0:
            mujoco.mj_step(self.mj, self.data)
        mujoco.mj_forward(self.mj, self.data)
        self.model = wt.read(file_of(robot), contacts=True, stops=True)
        self.system = self.model.build()
        self.names = [name for k in range(1, self.mj.nbody) if (name := self.mj.body(k).name)]

    def coordinates(self, qpos: np.ndarray) -> np.ndarray:
        found: dict[str, Any] = {}
        for j in range(self.mj.njnt):
            a = int(self.mj.jnt_qposadr[j])
            free = self.mj.jnt_type[j] == mujoco.mjtJoint.mjJNT_FREE
            found[self.mj.jnt(j).name] = (*qpos[a + 3 : a + 7], *qpos[a : a + 3]) if free else qpos[a]
        return self.system.assemble(found)

    def height(self, q: np.ndarray) -> float:
        """That of the centre of mass."""
        return float(self.system.center_of_mass(q)[2])

    def heights(self, q: np.ndarray) -> np.ndarray:
        return np.array([self.system.pose(q, name)[2, 3] for name in self.names])

    @property
    def theirs(self) -> np.ndarray:
        return np.array([self.data.body(name).xpos[2] for name in self.names])

    @property
    def depths(self) -> float:
        """The most that MuJoCo's sinks in, and that ours may."""
        largest = max(2 * (size[0] + size[1]) for size in self.mj.geom_size[1:])
        return float((self.data.contact.includemargin - self.data.contact.dist).max()) + 1e-3 * largest

    def carried(self, run: wt.Trajectory) -> float:
        """What the floor carries at the end, as a share of the weight."""
        forces = run.forces()
        total = sum(forces[name].wrenches[-1, 0, 5] for name in forces if name.endswith(" on floor"))
        return float(total / (self.mj.body_mass.sum() * G))


@pytest.fixture(scope="module", params=ROBOTS)
def pair(request: pytest.FixtureRequest) -> tuple[str, Pair]:
    return request.param, Pair(request.param)


def test_what_falls_comes_to_rest_with_its_weight_on_the_floor(pair: tuple[str, Pair]) -> None:
    robot, both = pair
    duration = ROBOTS[robot]
    run = both.system.simulate(duration, q=both.coordinates(both.start), every=duration / 20)
    assert run.certificate.ok
    assert np.abs(run.v[-1]).max() < 0.01
    assert both.carried(run) == pytest.approx(1.0, abs=1e-3)
    if robot in UNIQUE:
        assert np.abs(both.heights(run.q[-1]) - both.theirs).max() < both.depths


def test_what_rests_in_mujoco_stays_there(pair: tuple[str, Pair]) -> None:
    _, both = pair
    assert np.abs(both.data.qvel).max() < 0.01
    run = both.system.simulate(10.0, q=both.coordinates(both.data.qpos), every=0.5)
    assert run.certificate.ok
    assert both.carried(run) == pytest.approx(1.0, abs=1e-3)
    assert both.height(run.q[-1]) == pytest.approx(float(both.data.subtree_com[0][2]), abs=both.depths)
    assert np.abs(both.heights(run.q[-1]) - both.theirs).max() < 2 * both.depths  # bodies lean on others
