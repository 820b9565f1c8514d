"""A live page: a mechanism in a browser that moves with sliders, or with a program that goes on.

It is served on the loopback address only, below a random token in its URL. Requests from pages of others are refused:
the Host must be this server's, and the Origin, where a browser sends one, too. What the page sends are names of sliders
and numbers; nothing else is read, and nothing is executed.
"""

from __future__ import annotations

import atexit
import json
import secrets
import sys
import threading
import webbrowser
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import parse_qs, urlsplit

import numpy as np

from whippletree.errors import StateError, WhippletreeError
from whippletree.foundation.user_frames import user_facing
from whippletree.kernels.kernel import Array
from whippletree.model.argument_types import JointValues, PlaceLike
from whippletree.spatial.scalars import number, shown, truth
from whippletree.system import System
from whippletree.viewer.html_page import page
from whippletree.viewer.scene import Scene
from whippletree.viewer.scenes import still_scene
from whippletree.viewer.tracks import track_of

if TYPE_CHECKING:
    from whippletree.system.evaluator import ParameterValues

__all__ = ["LiveView", "Slider", "view"]

_ADDRESS = "127.0.0.1"
_LONGEST_BODY = 4096
"""Bytes of a change that the page sends."""

_WAIT, _IDLE = 20.0, 3.0
"""Seconds that a question for a newer state waits, and that a connection may stay silent."""


class Slider(NamedTuple):
    """A number that can be changed on the page: which group it is of, its name, label, range and value."""

    group: str
    name: str
    label: str
    low: float
    high: float
    value: float


@user_facing
def view(
    system: System,
    q: JointValues = None,
    *,
    parameters: ParameterValues = None,
    collisions: bool = False,
    follow: PlaceLike | None = None,
    opened: bool = True,
) -> LiveView:
    """Show the mechanism on a live page, with sliders for joint coordinates and parameters; loops stay closed.

    The page is served on this machine only, at the `url` of the `LiveView`, until its `close`, or the end of a
    `with` block; `.q` is where the sliders have brought it, and `.show(q)` shows another configuration.
    `collisions` and `follow` are those of `show`.
    """
    inputs = system.kernels.inputs
    start = system.q0 if q is None else system.assemble(inputs.single(q, "q"), parameters=parameters)
    found = LiveView(
        system, start, inputs.parameter_set(parameters), collisions=truth(collisions, "collisions="), follow=follow
    )
    if truth(opened, "opened="):
        webbrowser.open(found.url)
    return found


@user_facing
class LiveView:
    """A mechanism on a live page at `url`, until `close`; the result of `System.view`.

    `q` and `parameters` are those that the page shows now. `show(q)` shows another configuration: a loop, or a
    controller while a simulation goes on, may call it as often as it likes.

    >>> from whippletree.system.example_systems import four_bar
    >>> s = four_bar()
    >>> with view(s, opened=False) as live:
    ...     live.change("joint", "A.angle", 1.2)
    >>> bool(abs(live.q[0] - 1.2) < 1e-9), bool(abs(s.closure_residual(live.q)).max() < 1e-9)
    (True, True)
    """

    def __init__(self, system: System, q: Array, parameters: Array | None, **looks: Any) -> None:
        inputs = system.kernels.inputs
        self.system, self.q = system, np.array(inputs.configuration(q))
        names = [one.name for one in system.description.parameters]
        given = inputs.parameter_set(parameters)
        values = system.description.parameter_values if given is None else given
        self.parameters = dict(zip(names, map(float, values), strict=True))
        self._scene = still_scene(system, self.q, parameters=self._given(), **looks)
        self._sliders = {(one.group, one.name): one for one in _sliders(system, self._scene, self.q, self.parameters)}
        self._changed, self._number, self._open = threading.Condition(threading.RLock()), 1, True
        self._token = secrets.token_urlsafe(24)
        handler = type("_PageHandler", (_Handler,), {"live": self})
        self._server = _PageServer((_ADDRESS, 0), handler)
        serve = self._server.serve_forever
        self._thread = threading.Thread(target=serve, kwargs={"poll_interval": 0.1}, daemon=True)
        self._thread.start()
        atexit.register(self.close)  # a program that ends without it does end

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f'LiveView of "{self._scene.title}" {"at " + self.url if self._open else "(closed)"}'

    @property
    def url(self) -> str:
        """The address of the page; anyone who knows it can move the sliders, from this machine only."""
        return f"http://{_ADDRESS}:{self._server.server_port}/{self._token}/"

    def show(self, q: JointValues) -> None:
        """Show a configuration (nq), as it is."""
        self._set(self.system.kernels.inputs.configuration(q), self.parameters)

    def change(self, group: str, name: str, value: float) -> None:
        """Set a "joint" coordinate or a "parameter" as its slider does; loops are closed again, on their branch."""
        if not (isinstance(group, str) and isinstance(name, str) and (group, name) in self._sliders):
            raise StateError(f"there is no slider for the {shown(group)} {shown(name)}")
        value = number(value, name)
        with self._changed:
            q, parameters, hold = self.q.copy(), dict(self.parameters), None
            if group == "parameter":
                parameters[name] = float(value)
            else:
                joint, index = _coordinates(self.system)[name]
                q[self.system.q_slice(joint)][index] = value
                hold = [joint]
            self._set(self.system.assemble(q, hold=hold, parameters=self._given(parameters)), parameters)

    def close(self) -> None:
        """Stop serving; nothing goes on in the background after that."""
        with self._changed:
            if not self._open:
                return
            self._open = False
            self._changed.notify_all()
        atexit.unregister(self.close)
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    # ------------------------------------------------------------------ for the server

    def page(self) -> str:
        """Return the page."""
        return page(self._scene, live=[one._asdict() for one in self._sliders.values()])

    def owns(self, token: str, host: str, origin: str | None) -> bool:
        """Tell whether a request comes from the page itself, or from a browser that was given its address."""
        hosts = [f"{name}:{self._server.server_port}" for name in (_ADDRESS, "localhost")]
        known = secrets.compare_digest(token.encode(), self._token.encode())
        return known and host in hosts and (origin is None or origin in [f"http://{one}" for one in hosts])

    def state(self, after: int) -> dict[str, object] | None:
        """Return the state when it is newer than one that is known, or after a while; None when all is closed."""
        with self._changed:
            self._changed.wait_for(lambda: not self._open or self._number != after, _WAIT)
            if not self._open:
                return None
            track = track_of(self.system, np.zeros(1), self.q[None], self._given())
            poses = np.concatenate([track.positions, track.quaternions], axis=2).ravel()
            values = {f"joint {name}": self._coordinate(name) for name in _coordinates(self.system)}
            values |= {f"parameter {name}": value for name, value in self.parameters.items()}
            amplitudes = track.amplitudes.ravel().tolist()
            return {"number": self._number, "poses": poses.tolist(), "amplitudes": amplitudes, "values": values}

    def _coordinate(self, name: str) -> float:
        joint, index = _coordinates(self.system)[name]
        return float(self.q[self.system.q_slice(joint)][index])

    def _set(self, q: Array, parameters: dict[str, float]) -> None:
        with np.errstate(all="ignore"):
            track = track_of(self.system, np.zeros(1), np.array(q)[None], self._given(parameters))
        if not all(np.isfinite(part).all() for part in (track.positions, track.quaternions, track.amplitudes)):
            raise StateError("with these numbers, bodies have no place: they are too large, or too small")
        with self._changed:
            self.q, self.parameters, self._number = np.array(q), parameters, self._number + 1
            self._changed.notify_all()

    def _given(self, parameters: dict[str, float] | None = None) -> dict[str, float] | None:
        return (self.parameters if parameters is None else parameters) or None


class _PageServer(ThreadingHTTPServer):
    """A server whose threads have ended when it is closed."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._answering: list[threading.Thread] = []

    def process_request(self, request: Any, client_address: object) -> None:
        """Answer in a thread that keeps no program from ending."""
        given = (request, client_address)
        thread = threading.Thread(target=self.process_request_thread, args=given, daemon=True)
        self._answering = [*(one for one in self._answering if one.is_alive()), thread]
        thread.start()

    def server_close(self) -> None:
        """Take no more requests, and wait for the answers that are under way."""
        super().server_close()
        for thread in self._answering:
            thread.join()

    def handle_error(self, request: Any, client_address: object) -> None:
        """Say nothing of a page that has gone away meanwhile."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """Answers the page: itself, its newest state, and changes of its sliders."""

    live: LiveView
    timeout = _IDLE

    def do_GET(self) -> None:
        self._answered(self._shown)

    def do_POST(self) -> None:
        self._answered(self._changed)

    def _answered(self, answer: Callable[[], None]) -> None:
        """Give an answer; to a request that leads to an error, one in words."""
        try:
            answer()
        except OSError:
            raise
        except Exception as error:  # whatever a request makes the libraries raise
            self._answer(HTTPStatus.BAD_REQUEST, f"the request cannot be answered: {shown(str(error))[1:-1]}")

    def _shown(self) -> None:
        address = urlsplit(self.path)
        what = self._asked(address.path)
        if what == "":
            self._answer(HTTPStatus.OK, self.live.page(), "text/html; charset=utf-8")
        elif what == "state":
            after = parse_qs(address.query).get("after", ["0"])[0]
            found = self.live.state(int(after) if after.isascii() and after.isdigit() and len(after) < 12 else 0)
            if found is None:
                self._answer(HTTPStatus.GONE, "closed")
            else:
                self._answer(HTTPStatus.OK, json.dumps(found, allow_nan=False), "application/json")
        else:
            self._answer(HTTPStatus.NOT_FOUND, "there is nothing here")

    def _changed(self) -> None:
        if self._asked(urlsplit(self.path).path) != "change":
            return self._answer(HTTPStatus.NOT_FOUND, "there is nothing here")
        size = self.headers.get("Content-Length", "")
        plain = self.headers.get("Content-Type") == "application/json" and size.isascii() and size.isdigit()
        if not plain or len(size) > 5 or int(size) > _LONGEST_BODY:
            return self._answer(HTTPStatus.BAD_REQUEST, "a change is a short JSON text")
        try:
            given = json.loads(self.rfile.read(int(size)))
            group, name, value = str(given["group"]), str(given["name"]), float(given["value"])
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            return self._answer(HTTPStatus.BAD_REQUEST, "a change has a group, a name and a value, a finite number")
        try:
            self.live.change(group, name, value)
        except WhippletreeError as error:
            return self._answer(HTTPStatus.CONFLICT, str(error))
        return self._answer(HTTPStatus.OK, "")

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""

    def _asked(self, path: str) -> str | None:
        """Return the part of the path after the token, None if the request is not from the page."""
        token, slash, what = path.removeprefix("/").partition("/")
        mine = self.live.owns(token, self.headers.get("Host", ""), self.headers.get("Origin"))
        return what if slash and mine else None

    def _answer(self, status: HTTPStatus, text: str, kind: str = "text/plain; charset=utf-8") -> None:
        data = text.encode("utf-8", "replace")
        self.send_response(status)
        headers = {
            "Content-Type": kind,
            "Content-Length": str(len(data)),
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


def _coordinates(system: System) -> dict[str, tuple[str, int]]:
    """Return the joint coordinates that have sliders: all but quaternions, by label."""
    found = {}
    for use in system.description.joints:
        first = 4 if use.joint.quaternion else 0
        for index, label in enumerate(use.joint.position_labels[first:], first):
            found[f"{use.name}.{label}"] = (use.name, index)
    return found


def _sliders(system: System, scene: Scene, q: Array, parameters: dict[str, float]) -> list[Slider]:
    """Return the sliders: angles over a turn, displacements over the mechanism's extent, parameters up to twice."""
    found = []
    for name, (joint, index) in _coordinates(system).items():
        value = float(q[system.q_slice(joint)][index])
        reach = np.pi if "angle" in name.rpartition(".")[2] else max(scene.extent, 1e-6) / 2
        found.append(Slider("joint", name, name, value - reach, value + reach, value))
    for name, value in parameters.items():
        low, high = sorted((0.0, 2.0 * value)) if value else (-1.0, 1.0)
        found.append(Slider("parameter", name, name, low, high, value))
    return found
