#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# lab.sh: experiments: grids, selections, runs that are killed and shared, failures, plans, tables, figures and the
# report.
# SPARC_KILLS is the number of kills at random moments, 3 by default.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"
unset SPARC_DATA
cd "$scratch"

cat >tiny.json <<'END'
{
  "name": "tiny", "title": "A tiny grid", "kind": "train",
  "settings": {"updates": 40, "budget": 16, "validate-every": 10},
  "score": {"metric": "validation_nmse", "take": "last", "better": "lower", "scale": 1, "unit": "NMSE", "digits": 3},
  "tasks": [
    {"name": "tracking", "title": "Tracking", "settings": {"data": "tracking"}},
    {"name": "order", "title": "Order, any", "settings": {"data": "event-order"},
     "score": {"metric": "validation_accuracy", "take": "best", "better": "higher", "scale": 100, "unit": "accuracy, %",
               "digits": 1}, "range": [50, 100]}
  ],
  "methods": [
    {"name": "sparc", "title": "SPARC", "settings": {"cell": "sparc"}},
    {"name": "rtu", "title": "RTU", "settings": {"cell": "rtu"}}
  ],
  "seeds": [0, 1], "reference": "sparc",
  "paper": {"tracking": {"sparc": [0.096, 0.01], "rtu": 0.358}}
}
END

# change SED: the tiny grid with a line changed, as bad.json
change() { sed "$1" tiny.json >bad.json; }
# refuse CODE MESSAGE ARGUMENT...
refuse() {
  local code=$1 message=$2
  shift 2
  expect "$code" "$@"
  complains "$message"
  no_output
}

# ---- built-in grids: the output of `lab show` is a valid grid
expect 0 lab list
mapfile -t names < <(cut -d' ' -f1 "$scratch/out")
[ "${#names[@]}" -ge 8 ] || fail "there are ${#names[@]} built-in grids"
for name in "${names[@]}"; do
  expect 0 lab show "$name"
  cp "$scratch/out" shown.json
  expect 0 lab status shown.json --out nowhere
  prints "waiting"
done
[ ! -e nowhere ] || fail "looking at a grid made a folder"

# ---- invalid names and files
refuse 2 "no VERB given" lab
refuse 2 "unknown verb 'rnu'; did you mean 'run'?" lab rnu
refuse 2 "no NAME given" lab run
refuse 2 "unknown grid 'popgim'; did you mean 'popgym'?" lab run popgim
refuse 2 "unknown task 'repeat-fist'; did you mean 'repeat-first'?" lab run popgym/repeat-fist
refuse 2 "unknown method 'spac'; did you mean 'sparc'?" lab status 'popgym/*/spac'
refuse 2 "unknown method 'x'" lab status popgym --methods sparc,x
refuse 2 "'t9' is no seed" lab status popgym/repeat-first/sparc/t9
refuse 2 "seed 9 is not among those of the grid" lab status popgym/repeat-first/sparc/s9
refuse 2 "a selection is NAME/TASK/METHOD/sSEED" lab status popgym/repeat-first/sparc/s0/more
refuse 2 "seeds are 'x'" lab status popgym --seeds x
refuse 2 "seeds are '0'" lab status popgym --seeds 0
refuse 2 "seeds are '4-2'" lab status popgym --seeds 4-2
refuse 2 "both select" lab status popgym/repeat-first --tasks cartpole
refuse 2 "--scale is '0', expected a number" lab status popgym --scale 0
refuse 2 "unknown match 'parms'; did you mean 'params'?" lab status popgym --match parms
refuse 2 "--jobs is not for \`sparc lab status\`" lab status popgym --jobs 2
refuse 2 "expected one NAME, got 'control' as well" lab run popgym control
refuse 3 "cannot read 'absent.json'" lab run absent.json
printf '{"name": "x",\n "kind": rl}\n' >bad.json
refuse 3 "bad.json:2:" lab run bad.json
change 's/"methods"/"method"/'
refuse 3 "bad.json: unknown key 'method'; did you mean 'methods'?" lab run bad.json
change 's/"cell": "rtu"/"cel": "rtu"/'
refuse 3 "bad.json: tracking/rtu: settings: unknown key 'cel'; did you mean 'cell'?" lab run bad.json
change 's/"updates": 40/"updates": 0/'
refuse 3 "updates is '0', expected a whole number" lab run bad.json
change 's/"name": "rtu"/"name": "..\/rtu"/'
refuse 3 "bad.json: methods[1]: name is '../rtu'" lab run bad.json
change 's/"name": "rtu"/"name": "sparc"/'
refuse 3 "an earlier method is also called 'sparc'" lab run bad.json
change 's/"rtu": 0.358/"rtu": "0.358"/'
refuse 3 "bad.json: paper: tracking: rtu is neither a number nor [mean, stddev]" lab run bad.json
change 's/"kind": "train"/"kind": "trian"/'
refuse 3 "unknown kind 'trian'; did you mean 'train'?" lab run bad.json

# ---- a plan runs nothing
expect 0 lab run tiny.json --dry-run --quiet
prints "tracking/sparc"
prints "tiny: 8 runs"
[ ! -e results ] || fail "a plan made a folder"

# ---- a run, in part and then whole
expect 0 lab run tiny.json/tracking/sparc/s0 --quiet
[ "$(find results -name result.json)" = results/tiny/tracking/sparc/s0/result.json ] || fail "another run was done"
expect 0 lab status tiny.json
prints "tracking/sparc/s0"
prints "8 runs, 7 waiting, 1 done"
expect 0 lab run tiny.json --jobs 2 --quiet --out reference
[ "$(find reference -name result.json | wc -l)" = 8 ] || fail "not all runs are done"
[ -z "$(find reference -name 'claim*')" ] || fail "claims are left"
score() { "$SPARC" lab status tiny.json/tracking/sparc/s0 --out "$1" --json | sed 's/.*"score":\([^,]*\),.*/\1/'; }
[ "$(score results)" = "$(score reference)" ] || fail "the same run has two scores"
expect 0 train --resume --out reference/tiny/tracking/sparc/s0 --quiet --json
prints '"updates":40'
expect 0 lab run tiny.json --json --out reference
no_output

# same_results FOLDER: as those of the run that was left alone
same_results() {
  local file
  for file in $(cd reference/tiny && find . -name metrics.jsonl -o -name last.safetensors); do
    cmp "reference/tiny/$file" "$1/tiny/$file" || fail "$file of $1 is not that of the runs that were left alone"
  done
  [ "$(find "$1" -name result.json | wc -l)" = 8 ] || fail "not all runs of $1 are done"
}

# ---- an interrupt saves the current runs
sed 's/"updates": 40/"updates": 800000/' tiny.json >long.json
"$SPARC" lab run long.json --scale 50 --out slow --jobs 2 --quiet >out 2>err &
pid=$!
until [ "$(find slow -name last.safetensors 2>/dev/null | wc -l)" -ge 2 ]; do sleep 0.05; done
expect 0 lab status long.json --scale 50 --out slow
prints "running"
kill -INT $pid
got=0
wait $pid || got=$?
[ $got = 130 ] || fail "an interrupt gives exit code $got"
expect 0 lab status long.json --scale 50 --out slow
prints "slow/tiny-x50: 8 runs, 6 waiting, 2 stopped"

# ---- kills at random times lose no finished run
RANDOM=${SPARC_SEED:-$$}
echo "seed ${SPARC_SEED:-$$}"
kills=0
while [ $kills -lt "${SPARC_KILLS:-3}" ]; do
  "$SPARC" lab run tiny.json --out killed --jobs 2 --quiet >out 2>err &
  pid=$!
  sleep "$((RANDOM % 2)).$((RANDOM % 900 + 100))"
  if kill -KILL $pid 2>/dev/null; then kills=$((kills + 1)); fi
  wait $pid 2>/dev/null || true
  find killed -name result.json 2>/dev/null | sort >after
  [ ! -e before ] || [ -z "$(comm -23 before after)" ] || fail "a finished run is lost"
  mv after before
  if [ "$(wc -l <before)" = 8 ]; then
    same_results killed
    rm -r killed before
  fi
done
expect 0 lab run tiny.json --out killed --jobs 2 --quiet
same_results killed

# ---- two runners share the work; each run is done once
"$SPARC" lab run tiny.json --out shared --jobs 1 --json --progress none >first 2>err &
one=$!
"$SPARC" lab run tiny.json --out shared --jobs 1 --json --progress none >second 2>err2 &
two=$!
wait $one || fail "the first runner failed: $(cat err)"
wait $two || fail "the second runner failed: $(cat err2)"
[ "$(cat first second | wc -l)" = 8 ] || fail "runs were done $(cat first second | wc -l) times instead of 8"
[ "$(cat first second | grep -o '"job":"[^"]*"' | sort -u | wc -l)" = 8 ] || fail "a run was done twice"
same_results shared

# ---- failures are recorded, and retried on request
sed 's/"data": "event-order"/"data": "absent.csv"/' tiny.json >broken.json
expect 1 lab run broken.json --out broken --quiet
complains "order/sparc/s0 failed: sparc train:"
[ "$(find broken -name result.json | wc -l)" = 4 ] || fail "the other runs were not done"
expect 0 lab status broken.json --out broken
prints "4 failed, 4 done"
expect 1 lab run broken.json --out broken --quiet
complains "failed before, --retry runs it again"
awk 'BEGIN { for (i = 0; i < 40; i++) { printf "%d", i % 2; for (t = 0; t < 8; t++) printf ",%g", (i % 2) * t; print "" } }' |
  sed 's/\([^,]*\),\(.*\)/\2,\1/' >absent.csv
expect 0 lab run broken.json --out broken --quiet --retry
[ "$(find broken -name result.json | wc -l)" = 8 ] || fail "what failed was not tried again"

# ---- other settings are another experiment
sed 's/"updates": 40/"updates": 41/' tiny.json >other.json
expect 1 lab run other.json/tracking/sparc/s0 --out reference --quiet
complains "its folder contains a run with other settings"
expect 0 lab run tiny.json --out reference --quiet # the folder is that of the grid again

# ---- with a small memory limit, runs are sequential
expect 0 lab run tiny.json/tracking --out narrow --jobs 2 --memory 1 --quiet
[ "$(find narrow -name result.json | wc -l)" = 4 ] || fail "not all runs are done"
expect 0 lab status --out narrow
prints "narrow/tiny: 8 runs, 4 waiting, 4 done"

# ---- matched parameters
expect 0 lab run tiny.json/tracking/rtu/s0 --match params --quiet
grep -q '"budget"' results/tiny-params/tracking/rtu/s0/job.json || fail "no budget was matched"

# ---- tables: finished fields next to the paper's numbers, unfinished ones with their state
expect 0 lab table tiny.json --out reference
prints "A tiny grid"
prints "0.096 ± 0.010"
prints "A tiny grid: difference to SPARC"
prints "A tiny grid: mean competition rank"
prints "over 2 tasks"
prints "95 % interval"
prints "interquartile mean over 1 task"
prints "P(better than SPARC)"
sed 's/"range": .50, 100./"range": [50, 50]/' tiny.json >flat.json
refuse 3 "range is not the two scores of a random and of an optimal policy" lab table flat.json --out reference
expect 0 lab table tiny.json
prints "1 of 2 done"
grep -Eq ' [0-9.]+ \(1 of 2 done' "$scratch/out" || fail "the mean of the finished seeds is missing"
prints "waiting"
if grep -q "difference" "$scratch/out"; then fail "an unfinished grid has differences"; fi
expect 0 lab table long.json --out slow --scale 50
prints "A tiny grid (scale 50)"
prints "0 of 2 done, 1 stopped"
expect 0 lab table tiny.json --out reference --format markdown
prints "| SPARC |"
prints "| Tracking: NMSE, here | Tracking: NMSE, paper | Order, any: accuracy, % |"
expect 0 lab table tiny.json --out reference --format latex
prints '\toprule'
prints '0.096 $\pm$ 0.010'
prints 'Order, any: accuracy, \%'
expect 0 lab table tiny.json --out reference --format csv
prints 'tiny,1,state,tracking,rtu,"NMSE",2,"done",'
expect 0 lab table tiny.json/tracking --out reference --json
[ "$(wc -l <"$scratch/out")" = 2 ] || fail "there are $(wc -l <"$scratch/out") objects instead of 2"
prints '"paper":0.357999'
cp "$scratch/out" by-json
expect 0 lab table tiny.json/tracking --out reference --format json
cmp "$scratch/out" by-json || fail "--format json and --json differ"
expect 2 lab table tiny.json --format html
complains "unknown format 'html'"

# the mean of a table is that of the results, and so is its spread
python=$(command -v python3 || true)
if [ -n "$python" ]; then
  "$python" - <<'END' || fail "the table has other numbers than the results"
import json, math, subprocess, os
sparc = os.environ["SPARC"]
lines = subprocess.check_output([sparc, "lab", "table", "tiny.json", "--out", "reference", "--json"], text=True)
def score(field, seed):
    log = [json.loads(line) for line in open(f"reference/tiny/{field['task']}/{field['method']}/s{seed}/metrics.jsonl")]
    if field["task"] == "tracking": return [o["validation_nmse"] for o in log if "validation_nmse" in o][-1]
    return 100 * max(o["validation_accuracy"] for o in log if "validation_accuracy" in o)
for field in map(json.loads, lines.splitlines()):
    scores = [score(field, s) for s in (0, 1)]
    mean = sum(scores) / 2
    assert math.isclose(field["mean"], mean), (field, scores)
    assert math.isclose(field["sd"], math.sqrt(sum((x - mean) ** 2 for x in scores)), abs_tol=1e-12), (field, scores)
END
fi

# ---- figures: data and scripts always, pictures if gnuplot is installed
expect 0 lab figure tiny.json --out reference
for name in scores profiles curve-tracking curve-order; do
  for extension in gp csv; do
    [ -s reference/tiny/figures/$name.$extension ] || fail "there is no $name.$extension"
  done
done
[ "$(grep -c '^sparc,' reference/tiny/figures/curve-tracking.csv)" = 4 ] || fail "the curve does not have 4 points"
# the field itself and its two runs
[ "$(grep -c '^tracking,sparc,' reference/tiny/figures/scores.csv)" = 3 ] || fail "the scores lack single runs"
# all runs are above the first threshold, none above the last
awk -F, '$1 == "rtu" { if (!n++) first = $3; last = $3 } END { exit !(n == 101 && first == 1 && last == 0) }' \
  reference/tiny/figures/profiles.csv || fail "the profile does not fall from 1 to 0"
if command -v gnuplot >/dev/null; then
  prints "reference/tiny/figures/curve-tracking.svg"
  no_complaint
  for name in scores profiles curve-tracking curve-order; do
    grep -q "</svg>" reference/tiny/figures/$name.svg || fail "$name.svg is not whole"
    [ "$(head -c 4 reference/tiny/figures/$name.png | tail -c 3)" = PNG ] || fail "$name.png is no picture"
  done
fi
expect 0 lab figure tiny.json --out nowhere
complains "there is nothing to draw yet"
PATH=$scratch/empty expect 0 lab figure tiny.json --out reference
complains "figures are missing: gnuplot is not installed"

# ---- the report: well-formed, self-contained, with the table's numbers, the paper's, a chart for each task, every run
expect 0 lab report tiny.json --out reference
prints "reference/report.html"
if grep -Eq '(src|href)="?https?:' reference/report.html; then fail "the report needs something from outside"; fi
if [ -n "$python" ]; then
  "$python" - <<'END' || fail "the report is not as promised"
import json, subprocess, os, xml.etree.ElementTree as xml
page = xml.parse("reference/report.html").getroot()
text = "".join(page.itertext())
names = [e.get("id") for e in page.iter() if e.get("id")]
assert len(names) == len(set(names)), "an identifier occurs twice"
charts = [json.loads(e.text) for e in page.iter("script") if e.get("type") == "application/json"]
lines = subprocess.check_output([os.environ["SPARC"], "lab", "table", "tiny.json", "--out", "reference", "--json"], text=True)
fields = [json.loads(line) for line in lines.splitlines()]
tasks = {f["task"] for f in fields}
assert len(charts) == 2 * len(tasks), [c["title"] for c in charts]
bars = [b for c in charts for b in c.get("bars", [])]
assert len(bars) == len(fields), bars
for field in fields:
    assert any(abs(b["value"] - field["mean"]) <= 1e-5 * abs(field["mean"]) for b in bars), field
assert sum(len(c.get("lines", [])) for c in charts) == len(fields)
runs = [tr for tr in page.iter("tr") if len(tr) == 10 and tr[5].text == "done"]
assert len(runs) == 2 * len(fields), len(runs)
assert "difference" in text and "Unfinished" not in text
END
fi
grep -q "4 finished runs of SPARC are not diagnosed" reference/report.html || fail "missing diagnoses are not reported"

# ---- diagnoses of the reference's cells, once, and in the report
expect 0 lab diagnose tiny.json --out reference --quiet
[ "$(cd reference/tiny/diagnostics && find . -name '*.json' | sort | tr '\n' ' ')" = \
  "./order/sparc/s0.json ./order/sparc/s1.json ./tracking/sparc/s0.json ./tracking/sparc/s1.json " ] ||
  fail "other runs than those of the reference are diagnosed"
expect 0 lab diagnose reference/tiny
prints "0 runs diagnosed, 4 already done"
expect 0 lab diagnose tiny.json/order/rtu/s0 --out reference --json
prints '"job":"order/rtu/s0"'
[ -s reference/tiny/diagnostics/order/rtu/s0.json ] || fail "a requested method is not diagnosed"
rm reference/tiny/diagnostics/order/rtu/s0.json
expect 0 lab report reference/tiny
if grep -q "are not diagnosed" reference/report.html; then fail "diagnostics that are there are missed"; fi
if [ -n "$python" ]; then
  "$python" - <<'END' || fail "the report does not show what is inside the cells"
import json, statistics, xml.etree.ElementTree as xml
page = xml.parse("reference/report.html").getroot()
charts = [json.loads(e.text) for e in page.iter("script") if e.get("type") == "application/json"]
kinds = [c.get("kind") for c in charts if c.get("kind")]
assert sorted(kinds) == sorted(2 * ["disc", "lines", "energy", "portrait"]), kinds
for c in charts:
    if c.get("kind") == "energy": assert len(c["cells"]) == c["rows"] * c["steps"], c["title"]
rows = [["".join(cell.itertext()) for cell in tr] for tr in page.iter("tr")]
heads = [r for r in rows if r[0] == "Task"]
assert ["Task", "Gate SD", "Saturation (%)", "Gate ratio", "Content (%)"] in heads, heads
assert ["Task", "Decay scale", "Surv. (%)", "Rel. surv.", "Phase (deg)", "Clock (%)"] in heads, heads
files = [json.load(open(f"reference/tiny/diagnostics/tracking/sparc/s{s}.json")) for s in (0, 1)]
survival = [100 * f["whole"]["survival"] for f in files]
expected = "%.2f ± %.2f" % (statistics.mean(survival), statistics.stdev(survival))
assert any(r[0] == "Tracking" and expected in r for r in rows), expected
assert any(r[0] == "no-phase-clock" for r in rows) and any("First 10 %" in r for r in rows)
assert ": mode states" in "".join(page.itertext())
END
fi
# diagnoses are exported without their views, and count where the checkpoints are not
expect 0 lab diagnose reference/tiny --format markdown
mv out tables
grep -q '| Tracking | ' tables || fail "--format prints no tables"
expect 0 lab export reference/tiny --to shipped
prints "and 4 diagnoses exported to shipped"
[ -s shipped/tiny/tracking/sparc/s1/diagnosis.json ] || fail "a diagnosis is not exported"
if grep -q '"views":\[{' shipped/tiny/tracking/sparc/s1/diagnosis.json; then fail "views are exported"; fi
expect 0 lab export reference/tiny --to shipped
prints "0 runs and 0 diagnoses exported to shipped"
expect 0 lab diagnose tiny.json --results shipped --out elsewhere
prints "0 runs diagnosed, 4 already done"
expect 0 lab diagnose tiny.json --results shipped --out elsewhere --format markdown
sed '/Training/,$d' out >without_log
sed '/Training/,$d' tables | cmp - without_log || fail "exported diagnoses give other tables"
expect 0 lab report tiny.json --results shipped --out elsewhere
if grep -q "are not diagnosed" elsewhere/report.html; then fail "exported diagnoses are missed in the report"; fi
expect 0 lab report --results shipped --out unmade
cmp elsewhere/report.html unmade/report.html || fail "a report of all imported experiments differs from that of the only one"
expect 0 lab status --results shipped --out unmade
prints "(8 imported)"
ln -sf /dev/null shipped/tiny/tracking/sparc/s1/diagnosis.json
refuse 3 "diagnosis.json" lab diagnose tiny.json --results shipped --out elsewhere --format csv
refuse 2 "give one of them" lab diagnose reference/tiny --json --format csv

# a missing checkpoint is reported, and the other runs are diagnosed
cp -r reference torn
rm torn/tiny/diagnostics/{order,tracking}/sparc/s0.json torn/tiny/order/sparc/s0/*.safetensors
expect 3 lab diagnose torn/tiny --quiet
complains "order/sparc/s0: "
complains "torn/tiny/order/sparc/s0/last.safetensors"
[ -s torn/tiny/diagnostics/tracking/sparc/s0.json ] || fail "one bad run keeps others from being diagnosed"
echo '{"digest": "x"' >torn/tiny/diagnostics/tracking/sparc/s0.json
expect 0 lab diagnose torn/tiny/ --tasks tracking --quiet
cmp torn/tiny/diagnostics/tracking/sparc/s0.json reference/tiny/diagnostics/tracking/sparc/s0.json ||
  fail "a second look shows something else"
expect 0 lab diagnose tiny.json --out nowhere
prints "4 runs are not finished"
refuse 2 "has no trained runs to diagnose" lab diagnose agreement --out nowhere

# ---- a results folder can be given instead of a name; it records its scale
expect 0 lab table slow/tiny-x50
prints "A tiny grid (scale 50)"
refuse 2 "--scale cannot be combined with the results folder" lab table slow/tiny-x50 --scale 50
expect 0 lab status reference/tiny --json
[ "$(wc -l <"$scratch/out")" = 8 ] || fail "there are $(wc -l <"$scratch/out") lines instead of 8"
for key in score seed digest rate machine version; do prints "\"$key\":"; done

# ---- scripts/lab-results.sh
"$SPARC_SOURCE_DIR/scripts/lab-results.sh" reference kept >out || fail "the results could not be kept"
for file in tiny/table.md tiny/results.jsonl tiny/curve-tracking.csv tiny/scores.csv; do
  [ -s kept/$file ] || fail "$file is not kept"
done
grep -q '^| SPARC |' kept/tiny/table.md || fail "the table is no Markdown"

expect 0 lab report tiny.json --tasks tracking --seeds 3 --out reference
grep -q "Unfinished: " reference/report.html || fail "the report does not list what is missing"
grep -q '"partial":true' reference/report.html || fail "the charts do not show the finished seeds"
expect 0 lab report --out reference

# ---- a report opens with diagnostic tasks; experiments with a reduced budget come last and are annotated
rl='{"name": "a", "title": "RL", "kind": "rl", "settings": {"steps": 4096}, "methods": [{"name": "sparc"}],
 "tasks": [{"name": "first", "settings": {"task": "repeat-first"}, "protocol": {"budget": 4096}}]}'
# folder NAME SCALE GRID
folder() {
  mkdir -p "ordered/$1"
  printf '{"scale": %s, "match_params": false, "grid": %s}' "$2" "$3" >"ordered/$1/lab.json"
}
folder a 1 "$rl"
folder a-x0.5 0.5 "$rl"
folder b 1 "$(sed 's/"name": "a"/"name": "b"/; s/"RL"/"Short"/; s/"budget": 4096/"budget": 8192/' <<<"$rl")"
folder tiny 1 "$(cat tiny.json)"
expect 0 lab report --out ordered
[ "$(grep -o '<h2>[^<]*' ordered/report.html | tr '\n' ' ')" = \
  "<h2>A tiny grid <h2>RL <h2>RL (scale 0.5) <h2>Short <h2>Software " ] || fail "the sections are in another order"
[ "$(grep -c 'Reduced budget: ' ordered/report.html)" = 2 ] || fail "reduced budgets are not annotated"

mkdir -p bare
expect 3 lab report --out bare
complains "there are no results in"
expect 3 lab report --out nowhere/at/all
