#!/bin/sh
# SPDX-License-Identifier: MIT
# How to train on few examples: the study behind `sparc train --recipe small`, and what it gives (docs/small-sets.md).
#
#   SPARC_DATA=/path/to/data scripts/small-sets.sh study [FOLDER]      choose: cross-validation inside training parts
#   SPARC_DATA=/path/to/data scripts/small-sets.sh official [FOLDER]   measure: official splits, seeds 0 to 4
#   SPARC_DATA=/path/to/data scripts/small-sets.sh table [FOLDER]      print the tables of what is there
#
# The study never sees a test part: each training part is cut into folds by class, and every candidate is fitted to all
# but one of them and measured on that one. FOLDER (runs/small-sets) gets one JSON file per run; runs that are done are
# kept, so the script can be stopped and started again at any time. JOBS runs go on at the same time (default: one per
# processor), one thread each; SETS names the data sets, CANDIDATES and SEEDS those of the study, SPARC the tool.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
SPARC=${SPARC:-$root/build/release/sparc}
what=${1:-}
folder=${2:-runs/small-sets}
# cheap ones first, so that what a stopped study has done is even
SETS=${SETS:-Chinatown ItalyPowerDemand ECG200 GunPoint PowerCons ArrowHead Coffee Trace}
CANDIDATES=${CANDIDATES:-paper smooth jitter noise soft window both clip slow dropout}
SEEDS=${SEEDS:-0 1 2}
FOLDS=5
UPDATES=400
export SPARC

usage() {
  echo "usage: small-sets.sh study|official|table [FOLDER]" >&2
  exit 2
}

options_of() { # CANDIDATE
  case $1 in
  paper) ;;
  smooth) echo "--label-smoothing 0.1" ;;
  clip) echo "--max-gradient-norm 1" ;;
  slow) echo "--learning-rate 0.0005" ;;
  dropout) echo "--dropout 0.3" ;;
  both) echo "--jitter 0.1 --scaling 0.1 --crop 0.1 --label-smoothing 0.1" ;;
  window) echo "--jitter 0.1 --crop 0.1" ;;
  jitter) echo "--jitter 0.1" ;;
  noise) echo "--jitter 0.3" ;;
  soft) echo "--jitter 0.1 --label-smoothing 0.1" ;;
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
  for seed in $SEEDS; do
    for name in $SETS; do
      for candidate in $CANDIDATES; do
        for fold in $(seq 0 $((FOLDS - 1))); do
          # shellcheck disable=SC2046 # words
          train "study/$candidate/$name-$fold-s$seed" "folds/$name-${fold}_TRAIN.tsv" --recipe paper --seed "$seed" $(options_of "$candidate")
        done
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
value() { sed -n "s/.*\"test\":{[^}]*\"$1\":\([0-9.e-]*\).*/\1/p" "$2"; }

# rows PART NAME: the examples in a part of an official split
rows() { gzip -dcf "$SPARC_DATA/ucr/$2/$2_$1.tsv"* | wc -l; }

# the mean over all rows of the folds, and how many runs it is of
study_cell() { # CANDIDATE NAME
  for file in "study/$1/$2"-?-s?.json; do
    [ ! -s "$file" ] || echo "$(value examples "$file") $(value accuracy "$file") $(value loss "$file")"
  done | awk '{n += $1; right += $1 * $2; loss += $1 * $3}
    END {if (n) printf " %.4f, %.3f (%d) |", right / n, loss / n, NR; else printf "  |"}'
}

study_table() {
  printf '| accuracy, loss (runs) | rows |'
  for candidate in $CANDIDATES; do printf ' %s |' "$candidate"; done
  printf '\n|---|---|'
  for candidate in $CANDIDATES; do printf '%s' '---|'; done
  echo
  for name in $SETS; do
    printf '| %s | %d |' "$name" "$(rows TRAIN "$name")"
    for candidate in $CANDIDATES; do study_cell "$candidate" "$name"; done
    echo
  done
}

official_row() { # RECIPE NAME
  for seed in 0 1 2 3 4; do
    file=official/$1/$2-s$seed.json
    [ ! -s "$file" ] || value accuracy "$file"
  done | awk '{printf " %.4f |", $1; sum += $1} END {if (NR) printf " %.4f |", sum / NR}'
}

official_table() {
  echo '| data | train / test | settings | seed 0 | 1 | 2 | 3 | 4 | mean | 1-NN | DTW |'
  echo '|---|---|---|---|---|---|---|---|---|---|---|'
  for name in $SETS; do
    printf '| %s | %d / %d | paper, before |' "$name" "$(rows TRAIN "$name")" "$(rows TEST "$name")"
    official_row paper "$name"
    for baseline in 1nn dtw; do
      sed -n 's/.*"accuracy":\([0-9.]*\).*/\1/p' "official/$baseline/$name.json" | awk '{printf " %.4f |", $1}'
    done
    printf '\n|  |  | small, after |'
    official_row small "$name"
    echo '  |  |'
  done
}

table() {
  [ ! -d study ] || study_table
  [ ! -d official ] || { echo && official_table; }
}

case $what in
study | official | table)
  [ -n "${SPARC_DATA:-}" ] || { echo "small-sets.sh: set SPARC_DATA to the folder with the data sets" >&2; exit 2; }
  [ -x "$SPARC" ] || { echo "small-sets.sh: no $SPARC: build it first, or name it in SPARC" >&2; exit 2; }
  ;;
*) usage ;;
esac
mkdir -p "$folder"
cd "$folder"
$what
