#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# install-packages.sh [build|lint|fuzz|valgrind|device|cluster|aarch64|optional]: the one list of Debian packages this project uses.
#
# Silent, and without touching the network, when nothing of the group is missing. Otherwise installs as root or
# through password-free sudo; with neither it prints the command to run and stops. On a system without dpkg it
# prints what is needed and leaves the decision to CMake.
#
# The build group includes the optional packages, but does not require them: one that cannot be installed is listed in
# build/unavailable-packages and not tried again while it is listed there.
set -euo pipefail

# package[|accepted instead]   command that also satisfies it   reason
packages() {
  case $1 in
  build) cat <<'LIST' ;;
gcc                                 gcc         compiles the library; brings libgomp, the sanitizers and gcov
g++                                 g++         the public headers are tested as C++17
libc6-dev                           -           C library headers
make                                make        runs the build
cmake                               cmake       describes the build (3.21 or newer)
pkgconf|pkg-config                  pkg-config  finds jansson and cmocka; tests the installed sparc.pc
libblis-serial-dev|libopenblas-dev  -           a competitor of the matrix products in sparc bench
libjansson-dev                      -           JSON: safetensors headers, configurations, metrics
zlib1g-dev                          -           gzip: data files
librandom123-dev                    -           counter-based random streams
libcmocka-dev                       -           unit tests
LIST
  optional) cat <<'LIST' ;;
gnuplot-nox                         gnuplot     draws figures; without it data and scripts are written
libmujoco-dev                       -           physics tasks
libsleef-dev                        -           a competitor of the scan in sparc bench
python3-numpy                       -           tests the Python package
pocl-opencl-icd                     -           an OpenCL device on the CPU: tests the kernels of devices
ocl-icd-libopencl1                  -           finds it
opencl-c-headers                    -           compared with our declarations of OpenCL
libopenmpi-dev|libmpich-dev         mpicc       training over several processes and machines
openmpi-bin|mpich                   mpirun      starts them; tests
LIST
  lint) cat <<'LIST' ;;
clang-format                        clang-format  the layout of the source
clang-tidy                          clang-tidy    static analysis
libomp-dev                          -             its omp.h: clang does not understand gcc's
cppcheck                            cppcheck      static analysis, a second opinion
LIST
  fuzz) cat <<'LIST' ;;
clang                               clang       libFuzzer targets
libclang-rt-dev                     -           their run-time library
LIST
  valgrind) cat <<'LIST' ;;
valgrind                            valgrind    memcheck
LIST
  device) cat <<'LIST' ;;
oclgrind                            oclgrind    simulates an OpenCL device: data races, bounds
clang                               clang       compiles the kernels for AMD and SPIR
LIST
  cluster) cat <<'LIST' ;;
slurmctld                           slurmctld   Slurm: the controller
slurmd                              slurmd      its node daemon
slurm-client                        sbatch      its commands
munge                               munged      its authentication
parallel                            parallel    GNU parallel
LIST
  aarch64) cat <<'LIST' ;;
gcc-aarch64-linux-gnu               aarch64-linux-gnu-gcc  cross-compiles for 64-bit ARM
libc6-dev-arm64-cross               -                      its C library
qemu-user                           qemu-aarch64           runs the tests
LIST
  *)
    echo "usage: ${0##*/} [build|lint|fuzz|valgrind|device|cluster|aarch64|optional]" >&2
    exit 2
    ;;
  esac
}

installed() { [ "$(dpkg-query --show --showformat='${db:Status-Status}\n' "$1" 2>/dev/null | head -n 1)" = installed ]; }

# missing GROUP: the packages of the group that are not there, one a line
missing() {
  local choices command choice
  packages "$1" | while read -r choices command _; do
    if [ "$command" != - ] && command -v "$command" >/dev/null; then continue; fi
    for choice in ${choices//|/ }; do
      if installed "$choice"; then continue 2; fi
    done
    echo "${choices%%|*}"
  done
}

# as_root COMMAND...: the command with the rights that apt needs, chosen below
as_root() { ${sudo:+sudo --non-interactive} env DEBIAN_FRONTEND=noninteractive "$@"; }
# a fresh machine is often busy with updates of its own: waits for the lock instead of continuing without a package
install() { as_root apt-get --option DPkg::Lock::Timeout=300 install --yes --no-install-recommends "$@"; }

# optional_missing: the optional packages that are not there and, in the build group, not known to be unavailable
optional_missing() {
  local package noted=
  if [ "$group" = build ] && [ -e "$unavailable" ]; then noted=" $(tr '\n' ' ' <"$unavailable")"; fi
  for package in $(missing optional); do
    case $noted in *" $package "*) ;; *) echo "$package" ;; esac
  done
}

# note_unavailable PACKAGE...
note_unavailable() {
  mkdir -p "${unavailable%/*}"
  printf '%s\n' "$@" >>"$unavailable"
}

group=${1:-build}
packages "$group" >/dev/null
folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/build
unavailable=$folder/unavailable-packages

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "${0##*/}: not a Debian system, nothing installed. The $group step needs (Debian names):" >&2
  packages "$group" | sed 's/^/  /' >&2
  exit 0
fi

needed=()
optional=()
if [ "$group" != optional ]; then mapfile -t needed < <(missing "$group"); fi
if [ "$group" = build ] || [ "$group" = optional ]; then mapfile -t optional < <(optional_missing); fi
requested=("${needed[@]}" "${optional[@]}")
[ ${#requested[@]} -gt 0 ] || exit 0

sudo=
if [ "$(id -u)" != 0 ]; then
  if command -v sudo >/dev/null && sudo --non-interactive true 2>/dev/null; then
    sudo=yes
  else
    if [ ${#needed[@]} -gt 0 ]; then requested=("${needed[@]}"); fi
    echo "${0##*/}: packages are missing and there is neither root nor password-free sudo. Run this, then try again:" >&2
    echo >&2
    echo "  sudo apt-get update && sudo apt-get install --yes --no-install-recommends ${requested[*]}" >&2
    if [ ${#needed[@]} -gt 0 ]; then exit 1; fi
    echo >&2
    echo "They are optional: continuing without them." >&2
    note_unavailable "${optional[@]}"
    exit 0
  fi
fi

echo "${0##*/}: installing ${requested[*]}" >&2
as_root apt-get update >&2 || [ ${#needed[@]} = 0 ]
if [ ${#needed[@]} -gt 0 ]; then install "${needed[@]}" >&2; fi

# one by one: each may be unknown to this release
for package in "${optional[@]}"; do
  if ! install "$package" >&2; then
    echo "${0##*/}: warning: $package could not be installed; continuing without it" >&2
    note_unavailable "$package"
  fi
done
# a build that was configured without them looks again
touch -c "$folder"/*/CMakeCache.txt
