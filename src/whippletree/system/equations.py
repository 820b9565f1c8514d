"""The equations of a mechanism, traced on request: signatures, and the symbols that traces are made of.

A function is known by a `Request`: a name, a formulation, and what it is about (a frame, the frames that carry
wrenches). From a request follow the signature, without any tracing, and the trace. What the functions are stands in
`functions`, how they are traced in the modules named `..._equations`, and what is one straight line in `size_policy`.
What only large mechanisms need is imported when there is one.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import casadi as ca
import numpy as np

from whippletree.elements.forces import ElementState
from whippletree.elements.user_functions import NO_NUMBERS
from whippletree.errors import StateError
from whippletree.formulations.closures.closure_frames import ClosureAttachments, attach_closures
from whippletree.formulations.closures.closure_set import ClosureSet
from whippletree.formulations.methods import registry
from whippletree.formulations.methods.formulation import Formulation, NumericDecisions
from whippletree.formulations.methods.registry import find, formulation_name
from whippletree.formulations.nodes.applied_forces import (
    ForcePlacements,
    LoadedWalk,
    corners,
    events,
    place_forces,
    with_applied_forces,
)
from whippletree.formulations.nodes.node_tree import NodeTree, StateSymbols, column, make_node_tree
from whippletree.formulations.nodes.sweeps import Unrolled
from whippletree.foundation.once import Lock, made_once
from whippletree.kernels.entry import Signature
from whippletree.model.description import Description
from whippletree.model.formula_corner_lists import corners_in_state
from whippletree.model.names import suggestion
from whippletree.system import size_policy
from whippletree.system.derivative_columns import derivative_columns
from whippletree.system.functions import FUNCTIONS, SystemFunction
from whippletree.system.loop_plan import LoopPlan
from whippletree.system.tree_equations import faulty_element
from whippletree.topology import Plan

if TYPE_CHECKING:
    from whippletree.programs.loop_program import LoopProgram
    from whippletree.system.part_program import PartFamily, PivotSizes

__all__ = [
    "FUNCTIONS",
    "Equations",
    "MechanismNodes",
    "Request",
    "Symbols",
    "code_names",
    "formulation_name",
    "text_matrices",
]

Made = TypeVar("Made")


class Equations:
    """The equations of a mechanism, traced on request."""

    def __init__(
        self,
        description: Description,
        plan: Plan,
        loops: LoopPlan | None = None,
        nodes: MechanismNodes | None = None,
        pivot_sizes: PivotSizes | None = None,
        group_methods: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self.description, self.plan = description, plan
        self.nodes = nodes or MechanismNodes(description, plan)
        self.lock = self.nodes.lock
        self.node_tree, self.symbol, self.attachments = self.nodes.node_tree, self.nodes.symbol, self.nodes.attachments
        self._traced_once: dict[Hashable, Any] = {}  # what was traced of the loops' equations
        self.prescribed = any(use.prescribed for use in description.joints)
        self.closed = bool(plan.cuts or description.closures)
        self.loops, self.pivot_sizes, self.group_methods = loops, pivot_sizes, group_methods

    def planned(self, loops: LoopPlan, group_methods: Callable[[], Sequence[str]] = tuple) -> Equations:
        """Return the same equations with another numeric plan of the loops.

        `group_methods` says how each group of loops is solved (`by_group`), which is weighed by counting operations.
        """
        return Equations(self.description, self.plan, loops, self.nodes, self.pivot_sizes, group_methods)

    @staticmethod
    def of_part(description: Description, plan: Plan, loops: LoopPlan, pivot_sizes: PivotSizes) -> Equations:
        """Return the equations of a part, which stands for all parts of its family (`part_program`)."""
        return Equations(description, plan, loops, pivot_sizes=pivot_sizes)

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return what was made under a key, or make it."""
        if key not in self._traced_once:
            self._traced_once[key] = make()
        found: Made = self._traced_once[key]
        return found

    def formulations(self, name: str) -> tuple[str, ...]:
        """Return the names of the formulations that can give a function."""
        function = FUNCTIONS[name]
        if function.solved and self.closed:
            return tuple(dict.fromkeys(one.name for one in registry.loop_formulations()))
        if function.solved and not function.of_loops:
            return tuple(dict.fromkeys(one.name for one in registry.tree_formulations()))
        return (function.formulation,) if function.formulation else ()

    def resolved(self, request: Request, auto: Callable[[str], str]) -> Request:
        """Return the request with its formulation decided; `auto(function)` decides where there are several."""
        function, asked = FUNCTIONS[request.function], request.formulation
        if asked == "auto" and function.solved and (self.closed or not function.of_loops):
            return replace(request, formulation=auto(request.function))
        if not self._solves(function, asked):
            choices = self.formulations(request.function)
            if not choices:
                return replace(request, formulation=registry.NOTHING_SOLVED.text)
            if asked == "auto":
                return replace(request, formulation=choices[0])
            if not any(asked == name or asked.startswith(f"{name}/") for name in choices):
                known = ", ".join(f'"{name}"' for name in ("auto", *choices))
                what = f"{request.function} of a mechanism with loops" if self.closed else request.function
                raise StateError(f'formulation "{asked}" cannot give {what}; choose one of {known}')
        method = registry.find(asked)
        listed = [one.name for one in self.description.bodies] if method.bodies else []
        for body in method.bodies:
            if body not in listed:
                raise StateError(f"there is no body {suggestion(body, listed)}")
        refusal = method.refusal and method.refusal([one.parent for one in self.node_tree().node_constants])
        if refusal:
            raise StateError(refusal)
        return replace(request, formulation=method.text)

    def _solves(self, function: SystemFunction, text: str) -> bool:
        """Tell whether a formulation gives a function that is solved for; no other formulation is looked at."""
        if not function.solved or (function.of_loops and not self.closed):
            return False
        method = registry.known(text)
        return method is not None and (method.solve if self.closed else method.tree) is not None

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

    def decisions(self, formulation: Formulation) -> NumericDecisions:
        """Return the numeric decisions that a formulation needs."""
        plan, names = self.loop_plan, set(formulation.needs)
        groups = self.group_methods() if "group_methods" in names else ()
        found: dict[str, Any] = {name: getattr(plan, name) for name in names - {"group_methods"}}
        return NumericDecisions(plan.choice, group_methods=groups, **found)

    def code_key(self, formulation: Formulation) -> str:
        """Return what the code of a formulation depends on beside the description: the numeric plan of the loops."""
        decisions = self.decisions(formulation)
        return self.loop_plan.key() + repr([getattr(decisions, name) for name in formulation.needs])

    @property
    def _n_own(self) -> int:
        return sum(v.stop - v.start for _, v in self.plan.own_slices.values())

    @made_once
    def bodies_alone(self) -> bool:
        """Whether every body has a free joint to the ground, so that the coordinates are absolute."""
        nodes = self.node_tree().node_constants
        return all(one.shared or (one.parent < 0 and one.joint.kind == "free") for one in nodes)

    @made_once
    def prescribed_mask(self) -> list[bool]:
        """Which freedoms are prescribed."""
        return [use.prescribed for use in self.description.coordinate_owners for _ in range(use.joint.nv)]

    def prescribed_only(self, x: dict[str, ca.SX]) -> dict[str, ca.SX]:
        """Return the symbols with the accelerations of free hinges set to zero."""
        if "a" not in x:
            return x
        a = ca.vertcat(*(x["a"][i] if given else 0 for i, given in enumerate(self.prescribed_mask)))
        return {**x, "a": ca.densify(ca.SX(a))}

    # ------------------------------------------------------------------ signatures

    def signature(self, request: Request) -> Signature:
        """Return names and sizes of inputs and outputs."""
        nq, nv = self.plan.nq, self.plan.nv
        size = {"q": nq, "q0": nq, "q1": nq, "v": nv, "tau": nv, "a": nv, "dv": nv, "u": nv, "step": 2, "free": nv}
        function = FUNCTIONS[request.function]
        inputs = [(name, size[name]) for name in function.inputs]
        reacts = function.of_elements and bool(self.description.reaction_laws)
        if reacts and "tau" not in function.inputs:
            inputs.append(("tau", nv))
        if function.newton and self.closed and self.loop_plan.n_rows:
            inputs.append(("multipliers", self.loop_plan.n_rows))
        if self.prescribed and (function.solved or function.dynamic or reacts):
            inputs.append(("a", nv))
        inputs += [(f"wrench on {name}", 6) for name in request.wrenches]
        if self.stated(request):
            inputs.append(("z", len(self.description.states)))
        if self.timed(request):
            inputs.append(("t", 1))
        if self.description.parameters:
            inputs.append(("parameters", len(self.description.parameters)))
        shape = tuple(self.size(s) if isinstance(s, str) else s for s in function.shape)
        if request.joints:
            shape = (len(request.joints), *shape[1:])
        quaternions = [
            (i, q.start)
            for i, (name, _) in enumerate(inputs)
            if name in ("q", "q0", "q1")
            for use, q in zip(self.description.joints, self.plan.q_slices, strict=True)
            if use.joint.quaternion
        ]
        return Signature(tuple(inputs), ((function.result, math.prod(shape)),), shape, tuple(quaternions))

    def timed(self, request: Request) -> bool:
        """Tell whether the time is an input."""
        described, function = self.description, FUNCTIONS[request.function]
        return (
            (described.forces_timed and function.loaded)
            or (described.events_timed and function.of_events)
            or (described.closures_timed and function.of_closures)
            or (described.closures_timed and function.of_elements and bool(described.reaction_laws))
        )

    def stated(self, request: Request) -> bool:
        """Tell whether the auxiliary states are an input."""
        function = FUNCTIONS[request.function]
        return bool(self.description.states) and (
            function.stated or (function.loaded and self.description.states_store)
        )

    def size(self, name: str) -> int:
        """Return one of the numbers that the shapes of results are made of."""
        described, plan = self.description, self.plan
        n_rows = self.loops.n_rows if self.loops else 0
        n_unknowns = plan.nv + n_rows + len(described.states)  # of Newton's iteration
        sizes: dict[str, Callable[[], int]] = {
            "nq": lambda: plan.nq,
            "nv": lambda: plan.nv,
            "nj": lambda: len(described.joints),
            "n_nodes": lambda: sum(position is not None for position in self.node_tree().positions),
            "n_tree_nodes": lambda: len(self.node_tree().node_constants),
            "n_bodies": lambda: len(described.bodies),
            "n_states": lambda: len(described.states),
            "n_rows": lambda: n_rows,
            "n_full_rows": lambda: full_row_count(self.attachments()),
            "n_redundant": lambda: self.attachments().n_rows - n_rows,
            "n_absolute": lambda: 6 * len(self.node_tree().node_constants) + self._n_own,
            "n_node_rows": lambda: 6 * len(self.node_tree().node_constants),
            "n_parent_rows": lambda: 6,
            "n_one": lambda: 1,
            "n_joint_rows": lambda: len(text_matrices().tree_row_labels(self)),
            "n_element_rows": lambda: len(text_matrices().natural_labels(self)[0]),
            "n_condition_rows": lambda: len(text_matrices().natural_labels(self)[1]),
            "n_all_rows": lambda: self.attachments().n_rows if self.closed else 0,
            "n_kept_rows": lambda: self.loop_plan.n_rows if self.closed else 0,
            "n_minimal_velocities": lambda: len(self.loop_plan.choice.independent) if self.closed else plan.nv,
            "n_independent": lambda: len(self.loop_plan.choice.independent),
            "n_columns": lambda: derivative_columns(self).total,
            "n_minimal": lambda: derivative_columns(self).n_minimal,
            "n_unknowns": lambda: n_unknowns,
            "n_residuals": lambda: n_unknowns + plan.nv + n_rows,
            "n_closing": lambda: plan.nv + 2,
            "n_projected": lambda: 2 * plan.nv + 3,
            "n_displaced": lambda: plan.nq + plan.nv,
            "n_derivatives": lambda: plan.nv + len(described.states) + 2 * (self.closed + described.powered),
            "n_corners": lambda: len(corners_in_state(described)),
            "n_events": lambda: len(described.events),
            "n_event_values": lambda: sum(len(use.sets) for use in described.events),
            "n_element_forces": lambda: sum(6 * len(use.sides) + len(use.coordinates) for use in described.forces),
        }
        return sizes[name]()

    # ------------------------------------------------------------------ traces

    def trace(self, request: Request) -> ca.Function:
        """Return a request's function over symbols."""
        if self.large and self.closed:
            size_policy.check_length(self, request)
        if self.description.reaction_laws:
            _reaction_laws().check_function(self, request.function)
        signature, symbols = self.signature(request), self.inputs(request)
        function = FUNCTIONS[request.function]
        inputs = [symbols[name] for name, _ in signature.inputs]
        output: Any
        if self.closed and self.large and self.reduces_by_items(request):
            from whippletree.formulations.rolled.memory_layout import unrolled

            output = unrolled(self.reduction_items(request)[0], inputs, self.plan.nv)
        else:
            trace = function.loop_trace if self.closed and function.loop_trace else function.trace
            output = ca.vec(trace(self, request, symbols))
        if self.description.reaction_laws:
            output = _reaction_laws().resolved(self, request, symbols, output)
        if "parameters" in symbols:
            output = ca.substitute(output, self.parameters, symbols["parameters"])
        labels = code_names([name for name, _ in signature.inputs])
        outputs = code_names([name for name, _ in signature.outputs])
        if set(outputs) & set(labels):
            outputs = [f"new_{name}" if name in labels else name for name in outputs]
        return ca.Function(code_names([request.function])[0], inputs, [ca.densify(output)], labels, outputs)

    def inputs(self, request: Request) -> dict[str, ca.SX]:
        """Return the symbols of a request's inputs."""
        return {name: self.symbol(name, size) for name, size in self.signature(request).inputs}

    @property
    def parameters(self) -> ca.SX:
        """The symbols that the description's numbers are written in."""
        return ca.SX(ca.vertcat(ca.SX(0, 1), *(p.symbol for p in self.description.parameters)))

    @property
    def large(self) -> bool:
        """Whether the model is large enough for loops over its nodes."""
        return len(self.plan.nodes) >= size_policy.ROLL_FROM

    def rolls(self, request: Request) -> bool:
        """Tell whether a request is answered by loops over the nodes."""
        return (self.large or not self.closed) and size_policy.rolls(self, request)

    def too_long(self, request: Request) -> bool:
        """Tell whether a request would be a straight line that is refused."""
        return size_policy.too_long(self, request)

    def reduces_by_items(self, request: Request) -> bool:
        """Tell whether loops are solved item by item."""
        return size_policy.reduces_by_items(self, request)

    def reduction_pairs(self, request: Request) -> Mapping[int, int]:
        """Return the row with which each dependent freedom is eliminated on the way inward, if the formulation does."""
        return self.decisions(request.method).reduction

    def reduction_items(self, request: Request) -> tuple[LoopProgram, int]:
        """Return the loop over items, and its operations, made once."""
        from whippletree.system.rolled_equations import reduction_program

        key = ("items", request.check, request.wrenches, self.loop_plan)
        return self.once(key, lambda: reduction_program(self, request))

    def part_families(self) -> tuple[PartFamily, ...]:
        """Return the families of parts that meet only at the ground, found once."""
        from whippletree.system.part_program import part_families

        return self.once(("parts", self.loop_plan), lambda: part_families(self))

    def parts(self, request: Request) -> LoopProgram | None:
        """Return a request as a loop over parts, made once, if there is such a form."""
        from whippletree.system.part_program import part_program

        return self.once(("parts", request, self.loop_plan), lambda: part_program(self, request))

    def roll(self, request: Request) -> LoopProgram:
        """Return a request's loops."""
        if size_policy.pairs_loop(self, request):
            from whippletree.system.derivative_pairs import pair_program  # which is only needed for derivatives

            return pair_program(self, request)
        by_parts = self.parts(request) if size_policy.has_equal_parts(self, request) else None
        if by_parts is not None:
            return by_parts
        if self.closed and FUNCTIONS[request.function].solved:
            return self.reduction_items(request)[0]
        from whippletree.system.rolled_equations import roll

        return roll(self, request)

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
            return LoadedWalk(walk, given)
        return with_applied_forces(walk, self.nodes.acting(weld=weld), self.element_state(symbols), given)

    def element_state(self, symbols: Mapping[str, ca.SX]) -> ElementState:
        """Return the state as elements see it, all of it and no sides; what is missing is zero."""
        sizes = {"q": self.plan.nq, "v": self.plan.nv, "z": len(self.description.states), "t": 1}
        q, v, z, t = (symbols.get(name, ca.SX.zeros(size)) for name, size in sizes.items())
        loads, r = self.load_symbols if self.description.reaction_laws else (NO_NUMBERS, NO_NUMBERS)
        return ElementState((), q, v, z, t, r, symbols.get("loads", loads))

    @made_once
    def load_symbols(self) -> tuple[ca.SX, ca.SX]:
        """The symbols of all loads that depend on reactions, and of what the joints of those laws transmit."""
        laws = self.description.reaction_laws
        n_loads, n_joints = sum(use.force.n_loads for use in laws), sum(len(use.reactions) for use in laws)
        return self.symbol("loads", n_loads), self.symbol("transmitted", 6 * n_joints)

    def corners(self, symbols: dict[str, ca.SX]) -> ca.SX:
        """Return the expressions of the corners that the state decides."""
        return corners(self.walk(symbols), self.nodes.acting(weld=True), self.element_state(symbols))

    def events(self, symbols: dict[str, ca.SX]) -> list[ca.SX]:
        """Return the column of each event: what is watched, and the values that it sets."""
        none = {"z": len(self.description.states), "t": 1}
        q, v, z, t = (symbols.get(name, ca.SX.zeros(none.get(name, 0))) for name in ("q", "v", "z", "t"))
        state = ElementState((), q, v, z, t)
        return events(self.walk(symbols), self.description, self.plan, self.node_tree(), state)

    def with_loads_solved(self, symbols: dict[str, ca.SX], result: ca.SX) -> ca.SX:
        """Return a result of the elements over a state's symbols, with the loads of laws on reactions solved for."""
        if not self.description.reaction_laws:
            return result
        solved: ca.SX = _reaction_laws().resolved(self, Request("powers", "kinematics"), symbols, result)
        return solved

    def load_failure(self, state: Mapping[str, object], **margin: float) -> str | None:
        """Return in words what is wrong with the loads of laws on reactions at a state; nothing if they are good."""
        if not self.description.reaction_laws:
            return None
        words: str | None = _reaction_laws().failure_in_words(self, state, **margin)
        return words

    def faulty_element(self, state: Mapping[str, object]) -> str | None:
        """Return the force or state, in words, whose formula is not finite at a state, if there is one."""
        return faulty_element(self, state)

    def of_joints(self, request: Request, rows: ca.SX) -> ca.SX:
        """Return the six rows of each joint that a request is about, out of those of all joints."""
        if not request.joints:
            return rows
        places = [self.plan.joint_names.index(name) for name in request.joints]
        return ca.SX(ca.vertcat(*(rows[6 * k : 6 * k + 6, :] for k in places)))

    def driving(self, here: LoadedWalk, needed: ca.SX, tau: ca.SX) -> ca.SX:
        """Return the efforts given, and at prescribed hinges those needed, less what the elements do there."""
        needed = here.less_efforts(needed)
        return ca.SX(ca.vertcat(*(needed[i] if given else tau[i] for i, given in enumerate(self.prescribed_mask))))


def text_matrices() -> Any:
    """Return the traces of the texts' letters, which only those who ask for these need."""
    return importlib.import_module("whippletree.system.text_matrices")


def _reaction_laws() -> Any:
    """Return the module of force laws on reactions, which only some mechanisms need."""
    return importlib.import_module("whippletree.system.reaction_laws")


def full_row_count(attachments: ClosureAttachments) -> int:
    """Return the number of rows of all closures on all joints: six for each cut joint, and those described."""
    described = [f.closure.n_rows for f in attachments.all if f.cut is None and f.driven is None]
    return 6 * len(attachments.cuts) + sum(described)


def code_names(names: list[str]) -> list[str]:
    """Return names that CasADi and C take, all different.

    >>> code_names(["q", "wrench on tip-1", "wrench on tip 1"])
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


class MechanismNodes:
    """The nodes of a mechanism and what hangs on them, made when first asked for; and the symbols of inputs."""

    def __init__(self, description: Description, plan: Plan) -> None:
        self.description, self.plan = description, plan
        self._node_trees: dict[bool, NodeTree] = {}
        self._attachments: dict[bool, ClosureAttachments] = {}
        self._acting: dict[bool, ForcePlacements] = {}
        self._symbols: dict[tuple[str, int], ca.SX] = {}
        self.lock = Lock.of_model()

    def node_tree(self, *, weld: bool = True) -> NodeTree:
        """Return the nodes' constants, with welded bodies as one node or not."""
        if weld not in self._node_trees:
            self._node_trees[weld] = make_node_tree(self.description, self.plan, weld=weld)
        return self._node_trees[weld]

    def attachments(self, *, weld: bool = True) -> ClosureAttachments:
        """Return what the closures hold on to."""
        if weld not in self._attachments:
            reference = None if weld else self.node_tree()
            self._attachments[weld] = attach_closures(self.description, self.plan, self.node_tree(weld=weld), reference)
        return self._attachments[weld]

    def acting(self, *, weld: bool = True) -> ForcePlacements:
        """Return what acts, with what it takes hold of."""
        if weld not in self._acting:
            self._acting[weld] = place_forces(self.description, self.plan, self.node_tree(weld=weld))
        return self._acting[weld]

    def symbol(self, name: str, size: int) -> ca.SX:
        """Return the symbol of an input, the same for all functions: what they share is then traced once."""
        if (name, size) not in self._symbols:
            self._symbols[name, size] = ca.SX.sym(name.replace(" ", "_"), size)
        return self._symbols[name, size]

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


Symbols = dict[str, ca.SX]
"""The symbols of a function's inputs, by name."""


@dataclass(frozen=True)
class Request:
    """What is asked for.

    `formulation` is the text of one, or "auto" until that is decided; `frame` is what a kinematic function is about,
    `wrenches` lists the frames that carry wrenches, and `joints` those whose reactions are wanted, all if it is empty.

    >>> Request("forward_dynamics", "penalty").method.exact
    False
    """

    function: str
    formulation: str = "auto"
    frame: str = ""
    wrenches: tuple[str, ...] = ()
    check: bool = False
    baumgarte: tuple[float, float] = (0.0, 0.0)
    joints: tuple[str, ...] = ()

    @property
    def method(self) -> Formulation:
        """The formulation, once it is decided."""
        return find(self.formulation)
