#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# lab-results.sh RESULTS [OUT]: tables, figures and results of a results folder of `sparc lab run`, small enough to commit.
# Writes to OUT, docs/results by default,
#   NAME/table.md       the tables
#   NAME/*.svg, *.csv   learning curves and scores as figures, and the data that they show
#   NAME/results.jsonl  a line per run: score, seed, digest of its settings, speed, provenance
#   NAME/TASK/METHOD/sSEED/  result and score log of each finished run: `sparc lab --results OUT` reads them again
# for every experiment NAME of RESULTS or OUT, with tables and figures of the tasks and methods that have a run in either.
# COMMIT is recorded for runs that do not record their commit. SPARC is the tool, build/release/sparc by default. Runs that
# are not diagnosed yet are diagnosed in RESULTS, where report.html shows all experiments.
set -euo pipefail
if [ $# -lt 1 ] || [ $# -gt 2 ]; then
  echo "usage: $0 RESULTS [OUT]" >&2
  exit 2
fi
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
results=${1%/} out=${2:-$root/docs/results}
sparc=${SPARC:-$root/build/release/sparc}

# with_runs FOLDER 1|2: tasks, or methods, with a finished run, separated by commas
with_runs() {
  "$sparc" lab status "$1" --results "$out" --json | grep -F '"state":"done"' | sed 's/.*"job":"\([^"]*\)".*/\1/' |
    cut -d / -f "$2" | sort -u | paste -s -d , -
}

# experiments that only OUT has are included
mkdir -p "$results" "$out"
for grid in "$out"/*/lab.json; do
  name=$(basename "$(dirname "$grid")")
  if [ -e "$grid" ] && [ ! -e "$results/$name/lab.json" ]; then
    mkdir -p "$results/$name"
    cp "$grid" "$results/$name/lab.json"
  fi
done

found=0
for folder in "$results"/*/; do
  folder=${folder%/}
  [ -e "$folder/lab.json" ] || continue
  found=$((found + 1))
  to=$out/$(basename "$folder")
  mkdir -p "$to"
  rm -f "$to"/*.svg "$to"/*.csv
  "$sparc" lab export "$folder" --to "$out" ${COMMIT:+--commit "$COMMIT"} --quiet
  "$sparc" lab diagnose "$folder" --quiet || echo "$0: some runs of $folder are not diagnosed" >&2
  some=(--results "$out" --tasks "$(with_runs "$folder" 1)" --methods "$(with_runs "$folder" 2)")
  "$sparc" lab table "$folder" "${some[@]}" --format markdown >"$to/table.md"
  "$sparc" lab status "$folder" "${some[@]}" --json >"$to/results.jsonl"
  "$sparc" lab figure "$folder" "${some[@]}" >/dev/null
  for file in "$folder"/figures/*.svg "$folder"/figures/*.csv; do
    if [ -e "$file" ]; then cp "$file" "$to/"; fi
  done
done
if [ "$found" = 0 ]; then
  echo "$0: there are no results in '$results'" >&2
  exit 3
fi
"$sparc" lab report --out "$results" --results "$out" >/dev/null
echo "$found experiments in $out; report: $results/report.html"
