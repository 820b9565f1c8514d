"""A controller in plain Python, against the same thing written out with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whippletree as wt
from support.references import rk4
from whippletree.simulate.controllers import ControlLaw
from whippletree.simulate.run_state import SMALLEST_STEP, SPAN
from whippletree.studies import checkpoint_files
from whippletree.system.example_systems import four_bar

Array = np.ndarray


def pendulum() -> wt.System:
    """A point mass of 2 kg on a massless rod of 0.7 m on a hinge about y, hanging at zero."""
    m = wt.Mechanism("pendulum")
    m.revolute("A", m.ground, m.body("bob", mass=2.0, com=(0, 0, -0.7)), axis="y")
    return m.build()


def feedback(t: float, q: Array, v: Array, z: Array) -> Array:
    """A law with a memory of nothing: proportional, derivative and a push that grows."""
    return -12.0 * (q - 0.4) - 3.0 * v + 0.5 * t


def held(law: Callable[..., Array], period: float, times: Array, substeps: int = 40) -> tuple[Array, Array, float]:
    """Angles, efforts and the work of the pendulum with the law's efforts held over each period, by RK4 in NumPy."""
    J, w = 2.0 * 0.7**2, 2.0 * 9.81 * 0.7
    x, t, work = np.array([0.0, 0.0]), 0.0, 0.0
    angles, efforts = {0.0: 0.0}, {}
    n = round(times[-1] / period)
    for k in range(n):
        tau = float(law(t, x[:1], x[1:], np.zeros(0))[0])
        for i in range(substeps):
            efforts[round(k * period + i * period / substeps, 9)] = tau
            h = period / substeps

            def rate(y: Array, tau: float = tau) -> Array:
                return np.array([y[1], (tau - w * np.sin(y[0])) / J])

            before = x[0]
            x = rk4(rate, x, h, 1)
            work += tau * (x[0] - before)
            t = k * period + (i + 1) * h
            angles[round(t, 9)] = x[0]
        efforts[round(t, 9)] = tau
    return (
        np.array([angles[round(s, 9)] for s in times]),
        np.array([efforts[round(s, 9)] for s in times]),
        work,
    )


@pytest.mark.parametrize(("method", "options"), [("dopri5", {"tolerance": 1e-11}), ("rk4", {"step": 1e-3})])
def test_efforts_are_held(method: str, options: dict[str, Any]) -> None:
    run = pendulum().simulate(1.0, every=0.025, method=method, controller=feedback, period=0.1, **options)
    angles, efforts, work = held(feedback, 0.1, run.t)
    assert run["A"] == pytest.approx(angles, abs=1e-8)
    assert run.efforts[:, 0] == pytest.approx(efforts, abs=1e-8)
    assert len(np.unique(run.efforts)) == 10
    assert run.certificate.work_in == pytest.approx(work, rel=1e-8)
    assert run.certificate.ok
    # the reaction about the axis is the effort at that output
    assert run.reactions()["A"].moment[:, 1] == pytest.approx(efforts, abs=1e-7)


def test_outputs_between_and_beside_samples() -> None:
    times = np.array([0.0, 0.03, 0.1, 0.15000000000000002, 0.2999, 0.3, 0.31])
    run = pendulum().simulate(
        0.31, times=times, tolerance=1e-11, controller=lambda t, q, v, z: [round(10 * t)], period=0.1
    )
    assert run.efforts[:, 0].tolist() == [0.0, 0.0, 1.0, 1.0, 2.0, 3.0, 3.0]


def test_samples_are_exact_and_copies() -> None:
    seen: list[float] = []

    def spoil(t: float, q: Array, v: Array, z: Array) -> dict[str, float]:
        seen.append(t)
        q[:] = v[:] = 1e9
        return {"A": 0.1}

    run = pendulum().simulate(0.7, every=0.35, controller=spoil, period=0.07)
    assert seen == pytest.approx(0.07 * np.arange(10), abs=1e-15)
    assert np.abs(run.q).max() < 1.0


def test_joints_not_named_keep_their_effort() -> None:
    m = wt.Mechanism("two")
    first = m.body("first", wt.rod(length=1.0, mass=1.0, axis="x"))
    m.revolute("A", m.ground, first, axis="z")
    m.revolute("B", first, m.body("second", wt.rod(length=1.0, mass=1.0, axis="x")), at=(1, 0, 0), axis="z")
    run = m.build().simulate(0.2, every=0.1, tau={"A": 0.5}, controller=lambda t, q, v, z: {"B": 0.25}, period=0.1)
    assert run.efforts.tolist() == [[0.5, 0.25]] * 3


def test_states_of_elements_reach_the_controller() -> None:
    m = wt.Mechanism("filter")
    m.prismatic("slide", m.ground, m.body("mass", mass=1.0), axis="x")
    lag = m.state("lag", value=1.0)
    m.state_rate("lag", -2.0 * lag)
    s = m.build()
    run = s.simulate(0.5, every=0.1, tolerance=1e-10, controller=lambda t, q, v, z: [z[0]], period=0.1)
    assert run.efforts[:5, 0] == pytest.approx(np.exp(-2.0 * run.t[:5]), rel=1e-7)


def test_loops_are_controlled() -> None:
    s = four_bar()
    run = s.simulate(
        1.0, every=0.05, tolerance=1e-9, controller=lambda t, q, v, z: {"A": 5.0 - 2.0 * v[0]}, period=0.05
    )
    assert run.certificate.ok
    assert run.certificate.work_in > 0.1
    assert run.certificate.closure_residual < 1e-10


def test_interrupted_controller_keeps_what_is_done() -> None:
    def stop(t: float, *state: Array) -> list[float]:
        if t > 0.25:
            raise KeyboardInterrupt
        return [0.0]

    run = pendulum().simulate(1.0, every=0.1, controller=stop, period=0.1)
    assert run.certificate.stopped == "interrupted"
    assert run.t == pytest.approx([0.0, 0.1, 0.2, 0.3])


def nothing(t: float, *state: Array) -> list[float]:
    return [0.0]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([np.nan], 'effort of angular velocity of joint "A" is nan'),
        ({"A": np.inf}, 'joint "A" is inf'),
        ([1.0, 2.0], r"tau must have 1 numbers"),
        ([[1.0]], "one vector of 1"),
        (None, "returned nothing"),
        ({"B": 1.0}, 'no joint "B"'),
        ({"A": "much"}, "real numbers"),
        ("much", "real numbers"),
    ],
)
def test_bad_answers_end_the_run_and_keep_it(answer: Any, words: str) -> None:
    def law(t: float, *state: Array) -> Any:
        return [0.5] if t < 0.45 else answer

    with pytest.raises(wt.SimulationError, match=words) as caught:
        pendulum().simulate(1.0, every=0.1, controller=law, period=0.1)
    run = caught.value.trajectory
    assert "t = 0.5 s" in str(caught.value)
    assert run.t == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4, 0.5])
    assert run.efforts.tolist() == [[0.5]] * 6
    assert run.certificate.stopped == str(caught.value)


def test_an_exception_of_the_controller_is_told() -> None:
    def law(t: float, *state: Array) -> list[float]:
        raise RuntimeError("the valve is stuck")

    with pytest.raises(
        wt.SimulationError, match="t = 0 s the controller failed: RuntimeError: the valve is stuck"
    ) as e:
        pendulum().simulate(1.0, every=0.1, controller=law, period=0.1)
    assert isinstance(e.value.__cause__, RuntimeError)
    assert len(e.value.trajectory) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"controller": 3, "period": 0.1}, "controller= must be a function"),
        ({"controller": nothing}, "give period="),
        ({"controller": nothing, "period": 0.0}, "period= must be a positive"),
        ({"controller": nothing, "period": np.nan}, "period= must be a positive"),
        ({"controller": nothing, "period": "slow"}, "period= must be a positive"),
        ({"controller": nothing, "period": 1e-12}, "calls of the controller"),
        ({"period": 0.1}, "give controller="),
    ],
)
def test_bad_options(options: dict[str, Any], words: str) -> None:
    with pytest.raises(wt.StateError, match=words):
        pendulum().simulate(1.0, every=0.1, **options)


# ---------------------------------------------------------------------- beside steps by hand


def arm() -> wt.System:
    """Three links, the first on a ball joint."""
    m = wt.Mechanism("arm")
    places = [m.ground, *(m.body(name, wt.box((0.5, 0.1, 0.06), mass=1.0, at=(0.25, 0, 0))) for name in "abc")]
    m.spherical("A", places[0], places[1])
    m.revolute("B", places[1], places[2], at=(0.5, 0, 0), axis="y")
    m.revolute("C", places[2], places[3], at=(0.5, 0, 0), axis="z")
    return m.build()


def answers(nv: int) -> list[Callable[..., Any]]:
    """The same law with every kind of answer."""

    def law(t: float, q: Array, v: Array, z: Array) -> Array:
        return 0.3 * np.sin(40 * t + np.arange(nv)) - 0.1 * v

    def by_joint(t: float, q: Array, v: Array, z: Array) -> dict[str, Any]:
        tau = law(t, q, v, z)
        return {"A": tau[:3], "B": tau[3], "C": float(tau[4])} if nv == 5 else dict(zip("ABCD", tau, strict=True))

    return [
        law,
        lambda *x: law(*x).tolist(),
        lambda *x: tuple(law(*x)),
        lambda *x: np.array([law(*x)] * 2)[1],
        by_joint,
    ]


@pytest.mark.parametrize("build", [arm, four_bar])
@pytest.mark.parametrize(
    "options", [{"method": "rk4", "step": 2.0**-9}, {"method": "dopri5"}, {"method": "adams"}, {"method": "dop853"}]
)
def test_samples_have_the_bits_of_steps_by_hand(build: Callable[[], wt.System], options: dict[str, Any]) -> None:
    system, period, count = build(), 2.0**-8, 40  # so that sums of periods are exact
    for law in answers(system.nv):
        sim = wt.Simulation(system, **options)
        rows = [sim.row()]
        for _ in range(count):
            now = sim.state
            sim.step(period, tau=law(now.t, now.q, now.v, now.z))
            rows.append(sim.row())
        run = system.simulate((count + 1) * period, every=period, controller=law, period=period, **options)
        assert np.array_equal(np.hstack([run.q, run.v, run.work])[:-1], rows)


@pytest.mark.parametrize(
    "given", [[1, 2, 3, 4, 5], (1, 2.0, 3, 4, 5), np.arange(1, 6), np.arange(1.0, 6.0)[::-1][::-1]]
)
def test_whole_numbers_and_views_are_efforts(given: Any) -> None:
    run = arm().simulate(0.02, every=0.01, controller=lambda t, q, v, z: given, period=0.01)
    assert run.efforts.tolist() == [[1.0, 2.0, 3.0, 4.0, 5.0]] * 3


def test_an_array_that_the_controller_uses_again_is_read_at_the_sample() -> None:
    tau = np.zeros(1)

    def law(t: float, q: Array, v: Array, z: Array) -> Array:
        tau[0] = 10 * t
        return tau

    run = pendulum().simulate(0.3, every=0.1, controller=law, period=0.1)
    assert run.efforts[:, 0] == pytest.approx([0.0, 1.0, 2.0, 2.0])


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_efforts_that_are_not_finite_name_the_joint(wrong: float) -> None:
    for answer in ([0.0, 0.0, 0.0, wrong, -wrong], np.array([0.0, 0.0, 0.0, wrong, 0.0]), {"B": wrong, "C": 1.0}):
        with pytest.raises(wt.SimulationError, match=r't = 0 s the controller returned what is no effort.*joint "B"'):
            arm().simulate(0.1, controller=lambda t, q, v, z, answer=answer: answer, period=0.1)


def test_large_efforts_that_add_up_to_infinity_are_efforts() -> None:
    law = ControlLaw(wt.Simulation(arm(), method="rk4", step=1e-3), lambda t, q, v, z: [1e308] * 5, np.zeros(5))
    assert law.efforts().tolist() == [1e308] * 5


# ---------------------------------------------------------------------- checkpoints


class Integral:
    """Feedback with the integral of the error, and a counter: both matter for what comes."""

    def __init__(self) -> None:
        self.sum = np.zeros(2)

    def law(self, t: float, q: Array, v: Array, z: Array) -> Array:
        self.sum += 0.01 * (0.4 - q[0]), 1.0
        return np.array([30.0 * (0.4 - q[0]) + 20.0 * self.sum[0] - 3.0 * v[0] + 0.01 * np.sin(self.sum[1])])

    def __call__(self, t: float, q: Array, v: Array, z: Array) -> Array:
        return self.law(t, q, v, z)

    def get_state(self) -> Any:
        return self.sum

    def set_state(self, state: Array) -> None:
        self.sum = state


def same(a: wt.Trajectory, b: wt.Trajectory) -> None:
    for name in ("t", "q", "v", "efforts", "work"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    for name in ("steps", "refused", "evaluations", "stopped"):
        assert a.certificate[name] == b.certificate[name], name


def reference(**options: Any) -> wt.Trajectory:
    return pendulum().simulate(1.0, every=0.03, period=0.01, **({"controller": Integral()} | options))


def test_an_interrupted_call_is_made_again(tmp_path: Path) -> None:
    class Stopped(Integral):
        def __call__(self, t: float, *state: Array) -> Array:
            effort = self.law(t, *state)  # what it remembers is not what it was
            if t > 0.5:
                raise KeyboardInterrupt
            return effort

    path = tmp_path / "run.ckpt"
    part = reference(controller=Stopped(), checkpoint=path)
    assert part.certificate.stopped == "interrupted"
    assert part.t[-1] == pytest.approx(0.51)
    same(wt.resume(path, controller=Integral().law), reference())  # a method stands for its object
    same(wt.resume(path, controller=Integral()), reference())  # finished


def test_short_periods_do_not_starve_checkpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Crashed(Integral):
        def __call__(self, t: float, *state: Array) -> Array:
            if t > 0.505:
                raise SystemExit
            return self.law(t, *state)

    monkeypatch.setattr(checkpoint_files, "_SLOW", 0.0)
    path = tmp_path / "run.ckpt"
    with pytest.raises(SystemExit):
        reference(controller=Crashed(), checkpoint=path, checkpoint_every=1e-9)
    found = checkpoint_files.read_checkpoint(path, controller=Integral()).run
    assert (found.sample, found.simulation.state.t, found.made) == (50, 0.5, 17)
    times = found.simulation.run_state.times
    assert (times[SMALLEST_STEP], times[SPAN]) == pytest.approx((1e-14, 0.01))  # of the stretch, not of what is left
    same(wt.resume(path, controller=Integral(), period=0.01), reference())


def test_ctrl_c_and_progress_between_short_periods(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whippletree.simulate.progress._BETWEEN", 0.0)
    path = tmp_path / "run.ckpt"
    shares: list[float] = []

    def tell(share: float) -> None:
        shares.append(share)
        if share > 0.3:
            raise KeyboardInterrupt

    part = reference(checkpoint=path, progress=tell)
    assert shares == pytest.approx(0.01 * np.arange(1, 32))
    assert part.t[-1] == pytest.approx(0.31)
    assert part.certificate.stopped == "interrupted"
    same(wt.resume(path, controller=Integral()), reference())


def test_functions_remember_nothing(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    run = reference(controller=feedback, checkpoint=path)
    same(wt.resume(path, controller=feedback), run)
    with pytest.raises(wt.ResultError, match=r"run\.ckpt: the run has a controller.*give controller= again"):
        wt.resume(path)
    with pytest.raises(wt.ResultError, match=r"period of 0\.01 s, not 0\.02: leave period= out"):
        wt.resume(path, controller=feedback, period=0.02)
    with pytest.raises(wt.ResultError, match="period= must be a positive"):
        wt.resume(path, controller=feedback, period="short")
    with pytest.raises(wt.ResultError, match="controller= must be a function"):
        wt.resume(path, controller=3)
    with pytest.raises(wt.ResultError, match="had no get_state, and this one has"):
        wt.resume(path, controller=Integral())
    reference(checkpoint=path)
    with pytest.raises(wt.ResultError, match="had get_state and set_state, and this one has not"):
        wt.resume(path, controller=feedback)
    pendulum().simulate(0.1, checkpoint=path)
    with pytest.raises(wt.ResultError, match="the run has no controller: leave controller= out"):
        wt.resume(path, controller=feedback)
    with pytest.raises(wt.ResultError, match="period= is that of a controller"):
        wt.resume(path, period=0.1)


def raising(*given: Any) -> Any:
    raise RuntimeError("the disk of the controller is full")


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (lambda: [0.0, np.nan], "get_state returned nan: all its numbers must be finite"),
        (lambda: {"sum": 1.0}, "get_state must return an array of real numbers"),
        (lambda: "sum", "get_state must return an array of real numbers"),
        (lambda: None, "get_state must return an array of real numbers"),
        (lambda: 1j, "get_state must return an array of real numbers"),
        (lambda: 2**70, "get_state must return an array of real numbers"),
        (lambda: [[1.0], [1.0, 2.0]], "get_state failed: ValueError"),
        (raising, "get_state failed: RuntimeError: the disk of the controller is full"),
    ],
)
def test_states_that_cannot_be_kept(state: Callable[[], Any], words: str, tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    controller = Integral()
    controller.get_state = state  # type: ignore[method-assign]
    assert reference(controller=controller).certificate.ok  # nobody asks if there is no checkpoint
    with pytest.raises(wt.StateError, match=words):
        reference(controller=controller, checkpoint=path)
    assert not path.exists()

    # seen only later, it ends the run, which keeps what was computed
    late = Integral()
    late.get_state = lambda: late.sum if late.sum[1] < 40.5 else state()  # type: ignore[method-assign]
    with pytest.raises(wt.SimulationError, match=rf"after its call at t = 0\.4 s, the controller's {words}") as caught:
        reference(controller=late, checkpoint=path)
    kept = caught.value.trajectory
    assert kept.t[-1] == pytest.approx(0.4)
    assert np.array_equal(kept.q[:14], reference().q[:14])
    assert np.array_equal(kept.efforts[:14], reference().efforts[:14])


def test_methods_that_do_not_fit_together(tmp_path: Path) -> None:
    class Half:
        def __call__(self, *state: Any) -> list[float]:
            return [0.0]

        def get_state(self) -> list[float]:
            return []

    class OtherHalf(Half):
        get_state = None  # type: ignore[assignment]

        def set_state(self, state: Array) -> None: ...

    path = tmp_path / "run.ckpt"
    with pytest.raises(wt.StateError, match="has get_state but no set_state: a checkpoint needs both"):
        reference(controller=Half(), checkpoint=path)
    with pytest.raises(wt.StateError, match="has set_state but no get_state"):
        reference(controller=OtherHalf(), checkpoint=path)
    reference(checkpoint=path)
    broken = Integral()
    broken.set_state = raising  # type: ignore[method-assign]
    with pytest.raises(wt.ResultError, match=r"run\.ckpt: the controller's set_state failed: RuntimeError"):
        wt.resume(path, controller=broken)
    broken.set_state = lambda state: None  # type: ignore[method-assign]
    with pytest.raises(wt.ResultError, match="set_state must bring back all"):
        wt.resume(path, controller=broken)


def test_a_checkpoint_that_cannot_be_written_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: checkpoint_files.CheckpointWriter, run: Any) -> None:
        if run.simulation.state.t > 0.6:
            raise wt.ResultError("no room")

    monkeypatch.setattr(checkpoint_files.CheckpointWriter, "look", full)
    with pytest.raises(wt.ResultError, match="no room") as caught:
        reference(checkpoint=tmp_path / "run.ckpt")
    kept = caught.value.trajectory
    assert kept.t[-1] == pytest.approx(0.61)
    assert np.array_equal(kept.q[:21], reference().q[:21])
    assert np.array_equal(kept.efforts[:21], reference().efforts[:21])


# ---------------------------------------------------------------------- with events


def test_efforts_that_events_set_hold_until_the_next_sample() -> None:
    m = wt.Mechanism("slide")
    m.prismatic("slide", m.ground, m.body("mass", mass=1.0), axis="x")
    m.event("push", m.time - 0.15, efforts={"slide": 3.0})
    run = m.build().simulate(0.4, every=0.025, controller=lambda t, q, v, z: [1.0], period=0.1)
    assert run.efforts[:, 0].tolist() == [1.0] * 7 + [3.0] + [1.0] * 9
    assert run.v[-1, 0] == pytest.approx(0.4 + 2 * 0.05)
    assert run.certificate.ok


@pytest.mark.parametrize("period", [0.1, 0.15, 0.3, 1.0])
def test_an_event_may_end_a_run_at_a_sample(period: float, tmp_path: Path) -> None:
    m = wt.Mechanism("slide")
    m.prismatic("slide", m.ground, m.body("mass", mass=1.0), axis="x")
    m.event("end", m.time - 0.3, stop=True)
    path = tmp_path / "run.ckpt"
    run = m.build().simulate(1.0, every=0.1, controller=nothing, period=period, checkpoint=path)
    assert run.info["ended_by"] == "end"
    assert run.t == pytest.approx([0.0, 0.1, 0.2, 0.3])
    assert run.certificate.stopped == ""
    same(wt.resume(path, controller=nothing), run)


def test_a_controller_of_three_arguments_is_refused() -> None:
    with pytest.raises(wt.StateError, match=r"four arguments, \(t, q, v, z\)"):
        pendulum().simulate(0.2, controller=lambda t, q, v: [0.0], period=0.1)  # type: ignore[misc, arg-type]


def test_the_effort_of_a_controller_is_a_quantity_of_the_joint() -> None:
    run = pendulum().simulate(0.4, every=0.1, controller=lambda t, q, v, z: [2.0 * t], period=0.2)
    np.testing.assert_allclose(run["A.effort"], [0.0, 0.0, 0.4, 0.4, 0.4], atol=1e-15)
