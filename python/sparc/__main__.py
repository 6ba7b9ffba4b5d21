# SPDX-License-Identifier: MIT
"""`python -m sparc`: the command-line tool that the wheel holds, or the one of a source tree."""
import os
import sys
from pathlib import Path


def tool():
    """The path of the tool: beside this file in a wheel, else in the build folder of the tree."""
    here = Path(__file__).resolve()
    for path in (here.parent / "bin" / "sparc", here.parents[2] / "build" / "release" / "sparc"):
        if path.exists():
            return str(path)
    raise SystemExit("sparc: this installation has no command-line tool; install the wheel (make wheel)")


def main():
    path = tool()
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
