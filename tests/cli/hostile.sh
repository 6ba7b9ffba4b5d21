#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# hostile.sh: text of untrusted files is never executed or interpreted: by gnuplot, a terminal, Markdown, LaTeX, HTML, or
# a suggested command. tests/hostile has files that once ran a shell.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"
unset SPARC_DATA
export TERM=xterm
cd "$scratch"

# nothing_ran: no text was run as a command; every hostile text here would make such a file
nothing_ran() {
  local found
  found=$(find "$scratch" -name 'PWNED*')
  [ -z "$found" ] || fail "a command ran: $found"
}
# plain FILE...: nothing steers a terminal
plain() {
  local file
  for file; do
    if LC_ALL=C grep -q $'[\x01-\x08\x0b-\x1f\x7f]\|\xc2[\x80-\x9f]\|\xe2\x80\xae' "$file"; then
      fail "$file has control characters: $(cat -v "$file" | head -5)"
    fi
  done
}

# ---- files that once ran a shell
expect 0 lab run "$SPARC_SOURCE_DIR/tests/hostile/grid-shell-gnuplot.json" --out found -T 1 -J 1 --quiet
expect 0 lab figure "$SPARC_SOURCE_DIR/tests/hostile/grid-shell-gnuplot.json" --out found
figures=0
command -v gnuplot >/dev/null || figures=1 # data and scripts only
expect "$figures" diagnose "$SPARC_SOURCE_DIR/tests/hostile/diagnose-shell-model" --figures found/model
scripts_are_inert found/inj/figures/*.gp found/model/*.gp
nothing_ran

# ---- a grid with hostile text in every field that takes any
cat >grid.json <<'END'
{"name": "inj", "kind": "train",
 "title": "T\u001b[31m `touch PWNED1` </script><b> \\input{x} a|b _c_ \u202e",
 "note": "N\u001b]0;x\u0007 `touch PWNED2`\nnext </script> | \\write18{x} [l](javascript:x)",
 "settings": {"updates": 4, "validate-every": 2, "batch": 2, "modes": 8},
 "score": {"unit": "U' \" `touch PWNED3` $(touch PWNED4) @data %n \u009b31m \\", "metric": "validation_loss"},
 "tasks": [{"name": "order", "title": "'.system(\"touch PWNED5\").' <touch PWNED6", "settings": {"data": "event-order"}},
           {"name": "track", "title": "{/:Bold \nsystem('touch PWNED7')\n", "settings": {"data": "tracking"},
            "score": {"metric": "validation_loss", "unit": "|touch PWNED8"}}],
 "methods": [{"name": "sparc", "title": "'`touch PWNED9`\u001b[0m%s", "settings": {"cell": "sparc"}},
             {"name": "rtu", "title": "*M2* \u007f</td>", "colour": "#00aaFF", "settings": {"cell": "rtu"}}],
 "reference": "sparc", "paper": {"order": {"sparc": [0.5, 0.1]}}, "seeds": [0, 1]}
END
expect 0 lab show grid.json
plain out
expect 0 lab run grid.json --out r -T 1 -J 1
plain out err
expect 0 lab figure grid.json --out r
no_complaint
scripts_are_inert r/inj/figures/*.gp
for format in text markdown latex csv json; do
  expect 0 lab table grid.json --out r --format $format
  plain out
  cp out table.$format
done
expect 0 lab status grid.json --out r
plain out
expect 0 lab report grid.json --out r
plain r/report.html
if grep -qF -e '</script><b>' -e '</td>"' r/report.html; then fail "a title is markup in the report"; fi
[ "$(grep -o '<script' r/report.html | wc -l)" = "$(grep -o '</script>' r/report.html | wc -l)" ] ||
  fail "a title ends a script in the report"
if command -v xmllint >/dev/null; then xmllint --noout r/report.html || fail "the report is not well-formed"; fi
grep -qF '\textbackslash{}input\{x\}' table.latex || fail "the title is a command of LaTeX"
if grep -qF -e '\input' -e '\write18' table.latex; then fail "text is a command of LaTeX"; fi
grep -qF 'a\|b \_c\_' table.markdown || fail "the title is not escaped in Markdown"
[ "$(grep -c '^| ' table.markdown)" = "$(grep -c '^| .* |$' table.markdown)" ] || fail "a row of Markdown is broken"
expect 0 lab diagnose grid.json --out r --quiet
expect 0 lab report grid.json --out r
nothing_ran

# machine and build of a result
result=r/inj/order/sparc/s0/result.json
sed -i 's/"machine": "[^"]*"/"machine": "\\u001b[2J`touch PWNED` <b>"/; s/"commit": "[^"]*"/"commit": "\\\\input{x} \\u009b31m"/' $result
for format in text markdown latex csv json; do
  expect 0 lab table grid.json --out r --format $format
  prints 'touch PWNED'
  plain out
done
expect 0 lab status grid.json --out r --json
plain out
expect 0 lab report grid.json --out r
plain r/report.html
if grep -qF '<b>' r/report.html; then fail "a machine's name is markup in the report"; fi

# colours are colours
sed 's/#00aaFF/red`touch PWNED`/' grid.json >colour.json
expect 3 lab figure colour.json --out r
complains "colour is 'red\`touch PWNED\`', expected # and six hexadecimal digits"

# ---- a model and a data set with hostile names
name='`touch PWNED10`'"'"' "$(touch PWNED11)'$'\033[31m\xc2\x9b'
awk 'BEGIN {
  srand(3)
  for (i = 0; i < 40; i++) {
    printf i % 2 ? "`touch PWNED12`|\\input" : "\xc2\x9b31m\xe2\x80\xae"
    for (t = 0; t < 10; t++) printf ",%.3f", sin(t * (1 + i % 2)) + rand()
    print ""
  }
}' >"$name.csv"
expect 0 data "$name.csv" --label 1
plain out
expect 0 train "$name.csv" --label 1 --updates 4 --modes 4 --width 4 --batch 4 --out model
plain out err
expect 0 info model/best.safetensors
plain out
expect 0 eval model "$name.csv" --label 1
plain out
for format in text markdown latex csv json; do
  expect 0 diagnose model --format $format
  plain out
done
expect "$figures" diagnose model --figures figures
plain out err
scripts_are_inert figures/*.gp
expect 0 predict model "$name.csv" --label 1 --format jsonl
plain out
nothing_ran

# ---- a command that is suggested is one command with the intended arguments
odd="it's; touch PWNED13 \`touch PWNED14\` \$(touch PWNED15)"$'\n\033[31m'
expect 0 rl repeat-previous --options lag=1 --steps 64 --rollout-steps 64 --modes 4 --width 4 --out "$odd"
plain out err
suggestion=$(grep -F 'sparc rl --eval ' out)
eval "set -- $suggestion"
[ "$#" = 4 ] && [ "$4" = "$odd/last.safetensors" ] || fail "the suggestion is another command: $suggestion"
eval "set -- $(grep -F 'sparc envs ' out)"
[ "$#" = 7 ] && [ "$5" = lag=1 ] && [ "$7" = "$odd/last.safetensors" ] || fail "the second suggestion is another command"
nothing_ran

# ---- a learner whose stored tape names a symbol far outside its table, a model with more outputs than a task has
tar -xf "$SPARC_SOURCE_DIR/tests/fuzz/corpus/learn_resume/found-symbol-tape"
expect 3 learn stream.csv --model learner.safetensors --resume
complains "the inputs are symbols, expected values"
cp "$SPARC_SOURCE_DIR/tests/hostile/model-wide-head.safetensors" wide.safetensors
expect 3 eval wide.safetensors tracking --threads 1
complains "the model has 20 outputs, the task tracking has 2"
expect 0 train tracking --updates 4 --modes 4 --layers 1 --width 4 --batch 2 --out wide --quiet --threads 1
cp wide.safetensors wide/last.safetensors
expect 3 train tracking --updates 8 --modes 4 --layers 1 --width 4 --batch 2 --out wide --resume --quiet --threads 1

# ---- an experiment's file cannot choose another folder, a sweep cannot grow without bounds, lengths are whole numbers
small='"tasks": [{"name": "t", "settings": {"data": "event-order"}}], "seeds": [0]'
cat >one.json <<END
{"name": "one", "kind": "train", "settings": {"updates": 3e0, "validate-every": "3", "batch": 2, "modes": 4},
 "methods": [{"name": "sparc", "settings": {"cell": "sparc"}}], $small}
END
expect 0 lab run one.json --out chosen --threads 1 --jobs 1 --quiet
grep -q '"updates": 3,' chosen/one/t/sparc/s0/config.json || fail "3e0 updates are not three"
mkdir chosen/other
cp chosen/one/lab.json chosen/other/
for verb in run status table figure; do
  expect 3 lab $verb chosen/other
  complains "lab.json in it is of the folder 'one'"
done
sed 's/"scale": [0-9.]*/"scale": 1e300/' chosen/one/lab.json >huge
mv huge chosen/one/lab.json
expect 3 lab status chosen/one
complains "scale is 1e+300, expected 1e-06 to 1000"
for length in '"x"' -5 2.5 0; do
  sed "s/3e0/$length/" one.json >length.json
  expect 3 lab status length.json
  complains "expected a whole number from 1"
done
values=$(seq -s, 64)
cat >sweep.json <<END
{"name": "sweep", "kind": "train", "sweep": {"a": [$values], "b": [$values], "c": [$values], "d": [$values]},
 "methods": [{"name": "sparc", "settings": {"cell": "sparc"}}], $small}
END
expect 3 lab status sweep.json
complains "with b there are 4096 methods, expected at most 64"
sed 's/"settings": {"cell": "sparc"}/"settings": 3/; s/, "b".*}/}/' sweep.json >sweep3.json
expect 3 lab status sweep3.json
complains "settings of a method is not an object"

# ---- counts of a result that would overflow
result=chosen/one/t/sparc/s0/result.json
sed -i 's/"scale": 1e300/"scale": 1.0/' chosen/one/lab.json
sed -i 's/"parameters": [0-9]*/"parameters": 1e300/; s/"done": [0-9]*/"done": 9223372036854775807/' "$result"
expect 0 lab status chosen/one --json
if grep -q 9223372036854775 out; then fail "a count of a result overflows"; fi

# ---- pipes that files name are refused, not waited for
mkdir pipes
mkfifo pipes/a_labels.npy pipes/p.csv
printf '\x93NUMPY\x01\x00\x46\x00%-69s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }" >pipes/a.npy
printf '\0\0\0\0\0\0\0\0' >>pipes/a.npy
expect 0 data pipes/a.npy
awk -v OFS=, 'BEGIN {for (i = 0; i < 20; i++) print i % 2, i % 2 + i / 100, 2, 3 - i % 2}' >rows.csv
expect 0 train rows.csv --label 1 --updates 2 --modes 4 --width 4 --batch 4 --out piped --quiet
sed -i "s|\"data\": \"[^\"]*\"|\"data\": \"pipes/p.csv\"|" piped/config.json
expect 3 diagnose piped
complains "data is 'pipes/p.csv', which is neither a file nor a folder"

# ---- a run's configuration with values that no run writes
for change in 's/"updates": 2/"updates": -5/' 's/"updates": 2/"updates": "x"/' '1s/{/{"bogus": 1,/'; do
  rm -rf altered
  cp -r piped altered
  sed -i "s|pipes/p.csv|rows.csv|; $change" altered/config.json
  expect 3 train --resume --out altered
  complains "altered/config.json"
done
nothing_ran
