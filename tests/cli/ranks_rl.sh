#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ranks_rl.sh: reinforcement learning on several ranks of an MPI job: four streams in four shards give the same bits for
# every number of ranks and threads, in every way through time, and after stops and kills. Without MPI the plain runs
# are still compared. SPARC_KILLS is the number of kills at random moments, 1 by default; SPARC_ALL: all numbers of ranks
# with all numbers of threads. `make test-cluster` sets both.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"
# shellcheck source=tests/cli/ranks.bash
. "$(dirname "${BASH_SOURCE[0]}")/ranks.bash"
cd "$scratch"
common=(--streams 4 --shards 4 --rollout-steps 64 --minibatches 2 --epochs 2 --state-size 16 --seed 3 --quiet)

# ---- stored sensitivities, records with grouped traces, windows, normalised observations, exact encoders
try() {
  local options=(rl "$@" "${common[@]}" --steps 128)
  "$SPARC" "${options[@]}" --out plain --force --threads 2 >/dev/null
  "$SPARC" "${options[@]}" --out other --force --threads 1 >/dev/null
  same plain/last.safetensors other/last.safetensors
  if [ -n "$(no_ranks)" ]; then return 0; fi
  for ranks in ${SPARC_ALL:+1} 2 4; do
    for threads in $(threads_or $((3 - (ranks + 1) / 2))); do
      on "$ranks" "${options[@]}" --out ranks --force --threads "$threads" >/dev/null
      for file in last.safetensors metrics.jsonl; do same plain/$file ranks/$file; done
    done
  done
}
try repeat-first --cell sparc
try repeat-first --cell rtu --traces stored --refresh epoch
try noisy-pendulum --cell sparc --obsnorm feature --traces free
try repeat-previous --cell gru --tbptt 4
try repeat-first --cell sparc --encoder exact

# ---- shards are a setting: 1 is as none; two streams of a shard each
plain=(rl repeat-first --cell sparc "${common[@]}" --steps 128)
"$SPARC" "${plain[@]}" --shards 1 --out one --force >/dev/null
"$SPARC" "${plain[@]}" --shards 0 --out none --force >/dev/null
same one/last.safetensors none/last.safetensors
expect 2 "${plain[@]}" --shards 3 --out odd
complains "shards (--shards) is 3, expected a divisor of streams (--streams), 4"
expect 0 "${plain[@]}" --shards 2 --out two

# ---- a stopped run resumes, and its agent acts
expect 0 rl --eval two/last.safetensors --episodes 2
if [ -n "$(no_ranks)" ]; then
  echo "the rest is skipped: $(no_ranks)"
  exit 0
fi
long_run whole --steps 2560 rl repeat-first --cell sparc "${common[@]}"
stop_rank USR1 part "${long[@]}"
[ $got = 130 ] || fail "SIGUSR1: exit code $got, expected 130: $(cat err)"
on 4 "${long[@]}" --out part --resume >/dev/null
for file in last.safetensors metrics.jsonl; do same whole/$file part/$file; done
survive "${SPARC_KILLS:-1}" whole 'last.safetensors metrics.jsonl' "${long[@]}"

# ---- what is refused, once for all ranks
got=0
on 2 "${plain[@]}" --shards 0 --out no >out 2>err || got=$?
[ $got = 2 ] || fail "exit code $got, expected 2"
[ "$(grep -c '^sparc rl: 2 ranks have nothing to share' err)" = 1 ] || fail "no message, or several: $(cat err)"
