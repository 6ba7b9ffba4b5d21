#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# old_files.sh: what earlier versions wrote is read and continued: run folders of training and of reinforcement
# learning, an agent, a learner.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"
cd "$scratch"
old=$SPARC_SOURCE_DIR/tests/checkpoints
cp -r "$old"/agent-1-run "$old"/format-2-run "$old"/format-2-learner.safetensors .
chmod -R u+w .

# training: eight updates are done; two more follow
expect 0 eval format-2-run event-order
expect 0 train --resume --out format-2-run --updates 10
complains "continued after update 8"
[ "$(grep -c '"validation_loss"' format-2-run/metrics.jsonl)" = 5 ] || fail "the metrics of the old run are gone"

# reinforcement learning: eight of twenty rollouts are done
expect 0 rl --eval agent-1-run --episodes 2
expect 0 rl --resume --out agent-1-run
complains "continued after rollout 8"
prints "40960 steps in 20 rollouts"
[ "$(wc -l <agent-1-run/metrics.jsonl)" = 20 ] || fail "the metrics of the old run are gone"

# a learner has seen ten steps
printf '0.1,1.1\n0.2,1.2\n' >stream.csv
expect 0 learn stream.csv --resume --model format-2-learner.safetensors --json
prints '"steps":12'
