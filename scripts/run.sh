#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh BUILD: what `make run` shows: the SPARC cell against the committed vectors, on every path and in both
# precisions, then a cell that learns online with exact real-time recurrent learning.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=$1
vectors=(tests/vectors/sparc-*.safetensors)

show() {
  printf '\n$ %s\n' "$*"
  "$@"
}

printf '1. The SPARC cell against %d files of reference values: every tensor, every path\n' "${#vectors[@]}"
show "$build/sparc" check --quiet "${vectors[@]}"
show "$build/sparc" check --quiet --double "${vectors[@]}"

printf '\n2. One SPARC layer learns a toy target online, one step at a time\n'
show "$build/examples/online_rtrl"
