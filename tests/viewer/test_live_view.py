"""The live page: loops stay closed, strangers are refused, and nothing is left when it is closed."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

import whippletree as wt
from support.sampling import rest
from whippletree.system.example_systems import four_bar
from whippletree.viewer import LiveView, view


@pytest.fixture
def live() -> Iterator[LiveView]:
    with view(four_bar(), opened=False) as one:
        yield one


def ask(
    live: LiveView, method: str = "GET", path: str | None = None, body: Any = None, **headers: str
) -> tuple[int, str]:
    """The status and text of an answer."""
    address = urlsplit(live.url)
    connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=30)
    text = None if body is None else body if isinstance(body, str) else json.dumps(body)
    kind = {} if body is None else {"Content-Type": "application/json"}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, address.path if path is None else path, text, kind | named)
    answer = connection.getresponse()
    found = answer.status, answer.read().decode()
    connection.close()
    return found


def change(live: LiveView, name: str, value: Any, group: str = "joint", **headers: str) -> tuple[int, str]:
    given = {"group": group, "name": name, "value": value}
    return ask(live, "POST", urlsplit(live.url).path + "change", given, **headers)


def test_a_slider_moves_the_mechanism_with_its_loops_closed(live: LiveView) -> None:
    s = live.system
    assert change(live, "A.angle", 1.4) == (200, "")
    assert live.q[0] == pytest.approx(1.4, abs=1e-12)
    assert np.abs(s.closure_residual(live.q)).max() < 1e-9
    status, text = ask(live, path=urlsplit(live.url).path + "state?after=0")
    state = json.loads(text)
    assert status == 200
    assert state["values"]["joint A.angle"] == pytest.approx(1.4)
    poses = np.array(state["poses"]).reshape(3, 7)
    assert poses[:, :3] == pytest.approx(np.stack([s.pose(live.q, n)[:3, 3] for n in ("crank", "coupler", "rocker")]))


def test_what_cannot_be_closed_is_told_and_nothing_moves() -> None:
    m = wt.Mechanism("triangle that opens")
    a, b = m.body("a", wt.rod(length=1.0, mass=1.0)), m.body("b", wt.rod(length=1.0, mass=1.0))
    m.revolute("A", m.ground, a, axis="y")
    m.revolute("B", m.ground, b, at=(1.5, 0, 0), axis="y")
    m.distance("tie", a, b, length=0.6, at=(1, 0, 0), at_child=(1, 0, 0))
    with view(m.build(guess={"A": -1.0, "B": -2.0}), opened=False) as live:
        before = live.q.copy()
        status, text = change(live, "A.angle", 3.1)
        assert status == 409
        assert "loop" in text or "closed" in text
        assert np.array_equal(live.q, before)


def test_parameters_have_sliders_too() -> None:
    m = wt.Mechanism("arm")
    length = m.parameter("length", 2.0)
    m.revolute("A", m.ground, m.body("upper", mass=1.0), axis="y")
    m.revolute("B", "upper", m.body("lower", mass=1.0), at=(length, 0, 0), axis="y")
    with view(m.build(), opened=False) as live:
        assert change(live, "length", 3.0, group="parameter")[0] == 200
        state = json.loads(ask(live, path=urlsplit(live.url).path + "state?after=0")[1])
        assert state["poses"][7:10] == [3.0, 0.0, 0.0]
        assert live.parameters == {"length": 3.0}


def test_a_program_shows_where_it_has_got(live: LiveView) -> None:
    answers: list[dict[str, Any]] = []
    path = urlsplit(live.url).path
    number = json.loads(ask(live, path=path + "state?after=0")[1])["number"]
    waiting = threading.Thread(
        target=lambda: answers.append(json.loads(ask(live, path=f"{path}state?after={number}")[1]))
    )
    waiting.start()
    live.show(live.system.assemble({"A": 1.3}))
    waiting.join(timeout=30)
    assert answers[0]["values"]["joint A.angle"] == pytest.approx(1.3)


@pytest.mark.parametrize(
    "headers",
    [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Host": "127.0.0.1:1"}],
)
def test_requests_of_strangers_are_refused(live: LiveView, headers: dict[str, str]) -> None:
    before = live.q.copy()
    assert ask(live, **headers)[0] == 404
    assert change(live, "A.angle", 1.4, **headers)[0] == 404
    assert np.array_equal(live.q, before)


def test_only_the_token_opens_the_page(live: LiveView) -> None:
    path = urlsplit(live.url).path
    assert ask(live)[0] == 200
    for other in ("/", "/state", "/x/", path[:-2] + "/", path.rstrip("/"), path + "nothing", path + "../"):
        assert ask(live, path=other)[0] == 404, other
    with view(four_bar(), opened=False) as another:
        assert ask(another, path=path)[0] == 404


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[",
        "[]",
        "3",
        "{}",
        '{"group": "joint"}',
        '{"group": "joint", "name": "A.angle", "value": "a"}',
        "[" * 2000,
        "x" * 9000,
    ],
)
def test_only_changes_are_read(live: LiveView, body: str) -> None:
    before = live.q.copy()
    assert ask(live, "POST", urlsplit(live.url).path + "change", body)[0] == 400
    assert np.array_equal(live.q, before)


@pytest.mark.parametrize(
    ("name", "value"), [("nothing", 1.0), ("A.angle", float("nan")), ("__class__", 1.0), ("A", 1.0)]
)
def test_only_sliders_are_moved(live: LiveView, name: str, value: float) -> None:
    before = live.q.copy()
    assert change(live, name, value)[0] == 409
    assert np.array_equal(live.q, before)


def answering() -> int:
    """How many requests are being answered."""
    return sum("process_request_thread" in thread.name for thread in threading.enumerate())


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_nothing_is_left_when_it_is_closed() -> None:
    before = set(threading.enumerate())
    live = view(four_bar(), opened=False)
    path = urlsplit(live.url).path
    number = json.loads(ask(live, path=path + "state?after=0")[1])["number"]
    until(lambda: answering() == 0)
    answers: list[int] = []
    waiting = threading.Thread(target=lambda: answers.append(ask(live, path=f"{path}state?after={number}")[0]))
    waiting.start()
    until(lambda: answering() == 1)
    live.close()
    waiting.join(timeout=30)
    assert answers == [410]
    assert set(threading.enumerate()) == before
    with pytest.raises(OSError, match="refused"):
        ask(live)
    live.close()  # once more does no harm
    assert "(closed)" in repr(live)


@pytest.mark.parametrize("ending", ["raise RuntimeError('as it happens')", *rest(["pass", "import sys; sys.exit(3)"])])
def test_a_program_that_does_not_close_it_ends(ending: str) -> None:
    program = (
        "import http.client, urllib.parse\n"
        "from whippletree.system.example_systems import four_bar\n"
        "from whippletree.viewer import view\n"
        "live = view(four_bar(), opened=False)\n"
        "address = urllib.parse.urlsplit(live.url)\n"
        "page = http.client.HTTPConnection('127.0.0.1', address.port, timeout=30)\n"
        "page.request('GET', address.path + 'state?after=1')\n"  # which waits for an answer
        "print('shown', flush=True)\n"
        f"{ending}\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "shown\n"
    assert done.returncode == (0 if ending == "pass" else 3 if "exit" in ending else 1)
    assert "raise" in ending or not done.stderr, done.stderr


@pytest.mark.parametrize("value", ["1e308", "-1e308", "1" + "0" * 400, "9" * 3000, "1e-320", "1e400", "true", "null"])
def test_every_number_gets_an_answer(value: str, capfd: pytest.CaptureFixture[str]) -> None:
    m = wt.Mechanism("arm")
    length = m.parameter("length", 2.0)
    m.prismatic("A", m.ground, m.body("upper", mass=1.0), axis="y")
    m.revolute("B", "upper", m.body("lower", mass=1.0), at=(length * length, 0, 0), axis="y")
    with view(m.build(), opened=False) as live:
        path = urlsplit(live.url).path
        for group, name in (("joint", "A.displacement"), ("joint", "B.angle"), ("parameter", "length")):
            text = f'{{"group": "{group}", "name": "{name}", "value": {value}}}'
            status, words = ask(live, "POST", path + "change", text)
            assert status in (200, 400, 409) and (words or status == 200)
            status, words = ask(live, path=path + "state?after=0")
            assert status == 200 and np.isfinite(json.loads(words)["poses"]).all()
    assert capfd.readouterr().err == ""


def raw(live: LiveView, request: bytes) -> bytes:
    """What is answered to some bytes."""
    with socket.create_connection(("127.0.0.1", urlsplit(live.url).port), timeout=30) as line:
        line.sendall(request)
        line.shutdown(socket.SHUT_WR)
        found = b""
        while part := line.recv(65536):
            found += part
    return found


def test_malformed_requests_get_an_answer_and_no_traceback(live: LiveView, capfd: pytest.CaptureFixture[str]) -> None:
    path, port = urlsplit(live.url).path.encode(), urlsplit(live.url).port
    host, rng = b"Host: 127.0.0.1:%d\r\n" % port, np.random.default_rng(5)
    hosts, paths = (b"[", b"[::1", b"\xff", b"", b"a" * 900), (b"//[", b"http://[x/", b"/\xff\xfe/", b"*", b"//[v1.x]")
    after = [path + b"state?after=" + odd for odd in (b"9" * 5000, b"-1", b"%ff", b"&;=")]
    requests = [b"GET %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (path, odd) for odd in hosts]
    requests += [b"GET %s HTTP/1.1\r\n%s\r\n" % (odd, host) for odd in (*paths, *after)]
    answers = {request: raw(live, request) for request in requests}
    assert all(answer.startswith(b"HTTP/1.") for answer in answers.values()), answers
    (odd,) = (answer for request, answer in answers.items() if b"http://[x/" in request)
    assert b"400" in odd.splitlines()[0] and b"cannot be answered: Invalid IPv6 URL" in odd
    good = b"POST %schange HTTP/1.1\r\n%sContent-Type: application/json\r\nContent-Length: 50\r\n\r\n" % (path, host)
    good += b'{"group": "joint", "name": "A.angle", "value": 1.1}'
    for _ in range(60):  # some bytes changed, anywhere
        spoilt = bytearray(good)
        for place in rng.integers(len(good), size=rng.integers(1, 6)):
            spoilt[place] = rng.integers(256)
        raw(live, bytes(spoilt))
    assert ask(live)[0] == 200
    assert capfd.readouterr().err == ""
