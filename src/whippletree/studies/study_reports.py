"""A page about a study: its settings, its results, pictures, the worst cases and how to run one again."""

from __future__ import annotations

import base64
import io
import os
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from whippletree.foundation.notebook_html import html_section, html_table
from whippletree.results.output_files import new_file, write_whole
from whippletree.results.plot_files import new_figure
from whippletree.studies.study_looks import histogram, numeric_outputs, worst

if TYPE_CHECKING:
    from whippletree.studies.study import Study

__all__ = ["report"]

_QUANTITIES, _FAILURES, _WORST = 12, 20, 5
"""Largest numbers of diagrams, failed cases and worst cases on the page."""

_STYLE = """body { font-family: sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; margin: 0.5em 0; } td, th { padding: 0.2em 0.8em; text-align: left; }
tr:nth-child(even) { background: #f3f3f3; } img { max-width: 100%; }"""


def report(study: Study, path: str | os.PathLike[str]) -> Path:
    """Write a page in HTML about the results, with pictures in it, and return where it is."""
    place, quantities = new_file(path), numeric_outputs(study)[:_QUANTITIES]
    parts = [_about(study), _numbers(study, quantities), _failures(study)]
    parts += [_quantity(study, name) for name in quantities]
    page = (
        f"<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><title>{escape(repr(study))}</title>"
        f"<style>{_STYLE}</style></head><body><h1>{escape(repr(study))}</h1>{''.join(parts)}</body></html>\n"
    )
    return write_whole(place, lambda file: _all_of(file, page))


def _all_of(file: Any, page: str) -> None:
    file.write(page.encode("utf-8"))


def _about(study: Study) -> str:
    identity = study.dataset().attrs.get("identity", {})
    rows = [
        ("cases", ", ".join(f"{dim}: {size}" for dim, size in study.cases.sizes.items())),
        ("variables", ", ".join(str(name) for name in study.cases.variables)),
        ("status", str(study.status())),
        ("store", study.store or "in memory"),
        *((key, str(identity.get(key, ""))) for key in ("version", "host", "processor", "seed")),
        ("one again", "study.case(17).simulate(), or study.case(17).run() for its numbers"),
    ]
    return html_section("The study", html_table(rows))


def _numbers(study: Study, quantities: list[str]) -> str:
    """Return a table of means, deviations and quantiles."""
    data, rows = study.dataset(), []
    for name in quantities:
        values = np.asarray(data[name].values, dtype=float).ravel()
        known = values[np.isfinite(values)]
        if known.size:
            shares = np.quantile(known, (0.0, 0.05, 0.5, 0.95, 1.0))
            rows.append(
                (name, data[name].attrs.get("units", ""), *(f"{x:.5g}" for x in (known.mean(), known.std(), *shares)))
            )
    head = ("quantity", "unit", "mean", "deviation", "least", "5 %", "median", "95 %", "most")
    return html_section("Results", html_table(rows, head)) if rows else ""


def _failures(study: Study) -> str:
    failures = study.failures()
    if not failures:
        return ""
    rows = [(str(one.index), one.words, _values(one.values)) for one in failures[:_FAILURES]]
    more = f" (the first {_FAILURES} of {len(failures)})" if len(failures) > _FAILURES else ""
    return html_section(f"Cases that failed{more}", html_table(rows, ("case", "why", "values")))


def _quantity(study: Study, name: str) -> str:
    """Return a histogram of a quantity, and the cases in which it is largest and least."""
    data = study.dataset()[name]
    values = np.asarray(data.values, dtype=float).ravel()
    if not np.isfinite(values).any():
        return ""
    figure = new_figure((6.4, 2.6), Path("histogram.png"))
    histogram(figure.subplots(), values, None, f"{name} [{data.attrs.get('units', '1')}]")
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=110)
    encoded = base64.b64encode(image.getvalue()).decode()
    picture = f"<img alt='histogram of {escape(name)}' src='data:image/png;base64,{encoded}'>"
    rows = [
        (word, f"study.case({one.case})", f"{one.value:.6g}", _values(one.values))
        for word, least in (("largest", False), ("least", True))
        for one in worst(study, name, _WORST, least=least)
    ]
    return html_section(name, picture, html_table(rows, ("", "case", name, "values")))


def _values(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {np.array2string(np.asarray(value), precision=5)}" for name, value in values.items())
