# SPDX-License-Identifier: MIT
# common.bash: what the tests of the tool share. SPARC is the tool, SPARC_SOURCE_DIR the tree.
set -euo pipefail
: "${SPARC:?the path of the tool}" "${SPARC_SOURCE_DIR:?the source tree}"

# idle threads that spin make many short runs slow on a busy machine
export OMP_WAIT_POLICY=passive

vectors=$SPARC_SOURCE_DIR/tests/vectors
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "FAIL: $*" >&2
  if [ -e "$scratch/out" ]; then
    printf '%s\n' '--- standard output' "$(head -20 "$scratch/out")" '--- standard error' "$(head -20 "$scratch/err")" >&2
  fi
  exit 1
}

# expect CODE ARGUMENT...: runs the tool and demands its exit code; the output is left in $scratch/out and err
expect() {
  local want=$1 got=0
  shift
  "$SPARC" "$@" >"$scratch/out" 2>"$scratch/err" || got=$?
  [ "$got" = "$want" ] || fail "sparc $*: exit code $got, expected $want"
}

# interrupt SIGNAL FOLDER ARGUMENT...: runs the tool and sends the signal once FOLDER holds a checkpoint; a run that ended
# before the signal came is begun anew. Leaves the exit code in $got, the output in $scratch/out and err.
interrupt() {
  local signal=$1 folder=$2 pid _
  shift 2
  for _ in {1..20}; do
    rm -rf "$folder"
    "$SPARC" "$@" >"$scratch/out" 2>"$scratch/err" &
    pid=$!
    until [ -e "$folder/last.safetensors" ] || ! kill -0 $pid 2>/dev/null; do sleep 0.01; done
    kill "-$signal" $pid 2>/dev/null || true
    got=0
    wait $pid || got=$?
    [ $got = 0 ] || return 0
  done
  fail "sparc $*: SIG$signal does not stop it"
}

# prints TEXT, complains TEXT: the last run wrote this to standard output, to standard error
prints() { grep -qF -- "$1" "$scratch/out" || fail "standard output does not say: $1"; }
complains() { grep -qF -- "$1" "$scratch/err" || fail "standard error does not say: $1"; }
no_output() { [ ! -s "$scratch/out" ] || fail "standard output is not empty"; }
no_complaint() { [ ! -s "$scratch/err" ] || fail "standard error is not empty"; }

# scripts_are_inert FILE...: outside single quotes, in which gnuplot evaluates nothing, stands nothing that it would
# take for a command, a macro or a double-quoted string
scripts_are_inert() {
  local file
  for file; do
    [ -s "$file" ] || fail "there is no script $file"
    if sed "s/'[^']*'//g" "$file" | grep -n "[\"'\`@!|<]"; then fail "$file has text outside single quotes"; fi
  done
}

# data_start FILE: where the data section of a safetensors file begins
data_start() { echo $((8 + $(od -An -tu8 -N8 "$1"))); }

# tensor_offset FILE TENSOR: where in the data section a tensor begins
tensor_offset() { "$SPARC" info --json "$1" | grep -o "\"name\":\"$2\",[^}]*" | sed 's/.*"offset":\([0-9]*\).*/\1/'; }

# overwrite FILE TENSOR BYTES: puts the bytes (as for printf) in the place of the tensor's first number
overwrite() {
  local at=$(($(data_start "$1") + $(tensor_offset "$1" "$2")))
  # shellcheck disable=SC2059
  printf "$3" | dd of="$1" bs=1 seek="$at" conv=notrunc status=none
}

# little-endian doubles
thousand='\x00\x00\x00\x00\x00\x40\x8f\x40'
one='\x00\x00\x00\x00\x00\x00\xf0\x3f'
half='\x00\x00\x00\x00\x00\x00\xe0\x3f'
zero='\x00\x00\x00\x00\x00\x00\x00\x00'
nan='\x00\x00\x00\x00\x00\x00\xf8\x7f'
infinity='\x00\x00\x00\x00\x00\x00\xf0\x7f'
huge='\x00\x00\x00\x00\x00\x00\xf0\x7e'
export vectors thousand one half zero nan infinity huge
