"""Properties of OpenSim objects: elements named after them, or the file's `<defaults>` for their type."""

from __future__ import annotations

from collections.abc import Iterator

from whippletree.files.xml_source import XmlElement

__all__ = ["OpensimObjects"]

_FALSE, _TRUE = ("false", "0"), ("true", "1")


class OpensimObjects:
    """The objects of a model, whose properties are looked up here.

    >>> from whippletree.files.xml_source import parse_xml
    >>> text = b"<Model><defaults><Body name='default'><mass>2</mass></Body></defaults><Body name='a'/></Model>"
    >>> model = parse_xml(text, "m.osim")
    >>> OpensimObjects(model).number(model.child("Body"), "mass")
    2.0
    """

    def __init__(self, model: XmlElement) -> None:
        given = model.child("defaults")
        self._defaults = {} if given is None else {element.tag: element for element in given.children}

    def find(self, element: XmlElement, *names: str) -> XmlElement | None:
        """Return the first of these properties that an object has, or that the defaults have for its type."""
        for holder in (element, self._defaults.get(element.tag)):
            for name in names if holder is not None else ():
                found = holder.child(name) if holder is not None else None
                if found is not None:
                    return found
        return None

    def text(self, element: XmlElement, *names: str, default: str = "") -> str:
        """Return a property that is text."""
        found = self.find(element, *names)
        return default if found is None else found.text

    def words(self, element: XmlElement, *names: str) -> list[str]:
        """Return a property that is a list of names."""
        return self.text(element, *names).split()

    def numbers(
        self, element: XmlElement, *names: str, count: int | None = None, default: tuple[float, ...] = ()
    ) -> tuple[float, ...]:
        """Return a property that is numbers: `count` of them, if that is given."""
        found = self.find(element, *names)
        return default if found is None else tuple(found.numbers(found.text, count, f"<{found.tag}>"))

    def number(self, element: XmlElement, *names: str, default: float = 0.0) -> float:
        """Return a property that is a number."""
        return self.numbers(element, *names, count=1, default=(default,))[0]

    def point(self, element: XmlElement, *names: str) -> tuple[float, float, float]:
        """Return a property that is three numbers, zeros if it is not there."""
        x, y, z = self.numbers(element, *names, count=3, default=(0.0, 0.0, 0.0))
        return x, y, z

    def flag(self, element: XmlElement, *names: str, default: bool = False) -> bool:
        """Return a property that is true or false."""
        found = self.find(element, *names)
        if found is None or not found.text:
            return default
        word = found.text.lower()
        if word not in _TRUE + _FALSE:
            raise found.error(f"<{found.tag}> must be true or false, got {found.text[:40]!r}")
        return word in _TRUE

    def members(self, element: XmlElement, *names: str) -> Iterator[XmlElement]:
        """Yield the objects of a set: within `<objects>`, as sets have them, or directly."""
        for group in element.all(*names):
            if group.get("file"):
                raise group.error(f"<{group.tag}> is in another file, {group['file'][:80]!r}: put its objects in here")
            inner = group.child("objects")
            for one in (group if inner is None else inner).children:
                if one.tag not in ("groups", "objects"):
                    yield one

    def enabled(self, element: XmlElement) -> bool:
        """Tell whether a force or a constraint is in use."""
        if self.flag(element, "isDisabled"):
            return False
        return self.flag(element, "isEnforced", "appliesForce", default=True)
