#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# faults.sh: lets single allocations and single calls on files of the tool's commands fail, one after the other, and looks
# at the files afterwards. A command that succeeds has left everything; one that fails names the cause, and what was there is
# still there: the same command, undisturbed, then ends with the bytes of a run that was left alone.
# SPARC_FAULTS is how many calls of each kind and command fail, 4 by default; all: every one (make test-faults).
# FAULTS is the shared object that makes them fail (tests/faults.c).
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"
if [ -n "${SPARC_SANITIZE:-}" ]; then
  echo "skipped: a sanitizer has an allocator of its own, which cannot be made to fail"
  exit 77
fi
unset SPARC_DATA
cd "$scratch"
most=${SPARC_FAULTS:-4}
tried=0

# ---- what is there before

train=(train tracking --updates 4 --validate-every 2 --state-size 8 --batch 2 --threads 1 --quiet --out work/run)
rl=(rl repeat-first --steps 768 --rollout-steps 64 --minibatches 2 --epochs 1 --state-size 8 --width 8 --threads 1 --quiet
  --out work/run)
seq 80 | awk '{ printf "%.4f\n", sin($1 / 5) }' >stream.csv
cat >small.json <<'END'
{
  "name": "small", "title": "Small", "kind": "train",
  "settings": {"updates": 4, "budget": 8, "batch": 2, "validate-every": 2},
  "score": {"metric": "validation_nmse", "take": "last", "better": "lower", "scale": 1, "unit": "NMSE", "digits": 3},
  "tasks": [{"name": "tracking", "title": "Tracking", "settings": {"data": "tracking"}}],
  "methods": [{"name": "sparc", "title": "SPARC", "settings": {"cell": "sparc"}}],
  "seeds": [0, 1], "reference": "sparc"
}
END
for i in $(seq 20); do echo "$((i % 2)),$(seq -s, "$i" $((i + 9)))"; done >classes.csv

make_before() { # NAME COMMAND...
  local name=$1
  shift
  rm -rf work
  mkdir work
  [ $# = 0 ] || expect 0 "$@"
  mv work "before-$name"
}
make_before nothing
make_before train "${train[@]}"
make_before learn learn stream.csv --modes 4 --model work/learner.safetensors --quiet --format none
make_before lab lab run small.json --threads 1 --quiet --out work/results
make_before model train classes.csv --label 1 --updates 4 --validate-every 2 --layers 1 --width 8 --state-size 8 --batch 4 \
  --threads 1 --quiet --out work/run

# with_fault KIND AT ERROR LASTS ARGUMENT...: leaves out, err and the exit code in `got`
with_fault() {
  local kind=$1 at=$2 error=$3 lasts=$4
  shift 4
  got=0
  SPARC_FAULT_KIND=$kind SPARC_FAULT_AT=$at SPARC_FAULT_ERROR=$error SPARC_FAULT_LASTS=$lasts \
    SPARC_FAULT_COUNT=${counts:-} LD_PRELOAD=$FAULTS timeout 60 "$SPARC" "$@" >out 2>err || got=$?
}

# a run of reinforcement learning that a full disk has stopped after its first checkpoint
make_before rl
for at in $(seq 60 4 400); do
  rm -rf work
  cp -r before-rl work
  with_fault files "$at" 28 1 "${rl[@]}"
  [ "$got" = 0 ] && fail "no fault leaves a run with a checkpoint"
  [ -e work/run/last.safetensors ] && break
done
rm -rf before-rl
mv work before-rl

# same LEFT RIGHT: equal but for times and process ids
same() { diff -r -x result.json -x log.txt -x provenance.json "$1" "$2" >/dev/null; }

# ---- one command
# inject NAME BEFORE ARGUMENT...: its calls fail. Files of commands that only read stay; others are finished by the same
# command.
inject() {
  local name=$1 start=before-$2 kind total step at error lasts errors=(5 28 13)
  shift 2
  rm -rf work
  cp -r "$start" work
  expect 0 "$@"
  cp out "$name.out"
  rm -rf "after-$name"
  cp -r work "after-$name"
  for kind in memory files; do
    rm -rf work counts
    cp -r "$start" work
    counts=$scratch/counts with_fault $kind 0 0 0 "$@"
    [ "$got" = 0 ] || fail "$name fails under the shared object that counts"
    total=$(sort -n counts | tail -1)
    step=1
    [ "$most" = all ] || step=$(((total + most - 1) / most))
    for ((at = 1 + (step - 1) / 2; at <= total; at += step)); do
      error=${errors[at % 3]}
      lasts=$(((at / step) % 2))
      [ $kind = files ] || lasts=0
      rm -rf work
      cp -r "$start" work
      with_fault $kind $at "$error" $lasts "$@"
      look "$name: call $at of $total for $kind fails with error $error (lasts: $lasts)" "$name" "$start" "$@"
      tried=$((tried + 1))
    done
  done
}

# look WHERE NAME START ARGUMENT...
look() {
  local where=$1 name=$2 start=$3
  shift 3
  if [ "$got" = 0 ]; then
    same "after-$name" work || fail "$where: exit code 0, but $(diff -rq "after-$name" work)"
    case $name in train* | rl* | lab-run) ;; *) cmp -s "$name.out" out || fail "$where: exit code 0 and other output" ;; esac
    return
  fi
  [ "$got" -lt 124 ] || fail "$where: exit code $got"
  [ -s err ] || fail "$where: exit code $got and no message"
  case $name in
  learn) # what was replaced stays replaced: learning it twice would be something else
    cmp -s work/learner.safetensors "after-$name/learner.safetensors" && return
    cmp -s work/learner.safetensors "$start/learner.safetensors" || fail "$where: the learner is another one"
    ;;
  esac
  expect 0 "$@"
  same "after-$name" work || fail "$where: undisturbed it ends with $(diff -rq "after-$name" work)"
}

inject train nothing "${train[@]}" --resume-or-create
inject train-resume train "${train[@]}" --resume --updates 8
inject rl-resume rl "${rl[@]}" --resume
inject learn learn learn stream.csv --resume --model work/learner.safetensors --quiet
inject lab-run nothing lab run small.json --threads 1 --jobs 1 --retry --quiet --out work/results
inject lab-table lab lab table small.json --out work/results
inject lab-status lab lab status small.json --out work/results
inject predict model predict work/run classes.csv --label 1
inject eval model eval work/run classes.csv --label 1 --quiet
echo "$tried failures"
