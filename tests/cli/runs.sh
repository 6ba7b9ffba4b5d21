#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# runs.sh: options of a run beyond the paper: a longer one, another start, an earlier end, other parts of the
# data, several seeds, and what helps on few examples. All of it resumes bit-exactly and does not depend on threads.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"
unset SPARC_DATA

# waves SEED ROWS [RARE]: sines of three frequencies; with RARE the third is that many times as rare as the others
waves() {
  awk -v seed="$1" -v rows="$2" -v rare="${3:-1}" 'BEGIN {
    srand(seed)
    for (i = 0; i < rows; i++) {
      phase = 6.28 * rand()
      if (i % 3 == 2 && i % (3 * rare) != 2) continue
      printf "class %d", i % 3
      for (t = 0; t < 30; t++) printf "\t%.4f", 5 + 3 * sin(t * (0.2 + 0.4 * (i % 3)) + phase) + 0.5 * rand()
      print ""
    }
  }'
}
cd "$scratch"
waves 1 90 >waves_TRAIN.tsv
waves 2 45 >waves_TEST.tsv
small=(--layers 1 --width 8 --state-size 8 --batch 8 --learning-rate 0.02 --threads 1)

same() { # FOLDER FOLDER: but for config.json, which names the folder's updates
  local name
  for name in best.safetensors last.safetensors metrics.jsonl metrics.csv; do
    cmp "$1/$name" "$2/$name" || fail "$name of $2 is not that of $1"
  done
}
has_setting() { grep -q "$2" "$1/config.json" || fail "$1/config.json does not have $2: $(cat "$1/config.json")"; }
updates_of() { "$SPARC" info --json "$1" | sed -n 's/.*"update":"\([0-9]*\)".*/\1/p'; }

# ---- a finished run is extended: with a constant learning rate it is bit-identical to a longer run
task=(tracking --state-size 8 --batch 16 --validate-every 5 --threads 1 --quiet)
expect 0 train "${task[@]}" --updates 20 --out long/run
expect 0 train "${task[@]}" --updates 10 --out short/run
expect 0 train --resume --updates 20 --out short/run --quiet
same long/run short/run
cmp long/run/config.json short/run/config.json || fail "an extended run is another one by its configuration"
expect 2 train --resume --updates 15 --out short/run
complains "updates is 15, but the run has done 20 already"
expect 2 train --resume --updates 30 --learning-rate 0.5 --out short/run
complains "rate is 0.5, but 0.01 in short/run/config.json"
has_setting short/run '"updates": 20'
# killed right after the new configuration is written, before the next checkpoint
sed -i 's/"updates": 20/"updates": 25/' short/run/config.json
expect 0 train --resume --out short/run --quiet
[ "$(updates_of short/run/last.safetensors)" = 25 ] || fail "the configuration does not set the end of a run"
# of a schedule the rate is that of the longer one from there on
expect 0 train waves_TRAIN.tsv "${small[@]}" --updates 20 --out rates --quiet
expect 0 train --resume --updates 40 --out rates --quiet
[ "$(grep -c gradient_norm rates/metrics.jsonl)" = 40 ] || fail "not 40 updates are logged"
awk -F'"rate":' '/gradient_norm/ {split($2, r, /[,}]/); rate[++n] = r[1]} END {exit !(rate[21] > 50 * rate[20])}' \
  rates/metrics.jsonl || fail "the rate does not follow the longer schedule"

# ---- epochs
expect 0 train waves_TRAIN.tsv "${small[@]}" --epochs 3 --out epochs --json --quiet
prints '"updates":31' # 81 rows three times in batches of 8
has_setting epochs '"updates": 31'
expect 2 train waves_TRAIN.tsv --epochs 3 --updates 9 --out refused
complains "--updates and --epochs exclude each other"
expect 0 train --resume --epochs 4 --out epochs --json --quiet
prints '"updates":41'

# ---- early stopping: by labels of chance the validation soon gets no better
awk 'BEGIN {
  srand(3)
  for (i = 0; i < 60; i++) {
    printf "%d", 2 * rand()
    for (t = 0; t < 10; t++) printf "\t%.4f", rand()
    print ""
  }
}' >chance.tsv
patient=(chance.tsv "${small[@]}" --dropout 0 --recipe paper --updates 1000 --validate-every 10)
expect 0 train "${patient[@]}" --patience 4 --out early/run
prints "stopped   no improvement in 4 validations"
best=$(updates_of early/run/best.safetensors)
last=$(updates_of early/run/last.safetensors)
[ "$last" -lt 1000 ] || fail "the run does not stop early"
[ $((last - best)) = 40 ] || fail "the best is of update $best, the last of $last"
expect 0 train --resume --out early/run --json --quiet
prints "\"updates\":$last"
prints '"early":true'
# stopped in between and continued: the same end
mkdir -p cut
interrupt INT cut/run train "${patient[@]}" --patience 4 --out cut/run --quiet
expect 0 train --resume --out cut/run --quiet
same early/run cut/run
# more patience, in config.json too
expect 0 train --resume --patience 6 --out early/run --quiet
[ "$(updates_of early/run/last.safetensors)" -gt "$last" ] || fail "more patience does not help"
has_setting early/run '"patience": 6'
expect 2 train waves_TRAIN.tsv --official --patience 2 --out refused
complains "patience is 2, but there is no validation part"

# ---- the part that validates
expect 0 train waves_TRAIN.tsv "${small[@]}" --validation 0.2 --updates 5 --out parts
complains "72 to fit, 18 to validate, 45 to test"
expect 0 eval parts waves_TRAIN.tsv --part validation --json
prints '"examples":18'
expect 0 train waves_TRAIN.tsv "${small[@]}" --validation 0.1 --updates 5 --out tenth/run --quiet
expect 0 train waves_TRAIN.tsv "${small[@]}" --updates 5 --out default/run --quiet
cmp tenth/run/metrics.jsonl default/run/metrics.jsonl || fail "a tenth is not the default fraction"
expect 2 train waves_TRAIN.tsv --validation 0.2 --official --out refused
complains "exclude each other"
expect 2 train waves_TRAIN.tsv --validation 1 --out refused
complains "--validation is '1', expected a number from 0.01 to 0.9"
expect 0 data waves_TRAIN.tsv --validation 0.5
prints "45 and 45 of 90"

# ---- the head
expect 0 train waves_TRAIN.tsv "${small[@]}" --head last --updates 5 --out last-step --quiet
"$SPARC" info --json last-step/best.safetensors | grep -q '"network.head":"last"' || fail "the head is not the last step"
expect 2 train tracking --head mean --out refused
complains "head is mean, but there is a target for every step"
expect 2 train waves_TRAIN.tsv --head max --out refused
complains "--head is 'max', expected mean or last"

# ---- from a model: with its head where the classes are the same, else with a new one
expect 0 train waves_TRAIN.tsv "${small[@]}" --updates 100 --out source --quiet
expect 0 train waves_TRAIN.tsv --batch 8 --learning-rate 0 --weight-decay 0 --updates 1 --from source --out same --threads 1
complains "from      source, with its head"
expect 0 eval source waves_TEST.tsv
grep -v '^model' out >by-source
expect 0 eval same waves_TEST.tsv
grep -v '^model' out | cmp - by-source || fail "a run that learns nothing is not the model that it began from"
has_setting same '"from": "source"'
sed 's/^class 2/other/' waves_TRAIN.tsv >renamed.tsv
expect 0 train renamed.tsv --batch 8 --updates 3 --from source/last.safetensors --out renamed/run --threads 1
complains "with a new head"
rm source/last.safetensors
expect 0 train --resume --out renamed/run --quiet # its weights are its own by now
expect 2 train waves_TRAIN.tsv --from source --layers 2 --out refused
complains "layers is '2', but '1' in 'source/best.safetensors'"
expect 2 train waves_TRAIN.tsv --from source --cell gru --out refused
complains "cell is 'gru', but 'sparc' in"
expect 3 train waves_TRAIN.tsv --from missing --out refused
complains "cannot open 'missing'"
expect 3 train waves_TRAIN.tsv --from waves_TRAIN.tsv --out refused
[ ! -e refused ] || fail "a refused run has a folder"

# ---- weights of classes: none where classes are as many
weigh() { # FILE WEIGHTS FOLDER
  expect 0 train "$1" "${small[@]}" --official --class-weights "$2" --updates 10 --out "$3/run" --quiet
}
weigh waves_TRAIN.tsv none plain
weigh waves_TRAIN.tsv balanced weighed
cmp plain/run/metrics.jsonl weighed/run/metrics.jsonl || fail "classes of one size have weights"
waves 1 90 5 >rare_TRAIN.tsv
cp waves_TEST.tsv rare_TEST.tsv
weigh rare_TRAIN.tsv none rare-plain
weigh rare_TRAIN.tsv balanced rare-weighed
cmp -s rare-plain/run/metrics.jsonl rare-weighed/run/metrics.jsonl && fail "weights of classes change nothing"
expect 2 train tracking --class-weights balanced --out refused
complains "the head learns numbers"

# ---- several seeds and their summary
seeds=(waves_TRAIN.tsv "${small[@]}" --updates 10)
expect 0 train "${seeds[@]}" --seeds 0-2 --jobs 2 --out several
no_complaint
prints "seed 1      test accuracy 0."
prints "3 seeds: mean test accuracy 0."
expect 0 train "${seeds[@]}" --seed 2 --out alone/s2 --quiet
same alone/s2 several/s2
expect 0 train "${seeds[@]}" --seeds 3-4 --json
[ "$(wc -l <out)" = 3 ] || fail "not two runs and a summary: $(cat out)"
prints '"seeds":2,"score":"test accuracy","mean":'
[ -s runs/waves_TRAIN-sparc-s4/best.safetensors ] || fail "the seeds share a folder"
expect 2 train "${seeds[@]}" --seeds 4-3
complains "--seeds is '4-3', expected A-B"
expect 2 train "${seeds[@]}" --seeds 0-2 --out several
complains "holds a run already"

# ---- few examples: the recipe is reported, can be disabled, and does not apply to tasks and larger sets
expect 0 train waves_TRAIN.tsv "${small[@]}" --updates 5 --out ruled
complains "recipe    small, for 81 rows: jitter 0.1 (--recipe paper for none)"
has_setting ruled '"recipe": "small"'
has_setting ruled '"jitter": 0.1'
expect 0 train waves_TRAIN.tsv "${small[@]}" --updates 5 --jitter 0.3 --out ruled --force
complains "recipe    small, for 81 rows: jitter 0.3 (--recipe paper for none)"
expect 0 train waves_TRAIN.tsv "${small[@]}" --updates 5 --label-smoothing 0.2 --out ruled --force
complains "smoothing 0.2, jitter 0.1"
expect 0 train waves_TRAIN.tsv "${small[@]}" --updates 5 --recipe paper --out papers
grep -q "recipe" err && fail "the paper's settings are a recipe"
has_setting papers '"recipe": "paper"'
has_setting papers '"jitter": 0.0'
"$SPARC" info --json papers/best.safetensors | grep -q 'train.jitter' && fail "what is not done is in a checkpoint"
waves 4 240 >many.tsv
expect 0 train many.tsv "${small[@]}" --updates 2 --out many --json
prints '"recipe":"sized"'
expect 0 train many.tsv "${small[@]}" --updates 2 --recipe small --out many --force --json
prints '"recipe":"small"'
expect 0 train tracking --updates 2 --state-size 8 --out task --json
prints '"recipe":"paper"'
expect 2 train tracking --recipe small --out refused
complains "recipe is small, which is for classes of a data set"
# a folder from before there were recipes resumes unchanged
expect 0 train waves_TRAIN.tsv "${small[@]}" --updates 5 --recipe paper --out before --quiet
sed -i '/"recipe"\|"smoothing"\|"jitter"\|"scaling"\|"window"\|"average"\|"class-weights"/d' before/config.json
expect 2 train --resume --recipe small --out before
complains "jitter is 0.1, but 0.0 in before/config.json"
expect 0 train --resume --updates 9 --out before --json --quiet
prints '"updates":9'
prints '"recipe":"paper"'

# experiments of the lab use the paper's recipe by default
for recipe in paper small; do
  more=
  [ $recipe = paper ] || more=', "recipe": "small"'
  cat >grid.json <<END
{
  "name": "$recipe", "title": "Few", "kind": "train",
  "settings": {"data": "$scratch/waves_TRAIN.tsv", "layers": 1, "width": 8, "budget": 8, "updates": 2$more},
  "score": {"metric": "validation_accuracy", "take": "best", "better": "higher", "scale": 100, "unit": "%", "digits": 1},
  "tasks": [{"name": "waves", "title": "Waves"}],
  "methods": [{"name": "sparc", "title": "SPARC", "settings": {"cell": "sparc"}}],
  "seeds": [0], "reference": "sparc"
}
END
  expect 0 lab run grid.json --out lab --quiet
  has_setting "$(dirname "$(find lab/$recipe -name config.json)")" "\"recipe\": \"$recipe\""
done

# ---- all of it at once, on any number of threads, interrupted or not
all=(waves_TRAIN.tsv "${small[@]}" --jitter 0.2 --scaling 0.2 --crop 0.3 --label-smoothing 0.2 --ema-decay 0.9
  --class-weights balanced --validate-every 20 --quiet)
expect 0 train "${all[@]}" --updates 200 --out whole/run
expect 0 train "${all[@]}" --updates 200 --threads 3 --out threads/run
same whole/run threads/run
interrupt INT halves/run train "${all[@]}" --updates 200 --out halves/run
expect 0 train --resume --out halves/run --quiet
same whole/run halves/run
"$SPARC" info --json whole/run/last.safetensors | grep -q opt.w.head.bias || fail "the last weights are not beside the average"
expect 0 eval whole/run waves_TEST.tsv
