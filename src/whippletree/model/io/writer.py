"""Writing a mechanism as a model file that reads back as the same mechanism, number by number."""

from __future__ import annotations

import io
import os
import re
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from whippletree.errors import FileError, WhippletreeError
from whippletree.foundation.output_paths import checked_path, obstacle
from whippletree.foundation.whole_files import replace_file
from whippletree.model.description import Description
from whippletree.model.io.flexible_forms import content_name
from whippletree.model.io.model_file import Model
from whippletree.model.io.reader import from_file, from_text
from whippletree.model.io.sections import Sections
from whippletree.model.mechanism import Mechanism
from whippletree.spatial.scalars import shown

__all__ = ["to_file", "to_text"]


def to_file(model: Model | Mechanism, path: str | os.PathLike[str], text: str | None = None) -> None:
    """Write a model or a mechanism as a file, whole or not at all; `text` replaces the YAML."""
    try:
        named = checked_path(path)
        what = obstacle(named)
    except (TypeError, ValueError) as error:
        raise FileError(f"{shown(path)}: the file cannot be written: {error}") from None
    if what:
        raise FileError(
            f"{path!s}: the file cannot be written: this is {what}, which a file must not take the place of"
        )
    try:
        whole, beside = (text, {}) if text is not None else _written(model, named.stem)
        archives = {named.resolve().with_name(name): data for name, data in beside.items()}
        for place in filter(obstacle, archives):
            raise FileError(f"{place!s}: the file cannot be written: this is {obstacle(place)}")
        for place, data in archives.items():  # these first: the model that is there does not name them
            replace_file(place, partial(_put, data))
        replace_file(named, partial(_put, whole.encode()))
        _remove_superseded(named.resolve(), beside)
    except WhippletreeError:
        raise
    except (OSError, ValueError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or error
        raise FileError(f"{path!s}: the file cannot be written: {why}") from None


def _put(data: bytes, file: BinaryIO) -> None:
    file.write(data)


def _remove_superseded(model: Path, beside: Mapping[str, bytes]) -> None:
    """Remove archives of the model's earlier versions, which no model file in the folder names any more."""
    form = re.compile(re.escape(model.stem) + r"\.[0-9A-Za-z_-]+\.([0-9a-f]{12})\.npz")
    matched = ((place, form.fullmatch(place.name)) for place in model.parent.glob("*.npz") if place.name not in beside)
    old = [(place, found[1]) for place, found in matched if found]
    named = [file.read_bytes() for file in model.parent.iterdir() if file.suffix in (".yaml", ".yml")] if old else []
    for place, digest in old:
        if not any(place.name.encode() in text for text in named) and content_name(place.read_bytes()) == digest:
            place.unlink(missing_ok=True)


def to_text(model: Model | Mechanism) -> str:
    """Return the text of a file that reads back as the same mechanism.

    >>> to_text(Mechanism("empty")).splitlines()[1]
    'name: empty'
    """
    text, _ = _written(model, "")
    return text


def _written(model: Model | Mechanism, stem: str) -> tuple[str, dict[str, bytes]]:
    """Return the text of a file, and the contents of the files beside it, whose names begin with the stem."""
    whole = model if isinstance(model, Model) else Model(model)
    if not isinstance(whole.mechanism, Mechanism):
        raise FileError(f"give a mechanism, or what was read from a file; got {shown(model)}")
    description = whole.mechanism.describe()
    sections = Sections(description, stem)
    text = _dumped(sections.tree(whole))
    _check(description, text, sections.beside)
    return text, sections.beside


def _check(description: Description, text: str, beside: Mapping[str, bytes]) -> None:
    """Check that the written text is read back as the description that it was made from."""
    what = f'mechanism "{description.name}" cannot be written as a file'
    try:
        again = (_read_beside(text, beside) if beside else from_text(text)).mechanism.describe()
    except FileError as error:
        raise FileError(f"{what}: it would not be read back ({error})") from error
    if again != description:
        raise FileError(f"{what}: {_difference(description, again)} would not be read back as it is")


def _read_beside(text: str, beside: Mapping[str, bytes]) -> Model:
    with tempfile.TemporaryDirectory(prefix="whippletree-") as folder:
        for name, data in {**beside, "model.yaml": text.encode()}.items():
            (Path(folder) / name).write_bytes(data)
        return from_file(Path(folder) / "model.yaml")


def _difference(a: Description, b: Description) -> str:
    """Return the difference between two descriptions."""
    pairs = zip(a.outline(), b.outline(), strict=True)
    kinds = ("the name", "a body", "a joint", "a closure", "a frame", "a parameter", "a force", "a state", "an event")
    for kind, (one, other) in zip(kinds, pairs, strict=True):
        if one != other:
            names = [x[0] for x, y in zip(one, other, strict=False) if x != y and isinstance(x, tuple)]
            return f'{kind}, "{names[0]}",' if names else kind
    return "a number"


def _dumped(tree: Mapping[str, object]) -> str:
    """Return a tree as YAML: innermost lists on one line, the rest in lines of their own."""
    from ruamel.yaml import YAML

    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = None
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    yaml.width = 120
    yaml.allow_unicode = True
    out = io.StringIO()
    yaml.representer.add_representer(_Quoted, _in_quotes)
    yaml.dump(_safe(tree), out)
    return re.sub(r"^(\w+:)$", r"\n\1", out.getvalue(), flags=re.MULTILINE)  # an empty line before each section


class _Quoted(str):
    """Text that goes in quotes."""

    __slots__ = ()


def _in_quotes(representer: Any, text: str) -> Any:
    return representer.represent_scalar("tag:yaml.org,2002:str", text, style='"' if "'" in text else "'")


_SIMPLE = re.compile(r"-?\w([\w .+*/()-]*[\w)])?", re.ASCII)


def _safe(tree: object) -> object:
    """Return a tree in which every text that might be taken for something else is in quotes."""
    if isinstance(tree, Mapping):
        return {_safe_key(key): _safe(item) for key, item in tree.items()}
    if isinstance(tree, list | tuple):
        return [_safe(item) for item in tree]
    return _Quoted(tree) if isinstance(tree, str) and not _SIMPLE.fullmatch(tree) else tree


def _safe_key(key: object) -> object:
    """Return a key, in quotes if it has blanks: within braces it would else be broken where a line ends."""
    return _Quoted(key) if isinstance(key, str) and " " in key else _safe(key)
