#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# coverage.sh BUILD: a table of line coverage per source file from gcov's counters. A typed source is compiled
# twice; a line counts as covered when either precision ran it. Needs nothing but gcov and awk.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=$1
find "$build" -path '*/sparc_*.dir/*' -name '*.gcda' -print0 | xargs -0 -r gcov --stdout 2>/dev/null |
  awk -v root="$PWD/" '
    # gcov lines are count:line:text; line 0 names the source
    { split($0, field, ":"); count = field[1]; line = field[2] + 0; gsub(/ /, "", count) }
    line == 0 && field[3] == "Source" { file = field[4]; sub(root, "", file); next }
    line > 0 && count != "-" && file ~ /^src\// {
      key = file SUBSEP line
      if (!(key in seen)) { seen[key] = 1; total[file]++ }
      if (count !~ /^[#=]/ && !(key in hit)) { hit[key] = 1; ran[file]++ }
    }
    END {
      for (f in total) {
        printf "%6.1f %%  %5d of %5d  %s\n", 100 * ran[f] / total[f], ran[f], total[f], f | "sort -k6"
        all += total[f]; reached += ran[f]
      }
      close("sort -k6")
      if (!all) { print "no counters: run the tests first"; exit 1 }
      printf "%6.1f %%  %5d of %5d  all lines\n", 100 * reached / all, reached, all
    }'
