#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# kinds.sh: whatever cells the tool was built with, each can be compared, trained, evaluated and made an agent. The tool
# with an eighth cell goes through it, too: no command has a fixed list of cells.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"
cd "$scratch"

expect 0 info
read -r -a kinds < <(sed -n 's/^cells *//p' out)
[ ${#kinds[@]} -ge 7 ] || fail "sparc info names ${#kinds[@]} cells"

# ---- the comparison has a row of every cell, in the table and in the report ----
expect 0 demo --all-cells --tasks tracking --updates 1 --quiet --out all
rows=$(sed -n '/ here /,/^$/p' out | sed '1d;$d' | wc -l)
[ "$rows" = $((${#kinds[@]} + 1)) ] || fail "$rows rows for ${#kinds[@]} cells and RG-LRU's second row"
for kind in "${kinds[@]}"; do
  grep -qF "\"cell\": \"$kind\"" all/figure1/tracking/*/s0/job.json || fail "sparc demo --all-cells does not train $kind"
done

for kind in "${kinds[@]}"; do
  expect 0 demo --cells "$kind" --tasks tracking --updates 1 --json --quiet --out "one-$kind"
  prints "\"job\":\"tracking/$kind/s0\""

  expect 0 train tracking --cell "$kind" --updates 2 --quiet --out "run-$kind"
  prints "$kind ("
  expect 0 eval "run-$kind" tracking
  prints "NMSE"

  expect 0 rl repeat-first --cell "$kind" --steps 64 --rollout-steps 32 --minibatches 2 --quiet --out "agent-$kind"
  prints "$kind ("
done
