#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# data.sh: `sparc data` about named data sets and files, and every kind of broken file.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

unset SPARC_DATA
root=$scratch/root
mkdir -p "$root/ucr/Waves" "$root/ucr/FordA"
printf 'up\t0\t1\t2\t3\n%.0s' {1..20} >"$root/ucr/Waves/Waves_TRAIN.tsv"
printf 'down\t3\tNaN\t1\tNaN\n%.0s' {1..10} | gzip >"$scratch/down.gz"
gzip <"$root/ucr/Waves/Waves_TRAIN.tsv" | cat - "$scratch/down.gz" >"$root/ucr/Waves/Waves_TRAIN.tsv.gz"
rm "$root/ucr/Waves/Waves_TRAIN.tsv"
printf 'up\t0\t1\t2\t3\n' >"$root/ucr/Waves/Waves_TEST.tsv"
printf '1\t1\n-1\t2\n' >"$root/ucr/FordA/FordA_part1319.tsv"
printf '1\t1\n' >"$root/ucr/FordA/FordA_part577.tsv"

# line PATTERN: the last run printed a line that matches
line() { grep -Eq -- "$1" "$scratch/out" || fail "no line matches: $1"; }

# a named data set: parts, scale, classes with a sparkline, in ASCII where the terminal is not UTF-8
LC_ALL=C expect 0 data --root "$root" Waves
no_complaint
prints "fit is the whole training partition, the report is on the test partition"
LC_ALL=C expect 0 data --root "$root" Waves --split sound
no_complaint
[ "$(head -1 "$scratch/out")" = Waves ] || fail "the name is not on the first line"
prints "fit and validation are 27 and 3 of 30 training examples, drawn by class once for all runs"
line '^  fit +27 +3/4/4 +9$'
line '^  validation +3 +3/4/4 +1$'
line '^  test +1 +4 +0$'
line '^  channel 1 of 1: mean 1\.6, std [0-9.]+ over fit$'
line '^  down +9 +1 +0  ## -$'
line '^  up +18 +2 +1  _-\+#$'
SPARC_DATA=$root expect 0 data Waves
if locale -a 2>/dev/null | grep -qi '^C\.utf-\?8$'; then
  LC_ALL=C.UTF-8 expect 0 data --root "$root" Waves
  prints '▁▃▆█'
fi

# the official protocol, the fall-back of FordA, the list of names
expect 0 data --official --root "$root" Waves
line '^  fit +30 '
if grep -q validation "$scratch/out"; then fail "the official protocol validates"; fi
expect 0 data --root "$root" FordA
[ "$(head -1 "$scratch/out")" = "FordA (1896 rows)" ] || fail "FordA in part is not called so"
prints "not as in the paper: 1319 rows of the official TEST fit"
expect 0 data --root "$root"
[ "$(tr '\n' ' ' <"$scratch/out")" = "FordA Waves " ] || fail "wrong list of names"
expect 0 data --json --root "$root"
prints '"names":["FordA","Waves"]'

# JSON
expect 0 data --json --root "$root" Waves --split sound
[ "$(wc -l <"$scratch/out")" = 1 ] || fail "--json prints several lines"
prints '"name":"Waves"'
prints '"differs":""'
prints '{"part":"fit","examples":27,"shortest":3,"median":4,"longest":4,"missing":9}'
prints '{"class":0,"label":"down","fit":9,"validation":1,"test":0}'
if command -v python3 >/dev/null; then
  python3 -c 'import json, sys; d = json.load(sys.stdin); assert d["channels"] == 1 and abs(d["mean"][0] - 1.6) < 1e-12' \
    <"$scratch/out" || fail "--json is not as promised"
fi

# files and standard input
csv=$scratch/toy.csv
printf 'kind,t0,t1\na,1,2\nb,3,4\nb,5,6\n' >"$csv"
expect 0 data --split sound --label kind "$csv"
line '^  b +1 +1 '
expect 0 data --label=1 --json "$csv"
prints '"label":"a"'
expect 0 data --unlabelled "$root/ucr/FordA/FordA_part577.tsv"
line '^  \(none\) +1 '
"$SPARC" data --format ucr - <"$root/ucr/FordA/FordA_part1319.tsv" >"$scratch/out" 2>"$scratch/err" || fail "no standard input"
line '^  -1 '
printf 'a\x1b[31m\t1\n' >"$scratch/escape.tsv"
expect 3 data "$scratch/escape.tsv"
complains "byte 0x1b in column 2, expected text"

# images with labels
printf '\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x02abcd' >"$scratch/images"
printf '\0\0\x08\x01\0\0\0\x02\x07\x03' >"$scratch/other"
expect 0 data --labels "$scratch/other" "$scratch/images"
line '^  3 '
line '^  7 '
expect 3 data --labels "$scratch/missing" "$scratch/images"

# what is wrong with the command line
expect 2 data
complains "no NAME or FILE given, and no folder to list: give --root or set SPARC_DATA"
expect 2 data a b
complains "expected one NAME or FILE, got 'b' as well"
expect 2 data --format cvs "$csv"
complains "--format is 'cvs', expected auto, ucr, ts, csv, npy, idx, cifar or npz"
expect 2 data --official "$csv"
complains "has no test partition"
expect 2 data --labels x "$csv"
complains "labels are given"

# invalid files: a message with the line, and exit code 3
broken() {
  expect 3 data "$1"
  complains "sparc data: $1$2"
  no_output
}
bad=$scratch/bad.tsv
printf '' >"$bad" && broken "$bad" ":1: the file is empty"
printf '1\t2\t3\n1\t2\n' >"$bad" && broken "$bad" ":2: 1 values, expected 2 as in line 1"
printf '1\t2\n1\tNaN\n' >"$bad" && broken "$bad" ":2: all 1 values are missing"
printf '1\t2\n1\tx\n' >"$bad" && broken "$bad" ":2: value 1 is 'x'"
head -c 5000 /dev/zero >"$bad" && broken "$bad" ":1: byte 0x00 in column 1, expected text"
head -c 20 "$scratch/down.gz" >"$bad" && broken "$bad" ": the gzip data is truncated"
bad=$scratch/bad.ts
printf '@classLabel true a b\n@data\n1,2:a\n1,2:c\n' >"$bad" && broken "$bad" ":4: the label is 'c', expected one of a, b"
bad=$scratch/bad.csv
printf '1,2,a\n1,b\n' >"$bad" && broken "$bad" ":2: 2 fields, expected 3 as in the first row"
bad=$scratch/bad.npy
printf '\x93NUMPY\x01\0\x05' >"$bad" && broken "$bad" ": 9 bytes are too few for a NumPy header"
bad=$scratch/bad.bin
head -c 3072 /dev/zero >"$bad" && broken "$bad" ": 3072 bytes, expected a multiple of 3073"
expect 3 data "$scratch"
complains "does not hold"
expect 3 data "$scratch/missing.tsv"
complains "cannot open '$scratch/missing.tsv': No such file or directory"

# many classes: the first 64 are printed, JSON has all
seq 100 | sed 's/.*/c&,1,2/' >"$scratch/many.csv"
expect 0 data --label 1 "$scratch/many.csv"
[ "$(grep -c '^  c[0-9]' "$scratch/out")" = 64 ] || fail "not 64 classes"
prints "and 36 more classes (--json prints all)"
expect 0 data --label 1 "$scratch/many.csv" --json
[ "$(grep -o '"label":"c' "$scratch/out" | wc -l)" = 100 ] || fail "not 100 classes in JSON"

# names that are not there
expect 3 data --root "$root" Wavse
complains "no data set 'Wavse': looked for $root/ucr/Wavse/Wavse_TRAIN{.tsv,.ts,.txt,.csv,.npz,.npy}[.gz], and for a file of that name; did you mean 'Waves'?"
expect 3 data FordA
complains "set SPARC_DATA or give the root"
printf 'sideways\t0\t1\t2\t3\n' >"$root/ucr/Waves/Waves_TEST.tsv"
expect 3 data --root "$root" Waves
complains "Waves_TEST.tsv:1: the label is 'sideways', expected one of down, up"

# a full disk
code=0
"$SPARC" data --label kind "$csv" >/dev/full 2>"$scratch/err" || code=$?
[ $code = 1 ] || fail "lost output, exit code $code"
