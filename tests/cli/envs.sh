#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# envs.sh: `sparc envs`: the list, one environment, episodes, and environments from shared objects, good and bad.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"
: "${EXAMPLE_PLUGIN:?the example}" "${PLUGIN_DIR:?the shared objects with a fault each}"

# line PATTERN: the last run printed a line that matches
line() { grep -Eq -- "$1" "$scratch/out" || fail "no line matches: $1"; }

# the list
expect 0 envs
line '^name +observation +actions +steps +random +optimal$'
line '^autoencode +4 +4 +104 +-0\.500 +1\.000  watch'
line '^count-recall +4 +27 +52 +-0\.926 +1\.000 '
line '^noisy-pendulum +2 +R\^1 +200 +0\.243 +0\.900 '
line '^noisy-cartpole +2 +2 +200 +0\.112 +- '
line '^hopper-p '
expect 0 envs --json
prints '"name":"repeat-first"'
[ "$(wc -l <"$scratch/out")" = "$(($("$SPARC" envs 2>/dev/null | wc -l) - 1))" ] || fail "list and --json differ in length"

# one environment
expect 0 envs repeat-previous
no_complaint
prints "observation  4 numbers"
prints "action       one of 4"
prints "episode      at most 52 steps"
prints "returns      random -0.500, optimal 1.000"
expect 0 envs repeat-previous --options size=hard,lag=3
prints "episode      at most 156 steps"
expect 0 envs pendulum --json
prints '"choices":0,"action":1,"horizon":200'

# an episode: a line per step, the same for the same seed
expect 0 envs repeat-previous --play oracle
[ "$(wc -l <"$scratch/out")" = 54 ] || fail "an episode of 52 steps has other lines"
[ "$(tail -1 "$scratch/out")" = "return 1.0000 in 52 steps" ] || fail "the oracle does not return 1"
expect 0 envs cartpole --play random --seed 3
cp "$scratch/out" "$scratch/first"
expect 0 envs cartpole --play random --seed 3
cmp "$scratch/out" "$scratch/first" || fail "the same seed gives another episode"
expect 0 envs cartpole --play random --seed 4
! cmp -s "$scratch/out" "$scratch/first" || fail "another seed gives the same episode"
expect 0 envs concentration --play oracle
prints "... (156)"

# many episodes; the number of threads has no effect
expect 0 envs cartpole --play random --episodes 300 --json --threads 1
cp "$scratch/out" "$scratch/first"
[ "$(wc -l <"$scratch/out")" = 1 ] || fail "--json prints several lines"
prints '"episodes":300,"mean_return":0.1'
for key in sd mean_length faults seed policy; do prints "\"$key\":"; done
expect 0 envs cartpole --play random --episodes 300 --json --threads 2
cmp "$scratch/out" "$scratch/first" || fail "two threads give other means"
expect 0 envs autoencode --play oracle --episodes 7
[ "$(cat "$scratch/out")" = "autoencode, policy oracle, 7 episodes: mean return 1.0000 (sd 0.0000), mean length 104.0" ] ||
  fail "wrong means"

# tables and films
expect 0 envs cartpole --play oracle --csv "$scratch/a.csv" --film "$scratch/a.svg"
[ "$(cat "$scratch/out")" = "return 1.0000 in 200 steps" ] || fail "a recorded episode is printed"
[ "$(wc -l <"$scratch/a.csv")" = 201 ] || fail "the table has other rows"
grep -q '^<svg' "$scratch/a.svg" || fail "the film is no SVG"
expect 1 envs bandit --play random --film "$scratch/b.svg"
complains "bandit has nothing to draw"
expect 3 envs cartpole --play random --csv "$scratch/missing/a.csv"

# an environment of one's own, by its path
expect 0 envs "$EXAMPLE_PLUGIN"
prints "corridor"
expect 0 envs "$EXAMPLE_PLUGIN" --options length=3 --play oracle
prints "return 1.0000 in 4 steps"
expect 2 envs "$EXAMPLE_PLUGIN" --options lenth=3
complains "the corridor's options are 'lenth=3', expected length=N"
refuse() {
  expect 3 envs "$1"
  complains "sparc envs: "
  complains "$2"
  no_output
}
refuse "$PLUGIN_DIR/NO_ENTRY.so" "without the function sparc_env_plugin"
refuse "$PLUGIN_DIR/NO_KIND.so" "has no environment"
refuse "$PLUGIN_DIR/OLD_VERSION.so" "is an environment of version 0, expected 1"
refuse "$PLUGIN_DIR/NO_STEP.so" "without 'step'"
refuse "$PLUGIN_DIR/LARGE_STATE.so" "'step' writes beyond the 4 bytes of its state"
refuse ./missing.so "No such file or directory"
refuse "$SPARC_SOURCE_DIR/README.md" "does not load"

# what is wrong with the command line
wrong() {
  local message=$1
  shift
  expect 2 envs "$@"
  complains "$message"
  no_output
}
wrong "unknown environment 'cartpol'; did you mean 'cartpole'?" cartpol
wrong "a shared object is loaded by its path: './mine.so'" mine.so
wrong "cartpole has no options, got 'size'" cartpole --options size=hard
wrong "unknown size 'hrad'; did you mean 'hard'?" autoencode --options size=hrad
wrong "unknown policy 'orcle'; did you mean 'oracle'?" cartpole --play orcle
wrong "expected one NAME, got 'b' as well" a b
wrong "--options needs the NAME" --options size=hard
wrong "--play needs the NAME" --play random
wrong "--episodes needs a policy" cartpole --episodes 3
wrong "--csv records one episode" cartpole --play random --episodes 3 --csv x.csv
wrong "--episodes is '0', expected a whole number from 1" cartpole --play random --episodes 0
wrong "did you mean '--episodes'?" cartpole --play random --epsiodes 4
expect 3 envs cartpole --play agent.safetensors
complains "cannot open 'agent.safetensors'"
