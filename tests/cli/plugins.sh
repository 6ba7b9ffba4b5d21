#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plugins.sh: the code of a plugin runs if the user names it on the command line, and not because a file does.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"
cd "$scratch"
cp "$PLUGIN_DIR/WRITES_FILE.so" p.so # leaves the file LOADED when it is loaded
cp "$EXAMPLE_PLUGIN" q.so

loads() {
  rm -f LOADED
  expect "$@"
  [ -e LOADED ] || fail "sparc ${*:2}: the plugin is not loaded"
}
# refuses CODE ARGUMENT...: fails without loading it, and the message explains how to allow it
refuses() {
  rm -f LOADED
  expect "$@"
  [ ! -e LOADED ] || fail "sparc ${*:2}: the plugin is loaded"
  complains "names the plugin './p.so', whose code would run; if you trust it, repeat the path with --plugin"
}

# ---- agents, runs and files of settings
small=(--steps 64 --rollout-steps 32 --modes 4 --width 4 --quiet)
loads 0 rl ./p.so "${small[@]}" --out run
loads 0 rl --env ./p.so "${small[@]}" --out env
refuses 2 rl --eval run --episodes 2
refuses 2 rl --eval run --episodes 2 --plugin ./q.so
loads 0 rl --eval run --episodes 2 --plugin ./p.so
loads 0 rl ./p.so --eval run --episodes 2
loads 0 envs ./p.so --play run/last.safetensors --episodes 2
refuses 2 rl --resume --out run --quiet
loads 0 rl --resume --out run --quiet --plugin ./p.so
loads 0 rl ./p.so "${small[@]}" --resume --out run
refuses 2 rl --config run/config.json --out other --quiet
refuses 2 rl --config run/config.json --eval run
loads 0 rl --config run/config.json --out other --quiet --plugin ./p.so
refuses 2 diagnose run
refuses 2 diagnose run --plugin ./q.so
loads 0 diagnose run --plugin ./q.so --plugin ./p.so

# a checkpoint that names another one than the run
cp -r run changed
sed -i 's|"./p.so"|"./q.so"|' changed/config.json
rm -f LOADED
expect 3 rl --resume --out changed --quiet --plugin ./q.so
[ ! -e LOADED ] || fail "the plugin of the checkpoint is loaded"
complains 'task is "./p.so", but "./q.so" in changed/config.json'

# ---- experiments
cat >grid.json <<'END'
{"name": "g", "kind": "rl", "settings": {"task": "./p.so", "steps": 64, "rollout": 32, "modes": 4, "width": 4},
 "score": {"window": 1}, "tasks": [{"name": "own"}], "methods": [{"name": "m", "settings": {"cell": "sparc"}}]}
END
refuses 2 lab run grid.json --out results -T 1
refuses 2 lab run grid.json --out results -T 1 --dry-run
refuses 2 lab run grid.json --out results -T 1 --memory 1000
loads 0 lab run grid.json --out results -T 1 --dry-run --plugin ./p.so
loads 0 lab run grid.json --out results -T 1 --memory 1000 --plugin ./q.so --plugin ./p.so
for verb in status table figure report; do
  rm -f LOADED
  expect 0 lab $verb grid.json --out results
  [ ! -e LOADED ] || fail "lab $verb loads the plugin"
done
refuses 2 lab diagnose grid.json --out results -T 1
loads 0 lab diagnose grid.json --out results -T 1 --plugin ./p.so
expect 2 lab table grid.json --out results --plugin ./p.so
complains "--plugin is not for \`sparc lab table\`"

# ---- files cannot set the output folder
sed -i 's|"task"|"out": "elsewhere", "task"|' run/config.json
expect 3 rl --resume --out run --quiet --plugin ./p.so
complains "run/config.json: out is not allowed in the configuration of a run"
sed 's|"steps"|"out": "elsewhere", "steps"|' grid.json >out.json
expect 3 lab run out.json --out results --plugin ./p.so
complains "settings: a grid cannot set out"
for name in .. ../up /tmp/up .hidden -o 'a b'; do
  sed "s|\"own\"|\"$name\"|" grid.json >name.json
  expect 3 lab run name.json --out results --plugin ./p.so
  complains "name is '$name'"
done
[ ! -e elsewhere ] || fail "a file set the output folder"
