#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# memory-rl.sh [FOLDER]: the runs that docs/memory-rl.md and docs/repeat-first-unmarked.md speak of, their logs and
# curves.
#
# FOLDER (runs/memory-rl) gets a folder per run. Runs that are done are kept and runs that were interrupted continue, so
# the script can be started again at any time; JOBS of them go on at once (default: one per processor), one thread each.
# Then docs/memory-rl gets a log of every run, a line per rollout, the figures, and scores.txt. About three hours on one
# core. SPARC names the tool (default: build/release/sparc); ONLY=PATTERN takes the runs whose names match.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export SPARC=${SPARC:-build/release/sparc}
export FOLDER=${1:-runs/memory-rl}
logs=docs/memory-rl
if [ ! -x "$SPARC" ]; then
  echo "${0##*/}: $SPARC is not there; make build makes it, or set SPARC" >&2
  exit 2
fi
mkdir -p "$FOLDER" "$logs"

# NAME TASK OPTION...: a run a line
runs() {
  local task cell
  for task in repeat-previous cartpole repeat-first noisy-pendulum; do
    for cell in sparc rtu gru; do echo "$task-$cell $task --cell $cell"; done
  done
  for task in hopper-p cheetah-p; do echo "$task-sparc $task --steps 1001472"; done

  local unmarked=repeat-first-unmarked short="--steps 1001472" together="--streams 16 --learning-rate 3e-4 --entropy-coefficient 0.01"
  echo "$unmarked-sparc $unmarked"
  for cell in rtu gru; do echo "$unmarked-$cell $unmarked $short --cell $cell"; done
  echo "$unmarked-exact $unmarked $short --encoder exact"
  echo "$unmarked-streams $unmarked $short --streams 16"
  echo "$unmarked-entropy $unmarked $short --entropy-coefficient 0.01"
  echo "$unmarked-entropy5 $unmarked $short --entropy-coefficient 0.05"
  echo "$unmarked-rate $unmarked $short --learning-rate 1e-4"
  echo "$unmarked-together $unmarked $short $together"
  echo "$unmarked-together-exact $unmarked $short $together --encoder exact"
  echo "$unmarked-together-exact-rtu $unmarked $short $together --encoder exact --cell rtu"
  echo "$unmarked-together-gru $unmarked $short $together --cell gru"
}

chosen=$(runs | grep -E "^[^ ]*${ONLY:-}")

# shellcheck disable=SC2016 # expanded by the inner shell
xargs -P "${JOBS:-$(nproc)}" -L 1 bash -c '
  "$SPARC" rl "${@:2}" --threads 1 --quiet --resume-or-create --out "$FOLDER/$1" >/dev/null || exit 255
  echo "$1" >&2
' worker <<<"$chosen"

# ---- logs ---------------------------------------------------------------------------------------

columns="update return length entropy k3 gradient_norm"
while read -r name _; do
  {
    tr ' ' '\t' <<<"# $columns"
    awk -v keys="$columns" -f scripts/json-columns.awk "$FOLDER/$name/metrics.jsonl" |
      awk -v OFS='\t' '{ for (i = 2; i <= NF; i++) if ($i != "-") $i = sprintf("%.5g", $i); print }'
  } >"$logs/$name.tsv"
done <<<"$chosen"

# the score of a run is the mean of its last 100 returns; beside it the mean of rollouts 138 to 147, where the
# reference curves end, the best group of ten, and the first group
for log in "$logs"/*.tsv; do
  awk -v name="$(basename "$log" .tsv)" '
    /^#/ { next }
    $2 != "-" { n++; r[n] = $2; early += $1 > 137 && $1 <= 147 ? $2 : 0 }
    n && n % 10 == 0 && $2 != "-" { s = 0; for (i = n - 9; i <= n; i++) s += r[i] / 10
      if (n == 10) first = s
      if (n == 10 || s > best) best = s }
    END { for (i = n > 100 ? n - 99 : 1; i <= n; i++) last += r[i]
      printf "%-44s %5d %10.3f %10.3f %10.3f %10.3f\n", name, n, first, early / 10, best, last / (n < 100 ? n : 100) }
  ' "$log"
done | { printf '%-44s %5s %10s %10s %10s %10s\n' run n first-10 138-147 best-10 last-100; cat; } >"$logs/scores.txt"

gnuplot -e "logs='$logs'" scripts/memory-rl.gnuplot
cat "$logs/scores.txt"
