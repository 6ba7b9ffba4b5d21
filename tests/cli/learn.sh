#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# learn.sh: `sparc learn`: forecasts, numbers and classes from streams, files that continue bit-exactly, signals, malformed lines.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"
cd "$scratch"
small=(--modes 8 --quiet)

# a wave that changes its pitch half way, and its value four steps ago
awk 'BEGIN {
  print "time,wave,echo,sign,run"
  for (t = 0; t < 3000; t++) {
    p += t < 1500 ? 0.3 : 0.5
    x[t] = 20 + sin(p) + 0.5 * sin(2 * p)
    e = t < 4 ? 20 : x[t - 4]
    printf "%d,%.5f,%.5f,%s,%d\n", t, x[t], e, (e > 20) ? "above" : "below", (t >= 1000)
  }
}' >wave.csv
lines=$(wc -l <wave.csv)
cut -d, -f2 wave.csv >one.csv

# ---- mistakes are found before anything is written ----
expect 2 learn
complains "expected a FILE, or - for standard input"
expect 3 learn nothing.csv
complains "cannot open 'nothing.csv': No such file or directory"
expect 2 learn wave.csv --taget echo
complains "did you mean '--target'?"
expect 2 learn wave.csv --target ecko --ignore 4
complains "there is no column 'ecko', expected a name in it or a number from 1 to 5"
expect 2 learn wave.csv --target 3 --label 4 --classes a,b
complains "--target and --label exclude each other"
expect 2 learn wave.csv --label sign
complains "expected classes, too"
expect 2 learn wave.csv --label sign --classes above
complains "expected at least two names"
expect 2 learn wave.csv --target echo --ignore echo
complains "is given two roles"
expect 1 learn one.csv --cell gru
complains "cell gru with 0 layers cannot learn online"
expect 2 learn one.csv --width 8
complains "width is 8, but the network has no embedding"
expect 2 learn one.csv --horizon 0
complains "horizon is 0, expected at least 1 for a forecast"
expect 2 learn one.csv --decimal ';'
complains "decimal is ';', expected . or a comma"
expect 2 learn one.csv --resume
complains "resume needs a learner file"
expect 3 learn one.csv --resume --model none.safetensors
complains "there is no learner to resume in 'none.safetensors'; resume-or-create starts one"
[ ! -e none.safetensors ] || fail "a file appeared"
: >empty.csv
expect 3 learn empty.csv
complains "empty.csv is empty"
no_output

# ---- a forecast ----
expect 0 learn one.csv --modes 16 --learning-rate 0.003 --model wave.safetensors --progress plain
[ "$(head -1 out)" = "step,wave" ] || fail "no heading"
[ "$(wc -l <out)" = "$lines" ] || fail "not a prediction for every step"
tail -1 out | grep -Eq '^3000,2[0-9.]*$|^3000,1[0-9.]*$' || fail "the last prediction is not that of step 3000"
complains "stream    3000 steps, 2999 targets, 2999 updates"
complains "learner   wave.safetensors"
expect 0 learn one.csv --modes 16 --learning-rate 0.003 --json
no_complaint
[ "$(wc -l <out)" = 1 ] || fail "--json prints more than one object"
awk '{ match($0, /"recent_loss":[0-9.e-]+/); l = substr($0, RSTART + 14, RLENGTH - 14) + 0
       match($0, /"recent_naive":[0-9.e-]+/); n = substr($0, RSTART + 15, RLENGTH - 15) + 0
       exit !(l > 0 && l < 0.1 * n) }' out || fail "the wave is not learned"
expect 0 learn one.csv --horizon 6 --format jsonl "${small[@]}"
no_complaint
grep -q '^{"step":3000,"outputs":\[' out || fail "no JSON line of step 3000"
echo '{"modes": 8, "horizon": 6}' >learn.json
mv out six.out
expect 0 learn one.csv --config learn.json --format jsonl --quiet
cmp out six.out || fail "--config is not the same as options"
echo '{"modes": 8, "horizn": 6}' >learn.json
expect 2 learn one.csv --config learn.json
complains "learn.json: unknown key 'horizn'; did you mean 'horizon'?"
expect 0 learn one.csv --format none "${small[@]}"
no_output

# ---- regression and classification, with immediate, delayed and missing targets ----
expect 0 learn wave.csv --target echo --ignore time,sign,run --json --learning-rate 0.003
prints '"goal":"numbers"'
prints '"truths":3000'
sed '100,199s/above\|below//' wave.csv >gaps.csv
expect 0 learn gaps.csv --label sign --classes below,above --ignore time,echo,run --format csv --learning-rate 0.003 --progress plain
[ "$(head -1 out)" = "step,class,p(below),p(above)" ] || fail "no heading of classes"
complains "3000 steps, 2900 targets"
accuracy=$(sed -n 's/^accuracy .*, \([0-9.]*\) in the last.*/\1/p' err)
awk -v a="$accuracy" 'BEGIN { exit !(a > 0.9) }' || fail "an accuracy of $accuracy"
expect 0 learn wave.csv --target echo --ignore time,sign,run --horizon 2 --json
prints '"truths":2998'
expect 0 learn wave.csv --target echo --ignore time,sign --id run --json
prints '"steps":3000'
expect 3 learn wave.csv --label sign --classes below,abvoe --ignore time,echo,run "${small[@]}"
complains "wave.csv, line "
complains "unknown class 'above'; did you mean 'abvoe'?"

# ---- decimal commas, semicolons, standard input ----
tr '.' ',' <one.csv | sed 's/$/;7/' >german.csv
expect 0 learn german.csv --decimal , --ignore 2 "${small[@]}"
cut -d, -f1 out >steps
expect 0 learn one.csv "${small[@]}"
mv out plain.out
"$SPARC" learn - "${small[@]}" <one.csv >piped.out
cmp plain.out piped.out || fail "standard input and a file differ"
expect 0 learn german.csv --decimal , --ignore 2 "${small[@]}"
cmp <(cut -d, -f2 plain.out | tail -n +2) <(cut -d, -f2 out | tail -n +2) || fail "decimal commas change the predictions"

# ---- two streams are one ----
for options in "--horizon 1" "--horizon 5 --update-every 3" "--target 1 --horizon 2 --cell rtu"; do
  file=one.csv
  [[ $options == *target* ]] && cut -d, -f2,3 wave.csv >two.csv && file=two.csv
  # shellcheck disable=SC2086
  expect 0 learn $file $options --model whole.safetensors --force "${small[@]}"
  mv out whole.out
  # shellcheck disable=SC2086
  head -1001 $file | "$SPARC" learn - $options --model part.safetensors --force "${small[@]}" >part.out
  sed -n 1002,1008p $file | "$SPARC" learn - --resume --model part.safetensors --quiet | tail -n +2 >>part.out
  tail -n +1009 $file | "$SPARC" learn - --resume --model part.safetensors --quiet --save-every 100 | tail -n +2 >>part.out
  cmp whole.out part.out || fail "$options: other predictions after a pause"
  cmp whole.safetensors part.safetensors || fail "$options: another learner after a pause"
done
expect 2 learn two.csv --resume --model whole.safetensors --learning-rate 0.1
complains "rate is '0.1', but '0.001' in 'whole.safetensors'; a learner that is resumed keeps its settings"
expect 3 learn wave.csv --resume --model whole.safetensors --by-position
complains "5 columns, expected the 2 of the learner"
printf '\0' | dd of=whole.safetensors bs=1 seek=40 conv=notrunc status=none
expect 3 learn two.csv --resume --model whole.safetensors

# ---- the same options continue a learner, different ones are errors ----
numbers=(wave.csv --target echo --id run --ignore time,sign --horizon 2 --cell rtu --state-size 16 --learning-rate 0.002 --seed 3
  --hidden 4 --normalise none --quiet --format none)
classes=(wave.csv --label sign --classes above,below --ignore 1,echo,5 --variant neutral-gate --modes 4 --decimal .
  --quiet --format none)
for kind in numbers classes; do
  declare -n line=$kind
  expect 0 learn "${line[@]}" --model again.safetensors --force
  expect 0 learn "${line[@]}" --model again.safetensors --resume
  cp again.safetensors identical.safetensors
  expect 0 learn "${line[@]}" --model again.safetensors --force
  expect 0 learn wave.csv --model again.safetensors --resume --quiet --format none
  cmp again.safetensors identical.safetensors || fail "$kind: the same options make another learner"
done
differ() { # MESSAGE OPTION...
  local message=$1
  shift
  expect 2 learn wave.csv --model again.safetensors --resume "$@"
  complains "$message in 'again.safetensors'; a learner that is resumed keeps its settings"
}
differ "label is 'run', but 'sign'" --label run --classes above,below
differ "classes is 'below,above', but 'above,below'" --classes below,above
differ "target is 'echo', but 'none'" --target echo
differ "ignore is 'time', but 'time,echo,run'" --ignore time
differ "id is 'run', but 'none'" --id run
differ "variant is 'full', but 'neutral-gate'" --variant full
differ "modes is '8', but '4'" --modes 8
differ "state-size is '8 modes', but '4 modes'" --state-size 16
differ "cell is 'rtu', but 'sparc'" --cell rtu
differ "seed is '9', but '0'" --seed 9
differ "decimal is ',', but '.'" --decimal ,
expect 3 learn wave.csv --model agian.safetensors --resume
complains "there is no learner to resume in 'agian.safetensors'; did you mean 'again.safetensors'?"
rm again.safetensors identical.safetensors
expect 0 learn "${classes[@]}" --model again.safetensors --resume-or-create
expect 0 learn "${classes[@]}" --model again.safetensors --resume-or-create
mv again.safetensors twice.safetensors
expect 0 learn "${classes[@]}" --model again.safetensors
expect 0 learn "${classes[@]}" --model again.safetensors --resume
cmp again.safetensors twice.safetensors || fail "--resume-or-create continues another learner"

# ---- the file is a model; a frozen learner leaves it alone ----
cp wave.safetensors before
expect 2 learn one.csv --model wave.safetensors "${small[@]}"
complains "'wave.safetensors' exists already; resume continues it, force replaces it"
expect 2 learn one.csv --model wave.safetensors --resume --force
complains "exclude each other"
expect 0 learn one.csv --resume --model wave.safetensors --frozen --format none --quiet
cmp wave.safetensors before || fail "a frozen learner was written"
expect 0 info wave.safetensors
tail -5 one.csv >rows.csv
"$SPARC" predict wave.safetensors - --follow <rows.csv >out 2>err || fail "predict cannot use a learner"
[ "$(wc -l <out)" = 6 ] || fail "predict does not predict five steps"

# ---- bad lines ----
printf '1,2\n3,x\n4,5\n' >bad.csv
expect 3 learn bad.csv --quiet --model bad.safetensors
complains "bad.csv, line 2: 'column 2' is 'x', expected a number"
[ "$(wc -l <out)" = 2 ] || fail "the step before the bad line has no prediction"
[ -s bad.safetensors ] || fail "what was learned before a bad line is lost"
expect 0 learn bad.csv --quiet --keep-going
complains "the line is skipped"
[ "$(wc -l <out)" = 3 ] || fail "not two predictions around a bad line"
gzip -c one.csv >packed.csv.gz
expect 3 learn packed.csv.gz --quiet
complains "packed.csv.gz, line 1: this is gzip data, expected text; decompress it with zcat"
printf '2026-01-01,5\n2026-01-02,6\n2026-01-03,7\n' >dates.csv
expect 3 learn dates.csv --quiet
complains "is '2026-01-02', expected a number, NaN or ?; for a date set --time or --ignore to its column"
printf 'Date,Passengers\n1949-09,112\n1949-10,118\n' >months.csv
expect 3 learn months.csv --quiet
complains "'Date' is '1949-09', expected a number, NaN or ?; for a date set --time or --ignore to its column"
expect 0 learn months.csv --time Date --quiet
printf 'Date,Passengers\n1949-9,112\n1949-10,118\n' >months.csv
expect 3 learn months.csv --time Date --quiet
complains "a time whose text can be put in order"
expect 0 learn dates.csv --ignore 1 --quiet
[ "$(wc -l <out)" = 4 ] || fail "a column of dates makes the first line a heading"
# the first line is a header by the rules of files: half of the fields are words; one among numbers is a mistake
printf 'a,b\n1,2\n3,4\n' >named.csv
expect 0 learn named.csv --quiet
[ "$(wc -l <out)" = 3 ] || fail "the header is taken for a step"
printf 'x,2,3\n1,2,3\n' >word.csv
expect 3 learn word.csv --quiet
complains "word.csv, line 1: 'column 1' is 'x', expected a number"
# a line sep=; before the first line sets the separator, as in files
printf 'a;b\n1;2\n3;4\n' >plain.csv
printf 'sep=;\na;b\n1;2\n3;4\n' >separator.csv
printf '\xef\xbb\xbfsep=|\r\n\r\na|b\r\n1|2\r\n3|4\r\n' >marked.csv
expect 0 learn plain.csv --quiet --model plain.safetensors
cp out plain.out
for file in separator marked; do
  expect 0 learn $file.csv --quiet --model $file.safetensors
  cmp -s out plain.out || fail "$file.csv: other predictions than without the line sep="
  cmp -s $file.safetensors plain.safetensors || fail "$file.csv: another learner than without the line sep="
done
expect 0 learn separator.csv --quiet --model plain.safetensors --resume
printf 'sep=;\n1,2;3\n4;5,5\n' >comma.csv
expect 0 learn comma.csv --decimal , --quiet
[ "$(wc -l <out)" = 3 ] || fail "not two predictions after a line sep=; without a header"
printf 'sep=;\n' >only.csv
expect 3 learn only.csv --quiet
complains "only.csv is empty"
printf 'sep=;\n1;2\n3;x\n' >bad.csv
expect 3 learn bad.csv --quiet
complains "bad.csv, line 3: 'column 2' is 'x', expected a number"
printf 'sep=;\n1;"2\n' >bad.csv
expect 3 learn bad.csv --quiet
complains "bad.csv, line 2: "
printf '1,2\n\n3\n' >bad.csv
expect 3 learn bad.csv --quiet
complains "bad.csv, line 3: fewer than 2 fields"
printf '1,2\n3,4,5\n' >bad.csv
expect 3 learn bad.csv --quiet
complains "more than 2 fields"

# ---- forecasts by a mixture: horizons, intervals, anomalies, missing values, baselines ----
awk 'BEGIN { srand(2); print "a,b"
  for (t = 0; t < 600; t++) printf "%s,%.3f\n", t % 50 == 20 ? "" : 10 + 3 * sin(6.28318530718 * t / 12) + 0.1 * rand(), t == 500 ? 900 : rand() }' >pair.csv
expect 0 learn pair.csv --horizons 1,6 --intervals --anomaly --model pair.safetensors --progress plain
[ "$(head -1 out)" = "step,a+1,a+1 low,a+1 high,b+1,b+1 low,b+1 high,a+6,a+6 low,a+6 high,b+6,b+6 low,b+6 high,a anomaly,b anomaly" ] ||
  fail "no heading of horizons, intervals and anomalies"
awk -F, 'NR > 20 && NF != 15 || NR == 502 && !($15 > 10) || NR == 22 && $14 != "" || NR > 20 && !($3 <= $2 && $2 <= $4) { exit 1 }' out ||
  fail "fields are missing, or the outlier is no anomaly"
complains "horizon   1: rmse"
complains "seasonal naive"
complains "90 % intervals cover 0."
complains "period    a: 12"
mv out pair.out
head -301 pair.csv | "$SPARC" learn - --horizons 1,6 --intervals --anomaly --model half.safetensors --quiet >half.out
tail -n +302 pair.csv | "$SPARC" learn - --resume --horizons 1,6 --intervals --anomaly --model half.safetensors --quiet | tail -n +2 >>half.out
cmp pair.out half.out || fail "a mixture gives other predictions after a pause"
cmp pair.safetensors half.safetensors || fail "a mixture is another one after a pause"
expect 2 learn pair.csv --resume --model pair.safetensors --horizons 1,7
complains "horizons is '1,7', but '1,6' in 'pair.safetensors'"
expect 2 learn pair.csv --resume --model pair.safetensors --forecaster network
complains "forecaster is 'network', but 'mixture' in 'pair.safetensors'"
expect 0 learn pair.csv --horizons 1,6 --json
awk '{ match($0, /"horizons":\[\{"horizon":1,"targets":[0-9]+,"loss":[0-9.e-]+/); exit !(RLENGTH > 0) }' out || fail "no scores of horizons"
prints '"covered":0.'
tail -3 pair.csv | "$SPARC" predict pair.safetensors - --follow >out 2>err || fail "predict cannot use the network of a mixture"
expect 2 learn pair.csv --horizons 1,x
complains "horizons is '1,x', expected up to 8 comma-separated whole numbers from 1"
expect 2 learn pair.csv --horizons 1,6 --forecaster network
complains "a network has one horizon"
expect 2 learn pair.csv --target b --intervals
complains "intervals needs the forecast of a mixture"
expect 2 learn pair.csv --horizon 5000
complains "horizon is 5000, expected 1 to"
expect 0 learn pair.csv --target b --progress plain
complains "last target: rmse"
complains "stream    600 steps, 600 targets"
expect 2 learn one.csv --coverage 1
complains "coverage is 1, expected a number above 0 and below 1"

# ---- learners of an older version continue ----
tar -xf "$SPARC_SOURCE_DIR/tests/fuzz/corpus/learn_resume/forecast"
expect 0 learn stream.csv --model learner.safetensors --resume --quiet
expect 2 learn stream.csv --model learner.safetensors --resume --forecaster mixture
complains "forecaster is 'mixture', but 'network' in 'learner.safetensors'"

# ---- inconsistent learners ----
for input in bad-targets bad-label; do
  tar -xf "$SPARC_SOURCE_DIR/tests/fuzz/corpus/learn_resume/$input"
  expect 3 learn stream.csv --model learner.safetensors --resume --quiet
  complains "'learner.safetensors': metadata 'stream.columns' is missing or invalid"
done

# ---- ids have any length, and what no file can hold is refused at its line ----
long=$(printf 'x%.0s' {1..100})
awk -v id="$long" 'BEGIN { for (t = 0; t < 40; t++) printf "%s%d,%.3f\n", id, int(t / 10), sin(t) }' >long.csv
awk '{ sub(/^x+/, "x"); print }' long.csv >short.csv
expect 0 learn short.csv --id 1 --model short.safetensors "${small[@]}"
cut -d, -f1,3- out >short.out
expect 0 learn long.csv --id 1 --model long.safetensors "${small[@]}"
[ "$(sed -n 1,2p out | cut -d, -f1,2)" = "$(printf 'step,column 1\n1,%s0' "$long")" ] || fail "no ids: $(sed -n 1,2p out)"
cut -d, -f1,3- out | cmp - short.out || fail "long ids that differ at their ends are one"
head -25 long.csv | "$SPARC" learn - --id 1 --model parts.safetensors "${small[@]}" >/dev/null
tail -n +26 long.csv | "$SPARC" learn - --resume --model parts.safetensors --quiet >/dev/null
cmp long.safetensors parts.safetensors || fail "a sequence with a long id does not continue bit-exactly"
printf '"a ""b""",1\n"a ""b""",2\n"a ""c""",3\n' >quoted.csv
expect 0 learn quoted.csv --id 1 --model quoted.safetensors "${small[@]}"
"$SPARC" info --json quoted.safetensors | grep -qF 'a \"c\"' || fail "a quoted id is not kept"
printf '1,a\n2,b\xff\n3,c\n' >bytes.csv
expect 3 learn bytes.csv --id 2 --model bytes.safetensors "${small[@]}"
complains "bytes.csv, line 2: the id 'b?' is not UTF-8 text, so the learner cannot be written to 'bytes.safetensors'"
[ -s bytes.safetensors ] || fail "what was learned before such an id is lost"
expect 0 learn bytes.csv --id 2 "${small[@]}"
[ "$(wc -l <out)" = 4 ] || fail "ids need not be UTF-8 where no file is written"
expect 2 learn bytes.csv --label 2 --classes $'a,b\xff,c' --model other.safetensors "${small[@]}"
complains "class 2, 'b?', is not UTF-8 text"
no_output

# ---- one process at a time has the file; the lock of a killed one is taken over ----
mkfifo slow
"$SPARC" learn - --model locked.safetensors "${small[@]}" <slow >locked.out 2>err &
job=$!
exec 8>slow
echo 1 >&8
for _ in $(seq 100); do
  [ "$(wc -l <locked.out)" = 2 ] && break
  sleep 0.1
done
expect 1 learn one.csv --model locked.safetensors "${small[@]}"
complains "another process is using 'locked.safetensors': process $job on host"
no_output
kill -KILL $job
wait $job || true
exec 8>&-
expect 0 learn one.csv --model locked.safetensors "${small[@]}"
[ ! -e locked.safetensors.lock ] || fail "the lock stays"
expect 0 learn one.csv --resume --model locked.safetensors --frozen --quiet

# ---- a signal saves, while waiting for a line, too ----
mkfifo pipe
"$SPARC" learn - --model signal.safetensors "${small[@]}" <pipe >signal.out 2>err &
job=$!
exec 9>pipe
head -20 one.csv >&9
for _ in $(seq 100); do
  [ "$(wc -l <signal.out)" = 20 ] && break
  sleep 0.1
done
[ "$(wc -l <signal.out)" = 20 ] || fail "predictions are not written while the stream runs"
kill -INT $job
code=0
wait $job || code=$?
exec 9>&-
[ $code = 130 ] || fail "exit code $code after SIGINT, expected 130"
tail -n +21 one.csv | "$SPARC" learn - --resume --model signal.safetensors --quiet >rest.out
expect 0 learn one.csv --model whole.safetensors --force "${small[@]}"
cmp signal.safetensors whole.safetensors || fail "a learner that was stopped does not continue bit-exactly"

# ---- a file that cannot be written ----
expect 1 learn one.csv --model missing/folder/x.safetensors "${small[@]}"
complains "missing/folder"

# ---- a blank line in a single column may be meant as a missing value
{ seq 20; echo; seq 20; echo; } >blank.csv
expect 0 learn blank.csv --modes 4 --format none
complains "warning: blank.csv, line 21 is blank and skipped; a missing value is written NaN"
[ "$(grep -c "is blank" err)" = 1 ] || fail "the end of a file is reported as a blank line"
