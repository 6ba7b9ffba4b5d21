#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# layers.sh TREE: no folder of src includes a header of a layer that is not below its own, public headers include public
# headers only, and no folder is crowded. Prints each offending include; shows first that it would notice one.
set -euo pipefail

# From the lowest layer up. Folders of one line do not include each other.
layers=(
  "base"
  "kernels io mpi"
  "cells"
  "seq"
  "rtrl device"
  "nn"
  "data envs"
  "train rl"
  "online"
  "run"
  "lab"
  "bench"
  "cli"
)
most_sources=30 # .c files of a folder

declare -A layer_of
for i in "${!layers[@]}"; do
  for folder in ${layers[$i]}; do layer_of[$folder]=$i; done
done

# includes FOLDER: "file:line:path" of every header in quotes
includes() {
  { grep -rnoE --include='*.[ch]' '^[[:space:]]*#[[:space:]]*include[[:space:]]*"[^"]*"' "$1" || true; } |
    sed -E 's/^([^:]*:[0-9]*):.*"([^"]*)"$/\1:\2/'
}

check_layers() {
  local folder file line path below
  for folder in "$1"/src/*/; do
    folder=$(basename "$folder")
    if [ -z "${layer_of[$folder]:-}" ]; then
      echo "src/$folder has no layer: give it one in tests/layers.sh"
      continue
    fi
    while IFS=: read -r file line path; do
      below=${path%%/*}
      if [ "$below" = "$folder" ] || { [ "$below" = sparc ] && [ -f "$1/include/$path" ]; }; then continue; fi
      if [ -z "${layer_of[$below]:-}" ]; then
        echo "${file#"$1"/}:$line: \"$path\" is in no folder of src"
      elif [ "${layer_of[$below]}" -ge "${layer_of[$folder]}" ]; then
        echo "${file#"$1"/}:$line: $folder must not include \"$path\""
      fi
    done < <(includes "$1/src/$folder")
  done
}

check_public() {
  local file line path
  while IFS=: read -r file line path; do
    [[ $path == sparc/* && -f $1/include/$path ]] || echo "${file#"$1"/}:$line: \"$path\" is not a public header"
  done < <(includes "$1/include")
}

check_sizes() {
  find "$1/src" -name '*.c' -printf '%h\n' | sort | uniq -c | while read -r count folder; do
    [ "$count" -le "$most_sources" ] || echo "${folder#"$1"/} has $count .c files, at most $most_sources are allowed"
  done
}

check_all() {
  check_layers "$1"
  check_public "$1"
  check_sizes "$1"
}

# a small tree with one violation of each kind, which must all be reported
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch"/src/{base,cells/inner,nn,io,bench,unheard} "$scratch/include/sparc"
touch "$scratch/include/sparc/base.h"
echo '#include "sparc/base.h"' >"$scratch/src/base/good.c"
echo '#include "base/good.h"' >"$scratch/src/io/good.c"
echo '  # include "nn/upwards.h"' >"$scratch/src/cells/inner/bad.c"
echo '#include "cli/cli.h"' >"$scratch/src/bench/bad.h"
echo '#include "kernels/beside.h"' >"$scratch/src/io/bad.c"
echo '#include "beside.h"' >"$scratch/src/nn/bad.c"
echo '#include "base/private.h"' >"$scratch/include/sparc/bad.h"
for i in $(seq $most_sources); do touch "$scratch/src/base/$i.c"; done
expected='include/sparc/bad.h:1: "base/private.h" is not a public header
src/base has 31 .c files, at most 30 are allowed
src/bench/bad.h:1: bench must not include "cli/cli.h"
src/cells/inner/bad.c:1: cells must not include "nn/upwards.h"
src/io/bad.c:1: io must not include "kernels/beside.h"
src/nn/bad.c:1: "beside.h" is in no folder of src
src/unheard has no layer: give it one in tests/layers.sh'
if ! diff <(echo "$expected" | LC_ALL=C sort) <(check_all "$scratch" | LC_ALL=C sort); then
  echo "layers.sh does not find what is wrong in a tree made for it" >&2
  exit 1
fi

offences=$(check_all "$1")
if [ -n "$offences" ]; then
  printf '%s\n' "$offences" >&2
  exit 1
fi
