"""The formulations that there are, by name.

A formulation is declared in its own file, once:

    MINE = register(Formulation("mine", solve=solve))

From then on calls find it by `formulation="mine"`, its options are keywords, and `auto` weighs it if it is a candidate.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterable, Mapping

from whippletree.errors import StateError
from whippletree.formulations.methods.formulation import DECISIONS, Formulation
from whippletree.foundation.user_frames import user_facing
from whippletree.spatial.scalars import shown

__all__ = [
    "as_arguments",
    "candidates",
    "find",
    "formulation_name",
    "known",
    "loop_formulations",
    "mapping_text",
    "option_values",
    "read_mapping",
    "register",
    "register_when_needed",
    "tree_formulations",
    "unregister",
    "weighed_on_trees",
]

_BY_TEXT: dict[str, Formulation] = {}
"""Every formulation by its text; in the order of registration, so that the first of a name is the default."""

_MADE: dict[str, Formulation] = {}
"""Formulations that were asked for with numbers as options, by text."""

_UNREAD: dict[str, str] = {}
"""Formulations that nothing has asked for so far: name, and the module that registers it when it is imported."""

_WEIGHED: list[str] = []
"""Those of them that `auto` weighs for mechanisms with loops, read or not."""

NOTHING_SOLVED = Formulation("kinematics", linear=True)
"""Stands for the formulation of functions that solve no equations of motion."""


_LONGEST = 200
"""Characters that the text of a formulation has at most."""


_MIXED = "by_branch"
"""The formulation that a mapping from bodies to methods stands for."""


@user_facing
def register(formulation: Formulation) -> Formulation:
    """Add a formulation, and return it.

    >>> mine = register(Formulation("mine"))
    >>> find("mine") is mine
    True
    >>> register(Formulation("mine"))
    Traceback (most recent call last):
        ...
    ValueError: there is a formulation "mine" already
    >>> unregister(mine)
    """
    if _taken(formulation):
        raise ValueError(f'there is a formulation "{formulation.text}" already')
    for need in formulation.needs:
        if need not in DECISIONS:
            raise ValueError(f'numbers do not decide "{need}": a formulation can need {", ".join(DECISIONS)}')
    family = _family(formulation.name)
    if family and list(family[0].options) != list(formulation.options):
        raise ValueError(f'formulations "{formulation.name}" must have the same options')
    _BY_TEXT[formulation.text] = formulation
    _UNREAD.pop(formulation.name, None)
    return formulation


def register_when_needed(modules: Mapping[str, str], weighed: Iterable[str] = ()) -> None:
    """Leave formulations unregistered until they are asked for: by name, the modules that register them.

    `weighed` are those that are candidates of `auto` for mechanisms with loops.
    """
    _UNREAD.update(modules)
    _WEIGHED.extend(weighed)


def _all() -> list[Formulation]:
    """Return every formulation, those included that nothing has asked for so far."""
    for name in list(_UNREAD):
        _read(name)
    return list(_BY_TEXT.values())


def _read(name: str) -> None:
    """Import the module of a formulation, if that has been left until now."""
    module = _UNREAD.get(name)
    if module is not None:
        importlib.import_module(module)


def _taken(formulation: Formulation) -> bool:
    """Tell whether there is another formulation of that text, or one of its name that nothing has asked for so far."""
    if formulation.text in _BY_TEXT or formulation.name in ("auto", NOTHING_SOLVED.name):
        return True
    module = _UNREAD.get(formulation.name)
    return module is not None and module not in sys.modules


@user_facing
def unregister(formulation: Formulation) -> None:
    """Remove a formulation."""
    if formulation.text not in _BY_TEXT:
        raise StateError(f"the formulation {shown(formulation.text)} is not registered")
    del _BY_TEXT[formulation.text]


def known(text: str) -> Formulation | None:
    """Return the formulation of a name or text, the default of its options where nothing is chosen."""
    if text == NOTHING_SOLVED.name:
        return NOTHING_SOLVED
    _read(text.partition("/")[0])
    return _BY_TEXT.get(text) or next(iter(_family(text)), None) or _with_numbers(text)


def _with_numbers(text: str) -> Formulation | None:
    """Return the formulation whose options are the numbers in a text, made once; None if there is none such."""
    name, *values = text.split("/")
    default = next(iter(_family(name)), None)
    if default is None or default.with_options is None or len(values) != len(default.options):
        return None
    if text not in _MADE:
        _MADE[text] = default.with_options(dict(zip(default.options, values, strict=True)))
    return _MADE[text]


def find(text: str) -> Formulation:
    """Return the formulation of a name or text.

    >>> find("fully_recursive").text
    'fully_recursive/origin'
    """
    found = known(text)
    if found is None:
        raise StateError(f"there is no formulation {shown(text)}")
    return found


def tree_formulations() -> tuple[Formulation, ...]:
    """Return the formulations that solve trees, in alphabetical order, the options in the order of registration."""
    return _sorted(one for one in _all() if one.tree is not None)


def weighed_on_trees() -> tuple[Formulation, ...]:
    """Return the candidates of `auto` for trees; modules of such formulations are imported at once.

    >>> [one.name for one in weighed_on_trees()]
    ['articulated', 'composite']
    """
    return _sorted(one for one in list(_BY_TEXT.values()) if one.tree is not None and one.tree.weighed)


def loop_formulations() -> tuple[Formulation, ...]:
    """Return the formulations that solve mechanisms with loops, in alphabetical order."""
    return _sorted(one for one in _all() if one.solve is not None)


def candidates() -> tuple[Formulation, ...]:
    """Return the candidates of `auto` for mechanisms with loops, in the order in which they are counted."""
    for name in _WEIGHED:
        _read(name)
    weighed = [(one.candidacy.order, one) for one in list(_BY_TEXT.values()) if one.candidacy is not None]
    return tuple(one for _, one in sorted(weighed, key=lambda pair: pair[0]))


def option_values(name: str) -> dict[str, tuple[str, ...]]:
    """Return the options of a formulation and their values, by keyword; the first of each is the default.

    >>> option_values("fully_recursive")
    {'reference': ('origin', 'centroid', 'joint')}
    """
    _read(name)
    family = _family(name)
    words = family[0].options if family else {}
    return {word: tuple(dict.fromkeys(one.options[word] for one in family)) for word in words}


def formulation_name(formulation: object, **choice: object) -> str:
    """Return the text of a formulation with its options, which are checked; "auto" stays as it is.

    >>> formulation_name("auto")
    'auto'
    >>> formulation_name("fully_recursive", reference="joint")
    'fully_recursive/joint'
    >>> formulation_name("penalty", iterations=3)
    'penalty/10000000/3/0/1'
    """
    if isinstance(formulation, Mapping):
        formulation, choice = _MIXED, {"branches": formulation, **choice}
    if not isinstance(formulation, str) or len(formulation) > _LONGEST:
        raise StateError(f"formulation= must be the name of one, not {shown(formulation)}")
    if not choice:
        return formulation
    words = dict.fromkeys(word for one in _all() for word in one.options)
    for word, value in choice.items():
        if word not in words:
            raise StateError(f"there is no option {word}=; formulations take {', '.join(f'{w}=' for w in words)}")
        values = option_values(formulation).get(word)
        if values is None:
            owners = dict.fromkeys(f'formulation="{one.name}"' for one in _BY_TEXT.values() if word in one.options)
            raise StateError(f"{word}= belongs to {' and '.join(owners)}")
        if isinstance(value, Mapping):
            if any(_is_number(one) for one in values):
                raise StateError(f"{word}= must be a number, not {shown(value)}")
            choice[word] = mapping_text(value, word)
        elif find(formulation).with_options is None and value not in values:
            listed = ", ".join(f'"{name}"' for name in values)
            raise StateError(f"{word}= must be one of {listed}, not {shown(value)}")
    default = find(formulation)
    return find(
        "/".join([default.name, *(str(choice.get(word, value)) for word, value in default.options.items())])
    ).text


def mapping_text(given: Mapping[object, object], word: str) -> str:
    """Return a mapping from names to words as a text without "/", which stands between options.

    >>> print(mapping_text({"left/arm": "joint"}, "reference"))
    {"left\\u002farm": "joint"}
    """
    found: dict[str, str] = {}
    for key, value in given.items():
        name = key if isinstance(key, str) else getattr(key, "name", None)
        if not isinstance(name, str) or not isinstance(value, str):
            raise StateError(f"{word}= must map names of bodies to words, not {shown(key)} to {shown(value)}")
        found[name] = value
    if not found:
        raise StateError(f"{word}= names no body")
    return json.dumps(found, sort_keys=True).replace("/", "\\u002f")


def read_mapping(text: str) -> dict[str, str]:
    """Return the mapping of a text that `mapping_text` made; nothing if it is none.

    >>> read_mapping(mapping_text({"left/arm": "joint"}, "reference")), read_mapping("joint")
    ({'left/arm': 'joint'}, {})
    """
    if not text.startswith("{"):
        return {}
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    good = isinstance(found, dict) and all(isinstance(value, str) for value in found.values())
    return found if good else {}


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def as_arguments(formulation: Formulation) -> str:
    """Return the arguments of a call by which a formulation is chosen.

    >>> as_arguments(find("fully_recursive/joint"))
    'formulation="fully_recursive", reference="joint"'
    """
    chosen = {
        word: value for word, value in formulation.options.items() if len(option_values(formulation.name)[word]) > 1
    }
    return ", ".join(f'{word}="{value}"' for word, value in {"formulation": formulation.name, **chosen}.items())


def _family(name: str) -> list[Formulation]:
    """Return the formulations of a name, each with other options."""
    return [one for one in list(_BY_TEXT.values()) if one.name == name]


def _sorted(some: Iterable[Formulation]) -> tuple[Formulation, ...]:
    return tuple(sorted(some, key=lambda one: one.name))
