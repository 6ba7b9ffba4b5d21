#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# output.sh: lost output is never silent, and colour appears only on a terminal that wants it.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

full=$vectors/sparc-full.safetensors

# lost CODE: the last run ended with a code other than 0 and the message
lost() {
  [ "$1" != 0 ] || fail "lost output, exit code 0"
  complains "sparc: cannot write to standard output: "
}

# a full disk, also for what argp prints itself
: >"$scratch/out"
for arguments in --help --version help version info "info --json" "check $full" "check -q $full" "check --help"; do
  code=0
  # shellcheck disable=SC2086
  "$SPARC" $arguments >/dev/full 2>"$scratch/err" || code=$?
  lost $code
done

# a closed standard output; a reader that has gone, as head does, needs no message
code=0
"$SPARC" check "$full" >&- 2>"$scratch/err" || code=$?
lost $code
mkfifo "$scratch/pipe"
exec 8<>"$scratch/pipe"
exec 9>"$scratch/pipe"
exec 8<&-
code=0
"$SPARC" check "$full" >&9 2>"$scratch/err" || code=$?
[ $code != 0 ] || fail "lost output, exit code 0"
[ ! -s "$scratch/err" ] || fail "a closed pipe is not taken quietly: $(cat "$scratch/err")"
code=0
"$SPARC" rl --help >&9 2>"$scratch/err" || code=$?
[ ! -s "$scratch/err" ] || fail "a closed pipe is not taken quietly: $(cat "$scratch/err")"
exec 9>&-

# a more specific code is kept
code=0
"$SPARC" check "$scratch/missing" "$full" >/dev/full 2>"$scratch/err" || code=$?
[ $code = 3 ] || fail "lost output replaces exit code 3 by $code"

# colour
"$SPARC" check "$full" >"$scratch/out"
if grep -q $'\033' "$scratch/out"; then fail "colour in a file"; fi
if command -v script >/dev/null && script -qec true /dev/null >/dev/null 2>&1; then
  on_terminal() { script -qec "env $1 '$SPARC' check '$full'" /dev/null >"$scratch/out"; }
  on_terminal "-u NO_COLOR TERM=xterm"
  grep -q $'\033\\[32mok' "$scratch/out" || fail "no colour on a terminal"
  for setting in "NO_COLOR=1 TERM=xterm" "-u NO_COLOR TERM=dumb" "-u NO_COLOR -u TERM"; do
    on_terminal "$setting"
    if grep -q $'\033' "$scratch/out"; then fail "colour with $setting"; fi
  done
fi
