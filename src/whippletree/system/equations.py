"""Every function of a system: its signature, and how it is traced.

A function is known by a `Request`: a name, a formulation, and what it is about (a frame, the frames that carry
wrenches). From a request follow the signature, without any tracing, and the trace.
"""

from __future__ import annotations

import copy
import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from whippletree.elements.forces import Situation
from whippletree.errors import StateError
from whippletree.formulations.closures.closure_frames import ClosureAttachments, attach_closures
from whippletree.formulations.closures.closure_set import ClosureSet
from whippletree.formulations.methods import fully_recursive, velocity_transformation
from whippletree.formulations.nodes.applied_forces import (
    ForcePlacements,
    LoadedWalk,
    events,
    place_forces,
    with_applied_forces,
    without_applied_forces,
)
from whippletree.formulations.nodes.frame_states import with_accelerations
from whippletree.formulations.nodes.node_tree import NodeTree, StateSymbols, column, make_node_tree
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.formulations.recursions import articulated, composite, kinematics
from whippletree.formulations.rolled import rolled_reduction
from whippletree.formulations.rolled.load_items import GivenLoads, built_in
from whippletree.formulations.rolled.memory_layout import unrolled
from whippletree.formulations.rolled.rolled_walk import RolledWalk
from whippletree.kernels.signature import Signature
from whippletree.model.description import Description
from whippletree.programs.loop_program import LoopProgram
from whippletree.system import loop_equations, newton_equations
from whippletree.system.loop_equations import LoopPlan
from whippletree.topology import Plan

__all__ = ["FORMULATIONS", "FUNCTIONS", "OPTIONS", "Equations", "Request", "formulation_name", "variants"]

LOOP_FORMULATIONS = (
    "tree_augmented",
    "joint_multipliers",
    "independent_coordinates",
    "constraint_embedding",
    "coordinate_reduction",
    "by_group",
    "penalty",
    "absolute",
    "fully_recursive",
    "velocity_transformation",
)
"""Formulations of mechanisms with loops."""

BY_GROUP = "by_group"
"""Every group of loops by the method that is cheapest for it."""

FORMULATIONS: dict[str, tuple[str, ...]] = {
    "forward_dynamics": ("articulated", "composite", "fully_recursive", "velocity_transformation"),
    "derivatives": ("articulated", "composite", "fully_recursive", "velocity_transformation"),
    "driving_forces": ("articulated", "composite", "fully_recursive", "velocity_transformation"),
    "reactions": ("articulated", "composite", "fully_recursive", "velocity_transformation"),
    "inverse_dynamics": ("composite",),
    "bias_force": ("composite",),
    "mass_matrix": ("composite",),
    "motion_reactions": ("composite",),
}
"""Formulations that can answer; for a tree, `auto` takes the first unless counting says otherwise."""


ROLL_FROM = 48
"""From this many nodes on, functions are loops over the nodes rather than one straight line."""

MOST_PRODUCTS = 20_000
"""How many products of blocks a velocity transformation may take: a chain of some 48 joints."""

STRAIGHT = 50_000
"""Up to this many instructions, large mechanisms with loops are one straight line all the same, which runs faster."""

MOST_STRAIGHT = 150_000
"""A straight line that would have more operations than this is refused: it would take many minutes to compile."""

_PER_NODE, _PER_ENTRY = 100, 10
"""Operations that a node costs at the very least in a mechanism with loops, and an entry of a mass matrix."""

_LINEAR = frozenset({"coordinate_reduction", "constraint_embedding", "by_group", "absolute", "kinematics"})
"""Formulations that factorise no mass matrix."""

_SOLVED = frozenset({"forward_dynamics", "driving_forces", "reactions", "closure_efforts", "derivatives"})
_OF_LOOPS = frozenset({"motion_basis", "self_stresses", "closure_efforts", "project"})
_NEWTON = frozenset({"newton_residual", "newton_matrix"})
_ONLY_UNROLLED = _NEWTON | {
    "events",
    "event_values",
    "jacobian",
    "displace",
    "integrate",
    "difference",
    "coordinate_rates",
    "inverse_dynamics_derivatives",
}
_OF_ELEMENTS = frozenset({"state_rates", "powers", "element_forces"})
_OF_EVENTS = frozenset({"events", "event_values"})
_STORING = frozenset({"energy"})
_INVERSE = frozenset({"inverse_dynamics", "bias_force", "motion_reactions", "inverse_dynamics_derivatives"})
_LOADED = _SOLVED | _OF_ELEMENTS | _STORING | _INVERSE | _NEWTON
"""Functions that the described forces have a part in."""


@dataclass(frozen=True)
class Request:
    """What is asked for."""

    function: str
    formulation: str = "auto"
    frame: str = ""
    wrenches: tuple[str, ...] = ()
    check: bool = False
    baumgarte: tuple[float, float] = (0.0, 0.0)


OPTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "fully_recursive": {"reference": ("origin", "centroid", "joint")},
    "velocity_transformation": {
        "coordinates": ("reference_point",),
        "closed_by": ("multipliers", "penalty", "independent"),
    },
}
"""What can be chosen within a formulation, by keyword; the first of each is the default."""


def formulation_name(formulation: Any, **choice: Any) -> str:
    """Return the name of a formulation, if it can be one, with what is chosen within it.

    >>> formulation_name("auto")
    'auto'
    >>> formulation_name("fully_recursive", reference="joint")
    'fully_recursive/joint'
    """
    if not isinstance(formulation, str):
        raise StateError(f"formulation= must be the name of one, not {formulation!r}")
    for word, value in choice.items():
        owner = next((name for name, words in OPTIONS.items() if word in words), None)
        if owner is None:
            known = ", ".join(f"{w}=" for words in OPTIONS.values() for w in words)
            raise StateError(f"there is no option {word}=; formulations take {known}")
        if formulation.partition("/")[0] != owner:
            raise StateError(f'{word}= belongs to formulation="{owner}"')
        if value not in OPTIONS[owner][word]:
            known = ", ".join(f'"{name}"' for name in OPTIONS[owner][word])
            raise StateError(f"{word}= must be one of {known}, not {value!r}")
    if choice:
        words = OPTIONS[formulation.partition("/")[0]]
        return "/".join([formulation, *(str(choice.get(word, values[0])) for word, values in words.items())])
    return formulation


class Equations:
    """The equations of a mechanism, traced on request."""

    def __init__(self, description: Description, plan: Plan) -> None:
        self.description, self.plan = description, plan
        self._node_trees: dict[bool, NodeTree] = {}
        self._attachments: dict[bool, ClosureAttachments] = {}
        self._acting: dict[bool, ForcePlacements] = {}
        self._symbols: dict[tuple[str, int], ca.SX] = {}
        self.answers: dict[Any, Any] = {}  # what was traced of the loops' equations
        self.prescribed = any(use.prescribed for use in description.joints)
        self.closed = bool(plan.cuts or description.closures)
        self.loops: LoopPlan | None = None

    def planned(self, loops: LoopPlan) -> Equations:
        """Return the same equations with another numeric plan of the loops."""
        twin = copy.copy(self)
        twin.loops, twin.answers = loops, {}
        return twin

    def formulations(self, function: str) -> tuple[str, ...]:
        """Return the formulations that can answer."""
        if self.closed and function in _SOLVED:
            return LOOP_FORMULATIONS
        return FORMULATIONS.get(function, ())

    def resolved(self, request: Request, auto: Callable[[str], str]) -> Request:
        """Return the request with its formulation decided; `auto(function)` decides where there are several."""
        choices = self.formulations(request.function)
        if not choices:
            return replace(request, formulation="kinematics")
        if request.formulation == "auto":
            return replace(request, formulation=auto(request.function) if len(choices) > 1 else choices[0])
        if request.formulation.partition("/")[0] not in choices:
            known = ", ".join(f'"{name}"' for name in ("auto", *choices))
            what = f"{request.function} of a mechanism with loops" if self.closed else request.function
            raise StateError(f'formulation "{request.formulation}" cannot give {what}; choose one of {known}')
        formulation = _with_options(request.formulation)
        if formulation.startswith("velocity_transformation"):
            self._check_size()
        return replace(request, formulation=formulation)

    def _check_size(self) -> None:
        """Refuse a velocity transformation that would take minutes to write out."""
        products = velocity_transformation.work([constants.parent for constants in self.node_tree().node_constants])
        if products > MOST_PRODUCTS:
            raise StateError(
                f'formulation "velocity_transformation" would take {products} products of blocks for the chains '
                f'of this mechanism; use "composite" or "articulated"'
            )

    def attachments(self, *, weld: bool = True) -> ClosureAttachments:
        """Return what the closures hold on to."""
        if weld not in self._attachments:
            reference = None if weld else self.node_tree()
            self._attachments[weld] = attach_closures(self.description, self.plan, self.node_tree(weld=weld), reference)
        return self._attachments[weld]

    def closure_set(
        self, symbols: Mapping[str, ca.SX] | None = None, *, weld: bool = True, kept: bool = True
    ) -> ClosureSet:
        """Return the closures over these symbols, with the rows that the numeric plan keeps or with all."""
        held = self.attachments(weld=weld)
        keep = self.loop_plan.keep if kept else tuple(tuple(range(f.closure.n_rows)) for f in held.all)
        x = symbols or {}
        none = ca.SX.zeros(self.plan.nv)
        q = x.get("q", ca.SX.zeros(self.plan.nq))
        return ClosureSet(held, keep, q, x.get("v", none), x.get("a", none), x.get("t", ca.SX(0)))

    @property
    def loop_plan(self) -> LoopPlan:
        """What numbers decided about the loops."""
        if self.loops is None:
            raise StateError("the loops have not been analysed")
        return self.loops

    @functools.cached_property
    def prescribed_mask(self) -> list[bool]:
        """Which freedoms are prescribed."""
        return [use.prescribed for use in self.description.joints for _ in range(use.joint.nv)]

    def prescribed_only(self, x: dict[str, ca.SX]) -> dict[str, ca.SX]:
        """Return the symbols with the accelerations of free hinges set to zero."""
        if "a" not in x:
            return x
        a = ca.vertcat(*(x["a"][i] if given else 0 for i, given in enumerate(self.prescribed_mask)))
        return {**x, "a": ca.densify(ca.SX(a))}

    def node_tree(self, *, weld: bool = True) -> NodeTree:
        """Return the nodes' constants, with welded bodies as one node or not."""
        if weld not in self._node_trees:
            self._node_trees[weld] = make_node_tree(self.description, self.plan, weld=weld)
        return self._node_trees[weld]

    # ------------------------------------------------------------------ signatures

    def signature(self, request: Request) -> Signature:
        """Return names and sizes of inputs and outputs."""
        nq, nv = self.plan.nq, self.plan.nv
        size = {"q": nq, "q0": nq, "q1": nq, "v": nv, "tau": nv, "a": nv, "dv": nv, "u": nv, "step": 2}
        names = list(FUNCTIONS[request.function].inputs)
        if request.function in _NEWTON and self.closed:
            size["multipliers"] = self.loop_plan.n_rows
            names += ["multipliers"] if self.loop_plan.n_rows else []
        if self.prescribed and request.function in _SOLVED:
            names.append("a")
        inputs = [(name, size[name]) for name in names]
        inputs += [(f"wrench on {name}", 6) for name in request.wrenches]
        if self.stated(request):
            inputs.append(("z", len(self.description.states)))
        if self.timed(request):
            inputs.append(("t", 1))
        if self.description.parameters:
            inputs.append(("parameters", len(self.description.parameters)))
        shape = self._shape(request.function)
        outputs = ((FUNCTIONS[request.function].result, math.prod(shape)),)
        quaternions = [
            (i, q.start)
            for i, (name, _) in enumerate(inputs)
            if name in ("q", "q0", "q1")
            for use, q in zip(self.description.joints, self.plan.q_slices, strict=True)
            if use.joint.quaternion
        ]
        return Signature(tuple(inputs), outputs, shape, tuple(quaternions))

    def timed(self, request: Request) -> bool:
        """Tell whether the time is an input."""
        if self.description.forces_timed and request.function in _LOADED:
            return True
        if request.function in _OF_EVENTS:
            return self.description.events_timed
        return self.description.closures_timed and request.function in _SOLVED | _OF_LOOPS | _NEWTON

    def stated(self, request: Request) -> bool:
        """Tell whether the auxiliary states are an input."""
        return bool(self.description.states) and request.function in (_LOADED - _STORING) | _OF_EVENTS

    def _shape(self, function: str) -> tuple[int, ...]:
        """Return the shape of a function's result for one state."""
        nq, nv = self.plan.nq, self.plan.nv
        size = {
            "nq": nq,
            "nv": nv,
            "nj": len(self.description.joints),
            "np": 2 * nv + 2,
            "nd": nv + len(self.description.states) + 2 * (self.closed + self.description.powered),
            "ns": nq + nv,
        }
        if function in _OF_EVENTS:
            watched = self.description.events
            size["ng"], size["nw"] = len(watched), sum(len(use.sets) for use in watched)
        shape = FUNCTIONS[function].shape
        if "nn" in shape and function not in _NEWTON:  # apart, for the others need no skeleton, which takes time
            size["nn"] = len(self.node_tree().node_constants)
        if function in _OF_ELEMENTS:
            uses = self.description.forces
            size["nz"] = len(self.description.states)
            size["ne"] = sum(6 * len(use.sides) + len(use.coordinates) for use in uses)
        if function in _NEWTON:
            rows = self.loop_plan.n_rows if self.closed else 0
            size["nn"] = nv + rows + len(self.description.states)
            size["nr"] = size["nn"] + nv + rows
        if function in _OF_LOOPS:
            kept = self.loop_plan.n_rows
            size["nf"] = len(self.loop_plan.choice.independent)
            size["nm"], size["nr"] = kept, self.attachments().n_rows - kept
        return tuple(size[s] if isinstance(s, str) else s for s in shape)

    # ------------------------------------------------------------------ traces

    def trace(self, request: Request) -> ca.Function:
        """Return a request's function over symbols."""
        self._check_length(request)
        signature, symbols = self.signature(request), self.inputs(request)
        of_loops = loop_equations.TRACES.get(request.function) if self.closed else None
        inputs = [symbols[name] for name, _ in signature.inputs]
        output: Any
        if of_loops and self.reduces_by_items(request):
            output = unrolled(self._items(request)[0], inputs, self.plan.nv)
        else:
            output = ca.vec((of_loops or FUNCTIONS[request.function].trace)(self, request, symbols))
        if "parameters" in symbols:
            named = ca.vertcat(*(p.symbol for p in self.description.parameters))
            output = ca.substitute(output, named, symbols["parameters"])
        labels = _labels([name for name, _ in signature.inputs])
        outputs = _labels([name for name, _ in signature.outputs])
        if set(outputs) & set(labels):
            outputs = [f"new_{name}" if name in labels else name for name in outputs]
        return ca.Function(request.function, inputs, [ca.densify(output)], labels, outputs)

    def _check_length(self, request: Request) -> None:
        """Refuse what would be a straight line of a length that nobody waits for."""
        if self.too_long(request):
            bodies, loops = len(self.plan.nodes), len(self.plan.cuts) + len(self.description.closures)
            by = f' by "{request.formulation}"' if request.formulation != "kinematics" else ""
            raise StateError(
                f"{request.function} of a mechanism with {bodies} moving bodies and {loops} loops would be one "
                f"straight line{by}, which takes many minutes to compile. Only forward_dynamics "
                f'by "coordinate_reduction" is a loop over the bodies, without prescribed joints, drives, parameters '
                f"and forces written as formulas: ask for that, or for a part of the mechanism"
            )

    def too_long(self, request: Request) -> bool:
        """Tell whether a function of loops has no rolled form and would be a very long straight line."""
        if not (self.closed and self.large and request.function in _SOLVED | _OF_LOOPS | _NEWTON):
            return False
        if self.reduces_by_items(request):
            return False
        parents = [constants.parent for constants in self.node_tree().node_constants]
        depth: list[int] = []
        for parent in parents:
            depth.append(1 if parent < 0 else depth[parent] + 1)
        entries = 0 if request.formulation.partition("/")[0] in _LINEAR else sum(depth)
        return _PER_NODE * len(parents) + _PER_ENTRY * entries > MOST_STRAIGHT

    def inputs(self, request: Request) -> dict[str, ca.SX]:
        """Return the symbols of a request's inputs."""
        return {name: self._symbol(name, size) for name, size in self.signature(request).inputs}

    def _symbol(self, name: str, size: int) -> ca.SX:
        """Return the symbol of an input, the same for all functions: what they share is then traced once."""
        if (name, size) not in self._symbols:
            self._symbols[name, size] = ca.SX.sym(name.replace(" ", "_"), size)
        return self._symbols[name, size]

    def rolls(self, request: Request) -> bool:
        """Tell whether a request is answered by loops: it is for large models, where there is such a form."""
        if self.closed and (request.function in _SOLVED or request.function in _OF_LOOPS):
            return self.reduces_by_items(request) and self._items(request)[1] > STRAIGHT
        if request.function in _OF_ELEMENTS or (request.function in _LOADED and not self._forces_roll(request)):
            return False
        if request.function in _ONLY_UNROLLED or (request.function in _SOLVED and not self._rolling(request)):
            return False
        if self.large and request.frame and self.node_tree().where[request.frame][0] < 0:
            return False  # on the ground: there is nothing to walk
        return self.large

    def _forces_roll(self, request: Request) -> bool:
        """Tell whether what acts can be walked in loops: in forward dynamics, if its laws and numbers are plain."""
        if not self.description.forces:
            return True
        return self.large and request.function == "forward_dynamics" and self._plain_forces

    @functools.cached_property
    def _plain_forces(self) -> bool:
        return not self.description.parameters and built_in(self.acting())

    @staticmethod
    def _rolling(request: Request) -> bool:
        """Tell whether a formulation has a rolled form for what is asked."""
        name = request.formulation.partition("/")[0]
        solves = name == "composite" and request.function == "forward_dynamics"
        return solves or name in ("articulated", "fully_recursive")

    def _items(self, request: Request) -> tuple[LoopProgram, int]:
        """Return the coordinate reduction as a loop over items, and its operations."""
        key = ("items", request.check, request.wrenches, self.loop_plan)
        if key not in self.answers:
            limits = rolled_reduction.Limits(
                loop_equations.WATCHED, loop_equations.CONSISTENT, self.loop_plan.length, request.check
            )
            plan = self.loop_plan
            place = {name: i for i, (name, _) in enumerate(self.signature(request).inputs)}
            wrenches = {name: place[f"wrench on {name}"] for name in request.wrenches}
            loads = GivenLoads(self.acting(), wrenches, place)
            program = rolled_reduction.forward_dynamics(self.node_tree(), self.attachments(), plan.keep, loads, limits)
            (loop,) = program.steps
            sizes = [variant.function.n_instructions() for variant in loop.variants]  # type: ignore[union-attr]
            self.answers[key] = (program, sum(int(sizes[row[0]]) for row in loop.table))  # type: ignore[misc, union-attr]
        found: tuple[LoopProgram, int] = self.answers[key]
        return found

    def reduces_by_items(self, request: Request) -> bool:
        """Tell whether loops are solved item by item: forward dynamics by coordinate reduction, all rows carried."""
        if not self.large:
            return False
        if (request.function, request.formulation) != ("forward_dynamics", "coordinate_reduction"):
            return False
        if self.prescribed or self.description.parameters:
            return False
        rolls = rolled_reduction.can_roll(self.attachments(), self.node_tree(), self.acting())
        return rolls and not self.loop_plan.reduction()

    @property
    def large(self) -> bool:
        """Whether the model is large enough for loops."""
        return len(self.plan.nodes) >= ROLL_FROM

    def roll(self, request: Request) -> LoopProgram:
        """Return a request's loops."""
        signature = self.signature(request)
        if self.closed and request.function in _SOLVED:
            return self._items(request)[0]
        rolling = Rolling(self, [name for name, _ in signature.inputs])
        output = FUNCTIONS[request.function].trace(rolling, request, {})
        if rolling.walked is None:
            raise StateError(f"{request.function} has no rolled form")
        return rolling.walked.program(output)

    def walk(self, symbols: dict[str, ca.SX], *, weld: bool = True, toward: str = "") -> Unrolled:
        """Return the unrolled walk with these symbols; those that are missing are zero.

        `toward` leaves out the nodes that are not on the way to that body or frame.
        """
        zero = ca.SX.zeros(self.plan.nv)
        wrenches = {
            name.removeprefix("wrench on "): value for name, value in symbols.items() if name.startswith("wrench on ")
        }
        given = StateSymbols(
            q=symbols.get("q", ca.SX.zeros(self.plan.nq)),
            v=symbols.get("v", zero),
            tau=symbols.get("tau", zero),
            acceleration=symbols.get("a", zero),
            wrenches=wrenches,
        )
        node_tree = self.node_tree(weld=weld)
        return (node_tree.toward(toward) if toward else node_tree).walk(given)

    def loaded(self, symbols: dict[str, ca.SX], *, weld: bool = True) -> LoadedWalk:
        """Return the walk with these symbols under the described forces, and what these do."""
        walk, given = self.walk(symbols, weld=weld), symbols.get("tau", ca.SX.zeros(self.plan.nv))
        if not (self.description.forces or self.description.states):
            return without_applied_forces(walk, given)
        z = symbols.get("z", ca.SX.zeros(len(self.description.states)))
        q, v = (symbols.get(name, ca.SX.zeros(n)) for name, n in (("q", self.plan.nq), ("v", self.plan.nv)))
        return with_applied_forces(
            walk, self.acting(weld=weld), Situation((), q, v, z, symbols.get("t", ca.SX(0))), given
        )

    def acting(self, *, weld: bool = True) -> ForcePlacements:
        """Return what acts, with what it takes hold of."""
        if weld not in self._acting:
            self._acting[weld] = place_forces(self.description, self.plan, self.node_tree(weld=weld))
        return self._acting[weld]

    def events(self, symbols: dict[str, ca.SX]) -> list[ca.SX]:
        """Return the column of each event: what is watched, and the values that it sets."""
        none = {"z": len(self.description.states), "t": 1}
        q, v, z, t = (symbols.get(name, ca.SX.zeros(none.get(name, 0))) for name in ("q", "v", "z", "t"))
        state = Situation((), q, v, z, t)
        return events(self.walk(symbols), self.description, self.plan, self.node_tree(), state)

    def faulty_element(self, state: Mapping[str, Any]) -> str | None:
        """Return the force or state, in words, whose formula is not finite at a state, if there is one."""
        described = self.description
        given: dict[str, Any] = {"z": described.state_values, "t": 0.0, "parameters": described.parameter_values}
        given |= {name: value for name, value in state.items() if value is not None}
        given.setdefault("v", np.zeros(self.plan.nv))
        for function, names in self._elements:
            values = function.call([given[name] for name in function.name_in()])
            for name, value in zip(names, values, strict=True):
                if not np.isfinite(value.full()).all():
                    return name
        return None

    @functools.cached_property
    def _elements(self) -> list[tuple[ca.Function, list[str]]]:
        """What every element does and every state's rate, as functions with several results, and what these are."""
        described, found = self.description, []
        sizes = {"q": self.plan.nq, "v": self.plan.nv, "z": len(described.states), "t": 1}
        x = {name: self._symbol(name, size) for name, size in sizes.items()}
        here = self.loaded(x)
        forces = [ca.vertcat(*done.wrenches, done.efforts) for done in here.applied]
        rates = [here.rates[i] for i in range(len(described.states))]
        named = ca.vertcat(*(p.symbol for p in described.parameters))
        inputs, labels = [*x.values(), named], [*x, "parameters"]
        for results, words in (
            (forces, [f'force "{use.name}"' for use in described.forces]),
            (rates, [f'the rate of state "{use.name}"' for use in described.states]),
        ):
            names_out = [f"o{k}" for k in range(len(results))]
            found.append((ca.Function("elements", inputs, results, labels, names_out), words))
        return found

    def driving(self, here: LoadedWalk, needed: ca.SX, tau: ca.SX) -> ca.SX:
        """Return the efforts given, and at prescribed hinges those needed, less what the elements do there."""
        needed = here.less_efforts(needed)
        return ca.SX(ca.vertcat(*(needed[i] if given else tau[i] for i, given in enumerate(self.prescribed_mask))))

    def grounded(self) -> tuple[Any, ca.SX]:
        """Return mass and first moment of the bodies that are welded to the ground, which no node holds."""
        mass: Any = 0.0
        moment = ca.SX.zeros(3)
        for body in self.description.bodies:
            index, placement = self.node_tree().where[body.name]
            if index < 0:
                moved = body.properties.moved(at=placement.point, rotation=placement.rotation)
                mass, moment = mass + moved.mass, moment + moved.mass * column(moved.com)
        return mass, moment

    def place(self, name: str) -> tuple[int, ca.SX, ca.SX]:
        """Return a body's or frame's node among those on the way to it, and its rotation and point there."""
        index, placement = self.node_tree().toward(name).where[name]
        return index, ca.SX(ca.DM(np.array(placement.rotation))), column(placement.point)


def variants(formulations: Sequence[str]) -> tuple[str, ...]:
    """Return names of formulations with everything that can be chosen within them.

    >>> variants(["composite", "fully_recursive"])
    ('composite', 'fully_recursive/origin', 'fully_recursive/centroid', 'fully_recursive/joint')
    """
    return tuple(
        "/".join([name, *chosen])
        for name in formulations
        for chosen in itertools.product(*OPTIONS.get(name, {}).values())
    )


def _with_options(formulation: str) -> str:
    """Return a formulation's name with what is chosen within it, the defaults if nothing is."""
    name, *chosen = formulation.split("/")
    words = OPTIONS.get(name, {})
    if len(chosen) not in (0, len(words)) or any(
        value not in values for value, values in zip(chosen, words.values(), strict=False)
    ):
        raise StateError(f'there is no formulation "{formulation}"')
    return "/".join([name, *(chosen or [values[0] for values in words.values()])])


def _labels(names: list[str]) -> list[str]:
    """Return names that CasADi and C take, all different.

    >>> _labels(["q", "wrench on tip-1", "wrench on tip 1"])
    ['q', 'wrench_on_tip_1', 'wrench_on_tip_1_2']
    """
    labels: list[str] = []
    for name in names:
        plain = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
        label, k = plain, 1
        while label in labels:
            k += 1
            label = f"{plain}_{k}"
        labels.append(label)
    return labels


class Rolling:
    """Stands in for the equations while a request is traced for loops: its walk is rolled."""

    def __init__(self, equations: Equations, inputs: list[str]) -> None:
        self.plan, self.description = equations.plan, equations.description
        self.place, self.grounded = equations.place, equations.grounded
        self._equations, self._inputs = equations, inputs
        self.walked: RolledWalk | None = None

    @staticmethod
    def prescribed_only(symbols: dict[str, ca.SX]) -> dict[str, ca.SX]:
        """Return the symbols as they are: the steps look at what is prescribed."""
        return symbols

    def walk(self, symbols: dict[str, ca.SX], *, weld: bool = True, toward: str = "") -> RolledWalk:
        """Return the rolled walk."""
        node_tree = self._equations.node_tree(weld=weld)
        parameters = ca.SX(ca.vertcat(*(p.symbol for p in self.description.parameters)))
        node_tree = node_tree.toward(toward) if toward else node_tree
        self.walked = RolledWalk(node_tree, self._inputs, parameters, node_tree.positions)
        return self.walked

    def loaded(self, symbols: dict[str, ca.SX], *, weld: bool = True) -> LoadedWalk:
        """Return the rolled walk, under the described forces."""
        walk = self.walk(symbols, weld=weld)
        if self.description.forces:
            walk.apply_forces(self._equations.acting(weld=weld))
        return without_applied_forces(walk, None)


Trace = Callable[[Any, Request, dict[str, ca.SX]], Any]


def _forward_dynamics(eq: Any, request: Request, x: dict[str, ca.SX]) -> Any:
    name, _, option = request.formulation.partition("/")
    if name == "composite":
        return composite.forward_dynamics(eq.loaded(eq.prescribed_only(x)).walk)
    if name == "fully_recursive":
        return fully_recursive.forward_dynamics(eq.loaded(x).walk, option)
    if name == "velocity_transformation":
        return velocity_transformation.forward_dynamics(eq.loaded(eq.prescribed_only(x)).walk)
    return articulated.forward_dynamics(eq.loaded(x).walk)


def _driving_forces(eq: Any, request: Request, x: dict[str, ca.SX]) -> Any:
    here = eq.loaded(x)
    name, _, option = request.formulation.partition("/")
    if name in ("articulated", "fully_recursive"):
        if name == "articulated":
            needed = articulated.driving_forces(here.walk)
        else:
            needed = fully_recursive.driving_forces(here.walk, option)
        if here.efforts is None:
            return needed
    else:
        a = _forward_dynamics(eq, request, x)
        needed = composite.inverse_dynamics(with_accelerations(here.walk, a))
    return eq.driving(here, needed, x["tau"])


def _reactions(eq: Any, request: Request, x: dict[str, ca.SX]) -> Any:
    name, _, option = request.formulation.partition("/")
    if name == "articulated":
        return articulated.reactions(eq.loaded(x, weld=False).walk)
    if name == "fully_recursive":
        return fully_recursive.reactions(eq.loaded(x, weld=False).walk, option)
    a = _forward_dynamics(eq, request, x)
    return composite.reactions(eq.loaded({**x, "a": a}, weld=False).walk)


def _inverse_dynamics(eq: Any, request: Request, x: dict[str, ca.SX]) -> Any:
    here = eq.loaded(x)
    return here.less_efforts(composite.inverse_dynamics(here.walk))


def _mass_matrix(eq: Any, request: Request, x: dict[str, ca.SX]) -> Any:
    return composite.mass_matrix(eq.walk(x))


def _motion_reactions(eq: Any, request: Request, x: dict[str, ca.SX]) -> Any:
    return composite.reactions(eq.loaded(x, weld=False).walk)


def _derivatives(eq: Any, request: Request, x: dict[str, ca.SX]) -> Any:
    """Accelerations, rates of the elements' states, and the powers that are dissipated and put in."""
    if eq.closed:
        return loop_equations.derivatives(eq, request, x)
    a = _forward_dynamics(eq, request, x)
    driven = loop_equations.hinge_power(eq, x, _driving_forces(eq, request, x)) if eq.prescribed else ca.SX(0)
    return ca.vertcat(a, loop_equations.element_rates(eq, x), loop_equations.powers(eq, x, driven))


def _state_rates(eq: Any, request: Request, x: dict[str, ca.SX]) -> Any:
    return eq.loaded(x).rates


def _powers(eq: Any, request: Request, x: dict[str, ca.SX]) -> Any:
    """Stored energy, dissipated power and input power of the elements; efforts and wrenches given are not in it."""
    return ca.vertcat(*eq.loaded(x).powers)


def _element_forces(eq: Any, request: Request, x: dict[str, ca.SX]) -> Any:
    """Wrenches on sides and efforts on coordinates, element by element."""
    applied = eq.loaded(x).applied
    return ca.vertcat(ca.SX(0, 1), *(part for done in applied for part in (*done.wrenches, done.efforts)))


def _events(eq: Any, request: Request, x: dict[str, ca.SX]) -> Any:
    """What events watch, one after the other."""
    return ca.vertcat(*(column[0] for column in eq.events(x)))


def _event_values(eq: Any, request: Request, x: dict[str, ca.SX]) -> Any:
    """The values that events set, one after the other."""
    pairs = zip(eq.description.events, eq.events(x), strict=True)
    return ca.vertcat(ca.SX(0, 1), *(column[1 + i] for use, column in pairs for i in range(len(use.sets))))


def _wrench_efforts(eq: Any, request: Request, x: dict[str, ca.SX]) -> Any:
    return kinematics.wrench_efforts(eq.walk(x))


def _hinge_inertias(eq: Any, request: Request, x: dict[str, ca.SX]) -> Any:
    return articulated.hinge_inertias(eq.walk(x))


def _pose(eq: Any, request: Request, x: dict[str, ca.SX]) -> Any:
    index, rotation, point = eq.place(request.frame)
    kept = kinematics.Pose.ground() if index < 0 else kinematics.poses(eq.walk(x, toward=request.frame)).at(index)
    return ca.vec(kinematics.frame_pose(kept, rotation, point).T)


def _velocity(eq: Any, request: Request, x: dict[str, ca.SX]) -> Any:
    index, _, point = eq.place(request.frame)
    if index < 0:
        return ca.SX.zeros(6)
    return kinematics.frame_twist(kinematics.twists(eq.walk(x, toward=request.frame)).at(index), point)


def _acceleration(eq: Any, request: Request, x: dict[str, ca.SX]) -> Any:
    index, _, point = eq.place(request.frame)
    if index < 0:
        return ca.SX.zeros(6)
    return kinematics.frame_acceleration(kinematics.twist_rates(eq.walk(x, toward=request.frame)).at(index), point)


def _jacobian(eq: Any, request: Request, x: dict[str, ca.SX]) -> Any:
    index, _, point = eq.place(request.frame)
    return ca.vec(kinematics.frame_jacobian(eq.walk(x, toward=request.frame), index, point).T)


def _energy(eq: Any, request: Request, x: dict[str, ca.SX]) -> Any:
    here = eq.loaded(x)
    kinetic, potential = kinematics.energies(here.walk)
    potential = potential + here.powers.stored
    return ca.vertcat(kinetic, potential - ca.dot(column(eq.description.gravity), eq.grounded()[1]))


def _momentum(eq: Any, request: Request, x: dict[str, ca.SX]) -> Any:
    """Momentum about the ground's origin, in ground axes."""
    return kinematics.momentum(eq.walk(x))[2]


def _center_of_mass(eq: Any, request: Request, x: dict[str, ca.SX]) -> Any:
    mass, moment, _ = kinematics.momentum(eq.walk(x))
    still = eq.grounded()
    return (moment + still[1]) / (mass + still[0])


def _displace(eq: Any, request: Request, x: dict[str, ca.SX]) -> ca.SX:
    """Return the configuration that the displacement `u` leads to, and the rate of `u` that belongs to `v`."""
    places, rates = [], []
    for use, q, v in zip(eq.description.joints, eq.plan.q_slices, eq.plan.v_slices, strict=True):
        if use.joint.nv:
            places.append(use.joint.integrate(x["q"][q], x["u"][v]))
            rates.append(use.joint.displacement_rate(x["u"][v], x["v"][v]))
    return ca.SX(ca.vertcat(*places, *rates))


def _joint_wise(method: str) -> Trace:
    """Apply a method of every joint to its own slices of the inputs."""

    def trace(eq: Any, request: Request, x: dict[str, ca.SX]) -> Any:
        parts = []
        for use, q, v in zip(eq.description.joints, eq.plan.q_slices, eq.plan.v_slices, strict=True):
            if use.joint.nv == 0:
                continue
            if method == "rates":
                parts.append(use.joint.rate_map(x["q"][q]) @ x["v"][v])
            elif method == "integrate":
                parts.append(use.joint.integrate(x["q"][q], x["dv"][v]))
            else:
                parts.append(use.joint.difference(x["q0"][q], x["q1"][q]))
        return ca.SX(ca.vertcat(*parts))

    return trace


@dataclass(frozen=True)
class _Function:
    """A function of a system: its usual inputs, what comes out and in what shape, and how it is traced."""

    inputs: tuple[str, ...]
    result: str
    shape: tuple[str | int, ...]
    trace: Trace


FUNCTIONS: dict[str, _Function] = {
    "forward_dynamics": _Function(("q", "v", "tau"), "acceleration", ("nv",), _forward_dynamics),
    "driving_forces": _Function(("q", "v", "tau"), "effort", ("nv",), _driving_forces),
    "inverse_dynamics": _Function(("q", "v", "a"), "effort", ("nv",), _inverse_dynamics),
    "bias_force": _Function(("q", "v"), "effort", ("nv",), _inverse_dynamics),
    "inverse_dynamics_derivatives": _Function(
        ("q", "v", "a"), "derivatives", (3, "nv", "nv"), newton_equations.inverse_dynamics_derivatives
    ),
    "newton_residual": _Function(("q", "v", "a", "tau"), "residual", ("nr",), newton_equations.newton_residual),
    "newton_matrix": _Function(
        ("q", "u", "v", "a", "tau", "step"), "matrix", ("nn", "nn"), newton_equations.newton_matrix
    ),
    "mass_matrix": _Function(("q",), "mass matrix", ("nv", "nv"), _mass_matrix),
    "reactions": _Function(("q", "v", "tau"), "reactions", ("nj", 6), _reactions),
    "motion_reactions": _Function(("q", "v", "a"), "reactions", ("nj", 6), _motion_reactions),
    "pose": _Function(("q",), "pose", (4, 4), _pose),
    "velocity": _Function(("q", "v"), "velocity", (6,), _velocity),
    "acceleration": _Function(("q", "v", "a"), "acceleration", (6,), _acceleration),
    "jacobian": _Function(("q",), "jacobian", (6, "nv"), _jacobian),
    "wrench_efforts": _Function(("q",), "effort", ("nv",), _wrench_efforts),
    "hinge_inertias": _Function(("q",), "pivots", ("nn",), _hinge_inertias),
    "energy": _Function(("q", "v"), "energy", (2,), _energy),
    "state_rates": _Function(("q", "v", "tau"), "rates", ("nz",), _state_rates),
    "powers": _Function(("q", "v", "tau"), "powers", (3,), _powers),
    "element_forces": _Function(("q", "v"), "forces", ("ne",), _element_forces),
    "events": _Function(("q", "v"), "events", ("ng",), _events),
    "event_values": _Function(("q", "v"), "values", ("nw",), _event_values),
    "momentum": _Function(("q", "v"), "momentum", (6,), _momentum),
    "center_of_mass": _Function(("q",), "center of mass", (3,), _center_of_mass),
    "motion_basis": _Function(("q",), "motions", ("nv", "nf"), loop_equations.motion_basis),
    "self_stresses": _Function(("q",), "reactions", ("nj", 6, "nr"), loop_equations.self_stresses),
    "closure_efforts": _Function(("q", "v", "tau"), "multipliers", ("nm",), loop_equations.closure_efforts),
    "project": _Function(("q", "v"), "state", ("np",), loop_equations.project),
    "derivatives": _Function(("q", "v", "tau"), "derivatives", ("nd",), _derivatives),
    "displace": _Function(("q", "u", "v"), "state", ("ns",), _displace),
    "coordinate_rates": _Function(("q", "v"), "rates", ("nq",), _joint_wise("rates")),
    "integrate": _Function(("q", "dv"), "q", ("nq",), _joint_wise("integrate")),
    "difference": _Function(("q0", "q1"), "displacement", ("nv",), _joint_wise("difference")),
}
"""All functions; in shapes, nq, nv, nj and nn count coordinates, velocities, joints and nodes."""
