"""Pictures of mechanisms: `mechanism.show()`, `system.show(q)`, `run.animate("x.html")`, and live, `view(system)`.

A `Scene` says what is drawn and how it moves. From it come a page for browsers (`html_page`, with its script in
`page/`), glTF files (`glb_file`), and PNG and GIF without a browser (`rasterizer`, `picture_files`).
"""

from whippletree.viewer.live_view import LiveView, view
from whippletree.viewer.scene import Scene
from whippletree.viewer.scene_view import SceneView
from whippletree.viewer.showing import animate, show, show_mechanism

__all__ = ["LiveView", "Scene", "SceneView", "animate", "show", "show_mechanism", "view"]
