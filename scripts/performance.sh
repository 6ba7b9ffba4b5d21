#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# performance.sh [FOLDER [PART...]]: measures what docs/performance.md speaks of, draws it, and renews its table.
#
# Leaves logs (.txt, .jsonl) and figures (.svg) in FOLDER, below a fresh name until all of it is done; by default that is
# the folder of this machine and set of kernels, docs/performance/MACHINE-KERNELS, and the table is renewed where it is
# the one that the page shows. Takes some ten minutes on an otherwise idle machine. With PARTs (limits, goals, growth, problems, threads,
# kernels) only these are measured again, beside what FOLDER has of the same machine and version. SPARC names the tool,
# build/release/sparc by default; PYTHON an interpreter, python3 by default, whose PyTorch joins the goals if it has one;
# QUICK=1 gives a look in a minute instead of a result.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

sparc=${SPARC:-build/release/sparc}
# machine_name: processor and kernels as a name for a folder, for example intel-xeon-avx512
machine_name() {
  "$sparc" info | awk '
    $1 == "cpu" { $1 = ""; gsub(/\([A-Za-z]*\)|Processor|CPU|@.*|[0-9]+-Core/, ""); cpu = tolower($0) }
    $1 == "kernels" { kernels = $2 }
    END { gsub(/[^a-z0-9]+/, "-", cpu); gsub(/^-|-$/, "", cpu); print cpu "-" kernels }'
}
shown=$(scripts/performance-table.sh folder)
all_parts=(limits goals growth problems threads kernels)
parts=("${@:2}")
[ $# -gt 1 ] || parts=("${all_parts[@]}")
for part in "${parts[@]}"; do
  if [[ " ${all_parts[*]} " != *" $part "* ]]; then
    echo "${0##*/}: unknown part '$part', expected one of: ${all_parts[*]}" >&2
    exit 2
  fi
done
columns=(awk -f scripts/json-columns.awk)
if [ ! -x "$sparc" ]; then
  echo "${0##*/}: $sparc is not there; make build makes it, or set SPARC" >&2
  exit 2
fi
folder=${1:-docs/performance/$(machine_name)}
mkdir -p "$(dirname "$folder")"
new=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$new"' EXIT
chmod 755 "$new"

if [ "${QUICK:-0}" = 1 ]; then
  options=(--quick --seconds 0.2) goals_seconds=0.2 steps=(64 256 1024) streams=(1 4 16) widths=(64 256 1024) long=256
else
  options=(--seconds 0.5) goals_seconds=2 steps=(64 256 1024 4096 16384) streams=(1 2 4 8 16 32)
  widths=(64 128 256 512 1024 2048) long=2048
fi

# progress TEXT: prints the current stage on standard error
progress() { printf '%s: %s (%d s)\n' "${0##*/}" "$1" "$SECONDS" >&2; }

# bench FILE ARGUMENT...: a run of `sparc bench` into a file. A missed goal (status 1) is a result, and is in the file.
bench() {
  local file=$new/$1 status=0
  shift
  "$sparc" bench "${options[@]}" "$@" >>"$file" || status=$?
  [ "$status" -le 1 ] || exit "$status"
}

# cells B T D: the four mixers that the figures compare
cells() {
  local shape=B$1:T$2:D$3 block=$(($3 < 128 ? $3 : 128))
  echo "mixer:$shape:noproj:pieces mixer:$shape:noproj:pieces:cell=rglru:block=$block"
  echo "mixer:$shape:pieces mixer:$shape:pieces:cell=rglru:block=$block"
}

# ---- logs ---------------------------------------------------------------------------------------

measure_limits() { bench limits.txt limits; }

# several competitors share the time of a goal, and its minima decide
measure_goals() {
  local status=0
  bench goals.jsonl --json --seconds "$goals_seconds" goals
  bench goals.jsonl --json train
  [ "${QUICK:-0}" != 1 ] || return 0
  progress PyTorch
  "${PYTHON:-python3}" scripts/torch-rival.py "$sparc" >>"$new/goals.jsonl" || status=$?
  case $status in
  0 | 1 | 77) ;; # all reached, one missed, no PyTorch
  *) exit "$status" ;;
  esac
}

measure_growth() { bench growth.jsonl --json growth; }

# time against T, B and width
measure_problems() {
  local T B D problems
  mapfile -t problems < <({
    for T in "${steps[@]}"; do cells 4 "$T" 512; done
    for B in "${streams[@]}"; do cells "$B" 512 512; done
    for D in "${widths[@]}"; do cells 4 $((long / 4)) "$D"; done
  } | tr ' ' '\n' | sort -u)
  bench problems.jsonl --json "${problems[@]}"
}

measure_threads() {
  local n threads=() problems
  for ((n = 1; n < $(nproc); n *= 2)); do threads+=("$n"); done
  threads+=("$(nproc)")
  mapfile -t problems < <(cells 4 "$long" 512 | tr ' ' '\n')
  for n in "${threads[@]}"; do
    bench threads.jsonl --json --threads "$n" "${problems[@]}" "scan:B8:T$long:H512:inplace" "fused:B8:T$long:H512"
  done
}

measure_kernels() {
  bench kernels.jsonl --json --threads 1 "scan:B8:T$long:H512:inplace" "scan:B8:T$long:H512:inplace:cell=rglru" \
    "fused:B8:T$long:H512" "fused:B8:T$long:H1024:cell=rglru" "mixer:B4:T$long:D512:noproj:pieces" \
    "mixer:B4:T$long:D512:pieces" "bf16:B4:T$long:D512" sgemm:M8192:N512:K512 sgemm:M32768:N64:K64 \
    sgemm:M64:N64:K32768:ta step:H64:D64 rtrl:H64:D64 rtrl:H512:D512
}

"$sparc" info >"$new/machine.txt"
if [ $# -gt 1 ]; then
  if ! cmp -s "$new/machine.txt" "$folder/machine.txt"; then
    echo "${0##*/}: $folder has no log of this machine and version that a part could join" >&2
    exit 2
  fi
  cp "$folder"/*.txt "$folder"/*.jsonl "$new"
fi
for part in "${parts[@]}"; do
  progress "$part"
  rm -f "$new/$part.txt" "$new/$part.jsonl"
  "measure_$part"
done

# ---- tables -------------------------------------------------------------------------------------

keys="growth axis B T H mode_steps seconds ns_per_mode_step deviation memory_bytes memory_measured_bytes"
"${columns[@]}" -v keys="$keys" "$new/growth.jsonl" | awk -F '\t' '
  BEGIN { head = "%-6s %4s %7s %7s %7s %11s %11s %8s %9s %13s %13s\n"
    printf head, "what", "axis", "B", "T", "H", "mode-steps", "us", "ns/mode", "to line", "bytes", "measured" }
  { printf head, $1, $2, $3, $4, $5, sprintf("%.0f", $6), sprintf("%.2f", 1e6 * $7), sprintf("%.3f", $8),
      sprintf("%+.1f%%", 100 * $9), sprintf("%.0f", $10), $11 == "-" ? "-" : sprintf("%.0f", $11) }' >"$new/growth.txt"

# what was measured outlives a figure that cannot be drawn
trap 'progress "not finished: partial results are in $new"' EXIT

# ---- figures ------------------------------------------------------------------------------------

if ! command -v gnuplot >/dev/null; then
  progress "no gnuplot, so no figures"
else
  points=$new/points
  mkdir "$points"

  # series NAME FILE KEY STAGE FILTER: "x seconds" of the problems that the filter, an awk pattern of the problem's text
  # p, lets through; x is the number after the key, or the number of threads
  series() {
    "${columns[@]}" -v keys="problem stage threads seconds" "$new/$2" | awk -F '\t' -v key="$3" -v stage="$4" '
      { p = $1 }
      $2 == stage && ('"$5"') {
        x = $3
        if (key != "threads") { match(p, ":" key "[0-9]+"); x = substr(p, RSTART + 2, RLENGTH - 2) }
        print x, $4
      }' | sort -n >"$points/$1"
  }

  # mixers KEY FILE SHAPE: the four mixers over a key
  mixers() {
    local both=forward+backward
    series "$1-sparc" "$2" "$1" $both "p ~ /$3:noproj:pieces\$/"
    series "$1-rglru" "$2" "$1" $both "p ~ /$3:noproj:pieces:cell=rglru/"
    series "$1-sparc-dense" "$2" "$1" $both "p ~ /$3:pieces\$/"
    series "$1-rglru-dense" "$2" "$1" $both "p ~ /$3:pieces:cell=rglru/"
  }
  mixers T problems.jsonl '^mixer:B4:T[0-9]+:D512'
  mixers B problems.jsonl '^mixer:B[0-9]+:T512:D512'
  mixers D problems.jsonl "^mixer:B4:T$((long / 4)):D[0-9]+"
  mixers threads threads.jsonl '^mixer:B4:T[0-9]+:D512'
  series threads-scan threads.jsonl threads forward 'p ~ /^scan:/'
  series threads-fused threads.jsonl threads forward 'p ~ /^fused:/'
  for key in T D; do
    join "$points/$key-sparc" "$points/$key-rglru" >"$points/$key-ratio" 2>/dev/null || true
    join "$points/$key-sparc-dense" "$points/$key-rglru-dense" >"$points/$key-ratio-dense" 2>/dev/null || true
  done
  "${columns[@]}" -v keys="growth axis mode_steps seconds line_seconds deviation memory_bytes memory_measured_bytes" \
    "$new/growth.jsonl" |
    awk -F '\t' -v points="$points" '{ print $3, $4, $5, 100 * $6, $7, $8 >(points "/growth-" $1 "-" $2) }'
  # the part of each limit that a kernel reaches; the sweeps that serve as limits themselves are left out
  "${columns[@]}" -v keys="problem stage of_copy of_peak" "$new/kernels.jsonl" | awk -F '\t' '
    $2 !~ /^(stream|copy|float)/ && ($3 != "-" || $4 != "-") {
      gsub(/:pieces|:inplace/, "", $1)
      printf "\"%s, %s\"\t%s\t%s\n", $1, $2, $3 == "-" ? 0 : 100 * $3, $4 == "-" ? 0 : 100 * $4 }' >"$points/limit"
  gnuplot -e "points = '$points'; folder = '$new'; wide = $((long / 4))" scripts/performance.gnuplot
  rm -r "$points"
fi

mkdir -p "$folder"
mv -f "$new"/* "$folder"
trap 'rm -rf "$new"' EXIT
[ "$folder" != "$shown" ] || scripts/performance-table.sh write
progress "done: $folder"
