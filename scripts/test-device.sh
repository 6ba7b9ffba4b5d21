#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test-device.sh BUILD [SHAPES [GATE...]]: every gate of the kernels of devices, or those that are named. A gate that cannot
# run reports why; one that runs must also notice a mistake that is planted in the kernels for it. SHAPES random shapes are
# compared with the reference (60).
set -euo pipefail
export LC_ALL=C

build=$1
shapes=${2:-60}
tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(cd "$build" && pwd)
vectors=$tree/tests/vectors
gate=$build/tests/device_gate
fake=$build/tests/device/fake_cuda.so
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export POCL_CACHE_DIR=$build/pocl XDG_CACHE_HOME=$build/cache
failures=0

ran() { printf 'ran      %-12s %s\n' "$1" "$2"; }
skipped() { printf 'skipped  %-12s %s\n' "$1" "$2"; }
failed() {
  printf 'FAILED   %-12s %s\n' "$1" "$2"
  if [ -s "$scratch/out" ]; then tail -20 "$scratch/out"; fi
  failures=$((failures + 1))
}

# run COMMAND...: its output goes to $scratch/out
run() { "$@" >"$scratch/out" 2>&1; }
# on_shim ORDER COMMAND...: with the CUDA driver that needs no GPU
on_shim() { SPARC_CUDA_DRIVER=$fake SPARC_CUDA_COMPILER=$fake SHIM_ORDER=$1 "${@:2}"; }
hashes() { grep -E '  [0-9a-f]{16}$' "$1" || true; }

has_opencl() { "$build/sparc" info | grep -q 'opencl:0 '; }
opencl_reason="no OpenCL device (Debian: pocl-opencl-icd, ocl-icd-libopencl1)"

# ---- mathematics: the reference, golden vectors, committed bits ------------------------------------------

gate_properties() {
  local test
  if ! has_opencl; then skipped properties "$opencl_reason"; return; fi
  for test in test_device test_device_scan test_device_step; do
    if run "$build/tests/$test" opencl "$shapes"; then
      ran properties "$test, $shapes random shapes against the double reference"
    else
      failed properties "$test"
    fi
  done
  if DEVICE_PLANT=gradient run "$build/tests/test_device" opencl || ! grep -q 'gradient of log_gain: error' "$scratch/out"; then
    failed properties "the planted mistake 'gradient' was not noticed"
  else
    ran properties "planted: a gradient that is wrong by a thousandth: noticed"
  fi
}

gate_vectors() {
  if ! has_opencl; then skipped vectors "$opencl_reason"; return; fi
  if ! run "$build/sparc" check --device opencl --hashes --quiet "$vectors"/{lru,rglru,rtu,sparc}*.safetensors; then
    failed vectors "sparc check --device opencl"
    return
  fi
  ran vectors "$(tail -1 "$scratch/out")"
  hashes "$scratch/out" >"$scratch/hashes"
  if diff "$vectors/device-hashes.txt" "$scratch/hashes" >"$scratch/out"; then
    ran bits "$(wc -l <"$scratch/hashes") paths have the committed bits (tests/vectors/device-hashes.txt)"
  else
    failed bits "paths differ from tests/vectors/device-hashes.txt"
  fi
  damaged_vector
}

# a vector whose first input differs: its results are neither the stored ones nor bit-identical to the committed ones
damaged_vector() {
  local name=sparc-one.safetensors at byte
  cp "$vectors/$name" "$scratch/$name"
  at=$(($(od -An -t u8 -N 8 "$scratch/$name") + 8 + 6))
  byte=$(od -An -t u1 -j $at -N 1 "$scratch/$name")
  printf '%b' "$(printf '\\x%02x' $((byte ^ 4)))" | dd of="$scratch/$name" bs=1 seek=$at conv=notrunc status=none
  if run "$build/sparc" check --device opencl --hashes "$scratch/$name" || ! grep -q FAIL "$scratch/out"; then
    failed vectors "the planted mistake, another input, was not noticed"
  elif hashes "$scratch/out" | grep -qxFf - "$vectors/device-hashes.txt"; then
    failed bits "the planted mistake, another input, was not noticed"
  else
    ran vectors "planted: another input: noticed, by tolerance and by hash"
  fi
}

# ---- the CUDA dialect on fibres --------------------------------------------------------------------------

# noticed GATE PLANT COMMAND...: the command must fail, or give other bits than $scratch/right
noticed() {
  if run "${@:3}" && cmp -s <(hashes "$scratch/out") "$scratch/right"; then
    failed "$1" "the planted mistake '$2' was not noticed"
    return 1
  fi
}

gate_shim() {
  local order plant
  if ! command -v g++ >/dev/null; then skipped shim "no g++"; return; fi
  if ! run on_shim ascending "$gate" cuda; then failed shim "device_gate cuda"; return; fi
  hashes "$scratch/out" >"$scratch/right"
  for order in descending permuted; do
    if ! run on_shim $order "$gate" cuda || ! cmp -s <(hashes "$scratch/out") "$scratch/right"; then
      failed shim "bits depend on the order of work-items: $order"
      return
    fi
  done
  ran shim "CUDA dialect and driver calls on fibres: the same bits in three orders"
  if has_opencl; then
    if run "$gate" opencl && cmp -s <(hashes "$scratch/out") "$scratch/right"; then
      ran shim "the bits of the shim are those of OpenCL"
    else
      failed shim "OpenCL and the shim differ in bits"
    fi
  fi
  for plant in return contraction reset; do noticed shim $plant on_shim ascending "$gate" cuda $plant || return 0; done
  noticed shim barrier on_shim descending "$gate" cuda barrier || return 0
  ran shim "planted: return before a barrier, contraction, multiplied reset, missing barrier: noticed"
}

gate_sanitizer() {
  local library
  library=$(g++ -print-file-name=libasan.so 2>/dev/null || true)
  if [ ! -e "$library" ]; then skipped sanitizer "no libasan (Debian: g++)"; return; fi
  sanitized() {
    LD_PRELOAD=$library:$(g++ -print-file-name=libubsan.so) SHIM_FLAGS=-fsanitize=address,undefined \
      ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0 on_shim ascending "$gate" cuda "$@"
  }
  if ! run sanitized || grep -q 'runtime error' "$scratch/out"; then failed sanitizer "device_gate cuda"; return; fi
  ran sanitizer "kernels under AddressSanitizer and UBSan on fibres"
  if run sanitized store || ! grep -q heap-buffer-overflow "$scratch/out"; then
    failed sanitizer "the planted mistake 'store' was not noticed"
  else
    ran sanitizer "planted: a store past the end: noticed"
  fi
}

# ---- Oclgrind: races and bounds ----------------------------------------------------------------------------

# Oclgrind claims neither fused multiply-add nor rounded division, and can be given small work-groups
refusals() {
  refused() { # MESSAGE VARIABLE=VALUE...
    if run env OCL_ICD_VENDORS="$scratch/vendors" "${@:2}" "$build/sparc" check --device opencl "$vectors/sparc-one.safetensors" ||
      ! grep -qF -- "$1" "$scratch/out"; then
      failed oclgrind "a device that cannot is not refused: $1"
      return 1
    fi
  }
  refused 'lacks fused multiply-add, correctly rounded division, which exact arithmetic needs; --fast' || return 0
  refused 'work-groups of 256; the kernels do not run on it' OCLGRIND_MAX_WGSIZE=128 || return 0
  ran oclgrind "refused: exact arithmetic without fused multiply-add, work-groups of 128"
}

gate_oclgrind() {
  local library plant problem
  library=$(find /usr/lib /usr/local/lib -name 'liboclgrind-rt-icd.so' -print -quit 2>/dev/null)
  if [ -z "$library" ]; then skipped oclgrind "not installed (Debian: oclgrind)"; return; fi
  mkdir -p "$scratch/vendors"
  echo "$library" >"$scratch/vendors/oclgrind.icd"
  # it cannot interpret what the optimiser makes of functions that return structures, and without the optimiser local
  # arrays count more than once
  simulated() {
    OCL_ICD_VENDORS=$scratch/vendors OCLGRIND_BUILD_OPTIONS=-cl-opt-disable OCLGRIND_DATA_RACES=1 \
      OCLGRIND_LOCAL_MEM_SIZE=131072 OCLGRIND_MAX_ERRORS=20 "$gate" opencl "${1:-none}" 1 "${2:-0}"
  }
  complaints() { grep -Eiq 'data race|invalid (read|write)|divergence|barrier' "$scratch/out"; }
  for problem in 0 5; do # SPARC, and RG-LRU by pairs, whose last tile overlaps
    if ! run simulated none $problem || complaints; then failed oclgrind "device_gate opencl none 1 $problem"; return; fi
  done
  ran oclgrind "SPARC and RG-LRU with data-race detection"
  for plant in barrier store return; do
    if run simulated $plant && ! complaints; then
      failed oclgrind "the planted mistake '$plant' was not noticed"
      return
    fi
  done
  ran oclgrind "planted: missing barrier, store past the end, return before a barrier: noticed"
  refusals
}

# ---- compilers -----------------------------------------------------------------------------------------------

texts="0 2 3 4 5" # problems of device_gate: SPARC, SPARC in bfloat16 without projection, RTU, RG-LRU by ones and pairs
text() { on_shim ascending "$gate" "text:$1" "${@:2}"; }

# limits LOG: at most 128 registers, 48 KB of local memory, and 16 bytes of a kernel's registers spilled
within_limits() {
  awk '/spill stores/ && $5 > spills { spills = $5 }
       /Used [0-9]+ registers/ { for (i = 1; i <= NF; i++) {
           if ($i == "Used" && $(i + 1) > registers) registers = $(i + 1)
           if ($i == "bytes" && $(i + 1) ~ /^smem/ && $(i - 1) > local) local = $(i - 1) }
         kernels++ }
       END { printf "%d kernels, at most %d registers, %d bytes of local memory, %d bytes spilled\n", kernels, registers, local, spills
             exit !(kernels > 0 && spills <= 16 && registers <= 128 && local <= 49152) }' "$1"
}

# nvcc of the machine, or of NVIDIA's packages for Python, which are put into the build folder once
find_nvcc() {
  local compiler=${NVCC:-$(command -v nvcc || true)} wheels=$build/nvidia
  if [ -z "$compiler" ] && [ -x /usr/local/cuda/bin/nvcc ]; then compiler=/usr/local/cuda/bin/nvcc; fi
  if [ -z "$compiler" ] && [ ! -d "$wheels" ] && python3 -m venv "$wheels" >/dev/null 2>&1; then
    "$wheels/bin/pip" --quiet install nvidia-cuda-nvcc nvidia-cuda-nvdisasm >/dev/null 2>&1 || true
  fi
  if [ -z "$compiler" ]; then compiler=$(find "$wheels" -path '*/bin/nvcc' -print -quit 2>/dev/null || true); fi
  echo "$compiler"
}

gate_nvcc() {
  local compiler architecture i
  compiler=$(find_nvcc)
  if [ -z "$compiler" ]; then skipped nvcc "not installed, nor its packages for Python (nvidia-cuda-nvcc)"; return; fi
  for i in $texts; do text "$i" >"$scratch/$i.cu"; done
  for architecture in 75 80 90 120; do
    : >"$scratch/log"
    for i in $texts; do
      if ! run "$compiler" -arch=sm_$architecture -cubin -w --fmad=false -Xptxas -v -o "$scratch/cubin" "$scratch/$i.cu"; then
        failed nvcc "sm_$architecture: text $i does not compile"
        return
      fi
      cat "$scratch/out" >>"$scratch/log"
    done
    : >"$scratch/out"
    if ! within_limits "$scratch/log" >"$scratch/limits"; then
      failed nvcc "sm_$architecture: $(cat "$scratch/limits")"
    else
      ran nvcc "sm_$architecture: $(cat "$scratch/limits")"
    fi
  done
  text 0 registers >"$scratch/planted.cu"
  run "$compiler" -arch=sm_90 -cubin -w --fmad=false -Xptxas -v -o "$scratch/cubin" "$scratch/planted.cu" || true
  cp "$scratch/out" "$scratch/log"
  if within_limits "$scratch/log" >"$scratch/out"; then
    failed nvcc "the planted mistake 'registers' was not noticed"
  else
    ran nvcc "planted: runs of 8 tokens: noticed ($(cat "$scratch/out"))"
  fi
}

# the compiler that the library itself uses: every kernel for sm_90, those of SPARC for the others
gate_nvrtc() {
  local library architecture
  library=$(find /usr/local/cuda*/lib* "$build/nvidia" /usr/lib -name 'libnvrtc.so.1[23]' -print -quit 2>/dev/null || true)
  if [ -z "$library" ]; then skipped nvrtc "not installed (it comes with NVIDIA's toolkit)"; return; fi
  plans() { SPARC_CUDA_DRIVER=$fake SPARC_CUDA_COMPILER=$library SHIM_ARCH=$1 "$gate" plans "${@:2}"; }
  if ! run plans 90; then failed nvrtc "sm_90"; return; fi
  for architecture in 75 80 120; do
    if ! run plans $architecture none 1 2; then failed nvrtc "sm_$architecture"; return; fi
  done
  ran nvrtc "sm_75, sm_80, sm_90, sm_120: kernels compile, and all are found"
  if run plans 90 unknown 1; then
    failed nvrtc "the planted mistake 'unknown' was not noticed"
  else
    ran nvrtc "planted: an unknown function: noticed"
  fi
}

# issue slots of every kernel, from the machine code
gate_counts() {
  local script=$tree/scripts/device-counts.py
  if ! command -v python3 >/dev/null; then skipped counts "no python3"; return; fi
  if ! run python3 "$script" "$build" --check --quick; then failed counts "kernels above their design"; return; fi
  if grep -Eq 'no nvcc|No nvdisasm' "$scratch/out"; then
    skipped counts "no nvcc or nvdisasm, nor their packages for Python (nvidia-cuda-nvdisasm)"
    return
  fi
  ran counts "no kernel has more than 5 issue slots above its design"
  if run python3 "$script" "$build" --check --quick --plant --rows 'RG-LRU: scan'; then
    failed counts "the planted mistake 'no unrolling' was not noticed"
  else
    ran counts "planted: loops that are not unrolled: noticed"
  fi
}

# within_amd_limits LOG SCRATCH: metadata of kernels: at most 168 registers (three waves of a SIMD of gfx90a), 64 KB of local
# memory, and SCRATCH bytes of scratch memory
within_amd_limits() {
  awk -v most="$2" '$1 == ".vgpr_count:" { kernels++; if ($2 > registers) registers = $2 }
       $1 == ".private_segment_fixed_size:" && $2 > scratch { scratch = $2 }
       $1 == ".group_segment_fixed_size:" && $2 > local { local = $2 }
       END { printf "%d kernels, at most %d registers, %d bytes of local memory, %d bytes of scratch\n", kernels, registers, local, scratch
             exit !(kernels > 0 && scratch <= most && registers <= 168 && local <= 65536) }' "$1"
}

# clang_opencl TARGET OUTPUT TEXT OPTION...
clang_opencl() {
  run "$opencl_clang" -x cl -cl-std=CL1.2 -target "$1" -w -O2 -nogpulib -Xclang -finclude-default-header -S -o "$2" "${@:4}" "$3"
}

amd() {
  local architecture most i
  # clang 15 uses 128 of the 256 registers of gfx1100, whatever its attributes: the adjoint of RG-LRU by pairs spills 172 bytes
  for architecture in gfx906 gfx90a gfx1100; do
    most=0
    if [ $architecture = gfx1100 ]; then most=172; fi
    if ! "$opencl_clang" -target amdgcn-amd-amdhsa -mcpu=$architecture -nogpulib -x cl -S -o /dev/null - </dev/null 2>/dev/null; then
      skipped clang "$architecture: not supported by this clang"
      continue
    fi
    : >"$scratch/log"
    for i in $texts; do
      if ! clang_opencl amdgcn-amd-amdhsa "$scratch/code.s" "$scratch/$i.cl" -mcpu=$architecture -include "$tree/tests/device/amd.h"; then
        failed clang "$architecture: text $i does not compile"
        return
      fi
      cat "$scratch/code.s" >>"$scratch/log"
    done
    : >"$scratch/out"
    if within_amd_limits "$scratch/log" $most >"$scratch/limits"; then
      ran clang "$architecture: $(cat "$scratch/limits")"
    else
      failed clang "$architecture: $(cat "$scratch/limits")"
    fi
  done
  text 0 registers >"$scratch/planted.cl"
  clang_opencl amdgcn-amd-amdhsa "$scratch/code.s" "$scratch/planted.cl" -mcpu=gfx90a -include "$tree/tests/device/amd.h" || true
  if within_amd_limits "$scratch/code.s" 0 >"$scratch/out"; then
    failed clang "the planted mistake 'registers' was not noticed"
  else
    ran clang "planted: runs of 8 tokens: noticed ($(cat "$scratch/out"))"
  fi
}

spir() {
  local i
  for i in $texts; do
    if ! clang_opencl spir64 "$scratch/module.ll" "$scratch/$i.cl" -emit-llvm; then
      failed clang "spir64: text $i does not compile"
      return
    fi
  done
  ran clang "spir64: every kernel compiles"
  sed 's/BARRIER() barrier(/BARRIER() barier(/' "$scratch/0.cl" >"$scratch/planted.cl"
  if clang_opencl spir64 "$scratch/module.ll" "$scratch/planted.cl" -emit-llvm; then
    failed clang "the planted mistake was not noticed"
  else
    ran clang "planted: an unknown function: noticed"
  fi
}

gate_clang() {
  local i
  opencl_clang=$(command -v clang-15 || command -v clang || true)
  if [ -z "$opencl_clang" ]; then skipped clang "not installed"; return; fi
  for i in $texts; do text "$i" >"$scratch/$i.cl"; done
  amd
  spir
}

gates="properties vectors shim sanitizer oclgrind nvcc nvrtc counts clang"
for name in ${*:3}; do
  case " $gates " in
  *" $name "*) ;;
  *)
    echo "${0##*/}: no gate is called '$name'; there are $gates" >&2
    exit 2
    ;;
  esac
done
if [ $# -gt 2 ]; then gates=${*:3}; fi
for name in $gates; do gate_$name; done
if [ $failures = 0 ]; then echo "no gate failed"; else echo "$failures gates failed"; fi
exit $((failures > 0))
