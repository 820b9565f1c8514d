"""What another process makes of what is sent to it."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

from whippletree.model import Description, Mechanism

PROGRAM = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb')){}.fingerprint())"


def fingerprint_elsewhere(sent: Mechanism | Description, folder: Path) -> str:
    """The fingerprint that another process, which hashes otherwise, finds for what it gets as a pickle."""
    (folder / "sent.pickle").write_bytes(pickle.dumps(sent))
    program = PROGRAM.format(".describe()" if isinstance(sent, Mechanism) else "")
    run = [sys.executable, "-c", program, str(folder / "sent.pickle")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONHASHSEED": "7"}
    return subprocess.run(run, capture_output=True, text=True, check=True, env=environment).stdout.strip()
