#!/bin/sh
# SPDX-License-Identifier: MIT
# Trains on real data: four small UCR sets by their official splits, FordA and permuted MNIST by the paper's kind of
# split, seeds 0 to 2. Runs that are done are kept and runs that were interrupted continue, so the script can be started
# again at any time.
#
#   SPARC_DATA=/path/to/data scripts/real-data.sh [FOLDER]
#
# FOLDER (runs/real-data) gets one folder per run and, at the end, results.jsonl: one line per run as
# `sparc train --json` prints it, and one per nearest-neighbour baseline. JOBS runs go on at the same time (default: one
# per processor), one thread each; the number of threads changes no result. SPARC names the tool (default: build/release/sparc).
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
SPARC=${SPARC:-$root/build/release/sparc}
folder=${1:-runs/real-data}
export SPARC

[ -n "${SPARC_DATA:-}" ] || { echo "real-data.sh: set SPARC_DATA to the folder with the data sets" >&2; exit 2; }
[ -x "$SPARC" ] || { echo "real-data.sh: no $SPARC: build it first, or name it in SPARC" >&2; exit 2; }
mkdir -p "$folder"
cd "$folder"

# run, then its options: longest first, so that no processor is idle at the end
{
  for seed in 0 1 2; do
    echo "FordA-gru-s$seed FordA --cell gru --updates 5000 --seed $seed"
    echo "pmnist-sparc-s$seed pmnist --cell sparc --updates 3000 --seed $seed"
  done
  for seed in 0 1 2; do echo "FordA-sparc-s$seed FordA --cell sparc --updates 5000 --seed $seed"; done
  for name in Trace GunPoint ECG200 ItalyPowerDemand; do
    for seed in 0 1 2; do echo "$name-sparc-s$seed $name --cell sparc --official --recipe paper --updates 400 --seed $seed"; done
  done
} >commands.txt

# shellcheck disable=SC2016 # expanded by the inner shell
xargs -P "${JOBS:-$(nproc)}" -L 1 sh -c '
  run=$1
  shift
  [ -s "$run.json" ] && exit 0
  how=--force
  [ -e "$run/last.safetensors" ] && how=--resume
  "$SPARC" train "$@" --threads 1 --progress plain --json --out "$run" "$how" >"$run.part" 2>>"$run.log" || exit 255
  mv "$run.part" "$run.json"
' worker <commands.txt

cat ./*-s[0-9].json >results.jsonl
for name in ItalyPowerDemand GunPoint Trace ECG200; do "$SPARC" eval --baseline 1nn --json "$name" >>results.jsonl; done
echo "$(wc -l <results.jsonl) results in $folder/results.jsonl"
