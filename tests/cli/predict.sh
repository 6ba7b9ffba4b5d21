#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# predict.sh: `sparc predict`: files and standard input, CSV and JSONL, rows of any length, line-numbered errors.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"
unset SPARC_DATA

cd "$scratch"
# labels that need quotes in CSV; 150 rows make more than one batch
awk 'BEGIN {
  srand(7)
  for (i = 0; i < 150; i++) {
    printf "%s", i % 2 ? "\"fast, or so\"" : "slow"
    for (t = 0; t < 20; t++) printf ",%.4f", 100 + 9 * sin(t * (0.2 + 0.6 * (i % 2)) + i) + rand()
    print ""
  }
}' >waves.csv
sed 's/^"[^"]*",//; s/^slow,//' waves.csv >values.csv
expect 0 train waves.csv --label 1 --layers 1 --width 8 --state-size 8 --batch 8 --learning-rate 0.02 --updates 120 --out run \
  --quiet
model=run/best.safetensors

# a labelled file, the same without labels, and standard input: the same predictions
expect 0 predict $model waves.csv --label 1
no_complaint
cp out labelled
[ "$(head -1 labelled)" = 'row,class,"p(fast, or so)",p(slow)' ] || fail "another header: $(head -1 labelled)"
[ "$(wc -l <labelled)" = 151 ] || fail "not 150 rows"
[ "$(tail -1 labelled | cut -d, -f1)" = 150 ] || fail "the rows are not counted"
right=$(paste -d'|' <(tail -n +2 labelled) waves.csv | grep -c '^[0-9]*,\("fast\|slow\).*|\1')
[ "$right" -ge 130 ] || fail "$right of 150 rows are right"
expect 0 predict $model values.csv --unlabelled
cmp out labelled || fail "labels change predictions"
"$SPARC" predict $model - <values.csv >streamed
cmp streamed labelled || fail "standard input gives other predictions"
# shellcheck disable=SC2002
cat values.csv | "$SPARC" predict $model - --threads 1 >streamed
cmp streamed labelled || fail "a pipe gives other predictions"
head -c -1 values.csv | "$SPARC" predict $model - >streamed
cmp streamed labelled || fail "a last line without an end is lost"

# probabilities sum to one, and eval agrees with predict
awk -F, 'NR > 1 {s = $NF + $(NF - 1); if (s < 0.9999 || s > 1.0001) exit 1}' labelled || fail "no probabilities"
expect 0 eval $model waves.csv --label 1 --json
prints "\"accuracy\":$(awk -v r="$right" 'BEGIN {printf "%.4g", r / 150}' | cut -c1-5)"

# JSONL holds the same
expect 0 predict $model waves.csv --label 1 --format jsonl
[ "$(wc -l <out)" = 150 ] || fail "not 150 objects"
head -1 out | grep -q '^{"row":1,"class":"[^"]*","probabilities":{"fast, or so":[0-9.e-]*,"slow":[0-9.e-]*}}$' ||
  fail "another object: $(head -1 out)"
[ "$(grep -c '"class":"slow"' out)" = "$(grep -c '^[0-9]*,slow,' labelled)" ] || fail "JSONL and CSV disagree"

# predictions are written while the input is open: a row in, a row out
mkfifo to
"$SPARC" predict $model - <to >predictions &
pid=$!
exec 3>to
for row in 1 2 3; do
  head -1 values.csv >&3
  for _ in $(seq 500); do
    [ "$(wc -l <predictions)" -gt $row ] && break
    sleep 0.02
  done
  [ "$(wc -l <predictions)" = $((row + 1)) ] || fail "row $row has no prediction while the input is open"
done
exec 3>&-
wait $pid || fail "the end of the input is an error"

# rows of other lengths, blank lines, missing values; then a bad row: what came before is answered
printf '100,101\n\n100,?,102,103\n100\n' | "$SPARC" predict $model - >streamed || fail "unequal rows are refused"
[ "$(wc -l <streamed)" = 4 ] || fail "not three predictions"
bad() { # LINES MESSAGE
  local got=0
  printf '%b' "$1" | "$SPARC" predict $model - >out 2>err || got=$?
  [ $got = 3 ] || fail "a bad row gives exit code $got"
  complains "$2"
}
bad '100,101\n1,x\n' "standard input, line 2"
[ "$(wc -l <out)" = 2 ] || fail "the row before the bad one is not answered"
bad '?,?\n' "standard input, line 1"
bad '\0001\0002\n' "standard input, line 1"
"$SPARC" predict $model - </dev/null >out || fail "an empty input is an error"
[ "$(wc -l <out)" = 1 ] || fail "an empty input gives more than the header"

# one bad line is reported and skipped, the others get predictions
printf '100,101\n1,x\n100,102\n' | "$SPARC" predict $model - --keep-going >out 2>err || fail "a bad row ends --keep-going"
[ "$(wc -l <out)" = 3 ] || fail "not the two good rows"
complains "standard input, line 2"
complains "the line is skipped"

# a line sep=; sets the separator of rows, too
"$SPARC" predict $model - <values.csv >plain || fail "rows of standard input fail"
(echo 'sep=;' && tr ',' ';' <values.csv) | "$SPARC" predict $model - >out 2>err || fail "rows below a line sep=; fail"
cmp plain out || fail "rows below a line sep=; give other predictions"
(echo 'sep=;' && tr ',' ';' <values.csv && echo '1;x') >bad
got=0
"$SPARC" predict $model - <bad >out 2>err || got=$?
[ $got = 3 ] || fail "a bad row below a line sep=; gives exit code $got"
complains "standard input, line $(($(wc -l <values.csv) + 2))"
cmp plain out || fail "rows before a bad row have other predictions"

# --follow: a step per line. The last prediction of a sequence is that of the whole
head -1 values.csv | tr ',' '\n' >steps
"$SPARC" predict $model - --follow <steps >out 2>err || fail "--follow fails"
[ "$(head -1 out)" = 'step,class,"p(fast, or so)",p(slow)' ] || fail "another header: $(head -1 out)"
[ "$(wc -l <out)" = 21 ] || fail "not 20 steps"
awk -F, 'NR == FNR {if (FNR == 2) want = $NF; next} {got = $NF} END {d = got - want; exit d * d > 1e-8}' labelled out ||
  fail "the last step gives $(tail -1 out), the whole row $(sed -n 2p labelled)"
"$SPARC" predict $model - --follow --format jsonl <steps >out || fail "--follow gives no JSONL"
grep -q '^{"step":20,"class":' out || fail "no step 20 among the objects"

# a step in, a step out, while the input is open
"$SPARC" predict $model - --follow <to >predictions &
pid=$!
exec 3>to
for step in 1 2 3; do
  echo 100.5 >&3
  for _ in $(seq 500); do
    [ "$(wc -l <predictions)" -gt $step ] && break
    sleep 0.02
  done
  [ "$(wc -l <predictions)" = $((step + 1)) ] || fail "step $step has no prediction while the input is open"
done
exec 3>&-
wait $pid || fail "the end of the steps is an error"

# bad steps: too many values, none, no numbers; left out, they leave the state as it was
printf '100\n101\n102\n' | "$SPARC" predict $model - --follow >good
for step in '1,2' '?' x inf; do
  got=0
  printf '100\n%s\n101\n102\n' "$step" >bad
  "$SPARC" predict $model - --follow <bad >out 2>err || got=$?
  [ $got = 3 ] || fail "the step '$step' gives exit code $got"
  [ "$(wc -l <out)" = 2 ] || fail "the step before '$step' is not answered"
  complains "standard input, line 2"
  "$SPARC" predict $model - --follow --keep-going <bad >out 2>err || fail "the step '$step' ends --keep-going"
  cmp out good || fail "the step '$step' was not left out"
  complains "standard input, line 2"
done
expect 2 predict $model values.csv --follow
complains "--follow is for standard input: expected - in the place of 'values.csv'"

# refusals
expect 2 predict $model
expect 2 predict $model values.csv more
expect 2 predict $model values.csv --format xml
complains "--format is 'xml', expected csv or jsonl"
expect 2 predict $model values.csv --fromat csv
complains "did you mean '--format'?"
expect 3 predict $model values.csv
no_output
expect 3 predict $model missing.csv
expect 3 predict waves.csv values.csv
printf '@problemName two\n@univariate false\n@dimension 2\n@classLabel true slow fast\n@data\n1,2:3,4:slow\n' >two.ts
expect 3 predict $model two.ts

# ---- a label column that is known by name may hold anything
awk 'BEGIN {print "a,b,c,kind"; for (i = 0; i < 40; i++) print i % 2 ",1," i % 2 + 1 ",k" i % 2}' >kinds.csv
expect 0 train kinds.csv --label kind --out kinds --quiet
expect 0 predict kinds kinds.csv
cut -d, -f1-3 "$scratch/out" >known_out
sed '2,$s/k[01]$/unknown/' kinds.csv >unknown.csv
expect 0 predict kinds unknown.csv
cut -d, -f1-3 "$scratch/out" | cmp - known_out || fail "an unknown label changes the predictions"
