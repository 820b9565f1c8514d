"""Derivatives of external laws, outside inverse dynamics: elements, loads, closures, cut joints.

Each of them sees frames, coordinates and states through a small expression of its own. That is differentiated by CasADi
once, in symbols of its own, and the derivative is put where the mechanism is (`AppliedLaw`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import casadi as ca

from whippletree.elements.closures import Side, joint_rates
from whippletree.elements.forces import ElementState
from whippletree.formulations.closures.closure_frames import ClosureAttachment, CutJoint
from whippletree.formulations.closures.closure_set import ClosureSet
from whippletree.formulations.nodes.applied_forces import ForcePlacement, ForcePlacements, seen_by
from whippletree.formulations.nodes.frame_states import NodeFrame, Turn, frame_state
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.recursions.applied_derivatives import AppliedDerivatives, AppliedLaw
from whippletree.formulations.recursions.inverse_dynamics_derivatives import Matrix, add_entry
from whippletree.spatial import skew

__all__ = ["closure_slopes", "force_slopes", "rate_slopes", "speed_slopes"]

Change = tuple[str, int, ca.SX]


class _Seen(NamedTuple):
    """The place of a law: its base, its frames there, and the indices of its coordinates and states."""

    base: int
    turn: Turn
    frames: tuple[NodeFrame, ...]
    sides: tuple[Side, ...]
    situation: ElementState
    v: tuple[int, ...] = ()
    z: tuple[int, ...] = ()
    along: ca.SX | None = None  # the rates of the coordinates for displacements, if they are not one


def force_slopes(
    walk: Unrolled, acting: ForcePlacements | None, state: ElementState, outside: AppliedDerivatives
) -> dict[int, list[Change]]:
    """Let elements and given wrenches act; return the changes of efforts by their place in v."""
    efforts: dict[int, list[Change]] = {}
    for force, placed in acting.forces if acting else ():
        seen = _element(walk, placed, state)

        def results(here: ElementState, act: Callable[[ElementState], object] = force.act) -> ca.SX:
            done = act(here)
            return ca.SX(ca.vertcat(*done.wrenches, done.efforts))  # type: ignore[attr-defined]

        _act(outside, seen, results, placed.v, efforts)
    for k, node in enumerate(walk.nodes):
        for load in node.loads:
            frame = NodeFrame(k, ca.SX.eye(3), load.point)
            side = frame_state(walk, -1, frame).side
            outside.add(AppliedLaw(-1, None, (frame,), (side,), load.wrench, ca.SX(6, 12), (), (), ()))
    return efforts


def rate_slopes(walk: Unrolled, acting: ForcePlacements | None, state: ElementState) -> dict[str, Matrix]:
    """Return the derivatives of the elements' states' rates for displacements, velocities and states."""
    found: dict[str, Matrix] = {"q": {}, "v": {}, "z": {}}
    for row, (rate, placed) in enumerate(acting.states if acting else ()):
        seen = _element(walk, placed, state)
        law = _law(seen, ca.SX(0, 1), rate.value)
        for kind, j, change, _ in law.changes(walk):
            add_entry(found[kind], row, j, change)
    return found


def closure_slopes(
    walk: Unrolled,
    closure_set: ClosureSet,
    multipliers: Sequence[ca.SX],
    tau: ca.SX,
    efforts: dict[int, list[Change]],
    outside: AppliedDerivatives,
    *,
    prescribed: bool = False,
) -> None:
    """Let the closures act with their multipliers, and the cut joints with their efforts; finish the efforts.

    The efforts of prescribed cut joints act only if they are asked for (see `ClosureSet.efforts_at_cuts`).
    """
    at_cuts = ca.SX(tau)
    for attachment, keep, value in zip(closure_set.attachments.all, closure_set.keep, multipliers, strict=True):
        if keep:
            seen = _attached(walk, closure_set, attachment)

            def results(
                here: ElementState, f: ClosureAttachment = attachment, rows: Sequence[int] = keep, x: ca.SX = value
            ) -> ca.SX:
                found = f.closure.rows(here.sides, here.q, here.v, here.t)
                K = found.K[list(rows), :] if f.driven is None else ca.SX(len(rows), 0)
                return ca.SX(ca.vertcat(*(D[list(rows), :].T @ x for D in found.D), K.T @ x))

            places = tuple(c.v for c in attachment.coordinates)
            value_now = _act(outside, seen, results, places, efforts)
            for i, c in enumerate(attachment.coordinates):
                if c.cut is not None:
                    at_cuts[c.v] = at_cuts[c.v] + value_now[6 * len(seen.frames) + i]
    for cut in closure_set.attachments.cuts:
        if cut.joint.nv and (prescribed or not cut.use.prescribed):
            _cut_acts(walk, closure_set, cut, at_cuts[cut.v, :], efforts, outside)
    _finish(outside, efforts)


def speed_slopes(walk: Unrolled, closure_set: ClosureSet) -> dict[int, Matrix]:
    """Return for the kept rows of velocity-only closures the derivatives of their rates for displacements."""
    found: dict[int, Matrix] = {}
    first = 0
    for attachment, keep in zip(closure_set.attachments.all, closure_set.keep, strict=True):
        if keep and not attachment.positional:

            def results(here: ElementState, f: ClosureAttachment = attachment, rows: Sequence[int] = keep) -> ca.SX:
                got = f.closure.rows(here.sides, here.q, here.v, here.t)
                speed = got.drift + got.K @ here.v
                for D, side in zip(got.D, here.sides, strict=True):
                    speed = speed + D @ ca.vertcat(side.w, side.u)
                return speed[list(rows), :]

            law = _law(_attached(walk, closure_set, attachment), ca.SX(0, 1), results)
            for kind, j, change, _ in law.changes(walk):
                if kind == "q":
                    for i in range(len(keep)):
                        add_entry(found.setdefault(first + i, {}), 0, j, change[i])
        first += len(keep)
    return found


def _element(walk: Unrolled, placed: ForcePlacement, state: ElementState) -> _Seen:
    situation = seen_by(walk, placed, state)
    return _Seen(-1, None, placed.frames, situation.sides, situation, placed.v, placed.z)


def _attached(walk: Unrolled, closure_set: ClosureSet, attachment: ClosureAttachment) -> _Seen:
    sides = tuple(state.side for state in closure_set.frame_states(walk, attachment))
    q, v, _ = closure_set.coordinates(attachment)
    places, along = tuple(c.v for c in attachment.coordinates), None
    if attachment.own is not None:
        cut = closure_set.attachments.cuts[attachment.own]
        places, along = tuple(range(cut.v.start, cut.v.stop)), cut.joint.rate_map(q)
    situation = ElementState(sides, q, v, ca.SX(0, 1), closure_set.t)
    return _Seen(attachment.base, attachment.turn, attachment.frames, sides, situation, places, along=along)


def _cut_acts(
    walk: Unrolled,
    closure_set: ClosureSet,
    cut: CutJoint,
    effort: ca.SX,
    efforts: dict[int, list[Change]],
    outside: AppliedDerivatives,
) -> None:
    """Let a cut joint's effort act on the bodies it joins; the effort's own changes act the same way."""
    sides = tuple(state.side for state in closure_set.frame_states(walk, cut))
    q, v = closure_set.q[cut.q, :], closure_set.v[cut.v, :]

    def results(here: ElementState) -> ca.SX:
        rows = joint_rates(cut.joint, cut.joint.configuration(here.q), here.v, here.sides)
        return ca.SX(ca.vertcat(*(D.T @ effort for D in rows.D)))

    places = tuple(range(cut.v.start, cut.v.stop))
    here = ElementState(sides, q, v, ca.SX(0, 1), closure_set.t)
    seen = _Seen(cut.base, cut.turn, cut.frames, sides, here, places, along=cut.joint.rate_map(q))
    outside.add(_law(seen, results(seen.situation), results))
    rows = joint_rates(cut.joint, cut.joint.configuration(q), v, sides)
    for component in range(cut.joint.nv):
        node_forces = tuple(D[component, :].T for D in rows.D)
        for kind, j, change in efforts.pop(cut.v.start + component, ()):
            outside.add_change(seen.base, seen.turn, cut.frames, kind, j, [on_node * change for on_node in node_forces])


def _finish(outside: AppliedDerivatives, efforts: dict[int, list[Change]]) -> None:
    """Add the changes of efforts on the joints of the tree."""
    for place, changes in efforts.items():
        for kind, j, change in changes:
            add_entry(outside.slopes[kind], place, j, change)
    efforts.clear()


def _act(
    outside: AppliedDerivatives,
    seen: _Seen,
    results: Callable[[ElementState], ca.SX],
    places: Sequence[int],
    efforts: dict[int, list[Change]],
) -> ca.SX:
    """Let something act; return its results, and note the changes of efforts by their place in v."""
    value = results(seen.situation)
    law = _law(seen, value[: 6 * len(seen.frames)], results)
    for kind, j, change in outside.add(law):
        for i, place in enumerate(places):
            if not change[i].is_zero():
                efforts.setdefault(place, []).append((kind, j, change[i]))
    return value


def _law(seen: _Seen, wrenches: ca.SX, results: Callable[[ElementState], ca.SX]) -> AppliedLaw:
    """Differentiate the results."""
    s = seen.situation
    sides = tuple(Side(ca.SX.sym("R", 3, 3), *(ca.SX.sym(x, 3) for x in "pwu")) for _ in s.sides)
    q, v, z = (ca.SX.sym(name, x.shape[0]) for name, x in (("q", s.q), ("v", s.v), ("z", s.z)))
    value = results(s._replace(sides=sides, q=q, v=v, z=z))
    blocks: list[ca.SX] = []
    for side in sides:
        turned = ca.horzcat(*(ca.vec(skew(ca.SX.eye(3)[:, k]) @ side.R) for k in range(3)))
        blocks.append(ca.jacobian(value, ca.vec(side.R)) @ turned)
        blocks += [ca.jacobian(value, x) for x in (side.p, side.w, side.u)]
    blocks += [ca.jacobian(value, x) for x in (q, v, z)]
    if seen.along is not None:
        blocks[-3] = blocks[-3] @ seen.along
    symbols = [*(x for side in sides for x in (ca.vec(side.R), side.p, side.w, side.u)), q, v, z]
    actual = [*(x for side in s.sides for x in (ca.vec(side.R), side.p, side.w, side.u)), s.q, s.v, s.z]
    slope = ca.horzcat(*blocks)
    slope = ca.substitute(slope, ca.vertcat(*symbols), ca.densify(ca.vertcat(*actual)))
    return AppliedLaw(
        seen.base, seen.turn, seen.frames, seen.sides, wrenches, ca.sparsify(slope), seen.v, seen.v, seen.z
    )
