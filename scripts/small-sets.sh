#!/bin/sh
# SPDX-License-Identifier: MIT
# How to train on few examples: the study behind `sparc train --recipe small`, and what it gives (docs/small-sets.md).
#
#   SPARC_DATA=/path/to/data scripts/small-sets.sh study [FOLDER]      choose: cross-validation inside training parts
#   SPARC_DATA=/path/to/data scripts/small-sets.sh official [FOLDER]   measure: official splits, seeds 0 to 4
#   scripts/small-sets.sh table [FOLDER]                               print the tables of what is there
#
# The study never sees a test part: each training part is cut into folds by class, and every candidate is fitted to all
# but one of them and measured on that one. FOLDER (runs/small-sets) gets one JSON file per run; runs that are done are
# kept, so the script can be stopped and started again at any time. JOBS runs go on at the same time (default: one per
# processor), one thread each; SETS names the data sets, CANDIDATES those of the study, SPARC the tool.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
SPARC=${SPARC:-$root/build/release/sparc}
what=${1:-}
folder=${2:-runs/small-sets}
# cheap ones first, so that what a stopped study has done is even
SETS=${SETS:-Chinatown ItalyPowerDemand ECG200 GunPoint PowerCons ArrowHead Coffee Trace}
CANDIDATES=${CANDIDATES:-paper both smooth augment average strong dropout}
FOLDS=5
UPDATES=400
export SPARC

usage() {
  echo "usage: small-sets.sh study|official|table [FOLDER]" >&2
  exit 2
}

options_of() { # CANDIDATE
  augment="--jitter 0.1 --scaling 0.1 --window 0.1"
  case $1 in
  paper) ;;
  augment) echo "$augment" ;;
  smooth) echo "--smoothing 0.1" ;;
  both) echo "$augment --smoothing 0.1" ;;
  average) echo "$augment --smoothing 0.1 --average 0.99" ;;
  strong) echo "--jitter 0.2 --scaling 0.2 --window 0.2 --smoothing 0.1" ;;
  dropout) echo "$augment --smoothing 0.1 --dropout 0.3" ;;
  *) echo "small-sets.sh: no candidate '$1'" >&2 && exit 2 ;;
  esac
}

# lines "RUN ARGUMENT..." become RUN.json
work() {
  # shellcheck disable=SC2016 # expanded by the inner shell
  sed 's/ *$//' | xargs -P "${JOBS:-$(nproc)}" -L 1 sh -c '
    run=$1
    shift
    [ -s "$run.json" ] && exit 0
    mkdir -p "$(dirname "$run")"
    "$SPARC" "$@" --json --quiet >"$run.part" || exit 255
    mv "$run.part" "$run.json"
    rm -rf "$run"
  ' worker
}

train() { # RUN ARGUMENT...
  run=$1
  shift
  echo "$run train $* --official --updates $UPDATES --threads 1 --out $run --force"
}

cut_folds() { # NAME: folds/NAME-F_TRAIN.tsv and folds/NAME-F_TEST.tsv, both of the training part
  mkdir -p folds
  for fold in $(seq 0 $((FOLDS - 1))); do
    gzip -dcf "$SPARC_DATA/ucr/$1/$1_TRAIN.tsv"* | awk -v folds="$FOLDS" -v fold="$fold" -v to="folds/$1-$fold" '
      {print >(to "_" (seen[$1]++ % folds == fold ? "TEST" : "TRAIN") ".tsv")}'
  done
}

study() {
  for name in $SETS; do cut_folds "$name"; done
  for name in $SETS; do
    for fold in $(seq 0 $((FOLDS - 1))); do
      for candidate in $CANDIDATES; do
        # shellcheck disable=SC2046 # words
        train "study/$candidate/$name-$fold" "folds/$name-${fold}_TRAIN.tsv" --recipe paper $(options_of "$candidate")
      done
    done
  done | work
}

official() {
  for name in $SETS; do
    for baseline in 1nn dtw; do echo "official/$baseline/$name eval --baseline $baseline $name"; done
    for seed in 0 1 2 3 4; do
      for recipe in paper small; do train "official/$recipe/$name-s$seed" "$name" --recipe "$recipe" --seed "$seed"; done
    done
  done | work
}

# value KEY FILE: a number of the part that was measured
value() { sed -n "s/.*\"$1\":\([0-9.e-]*\).*/\1/p" "$2"; }

table() {
  if [ -d study ]; then
    printf '%-18s %-9s %5s %9s %7s\n' data candidate folds accuracy loss
    for name in $SETS; do
      for candidate in $CANDIDATES; do
        for file in "study/$candidate/$name"-?.json; do
          [ -s "$file" ] && echo "$(value examples "$file") $(value accuracy "$file") $(sed 's/.*"test":{"examples":[0-9]*,"loss":\([0-9.e-]*\).*/\1/' "$file")"
        done | awk -v name="$name" -v candidate="$candidate" '
          {n += $1; right += $1 * $2; loss += $1 * $3}
          END {if (n) printf "%-18s %-9s %5d %9.4f %7.4f\n", name, candidate, NR, right / n, loss / n}'
      done
    done
  fi
  if [ -d official ]; then
    printf '%-18s %-6s %s\n' data recipe "accuracy of seeds; mean"
    for name in $SETS; do
      for recipe in paper small; do
        for file in "official/$recipe/$name"-s?.json; do
          [ -s "$file" ] && value accuracy "$file"
        done | awk -v name="$name" -v recipe="$recipe" '
          {list = list sprintf(" %.4f", $1); sum += $1}
          END {if (NR) printf "%-18s %-6s%s; %.4f\n", name, recipe, list, sum / NR}'
      done
      for baseline in 1nn dtw; do
        file=official/$baseline/$name.json
        [ ! -s "$file" ] || printf '%-18s %-6s %.4f\n' "$name" "$baseline" "$(value accuracy "$file")"
      done
    done
  fi
}

case $what in
study | official)
  [ -n "${SPARC_DATA:-}" ] || { echo "small-sets.sh: set SPARC_DATA to the folder with the data sets" >&2; exit 2; }
  [ -x "$SPARC" ] || { echo "small-sets.sh: no $SPARC: build it first, or name it in SPARC" >&2; exit 2; }
  ;;
table) ;;
*) usage ;;
esac
mkdir -p "$folder"
cd "$folder"
$what
