"""Files beside a robot that name its loops, and files of strangers that are too much."""

from __future__ import annotations

from pathlib import Path

import pytest

import whippletree as wt
from whippletree.files.file_limits import MOST_LINKS

ARMS = """<robot name="two arms"><link name="base"/>
<link name="left"><inertial><mass value="1"/></inertial></link>
<link name="right"><inertial><mass value="2"/></inertial></link>
<joint name="l" type="continuous"><parent link="base"/><child link="left"/></joint>
<joint name="r" type="continuous"><parent link="base"/><child link="right"/></joint></robot>"""
ALIASES = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{one}: &{one} [{', '.join([f'*{before}'] * 9)}]\n" for before, one in zip("abcdefgh", "bcdefghi", strict=True)
)


def beside(folder: Path, text: str) -> Path:
    (folder / "arms.urdf").write_text(ARMS, encoding="utf-8")
    path = folder / "arms.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_loops_are_named_by_links_and_joints(tmp_path: Path) -> None:
    model = wt.read(beside(tmp_path, "closed_loop: [[left, r]]\ntype: ['6d']\nname_mot: [l]\nnote: none\n"))
    s = model.build()
    assert s.mobility.mobility == 1
    assert 'kept aside: the actuated joints are "l"' in str(model.report)
    assert "not understood: note in arms.yaml (line 4)" in str(model.report)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("type: []\nclosed_loop: 3\n", 2, "must be a list of pairs of frames, got the number 3"),
        ("closed_loop:\n- [left, right]\n- left\n", 3, 'got the text "left" for one'),
        ("closed_loop:\n- [left, [right]]\n", 2, "must be the name of a link or a joint, got a list of 1"),
        ("closed_loop:\n- [left, wrong]\n", 2, 'no link or joint "wrong"'),
        ("closed_loop: [[left, right]]\ntype: [4d]\n", 2, 'or 6d (a whole frame), got the text "4d"'),
        ("closed_loop: [[left, right]]\ntype: []\n", 1, "an entry for each of the 1 loops"),
        ("name_mot: &a [*a]\nclosed_loop: [[left, right]]\n", 1, "is an anchor"),
        (f"{ALIASES}name_mot: *i\nclosed_loop: [[left, right]]\n", 1, "is an anchor"),
    ],
)
def test_what_is_wrong_beside_a_robot_is_told_with_its_line(text: str, line: int, message: str, tmp_path: Path) -> None:
    with pytest.raises(wt.FileError) as caught:
        wt.read(beside(tmp_path, text))
    assert message in str(caught.value)
    assert caught.value.line == line


def test_a_file_beside_a_robot_that_is_no_text_is_told_with_its_line(tmp_path: Path) -> None:
    path = beside(tmp_path, "")
    path.write_bytes(b"closed_loop: [[left, right]]\ntype: [\xff]\n")
    with pytest.raises(wt.FileError, match=r"arms\.yaml:2: the file is not text in UTF-8"):
        wt.read(path)


def test_more_links_than_anyone_has_are_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "many.urdf"
    links = "".join(f'<link name="{k}"/>' for k in range(MOST_LINKS + 1))
    path.write_text(f'<robot name="r">{links}</robot>', encoding="utf-8")
    with pytest.raises(wt.FileError, match="there are more than 10,000 links"):
        wt.read(path)
