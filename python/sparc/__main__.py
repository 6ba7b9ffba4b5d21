# SPDX-License-Identifier: MIT
"""`python -m sparc`: the command-line tool of the wheel or of the source tree."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from ._library import Error

_STATUS = {1: "io", 2: "invalid", 3: "format", 4: "not_finite"}  # of the tool's exit codes


def tool() -> str:
    """Path of the tool: SPARC_TOOL, else next to this file in a wheel, else in the build folder of the tree."""
    if os.environ.get("SPARC_TOOL"):
        return os.environ["SPARC_TOOL"]
    here = Path(__file__).resolve()
    for path in (here.parent / "bin" / "sparc", here.parents[2] / "build" / "release" / "sparc"):
        if path.exists():
            return str(path)
    raise SystemExit("sparc: this installation has no command-line tool; install the wheel (make wheel)")


def run_tool(arguments: list[str]) -> str:
    """Runs the tool in a separate process, which stops when Python is interrupted, and returns its output. Raises Error
    with its message on failure."""
    process = subprocess.Popen([tool(), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, err = process.communicate()
    except BaseException:
        process.send_signal(signal.SIGINT)
        process.wait()
        raise
    if process.returncode != 0:
        raise Error(_STATUS.get(process.returncode, "failed"), err.strip().split(": ", 1)[-1])
    return out


def main() -> None:
    """Replaces this process by the tool."""
    path = tool()
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
