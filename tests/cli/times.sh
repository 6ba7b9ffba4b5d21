#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# times.sh: a column of times: train puts rows in its order, learn demands it; both refuse what has no order. Columns and
# headers follow the same rules in both.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"
unset SPARC_DATA

cd "$scratch"
small=(--layers 1 --width 8 --state-size 8 --batch 4 --updates 20 --threads 1 --quiet)
awk 'BEGIN { print "when,a,b"; for (t = 0; t < 200; t++) printf "%d,%.5f,%.5f\n", t + 8, sin(t / 5), cos(t / 7) }' >stream.csv

# ---- learn: the time is no input, and is written next to predictions ----
expect 0 learn stream.csv --time when --model timed.safetensors
mv out timed
[ "$(head -2 timed | cut -d, -f1-2)" = "$(printf 'step,when\n1,8')" ] || fail "no times: $(head -2 timed)"
expect 0 learn stream.csv --ignore when
cut -d, -f1,3- timed | cmp - out || fail "the time changes predictions"
expect 0 learn stream.csv --time 1 --format jsonl --quiet
prints '{"step":1,"time":"8","outputs":'
expect 0 learn stream.csv --time none --quiet
[ "$(head -1 out)" = "step,when,a,b" ] || fail "--time none makes a column no input: $(head -1 out)"
expect 2 learn stream.csv --time wen
complains "there is no column 'wen'"
expect 2 learn stream.csv --time when --ignore when
complains "column 'when' is given two roles"

# ---- lines out of order ----
(sed -n 1,101p stream.csv && sed -n 51p stream.csv && sed -n '102,$p' stream.csv) >back.csv
expect 3 learn back.csv --time when --model back.safetensors --quiet
complains "back.csv, line 102: the time is '57', before '107' of the previous line"
[ "$(wc -l <out)" = 101 ] || fail "lines before the one out of order have no predictions"
expect 0 learn back.csv --time when --keep-going
cmp out timed || fail "a line out of order that is left out changes predictions"
complains "line 102: the time is '57', before '107' of the previous line; expected lines in order of time; the line is skipped"
# times may repeat, and a new sequence begins anew
awk -F, -v OFS=, 'NR == 1 { print "run", $0; next } { print NR < 102 ? "x" : "y", int(($1 - 8) % 100 / 2), $2, $3 }' stream.csv >runs.csv
expect 0 learn runs.csv --id run --time when --quiet
[ "$(sed -n '1p; 101p; 102p' out | cut -d, -f1-3)" = "$(printf 'step,run,when\n100,x,49\n101,y,0')" ] || fail "ids and times: $(sed -n '1p; 101p; 102p' out)"
expect 3 learn runs.csv --time when --ignore run --quiet
complains "runs.csv, line 102: the time is '0', before '49'"

# ---- resuming: by name, in the order of time, bit by bit ----
head -121 stream.csv >first.csv
(echo "b,when,more,a" && tail -n +122 stream.csv | awk -F, -v OFS=, '{ print $3, $1, "text", $2 }') >rest.csv
expect 0 learn first.csv --time when --model parts.safetensors --format none --quiet
cp parts.safetensors other.safetensors
expect 0 learn rest.csv --time when --resume --model parts.safetensors --format none --quiet
cmp parts.safetensors timed.safetensors || fail "two parts give another learner"
expect 3 learn first.csv --resume --model parts.safetensors --quiet
complains "first.csv, line 2: the time is '8', before '207' of the previous line"
cmp parts.safetensors timed.safetensors || fail "a stream that was refused has changed the learner"
sed '1s/when/then/' rest.csv >renamed.csv
expect 3 learn renamed.csv --resume --model other.safetensors --quiet
complains "column 'when' is missing"
expect 2 learn rest.csv --time a --resume --model other.safetensors --quiet
complains "time is 'a', but 'when' in"
expect 2 learn rest.csv --time none --resume --model other.safetensors --quiet
complains "time is 'none', but"
# a learner with a time is a model, whose predictions have times
expect 0 predict parts.safetensors rest.csv
[ "$(head -2 out | cut -d, -f1-3)" = "$(printf 'row,step,when\n1,1,128')" ] || fail "no times: $(head -2 out)"

# settings that are repeated may name columns that are no longer there, and others may be new
awk -F, -v OFS=, '{ print $0, NR == 1 ? "note" : "x" }' first.csv >noted.csv
expect 0 learn noted.csv --time when --ignore note --model noted.safetensors --format none --quiet
expect 0 learn rest.csv --time when --ignore note --resume --model noted.safetensors --format none --quiet
expect 2 learn rest.csv --time when --ignore b --resume --model noted.safetensors --quiet
complains "ignore is 'b', but"
expect 2 learn rest.csv --time when --ignore nothing --resume --model noted.safetensors --quiet
complains "there is no column 'nothing'"

# ---- an index without a name, as pandas writes it ----
awk -F, -v OFS=, '{ print NR == 1 ? "" : NR - 2, $2, $3 }' stream.csv >indexed.csv
cut -d, -f2- stream.csv >plain.csv
expect 0 learn plain.csv --model plain.safetensors
mv out whole
expect 0 learn indexed.csv --model indexed.safetensors
cmp out whole || fail "an index without a name is learned from"
(head -1 indexed.csv && tail -n 40 indexed.csv | awk -F, -v OFS=, '{ print $1, $2, $3 }') | cut -d, -f1,3,2 >later.csv
(echo "b,a" && tail -n 40 indexed.csv | awk -F, -v OFS=, '{ print $3, $2 }') >swapped.csv
expect 0 learn swapped.csv --resume --model indexed.safetensors --quiet
no_complaint
mv out swapped
expect 0 learn later.csv --resume --model plain.safetensors --quiet
cmp out swapped || fail "an index without a name keeps columns from being found by name"

# ---- times that have no order as texts ----
day() { awk -v form="$1" 'BEGIN { print "day,v"; for (t = 1; t <= 80; t++) printf form ",%.3f\n", 1 + t % 28, sin(t / 3) }'; }
for form in '%02d.05.2024' '5/%d/24' '2024-5-%d' '%d:00'; do
  day "$form" >days.csv
  expect 3 train days.csv --objective forecast --time day "${small[@]}" --out never
  complains "days.csv:2: the time is '"
  complains "expected a time whose text can be put in order, such as 2024-05-31 08:15, or a number"
  expect 3 learn days.csv --time day --quiet
  complains "days.csv, line 2: 'day' is '"
done
sed '5s/^[0-9]*//' stream.csv >gap.csv
expect 3 train gap.csv --objective forecast --time when "${small[@]}" --out never
complains "gap.csv:5: the time is '', expected a time"
expect 3 learn gap.csv --time when --quiet
complains "gap.csv, line 5: 'when' is '', expected a time"
sed '5s/^[0-9]*/noon/' stream.csv >mixed.csv
expect 3 train mixed.csv --objective forecast --time when "${small[@]}" --out never
complains "mixed.csv:5: the time is 'noon', but '8' in line 2: expected numbers only, or texts only"
expect 3 learn mixed.csv --time when --quiet
complains "mixed.csv, line 5: the time is 'noon' after '10', expected numbers only, or texts only"
# rows in any order, decimal commas: 9,5 is before 10,5
awk -F, 'NR == 1 { print "when;v"; next } { sub(/\./, ",", $2); printf "%d,5;%s\n", $1, $2 }' stream.csv >ordered.csv
(head -1 ordered.csv && tail -n +2 ordered.csv | sort -R --random-source=stream.csv) >shuffled.csv
expect 0 train ordered.csv --objective forecast --time when --decimal , "${small[@]}" --out ordered
expect 0 predict ordered ordered.csv
mv out whole
expect 0 predict ordered shuffled.csv
cmp out whole || fail "rows in another order give another series"
expect 0 learn ordered.csv --time when --decimal , --format none --quiet
expect 3 learn shuffled.csv --time when --decimal , --format none --quiet
complains "expected lines in order of time"
