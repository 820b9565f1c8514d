"""Files of before stay readable, or are refused by their version: a model, a run and a checkpoint of before 0.1.

They are of one run over half a second of the model in `frozen/four_bar.yaml`; its checkpoint was written at 0.2 s.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from whippletree.studies import checkpoint_files

FROZEN = Path(__file__).with_name("frozen")

END = [
    *(2.138150108029275, -1.922102385905552, 2.021035219521497, 2.2370829416452196),
    *(0.6764024627733839, -0.0475759067609421, 0.2147304475328148, 0.7029275043362098),
]
"""The coordinates at the end, as that version found them."""

CHECKPOINTS = 7
"""The version of the checkpoint."""


def test_a_model_of_before_moves_as_it_did() -> None:
    run = wt.read(FROZEN / "four_bar.yaml").simulate(duration=0.5, every=0.05, method="dopri5", tolerance=1e-9)
    np.testing.assert_allclose(run.q[-1], END, rtol=0, atol=1e-8)


def test_a_run_of_before_is_read_with_its_certificate() -> None:
    run = wt.Trajectory.load(FROZEN / "four_bar.nc")
    assert run.q[-1].tolist() == END
    assert [event.name for event in run.events] == ["low"]
    assert run.certificate.ok
    assert run.certificate.steps == 36
    assert run.certificate["energy_scale"] == 13.3457293842181
    assert run.certify().ok


def test_a_checkpoint_of_before_goes_on_or_is_refused_by_its_version() -> None:
    if checkpoint_files.FORMAT == CHECKPOINTS:
        run = wt.resume(FROZEN / "four_bar.ckpt", check=False)
        np.testing.assert_allclose(run.q[-1], END, rtol=0, atol=1e-8)
    else:
        with pytest.raises(wt.ResultError, match="not a checkpoint that this version"):
            wt.resume(FROZEN / "four_bar.ckpt", check=False)
