"""Jobs handed to threads that listen: each is done once, and none outlives the call that offered it.

The drivers are Python functions here, which machine code calls like any other; so a listener can be held up.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest

from support.systems import arm, same_bits, state
from whippletree.kernels import kernel as kernels
from whippletree.kernels import threads as helpers
from whippletree.kernels.relay import ASLEEP, BUSY, LISTENING, Relay

FOREVER = 2**62
DRIVER = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that is bound to happen."""
    late = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < late
        time.sleep(0.0005)


@contextmanager
def listeners(count: int) -> Iterator[Relay]:
    """Return a relay at every slot of which a thread listens until the bell rings."""
    relay = Relay(count)
    relay._rounds = FOREVER
    threads = [threading.Thread(target=relay.listen, args=(i,), daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()
    until(lambda: relay.states == [LISTENING] * count)
    try:
        yield relay
    finally:
        relay.bell = True
    for thread in threads:
        thread.join(60)
    assert relay.states == [ASLEEP] * count


def address(driver: Callable[[int, int, int], None]) -> int:
    return ctypes.cast(driver, ctypes.c_void_p).value or 0


def test_every_listener_takes_one_of_the_jobs():
    together = threading.Barrier(4)
    calls: list[tuple[int, int, int, int]] = []

    @DRIVER
    def driver(batch: int, scratch: int, wait: int) -> None:
        together.wait(60)  # all four are at work at once
        calls.append((batch, scratch, wait, threading.get_ident()))

    with listeners(3) as relay:
        for _ in range(20):
            calls.clear()
            relay.lead(address(driver), 77, [10, 11, 12, 13])
            assert sorted(call[:3] for call in calls) == [(77, 10, 1), (77, 11, 0), (77, 12, 0), (77, 13, 0)]
            assert len({call[3] for call in calls}) == 4
            assert [call[1] for call in calls if call[3] == threading.get_ident()] == [10]
            assert relay.states == [LISTENING] * 3


def test_no_more_listeners_are_asked_than_wanted():
    arrived = threading.Barrier(2)

    @DRIVER
    def driver(batch: int, scratch: int, wait: int) -> None:
        arrived.wait(60)

    with listeners(3) as relay:
        relay.lead(address(driver), 0, [1, 2])
        assert relay.states == [LISTENING] * 3


@pytest.mark.parametrize("word", [ASLEEP, LISTENING, BUSY])
def test_a_job_that_nobody_takes_is_withdrawn(word):
    """Nobody is at the slots, whatever they say: as if the listener were held up before it looks."""
    calls = []

    @DRIVER
    def driver(batch: int, scratch: int, wait: int) -> None:
        calls.append((scratch, wait))
        offered = relay.states
        assert [w for w in offered if w == word] == offered or (word == LISTENING and min(offered) > BUSY)

    relay = Relay(2)
    for i in range(2):
        relay._words[16 * i] = word
    relay.lead(address(driver), 0, [5, 6, 7])
    assert calls == [(5, 1)]
    assert relay.states == [word] * 2


def test_a_job_that_has_been_taken_is_waited_for():
    release, begun, over = threading.Event(), threading.Event(), threading.Event()

    @DRIVER
    def driver(batch: int, scratch: int, wait: int) -> None:
        if wait:
            begun.wait(60)
        else:
            begun.set()
            release.wait(60)

    def lead(relay: Relay) -> None:
        relay.lead(address(driver), 0, [1, 2])
        over.set()

    with listeners(1) as relay:
        leader = threading.Thread(target=lead, args=(relay,))
        leader.start()
        begun.wait(60)
        assert relay.states == [BUSY]
        calls: list[int] = []

        @DRIVER
        def other(batch: int, scratch: int, wait: int) -> None:
            calls.append(scratch)

        relay.lead(address(other), 0, [8, 9])  # meanwhile somebody else finds nobody, and goes on alone
        assert calls == [8]
        assert not over.wait(0.02)
        release.set()
        leader.join(60)
        assert over.is_set()


def test_a_listener_goes_when_nothing_comes_or_the_bell_rings():
    relay = Relay(1)
    relay.listen(0)
    assert relay.states == [ASLEEP]
    relay._rounds = FOREVER
    relay.bell = True
    relay.listen(0)
    assert relay.states == [ASLEEP]


def test_a_listener_that_is_fed_hears_the_bell():
    """Otherwise tasks would be left lying in the queue, with their arrays, while several threads call."""

    @DRIVER
    def driver(batch: int, scratch: int, wait: int) -> None:
        if wait:
            until(lambda: relay.bell)  # the listener has taken the job
        else:
            relay.bell = True

    with listeners(1) as relay:
        relay.lead(address(driver), 0, [1, 2])
        until(lambda: relay.states == [ASLEEP])


def test_many_callers_share_the_listeners():
    """Each job is done by one thread, each caller has all of its jobs back, and no slot is lost."""
    taken: list[int] = []

    @DRIVER
    def driver(batch: int, scratch: int, wait: int) -> None:
        taken.append(scratch)

    def call(k: int) -> bool:
        for i in range(50):
            first = 10_000 * k + 10 * i
            relay.lead(address(driver), k, [first, first + 1, first + 2])
            done = [s for s in list(taken) if first <= s < first + 10]
            if first not in done or len(set(done)) != len(done):
                return False
        return True

    with listeners(2) as relay, ThreadPoolExecutor(6) as pool:
        assert all(pool.map(call, range(1, 7)))
        assert relay.states == [LISTENING] * 2
    assert len(set(taken)) == len(taken)
    assert sum(s % 10 == 0 for s in taken) == 300


# ---------------------------------------------------------------------- the helpers of batches


def attentive() -> None:
    """Have every helper listen until it is called."""
    together = threading.Barrier(len(helpers._HELPERS) + 1)
    for _ in helpers._HELPERS:
        helpers.help_with(lambda: together.wait(60))
    together.wait(60)
    until(lambda: helpers.listening() == len(helpers._HELPERS))


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have helpers listen for as long as it takes."""
    monkeypatch.setattr(kernels, "processors", lambda: 1 + len(helpers._HELPERS))
    helpers.help_with(int)
    monkeypatch.setattr(helpers._RELAY, "_rounds", FOREVER)
    attentive()
    yield
    monkeypatch.undo()
    helpers.help_with(int)
    until(lambda: helpers.listening() == 0)


def test_a_helper_that_listens_needs_no_task(patient, monkeypatch):
    system = arm(3).build()
    given = state(system, 1, (3000,))
    expected = system.forward_dynamics(*given, threads=1)

    def refuse(task: object) -> None:
        raise AssertionError("a helper listens")

    monkeypatch.setattr(kernels, "help_with", refuse)
    for count in (65, 129, 1000, 3000):
        rows = [x[:count] for x in given]
        for _ in range(20):
            out = np.full((count, 3), np.nan)
            system.forward_dynamics(*rows, threads=1 + len(helpers._HELPERS), out=out)
            assert same_bits(out, expected[:count])
            assert helpers.listening() == len(helpers._HELPERS)


def test_what_listeners_find_wrong_is_told(patient):
    kernel = arm(3).build().kernels.kernel("forward_dynamics")
    q, v, tau = np.zeros((3, 2000, 3))
    v[1999, 1] = np.inf  # helpers claim from the back
    for _ in range(20):
        with pytest.raises(kernels.NotFiniteError) as caught:
            kernel.many([q, v, tau], [np.empty((2000, 3))], 2000, 2)
        assert caught.value.where == "input"
        assert 1999 - caught.value.state < 8


def test_a_task_reaches_helpers_that_listen(patient):
    done = threading.Barrier(len(helpers._HELPERS) + 1)
    for _ in helpers._HELPERS:
        helpers.help_with(lambda: done.wait(60))
    done.wait(60)


def _child(queue: multiprocessing.Queue) -> None:
    alone = helpers.listening() == 0 and not helpers._HELPERS
    system = arm(3).build()
    given = state(system, 1, (3000,))
    good = same_bits(system.forward_dynamics(*given, threads=2), system.forward_dynamics(*given, threads=1))
    queue.put(alone and good)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_has_no_listeners(patient):
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_child, args=(queue,), daemon=True)
    child.start()
    try:
        assert queue.get(timeout=60)
        child.join(60)
        assert child.exitcode == 0
    finally:
        child.kill()
    assert helpers.listening() == len(helpers._HELPERS)


STRESS = """
    import os, random, threading
    os.cpu_count = lambda: 5  # four helpers, whatever the machine has
    from concurrent.futures import ThreadPoolExecutor
    import numpy as np
    from support.systems import arm, same_bits, state
    from whippletree.kernels import kernel, threads
    kernel.processors = lambda: 5
    system = arm(3).build()
    given = state(system, 3, (2000,))
    expected = system.forward_dynamics(*given, threads=1)

    def work(k):
        rng = random.Random(k)
        for _ in range(150):
            start, count = rng.randrange(1000), rng.randrange(1, 1000)
            rows = slice(start, start + count)
            out = np.full((count, 3), np.nan)
            system.forward_dynamics(*(x[rows] for x in given), out=out, threads=rng.randrange(1, 7))
            assert same_bits(out, expected[rows])
            bad = given[1][rows].copy()
            bad[rng.randrange(count), 0] = np.nan
            try:
                system.forward_dynamics(given[0][rows], bad, threads=3)
            except ValueError:
                continue
            raise AssertionError("not noticed")

    with ThreadPoolExecutor(5) as pool:
        list(pool.map(work, range(5)))
    assert len(threads._HELPERS) == 4
    threads._RELAY._rounds = 2**62
    together = threading.Barrier(5)
    for _ in range(4):
        threads.help_with(lambda: together.wait(60))
    together.wait(60)
    print("good", flush=True)  # and end, though four threads listen
"""


def test_more_helpers_than_processors_and_an_end_while_they_listen():
    command = [sys.executable, "-c", textwrap.dedent(STRESS)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, "good\n"), done.stderr
