#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# messages.sh: messages name the option, column or file concerned; options that would have no effect are refused;
# whole numbers may have an exponent; --quiet prints no hints; a run folder can be given instead of its checkpoint.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"
unset SPARC_DATA
cd "$scratch"

# refuse MESSAGE ARGUMENT...: usage
refuse() {
  local message=$1
  shift
  expect 2 "$@" --out refused
  complains "$message"
  no_output
  [ ! -e refused ] || fail "a refused command leaves a folder"
}

# ---- the option that is wrong, by its name
refuse "steps of a rollout (--rollout-steps) is 100, expected a multiple of minibatches (--minibatches), " \
  rl cartpole --rollout-steps 100 --steps 2048
refuse "steps of a rollout (--rollout-steps) is 128, expected a multiple of streams (--streams), 3" \
  rl cartpole --rollout-steps 128 --streams 3

# ---- options without the one that they belong to
refuse "--jobs has no effect without --seeds" train tracking --jobs 2
refuse "--jobs has no effect without --seeds" rl cartpole --jobs 2
refuse "--greedy has no effect without --eval" rl cartpole --greedy
refuse "--episodes has no effect without --eval" rl cartpole --episodes 10
expect 2 eval model.safetensors data.csv --warping-window 0.2
complains "--warping-window has no effect without --baseline"

# ---- whole numbers
small=(cartpole --rollout-steps 128 --minibatches 4 --epochs 1 --state-size 4 --width 8 --threads 1)
expect 0 rl "${small[@]}" --steps 2.56e2 --seed 1e1 --out agent --json --quiet
prints '"seed":10,'
prints '"rollouts":2,"steps":256,'
expect 0 envs cartpole --play random --episodes 1e1 --json
prints '"episodes":10,'
for steps in 1.5 1e-3 1e30 1e 1.25e1 1e6x 0x10 ' 7'; do
  refuse "--steps is '$steps', expected a whole number from 1 to " rl "${small[@]}" --steps "$steps"
done

# ---- quiet: results and errors
expect 0 rl "${small[@]}" --steps 256 --out quiet --quiet
prints "score     "
no_complaint
if grep -q "^Next:" out; then fail "--quiet prints hints"; fi
expect 0 rl "${small[@]}" --steps 256 --out loud
prints "Next:"
cat >grid.json <<'GRID'
{"name": "g", "kind": "rl", "settings": {"steps": 128, "rollout": 128, "minibatches": 4, "epochs": 1, "width": 8},
 "methods": [{"name": "sparc", "title": "SPARC", "settings": {"cell": "sparc"}}],
 "tasks": [{"name": "cartpole", "title": "CartPole", "settings": {"task": "cartpole"}}]}
GRID
expect 0 lab run grid.json --seeds 0-0 --out results --quiet
no_complaint
no_output

# ---- files without labels, columns of text
awk 'BEGIN { for (i = 0; i < 40; i++) printf "%d.25,%d.5,%d,%s\n", i % 7, i % 5, i % 3, i % 2 ? "up" : "down" }' >labelled.csv
cut -d, -f1-3 labelled.csv >values.csv
expect 0 train labelled.csv --layers 1 --width 8 --state-size 4 --batch 8 --updates 2 --threads 1 --out model --quiet
expect 3 predict model values.csv
complains "if the file has no labels, add -u (--unlabelled)"
expect 0 predict model values.csv -u
printf '1\n2\n3\n' >column.csv
expect 3 data column.csv
complains "expected values and a label; if the file has no labels, add -u (--unlabelled)"
expect 0 data column.csv -u
sed '2s/up/sideways/' labelled.csv >typo.csv # a wrong label does not make it a file without labels
expect 3 predict model typo.csv
complains "typo.csv:2: the label is 'sideways', expected one of down, up"
if grep -q unlabelled err; then fail "a file with labels is reported as unlabelled"; fi
expect 3 predict model <(cat values.csv) # a pipe cannot be read twice
complains "expected one of down, up"
{ echo 'speed,place,"the ""day""",class' && sed '3s/[^,]*,/Monday,/; 3s/Monday,\([^,]*\),[^,]*/1,\1,Monday/' labelled.csv; } >text.csv
expect 3 data text.csv
complains "text.csv:4: column 3 ('the \"day\"') is 'Monday', expected a number, NaN or ?; --ignore skips a column, --id makes it the id of sequences"
expect 3 data <(sed 3s/^[^,]*,/Monday,/ labelled.csv)
complains ": column 1 is 'Monday', expected a number"

# ---- run folders
expect 0 info agent
prints "agent/last.safetensors"
expect 0 info model
prints "model/best.safetensors"
expect 0 envs cartpole --play agent --episodes 3
prints "cartpole, policy agent, 3 episodes: mean return "
expect 0 envs cartpole --play agent --greedy
expect 0 rl --eval agent --episodes 3
expect 3 rl --eval nowhere
complains "--eval is 'nowhere', expected a run folder or AGENT.safetensors"
mkdir random
expect 0 envs cartpole --play random # the policy, not the folder
