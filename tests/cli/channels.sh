#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# channels.sh: models and learners find the columns of a table by name: in any order, with more or fewer columns around
# them; what is missing is named, and what has no names goes by position with a warning.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"
unset SPARC_DATA

cd "$scratch"
small=(--layers 1 --width 8 --state-size 8 --batch 4 --learning-rate 0.02 --updates 30 --threads 1 --quiet)
awk 'BEGIN {
  srand(3)
  print "subject,hour,speed,note,load,kind"
  for (i = 0; i < 16; i++)
    for (t = 0; t < 12; t++)
      printf "s%d,%d,%.4f,%s,%.4f,%s\n", i, t, (i % 2) * 2 + rand(), "free text", (i % 2) + 5 * rand(), i % 2 ? "walk" : "run"
}' >long.csv
columns() { awk -F, -v OFS=, -v list="$1" 'BEGIN {n = split(list, at, " ")} {s = $at[1]; for (i = 2; i <= n; i++) s = s OFS $at[i]; print s}' "$2"; }

# ---- the long format ----
expect 0 train long.csv --id subject --time hour --ignore note "${small[@]}" --out run
expect 0 predict run long.csv
no_complaint
mv out whole
[ "$(head -1 whole)" = "row,subject,class,p(run),p(walk)" ] || fail "another header: $(head -1 whole)"
[ "$(sed -n 2p whole | cut -d, -f1,2)" = "1,s0" ] || fail "no id in $(sed -n 2p whole)"

columns "6 5 2 1 3" long.csv >moved.csv # without the note, and in another order
expect 0 predict run moved.csv
no_complaint
cmp out whole || fail "columns in another order give other predictions"
expect 0 eval run moved.csv
prints "16 examples"
columns "5 2 1 3" long.csv >unlabelled.csv
expect 0 predict run unlabelled.csv
cmp out whole || fail "a file without its label gives other predictions"
expect 3 eval run unlabelled.csv
complains "unlabelled.csv: column 'kind' is missing, which held the label in training"
sed '1s/$/,speed_2/; 2,$s/$/,none of your business/' moved.csv >more.csv
expect 0 predict run more.csv
cmp out whole || fail "a further column gives other predictions"

sed '1s/load/laod/' moved.csv >misspelt.csv
expect 3 predict run misspelt.csv
complains "misspelt.csv: column 'load' is missing; there are 'kind', 'laod', 'hour', 'subject', 'speed'; did you mean 'laod'?"
expect 3 eval run misspelt.csv
complains "column 'load' is missing"
columns "1 2 3 6" long.csv >fewer.csv
expect 3 predict run fewer.csv
complains "column 'load' is missing"
sed '1s/load/speed/' moved.csv >twice.csv
expect 3 predict run twice.csv
complains "column 'speed' is there twice"
columns "2 3 5 6" long.csv >no_id.csv
expect 3 predict run no_id.csv
complains "column 'subject' is missing"
expect 3 predict run misspelt.csv --by-position
complains "there is no column 'note'"

# by numbers in training, by name afterwards; without a header by position
expect 0 train long.csv --id 1 --time 2 --ignore 4 --label 6 "${small[@]}" --out numbers
expect 0 predict numbers moved.csv
no_complaint
cmp out whole || fail "columns that were numbers are not found by name"
tail -n +2 long.csv >bare.csv
expect 0 predict numbers bare.csv
complains "warning: bare.csv has no names of channels: its columns are taken in the order speed, load"
cut -d, -f3 out >got
cut -d, -f3 whole | cmp - got || fail "a file without a header gives other classes"

# a model without names, as earlier versions wrote it
expect 0 train bare.csv --id 1 --time 2 --ignore 4 "${small[@]}" --out old
expect 0 predict old long.csv
complains "warning: the model has no names of channels: those of long.csv are taken in the order speed, load"
cut -d, -f3 out | cmp - got || fail "a model without names gives other classes"

# the test partition goes by the names of the training partition
mkdir Set
cp long.csv Set/Set_TRAIN.csv
cp moved.csv Set/Set_TEST.csv
expect 0 train Set --id subject --time hour --ignore note "${small[@]}" --official --out official
expect 0 eval official Set --json
mv out by_set
expect 0 eval official long.csv --json
[ "$(grep -o '"loss":[^,]*' out)" = "$(grep -o '"loss":[^,]*' by_set)" ] || fail "a test part in another order differs"

# JSON, and steps one by one with and without a header
expect 0 predict run moved.csv --format jsonl
prints '{"row":1,"id":"s0","class":'
sed -n '2,6p' long.csv | columns "3 5" - >steps
(echo "load,when,speed" && awk -F, '{print $2 ",0," $1}' steps) >named_steps
"$SPARC" predict run - --follow <steps >by_place 2>err
complains "warning: standard input has no names of channels: its columns are taken in the order speed, load"
"$SPARC" predict run - --follow <named_steps >by_name
cmp by_place by_name || fail "steps with names give other predictions"
(echo 'sep=;' && tr ',' ';' <named_steps) >separated_steps
"$SPARC" predict run - --follow <separated_steps >by_separator || fail "--follow refuses a line sep=;"
cmp by_name by_separator || fail "steps below a line sep=; give other predictions"
(printf 'sep=;\n' && tr ',' ';' <steps) >separated_steps
"$SPARC" predict run - --follow <separated_steps >by_separator 2>err || fail "--follow refuses a line sep=; without a header"
cmp by_place by_separator || fail "unnamed steps below a line sep=; give other predictions"
printf 'sep=;\nspeed;load\n1,5\n' >separated_steps
code=0
"$SPARC" predict run - --follow <separated_steps >out 2>err || code=$?
[ $code = 3 ] || fail "a comma where the separator is a semicolon: exit code $code"
complains "standard input, line 3"
printf 'speed,laod\n1,2\n' >wrong_steps
code=0
"$SPARC" predict run - --follow <wrong_steps >out 2>err || code=$?
[ $code = 3 ] || fail "a missing channel of a stream: exit code $code"
complains "column 'load' is missing"

# ---- a row for each series ----
awk 'BEGIN {
  srand(5)
  print "b_0,b_1,b_2,a_0,a_1,a_2,kind,note"
  for (i = 0; i < 20; i++)
    printf "%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%s,x\n", rand(), rand(), rand(), i % 2 + rand(), i % 2 + rand(), rand(), i % 2 ? "p" : "q"
}' >wide.csv
expect 0 train wide.csv --label kind --ignore note "${small[@]}" --out wide
expect 0 predict wide wide.csv
mv out whole
columns "6 7 5 4 2 3 1" wide.csv >wide_moved.csv
expect 0 predict wide wide_moved.csv
no_complaint
cmp out whole || fail "channels of rows in another order give other predictions"
sed '1s/a_/c_/g' wide_moved.csv >wide_missing.csv
expect 3 predict wide wide_missing.csv
complains "column 'a' is missing"
# one channel: steps by their number; the label by name, or absent
columns "4 5 6 7" wide.csv >one.csv
expect 0 train one.csv "${small[@]}" --out one
expect 0 predict one one.csv
mv out whole
columns "4 3 1 2" one.csv >one_moved.csv
expect 0 predict one one_moved.csv
cmp out whole || fail "steps in another order give other predictions"
columns "1 2 3" one.csv >one_unlabelled.csv
expect 0 predict one one_unlabelled.csv
cmp out whole || fail "a row without its label gives other predictions"

# ---- names of targets ----
sed '1s/kind/price/; s/,p$/,1.5/; s/,q$/,2.5/' one.csv >prices.csv
expect 0 train prices.csv --objective regress "${small[@]}" --out price
expect 0 predict price prices.csv
[ "$(head -1 out)" = "row,price" ] || fail "another header: $(head -1 out)"
awk 'BEGIN {print "day,level"; for (t = 1; t <= 80; t++) printf "2024-%03d,%.3f\n", t, sin(t / 3)}' >series.csv
expect 0 train series.csv --objective forecast --time day --horizon 2 "${small[@]}" --out forecast
expect 0 predict forecast series.csv
[ "$(head -2 out | cut -d, -f1-3)" = "$(printf 'row,step,day\n1,1,2024-001')" ] || fail "no times: $(head -2 out)"
[ "$(head -1 out | cut -d, -f4)" = "level+2" ] || fail "no name of the target: $(head -1 out)"
expect 0 predict forecast series.csv --format jsonl
prints '"times":["2024-001","2024-002"'

# ---- learners ----
awk 'BEGIN {print "a,b,n"; for (t = 0; t < 300; t++) printf "%.5f,%.5f,%d\n", sin(t / 5), cos(t / 7), t}' >stream.csv
quiet=(--quiet --format none)
expect 0 learn stream.csv --ignore n --model whole.safetensors "${quiet[@]}"
head -151 stream.csv | "$SPARC" learn - --ignore n --model part.safetensors "${quiet[@]}"
cp part.safetensors bare.safetensors
cp part.safetensors missing.safetensors
(echo "new,b,a" && tail -n +152 stream.csv | awk -F, '{print "9," $2 "," $1}') >rest.csv
expect 0 learn rest.csv --resume --model part.safetensors "${quiet[@]}"
cmp whole.safetensors part.safetensors || fail "columns in another order give another learner"
expect 0 predict part.safetensors rest.csv
[ "$(head -1 out)" = "row,step,a+1,b+1" ] || fail "another header: $(head -1 out)"
tail -n +152 stream.csv >tail.csv
expect 0 learn tail.csv --resume --model bare.safetensors --format none
complains "warning: tail.csv, line 1 has no header: columns are matched by position"
cmp whole.safetensors bare.safetensors || fail "a stream without a header gives another learner"
sed '1s/b/bb/' rest.csv >wrong.csv
expect 3 learn wrong.csv --resume --model missing.safetensors "${quiet[@]}"
complains "column 'b' is missing"
cmp missing.safetensors <(head -151 stream.csv >first.csv && "$SPARC" learn first.csv --ignore n --model again.safetensors "${quiet[@]}" && cat again.safetensors) ||
  fail "a stream that was refused has changed the learner"

# targets keep their names, and columns their places in any order
expect 0 learn stream.csv --target b --ignore n --model target.safetensors "${quiet[@]}"
cp target.safetensors again.safetensors
(echo "b,new,a" && tail -n +152 stream.csv | awk -F, '{print $2 ",9," $1}') >target_rest.csv
expect 0 learn target_rest.csv --target b --ignore n --resume --model target.safetensors
mv out by_name
(echo "a,b,n" && tail -n +152 stream.csv) >target_tail.csv
expect 0 learn target_tail.csv --resume --model again.safetensors
cmp out by_name || fail "a target in another place gives other predictions"
cmp target.safetensors again.safetensors || fail "a target in another place gives another learner"
expect 0 predict target.safetensors target_rest.csv
[ "$(head -1 out)" = "row,step,b" ] || fail "no name of the target: $(head -1 out)"
cut -d, -f2,3 target_rest.csv >no_target.csv
expect 0 predict target.safetensors no_target.csv
[ "$(head -1 out)" = "row,step,b" ] || fail "no name of the target: $(head -1 out)"
expect 3 learn no_target.csv --resume --model target.safetensors --quiet
complains "column 'b' is missing"
expect 0 learn no_target.csv --resume --frozen --model target.safetensors --target b --quiet

# ---- a row for each example, values by their names ----
awk -v OFS=, 'BEGIN { srand(7); print "x,\"du \"\"z\"\"\",gr\303\266\303\237e,note,label"
  for (i = 0; i < 40; i++) printf "%.4f,%.4f,%.4f,n,%s\n", i % 2 + rand(), 5 * rand(), 3 - i % 2 + rand(), i % 2 ? "on" : "off" }' >features.csv
expect 0 train features.csv --ignore note "${small[@]}" --out features
expect 0 predict features features.csv
no_complaint
mv out whole
[ "$(wc -l <whole)" = 41 ] || fail "not a prediction for every row"
columns "5 3 2 1" features.csv >moved.csv
expect 0 predict features moved.csv
no_complaint
cmp out whole || fail "values in another order give other predictions"
expect 0 eval features moved.csv --json
mv out by_name
expect 0 eval features features.csv --json
[ "$(grep -o '"loss":[^,]*' out)" = "$(grep -o '"loss":[^,]*' by_name)" ] || fail "values in another order give another loss"
columns "3 4 2 1" features.csv | sed '1s/$/,x_2/; 2,$s/$/,nonsense/' >more.csv
expect 0 predict features more.csv
no_complaint
cmp out whole || fail "further columns, or a missing label, give other predictions"
tr , '\t' <moved.csv >moved.tsv
expect 0 predict features moved.tsv
no_complaint
cmp out whole || fail "tabs give other predictions"
columns "1 3 5" features.csv >missing.csv
expect 3 predict features missing.csv
complains "missing.csv: column 'du \"z\"' is missing; there are 'x', 'größe', 'label'"
expect 3 eval features missing.csv
complains "column 'du \"z\"' is missing"
sed '1s/^x/X/' features.csv >capital.csv
expect 3 predict features capital.csv
complains "column 'x' is missing; there are 'X', 'du \"z\"', 'größe', 'note', 'label'; did you mean 'X'?"
sed '1s/gr[^,]*e/x/' features.csv >twice.csv
expect 3 predict features twice.csv
complains "column 'x' is there twice"
sed '1s/.*/a,b,c,d,label/' features.csv >renamed.csv
expect 3 predict features renamed.csv
complains "columns 'x', 'du \"z\"', 'größe' are missing"
expect 0 predict features features.csv --by-position --ignore 4
no_complaint
cmp out whole || fail "columns by position give other predictions"
columns "1 2 3" features.csv | tail -n +2 >bare.csv
expect 0 predict features bare.csv --label none
complains "warning: bare.csv has no names of values: its columns are taken in the order x, du \"z\", größe"
cmp out whole || fail "columns without names give other predictions"
sed 's/$/,7/' bare.csv >longer.csv
expect 3 predict features longer.csv --label none
complains "longer.csv:1: 4 values in a row without names, expected 3"
"$SPARC" predict features - <more.csv >out
cmp out whole || fail "rows of standard input with names give other predictions"
"$SPARC" predict features - <bare.csv >out 2>err
complains "warning: standard input has no names of values"
cmp out whole || fail "rows of standard input without names give other predictions"
code=0
"$SPARC" predict features - <missing.csv >out 2>err || code=$?
[ $code = 3 ] || fail "a missing value of rows on standard input: exit code $code"
complains "standard input, line 1: column 'du \"z\"' is missing"
(head -3 more.csv && echo "1,2,3") | "$SPARC" predict features - >out 2>err || code=$?
complains "standard input, line 4: 3 fields, expected 5"
cmp out <(head -3 whole) || fail "rows before a bad one have no predictions"

# weights of another model go by place: the same columns in another order are refused, other tables are not
columns "3 2 1 5" features.csv >moved.csv
expect 3 train moved.csv --from features "${small[@]}" --out onward
complains "column 'größe' of the data is where 'x' is in 'features/best.safetensors', expected the same order"
expect 0 train features.csv --ignore note --from features "${small[@]}" --out onward
expect 0 train renamed.csv --ignore d --from features "${small[@]}" --out elsewhere

# several channels by --channels: values by their names, too
columns "1 2 3 4 6" <(awk -v OFS=, 'BEGIN { srand(3); print "p,q,r,s,n,kind"; for (i = 0; i < 40; i++) print rand() + i % 2, rand(), rand() + i % 2, rand(), 0, i % 2 ? "on" : "off" }') >pairs.csv
expect 0 train pairs.csv --label kind --channels 2 "${small[@]}" --out pairs
expect 0 predict pairs pairs.csv
mv out whole
[ "$(wc -l <whole)" = 41 ] || fail "not a prediction for every row"
expect 0 eval pairs pairs.csv
columns "4 1 5 3 2" pairs.csv >moved.csv
expect 0 predict pairs moved.csv
cmp out whole || fail "values of two channels in another order give other predictions"

# names that only number the steps are matched by position: series may have another length, or other days
awk 'BEGIN { srand(9); print "0,1,2,3,label"; for (i = 0; i < 40; i++) printf "%.3f,%.3f,%.3f,%.3f,%d\n", rand() + i % 2, rand(), rand(), rand(), i % 2 }' >counted.csv
expect 0 train counted.csv "${small[@]}" --out counted
columns "1 2 3 5" counted.csv >shorter.csv
expect 0 predict counted shorter.csv
no_complaint
sed '1s/.*/2024-01-01,2024-01-02,2024-01-03,2024-01-04,label/' counted.csv >days.csv
expect 0 train days.csv "${small[@]}" --out days
sed '1s/2024/2025/g' days.csv >later.csv
expect 0 predict days later.csv
no_complaint
# but other names do not go unnoticed
sed '1s/.*/x,y,z,w,label/' counted.csv >named.csv
expect 0 predict counted named.csv
complains "warning: the model has no names of values: those of named.csv are taken in the order x, y, z, w"
# one channel keeps its name: what is no step of it is left out
awk -v OFS=, '{print NR == 1 ? "extra" : "?!", $1, $2, $3, $4}' FS=, one.csv >one_more.csv
expect 0 predict one one.csv
mv out whole
expect 0 predict one one_more.csv
cmp out whole || fail "a further column next to counted steps gives other predictions"
sed '1s/a_/b_/g' one.csv >one_other.csv
expect 3 predict one one_other.csv
complains "column 'a' is missing"

# the test partition goes by the names of values, too
mkdir Rows
cp features.csv Rows/Rows_TRAIN.csv
columns "3 5 1 2" features.csv >Rows/Rows_TEST.csv
expect 0 train Rows --ignore note --label label "${small[@]}" --official --out rows
expect 0 eval rows Rows --json
mv out by_set
expect 0 eval rows features.csv --json
[ "$(grep -o '"loss":[^,]*' out)" = "$(grep -o '"loss":[^,]*' by_set)" ] || fail "a test part in another order differs"

# ---- names of hostile files ----
printf 'x\302\23331m,y\n' >escape.csv # the control sequence introducer of C1
for i in $(seq 40); do echo "$i,$((i * i % 7))"; done >>escape.csv
expect 0 train escape.csv --objective forecast --time none "${small[@]}" --out escape
printf 'z,y\n1,2\n' >other.csv
expect 3 predict escape other.csv
if LC_ALL=C grep -q "$(printf '\302\233')" err; then fail "an escape sequence of a model reaches the terminal"; fi
complains "is missing"
