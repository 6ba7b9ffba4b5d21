#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# length.sh: how long `sparc train` trains: by the number of rows, until validation shows no progress, or within a time;
# and that --recipe paper trains as ever.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"
unset SPARC_DATA

cd "$scratch"
tiny=(--layers 1 --width 4 --state-size 4 --threads 1)
rows() { # COUNT: two classes of six steps
  awk -v n="$1" 'BEGIN {srand(4); for (i = 0; i < n; i++) {for (t = 0; t < 6; t++) printf "%.3f,", i % 2 + rand(); print "c" i % 2}}'
}
setting() { sed -n "s/^ *\"$2\": *\"\{0,1\}\([^\",]*\).*/\1/p" "$1/config.json"; }

# ---- by the number of rows ----
rows 40 >few.csv
expect 0 train few.csv "${tiny[@]}" --out few --progress plain
complains "recipe    small, for 36 rows: jitter 0.1"
complains "validate  only 4 validation rows select the checkpoint; --folds 5 validates on all 40"
complains "length    at most 1000 updates for 36 rows; stops after 8 validations without improvement"
[ "$(setting few recipe) $(setting few updates) $(setting few patience) $(setting few validate-every)" = "small 1000 8 50" ] ||
  fail "another length: $(cat few/config.json)"
awk 'BEGIN {srand(9); for (i = 0; i < 60; i++) {for (t = 0; t < 6; t++) printf "%.3f,", rand(); print rand() < 0.5 ? "a" : "b"}}' >noise.csv
expect 0 train noise.csv "${tiny[@]}" --width 16 --learning-rate 0.02 --out noise --quiet
prints "stopped   no improvement in 8 validations"
rows 2000 >many.csv
expect 0 train many.csv "${tiny[@]}" --validation 0.5 --time-budget 1 --out many --quiet # 1000 rows fit
[ "$(setting many recipe)" = sized ] || fail "another recipe: $(cat many/config.json)"
rows 3000 >more.csv
expect 0 train more.csv "${tiny[@]}" --out more --quiet
[ "$(setting more recipe) $(setting more updates)" = "sized 3375" ] || fail "another length: $(cat more/config.json)"

# given values take precedence, and the run ends there
expect 0 train few.csv "${tiny[@]}" --updates 20 --out given --quiet
[ "$(setting given updates) $(setting given patience)" = "20 " ] || [ "$(setting given updates) $(setting given patience)" = "20 0" ] ||
  fail "updates that are given come with patience: $(cat given/config.json)"
expect 0 train few.csv "${tiny[@]}" --epochs 2 --out epochs --quiet
[ "$(setting epochs updates)" = 3 ] || fail "epochs are not counted: $(setting epochs updates)"
expect 2 train tracking --recipe sized --out task
complains "recipe is sized, which is for data sets"

# the best checkpoint is what is used
best=$(sed -n 's/.*"best":{"update":\([0-9]*\).*/\1/p' <("$SPARC" train --resume --out noise --json --quiet))
"$SPARC" info --json noise/best.safetensors | grep -q "\"update\":\"$best\"" || fail "best.safetensors is not that of update $best"

# ---- the paper's recipe ----
expect 0 train few.csv "${tiny[@]}" --recipe paper --updates 60 --out paper --quiet
[ "$(setting paper updates) $(setting paper validate-every) $(setting paper division)" = "60 6 paper" ] ||
  fail "another protocol: $(cat paper/config.json)"
expect 0 train few.csv "${tiny[@]}" --recipe paper --time-budget 2 --out long --quiet
[ "$(setting long patience)" = "" ] || [ "$(setting long patience)" = 0 ] || fail "the paper stops early"

# ---- within a time ----
updates=$(setting long updates)
[ "$updates" -lt 20000 ] || fail "2 seconds are enough for $updates updates"
[ "$(setting long warmup)" -le $((updates / 10)) ] || fail "the warm-up is as long as before: $(setting long warmup) of $updates"
cp -r long again
expect 0 train --resume --out again --quiet --json # what is left, if anything, without a limit
prints "\"updates\":$updates"
expect 2 train few.csv "${tiny[@]}" --time-budget 0 --out none
complains "time-budget"

# ---- cross-validation ----
expect 0 train few.csv "${tiny[@]}" --updates 20 --folds 4 --out cross
[ "$(grep -c '^fold ' out)" = 4 ] || fail "not four folds"
prints "4 folds: mean validation accuracy"
[ "$(setting cross/f3 fold) $(setting cross/f3 folds)" = "3 4" ] || fail "config.json does not have the fold"
# folds are disjoint, cover everything, and have all classes
for fold in 1 2 3 4; do
  expect 0 data few.csv --folds 4 --fold $fold --json
  prints '"part":"validation","examples":10,'
  prints '"label":"c0","fit":15,"validation":5}'
done
expect 0 eval cross/f3 few.csv --part validation
prints "10 examples"
expect 0 train few.csv "${tiny[@]}" --updates 20 --folds 4 --fold 3 --out third --quiet
cmp cross/f3/last.safetensors third/last.safetensors || fail "a fold alone is another one"
expect 0 train few.csv "${tiny[@]}" --updates 20 --folds 4 --out cross --resume --json
prints '"folds":4'
expect 2 train few.csv "${tiny[@]}" --folds 4 --seeds 0-1 --out both
complains "--folds and --seeds exclude each other"
expect 2 train few.csv "${tiny[@]}" --folds 4 --fold 5 --out five --quiet
complains "fold is 5 of 4"
expect 2 train few.csv "${tiny[@]}" --folds 41 --fold 1 --out many --force --quiet
complains "expected 1 to 41 of 2 to 40 folds"
expect 2 train few.csv "${tiny[@]}" --folds 4 --validation 0.2 --out both
