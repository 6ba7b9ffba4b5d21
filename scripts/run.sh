#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh BUILD: what `make run` shows: SPARC, RTU and RG-LRU learn the two diagnostic tasks; a table beside the paper's
# numbers, and a report with figures in a folder of its own: report, report-2, ...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=$1

# figures need gnuplot; a machine that cannot install it gets the report without them
scripts/install-packages.sh optional || true

printf '\n$ %s\n' "$build/sparc demo"
show() { # copies the output and prints where the results are
  local line
  while IFS= read -r line; do
    printf '%s\n' "$line"
    case $line in "report: "*) printf 'open it with a browser: file://%s\n' "$PWD/$(sed 's/^report: //; s/ ([^(]*)$//' <<<"$line")" ;; esac
  done
}
"$build/sparc" demo | show
