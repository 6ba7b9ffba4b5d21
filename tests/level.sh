#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# level.sh LEVEL PROGRAM ARGUMENT...: runs a test program with the kernels LEVEL, as SPARC_KERNEL names them. Exit status
# 77, which CTest shows as skipped, where this machine cannot run them, and for a unit test where they are this machine's
# default, with which the test runs anyway. SPARC is the tool, EMULATOR what runs programs of another processor, of which
# scripts/test-aarch64.sh runs these tests only.
set -euo pipefail

level=$1
shift
read -ra run <<<"${EMULATOR:-}"

info=$("${run[@]}" "$SPARC" info)
available=$(sed -n 's/^kernels .*(of \(.*\))$/\1/p' <<<"$info")
if [ -z "$available" ]; then
  echo "'sparc info' lists no kernels" >&2
  exit 1
fi
if [[ " $available " != *" $level "* ]]; then
  echo "skipped: this machine has the kernels $available, not $level"
  exit 77
fi
if [ ${#run[@]} = 0 ] && [ "$1" != "$SPARC" ] && grep -q "^kernels  *$level (of " <<<"$info"; then
  echo "skipped: $level is the default here"
  exit 77
fi
SPARC_KERNEL=$level exec "${run[@]}" "$@"
