"""Checkpoints: killed runs go on to the same bits, and files that are no good are refused."""

from __future__ import annotations

import inspect
import os
import resource
import signal
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whippletree as wt
from support.sampling import deep, rest
from whippletree.simulate import Simulation
from whippletree.simulate.sampled_run import SampledRun
from whippletree.studies import checkpoint_files
from whippletree.studies.array_archives import read_archive, write_archive

MODEL = """
name: four-bar with a ball
gravity: [0, -9.81, 0]
parameters: {k: 0}
bodies:
  a: {rod: {length: 1, mass: 1, axis: x}}
  b: {rod: {length: 1.2, mass: 1, axis: x}}
  c: {rod: {length: 1.4, mass: 1, axis: x}}
  ball: {mass: 0.3, inertia: [0.1, 0.2, 0.3]}
joints:
  A: {revolute: [ground, a], axis: z}
  B: {revolute: [a, b], at: [1, 0, 0], axis: z}
  C: {revolute: [b, c], at: [1.2, 0, 0], at_child: [1.4, 0, 0], axis: z}
  D: {revolute: [ground, c], at: [1.5, 0, 0], axis: z}
  S: {spherical: [c, ball], at: [0.5, 0, 0]}
states: {z: {value: 1, rate: '-state("z") + sin(rate("A"))'}}
forces: {pull: {actuator: A, effort: '-k * coordinate("A")'}}
events:
  low: {expression: 'cos(coordinate("A"))', parameters: {k: k + 0.1}}
  pass: {expression: 'sin(coordinate("A"))'}
start: {guess: {A: 1.2, B: -1.0, D: 1.6}, velocities: {A: 2, S: [1, 2, 3]}}
"""


class Speed:
    """A controller that remembers: it adds up what the crank's speed lacks, and counts its calls."""

    def __init__(self) -> None:
        self.sum, self.calls = 0.0, 0

    def __call__(self, t: float, q: Any, v: Any, z: Any) -> dict[str, float]:
        self.sum += 0.05 * (3.0 - v[0])
        self.calls += 1
        efforts = {"A": 2.0 * (3.0 - v[0]) + 4.0 * self.sum}
        return efforts | ({"D": 0.3} if self.calls % 3 else {})  # in between, D keeps that of tau

    def get_state(self) -> list[float]:
        return [self.sum, self.calls]

    def set_state(self, state: Any) -> None:
        self.sum, self.calls = float(state[0]), int(state[1])


# The child ends itself by a signal nobody handles, some processor time after its first checkpoint: at a moment
# that is random for the run, but does not depend on how busy the machine is.
CHILD = (
    f"""
from typing import Any
{inspect.getsource(Speed)}
"""
    + """
import signal, sys, whippletree as wt
model, path, method, duration, delay, period = sys.argv[1:7]
from pathlib import Path
from whippletree.studies import checkpoint_files
from whippletree.simulate import progress
progress._WISH, checkpoint_files._SLOW = 0.005, 1.0
write = checkpoint_files.CheckpointWriter.write
def armed(*given, **more):
    write(*given, **more)
    if signal.getitimer(signal.ITIMER_PROF)[0] == 0.0:
        signal.setitimer(signal.ITIMER_PROF, float(delay))
checkpoint_files.CheckpointWriter.write = armed
options = {"rk4": {"step": 1e-3}, "trapezoidal": {"step": 2e-3}}.get(method, {"tolerance": 1e-9})
controlled = {"controller": Speed(), "period": float(period)} if period != "none" else {}
if Path(path).exists():
    wt.resume(path, checkpoint_every=0.02, **controlled)
else:
    options |= controlled | ({"tau": {"D": 0.1}} if controlled else {})
    model = wt.read(model)
    model.simulate(
        duration=float(duration), every=0.05, method=method, checkpoint=path, checkpoint_every=0.02, **options
    )
"""
)


def settings(method: str, period: float | None = None) -> dict[str, Any]:
    steps = {"rk4": {"step": 1e-3}, "trapezoidal": {"step": 2e-3}}
    options: dict[str, Any] = {"every": 0.05, "method": method, **steps.get(method, {"tolerance": 1e-9})}
    return options if period is None else options | {"controller": Speed(), "period": period, "tau": {"D": 0.1}}


def whole(method: str, duration: float, period: float | None = None) -> wt.Trajectory:
    return wt.read(MODEL).simulate(duration=duration, **settings(method, period))


def same(a: wt.Trajectory, b: wt.Trajectory) -> None:
    for name in ("t", "q", "v", "z", "work", "parameters", "efforts"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    assert [(e.name, e.t) for e in a.events] == [(e.name, e.t) for e in b.events]
    assert all(np.array_equal(x.q, y.q) for x, y in zip(a.events, b.events, strict=True))
    for name in ("steps", "refused", "evaluations", "replans", "singular"):
        assert a.certificate[name] == b.certificate[name], name


class PlugError(Exception):
    pass


@pytest.mark.parametrize(
    ("method", "period"),
    [
        *[("dopri5", None), *rest([("adams", 0.137), ("trapezoidal", None)])],
        *deep([("dop853", None), ("adams", None), ("rk4", None), ("dopri5", 0.137), ("trapezoidal", 0.137)]),
    ],
)
def test_a_run_goes_on_to_the_same_bits(
    method: str, period: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # pull the plug now and then, in one process: every so many looks, and once just after a sample
    duration = 1.5 if method == "trapezoidal" else 4.0
    reference = whole(method, duration, period)
    assert reference.certificate.steps > 60
    assert len(reference.events) > 2
    path = tmp_path / "run.ckpt"
    looks, plugged = [0], []
    gap = reference.certificate.steps // (7 * 5)

    def look(self: checkpoint_files.CheckpointWriter, run: SampledRun) -> None:
        looks[0] += 1
        place = (run.sample, run.simulation.state.t > run.samples[run.sample])
        if looks[0] % gap == 0 or (place == (5, False) and place not in plugged):
            plugged.append(place)
            self.write(run)
            raise PlugError

    monkeypatch.setattr(checkpoint_files.CheckpointWriter, "look", look)
    monkeypatch.setattr("whippletree.simulate.progress._FIRST", 7)
    monkeypatch.setattr("whippletree.simulate.progress._MOST", 7)
    run = None
    while run is None:
        try:
            if path.exists():
                run = wt.resume(path, **again(period))
            else:
                run = wt.read(MODEL).simulate(duration=duration, checkpoint=path, **settings(method, period))
        except PlugError:
            pass
    assert len(plugged) > 3
    if period is not None:
        assert len({sample for sample, _ in plugged}) > 3
        assert {later for _, later in plugged} == {False, True}
    same(run, reference)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    same(wt.resume(path, **again(period)), reference)  # finished: there is nothing left to do


def again(period: float | None) -> dict[str, Any]:
    """What is given at resuming: a controller that remembers nothing yet."""
    return {} if period is None else {"controller": Speed()}


@pytest.mark.rest
@pytest.mark.parametrize(
    ("method", "kills", "duration", "period"),
    [
        ("dopri5", 3, 200.0, None),
        *deep(
            [
                ("dopri5", 20, 150.0, None),
                ("dopri5", 30, 600.0, 0.05),
                ("dop853", 50, 600.0, None),
                ("dop853", 40, 900.0, 0.05),
                ("adams", 40, 600.0, None),
                ("trapezoidal", 20, 300.0, None),
            ]
        ),
    ],
)
def test_killed_at_random_moments(
    method: str, kills: int, duration: float, period: float | None, tmp_path: Path
) -> None:
    path = tmp_path / "run.ckpt"
    rng = np.random.default_rng(3)
    reached = -1.0
    for delay in rng.uniform(0.005, 0.1, kills):
        child = subprocess.run(
            [sys.executable, "-c", CHILD, MODEL, str(path), method, str(duration), str(delay), str(period).lower()],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            timeout=300,
            check=False,
        )
        assert child.returncode == -signal.SIGPROF
        found = checkpoint_files.read_checkpoint(path, **again(period))  # whole, whenever it was killed
        assert not found.run.finished
        assert found.run.simulation.state.t >= reached  # nothing before the last checkpoint is lost
        reached = found.run.simulation.state.t
    same(wt.resume(path, **again(period)), whole(method, duration, period))


def test_an_interrupted_run_can_be_resumed(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"

    def tell(share: float) -> None:
        raise KeyboardInterrupt

    system = wt.read(MODEL).build()
    options = {"every": 0.5, "method": "rk4", "step": 1e-3}
    part = system.simulate(20.0, checkpoint=path, progress=tell, **options)
    assert part.certificate.stopped == "interrupted"
    run = wt.resume(path, system=system)
    assert run.certificate.stopped == ""
    reference = system.simulate(20.0, **options)
    assert np.array_equal(run.q, reference.q)


def test_a_stop_is_an_end_also_after_resuming(tmp_path: Path) -> None:
    m = wt.Mechanism("ball")
    m.prismatic("height", m.ground, m.body("ball", mass=1.0), axis="z")
    m.event("floor", m.coordinate("height"), stop=True)
    path = tmp_path / "run.ckpt"
    run = m.build().simulate(2.0, q=[1.0], checkpoint=path)
    again = wt.resume(path)
    assert again.info["ended_by"] == "floor"
    assert np.array_equal(run.q, again.q)
    assert np.array_equal(run.t, again.t)


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    system = wt.read(MODEL).build()
    first = system.simulate(0.2, every=0.01, checkpoint=path)
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(wt.ResultError, match="could not be written") as caught:
            system.simulate(0.3, every=0.01, checkpoint=path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["run.ckpt"]
    assert len(caught.value.trajectory) == 31
    assert np.array_equal(wt.resume(path).q, first.q)


def test_bad_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    pendulum = wt.Mechanism("pendulum")
    pendulum.revolute("A", pendulum.ground, pendulum.body("rod", wt.rod(length=1.0, mass=1.0)))
    pendulum.build().simulate(0.1, q=[1.0], checkpoint=path)
    good = path.read_bytes()
    rng = np.random.default_rng(0)
    bad = {"empty": b"", "text": b"hello", "cut": good[: len(good) // 2], "zip": good[:-30]}
    for k in range(20):
        broken = bytearray(good)
        broken[rng.integers(len(good))] ^= 1 << int(rng.integers(8))
        bad[f"bit {k}"] = bytes(broken)
    other = tmp_path / "bad.ckpt"
    for name, data in bad.items():
        other.write_bytes(data)
        try:
            wt.resume(other)
        except wt.ResultError as error:
            assert "bad.ckpt" in str(error), name
    for name in ("empty", "text", "cut", "zip"):
        other.write_bytes(bad[name])
        with pytest.raises(wt.ResultError):
            wt.resume(other)
    np.savez(tmp_path / "foreign.npz", a=np.zeros(3))
    with pytest.raises(wt.ResultError, match="not a checkpoint"):
        wt.resume(tmp_path / "foreign.npz")
    np.savez(tmp_path / "evil.npz", header=np.array([Evil()], dtype=object))
    with pytest.raises(wt.ResultError):
        wt.resume(tmp_path / "evil.npz")
    with pytest.raises(wt.ResultError, match="No such file"):
        wt.resume(tmp_path / "nothing.ckpt")
    with pytest.raises(wt.ResultError, match="no folder"):
        pendulum.build().simulate(0.1, checkpoint=tmp_path / "no" / "run.ckpt")
    with pytest.raises(wt.ResultError, match="is a folder, which a file must not take the place of"):
        pendulum.build().simulate(0.1, checkpoint=tmp_path)
    with pytest.raises(wt.StateError, match="positive"):
        pendulum.build().simulate(0.1, checkpoint=path, checkpoint_every=0)
    with pytest.raises(wt.ResultError, match="another mechanism"):
        wt.resume(path, system=wt.read(MODEL).build())


def test_a_digest_finds_damage_and_is_no_signature(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    run = wt.read(MODEL).simulate(duration=0.2, every=0.05, method="adams", checkpoint=path)
    good = path.read_bytes()
    at = good.index(np.float64(run.q[-1, 0]).tobytes())  # a number of the state
    path.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
    with pytest.raises(wt.ResultError, match="damaged"):
        wt.resume(path)
    path.write_bytes(good)
    arrays = read_archive(path, "checkpoint")
    arrays["y"][-1] += 1e-3  # whoever does this on purpose can make the digest anew
    rewrite(path, arrays)
    assert wt.resume(path).certificate.steps == run.certificate.steps


def rewrite(path: Path, arrays: dict[str, Any]) -> None:
    with path.open("wb") as file:
        write_archive(file, arrays)


@pytest.mark.parametrize(
    ("name", "entry", "values"),
    [
        ("memory", 1, (13.0, 1e9, -1.0, 0.0, 2.5, np.nan)),  # the order of the Adams method, an index in machine code
        ("counts", 0, (-1, 10**6, 2**62)),  # outputs made
        ("flags", 3, (-1, 2, 2**40)),
        ("times", 1, (0.0, -1.0, np.nan, np.inf)),  # the next step
        ("side", 0, (3, -5)),
        ("until", 1, (np.nan, -1.0)),
    ],
)
def test_numbers_that_machine_code_trusts_are_those_of_a_run(
    name: str, entry: int, values: tuple[float, ...], tmp_path: Path
) -> None:
    path = tmp_path / "run.ckpt"
    swinging(path)
    arrays = read_archive(path, "checkpoint")
    assert name != "memory" or 1 <= arrays["memory"][1] <= 12
    for value in values:
        changed = arrays[name].copy()
        changed[entry] = value
        rewrite(path, {**arrays, name: changed})
        with pytest.raises(wt.ResultError, match=r"run\.ckpt: "):
            wt.resume(path)


def swinging(path: Path) -> None:
    """Leave a pendulum in the middle of a run by the Adams method."""
    m = wt.Mechanism("pendulum")
    m.revolute("A", m.ground, m.body("rod", wt.rod(length=1.0, mass=1.0, axis="x")), axis="y")
    m.event("low", m.coordinate("A") - 1.0)

    def tell(share: float) -> None:
        raise KeyboardInterrupt

    m.build().simulate(1e4, every=0.05, method="adams", checkpoint=path, progress=tell)


def test_a_small_file_does_not_become_large(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    with path.open("wb") as file:
        np.savez_compressed(file, header=np.zeros(10, dtype=np.uint8), until=np.zeros(20_000_000))
    assert path.stat().st_size < 1_000_000
    with pytest.raises(wt.ResultError, match="compressed"):
        wt.resume(path)
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}".ljust(117) + b"\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.npy", b"\x93NUMPY\x01\x00v\x00" + head + bytes(80))
    with pytest.raises(wt.ResultError, match="not as large as it says"):
        wt.resume(path)


class Evil:
    def __reduce__(self) -> tuple[object, ...]:
        return pytest.fail, ("a checkpoint was unpickled",)


@pytest.mark.rest
def test_a_run_goes_on_with_what_auto_chose_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # a system may have been tuned, and another one chooses otherwise
    def chosen(name: str, run: Callable[[], wt.Trajectory]) -> wt.Trajectory:
        monkeypatch.setenv("WHIPPLETREE_CACHE", str(tmp_path / name))
        monkeypatch.setattr("whippletree.system.auto_formulation._weight", lambda text: 1e-3 if text == name else 1.0)
        monkeypatch.setattr("whippletree.system.auto_formulation._DECIDED", {})
        return run()

    def tell(share: float) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "run.ckpt"
    options = {"duration": 0.5, "every": 0.1, "method": "rk4", "step": 1e-3}
    first, other = "tree_augmented", "independent_coordinates"
    reference = chosen(first, lambda: wt.read(MODEL).simulate(**options))
    chosen(first, lambda: wt.read(MODEL).simulate(checkpoint=path, progress=tell, **options))
    same(chosen(other, lambda: wt.resume(path)), reference)
    different = chosen(other, lambda: wt.read(MODEL).simulate(**options))
    assert not np.array_equal(different.q, reference.q)


def test_functions_are_given_again(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    m = wt.Mechanism("ball")
    m.prismatic("height", m.ground, m.body("ball", mass=1.0), axis="z")
    m.event("floor", m.coordinate("height"), direction="falling")

    def turn(sim: Simulation, event: wt.Event) -> None:
        sim.set_value("velocity", "height", 0, -event.v[0])

    m.build().simulate(2.0, q=[1.0], checkpoint=path, on_event=turn)
    with pytest.raises(wt.ResultError, match="give on_event= again"):
        wt.resume(path)
    assert len(wt.resume(path, on_event=turn).events) == 2


def test_the_command_resumes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from whippletree.cli import main

    model, path = tmp_path / "m.yaml", tmp_path / "run.ckpt"
    model.write_text(MODEL + "run: {duration: 0.5, every: 0.05}\n")
    command = ["run", str(model), "--checkpoint", str(path)]
    assert main([*command, "--csv", str(tmp_path / "a.csv")]) == 0
    assert main([*command, "--resume", "--csv", str(tmp_path / "b.csv")]) == 0
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()
    path.write_bytes(b"no checkpoint")
    assert main([*command, "--resume"]) != 0
    assert "not a checkpoint" in capsys.readouterr().err
    assert main(["run", str(model), "--resume"]) == 2
    assert "--checkpoint" in capsys.readouterr().err
