#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# forecast.sh: `sparc train TABLE --objective forecast`: which rows are steps, and that the later parts of a series are measured
# from the state that its past leads to.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"
unset SPARC_DATA

cd "$scratch"
small=(--layers 1 --width 8 --state-size 8 --batch 8 --learning-rate 0.02 --updates 40 --threads 1 --quiet)
awk 'BEGIN {print "day,level,load"; for (t = 1; t <= 150; t++) printf "2024-%03d,%.3f,%.3f\n", t, 40 + t / 3 + 9 * sin(t / 2), cos(t / 5)}' >table.csv

# ---- what a row is ----
cut -d, -f2,3 table.csv >two.csv
expect 2 train two.csv --objective forecast "${small[@]}" --out two
complains "two.csv: rows of 2 values may be steps or series: --time COLUMN (or --time none:"
complains "--id COLUMN"
[ ! -e two ] || fail "a run was begun"
expect 0 train two.csv --objective forecast --time none "${small[@]}" --out two
prints "model     two/best.safetensors"
expect 0 train table.csv --objective forecast --time day "${small[@]}" --out timed
cmp_tensors() { cmp <(tail -c +"$(($(data_start "$1") + 1))" "$1") <(tail -c +"$(($(data_start "$2") + 1))" "$2"); }
cmp_tensors two/last.safetensors timed/last.safetensors || fail "the order of the file and that of the days differ"
awk -F, 'NR == 1 {print ",level,load"; next} {print NR - 2 "," $2 "," $3}' table.csv >index.csv
expect 0 train index.csv --objective forecast "${small[@]}" --out index
cmp_tensors two/last.safetensors index/last.safetensors || fail "an index is taken for a channel"
cut -d, -f2 table.csv >one.csv
expect 0 train one.csv --objective forecast "${small[@]}" --out one
tail -n +2 one.csv >bare.txt
expect 0 train bare.txt --objective forecast "${small[@]}" --out bare
cmp_tensors one/last.safetensors bare/last.safetensors || fail "a single column without a name is another series"
expect 0 predict one one.csv
[ "$(wc -l <out)" = 151 ] || fail "not 150 steps"
head -1 out | grep -qx 'row,step,level+1' || fail "another header: $(head -1 out)"

# ---- the state at the beginning of a part ----
horizon=3
expect 0 train one.csv --objective forecast --horizon $horizon "${small[@]}" --out state --json
grep -o '"test":{[^}]*' out | grep -o '"mse":[0-9.e+-]*' | cut -d: -f2 >measured
expect 0 predict state one.csv
# the last tenth, steps 136 to 150: predictions made there whose targets are there
paste -d, <(tail -n +2 out) <(tail -n +2 one.csv) | awk -F, -v h=$horizon '
  {predicted[NR] = $3; level[NR] = $4}
  END {for (t = 136; t + h <= NR; t++) {e = predicted[t] - level[t + h]; sum += e * e; n++} printf "%.9g\n", sum / n}' >computed
paste measured computed | awk '{d = $1 / $2 - 1; exit !(d < 1e-4 && d > -1e-4)}' ||
  fail "the test part has MSE $(cat measured), predictions over the whole series $(cat computed)"
expect 0 eval state one.csv --part test --json
grep -o '"mse":[0-9.e+-]*' out | cut -d: -f2 | cmp - measured || fail "eval measures something else than train"
expect 0 train one.csv --objective forecast --horizon $horizon "${small[@]}" --split paper --out cold --json
grep -o '"test":{[^}]*' out | grep -o '"mse":[0-9.e+-]*' | cut -d: -f2 >cold_mse
paste cold_mse measured | awk '{exit !($1 > 1.05 * $2)}' || fail "without its past the test part has MSE $(cat cold_mse)"

# ---- runs keep how their data were divided ----
cmp_tensors cold/last.safetensors state/last.safetensors || fail "the division of later parts changes the weights"
sed -i -z 's/,\n  "division": "paper"//' cold/config.json # as earlier versions wrote it
expect 0 train --resume --out cold --json --quiet
grep -o '"test":{[^}]*' out | grep -o '"mse":[0-9.e+-]*' | cut -d: -f2 | cmp - cold_mse || fail "a resumed run has another division"
awk 'BEGIN {srand(2); for (c = 0; c < 10; c++) for (i = 0; i < 5; i++) {for (t = 0; t < 6; t++) printf "%.3f,", c + rand(); print "c" c}}' >few.csv
expect 0 data few.csv
prints "fit is the whole training partition, there is no validation part"
expect 0 data few.csv --split sound
prints "fit and validation are 40 and 10 of 50 training examples"
expect 0 data few.csv --split paper
prints "fit and validation are 49 and 1 of 50 training examples"
expect 0 train few.csv "${small[@]}" --out few --json
prints '"validation":10'
grep -q '"division": *"sound"' few/config.json || fail "config.json does not have the division of the data"
expect 0 eval few few.csv --part validation
prints "10 examples"
expect 0 train few.csv "${small[@]}" --recipe paper --out few_paper --json
prints '"validation":1'
expect 0 eval few_paper few.csv --part validation
prints "1 examples"
