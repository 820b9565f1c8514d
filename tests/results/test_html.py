"""What notebooks show: well-formed tables that say what the text says, with names made harmless."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

import whippletree as wt
from results.runs import four_bar, pendulum
from whippletree.results import Certificate

VOID = {"br"}


class Checked(HTMLParser):
    """Reads HTML, refuses tags that do not match, and keeps the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: object) -> None:
        assert tag in {"div", "b", "table", "thead", "tbody", "tr", "th", "td", "ul", "li"}
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def text_of(shown: object) -> list[str]:
    return Checked(shown._repr_html_()).text  # type: ignore[attr-defined]


def test_a_system() -> None:
    s = four_bar().system
    assert s is not None
    text = text_of(s)
    assert text[0] == 'System "four-bar"'
    assert {"crank", "coupler", "rocker", "revolute", "A", "D"} <= set(text)
    assert text[text.index("mobility") + 1] == "1"


def test_a_plan_and_its_loops() -> None:
    s = four_bar().system
    assert s is not None
    text = text_of(s.plan)
    assert text[0].startswith("Plan: 3 bodies in a tree of depth 2")
    assert "A, B, C, D" in text


def test_mobility() -> None:
    s = four_bar().system
    assert s is not None
    text = text_of(s.mobility)
    assert text[text.index("Gruebler's count") + 1] == "-2"
    assert all(str(one) in text for one in s.mobility.redundant)


@pytest.mark.parametrize("make", [four_bar, pendulum])
def test_a_run(make) -> None:  # type: ignore[no-untyped-def]
    run = make()
    text = text_of(run)
    assert text[0] == repr(run)
    assert run.certificate.summary in text
    k = text.index("A.angle")
    assert [float(x) for x in text[k + 2 : k + 6]] == pytest.approx(
        [run["A"][0], run["A"][-1], run["A"].min(), run["A"].max()], rel=1e-5
    )


def test_a_certificate() -> None:
    good, bad = four_bar().certify(), Certificate()
    assert text_of(good)[0].startswith("Certificate: ok")
    text = text_of(bad)
    assert text[0].startswith("Certificate: NOT ok")
    assert all(f"! {problem}" in text for problem in bad.problems)
    assert all(f"? {one}" in text for one in bad.unchecked)


def test_names_are_made_harmless_and_long_tables_abridged() -> None:
    m = wt.Mechanism("<script>")
    before = m.ground
    for i in range(80):
        body = m.body(f"<b>{i}", wt.rod(1.0, 1.0))
        m.revolute(f"&{i}", before, body, axis="y")
        before = body
    s = m.build()
    assert "<script>" not in s._repr_html_() + s.plan._repr_html_()
    text = text_of(s)
    assert text[0] == 'System "<script>"'
    assert "&0" in text and "&79" not in text and "and 20 more" in text
