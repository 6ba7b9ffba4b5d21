#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# demo.sh: `sparc demo`: options, a short run and everything it writes, interruption, and a machine without gnuplot.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

out=$scratch/new/report

# ---- mistakes are found before any work ----
expect 2 demo --cells spark --out "$out"
complains "sparc demo: unknown cell 'spark'; did you mean 'sparc'?"
expect 2 demo --tasks traking --out "$out"
complains "unknown task 'traking'; did you mean 'tracking'?"
expect 2 demo --cells sparc,,rtu --out "$out"
complains "unknown cell ''"
expect 2 demo --cells sparc,rtu,sparc --out "$out"
complains "cell 'sparc' is named twice"
expect 2 demo --cells sparc --all-cells --out "$out"
complains "exclude each other"
expect 2 demo --progress loud --out "$out"
complains "--progress is 'loud', expected auto, plain or none"
expect 2 demo --variant phase-onyl --out "$out"
complains "did you mean 'phase-only'?"
expect 2 demo --cells rtu,gru --variant phase-only --out "$out"
complains "none of the cells has variants"
expect 2 demo --cells sparc,rglru --options block=4 --out "$out"
complains "unknown option 'block'"
for option in "--seeds 0" "--seed -1" "--updates 0" "--updates x" "--threads 0"; do
  # shellcheck disable=SC2086
  expect 2 demo $option --out "$out"
  no_output
done
expect 2 demo something
complains "unexpected argument 'something'"
[ ! -e "$scratch/new" ] || fail "a command line that makes no sense leaves a folder"

touch "$scratch/file"
expect 1 demo --updates 1 --out "$scratch/file/report"
complains "cannot make the folder '$scratch/file/report': Not a directory"
no_output
mkdir "$scratch/taken" && touch "$scratch/taken/mine"
expect 2 demo --updates 1 --out "$scratch/taken"
complains "the folder '$scratch/taken' is not empty"
[ "$(ls "$scratch/taken")" = mine ] || fail "a folder that is refused was written to"

# ---- a short run: table, page, figures, and runs as those of an experiment of the lab ----
expect 0 demo --updates 3 --tasks tracking --cells sparc,rtu --seeds 2 --progress none --out "$out"
grep -Eq '^ +Tracking: NMSE$' "$scratch/out" || fail "no heading"
grep -Eq '^SPARC +[0-9]+\.[0-9]{3} ± [0-9]+\.[0-9]{3}†.* 0\.096 *$' "$scratch/out" || fail "no row of SPARC"
grep -Eq '^RTU .* 0\.358 *$' "$scratch/out" || fail "no row of RTU"
prints "† Not as in the paper: 3 updates, the paper 450"
prints "report: $out/index.html"
for file in index.html figure1/lab.json figure1/tracking/{sparc,rtu}/s{0,1}/{result.json,last.safetensors} \
  figure1/figures/{scores,curve-tracking,example-tracking}.{gp,csv}; do
  [ -s "$out/$file" ] || fail "$file is missing or empty"
done
[ "$(wc -l <"$out/figure1/figures/example-tracking.csv")" = 49 ] || fail "the example has not 48 steps"
[ "$(head -1 "$out/figure1/figures/example-tracking.csv" | tr , '\n' | grep -Ec '^(sparc|rtu) z[12]$')" = 4 ] ||
  fail "the example lacks the predictions"
if find "$out" -name '*.tmp.*' | grep -q .; then fail "temporary files are left"; fi
if grep -Eq '(src|href)="?https?:' "$out/index.html"; then fail "the page needs something from outside"; fi
scripts_are_inert "$out"/figure1/figures/*.gp
expect 0 lab table "$out/figure1"
prints "difference to SPARC"
expect 0 eval "$out/figure1/tracking/rtu/s1" tracking
prints "NMSE"

# in the charts of scores our numbers have a column of their own, not next to the paper's marks
if command -v node >/dev/null; then
  node - "$SPARC_SOURCE_DIR/src/lab/html/page.js" <<'NODE' || fail "a chart prints our number beside the paper's mark"
const chart = {title: "t", x: "", y: "score", bars: [{name: "a", colour: "#111111", value: 0.25, deviation: null, paper: 0.75}]};
const element = (name) => ({name, attributes: {}, children: [], textContent: "", style: {},
  setAttribute(key, value) { this.attributes[key] = value; }, appendChild(child) { this.children.push(child); },
  append() {}, addEventListener() {}, querySelectorAll: () => [], querySelector: () => ({textContent: JSON.stringify(chart)}),
  clientWidth: 600});
const place = element("div"), drawn = [];
globalThis.document = {createElementNS: (space, name) => { const e = element(name); drawn.push(e); return e; }, createElement: element,
  querySelectorAll: (what) => (what === ".chart" ? [place] : []), querySelector: () => null};
globalThis.addEventListener = () => {};
(0, eval)(require("fs").readFileSync(process.argv[2], "utf8"));
const text = (value) => drawn.find((e) => e.name === "text" && e.textContent === value);
const diamond = drawn.find((e) => e.attributes.class === "paper"), ours = drawn.find((e) => e.attributes.class === "value");
const at = Number(diamond.attributes.d.slice(1).split(",")[0]);
if (ours.textContent !== "0.25" || !text("here") || !text("◇ paper") || !drawn.some((e) => e.textContent === "0.75")) process.exit(1);
if (ours.attributes["text-anchor"] !== "end" || ours.attributes.x - at < 60) process.exit(1);
NODE
fi

# the page is well-formed, with the evaluation sequence drawn if there is gnuplot, and no identifier twice
if command -v python3 >/dev/null; then
  python3 - "$out" "$(command -v gnuplot || true)" <<'PYTHON' || fail "the report is not as promised"
import json, sys, xml.etree.ElementTree as xml
folder, gnuplot = sys.argv[1:]
page = xml.parse(folder + "/index.html").getroot()
names = [e.get("id") for e in page.iter() if e.get("id")]
assert len(names) == len(set(names)), "an identifier occurs twice"
svg = [e for e in page.iter() if e.tag == "{http://www.w3.org/2000/svg}svg"]
assert len(svg) == (1 if gnuplot else 0), svg
charts = [json.loads(e.text) for e in page.iter("script") if e.get("type") == "application/json"]
assert [len(c.get("bars", c.get("lines"))) for c in charts] == [2, 2], charts
assert gnuplot or "gnuplot is not installed" in "".join(page.itertext())
PYTHON
fi

# ---- without --out the folder is a new one ----
(cd "$scratch" && expect 0 demo --updates 1 --cells rtu --tasks tracking --quiet && prints "report: report/index.html")
(cd "$scratch" && expect 0 demo --updates 1 --cells rtu --tasks tracking --quiet && prints "report: report-2/index.html")

# ---- JSON, and independence of threads; RG-LRU has two rows ----
runs() { sed 's/"seconds":.*//' "$1" | sort; }
options=(--updates 2 --cells "rtu,rglru" --json --quiet)
expect 0 demo "${options[@]}" --threads 1 --out "$scratch/one-thread"
no_complaint
[ "$(wc -l <"$scratch/out")" = 6 ] || fail "--json does not print a line for each run"
for key in job score unit seconds memory_mb; do
  [ "$(grep -c "\"$key\":" "$scratch/out")" = 6 ] || fail "no $key in the JSON lines"
done
for method in rtu rglru rglru-dense; do
  [ "$(grep -c "/$method/s0\"" "$scratch/out")" = 2 ] || fail "no two runs of $method"
done
grep -q '"cell-options": "block=128,ring=transition"' "$scratch/one-thread/figure1/tracking/rglru-dense/s0/job.json" ||
  fail "no RG-LRU with dense gates"
runs "$scratch/out" >"$scratch/one"
expect 0 demo "${options[@]}" --threads 3 --out "$scratch/three-threads"
runs "$scratch/out" | cmp -s - "$scratch/one" || fail "the number of threads changes a score"

# ---- a seed, a variant, options; and `sparc train` with the same settings gives the same score ----
score() { sed -n 's/.*"score":\([0-9.e-]*\).*/\1/p' "$scratch/out" | xargs printf '%.8g'; }
folder=0
same_as_train() { # JOB DEMO-ARGUMENTS -- TRAIN-ARGUMENTS
  local job=$1 demo=() both=(--updates 3 --seed 7 --json --quiet)
  shift
  while [ "$1" != -- ]; do demo+=("$1") && shift; done
  shift
  folder=$((folder + 1))
  out=$scratch/same-$folder
  expect 0 demo --tasks tracking "${demo[@]}" "${both[@]}" --out "$out"
  [ "$(wc -l <"$scratch/out")" = 1 ] || fail "demo ${demo[*]} makes not one run"
  prints "\"job\":\"tracking/$job/s7\""
  local there
  there=$(score)
  expect 0 train tracking "$@" "${both[@]}" --force --out "$scratch/run"
  [ "$(score)" = "$there" ] || fail "demo ${demo[*]} scores $there, train $* $(score)"
}
same_as_train neutral-gate --cells sparc --variant neutral-gate -- --variant neutral-gate
same_as_train sparc --cells sparc --variant full --
same_as_train rglru-block_16-ring_transition --cells rglru --options ring=transition,block=16 -- \
  --cell rglru --cell-options block=16,ring=transition
same_as_train gru --cells gru -- --cell gru
if grep -q embedding "$out/figure1/tracking/gru/s7/job.json"; then fail "an embedding that is not needed"; fi
same_as_train gateloop --cells gateloop -- --cell gateloop --embedding linear --width 64
grep -q '"embedding": "linear"' "$out/figure1/tracking/gateloop/s7/job.json" || fail "GateLoop has no embedding"
expect 0 demo --tasks tracking --cells sparc,mamba3 --updates 1 --quiet --out "$scratch/embedded"
prints "a linear embedding of width 64 before every cell"
[ "$(grep -l '"embedding": "linear"' "$scratch"/embedded/figure1/tracking/*/s0/job.json | wc -l)" = 2 ] ||
  fail "not every cell has the embedding"
grep -q "linear embedding of width 64" "$scratch/embedded/index.html" || fail "the page is silent on the embedding"
expect 0 demo --tasks tracking,event-order-anywhere --variant phase-only --seed 3 --seeds 2 --updates 1 --json --quiet \
  --out "$scratch/varied"
[ "$(wc -l <"$scratch/out")" = 16 ] || fail "not 2 tasks of 4 methods with 2 seeds"
[ "$(grep -c '/phase-only/s[34]"' "$scratch/out")" = 4 ] || fail "SPARC does not have the variant"
[ "$(grep -l '"variant"' "$scratch"/varied/figure1/*/*/s3/job.json | wc -l)" = 2 ] || fail "not SPARC alone has the variant"
expect 0 lab table "$scratch/varied/figure1" --json
grep '"method":"phase-only"' "$scratch/out" | grep -q '"paper":[0-9]' && fail "a variant has a score of the paper"

# ---- without gnuplot there is still a report, which mentions it ----
mkdir "$scratch/empty"
code=0
PATH=$scratch/empty "$SPARC" demo --updates 1 --cells rtu --tasks event-order --out "$scratch/plain" \
  >"$scratch/out" 2>"$scratch/err" || code=$?
[ "$code" = 0 ] || fail "without gnuplot: exit code $code"
complains "gnuplot is not installed"
grep -q "gnuplot is not installed" "$scratch/plain/index.html" || fail "the page does not explain why it has no figures"
[ -s "$scratch/plain/figure1/figures/example-event-order.gp" ] || fail "without gnuplot there is no script"

# ---- an interrupt leaves what is finished: it comes when the first of two runs has ended ----
for _ in {1..20}; do # a second run that ended before the signal came is begun anew
  rm -rf "$scratch/out" "$scratch/stopped"
  "$SPARC" demo --updates 100 --cells rtu,gru --tasks tracking --threads 1 --json --out "$scratch/stopped" \
    >"$scratch/out" 2>"$scratch/err" &
  pid=$!
  until [ -s "$scratch/out" ] || ! kill -0 "$pid" 2>/dev/null; do sleep 0.02; done
  kill -INT "$pid" 2>/dev/null || true
  code=0
  wait "$pid" || code=$?
  [ "$code" = 0 ] || break
done
[ "$code" = 130 ] || fail "interrupted: exit code $code, expected 130"
complains "interrupted with 1 of 2 runs finished; \`sparc lab run $scratch/stopped/figure1\` continues"
grep -q "Unfinished: 1 of 2 runs" "$scratch/stopped/index.html" || fail "the page does not say that it is incomplete"
expect 0 lab run "$scratch/stopped/figure1" --quiet
expect 0 lab status "$scratch/stopped/figure1" --json
[ "$(grep -c '"state":"done"' "$scratch/out")" = 2 ] || fail "an interrupted demo cannot be continued"
