"""Pairs of shapes that touch: by the model's rules, its joints, and the pairs that it names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from whippletree.elements.joints import Fixed
from whippletree.files.neutral_collisions import NeutralCollider, NeutralPair
from whippletree.files.neutral_model import WORLD, NeutralJoint, NeutralModel

__all__ = ["ContactRules", "JoinedLinks"]


class JoinedLinks:
    """Links in groups: those that one by one have been joined are one group.

    >>> groups = JoinedLinks()
    >>> groups.join("hand", "finger")
    >>> groups.of("finger") == groups.of("hand")
    True
    """

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def of(self, link: str) -> str:
        """Return the name of a link's group: one of its links."""
        path = [link]
        while path[-1] in self._above:
            path.append(self._above[path[-1]])
        for one in path[:-1]:
            self._above[one] = path[-1]
        return path[-1]

    def join(self, one: str, other: str) -> None:
        """Make one group of two; that of the ground keeps its name."""
        first, second = self.of(one), self.of(other)
        if first != second:
            kept, gone = (second, first) if second == WORLD else (first, second)
            self._above[gone] = kept


class ContactRules:
    """The rules of a model about which of its shapes touch."""

    def __init__(self, model: NeutralModel) -> None:
        self._rules = model.collisions
        joints = [*model.joints.values()]
        moving = [joint for joint in joints if WORLD not in (joint.parent, joint.child)]
        filtering = [joint for joint in moving if not (joint.closes and self._rules.loops_meet)]
        self.rigid, self._own = _joined(model, joints), _joined(model, moving)
        self._neighbours = {frozenset(map(self._own.of, (joint.parent, joint.child))) for joint in filtering}

    def meeting(self) -> Iterator[tuple[NeutralCollider, NeutralCollider, NeutralPair | None]]:
        """Yield the shapes that touch, two by two; with the pair that the file names, if it names one."""
        shapes = {shape.name: shape for shape in self._rules.shapes}
        named = {frozenset((pair.first, pair.second)): pair for pair in self._rules.pairs}
        for pair in named.values():
            one, other = shapes[pair.first], shapes[pair.second]
            if self.rigid.of(one.link) != self.rigid.of(other.link):
                yield one, other, pair
        scenery = [shape for shape in shapes.values() if self.stands(shape)]
        moving = [shape for shape in shapes.values() if not self.stands(shape)]
        for k, one in enumerate(moving):
            for other in (*scenery, *moving[k + 1 :]):
                if frozenset((one.name, other.name)) not in named and self._meet(one, other):
                    yield one, other, None

    def stands(self, shape: NeutralCollider) -> bool:
        """Tell whether a shape is part of the ground."""
        return self.rigid.of(shape.link) == WORLD

    def _meet(self, one: NeutralCollider, other: NeutralCollider) -> bool:
        if not (one.is_of & other.meets or other.is_of & one.meets) or (one.family and one.family == other.family):
            return False
        links = one.link, other.link
        parts = set(map(self.rigid.of, links))
        if len(parts) == 1 or frozenset(links) in self._rules.apart:
            return False
        if self._rules.neighbours_meet or (self._rules.ground_meets and WORLD in parts):
            return True
        return frozenset(map(self._own.of, links)) not in self._neighbours


def _joined(model: NeutralModel, joints: Sequence[NeutralJoint]) -> JoinedLinks:
    """Join links that do not move against each other; one with neither mass nor shape is a part of its joint."""
    found = JoinedLinks()
    for joint in joints:
        if isinstance(joint.joint, Fixed) and not joint.closes:
            found.join(joint.parent, joint.child)
    heavy = (name for name, link in model.links.items() if link.properties.mass)
    solid = {found.of(link) for link in (WORLD, *heavy, *(shape.link for shape in model.collisions.shapes))}
    for joint in joints:
        if not joint.closes and found.of(joint.parent) not in solid:
            was_solid = found.of(joint.child) in solid
            found.join(joint.parent, joint.child)
            solid |= {found.of(joint.parent)} if was_solid else set()
    return found
