"""HTML tables for notebooks, of systems, plans, mobility, runs and certificates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["html_list", "html_section", "html_table"]

_ROWS = 60
"""Longer tables and lists are abridged."""


def html_table(rows: Iterable[Sequence[object]], head: Sequence[str] = ()) -> str:
    """Return a table; without a head, the first column has the names of the rows.

    >>> html_table([("mobility", 1)])
    '<table><tbody><tr><th style="text-align:left">mobility</th><td style="text-align:left">1</td></tr></tbody></table>'
    """
    listed = [tuple(row) for row in rows]
    lines = [_row(row, named=not head) for row in listed[:_ROWS]]
    if len(listed) > _ROWS:
        lines.append(_row(("...", f"and {len(listed) - _ROWS} more"), named=not head))
    top = f"<thead><tr>{''.join(_cell('th', name) for name in head)}</tr></thead>" if head else ""
    return f"<table>{top}<tbody>{''.join(lines)}</tbody></table>"


def html_list(lines: Iterable[object]) -> str:
    """Return lines as a list, nothing if there are none.

    >>> html_list(["a < b"])
    '<ul><li>a &lt; b</li></ul>'
    """
    listed = [str(line) for line in lines]
    more = [f"... and {len(listed) - _ROWS} more"] if len(listed) > _ROWS else []
    items = "".join(f"<li>{escape(line)}</li>" for line in [*listed[:_ROWS], *more])
    return f"<ul>{items}</ul>" if items else ""


def html_section(title: str, *parts: str) -> str:
    """Return parts, which are HTML already, under a title.

    >>> html_section("Certificate", html_list(["ok"]))
    '<div><b>Certificate</b><ul><li>ok</li></ul></div>'
    """
    return f"<div><b>{escape(title)}</b>{''.join(parts)}</div>"


def _row(cells: Sequence[object], *, named: bool) -> str:
    return f"<tr>{''.join(_cell('th' if named and not k else 'td', cell) for k, cell in enumerate(cells))}</tr>"


def _cell(tag: str, content: object) -> str:
    return f'<{tag} style="text-align:left">{escape(str(content))}</{tag}>'


def escape(text: str) -> str:
    """Return text as HTML shows it.

    >>> escape("a < b")
    'a &lt; b'
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
