"""Write the methods of `Mechanism` for element types, and their page of the documentation: ``make elements``.

Both follow from the declarations in `whippletree.elements`: every type with a word that `joints`, `closures` or
`forces` exports. `tests/model/test_element_methods.py` fails when the files are older than the declarations. What is
written is as the formatter would leave it.
"""

from __future__ import annotations

import inspect
import json
import re
import textwrap
from collections.abc import Iterable, Iterator
from inspect import Parameter
from pathlib import Path
from typing import Any

from whippletree.elements.declaration import Quantity, quantities
from whippletree.elements.signatures import FAMILIES, MEANINGS, family_of, kinds_of, placing, signature_of, word_of

ROOT = Path(__file__).resolve().parents[1]
METHODS = ROOT / "src/whippletree/model/element_methods.py"
PAGE = ROOT / "docs/how_to/elements.md"

IMPORTS = {
    "whippletree.elements.forces": ("ExpressionLike", "ExpressionVector", "Law"),
    "whippletree.foundation.user_frames": ("user_facing",),
    "whippletree.model.any_element": ("AnyElement",),
    "whippletree.model.element_registry": ("BodyLike", "CoordinateLike", "JointLike", "PlaceLike"),
    "whippletree.model.handles": ("ClosureHandle", "ForceHandle", "JointHandle"),
    "whippletree.model.joint_frames": ("PointLike", "PoseLike"),
    "whippletree.spatial.orientation": ("AxisLike",),
    "whippletree.spatial.scalars": ("Scalar", "SquareLike", "VectorLike"),
}
"""Where the names come from that types of arguments hold."""

HEAD = '''"""The methods of a mechanism for single element types, generated from the declarations by `make elements`."""

# ruff: noqa: E501

from __future__ import annotations

from collections.abc import Sequence

{imports}

__all__ = ["ElementMethods"]


'''

CLASS = '''@user_facing
class ElementMethods(AnyElement):
    """What a mechanism can be told about joints, closures and forces of single types.

    >>> from whippletree.model import Mechanism
    >>> m = Mechanism("m")
    >>> m.revolute("hinge", m.ground, m.body("arm")).name
    'hinge'
    """

'''


def all_kinds() -> list[Any]:
    return [kind for family in FAMILIES for kind in kinds_of(family).values()]


def source(kinds: Iterable[Any]) -> str:
    """Return the text of the module with the methods."""
    text = CLASS + "\n\n".join(textwrap.indent(method(kind), "    ") for kind in kinds) + "\n"
    used = {module: [one for one in names if re.search(rf"\b{one}\b", text)] for module, names in IMPORTS.items()}
    imports = [f"from {module} import {', '.join(names)}" for module, names in used.items() if names]
    return HEAD.format(imports="\n".join(imports)) + text


def method(kind: Any) -> str:
    """Return the text of a type's method."""
    handle, parameters = f"{FAMILIES[family_of(kind)].title()}Handle", [*signature_of(kind).parameters.values()]
    on = [each for each in parameters if each.kind is Parameter.POSITIONAL_OR_KEYWORD]
    keys = [each for each in parameters if each not in on]
    given = ["self", *map(_written, on), *(["*"] if keys else []), *map(_written, keys)]
    passed = [handle, f'"{word_of(kind)}"', *(each.name for each in on), *(f"{each.name}={each.name}" for each in keys)]
    body = f'"""{described(kind)}\n"""\nreturn self._described({_lines(passed)})'
    return f"def {word_of(kind)}({_lines(given)}) -> {handle}:\n" + textwrap.indent(body, "    ")


def _lines(parts: list[str]) -> str:
    return "\n" + "".join(f"    {part},\n" if part != "*" else "    *,\n" for part in parts)


def _written(each: Parameter) -> str:
    """Return a parameter as it stands in source text."""
    default = json.dumps(each.default) if isinstance(each.default, str) else repr(each.default)
    return f"{each.name}: {each.annotation}" + ("" if each.default is Parameter.empty else f" = {default}")


def described(kind: Any) -> str:
    """Return the documentation of a type's method: that of the type, and of its arguments what the fields say."""
    before, mark, example = inspect.cleandoc(kind.__doc__ or "").partition("\n>>> ")
    lines = "".join(f"\n    {line}" for line in meanings(kind))
    arguments = f"\n\nArguments:{lines}\n" if lines else "\n"
    return f"{before.rstrip()}{arguments}{mark}{example}".rstrip()


def meanings(kind: Any, mark: str = "") -> Iterator[str]:
    """Yield a line for each argument by keyword of which the declaration says something."""
    numbers, where = quantities(kind), placing(kind)
    for each in signature_of(kind).parameters.values():
        own = about(numbers[each.name]) if each.name in numbers else ""
        meaning = MEANINGS.get(each.name, "") if each.name in where else own
        if meaning and each.kind is Parameter.KEYWORD_ONLY:
            yield f"{mark}{each.name}{mark}: {meaning}"


def about(what: Quantity) -> str:
    """Return a number's unit and what it may be, in words."""
    words = [f"in {what.unit}"] if what.unit else []
    words += [what.sign] if what.sign else []
    words += [f"as `{what.like}` unless given"] if what.like else []
    words += ["a direction: an axis by name, or three numbers"] if what.direction else []
    words += [f"{what.square} numbers, or a symmetric {what.square} x {what.square} matrix"] if what.square else []
    return ", ".join(words) + (f" ({what.why})" if what.why else "")


# ------------------------------------------------------------------------------------------------ the page


PAGE_HEAD = """# Joints, closures and forces

Each has a method on `Mechanism`, and stands in a [model file](model_files.md) under the same word, with the same
arguments as keys. This page is generated from the declarations (`make elements`).
"""


def page(kinds: Iterable[Any]) -> str:
    """Return the page of the documentation."""
    parts, family = [PAGE_HEAD], ""
    for kind in kinds:
        if family_of(kind) != family:
            family = family_of(kind)
            parts.append(f"## {family.title()}\n")
        parts.append(section(kind))
    return "\n".join(parts)


def section(kind: Any) -> str:
    """Return what the page says about a type."""
    _, *parameters = signature_of(kind).parameters.values()
    on = [each.name for each in parameters if each.kind is Parameter.POSITIONAL_OR_KEYWORD]
    keys = [each for each in parameters if each.name not in on]
    needed = "".join(f", {each.name}: ..." for each in keys if each.default is Parameter.empty)
    others = ", ".join(f"`{each.name}`" for each in keys if each.default is not Parameter.empty)
    before, _, example = inspect.cleandoc(kind.__doc__ or "").partition("\n>>> ")
    code = [line[4:].removesuffix(".name") for line in f">>> {example}".splitlines() if line.startswith((">>>", "..."))]
    code = [one for line in code for one in ((line, "") if line.startswith(("import ", "from ")) else (line,))]
    head = f"[{', '.join(on)}]" if len(on) > 1 else on[0]
    lines = [f"### `{word_of(kind)}`", "", before.strip(), ""]
    lines += ["```", f"name: {{{word_of(kind)}: {head}{needed}}}", "```", ""]
    lines += [f"Other keys: {others}.", ""] if others else []
    return "\n".join([*lines, *(f"- {line}" for line in meanings(kind, "`")), "", "```python", *code, "```", ""])


def main() -> None:
    METHODS.write_text(source(all_kinds()), encoding="utf-8")
    PAGE.write_text(page(all_kinds()), encoding="utf-8")


if __name__ == "__main__":
    main()
