#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# info_cells.sh: `sparc info --cells` prints the parameter counts and trace sizes of docs/cells.md.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

# row BUDGET CELL H PARAMS STATE TRACE
row() {
  expect 0 info --cells --state-size "$1"
  local line
  line=$(sed 's/ (local)/-local/' "$scratch/out" | awk -v cell="$2" '$1 == cell {print $2, $3, $4, $5}')
  [ "$line" = "$3 $4 $5 $6" ] || fail "budget $1, cell $2: '$line', expected '$3 $4 $5 $6'"
}

# continuous control
row 384 sparc 192 25666 384 100992
row 384 rtu 192 24960 384 25344
row 384 lru 192 98880 384 25344
row 384 rglru 384 32256 384 206976
row 384 rglru-local 384 32256 384 7296
row 384 gateloop 192 86400 384 99072
row 384 mamba3 64 14084 484 0
row 384 gru 384 517632 384 0
# POPGym
row 128 sparc 64 8642 128 33664
row 128 rtu 64 8320 128 8448
row 128 lru 64 16576 128 8448
row 128 rglru 128 10752 128 68992
row 128 rglru-local 128 10752 128 2432
row 128 gateloop 64 28800 128 33024
row 128 mamba3 64 13404 204 0
row 128 gru 128 74240 128 0

# both budgets by default, as JSON too
expect 0 info --cells
[ "$(grep -c '^sparc ' "$scratch/out")" = 2 ] || fail "the default is not both budgets"
expect 0 info --cells --json --state-size 128
rows=$(grep -c '"cell"' "$scratch/out")
expect 0 info
kinds=$(awk '$1 == "cells" {print NF - 1}' "$scratch/out")
[ "$rows" = $((kinds + 1)) ] || fail "--json prints $rows objects for $kinds cells and RG-LRU's second row"

# other widths: 2 H D + 5 H + 2 (D + 1) parameters
expect 0 info --cells --inputs 10 --modes 8
[ "$(awk '$1 == "sparc" {print $3}' "$scratch/out")" = $((2 * 8 * 10 + 5 * 8 + 2 * 11)) ] || fail "wrong count at D 10, H 8"

# the options of every cell, for people and as JSON
expect 0 info --options
grep -q '^  kappa_r=0\.\.16 (2\.772589)$' "$scratch/out" || fail "--options does not show the range of kappa_r"
for kind in sparc rtu lru rglru gateloop mamba3 gru; do
  grep -q "^$kind: " "$scratch/out" || fail "--options does not name $kind"
done
expect 0 info --options --json
grep -q '"option":"transition".*"choices":\["polar","complex"\],"default":"polar"' "$scratch/out" ||
  fail "--options --json does not show GateLoop's transition"
expect 2 info --options --cells

# what makes no sense
expect 2 info --cells --state-size 0
expect 2 info --cells --modes 4 --state-size 8
expect 2 info --cells "$vectors/sparc-one.safetensors"
