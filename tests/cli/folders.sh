#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# folders.sh: untrusted run and results folders: links, pipes and oversized files in them are rejected, and the targets of
# links are not changed.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"
unset SPARC_DATA
cd "$scratch"

train=(tracking --updates 4 --validate-every 2 --state-size 8 --batch 2 --threads 1 --quiet)
rl=(repeat-first --steps 128 --rollout-steps 64 --minibatches 2 --epochs 1 --state-size 8 --width 8 --threads 1 --quiet)
expect 0 train "${train[@]}" --out good-train
expect 0 rl "${rl[@]}" --out good-rl
echo precious >victim
mkdir elsewhere

# refused MESSAGE ARGUMENT...: exit code 3 within a few seconds, and nothing is followed
refused() {
  local message=$1 got=0
  shift
  timeout 20 "$SPARC" "$@" >"$scratch/out" 2>"$scratch/err" || got=$?
  [ $got = 3 ] || fail "sparc $*: exit code $got, expected 3"
  complains "$message"
  [ "$(cat victim)" = precious ] || fail "sparc $*: the target of a link was written"
  [ -z "$(ls -A elsewhere)" ] || fail "sparc $*: a linked folder was written to"
}

# ---- a link or a pipe in the place of a file of a run
for name in lock config.json metrics.jsonl metrics.csv last.safetensors best.safetensors; do
  rm -rf run
  mkdir run
  ln -s ../victim run/$name
  refused "'run/$name' is a symbolic link; refused" train "${train[@]}" --out run
  for how in --force --resume; do
    rm -rf run
    cp -r good-train run
    ln -sf ../victim run/$name
    refused "'run/$name' is a symbolic link; refused" train "${train[@]}" --out run $how
  done
  rm run/$name
  mkfifo run/$name
  refused "'run/$name' is a pipe; refused" train "${train[@]}" --out run --resume
done
for name in lock config.json metrics.jsonl last.safetensors; do
  rm -rf run
  cp -r good-rl run
  ln -sf ../victim run/$name
  refused "'run/$name' is a symbolic link; refused" rl --resume --out run --quiet
done

# what reads a run
rm -rf run
cp -r good-train run
ln -sf ../good-train/best.safetensors run/best.safetensors
seq 40 >values.csv
refused "'run/best.safetensors' is a symbolic link; refused" predict run values.csv
refused "'run/best.safetensors' is a symbolic link; refused" eval run tracking
refused "'run/best.safetensors' is a symbolic link; refused" diagnose run
refused "'run/best.safetensors' is a symbolic link; refused" train "${train[@]}" --from run --out new
rm -rf run
cp -r good-rl run
ln -sf ../good-rl/last.safetensors run/last.safetensors
refused "'run/last.safetensors' is a symbolic link; refused" rl repeat-first --eval run --episodes 2
refused "'run/last.safetensors' is a symbolic link; refused" envs repeat-first --play run
refused "'run/last.safetensors' is a symbolic link; refused" info run
# a file that is named on the command line may be a link, and so may the folder
expect 0 rl repeat-first --eval run/last.safetensors --episodes 2
ln -s good-train linked
expect 0 train --resume --out linked --quiet
expect 0 diagnose linked

# a configuration that would fill the memory
rm -rf run
cp -r good-train run
truncate -s 10G run/config.json
refused "has 10737418240 bytes, expected at most" train --resume --out run
{
  head -1 good-train/metrics.jsonl
  head -c 200000 /dev/zero | tr '\0' ' '
} >run/metrics.jsonl
cp good-train/config.json run/config.json
cp run/metrics.jsonl before
refused "line 2 is no JSON object of at most" train --resume --out run
cmp before run/metrics.jsonl || fail "metrics that cannot be read were replaced"

# ---- folders of results
cat >small.json <<'END'
{
  "name": "small", "title": "Small", "kind": "train",
  "settings": {"updates": 4, "budget": 8, "batch": 2, "validate-every": 2},
  "score": {"metric": "validation_nmse", "take": "last", "better": "lower", "scale": 1, "unit": "NMSE", "digits": 3},
  "tasks": [{"name": "tracking", "title": "Tracking", "settings": {"data": "tracking"}}],
  "methods": [{"name": "sparc", "title": "SPARC", "settings": {"cell": "sparc"}},
              {"name": "rtu", "title": "RTU", "settings": {"cell": "rtu"}}],
  "seeds": [0], "reference": "sparc"
}
END
expect 0 lab run small.json --quiet --threads 1 --out results
expect 0 lab status small.json --out results
cp -r results good-results
again() {
  rm -rf results
  cp -r good-results results
}
job=results/small/tracking/sparc/s0

for name in result.json failed.json job.json metrics.jsonl claim.7; do
  again
  [ $name = result.json ] || rm $job/result.json
  for kind in link pipe; do
    rm -f $job/$name
    if [ $kind = link ]; then ln -s "$scratch/victim" $job/$name; else mkfifo $job/$name; fi
    what="'$job/$name' is a ${kind/link/symbolic link}; refused"
    refused "$what" lab status small.json --out results
    refused "$what" lab table small.json --out results
    got=0
    timeout 20 "$SPARC" lab run small.json --quiet --threads 1 --out results >out 2>err || got=$?
    [ $got = 1 ] || fail "lab run with a $kind as $name: exit code $got"
    complains "$what"
    [ "$(cat victim)" = precious ] || fail "lab run: the target of $name was written"
  done
done

# files that only a runner writes
for name in lock log.txt "claim.of.$(uname -n).1"; do
  again
  rm $job/result.json
  ln -sf "$scratch/victim" "$job/$name"
  timeout 20 "$SPARC" lab run small.json --quiet --threads 1 --out results >out 2>err || true
  [ "$(cat victim)" = precious ] || fail "lab run: the target of $name was written"
  case $name in claim.*) ;; *) complains "'$job/$name' is a symbolic link; refused" ;; esac
done

# linked folders
linked() { # VERB FOLDER
  again
  rm -rf "results/$2"
  ln -s "$scratch/elsewhere" "results/$2"
  refused "'results/$2' is a symbolic link; refused" lab "$1" small.json --out results
}
for folder in small small/tracking small/tracking/sparc small/tracking/sparc/s0 small/figures small/diagnostics; do
  linked run $folder
done
for verb in status table figure diagnose report; do linked $verb small/tracking; done
linked figure small/figures
linked diagnose small/diagnostics
again
ln -s results all
expect 0 lab table small.json --out all
mkdir there
mv results/small there/small
ln -s there/small short
expect 0 lab table ./short
again
rm results/small/lab.json
mkfifo results/small/lab.json
refused "'results/small/lab.json' is a pipe; refused" lab status --out results
refused "'results/small/lab.json' is a pipe; refused" lab table results/small
again
rm $job/result.json
mkfifo $job/result.json
refused "'$job/result.json' is a pipe; refused" lab status --out results

# ---- temporary files of dead processes go with the next write, those of the living stay
again
: >results/small/lab.json.tmp.4194305
: >"results/small/lab.json.tmp.$$"
expect 0 lab run small.json --quiet --threads 1 --out results
[ ! -e results/small/lab.json.tmp.4194305 ] || fail "a temporary file of a dead process is left"
[ -e "results/small/lab.json.tmp.$$" ] || fail "a temporary file of a living process was removed"
seq 60 >stream.csv
: >learner.safetensors.tmp.4194305
expect 0 learn stream.csv --modes 4 --model learner.safetensors --format none --quiet
[ ! -e learner.safetensors.tmp.4194305 ] || fail "a temporary file of a dead learner is left"
