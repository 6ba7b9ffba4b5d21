#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh BUILD: builds the inference library in a folder of BUILD, installs it, and demands what docs/embedding.md
# promises: what it needs, how large it is, that its headers and its symbols agree, that the documented program builds,
# and that it says of models of every cell what the full library and the tool of BUILD say.
# Tools come from CC, CMAKE and PKG_CONFIG; SPARC_LIBDIR is the library folder below the prefix, SPARC the tool.
set -euo pipefail

build=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
CC=${CC:-cc} CMAKE=${CMAKE:-cmake} PKG_CONFIG=${PKG_CONFIG:-pkg-config} libdir=${SPARC_LIBDIR:-lib}
: "${SPARC:?the path of the tool}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset LD_LIBRARY_PATH SPARC_KERNEL
export OMP_WAIT_POLICY=passive

fail() {
  echo "FAIL: $*" >&2
  exit 1
}
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; fail "$*"; }; }

# ---- build and install; the folder stays, so that another run compiles what has changed --------------
folder=$build/inference
quietly "$CMAKE" -S "$root" -B "$folder" -DSPARC_INFERENCE=ON -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER="$CC" \
  -DSPARC_WERROR=ON -DSPARC_EXAMPLES=OFF
quietly "$CMAKE" --build "$folder" --parallel "$(nproc)"
quietly "$CMAKE" --install "$folder" --prefix "$work/prefix"
library=$work/prefix/$libdir/libsparc.so
export PKG_CONFIG_PATH=$work/prefix/$libdir/pkgconfig

headers=$(cd "$work/prefix/include/sparc" && echo *)
[ "$headers" = "base.h model.h" ] || fail "the installed headers are: $headers"
[ ! -e "$work/prefix/bin" ] || fail "the tool is installed, too"

# ---- what it needs, how large it is, what it exports ----------------------------------------------------
needed=$(readelf --dynamic "$library" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p')
for name in $needed; do
  case $name in
  libc.so.* | libm.so.* | ld-linux*) ;;
  *) fail "the library needs $name" ;;
  esac
done
bytes=$(stat -L -c %s "$library")
[ "$bytes" -lt 512000 ] || fail "the library has $bytes bytes, expected fewer than 500 KiB"
echo "libsparc.so: $bytes bytes, needs:" $needed

sed 's/\\$//' "$work"/prefix/include/sparc/*.h | tr '\n' ' ' | grep -o 'SPARC_API [^;(]*(' |
  sed -n 's/.*[ *]\(sparc_[a-z0-9_]*\)($/\1/p' | sort >"$work/declared"
nm --dynamic --defined-only "$library" | awk '{ print $3 }' | sort >"$work/exported"
diff "$work/declared" "$work/exported" || fail "headers and symbols differ (declared < > exported)"
grep -q sparc_model_step "$work/exported" || fail "nothing is exported"

# ---- programs: the documented one, the example, and answers.c against both libraries ---------------------
read -ra flags <<<"-std=c11 -Wall -Wextra -pedantic -Werror"
read -ra small <<<"$("$PKG_CONFIG" --cflags --libs sparc) -Wl,-rpath,$work/prefix/$libdir"
"$CC" "${flags[@]}" "$here/answers.c" -o "$work/answers" "${small[@]}" -lm
"$CC" "${flags[@]}" "$here/answers.c" -o "$work/answers-full" -I "$root/include" "$build/libsparc.so" \
  "-Wl,-rpath,$build" -lm
"$CC" "${flags[@]}" "$root/examples/embed.c" -o "$work/embed" "${small[@]}"
readelf --dynamic "$work/answers" | grep -q 'NEEDED.*libsparc\.so\.0' || fail "answers does not use the library"

mkdir "$work/documented"
cd "$work/documented"
awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$root/docs/embedding.md" >program.c
line=$(grep -m 1 -o 'cc .*program\.c.*$(pkg-config [^)]*)' "$root/docs/embedding.md") || fail "no documented line"
cc() { command "$CC" "${flags[@]}" "$@"; }
pkg-config() { command "$PKG_CONFIG" "$@"; }
eval "$line" || fail "this line of docs/embedding.md fails: $line"

# ---- models of every cell: classes, a number for a series, a number for every step -----------------------
awk 'BEGIN { srand(3); for (i = 0; i < 30; i++) { for (t = 0; t < 20; t++) printf "%.4f,", sin(t * (1 + i % 3)) + rand()
  print substr("xyz", 1 + i % 3, 1) } }' >"$work/classes.csv"
awk 'BEGIN { srand(4); for (i = 0; i < 30; i++) { a = rand(); for (t = 0; t < 20; t++) printf "%.4f,", a * sin(t)
  print a } }' >"$work/numbers.csv"
awk 'BEGIN { print "t,a,b"; for (t = 0; t < 300; t++) printf "%d,%.4f,%.4f\n", t, sin(t / 5), cos(t / 3) }' \
  >"$work/path.csv"

compared=avx2
case $(uname -m) in
x86_64) "$SPARC" info | grep -q '^kernels.*avx2' || compared=plain ;;
aarch64 | arm64) compared=neon ;;
*) compared=baseline ;;
esac

# agrees FILE FILE TOLERANCE: the same words, and numbers that differ by the tolerance at most
agrees() {
  paste -d '\n' "$1" "$2" | awk -v most="$3" '
    NR % 2 { n = split($0, a, /[ ,]/); next }
    { if (split($0, b, /[ ,]/) != n) { print "lines differ: " $0; exit 1 }
      for (i = 1; i <= n; i++) if (a[i] != b[i]) {
        d = a[i] - b[i]; d = d < 0 ? -d : d
        if (a[i] !~ /^[-+.0-9e]+$/ || !(d <= most)) { print a[i] " and " b[i] " in " $0; exit 1 } } }'
}

# judge MODEL OPTION...: both libraries say the same of a model
judge() {
  SPARC_KERNEL=$compared "$work/answers-full" "$@" >"$work/full"
  SPARC_KERNEL=$compared "$work/answers" "$@" >"$work/small"
  if [ "$compared" != plain ]; then cmp "$work/full" "$work/small" || fail "$*: not the same bits with $compared"; fi
  # without kernels the full library has a BLAS, and sums in another order
  SPARC_KERNEL=plain "$work/answers-full" "$@" >"$work/full"
  SPARC_KERNEL=plain "$work/answers" "$@" >"$work/small"
  agrees "$work/full" "$work/small" 2e-5 || fail "$*: not the same numbers without kernels"
}

for cell in sparc rtu lru rglru gateloop mamba3 gru; do
  quietly "$SPARC" train "$work/classes.csv" -c $cell -L 2 -w 8 -H 8 -n 6 -o "$work/$cell-classes"
  quietly "$SPARC" train "$work/numbers.csv" --objective regress -c $cell -L 0 -H 8 -n 6 -o "$work/$cell-numbers"
  quietly "$SPARC" train "$work/path.csv" --objective forecast --time t -c $cell -L 1 -w 8 -H 8 -n 6 -o "$work/$cell-steps"
  judge "$work/$cell-classes/best.safetensors"
  judge "$work/$cell-numbers/best.safetensors"
  judge "$work/$cell-steps/best.safetensors" --steps
done
for variant in phase-only retention-only no-phase-clock static-phase-clock static-transition neutral-gate \
  fixed-normalization linear-content unshared-control; do
  quietly "$SPARC" train "$work/classes.csv" --variant $variant -L 0 -H 8 -n 6 -o "$work/$variant"
  judge "$work/$variant/best.safetensors"
done

# the example and the documented program against the tool, step by step
model=$work/sparc-classes/best.safetensors
awk 'BEGIN { for (t = 0; t < 30; t++) print sin(t / 4) }' >"$work/values"
SPARC_KERNEL=$compared "$SPARC" predict "$model" - --follow <"$work/values" | tail -n +2 | cut -d, -f2- >"$work/tool"
SPARC_KERNEL=$compared "$work/embed" "$model" "$work/values" | tr ' ' ',' >"$work/example"
agrees "$work/tool" "$work/example" 1e-6 || fail "the example and sparc predict --follow differ"
[ "$(wc -l <"$work/example")" = 30 ] || fail "the example has answered $(wc -l <"$work/example") steps"
LD_LIBRARY_PATH="$work/prefix/$libdir" ./a.out "$model" <"$work/values" | awk '{ print $1 }' >"$work/documented.out"
cut -d, -f1 "$work/tool" | cmp - "$work/documented.out" || fail "the documented program says something else"

# ---- files that are no models ----------------------------------------------------------------------------
for cell in sparc mamba3; do "$work/answers" "$work/$cell-classes/best.safetensors" --damage; done
refused() {
  if "$work/embed" "$1" </dev/null 2>"$work/err"; then fail "$1 was taken for a model"; fi
  grep -qF "$2" "$work/err" || { cat "$work/err"; fail "$1: the sentence does not say: $2"; }
}
head -c 100 "$model" >"$work/cut"
refused "$work/cut" "exceeds the 92 bytes that follow it"
refused "$work/classes.csv" "exceeds the limit"
refused "$root/tests/vectors/gru.safetensors" "is not a checkpoint"
refused "$work/nothing" "No such file"
echo "the same answers of every cell"
