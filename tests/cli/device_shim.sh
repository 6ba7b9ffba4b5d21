#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# device_shim.sh: every golden vector on the CUDA backend, with a driver that needs no GPU: within the tolerances of floats,
# and with the committed bits.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

if [ -z "${FAKE_CUDA:-}" ]; then
  echo "skipped: no driver over fibres in this build"
  exit 0
fi
if ! command -v "${CXX:-g++}" >/dev/null; then
  echo "skipped: no C++ compiler"
  exit 0
fi
export SPARC_CUDA_DRIVER=$FAKE_CUDA SPARC_CUDA_COMPILER=$FAKE_CUDA XDG_CACHE_HOME=$FAKE_CUDA_CACHE
expect 0 info
prints "cuda:0 CPU shim (NVIDIA CUDA, driver CUDA 13.0, sm_90)"
expect 0 check --device cuda --hashes --quiet "$vectors"/{lru,rglru,rtu,sparc}*.safetensors
prints "0 beyond tolerance"
grep '^hash' "$scratch/out" >"$scratch/hashes"
if ! diff "$vectors/device-hashes.txt" "$scratch/hashes" >&2; then
  fail "results differ in bits from tests/vectors/device-hashes.txt"
fi

# a compiler that refuses the kernels is quoted
CXX=false XDG_CACHE_HOME=$scratch expect 1 check --device cuda "$vectors/sparc-one.safetensors"
complains "the kernels do not compile (NVRTC_ERROR_COMPILATION)"

SHIM_FLAGS='-include nosuchfile.h' XDG_CACHE_HOME=$scratch expect 1 check --device cuda "$vectors/sparc-one.safetensors"
complains "nosuchfile.h"

# a device that is lost, and one without memory
SHIM_LOSE=2 expect 1 check --device cuda "$vectors/sparc-one.safetensors"
complains "the device is lost (CUDA_ERROR_LAUNCH_FAILED); close it and open it again"
SHIM_MEMORY=100 expect 1 check --device cuda "$vectors/sparc-one.safetensors"
complains "bytes of device memory"

# no compiler at all
SPARC_CUDA_COMPILER=$scratch/none XDG_CACHE_HOME=$scratch expect 1 check --device cuda "$vectors/sparc-one.safetensors"
complains "NVRTC (libnvrtc.so.13 or .12) is not installed"
