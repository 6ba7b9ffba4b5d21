#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ranks.sh: one run on several ranks of an MPI job: the same bits for every number of ranks and threads, after kills, too;
# signals, failures, and one message for all ranks. Skipped (77) without mpirun or without MPI in the build.
# SPARC_KILLS is the number of kills at random moments, 2 by default; SPARC_ALL: all numbers of ranks with all numbers of
# threads. `make test-cluster` sets both.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"
# shellcheck source=tests/cli/ranks.bash
. "$(dirname "${BASH_SOURCE[0]}")/ranks.bash"
unset SPARC_DATA
if [ -n "$(no_ranks)" ]; then
  echo "skipped: $(no_ranks)"
  exit 77
fi
cd "$scratch"

# refuse_on N CODE MESSAGE ARGUMENT...: all ranks end with the code, and there is one message
refuse_on() {
  local ranks=$1 code=$2 message=$3 got=0
  shift 3
  on "$ranks" "$@" >out 2>err || got=$?
  check_refusal "$code" "$message" "$got"
}
check_refusal() {
  grep '^sparc ' err >messages || true
  cp out err "$scratch" 2>/dev/null || true
  [ "$3" = "$1" ] || fail "exit code $3, expected $1: $2"
  grep -qF -- "$2" messages || fail "no message has: $2"
  [ "$(wc -l <messages)" = 1 ] || fail "there are $(wc -l <messages) messages, expected one: $2"
}

# ---- every cell, classes and numbers: a plain process and 1, 2 and 4 ranks, with 1 and 2 threads
for cell in sparc lru rtu rglru gateloop gru mamba3; do
  for task in event-order tracking; do
    options=(train "$task" --cell "$cell" --modes 8 --updates 6 --validate-every 3 --batch 8 --shards 4 --seed 5 --quiet)
    "$SPARC" "${options[@]}" --out plain --force --threads 2 >/dev/null
    for ranks in 1 2 4; do
      for threads in $(threads_or $((1 + ranks % 4 / 2))); do
        on "$ranks" "${options[@]}" --out ranks --force --threads "$threads" >/dev/null
        for file in last.safetensors best.safetensors metrics.jsonl; do same plain/$file ranks/$file; done
      done
    done
  done
done

# ---- a gradient that is large enough to be sent in pieces while the layers below go backward
options=(train event-order --layers 3 --width 64 --modes 64 --updates 3 --validate-every 3 --batch 4 --shards 4 --quiet)
"$SPARC" "${options[@]}" --out plain --force >/dev/null
for ranks in 2 4; do
  on $ranks "${options[@]}" --out ranks --force >/dev/null
  same plain/last.safetensors ranks/last.safetensors
done

# ---- layers, dropout, augmentation, averages, class weights and labels by step; shards that are no power of two
csv=labelled.csv
{
  echo a,b,label
  for i in $(seq 60); do echo "0.$((i * 37 % 100)),0.$((i * 53 % 97)),$((i % 3))"; done
} >$csv
options=(train $csv --label label --layers 2 --width 8 --modes 4 --dropout 0.2 --updates 8 --validate-every 4 --batch 12
  --shards 12 --jitter 0.1 --label-smoothing 0.1 --ema-decay 0.9 --class-weights balanced --quiet)
"$SPARC" "${options[@]}" --out plain --force >/dev/null
for ranks in 2 3 4; do
  on $ranks "${options[@]}" --out ranks --force >/dev/null
  for file in last.safetensors best.safetensors metrics.jsonl config.json; do same plain/$file ranks/$file; done
done
# shards are a setting: they change the bits, and 1 is as none
"$SPARC" "${options[@]}" --shards 1 --out one --force >/dev/null
"$SPARC" "${options[@]}" --shards 0 --out none --force >/dev/null
same one/last.safetensors none/last.safetensors
! cmp -s one/last.safetensors plain/last.safetensors || fail "shards change nothing"
expect 2 train $csv --label label --shards 5 --batch 12 --out odd
complains "shards is 5, expected a divisor of batch, which is 12"

# ---- what is refused, once for all ranks
small=(train tracking --modes 4 --updates 4 --batch 12 --quiet)
refuse_on 2 2 "2 ranks have nothing to share, as --batch is not divided: add --shards 2" "${small[@]}" --out no
refuse_on 4 2 "4 ranks cannot share 6 shards evenly, expected 1, 2, 3 or 6 ranks, or --shards 4" "${small[@]}" --shards 6 --out no
refuse_on 3 2 "3 ranks cannot share 4 shards evenly, expected 1, 2 or 4 ranks, or --shards 3 --batch 18" "${small[@]}" --batch 16 --shards 4 --out no
refuse_on 2 3 "there is no file 'nothing'" train nothing --shards 2
refuse_on 2 2 "'plain' holds a run already" "${small[@]}" --shards 2 --out plain
refuse_on 2 2 "start it without mpirun" eval plain tracking
refuse_on 2 2 "start it without mpirun" "${small[@]}" --shards 2 --seeds 2
[ ! -e no ] || fail "a refused run made a folder"
# two COMMAND... -- COMMAND...: rank 0 and rank 1 with different arguments
two() {
  local first=()
  while [ "$1" != -- ]; do
    first+=("$1")
    shift
  done
  shift
  got=0
  timeout 120 "${launch[@]}" -n 1 "${first[@]}" : -n 1 "$@" >out 2>err || got=$?
}
two "$SPARC" "${small[@]}" --shards 2 --out no -- "$SPARC" "${small[@]}" --shards 2 --out no --seed 1
check_refusal 2 "rank 1 has other options or settings than rank 0" "$got"
sed 's/,0$/,1/' $csv >other.csv
mkdir here there
cp $csv here/data.csv
cp other.csv there/data.csv
data=(train data.csv --label label --modes 4 --updates 2 --batch 4 --shards 2 --quiet --out "$scratch/no")
two env -C here "$SPARC" "${data[@]}" -- env -C there "$SPARC" "${data[@]}"
check_refusal 2 "rank 1 has other data than rank 0" "$got"
two "$SPARC" "${small[@]}" --shards 2 --out no -- "$SPARC" "${small[@]}" --shards 2 --out elsewhere
check_refusal 3 "is not the folder that rank 0 writes to; it must be on a file system that rank 1 sees" "$got"
rm -rf no elsewhere
mkdir lonely
cp "$SPARC" lonely/sparc
got=0
timeout 120 "${launch[@]}" -n 2 lonely/sparc "${small[@]}" --shards 2 --out no >out 2>err || got=$?
check_refusal 1 "install libopenmpi-dev or libmpich-dev" "$got"

# ---- a rank that fails in the middle: what rank 1 cannot do, none of them does
two "$SPARC" "${small[@]}" --shards 2 --out no -- "$SPARC" "${small[@]}" --shards 2 --config nowhere.json --out no
[ "$got" != 0 ] || fail "a rank without its configuration was not noticed"
[ "$(grep -c '^sparc ' err)" = 1 ] || fail "there is not one message"
rm -rf no

# ---- resources of each rank
on 2 info >out
[ "$(grep -c '^rank ' out)" = 2 ] || fail "info does not list two ranks: $(cat out)"

# ---- experiments: claims divide the runs among ranks, rank 0 reports all of them
cat >tiny.json <<'END'
{
  "name": "tiny", "kind": "train",
  "settings": {"updates": 20, "budget": 16, "validate-every": 10, "batch": 4, "data": "tracking"},
  "score": {"metric": "validation_nmse", "take": "last", "better": "lower", "scale": 1, "unit": "NMSE", "digits": 3},
  "tasks": [{"name": "a"}], "methods": [{"name": "rtu", "settings": {"cell": "rtu"}}],
  "seeds": [0, 1, 2, 3, 4, 5], "reference": "rtu"
}
END
on 2 lab run tiny.json --jobs 1 --threads 1 --progress none >out
grep -q '^6 of 6 runs are done' out || fail "two ranks do not finish a grid: $(cat out)"
refuse_on 2 2 "start it without mpirun" lab table tiny.json

# ---- signals: all ranks save and end with 130; another number of ranks continues bit-exactly
long_run whole --updates 600 train tracking --modes 8 --validate-every 20 --batch 16 --shards 4 --quiet
for signal in USR1 TERM; do
  stop_rank $signal part "${long[@]}"
  [ $got = 130 ] || fail "SIG$signal: exit code $got, expected 130: $(cat err)"
  [ "$(grep -c '^sparc train: interrupted after update' err)" = 1 ] || fail "SIG$signal: $(cat err)"
  on 4 "${long[@]}" --out part --resume >/dev/null
  for file in last.safetensors best.safetensors metrics.jsonl; do same whole/$file part/$file; done
done

# ---- kills at random moments: the job ends within seconds with a code other than 0, and resumes with other ranks
survive "${SPARC_KILLS:-2}" whole 'last.safetensors best.safetensors metrics.jsonl' "${long[@]}"
