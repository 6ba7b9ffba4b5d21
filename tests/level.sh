#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# level.sh LEVEL PROGRAM ARGUMENT...: runs a test program with the kernels LEVEL, as SPARC_KERNEL names them. Exit status
# 77, which CTest shows as skipped, where this machine cannot run them. SPARC is the tool, EMULATOR what runs programs
# of another processor.
set -euo pipefail

level=$1
shift
read -ra run <<<"${EMULATOR:-}"

available=$("${run[@]}" "$SPARC" info | sed -n 's/^kernels .*(of \(.*\))$/\1/p')
if [ -z "$available" ]; then
  echo "'sparc info' lists no kernels" >&2
  exit 1
fi
if [[ " $available " != *" $level "* ]]; then
  echo "skipped: this machine has the kernels $available, not $level"
  exit 77
fi
SPARC_KERNEL=$level exec "${run[@]}" "$@"
