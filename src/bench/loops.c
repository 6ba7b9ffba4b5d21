/* SPDX-License-Identifier: MIT */
/* loops.c: the bare loops for every instruction set, and the choice among them.
 *
 * The build has no -march=native, so each set is enabled by a target attribute, function by function. Without a fused
 * multiply-add the chains multiply and add, which is what such a machine can do at most.
 */
#include "bench/loops.h"

#include "kernels/kernels.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

#define LOOP(name)                 name##_avx512
#define LOOP_NAME                  "avx512"
#define LOOP_TARGET                __attribute__((target("avx512f")))
#define LOOP_WIDTH                 16
#define LOOP_MULTIPLY_ADD(a, b, c) ((LOOP(vector))_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#define LOOP_STORE_NT(p, v)        _mm512_stream_ps(p, (__m512)(v))
#define LOOP_FENCE()               _mm_sfence()
#define LOOP_KEEP(v)               __asm__("" : "+x"(v))
#include "bench/loops_body.h"

#define LOOP(name)                 name##_avx2
#define LOOP_NAME                  "avx2"
#define LOOP_TARGET                __attribute__((target("avx2,fma")))
#define LOOP_WIDTH                 8
#define LOOP_MULTIPLY_ADD(a, b, c) ((LOOP(vector))_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define LOOP_STORE_NT(p, v)        _mm256_stream_ps(p, (__m256)(v))
#define LOOP_FENCE()               _mm_sfence()
#define LOOP_KEEP(v)               __asm__("" : "+x"(v))
#include "bench/loops_body.h"

#define LOOP(name) name##_baseline
#define LOOP_NAME  "baseline"
#define LOOP_TARGET
#define LOOP_WIDTH                 4
#define LOOP_MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#define LOOP_STORE_NT(p, v)        _mm_stream_ps(p, (__m128)(v))
#define LOOP_FENCE()               _mm_sfence()
#define LOOP_KEEP(v)               __asm__("" : "+x"(v))
#include "bench/loops_body.h"

#elif defined(__aarch64__)
#include <arm_neon.h>

#define LOOP(name) name##_baseline
#define LOOP_NAME  "neon"
#define LOOP_TARGET
#define LOOP_WIDTH                 4
#define LOOP_MULTIPLY_ADD(a, b, c) ((LOOP(vector))vfmaq_f32((float32x4_t)(c), (float32x4_t)(a), (float32x4_t)(b)))
#define LOOP_KEEP(v)               __asm__("" : "+w"(v))
#include "bench/loops_body.h"

#else

#define LOOP(name) name##_baseline
#define LOOP_NAME  "baseline"
#define LOOP_TARGET
#define LOOP_WIDTH                 4
#define LOOP_MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#define LOOP_KEEP(v)               __asm__("" : "+m"(v))
#include "bench/loops_body.h"

#endif

const bench_loops *bench_loops_for(const char *requested) {
#if defined(__x86_64__)
  const char *kernel;
  if (kernel_resolve(requested, &kernel) != SPARC_OK) return &table_baseline;
  if (strcmp(kernel, table_avx512.name) == 0) return &table_avx512;
  if (strcmp(kernel, table_avx2.name) == 0) return &table_avx2;
#else
  (void)requested;
#endif
  return &table_baseline;
}
