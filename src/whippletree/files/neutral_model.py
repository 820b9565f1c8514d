"""The common form of model files: links, the joints between them, couplings of joints, and forces.

Every reader of another program's format fills a `NeutralModel`, and one function makes a `Mechanism` of it
(`neutral_translation`). Poses are `Placement`s on links; a joint may lie between any two links, so that loops need no
words of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whippletree.elements.bodies import MassProperties, Shape
from whippletree.elements.joints import Joint
from whippletree.errors import FileError, ModelError
from whippletree.files.drawn_in import Surroundings
from whippletree.files.file_limits import MOST_LINKS
from whippletree.files.neutral_collisions import NeutralCollisions
from whippletree.files.xml_source import XmlElement
from whippletree.model.io.model_file import JointRange, Motor
from whippletree.model.io.reading_report import ReadingReport, Remark
from whippletree.spatial.placement import Placement

if TYPE_CHECKING:
    from whippletree.files.neutral_translation import NeutralTranslation

__all__ = [
    "WORLD",
    "LinkGraph",
    "NeutralCoupling",
    "NeutralFrame",
    "NeutralJoint",
    "NeutralLink",
    "NeutralModel",
    "Remarks",
]

WORLD = ""
"""The name of the ground: no link has it."""

CoordinateName = tuple[str, int]


class Remarks:
    """The remarks made while a file is read; the same remark about several places is one.

    >>> remarks = Remarks()
    >>> remarks.add("not understood", "<gazebo>", 3)
    >>> remarks.add("not understood", "<gazebo>", 9)
    >>> print(remarks.report())
    not understood: <gazebo> (2 times, first in line 3)
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], list[int | None]] = {}

    def add(self, kind: str, text: str, line: int | None = None) -> None:
        """Make a remark."""
        self._found.setdefault((kind, text), []).append(line)

    def unread(self, element: XmlElement, known: Collection[str], what: str) -> None:
        """Remark each element within one that is not among those which are read."""
        for child in element.children:
            if child.tag not in known:
                self.add("not understood", f"<{child.tag}> of {what}", child.line)

    def unread_attributes(self, element: XmlElement, *known: str) -> None:
        """Remark each attribute of an element that is not among those which are read."""
        for name in element.attributes:
            if name not in known:
                self.add("not understood", f"{name} of <{element.tag}>", element.line)

    @contextmanager
    def of_looks(self, what: str = "what a link looks like") -> Iterator[None]:
        """Within it, errors are remarks, since they concern the appearance only."""
        try:
            yield
        except FileError as error:
            message = str(error).partition(f":{error.line}: ")[2] or str(error)
            self.add("not understood", f"{what}: {message}", error.line)

    def report(self) -> ReadingReport:
        """Return all of them."""
        return ReadingReport([Remark(kind, text, lines[0], len(lines)) for (kind, text), lines in self._found.items()])


@dataclass
class NeutralLink:
    """A rigid body: its name, mass properties in the link's own frame, and appearance."""

    name: str
    properties: MassProperties = field(default_factory=MassProperties)
    line: int | None = None
    shapes: list[Shape] = field(default_factory=list)


@dataclass
class NeutralJoint:
    """A joint between two links: the joint frame on each; z is its axis, as in `Mechanism`.

    `closes` says that the file has it as what closes a loop. `damping`, `friction`, `stiffness` (with `rest`) and
    `armature` go with each freedom.
    """

    name: str
    joint: Joint
    parent: str
    child: str
    on_parent: Placement
    on_child: Placement
    line: int | None = None
    closes: bool = False
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    armature: float = 0.0
    range: JointRange | None = None


@dataclass
class NeutralCoupling:
    """Coordinates that are coupled: sum of ratio * coordinate = offset + a polynomial of another such sum.

    `powers` has the polynomial's coefficients by rising powers, and `of` the ratios of the other sum.
    """

    name: str
    ratios: Mapping[CoordinateName, float]
    offset: float = 0.0
    powers: Sequence[float] = ()
    of: Mapping[CoordinateName, float] = field(default_factory=dict)
    line: int | None = None


@dataclass
class NeutralFrame:
    """A named frame on a link."""

    name: str
    link: str
    placement: Placement


class _Links(dict[str, NeutralLink]):
    """Links by name, so many as can be read in some seconds."""

    def __setitem__(self, name: str, link: NeutralLink) -> None:
        if len(self) >= MOST_LINKS and name not in self:
            raise ModelError(f"there are more than {MOST_LINKS:,} links")
        super().__setitem__(name, link)


@dataclass
class NeutralModel:
    """A model as a file describes it, before it becomes a `Mechanism`.

    `guess` has coordinates of joints at the start and `velocities` their rates, which with `nearest` may change as
    loops ask for; `dependent` names joints that the file calls dependent. `later` are calls on the mechanism that come
    after all else, for what no other format has. `poses` has the design poses of links, by which those that nothing
    holds start, and `floating` says that these float. `around` finds the meshes that it names.
    """

    name: str
    file: str
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    links: dict[str, NeutralLink] = field(default_factory=_Links)
    joints: dict[str, NeutralJoint] = field(default_factory=dict)
    _carried: set[str] = field(default_factory=set, init=False, repr=False)
    couplings: list[NeutralCoupling] = field(default_factory=list)
    frames: list[NeutralFrame] = field(default_factory=list)
    collisions: NeutralCollisions = field(default_factory=NeutralCollisions)
    guess: dict[str, Any] = field(default_factory=dict)
    velocities: dict[str, Any] = field(default_factory=dict)
    nearest: bool = False
    dependent: list[str] = field(default_factory=list)
    run: dict[str, Any] = field(default_factory=dict)
    poses: dict[str, Placement] = field(default_factory=dict)
    floating: bool = False
    motors: dict[str, Motor] = field(default_factory=dict)
    later: list[Callable[[NeutralTranslation], None]] = field(default_factory=list)
    around: Surroundings | None = None
    remarks: Remarks = field(default_factory=Remarks)

    def add_joint(self, joint: NeutralJoint) -> bool:
        """Add a joint, which closes a loop if its child has been carried by another before; return whether it was."""
        carried = joint.child in self._carried
        joint.closes = joint.closes or carried
        self.joints[joint.name] = joint
        self._carried.add(joint.child)
        return carried


class LinkGraph:
    """Links, and the joints by which one gets from one to another, in either direction."""

    def __init__(self, joints: Iterable[NeutralJoint]) -> None:
        self._joints: dict[str, list[NeutralJoint]] = {}
        for joint in joints:
            self._joints.setdefault(joint.parent, []).append(joint)
            self._joints.setdefault(joint.child, []).append(joint)

    def walk(self, start: str) -> Iterator[tuple[NeutralJoint, str, str]]:
        """Yield each joint by which a walk from a link comes to a new one: the joint, where it comes from, the new."""
        seen, waiting = {start}, [start]
        while waiting:
            here = waiting.pop()
            for joint in self._joints.get(here, ()):
                there = joint.child if joint.parent == here else joint.parent
                if there not in seen:
                    seen.add(there)
                    waiting.append(there)
                    yield joint, here, there

    def reached(self, start: str) -> set[str]:
        """Return the links that joints connect with a link, itself included."""
        return {start, *(there for _, _, there in self.walk(start))}
