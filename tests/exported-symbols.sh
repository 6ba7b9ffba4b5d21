#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# exported-symbols.sh LIBSPARC.so [LIBSPARC.a]: what the linker of a user sees is exactly the committed list,
# tests/exported-symbols.txt. A symbol that is gone breaks users; one too many becomes an interface by accident.
# exported-symbols.sh --update LIBSPARC.so rewrites the list.
set -euo pipefail
export LC_ALL=C

list="$(dirname "${BASH_SOURCE[0]}")/exported-symbols.txt"

# names of defined symbols, without the loader's own
symbols() { nm "$@" --defined-only --format=posix | awk 'NF >= 3 && $1 !~ /^(_init|_fini|__bss_start|_edata|_end)$/ { print $1 }' | sort -u; }

# compares one set of names with the list
compare() {
  if ! difference=$(diff --unified=0 --label "tests/exported-symbols.txt" --label "$1" "$list" -); then
    printf '%s\n' "$difference"
    printf '\nThe symbols of %s differ from the committed list (+ exported but not listed, - listed but gone).\n' "$1"
    printf 'If the change is intended, run "make symbols" and add it to CHANGELOG.md.\n'
    return 1
  fi
}

if [ "${1:-}" = --update ]; then
  symbols -D "$2" >"$list"
  echo "$list: $(wc -l <"$list") symbols"
  exit
fi

status=0
symbols -D "$1" | compare "$(basename "$1")" || status=1
if [ $# -gt 1 ]; then
  symbols -g "$2" | compare "$(basename "$2")" || status=1
fi
[ $status = 0 ] && echo "$(wc -l <"$list") symbols, as listed"
exit $status
