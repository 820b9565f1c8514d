"""The page in a headless browser: what is seen where, what the console says, what it asks for, keys and themes.

Without a Chromium on the machine these tests cannot run, and say so. `make browser` installs one.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whippletree as wt
from support.browser import Browser, find_chromium
from whippletree.system.example_systems import four_bar
from whippletree.viewer import view

PROGRAM = find_chromium()
if PROGRAM is None:
    warnings.warn(
        "NO CHROMIUM: the viewer's page is not tested in a browser; `make browser` installs one", stacklevel=1
    )
    pytest.skip("there is no Chromium: `make browser` installs one", allow_module_level=True)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert PROGRAM is not None
    with Browser(PROGRAM) as one:
        yield one


@pytest.fixture(scope="module")
def run() -> wt.Trajectory:
    return four_bar().simulate(2.0, every=0.05)


@pytest.fixture(scope="module")
def page(run: wt.Trajectory, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "four bar.html"
    run.animate(path, forces=True, paths=["coupler"], beside={"later": run[20:]})
    return path.as_uri()


def frame(browser: Browser) -> int:
    return int(browser.evaluate("whippletree.frame()"))


def drawn(browser: Browser) -> None:
    """Wait until what has changed is drawn."""
    browser.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")


def on_screen(browser: Browser, point: Any) -> tuple[int, int]:
    """Where a point of the ground frame is on the screen, by the page's own camera."""
    x, y, z = np.asarray(point, dtype=float).tolist()
    code = f"""(() => {{
        const page = whippletree, camera = page.stage.camera;
        const at = camera.position.clone().set({x}, {y}, {z}).project(camera);
        const box = document.getElementById("view").getBoundingClientRect();
        return [box.left + (at.x + 1) / 2 * box.width, box.top + (1 - at.y) / 2 * box.height];
    }})()"""
    found = browser.evaluate(code)
    return round(found[0]), round(found[1])


def test_bodies_are_where_they_should_be(browser: Browser, run: wt.Trajectory, page: str) -> None:
    for k in (0, 17):
        browser.open(f"{page}?frame={k}")
        browser.evaluate("['arrows', 'names'].forEach((x) => document.querySelector(`[data-layer=${x}]`).click())")
        drawn(browser)
        picture = browser.picture().astype(int)
        for name, length, channel in (("crank", 1.0, 2), ("coupler", 2.0, 0), ("rocker", 1.5, 1)):
            x, y = on_screen(browser, (run.pose(name)[k] @ [0.6 * length, 0, 0, 1])[:3])
            seen = picture[y, x]
            assert int(np.argmax(seen)) == channel, (k, name, seen.tolist())
            assert np.ptp(seen) > 30
        away = picture[60, 300]
        assert away.min() > 225  # nothing there but the light background


def test_the_console_is_silent_and_nothing_is_asked_for(browser: Browser, page: str) -> None:
    browser.open(page)
    browser.wait("whippletree.costs.length > 3")
    assert browser.console == []
    assert browser.requests == [page]


def test_the_whole_page_can_be_used_by_keys(browser: Browser, run: wt.Trajectory, page: str) -> None:
    browser.open(f"{page}?frame=3")
    assert frame(browser) == 3
    for key, expected in (("ArrowRight", 4), ("ArrowRight", 5), ("ArrowLeft", 4), ("Home", 0), ("End", len(run) - 1)):
        browser.press(key)
        browser.wait(f"document.documentElement.dataset.drawn === '{expected}'")
    assert browser.evaluate("document.getElementById('clock').textContent") == "2.00 s"
    assert browser.evaluate("document.getElementById('time').getAttribute('aria-valuetext')") == "2.00 seconds"
    browser.press("Home")
    browser.press(" ", "Space")
    assert browser.evaluate("document.getElementById('play').getAttribute('aria-label')") == "Pause"
    browser.wait("whippletree.frame() > 2")
    browser.press(" ", "Space")
    assert browser.evaluate("document.getElementById('play').getAttribute('aria-label')") == "Play"
    stopped = frame(browser)
    time.sleep(0.3)
    assert frame(browser) == stopped


def test_every_control_has_a_name(browser: Browser, page: str) -> None:
    browser.open(f"{page}?frame=0")
    nameless = browser.evaluate(
        """[...document.querySelectorAll("button, input, select, canvas[role=img]")]
        .filter((x) => !(x.getAttribute("aria-label") || x.closest("label")?.textContent.trim()))
        .map((x) => x.outerHTML)"""
    )
    assert nameless == []
    assert "A.angle" in browser.evaluate("document.querySelector('#plots canvas').getAttribute('aria-label')")
    assert browser.evaluate("document.getElementById('legend').textContent") == "later"


def test_layers_can_be_switched(browser: Browser, page: str) -> None:
    browser.open(f"{page}?frame=5")
    before = browser.picture().astype(int)
    for layer in ("names", "axes", "frames", "closures", "paths", "arrows", "grid"):
        browser.evaluate(f"document.querySelector('[data-layer={layer}]').click()")
        drawn(browser)
        after = browser.picture().astype(int)
        assert (np.abs(after - before)[:540].max(axis=2) > 12).sum() > 20, layer
        before = after
    assert browser.console == []


def test_names_are_left_out_over_the_title_and_out_of_view(browser: Browser, page: str) -> None:
    browser.open(f"{page}?frame=5")

    def names(change: str) -> int:
        return int(browser.evaluate(f"({change}, whippletree.labels.draw({{names: true}}), whippletree.labels.count)"))

    assert names("0") == 4
    camera = "whippletree.stage.camera"
    assert names(f"({camera}.zoom = 50, {camera}.updateProjectionMatrix())") == 0
    assert names(f"({camera}.zoom = 1, {camera}.updateProjectionMatrix())") == 4
    assert names("(document.querySelector('h1').textContent = 'a long title '.repeat(1000))") == 0


def test_dark_and_light(browser: Browser, page: str) -> None:
    browser.prefer(dark=True)
    browser.open(f"{page}?frame=0")
    drawn(browser)
    assert browser.picture()[100, 300].max() < 60
    browser.evaluate("document.getElementById('theme').click()")
    drawn(browser)
    assert browser.picture()[100, 300].min() > 225
    browser.prefer(dark=False)


def test_the_view_can_be_turned_and_set_back(browser: Browser, page: str) -> None:
    browser.open(f"{page}?frame=0")
    camera = "whippletree.stage.camera.position.toArray()"
    before = browser.evaluate(camera)
    browser.drag((250, 300), (330, 320))
    turned = browser.evaluate(camera)
    assert np.abs(np.subtract(turned, before)).max() > 0.1
    browser.evaluate("document.getElementById('home').click()")
    assert browser.evaluate(camera) == pytest.approx(before)


def test_a_click_in_a_plot_sets_the_time(browser: Browser, page: str) -> None:
    browser.open(f"{page}?frame=0")
    left, width = browser.evaluate(
        "(({left, width}) => [left, width])(document.querySelector('#plots canvas').getBoundingClientRect())"
    )
    browser.click(left + 46 + (width - 46 - 8) / 2, 200)
    browser.wait("Math.abs(whippletree.time - 1.0) < 0.02")


def test_names_of_strangers_do_nothing(browser: Browser, tmp_path: Path) -> None:
    m = wt.Mechanism("</script><script>window.hit = 1</script>")
    rod = m.body("<img src=x onerror='window.hit = 2'>", wt.rod(length=1.0, mass=1.0))
    m.revolute('"><svg onload=window.hit=3>', m.ground, rod)
    m.show(tmp_path / "evil.html", paths=[rod])
    browser.open((tmp_path / "evil.html").as_uri())
    assert browser.evaluate("window.hit === undefined")
    assert browser.evaluate("document.title") == "</script><script>window.hit = 1</script>"
    assert browser.console == []


def test_meshes_springs_and_all_joints_are_drawn(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "tent.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n")
    m = wt.Mechanism("all kinds")
    shape = wt.elements.bodies.Shape("mesh", (1.0, 1.0, 1.0), file=str(tmp_path / "tent.obj"))
    for k, kind in enumerate(
        ("revolute", "prismatic", "cylindrical", "universal", "spherical", "planar", "free", "fixed")
    ):
        body = m.body(kind, wt.MassProperties(1.0, (0.3, 0.3, 0.3), (1, 1, 1), [shape]))
        getattr(m, kind)(f"{kind} joint", m.ground, body, at=(2.0 * k, 0, 0))
    m.spring("coil", "revolute", "free", at=(0, 0, 1), at_child=(0, 0, 1), stiffness=1.0, free_length=1.0)
    m.show(tmp_path / "all.html")
    browser.open((tmp_path / "all.html").as_uri())
    drawn(browser)
    picture = browser.picture().astype(int)
    spots = [on_screen(browser, (2.0 * k + 0.2, 0.2, 0.5)) for k in range(8)]
    assert sum(np.ptp(picture[y, x]) > 30 for x, y in spots) >= 6
    assert browser.console == []


def test_a_mesh_has_its_own_colors_from_all_sides(browser: Browser, tmp_path: Path) -> None:
    # a wall of two triangles, one red and one blue, which are seen from behind
    (tmp_path / "a.mtl").write_text("newmtl red\nKd 1 0 0\nnewmtl blue\nKd 0 0 1\n")
    (tmp_path / "a.obj").write_text(
        "mtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 1 0 1\nv 0 0 1\nusemtl red\nf 1 3 2\nusemtl blue\nf 1 4 3\n"
    )
    m = wt.Mechanism("wall")
    shapes = [wt.elements.bodies.Shape("mesh", (2.0, -1.0, 2.0), file=str(tmp_path / "a.obj"))]
    shapes.append(wt.elements.bodies.Shape("sphere", (0.1,), wt.spatial.Placement(point=(3, 0, 1)), color="#00ff00"))
    shapes.append(wt.elements.bodies.Shape("sphere", (0.1,), wt.spatial.Placement(point=(-1, 0, 1)), collides=True))
    m.body("wall", wt.MassProperties(1.0, shapes=shapes))
    m.fixed("foot", m.ground, "wall")
    m.show(tmp_path / "wall.html", collisions=True)
    browser.open((tmp_path / "wall.html").as_uri())
    drawn(browser)
    picture = browser.picture().astype(int)
    for point, channel in (((1.4, 0, 0.6), 0), ((0.6, 0, 1.4), 2), ((3, 0, 1), 1)):
        x, y = on_screen(browser, point)
        assert int(np.argmax(picture[y, x])) == channel, point
        assert np.ptp(picture[y, x]) > 80
    x, y = on_screen(browser, (-1, 0, 1))
    assert picture[y, x, 2] > 60  # translucent orange over the light background
    assert picture[y, x, 0] - picture[y, x, 2] > 20
    assert browser.console == []


def test_arrows_are_in_front_of_bodies(browser: Browser, tmp_path: Path) -> None:
    m = wt.Mechanism("block")
    block = m.body("block", wt.box((1, 1, 1), mass=100.0))
    m.prismatic("slide", m.ground, block, axis="z")
    m.load("push", block, force=(0, 0, 3000.0))
    run = m.build().simulate(0.1, every=0.05)
    run.animate(tmp_path / "block.html", forces=True)
    browser.open(f"{(tmp_path / 'block.html').as_uri()}?frame=0")
    drawn(browser)
    x, y = on_screen(browser, (0, 0, 0.1))
    red, green, blue = browser.picture()[y, x].astype(int)
    assert green > red + 30
    assert green > blue + 30


def test_the_camera_goes_along_with_what_it_follows(browser: Browser, tmp_path: Path) -> None:
    m = wt.Mechanism("falling", gravity=(2.0, 0.0, -9.81))
    m.free("fall", m.ground, m.body("stone", wt.box((0.2, 0.3, 0.4), mass=1.0)))
    run = m.build().simulate(2.0, every=0.1)
    run.animate(tmp_path / "stone.html", follow="stone")
    spots = []
    for k in (0, 20):
        browser.open(f"{(tmp_path / 'stone.html').as_uri()}?frame={k}")
        drawn(browser)
        spots.append(on_screen(browser, run.position("stone")[k]))
        x, y = spots[-1]
        assert np.ptp(browser.picture()[y, x].astype(int)) > 30
    assert spots[0] == spots[1]
    browser.evaluate("document.getElementById('home').click()")
    drawn(browser)
    assert on_screen(browser, run.position("stone")[20]) == spots[0]
    assert browser.console == []


def test_a_live_page_follows_its_sliders_and_its_program(browser: Browser) -> None:
    s = four_bar()
    with view(s, opened=False) as live:
        browser.open(live.url)
        slider = "document.querySelector('#live input[aria-label=\"A.angle\"]')"
        browser.evaluate(f"{slider}.value = 1.45; {slider}.dispatchEvent(new Event('input'))")
        browser.wait("whippletree.live && Math.abs(whippletree.stage.tracks[0].poses[3] - 1) > 0.01")
        end = time.monotonic() + 30
        while abs(live.q[0] - 1.45) > 0.01:
            assert time.monotonic() < end
            time.sleep(0.05)
        assert np.abs(s.closure_residual(live.q)).max() < 1e-9
        for q in (live.q, s.assemble({"A": 1.1})):
            live.show(q)
            drawn(browser)
            at = "whippletree.stage.tracks[0].groups[1].children[0].matrixWorld.elements[0]"
            browser.wait(f"Math.abs({at} - {np.cos(q[0])}) < 1e-5")
        assert browser.evaluate("document.querySelectorAll('#live input').length") == 4
        assert all(url.startswith(live.url) for url in browser.requests)
        assert browser.console == []
        browser.call("Page.navigate", url="about:blank")


def test_flexible_bodies_deform(browser: Browser, tmp_path: Path) -> None:
    m = wt.Mechanism("cantilever")
    flat = wt.rectangle(width=0.1, height=0.02)
    m.fixed("clamp", m.ground, m.body("strip", wt.beam(length=1.0, section=flat, material=wt.steel, modes=1)))
    s = m.build()
    bent = 0.15 / s.jacobian(s.q0, "strip.tip")[5]
    s.show(np.stack([s.q0, s.q0 - bent]), tmp_path / "strip.html")
    for k, (low, high) in enumerate(((-0.01, 0.01), (-0.16, -0.13))):
        browser.open(f"{(tmp_path / 'strip.html').as_uri()}?frame={k}")
        drawn(browser)
        picture = browser.picture().astype(int)
        tip = s.pose(s.q0 - k * bent, "strip.tip")[:3, 3]
        assert low < tip[2] < high
        x, y = on_screen(browser, tip - [0.01, 0, 0])
        assert int(np.argmax(picture[y, x])) == 2  # blue
        elsewhere = on_screen(browser, [0.99, 0, -0.15 * (1 - k)])
        assert np.ptp(picture[elsewhere[1], elsewhere[0]]) < 30  # where the tip is at the other instant
    assert not browser.console
