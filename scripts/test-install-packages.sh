#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test-install-packages.sh: install-packages.sh on simulated machines. A folder that is the whole PATH holds
# fake dpkg-query, apt-get, sudo and id; the fakes log their arguments.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# a copy: the script keeps notes in the build folder beside its own
script=$work/scripts/install-packages.sh
mkdir "$work/scripts"
cp "$(dirname "${BASH_SOURCE[0]}")/install-packages.sh" "$script"
failures=0
install='^apt-get --option DPkg::Lock::Timeout=[0-9]* install' # waits for a package manager that is at work

# machine [dpkg] [apt] [sudo] [root]: a PATH with the real small tools and the named fakes. INSTALLED is what
# dpkg-query lists (a glob), BROKEN what apt-get cannot install.
machine() {
  rm -rf "${work:?}/bin" "$work/log" "$work/build"
  mkdir "$work/bin"
  : >"$work/log"
  local tool
  for tool in bash env cat sed head true dirname tr mkdir touch; do ln -s "$(type -P $tool)" "$work/bin/$tool"; done
  fake id "echo 1000"
  for tool in "$@"; do
    case $tool in
    root) fake id "echo 0" ;;
    dpkg) fake dpkg-query 'shopt -s extglob; case ${!#} in $INSTALLED) echo installed ;; *) exit 1 ;; esac' ;;
    apt) fake apt-get 'echo "apt-get $*" >>"$LOG"; case ${!#} in $BROKEN) exit 100 ;; esac' ;;
    sudo) fake sudo 'echo "sudo $*" >>"$LOG"; shift; exec "$@"' ;;
    locked-sudo) fake sudo 'echo "sudo $*" >>"$LOG"; exit 1' ;;
    esac
  done
}
fake() { printf '#!%s\n%s\n' "$BASH" "$2" >"$work/bin/$1" && chmod +x "$work/bin/$1"; }

# run [ARGUMENT]: the script on the machine; leaves status, the file output and the file log
run() {
  status=0
  PATH="$work/bin" LOG="$work/log" INSTALLED=${INSTALLED:-} BROKEN=${BROKEN:-} \
    bash "$script" "$@" >"$work/output" 2>&1 </dev/null || status=$?
}

# expect NAME STATUS: the exit status; prints(), did() and silent() check more
expect() { name=$1; [ $status = "$2" ] || bad "exit status $status, expected $2"; }
bad() { echo "FAILED $name: $1"; sed 's/^/  output: /' "$work/output"; sed 's/^/  log: /' "$work/log"; failures=$((failures + 1)); }
prints() { grep -q -e "$1" "$work/output" || bad "the output does not contain: $1"; }
did() { grep -q -e "$1" "$work/log" || bad "not done: $1"; }
did_not() { if grep -q -e "$1" "$work/log"; then bad "done, but should not be: $1"; fi; }
silent() { [ ! -s "$work/output" ] || bad "not silent"; [ ! -s "$work/log" ] || bad "called a package tool"; }

machine dpkg apt root
INSTALLED='*' run
expect "nothing missing" 0
silent

machine dpkg apt root
INSTALLED='libopenblas-dev' run
expect "root, almost nothing there" 0
did '^apt-get update$'
did "$install --yes --no-install-recommends gcc g++ .*cmake .*libcmocka-dev\$"
did_not 'blis'
did "$install --yes --no-install-recommends gnuplot-nox\$"
did "$install --yes --no-install-recommends libmujoco-dev\$"

machine dpkg apt root
BROKEN='libmujoco-dev' run
expect "an optional package cannot be installed" 0
prints 'warning: libmujoco-dev could not be installed'
did 'libblis-serial-dev'

machine dpkg apt root
BROKEN='libcmocka-dev' run
expect "a needed package cannot be installed" 100

machine dpkg apt
run
expect "neither root nor sudo" 1
prints '^  sudo apt-get update && sudo apt-get install --yes --no-install-recommends gcc g++ .*libcmocka-dev$'
did_not 'apt-get'

machine dpkg apt locked-sudo
run
expect "sudo wants a password" 1
prints '^  sudo apt-get update'
did_not 'apt-get'

machine dpkg apt sudo
run
expect "sudo without a password" 0
did '^sudo .*apt-get update$'
did "$install .*libcmocka-dev\$"

# everything but MuJoCo: the names below are what the build group and the rest of the optional one request
all_but_mujoco='@(gcc|g++|libc6-dev|make|cmake|pkgconf|lib@(blis-serial|jansson|random123|cmocka|sleef|openmpi)-dev|openmpi-bin|zlib1g-dev|gnuplot-nox|python3-numpy|pocl-opencl-icd|ocl-icd-libopencl1|opencl-c-headers)'

machine dpkg apt root
mkdir -p "$work/build/release"
touch -d 2000-01-01 "$work/build/release/CMakeCache.txt"
INSTALLED=$all_but_mujoco run
expect "only MuJoCo is missing" 0
did "$install --yes --no-install-recommends libmujoco-dev\$"
did_not 'cmocka'
[ "$work/build/release/CMakeCache.txt" -nt "$script" ] || bad "an existing build is not configured again"

machine dpkg apt root
INSTALLED=$all_but_mujoco BROKEN='*' run
expect "only MuJoCo is missing, and there is no network" 0
prints 'warning: libmujoco-dev could not be installed'
: >"$work/log"
INSTALLED=$all_but_mujoco BROKEN='*' run
expect "the same again" 0
silent
INSTALLED=$all_but_mujoco run optional
expect "the same, requested" 0
did 'libmujoco-dev$'

machine dpkg apt
INSTALLED=$all_but_mujoco run
expect "only MuJoCo is missing, neither root nor sudo" 0
prints '^  sudo apt-get update && sudo apt-get install --yes --no-install-recommends libmujoco-dev$'
prints 'continuing without'
: >"$work/log"
INSTALLED=$all_but_mujoco run
silent

machine dpkg apt root
for tool in gcc g++ make cmake pkg-config gnuplot mpirun; do fake $tool ''; done
INSTALLED='@(*-dev|python3-numpy|pocl-opencl-icd|ocl-icd-libopencl1|opencl-c-headers)' run
expect "tools that are there without a package" 0
silent

machine dpkg apt root
run lint
expect "the lint group" 0
did "$install --yes --no-install-recommends clang-format clang-tidy libomp-dev cppcheck\$"
did_not 'gnuplot'

machine dpkg apt root
run aarch64
expect "the group of the cross build" 0
did "$install --yes --no-install-recommends gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user\$"
did_not 'gnuplot'

machine root
run
expect "not Debian" 0
prints 'not a Debian system'
prints 'libjansson-dev'

machine dpkg apt root
run nonsense
expect "an unknown group" 2
prints '^usage:'
did_not 'apt-get'

[ $failures = 0 ] || exit 1
echo "install-packages.sh: every case as promised"
