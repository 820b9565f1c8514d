"""XML as it is written: elements with attributes, indented, every number with all its digits."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

__all__ = ["XmlTag", "numbers"]


def numbers(values: Iterable[float]) -> str:
    """Return numbers as text that reads back as the same numbers.

    >>> numbers([1.0, 0.1, -0.0])
    '1 0.1 0'
    """
    return " ".join(repr(float(value) + 0.0).removesuffix(".0") for value in values)


class XmlTag:
    """An element to be written.

    >>> print(XmlTag("link", name="arm").text())
    <link name="arm"/>
    """

    def __init__(self, tag: str, content: str = "", **attributes: str) -> None:
        self.tag, self._content, self._attributes = tag, content, attributes
        self._children: list[XmlTag] = []

    def add(self, tag: str, content: str = "", **attributes: str) -> XmlTag:
        """Add a child and return it."""
        child = XmlTag(tag, content, **attributes)
        self._children.append(child)
        return child

    def append(self, child: XmlTag) -> None:
        """Add an element that has been made before."""
        self._children.append(child)

    def child(self, tag: str) -> XmlTag | None:
        """Return the first child with a tag, if there is one."""
        return next((child for child in self._children if child.tag == tag), None)

    @property
    def has_children(self) -> bool:
        """Whether there is anything in it."""
        return bool(self._children)

    def text(self, indent: str = "") -> str:
        """Return the element as text."""
        head = self.tag + "".join(f" {name}={quoteattr(value)}" for name, value in self._attributes.items())
        if not self._children:
            return f"{indent}<{head}>{escape(self._content)}</{self.tag}>" if self._content else f"{indent}<{head}/>"
        inner = "\n".join(child.text(indent + "  ") for child in self._children)
        return f"{indent}<{head}>\n{inner}\n{indent}</{self.tag}>"
