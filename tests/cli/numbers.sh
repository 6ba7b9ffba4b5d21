#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# numbers.sh: targets that are numbers: regression of series and of steps, forecasts, each next to its baseline.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"
unset SPARC_DATA
cd "$scratch"
small=(--layers 1 --width 8 --state-size 8 --batch 16 --learning-rate 0.02 --quiet --force)

# number KEY: the last number of this key in the JSON that was printed
number() { grep -o "\"$1\":[-0-9.e+]*" out | tail -1 | cut -d: -f2; }
less() { awk -v a="$1" -v b="$2" 'BEGIN {exit !(a < b)}' || fail "$1 is not less than $2: $3"; }

# ---- the amplitude of a wave, far from 0 and 1
mkdir Waves
awk 'BEGIN {
  srand(3)
  for (i = 0; i < 240; i++) {
    a = 1 + 3 * rand()
    file = i < 160 ? "Waves/Waves_TRAIN.csv" : "Waves/Waves_TEST.csv"
    line = ""
    for (t = 0; t < 20; t++) line = line sprintf("%.4f,", a * sin(t * 0.7 + i))
    print line 1000 * a > file
  }
}'
expect 0 data Waves --objective regress
prints 'greatest'
expect 0 train Waves --objective regress --updates 400 --out run "${small[@]}" --json
less "$(number mse)" "$(awk -v n="$(number naive_mse)" 'BEGIN {print n / 4}')" "the test MSE and a quarter of the baseline's"
grep -q '"task": "regress"' run/config.json || fail "config.json does not have the task"
grep -q '"validation_r2"' run/metrics.jsonl || fail "the metrics have no R2"
expect 0 eval run Waves --json
less 0.75 "$(number r2)" "R2 on the test part"
expect 0 eval run Waves/Waves_TEST.csv
prints 'baseline  MSE'
expect 0 train Waves --objective regress --updates 400 --out run --resume --quiet
prints 'baseline  MSE'
prints 'MSE '

# predictions are in the units of the targets, from files and from standard input
expect 0 predict run Waves/Waves_TEST.csv
[ "$(head -1 out)" = row,prediction ] || fail "another header: $(head -1 out)"
awk -F, 'NR > 1 && ($2 < 0 || $2 > 6000) {exit 1}' out || fail "predictions in other units"
cp out whole
sed 's/,[^,]*$//' Waves/Waves_TEST.csv | "$SPARC" predict run - >streamed
cmp streamed whole || fail "standard input gives other predictions"
expect 0 predict run Waves/Waves_TEST.csv --format jsonl
head -1 out | grep -q '^{"row":1,"outputs":\[[-0-9.e+]*\]}$' || fail "another object: $(head -1 out)"

# a run that is stopped and resumed ends with the same bytes
expect 0 train Waves --objective regress --updates 5000 --validate-every 20 --out one "${small[@]}"
interrupt TERM two train Waves --objective regress --updates 5000 --validate-every 20 --out two "${small[@]}"
expect 0 train --resume --out two --quiet
cmp one/best.safetensors two/best.safetensors || fail "a resumed run of numbers ends with other bytes"

# ---- a number for every step: the running sum
awk 'BEGIN {
  srand(4)
  print "id,t,v,sum"
  for (i = 0; i < 60; i++) {
    s = 0
    for (t = 0; t < 12; t++) {
      v = rand() - 0.5
      s += v
      printf "%d,%d,%.4f,%.4f\n", i, t, v, 50 + s
    }
  }
}' >sums.csv
expect 0 train sums.csv --objective regress --id id --time t --updates 300 --out sums "${small[@]}" --json
less 0.6 "$(number r2)" "R2 of running sums"
expect 0 predict sums sums.csv
[ "$(sed -n 1p out)" = row,id,step,t,sum ] || fail "predictions do not name id, time and target: $(sed -n 1p out)"
[ "$(sed -n 2p out | cut -d, -f1-4)" = 1,0,1,0 ] || fail "no prediction for the first step: $(sed -n 2p out)"
[ "$(wc -l <out)" = 721 ] || fail "not a prediction for every step"

# ---- forecasts of one long series, and of many short ones
awk 'BEGIN {print "when,value"; for (t = 0; t < 600; t++) printf "%d,%.4f\n", t, 100 + 20 * sin(t / 3)}' >sine.csv
expect 0 data sine.csv --objective forecast --time when
prints 'one series of 600 steps: the first 480 fit in windows of 64, the next 60 validate, the last 60 test'
expect 0 train sine.csv --objective forecast --horizon 3 --time when --updates 400 --out sine "${small[@]}" --json
less "$(number mse)" "$(number naive_mse)" "a forecast beside persistence"
expect 0 eval sine sine.csv
prints 'baseline  MSE'
prints 'of persistence'
expect 0 predict sine sine.csv
[ "$(wc -l <out)" = 601 ] || fail "not a forecast for every step"
cut -d, -f4 out | sed 1d >whole # after row, step and time
sed 1d sine.csv | cut -d, -f2 >values
"$SPARC" predict sine - --follow --by-position <values | sed 1d | cut -d, -f2 >stepwise
paste whole stepwise | awk '{ d = $1 - $2; if (d * d > 1e-4) { print; exit 1 } }' || fail "step by step other forecasts"
# a series that grows: the last part is at a level, and has swings, that the fit part never had
awk 'BEGIN {print "t,v"; for (t = 0; t < 200; t++) printf "%d,%.3f\n", t, (100 + 2 * t) * (1 + 0.2 * sin(t / 2))}' >grows.csv
expect 0 train grows.csv --objective forecast --time t --updates 300 --out grows "${small[@]}" --json
less "$(number mse)" "$(number naive_mse)" "a forecast of a series that grows"
expect 0 train Waves --objective forecast --label none --channels 1 --updates 40 --out many "${small[@]}"
prints 'R2'

# ---- refusals
expect 3 train sums.csv --objective regress --id id --label none --out none "${small[@]}"
complains 'has no targets'
printf '@targetLabel true\n@data\n1,2:0.5\n3,4:1.5\n' >targets.ts
expect 3 data targets.ts
complains 'the labels are numbers, expected --objective regress'
expect 2 train Waves --objective guess
complains "--objective is 'guess', expected classify, regress or forecast"
expect 3 train sine.csv --objective forecast --horizon 90 --time when --out none "${small[@]}"
complains 'too few to forecast 90 ahead'
