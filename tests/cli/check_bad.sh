#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check_bad.sh: `sparc check` on vectors that are wrong: one perturbed number fails with 1, a malformed file with 3.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

full=$vectors/sparc-full.safetensors
copy=$scratch/copy.safetensors

# with the first number of any tensor replaced, the check fails
mapfile -t tensors < <("$SPARC" info --json "$full" | grep -o '"name":"[^"]*"' | cut -d'"' -f4)
[ "${#tensors[@]}" = 34 ] || fail "${#tensors[@]} tensors in $full"
for tensor in "${tensors[@]}"; do
  [ "$tensor" = mask ] && continue
  cp "$full" "$copy"
  overwrite "$copy" "$tensor" "$thousand"
  expect 1 check --quiet "$copy"
  no_complaint
  case $tensor in
  out | grad.* | trace.*) grep -q " $tensor .* FAIL$" "$scratch/out" || fail "not $tensor is blamed" ;;
  *) grep -q ' out .* FAIL$\| grad\..* FAIL$' "$scratch/out" || fail "a wrong $tensor goes unnoticed" ;;
  esac
done
overwrite "$copy" out "$thousand"
expect 1 check --quiet --double "$copy"

# a flipped mask changes the results; anything but 0 and 1 is refused
cp "$full" "$copy"
first=$(od -An -tfD -j $(($(data_start "$copy") + $(tensor_offset "$copy" mask))) -N8 "$copy" | tr -d ' ')
if [ "$first" = 1 ]; then overwrite "$copy" mask "$zero"; else overwrite "$copy" mask "$one"; fi
expect 1 check --quiet "$copy"
overwrite "$copy" mask "$half"
expect 3 check --quiet "$copy"
complains "$copy: tensor 'mask' holds 0.5 at element 0, expected 0 or 1"

# numbers that are not finite, inputs or expected, and numbers beyond float
for tensor in x state0 cot param.log_decay out grad.x trace.log_gain; do
  for value in "$nan" "$infinity"; do
    cp "$full" "$copy"
    overwrite "$copy" $tensor "$value"
    expect 3 check "$copy"
    complains "$copy: tensor '$tensor' holds"
  done
done
cp "$full" "$copy"
overwrite "$copy" x "$huge"
expect 3 check "$copy"
complains "expected finite numbers up to 3.4e+38"

# results that are not numbers pass at no tolerance: the largest double as a state overflows on the way
cp "$full" "$copy"
overwrite "$copy" state0 '\xff\xff\xff\xff\xff\xff\xef\x7f'
expect 1 check --double --json --tolerance 1e300 "$copy"
grep -q '"e_abs":null,"e_norm":null,.*"ok":false' "$scratch/out" || fail "no result is null"
if grep -q 'null.*"ok":true' "$scratch/out"; then fail "a result that is no number passes"; fi
expect 1 check --double --tolerance 1e300 "$copy"
grep -q ' nan  *nan  FAIL$' "$scratch/out" || fail "a NaN is not shown"

# files that are not there, or are something else
malformed() {
  expect 3 check "$1"
  complains "$2"
  prints "0 tensors compared in 0 files, 0 beyond tolerance"
}
malformed "$scratch/missing.safetensors" "cannot open '$scratch/missing.safetensors': No such file or directory"
malformed "$scratch" "cannot open '$scratch': it is a directory"
malformed '' "cannot open ''"
: >"$copy"
malformed "$copy" "$copy: 0 bytes are too few for a safetensors file"
head -c 5000 /dev/zero >"$copy"
malformed "$copy" "$copy: "
echo 'This is a text file, not a safetensors file.' >"$copy"
malformed "$copy" "$copy: "
for bytes in 4 8 500 2719 10000; do
  head -c $bytes "$full" >"$copy"
  malformed "$copy" "$copy: "
done
head -c -1 "$full" >"$copy"
malformed "$copy" "$copy: "
{ cat "$full"; printf x; } >"$copy"
malformed "$copy" "$copy: 1 trailing bytes"

# sound safetensors files that are no vectors: a header edited without changing its length
edited() {
  LC_ALL=C sed "s/$1/$2/" "$full" >"$copy"
  cmp -s "$full" "$copy" && fail "the edit $1 does nothing"
  malformed "$copy" "$copy: $3"
}
edited '"cell":"sparc"' '"cell":"spark"' "metadata: unknown cell kind 'spark'; did you mean 'sparc'?"
edited '"cell"' '"sell"' "metadata has no 'cell', so this is no vector file"
edited '"B":"2"' '"B":"0"' "metadata 'B' is '0', expected a whole number of at least 1"
edited '"T":"19"' '"T":"1x"' "metadata 'T' is '1x', expected a whole number of at least 1"
edited '"T":"19"' '"T":"-3"' "metadata 'T' is '-3', expected a whole number of at least 1"
edited '"T":"19"' '"T":"18"' "tensor 'x' has shape [2,19,5], expected [2,18,5]"
edited '"D":"5"' '"D":"6"' "tensor 'x' has shape [2,19,5], expected [2,19,6]"
edited '"H":"7"' '"H":"8"' "tensor 'cot' has shape [2,19,14], expected [2,19,16]"
edited '"H":"7"' '"h":"7"' "metadata has no 'H'"
edited '"variant":"full"' '"variant":"fukl"' "metadata: unknown variant 'fukl'; did you mean 'full'?"
edited '"variant":"full"' '"varient":"full"' "metadata: unknown option 'varient'; did you mean 'variant'?"
edited '"variant":"full"' '"variant":"f,ll"' "metadata 'variant' is 'f,ll', expected an option of the cell"
edited '"grad.x"' '"grad.y"' "there is no tensor 'grad.x'"
edited '"state0"' '"state1"' "there is no tensor 'state0'"
edited '"param.log_gain"' '"param.log_gaim"' "there is no tensor 'param.log_gain'"
edited '"trace.log_gain"' '"trace.log_gaim"' "tensor 'trace.log_gaim' does not belong to a vector of cell sparc"
edited '"shape":\[2,7,6\]' '"shape":[2,6,7]' "tensor 'trace.ctrl_retention' has shape [2,6,7], expected [2,7,6]"
edited '"dtype":"F64"' '"dtype":"I64"' "tensor 'x' has dtype I64, expected F64, F32 or BF16"

# a bad file among good ones: the others are still checked, and 3 outweighs 1
head -c 500 "$full" >"$scratch/bad.safetensors"
cp "$full" "$copy"
overwrite "$copy" out "$thousand"
expect 3 check "$scratch/bad.safetensors" "$full"
complains "sparc check: $scratch/bad.safetensors: "
prints "92 tensors compared in 1 files, 0 beyond tolerance"
expect 3 check --quiet "$copy" "$scratch/bad.safetensors" "$full"
prints "184 tensors compared in 2 files, 8 beyond tolerance"
