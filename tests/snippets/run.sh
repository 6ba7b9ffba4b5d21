#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh TREE BUILD: every C example of README.md, docs/*.md and include/sparc/*.h compiles; whole programs run.
#
# An example is a block ```c of a page, or lines "*   " in a comment of a header of which the first ends in a semicolon.
# With a main it is a whole program: it runs, with AddressSanitizer where there is one, on what arguments_of says. Else it
# is a snippet: its leading static functions stand at file scope, the rest is the body of a function, and prelude.h
# declares what it takes as given.
set -euo pipefail

tree=$1 build=$2 here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
CC=${CC:-cc}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
checkpoints=$tree/tests/checkpoints

# examples FILE: writes each to $work/NAME-LINE.c, with a #line that names its place
examples() {
  awk -v out="$work/$(basename "$1" | tr . -)" -v place="$1" '
    function finish() { if (path != "") close(path); path = "" }
    function begin() { path = out "-" NR ".c"; printf "" > path }
    place ~ /\.md$/ && /^```c$/ { begin(); printf "#line %d \"%s\"\n", NR + 1, place > path; next }
    place ~ /\.md$/ && /^```$/ { finish(); next }
    place ~ /\.h$/ && path == "" && before !~ /^ \*   / && /^ \*   .*;$/ { begin(); printf "#line %d \"%s\"\n", NR, place > path }
    place ~ /\.h$/ && !/^ \*   / { finish() }
    path != "" { line = $0; if (place ~ /\.h$/) sub(/^ \*   /, "", line); print line > path }
    { before = $0 }' "$1"
}

# wrapped SNIPPET: a translation unit of it
wrapped() {
  echo '#include "prelude.h"'
  awk '
    NR == 1 { place = $0; print; next }
    !body && (/^static / || inside) { print; inside = !/^}/; next }
    !body { body = 1; print "int snippet(void);"; print "int snippet(void) {"
            split(place, words, " "); printf "#line %d %s\n", words[2] + NR - 2, words[3] }
    { print }
    END { print "return 0;"; print "}" }' "$1"
}

flags=(-std=c11 -Wall -Wextra -Wno-unused -Werror -I "$tree/include" -I "$here")
sanitizer=()
if echo 'int main(void) { return 0; }' | "$CC" -fsanitize=address,undefined -x c - -o "$work/probe" 2>/dev/null && "$work/probe"; then
  sanitizer=(-g -fsanitize=address,undefined -fno-sanitize-recover=all)
fi

# runs PROGRAM NAME: demands what is documented of it
runs() {
  local model said
  case $2 in
    library-md-*)
      said=$("$1") || return 1
      grep -qF "    $said" "$tree/docs/library.md" || { echo "the program of library.md says: $said"; return 1; } ;;
    embedding-md-*)
      for model in "$checkpoints"/*.safetensors; do
        said=$(seq 0.1 0.1 6 | "$1" "$model" | wc -l) || return 1
        [ "$said" -gt 10 ] || { echo "the program of embedding.md answers $said steps of $model"; return 1; }
      done ;;
    *) echo "$2 has a main: say in $0 how it runs"; return 1 ;;
  esac
}

for file in "$tree/README.md" "$tree"/docs/*.md "$tree"/include/sparc/*.h; do examples "$file"; done
programs=0 snippets=0 failed=0
for source in "$work"/*-[0-9]*.c; do
  name=$(basename "$source" .c)
  if grep -q '^int main(' "$source"; then
    programs=$((programs + 1))
    "$CC" "${flags[@]}" "${sanitizer[@]}" "$source" -o "$work/program" -L "$build" -Wl,-rpath,"$build" -lsparc -lm &&
      runs "$work/program" "$name" || { echo "FAIL: $name"; failed=1; }
  else
    snippets=$((snippets + 1))
    wrapped "$source" >"$work/wrapped.c"
    "$CC" "${flags[@]}" -fsyntax-only "$work/wrapped.c" || { echo "FAIL: $name"; failed=1; }
  fi
done
echo "$programs programs, $snippets snippets"
[ "$programs" -ge 2 ] && [ "$snippets" -ge 15 ] || { echo "fewer than there were: are the blocks still found?"; exit 1; }
exit "$failed"
