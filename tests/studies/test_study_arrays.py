"""Arrays in a folder that are written without Zarr, read by Zarr; and the other way round."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whippletree.studies.study_arrays import FolderArray, ZarrArray, chunk_array

zarr = pytest.importorskip("zarr", "3.1.3", reason="studies need zarr, which is in the extra `test`")

REGIONS = [(slice(0, 2), slice(4, 7)), (slice(4, 5), slice(0, 4)), (slice(4, 5), slice(4, 7))]
"""Chunks of (2, 4) of 5 by 7 cases, among them those at the edges."""


@pytest.mark.parametrize("kind", ["<f8", "<c16", "<i2", "i1"])
def test_zarr_reads_chunks_that_are_written_without_it(tmp_path: Path, kind: str) -> None:
    array, ours = folder_array(tmp_path / "a.zarr", kind, {"compressors": None})
    assert isinstance(ours, FolderArray)
    rng, expected = np.random.default_rng(0), np.full((5, 7, 3), 7, dtype=kind)
    for region in REGIONS:
        expected[region] = rng.integers(-100, 100, expected[region].shape)
        ours.write(region, expected[region])
        assert np.array_equal(ours.read(region), expected[region])
    assert np.array_equal(array[...], expected)
    assert np.array_equal(ours.whole(), expected)
    missing = (slice(2, 4), slice(0, 4))
    assert (ours.read(missing) == 7).all()
    array[missing] = expected[missing] = 1
    assert np.array_equal(ours.whole(), expected)
    assert not list(tmp_path.rglob("*.partial"))


def test_compressed_numbers_are_left_to_zarr(tmp_path: Path) -> None:
    array, theirs = folder_array(tmp_path / "a.zarr", "<f8", {})
    assert isinstance(theirs, ZarrArray)
    theirs.write(REGIONS[0], np.ones((2, 3, 3)))
    assert float(np.asarray(array[...]).sum()) == 18.0 + 7.0 * (5 * 7 * 3 - 18)
    assert np.array_equal(theirs.whole(), array[...])


def folder_array(place: Path, kind: str, options: dict[str, Any]) -> tuple[Any, Any]:
    """Return an array of Zarr in a folder, and what the study makes of it."""
    group = zarr.open_group(place, mode="w-", zarr_format=3)
    array = group.create_array("x", shape=(5, 7, 3), chunks=(2, 4, 3), dtype=kind, fill_value=7, **options)
    return array, chunk_array(array, array.metadata.codecs)
