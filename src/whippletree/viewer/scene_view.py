"""A picture of a mechanism that notebooks show, browsers open, and files hold."""

from __future__ import annotations

import sys
import tempfile
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from whippletree.errors import StateError
from whippletree.foundation.arrays import FilePath
from whippletree.foundation.user_frames import user_facing
from whippletree.results.output_files import new_file, write_whole
from whippletree.spatial.scalars import truth
from whippletree.viewer.glb_file import glb
from whippletree.viewer.html_page import inline_frame, page
from whippletree.viewer.picture_files import gif, png
from whippletree.viewer.scene import Scene

__all__ = ["SceneView"]

_KINDS = (".html", ".glb", ".gif", ".png")


@user_facing
class SceneView:
    """A scene to look at: the result of `show` and `animate`. Notebooks show it as a page within theirs.

    >>> from whippletree.system.example_systems import four_bar
    >>> from whippletree.viewer.scenes import still_scene
    >>> SceneView(still_scene(four_bar(), four_bar().q0))
    SceneView of "four-bar": 3 bodies; .open() shows it in a browser, .save("name.html") writes it
    """

    def __init__(self, scene: Scene, *, speed: float = 1.0) -> None:
        self.scene, self._speed = scene, speed

    def __repr__(self) -> str:
        frames = f", {len(self.scene.track)} instants" if len(self.scene.track) > 1 else ""
        words = f'SceneView of "{self.scene.title}": {len(self.scene.places)} bodies{frames}'
        return f'{words}; .open() shows it in a browser, .save("name.html") writes it'

    def _repr_html_(self) -> str:
        return inline_frame(self.html())

    def html(self) -> str:
        """Return the page: one HTML text that holds everything."""
        return page(self.scene)

    def save(self, path: FilePath) -> Path:
        """Write the scene in the format of the name's suffix: .html, .glb (glTF), .gif or .png; whole or not at all."""
        place = new_file(path)
        writers: dict[str, Callable[[], bytes]] = {
            ".html": lambda: self.html().encode("utf-8", "replace"),
            ".glb": lambda: glb(self.scene),
            ".gif": lambda: gif(self.scene, speed=self._speed),
            ".png": lambda: png(self.scene),
        }
        writer = writers.get(place.suffix.lower())
        if writer is None:
            raise StateError(f'a scene cannot be written as "{place.name}": end it in {", ".join(_KINDS)}')
        data = writer()
        return write_whole(place, lambda file: _write(file, data))

    def open(self) -> Path:
        """Show it in a browser, from a temporary file, and return where that is."""
        folder = Path(tempfile.mkdtemp(prefix="whippletree-"))
        place = self.save(folder / "scene.html")
        webbrowser.open(place.as_uri())
        return place

    def shown(self, path: FilePath | None = None, *, opened: bool = True) -> SceneView:
        """Return it, written to a path; without one, opened in a browser, unless a notebook will show it."""
        if path is not None:
            self.save(path)
        elif truth(opened, "opened=") and "ipykernel" not in sys.modules:
            self.open()
        return self


def _write(file: BinaryIO, data: bytes) -> None:
    file.write(data)
