"""A headless Chromium, driven through its debugging pipe by the standard library alone.

It is looked for under the names that packages give it, and where `make browser` puts one; WHIPPLETREE_CHROMIUM names
another one.
"""

from __future__ import annotations

import base64
import io
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from PIL import Image

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "headless_shell")
OWN = Path(sys.prefix) / "share" / "chromium" / "chromium"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--hide-scrollbars",
    "--mute-audio",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--disable-background-timer-throttling",
    "--disable-renderer-backgrounding",
    "--password-store=basic",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--remote-debugging-pipe",
)


LAUNCH = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
for end, number in zip(ends, (3, 4)):
    os.dup2(end, number)  # where the browser expects its pipe
os.execvp(sys.argv[3], sys.argv[3:])
"""


def find_chromium() -> str | None:
    """Return the path of a Chromium, None if there is none."""
    named = os.environ.get("WHIPPLETREE_CHROMIUM")
    if named:
        return named
    return next((found for name in NAMES if (found := shutil.which(name))), str(OWN) if OWN.exists() else None)


class Browser:
    """A page in a headless browser; what it says on the console and asks for is kept."""

    def __init__(self, program: str, *, width: int = 900, height: int = 600, dark: bool = False) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        size = f"--window-size={width},{height}"
        theirs, ours = os.pipe(), os.pipe()
        command = [program, *FLAGS, size, f"--user-data-dir={self._profile.name}", "about:blank"]
        libraries = {"LD_LIBRARY_PATH": str(OWN.parent / "lib")} if program == str(OWN) else {}
        self._process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, str(theirs[0]), str(ours[1]), *command],
            env=os.environ | libraries,
            pass_fds=(theirs[0], ours[1]),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs[0])
        os.close(ours[1])
        self._out, self._in = os.fdopen(theirs[1], "wb", buffering=0), os.fdopen(ours[0], "rb", buffering=0)
        os.set_blocking(self._in.fileno(), False)
        self._numbers, self._left = itertools.count(1), b""
        self.console: list[str] = []
        self.requests: list[str] = []
        self._session = ""
        pages = self.call("Target.getTargets")["targetInfos"]
        target = next(one["targetId"] for one in pages if one["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.prefer(dark=dark)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the browser."""
        try:
            self._session = ""
            self._send("Browser.close")
            self._process.wait(timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        self._out.close()
        self._in.close()
        self._profile.cleanup()

    def prefer(self, *, dark: bool) -> None:
        """Prefer dark or light, and motion."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, url: str, ready: str = "document.documentElement?.dataset.drawn !== undefined") -> None:
        """Open a page, and wait until an expression is true."""
        self.console.clear()
        self.requests.clear()
        self.call("Page.navigate", url=url)
        self.wait(ready)

    def wait(self, expression: str, seconds: float = 60.0) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + seconds
        while not self.evaluate(f"Boolean({expression})"):
            if time.monotonic() > end:
                raise TimeoutError(f"{expression} did not come true; the console: {self.console}")
            time.sleep(0.05)

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(json.dumps(found["exceptionDetails"])[:2000])
        return found["result"].get("value")

    def press(self, key: str, code: str = "") -> None:
        """Press a key and let it go."""
        text = {"text": key} if len(key) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=code or key, **(text if kind == "keyDown" else {})
            )

    def click(self, x: float, y: float) -> None:
        """Click somewhere."""
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Drag from one place to another."""
        for kind, (x, y) in (("mousePressed", start), ("mouseMoved", end), ("mouseReleased", end)):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)

    def picture(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """Return what is seen (height, width, 3)."""
        data = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))

    # ------------------------------------------------------------------ the pipe

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the debugging protocol and return its result."""
        number = self._send(method, **parameters)
        while True:
            message = self._receive()
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return dict(message["result"])
            self._note(message)

    def _send(self, method: str, **parameters: Any) -> int:
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._out.write(json.dumps(message).encode() + b"\0")
        return number

    def _receive(self, seconds: float = 90.0) -> dict[str, Any]:
        end = time.monotonic() + seconds
        while b"\0" not in self._left:
            part = self._in.read(1 << 20)
            if part == b"" or self._process.poll() is not None:
                raise RuntimeError("the browser has ended")
            if part is None:
                if time.monotonic() > end:
                    raise TimeoutError("the browser does not answer")
                time.sleep(0.01)
                continue
            self._left += part
        line, _, self._left = self._left.partition(b"\0")
        return dict(json.loads(line))

    def _note(self, message: dict[str, Any]) -> None:
        method, given = message.get("method"), message.get("params", {})
        if method == "Runtime.consoleAPICalled" and given["type"] in ("error", "warning", "assert"):
            self.console.append(" ".join(str(one.get("value", one.get("description"))) for one in given["args"]))
        elif method == "Runtime.exceptionThrown":
            self.console.append(json.dumps(given["exceptionDetails"])[:1000])
        elif method == "Log.entryAdded" and given["entry"]["level"] in ("error", "warning"):
            self.console.append(given["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(given["request"]["url"])
