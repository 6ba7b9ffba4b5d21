#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# bench.sh: `sparc bench`: problem strings, results as text and JSON, comparison with an earlier run, the goals' table.
# What is measured here is too short to mean anything; that it is measured, verified and reported is what counts.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

# refuse MESSAGE ARGUMENT...: a usage error before anything is measured
refuse() {
  local message=$1
  shift
  expect 2 bench "$@"
  complains "$message"
  no_output
}

# no_trouble: nothing on standard error but the warning about builds that are not for measuring
no_trouble() {
  if grep -qv 'its times mean little$' "$scratch/err"; then fail "standard error is not empty"; fi
}

# problem strings
refuse "unknown problem 'mixr'; did you mean 'mixer'?" mixr:B1:T1:D1
refuse "unknown problem 'golas'; did you mean 'goals'?" golas
refuse "unknown problem 'xyzzy', expected one of: mixer," xyzzy
refuse "unknown problem ''" ''
refuse "mixer:B4: the key T (steps) is missing" mixer:B4
refuse "unknown key in 'Q3', expected B, T, D, H, noproj, pieces, whole, cell=NAME and its options" mixer:B1:T1:D1:Q3
refuse "unknown key in 'peices'; did you mean 'pieces'?" mixer:B1:T1:D1:peices
refuse "unknown key in 'cel=rglru'; did you mean 'cell'?" mixer:B1:T1:D1:cel=rglru
refuse "unknown key in ''" mixer:B1:T1:D1:
refuse "unknown key in 'ta3', expected M, N, K, ta, tb, blas" sgemm:M1:N1:K1:ta3
refuse "the library stores right factors K x N; tb goes with blas" sgemm:M1:N1:K1:tb
refuse "unknown key in 'cell=lru', expected M, N, K, ta, tb, blas" sgemm:M1:N1:K1:cell=lru
refuse "the key B is there twice" mixer:B1:T1:D1:B2
for number in '' 0 -1 1x 1.5 99999999999999999999; do
  refuse "'B$number' has no whole number from 1 to 1073741824 after its key" "mixer:B$number:T1:D1"
done
refuse "unknown cell kind 'rglu'; did you mean 'rglru'?" mixer:B1:T1:D1:cell=rglu
refuse "unknown option 'varient'; did you mean 'variant'?" mixer:B1:T1:D1:varient=full
refuse "expected a multiple of the option block" mixer:B1:T1:D8:cell=rglru:block=3
refuse "D is 7, expected 6" mixer:B1:T4:D7:H3:noproj
refuse "cell lru has no options, got 'projection" mixer:B1:T4:D8:noproj:cell=lru
refuse "at most 255 are allowed" "mixer:B1$(printf ':a=%0300d' 1)"
# the second problem is wrong, so the first is not measured either
refuse "unknown problem 'stpe'; did you mean 'step'?" peak stpe:H1:D1

# ranks are for mpirun
refuse "scale measures the ranks of an MPI job: mpirun -n 2 sparc bench scale" peak scale

# options
refuse "unknown option '--thread-count'" --thread-count 1 peak
refuse "--threads is '0', expected a whole number from 1 to 1024" --threads 0 peak
refuse "--seconds is '0', expected a number above 0 and up to 3600" --seconds 0 peak
refuse "--seconds is 'nan'" --seconds nan peak
refuse "--kernel is 'plian'; did you mean 'plain'?" --kernel plian peak
refuse "--kernel is 'mmx', and this machine has no such kernels" --kernel mmx peak
refuse "--compare goes with problems, not with the suite goals" --compare "$scratch/none" goals

refuse "--plan goes with problems, not with the suite goals" --plan goals

# plans: the loops of a call for 1 to 64 threads, whatever this machine has
expect 0 bench --plan --json mixer:B2:T8:D8
for threads in 1 2 4 16 64; do
  grep -q "^{\"plan_total\":\"mixer:B2:T8:D8\",.*,\"threads\":$threads," "$scratch/out" || fail "no plan for $threads threads"
done
grep -q '"stage":"backward","threads":16,"loop":3,"tiles":4,"share":1,' "$scratch/out" || fail "16 threads share no tiles"
expect 1 bench --plan fused:B1:T4:H4
complains "the benchmark itself divides it among threads"

# a page: the machine, then what was measured; well-formed
refuse "--html has problems and the suites limits, goals and train, not growth" --html "$scratch/page.html" growth
expect 0 bench --html "$scratch/page.html" --seconds 0.01 --threads 1 peak step:H8:D8
no_output
for text in '<h2>Machine</h2>' '<h2>Problems</h2>' "$("$SPARC" info | sed -n 's/^cpu *//p')" 'step:H8:D8' 'multiply-add'; do
  grep -qF -- "$text" "$scratch/page.html" || fail "the page does not have: $text"
done
if command -v xmllint >/dev/null; then xmllint --noout "$scratch/page.html" || fail "the page is not well-formed"; fi
expect 3 bench --html "$scratch/none/page.html" --seconds 0.01 peak

# unsupported measurements are reported, and are not usage errors
expect 1 bench fused:B1:T4:H4:cell=gru
complains "the cell gru has no fused kernels"
expect 1 bench --kernel plain fused:B1:T4:H4
complains "the plain kernels have no fused scan of this cell"
expect 2 bench scan:B1:T4:H4:cell=gru
complains "unknown cell for a scan alone 'gru'"
expect 2 bench scan:B1:T4:H4:inplace:nt
complains "leave out inplace or nt"
expect 2 bench scan:B1:T4:H4:rivals
complains "rivals are there for the cell sparc with H a multiple of 16"
expect 2 bench ppo:stored:free
complains "leave out stored or free"
expect 1 bench --kernel plain ppo
complains "a run uses the kernels of SPARC_KERNEL"
expect 1 bench mixer:B1000:T1000000:D2048
complains "and this machine has"

# a tiny problem of each kind, verified and timed, in a few seconds
quick=(--quick --seconds 0.05 --threads 2)
tiny=(mixer:B2:T33:D7 mixer:B1:T4000:D64:noproj:whole mixer:B2:T33:D8:cell=rglru:block=4 mixer:B1:T4000:D64 fused:B1:T70:H65 step:H5:D3
  scan:B1:T70:H65 scan:B3:T9:H33:inplace scan:B2:T40:H64:nt:sorted scan:B1:T40:H32:rivals scan:B2:T40:H33:cell=lru
  scan:B2:T40:H33:cell=rglru
  step:H5:D3:E7 rtrl:H5:D3 rtrl:H5:D3:K3:E17
  rtrl:H4:D3:cell=gateloop prepare:H5:D3 prepare:H90:D70 prepare:H70:D90:cell=gru naive:B2:T9:H5 naive:B2:T9:H5:D3 sgemm:M33:N17:K9
  sgemm:M33:N17:K9:blas train:B2:T17:W8:L2
  ppo:H4:T64:E1 ppo:H4:T64:E1:cartpole:free ppo:H4:T64:E1:robot:cell=rtu ppo:H4:T128:E1:cell=gru
  sgemm:M9:N5:K33:ta sgemm:M9:N5:K33:ta:tb:blas bf16:B2:T33:D7 bf16:B1:T64:D6:cell=gru stream:KiB4 peak)
expect 0 bench "${quick[@]}" mixer:B2:T33:D7
no_trouble
prints "mixer:B2:T33:D7: 2 threads, "
prints "verified: E_norm "
prints "by the sizes"
prints "= 4 (2 B T (D + O) + 2 (N + 1) B S + 2 P + R) + saved + work; B 2, T 33, D 7, O 8,"
prints "limits here: L2 copy "
grep -Eq '^  forward\+backward +[0-9.]+ [mun]s ' "$scratch/out" || fail "no line for both directions"
expect 0 bench "${quick[@]}" --kernel plain mixer:B2:T33:D7
prints "mixer:B2:T33:D7: 2 threads, plain"

# JSON: one object per line with the same keys
expect 0 bench "${quick[@]}" --json "${tiny[@]}"
no_trouble
cp "$scratch/out" "$scratch/old.jsonl"
if grep -qv '^{"problem":".*}$' "$scratch/out"; then fail "a line is not an object"; fi
for problem in "${tiny[@]}"; do prints "{\"problem\":\"$problem\",\"stage\":"; done
prints '"problem":"mixer:B1:T4000:D64","stage":"one call"'
if grep -q '"problem":"mixer:B1:T4000:D64:noproj:whole","stage":"one call"' "$scratch/out"; then
  fail "a problem that is not cut has pieces"
fi
prints '"problem":"rtrl:H5:D3","stage":"step, update","threads":1'
prints '"problem":"rtrl:H5:D3:K3:E17","stage":"step, lazy gradient","threads":1'
prints '"problem":"step:H5:D3:E7","stage":"streams","threads":1'
if command -v python3 >/dev/null; then
  python3 -c 'import json, sys
for line in sys.stdin:
    r = json.loads(line)
    rounding = 2**-8 if r["problem"].startswith("bf16:") else 0
    assert r["seconds"] > 0 and r["passes"] >= 3 and r["noise"] >= 0 and 0 <= r["e_norm"] < 1e-3 + rounding, r
    for key in "ns_per_mode", "gb_per_s", "gflop_per_s", "of_copy", "of_triad", "of_peak":
        assert r[key] is None or r[key] > 0, r
    both = {"mixer": 3, "fused": 2, "scan": 3}.get(r["problem"].split(":")[0])
    assert not both or (r["ns_per_mode"] and r["gb_per_s"] and r["memory_bytes"] > 0), r' \
    <"$scratch/out" || fail "--json is not as promised"
fi

# comparison with its own output: every stage is found again
expect 0 bench "${quick[@]}" --compare "$scratch/old.jsonl" --json "${tiny[@]}"
[ "$(grep -c '"ratio":[0-9]' "$scratch/out")" = "$(wc -l <"$scratch/old.jsonl")" ] || fail "a stage was not matched"
expect 0 bench "${quick[@]}" --compare "$scratch/old.jsonl" step:H5:D3
grep -Eq 'before +ratio$' "$scratch/out" || fail "no columns for the comparison"
grep -Eq '^  step .* [0-9.]+$' "$scratch/out" || fail "no ratio"
# another number of threads or another kernel is another result
expect 0 bench --quick --seconds 0.05 --threads 1 --compare "$scratch/old.jsonl" --json mixer:B2:T33:D7
prints '"old_seconds":null,"ratio":null'
expect 3 bench --compare "$scratch/missing" peak
complains "cannot open '$scratch/missing'"
printf '\n{"problem":\n' >"$scratch/bad.jsonl"
expect 3 bench --compare "$scratch/bad.jsonl" peak
complains "bad.jsonl, line 2: not JSON"
echo '[1]' >"$scratch/bad.jsonl"
expect 3 bench --compare "$scratch/bad.jsonl" peak
complains "bad.jsonl, line 1: not a JSON object"

# the goals: wide problems, too slow for instrumented and unoptimised builds
if "$SPARC" info | grep -q '^build .*, release$'; then
  expect 0 bench --quick --seconds 0.01 --json goals
  mark='(null|[-0-9.e]+)'
  verdict='"verdict":"(stretch|demand|MISSED|information|not built)"'
  if grep -Eqv "^\{\"goal\":\".*\",\"value\":(null|[-0-9.e]+),\"demand\":$mark,\"stretch\":$mark,$verdict," "$scratch/out"; then
    fail "a goal is not as promised"
  fi
  prints '"goal":"fused backward / fused forward, in cache, 1 thread"'
  # the traces of RTRL have one of two bounds, which the row names
  [ "$(grep -Ec '"goal":"RTRL .*"bound":"(sweep|multiply-adds)"' "$scratch/out")" = 6 ] || fail "a bound is not named"

  # reinforcement learning: every task, cell and way, on one thread here; verdicts do not bind
  expect 0 bench --quick --seconds 0.01 --threads 1 --json rl
  [ "$(wc -l <"$scratch/out")" = 21 ] || fail "bench rl has other rows"
  for cell in sparc rtu rglru; do
    prints "{\"rl\":\"repeat-previous\",\"cell\":\"$cell\",\"traces\":\"free\",\"auto\":true,"
  done
  prints '{"rl":"cartpole","cell":"sparc","traces":"stored","auto":true,'
  prints '{"rl":"cartpole","cell":"rtu","traces":"stored","auto":true,'
  prints '{"rl":"cartpole","cell":"rglru","traces":"stored","auto":true,'
  prints '{"rl":"cartpole","cell":"gru","traces":"window","auto":true,'
  if command -v python3 >/dev/null; then
    python3 -c 'import json, sys
for line in sys.stdin:
    r = json.loads(line)
    parts = r["environment_seconds"] + r["collection_seconds"] + r["update_seconds"]
    bounds = r["environment_seconds"] + r["collection_bound_seconds"] + r["update_bound_seconds"]
    assert abs(parts / bounds / r["ratio"] - 1) < 1e-6 and min(parts, bounds) > 0, r
    stored = stored if r["traces"] == "free" else bounds
    assert abs(parts / stored / r["stored_ratio"] - 1) < 1e-6, r
    made_of = r["update_bytes_seconds"] + r["update_products_seconds"] + r["update_cell_seconds"]
    assert abs(made_of / r["update_bound_seconds"] - 1) < 1e-6, r
    assert (r["speedup"] is None) == (r["H"] != 64) and r["quick"], r
    jax = {1: 2500, 2: 3800}[r["threads"]]
    assert r["speedup"] is None or abs(r["steps_per_second"] / jax / r["speedup"] - 1) < 1e-6, r' \
      <"$scratch/out" || fail "bench rl is not as promised"
  fi

  # growth: a table for each kind and axis; the formula gives the bytes, and verdicts do not bind
  expect 0 bench --quick --seconds 0.01 --json growth
  for kind in mixer fused; do
    for axis in B T H; do prints "{\"growth\":\"$kind\",\"axis\":\"$axis\",\"problem\":\"$kind:B1:T16:"; done
  done
  if command -v python3 >/dev/null; then
    python3 -c 'import json, re, sys
for line in sys.stdin:
    r = json.loads(line)
    assert r["mode_steps"] == r["B"] * r["T"] * r["H"] and r["seconds"] > 0 and r["quick"], r
    assert abs(r["seconds"] / r["line_seconds"] - 1 - r["deviation"]) < 1e-9, r
    assert r["line_within"] == (abs(r["deviation"]) <= 0.15), r
    if r["growth"] != "mixer": continue
    v = {k: int(n) for k, n in re.findall(r"([A-Za-z]+) (\d+)", r["memory_formula"].split("; ")[1])}
    arrays = 2 * v["B"] * v["T"] * (v["D"] + v["O"]) + 2 * (v["N"] + 1) * v["B"] * v["S"] + 2 * v["P"] + v["R"]
    assert r["memory_bytes"] == 4 * arrays + v["saved"] + v["work"], r
    # what is kept of a token is its two controls
    assert v["saved"] == 8 * v["B"] * v["T"], r' \
      <"$scratch/out" || fail "growth is not as promised"
  fi
  # the paper's shapes: the first row of every table, mixers without and with projection
  expect 0 bench --quick --seconds 0.01 --json paper
  prints '{"table":"paper panel a","B":8,"T":2048,"width":1024,'
  for panel in b c d; do
    [ "$(grep -c "^{\"table\":\"paper panel $panel\",.*\"projection\":false" "$scratch/out")" = 1 ] || fail "panel $panel"
    [ "$(grep -c "^{\"table\":\"paper panel $panel\",.*\"projection\":true" "$scratch/out")" = 1 ] || fail "panel $panel"
  done
  for table in "fixed tokens" batch; do prints "{\"table\":\"paper naive $table\","; done
  [ "$(wc -l <"$scratch/out")" = 9 ] || fail "the paper's tables have other rows"
fi
