"""Flexible bodies made of points with mass, the same numbers for us and for Exudyn's `ObjectFFRFreducedOrder`.

A beam is rows of four points with mass; its eight modes are those of a clamped beam, without second-order
displacements, which the peer does not have. Both engines get masses, places, modes and reduced stiffness as arrays. The
peer gets one more node without mass, at the centre of mass with the mean of all modes by mass: weight acts there.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

import whippletree as wt

MODES = 8
SPECTRAL_RADIUS = 0.9  # of the generalised-alpha methods on both sides
Array = np.ndarray
Run = Callable[[], tuple[float, Array]]
"""Simulates; returns CPU seconds and where a corner of the tip was at the instants (T, 3)."""


@dataclass(frozen=True)
class PointBeam:
    """A beam along x of points with mass: their masses (N,), places (N, 3), modes (N, 3, n), and stiffness (n, n)."""

    mass: Array
    position: Array
    modes: Array
    stiffness: Array
    length: float

    @property
    def tip(self) -> list[int]:
        """The four points at its end."""
        return list(range(len(self.mass) - 4, len(self.mass)))

    def body(self) -> wt.FlexibleBody:
        """The body for us; "tip" is the middle of its end, "corner" one of the points there."""
        none = np.zeros((len(self.mass), 3, MODES))
        nodes = wt.LumpedNodes(self.mass, np.zeros((len(self.mass), 3, 3)), self.position, self.modes, none)
        where = {
            "tip": wt.Interface(self.position[self.tip].mean(axis=0), translation=self.modes[self.tip].mean(axis=0)),
            "corner": wt.Interface(self.position[-1], translation=self.modes[-1]),
        }
        return wt.FlexibleBody.from_arrays(stiffness=self.stiffness, inertia=nodes, interfaces=where, size=self.length)


def point_beam(length: float, width: float, height: float, elements: int = 20) -> PointBeam:
    """Aluminium; the modes are those of a beam of so many elements, at the corners of its sections."""
    section, material = wt.rectangle(width=width, height=height), wt.aluminium
    made = wt.beam(length=length, section=section, material=material, elements=elements, modes=MODES, stiffening=False)
    assert isinstance(made, wt.FlexibleBody)
    places = made.places()
    x, u, turn = (places.array(name) for name in ("positions", "translation", "rotation"))
    corners = np.array([(0.0, y * width / 2, z * height / 2) for y in (-1, 1) for z in (-1, 1)])
    share = np.ones(len(x))
    share[[0, -1]] = 0.5
    row = share / share.sum() * material.density * width * height * length
    position = (x[:, None] + corners).reshape(-1, 3)
    modes = u[:, None] + np.cross(turn[:, None], corners[:, :, None], axisa=2, axisb=1, axisc=2)
    return PointBeam(
        np.repeat(row / 4, 4), position, modes.reshape(-1, 3, MODES), made.arrays.array("stiffness"), length
    )


# ---------------------------------------------------------------------------------------------------------
# Exudyn


class _FiniteElements:
    """What Exudyn's interface asks of a finite-element model."""

    def __init__(self, beam: PointBeam) -> None:
        from scipy import sparse

        n, share = 3 * len(beam.mass) + 3, beam.mass / beam.mass.sum()
        middle, mean = share @ beam.position, np.einsum("j,jak->ak", share, beam.modes)
        self._nodes = np.concatenate([beam.position, middle[None]])
        self.modeBasis = {"matrix": np.concatenate([beam.modes, mean[None]]).reshape(n, MODES)}
        self.postProcessingModes: dict[str, Any] = {}
        self._mass = sparse.diags_array(np.repeat([*beam.mass, 0.0], 3)).tocsr()
        self._none = sparse.csr_array((n, n))

    def GetNodePositionsAsArray(self) -> Array:
        return self._nodes

    def GetSurfaceTriangles(self) -> list[Any]:
        return []

    GetSurfaceTriangles6 = GetSurfaceTriangles

    def GetMassMatrix(self, sparse: bool) -> Any:
        return self._mass

    def GetStiffnessMatrix(self, sparse: bool) -> Any:
        return self._none  # the reduced one is given


@dataclass
class ExudynModel:
    """An Exudyn system in the making; a body's frame has three angles, which are cheaper than Euler's parameters."""

    marks: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        sys.exudynFast = True  # type: ignore[attr-defined]
        import exudyn as exu
        from exudyn import FEM
        from exudyn import itemInterface as items  # noqa: N813

        self.exu, self.fem, self.items = exu, FEM, items
        self.container = exu.SystemContainer()
        self.mbs = self.container.AddSystem()

    @cached_property
    def ground(self) -> int:
        """The ground's body."""
        return int(self.mbs.AddObject(self.items.ObjectGround()))

    def add(self, beam: PointBeam, at: Array, angle: float, *, weight: float) -> Any:
        """Add a flexible body at rest, turned about z, with its weight against y; a sensor watches a corner."""
        cms = self.fem.ObjectFFRFreducedOrderInterface(_FiniteElements(beam), self.exu.NodeType.RotationRxyz)
        cms.stiffnessMatrixReduced = beam.stiffness
        c, s = np.cos(angle), np.sin(angle)
        axes = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        made = cms.AddObjectFFRFreducedOrderWithUserFunctions(
            self.exu,
            self.mbs,
            positionRef=list(at),
            rotationMatrixRef=axes,
        )
        middle = self.items.MarkerSuperElementPosition(
            bodyNumber=made["oFFRFreducedOrder"], meshNodeNumbers=[len(beam.mass)], weightingFactors=[1.0]
        )
        self._load(self.mbs.AddMarker(middle), beam.mass.sum() * weight)
        kind = self.exu.OutputVariableType.Position
        watched = self.items.SensorSuperElement(
            bodyNumber=made["oFFRFreducedOrder"],
            meshNodeNumber=beam.tip[-1],
            storeInternal=True,
            outputVariableType=kind,
        )
        self.marks.append(self.mbs.AddSensor(watched))
        return made

    def _load(self, marker: int, weight: float) -> None:
        """Let a weight act at a marker."""
        self.mbs.AddLoad(self.items.LoadForceVector(markerNumber=marker, loadVector=[0.0, -weight, 0.0]))

    def rigid(self, mass: float, inertia: float, at: Array, angle: float, *, weight: float) -> int:
        """Add a rigid body turned about z, by its centre, with equal moments of inertia; return its number."""
        node = self.mbs.AddNode(self.items.NodeRigidBodyRxyz(referenceCoordinates=[*at, 0.0, 0.0, angle]))
        given = {"mass": mass, "inertia": [inertia] * 3 + [0.0] * 3}
        body = int(self.mbs.AddObject(self.items.ObjectRigidBody(nodeNumber=node, **given)))
        self._load(self.on_body(body, (0.0, 0.0, 0.0)), mass * weight)
        return body

    def on_body(self, body: int, at: tuple[float, float, float]) -> int:
        """A marker on a body."""
        return int(self.mbs.AddMarker(self.items.MarkerBodyRigid(bodyNumber=body, localPosition=list(at))))

    def hinge(self, first: int, second: int) -> None:
        """A hinge about z between two markers."""
        self.mbs.AddObject(self.items.ObjectJointRevoluteZ(markerNumbers=[first, second]))

    def hold(self, node: int, coordinates: tuple[int, ...]) -> None:
        """Hold coordinates of a node, which costs less than a hinge."""
        for k in coordinates:
            self.mbs.AddObject(self.items.ObjectConnectorCoordinate(markerNumbers=self._on_coordinate(node, k)))

    def _on_coordinate(self, node: int, k: int) -> list[int]:
        still = self.mbs.AddNode(self.items.NodePointGround())
        sides = ((still, 0), (node, k))
        return [self.mbs.AddMarker(self.items.MarkerNodeCoordinate(nodeNumber=n, coordinate=c)) for n, c in sides]

    def solve(self, times: Array, method: str, *, step: float) -> tuple[float, Array]:
        """Simulate; return CPU seconds, and where the corner was at the times."""
        self.mbs.Assemble()
        exu, duration = self.exu, float(times[-1])
        settings = exu.SimulationSettings()
        march = settings.timeIntegration
        settings.solutionSettings.writeSolutionToFile = False
        settings.solutionSettings.sensorsWritePeriod = float(times[0])
        settings.parallel.numberOfThreads = 1
        settings.linearSolverType = exu.LinearSolverType.EXUdense
        march.endTime = duration
        march.numberOfSteps = round(duration / step)
        march.adaptiveStep = march.automaticStepSize = False
        march.newton.useModifiedNewton = True
        march.generalizedAlpha.spectralRadius = SPECTRAL_RADIUS
        kind = exu.DynamicSolverType
        solvers = {"generalised-alpha": kind.GeneralizedAlpha, "trapezoidal": kind.TrapezoidalIndex2}
        begin = time.thread_time()
        self.mbs.SolveDynamic(settings, solverType=solvers[method])
        taken = time.thread_time() - begin
        rows = np.array(self.mbs.GetSensorStoredData(self.marks[0]))
        at = [int(np.argmin(np.abs(rows[:, 0] - t))) for t in times]
        assert np.abs(rows[at, 0] - times).max() < 1e-9 * duration
        return taken, rows[at, 1:4]
