#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# train.sh: `sparc train` and `sparc eval`: the run folder, settings from options and files, refusals, failures that
# leave the folder sound, threads that change no byte, and the nearest neighbour.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"
unset SPARC_DATA

# waves SEED ROWS: sines of three frequencies and any phase, with an offset that normalisation must remove
waves() {
  awk -v seed="$1" -v rows="$2" 'BEGIN {
    srand(seed)
    for (i = 0; i < rows; i++) {
      phase = 6.28 * rand()
      printf "class %d", i % 3
      for (t = 0; t < 30; t++) printf "\t%.4f", 5 + 3 * sin(t * (0.2 + 0.4 * (i % 3)) + phase) + 0.5 * rand()
      print ""
    }
  }'
}
cd "$scratch"
waves 1 90 >waves_TRAIN.tsv
waves 2 45 >waves_TEST.tsv
small=(--layers 1 --width 8 --state-size 8 --batch 8 --learning-rate 0.02)

# accuracy KEY: of a part of the JSON object just printed, in thousandths
accuracy() { sed -n "s/.*\"$1\":{[^}]*\"accuracy\":\([0-9.]*\).*/\1/p" out | awk '{printf "%d", 1000 * $1 + 0.5}'; }

# ---- a run and its folder
expect 0 train waves_TRAIN.tsv "${small[@]}" --updates 150 --out first --json
complains "81 to fit, 9 to validate, 45 to test"
[ "$(accuracy test)" -ge 800 ] || fail "test accuracy $(accuracy test) of 1000"
prints '"updates":150'
prints '"model":"first/best.safetensors"'
for name in config.json metrics.jsonl metrics.csv last.safetensors best.safetensors provenance.json; do
  [ -s "first/$name" ] || fail "there is no $name"
done
[ "$(find first -type f | wc -l)" = 6 ] || fail "something else is in the folder: $(ls first)"
grep -q '"validate-every": 15' first/config.json || fail "the effective configuration is not written"
[ "$(grep -c '"validation_accuracy"' first/metrics.jsonl)" = 10 ] || fail "not ten validations are logged"
[ "$(grep -c '"gradient_norm"' first/metrics.jsonl)" = 150 ] || fail "not 150 updates are logged"
[ "$(head -1 first/metrics.csv)" = run,seed,update,metric,value ] || fail "metrics.csv has another header"
[ "$(grep -c '^first,0,150,' first/metrics.csv)" = 6 ] || fail "the last update is not in metrics.csv"
"$SPARC" info --json first/best.safetensors | grep -q '"preprocessing.labels":"\[\\"class 0\\",' || fail "no labels"

# the file of the best is a model whose score on the validation part is the one reported
expect 0 eval first/best.safetensors waves_TRAIN.tsv --part validation --json
evaluated=$(sed 's/.*"loss":\([^,]*\),"accuracy":\([^,]*\).*/\1 \2/' out)
reported=$(sed -n 's/.*"validation_loss":\([^,]*\),"validation_accuracy":\([^}]*\).*/\1 \2/p' first/metrics.jsonl |
  sort -k2,2gr -k1,1g | head -1)
awk -v a="$evaluated" -v b="$reported" 'BEGIN {
  split(a, x); split(b, y); d = x[1] - y[1]; exit !(d * d < 1e-16 && x[2] == y[2])
}' || fail "the best checkpoint scores '$evaluated', reported was '$reported'"

# a run folder is evaluated as its best checkpoint
cp out checkpoint-output
expect 0 eval first waves_TRAIN.tsv --part validation --json
cmp out checkpoint-output || fail "a run folder is not evaluated as its best checkpoint"
expect 0 predict first waves_TEST.tsv
mkdir hollow
expect 3 eval hollow waves_TEST.tsv
complains "hollow/best.safetensors"

# labels by chance: the validation gets worse while the network learns them by heart, and the best is not the last
awk 'BEGIN {
  srand(3)
  for (i = 0; i < 60; i++) {
    printf "%d", 2 * rand()
    for (t = 0; t < 10; t++) printf "\t%.4f", rand()
    print ""
  }
}' >chance.tsv
expect 0 train chance.tsv "${small[@]}" --dropout 0 --updates 200 --validate-every 10 --out chance --json --quiet
best=$(sed -n 's/.*"update":\([0-9]*\),"validation_loss":\([^,]*\),"validation_accuracy":\([^}]*\).*/\1 \2 \3/p' \
  chance/metrics.jsonl | sort -k3,3gr -k2,2g | sed '1s/ .*//;q')
[ "$best" != 200 ] || fail "the last validation is the best one, so this proves nothing"
prints "\"best\":{\"update\":$best,"
prints '"final":{"update":200,'
"$SPARC" info --json chance/best.safetensors | grep -q "\"update\":\"$best\"" || fail "the best is not of update $best"
"$SPARC" info --json chance/last.safetensors | grep -q '"update":"200"' || fail "the last is not of update 200"

# plain report, a whole file, unknown labels
expect 0 eval first/best.safetensors waves_TEST.tsv
prints "part all: 45 examples"
[ "$(grep -c '^class [0-2]  *[0-9]* *[0-9]* *[0-9]*$' out)" = 3 ] || fail "no confusion matrix"
awk '/^class/ {for (i = 3; i <= NF; i++) n += $i} END {exit n != 45}' out || fail "the matrix does not hold 45 examples"
sed 's/^class 2/class 7/' waves_TEST.tsv >unknown.tsv
expect 3 eval first/best.safetensors unknown.tsv
complains "unknown.tsv:3: "
complains "class 7"
expect 3 eval first/best.safetensors missing.tsv
expect 3 eval missing.safetensors waves_TEST.tsv
expect 2 eval first/best.safetensors waves_TEST.tsv --part tset
complains "--part is 'tset', expected fit, validation or test"
expect 2 eval first/best.safetensors
expect 2 eval first/best.safetensors waves_TRAIN.tsv --prat test
complains "did you mean '--part'?"

# ---- threads change no byte
for threads in 1 2 3; do
  expect 0 train waves_TRAIN.tsv "${small[@]}" --updates 30 --threads $threads --out "threads/$threads/run" --quiet
  no_complaint
  for name in best.safetensors last.safetensors metrics.jsonl metrics.csv; do
    cmp "threads/1/run/$name" "threads/$threads/run/$name" || fail "$threads threads change $name"
  done
done

# ---- settings: a file, the command line above it, and config.json as a file
cat >settings.json <<'END'
{"data": "waves_TRAIN.tsv", "layers": 1, "width": 8, "budget": 8, "batch": 8, "rate": 0.02, "updates": 20, "seed": 3,
 "cell": "rtu", "quiet": true}
END
expect 0 train --config settings.json --updates 25 --out from-file
no_complaint
grep -q '"updates": 25' from-file/config.json || fail "the command line does not win"
grep -q '"seed": 3' from-file/config.json || fail "the seed of the file is not used"
grep -q '"cell": "rtu"' from-file/config.json || fail "the cell of the file is not used"
expect 0 train --config from-file/config.json --out again/from-file --quiet
cmp from-file/best.safetensors again/from-file/best.safetensors || fail "config.json does not repeat its run"
expect 0 train --config settings.json --seed 4 --updates 25 --out other
cmp -s from-file/best.safetensors other/best.safetensors && fail "the seed changes nothing"

# an embedding that does not go without saying
expect 0 train tracking --updates 2 --state-size 8 --embedding tanh --width 6 --out embedded --quiet
grep -q '"embedding": "tanh"' embedded/config.json || fail "the embedding is not in config.json"
expect 0 train --config embedded/config.json --out again/embedded --quiet
cmp embedded/best.safetensors again/embedded/best.safetensors || fail "config.json loses the embedding"
expect 0 train --resume --out embedded --quiet

# a number where a text is expected: the third column by its number, and a cell that there is none of
printf '%s,7,%s\n' 1 a 2 b 3 a 4 b 5 a 6 b >numbers.csv
printf '{"data": "numbers.csv", "label": 3, "layers": 1, "width": 2, "modes": 2, "updates": 2}' >numbers.json
expect 0 train --config numbers.json --out numbers --quiet
grep -q '"label": "3"' numbers/config.json || fail "a number as a column is lost"

wrong() { # CODE MESSAGE JSON
  printf '%s' "$3" >wrong.json
  expect "$1" train --config wrong.json --out wrong
  complains "$2"
  [ ! -e wrong ] || fail "a wrong file begins a run"
}
wrong 2 "wrong.json: unknown key 'updtes'; did you mean 'updates'?" '{"data": "waves_TRAIN.tsv", "updtes": 5}'
wrong 2 "wrong.json: unknown key 'resume'" '{"data": "waves_TRAIN.tsv", "resume": true}'
wrong 2 "wrong.json: learning-rate is 'fast', expected a number from 0 to 1e+06" '{"data": "waves_TRAIN.tsv", "rate": "fast"}'
wrong 2 "wrong.json: batch is '1.5', expected a whole number from 1" '{"data": "waves_TRAIN.tsv", "batch": 1.5}'
wrong 2 "wrong.json: official is '1', expected true or false" '{"data": "waves_TRAIN.tsv", "official": 1}'
wrong 2 "wrong.json: layers is neither a string nor" '{"data": "waves_TRAIN.tsv", "layers": [1]}'
wrong 2 "unknown cell kind '4'" '{"data": "waves_TRAIN.tsv", "cell": 4}'
wrong 3 "wrong.json:1: " '{"data": "waves_TRAIN.tsv",'
wrong 3 "wrong.json: expected one JSON object" '[1]'
expect 3 train --config missing.json
complains "cannot read 'missing.json': No such file or directory"

# ---- refusals
refuse() { # MESSAGE ARGUMENT...
  local message=$1
  shift
  expect 2 train "$@" --out refused
  complains "$message"
  no_output
  [ ! -e refused ] || fail "a refused run has a folder"
}
refuse "no DATA or TASK given"
refuse "unknown option '--udpates'; did you mean '--updates'?" waves_TRAIN.tsv --udpates 5
refuse "--updates is '0', expected a whole number from 1 to 2147483647" waves_TRAIN.tsv --updates 0
refuse "--learning-rate is 'x', expected a number" waves_TRAIN.tsv --learning-rate x
refuse "--seed is '-1', expected a whole number" waves_TRAIN.tsv --seed -1
refuse "--progress is 'loud', expected auto, plain or none" waves_TRAIN.tsv --progress loud
refuse "--modes and --state-size exclude each other" waves_TRAIN.tsv --modes 4 --state-size 8
refuse "--resume and --force exclude each other" waves_TRAIN.tsv --resume --force
refuse "did you mean 'sparc'?" waves_TRAIN.tsv --cell spark
refuse "did you mean 'phase-only'?" waves_TRAIN.tsv --variant phase-onyl
refuse "--embedding is 'wide', expected none, linear, tanh or symbols" waves_TRAIN.tsv --embedding wide
refuse "warmup is 9, expected 0 to 5" waves_TRAIN.tsv --updates 5 --warmup 9
refuse "expected one DATA|TASK, got 'b' as well" a b
expect 3 train trackng --out refused
complains "did you mean the task 'tracking'?"
printf 'a\t1\t2\na\t3\t4\n' >single.tsv
expect 3 train single.tsv --out refused
complains "has 1 class, expected at least 2"
{ cat waves_TRAIN.tsv && sed '1!d; s/^class 0/?/' waves_TRAIN.tsv; } >unlabelled.tsv
expect 3 train unlabelled.tsv --out refused
complains "has examples without a label, 1 of"
[ ! -e refused ] || fail "a refused run has a folder"

expect 2 train waves_TRAIN.tsv "${small[@]}" --updates 5 --out first
complains "'first' holds a run already; resume continues it, force replaces it"
expect 0 train waves_TRAIN.tsv "${small[@]}" --updates 5 --out from-file --force --quiet
[ "$(grep -c gradient_norm from-file/metrics.jsonl)" = 5 ] || fail "--force leaves old metrics"

# ---- default folders: two variants, options or seeds never share one, and --json distinguishes them
short=(waves_TRAIN.tsv "${small[@]}" --updates 1 --quiet --json)
named() { # FOLDER VARIANT OPTION ARGUMENT...
  local folder=$1 variant=$2 option=$3
  shift 3
  expect 0 train "${short[@]}" "$@"
  [ -s "$folder/config.json" ] || fail "there is no $folder: $(ls runs)"
  prints "\"run\":\"$folder\""
  prints "\"variant\":$variant,\"options\":\""
  prints "$option"
}
named runs/waves_TRAIN-sparc-s0 '"full"' 'content=tanh'
named runs/waves_TRAIN-sparc-s5 '"full"' '"seed":5' --seed 5
named runs/waves_TRAIN-sparc-neutral-gate-s0 '"neutral-gate"' 'variant=neutral-gate' --variant neutral-gate
named runs/waves_TRAIN-sparc-neutral-gate-content_linear-kappa_r_0.5-s0 '"neutral-gate"' 'kappa_r=0.5' \
  --cell-options kappa_r=0.50,variant=neutral-gate,content=linear
named runs/waves_TRAIN-rglru-block_4-s0 null 'block=4' --cell rglru --cell-options block=4,ring=base
expect 2 train "${short[@]}" --variant neutral-gate
complains "'runs/waves_TRAIN-sparc-neutral-gate-s0' holds a run already"
expect 0 train "${short[@]}" --variant neutral-gate --resume
prints '"run":"runs/waves_TRAIN-sparc-neutral-gate-s0"'
refuse "variant is 'full', but the options of the cell are 'variant=phase-only'" waves_TRAIN.tsv --variant full \
  --cell-options variant=phase-only

# ---- failures: folders that cannot be, a disk that is full, numbers that run away
: >file
expect 1 train waves_TRAIN.tsv "${small[@]}" --updates 5 --out file/run
complains "cannot make the folder 'file/run': Not a directory"
expect 1 train waves_TRAIN.tsv "${small[@]}" --updates 5 --out file
complains "cannot make the folder 'file': Not a directory"

# a limit on the size of files simulates a full disk: what is small fits, the first checkpoint does not
got=0
(
  ulimit -f 4
  "$SPARC" train waves_TRAIN.tsv --layers 1 --width 8 --modes 32 --updates 4 --batch 8 --out full >out 2>err
) || got=$?
[ "$got" = 1 ] || fail "a full disk gives exit code $got"
complains "cannot write 'full/best.safetensors'"
complains "File too large"
[ -z "$(find full -name '*.safetensors*')" ] || fail "a part of a checkpoint is left"
# a disk of two pages: the configuration fits, and files that do not fit leave no empty file
mkdir tiny
if unshare -rm mount -t tmpfs tmpfs tiny 2>/dev/null; then
  # shellcheck disable=SC2016
  unshare -rm bash -c 'mount -t tmpfs -o size=8k tmpfs tiny && cd tiny &&
    ! "$0" train tracking --updates 20 --state-size 8 --quiet --out run 2>../err && find run -empty >../empty' "$SPARC" ||
    fail "a tiny disk is no error"
  complains "No space left on device"
  [ ! -s empty ] || fail "an empty file is left: $(cat empty)"
fi

expect 4 train waves_TRAIN.tsv "${small[@]}" --learning-rate 1000000 --warmup 0 --updates 200 --validate-every 1 --out runaway
grep -q 'update [0-9]' err || fail "the update is not named"
grep -Eq '(gradient of|element [0-9]+ of|, in) (embedding|layers|head|cell)[a-z0-9_.]*' err || fail "no tensor is named"
if [ -e runaway/last.safetensors ]; then
  complains "the last good checkpoint"
  expect 0 info runaway/last.safetensors
fi

# the disk fills up later: the checkpoint from before is intact and the run can go on
expect 0 train waves_TRAIN.tsv "${small[@]}" --updates 400 --validate-every 20 --out whole/run --quiet
limit=$(($(stat -c %s whole/run/metrics.jsonl) / 2048))
got=0
(
  ulimit -f $limit
  "$SPARC" train waves_TRAIN.tsv "${small[@]}" --updates 400 --validate-every 20 --out later/run >out 2>err
) || got=$?
[ "$got" = 1 ] || fail "a disk that fills up gives exit code $got"
complains "cannot write 'later/run/metrics"
complains "the checkpoint of update"
expect 0 train --resume --out later/run --quiet
for name in best.safetensors last.safetensors metrics.jsonl metrics.csv; do
  cmp "whole/run/$name" "later/run/$name" || fail "$name is another one after a full disk"
done

# ---- official partitions, the nearest neighbour, and a generated task
expect 0 train waves_TRAIN.tsv "${small[@]}" --updates 60 --official --out official --json
complains "90 to fit, 0 to validate, 45 to test"
prints '"best":null'
[ "$(accuracy test)" -ge 500 ] || fail "test accuracy $(accuracy test) of 1000"
expect 0 eval official/best.safetensors waves_TRAIN.tsv --part test
prints "part test: 45 examples"
expect 2 eval official/best.safetensors waves_TRAIN.tsv --part validation
complains "the model was fitted to the whole training partition"

printf 'a\t0\t0\na\t0\t1\nb\t5\t5\n' >near_TRAIN.tsv
printf 'a\t0\t2\nb\t4\t4\na\t5\t4\nb\t9\t9\n' >near_TEST.tsv
expect 0 eval --baseline 1nn near_TRAIN.tsv --json
prints '"train":3,"examples":4,"accuracy":0.75'
# the first among equals
printf 'b\t0\t0\na\t0\t4\nb\t4\t4\n' >tie_TRAIN.tsv
printf 'b\t0\t2\na\t0\t3\n' >tie_TEST.tsv
expect 0 eval --baseline 1nn tie_TRAIN.tsv --json
prints '"examples":2,"accuracy":1.0'
expect 0 eval --baseline 1nn near_TRAIN.tsv
prints "accuracy  0.7500"
printf 'a\t0\t2\t1\nb\t4\t4\tNaN\n' >uneven_TRAIN.tsv
cp uneven_TRAIN.tsv uneven_TEST.tsv
expect 0 eval --baseline 1nn uneven_TRAIN.tsv --quiet
prints "by dynamic time warping"
expect 2 eval --baseline 1nn single.tsv
complains "has no test partition"
expect 2 eval --baseline 2nn near_TRAIN.tsv
expect 2 eval --baseline 1nn first/best.safetensors near_TRAIN.tsv

expect 0 train tracking --updates 6 --state-size 8 --batch 16 --json --quiet --out task
no_complaint
prints '"nmse":'
prints '"score":'
expect 0 eval task/best.safetensors tracking --json
prints '"part":"validation","examples":512'
expect 2 eval task/best.safetensors tracking --part test
