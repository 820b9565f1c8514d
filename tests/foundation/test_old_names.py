"""Names of before: they work, they warn at the user's line, and nothing else notices them."""

from __future__ import annotations

import copy
import pickle
import re
import warnings
from dataclasses import dataclass

import pytest

from whippletree.foundation.old_names import old_module_names, old_names


@old_names(reach="span", secret="_kept", area=("span ** 2", lambda wing: wing.span**2), tip="ends.real")
@dataclass(frozen=True)
class Wing:
    span: float
    _kept: str = "kept"
    ends: complex = 1 + 2j

    @property
    def broken(self) -> float:
        return self.nowhere  # type: ignore[attr-defined,no-any-return]

    def twice(self) -> float:
        return 2 * self.span


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("reach", 3.0, "Wing.reach is now Wing.span"),
        ("secret", "kept", "Wing.secret serves the package alone"),
        ("area", 9.0, "Wing.area is now span ** 2"),
        ("tip", 1.0, "Wing.tip is now Wing.ends.real"),
    ],
)
def test_an_old_name_gives_what_the_new_one_does_and_warns_here(name: str, value: object, words: str) -> None:
    with pytest.warns(DeprecationWarning, match=re.escape(words)) as caught:
        assert getattr(Wing(3.0), name) == value
    assert [each.filename for each in caught] == [__file__]


def test_old_names_are_in_no_list_and_in_no_copy() -> None:
    wing = Wing(3.0)
    assert not {"reach", "secret", "area", "tip"} & (set(dir(wing)) | set(vars(wing)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert copy.deepcopy(wing) == wing == pickle.loads(pickle.dumps(wing))


def test_other_names_fail_as_they_would_without_old_ones() -> None:
    with pytest.raises(AttributeError, match="'Wing' object has no attribute 'flap'"):
        Wing(3.0).flap  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match="nowhere"):
        Wing(3.0).broken  # noqa: B018


def test_a_class_states_its_old_names_once() -> None:
    with pytest.raises(TypeError, match="in one place"):
        old_names(a="span")(Wing)


def test_old_names_of_packages() -> None:
    find = old_module_names("old", {"root": "math.sqrt"}, otherwise={"other": 1}.__getitem__)
    assert find("other") == 1
    with pytest.warns(DeprecationWarning, match=r"old\.root is now math\.sqrt"):
        assert find("root")(4.0) == 2.0
    with pytest.raises(AttributeError, match="no attribute 'lost'"):
        old_module_names("old", {})("lost")
