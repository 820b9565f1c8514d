"""The plan in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from whippletree.foundation.notebook_html import html_list, html_section, html_table
from whippletree.foundation.short_text import counted
from whippletree.topology.graph import GROUND, PlanNode

if TYPE_CHECKING:
    from whippletree.topology.loops import Cut, Group, Loop
    from whippletree.topology.plan import Plan

__all__ = ["plan_in_html", "plan_in_words"]

_LARGE = 60
"""Plans with more bodies than this are abridged."""
_LINES, _NAMES = 20, 8
"""How much of a list of lines, and of names in a line, remains then."""
_EM_SPACE = "\u2003"
"""By which a body is set in from its parent where spaces do not count."""


def plan_in_words(plan: Plan) -> str:
    """Print the tree, the cut joints, the closures and the groups of loops; large plans are abridged.

    >>> from whippletree.topology.plan import make_plan
    >>> from types import SimpleNamespace as J
    >>> ends = [("A", "ground", "crank"), ("B", "crank", "rod"), ("C", "rocker", "rod"), ("D", "ground", "rocker")]
    >>> joints = [J(name=n, parent=p, child=c, nq=1, nv=1, prescribed=False) for n, p, c in ends]
    >>> print(plan_in_words(make_plan(["crank", "rod", "rocker"], joints)))
    3 bodies in a tree of depth 2, 4 freedoms (3 in the tree), 4 coordinates; 1 loop
      crank on ground by A
        rod on crank by B
      rocker on ground by D
    1 joint is cut, with 5 equations:
      C between rocker and rod, 5 equations: loop D, C, B, A on ground
    """
    return "\n".join([_head(plan), *_some(plan, _tree(plan)), *_cuts(plan), *_closures(plan), *_groups(plan)])


def plan_in_html(plan: Plan, notes: Sequence[str]) -> str:
    """Tell the same in tables, with `notes` below."""
    tree = [
        (
            _EM_SPACE * (node.depth - 1) + node.body,
            _body(plan, node.parent),
            plan.joint_names[node.joint],
            len(range(node.v.start, node.v.stop)),
        )
        for node in plan.nodes
    ]
    loops = [(loop.name, loop.rows, _names(plan, loop.joints), _body(plan, loop.base)) for loop in plan.loops]
    head = ("cut joint or closure", "equations", "joints of the loop", "on")
    return html_section(
        f"Plan: {_head(plan)}",
        html_table(tree, ("body", "on", "by joint", "freedoms")),
        html_table(loops, head) if loops else "",
        html_list(_groups(plan)),
        html_list(notes),
    )


def _head(plan: Plan) -> str:
    depth = max((n.depth for n in plan.nodes), default=0)
    tree = f" ({plan.tree_nv} in the tree)" if plan.cuts else ""
    freedoms = f"{counted(plan.nv, 'freedom')}{tree}, {counted(plan.nq, 'coordinate')}"
    head = f"{counted(len(plan.nodes), 'body')} in a tree of depth {depth}, {freedoms}"
    if not plan.loops:
        return f"{head}; no loops"
    within = f" in {counted(len(plan.groups), 'group')}" if len(plan.loops) > 1 else ""
    return f"{head}; {counted(len(plan.loops), 'loop')}{within}"


def _tree(plan: Plan) -> list[str]:
    return [_line(plan, node) for node in plan.nodes]


def _line(plan: Plan, node: PlanNode) -> str:
    way = " (walked from its child to its parent)" if node.reverse else ""
    return f"{'  ' * node.depth}{node.body} on {_body(plan, node.parent)} by {plan.joint_names[node.joint]}{way}"


def _cuts(plan: Plan) -> list[str]:
    if not plan.cuts:
        return []
    loops = plan.loops[: len(plan.cuts)]
    verb = "is" if len(loops) == 1 else "are"
    head = f"{counted(len(loops), 'joint')} {verb} cut, with {_equations(loops)}:"
    return [head, *_some(plan, [_cut(plan, *pair) for pair in zip(plan.cuts, loops, strict=True)])]


def _cut(plan: Plan, cut: Cut, loop: Loop) -> str:
    ends = [_body(plan, path[-1] if path else cut.base) for path in (cut.parent_path, cut.child_path)]
    return (
        f"  {loop.name} between {ends[0]} and {ends[1]}, {_equations([loop])}: "
        f"loop {_names(plan, loop.joints)} on {_body(plan, loop.base)}"
    )


def _closures(plan: Plan) -> list[str]:
    loops = plan.loops[len(plan.cuts) :]
    if not loops:
        return []
    head = f"{counted(len(loops), 'closure')} declared, with {_equations(loops)}:"
    lines = [
        f"  {loop.name}, {_equations([loop])}: {_names(plan, loop.joints) or 'no joints'} on {_body(plan, loop.base)}"
        for loop in loops
    ]
    return [head, *_some(plan, lines)]


def _groups(plan: Plan) -> list[str]:
    if len(plan.loops) < 2:
        return []
    return _some(plan, [_group(plan, i, group) for i, group in enumerate(plan.groups, 1)])


def _group(plan: Plan, number: int, group: Group) -> str:
    bodies = _names(plan, [plan.nodes[i].body for i in group.nodes]) or "none"
    bases = _names(plan, [_body(plan, base) for base in group.bases])
    loops = "loop" if len(group.loops) == 1 else "loops"
    return (
        f"group {number}: {loops} {_names(plan, group.loops)}, {counted(group.rows, 'equation')}; "
        f"bodies {bodies}; on {bases}"
    )


def _body(plan: Plan, index: int) -> str:
    return "ground" if index == GROUND else plan.nodes[index].body


def _equations(loops: Sequence[Loop]) -> str:
    return counted(sum(loop.rows for loop in loops), "equation")


def _names(plan: Plan, names: Sequence[str]) -> str:
    if len(plan.nodes) <= _LARGE or len(names) <= _NAMES:
        return ", ".join(names)
    return f"{', '.join(names[: _NAMES - 1])}, ... ({len(names)} in all)"


def _some(plan: Plan, lines: list[str]) -> list[str]:
    if len(plan.nodes) <= _LARGE or len(lines) <= _LINES:
        return lines
    return [*lines[: _LINES - 1], f"  ... and {len(lines) - _LINES + 1} more"]
