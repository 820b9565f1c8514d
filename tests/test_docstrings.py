"""The small examples in docstrings give what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import whippletree

MODULES = sorted(module.name for module in pkgutil.walk_packages(whippletree.__path__, "whippletree."))


@pytest.mark.parametrize("name", ["whippletree", *MODULES])
def test_examples_in_docstrings(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
