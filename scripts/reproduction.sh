#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# reproduction.sh write|check: the tables of docs/reproduction.md and README.md from the runs in docs/results. write
# inserts them between the markers of the pages; check fails if a page differs. SPARC is the tool, build/release/sparc by
# default.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
sparc=${SPARC:-build/release/sparc}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# table NAME [ARGUMENT...]: table of a grid's committed runs
table() { "$sparc" lab table "$1" --results docs/results --out "$scratch/none" "${@:2}" 2>/dev/null; }

# shellcheck disable=SC2016 # a program of awk
# splits CSV lines with quoted fields
columns='
  function fields(line, out,    n, i, c, quoted) {
    n = 1; out[1] = ""; quoted = 0
    for (i = 1; i <= length(line); i++) {
      c = substr(line, i, 1)
      if (c == "\"") quoted = !quoted
      else if (c == "," && !quoted) out[++n] = ""
      else out[n] = out[n] c
    }
    return n
  }
  function column(name,    i) { for (i in head) if (head[i] == name) return i; exit 1 }
  FNR == 1 { delete head; fields($0, head); part++; next }
  { fields($0, f) }'

# join NAME: task, method, unit, numbers of finished and of all runs, mean, sample standard deviation, the paper's mean and
# standard deviation
join() {
  table "$1" --runs >"$scratch/runs.csv"
  table "$1" --format csv >"$scratch/cells.csv"
  awk "$columns"'
    part == 1 {
      key = f[column("task")] "\t" f[column("method")]
      if (!(key in all)) order[++count] = key
      unit[key] = f[column("unit")]; all[key]++
      if (f[column("state")] == "done" && f[column("score")] != "") {
        x = f[column("score")]; n[key]++; sum[key] += x; squares[key] += x * x
      }
    }
    part == 2 {
      key = f[column("task")] "\t" f[column("method")]
      paper[key] = f[column("paper")]; paper_sd[key] = f[column("paper_sd")]
    }
    END {
      for (i = 1; i <= count; i++) {
        key = order[i]; m = n[key] ? sum[key] / n[key] : ""
        sd = n[key] > 1 ? sqrt((squares[key] - n[key] * m * m > 0 ? squares[key] - n[key] * m * m : 0) / (n[key] - 1)) : ""
        print key "\t" unit[key] "\t" n[key] + 0 "\t" all[key] "\t" m "\t" sd "\t" paper[key] "\t" paper_sd[key]
      }
    }' "$scratch/runs.csv" "$scratch/cells.csv"
}

# half the width of the 95 % confidence interval of a mean of n values (Student's t)
students='function half(n, sd) {
    split("0 12.706 4.303 3.182 2.776 2.571 2.447 2.365 2.306 2.262", t, " ")
    return n > 1 && n <= 10 ? t[n] * sd / sqrt(n) : ""
  }
  function show(x) { return x == "" ? "" : sprintf(x >= 100 || x <= -100 ? "%.1f" : "%.3f", x) }'

# variants: of the rows of join, SPARC and its variants, on the tasks on which a run of a variant is finished. The tables
# of the other experiments have the baselines
variants() {
  awk -F '\t' '
    FNR == NR { if (!baseline($2) && $2 != "sparc" && $4 > 0) shown[$1] = 1; next }
    shown[$1] && !baseline($2)
    function baseline(method) { return method ~ /^(rtu|lru|rglru|gateloop|mamba3|gru)$/ }' "$1" "$1"
}

# grid_table NAME: finished runs of a grid, and the command for the others
grid_table() {
  local runs finished
  join "$1" >"$scratch/join.tsv"
  runs=$(awk -F '\t' '{ n += $5 } END { print n }' "$scratch/join.tsv")
  finished=$(awk -F '\t' '{ n += $4 } END { print n }' "$scratch/join.tsv")
  if [ "$1" = ablations ]; then
    variants "$scratch/join.tsv" >"$scratch/rows.tsv"
  else
    cp "$scratch/join.tsv" "$scratch/rows.tsv"
  fi
  if awk -F '\t' '$4 > 0 { found = 1 } END { exit !found }' "$scratch/rows.tsv"; then
    echo "| task | method | here | 95 % interval | runs | paper | here - paper |"
    echo "|:---|:---|---:|---:|---:|---:|---:|"
    awk -F '\t' "$students"'$4 > 0 {
      h = half($4, $7)
      interval = h == "" ? "" : show($6 - h) " to " show($6 + h)
      paper = show($8) ($9 == "" ? "" : " ± " show($9))
      difference = $8 == "" ? "" : show($6 - $8)
      print "| " $1 " | " $2 " | " show($6) ($7 == "" ? "" : " ± " show($7)) " | " interval " | " $4 " of " $5 " | " paper " | " difference " |"
    }' "$scratch/rows.tsv"
    echo
  fi
  if [ "$finished" = "$runs" ]; then
    echo "All $runs runs are finished."
  else
    echo "$finished of $runs runs are finished. \`sparc lab run $1 --results docs/results\` runs the others."
  fi
}

# SPARC's scores, for the README
short_table() {
  echo "| task | SPARC here | seeds | paper |"
  echo "|:---|---:|---:|---:|"
  for name in figure1 popgym control classification; do
    join "$name" | awk -F '\t' "$students"'$2 == "sparc" && $4 > 0 && $8 != "" {
      unit = $3 == "return" ? "return" : $3
      print "| " $1 ", " unit " | " show($6) ($7 == "" ? "" : " ± " show($7)) " | " $4 " | " show($8) ($9 == "" ? "" : " ± " show($9)) " |"
    }'
  done
}

# statistics of the trained cells of popgym
diagnostics() {
  "$sparc" lab diagnose popgym --results docs/results --out "$scratch/none" --format markdown 2>/dev/null || true
}

# made_by WHAT: contents of a block
made_by() {
  case $1 in
    short) short_table ;;
    diagnostics) diagnostics ;;
    *) grid_table "$1" ;;
  esac
}

# fill PAGE: the page with all blocks regenerated
fill() {
  local line inside=
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in
      '<!-- reproduction: '*)
        inside=${line#<!-- reproduction: }
        inside=${inside% -->}
        printf '%s\n' "$line"
        made_by "$inside"
        ;;
      '<!-- end of reproduction -->') inside= && printf '%s\n' "$line" ;;
      *) [ -n "$inside" ] || printf '%s\n' "$line" ;;
    esac
  done <"$1"
}

status=0
for page in docs/reproduction.md README.md; do
  fill "$page" >"$scratch/page"
  case ${1:-} in
    write) cp "$scratch/page" "$page" ;;
    check)
      if ! diff --unified=0 "$page" "$scratch/page"; then
        echo "$page differs from docs/results: run scripts/reproduction.sh write" >&2
        status=1
      fi
      ;;
    *)
      echo "usage: $0 write|check" >&2
      exit 2
      ;;
  esac
done
exit $status
