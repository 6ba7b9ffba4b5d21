#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# usage.sh: wrong command lines end with code 2, a message on standard error and nothing on standard output.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

good=$vectors/sparc-one.safetensors

# refuse MESSAGE ARGUMENT...
refuse() {
  local message=$1
  shift
  expect 2 "$@"
  complains "$message"
  no_output
}

# commands
refuse "sparc: no command given"
refuse "sparc: unknown command 'chekc'; did you mean 'check'?" chekc "$good"
refuse "sparc: unknown command 'inof'; did you mean 'info'?" inof
refuse "sparc: unknown command 'frobnicate'; \`sparc help\` lists the commands" frobnicate
refuse "sparc: unknown command ''" ''
refuse "sparc help: unknown command 'chek'; did you mean 'check'?" help chek
refuse "expected at most one command, got 'info' as well" help check info
refuse "expected no argument, got 'now'" version now

# options
refuse "sparc check: unknown option '--tolerence'; did you mean '--tolerance'?" check --tolerence 1e-5 "$good"
refuse "sparc check: unknown option '--tolerence'; did you mean '--tolerance'?" check "$good" --tolerence=1e-5
refuse "sparc check: unknown option '--halp'; did you mean '--help'?" check --halp
refuse "sparc check: unknown option '--frobnicate'; \`sparc check --help\` lists the options" check --frobnicate
refuse "sparc check: unknown option '--program-name'" check --program-name=x "$good"
refuse "sparc info: unknown option '--jsno'; did you mean '--json'?" info --jsno
refuse "sparc: unknown option '--versoin'; did you mean '--version'?" --versoin
refuse "sparc check: invalid option -- 'z'" check -z "$good"
refuse "sparc: invalid option -- 'z'" -z
refuse "option '--t' is ambiguous" check --t 1 "$good"
refuse "option '--tolerance' requires an argument" check --tolerance
refuse "option '--quiet' doesn't allow an argument" check --quiet=yes "$good"

# values
refuse "sparc check: no FILE given" check
refuse "sparc check: no FILE given" check --quiet
for value in '' x 1e-5x -1 nan inf; do
  refuse "--tolerance is '$value', expected a number that is not negative" check --tolerance="$value" "$good"
done
for value in '' x 2x 0 -1 1025 99999999999999999999; do
  refuse "--threads is '$value', expected a whole number from 1 to 1024" check --threads="$value" "$good"
done
# the value of an option may look like an option, and is then checked as a value
refuse "--tolerance is '--quite', expected a number that is not negative" check --tolerance --quite "$good"
refuse "--tolerance is '--quite', expected a number that is not negative" check -qt --quite "$good"

# what stays accepted: prefixes that are unambiguous, options after files, files after --
expect 0 check --tol 1e-5 --thr=2 --qui "$good"
expect 0 check "$good" -q -t1e-5
cp "$good" "$scratch/--quite"
cd "$scratch"
expect 0 check -- --quite
prints '--quite  step'
