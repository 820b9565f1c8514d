"""`python -m whippletree.simulate.loop_compiler.make_loops`: make the time loops that the package carries."""

from __future__ import annotations

import sys

from whippletree.simulate.loop_code import SHIPPED
from whippletree.simulate.loop_compiler.shipped_loops import loops_ir, write_shipped


def main() -> None:
    """Write the files; with `--print`, print loops in LLVM's language instead, as this very process makes them."""
    if sys.argv[1:2] == ["--print"]:
        print(loops_ir(sys.argv[2:]), end="")
        return
    write_shipped()
    print(*(f"{file.stat().st_size:8d} {file.name}" for file in sorted(SHIPPED.iterdir())), sep="\n")


if __name__ == "__main__":
    main()
