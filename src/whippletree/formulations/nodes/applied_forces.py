"""Described forces at a state: how they reach the nodes of a walk.

Each element sees its sides in the ground frame and acts on them (see `elements.forces.base`). A wrench on a side is
brought to the side's node as a push, an effort on a joint coordinate is added to the joint's own; so every formulation
takes them along like any other load, and none of them knows that there are springs. The effort of a joint that is not
in the tree is in `tau`, where the loop formulations look for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import casadi as ca

from whippletree.elements.forces import ElementForces, ElementState, Force, Formula
from whippletree.elements.user_functions import NO_NUMBERS
from whippletree.formulations.nodes.frame_states import NodeFrame, force_columns, frame_on_node, frame_state
from whippletree.formulations.nodes.node_tree import NodeTree
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.model.description import Description, EventUse, ForceUse, StateUse
from whippletree.symbolic.arithmetic import entries, plus
from whippletree.topology import Plan

__all__ = [
    "ElementPowers",
    "ForcePlacement",
    "ForcePlacements",
    "LoadedWalk",
    "corners",
    "events",
    "place_forces",
    "seen_by",
    "with_applied_forces",
]


class ElementPowers(NamedTuple):
    """Stored energy, dissipated power and input power of all elements together."""

    stored: ca.SX
    dissipated: ca.SX
    supplied: ca.SX


NO_POWERS = ElementPowers(ca.SX(0), ca.SX(0), ca.SX(0))
"""Powers where nothing acts."""


@dataclass(frozen=True)
class ForcePlacement:
    """The frames and the places in q, v and z that an element, or the rate of a state, uses.

    An element that depends on reactions also has the frames of those joints on their parents, and the places of what
    they transmit, and of its own loads, among those of all elements.
    """

    frames: tuple[NodeFrame, ...]
    q: tuple[int, ...]
    v: tuple[int, ...]
    z: tuple[int, ...]
    joint_frames: tuple[NodeFrame, ...] = ()
    transmitted: tuple[int, ...] = ()
    loads: tuple[int, ...] = ()


@dataclass(frozen=True)
class ForcePlacements:
    """All elements and rates of states with their places: constants of a description, its plan and node_tree."""

    forces: tuple[tuple[Force, ForcePlacement], ...]
    states: tuple[tuple[Formula, ForcePlacement], ...]

    @property
    def written_states(self) -> tuple[tuple[Formula, ForcePlacement], ...]:
        """The states whose rates a person has written; those of elements come after them."""
        return self.states[: len(self.states) - sum(len(force.state_labels) for force, _ in self.forces)]


@dataclass(frozen=True)
class LoadedWalk:
    """A walk under the described forces.

    `tau` (nv) is what acts at all joints, cut ones too: efforts given, and those of elements, which are `efforts` by
    themselves. `walk` has them and the pushes. `rates` are those of the auxiliary states (nz). The defaults are
    those of a walk on which nothing acts but the efforts given.
    """

    walk: Any
    tau: Any = None
    efforts: ca.SX | None = None
    rates: ca.SX = NO_NUMBERS
    powers: ElementPowers = NO_POWERS
    applied: tuple[ElementForces, ...] = ()

    def less_efforts(self, effort: Any) -> Any:
        """Return the joints' efforts (nv) minus those of the elements."""
        return effort if self.efforts is None else effort - self.efforts


def place_forces(description: Description, plan: Plan, node_tree: NodeTree) -> ForcePlacements:
    """Return the places that the elements of a description and the rates of its states use."""
    states = _places_of_states(description)
    forces = [(use.force, _placed(use, states, plan, node_tree)) for use in description.forces]
    n_wrenches = n_loads = 0
    for k, use in enumerate(description.forces):
        if use.reactions:
            ends = n_wrenches + 6 * len(use.reactions), n_loads + use.force.n_loads
            joints = [description.joint(name) for name in use.reactions]
            held = replace(
                forces[k][1],
                joint_frames=tuple(frame_on_node(node_tree, joint.parent, joint.on_parent) for joint in joints),
                transmitted=tuple(range(n_wrenches, ends[0])),
                loads=tuple(range(n_loads, ends[1])),
            )
            forces[k] = use.force, held
            n_wrenches, n_loads = ends
    return ForcePlacements(
        tuple(forces),
        tuple((use.rate, _placed(use, states, plan, node_tree)) for use in description.states),
    )


def with_applied_forces(walk: Unrolled, acting: ForcePlacements, state: ElementState, tau: ca.SX) -> LoadedWalk:
    """Let everything act; `state` has the mechanism's q, v, z and t, and no sides. The walk is at that state."""
    applied = [force.act(seen_by(walk, placed, state)) for force, placed in acting.forces]
    push: dict[int, ca.SX] = {}
    totals = entries(ca.SX.zeros(walk.nv))
    for (_, placed), done in zip(acting.forces, applied, strict=True):
        for frame, wrench in zip(placed.frames, done.wrenches, strict=True):
            if frame.node >= 0 and not wrench.is_zero():
                on_node = force_columns(frame, frame_state(walk, -1, frame), wrench.T)
                push[frame.node] = push[frame.node] + on_node if frame.node in push else on_node
        for k, i in enumerate(placed.v):
            totals[i] = plus(totals[i], done.efforts[k])
    efforts = ca.SX(ca.vertcat(NO_NUMBERS, *totals))
    rates = [rate.value(seen_by(walk, placed, state)) for rate, placed in acting.states]
    return LoadedWalk(
        _pushed(walk, push, efforts),
        tau + efforts,
        efforts,
        ca.SX(ca.vertcat(ca.SX(0, 1), *rates)),
        ElementPowers(*(_total([getattr(done, part) for done in applied]) for part in ElementPowers._fields)),
        tuple(applied),
    )


def events(
    walk: Unrolled, description: Description, plan: Plan, node_tree: NodeTree, state: ElementState
) -> list[ca.SX]:
    """Return the column of each event at a state: its watched value, and the values that it sets."""
    states = _places_of_states(description)
    placed = [(use.formula, _placed(use, states, plan, node_tree)) for use in description.events]
    return [formula.value(seen_by(walk, where, state)) for formula, where in placed]


def corners(walk: Unrolled, acting: ForcePlacements, state: ElementState) -> ca.SX:
    """Return the expressions of all corners that the state decides: of forces, then of states' written rates."""
    found = [ca.SX(0, 1)]
    for force, placed in acting.forces:
        found += [one.formula.corner_values(one.seen, one.more) for one in force.formulas(seen_by(walk, placed, state))]
    found += [rate.corner_values(seen_by(walk, placed, state), ca.SX(0, 1)) for rate, placed in acting.written_states]
    return ca.SX(ca.vertcat(*found))


def _places_of_states(description: Description) -> dict[str, int]:
    """Return the place of each auxiliary state in z, by name."""
    return {state.name: k for k, state in enumerate(description.states)}


def _placed(
    use: ForceUse | StateUse | EventUse, states: Mapping[str, int], plan: Plan, node_tree: NodeTree
) -> ForcePlacement:
    places = [(plan.slices_of(name), component) for name, component in use.coordinates]
    return ForcePlacement(
        tuple(frame_on_node(node_tree, body, placement) for body, placement in use.sides),
        tuple(q.start + component for (q, _), component in places),
        tuple(v.start + component for (_, v), component in places),
        tuple(states[name] for name in use.states),
    )


def seen_by(walk: Unrolled, placed: ForcePlacement, state: ElementState) -> ElementState:
    """Return the state as an element sees it: its sides in the ground frame, and its share of the state."""
    sides = tuple(frame_state(walk, -1, frame).side for frame in placed.frames)
    seen = ElementState(
        sides, _entries(state.q, placed.q), _entries(state.v, placed.v), _entries(state.z, placed.z), state.t
    )
    if not placed.joint_frames:
        return seen
    return seen._replace(r=_entries(state.r, placed.transmitted), load=_entries(state.load, placed.loads))


def _entries(column: ca.SX, places: Sequence[int]) -> ca.SX:
    return column[[*places], 0] if places else NO_NUMBERS


def _pushed(walk: Unrolled, push: dict[int, ca.SX], efforts: ca.SX) -> Unrolled:
    """Return the walk with these pushes on its nodes, and efforts at its joints."""
    nodes = []
    for k, (node, where) in enumerate(zip(walk.nodes, walk.v_slices, strict=True)):
        force = push.get(k)
        if force is not None and node.push is not None:
            force = node.push + force
        tau = node.tau if node.on_frame else node.tau + efforts[where, :]
        nodes.append(replace(node, tau=tau, push=node.push if force is None else force))
    return walk.with_loads(nodes)


def _total(parts: Sequence[ca.SX]) -> ca.SX:
    total = ca.SX(0)
    for part in parts:
        total = plus(total, part)
    return total
