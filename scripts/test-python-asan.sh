#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test-python-asan.sh BUILD [ARGUMENT...]: the Python tests against the library of an ASan build (cmake --preset asan), with
# the sanitizer preloaded, by the interpreter PYTHON (default: one that has NumPy). Leaks are not looked for: the interpreter
# keeps what it has until it ends. ARGUMENTs go to unittest (default: cells, models, threads, forks, foreign arrays, runs,
# agents, streams).
# Exit code 77: no NumPy or no sanitizer.
set -euo pipefail
tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(cd "$1" && pwd)
shift
asan=$("${CC:-gcc}" -print-file-name=libasan.so)
if ! python=$("$tree/tests/python/interpreter.sh") || [ ! -e "$asan" ]; then
  echo "no Python with NumPy, or no libasan.so: skipped"
  exit 77
fi
[ $# -gt 0 ] || set -- test_cells test_models test_robust test_runs test_agents test_readers test_river
cd "$tree/tests/python"
export PYTHONPATH=$tree/python SPARC_LIBRARY=$build/libsparc.so SPARC_TOOL=$build/sparc PYTHONDONTWRITEBYTECODE=1
export PYTHONMALLOC=malloc OMP_NUM_THREADS=2
export ASAN_OPTIONS=detect_leaks=0:halt_on_error=1:abort_on_error=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
LD_PRELOAD=$asan exec "$python" -W error -m unittest "$@"
