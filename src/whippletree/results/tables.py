"""A run as a table, and files of it."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, BinaryIO

from whippletree.errors import ResultError, StateError
from whippletree.foundation.arrays import FilePath
from whippletree.model.argument_types import Names
from whippletree.results.columns import Columns, columns, names
from whippletree.results.datasets import complete
from whippletree.results.labels import Label
from whippletree.results.netcdf_files import decoded, encoded
from whippletree.results.output_files import existing_file, new_file, write_whole
from whippletree.spatial.scalars import shown

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from whippletree.results.trajectory import Trajectory

__all__ = ["read", "save", "save_dataset", "table", "write_csv", "write_parquet"]

_NETCDF = (".nc", ".cdf", ".netcdf", "")
"""How files of runs end."""

_ROWS = 100_000
"""How many rows of text are made at a time."""


def table(run: Trajectory, what: Names) -> pd.DataFrame:
    """Return quantities as columns with names and units, time first.

    >>> from whippletree.results.example_runs import swing
    >>> list(table(swing(), "hinge"))
    ['time [s]', 'hinge.angle [rad]']
    """
    import pandas as pd

    time = Columns((Label("time", "", "s"),), run.t[:, None])
    found = Columns.joined([time, *(columns(run, name) for name in names(what))])
    return pd.DataFrame({label.column: found.values[:, k] for k, label in enumerate(found.labels)})


def write_csv(run: Trajectory, path: FilePath, what: Names) -> None:
    """Write a table as text, every number with all its digits."""
    new_file(path)
    frame = table(run, what)

    def write(file: BinaryIO) -> None:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        frame.to_csv(text, index=False, lineterminator="\n", chunksize=_ROWS)
        text.detach()

    write_whole(path, write)


def write_parquet(run: Trajectory, path: FilePath, what: Names) -> None:
    """Write a table as Parquet."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise ResultError('Parquet needs pyarrow: install it with pip install "whippletree[table]"') from None
    new_file(path)
    frame = table(run, what)
    whole = pa.table({name: frame[name].to_numpy() for name in frame})
    notes = {"mechanism": run.labels.mechanism, "fingerprint": run.labels.fingerprint}
    whole = whole.replace_schema_metadata(notes)
    write_whole(path, lambda file: parquet.write_table(whole, file))


def save(run: Trajectory, path: FilePath) -> None:
    """Write a run as NetCDF; refuse names that say that they are something else."""
    _write_netcdf(path, lambda: complete(run), "a run is saved as NetCDF", "; to_csv() and to_parquet() write tables")


def save_dataset(data: xr.Dataset, path: FilePath) -> None:
    """Write labelled arrays of numbers and text as NetCDF; refuse names that say that they are something else."""
    _write_netcdf(path, lambda: data, "labelled arrays are saved as NetCDF")


def _write_netcdf(path: FilePath, make: Callable[[], xr.Dataset], what: str, otherwise: str = "") -> None:
    place = new_file(path)
    if place.suffix.lower() not in _NETCDF:
        better = place.with_suffix(".nc").name
        raise StateError(f'{what}, and "{place.name}" ends as another format does: name it "{better}"{otherwise}')
    image = encoded(make())
    write_whole(path, lambda file: _all_of(file, image))


def read(path: FilePath) -> xr.Dataset:
    """Return the contents of a NetCDF file that `save` has written."""
    place = existing_file(path)
    try:
        return decoded(place.read_bytes())
    except FileNotFoundError:
        raise ResultError(f"there is no file {place}") from None
    except ResultError as error:
        raise ResultError(f"{place}: {error}") from None
    except MemoryError:
        raise ResultError(f"{place} takes more memory than there is") from None
    except Exception as error:  # whatever bytes make the reader raise that are not those that were written
        why = getattr(error, "strerror", None) or shown(str(error))[1:-1]
        raise ResultError(f"{place} cannot be read as NetCDF: {why}") from None


def _all_of(file: BinaryIO, image: bytes) -> None:
    file.write(image)
