"""Two models are built and traced side by side; what systems of one model need is made once, whoever needs it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import whippletree as wt
from whippletree.formulations.methods import Formulation, TreeMethod, register, unregister
from whippletree.formulations.methods.articulated import ARTICULATED
from whippletree.foundation.once import Lock, made_once, present_lock

WATCHDOG = 120
"""Seconds after which threads count as waiting for each other."""

pytestmark = pytest.mark.rest


def side_by_side(*tasks: Callable[[], Any]) -> list[Any]:
    """What tasks return, each in a thread of its own; fails if one does not end."""
    found: list[Any] = [None] * len(tasks)

    def run(k: int) -> None:
        try:
            found[k] = tasks[k]()
        except BaseException as error:
            found[k] = error

    threads = [threading.Thread(target=run, args=(k,), daemon=True) for k in range(len(tasks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WATCHDOG)
    assert not any(thread.is_alive() for thread in threads), "threads wait for each other"
    for one in found:
        if isinstance(one, BaseException):
            raise one
    return found


def pendulum(length: float) -> wt.System:
    m = wt.Mechanism(f"pendulum of {length} m")
    m.revolute("hinge", m.ground, m.body("rod", wt.rod(length=length, mass=1.0, axis="x")), axis="y")
    return m.build()


def four_bar(length: float) -> wt.System:
    m = wt.Mechanism(f"four-bar of {length} m")
    bodies = [m.body(name, wt.rod(length=length, mass=1.0, axis="x")) for name in ("crank", "coupler", "rocker")]
    m.revolute("A", m.ground, bodies[0], axis="z")
    m.revolute("B", bodies[0], bodies[1], at=(length, 0, 0), axis="z")
    m.revolute("C", bodies[1], bodies[2], at=(length, 0, 0), at_child=(length, 0, 0), axis="z")
    m.revolute("D", m.ground, bodies[2], at=(length, 0, 0), axis="z")
    return m.build(guess={"A": 1.0, "B": -1.0, "C": 1.0, "D": 1.0})


@pytest.fixture
def meeting(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Barrier]:
    """A formulation "meeting", whose tracing waits until two threads are at it."""
    monkeypatch.setenv("WHIPPLETREE_CACHE", "off")
    barrier = threading.Barrier(2, timeout=WATCHDOG / 2)

    def accelerations(walk: Any) -> Any:
        barrier.wait()
        return ARTICULATED.tree.accelerations(walk)

    mine = register(Formulation("meeting", tree=TreeMethod(accelerations)))
    yield barrier
    unregister(mine)


def test_two_models_are_traced_at_the_same_time(meeting: threading.Barrier) -> None:
    systems = [pendulum(1.0), pendulum(2.0)]
    found = side_by_side(
        *(lambda s=s: s.forward_dynamics([0.3], [0.1], formulation="meeting") for s in systems)  # type: ignore[misc]
    )
    assert [float(a[0]) for a in found] == pytest.approx([1.5 * 9.81 * np.cos(0.3) / length for length in (1.0, 2.0)])


def test_a_function_of_one_model_is_traced_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHIPPLETREE_CACHE", "off")
    traced: list[threading.Thread] = []

    def accelerations(walk: Any) -> Any:
        traced.append(threading.current_thread())
        return ARTICULATED.tree.accelerations(walk)

    mine = register(Formulation("counted", tree=TreeMethod(accelerations)))
    try:
        s = pendulum(1.0)
        found = side_by_side(*[lambda: s.forward_dynamics([0.3], [0.1], formulation="counted")] * 4)
    finally:
        unregister(mine)
    assert len(traced) == 1
    assert len({a.tobytes() for a in found}) == 1


def test_systems_of_one_model_share_its_lock() -> None:
    s, other = four_bar(1.0), four_bar(1.0)
    twin = s.kernels.planned(s.kernels.loop_plan)
    assert twin.kernels.equations.lock is s.kernels.equations.lock
    assert s.absolute.system.kernels.equations.lock is s.kernels.equations.lock
    assert other.kernels.equations.lock is not s.kernels.equations.lock


def all_calls(build: Callable[[], wt.System], order: Sequence[int]) -> list[bytes]:
    """The bits of some results of a model, asked for in some order."""
    s = build()
    calls: list[Callable[[], Any]] = [
        lambda: s.forward_dynamics(s.q0, s.v0),
        lambda: s.mass_matrix(s.q0),
        lambda: s.natural.configuration(s.q0),
        lambda: s.simulate(0.05).q,
        lambda: s.assemble(s.q0),
        lambda: s.absolute.system.mass_matrix(s.absolute.system.q0),
    ]
    found = {k: np.asarray(calls[k]()).tobytes() for k in order}
    return [found[k] for k in sorted(found)]


def test_models_in_many_threads_do_not_wait_for_each_other() -> None:
    """Everything that is made, in several orders, of three models in six threads."""
    builds = [lambda: pendulum(1.5), lambda: four_bar(1.5), lambda: four_bar(2.5)]
    rng = np.random.default_rng(3)
    orders = [rng.permutation(6).tolist() for _ in range(6)]
    found = side_by_side(*(lambda k=k: all_calls(builds[k % 3], orders[k]) for k in range(6)))  # type: ignore[misc]
    for k in range(3):
        assert found[k] == found[k + 3]


def test_what_has_no_model_is_made_under_the_lock_that_is_held() -> None:
    class Plain:
        @made_once
        def lock_of_making(self) -> Lock:
            return present_lock()

    class OfModel(Plain):
        def __init__(self) -> None:
            self.lock = Lock()

    mine = Lock()
    with mine:
        assert Plain().lock_of_making is mine
        own = OfModel()
        assert own.lock_of_making is own.lock
    assert Plain().lock_of_making is not mine
