#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# info.sh: `sparc info` about the build and about files.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

one=$vectors/sparc-one.safetensors

# the build: one line for each fact, and none of them empty
expect 0 info
no_complaint
for fact in version build cpu features caches kernels blas jansson zlib openmp mujoco threads devices cells; do
  grep -Eq "^$fact +[^ ]" "$scratch/out" || fail "sparc info does not have $fact"
done
grep -Eq '^cells .*\bsparc\b' "$scratch/out" || fail "there is no sparc cell"
OMP_NUM_THREADS=1 expect 0 info
grep -Eq '^openmp +no$|^threads +1 ' "$scratch/out" || fail "OMP_NUM_THREADS has no effect"

expect 0 info --json
[ "$(wc -l <"$scratch/out")" = 1 ] || fail "--json prints several lines"
for key in version build compiler type cpu brand features kernels libraries blas jansson zlib openmp mujoco threads devices cells; do
  prints "\"$key\":"
done

# files: metadata, tensors in the order of the data, the total
expect 0 info "$one"
no_complaint
[ "$(head -1 "$scratch/out")" = "$one" ] || fail "the file is not named"
grep -Eq '^  cell +  *= sparc$' "$scratch/out" || fail "no metadata"
grep -Eq '^  trace\.ctrl_phase +F64 +\[2,1,2\] +32 bytes$' "$scratch/out" || fail "no tensor line"
[ "$(tail -1 "$scratch/out")" = "  34 tensors, 440 bytes" ] || fail "wrong total"

expect 0 info --json "$one" "$vectors/sparc-full.safetensors"
[ "$(wc -l <"$scratch/out")" = 2 ] || fail "not one line for each file"
prints '"metadata":{"cell":"sparc","B":"1","T":"1","D":"1","H":"1","variant":"full"}'
prints '{"name":"mask","dtype":"F64","shape":[1,1],"offset":8,"bytes":8}'
if command -v python3 >/dev/null; then
  python3 -c 'import json, sys
for line in sys.stdin:
    file = json.loads(line)
    assert len(file["tensors"]) == 34 and file["bytes"] == sum(t["bytes"] for t in file["tensors"]), file' \
    <"$scratch/out" || fail "--json is not as promised"
fi

# bad files do not hide good ones
expect 3 info "$scratch/missing" "$one" "$scratch"
complains "sparc info: cannot open '$scratch/missing': No such file or directory"
complains "cannot open '$scratch/best.safetensors': No such file or directory"
prints "34 tensors, 440 bytes"

# names from a file cannot steer the terminal: the header holds an escape as a JSON \u sequence
header='{"a\u001b[31mb":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}'
printf "\\x$(printf %02x ${#header})\\0\\0\\0\\0\\0\\0\\0%s\\0\\0\\0\\0" "$header" >"$scratch/escape"
expect 0 info "$scratch/escape"
prints 'a\x1b[31mb'
prints '[]'
if grep -q $'\033' "$scratch/out"; then fail "an escape sequence reaches the terminal"; fi
expect 3 check "$scratch/escape"
