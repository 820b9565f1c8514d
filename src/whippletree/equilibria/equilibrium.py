"""Equilibria of a mechanism: at rest, in steady motion, and with unknowns of the load (trim)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from whippletree.elements.forces import BoxContact, CapsuleContact, Contact, Friction, Tyre
from whippletree.equilibria.balance import Balance, Imbalance, Mask
from whippletree.equilibria.descent import Reached, descend, neutral_motions, newton
from whippletree.equilibria.equilibrium_tolerances import (
    ADVANCES,
    ENDLESS,
    MOST_STARTS,
    NEARLY_BALANCED,
    ROUNDING,
    SAME_PLACE,
    SINGULAR,
    STEADY,
    STEADY_SLOPE,
    TURNING,
)
from whippletree.equilibria.load_case import LoadCase, LoadQuantity, quantity_named
from whippletree.equilibria.stability import Stability, held_spectrum, judged, stability_of
from whippletree.errors import DynamicsError, EquilibriumError, StateError, WhippletreeError
from whippletree.foundation.notebook_html import html_section, html_table
from whippletree.foundation.once import made_once
from whippletree.foundation.short_text import readable
from whippletree.foundation.user_frames import user_facing
from whippletree.kernels.kernel import Array
from whippletree.linear.linear_model import LinearModel
from whippletree.linear.linear_signals import freedom_labels, signal_list
from whippletree.linear.linearization import linearize
from whippletree.model.argument_types import Freedoms, JointValues, NameLike
from whippletree.results.labels import effort_unit
from whippletree.spatial.scalars import shown, truth
from whippletree.spatial.scales import vanishing
from whippletree.system import Reactions, System
from whippletree.system.call_options import StateOptions
from whippletree.system.evaluator import ParameterValues
from whippletree.system.input_reader import as_array

_RUB = (BoxContact, CapsuleContact, Contact, Friction, Tyre)
"""Elements with friction, which is smooth."""

__all__ = ["Equilibrium", "EquilibriumSearch", "equilibrium", "turned_back"]

_SHOWN, _SHOWN_ZERO = 1e-9, 1e-12
"""Velocities that are named in words, and coordinates that are shown as zero."""

_TAKES_PART = 0.1
"""Freedoms of a joint with less than this share of its largest are not named with a neutral motion: axes that a body
carries with it are tilted a little."""

Judgement = tuple[Stability, LinearModel | None]
"""The word about an equilibrium, and the linear model that it is from, if it is from one."""


@readable
@user_facing
@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A state in which a mechanism stays: at rest, or in steady motion with velocities `v` that do not change.

    `residual` is the largest effort that is not balanced, in N m (forces times the characteristic length of their
    loops). `stability` is "stable", "unstable" or "undecided", by the linear model, and `reason` says why. `unknowns`
    are the numbers of the load that were found, `hold_efforts` what held joints need. `free` names the coordinates that
    take part in neutral motions: they may be anywhere, and are as near to the guess as can be. `others` are further
    equilibria, if several starts were asked for. `model` is the linear model without
    inputs and outputs, if stability was judged by it.

    >>> from whippletree.system.example_systems import pendulum
    >>> found = pendulum().equilibrium()
    >>> found.q.round(6), found.stability
    (array([1.570796]), 'stable')
    >>> print(found)
    Equilibrium of "pendulum": stable (the potential energy has a minimum)
      hinge.angle  1.5708 rad
    """

    system: System = field(repr=False)
    q: Array
    v: Array
    z: Array
    tau: Array
    parameters: Array | None
    t: float
    residual: float
    stability: str
    reason: str
    unknowns: Mapping[str, float] = field(default_factory=dict)
    hold_efforts: Mapping[str, float] = field(default_factory=dict)
    free: tuple[str, ...] = ()
    others: tuple[Equilibrium, ...] = field(default=(), repr=False)
    model: LinearModel | None = field(default=None, repr=False)

    @property
    def options(self) -> dict[str, Any]:
        """The state as calls take it beside q and v: `tau`, `t`, and `z` and `parameters` if there are any."""
        given: dict[str, object] = {"tau": self.tau, "t": self.t}
        if len(self.z):
            given["z"] = self.z
        if self.parameters is not None:
            given["parameters"] = self.parameters
        return given

    @property
    def reactions(self) -> Reactions:
        """The loads that every joint transmits."""
        return self._reactions

    @made_once
    def _reactions(self) -> Reactions:
        return self.system.reactions(self.q, self.v, **self.options)

    def linearize(self, *, inputs: Sequence[object] = (), outputs: Sequence[object] = ()) -> LinearModel:
        """Return the linear model about it; see `System.linearize`."""
        if self.model is not None and inputs == () and outputs == ():
            return self.model
        return linearize(self.system, self.q, self.v, inputs=inputs, outputs=outputs, **self.options)

    def coordinates(self) -> dict[str, Array]:
        """Return the coordinates by joint.

        >>> from whippletree.system.example_systems import pendulum
        >>> pendulum().equilibrium().coordinates()["hinge"].round(4)
        array([1.5708])
        """
        owners = self.system.description.coordinate_owners
        return {use.name: self.q[self.system.q_slice(use.name)] for use in owners if use.joint.nq}

    def _rows(self) -> list[tuple[str, str]]:
        rows = []
        for use in self.system.description.coordinate_owners:
            where = self.system.q_slice(use.name)
            for what, value in zip(use.joint.position_labels, self.q[where], strict=True):
                unit = "" if "quaternion" in what else "rad" if "angle" in what else "m"
                rows.append((f"{use.name}.{what}", f"{_plain(value):.6g} {unit}".strip()))
        speeds = freedom_labels(self.system)[1]
        rows += [(name, f"{x:.6g} {unit}") for (name, unit), x in zip(speeds, self.v, strict=True) if abs(x) > _SHOWN]
        rows += [(name, f"{value:.6g}") for name, value in zip(self.system.kernels.elements.names, self.z, strict=True)]
        rows += [(f"{name} (found)", f"{value:.9g}") for name, value in self.unknowns.items()]
        rows += [(f"{name} (held)", f"needs {value:.6g}") for name, value in self.hold_efforts.items()]
        return rows

    def __str__(self) -> str:
        kind = "Steady motion" if np.abs(self.v).max(initial=0.0) > _SHOWN else "Equilibrium"
        lines = [f'{kind} of "{self.system.description.name}": {self.stability} ({self.reason})']
        rows = self._rows()
        width = max((len(name) for name, _ in rows), default=0)
        lines += [f"  {name:<{width}}  {value}" for name, value in rows]
        if self.free:
            lines.append(f"  anywhere: {', '.join(self.free)}")
        if self.others:
            lines.append(f"  {len(self.others)} more: {', '.join(one.stability for one in self.others)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        title = f'Equilibrium of "{self.system.description.name}": {self.stability} ({self.reason})'
        anywhere = [("anywhere", ", ".join(self.free))] if self.free else []
        return html_section(title, html_table([*self._rows(), *anywhere]))


@user_facing
def equilibrium(
    system: System,
    guess: JointValues = None,
    *,
    hold: Freedoms | None = None,
    tau: JointValues = None,
    parameters: ParameterValues = None,
    speeds: Mapping[Any, ArrayLike] | None = None,
    unknowns: Sequence[NameLike] = (),
    t: float = 0.0,
    z: ArrayLike | None = None,
    nearest: bool = False,
    starts: int = 0,
    seed: int = 0,
) -> Equilibrium:
    """Return where the mechanism stays at rest, or moves steadily, under efforts `tau` and all described forces.

    The search starts from a guess (as `assemble` takes it; `q0` unless given) and goes downhill, to a stable
    equilibrium if forces have a potential; with `nearest=True` it goes to the next equilibrium, stable or not.
    Joints in `hold` stay where the guess has them, and what they need comes out. With `speeds` by joint, these
    turn or move steadily, and the forces must not depend on how far they have come. `unknowns` are numbers to be
    found, parameters or "joint.effort", as many as there are held freedoms: the preload for a given ride height.
    `starts` searches from so many random configurations too, for other equilibria. If there is none,
    `EquilibriumError` says what cannot be balanced.

    >>> from whippletree.system.example_systems import pendulum
    >>> pendulum().equilibrium().q.round(6)
    array([1.570796])
    """
    search = EquilibriumSearch.of(system, hold=hold, tau=tau, parameters=parameters, speeds=speeds, t=t, z=z)
    sought = search.quantities(unknowns)
    if truth(nearest, "nearest=") or sought:
        reached = newton(search.balance, search.start(guess), search.z, search.load, sought)
    else:
        reached = search.from_start(search.start(guess))
    count = _count(starts)
    if not count:
        return search.result(reached, sought)
    return _with_others(search, reached, sought, count, seed)


def _with_others(
    search: EquilibriumSearch, first: Reached, sought: list[LoadQuantity], count: int, seed: int
) -> Equilibrium:
    """Return the equilibrium from the guess, and those from random starts that differ."""
    found = [search.result(first, sought)] if first.balanced else []
    rng = search.system.kernels.states.generator(seed)
    for _ in range(count):
        for reached in search.random_searches(rng, sought):
            if reached.balanced and all(search.differs(reached, one) for one in found):
                found.append(search.result(reached, sought))
    if not found:
        return search.result(first, sought)  # which says why
    return replace(found[0], others=tuple(found[1:]))


class SearchOptions(StateOptions, total=False):
    """The load of an equilibrium, the freedoms that are held and those that move."""

    hold: Freedoms | None
    tau: JointValues
    speeds: Mapping[Any, ArrayLike] | None


class EquilibriumSearch:
    """A search for equilibria: the equations of balance, and the load, as a user gave them.

    >>> from whippletree.system.example_systems import pendulum
    >>> search = EquilibriumSearch.of(pendulum(), tau={"hinge": 9.81})
    >>> search.result(search.from_start(np.zeros(1)), []).stability
    'undecided'
    """

    def __init__(self, system: System, balance: Balance, load: LoadCase, z: Array) -> None:
        self.system, self.balance, self.load, self.z = system, balance, load, z
        self._begun: Array | None = None

    @classmethod
    def of(
        cls,
        system: System,
        **given: Unpack[SearchOptions],
    ) -> EquilibriumSearch:
        """Read and check the user's arguments."""
        inputs = system.kernels.inputs
        values, z = inputs.parameter_set(given.get("parameters")), given.get("z")
        described = np.array(system.description.parameter_values, dtype=np.float64)
        load = LoadCase(
            inputs.efforts(given.get("tau")),
            described if values is None else values,
            _speeds(system, given.get("speeds")),
            inputs.time(given.get("t", 0.0)),
        )
        if z is not None and not system.nz:
            raise StateError("z= is for auxiliary states, and there is none: declare one with mechanism.state(...)")
        states = system.z0 if z is None else as_array(z, inputs.argument("z", system.nz))
        held = inputs.freedoms(given.get("hold"), "hold")
        for i, speed in load.speeds:
            if held[i] and speed:
                name = system.kernels.states.joint_of(i)
                raise StateError(f'joint "{name}" is held, and is to move: name it in hold= or in speeds=')
        return cls(system, Balance(system, held), load, states)

    @property
    def held(self) -> Mask:
        """Which freedoms do not move."""
        return self.balance.held

    def quantities(self, unknowns: Sequence[NameLike]) -> list[LoadQuantity]:
        """Return the unknowns of the load, as many as there are held freedoms."""
        found = [quantity_named(self.system, one, "unknowns=") for one in signal_list(unknowns, "unknowns")]
        count = int(self.held.sum())
        if found and len(found) != count:
            raise StateError(
                f"unknowns= names {len(found)} and hold= {count} freedoms: for each number that is to be found, "
                "hold one freedom where it is wanted"
            )
        missing = [one.name for one in found if one.kind == "speed" and one.index not in dict(self.load.speeds)]
        if missing:
            raise StateError(f'unknowns=: give a first value of "{missing[0]}" in speeds=')
        return found

    def start(self, guess: JointValues) -> Array:
        """Return the closed configuration to start from: the guess, or where the system was assembled."""
        load, s = self.load, self.system
        hold = None if not self.held.any() else _pairs(s, self.held)
        given = s.q0 if guess is None else s.kernels.inputs.single(guess, "the guess")
        if not s.kernels.closed:
            return s.assemble(given)
        parameters = load.parameters if len(load.parameters) else None
        return s.assemble(given, hold=hold, t=load.t, parameters=parameters)

    def from_start(self, q: Array) -> Reached:
        """Descend from a configuration; where forces have no potential, Newton's method may still find rest."""
        self._begun = q
        reached = descend(self.balance, q, self.z, self.load)
        if reached.balanced:
            return reached
        for start in (reached.here.q, q):
            other = newton(self.balance, start, reached.here.z, self.load)
            if other.balanced:
                return other
        return reached

    def random_searches(self, rng: np.random.Generator, sought: list[LoadQuantity]) -> list[Reached]:
        """Search from a random configuration, by descent and by Newton's method, which finds unstable equilibria."""
        s = self.system
        q = self.system.kernels.loops.assembler.space.random(rng)
        away = self.balance.difference(s.q0, q)
        away[self.held] = 0.0
        q, opening = self.balance.moved(s.q0, away, self.load)
        if opening > SAME_PLACE:
            return []
        found = []
        try:
            if not sought:
                found.append(descend(self.balance, q, self.z, self.load))
            found.append(newton(self.balance, q, self.z, self.load, sought))
        except WhippletreeError:  # a start from which nothing can be computed is none
            pass
        return found

    def differs(self, reached: Reached, other: Equilibrium) -> bool:
        """Tell whether a search ended elsewhere than at an equilibrium; turns of 2 pi do not count."""
        apart = turned_back(self.system, self.balance.difference(other.q, reached.here.q))
        changed = [abs(reached.load.value(one) - other.unknowns[one.name]) for one in self._named(other)]
        return float(np.abs(apart).max(initial=0.0)) > SAME_PLACE or any(x > SAME_PLACE for x in changed)

    def _named(self, other: Equilibrium) -> list[LoadQuantity]:
        return [quantity_named(self.system, name, "unknowns=") for name in other.unknowns]

    # ------------------------------------------------------------------ results

    def result(self, reached: Reached, sought: Sequence[LoadQuantity]) -> Equilibrium:
        """Return the end of a search as an equilibrium; raise an `EquilibriumError` if it is none."""
        here, load = reached.here, reached.load
        if not reached.balanced:
            raise EquilibriumError(self._refusal(reached))
        free_of_hold = Balance(self.system, np.zeros(self.system.nv, dtype=bool)) if sought else self.balance
        own = free_of_hold.at(here.q, here.z, load)
        parameters = load.parameters if len(load.parameters) else None
        plain = Equilibrium(self.system, here.q, here.v, here.z, load.tau, parameters, load.t, here.size, "", "")
        complete = replace(plain, tau=free_of_hold.with_hold_efforts(own, load).tau)
        self._check_steady(reached, complete)
        found, model = _stability(free_of_hold, own, reached, complete)
        free = found.motions
        if found.word != "undecided":
            at_rest = not own.v.any()
            free = neutral_motions(free_of_hold.slopes(own, load).K, reached.scale) if at_rest else np.zeros((0, 0))
        return replace(
            plain,
            stability=found.word,
            reason=found.reason,
            unknowns={one.name: load.value(one) for one in sought},
            hold_efforts={} if sought else self._hold_efforts(own),
            free=self._named_motions(own, free),
            model=None if self.held.any() else model,
        )

    def _hold_efforts(self, own: Imbalance) -> dict[str, float]:
        """Return the efforts that hold the held freedoms, by name."""
        names = freedom_labels(self.system)[0]
        held = np.flatnonzero(self.held)
        efforts = own.held / np.array([self.balance.lengths[i] for i in held]) if len(held) else np.zeros(0)
        return {names[i][0]: float(x) for i, x in zip(held, efforts, strict=True)}

    def _named_motions(self, own: Imbalance, motions: Array) -> tuple[str, ...]:
        """Return the freedoms that take part in motions without stiffness."""
        if motions.shape[0] != own.motions.shape[1] or not motions.shape[1]:
            return ()
        size = np.abs(own.motions @ motions).max(axis=1, initial=0.0)
        names, found = freedom_labels(self.system)[0], []
        for use in self.system.description.coordinate_owners:
            where = self.system.v_slice(use.name)
            least = max(SAME_PLACE * size.max(), _TAKES_PART * size[where].max(initial=0.0))
            found += [names[i][0] for i in range(where.start, where.stop) if size[i] > least]
        return tuple(found)

    def _check_steady(self, reached: Reached, complete: Equilibrium) -> None:
        """Refuse a motion that does not stay as it is when the coordinates that move have advanced.

        What becomes unbalanced at first is known from exact derivatives; some way ahead it is looked at again.
        `complete` is the motion with the efforts of what is held.
        """
        here, load = reached.here, reached.load
        speed = float(np.abs(here.v / self.balance.lengths).max(initial=0.0))
        if not speed:
            return
        driven = self.balance.drifts(here.q, load)
        growth = float(np.abs(self._growth(here, complete, driven=driven)).max(initial=0.0)) / speed
        if growth > STEADY_SLOPE * reached.scale:
            raise EquilibriumError(self._not_steady(here, f"an effort that grows by {growth:.3g} N m for each radian"))
        for way in ADVANCES:
            later = replace(load, t=load.t + way / speed) if driven else load
            q, _ = self.balance.moved(here.q, here.v / self.balance.lengths * (way / speed), later)
            there = self.balance.at(q, here.z, later)
            if there.size > STEADY * reached.scale:
                raise EquilibriumError(self._not_steady(here, self._unbalanced(there)))

    def _growth(self, here: Imbalance, complete: Equilibrium, *, driven: bool) -> Array:
        """Return the rates at which efforts along the motions, and rates of states, become unbalanced as it goes on.

        Accelerations change by a' = a_q v, and by a_t if drives go on with time, and so N^T M a' is what will be
        unbalanced; forces that depend on time are taken as they are now, as at rest. At singular positions, where
        there are no derivatives, nothing is told.
        """
        s, q, v = self.system.kernels.once, here.q, here.v
        try:
            slopes = s.forward_dynamics_derivatives(q, v, **complete.options)
        except DynamicsError:
            return np.zeros(0)
        advancing = v[
            s.kernels.derivatives.minimal_coordinates(q, v, t=complete.t, parameters=complete.parameters).displacements
        ]
        M = s.mass_matrix(q, parameters=complete.parameters)
        changes = slopes.q @ advancing + (slopes.t if driven else 0.0)
        efforts = here.motions.T * self.balance.lengths @ M @ changes
        if not s.nz:
            return np.asarray(efforts)
        rates = s.derivatives_of("state_rates", q, v, **complete.options)
        return np.concatenate([efforts, rates.q @ advancing + (rates.t if driven else 0.0)])

    def _not_steady(self, here: Imbalance, what: str) -> str:
        mover = self.system.kernels.states.freedom_name(int(np.argmax(np.abs(here.v / self.balance.lengths))))
        return (
            f'this motion is not steady: when "{mover}" has advanced, {what} is not balanced. The forces must not '
            "depend on coordinates that advance"
        )

    def _unbalanced(self, here: Imbalance) -> str:
        """Say which effort is not balanced most."""
        rates = np.abs(here.rates).max(initial=0.0)
        if rates > np.abs(here.lacking).max(initial=0.0):
            k = int(np.argmax(np.abs(here.rates)))
            return f'the rate {here.rates[k]:.3g} of state "{self.system.kernels.elements.names[k]}"'
        i = int(np.argmax(np.abs(here.lacking)))
        states = self.system.kernels.states
        label = states.velocity_label(i)
        unit = effort_unit(freedom_labels(self.system)[1][i][1])
        return f"{abs(here.lacking[i]) / self.balance.lengths[i]:.3g} {unit} at the {label}"

    def _endless(self, here: Imbalance) -> int | None:
        """Return the freedom that a descent has moved without end, unless its own imbalance is the largest anyway."""
        if self._begun is None:
            return None
        way = np.abs(self.balance.difference(self._begun, here.q))
        i = int(np.argmax(way)) if len(way) else 0
        return i if len(way) and way[i] > ENDLESS and i != int(np.argmax(np.abs(here.lacking))) else None

    def _refusal(self, reached: Reached) -> str:
        """Name the freedom that cannot be balanced, the missing effort, and the reason if one is visible."""
        here = reached.here
        mover = self._endless(here)
        if mover is not None:
            name, joint = freedom_labels(self.system)[0][mover][0], self.system.kernels.states.joint_of(mover)
            smooth = any(isinstance(use.force, _RUB) for use in self.system.description.forces)
            rubs = ". Friction is smooth, and holds nothing at rest" if smooth else ""
            return (
                f'no equilibrium was found: "{name}" moves on and on, and nothing holds it: add a spring or a stop, or '
                f'hold "{joint}"{rubs}'
            )
        said = f"no equilibrium was found: at the end {self._unbalanced(here)} is not balanced"
        K = self.balance.slopes(here, reached.load).K
        if len(K):
            _, s, vt = np.linalg.svd((K + K.T) / 2)
            flat = vt[vanishing(s, s, share=SINGULAR) | vanishing(s, reached.scale, share=NEARLY_BALANCED)]
            along = np.linalg.norm(flat @ here.efforts) if len(flat) else 0.0
            if along > np.linalg.norm(here.efforts) / 2:
                joint = self.system.kernels.states.joint_of(int(np.argmax(np.abs(here.lacking))))
                return f'{said}, and nothing holds it there: add a spring or a stop, or hold "{joint}"'
        return f"{said}. Give another guess, several starts=, or hold= what is to stay"


def turned_back(system: System, displacement: Array) -> Array:
    """Return a displacement (nv) with angles between -pi and pi.

    >>> from whippletree.system.example_systems import pendulum
    >>> turned_back(pendulum(), np.array([6.5])).round(4)
    array([0.2168])
    """
    found = displacement.copy()
    for use in system.description.coordinate_owners:
        where = system.v_slice(use.name)
        for i, label in zip(range(where.start, where.stop), use.joint.velocity_labels, strict=True):
            if "angular" in label:
                found[i] = (found[i] + np.pi) % (2 * np.pi) - np.pi
    return found


def _stability(balance: Balance, own: Imbalance, reached: Reached, complete: Equilibrium) -> Judgement:
    """Judge an equilibrium: at rest by mass, damping and stiffness, in motion by the linear model.

    At a turning point what is unbalanced, r, moves the place by the root of r / K', and stiffness by the root of r K'.
    """
    if not own.v.any():
        unbalanced = max(reached.here.size, ROUNDING * reached.scale)
        return stability_of(balance.slopes(own, reached.load), TURNING * np.sqrt(unbalanced * reached.scale)), None
    try:
        model = complete.linearize()
    except DynamicsError as error:
        return Stability("undecided", f"there is no linear model: {error}", np.zeros((own.motions.shape[1], 0))), None
    # zeros belong to families of steady motions: other positions and speeds of the advancing joints
    seen = held_spectrum(model, balance.held)._replace(n_zero=0)
    if not len(seen.values):
        return Stability("stable", "nothing can move but what advances", np.zeros((0, 0))), model
    return judged(seen, 0)._replace(motions=np.zeros((0, 0))), model


def _speeds(system: System, speeds: Mapping[Any, ArrayLike] | None) -> tuple[tuple[int, float], ...]:
    """Return speeds by freedom from those by joint."""
    if speeds is None:
        return ()
    if not isinstance(speeds, Mapping):
        raise StateError(f"speeds= gives velocities by joint: a mapping from names to numbers, not {shown(speeds)}")
    v, given = system.kernels.inputs.motion(speeds, "speeds")
    return tuple((int(i), float(v[i])) for i in np.flatnonzero(given))


def _pairs(system: System, mask: Mask) -> list[tuple[str, int]]:
    states = system.kernels.states
    return [
        (states.joint_of(int(i)), int(i) - system.v_slice(states.joint_of(int(i))).start) for i in np.flatnonzero(mask)
    ]


def _plain(value: float) -> float:
    """Return a coordinate, with 0 for one that is only rounding."""
    return 0.0 if abs(value) < _SHOWN_ZERO else float(value)


def _count(starts: int) -> int:
    if isinstance(starts, bool) or not isinstance(starts, int | np.integer) or not 0 <= starts <= MOST_STARTS:
        raise StateError(f"starts= must be a whole number from 0 to {MOST_STARTS}, not {shown(starts)}")
    return int(starts)
