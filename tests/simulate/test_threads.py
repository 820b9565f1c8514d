"""Several threads at once: runs and calls give the bits that they give alone, and Python goes on meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import pytest

import whippletree as wt
from whippletree.foundation.once import made_once
from whippletree.simulate.progress import StepBudget
from whippletree.simulate.run_state import TIME
from whippletree.simulate.simulation import Simulation

Array = np.ndarray
T = TypeVar("T")
THREADS = 4


def at_once(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """What tasks return, each in a thread of its own, all let go at the same moment."""
    ready = threading.Barrier(len(tasks))

    def begin(task: Callable[[], T]) -> T:
        ready.wait(timeout=60)
        return task()

    with ThreadPoolExecutor(len(tasks)) as pool:
        return [one.result(timeout=300) for one in [pool.submit(begin, task) for task in tasks]]


def swing() -> wt.System:
    """A double pendulum with a ball joint: quaternions, and nothing that is closed."""
    m = wt.Mechanism("swing")
    upper = m.body("upper", wt.rod(length=0.6, mass=1.0, axis="x"))
    m.revolute("hinge", m.ground, upper, axis="y")
    m.spherical("ball", upper, m.body("lower", wt.box((0.4, 0.1, 0.05), mass=0.7, at=(0.2, 0, 0))), at=(0.6, 0, 0))
    return m.build()


def two_loops() -> wt.System:
    """Two four-bars on one crank, one of them with a spring, and an event."""
    m = wt.Mechanism("two loops")
    crank = m.body("crank", wt.rod(length=0.2, mass=0.5, axis="x"))
    m.revolute("shaft", m.ground, crank, axis="z")
    for name, side in (("left", -1.0), ("right", 1.0)):
        coupler = m.body(f"{name} coupler", wt.rod(length=0.7, mass=0.4, axis="x"))
        rocker = m.body(f"{name} rocker", wt.rod(length=0.5, mass=0.6, axis="x"))
        m.revolute(f"{name} pin", crank, coupler, at=(0.2, 0, 0), axis="z")
        m.revolute(f"{name} bearing", m.ground, rocker, at=(0.8, 0.02 * side, 0), axis="z")
        m.revolute(f"{name} tip", coupler, rocker, at=(0.7, 0, 0), at_child=(0.5, 0, 0), axis="z")
    m.torsion_spring("spring", "left bearing", stiffness=2.0)
    m.event("upright", m.coordinate("shaft") - np.pi / 2)
    return m.build(guess={"shaft": 1.0, "left bearing": 2.0, "right bearing": 2.0})


def runs(s: wt.System, **options: Any) -> list[Callable[[], Array]]:
    """Runs of one system from states of their own."""

    def task(k: int) -> Callable[[], Array]:
        def go() -> Array:
            v = s.consistent_velocities(s.q0, np.full(s.nv, 0.5 + 0.3 * k))
            return Simulation(s, v=v, **options).run(np.linspace(0.0, 1.0, 40))

        return go

    return [task(k) for k in range(THREADS)]


@pytest.mark.parametrize("build", [swing, two_loops])
@pytest.mark.parametrize("options", [{"method": "dopri5"}, {"method": "generalized_alpha", "step": 2e-3}])
def test_runs_in_threads_have_the_bits_of_runs_one_after_another(
    build: Callable[[], wt.System], options: dict[str, Any]
) -> None:
    alone = [run() for run in runs(build(), **options)]
    together = at_once(runs(build(), **options))  # of a system that nothing has been compiled for
    assert all(np.array_equal(a, b) for a, b in zip(alone, together, strict=True))
    assert len({a.tobytes() for a in alone}) == THREADS


@pytest.mark.parametrize("build", [swing, two_loops])
def test_calls_in_threads_have_the_bits_of_calls_one_after_another(build: Callable[[], wt.System]) -> None:
    def calls(s: wt.System) -> list[Callable[[], list[Array]]]:
        def task(k: int) -> Callable[[], list[Array]]:
            def go() -> list[Array]:
                q, found = s.q0, []
                for n in range(20):
                    v = s.consistent_velocities(q, np.full(s.nv, 0.1 * k + 0.01 * n))
                    a = s.forward_dynamics(q, v, np.full(s.nv, 0.3 * k))
                    rows = s.forward_dynamics(np.tile(q, (200, 1)), np.tile(v, (200, 1)))
                    found += [a, rows, s.mass_matrix(q), s.bias_force(q, v), *s.reactions(q, v).values()]
                return [np.asarray(getattr(one, "wrench", one)) for one in found]

            return go

        return [task(k) for k in range(THREADS)]

    alone = [call() for call in calls(build())]
    together = at_once(calls(build()))
    for ours, theirs in zip(alone, together, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


def test_python_goes_on_while_machine_code_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StepBudget, "begin", lambda self: 10**9)  # machine code does not come back before the end
    sim = Simulation(swing(), method="rk4", step=1e-5)
    sim.step(1e-4)
    sim.state = sim.state  # begins anew, with everything compiled
    worker = threading.Thread(target=lambda: sim.run(np.array([3.0])))
    worker.start()
    seen = set()
    while worker.is_alive():
        seen.add(float(sim.run_state.times[TIME]))
    worker.join()
    assert sim.state.t == 3.0
    assert len(seen) > 2  # neither the beginning nor the end


class Slow:
    """A property that takes a while to make."""

    made = 0

    @made_once
    def thing(self) -> object:
        Slow.made += 1
        time.sleep(0.01)
        return object()


def test_what_is_made_once_is_made_once() -> None:
    slow = Slow()
    found = at_once([lambda: slow.thing] * THREADS)
    assert Slow.made == 1
    assert all(one is slow.thing for one in found)


class Link:
    """Two properties, each of which needs the other one of the next link."""

    def __init__(self, after: int) -> None:
        self.next = Link(after - 1) if after else None

    @made_once
    def left(self) -> int:
        time.sleep(1e-3)
        return 1 if self.next is None else 1 + self.next.right

    @made_once
    def right(self) -> int:
        time.sleep(1e-3)
        return 1 if self.next is None else 1 + self.next.left


def test_properties_that_need_each_other_do_not_wait_without_end() -> None:
    """With a lock for each property, one thread has the left one and wants the right one, and the other the reverse."""
    one, two = Link(5), Link(5)
    assert at_once([lambda: one.left, lambda: two.right]) == [6, 6]
