#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# lab_jobs.sh: lists of runs for schedulers: their formats, numbers, chunks and quotes, and `sparc lab run --job`. `make
# test-cluster` tests them with Slurm and GNU parallel.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"
unset SPARC_DATA
cd "$scratch"

write_grid() {
  cat >"$1" <<'END'
{
  "name": "tiny", "title": "A tiny grid", "kind": "train",
  "settings": {"updates": 20, "budget": 16, "validate-every": 10, "batch": 4, "data": "tracking"},
  "score": {"metric": "validation_nmse", "take": "last", "better": "lower", "scale": 1, "unit": "NMSE", "digits": 3},
  "tasks": [{"name": "a"}, {"name": "b", "settings": {"rate": 0.001}}],
  "methods": [{"name": "sparc", "settings": {"cell": "sparc"}}, {"name": "rtu", "settings": {"cell": "rtu"}}],
  "seeds": [0, 1], "reference": "sparc"
}
END
}
write_grid tiny.json

# ---- what is refused
for wrong in x -1 8 0-8 3-1 '1,' ',1' 1--2 ''; do
  expect 2 lab run tiny.json --job="$wrong"
  complains "--job is '$wrong', expected numbers and ranges such as 3,7-9 from 0 to 7"
  [ ! -e results ] || fail "--job=$wrong made a folder"
done
expect 2 lab jobs tiny.json --format slrum
complains "unknown format 'slrum'; did you mean 'slurm'?"
expect 2 lab table tiny.json --format slurm
complains "unknown format 'slurm'"
expect 2 lab jobs
complains "no NAME given"
expect 2 lab status tiny.json --job 1
complains "--job is not for \`sparc lab status\`"

# ---- one entry, whose number counts by seed, then by task and method
expect 0 lab run tiny.json --job 5 --quiet --json
[ "$(wc -l <"$scratch/out")" = 1 ] || fail "one run prints one line"
prints '"job":"a/rtu/s1"'
expect 0 lab jobs tiny.json
[ "$(grep -o -- '--job [0-9]*' "$scratch/out" | tr '\n' ' ')" = "--job 0 --job 1 --job 2 --job 3 --job 4 --job 6 --job 7 " ] ||
  fail "the list is not that of the unfinished runs"
no_complaint
expect 0 lab run tiny.json --job 5 --quiet --json # finished: nothing to do
no_output

# ---- chunks: neighbours are ranges
expect 0 lab jobs tiny.json --chunk 3
[ "$(grep -o -- '--job [0-9,-]*' "$scratch/out" | tr '\n' ' ')" = "--job 0-2 --job 3-4,6 --job 7 " ] ||
  fail "chunks are not as they should be"
expect 0 lab jobs tiny.json --format slurm --chunk 3 --threads 2 --progress none
prints '#SBATCH --array=0-2'
prints '#SBATCH --cpus-per-task=2'
prints 'jobs=(0-2 3-4,6 7)'
grep -Eq '^#SBATCH --time=[0-9]+$' "$scratch/out" || fail "there is no limit of time"
grep -Eq '^#SBATCH --mem=[0-9]+M$' "$scratch/out" || fail "there is no limit of memory"
bash -n "$scratch/out" || fail "the script for Slurm is no script"

# ---- JSON has the command as words
expect 0 lab jobs tiny.json --format json --progress none --seeds 1
[ "$(wc -l <"$scratch/out")" = 4 ] || fail "JSON has one line for each run"
prints '"job":0,"name":"a/sparc/s0"'
prints '"--seeds","1"'
for key in seconds memory_mb; do
  grep -Eq "\"$key\":[0-9]" "$scratch/out" || fail "there is no estimate of $key"
done

# ---- words that a shell or make would split: the lists execute exactly their entries
hostile='it'\''s $(touch PWNED) `touch PWNED` ; # % \ "$HOME"'
mkdir -p "$hostile"
write_grid "$hostile/tiny.json"
newline=$'out\n\ttouch PWNED\n'
for format in parallel slurm make; do
  expect 0 lab jobs "$hostile/tiny.json" --out "$newline$format" --tasks a --seeds 1 --format $format --progress none
  cp "$scratch/out" list
  bash -n list || [ $format = make ] || fail "the list for $format is no script"
  case $format in
    parallel) bash list >lines ;;
    make) make -f list >lines ;;
    slurm)
      for task in 0 1; do SLURM_ARRAY_TASK_ID=$task bash list; done >lines
      SLURM_ARRAY_TASK_ID=0 bash list table
      grep -q NMSE "$newline$format/tiny/table.txt" || fail "there is no table"
      ;;
  esac
  for run in a/sparc/s0 a/rtu/s0; do
    [ -s "$newline$format/tiny/$run/result.json" ] || fail "$run was not run by $format"
    [ "$(grep -c "\"job\":\"$run\"" lines)" = 1 ] || fail "$format does not list $run once"
  done
  if find . -name '*PWNED' -not -path "./$hostile*" | grep -q .; then fail "the list for $format ran something else"; fi
done

# ---- a name that looks like an option
write_grid ./--version.json
expect 0 lab jobs --seeds 1 --tasks a -- --version.json
bash "$scratch/out" >lines 2>&1 || fail "a name with dashes cannot be run: $(cat lines)"

# ---- an entry that Slurm signals before its time limit saves, and is queued again; a killed one, too, three times
mkdir bin
printf '#!/bin/bash\necho "$@" >>requeued\n' >bin/scontrol
chmod +x bin/scontrol
sed 's/"updates": 20/"updates": 20000000/' tiny.json >long.json
expect 0 lab jobs long.json --out long --tasks a --methods rtu --seeds 1 --format slurm --progress none
cp "$scratch/out" list
# runner: the process that the newest claim names
runner() {
  local claim
  claim=$(find long/tiny/a/rtu/s0 -name 'claim.[0-9]*' 2>/dev/null | sort | tail -1)
  [ -z "$claim" ] || sed -n 's/.*"pid": \([0-9]*\).*/\1/p' "$claim" 2>/dev/null
}
# start_entry RESTARTS: until the run has a checkpoint and a live runner; a killed one leaves its claim behind
start_entry() {
  local pid
  env PATH="$PWD/bin:$PATH" SLURM_ARRAY_TASK_ID=0 SLURM_ARRAY_JOB_ID=77 SLURM_RESTART_COUNT=$1 bash list 2>/dev/null &
  entry=$!
  for _ in $(seq 300); do
    pid=$(runner || true)
    if [ -s long/tiny/a/rtu/s0/last.safetensors ] && [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null; then return 0; fi
    sleep 0.1
  done
  fail "the entry does not start"
}
end_entry() {
  local code=0
  wait "$entry" || code=$?
  [ $code = "$1" ] || fail "the entry ended with code $code, expected $1"
  [ "$(cat requeued 2>/dev/null)" = "$2" ] || fail "requeued: $(cat requeued 2>/dev/null), expected $2"
  rm -f requeued
}
kill_runner() { kill -s KILL "$(runner)"; }
start_entry 0
sleep 0.3
kill -s USR1 "$entry"
end_entry 130 'requeue 77_0'
start_entry 0
sleep 0.3
kill -s TERM "$entry"
end_entry 130 ''
start_entry 2
sleep 0.3
kill_runner
end_entry 137 'requeue 77_0'
start_entry 3
sleep 0.3
kill_runner
end_entry 137 ''
