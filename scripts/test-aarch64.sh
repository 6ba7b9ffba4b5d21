#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test-aarch64.sh BUILD [JOBS]: cross-compiles for 64-bit ARM and runs golden vectors, kernel and property tests under
# qemu's user mode. This is how the NEON kernels are tested on another machine.
#
# Compiler and emulator come from install-packages.sh. The arm64 libraries are unpacked into BUILD/sysroot by an apt of
# their own, with its lists and its idea of the architecture there too: the system learns of no second architecture.
# Without the tools or packages nothing is tested, with a message: exit status 77.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mkdir -p "$1"
build=$(cd "$1" && pwd)
jobs=${2:-$(nproc)}
sysroot=$build/sysroot
packages=(libblis-serial-dev libjansson-dev zlib1g-dev librandom123-dev libcmocka-dev)

skip() {
  echo "${0##*/}: SKIPPED, nothing was tested on AArch64: $1" >&2
  exit 77
}

# apt with everything of its own below BUILD
private_apt() {
  mkdir -p "$build/apt/lists/partial" "$build/apt/cache/archives/partial"
  : >"$build/apt/status"
  printf '%s\n' 'APT::Architecture "arm64";' 'APT::Architectures { "arm64"; };' 'APT::Sandbox::User "root";' \
    "Dir::State \"$build/apt\";" "Dir::State::status \"$build/apt/status\";" "Dir::Cache \"$build/apt/cache\";" \
    >"$build/apt/apt.conf"
  APT_CONFIG=$build/apt/apt.conf "$@"
}

# the packages and their libraries; the C library comes with the cross compiler
fetch() {
  local libraries
  private_apt apt-get update || return
  libraries=$(private_apt apt-cache depends "${packages[@]}" | sed -n 's/^ *Depends: \([a-z].*\)$/\1/p' | sort -u)
  mkdir -p "$build/apt/packages" && cd "$build/apt/packages" || return
  # shellcheck disable=SC2086
  private_apt apt-get download "${packages[@]}" $libraries
}

unpack() {
  local package link
  for package in "$build"/apt/packages/*.deb; do dpkg-deb --extract "$package" "$sysroot.new"; done
  # programs look for libraries in one place only
  if [ -d "$sysroot.new/lib" ]; then cp -a "$sysroot.new/lib" "$sysroot.new/usr/"; fi
  # absolute links would lead out of the folder
  find "$sysroot.new" -type l -lname '/*' | while read -r link; do
    ln -sf --relative "$sysroot.new$(readlink "$link")" "$link"
  done
  mv "$sysroot.new" "$sysroot"
}

scripts/install-packages.sh aarch64 || skip "the cross compiler or qemu is missing"
for tool in aarch64-linux-gnu-gcc qemu-aarch64 apt-get dpkg-deb; do
  command -v $tool >/dev/null || skip "there is no $tool"
done
if [ ! -d "$sysroot" ]; then
  echo "${0##*/}: unpacking the arm64 libraries into $sysroot" >&2
  rm -rf "$sysroot.new" "$build/apt/packages"
  (fetch) >"$build/apt.log" 2>&1 || skip "the arm64 libraries cannot be had, see $build/apt.log"
  unpack
fi

cmake -S . -B "$build" --toolchain "$PWD/cmake/aarch64-linux-gnu.cmake" -DSPARC_SYSROOT="$sysroot" -DSPARC_WERROR=ON \
  -DSPARC_TESTS=ON -DSPARC_EXAMPLES=OFF >"$build/configure.log" || { cat "$build/configure.log" >&2; exit 1; }
# what does not depend on the processor is left to the tests of the host
cmake --build "$build" --parallel "$jobs" --target level_programs test_base test_vmath
ctest --test-dir "$build" --output-on-failure --no-tests=error -j "$jobs" -R '^(level\.|unit\.(base|vmath)$)'
