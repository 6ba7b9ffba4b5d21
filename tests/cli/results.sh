#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# results.sh: results of experiments: scores by the current definition, provenance, runs on different data, departures
# from the paper, exported results, and finished runs that count under old and new names of settings.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"
unset SPARC_DATA
cd "$scratch"
python=$(command -v python3 || true)

# rows NUMBER: examples of two classes
rows() {
  awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) { for (t = 0; t < 8; t++) printf "%g,", (i % 2) * t + 0.01 * i; print i % 2 } }'
}
rows 60 >rows.csv

cat >tiny.json <<'END'
{
  "name": "tiny", "title": "A tiny grid", "kind": "train",
  "settings": {"updates": 40, "budget": 16, "validate-every": 10},
  "tasks": [
    {"name": "tracking", "title": "Tracking", "settings": {"data": "tracking"}, "protocol": {"budget": 40},
     "score": {"metric": "validation_nmse", "take": "last", "better": "lower", "scale": 1, "unit": "NMSE", "digits": 6}},
    {"name": "rows", "title": "Rows", "settings": {"data": "rows.csv"}, "protocol": {"fit": 500, "validation": 50}}
  ],
  "methods": [
    {"name": "sparc", "title": "SPARC", "settings": {"cell": "sparc"}},
    {"name": "rtu", "title": "RTU", "settings": {"cell": "rtu"}}
  ],
  "seeds": [0, 1], "reference": "sparc",
  "paper": {"tracking": {"sparc": [0.096, 0.01], "rtu": 0.358}, "rows": {"sparc": 99.5}}
}
END
expect 0 lab run tiny.json --quiet
run=results/tiny/tracking/sparc/s0

# ---- scores are computed from the log with the current definition
# by_hand FOLDER EXPRESSION: of the list v of the metric
by_hand() {
  "$python" -c "
import json, sys
v = [o['validation_nmse'] for o in map(json.loads, open('$1/metrics.jsonl')) if 'validation_nmse' in o]
print(repr($2))"
}
score_of() { "$SPARC" lab status "$@" --json | sed 's/.*"score":\([^,]*\),.*/\1/'; }
if [ -n "$python" ]; then
  sed 's/"take": "last"/"take": "last", "window": 3/' tiny.json >window.json
  sed 's/"take": "last"/"take": "best"/' tiny.json >best.json
  close() { "$python" -c "import sys, math; sys.exit(not math.isclose($1, $2, rel_tol=1e-12))"; }
  close "$(score_of tiny.json/tracking/sparc/s0)" "$(by_hand $run 'v[-1]')" || fail "the score is not the last value"
  close "$(score_of window.json/tracking/sparc/s0)" "$(by_hand $run 'sum(v[-3:]) / 3')" || fail "a changed window is ignored"
  close "$(score_of best.json/tracking/sparc/s0)" "$(by_hand $run 'min(v)')" || fail "a changed rule is ignored"
fi
sed 's/"validation_nmse"/"validation_loss"/' tiny.json >metric.json
[ "$(score_of tiny.json/tracking/sparc/s0)" != "$(score_of metric.json/tracking/sparc/s0)" ] || fail "a changed metric is ignored"
sed 's/"take": "last"/"take": "last", "window": 9/' tiny.json >wide.json
expect 0 lab table wide.json
prints "2 without a score"

# ---- a metric that the runs do not write is rejected before the first run
# unknown SED MESSAGE
unknown() {
  sed "$1" tiny.json >bad.json
  expect 3 lab run bad.json --out never
  complains "$2"
  [ ! -e never ] || fail "a grid with an unknown metric was run"
}
unknown 's/"validation_nmse"/"validation_nsme"/' "tracking/sparc: unknown metric 'validation_nsme'; did you mean 'validation_nmse'?"
unknown 's/"validation_nmse"/"validation_accuracy"/' "unknown metric 'validation_accuracy'" # tracking has no classes
unknown 's/"data": "rows.csv"}/"data": "rows.csv", "task": "regress"}/' "unknown metric 'validation_accuracy'"
unknown 's/"data": "rows.csv"}/"data": "rows.csv", "official": true}/' "unknown metric 'validation_accuracy'"
# lists KIND SETTINGS METRICS: the metrics that an experiment accepts are those that its runs write, except for the
# staleness of sensitivities, see rl.sh
lists() {
  printf '{"name": "x", "kind": "%s", "score": {"metric": "?", "take": "last", "window": 1}, "tasks": [{"name": "t", "settings": %s}], "methods": [{"name": "m"}]}' \
    "$1" "$2" >bad.json
  expect 3 lab run bad.json
  local offered
  offered=$(sed 's/.*expected one of: \(.*\)).*/\1/' "$scratch/err" | tr -d ' ' | tr ',' '\n' | grep -v '^stale_' | sort | tr '\n' ' ')
  [ "$offered" = "$(echo "$3" | tr ' ' '\n' | sort | tr '\n' ' ')" ] || fail "$1: the metrics '$3' are written, '$offered' are offered"
}
# written LOG: the names of its metrics
written() { grep -o '"[a-z_0-9]*":' "$1" | tr -d '":' | sort -u | grep -v '^update$' | tr '\n' ' ' | sed 's/ $//'; }
lists train '{"data": "tracking"}' "$(written $run/metrics.jsonl)"
lists train '{"data": "rows.csv"}' "$(written results/tiny/rows/sparc/s0/metrics.jsonl)"
expect 0 train rows.csv --objective regress --updates 20 --cell rtu --state-size 8 --out regress --quiet
lists train '{"data": "rows.csv", "task": "regress"}' "$(written regress/metrics.jsonl)"
expect 0 rl repeat-first --steps 512 --rollout-steps 256 --cell rtu --state-size 8 --out agent --quiet --json
prints '"provenance":{"version":'
lists rl '{"task": "repeat-first"}' "$(written agent/metrics.jsonl)"

# ---- every result has its provenance
commit=$("$SPARC" info --json | sed 's/.*"commit":"\([^"]*\)".*/\1/')
for file in agent/provenance.json $run/provenance.json $run/result.json; do
  for key in version commit kernels machine threads seconds; do
    grep -q "\"$key\": " $file || fail "$file does not have $key"
  done
  grep -q "\"commit\": \"$commit\"" $file || fail "$file has another commit than $commit"
done
grep -q '"data_checksum": "[0-9a-f]\{8\}"' $run/result.json || fail "the result does not have the checksum of the data"
# the checksum depends on the data only
checksum() { sed -n 's/.*"data_checksum": "\(.*\)".*/\1/p' "$1"; }
[ "$(checksum results/tiny/rows/sparc/s0/result.json)" = "$(checksum results/tiny/rows/rtu/s1/result.json)" ] ||
  fail "the same data have two checksums"

# ---- the provenance of a resumed run covers all its parts
seconds() { sed -n 's/.*"seconds": \([^,]*\).*/\1/p' "$1"; }
expect 0 train tracking --updates 40 --state-size 16 --out parts --quiet
sed -i 's/"seconds": .*/"seconds": 1000.5,/; s/"commit": ".*"/"commit": "0123abc"/' parts/provenance.json
expect 0 train tracking --updates 60 --state-size 16 --out parts --resume --quiet
awk -v s="$(seconds parts/provenance.json)" 'BEGIN { exit !(s > 1000.5 && s < 1500) }' ||
  fail "the seconds of a resumed run are $(seconds parts/provenance.json)"
grep -q "\"commit\": \"0123abc, $commit\"" parts/provenance.json || fail "the first part of the run is forgotten"
grep -q '"done": 60' parts/provenance.json || fail "the updates of the first part are forgotten"
# runs of earlier versions have no provenance.json
rm parts/provenance.json
expect 0 train tracking --updates 70 --state-size 16 --out parts --resume --quiet
grep -q "\"commit\": \"unknown, $commit\"" parts/provenance.json || fail "an unknown part is not marked as unknown"

# ---- results with other data or budgets than the paper are marked in every format
expect 0 lab table tiny.json
grep -q '^SPARC .*0\.[0-9]* ± 0\.[0-9]*\*  *0.096000' "$scratch/out" || grep -q '^SPARC .*0\.[0-9]* ± 0\.[0-9]*+  *0.096000' "$scratch/out" ||
  fail "a number that is as in the paper is marked"
prints "† Not as in the paper: 54 and 6 examples, the paper 500 and 50."
for format in text markdown latex csv json; do
  expect 0 lab table tiny.json --scale 0.5 --format $format
  if grep -q "20 updates, the paper 40" "$scratch/out"; then fail "an unfinished field is marked"; fi
done
expect 0 lab run tiny.json --scale 0.5 --quiet
for format in text markdown latex csv json; do
  expect 0 lab table tiny.json --scale 0.5 --format $format
  prints "20 updates, the paper 40"
done
expect 0 lab table tiny.json --scale 0.5 --format latex
prints '$^\dagger$} &'
prints '\label{tab:tiny-scores}'
prints '\cmidrule(lr){2-3}'
prints 'Bold: best; underlined: second best.'
expect 0 lab report tiny.json --scale 0.5
grep -q "† Not as in the paper: Tracking: 20 updates, the paper 40. Rows: " results/report.html || fail "the report marks nothing"

# ---- runs of different builds are noted; runs on different data are not averaged
cp -r results mixed
sed -i 's/"commit": ".*"/"commit": "0123abc"/; s/"machine": ".*"/"machine": "A and B"/' mixed/tiny/tracking/sparc/s1/result.json
expect 0 lab table tiny.json --out mixed --format markdown
prints "Runs differ in commits $commit, 0123abc; machines "
rows 62 >rows.csv
rm -r mixed/tiny/rows/sparc/s1
expect 0 lab run tiny.json/rows/sparc/s1 --out mixed --quiet
one=$(checksum mixed/tiny/rows/sparc/s0/result.json) two=$(checksum mixed/tiny/rows/sparc/s1/result.json)
[ "$one" != "$two" ] || fail "other rows have the same checksum"
for verb in table figure report; do
  expect 3 lab $verb tiny.json --out mixed
  complains "rows/sparc/s0 has data $one and rows/sparc/s1 has $two; runs on different data are not averaged"
done
expect 0 lab table tiny.json --out mixed --seeds 1
rows 60 >rows.csv

# ---- exported results count without their run folders
expect 2 lab export tiny.json
complains "no --to DIR given"
expect 0 lab export tiny.json --to kept
prints "8 runs and 0 diagnoses exported to kept, 0 runs already there, 0 not finished"
[ "$(cd kept/tiny/tracking/sparc/s0 && echo *)" = "result.json scores.jsonl.gz" ] || fail "other files are kept"
expect 0 lab export tiny.json --to kept
prints "0 runs and 0 diagnoses exported to kept, 8 runs already there"
for format in text csv; do
  expect 0 lab table tiny.json --format $format
  cp "$scratch/out" whole.$format
  expect 0 lab table tiny.json --out elsewhere --results kept --format $format
  cmp "$scratch/out" whole.$format || fail "kept results give another table"
done
expect 0 lab status tiny.json --out elsewhere --results kept
prints "imported from kept/tiny/tracking/sparc/s0"
prints "elsewhere/tiny: 8 runs, 8 done (8 imported)"
expect 0 lab run tiny.json --out elsewhere --results kept --json
no_output
[ -z "$(find elsewhere -name metrics.jsonl)" ] || fail "a finished job was run again"
expect 0 lab figure tiny.json --out elsewhere --results kept
cmp elsewhere/tiny/figures/curve-tracking.csv <("$SPARC" lab figure tiny.json >/dev/null && cat results/tiny/figures/curve-tracking.csv) ||
  fail "kept results give another curve"
expect 0 lab report tiny.json --out elsewhere --results kept
grep -q "done, imported" elsewhere/report.html || fail "the report does not mark what is imported"
expect 0 lab table kept/tiny
cmp "$scratch/out" whole.text || fail "a folder of kept results is no name"
# a metric that is incomplete in the score log gives no score
sed 's/"validation_nmse"/"gradient_norm"/' tiny.json >thin.json
expect 0 lab status thin.json/tracking/sparc/s0 --out elsewhere --results kept
prints "does not have gradient_norm in full"
expect 0 lab export thin.json/tracking/sparc/s0 --to kept2
expect 0 lab status thin.json/tracking/sparc/s0 --out elsewhere --results kept2 --json
prints '"score":'
if grep -q '"reason"' "$scratch/out"; then fail "the metric of the score is not kept"; fi
expect 3 lab status tiny.json --results absent
complains "cannot read the folder of results 'absent'"

# unfinished runs are not exported; results of earlier versions are, with the given commit
cp -r results old
rm old/tiny/rows/rtu/s1/result.json
for file in old/tiny/*/*/*/result.json; do
  digest=$(sed -n 's/.*"digest": "\(.*\)",/\1/p' $file)
  printf '{"score": 99, "reason": "", "digest": "%s", "seconds": 2.5, "machine": "M", "version": "0.2.0"}\n' "$digest" >$file
done
rm old/tiny/*/*/*/provenance.json
expect 0 lab table tiny.json --out old
prints "examples not recorded"
expect 0 lab export tiny.json --out old --to older --commit 9917925
prints "7 runs and 0 diagnoses exported to older, 0 runs already there, 1 not finished"
grep -q '"commit": "9917925"' older/tiny/tracking/sparc/s0/result.json || fail "the commit that was given is not noted"
if grep -q '"score"' older/tiny/tracking/sparc/s0/result.json; then fail "a score is kept beside its log"; fi
[ "$(score_of tiny.json/tracking/sparc/s0 --out old)" = "$(score_of tiny.json/tracking/sparc/s0)" ] || fail "an old score counts"

# ---- grids share runs with equal settings
sed 's/"name": "tiny"/"name": "twin"/; s/"name": "sparc"/"name": "full"/; s/"reference": "sparc"/"reference": "full"/; s/{"sparc": \[/{"full": [/; s/{"sparc": 99/{"full": 99/' \
  tiny.json >twin.json
expect 0 lab run twin.json/tracking --quiet --json
no_output
expect 0 lab status twin.json/tracking/full/s0
prints "imported from results/tiny/tracking/sparc/s0"

# ---- digests do not depend on renamed settings: finished runs count under both names
digests() { "$SPARC" lab status "$1" --json | grep -o '"digest":"[^"]*"'; }
sed 's/"budget": 16,/"state-size": 16,/' tiny.json >renamed.json
[ "$(digests tiny.json)" = "$(digests renamed.json)" ] || fail "a renamed setting changes the digest"
expect 0 lab status renamed.json
prints "8 runs, 8 done"
expect 0 lab status figure1 --out none --results "$SPARC_SOURCE_DIR/docs/results"
prints "24 runs, 24 done (24 imported)"
expect 0 lab status popgym --out none --results "$SPARC_SOURCE_DIR/docs/results"
committed=$(find "$SPARC_SOURCE_DIR/docs/results/popgym" -name result.json | wc -l)
prints "147 runs, $((147 - committed)) waiting, $committed done ($committed imported)"

# ---- results that disagree cause a warning and are not replaced
cp -r kept wrong
"$SPARC" lab export tiny.json/tracking/rtu/s1 --to other >/dev/null
cp other/tiny/tracking/rtu/s1/scores.jsonl.gz wrong/tiny/tracking/rtu/s0/
expect 0 lab table tiny.json --results wrong
complains "warning: 'results/tiny/tracking/rtu/s0' has the score"
complains "for equal settings; the first is used"
cmp "$scratch/out" whole.text || fail "the wrong result counts"
expect 3 lab export tiny.json --to wrong
complains "tracking/rtu/s0: 'results/tiny/tracking/rtu/s0' has the score"
sed -i "s/\"data_checksum\": \".*\"/\"data_checksum\": \"00000000\"/" wrong/tiny/rows/rtu/s0/result.json
expect 0 lab status tiny.json --results wrong
complains "for equal settings"
complains "has 00000000"

# ---- speeds of imported runs are those of other machines: the plan measures its own
cp -r kept slow
rm -r slow/tiny/tracking/sparc/s1
sed -i 's/"rate": .*,/"rate": 1e-6,/' slow/tiny/tracking/sparc/s0/result.json
grep -q '"rate": 1e-6' slow/tiny/tracking/sparc/s0/result.json || fail "results have no rate"
expect 0 lab run tiny.json/tracking/sparc --out elsewhere2 --results slow --dry-run --json --quiet
prints '"runs":1,'
awk -F'"hours":' '{exit !($2 + 0 > 0 && $2 + 0 < 1)}' "$scratch/out" || fail "the plan uses the speed of an imported run"

# ---- damaged and hostile results are ignored
cp -r kept damaged
head -c 200 kept/tiny/tracking/sparc/s0/scores.jsonl.gz >damaged/tiny/tracking/sparc/s0/scores.jsonl.gz
echo '{"digest": 3}' >damaged/tiny/tracking/sparc/s1/result.json
sed -i 's/"updates": 40/"updates": 41/' damaged/tiny/tracking/rtu/s0/result.json
rm damaged/tiny/rows/sparc/s0/scores.jsonl.gz damaged/tiny/rows/sparc/s1/scores.jsonl.gz
ln -s "$scratch/kept/tiny/rows/sparc/s0/scores.jsonl.gz" damaged/tiny/rows/sparc/s0/scores.jsonl.gz
mkfifo damaged/tiny/rows/sparc/s1/scores.jsonl.gz
expect 0 lab status tiny.json --out elsewhere --results damaged
prints "scores.jsonl.gz' is cut off"
prints "8 runs, 2 waiting, 6 done (6 imported)"
[ "$(grep -c "no score: " "$scratch/out")" = 3 ] || fail "a damaged log has a score"

# ---- sweeps: a method for every combination of values
cat >sweep.json <<'END'
{"name": "sweep", "kind": "train", "settings": {"updates": 4, "budget": 16, "validate-every": 4, "data": "tracking"},
 "score": {"metric": "validation_nmse", "take": "last", "better": "lower", "scale": 1},
 "sweep": {"learning_rate": [0.001, 3e-4], "batch": [8, 16]},
 "tasks": [{"name": "tracking"}],
 "methods": [{"name": "rtu", "settings": {"cell": "rtu"}, "sweep": {"clip": [1]}}, {"name": "sparc", "title": "SPARC"}],
 "reference": "sparc"}
END
expect 0 lab status sweep.json --json
[ "$(grep -o '"method":"[^"]*"' "$scratch/out" | cut -d '"' -f 4 | tr '\n' ' ')" = \
  "rtu-clip1 sparc-lr0.001-batch8 sparc-lr0.001-batch16 sparc-lr0.0003-batch8 sparc-lr0.0003-batch16 " ] ||
  fail "other methods than those of the sweep"
expect 0 lab run sweep.json --out swept --quiet
grep -q '"rate": 0.0003,' swept/sweep/tracking/sparc-lr0.0003-batch16/s0/config.json || fail "a value of the sweep is not a setting"
grep -q '"batch": 16' swept/sweep/tracking/sparc-lr0.0003-batch16/s0/config.json || fail "a value of the sweep is not used"
expect 0 lab table swept/sweep
prints "SPARC, lr 0.0003, batch 16"
prints "difference to SPARC, lr 0.001, batch 8"
# swept SED MESSAGE
swept() {
  sed "$1" sweep.json >bad.json
  expect 3 lab run bad.json --out never
  complains "$2"
}
swept 's/"batch": \[8, 16\]/"batch": []/' "bad.json: sweep: batch is not a list of 1 to 64 values"
swept 's/"batch": \[8, 16\]/"batch": 8/' "sweep: batch is not a list"
swept 's/"batch": \[8, 16\]/"batch": [8, [1]]/' "sweep: batch[1] is neither a number nor a text"
swept 's/"batch": \[8, 16\]/"bath": [8]/' "unknown key 'bath'"
swept 's/"batch": \[8, 16\]/"cell": ["..\/x"]/' "name is 'sparc-lr0.001-cell../x'"
swept 's/"batch": \[8, 16\]/"batch": [8, 8]/' "an earlier method is also called 'sparc-lr0.001-batch8'"
swept "s/\"batch\": \\[8, 16\\]/\"batch\": [$(seq -s, 1 40)]/" "with batch there are 80 methods, expected at most 64"

# ---- one CSV of all runs
expect 0 lab table sweep.json --out swept --runs
[ "$(wc -l <"$scratch/out")" = 6 ] || fail "there are $(wc -l <"$scratch/out") lines instead of 6"
head -1 "$scratch/out" | grep -q '^grid,scale,task,method,seed,state,.*,settings.rate' || fail "the settings are no columns"
grep -q '^sweep,1,tracking,sparc-lr0.0003-batch16,0,done,0,[0-9.]*,' "$scratch/out" || fail "a run is no row"
if [ -n "$python" ]; then
  "$python" - "$scratch/out" <<'END' || fail "the CSV of runs is not as promised"
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
assert [r["settings.rate"] for r in rows] == ["", "0.001", "0.001", "0.0003", "0.0003"], rows
assert rows[0]["settings.clip"] == "1" and rows[1]["settings.clip"] == "" and rows[1]["settings.batch"] == "8"
assert all(None not in r and r["commit"] and r["data_checksum"] and float(r["score"]) > 0 for r in rows)
END
fi
expect 2 lab table sweep.json --out swept --runs --json
complains "--runs prints CSV"
