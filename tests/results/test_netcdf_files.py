"""Classic NetCDF: as the format's description has it, and only within the file."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from results.runs import pendulum
from support.systems import same_bits
from whippletree.errors import ResultError
from whippletree.results import Trajectory
from whippletree.results.netcdf_files import _Contents, decoded, encoded

# The example of the format's description (NetCDF User's Guide, "File Format Specification"), written out byte by byte:
# netcdf tiny { dimensions: dim = 5; variables: short vx(dim); data: vx = 3, 1, 4, 1, 5; }
TINY = bytes.fromhex(
    "43444601 00000000"  # "CDF", version 1, no records
    "0000000a 00000001 00000003 64696d00 00000005"  # one dimension, "dim" of 5
    "00000000 00000000"  # no attributes
    "0000000b 00000001 00000002 76780000 00000001 00000000"  # one variable, "vx", along dimension 0
    "00000000 00000000 00000003 0000000c 00000050"  # no attributes, short, 12 bytes, from byte 80 on
    "0003 0001 0004 0001 0005 8001"
)


def test_the_example_of_the_format(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ResultError, match="with a digest"):
        decoded(TINY)
    noted = TINY[:28] + bytes.fromhex("0000000c 00000001 00000006") + b"sha256\0\0" + bytes.fromhex("00000002 00000040")
    noted += b"0" * 64
    shifted = noted + TINY[36:76] + (80 + len(noted) - 36).to_bytes(4, "big") + TINY[80:]
    found = _Contents(shifted)
    assert found.sizes == {"dim": 5}
    dims, values, _ = found.variables["vx"]
    assert dims == ["dim"]
    assert values.tolist() == [3, 1, 4, 1, 5]


def test_what_is_written_is_as_the_format_says() -> None:
    image = encoded(xr.Dataset({"x": ("n", [1.0, -0.0])}, {}, {"title": "ab"}))
    zeroed = image.replace(hashlib.sha256(image.replace(_digest_of(image), b"0" * 64)).hexdigest().encode(), b"0" * 64)
    expected = b"".join(
        [
            b"CDF\x02" + bytes(4),
            bytes.fromhex("0000000a 00000001 00000001") + b"n\0\0\0" + bytes.fromhex("00000002"),
            bytes.fromhex("0000000c 00000002 00000005")
            + b"title\0\0\0"
            + bytes.fromhex("00000002 00000002")
            + b"ab\0\0",
            bytes.fromhex("00000006") + b"sha256\0\0" + bytes.fromhex("00000002 00000040") + b"0" * 64,
            bytes.fromhex("0000000b 00000001 00000001") + b"x\0\0\0" + bytes.fromhex("00000001 00000000"),
            bytes.fromhex("00000000 00000000 00000006 00000010") + (192).to_bytes(8, "big"),
        ]
    )
    assert len(expected) == 192
    assert zeroed == expected + np.array([1.0, -0.0], dtype=">f8").tobytes()


def _digest_of(image: bytes) -> bytes:
    return image[_Contents(image).digest_at :][:64]


def test_texts_and_numbers_come_back() -> None:
    data = xr.Dataset(
        {"q": (("n", "k"), np.array([[1e-320, np.inf], [-0.0, 1 / 3]])), "said": ((), "Größe"), "none": ((), "")},
        {"k": ("k", np.array(["a", "größer"], dtype=object)), "k_unit": ("k", np.array(["m", ""], dtype=object))},
        {"whippletree_run": 1, "mechanism": "é"},
    )
    again = decoded(encoded(data))
    assert same_bits(again["q"].values, data["q"].values)
    assert again["said"].item() == "Größe"
    assert again["none"].item() == ""
    assert again["k"].values.tolist() == ["a", "größer"]
    assert set(again.coords) == {"k", "k_unit"}
    assert again.attrs == {"whippletree_run": 1.0, "mechanism": "é"}


def test_damage_is_found_by_the_digest(tmp_path: Path) -> None:
    path = tmp_path / "run.nc"
    pendulum().save(path)
    whole = path.read_bytes()
    broken = bytearray(whole)
    broken[-5] ^= 1  # a digit of the last number
    path.write_bytes(bytes(broken))
    with pytest.raises(ResultError, match="do not have its digest"):
        Trajectory.load(path)
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    with pytest.raises(ResultError, match="HDF5"):
        Trajectory.load(path)


def test_what_has_no_end_is_not_read() -> None:
    with pytest.raises(ResultError, match="a device, and not a file"):
        Trajectory.load("/dev/zero")
