#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# device.sh: `sparc check --device` and `sparc info` with and without a device. A few golden vectors:
# each set of kernels takes PoCL ten seconds to compile; device_shim.sh and scripts/test-device.sh have all of them.
# shellcheck source=tests/cli/common.bash
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

one=$vectors/sparc-one.safetensors

# usage
expect 2 check --device opnecl "$one"
complains "unknown backend 'opnecl'; did you mean 'opencl'?"
expect 2 check --device opencl:x "$one"
complains "has no index after the colon"
expect 2 check --device opencl --double "$one"
complains "exclude each other"
expect 2 check --hashes "$one"
complains "--hashes needs --device"
expect 2 check --fast "$one"
complains "--fast needs --device"
expect 2 check --fast --hashes --device opencl "$one"
complains "--fast and --hashes exclude each other"

# without a driver
mkdir "$scratch/none"
OCL_ICD_VENDORS=$scratch/none SPARC_CUDA_DRIVER=$scratch/none/lib.so expect 0 info
prints "devices   none"
OCL_ICD_VENDORS=$scratch/none expect 1 check --device opencl "$one"
complains "sparc check: backend opencl has no device: install a driver (OpenCL comes with that of a GPU; on the CPU"
SPARC_CUDA_DRIVER=$scratch/none/lib.so expect 1 check --device cuda "$one"
complains "sparc check: backend cuda has no device: install a driver (NVIDIA's, which has libcuda.so.1)"

expect 0 info
if ! grep -q '^devices .*opencl:0 ' "$scratch/out"; then
  echo "skipped: no OpenCL device"
  exit 0
fi
expect 2 check --device opencl:999 "$one"
complains "device opencl:999 does not exist"

# every path is within the tolerances of floats
expect 0 check --device opencl "$one" "$vectors/sparc-long.safetensors" "$vectors/rtu.safetensors" "$vectors/lru.safetensors"
no_complaint
prints "device:1"
prints "device:9"
prints "0 beyond tolerance"

# cells without kernels are not counted as failures
expect 0 check --device opencl "$vectors/gru.safetensors" "$vectors/sparc-unshared-control.safetensors"
complains "gru.safetensors: skipped: cell gru does not run on devices"
complains "skipped: cell sparc with controls that its modes do not share does not run on devices"

# a damaged output is detected
expect 1 check --device opencl --tolerance 1e-12 "$one"
prints "FAIL"
