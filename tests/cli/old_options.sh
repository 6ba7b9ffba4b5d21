#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# old_options.sh: options and keys that were renamed after 0.2.0: old options are accepted with a warning, old keys of
# files without one, and config.json and digests keep the old names.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"
cd "$scratch"
for i in 0 1 2 3 4 5 6 7 8 9 10 11; do echo "$i,$((i * i % 7)),$((i * 3 % 5)),$((i % 2))"; done >rows.csv

# renamed OLD NEW VALUE COMMAND ARGUMENT...: both names work, the old one with a warning unless -q is given
renamed() {
  local old=$1 new=$2 value=$3 command=$4
  shift 4
  expect 0 "$command" "$@" --force --out new "--$new" "$value"
  ! grep -q "is now" "$scratch/err" || fail "a warning for --$new"
  expect 0 "$command" "$@" --force --out old "--$old" "$value"
  complains "sparc $command: --$old is now --$new"
  cmp new/config.json old/config.json || fail "--$old and --$new differ"
  expect 0 "$command" "$@" --force --out old "--$old" "$value" --quiet
  ! grep -q "is now" "$scratch/err" || fail "a warning for --$old in spite of --quiet"
}

train=(train rows.csv --recipe paper --layers 1 --width 4 --batch 4 --updates 2 --threads 1)
renamed budget state-size 4 "${train[@]}"
train+=(--state-size 4)
renamed rate learning-rate 0.01 "${train[@]}"
renamed floor min-learning-rate 0.0001 "${train[@]}"
renamed recurrent-rate recurrent-lr-scale 0.5 "${train[@]}"
renamed decay weight-decay 0.1 "${train[@]}"
renamed clip max-gradient-norm 2 "${train[@]}"
renamed smoothing label-smoothing 0.1 "${train[@]}"
renamed window crop 0.1 "${train[@]}"
renamed average ema-decay 0.5 "${train[@]}"
renamed task objective classify "${train[@]}"
renamed division split sound "${train[@]}"

rl=(rl repeat-first --minibatches 2 --epochs 1 --width 4 --threads 1 --steps 64)
renamed rollout rollout-steps 32 "${rl[@]}" --state-size 4
rl+=(--rollout-steps 32)
renamed budget state-size 4 "${rl[@]}"
rl+=(--state-size 4)
renamed rate learning-rate 0.01 "${rl[@]}"
renamed lambda gae-lambda 0.9 "${rl[@]}"
renamed clip clip-range 0.1 "${rl[@]}"
renamed entropy entropy-coefficient 0.01 "${rl[@]}"
renamed gradient-clip max-gradient-norm 1 "${rl[@]}"
renamed interval trace-interval 4 "${rl[@]}"

# commands without a run folder: the same output
same() {
  local old=$1 new=$2 value=$3 command=$4
  shift 4
  expect 0 "$command" "$@" "--$new" "$value"
  ! grep -q "is now" "$scratch/err" || fail "a warning for --$new"
  cp "$scratch/out" new.out
  expect 0 "$command" "$@" "--$old" "$value"
  complains "sparc $command: --$old is now --$new"
  cmp "$scratch/out" new.out || fail "--$old and --$new differ"
}
learn=(learn rows.csv --cell rtu --modes 4)
same rate learning-rate 0.01 "${learn[@]}"
same recurrent-rate recurrent-lr-scale 0.5 "${learn[@]}"
same decay weight-decay 0.1 "${learn[@]}"
same clip max-gradient-norm 2 "${learn[@]}"
same every update-every 2 "${learn[@]}"
same memory normaliser-window 5 "${learn[@]}"
same budget state-size 8 learn rows.csv --cell rtu
same task objective classify data rows.csv
same division split paper data rows.csv
same budget state-size 64 info --cells

# keys of files: old and new names load without a warning, but not both at once
echo '{"data": "rows.csv", "budget": 4, "rate": 0.02, "decay": 0.1, "recipe": "paper"}' >old.json
echo '{"data": "rows.csv", "state-size": 4, "learning-rate": 0.02, "weight-decay": 0.1, "recipe": "paper"}' >new.json
for file in old new; do
  expect 0 train --config $file.json --layers 1 --width 4 --batch 4 --updates 2 --threads 1 --out "$file-file" --progress plain
  ! grep -q "is now" "$scratch/err" || fail "a warning for a key of $file.json"
done
cmp old-file/config.json new-file/config.json || fail "old and new keys differ"
grep -q '"rate": 0.02' new-file/config.json || fail "config.json does not keep its keys"
echo '{"data": "rows.csv", "rate": 0.01, "learning-rate": 0.02}' >both.json
expect 2 train --config both.json --out never
complains "both.json: rate and learning-rate are the same setting"
# a run whose config.json has new names is the same run
sed -i 's/"rate"/"learning-rate"/' new-file/config.json
expect 0 train --resume --out new-file --updates 4 --quiet

# digests of jobs do not depend on the names
grid() {
  printf '{"name": "tiny", "kind": "train", "settings": {"updates": 4, "%s": 16, "validate-every": 4, "data": "tracking"},' "$1"
  printf '"score": {"metric": "validation_nmse", "take": "last", "better": "lower", "scale": 1}, "seeds": [0],'
  printf '"tasks": [{"name": "tracking"}], "methods": [{"name": "sparc", "settings": {"%s": 0.001}}]}' "$2"
}
grid budget rate >old-grid.json
grid state-size learning-rate >new-grid.json
expect 0 lab run old-grid.json --out results --quiet
expect 0 lab status new-grid.json --out results
prints "1 done"
