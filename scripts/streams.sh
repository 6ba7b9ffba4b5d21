#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# streams.sh [FILE]: the tables of docs/streaming.md. Two streams are generated; FILE, a set of the UCR archive as text,
# packed or not, is a third one: its first 200 series, step by step. SPARC is the tool, CELLS and SEEDS what is compared.
set -euo pipefail
sparc=$(realpath "${SPARC:-$(dirname "${BASH_SOURCE[0]}")/../build/release/sparc}")
file=${1:+$(realpath "$1")}
read -r -a cells <<<"${CELLS:-sparc rtu lru rglru}"
read -r -a seeds <<<"${SEEDS:-0 1 2}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# a wave on a slope, whose pitch changes half way
awk 'BEGIN {
  srand(1)
  print "level"
  for (t = 0; t < 20000; t++) {
    p += t < 10000 ? 0.3 : 0.47
    printf "%.5f\n", 5 + t / 1000 + sin(p) + 0.5 * sin(2.7 * p) + 0.05 * (rand() - 0.5)
  }
}' >"$work/wave.csv"

# the task `tracking` of the paper, as one sequence: a rotation that events interrupt
awk 'function normal() { return sqrt(-2 * log(1 - rand())) * cos(6.283185307 * rand()) }
BEGIN {
  srand(1)
  print "u1,u2,contraction,rotation,z1,z2"
  for (t = 0; t < 50000; t++) {
    u1 = u2 = c = r = 0
    if (rand() < 0.25) { u1 = normal(); u2 = normal() }
    if (rand() < 0.12) { if (rand() < 0.5) c = 1; else r = 1 }
    a = r ? 1.2 : 0.15
    g = c ? 0.294 : 0.98
    x = g * (cos(a) * z1 - sin(a) * z2) + u1
    z2 = g * (sin(a) * z1 + cos(a) * z2) + u2
    z1 = x
    printf "%.4f,%.4f,%d,%d,%.4f,%.4f\n", u1, u2, c, r, z1, z2
  }
}' >"$work/tracking.csv"

# number KEY: of the JSON objects on standard input, one a line
number() { grep -o "\"$1\":[0-9.e+-]*" | cut -d: -f2; }

# row CELL ARGUMENT...: error relative to the baseline's, over the whole stream and over its last 1000 targets, mean
# and range over the seeds
row() {
  local cell=$1 seed
  shift
  for seed in "${seeds[@]}"; do "$sparc" learn "$@" --cell "$cell" --seed "$seed" --json; done >"$work/json"
  paste <(number loss <"$work/json") <(number naive <"$work/json") <(number recent_loss <"$work/json") \
    <(number recent_naive <"$work/json") | awk -v cell="$cell" '
    { all = $1 / $2; late = $3 / $4; a += all; l += late; n++
      if (n == 1 || late < low) low = late
      if (n == 1 || late > high) high = late }
    END { printf "| %s | %.4f | %.4f | %.4f to %.4f |\n", cell, a / n, l / n, low, high }'
}

# table TITLE ARGUMENT...
table() {
  printf '%s: `sparc learn %s`, seeds %s\n\n' "$1" "${*:2}" "${seeds[*]}"
  printf '| cell | whole stream | last 1000 | of the seeds |\n|---|---|---|---|\n'
  local cell
  for cell in "${cells[@]}"; do row "$cell" "${@:2}"; done
  echo
}

cd "$work"
table "Tracking" tracking.csv --target z1,z2
table "Wave, one step ahead" wave.csv --forecaster network
table "Wave, eight steps ahead" wave.csv --forecaster network --horizon 8
if [ -n "$file" ]; then
  zcat -f "$file" | awk -F'\t' 'NR <= 200 { for (i = 2; i <= NF; i++) printf "%d,%s\n", NR, $i }' >series.csv
  name=$(basename "$file" .gz)
  table "$name, one step ahead" series.csv --forecaster network --id 1
  table "$name, five steps ahead" series.csv --forecaster network --id 1 --horizon 5
fi
