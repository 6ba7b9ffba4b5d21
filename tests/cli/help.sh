#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# help.sh: help and version texts, and a man page that leaves out no command and no option.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

man=$SPARC_SOURCE_DIR/docs/man/sparc.1

# the tool: both forms print the same and list every command
expect 0 --help
no_complaint
cp "$scratch/out" "$scratch/tool-help"
mapfile -t commands < <(sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' "$scratch/tool-help")
for command in check info help version; do
  [[ " ${commands[*]} " == *" $command "* ]] || fail "the command $command is not listed"
done
expect 0 help
cmp "$scratch/out" "$scratch/tool-help" || fail "'sparc help' and 'sparc --help' differ"

# the version, from the header that defines it
part() { sed -n "s/^#define SPARC_VERSION_$1 *//p" "$SPARC_SOURCE_DIR/include/sparc/base.h"; }
version="sparc $(part MAJOR).$(part MINOR).$(part PATCH)"
for arguments in version --version -V "check --version" "info -V"; do
  # shellcheck disable=SC2086
  expect 0 $arguments
  [ "$(cat "$scratch/out")" = "$version" ] || fail "'sparc $arguments' does not print '$version'"
done

# every command: both forms print the same, and the options that it must have are there
declare -A must=([check]="double tolerance json quiet threads" [info]="json")
for command in "${commands[@]}"; do
  expect 0 "$command" --help
  no_complaint
  prints "Usage: sparc $command"
  cp "$scratch/out" "$scratch/command-help"
  expect 0 help "$command"
  cmp "$scratch/out" "$scratch/command-help" || fail "'sparc help $command' and 'sparc $command --help' differ"
  for option in ${must[$command]-} help usage version; do prints "--$option"; done
  letters=$(grep -oE '^ +-[A-Za-z?](,|$)' "$scratch/command-help" | sort | uniq -d)
  [ -z "$letters" ] || fail "options of $command share a letter: $letters"
  expect 0 "$command" --usage
  prints "Usage: sparc $command"

  # the man page has a section for the command, with each of its long options, in mdoc's spelling
  section=$(awk -v name="$command" '/^\.S[sh] /{on = $2 == name} on' "$man")
  [ -n "$section" ] || fail "the man page has no section '$command'"
  mapfile -t options < <(grep -o -- '--[a-z-]*' "$scratch/command-help" | sort -u)
  for option in "${options[@]}"; do
    case $option in
    --help | --usage | --version) text=$(cat "$man") ;;
    *) text=$section ;;
    esac
    grep -q -- "^\.It .*Fl Fl ${option#--}\b" <<<"$text" || fail "the man page does not describe $option of $command"
  done
done

# the man page names no option that does not exist
for command in "${commands[@]}"; do "$SPARC" "$command" --help; done >"$scratch/all-help"
mapfile -t options < <(sed -n 's/^\.It .*Fl Fl \([a-z-]*\).*/\1/p' "$man" | sort -u)
for option in "${options[@]}"; do
  grep -q -- "--$option\b" "$scratch/all-help" ||
    fail "the man page describes --$option, which no command has"
done

# the man page formats without a warning where the tools for it exist
if command -v man >/dev/null && command -v groff >/dev/null; then
  man --warnings=w -l "$man" >"$scratch/out" 2>"$scratch/err" || fail "man cannot format the page"
  no_complaint
fi
if command -v mandoc >/dev/null; then
  mandoc -Tlint -Wwarning "$man" >"$scratch/out" 2>"$scratch/err" || fail "mandoc has remarks"
fi
