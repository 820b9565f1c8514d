"""The declaration of a format of model files, and the registry of formats."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from whippletree.errors import FileError
from whippletree.files.drawn_in import Surroundings
from whippletree.files.xml_source import XmlElement, parse_xml
from whippletree.foundation.arrays import FilePath
from whippletree.foundation.user_frames import user_facing
from whippletree.spatial.scalars import shown

if TYPE_CHECKING:
    from whippletree.files.neutral_model import NeutralModel
    from whippletree.files.writable_model import WritableModel

__all__ = ["FileFormat", "ModelContent", "format_of", "format_written_as", "outermost", "register", "unregister"]

_HEAD = 4000
"""Bytes in which most formats show."""


class ModelContent:
    """The contents of a file: its bytes, its XML if it has any, the files that it may name; with the caller's choices.

    >>> content = ModelContent(b"<robot name='arm'/>", Surroundings("arm.urdf", None, []))
    >>> content.tag, content.root["name"], content.name
    ('robot', 'arm', 'arm.urdf')
    """

    def __init__(
        self,
        data: bytes,
        around: Surroundings,
        *,
        loops: FilePath | None = None,
        xacro: bool = False,
        keyframe: str | int | None = None,
    ) -> None:
        self.data, self.around = data, around
        self.loops, self.xacro, self.keyframe = loops, xacro, keyframe

    @property
    def name(self) -> str:
        """The name of the file in messages."""
        return self.around.name

    @property
    def head(self) -> bytes:
        """The first bytes of the file."""
        return self.data[:_HEAD]

    @cached_property
    def is_xml(self) -> bool:
        """Whether the file begins as XML does, in any encoding that XML may have."""
        head = self.head.removeprefix(b"\xef\xbb\xbf")
        if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
            head = head[2:]
        return head.replace(b"\x00", b"").lstrip().startswith(b"<")

    @cached_property
    def root(self) -> XmlElement:
        """The outermost element of an XML file."""
        return parse_xml(self.data, self.name)

    @property
    def tag(self) -> str:
        """The tag of the outermost element, nothing if the file is no XML."""
        return self.root.tag if self.is_xml else ""

    def has_line(self, pattern: bytes, within: int | None = None) -> bool:
        """Tell whether a line begins with a pattern, among the first bytes if their number is given.

        >>> ModelContent(b"name: m\\nbodies: {}", Surroundings("m", None, [])).has_line(b"bodies *:")
        True
        """
        return re.search(rb"^(?:%b)" % pattern, self.data[:within], re.MULTILINE | re.IGNORECASE) is not None


@dataclass(frozen=True)
class FileFormat:
    """A format: how its content is recognised, who reads it, the ends of its files' names, and who writes it.

    `read` fills a `NeutralModel`. `write` returns the text of a file, and says by `lacks` of the `WritableModel` what
    the format cannot hold. The format of a file that is read follows from its content, that of a file that is written
    from the end of its name.

    >>> from whippletree.files.neutral_model import NeutralModel
    >>> def read(content):
    ...     return NeutralModel("plain", content.name)
    >>> FileFormat("Plain", lambda content: content.head.startswith(b"plain"), read, (".plain",)).name
    'Plain'
    """

    name: str
    recognises: Callable[[ModelContent], bool]
    read: Callable[[ModelContent], NeutralModel]
    suffixes: tuple[str, ...] = ()
    write: Callable[[WritableModel], str] | None = None


def outermost(*tags: str) -> Callable[[ModelContent], bool]:
    """Return a function that recognises an XML format by its outermost element.

    >>> outermost("sdf", "gazebo")(ModelContent(b"<sdf/>", Surroundings("m", None, [])))
    True
    """
    return lambda content: content.tag in tags


_FORMATS: dict[str, FileFormat] = {}
"""Every format by its name."""


@user_facing
def register(one: FileFormat) -> FileFormat:
    """Add a format, and return it.

    >>> mine = register(FileFormat("Mine", outermost("mine"), lambda content: content.root.error("no reader yet")))
    >>> unregister(mine)
    """
    if one.name in _FORMATS:
        raise ValueError(f'there is a format "{one.name}" already')
    for suffix in one.suffixes:
        taken = next((other.name for other in _FORMATS.values() if suffix in other.suffixes), None)
        if taken is not None or suffix != suffix.lower() or not suffix.startswith("."):
            raise ValueError(f'format "{one.name}": {suffix!r} must be new (it is that of {taken}), such as ".urdf"')
    _FORMATS[one.name] = one
    return one


@user_facing
def unregister(one: FileFormat) -> None:
    """Remove a format."""
    if one.name not in _FORMATS:
        raise FileError(f"the format {shown(one.name)} is not registered")
    del _FORMATS[one.name]


def format_of(content: ModelContent) -> FileFormat | None:
    """Return the format that a file has, None for one of no other program; XML that nobody knows is refused.

    >>> format_of(ModelContent(b"name: m", Surroundings("m.yaml", None, []))) is None
    True
    """
    found = next((one for one in _FORMATS.values() if one.recognises(content)), None)
    if found is None and content.is_xml:
        raise content.root.error(f"<{content.tag}> is no model that is known here: read are {', '.join(_FORMATS)}")
    return found


def format_written_as(path: Path) -> FileFormat | None:
    """Return the format that the end of a file's name says, None for YAML; one that is only read is refused.

    >>> format_written_as(Path("arm.yaml")) is None
    True
    """
    found = next((one for one in _FORMATS.values() if path.suffix.lower() in one.suffixes), None)
    if found is not None and found.write is None:
        written = [suffix for one in _FORMATS.values() if one.write is not None for suffix in one.suffixes]
        ends = ", ".join((*written, ".yaml"))
        raise FileError(f"{path}: {found.name} is read and not written: the name of the file must end in {ends}")
    return found
