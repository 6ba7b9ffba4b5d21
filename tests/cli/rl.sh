#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# rl.sh: `sparc rl`: small runs, their files, runs that are interrupted or killed, several seeds, agents that are
# evaluated and played, and what is refused. SPARC_KILLS is the number of kills at random moments, 2 by default.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"
: "${EXAMPLE_PLUGIN:?the example}" "${PLUGIN_DIR:?the shared objects with a fault each}"

cd "$scratch"
small=(repeat-previous --options lag=1 --rollout-steps 128 --minibatches 4 --epochs 2 --state-size 16 --width 16 --threads 1)
options=("${small[@]}" --steps 19250) # 150 rollouts and a rest that is left out
agent=reference/run/last.safetensors

same_run() { # FOLDER
  local name
  for name in last.safetensors metrics.jsonl metrics.csv config.json; do
    cmp "reference/run/$name" "$1/$name" || fail "$name of $1 is not that of the run that was left alone"
  done
  [ "$(find "$1" -type f | wc -l)" = 5 ] || fail "unexpected files in $1: $(ls "$1")"
}

# ---- a run: its output and its files
expect 0 rl "${options[@]}" --out reference/run
prints "task      repeat-previous with lag=1"
prints "cell      sparc (8 modes, "
prints "seed 0, 19200 steps in 150 rollouts"
prints "mean return of the last 100 rollouts"
prints "  sparc rl --eval $agent"
prints "  sparc envs repeat-previous --options lag=1 --play $agent"
complains "memory    "
complains "of sensitivities (free; stored "
complains "repeat-previous  19200/19200  100%"
[ "$(wc -l <reference/run/metrics.jsonl)" = 150 ] || fail "metrics.jsonl has other than a line per rollout"
grep -q '^run,0,150,return,' reference/run/metrics.csv || fail "metrics.csv lacks the last return"
grep -q '^run,0,150,steps,19200$' reference/run/metrics.csv || fail "metrics.csv lacks the steps"
score=$(sed -n 's/^score *\(-\{0,1\}[0-9.]*\),.*/\1/p' out)
mean=$(tail -100 reference/run/metrics.jsonl | sed 's/.*"return":\([^,]*\),.*/\1/' | awk '{ s += $1 } END { printf "%.4f", s / NR }')
[ "$score" = "$mean" ] || fail "the score is $score, the mean of the last 100 returns $mean"

# ---- objects: one per rollout, a last one with the score; two threads give the same bytes
expect 0 rl "${options[@]}" --threads 2 --out json/run --json --quiet
no_complaint
[ "$(wc -l <out)" = 151 ] || fail "--json prints other than a line per rollout and one"
for key in task task_options cell variant options seed obsnorm rollout steps return length episodes k1 k2 k3 ratio \
  clip_fraction policy_loss value_loss entropy explained_variance gradient_norm saturation gate_deviation state_rms \
  symbols faults; do
  head -1 out | grep -q "\"$key\":" || fail "the object of a rollout has no $key"
done
for key in task cell variant seed obsnorm steps score scored_rollouts partial steps_per_second agent; do
  tail -1 out | grep -q "\"$key\":" || fail "the last object has no $key"
done
tail -1 out | grep -q '"scored_rollouts":100,"partial":false' || fail "the score is not of 100 rollouts"
for name in last.safetensors metrics.jsonl metrics.csv; do
  cmp reference/run/$name json/run/$name || fail "two threads give another $name"
done
expect 0 rl "${small[@]}" --steps 1 --out short --json --quiet
tail -1 out | grep -q '"rollouts":1,"steps":128,.*"scored_rollouts":1,"partial":true' || fail "a short run is not marked"

# ---- signals save the run, and the folder has all other settings
for signal in INT TERM; do
  interrupt $signal $signal/run rl "${options[@]}" --out $signal/run
  [ $got = 130 ] || fail "SIG$signal gives exit code $got"
  complains "interrupted after rollout"
  complains "--resume --out $signal/run continues"
  expect 0 rl --resume --out $signal/run
  complains "continued after rollout"
  prints "score     $score,"
  same_run $signal/run
done

# ---- a finished run stays as it is
expect 0 rl "${options[@]}" --resume --out INT/run
prints "score     $score,"
same_run INT/run

# ---- kills at random moments
RANDOM=${SPARC_SEED:-$$}
kill_and_resume() { # FOLDER OPTION...
  local folder=$1 kills=0 attempt=0 pid got
  shift
  while [ $kills -lt "${SPARC_KILLS:-2}" ]; do
    "$SPARC" rl "$@" --out "$folder" --resume-or-create >out 2>err &
    pid=$!
    sleep 0.$((RANDOM % 5))$((RANDOM % 10))
    kill -9 $pid 2>/dev/null || true
    got=0
    wait $pid 2>/dev/null || got=$?
    # one that was over is begun anew, and killed earlier
    case $got in
    137) kills=$((kills + 1)) ;;
    0) rm -rf "$folder" ;;
    *) fail "a killed run resumes with exit code $got (seed ${SPARC_SEED:-$$})" ;;
    esac
    attempt=$((attempt + 1))
    [ $attempt -lt $((100 + 10 * kills)) ] || fail "no kill hits in $attempt attempts"
  done
  expect 0 rl "$@" --out "$folder" --resume-or-create
}
kill_and_resume killed/run "${options[@]}"
same_run killed/run

# ---- physics, too, continues bit-exactly, in builds that have it
if "$SPARC" envs hopper-p >/dev/null 2>&1; then
  robot=(hopper-p --rollout-steps 128 --minibatches 4 --epochs 1 --state-size 16 --width 16 --threads 1 --steps 12800 --quiet)
  expect 0 rl "${robot[@]}" --out robot/whole/run
  kill_and_resume robot/killed/run "${robot[@]}"
  for name in last.safetensors metrics.jsonl metrics.csv config.json; do
    cmp robot/whole/run/$name robot/killed/run/$name || fail "$name of a killed robot is another one"
  done
fi

# ---- resuming needs the same settings and all of the metrics
# a folder that another run writes to
if command -v flock >/dev/null; then
  mkdir locked
  echo 'process 1 on host elsewhere' >locked/lock
  exec 7<>locked/lock
  flock -n 7
  expect 1 rl "${options[@]}" --out locked
  complains "a run is writing to 'locked': process 1 on host elsewhere"
  exec 7>&-
fi

expect 2 rl --resume --out INT/run --learning-rate 0.5
complains "rate is 0.5, but 0.0001 in INT/run/config.json; a resumed run keeps its settings"
expect 2 rl "${options[@]}" --out INT/run
complains "'INT/run' holds a run already"

# a greater number of steps extends a run to the files of a run of that length
expect 0 rl "${small[@]}" --steps 1024 --out long/run
expect 0 rl "${small[@]}" --steps 512 --out extended/run
expect 0 rl --resume --steps 1024 --out extended/run --quiet
for name in last.safetensors metrics.jsonl metrics.csv config.json; do
  cmp long/run/$name extended/run/$name || fail "$name of an extended run is another one"
done
expect 2 rl --resume --steps 512 --out extended/run
complains "steps is 512, but 1024 in extended/run/config.json; a resumed run keeps its settings"

# config.json and the agent must agree on every setting but the number of steps
cp -r INT/run disagree
for change in 's/"rate": [^,]*/"rate": 0.002/' 's/"epochs": [^,]*/"epochs": 7/'; do
  sed -i "$change" disagree/config.json
  expect 3 rl --resume --out disagree
  complains "disagree/config.json; a resumed run keeps its settings"
  cp INT/run/config.json disagree/config.json
done
expect 0 rl "${small[@]}" --steps 256 --traces stored --out disagree --force
sed -i 's/"traces": "stored"/"traces": "free"/' disagree/config.json
expect 3 rl --resume --out disagree
complains 'traces is "stored", but "free" in disagree/config.json'
expect 2 rl --resume
complains "--resume needs TASK"
expect 3 rl "${options[@]}" --resume --out INT/rum
complains "there is no run to resume in 'INT/rum'; did you mean 'INT/run'?; resume-or-create starts one"
[ ! -e INT/rum ] || fail "a mistyped folder was made"
expect 3 rl "${options[@]}" --resume --seeds 0-1 --out none
complains "there is no run to resume in 'none/s0'"
sed -i 2d TERM/run/metrics.jsonl
expect 3 rl --resume --out TERM/run
complains "of the 150 rollouts that the checkpoint has"
expect 0 rl "${options[@]}" --out TERM/run --force
same_run TERM/run

# ---- the configuration of one run is a file for others, and options win
expect 0 rl --config reference/run/config.json --steps 256 --cell gru --state-size 16 --out gru --quiet
prints "cell      gru (16 modes, "
expect 0 rl --config reference/run/config.json --steps 256 --cell-options variant=neutral-gate --traces stored --encoder exact \
  --streams 2 --out variant
prints "variant=neutral-gate"
complains "(stored; "

# ---- several seeds, each as if it were alone
expect 0 rl "${small[@]}" --steps 512 --seeds 0-2 --jobs 2 --out seeds
[ "$(grep -c '^seed [012] ' out)" = 3 ] || fail "not every seed has a score"
prints "3 seeds: mean score "
expect 0 rl "${small[@]}" --steps 512 --seed 2 --out alone --quiet
cmp alone/last.safetensors seeds/s2/last.safetensors || fail "seed 2 among others is another run"
expect 0 rl "${small[@]}" --steps 512 --seeds 5 --out one-seed --json
tail -1 out | grep -q '"seeds":1,"mean_score":' || fail "the last object has no mean score"
expect 2 rl "${small[@]}" --steps 512 --seeds 0-2 --jobs 2 --out seeds
complains "holds a run already"

# a signal reaches every process, each saves, and no more are begun
interrupt INT stopped/s1 rl "${small[@]}" --steps 1e9 --seeds 0-9 --jobs 2 --out stopped
[ $got = 130 ] || fail "SIGINT gives several runs exit code $got"
complains "--resume --out stopped/s1 continues"
[ ! -e stopped/s9 ] || fail "runs are begun after SIGINT"

for seeds in 3-2 x 1- -1 0-1000; do
  expect 2 rl "${small[@]}" --seeds=$seeds --out other
  complains "--seeds is '$seeds', expected A-B"
done

# ---- agents: a file or a run folder, on their own task or on one that fits
expect 0 rl --eval $agent --episodes 30
prints "repeat-previous, 30 episodes: mean return "
expect 0 rl --eval reference/run --episodes 30 --json
prints '"episodes":30,"mean_return":'
for key in task agent seed sd mean_length; do prints "\"$key\":"; done
cp out first
expect 0 rl --eval reference/run --episodes 30 --json
sed "s/run.last/run\/last/" out | cmp - first || fail "the same seed gives another evaluation"
expect 0 envs repeat-previous --options lag=1 --play $agent
[ "$(wc -l <out)" = 54 ] || fail "an episode of 52 steps has other lines"
expect 0 envs repeat-previous --options lag=1 --play $agent --episodes 30 --json
[ "$(grep -o '"mean_return":[^,]*' out)" = "$(grep -o '"mean_return":[^,]*' first)" ] || fail "rl and envs play differently"
expect 0 envs --play reference/run --episodes 30 --json # the agent stores its task
[ "$(grep -o '"mean_return":[^,]*' out)" = "$(grep -o '"mean_return":[^,]*' first)" ] || fail "an agent plays another environment than its own"
for command in "rl cartpole --eval $agent" "envs cartpole --play $agent"; do
  # shellcheck disable=SC2086
  expect 2 $command
  complains "'$agent' is an agent for 4 observed numbers, 4 choices and actions of 1, but cartpole has 2, 2 and 1"
  no_output
done
expect 3 rl --eval missing.safetensors

# weights whose sums are too large for a float give no action
cp $agent large.safetensors
most=$(printf '\\xff\\xff\\x7f\\x7f%.0s' {1..16}) # as wide as the hidden layer
overwrite large.safetensors actor.hidden.bias "$most"
overwrite large.safetensors actor.weight "$most"
expect 4 rl --eval large.safetensors --episodes 3
complains "the agent's output 0 is inf, expected a finite number"
no_output
expect 3 rl --eval "$vectors/../exported-symbols.txt"

# greedy agents draw nothing, so that the seed decides about the episodes alone
expect 0 rl --eval $agent --episodes 30 --greedy --json
prints '"greedy":true'
greedy=$(grep -o '"mean_return":[^,]*' out)
[ "$greedy" != "$(grep -o '"mean_return":[^,]*' first)" ] || fail "a greedy agent plays like one that draws"
expect 0 envs repeat-previous --options lag=1 --play $agent --episodes 30 --greedy --json
[ "$(grep -o '"mean_return":[^,]*' out)" = "$greedy" ] || fail "rl and envs play differently when greedy"
expect 2 envs cartpole --play random --greedy
complains ": greedy requires an agent, and 'random' is none"
expect 2 envs cartpole --greedy
complains "--greedy needs a policy"

# ---- the default folder names the task, its options, the cell and the seed
expect 0 rl "${small[@]}" --steps 128 --cell rtu --seed 4 --quiet
[ -e runs/repeat-previous-lag_1-rtu-s4/last.safetensors ] || fail "the run is in another folder: $(ls runs)"

# ---- an environment of one's own
own=(--steps 256 --rollout-steps 128 --state-size 16 --width 16 --quiet)
expect 0 rl "$EXAMPLE_PLUGIN" "${own[@]}" --out plugin
expect 0 rl --env "$EXAMPLE_PLUGIN" "${own[@]}" --out env/plugin
cmp plugin/last.safetensors env/plugin/last.safetensors || fail "--env gives another run"
expect 3 rl "$PLUGIN_DIR/OLD_VERSION.so" --out other
complains "is an environment of version 0, expected 1"
expect 3 rl ./missing.so --out other
complains "No such file or directory"

# ---- what is wrong with the command line
wrong() {
  local message=$1
  shift
  expect 2 rl "$@" --out other
  complains "$message"
  no_output
}
wrong "no TASK given; see \`sparc envs\`"
wrong "unknown environment 'cartpol'; did you mean 'cartpole'?" cartpol
wrong "unknown cell kind 'sprc'; did you mean 'sparc'?" cartpole --cell sprc
wrong "unknown variant 'neutral-gat'; did you mean 'neutral-gate'?" cartpole --variant neutral-gat
wrong "cartpole has no options, got 'size'" cartpole --options size=hard
wrong "did you mean '--streams'?" cartpole --steams 4
wrong "--steps is '0', expected a whole number from 1" cartpole --steps 0
wrong "--obsnorm is 'all', expected none, feature or pooled" cartpole --obsnorm all
wrong "steps of a rollout (--rollout-steps) is 2048, expected a multiple of streams (--streams), 3" cartpole --streams 3
wrong "expected one TASK|./PLUGIN.so, got 'b' as well" a b
wrong "expected one TASK|./PLUGIN.so, got 'a' as well" a --env b
wrong "unknown environment 'cartpol'; did you mean 'cartpole'?" --env cartpol
expect 1 rl repeat-previous --traces stored --memory-limit 5 --out other
grep -Eq 'stored sensitivities need 2[0-9]{2} MB of the 5 MB that memory_limit allows; records need [0-9]{2} MB' err ||
  fail "a run beyond its limit is refused without figures"
complains "(traces: free)"
[ ! -e other ] || fail "a run that is refused makes a folder"

# ---- sensitivities by current parameters: measuring changes nothing else, replaying does
fresh=("${small[@]}" --steps 640 --quiet --traces stored --learning-rate 1e-3)
for how in none epoch measure; do expect 0 rl "${fresh[@]}" --refresh $how --out refresh-$how; done
sed 's/,"stale_.*/}/' refresh-measure/metrics.jsonl | cmp - refresh-none/metrics.jsonl || fail "measuring changes the run"
if cmp -s refresh-none/metrics.jsonl refresh-epoch/metrics.jsonl; then fail "--refresh epoch is ignored"; fi
grep -Eq '"stale_cosine_1":(1.0|0.99999)' refresh-measure/metrics.jsonl || fail "parameters differ before the first update"
if grep -q '"stale_cosine_2":1.0' refresh-measure/metrics.jsonl; then fail "stored sensitivities do not age"; fi
grep -q '"refresh": "epoch"' refresh-epoch/config.json || fail "config.json does not have refresh"
expect 2 rl "${small[@]}" --traces free --refresh epoch --out none
complains "traces is free, expected stored or auto"
expect 2 rl "${small[@]}" --cell gru --refresh measure --out none
complains "cell gru learns by truncated backpropagation here"

# ---- truncated backpropagation: four steps are what cells without RTRL have, other lengths and cells learn otherwise
tbptt=("${small[@]}" --steps 640 --quiet)
expect 0 rl "${tbptt[@]}" --cell gru --out gru-0
expect 0 rl "${tbptt[@]}" --cell gru --tbptt 4 --out gru-4
expect 0 rl "${tbptt[@]}" --cell gru --tbptt 16 --out gru-16
cmp gru-0/metrics.jsonl gru-4/metrics.jsonl || fail "four steps are not the default of GRU"
if cmp -s gru-0/metrics.jsonl gru-16/metrics.jsonl; then fail "--tbptt is ignored"; fi
expect 0 rl "${tbptt[@]}" --out exact
for n in 1 4 32; do
  expect 0 rl "${tbptt[@]}" --tbptt $n --out sparc-$n
  if cmp -s exact/metrics.jsonl sparc-$n/metrics.jsonl; then fail "--tbptt $n of SPARC is ignored"; fi
done
if cmp -s sparc-1/metrics.jsonl sparc-4/metrics.jsonl; then fail "windows of 1 and 4 steps are the same"; fi
expect 0 rl "${small[@]}" --quiet --tbptt 4 --steps 1280 --out long
head -5 long/metrics.jsonl | cmp - sparc-4/metrics.jsonl || fail "a longer run begins otherwise"
grep -q '"tbptt": 4' sparc-4/config.json || fail "config.json does not have tbptt"
expect 0 rl --eval sparc-4/last.safetensors --episodes 2
expect 2 rl "${tbptt[@]}" --tbptt 5 --out none
complains "learns by windows of 5 steps, but a stream has 128 steps and a minibatch 32"
expect 2 rl "${tbptt[@]}" --tbptt 4 --encoder exact --out none
complains "tbptt is 4, expected 0"
