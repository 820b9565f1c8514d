"""Records the systems that an example builds and runs, and says which of them its picture shows, and where."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import whippletree as wt


class Recorder:
    """Listens to `Mechanism.build` and `System.simulate` from `install` on."""

    def __init__(self) -> None:
        self._built: list[wt.System] = []
        self._runs: list[wt.Trajectory] = []
        self._installed = False

    def forget(self) -> None:
        """Forget the systems and runs that were recorded."""
        self._built.clear()
        self._runs.clear()

    def install(self) -> None:
        """Begin to listen; a second call does nothing."""
        if self._installed:
            return
        self._installed = True
        build, simulate = wt.Mechanism.build, wt.System.simulate

        def recorded_build(mechanism: wt.Mechanism, *args: Any, **options: Any) -> wt.System:
            self._built.append(build(mechanism, *args, **options))
            return self._built[-1]

        def recorded_run(system: wt.System, *args: Any, **options: Any) -> wt.Trajectory:
            self._runs.append(simulate(system, *args, **options))
            self._built.append(system)
            return self._runs[-1]

        wt.Mechanism.build, wt.System.simulate = recorded_build, recorded_run  # type: ignore[method-assign, assignment]

    def shown(self) -> tuple[wt.System | None, npt.NDArray[np.float64] | None]:
        """Return the last system with the most bodies, in the middle of its last run, or where it is assembled."""
        if not self._built:
            return None, None
        shown = max(reversed(self._built), key=lambda system: len(system.description.bodies))
        own = [run for run in self._runs if run.system is shown]
        return shown, own[-1].q[len(own[-1].q) // 2] if own else shown.q0
