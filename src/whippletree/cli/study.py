"""`whippletree study`: run the study that a file describes, or go on with it."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from whippletree.errors import FileError
from whippletree.foundation.late_imports import needed_library

__all__ = ["add", "study"]


def add(words: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = words.add_parser(
        "study",
        help="run a call for many cases of a model",
        description="Run the study that a file describes: a model, its cases, a call and what is kept of it. Results "
        "go to the store that the file names. The exit code is 1 if a case failed or is missing.",
    )
    parser.add_argument("file", metavar="STUDY.yaml", help="the study file")
    parser.add_argument("--store", metavar="FOLDER.zarr", help="where results go, instead of what the file says")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--workers", type=int, metavar="N", help="so many worker processes, in place of threads")
    where.add_argument("--dask", metavar="tcp://HOST:PORT", help="the scheduler of a Dask cluster")
    parser.add_argument("--resume", action="store_true", help="go on with the store, if there is one")
    parser.add_argument("--report", metavar="FILE.html", help="write a page about the results")
    parser.set_defaults(run=study)


def study(chosen: argparse.Namespace) -> int:
    """Run the study, and print a summary of it."""
    from whippletree.studies.study_files import read_study

    found = read_study(chosen.file, chosen.store)
    if found.store is None and chosen.report is None:
        raise FileError(f"{chosen.file}: results need a place: give the key store, --store or --report")
    go_on = chosen.resume and found.begun
    (found.resume if go_on else found.run)(_executor(chosen), progress=sys.stderr.isatty())
    status = found.status()
    print(status)
    for one in found.failures()[:5]:
        print(f"case {one.index}: {one.words}")
    if found.store is not None:
        print(f"results: {found.store}")
    if chosen.report is not None:
        print(found.report(chosen.report))
    return 1 if status.failed or status.missing else 0


def _executor(chosen: argparse.Namespace) -> Any:
    """Return the executor of the cases."""
    if chosen.dask is None:
        return chosen.workers
    distributed = needed_library("distributed", "clusters", "cluster")
    try:
        return distributed.Client(chosen.dask, timeout=10)
    except (OSError, ValueError) as error:
        raise FileError(f"--dask {chosen.dask}: no scheduler answers there ({error})") from None
