#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# paper_recipe.sh: --recipe paper trains as it did when it was the only one. tests/checkpoints/paper-recipe.safetensors was
# written by the command below at commit 9917925, before length, division and noise followed from the data. The plain
# kernels are C alone: with the same C library their bits do not depend on machine and compiler, with another one numbers
# agree to rounding.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"
unset SPARC_DATA
cd "$scratch"
old=$SPARC_SOURCE_DIR/tests/checkpoints/paper-recipe.safetensors

awk 'BEGIN {
  for (i = 0; i < 60; i++) {
    for (t = 0; t < 12; t++) printf "%.4f,", sin(0.3 * t * (1 + i % 3) + i) + (i * 7 + t * 5) % 11 / 40
    print "c" i % 3
  }
}' >rows.csv
export SPARC_KERNEL=plain
expect 0 train rows.csv --recipe paper --layers 2 --width 8 --state-size 8 --batch 8 --updates 12 --seed 3 --threads 1 --quiet --out run

# the numbers of a safetensors file, without the header that names them
tensors() { tail -c "+$(($(od -An -tu8 -N8 "$1") + 9))" "$1"; }
tensors run/last.safetensors >new.bin
tensors "$old" >old.bin
[ "$(wc -c <old.bin)" -gt 5000 ] || fail "the old checkpoint has no tensors"
[ "$(wc -c <new.bin)" = "$(wc -c <old.bin)" ] || fail "other tensors than before: $(wc -c <new.bin) bytes, $(wc -c <old.bin) before"
if [ "$(uname -m) $(getconf GNU_LIBC_VERSION 2>/dev/null)" = "x86_64 glibc 2.36" ] && grep -qw fma /proc/cpuinfo; then
  cmp new.bin old.bin || fail "--recipe paper trains other bits than before"
fi
paste <(od -An -v -w4 -tf4 new.bin) <(od -An -v -w4 -tf4 old.bin) |
  awk '{ d = $1 - $2; if (d < 0) d = -d; m = $2 < 0 ? -$2 : $2; if (!(d <= 1e-4 * m + 1e-6)) exit 1 }' ||
  fail "--recipe paper trains other numbers than before"

# a default would not: the test distinguishes the recipes
expect 0 train rows.csv --recipe small --layers 2 --width 8 --state-size 8 --batch 8 --updates 12 --seed 3 --threads 1 --quiet --out other
tensors other/last.safetensors | cmp -s - old.bin && fail "another recipe trains the same bits"
exit 0
