# SPDX-License-Identifier: MIT
# ranks.bash: what the tests of several ranks share: the launcher, and kills at random moments. To be sourced after
# common.bash.
# shellcheck shell=bash
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # containers
export OMPI_MCA_btl_vader_single_copy_mechanism=none
launch=(mpirun)
if command -v mpirun >/dev/null && mpirun --version | grep -q 'Open MPI'; then
  launch+=(--oversubscribe --bind-to none --quiet)
fi

# no_ranks: why there are none here; nothing: there are
no_ranks() {
  if ! command -v mpirun >/dev/null; then
    echo "mpirun is not installed"
  elif [ ! -e "$(dirname "$SPARC")/sparc-mpi.so" ]; then
    echo "sparc was built without MPI"
  elif [ -n "${SPARC_SANITIZE:-}" ]; then
    echo "MPI and a sanitizer do not go together"
  fi
}

# on N ARGUMENT...: the tool on N ranks
on() {
  local ranks=$1
  shift
  timeout 200 "${launch[@]}" -n "$ranks" "$SPARC" "$@"
}

# threads_or N: the numbers of threads to try, or N
threads_or() { if [ -n "${SPARC_ALL:-}" ]; then echo 1 2; else echo "$1"; fi; }

same() { cmp "$1" "$2" || fail "$1 and $2 differ"; }

# long_run FOLDER OPTION N COMMAND...: runs the command with OPTION N in a plain process, N doubled until the run takes two
# seconds, so that signals and kills reach it before its end on a fast machine, too. Leaves the command in `long`.
long_run() {
  local folder=$1 option=$2 length=$3 begun
  shift 3
  while true; do
    long=("$@" "$option" "$length")
    begun=${EPOCHREALTIME/./}
    "$SPARC" "${long[@]}" --out "$folder" --force >/dev/null
    if [ $((${EPOCHREALTIME/./} - begun)) -ge 2000000 ]; then return 0; fi
    length=$((2 * length))
  done
}

# ranks_of OUT: the processes whose run has this folder; those of a test beside this one work in another directory
ranks_of() {
  local pid
  for pid in $(pgrep -f -- "^$SPARC (train|rl) .*--out $1 --resume-or-create"); do
    if [ "$(readlink "/proc/$pid/cwd")" = "$(pwd -P)" ]; then echo "$pid"; fi
  done
}

# start N OUT COMMAND...: a run on N ranks in the background, which continues the one that is there; returns when there is a
# checkpoint or the run is over. Leaves launcher.
start() {
  local ranks=$1 folder=$2 _
  shift 2
  timeout 200 "${launch[@]}" -n "$ranks" "$SPARC" "$@" --out "$folder" --resume-or-create >out 2>err &
  launcher=$!
  for _ in $(seq 2000); do
    if [ -s "$folder/last.safetensors" ] && [ -n "$(ranks_of "$folder")" ]; then return 0; fi
    if ! kill -s 0 $launcher 2>/dev/null; then return 0; fi
    sleep 0.05
  done
}

# stop_rank SIGNAL OUT COMMAND...: a new run on two ranks, one of which gets the signal; a run that ended before it came is
# begun anew. Leaves the launcher's exit code in got.
stop_rank() {
  local signal=$1 folder=$2 pid _
  shift 2
  for _ in {1..20}; do
    rm -rf "$folder"
    start 2 "$folder" "$@"
    for pid in $(ranks_of "$folder" | tail -n 1); do kill -s "$signal" "$pid" 2>/dev/null || true; done
    got=0
    wait $launcher || got=$?
    [ $got = 0 ] || return 0
  done
  fail "sparc $*: SIG$signal to a rank does not stop it"
}

# kill_one OUT: one of its ranks with SIGKILL; false: none was left
kill_one() {
  local pids
  mapfile -t pids < <(ranks_of "$1")
  [ ${#pids[@]} -gt 0 ] && kill -s KILL "${pids[$((RANDOM % ${#pids[@]}))]}" 2>/dev/null
}

# survive KILLS WHOLE FILES COMMAND...: the run whose undisturbed files are in WHOLE is killed so many times at random
# moments and continued each time with another number of ranks; whenever it comes to its end, the files are compared. A
# kill counts if a rank was alive and the launcher did not end as usual; one that came too late is tried again.
survive() {
  local wanted=$1 whole=$2 files=$3 kills=0 late=0 ends=0 ranks=2 hit begun code file
  shift 3
  RANDOM=${SPARC_SEED:=$$}
  rm -rf part
  while true; do
    start $ranks part "$@"
    code=0 hit=
    if [ $kills -lt "$wanted" ]; then
      sleep "0.$((RANDOM % 100))"
      if kill_one part; then hit=yes; fi
    fi
    begun=$SECONDS
    wait $launcher || code=$?
    if [ $hit ] && [ $((SECONDS - begun)) -ge 60 ]; then fail "a killed rank did not end the job for a minute"; fi
    if [ $code = 0 ]; then
      for file in $files; do same "$whole/$file" "part/$file"; done
      ends=$((ends + 1))
      if [ $kills = "$wanted" ]; then break; fi
      late=$((late + 1))
      [ $late -lt 100 ] || fail "no kill is in time: seed $SPARC_SEED"
      rm -rf part
    else
      [ $hit ] || fail "exit code $code without a kill"
      kills=$((kills + 1))
    fi
    ranks=$((ranks == 4 ? 1 : 2 * ranks))
  done
  echo "$1: $kills kills of live runs, $late too late, $ends ends with the same files (seed $SPARC_SEED)"
}
