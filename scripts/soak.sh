#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# soak.sh TOOL [FUZZ-BUILD]: long tests on one core, niced, to be left alone for hours and started again at any time.
#
# Every fuzz target of FUZZ-BUILD gets SOAK_EXECUTIONS executions (1000000; 0: none) in rounds, one target after the
# other, and every command that can be resumed (train, rl, learn, lab run) its share of SOAK_KILLS (1000) kills: it is
# killed at a random moment, resumed, killed again, and in the end its files must be those of a run that was left alone.
#
# SOAK_FOLDER (build/soak) keeps counts, corpora and crashes; a second start resumes there. SOAK_SECONDS (no limit) ends
# it after the round under way. SOAK_ONLY is a pattern of names, SOAK_NICE (10) the priority.
#
# The log SOAK_LOG (tests/soak/log.tsv) has a line for each target and day: what was reached by then, with the commit of
# the last round. Coverage in edges and features at half of the executions and at the end shows whether the second half
# found anything. Exit code 1: crashes or mismatches.
# shellcheck disable=SC2317 # functions are called by the names that they are made of
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
renice -n "${SOAK_NICE:-10}" $$ >/dev/null

tool=$(realpath "$1")
fuzz=${2:+$(realpath "$2")}
executions=${SOAK_EXECUTIONS:-1000000}
kills=${SOAK_KILLS:-1000}
round=${SOAK_ROUND:-300} # seconds
only=${SOAK_ONLY:-.}
folder=$(realpath -m "${SOAK_FOLDER:-build/soak}")
log=$(realpath -m "${SOAK_LOG:-tests/soak/log.tsv}")
mkdir -p "$folder/crashes" "${log%/*}"
end=$((SECONDS + ${SOAK_SECONDS:-1000000000}))
commit=$(git rev-parse --short HEAD 2>/dev/null || echo unknown)
corpora=$PWD/tests/fuzz/corpus
scratch=$(mktemp -d -p "$([ -w /dev/shm ] && echo /dev/shm || echo /tmp)" sparc-soak.XXXXXX)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR=$scratch OMP_WAIT_POLICY=passive
status=0

over() { [ $SECONDS -ge $end ]; }

# write_log TARGET FIELD...: the line of this target and day
header="date	commit	target	executions	edges_half	edges_end	features_half	features_end	crashes	kills	mismatches"
write_log() {
  local date
  date=$(date -u +%F)
  [ -s "$log" ] || echo "$header" >"$log"
  awk -F'\t' -v date="$date" -v target="$1" '!($1 == date && $3 == target)' "$log" >"$scratch/log"
  (
    IFS=$'\t'
    echo "$date	$commit	$*" >>"$scratch/log"
  )
  cp "$scratch/log" "$log"
}

# ---- fuzz targets --------------------------------------------------------------------------------

# rounds of a target: executions so far, edges, features
total_of() { if [ -e "$folder/$1.rounds" ]; then tail -1 "$folder/$1.rounds" | cut -f1; else echo 0; fi; }

crashes_of() { find "$folder/crashes" -name "$1-*" | wc -l; }

log_target() { # NAME
  write_log "$1" "$(awk -F'\t' '{ n[NR] = $1; e[NR] = $2; f[NR] = $3 }
    END { for (h = 1; h < NR && n[h] < n[NR] / 2; h++); printf "%d\t%d\t%d\t%d\t%d", n[NR], e[h], e[NR], f[h], f[NR] }' \
    "$folder/$1.rounds")" "$(crashes_of "$1")" - -
}

fuzz_round() { # NAME
  local name=$1 before out=$scratch/fuzz.log
  before=$(total_of "$name")
  mkdir -p "$folder/corpus/$name" "$corpora/$name"
  "$fuzz/fuzz/fuzz_$name" -runs=$((executions - before)) -max_total_time="$round" -timeout=20 \
    -rss_limit_mb=2048 -close_fd_mask=3 -print_final_stats=1 -artifact_prefix="$folder/crashes/$name-" \
    "$folder/corpus/$name" "$corpora/$name" 2>"$out" ||
    echo "soak: $name: $(grep -m1 -E 'ERROR|violated|SUMMARY' "$out" || tail -1 "$out")" >&2
  # the last line of progress, "#1234 DONE cov: 12 ft: 34 ...", also where a crash has ended the round
  awk -v before="$before" '/^#[0-9]+[ \t].*cov: / { n = substr($1, 2); for (i = 2; i < NF; i++) {
      if ($i == "cov:") e = $(i + 1); if ($i == "ft:") f = $(i + 1) } }
    /^stat::number_of_executed_units/ { n = $2 }
    END { printf "%d\t%d\t%d\n", before + (n > 0 ? n : 1), e, f }' "$out" >>"$folder/$name.rounds"
  log_target "$name"
}

fuzz_all() {
  local most_crashes=20 busy=1 path name
  while [ $busy = 1 ] && ! over; do
    busy=0
    for path in "$fuzz"/fuzz/fuzz_*; do
      name=${path##*/fuzz_}
      if over || ! [[ $name =~ $only ]]; then continue; fi
      if [ "$(total_of "$name")" -ge "$executions" ] || [ "$(crashes_of "$name")" -ge $most_crashes ]; then
        continue
      fi
      busy=1
      fuzz_round "$name"
    done
  done
  for path in "$fuzz"/fuzz/fuzz_*; do
    if [ "$(crashes_of "${path##*/fuzz_}")" -gt 0 ]; then status=1; fi
  done
}

# ---- kills ---------------------------------------------------------------------------------------

# what each command does: NAME_line FOLDER sets `line`, the arguments that begin it or go on with it (none: it is done),
# NAME_files FOLDER prints what must be the same

train_line() {
  line=(train tracking --modes 4 --layers 0 --batch 4 --updates 60 --validate-every 20 --threads 1 --quiet
    --out "$1/run" "$resume")
}
train_files() { digest "$1" run/config.json run/last.safetensors run/best.safetensors run/metrics.jsonl run/metrics.csv; }

rl_line() {
  line=(rl repeat-previous --modes 4 --width 8 --rollout-steps 128 --minibatches 4 --epochs 2 --steps 5e3 --threads 1 --quiet
    --out "$1/run" "$resume")
}
rl_files() { digest "$1" run/config.json run/last.safetensors run/metrics.jsonl run/metrics.csv; }

# the learner's file stores its number of steps; the stream continues after them
learn_line() {
  local seen=0 how=(--modes 4)
  if [ -e "$1/learner.safetensors" ]; then
    seen=$("$tool" info --json "$1/learner.safetensors" | sed 's/.*"learner.steps":"\([0-9]*\)".*/\1/')
    how=(--resume)
  fi
  tail -n +$((seen + 1)) "$scratch/stream.csv" >"$scratch/rest.csv"
  line=()
  if [ -s "$scratch/rest.csv" ]; then
    line=(learn "$scratch/rest.csv" --model "$1/learner.safetensors" --save-every 100 --quiet "${how[@]}")
  fi
}
learn_files() { digest "$1" learner.safetensors; }

lab_line() { line=(lab run "$scratch/grid.json" --out "$1/results" --threads 1 --jobs 1 --quiet); }
# without temporary files: those of a worker that is about to die of the kill are left to the next run
lab_files() {
  (cd "$1" && find results -name '*.safetensors' -o -name metrics.jsonl -o -name metrics.csv -o -name config.json \
    -o -name job.json | sort | xargs cksum)
  "$tool" lab table "$1/results/soak" --json
}

digest() { (cd "$1" && shift && cksum "$@"); }

prepare_inputs() {
  awk 'BEGIN { for (t = 0; t < 3000; t++) printf "%.4f,%.4f\n", sin(t / 7), cos(t / 11) }' >"$scratch/stream.csv"
  cat >"$scratch/grid.json" <<'GRID'
{"name": "soak", "kind": "rl", "seeds": [0, 1], "score": {"metric": "entropy", "window": 5},
 "settings": {"steps": 2000, "rollout": 100, "minibatches": 2, "epochs": 1, "width": 8, "modes": 4},
 "tasks": [{"name": "bandit", "settings": {"task": "bandit"}}],
 "methods": [{"name": "rtu", "settings": {"cell": "rtu"}}]}
GRID
}

milliseconds() { echo $(($(date +%s%N) / 1000000)); }

# kill_cycle NAME LENGTH: a run that is killed at random moments of its LENGTH until one of them comes too late
kill_cycle() {
  local name=$1 work=$scratch/cycle after code=137 killed=0 line
  rm -rf "$work"
  mkdir "$work"
  while [ $code = 137 ]; do
    code=0
    "${name}_line" "$work"
    if [ ${#line[@]} = 0 ]; then break; fi
    setsid "$tool" "${line[@]}" >"$scratch/cycle.log" 2>&1 &
    after=$(($2 * 12 * RANDOM / 327680))
    sleep "$((after / 1000)).$(printf %03d $((after % 1000)))"
    kill -KILL -- "-$!" 2>/dev/null || true
    wait $! 2>/dev/null || code=$?
    if [ $code = 137 ]; then echo $((++killed)) >"$scratch/killed"; fi
  done
  if [ $code != 0 ]; then
    echo "soak: $name: a killed run does not go on: $(head -1 "$scratch/cycle.log")" >&2
  elif cmp <("${name}_files" "$work") "$scratch/$name.files" >/dev/null; then
    return 0
  else
    echo "soak: $name: a killed run has other files than one that was left alone" >&2
  fi
  rm -rf "$folder/mismatch-$name"
  cp -r "$work" "$folder/mismatch-$name"
  return 1
}

# the run that is left alone, and how long it takes
reference_of() { # NAME
  local work=$scratch/reference-$1 begun line
  mkdir "$work"
  "$1_line" "$work"
  begun=$(milliseconds)
  "$tool" "${line[@]}" >/dev/null
  length=$(($(milliseconds) - begun))
  "$1_files" "$work" >"$scratch/$1.files"
}

kill_all() {
  local name share=$(((kills + 3) / 4)) done_before mismatches length
  prepare_inputs
  for name in train rl learn lab; do
    if ! [[ kill.$name =~ $only ]]; then continue; fi
    read -r done_before mismatches 2>/dev/null <"$folder/kill.$name" || { done_before=0 mismatches=0; }
    if [ "$done_before" -ge "$share" ] || over; then continue; fi
    reference_of "$name"
    while [ "$done_before" -lt "$share" ] && ! over; do
      echo 0 >"$scratch/killed"
      kill_cycle "$name" "$length" || mismatches=$((mismatches + 1))
      done_before=$((done_before + $(cat "$scratch/killed")))
      echo "$done_before $mismatches" >"$folder/kill.$name"
      write_log "kill.$name" - - - - - - "$done_before" "$mismatches"
    done
    if [ "$mismatches" -gt 0 ]; then status=1; fi
  done
}

# a run that was killed before its first checkpoint begins again
resume=$("$tool" rl --help | grep -o -m1 -e --resume-or-create || echo --resume)
{ # read as a whole: the script may change while it runs for hours
  if [ "$kills" -gt 0 ]; then kill_all; fi
  if [ -n "$fuzz" ] && [ "$executions" -gt 0 ]; then fuzz_all; fi
  exit $status
}
