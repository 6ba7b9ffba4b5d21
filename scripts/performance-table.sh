#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# performance-table.sh print [FOLDER]|write|check|folder: the one table of figures in docs/performance.md, made from the
# logs in the folder of the machine that the page shows. print takes those of any FOLDER; write puts the table between
# the page's markers; check fails when the page has another one; folder prints the folder that the page shows.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

page=docs/performance.md
shown=docs/performance/intel-xeon-avx512
folder=${2:-$shown}
columns=(awk -f scripts/json-columns.awk)
begin='<!-- made by scripts/performance-table.sh write -->'
end='<!-- end of the table -->'

# goal, value, demand, stretch, unit, at most, verdict; growth as a goal of its own for each kind and axis
rows() {
  "${columns[@]}" -v keys="goal value demand stretch unit at_most verdict" "$folder/goals.jsonl"
  [ ! -e "$folder/growth.jsonl" ] || "${columns[@]}" -v keys="growth axis deviation line_within" "$folder/growth.jsonl" | awk -F '\t' '
    BEGIN { OFS = "\t" }
    {
      key = $1 " as " $2 " grows: largest distance from a line"
      if (!(key in worst)) { order[++count] = key; worst[key] = 0; verdict[key] = "demand" }
      deviation = 100 * ($3 < 0 ? -$3 : $3)
      if (deviation > worst[key]) worst[key] = deviation
      if ($4 == "false") verdict[key] = "MISSED"
    }
    END { for (i = 1; i <= count; i++) print order[i], worst[order[i]], 15, "-", "percent", "true", verdict[order[i]] }'
}

# machine KEY: a line of `sparc info`
machine() { sed -n "s/^$1 *//p" "$folder/machine.txt"; }

print_table() {
  echo "Measured with $(machine version) on $(machine cpu), $(machine kernels | cut -d ' ' -f 1) kernels," \
    "$(machine threads | cut -d ' ' -f 1) threads:"
  echo
  rows | awk -F '\t' '
    # a figure with its unit; marks carry the direction
    function show(x, unit, sign) {
      if (x == "-") return ""
      return sign (unit == "percent" ? sprintf("%.0f %%", x) : unit == "E_norm" ? sprintf("%.1e", x) : sprintf("%.2f", x))
    }
    BEGIN {
      print "| goal | measured | demanded | stretch | verdict |"
      print "|---|---|---|---|---|"
    }
    {
      sign = $6 == "true" ? "at most " : "at least "
      printf "| %s | %s | %s | %s | %s |\n", $1, show($2, $5, ""), show($3, $5, sign), show($4, $5, ""), $7
      if ($7 == "not built") next
      if ($3 != "-") { goals++; reached += $7 == "demand" || $7 == "stretch" }
      if ($4 != "-") { stretches++; stretched += $7 == "stretch" }
    }
    END { printf "\n%d of %d demands and %d of %d stretch values are reached.\n", reached, goals, stretched, stretches }'
}

# the page with a fresh table
rewritten() {
  print_table | awk -v begin="$begin" -v end="$end" '
    NR == FNR { table = table $0 "\n"; next }
    $0 == end { inside = 0; found += started }
    !inside { print }
    $0 == begin { printf "\n%s\n", table; inside = started = 1 }
    END { exit found == 1 ? 0 : 1 }' - "$page"
}

if ! new=$(rewritten); then
  echo "${0##*/}: $page does not have the markers '$begin' and '$end' once" >&2
  exit 1
fi
case ${1:-} in
print) print_table ;;
folder) echo "$shown" ;;
write) printf '%s\n' "$new" >"$page" ;;
check)
  if ! diff -u "$page" <(printf '%s\n' "$new"); then
    echo "${0##*/}: the table in $page is not that of the logs; run ${0##*/} write" >&2
    exit 1
  fi
  ;;
*)
  echo "usage: ${0##*/} print [FOLDER]|write|check|folder" >&2
  exit 2
  ;;
esac
