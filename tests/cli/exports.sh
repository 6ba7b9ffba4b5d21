#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# exports.sh: files as NumPy and spreadsheets write them, read alike by data, train, eval and predict; messages
# about invalid files.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"
unset SPARC_DATA
cd "$scratch"
small=(--layers 1 --width 8 --state-size 8 --batch 8 --updates 40 --quiet --force)

# npy DESCR SHAPE: the head of an NPY file
npy() {
  local header="{'descr': '$1', 'fortran_order': False, 'shape': $2, }"
  printf '\x93NUMPY\x01\x00'
  # shellcheck disable=SC2059
  printf "\\x$(printf %02x ${#header})\\x00"
  printf %s "$header"
}

# ---- NPY with labels beside it: the same options everywhere
{
  npy '|i1' '(40, 8, 2)'
  for i in {1..40}; do
    if ((i % 2)); then printf '\x01\x02\x03\x04\x05\x06\x07\x08\x01\x02\x03\x04\x05\x06\x07\x08'; else
      printf '\x08\x07\x06\x05\x04\x03\x02\x01\x08\x07\x06\x05\x04\x03\x02\x01'
    fi
  done
} >x.npy
{
  npy '|S4' '(40,)'
  for i in {1..40}; do if ((i % 2)); then printf 'up\0\0'; else printf 'down'; fi; done
} >y.npy
expect 0 data x.npy --labels y.npy
prints 'down'
expect 0 train x.npy --labels y.npy --out run "${small[@]}"
grep -q '"labels": "y.npy"' run/config.json || fail "config.json does not have the labels"
expect 0 eval run x.npy --labels y.npy
prints '40 examples'
expect 0 predict run x.npy --labels y.npy
cp out with
expect 0 predict run x.npy
cmp out with || fail "labels change predictions"
[ "$(wc -l <out)" = 41 ] || fail "not 40 rows"

# standard input with the model's channels: the values of a step are adjacent
printf '1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8\n' | "$SPARC" predict run - >streamed
[ "$(tail -1 streamed)" = "$(sed -n 2p with)" ] || fail "rows of two channels on standard input give other predictions"
code=0
printf '1,2,3\n' | "$SPARC" predict run - >out 2>err || code=$?
[ $code = 3 ] || fail "half a step is no error"
complains 'standard input, line 1: 3 values in a row are not a multiple of 2 channels'

# ---- as many decimal commas as semicolons: the commas count as separators, and the message gives the possible cause
printf '1,5;2,5;a\n3,5;4,5;b\n' >commas.csv
expect 3 data commas.csv
complains "column 2 ('5;2') is '5;4', expected a number, NaN or ?; for a decimal comma set --decimal ,"
expect 0 data commas.csv --decimal ,

# ---- CSV in the long format, with a decimal comma and a comment column; a model remembers how its files are read
awk 'BEGIN {
  print "id;when;a;b;note;kind"
  for (i = 1; i <= 40; i++)
    for (t = 1; t <= 5; t++)
      printf "s%d;2024-01-%02d;%d,5;%d;hm;%s\n", i, t, (i % 2) * t, t, i % 2 ? "up" : "flat"
}' >long.csv
how=(--id id --time when --ignore note --decimal ,)
expect 0 data long.csv "${how[@]}"
prints 'channel 2 of 2'
expect 0 train long.csv "${how[@]}" --out long "${small[@]}"
expect 0 eval long long.csv
prints '40 examples'
expect 0 predict long long.csv
[ "$(wc -l <out)" = 41 ] || fail "not 40 series"

# ---- --label none, and what is likely when classes are as many as rows
awk 'BEGIN {for (i = 0; i < 20; i++) print i ",2," 300 + i}' >numbers.csv
expect 0 data numbers.csv
complains 'warning: 20 classes in 20 rows: the label may be in another column (--label), or be a number to predict'
expect 0 data numbers.csv --label none
no_complaint

# ---- a folder with its two partitions is a data set, whatever their format
mkdir Mine Theirs
sed 1q long.csv >Mine/Mine_TRAIN.csv
grep -E '^s([1-9]|1[0-9]);' long.csv >>Mine/Mine_TRAIN.csv
sed 1q long.csv >Mine/Mine_TEST.csv
grep -E '^s(2[0-9]);' long.csv >>Mine/Mine_TEST.csv
expect 0 data Mine "${how[@]}" --official
prints 'test '
for part in TRAIN TEST; do
  cp x.npy Theirs/Theirs_$part.npy
  cp y.npy Theirs/Theirs_${part}_labels.npy
done
expect 0 data --root . Theirs --official
prints 'down'
expect 0 eval --baseline 1nn Theirs --quiet
prints 'accuracy  1.0000'

# ---- the nearest neighbour of unequal lengths: the same bump, early or late, slow or quick
awk 'BEGIN {
  for (i = 0; i < 24; i++) {
    n = 20 + i % 5
    line = i % 2 ? "bump" : "dip"
    for (t = 0; t < 24; t++) line = line (t < n ? "\t" (i % 2 ? 1 : -1) * exp(-(t - 8 - i % 4) ^ 2 / 8) : "\tNaN")
    print line
  }
}' >Bumps_all.tsv
mkdir Bumps
head -12 Bumps_all.tsv >Bumps/Bumps_TRAIN.tsv
tail -12 Bumps_all.tsv >Bumps/Bumps_TEST.tsv
expect 0 eval --baseline 1nn Bumps --warping-window 0.2 --progress plain
prints 'nearest neighbour of 12 by dynamic time warping, window 0.2 of the length'
prints 'accuracy  1.0000'
complains '12/12'
expect 0 eval --baseline dtw Theirs --quiet --json
prints '"distance":"dtw"'
no_complaint
expect 2 eval --baseline dwt Theirs
complains "--baseline is 'dwt', expected 1nn or dtw"

# ---- messages
expect 3 predict long.csv long/best.safetensors
complains "'long.csv' is not a model; the MODEL comes before the data"
expect 3 eval long.csv numbers.csv
complains "'long.csv' is not a model"
expect 3 data long/best.safetensors
complains 'a safetensors file, such as a model, not data'
head -c 5000 /dev/urandom >noise
printf '\x01' | dd of=noise conv=notrunc status=none
expect 3 data noise
complains 'noise: unknown format'
SPARC_DATA=$scratch/nowhere expect 3 data
complains "the environment variable SPARC_DATA is '$scratch/nowhere', which is not a folder"
SPARC_DATA=$scratch/nowhere expect 3 train FordA
complains "the environment variable SPARC_DATA is '$scratch/nowhere'"
expect 3 data FordA --root "$scratch/nowhere"
complains "the root is '$scratch/nowhere', which is not a folder"

# ---- memory: a table takes at most three times its size as floats, and many short rows are not unpacked at all
awk 'BEGIN {
  srand(9)
  for (i = 0; i < 1000; i++) {
    line = ""
    for (t = 0; t < 1000; t++) line = line sprintf("%.6f,", rand() - 0.5)
    print line i % 3
  }
}' >large.csv
gzip -1 -k large.csv
if [ -x /usr/bin/time ] && [ -z "${SPARC_SANITIZE:-}" ]; then # a sanitizer keeps what was freed
  peak() { # FILE: kilobytes of reading it
    /usr/bin/time -f %M -o peak "$SPARC" data "$1" --max-rows 20000 >out
    cat peak
  }
  base=$(peak numbers.csv)
  for file in large.csv large.csv.gz; do
    used=$(($(peak $file) - base))
    [ $used -lt $((3 * 1000 * 1000 * 4 / 1024)) ] || fail "$file takes $used kB, more than three times its floats"
  done
fi
awk 'BEGIN {for (i = 0; i < 300000; i++) print "1,2,x"}' | gzip -1 >bomb.csv.gz
expect 3 data bomb.csv.gz --max-rows 100000
complains 'bomb.csv.gz: the gzip data unpacks to more than the limit of 100000 rows; --max-rows allows more'
head -n 30 numbers.csv | gzip >few.csv.gz
expect 3 data few.csv.gz --max-rows 19
complains 'few.csv.gz: more than the limit of 19 rows; --max-rows allows more'

# ---- options by the names of other tools
for pair in lr:learning-rate batch-size:batch hidden:modes output:out label-column:label early-stopping:patience \
  val-split:validation pretrained:from max-epochs:epochs; do
  expect 2 train long.csv "--${pair%:*}" 1
  complains "unknown option '--${pair%:*}'; did you mean '--${pair#*:}'?"
done
