# SPDX-License-Identifier: MIT
# Kernels: float kernels are one body, compiled once per instruction set and chosen at run time. Contraction to fused
# multiply-add is intended there; the loops are marked for vectorisation with `omp simd`.
# Sets kernel_sets, those of this processor, best first; the flags of their sources are set, too.

set(kernel_flags -O3 -ffp-contract=fast -fopenmp-simd -Wno-psabi)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  list(APPEND kernel_flags -fno-var-tracking)
endif()
if(SPARC_FUZZ) # readers are fuzzed, and kernels with a sanitizer's checks take minutes to compile
  set(kernel_flags -O1 -fno-sanitize=all -Wno-psabi)
elseif(SPARC_SANITIZE AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
  # without these checks of every operand the kernels compile in minutes, with them in far more; addresses are checked
  list(APPEND kernel_flags -O2 -fno-sanitize=alignment,null,pointer-overflow,object-size --param=asan-stack=0)
endif()
set(kernel_flags_avx2 -mavx2 -mfma)
set(kernel_flags_avx512 -mavx512f -mavx512dq -mavx512bw -mavx512vl -mfma -mprefer-vector-width=512)
# NEON is part of every AArch64 processor, so its table is the baseline there
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(kernel_sets avx512 avx2 baseline)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(kernel_sets neon)
else()
  set(kernel_sets baseline)
endif()
foreach(isa IN LISTS kernel_sets)
  set_source_files_properties(src/kernels/kernels_${isa}.c PROPERTIES
    COMPILE_OPTIONS "${kernel_flags};${kernel_flags_${isa}}")
endforeach()
