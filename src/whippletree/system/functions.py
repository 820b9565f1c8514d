"""Every function of a system: its inputs, its result, what is true of it, and how it is traced. One row a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from whippletree.foundation.late_imports import imported
from whippletree.system import loop_equations, tree_equations
from whippletree.system.text_letters import MATRICES, ROWS, TEXTS, Letter, function_name

if TYPE_CHECKING:
    from whippletree.system.equations import Request, Symbols

__all__ = ["DIFFERENTIATED", "FUNCTIONS", "SystemFunction", "Trace", "derivatives_name"]

Trace = Callable[[Any, "Request", "Symbols"], Any]
"""A trace takes the equations, unrolled or rolled, the request and the symbols of its inputs."""


@dataclass(frozen=True)
class SystemFunction:
    """A function of a system: its usual inputs, what comes out and in what shape, and how it is traced.

    In shapes, numbers are given by the names that `Equations.size` explains. `loop_trace` is how it is traced for
    mechanisms with loops, if otherwise. Of a function it is said that

    - it is `solved`: by one of several formulations of the equations of motion; or by one only (`formulation`)
    - it is `dynamic`: a public result of these equations, for states that are checked
    - it is `weighed`: `auto` chooses among the formulations of trees by their operations
    - it is `of_loops`: about loops and closures
    - it is for `newton`'s iteration
    - it `has_fallback`: states that the kernel gives up are solved with pivoting
    - it is `rolled`: there is a form for large mechanisms that loops over the nodes
    - it is `loaded`: the described forces have a part in it; so they may bring in the time and, if it is also `stated`,
      the elements' states
    - it is `of_events`, or `of_elements` that act
    - it is `framed`: about a body or frame
    - it is `by_joint`: it has six numbers for each joint, and can be asked for some joints alone
    - it is `planned`: its code depends on the numeric plan of the loops
    - it has a meaning `without_freedoms`
    - it is a `prelude` where loops have redundant rows: NumPy goes on with its result, and takes far longer
    """

    inputs: tuple[str, ...]
    result: str
    shape: tuple[str | int, ...]
    trace: Trace
    _: KW_ONLY
    loop_trace: Trace | None = None
    formulation: str = ""
    solved: bool = False
    dynamic: bool = False
    weighed: bool = False
    of_loops: bool = False
    newton: bool = False
    has_fallback: bool = False
    rolled: bool = True
    loaded: bool = False
    stated: bool = False
    of_events: bool = False
    of_elements: bool = False
    framed: bool = False
    by_joint: bool = False
    planned: bool = True
    without_freedoms: bool = False
    prelude: bool = False

    @property
    def of_closures(self) -> bool:
        """Whether the closures have a part in it."""
        return self.solved or self.of_loops or self.newton


def derivatives_name(function: str) -> str:
    """Return the name of the function that gives another one's derivatives.

    >>> derivatives_name("pose")
    'pose_derivatives'
    """
    return f"{function}_derivatives"


def _on_demand(module: str, function: str) -> Trace:
    """Return a trace whose module of this room is imported when it is first used."""

    def trace(eq: object, request: Request, x: Symbols) -> Any:
        traced: Trace = imported(f"whippletree.system.{module}", function)
        return traced(eq, request, x)

    return trace


_Loaded = partial(SystemFunction, loaded=True, stated=True)
_Solved = partial(_Loaded, solved=True)
_Dynamic = partial(_Solved, dynamic=True, has_fallback=True)
_Given = partial(_Loaded, formulation="composite")
_Newton = partial(_Loaded, newton=True, rolled=False)
_OfElements = partial(_Loaded, of_elements=True)
_OfEvents = partial(SystemFunction, of_events=True, stated=True, rolled=False, planned=False)
_JointWise = partial(SystemFunction, rolled=False, planned=False)


FUNCTIONS: dict[str, SystemFunction] = {
    "forward_dynamics": _Dynamic(
        ("q", "v", "tau"),
        "acceleration",
        ("nv",),
        tree_equations.forward_dynamics,
        loop_trace=loop_equations.forward_dynamics,
        weighed=True,
    ),
    "driving_forces": _Dynamic(
        ("q", "v", "tau"), "effort", ("nv",), tree_equations.driving_forces, loop_trace=loop_equations.driving_forces
    ),
    "reactions": _Dynamic(
        ("q", "v", "tau"),
        "reactions",
        ("nj", 6),
        tree_equations.reactions,
        loop_trace=loop_equations.reactions,
        by_joint=True,
        without_freedoms=True,
        prelude=True,
    ),
    "closure_efforts": _Dynamic(
        ("q", "v", "tau"), "multipliers", ("n_rows",), loop_equations.closure_efforts, of_loops=True
    ),
    "derivatives": _Solved(
        ("q", "v", "tau"),
        "derivatives",
        ("n_derivatives",),
        tree_equations.derivatives,
        loop_trace=loop_equations.derivatives,
        weighed=True,
        rolled=False,
    ),
    "inverse_dynamics": _Given(
        ("q", "v", "a"),
        "effort",
        ("nv",),
        tree_equations.inverse_dynamics,
        loop_trace=loop_equations.inverse_dynamics,
    ),
    "bias_force": _Given(
        ("q", "v"), "effort", ("nv",), tree_equations.inverse_dynamics, loop_trace=loop_equations.inverse_dynamics
    ),
    "mass_matrix": SystemFunction(
        ("q",), "mass matrix", ("nv", "nv"), tree_equations.mass_matrix, formulation="composite"
    ),
    "motion_reactions": _Given(("q", "v", "a"), "reactions", ("nj", 6), tree_equations.motion_reactions),
    "inverse_dynamics_derivatives": _Loaded(
        ("q", "v", "a"),
        "derivatives",
        (3, "nv", "nv"),
        _on_demand("newton_equations", "inverse_dynamics_derivatives"),
        rolled=False,
    ),
    "forward_dynamics_derivatives": _Loaded(
        ("q", "v", "tau"),
        "derivatives",
        ("nv", "n_columns"),
        _on_demand("derivative_equations", "forward_dynamics_derivatives"),
        formulation="composite",
        dynamic=True,
        of_loops=True,
        has_fallback=True,
        rolled=False,
    ),
    "minimal_coordinates": SystemFunction(
        ("q", "v"),
        "motions",
        ("nv", "n_minimal"),
        _on_demand("derivative_equations", "minimal_coordinates"),
        of_loops=True,
        has_fallback=True,
        rolled=False,
    ),
    "motion_changes": _Loaded(
        ("q", "v", "tau"),
        "changes",
        (2, "nv", "n_columns"),
        _on_demand("derivative_equations", "motion_changes"),
        of_loops=True,
        has_fallback=True,
        rolled=False,
    ),
    "newton_residual": _Newton(
        ("q", "v", "a", "tau"), "residual", ("n_residuals",), _on_demand("newton_equations", "newton_residual")
    ),
    "newton_matrix": _Newton(
        ("q", "u", "v", "a", "tau", "step"),
        "matrix",
        ("n_unknowns", "n_unknowns"),
        _on_demand("newton_equations", "newton_matrix"),
    ),
    "motion_basis": SystemFunction(
        ("q",), "motions", ("nv", "n_independent"), loop_equations.motion_basis, of_loops=True, has_fallback=True
    ),
    "closure_residual": SystemFunction(
        ("q",), "residual", ("n_full_rows",), loop_equations.closure_residual, of_loops=True, planned=False
    ),
    "closure_jacobian": SystemFunction(
        ("q",), "jacobian", ("n_full_rows", "nv"), loop_equations.closure_jacobian, of_loops=True, planned=False
    ),
    "self_stresses": SystemFunction(
        ("q",),
        "reactions",
        ("nj", 6, "n_redundant"),
        loop_equations.self_stresses,
        of_loops=True,
        by_joint=True,
        has_fallback=True,
        without_freedoms=True,
        prelude=True,
    ),
    "closing_step": SystemFunction(
        ("q", "free"), "step", ("n_closing",), loop_equations.closing_step, of_loops=True, without_freedoms=True
    ),
    "project": SystemFunction(("q", "v"), "state", ("n_projected",), loop_equations.project, of_loops=True),
    "leave_open": SystemFunction(("q", "v"), "state", ("n_projected",), loop_equations.leave_open, of_loops=True),
    "pose": SystemFunction(("q",), "pose", (4, 4), tree_equations.pose, framed=True, without_freedoms=True),
    "node_poses": SystemFunction(("q",), "poses", ("n_tree_nodes", 3, 4), tree_equations.node_poses),
    "body_twists": SystemFunction(
        ("q", "v"), "twists", ("n_bodies", 6), tree_equations.body_twists, rolled=False, planned=False
    ),
    "velocity": SystemFunction(("q", "v"), "velocity", (6,), tree_equations.velocity, framed=True),
    "acceleration": SystemFunction(("q", "v", "a"), "acceleration", (6,), tree_equations.acceleration, framed=True),
    "jacobian": SystemFunction(("q",), "jacobian", (6, "nv"), tree_equations.jacobian, framed=True, rolled=False),
    "wrench_efforts": SystemFunction(("q",), "effort", ("nv",), tree_equations.wrench_efforts),
    "hinge_inertias": SystemFunction(("q",), "pivots", ("n_nodes",), tree_equations.hinge_inertias),
    "energy": SystemFunction(("q", "v"), "energy", (2,), tree_equations.energy, loaded=True, without_freedoms=True),
    "momentum": SystemFunction(("q", "v"), "momentum", (6,), tree_equations.momentum),
    "center_of_mass": SystemFunction(
        ("q",), "center of mass", (3,), tree_equations.center_of_mass, without_freedoms=True
    ),
    "state_rates": _OfElements(
        ("q", "v", "tau"), "rates", ("n_states",), tree_equations.state_rates, without_freedoms=True
    ),
    "powers": _OfElements(("q", "v", "tau"), "powers", (3,), tree_equations.element_powers, without_freedoms=True),
    "element_forces": _OfElements(("q", "v"), "forces", ("n_element_forces",), tree_equations.element_forces),
    "corners": _OfElements(("q", "v"), "corners", ("n_corners",), tree_equations.corners, planned=False),
    "events": _OfEvents(("q", "v"), "events", ("n_events",), tree_equations.events),
    "event_values": _OfEvents(("q", "v"), "values", ("n_event_values",), tree_equations.event_values),
    "displace": _JointWise(("q", "u", "v"), "state", ("n_displaced",), tree_equations.displace),
    "coordinate_rates": _JointWise(("q", "v"), "rates", ("nq",), tree_equations.coordinate_rates),
    "integrate": _JointWise(("q", "dv"), "q", ("nq",), tree_equations.integrate),
    "difference": _JointWise(("q0", "q1"), "displacement", ("nv",), tree_equations.difference),
}
"""All functions by name."""

DIFFERENTIATED = (
    "reactions",
    "driving_forces",
    "closure_efforts",
    "acceleration",
    "closure_residual",
    "closure_jacobian",
    "pose",
    "velocity",
    "energy",
    "momentum",
    "center_of_mass",
    "state_rates",
    "powers",
    "element_forces",
    "joint_motion",
)
"""The results that have derivatives of their own (`output_derivatives`): functions, and displacements and velocities of
all joints ("joint_motion")."""

FUNCTIONS |= {
    derivatives_name(name): SystemFunction(
        ("q", "v", "tau"),
        "derivatives",
        (*(FUNCTIONS[name].shape if name in FUNCTIONS else (2, "nv")), "n_columns"),
        _on_demand("output_derivatives", "result_derivatives"),
        formulation="composite",
        dynamic=True,
        of_loops=True,
        has_fallback=True,
        rolled=False,
        loaded=True,
        stated=True,
        framed=name in FUNCTIONS and FUNCTIONS[name].framed,
    )
    for name in DIFFERENTIATED
}

_TRACES = {
    "B": "velocity_matrix",
    "R": "reference_point_matrix",
    "D*": "row_matrix",
    "C": "closure_matrix",
    "E": "minimal_matrix",
    "gain": "gain_matrix",
}


def _matrix_trace(name: str, one: Letter) -> Trace:
    """Return how a matrix is traced: those that texts share in one way, a text's own letters in the other."""
    if one is MATRICES.get(name):
        return _on_demand("matrix_equations", _TRACES[name])
    return _on_demand("text_matrices", "letter")


FUNCTIONS |= {
    function_name(text, name): SystemFunction(
        one.inputs,
        "matrix",
        (ROWS[one.rows], ROWS[one.columns]),
        _on_demand("matrix_equations", _TRACES[name])
        if one is MATRICES.get(name)
        else _on_demand("text_matrices", "letter"),
        of_loops=True,
        loaded="tau" in one.inputs,
        rolled=False,
    )
    for text, letters in TEXTS.items()
    for name, one in letters.items()
}
"""The papers' matrices, and what each text calls its own."""
