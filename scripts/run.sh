#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh BUILD: what `make run` shows: the SPARC cell against the committed vectors, on every path and in both
# precisions, then a cell that learns online with exact real-time recurrent learning.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=$1

# show COMMAND: the line as one would type it, then its output
show() {
  printf '\n$ %s\n' "$1"
  eval "$1"
}

echo '1. The SPARC cell against reference values: every tensor, on every path, in float and in double'
show "$build/sparc check --quiet tests/vectors/sparc-*.safetensors"
show "$build/sparc check --quiet --double tests/vectors/sparc-*.safetensors"

printf '\n2. One SPARC layer learns a toy target online, one step at a time\n'
show "$build/examples/online_rtrl"
