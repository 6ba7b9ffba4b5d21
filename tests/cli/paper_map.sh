#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# paper_map.sh: docs/paper-map.md names files and symbols that exist, and knows every label that the source cites.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

cd "$SPARC_SOURCE_DIR"
map=docs/paper-map.md
problems=0
complain() {
  echo "$map: $*" >&2
  problems=$((problems + 1))
}

# names of a table cell stand in backquotes: a path, then the symbols that are found in that file
check_cell() {
  local name file=
  while read -r name; do
    if [[ $name == */* ]]; then
      file=$name
      [ -f "$file" ] || complain "there is no file $file"
    elif [ -z "$file" ]; then
      complain "'$name' stands before any file"
    elif [ -f "$file" ] && ! grep -qw -- "$name" "$file"; then
      complain "$file does not mention $name"
    fi
  done < <(grep -o '`[^`]*`' <<<"$1" | tr -d '`')
}

# the rows: a label, code, test
rows=0
while IFS='|' read -r _ label code test _; do
  [[ $label =~ ^\ (label|-*)\ ?$ || $label == ---* ]] && continue
  rows=$((rows + 1))
  [[ $code == *'`'* ]] || complain "$label names no code"
  [[ $test == *'`'* ]] || complain "$label names no test"
  check_cell "$code"
  check_cell "$test"
done < <(grep '^|' "$map")
[ "$rows" -ge 20 ] || fail "only $rows rows found in $map"

# labels in comments of the source, as [eq:...]
while read -r label; do
  grep -qw -- "$label" "$map" || complain "$label is cited in the source and has no row"
done < <(grep -rhoE '\b(eq|tab|alg|fig|sec|app):[a-zA-Z0-9_]+' include src tests/*.[ch] examples | sort -u)

[ "$problems" = 0 ] || fail "$problems problems in $map"
