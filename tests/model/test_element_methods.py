"""The methods of `Mechanism` and their page follow from the declarations of elements, and are not older than these."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import element_methods
import whippletree as wt


@pytest.mark.parametrize(
    ("file", "text"),
    [(element_methods.METHODS, element_methods.source), (element_methods.PAGE, element_methods.page)],
    ids=["methods", "page"],
)
def test_what_is_generated_is_not_stale(file: Any, text: Any) -> None:
    assert file.read_text(encoding="utf-8") == text(element_methods.all_kinds()), f"{file.name} is stale: make elements"


@pytest.mark.parametrize("kind", element_methods.all_kinds(), ids=element_methods.word_of)
def test_a_method_has_types_and_documentation(kind: Any) -> None:
    method = getattr(wt.Mechanism, element_methods.word_of(kind))
    signature = inspect.signature(method)
    assert all(each.annotation is not each.empty for name, each in signature.parameters.items() if name != "self")
    assert signature.return_annotation.endswith("Handle")
    assert method.__doc__.splitlines()[0] == kind.__doc__.splitlines()[0]
    for name, what in element_methods.quantities(kind).items():
        if name in signature.parameters and what.unit:
            assert f"{name}: in {what.unit}" in method.__doc__
