#!/bin/sh
# SPDX-License-Identifier: MIT
# Accuracy of the defaults of `sparc train`, of gradients and of 20,000 updates (docs/training.md).
#
#   SPARC_DATA=/path/to/data scripts/training-length.sh run [FOLDER]     train; stop and start it at any time
#   SPARC_DATA=/path/to/data scripts/training-length.sh table [FOLDER]   print what is there
#
# Each set is trained with the same seeds by the defaults, by gradients (--readout gradient) and by --recipe paper, and
# measured once on its test partition with best.safetensors. FOLDER (runs/training-length) gets the runs and one JSON file
# of each. SETS names the data sets, SEEDS the seeds, JOBS how many runs go on at the same time (one thread each), SPARC the
# tool.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
SPARC=${SPARC:-$root/build/release/sparc}
SETS=${SETS:-Chinatown ItalyPowerDemand ECG200 GunPoint PowerCons ArrowHead Coffee Trace ACSF1 UWaveGestureLibraryAll FordA EOGHorizontalSignal}
SEEDS=${SEEDS:-0 1 2}
what=${1:-}
folder=${2:-runs/training-length}
export SPARC

# lines "NAME SEED METHOD OPTION..." become runs
work() {
  # shellcheck disable=SC2016 # expanded by the inner shell
  xargs -P "${JOBS:-$(nproc)}" -L 1 sh -c '
    name=$1 seed=$2 run=$1-$3-s$2
    shift 3
    [ -s "$run.json" ] && exit 0
    "$SPARC" train "$name" "$@" --seed "$seed" --threads 1 --out "$run" --resume-or-create --json --quiet >"$run.part" || exit 255
    mv "$run.part" "$run.json"
  ' worker
}

run() {
  for seed in $SEEDS; do
    for name in $SETS; do
      echo "$name $seed default"
      echo "$name $seed gradient --readout gradient"
      echo "$name $seed paper --recipe paper"
    done
  done | work
}

# accuracy and updates of the runs of a method, as two means and their number
of() { # NAME METHOD
  for file in "$1-$2"-s*.json; do
    [ ! -s "$file" ] || sed -n 's/.*"updates":\([0-9]*\),.*"test":{[^}]*"accuracy":\([0-9.e-]*\).*/\1 \2/p' "$file"
  done | awk '{u += $1; a += $2} END {if (NR) printf "%.4f %.0f %d", a / NR, u / NR, NR}'
}

table() {
  echo '| data | runs | defaults | updates | gradients | updates | 20,000 updates | defaults - 20,000 |'
  echo '|---|---|---|---|---|---|---|---|'
  for name in $SETS; do
    # shellcheck disable=SC2046 # words
    set -- $(of "$name" default) $(of "$name" gradient) $(of "$name" paper)
    [ $# -eq 9 ] || continue
    awk -v name="$name" -v n="$9" -v a="$1" -v u="$2" -v b="$4" -v v="$5" -v c="$7" \
      'BEGIN {printf "| %s | %d | %.4f | %d | %.4f | %d | %.4f | %+.4f |\n", name, n, a, u, b, v, c, a - c}'
  done
}

case $what in
run | table) ;;
*) echo "usage: training-length.sh run|table [FOLDER]" >&2 && exit 2 ;;
esac
[ -n "${SPARC_DATA:-}" ] || { echo "training-length.sh: set SPARC_DATA to the folder with the data sets" >&2; exit 2; }
[ -x "$SPARC" ] || { echo "training-length.sh: no $SPARC: build it first, or name it in SPARC" >&2; exit 2; }
mkdir -p "$folder"
cd "$folder"
$what
