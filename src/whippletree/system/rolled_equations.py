"""The equations traced for loops over the nodes: each kind of step once, instead of every node by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whippletree.errors import StateError
from whippletree.formulations.nodes.applied_forces import LoadedWalk
from whippletree.formulations.rolled import rolled_reduction
from whippletree.formulations.rolled.load_items import GivenLoads
from whippletree.formulations.rolled.rolled_walk import RolledWalk
from whippletree.programs.loop_program import LoopProgram
from whippletree.system.functions import FUNCTIONS
from whippletree.system.tolerances import CONSISTENT, WATCHED

if TYPE_CHECKING:
    from whippletree.system.equations import Equations, Request, Symbols

__all__ = ["RolledEquations", "reduction_program", "roll"]


class RolledEquations:
    """Stands in for the equations while a request is traced for loops: its walk is rolled."""

    def __init__(self, equations: Equations, inputs: list[str]) -> None:
        self.plan, self.description, self.prescribed = equations.plan, equations.description, equations.prescribed
        self.nodes = equations.nodes
        self._equations, self._inputs = equations, inputs
        self.walked: RolledWalk | None = None

    @staticmethod
    def prescribed_only(symbols: Symbols) -> Symbols:
        """Return the symbols as they are: the steps look at what is prescribed."""
        return symbols

    def walk(self, symbols: Symbols, *, weld: bool = True, toward: str = "") -> RolledWalk:
        """Return the rolled walk."""
        node_tree = self._equations.node_tree(weld=weld)
        node_tree = node_tree.toward(toward) if toward else node_tree
        self.walked = RolledWalk(node_tree, self._inputs, self._equations.parameters, node_tree.positions)
        return self.walked

    def loaded(self, symbols: Symbols, *, weld: bool = True) -> LoadedWalk:
        """Return the rolled walk, under the described forces."""
        walk = self.walk(symbols, weld=weld)
        here = LoadedWalk(walk)
        if not self.description.forces:
            return here
        stored = walk.apply_forces(self.nodes.acting(weld=weld))
        return _RolledLoads(walk, None, None, here.rates, here.powers._replace(stored=stored), ())

    def driving(self, here: LoadedWalk, needed: None, tau: None) -> None:
        """Leave in the output the efforts given, and at prescribed hinges those needed, less what the elements do."""
        here.walk.take_off_efforts([i for i, driven in enumerate(self._equations.prescribed_mask) if not driven])


class _RolledLoads(LoadedWalk):
    """A rolled walk under the described forces; results are in the program's output."""

    def less_efforts(self, effort: None) -> None:
        """Take the elements' efforts off the output."""
        self.walk.take_off_efforts()


def roll(equations: Equations, request: Request) -> LoopProgram:
    """Return the loops of a request about a tree, or about motion alone."""
    signature = equations.signature(request)
    rolling = RolledEquations(equations, [name for name, _ in signature.inputs])
    output = FUNCTIONS[request.function].trace(rolling, request, {})
    if rolling.walked is None:
        raise StateError(f"{request.function} has no rolled form")
    return rolling.walked.program(output)


def reduction_program(equations: Equations, request: Request) -> tuple[LoopProgram, int]:
    """Return the coordinate reduction as a loop over items, and its operations."""
    plan = equations.loop_plan
    gap = plan.open_square(CONSISTENT)
    limits = rolled_reduction.Limits(WATCHED, gap, plan.lengths.of_closure, request.check)
    place = {name: i for i, (name, _) in enumerate(equations.signature(request).inputs)}
    wrenches = {name: place[f"wrench on {name}"] for name in request.wrenches}
    loads = GivenLoads(equations.nodes.acting(), wrenches, place, equations.parameters)
    program = rolled_reduction.forward_dynamics(
        equations.node_tree(), equations.attachments(), plan.keep, loads, limits
    )
    (loop,) = program.steps
    sizes = [variant.function.n_instructions() for variant in loop.variants]  # type: ignore[union-attr]
    return program, sum(int(sizes[row[0]]) for row in loop.table)  # type: ignore[misc, union-attr]
