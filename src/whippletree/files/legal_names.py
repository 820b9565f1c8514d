"""Names of files, made such that a mechanism takes them: printable, not blank, and each once."""

from __future__ import annotations

from collections.abc import Iterable

from whippletree.files.neutral_model import Remarks
from whippletree.model.names import LONGEST_NAME, quoted

__all__ = ["LegalNames"]


class LegalNames:
    """The names given so far to elements that must have different ones.

    >>> from whippletree.files.neutral_model import Remarks
    >>> names = LegalNames(Remarks(), {"ground"})
    >>> names.legal("arm", "link"), names.legal("arm", "link"), names.legal("ground", "link")
    ('arm', 'arm 2', 'ground 2')
    """

    def __init__(self, remarks: Remarks, taken: Iterable[str] = ()) -> None:
        self._remarks = remarks
        self._taken = set(taken)

    def legal(self, name: str, kind: str) -> str:
        """Return a legal name that has not been given yet; a change is remarked."""
        plain = "".join(c if c.isprintable() else " " for c in name).strip()[: LONGEST_NAME - 20] or kind
        found, k = plain, 1
        while found in self._taken:
            k += 1
            found = f"{plain} {k}"
        self._taken.add(found)
        if found != name:
            self._remarks.add("changed", f"{kind} {quoted(name)} is called {quoted(found)}")
        return found
