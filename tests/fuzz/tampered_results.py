"""Saved runs with something changed in them: refused, or runs whose numbers can be asked for."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

import whippletree as wt
from fuzz.tampering import changed_array, changed_bytes, changed_tree
from results.runs import four_bar, pendulum, quarter_car, tumbling
from whippletree.results.netcdf_files import _NO_DIGEST, _Contents, _digest, decoded, encoded


class Base(NamedTuple):
    system: wt.System
    image: bytes
    data: xr.Dataset


EACH = 30
"""Cases in turn that tamper with the same file."""

RUNS = (pendulum, four_bar, tumbling, quarter_car)


class Prepared(NamedTuple):
    path: Path
    bases: dict[int, Base]  # those that were asked for


def prepare(folder: Path) -> Prepared:
    return Prepared(folder / "run.nc", {})


def saved(path: Path, run: wt.Trajectory) -> Base:
    run.save(path)
    image = path.read_bytes()
    assert run.system is not None
    return Base(run.system, image, decoded(image))


def case(number: int, prepared: Prepared) -> None:
    """Tamper with one of the files, load it, and ask for something."""
    rng, which = random.Random(number), number // EACH % len(RUNS)
    if which not in prepared.bases:
        prepared.bases[which] = saved(prepared.path, RUNS[which]()[:9])
    base = prepared.bases[which]
    prepared.path.write_bytes(tampered(rng, base))
    system = base.system if rng.random() < 0.5 else None
    run = wt.Trajectory.load(prepared.path, system, check=rng.random() < 0.5)
    assert np.isfinite(run.q).all()
    repr(run), str(run.certificate), run.table(), run[:1]
    if run.system is not None:
        run.energy(), run.at(float(run.t[0])), run.certify()


def tampered(rng: random.Random, base: Base) -> bytes:
    """The bytes of a file with something changed; the digest is made anew, unless the bytes are no file any more."""
    way = rng.randrange(4)
    if way == 0:
        return _digested(changed_bytes(rng, base.image))
    if way == 1:
        head = len(base.image) // 3
        return _digested(changed_bytes(rng, base.image[:head]) + base.image[head:])
    data = base.data.copy(deep=True)
    if way == 2:
        name = rng.choice([one for one in ("certificate", "info", "joints") if one in data])
        tree = changed_tree(rng, json.loads(str(data[name].item())))
        return encoded(data.assign({name: ((), json.dumps(tree))}))
    return encoded(_changed_variable(rng, data))


def _changed_variable(rng: random.Random, data: xr.Dataset) -> xr.Dataset:
    """A dataset in which a variable has other numbers, or is not there, or whose attributes are other ones."""
    name = rng.choice([str(one) for one in data.variables])
    way = rng.randrange(6)
    if way == 0:
        return data.drop_vars(name)
    if way == 1:
        return data.assign_attrs(
            {rng.choice([str(a) for a in data.attrs]): rng.choice(("", "x", 1.0, 99.0, -1.0, 1e300))}
        )
    if way == 2:
        return data.isel({rng.choice([str(d) for d in data.dims]): slice(0, 1)})
    variable = data[name]
    if variable.dtype.kind not in "fiu":
        texts = np.array(
            [rng.choice(("", "A", "x" * 100_000, "é", "A.angle")) for _ in range(variable.size)], dtype=object
        )
        return data.assign({name: (variable.dims, texts.reshape(variable.shape))})
    values: Any = changed_array(rng, variable.values)
    if values.shape != variable.shape:
        return data.drop_vars(name).assign({name: ([f"new{i}" for i in range(values.ndim)], values)})
    return data.assign({name: (variable.dims, values)})


def _digested(image: bytes) -> bytes:
    """The same bytes with their own digest, if there is still a place for one."""
    try:
        at = _Contents(image).digest_at
    except Exception:
        return image
    return image[:at] + _digest(image, at).encode() + image[at + len(_NO_DIGEST) :]
