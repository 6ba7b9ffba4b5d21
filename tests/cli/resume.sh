#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# resume.sh: runs that are interrupted, killed or damaged. A resumed run ends with the bytes of one that was left alone.
# SPARC_KILLS is the number of kills at random moments, 3 by default.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"
unset SPARC_DATA

cd "$scratch"
awk 'BEGIN {
  srand(5)
  for (i = 0; i < 60; i++) {
    phase = 6.28 * rand()
    printf "%s", i % 2 ? "up" : "down"
    for (t = 0; t < 24; t++) printf ",%.4f", sin(t * (0.3 + 0.4 * (i % 2)) + phase) + rand()
    print ""
  }
}' >waves.csv
options=(waves.csv --label 1 --layers 2 --width 16 --state-size 16 --batch 8 --updates 600 --validate-every 40
  --threads 2 --quiet)

same_run() { # FOLDER
  local name
  for name in last.safetensors best.safetensors metrics.jsonl metrics.csv config.json; do
    cmp "reference/run/$name" "$1/$name" || fail "$name of $1 is not that of the run that was left alone"
  done
  [ "$(find "$1" -type f | wc -l)" = 6 ] || fail "unexpected files in $1: $(ls "$1")"
}

expect 0 train "${options[@]}" --out reference/run
no_complaint

# ---- signals save the run
for signal in INT TERM HUP; do
  interrupt $signal $signal/run train "${options[@]}" --out $signal/run
  [ $got = 130 ] || fail "SIG$signal gives exit code $got"
  complains "interrupted after update"
  complains "--resume --out $signal/run continues"
  cmp -s reference/run/last.safetensors $signal/run/last.safetensors && fail "SIG$signal did not stop the run"
  # the folder has all other settings
  expect 0 train --resume --out $signal/run --quiet
  same_run $signal/run
done

# what nohup has the program ignore stays ignored
(
  trap '' HUP
  exec "$SPARC" train "${options[@]}" --out nohup/run >out 2>err
) &
pid=$!
until [ -e nohup/run/last.safetensors ] || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
kill -HUP $pid 2>/dev/null || true
wait $pid || fail "SIGHUP stops a run that ignores it"
same_run nohup/run

# ---- one run at a time writes to a folder; a lock of a dead process is taken over
"$SPARC" train "${options[@]}" --updates 100000000 --validate-every 1000 --out locked/run >first.out 2>first.err &
pid=$!
until [ -e locked/run/lock ] || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
sleep 0.1
for how in --force --resume; do
  expect 1 train "${options[@]}" --updates 100000000 --validate-every 1000 --out locked/run $how
  complains "a run is writing to 'locked/run': process $pid on host $(uname -n)"
done
kill -KILL $pid
wait $pid 2>/dev/null || true
[ -e locked/run/lock ] || fail "a killed run removes its lock?"
expect 0 train "${options[@]}" --out locked/run --force
same_run locked/run

# ---- a finished run stays as it is
expect 0 train "${options[@]}" --resume --out INT/run
prints "best      validation accuracy"
same_run INT/run

# ---- kills at random moments
RANDOM=${SPARC_SEED:-$$}
kills=0
attempt=0
while [ $kills -lt "${SPARC_KILLS:-3}" ]; do
  "$SPARC" train "${options[@]}" --out killed/run --resume-or-create >out 2>err &
  pid=$!
  sleep 0.$((RANDOM % 9))$((RANDOM % 10))
  kill -9 $pid 2>/dev/null || true
  got=0
  wait $pid 2>/dev/null || got=$?
  # one that was over is begun anew, and killed earlier
  case $got in
  137) kills=$((kills + 1)) ;;
  0) rm -rf killed ;;
  *) fail "a killed run resumes with exit code $got (seed ${SPARC_SEED:-$$})" ;;
  esac
  attempt=$((attempt + 1))
  [ $attempt -lt $((100 + 10 * kills)) ] || fail "no kill hits in $attempt attempts"
done
expect 0 train "${options[@]}" --out killed/run --resume-or-create
same_run killed/run

# ---- a kill in the middle of a write leaves a temporary file: it goes away, and nothing else does; numbers of processes
# end at 4194304, and that of this script is one of a living process
leave() { # FOLDER
  : >"$1/last.safetensors.tmp.4194305"
  : >"$1/best.safetensors.tmp.4194306"
  : >"$1/config.json.tmp.4194307"
}
others=(last.safetensors.tmp. last.safetensors.tmp.4194305x my-last.safetensors.tmp.4194305 last.safetensors.tmp
  notes.tmp.4194305 "last.safetensors.tmp.$$")
for mode in --resume --force; do
  leave killed/run
  (cd killed/run && touch "${others[@]}" && mkdir last.safetensors.tmp.4194308)
  expect 0 train "${options[@]}" --out killed/run $mode
  (cd killed/run && rm "${others[@]}" && rmdir last.safetensors.tmp.4194308) || fail "$mode removes what is not its own"
  same_run killed/run
done
mkdir -p early/run
leave early/run
expect 0 train "${options[@]}" --out early/run
same_run early/run

# ---- resuming needs a run
expect 3 train "${options[@]}" --resume --out INT/rnu
complains "there is no run to resume in 'INT/rnu'; did you mean 'INT/run'?; resume-or-create starts one"
expect 3 train "${options[@]}" --resume --out IMT/run
complains "did you mean 'INT/run'?"
expect 3 train --resume --out nothing-like-it
complains "there is no run to resume in 'nothing-like-it'; resume-or-create starts one"
[ ! -e INT/rnu ] && [ ! -e nothing-like-it ] || fail "a mistyped folder was made"
expect 2 train "${options[@]}" --resume --resume-or-create --out INT/run
complains "exclude each other"
expect 2 train "${options[@]}" --resume-or-create --force --out INT/run
complains "exclude each other"
expect 0 train "${options[@]}" --resume-or-create --updates 40 --out created
[ -e created/last.safetensors ] || fail "--resume-or-create creates nothing"
# of several seeds one must be there
seeds=(waves.csv --label 1 --layers 1 --width 8 --state-size 8 --batch 4 --updates 4 --threads 1 --quiet --out several)
expect 3 train "${seeds[@]}" --seeds 1-2 --resume
complains "there is no run to resume in 'several/s1'"
[ ! -e several ] || fail "a mistyped folder of seeds was made"
expect 0 train "${seeds[@]}" --seeds 2
expect 0 train "${seeds[@]}" --seeds 1-2 --resume
[ -e several/s1/last.safetensors ] || fail "a seed that was not begun is not made up for"

# ---- metrics that cannot be read are no metrics that are not there
cp -r INT/run unreadable
sed -i '2s/.*/{"update": /' unreadable/metrics.jsonl
cp unreadable/metrics.jsonl before
expect 3 train --resume --out unreadable
complains "'unreadable/metrics.jsonl': line 2 is no JSON object"
cmp before unreadable/metrics.jsonl || fail "metrics that cannot be read were replaced"
if [ "$(id -u)" != 0 ]; then
  chmod a-r unreadable/metrics.jsonl
  expect 1 train --resume --out unreadable
  complains "cannot open 'unreadable/metrics.jsonl': Permission denied"
  chmod u+r unreadable/metrics.jsonl
  cmp before unreadable/metrics.jsonl || fail "metrics that cannot be read were replaced"
fi

# ---- resuming needs the same settings, data and a sound checkpoint
expect 2 train "${options[@]}" --resume --out INT/run --learning-rate 0.5
complains "rate is 0.5, but 0.00195 in INT/run/config.json; a resumed run keeps its settings"
expect 2 train --resume --cell gru --out INT/run
complains 'cell is "gru", but "sparc" in'
expect 2 train --resume
complains "--resume needs DATA"
expect 0 train --resume --out INT/run --threads 1 --quiet

cp -r INT/run scored
sed -i 's/"run.best_update":"./"run.best_update":"x/' scored/last.safetensors
expect 3 train --resume --out scored
complains "metadata 'run.best_update' is 'x"
sed -i 's/"run.best_update":"x/"run.best_update":"-/' scored/last.safetensors
expect 3 train --resume --out scored
complains "expected a whole number from 0"

sed 's/^down,0/down,1/' waves.csv >others.csv
cp waves.csv kept.csv
cp others.csv waves.csv
expect 3 train --resume --out INT/run
complains "are not those that 'INT/run/last.safetensors' was trained on"
cp kept.csv waves.csv

for bytes in 0 7 100 2000; do
  head -c $bytes reference/run/last.safetensors >INT/run/last.safetensors
  expect 3 train --resume --out INT/run
  complains "INT/run/last.safetensors"
  expect 3 eval INT/run/last.safetensors waves.csv --label 1
  expect 3 predict INT/run/last.safetensors waves.csv --label 1
done
cp reference/run/last.safetensors INT/run/
rm INT/run/config.json
expect 3 train "${options[@]}" --resume --out INT/run
complains "has a checkpoint but no config.json"

# ---- runs of earlier versions go on (scripts/fuzz-corpus.sh made them)
for bundle in "$SPARC_SOURCE_DIR"/tests/fuzz/corpus/{rl,train}_resume/*; do
  name=${bundle##*/}
  case $name in found-* | bad-* | from) continue ;; esac
  rm -rf run data.csv
  tar -xf "$bundle"
  command=${bundle%_resume/*}
  expect 0 "${command##*/}" --resume --out run --quiet --threads 1
done

# ---- a configuration contains flags that are off: they exclude nothing
awk -v OFS=, 'BEGIN {for (i = 0; i < 40; i++) print i % 2, i % 2 + i / 100, 2, 3 - i % 2}' >flags.csv
expect 0 train flags.csv --label 1 --validation 0.3 --out flags --quiet
expect 0 train --resume --out flags --quiet
expect 0 train flags.csv --label 1 --validation 0.3 --out flags --resume --quiet
expect 0 train --config flags/config.json --out again --quiet
cmp flags/best.safetensors again/best.safetensors || fail "--config of a run with --validation is another run"
