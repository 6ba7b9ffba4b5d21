#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fuzz-corpus.sh [FOLDER]: writes the valid inputs of the fuzz targets that run commands (tests/fuzz/bundle.h): learners
# and their streams, runs of `sparc rl` and `sparc train` that have an update left, models to begin from, results
# folders. FOLDER is tests/fuzz/corpus; what was found there by the fuzzer or by people stays. SPARC names the tool.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

sparc=$(realpath "${SPARC:-build/release/sparc}")
corpus=$(realpath "${1:-tests/fuzz/corpus}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

# bundle TARGET/NAME FILE...: the files as an archive, which is the same whenever and by whomever it is made
bundle() {
  mkdir -p "$corpus/${1%/*}"
  tar --format=ustar --blocking-factor=1 --sort=name --owner=0 --group=0 --numeric-owner --mode=0644 --mtime=@0 \
    -cf "$corpus/$1" "${@:2}"
}

# ---- sparc learn --resume
printf 'x,y,kind,id\n.1,1,a,p\n.2,,b,p\n.3,3,a,q\n.4,4,b,q\n' >stream.csv
learn() { # NAME OPTION...
  rm -f learner.safetensors
  "$sparc" learn stream.csv --model learner.safetensors --modes 2 --quiet "${@:2}" >/dev/null
  bundle "learn_resume/$1" learner.safetensors stream.csv
}
learn classes --ignore y --label kind --classes a,b --id id
learn numbers --target y --ignore kind,id --horizon 1 --cell rtu
learn embedding --target y --ignore kind --id id --embedding linear --width 3
printf 'x,y\n.1,1\n.2,2\n.3,3\n.4,4\n' >stream.csv
learn forecast --forecaster network --cell lru
learn real --forecaster network --cell rglru --modes 8
learn mixture --ignore y --cell lru --horizon 2

# ---- sparc rl --resume: a run of 3 rollouts is stopped before the last by its own budget
rl() { # NAME TASK OPTION...
  rm -rf run
  local small=(--rollout-steps 16 --minibatches 2 --epochs 1 --width 4 --threads 1 --quiet --out run)
  "$sparc" rl "$2" --modes 2 --steps 32 "${small[@]}" "${@:3}" >/dev/null
  sed -i 's/"steps": *32/"steps": 48/' run/config.json
  bundle "rl_resume/$1" run/config.json run/last.safetensors run/metrics.jsonl
}
for task in autoencode count-recall repeat-first repeat-previous higher-lower noisy-pendulum cartpole bandit battleship \
  minesweeper concentration; do
  rl "$task" "$task"
done
rl gru repeat-previous --cell gru
rl mamba3 cartpole --cell mamba3
rl streams repeat-previous --cell rtu --streams 2 --traces free --obsnorm feature

# ---- sparc train --resume and --from
for i in 1 2 3 4 5 6 7 8; do echo "$i,0.5,$((i % 3)),$((i % 2))"; done >data.csv
train() { # NAME DATA OPTION...
  rm -rf run
  "$sparc" train "$2" --modes 2 --width 4 --layers 1 --batch 4 --updates 2 --threads 1 --quiet --out run "${@:3}" >/dev/null
  sed -i 's/"updates": *2/"updates": 3/' run/config.json
  local files=(run/config.json run/last.safetensors run/metrics.jsonl)
  if [ -e run/best.safetensors ]; then files+=(run/best.safetensors); fi
  bundle "train_resume/$1" "${files[@]}" data.csv
}
train classes data.csv
train regression data.csv --objective regress --cell lru
train task tracking --cell rtu --layers 0
train from data.csv
cp run/best.safetensors from.safetensors
bundle train_resume/from from.safetensors data.csv

# ---- results folders
mkdir g
cat >g.json <<'GRID'
{"name": "g", "kind": "rl", "title": "A grid", "seeds": [0, 1], "reference": "rtu",
 "settings": {"steps": 32, "rollout": 16, "minibatches": 2, "epochs": 1, "width": 4, "modes": 2},
 "score": {"metric": "return", "window": 2},
 "methods": [{"name": "rtu", "settings": {"cell": "rtu"}}, {"name": "gru", "settings": {"cell": "gru"}}],
 "tasks": [{"name": "bandit", "settings": {"task": "bandit"}, "score": {"metric": "entropy", "window": 2}}],
 "paper": {"bandit": {"rtu": [0.1, 0.01], "gru": 0.2}}}
GRID
"$sparc" lab run g.json --out results --threads 1 --jobs 1 --quiet
mapfile -t files < <(find results -name '*.json' -o -name 'metrics.jsonl' | sort)
bundle results/done "${files[@]}"
echo '{"message": "it failed"}' >results/g/bandit/gru/s1/failed.json
mv results/g/bandit/gru/s1/result.json results/g/bandit/gru/s0/result.json
printf 'host\n1\n0\n' >results/g/bandit/gru/s1/claim.1
mapfile -t files < <(find results -name '*.json' -o -name 'metrics.jsonl' -o -name 'claim*' | grep -v rtu/s0 | sort)
bundle results/mixed "${files[@]}"
