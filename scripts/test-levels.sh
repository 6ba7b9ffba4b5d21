#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test-levels.sh BUILD [JOBS]: the whole suite of BUILD, once with each set of kernels that this machine can run.
set -euo pipefail

build=$1
jobs=${2:-$(nproc)}
status=0

# left out: tests that choose kernels themselves, and those that no kernel takes part in
except='^(level|header|replay)\.|^cli\.bench$|^(install-packages|exported-symbols|consumer)$'

levels=$("$build/sparc" info | sed -n 's/^kernels .*(of \(.*\))$/\1/p')
[ -n "$levels" ] || { echo "'sparc info' lists no kernels" >&2; exit 1; }
for level in $levels; do
  printf '\n---- kernels: %s\n' "$level"
  SPARC_KERNEL=$level ctest --test-dir "$build" --output-on-failure --no-tests=error -j "$jobs" -E "$except" || status=1
done
exit $status
