#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# paper_map.sh: docs/paper-map.md names files and symbols that exist, and has every label that the source cites.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

cd "$SPARC_SOURCE_DIR"
map=docs/paper-map.md
problems=0
complain() {
  echo "$map: $*" >&2
  problems=$((problems + 1))
}

# names are in backquotes: a path, then the symbols that are found in that file
# shellcheck disable=SC2016
check_names() {
  local name file=
  while read -r name; do
    if [[ $name == */* ]]; then
      file=$name
      [ -f "$file" ] || complain "there is no file $file"
    elif [ -z "$file" ]; then
      complain "'$name' comes before any file"
    elif [ -f "$file" ] && ! grep -qw -- "$name" "$file"; then
      complain "$file does not mention $name"
    fi
  done < <(grep -o '`[^`]*`' <<<"$1" | tr -d '`')
}

# an entry is "- **labels**" with "  - code: names" and "  - test: names" below it; items may go on over lines
items() { awk '/^ *- / { if (item) print item; item = $0; next } /^ +[^ ]/ { item = item " " $0; next }
               { if (item) print item; item = "" } END { if (item) print item }' "$map"; }
entries=0 codes=0 tests=0
while IFS= read -r item; do
  case $item in
    '- **'*) entries=$((entries + 1)) ;;
    '  - code: '*'`'*) codes=$((codes + 1)) && check_names "$item" ;;
    '  - test: '*'`'*) tests=$((tests + 1)) && check_names "$item" ;;
    '  - '*) complain "neither code nor test: $item" ;;
  esac
done < <(items)
[ "$entries" -ge 20 ] || fail "only $entries entries found in $map"
if [ "$entries" != "$codes" ] || [ "$entries" != "$tests" ]; then
  complain "$entries entries, $codes with code, $tests with tests"
fi

# labels in comments of the source, as [eq:...]
while read -r label; do
  grep -qw -- "$label" "$map" || complain "$label is cited in the source and has no row"
done < <(grep -rhoE '\b(eq|tab|alg|fig|sec|app):[a-zA-Z0-9_]+' include src tests/*.[ch] examples | sort -u)

[ "$problems" = 0 ] || fail "$problems problems in $map"
