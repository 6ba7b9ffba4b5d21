#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ridge.sh: `sparc train --readout ridge`: a head in closed form on a bank of filters, its files, and what it refuses.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"
unset SPARC_DATA

cd "$scratch"
# pulses that are wide or narrow, anywhere: the mean of the values has no information
pulses() { # COUNT SEED
  awk -v n="$1" -v seed="$2" 'BEGIN {
    srand(seed)
    for (i = 0; i < n; i++) {
      wide = i % 2; place = 5 + int(20 * rand())
      for (t = 0; t < 40; t++) {
        inside = t >= place && t < place + (wide ? 8 : 2)
        printf "%.4f,", (inside ? (wide ? 1 : 4) : 0) + 0.1 * rand()
      }
      print wide ? "wide" : "narrow"
    }}'
}
pulses 40 1 >pulses.csv
pulses 60 2 >later.csv

expect 0 train pulses.csv --readout ridge --out run --progress plain --threads 1
complains "network   256 filters with 8 thresholds each, ridge readout"
complains "leave-one-out loss"
prints "network   256 filters with 8 thresholds each, ridge readout"
prints "seconds   "
if grep -q "^cell\|^options\|^final\|^speed" out; then fail "the result of a closed form is printed as one of updates"; fi
expect 0 eval run later.csv --json
prints '"accuracy":1'
grep -q '"readout": "ridge"' run/config.json || fail "config.json does not have the readout"

expect 0 train pulses.csv --readout ridge --out json --json --quiet
prints '"cell":null'
prints '"readout":"ridge"'

# the same bits on any number of threads, and a run that is over is resumed as it is
expect 0 train pulses.csv --readout ridge --out three --quiet --threads 3
cmp run/best.safetensors three/best.safetensors || fail "the model depends on the number of threads"
cp run/last.safetensors before
expect 0 train --resume --out run --quiet
cmp before run/last.safetensors || fail "resuming a finished run changes it"

# another seed is another bank
expect 0 train pulses.csv --readout ridge --out seed --quiet --seed 1
! cmp -s run/best.safetensors seed/best.safetensors || fail "the seed has no effect"

# all rows fit, each is scored while it is left out; a validation part is drawn on request
grep -q '"division": "whole"' run/config.json || fail "config.json does not have the division"
prints_after() { grep -Eq -- "$1" out || fail "standard output has no line: $1"; }
expect 0 train --resume --out run
prints_after "^best +leave-one-out accuracy 1.0000, loss 0\.0[0-9]*$"
expect 2 eval run pulses.csv --part validation
complains "no validation part, the model was fitted to the whole training partition"
expect 0 train pulses.csv --validation 0.2 --out drawn
complains "32 to fit, 8 to validate"
prints_after "^best +validation accuracy 1.0000, loss 0\.[0-9]*$"
expect 0 train pulses.csv --folds 2 --out folds --quiet
grep -q '"division": "sound"' folds/f1/config.json || fail "folds do not divide"
expect 2 train pulses.csv --split whole --validation 0.2 --out none
complains "validation is 0.2, but the whole training partition fits"
awk 'BEGIN {for (i = 0; i < 1010; i++) print i % 2 ",1,2,c" i % 2}' >many.csv
expect 0 data many.csv
prints "fit and validation are 910 and 100 of 1010 training examples"
expect 0 train many.csv --updates 1 --layers 1 --width 4 --state-size 4 --out many --quiet
grep -q '"division": "sound"' many/config.json || fail "many rows are not divided"
sed 10q many.csv >ten.csv
expect 0 data ten.csv
prints "fit is the whole training partition, there is no validation part"

# pulses of one shape, early or late: features are told apart by their windows in time
awk 'BEGIN {
  srand(3)
  for (i = 0; i < 60; i++) {
    place = 10 + 15 * (i % 2) + int(5 * rand())
    for (t = 0; t < 40; t++) printf "%.4f,", (t >= place && t < place + 3) + 0.3 * rand()
    print i % 2 ? "late" : "early"
  }}' >when.csv
sed 30q when.csv >when_train.csv
sed 1,30d when.csv >when_later.csv
expect 0 train when_train.csv --out when --quiet
expect 0 eval when when_later.csv --json
prints '"accuracy":1'

# scores of several seeds are named after what they are
expect 0 train pulses.csv --seeds 0-1 --out seeds_0_1
prints "leave-one-out accuracy"
expect 0 train pulses.csv --out named --json --quiet
prints '"scored":"leave-one-out"'
expect 0 train pulses.csv --readout gradient --split whole --updates 2 --seeds 0-1 --out unscored
prints "has no score: there is neither a validation nor a test part"
expect 0 train pulses.csv --readout gradient --split whole --updates 2 --out unscored1 --json --quiet
prints '"scored":"none"'

# it is the default for few rows without options of the network or its training
expect 0 train pulses.csv --out chosen --threads 1 --progress plain
complains "recipe    small, for 40 rows: ridge readout"
cmp run/best.safetensors chosen/best.safetensors || fail "few rows get another readout"
expect 0 train --resume --out chosen --quiet
for given in "--recipe paper --updates 2" "--cell lru --updates 2" "--readout gradient --updates 2 --jitter 0.1"; do
  # shellcheck disable=SC2086 # words
  expect 0 train pulses.csv $given --out given --force --quiet
  ! grep -q '"readout": "ridge"' given/config.json || fail "$given does not train by gradients"
done

# gradients are as they were
expect 0 train pulses.csv --readout gradient --updates 3 --layers 1 --width 4 --state-size 4 --out gradient --quiet
expect 0 train pulses.csv --updates 3 --layers 1 --width 4 --state-size 4 --out default --quiet
cmp gradient/best.safetensors default/best.safetensors || fail "gradients are not the default"

expect 2 train tracking --readout ridge --out none
complains "readout is ridge, which is for classes of a data set"
expect 2 train pulses.csv --readout ridge --updates 5 --out none
complains "readout is ridge, which has one layer, no embedding and one update"
expect 2 train pulses.csv --readout ridge --from gradient --out none
complains "readout is ridge, which draws its filters and takes no initial weights"
[ ! -e none ] || fail "a refused run leaves a folder"

# series that are longer than those of training, where windows were kept, are classified by all of their steps
waves() { # ROWS STEPS SEED: the class is the frequency, early steps have a mark as well
  awk -v n="$1" -v steps="$2" -v seed="$3" 'BEGIN {
    srand(seed)
    for (i = 0; i < n; i++) {
      phase = 6 * rand()
      for (t = 0; t < steps; t++) printf "%.3f,", sin((i % 2 ? 0.7 : 1.3) * t + phase) + (t > 5 && t < 9 && i % 2) + 0.3 * rand()
      print "k" i % 2
    }}'
}
waves 40 30 5 >waves.csv
waves 40 300 6 >long.csv
expect 0 train waves.csv --out waves --quiet
expect 0 eval waves long.csv --json
prints '"accuracy":1'
