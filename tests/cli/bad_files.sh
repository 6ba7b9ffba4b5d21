#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# bad_files.sh: every kind of broken file in every format, through every command that reads data. Each gives exit code 3
# and a message that starts with the file and, in text, the line; nothing is printed and no run begins.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"
unset SPARC_DATA

cd "$scratch"
awk 'BEGIN {
  srand(9)
  for (i = 0; i < 40; i++) {
    printf "%s", i % 2 ? "up" : "down"
    for (t = 0; t < 8; t++) printf "\t%.3f", (i % 2 ? t : -t) + rand()
    print ""
  }
}' >good.tsv
small=(--layers 1 --width 4 --modes 4 --updates 5 --batch 4 --quiet)
expect 0 train good.tsv "${small[@]}" --out words
sed 's/^down/0/; s/^up/1/' good.tsv >digits.tsv
expect 0 train digits.tsv "${small[@]}" --out digits
model=words/best.safetensors

# refused FILE PLACE WHAT [OPTION...]: PLACE is what follows the name of the file in the message. Options are for `data`
# alone, which is then the only command that can read such a file.
refused() {
  local file=$1 place=$2 what=$3 command
  shift 3
  for command in data train eval predict; do
    case $command in
    data) expect 3 data "$@" "$file" ;;
    train) expect 3 train "$file" --out bad-run ;;
    *) expect 3 $command $model "$file" ;;
    esac
    [ "$(wc -l <err)" = 1 ] || fail "$command $file: not one message"
    complains "sparc $command: $file$place"
    complains "$what"
    no_output
    [ ! -e bad-run ] || fail "a run begins with $file"
    [ $# = 0 ] || break
  done
}

# little-endian and big-endian float32 numbers, and whole numbers of IDX
nan32='\0\0\xc0\x7f'
one32='\0\0\x80\x3f'
idx_nan='\x7f\xc0\0\0'
npy() { # DESCR SHAPE ELEMENTS
  local header="{'descr': '$1', 'fortran_order': False, 'shape': $2, }"
  printf '\x93NUMPY\x01\0'
  # shellcheck disable=SC2059
  printf "\\x$(printf %02x ${#header})\\0%s$3" "$header"
}
garbage() { head -c 4096 "$SPARC"; }

# ---- the same faults in every text format
for format in tsv txt csv ts; do
  file=bad.$format
  case $format in
  tsv) lines=('up\t1\t2\t3' 'down\t4\t5\t6') short='up\t1\t2' nan='up\tNaN\tNaN\tNaN' word='up\t1\tx\t3' first=1 ;;
  txt) lines=('up 1 2 3' 'down 4 5 6') short='up 1 2' nan='up NaN NaN NaN' word='up 1 x 3' first=1 ;;
  csv) lines=('1,2,3,up' '4,5,6,down') short='1,2,up' nan='?,NaN,,up' word='1,x,3,up' first=1 ;;
  ts) lines=('1,2,3:up' '4,5,6:down') short='1,2:up' nan='?,?,NaN:up' word='1,x,3:up' first=5 ;;
  esac
  header=''
  length='2 values, expected 3 as in line 1'
  [ $format != csv ] || length='3 fields, expected 4 as in the first row'
  [ $format != ts ] || length='2 steps after 3 in line 5, but line 2 says @equalLength true'
  [ $format != ts ] || header='@problemName bad\n@equalLength true\n@classLabel true down up\n@data\n'
  good=${lines[0]}'\n'${lines[1]}'\n'
  third=$((first + 2))

  # empty, and nothing but blank lines
  : >$file
  refused $file ":1: " "the file is empty"
  printf '\n\n' >$file
  refused $file ":" "" # any line will do
  # truncated in the middle of a row, and mixed lengths
  printf %b "$header$good${short}" >$file
  refused $file ":$third: " "$length"
  printf %b "$header$good${short}\n${lines[0]}\n" >$file
  refused $file ":$third: " "$length"
  # values that are no numbers, not finite, or not there
  printf %b "$header$good${word}\n" >$file
  refused $file ":$third: " "'x'"
  printf %b "$header$good${word/x/1e99}\n" >$file
  refused $file ":$third: " "1e99"
  printf %b "$header$good${word/x/inf}\n" >$file
  refused $file ":$third: " "inf"
  printf %b "$header$good${nan}\n" >$file
  refused $file ":$third: " "missing"
  # labels that are not text; binary garbage
  printf %b "$header$good${lines[0]/up/\\xff\\xfe}\n" >$file
  refused $file ":$third: " "UTF-8"
  garbage >$file
  refused $file ":1: " "byte 0x7f in column 1, expected text"
  # packed, and the pack is cut or damaged
  printf %b "$header$good" | gzip >whole.gz
  head -c -6 whole.gz >$file.gz
  refused $file.gz ": " "the gzip data is truncated"
  { head -c 10 whole.gz && garbage; } >$file.gz
  refused $file.gz ": " "the gzip data is damaged near byte"
  printf %b "$header$good${word}\n" | gzip >$file.gz
  refused $file.gz ":$third: " "'x'"
done

# ---- what only one text format has
printf '@classLabel true down up\n@data\n1,2:up\n1,2:left\n' >bad.ts
refused bad.ts ":4: " "the label is 'left', expected one of down, up"
printf '@classLabel true down up\n' >bad.ts
refused bad.ts ":1: " "the file ends without @data"
printf '@classLabel true down up\n@data\n' >bad.ts
refused bad.ts ":2: " "no series after @data"
printf '1,2,up\n"3,4,up\n' >bad.csv
refused bad.csv ":2: " "the quote that opens here is never closed"

# ---- labels unknown to the model
printf 'up\t1\t2\ndown\t1\t2\nleft\t1\t2\n' >unknown.tsv
printf '1,2,up\n1,2,down\n1,2,left\n' >unknown.csv
printf '@classLabel true left up\n@data\n1,2:up\n1,2:left\n' >unknown.ts
for command in eval predict; do
  for format in tsv csv ts; do
    expect 3 $command $model unknown.$format
    grep -Eq "^sparc $command: unknown\.$format:[0-9]+: .*'?left'?.*, expected one of down, up" err ||
      fail "$command unknown.$format: $(cat err)"
    no_output
  done
done

# ---- NumPy
: >bad.npy
refused bad.npy ":1: " "the file is empty"
npy '<f4' '(2, 2)' "$one32$one32$one32$one32" >whole.npy
expect 0 data --unlabelled whole.npy
for bytes in 5 9 40; do
  head -c $bytes whole.npy >bad.npy
  refused bad.npy ": " ""
done
head -c -2 whole.npy >bad.npy
refused bad.npy ": " "the file is truncated"
npy '<f4' '(3, 2)' "$one32$one32$one32$one32" >bad.npy
refused bad.npy ": " "expected 24 for shape [3, 2]: the file is truncated"
npy '<f4' '(2, 2)' "$one32$one32$nan32$nan32" >bad.npy
refused bad.npy ": example 2: " "all 2 values are missing"
npy '<f4' '(2, 2)' "$one32$one32\\0\\0\\x80\\x7f$one32" >bad.npy
refused bad.npy ": example 2: " "value 1 is inf"
npy '<c8' '(1, 1)' "$one32$one32" >bad.npy
refused bad.npy ": " "the element type is '<c8'"
garbage >bad.npy
refused bad.npy ": " "does not start with the magic of a NumPy file"
npy '<i4' '(3,)' '\0\0\0\0\x01\0\0\0\0\0\0\0' >labels.npy
expect 3 data --labels labels.npy whole.npy
complains "sparc data: labels.npy: labels of shape [3], expected [2] for the examples of whole.npy"
npy '<f4' '(2,)' "$one32\\0\\0\\0\\x3f" >labels.npy
expect 3 data --labels labels.npy whole.npy
complains "sparc data: labels.npy: example 2: the label is 0.5, expected a whole number"

# ---- IDX, with its labels in the file beside it
labels='bad-labels-idx1-ubyte'
images='bad-images-idx3-ubyte'
model=digits/best.safetensors
printf '\0\0\x08\x01\0\0\0\x02\x00\x01' >$labels
: >$images
refused $images ":1: " "the file is empty"
printf '\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x02abcd' >whole
cp whole $images
expect 0 data $images
for bytes in 3 10; do
  head -c $bytes whole >$images
  refused $images ": " "too few"
done
head -c -1 whole >$images
refused $images ": " "expected 4 for shape [2, 1, 2]: the file is truncated"
{ cat whole && printf x; } >$images
refused $images ": " "the file is too long"
printf '\0\0\x0d\x03\0\0\0\x02\0\0\0\x01\0\0\0\x01%b' "\\x3f\\x80\\0\\0$idx_nan" >$images
refused $images ": example 2: " "all 1 values are missing"
garbage >$images
refused $images ": " "the first bytes are 7f 45, expected 00 00 of an IDX file"
cp whole $images
wrong_labels() { # PLACE WHAT
  local command
  for command in "data" "train --out bad-run" "eval $model" "predict $model"; do
    # shellcheck disable=SC2086
    expect 3 $command $images
    complains "$labels$1"
    complains "$2"
    no_output
  done
}
: >$labels
wrong_labels ": " "0 bytes are too few"
printf '\0\0\x08\x01\0\0\0\x03\x00\x01\x02' >$labels
wrong_labels ": " "labels of shape [3], expected [2]"
printf '\0\0\x08\x01\0\0\0\x03\x00' >$labels
wrong_labels ": " "the file is truncated"
printf '\0\0\x0d\x01\0\0\0\x02\0\0\0\0\0\0\0\0' >$labels
wrong_labels ": " "the labels are real numbers, expected whole ones"
garbage >$labels
wrong_labels ": " "the first bytes are 7f 45"
# two classes, one of them unknown to the model
printf '\0\0\x08\x01\0\0\0\x02\x01\x07' >$labels
for command in eval predict; do
  expect 3 $command $model $images
  complains "$labels: example 2: the label is '7', expected one of 0, 1"
done

# ---- CIFAR-10
: >bad.bin
refused bad.bin ":1: " "the file is empty"
head -c 3073 /dev/zero >record
{ cat record && head -c 100 record; } >bad.bin
refused bad.bin ": " "3173 bytes, expected a multiple of 3073"
{ cat record && printf '\x0a' && head -c 3072 /dev/zero; } >bad.bin
refused bad.bin ": example 2: " "the label is 10, expected 0 to 9"
garbage >bad.bin
refused bad.bin ": " "4096 bytes, expected a multiple of 3073"
{ cat record && printf '\x09' && head -c 3072 /dev/zero; } >bad.bin
for command in eval predict; do
  expect 3 $command $model bad.bin
  complains "bad.bin: example 2: the label is '9', expected one of 0, 1"
done

model=words/best.safetensors

# ---- a sound training file with a broken test file beside it
cp good.tsv pair_TRAIN.tsv
printf 'up\t1\t2\t3\t4\t5\t6\t7\t8\nup\t1\n' >pair_TEST.tsv
for command in "data" "train --out bad-run" "eval $model --part test"; do
  # shellcheck disable=SC2086
  expect 3 $command pair_TRAIN.tsv
  complains "pair_TEST.tsv:2: 1 values, expected 8 as in line 1"
done
[ ! -e bad-run ] || fail "a run begins without its test part"

# ---- models and vectors that are none
for bytes in 0 7 200; do
  head -c $bytes $model >bad.safetensors
  for command in eval predict; do
    expect 3 $command bad.safetensors good.tsv
    complains "bad.safetensors"
    no_output
  done
done
garbage >bad.safetensors
for command in eval predict; do
  expect 3 $command bad.safetensors good.tsv
  complains "bad.safetensors"
  expect 3 $command "$vectors/lru.safetensors" good.tsv
  complains "is not a checkpoint"
done
