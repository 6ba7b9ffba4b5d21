#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test-cluster.sh BUILD [TEST...]: a grid of small runs on a real Slurm of one node and under GNU parallel, and runs on several ranks of
# an MPI job; reports what ran and what was skipped, and fails if anything that ran failed, or if nothing did.
#
# Runs on ranks are those of tests/cli/ranks.sh and ranks_rl.sh, with 1 and 2 threads at every number of ranks, and with 20
# kills each.
#
# Each scheduler gets the list that `sparc lab jobs` prints for it. In the middle of it one runner is killed with
# SIGKILL. In the end every run must have been finished exactly once: each prints one line of JSON, and its weights
# must be those of an undisturbed run. The daemons of Slurm listen on ports of their own with a key of their
# own, keep their files in a scratch folder and are stopped in the end.
set -euo pipefail

build=${1:?the folder of the build}
chosen=("${@:2}") # parallel, make, ranks, slurm; none: all
sparc=$(realpath "$build/sparc")
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
scratch=$(mktemp -d /tmp/sparc-cluster-XXXXXX)
daemons=()
ran=0
failed=0

stop_daemons() {
  local pid
  for pid in "${daemons[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${daemons[@]}"; do wait "$pid" 2>/dev/null || true; done
  daemons=()
}
leave() {
  stop_daemons
  if [ "${SPARC_KEEP:-}" ]; then echo "kept: $scratch"; else rm -rf "$scratch"; fi
}
trap leave EXIT

report() { printf '%-14s %s\n' "$1" "$2"; }
skip() { report "$1" "SKIPPED: $2"; }

export OMP_WAIT_POLICY=passive OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
unset SPARC_DATA
cd "$scratch"

# runs that take a second or two, so that one can be killed
cat >'the grid.json' <<'END'
{
  "name": "cluster", "title": "Small runs", "kind": "train",
  "settings": {"updates": 1500, "budget": 16, "validate-every": 10, "data": "tracking"},
  "score": {"metric": "validation_nmse", "take": "last", "better": "lower", "scale": 1, "unit": "NMSE", "digits": 3},
  "tasks": [{"name": "short", "settings": {"batch": 4}}, {"name": "long", "settings": {"batch": 16}}],
  "methods": [{"name": "sparc", "settings": {"cell": "sparc"}}, {"name": "rtu", "settings": {"cell": "rtu"}}],
  "seeds": [0, 1], "reference": "sparc"
}
END
runs=(short/sparc/s0 short/rtu/s0 long/sparc/s0 long/rtu/s0 short/sparc/s1 short/rtu/s1 long/sparc/s1 long/rtu/s1)

# check NAME OUT LINES: every run of OUT has the weights of the reference and is once in the lines
check() {
  local name=$1 out=$2 lines=$3 run count
  for run in "${runs[@]}"; do
    count=$(grep -c "\"job\":\"$run\"" "$lines" || true)
    if [ "$count" != 1 ]; then
      report "$name" "FAILED: $run was finished $count times, expected once"
      return 1
    fi
    if ! cmp -s "reference/cluster/$run/last.safetensors" "$out/cluster/$run/last.safetensors"; then
      report "$name" "FAILED: the weights of $run differ from those of an undisturbed run"
      return 1
    fi
  done
  if [ "$("$sparc" lab status 'the grid.json' --out "$out" --json | grep -c '"state":"done"')" != ${#runs[@]} ]; then
    report "$name" "FAILED: not every run is done"
    return 1
  fi
  report "$name" "ok: ${#runs[@]} runs, each finished once, one killed in between"
}

# kill_one OUT RUN: waits until a run is under way, then kills the runner that has claimed it
kill_one() {
  local claim pid _
  for _ in $(seq 600); do
    for claim in "$1/cluster/$2"/claim.[0-9]*; do
      if [ -e "$claim" ] && [ -s "$1/cluster/$2/last.safetensors" ]; then
        pid=$(sed -n 's/.*"pid": \([0-9]*\).*/\1/p' "$claim")
        if [ "$pid" ] && kill -s KILL "$pid" 2>/dev/null; then return 0; fi
      fi
    done
    sleep 0.1
  done
  echo "no runner of $2 could be killed" >&2
  return 1
}

# ---- what the runs should leave
"$sparc" lab run 'the grid.json' --out reference --jobs 2 --threads 2 --quiet >/dev/null

# ---- GNU parallel: the killed one is taken up by a second reading of the list
test_parallel() {
  "$sparc" lab jobs 'the grid.json' --out 'out of parallel' --format parallel >list
  [ "$(wc -l <list)" = ${#runs[@]} ]
  parallel -j 2 <list >lines 2>errors &
  local scheduler=$!
  kill_one 'out of parallel' long/sparc/s0
  if wait "$scheduler"; then
    report parallel "FAILED: GNU parallel did not notice that a command was killed"
    return 1
  fi
  # the old list, and one that is printed now: what is finished is left alone
  "$sparc" lab jobs 'the grid.json' --out 'out of parallel' --format parallel >again
  [ "$(wc -l <again)" = 1 ]
  parallel -j 2 <list >>lines
  check parallel 'out of parallel' lines
}

# ---- make: the same
test_make() {
  "$sparc" lab jobs 'the grid.json' --out 'out of $make' --format make --chunk 2 >list.mk
  make -k -j 2 -f list.mk >lines 2>errors &
  local scheduler=$!
  kill_one 'out of $make' long/sparc/s0
  if wait "$scheduler"; then
    report make "FAILED: make did not notice that a command was killed"
    return 1
  fi
  make -j 2 -f list.mk >>lines
  grep -q NMSE lines
  check make 'out of $make' lines
}

# ---- Slurm
start_slurm() {
  local host port=$((20000 + RANDOM % 20000))
  host=$(hostname -s)
  mkdir -p slurm/state slurm/spool slurm/log slurm/munge
  head -c 1024 /dev/urandom >slurm/munge/key
  chmod 400 slurm/munge/key
  munged --foreground --force --key-file="$PWD/slurm/munge/key" --socket="$PWD/slurm/munge/socket" \
    --pid-file="$PWD/slurm/munge/pid" --log-file="$PWD/slurm/munge/log" --seed-file="$PWD/slurm/munge/seed" \
    >slurm/log/munged 2>&1 &
  daemons+=($!)
  cat >slurm/slurm.conf <<END
ClusterName=sparc
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$PWD/slurm/munge/socket
StateSaveLocation=$PWD/slurm/state
SlurmdSpoolDir=$PWD/slurm/spool
SlurmctldPidFile=$PWD/slurm/slurmctld.pid
SlurmdPidFile=$PWD/slurm/slurmd.pid
SlurmctldLogFile=$PWD/slurm/log/slurmctld
SlurmdLogFile=$PWD/slurm/log/slurmd
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
MpiDefault=none
SchedulerParameters=batch_sched_delay=1,sched_interval=2
MinJobAge=600
JobRequeue=1
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 RealMemory=512 State=UNKNOWN
PartitionName=main Nodes=$host Default=YES MaxTime=INFINITE State=UP
END
  export SLURM_CONF=$PWD/slurm/slurm.conf
  slurmctld -D -f "$SLURM_CONF" >slurm/log/slurmctld.out 2>&1 &
  daemons+=($!)
  slurmd -D -f "$SLURM_CONF" >slurm/log/slurmd.out 2>&1 &
  daemons+=($!)
  for _ in $(seq 60); do
    if sinfo --noheader --format=%t 2>/dev/null | grep -Eq 'idle|mix|alloc'; then return 0; fi
    sleep 1
  done
  tail -n 5 slurm/log/* >&2
  return 1
}

# until_idle: waits for an empty queue
until_idle() {
  local _
  for _ in $(seq 300); do
    if [ -z "$(squeue --noheader --format=%T 2>/dev/null)" ]; then return 0; fi
    sleep 1
  done
  squeue
  echo "jobs are still in the queue" >&2
  return 1
}

# the whole array: an entry that is killed is queued again, and the table waits for it
test_array() {
  "$sparc" lab jobs 'the grid.json' --out 'out of slurm' --format slurm --chunk 1 >'the array.sh'
  bash -n 'the array.sh'
  bash 'the array.sh' >submitted
  kill_one 'out of slurm' long/sparc/s0
  until_idle
  cat slurm-*.out >lines
  check slurm 'out of slurm' lines
  if ! grep -q 'rtu' 'out of slurm/cluster/table.txt' || grep -q 'stopped' 'out of slurm/cluster/table.txt'; then
    report slurm "FAILED: the table was not made in the end"
    return 1
  fi
  # nothing is left, and the same array again finishes nothing twice
  "$sparc" lab jobs 'the grid.json' --out 'out of slurm' --format slurm >'the rest.sh'
  [ ! -s 'the rest.sh' ]
  bash 'the array.sh' >submitted
  until_idle
  cat slurm-*.out >lines
  check slurm 'out of slurm' lines
}

# an entry at its time limit gets SIGUSR1, saves, and is queued again
test_requeue() {
  rm -f slurm-*.out
  "$sparc" lab jobs 'the grid.json' --tasks long --methods sparc --seeds 1 --out 'out of requeue' --format slurm >'one.sh'
  local id _
  id=$(sbatch --parsable one.sh)
  for _ in $(seq 600); do
    [ -s 'out of requeue/cluster/long/sparc/s0/last.safetensors' ] && break
    sleep 0.1
  done
  scancel --batch --signal=USR1 "${id}_0"
  until_idle
  [ "$(cat slurm-*.out | grep -c '"job":"long/sparc/s0"')" = 1 ]
  [ "$(scontrol show job "${id}_0" | grep -o 'Restarts=[0-9]*')" = Restarts=1 ]
  cmp -s reference/cluster/long/sparc/s0/last.safetensors 'out of requeue/cluster/long/sparc/s0/last.safetensors'
  report requeue "ok: saved at SIGUSR1, queued again, the same weights in the end"
}

# a training run on two ranks as docs/cluster.md submits it: at SIGUSR1 it saves and is queued again
test_training() {
  local options=(train tracking --modes 4 --batch 4 --updates 600 --validate-every 10 --shards 2 --threads 1 --quiet) id file _
  "$sparc" "${options[@]}" --out alone >/dev/null
  cat >train.sh <<END
#!/bin/bash
#SBATCH --ntasks=2 --mem=400M --signal=B:USR1@120 --output=train.out --open-mode=append
mpirun $sparc ${options[*]} --out train --resume-or-create &
trap 'pkill -USR1 -P \$! sparc' USR1
wait \$! || wait \$!
if [ \$? = 130 ]; then scontrol requeue "\$SLURM_JOB_ID"; fi
END
  id=$(sbatch --parsable train.sh)
  for _ in $(seq 600); do
    [ -s train/last.safetensors ] && break
    sleep 0.1
  done
  scancel --batch --signal=USR1 "$id"
  until_idle
  [ "$(scontrol show job "$id" | grep -o 'Restarts=[0-9]*')" = Restarts=1 ]
  [ "$(grep -c 'interrupted after update' train.out)" = 1 ]
  for file in last.safetensors best.safetensors metrics.jsonl; do cmp "alone/$file" "train/$file"; done
  report training "ok: two ranks saved at SIGUSR1, queued again, the same files in the end"
}

# the daemons end with the subshell of the test
test_slurm() {
  trap stop_daemons EXIT
  if ! start_slurm; then
    report slurm "FAILED: its daemons did not come up"
    return 1
  fi
  test_array
  test_requeue
  if command -v mpirun >/dev/null && [ -e "$(dirname "$sparc")/sparc-mpi.so" ]; then
    test_training
  else
    skip training "mpirun is not installed, or sparc was built without MPI"
  fi
}

# ---- ranks: the tests of the suite, in full
test_ranks() {
  local script log=$scratch/ranks.log code
  for script in ranks ranks_rl; do
    code=0
    SPARC=$sparc SPARC_SOURCE_DIR=$root SPARC_ALL=1 SPARC_KILLS=20 bash "$root/tests/cli/$script.sh" >"$log" 2>&1 || code=$?
    if [ $code = 77 ]; then
      report $script "SKIPPED: $(tail -n 1 "$log" | sed 's/^skipped: //')"
    elif [ $code != 0 ]; then
      cat "$log"
      return 1
    else
      report $script "ok: $(grep ' kills of live runs' "$log")"
    fi
  done
}

# attempt NAME PROGRAM...: runs test_NAME if these programs are there
attempt() {
  local name=$1 program code
  shift
  if [ ${#chosen[@]} -gt 0 ] && [[ " ${chosen[*]} " != *" $name "* ]]; then return 0; fi
  for program; do
    if ! command -v "$program" >/dev/null; then
      skip "$name" "$program is not installed"
      return 0
    fi
  done
  ran=$((ran + 1))
  # not in a condition, which would switch errexit off
  set +e
  (
    set -e
    "test_$name"
  )
  code=$?
  set -e
  if [ $code != 0 ]; then
    failed=$((failed + 1))
    report "$name" "FAILED (code $code)"
  fi
}

attempt parallel parallel
attempt make make
attempt ranks mpirun
if [ "$(id -u)" = 0 ]; then
  attempt slurm slurmctld slurmd sbatch munged
else
  skip slurm "its daemons need root"
fi
if [ "$ran" = 0 ]; then
  echo "nothing could be tested" >&2
  exit 1
fi
[ "$failed" = 0 ]
