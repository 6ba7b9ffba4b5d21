#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check.sh: `sparc check` on sound vectors: every path, both precisions, output formats.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

full=$vectors/sparc-full.safetensors # T = 19

# rows FIELD: the distinct values of a column of the last output, in order of appearance
rows() { awk -v n="$1" '$NF == "ok" && !seen[$n]++ {print $n}' "$scratch/out" | paste -sd' '; }

# every path appears, and each gives the tensors it should
expect 0 check "$full"
no_complaint
[ "$(rows 2)" = "step sequential chunked:1 chunked:7 chunked:32 chunked:19 chunked:20 rtrl" ] ||
  fail "the paths are $(rows 2)"
count() { awk -v path="$1" '$2 == path && $NF == "ok"' "$scratch/out" | wc -l; }
for path in step:1 sequential:12 chunked:1:12 chunked:20:12 rtrl:19; do
  [ "$(count "${path%:*}")" = "${path##*:}" ] || fail "path ${path%:*} compares $(count "${path%:*}") tensors"
done
[ "$(tail -1 "$scratch/out")" = "92 tensors compared in 1 files, 0 beyond tolerance" ] || fail "wrong summary"

# double adds the reference
expect 0 check --double "$full"
[ "$(rows 2)" = "reference step sequential chunked:1 chunked:7 chunked:32 chunked:19 chunked:20 rtrl" ] ||
  fail "the paths in double are $(rows 2)"
[ "$(count reference)" = 12 ] || fail "the reference compares $(count reference) tensors"

# chunk lengths that coincide are run once; one step has no future, so its local input gradient counts
expect 0 check "$vectors/sparc-one.safetensors"
[ "$(rows 2)" = "step sequential chunked:1 chunked:7 chunked:32 chunked:2 rtrl" ] ||
  fail "the paths at T = 1 are $(rows 2)"
grep -q 'rtrl .* grad\.x ' "$scratch/out" || fail "no local input gradient at T = 1"

# every committed vector, in both precisions and for different thread counts
files=("$vectors"/*.safetensors)
[ "${#files[@]}" -ge 15 ] || fail "only ${#files[@]} vectors to check"
expect 0 check --quiet "${files[@]}"
no_complaint
[ "$(wc -l <"$scratch/out")" = 1 ] || fail "--quiet prints more than the summary"
prints "in ${#files[@]} files, 0 beyond tolerance"
expect 0 check --quiet --double "${files[@]}"
prints "in ${#files[@]} files, 0 beyond tolerance"
"$SPARC" check --threads 1 "$full" >"$scratch/one-thread"
"$SPARC" check --threads 7 "$full" | cmp - "$scratch/one-thread" || fail "the number of threads shows"

# --tolerance replaces all: nothing passes at 0 but exact zeros, everything at 1
expect 1 check --tolerance 0 "$full"
grep -q 'out .* FAIL$' "$scratch/out" || fail "nothing fails at tolerance 0"
expect 0 check --tolerance 1 "$full"

# --quiet shows the failures with their heading
expect 1 check --quiet --tolerance 1e-7 "$full"
grep -q '^file .* verdict$' "$scratch/out" || fail "no heading"
if grep -q ' ok$' "$scratch/out"; then fail "--quiet prints what is within tolerance"; fi

# the paper's size: everything within 2e-6, and the table beside the paper's, in float only
expect 0 check --tolerance 2e-6 "$vectors/sparc-paper.safetensors"
prints "Numerical agreement, ours (worst over paths) beside the paper's"
grep -Eq '^Retention controller +[0-9.e-]+ +[0-9.e-]+ +3\.05e-05 +1\.43e-06$' "$scratch/out" || fail "no paper row"
[ "$(grep -Ec '^[A-Z][A-Za-z -]+( +[0-9]\.[0-9]{2}e-[0-9]{2}){4}$' "$scratch/out")" = 9 ] || fail "not nine paper rows"
for option in --quiet --json --double; do
  expect 0 check $option "$vectors/sparc-paper.safetensors"
  if grep -q 'Numerical agreement' "$scratch/out"; then fail "the table appears with $option"; fi
done

# --json: one object per line with all keys
expect 0 check --json "$full"
[ "$(wc -l <"$scratch/out")" = 92 ] || fail "--json prints $(wc -l <"$scratch/out") lines"
keys='^\{"file":"[^"]*","path":"[^"]*","tensor":"[^"]*","e_abs":[0-9.e-]+,"e_norm":[0-9.e-]+,"tolerance":[0-9.e-]+,"ok":true\}$'
if grep -Evq "$keys" "$scratch/out"; then fail "a line of --json has another form"; fi
if command -v python3 >/dev/null; then
  python3 -c 'import json, sys
for line in sys.stdin:
    row = json.loads(line)
    assert row["ok"] is (row["e_norm"] <= row["tolerance"]), row
    assert row["tolerance"] == (3e-6 if row["tensor"] == "out" else 1e-5), row' <"$scratch/out" ||
    fail "--json is not as promised"
fi
expect 1 check --json --quiet --tolerance 1e-7 "$full"
if grep -q '"ok":true' "$scratch/out"; then fail "--json --quiet prints what is within tolerance"; fi
grep -q '"ok":false' "$scratch/out" || fail "--json --quiet prints no failure"
