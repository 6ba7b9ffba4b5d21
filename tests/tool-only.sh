#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tool-only.sh LIBSPARC.so INTERNAL.a LIBRARY.a...: the library defines nothing of what only the tool links. Shows first
# that hidden functions of the library would be seen.
set -euo pipefail
export LC_ALL=C

defined() { nm "$@" --defined-only --format=posix 2>/dev/null | awk '$2 ~ /^[TDRB]$/ { print $1 }' | sort -u; }
# functions that a file of the library has for itself may share their names
private() { nm "$1" --defined-only --format=posix 2>/dev/null | awk '$2 ~ /^[tdrb]$/ { print $1 }' | sort -u; }
every() { nm "$1" --defined-only --format=posix | awk '$2 ~ /^[TtDdRrBb]$/ { print $1 }' | sort -u; }

library=$1 internal=$2
shift 2
if [ -z "$(comm -12 <(defined "$internal") <(every "$library"))" ]; then
  echo "skipped: the library is stripped"
  exit 77
fi
status=0
for other; do
  if [ -z "$(defined "$other")" ]; then
    echo "$(basename "$other") has no symbols to compare" >&2
    status=1
  fi
  both=$(comm -12 <(comm -23 <(defined "$other") <(private "$internal")) <(every "$library"))
  if [ -n "$both" ]; then
    printf '%s holds functions of %s:\n%s\n' "$(basename "$library")" "$(basename "$other")" "$both" >&2
    status=1
  fi
done
exit $status
