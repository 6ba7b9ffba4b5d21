#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# diagnose.sh: `sparc diagnose`: models and agents, all formats, figures, the demonstration, and errors.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"
unset SPARC_DATA

cd "$scratch"
for seed in 0 1; do expect 0 train event-order --updates 10 --seed $seed --out "order-$seed" --quiet; done
expect 0 train tracking --cell rtu --updates 5 --out rtu --quiet
expect 0 rl repeat-previous --steps 2048 --modes 8 --out agent --quiet

# the paper's columns; two runs of a task are one row with a deviation
expect 0 diagnose order-0 order-1/last.safetensors rtu agent
no_complaint
for column in 'Gate SD' 'Saturation (%)' 'Gate ratio' 'Content (%)' 'Decay scale' 'Surv. (%)' 'Rel. surv.' \
  'Phase (deg)' 'Clock (%)' 'Ref. gain' 'First 10 %'; do
  prints "$column"
done
prints 'no-phase-clock'
# the paper's numbers of SPARC on the task are shown next to the measured ones
grep -q '^repeat-previous (sparc)  *0.[0-9]*  0.0081 ± 0.0013  *[0-9.]*  31.52 ± 4.34 ' out || fail "the paper's numbers are missing"
prints 'repeat-previous (sparc): saturation (%)'
cp out first
expect 0 diagnose order-0 order-1/last.safetensors rtu agent
cmp out first || fail "a second look shows something else"

expect 0 diagnose order-0 order-1/last.safetensors rtu
[ "$(grep -c '^event-order (sparc)  *[0-9.]* ± [0-9.]*' out)" = 4 ] ||
  fail "not three tables with a mean and a deviation, the third in two blocks"
grep -q '^tracking (rtu)  *-  *-  *-  *-$' out || fail "RTU has a gate"

# formats
expect 0 diagnose --format csv order-0 agent
[ "$(head -1 out)" = table,row,column,runs,mean,deviation,paper ] || fail "another header: $(head -1 out)"
grep -q '^retention,"repeat-previous (sparc)","survival",1,0\.[0-9]*,,0\.8466$' out || fail "no survival of the agent"
expect 0 diagnose --format json order-0
if command -v jq >/dev/null; then
  jq -e '.runs[0].task == "event-order" and .runs[0].recordings == 8 and (.tables | length) == 5' out >/dev/null ||
    fail "another object"
  jq -e '.tables[] | select(.table == "interventions") | .rows | length == 9' out >/dev/null || fail "not 9 variants"
fi
expect 0 diagnose --format latex order-0
prints '\begin{tabular}{@{}l*{4}{r}@{}}'
expect 0 diagnose --format markdown order-0
prints '| event-order (sparc) |'

# layers of a data set, of a path that has moved
awk 'BEGIN {
  srand(7)
  for (i = 0; i < 60; i++) {
    printf "%d", i % 2
    for (t = 0; t < 20; t++) printf ",%.4f", sin(t * (0.2 + 0.6 * (i % 2)) + i) + rand()
    print ""
  }
}' >waves.csv
sed 's/,0\./,0.1/' waves.csv >others.csv
expect 0 train waves.csv --label 1 --layers 2 --width 8 --state-size 8 --batch 8 --updates 10 --out waves --quiet
expect 0 diagnose waves
prints 'waves (sparc), layer 2'
# recordings and variants are processed in parallel, with bit-identical results
for threads in 1 2 5; do
  expect 0 diagnose waves --threads $threads --format json
  [ ! -e threads.json ] || cmp out threads.json || fail "$threads threads give other numbers"
  cp out threads.json
done
mv waves.csv moved.csv
expect 3 diagnose waves
complains 'waves.csv'
expect 3 diagnose waves --data others.csv
complains 'was trained on other data than others'
expect 3 diagnose waves --data event-order
complains 'but event-order has'
expect 0 diagnose waves --data moved.csv --examples 2
prints '2 recordings'
cp waves/best.safetensors alone.safetensors
expect 0 diagnose alone.safetensors --data moved.csv
prints 'waves (sparc), layer 1'

# figures, where gnuplot is there
if command -v gnuplot >/dev/null; then
  expect 0 diagnose order-0 order-1 rtu --figures figures
  prints '11 figures in figures'
  scripts_are_inert figures/*.gp
  for figure in event-order-sparc-{disc,controls,energy,portrait} event-order-sparc-2-disc tracking-rtu-{disc,energy,portrait}; do
    [ -s "figures/$figure.svg" ] || fail "there is no figure $figure"
  done
  [ ! -e figures/tracking-rtu-controls.svg ] || fail "RTU has controls"
  expect 0 diagnose --demonstration --figures figures
  [ -s figures/demonstration.svg ] || fail "there is no figure of the demonstration"
fi
# without it data and scripts are there all the same
mkdir no-programs
PATH=$scratch/no-programs expect 1 diagnose order-0 rtu --figures scripts
complains "gnuplot is not installed"
[ -s scripts/event-order-sparc-disc.gp ] && [ -s scripts/tracking-rtu-energy.csv ] || fail "no scripts or data"
expect 1 diagnose --demonstration --figures moved.csv
complains 'moved.csv'
expect 0 diagnose --demonstration
prints 'adaptive transitions, no writes'
expect 0 diagnose --demonstration --format json
prints '"fixed_transitions":'

# what goes wrong
expect 2 diagnose
complains 'no checkpoint given'
expect 2 diagnose --demonstration agent
complains '--demonstration takes no checkpoint'
expect 2 diagnose --format html agent
complains "--format is 'html', expected text, markdown, latex, csv or json"
expect 2 diagnose --steps 0 agent
expect 2 diagnose agent --data event-order
complains 'is an agent, which plays its own task'
expect 3 diagnose nowhere
complains 'nowhere'
expect 3 diagnose moved.csv
mkdir empty
expect 3 diagnose empty
complains 'empty/last.safetensors'
expect 3 diagnose "$vectors/sparc-one.safetensors"
complains 'is not a checkpoint'
expect 0 diagnose agent --steps 64
prints 'of 64 steps'
