"""The reference: an entry for every public name, made of the signature, the docstring and `docs/arguments.yaml`.

The walk of `tools/public_names.py` says which names are public, so that the reference follows the code. A package has a
page with its functions and values; every class has a page of its own, in the first package that exports it.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import inspect
import itertools
import re
import sys
import textwrap
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from types import FunctionType
from typing import Any

import yaml
from sphinx.application import Sphinx

from extensions import raised
from extensions.docstrings import inline, restructured
from extensions.pages import DOCS, ROOT, write

sys.path.insert(0, str(ROOT / "tools"))
import public_names
from whippletree.system import System
from whippletree.system.public_call import PublicCall, calls_of

TEXTS = yaml.safe_load((DOCS / "arguments.yaml").read_text(encoding="utf-8"))
SOURCE = ROOT / "src" / "whippletree"
_CODE = re.compile(r"`([^`]+)`")
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_QUALIFIED = re.compile(r"\b(?:numpy|np|npt|ca|os|t|typing|collections\.abc)\.")


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before anything is read."""
    app.connect("builder-inited", lambda app: write_pages(Path(app.srcdir) / "reference"))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


# ---------------------------------------------------------------------- where things are


@functools.cache
def homes() -> dict[int, str]:
    """Return the full name of each public thing by its identity."""
    found: dict[int, str] = {}
    for package in public_names.PACKAGES:
        for name, value in public_names.exports(package):
            if isinstance(value, type | FunctionType):
                found.setdefault(id(value), f"{package}.{name}")
    for name, cls in public_names.public_classes().items():
        found.setdefault(id(cls), f"{cls.__module__}.{name}")
    return found


@functools.cache
def classes() -> dict[str, str]:
    """Return the full names of the public classes by their names."""
    return {name: homes()[id(cls)] for name, cls in public_names.public_classes().items()}


@functools.cache
def functions() -> dict[str, str]:
    """Return the full names of the functions that packages export by their names."""
    exported = [each for package in public_names.PACKAGES for each in public_names.exports(package)]
    return {name: homes()[id(value)] for name, value in exported if isinstance(value, FunctionType)}


@functools.cache
def types() -> dict[str, str]:
    """Return the texts about kinds of arguments by their names: those below the aliases of the package, and ours."""
    found: dict[str, str] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        for node, below in itertools.pairwise(body):
            target = node.target if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [None])[0]
            text = getattr(below.value, "value", None) if isinstance(below, ast.Expr) else None
            if (
                isinstance(target, ast.Name)
                and target.id[:1].isupper()
                and not target.id.isupper()
                and isinstance(text, str)
            ):
                found.setdefault(target.id, " ".join(text.split()))
    named = {word for cls in public_names.public_classes().values() for word in _words_in_types(cls)}
    return {name: text for name, text in found.items() if name in named} | TEXTS["types"]


def _words_in_types(cls: type) -> Iterator[str]:
    functions = [public_names.function_behind(cls, name) for name in public_names.names_of(cls)]
    for each in (*functions, *(base for base in cls.__mro__ if base.__module__.startswith("whippletree"))):
        for annotation in inspect.get_annotations(each).values() if each is not None else ():
            yield from _WORD.findall(str(annotation))


class Links:
    """Resolves names in the docstrings of one class, or of none."""

    def __init__(self, cls: type | None = None) -> None:
        self._cls = cls

    def __call__(self, text: str) -> str | None:
        """Return the full name of what a docstring calls so, None if nothing public is."""
        name = text.removesuffix("()").removeprefix("wt.").removeprefix("whippletree.")
        owner, _, member = name.rpartition(".")
        if not owner and self._cls is not None and name in public_names.names_of(self._cls):
            return f"{homes()[id(self._cls)]}.{name}"
        if owner in classes() and member in public_names.names_of(public_names.public_classes()[owner]):
            return f"{classes()[owner]}.{member}"
        if not owner and name in types():
            return name
        return classes().get(name) or functions().get(name)


# ---------------------------------------------------------------------- pages


def write_pages(folder: Path) -> None:
    """Write all pages of the reference, and remove those of names that are gone."""
    pages = dict(_pages())
    for name, text in pages.items():
        write(folder / f"{name}.rst", text)
    for old in folder.glob("*.rst"):
        if old.stem not in pages:
            old.unlink()


def _pages() -> Iterator[tuple[str, str]]:
    packages, others = public_names.PACKAGES, []
    for package in packages:
        yield package, _package_page(package)
    for name, cls in sorted(public_names.public_classes().items()):
        yield f"class.{name}", class_page(name, cls)
        if homes()[id(cls)].rpartition(".")[0] not in packages:
            others.append(name)
    yield "types", _types_page()
    yield "others", _others_page(others)
    yield "index", _index_page()


def _index_page() -> str:
    rows = [
        (f":doc:`{package}`", _first(importlib.import_module(package), Links())) for package in public_names.PACKAGES
    ]
    rows += [(":doc:`types`", "Kinds of arguments: an array, a place, an axis, an expression.")]
    rows += [(":doc:`others`", "Classes that users meet only as the results and fields of others.")]
    introduction = (
        "Every public name, with its arguments, units, shapes, results, errors and an example. Most programs begin\n"
        "with ``import whippletree as wt`` and need :doc:`class.Mechanism`, :doc:`class.System` and\n"
        ":doc:`class.Trajectory`. Units are SI, angles are in radians."
    )
    tree = _toctree([*public_names.PACKAGES, "types", "others"])
    return f"{_title('Reference')}\n\n{introduction}\n\n{_table(rows)}\n\n{tree}\n"


def _package_page(package: str) -> str:
    module, exported = importlib.import_module(package), sorted(public_names.exports(package), key=lambda each: each[0])
    rows, entries, pages = [], [], []
    for name, value in exported:
        home = homes().get(id(value), f"{package}.{name}")
        rows.append((f":py:obj:`{_escaped(name)} <{home}>`", _first(value, Links())))
        if isinstance(value, type):
            pages += [f"class.{name}"] if home == f"{package}.{name}" else []
        elif home == f"{package}.{name}":
            entries.append(function_entry(home, value) if isinstance(value, FunctionType) else _value(home, value))
    anchors = "\n".join(
        f".. py:data:: {package}.{name}\n   :no-typesetting:\n"
        for name, value in exported
        if homes().get(id(value), f"{package}.{name}") != f"{package}.{name}"
    )
    text = restructured(inspect.getdoc(module) or "", Links())
    body = "\n\n".join(entries)
    tree = _toctree(pages, hidden=True)
    return f"{_title(package)}\n\n{text}\n\n{anchors}\n\n{_table(rows)}\n\n{body}\n\n{tree}\n"


def _others_page(names: list[str]) -> str:
    rows = [
        (f":py:obj:`{name} <{classes()[name]}>`", _first(public_names.public_classes()[name], Links()))
        for name in names
    ]
    text = "No package exports these classes: objects of them are what calls return, or attributes of others."
    tree = _toctree([f"class.{name}" for name in names], hidden=True)
    return f"{_title('Classes behind the calls')}\n\n{text}\n\n{_table(rows)}\n\n{tree}\n"


def _types_page() -> str:
    entries = [f".. py:data:: {name}\n\n   {inline(text, Links())}" for name, text in sorted(types().items())]
    return f"{_title('Kinds of arguments')}\n\n" + "\n\n".join(entries) + "\n"


def _value(full: str, value: object) -> str:
    return f".. py:data:: {full}\n   :type: {type(value).__name__}\n\n   {inline(_written(value), Links())}"


def _written(value: object) -> str:
    text = " ".join(repr(value).split())
    return f"`{text if len(text) < 300 else text[:300] + ' ...'}`"


# ---------------------------------------------------------------------- classes


def class_page(name: str, cls: type) -> str:
    """Return the page of a class: how it is made, its attributes, its methods."""
    full, links = homes()[id(cls)], Links(cls)
    signature = _signature(cls)
    bases = [base.__name__ for base in cls.__bases__ if base is not object and base.__name__[0] != "_"]
    parts = [restructured(inspect.getdoc(cls) or "", links)]
    if bases:
        parts.append("Bases: " + ", ".join(inline(f"`{base}`", links) for base in bases) + ".")
    if signature is not None:
        parts.append(_fields(_parameters(signature, f"{name}.__init__", cls, links)))
    members = sorted(public_names.names_of(cls))
    called = [each for each in members if _is_called(cls, each)]
    for kind, some in (("Attributes", [each for each in members if each not in called]), ("Methods", called)):
        if some:
            parts.append(f".. rubric:: {kind}")
            parts += [member_entry(cls, each, links) for each in some]
    shown = _shown(signature) if signature is not None else ""
    body = textwrap.indent("\n\n".join(part for part in parts if part), "   ")
    return f"{_title(name)}\n\n.. py:class:: {full}{shown}\n\n{body}\n"


def _is_called(cls: type, name: str) -> bool:
    member = inspect.getattr_static(cls, name, None)
    return not isinstance(member, property | functools.cached_property) and callable(getattr(cls, name, None))


def member_entry(cls: type, name: str, links: Links) -> str:
    """Return the entry of an attribute or a method."""
    full, function = f"{homes()[id(cls)]}.{name}", public_names.function_behind(cls, name)
    if _is_called(cls, name) and function is not None:
        return _callable("py:method", full, getattr(cls, name), function, cls, links, _kind(cls, name))
    if function is not None:
        head = f".. py:property:: {full}\n\n"
        text = restructured(inspect.getdoc(function) or "", links)
        kind = _type(str(function.__annotations__.get("return", "")), links)
        return head + textwrap.indent(f"{text}\n\n{_fields([('returns', kind)] if kind else [])}", "   ")
    text = _attribute_text(cls, name)
    kind = next(
        (str(inspect.get_annotations(base)[name]) for base in cls.__mro__ if name in inspect.get_annotations(base)), ""
    )
    said = inline(text, links) if text else ""
    typed = f"Type: {_type(kind, links)}." if kind else ""
    return f".. py:attribute:: {full}\n\n" + textwrap.indent("\n\n".join(each for each in (said, typed) if each), "   ")


def _kind(cls: type, name: str) -> str:
    member = inspect.getattr_static(cls, name, None)
    return {classmethod: "classmethod", staticmethod: "staticmethod"}.get(type(member), "")


def _attribute_text(cls: type, name: str) -> str:
    """Return the documentation of an attribute: the text below it in its class, or its entry in `arguments.yaml`."""
    for base in cls.__mro__:
        found = _texts_below(base).get(name)
        if found:
            return found
    quantity = _unit(cls, name)
    said = _argument_text(cls.__name__, name) or ""
    return f"{said}{'; ' if said and quantity else ''}{quantity}"


def _unit(cls: type, name: str) -> str:
    """Return the unit of a field of an element, as its class declares it."""
    if not dataclasses.is_dataclass(cls):
        return ""
    metadata = next((each.metadata for each in dataclasses.fields(cls) if each.name == name), {})
    unit = getattr(metadata.get("whippletree"), "unit", "")
    return f"in {unit}" if unit else ""


@functools.cache
def _texts_below(cls: type) -> dict[str, str]:
    """Return the strings that stand below the attributes of a class, by the attributes' names."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    except (OSError, TypeError):
        return {}
    found, body = {}, getattr(tree.body[0], "body", [])
    for node, below in itertools.pairwise(body):
        named = node.target if isinstance(node, ast.AnnAssign) else None
        text = below.value if isinstance(below, ast.Expr) else None
        if isinstance(named, ast.Name) and isinstance(text, ast.Constant) and isinstance(text.value, str):
            found[named.id] = inspect.cleandoc(text.value)
    return found


# ---------------------------------------------------------------------- calls


def function_entry(full: str, function: FunctionType) -> str:
    """Return the entry of a function that a package exports."""
    return _callable("py:function", full, function, function, None, Links(), "")


def _callable(
    directive: str, full: str, value: Any, function: FunctionType, cls: type | None, links: Links, kind: str
) -> str:
    signature = _signature(value, bound=cls is not None and kind == "")
    name = full.rpartition(".")[2]
    owner = cls.__name__ if cls is not None else ""
    text = restructured(inspect.getdoc(value) or inspect.getdoc(function) or "", links)
    fields = _parameters(signature, f"{owner}.{name}" if owner else name, cls, links) if signature is not None else []
    row = calls_of(System).get(name) if cls is System else None
    returned = str(function.__annotations__.get("return", ""))
    if returned not in ("", "None"):
        fields.append(("returns", _type(returned, links) + (_quantity(row) if row is not None else "")))
    errors = [*raised.by(function), *(one.__name__ for one in (row.raises if row is not None else ()))]
    fields += [("raises " + error, "") for error in dict.fromkeys(errors)]
    if ">>>" not in text:
        text += (
            f"\n\nSee the example of :py:class:`{owner} <{homes()[id(cls)]}>`."
            if cls is not None and _shows_example(cls)
            else ""
        )
    option = f"\n   :{kind}:" if kind else ""
    body = textwrap.indent(f"{text}\n\n{_fields(fields)}", "   ")
    return f".. {directive}:: {full}{_shown(signature) if signature is not None else '()'}{option}\n\n{body}"


def _quantity(row: PublicCall) -> str:
    """Return shape and unit of a call's result for one state, as the table of calls has them."""
    sizes = ", ".join(map(str, row.shape)) + ("," if len(row.shape) == 1 else "")
    return (f", ({sizes}) for one state" if sizes else "") + (f", in {row.unit}" if row.unit else "")


def _shows_example(cls: type) -> bool:
    return ">>>" in (cls.__doc__ or "")


def _signature(value: Any, *, bound: bool = False) -> inspect.Signature | None:
    if isinstance(value, type) and issubclass(value, Enum):
        return None
    try:
        signature = inspect.signature(value)
    except (ValueError, TypeError):
        return None
    parameters = list(signature.parameters.values())
    if bound and parameters and parameters[0].name in ("self", "system", "mechanism", "run", "cls"):
        parameters = parameters[1:]
    return signature.replace(parameters=[each for each in parameters if not each.name.startswith("_")])


def _shown(signature: inspect.Signature) -> str:
    """Return a signature without the types, which stand with the arguments."""
    plain = [each.replace(annotation=inspect.Parameter.empty) for each in signature.parameters.values()]
    return str(
        inspect.Signature(
            [each.replace(default=_Written(each.default)) if _has_default(each) else each for each in plain]
        )
    )


def _has_default(parameter: inspect.Parameter) -> bool:
    return parameter.default is not inspect.Parameter.empty


class _Written:
    """A default as it is shown: short, and without addresses in memory."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __repr__(self) -> str:
        text = repr(self._value)
        return "..." if len(text) > 40 or "<" in text else text


def _parameters(signature: inspect.Signature, called: str, cls: type | None, links: Links) -> list[tuple[str, str]]:
    """Return a field for each argument: what it means, its type, its default."""
    found = []
    for each in signature.parameters.values():
        kind = _type(_annotation(each), links)
        default = f"default ``{_Written(each.default)!r}``" if _has_default(each) else ""
        said = argument_text(called, each.name, cls)
        star = {each.VAR_POSITIONAL: r"\*", each.VAR_KEYWORD: r"\*\*"}.get(each.kind, "")
        tail = ", ".join(one for one in (kind, default) if one)
        text = " ".join(one for one in (inline(_sentence(said), links), f"({tail})" if tail else "") if one)
        found.append((f"param {star}{each.name}", text))
    return found


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}" if text else ""


def argument_text(called: str, name: str, cls: type | None) -> str:
    """Return what an argument means: by the text below a field, the declared unit, or `docs/arguments.yaml`."""
    if called.endswith(".__init__") and cls is not None:
        return _attribute_text(cls, name)
    return _argument_text(called, name) or ""


def _argument_text(called: str, name: str) -> str | None:
    """Return the text of the most particular entry: "Class.method.name", "method.name", "Class.name", "name"."""
    arguments: dict[str, str] = TEXTS["arguments"]
    called = called.removesuffix(".__init__")
    owner, _, function = called.rpartition(".")
    keys = (f"{called}.{name}", f"{function}.{name}", f"{owner}.{name}", name)
    return next((arguments[key] for key in keys if key in arguments), None)


def _annotation(parameter: inspect.Parameter) -> str:
    annotation = parameter.annotation
    if annotation is inspect.Parameter.empty:
        return ""
    return getattr(annotation, "__forward_arg__", None) or (
        annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    )


def _type(text: str, links: Links) -> str:
    """Return a type with links to the public classes and kinds of arguments in it."""
    text = _QUALIFIED.sub("", re.sub(r"ForwardRef\('([^']*)'\)", r"\1", text)).strip("'\"")
    pieces, at = [], 0
    for word in _WORD.finditer(text):
        full = links(word[0]) if word[0] in classes() or word[0] in types() else None
        if full:
            pieces += [text[at : word.start()], f":py:obj:`{word[0]} <{full}>`"]
            at = word.end()
    pieces.append(text[at:])
    return r"\ ".join(_literal(piece) for piece in pieces if piece)


def _literal(piece: str) -> str:
    if piece.startswith(":py:obj:"):
        return piece
    bare = piece.strip()
    before, after = piece[: len(piece) - len(piece.lstrip())], piece[len(piece.rstrip()) :]
    return f"{before}``{bare}``{after}" if bare else piece


def _fields(fields: list[tuple[str, str]]) -> str:
    return "\n".join(f":{name}: {text}".rstrip() for name, text in fields)


def undescribed() -> Iterator[str]:
    """Yield the arguments of what packages export that neither their docstring nor `arguments.yaml` describes."""
    for package in public_names.PACKAGES:
        for name, value in public_names.exports(package):
            calls: list[tuple[str, Any, type | None]] = []
            if isinstance(value, FunctionType):
                calls = [(name, value, None)]
            elif isinstance(value, type) and not issubclass(value, Enum):
                called = [each for each in sorted(public_names.names_of(value)) if _is_called(value, each)]
                calls = [(f"{name}.__init__", value, value)]
                calls += [(f"{name}.{each}", getattr(value, each), value) for each in called]
            for entry, call, cls in calls:
                signature = _signature(call, bound=cls is not None and not isinstance(call, type))
                said = " ".join(_CODE.findall(inspect.getdoc(call) or ""))
                for each in signature.parameters if signature is not None else ():
                    told = argument_text(entry, each, cls) or re.search(rf"\b{each}\b", said)
                    if each not in ("self", "cls", "args", "kwargs") and not told:
                        yield f"{entry}({each})"


# ---------------------------------------------------------------------- pieces of pages


def _first(value: object, links: Links) -> str:
    """Return the first sentence about a thing."""
    if not isinstance(value, type | FunctionType) and not inspect.ismodule(value):
        return inline(_written(value), links)
    paragraph = (inspect.getdoc(value) or "").partition("\n\n")[0]
    return inline(" ".join(paragraph.split()).removesuffix("::"), links)


def _title(text: str) -> str:
    return f"{_escaped(text)}\n{'=' * (len(text) + 4)}"


def _escaped(text: str) -> str:
    return text.replace("_", r"\_")


def _table(rows: list[tuple[str, str]]) -> str:
    lines = [f"   * - {first}\n     - {second}" for first, second in rows]
    return ".. list-table::\n   :widths: 25 75\n   :class: names\n\n" + "\n".join(lines)


def _toctree(pages: list[str], *, hidden: bool = False) -> str:
    if not pages:
        return ""
    lines = "\n".join(
        f"   {page.removeprefix('class.')} <{page}>" if page.startswith("class.") else f"   {page}" for page in pages
    )
    return f".. toctree::\n   :hidden:\n   :maxdepth: 1\n\n{lines}"
