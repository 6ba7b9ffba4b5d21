#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# lint.sh BUILD [JOBS]: layout (clang-format), then static analysis (clang-tidy on src with the flags of BUILD's
# compile_commands.json, cppcheck on src and examples). Every warning is an error.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=$(cd "$1" && pwd)
jobs=${2:-$(nproc)}
status=0

mapfile -t all < <(find include src tests examples -name '*.[ch]' -o -name '*.cc' 2>/dev/null | sort)
mapfile -t sources < <(find src -name '*.c' | sort)

echo "clang-format: ${#all[@]} files"
clang-format --dry-run -Werror "${all[@]}" || status=1

# one file a process: the analyzer of version 14 mixes up variable arguments of consecutive files. A crash must not end
# xargs, which would leave out the files behind it
echo "clang-tidy: ${#sources[@]} files"
printf '%s\0' "${sources[@]}" |
  xargs -0 -n 1 -P "$jobs" sh -c 'clang-tidy "$@" || exit 1' tidy -p "$build" --quiet \
    --extra-arg=-Wno-unknown-warning-option \
    2> >(grep -Ev '^[0-9]+ warnings?.* generated\.$' >&2) || status=1

# every combination of the source's own conditions: both precisions, both executors
echo "cppcheck"
cppcheck --quiet --force -j "$jobs" --std=c11 --language=c --enable=warning,performance,portability --inline-suppr \
  --suppress=missingIncludeSystem --error-exitcode=1 -D_GNU_SOURCE -D__GNUC__ -I include -I src src examples || status=1

[ $status = 0 ] && echo "lint: clean"
exit $status
