#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ranks_rl.sh: reinforcement learning on several ranks of an MPI job: four streams in four shards give the same bits for
# every number of ranks and threads, in every way through time, and after stops and kills. Without MPI the plain runs
# are still compared. SPARC_KILLS is the number of kills at random moments, 1 by default.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"
cd "$scratch"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # containers
export OMPI_MCA_btl_vader_single_copy_mechanism=none
have_mpi=
if command -v mpirun >/dev/null && [ -e "$(dirname "$SPARC")/sparc-mpi.so" ] && [ -z "${SPARC_SANITIZE:-}" ]; then
  have_mpi=yes
fi
launch=(mpirun)
if [ $have_mpi ] && mpirun --version | grep -q 'Open MPI'; then launch+=(--oversubscribe --bind-to none --quiet); fi
on() {
  local ranks=$1
  shift
  timeout 200 "${launch[@]}" -n "$ranks" "$SPARC" "$@"
}
same() { cmp "$1" "$2" || fail "$1 and $2 differ"; }
common=(--streams 4 --shards 4 --rollout 64 --minibatches 2 --epochs 2 --budget 16 --seed 3 --quiet)

# ---- stored sensitivities, records with grouped traces, windows, normalised observations, exact encoders
try() {
  local options=(rl "$@" "${common[@]}" --steps 128)
  "$SPARC" "${options[@]}" --out plain --force --threads 2 >/dev/null
  "$SPARC" "${options[@]}" --out other --force --threads 1 >/dev/null
  same plain/last.safetensors other/last.safetensors
  [ $have_mpi ] || return 0
  for ranks in 2 4; do
    on $ranks "${options[@]}" --out ranks --force --threads $((3 - ranks / 2)) >/dev/null
    for file in last.safetensors metrics.jsonl; do same plain/$file ranks/$file; done
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

# ---- a stopped run goes on, and its agent acts
expect 0 rl --eval two/last.safetensors --episodes 2
[ $have_mpi ] || exit 0
long=(rl repeat-first --cell sparc "${common[@]}" --steps 2560)
"$SPARC" "${long[@]}" --out whole >/dev/null
ranks_of() { pgrep -f -- "^$SPARC rl repeat-first.*--out part" || true; }
start() {
  timeout 200 "${launch[@]}" -n "$1" "$SPARC" "${long[@]}" --out part --resume-or-create >out 2>err &
  launcher=$!
  for _ in $(seq 1200); do
    if [ -s part/last.safetensors ] || ! kill -s 0 $launcher 2>/dev/null; then break; fi
    sleep 0.05
  done
}
start 2
for pid in $(ranks_of); do kill -s USR1 "$pid" 2>/dev/null || true; done
got=0
wait $launcher || got=$?
[ $got = 130 ] || [ $got = 0 ] || fail "SIGUSR1: exit code $got, expected 130: $(cat err)"
RANDOM=${SPARC_SEED:=$$}
echo "seed $SPARC_SEED"
numbers=(4 2 1)
for kill in $(seq "${SPARC_KILLS:-1}"); do
  start "${numbers[$((kill % 3))]}"
  sleep "0.$((RANDOM % 10))"
  mapfile -t pids < <(ranks_of)
  if [ ${#pids[@]} -gt 0 ]; then kill -s KILL "${pids[$((RANDOM % ${#pids[@]}))]}" 2>/dev/null || true; fi
  wait $launcher || true
done
on 4 "${long[@]}" --out part --resume-or-create >/dev/null
for file in last.safetensors metrics.jsonl; do same whole/$file part/$file; done

# ---- what is refused, once for all ranks
got=0
on 2 "${plain[@]}" --shards 0 --out no >out 2>err || got=$?
[ $got = 2 ] || fail "exit code $got, expected 2"
[ "$(grep -c '^sparc rl: 2 ranks have nothing to share' err)" = 1 ] || fail "no message, or several: $(cat err)"
