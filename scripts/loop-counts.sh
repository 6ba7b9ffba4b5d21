#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# loop-counts.sh OBJECT FUNCTION [CPU...]: the innermost loops of a function in an object file of the kernels: how many
# loads, stores, multiply-adds and other instructions one pass has, how often it loads the same place twice, and how many
# cycles llvm-mca gives it on each CPU (default: znver3 and skylake). For machines that are not at hand.
#
#   scripts/loop-counts.sh build/release/CMakeFiles/sparc_f32.dir/src/kernels/kernels_avx2.c.o trace
set -euo pipefail
[ $# -ge 2 ] || { echo "usage: ${0##*/} OBJECT FUNCTION [CPU...]" >&2; exit 2; }
object=$1 function=$2
shift 2
cpus=("$@")
[ $# -gt 0 ] || cpus=(znver3 skylake)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# address and instruction of the function, without what jumps mean as text
objdump -d --no-show-raw-insn "$object" | awk -v name="<$function>:" '
  $2 == name { inside = 1; next }
  NF == 0 { inside = 0 }
  inside { sub(/^ */, ""); sub(/:\t/, "\t"); sub(/ *[#<].*/, ""); print }' >"$scratch/function"
[ -s "$scratch/function" ] || { echo "${0##*/}: $object has no function $function" >&2; exit 1; }

# an innermost loop: from the target of a jump backwards to the jump, with no other one in between
awk -F '\t' -v folder="$scratch" '
  function number(hex, i, n) {
    for (i = 1; i <= length(hex); i++) n = 16 * n + index("0123456789abcdef", substr(hex, i, 1)) - 1
    return n
  }
  { at[NR] = number($1); line[$1] = NR; text[NR] = $2 }
  END {
    for (i = 1; i <= NR; i++) {
      if (split(text[i], word, / +/) < 2 || word[1] !~ /^j/ || !(word[2] in line) || line[word[2]] > i) continue
      first = line[word[2]]
      inner = 1
      for (k = first; k < i; k++)
        if (split(text[k], other, / +/) > 1 && other[1] ~ /^j/ && other[2] in line && line[other[2]] <= k && line[other[2]] >= first)
          inner = 0
      if (!inner) continue
      file = sprintf("%s/loop%02d", folder, ++loops)
      for (k = first; k <= i; k++) if (text[k] !~ /^j/) print text[k] >file
      close(file)
    }
  }' "$scratch/function"

printf '%-4s %6s %7s %13s %6s %6s' loop loads stores multiply-adds other twice
for cpu in "${cpus[@]}"; do printf ' %10s' "$cpu"; done
echo
for file in "$scratch"/loop*; do
  grep -q '[yz]mm' "$file" || continue
  # vector operands in memory: the last one is written by a move, all others are read
  awk '
    /\(%/ && /^vmov[a-z]* +%[xyz]mm/ { stores++; next }
    /\(%/ && /[yz]mm/ { loads++; match($0, /-?(0x[0-9a-f]+)?\([^)]*\)/)
      if (seen[substr($0, RSTART, RLENGTH)]++) twice++ }
    /^v(fn?m|mul|add|sub)/ { work++; next }
    !/^v(mov|broadcast)/ { other++ }
    END { printf "%6d %7d %13d %6d %6d", loads, stores, work, other, twice }' "$file" >"$scratch/counts"
  printf '%-4s %s' "$(basename "$file" | tr -dc 0-9)" "$(cat "$scratch/counts")"
  for cpu in "${cpus[@]}"; do
    cycles=$(llvm-mca -mcpu="$cpu" -iterations=100 "$file" 2>/dev/null | sed -n 's/^Total Cycles: *//p')
    printf ' %10s' "$(awk -v c="${cycles:-0}" 'BEGIN { printf "%.1f", c / 100 }')"
  done
  echo
done
