#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh TREE LIBRARY: the tests of the Python package against a shared library, by the first interpreter that has NumPy;
# exit code 77 where there is none.
set -euo pipefail
if ! python=$("$1/tests/python/interpreter.sh"); then
  echo "no Python with NumPy: skipped"
  exit 77
fi
export PYTHONPATH=$1/python SPARC_LIBRARY=$2 PYTHONDONTWRITEBYTECODE=1
tool=$(dirname "$2")/sparc
[ ! -x "$tool" ] || export SPARC_TOOL=$tool
exec "$python" -W error -m unittest discover --start-directory "$1/tests/python"
