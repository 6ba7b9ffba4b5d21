#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fuzz.sh BUILD SECONDS: runs every libFuzzer target of BUILD for SECONDS. The target fuzz_NAME starts from
# tests/fuzz/corpus/NAME; what it finds new is kept in BUILD/corpus/NAME, a crashing input in BUILD/crashes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=$(realpath "$1") # targets that run commands work in a folder of their own
seconds=$2
status=0
shopt -s nullglob
targets=("$build"/fuzz/fuzz_*)
[ ${#targets[@]} -gt 0 ] || { echo "no fuzz targets in tests/fuzz" >&2; exit 1; }

mkdir -p "$build/crashes"
for target in "${targets[@]}"; do
  name=${target##*/fuzz_}
  mkdir -p "$build/corpus/$name"
  folders=("$build/corpus/$name")
  if [ -d "tests/fuzz/corpus/$name" ]; then folders+=("$PWD/tests/fuzz/corpus/$name"); fi
  echo "fuzz: $name, $seconds s"
  "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -artifact_prefix="$build/crashes/$name-" \
    -close_fd_mask=3 -print_final_stats=1 -verbosity=0 "${folders[@]}" || status=1
done
exit $status
