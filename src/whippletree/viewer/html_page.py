"""The page of a scene: one HTML text that holds everything and asks for nothing from outside.

Text of strangers, such as names in a model file, never becomes markup or script: it is escaped where it is text of the
page, and in the JSON of the scene "<", ">" and "&" are written as escapes. The page's own policy lets only its own
script run, by its hash, and forbids every request.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import html
import re
from importlib import resources

from whippletree.viewer.scene import Scene
from whippletree.viewer.scene_data import scene_data

__all__ = ["inline_frame", "page"]

_ROOM = "whippletree.viewer"
_LISTED = 40
"""How many bodies and joints the summary for screen readers names."""


def page(scene: Scene, *, live: list[dict[str, object]] | None = None) -> str:
    """Return the page of a scene; a live one has sliders, and may ask the server that it came from.

    >>> from whippletree.system.example_systems import four_bar
    >>> from whippletree.viewer.scenes import still_scene
    >>> text = page(still_scene(four_bar(), four_bar().q0, title="a <b> & c"))
    >>> "<title>a &lt;b&gt; &amp; c</title>" in text, "<b>" in text
    (True, False)
    """
    head, block = scene_data(scene, {} if live is None else {"live": live})
    connect = "'none'" if live is None else "'self'"
    style, script = _file("page.css"), _file("viewer.bundle.js")
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; connect-src {connect}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "policy": html.escape(policy),
        "title": html.escape(scene.title),
        "summary": html.escape(_summary(scene)),
        "style": style,
        "scene": head,
        "numbers": base64.b64encode(block).decode("ascii"),
        "script": script,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _file("page.html"))


def inline_frame(text: str, height: int = 480) -> str:
    """Return a page as a frame within another page, a notebook's, from which it is kept apart.

    >>> inline_frame("<p>a</p>")[:40]
    '<iframe srcdoc="&lt;p&gt;a&lt;/p&gt;" sa'
    """
    frame = f'sandbox="allow-scripts" width="100%" height="{height}" style="border:0" title="A mechanism"'
    return f'<iframe srcdoc="{html.escape(text)}" {frame}></iframe>'


def _summary(scene: Scene) -> str:
    """List bodies, joints and closures in words, for readers who do not see the picture."""
    joints = [f"{one.name} ({one.kind})" for one in scene.joints]
    lists = [_listed("bodies", list(scene.places)), _listed("joints", joints)]
    if scene.closures:
        lists.append(_listed("closures", list(scene.closures)))
    return " ".join(lists)


def _listed(what: str, names: list[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"{len(names)} {what}: {', '.join(names[:_LISTED])}{more}."


@functools.cache
def _file(name: str) -> str:
    return (resources.files(_ROOM) / "page" / name).read_text(encoding="utf-8")


@functools.cache
def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"
