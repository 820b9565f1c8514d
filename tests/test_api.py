"""The list of public names is that of the package, and the package lists nothing twice."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path

import public_names

LIST = Path(__file__).parents[1] / "docs" / "api.txt"


def test_docs_api_txt_lists_the_public_names() -> None:
    """After a public name has come, gone or changed its first line of documentation: `make api`."""
    written = LIST.read_text(encoding="utf-8").splitlines()
    apart = [(old, new) for old, new in zip_longest(written, public_names.listing()) if old != new]
    assert apart[:5] == [], "docs/api.txt is stale: make api"
