#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# valgrind.sh BUILD JOBS [NAME...]: unit tests of BUILD under valgrind's memcheck, which also sees reads of memory that
# nobody has written. Without names: those that read files or own memory; what is mostly arithmetic runs under the
# sanitizers, and so does test_base, for valgrind flushes no denormals. Any error or definite leak fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=$1
jobs=$2
shift 2
names=("$@")
if [ ${#names[@]} = 0 ]; then
  names=(claim data errors exports film gnuplot grid inspect learner null optimiser plain_text random reliable
    rl_run run safetensors settings sparc statistics tasks text_table)
fi

# valgrind does not support AVX-512
export SPARC_KERNEL=baseline OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive build
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
export logs

check() { # NAME
  if valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite \
    --show-leak-kinds=definite --child-silent-after-fork=yes "$build/tests/test_$1" >"$logs/$1" 2>&1; then
    echo "valgrind: $1: clean"
  else
    echo "valgrind: $1: failed"
    grep -E '^==|FAILED|ERROR|crashed|wrong answer' "$logs/$1" | head -40
    touch "$logs/failed.$1"
  fi
}
export -f check

printf '%s\n' "${names[@]}" | xargs -P "$jobs" -I{} bash -c 'check {}'
failed=$(find "$logs" -name 'failed.*' | wc -l)
echo "$((${#names[@]} - failed)) passed, $failed failed"
[ "$failed" = 0 ]
