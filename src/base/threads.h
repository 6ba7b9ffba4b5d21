/* SPDX-License-Identifier: MIT */
/* threads.h: parallel loops whose results do not depend on the number of threads.
 *
 * Work is cut into tiles; how many is a property of the problem. A tile writes only what belongs to it,
 * and sums over tiles are formed afterwards in tile order, so results are bit-identical for any number of threads.
 */
#ifndef SPARC_BASE_THREADS_H
#define SPARC_BASE_THREADS_H

#include <stddef.h>
#include <stdint.h>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

/* parallel_for calls body(context, tile) once for every tile, on up to `threads` threads (see thread_count), the caller
 * among them, and returns when all tiles are done. Tiles are handed out as threads become free. Denormals are flushed
 * while tiles run. A nested call runs serially on the calling thread. Nothing is allocated here; the thread runtime may
 * allocate when a team first starts. */
void parallel_for(int threads, size_t tiles, void (*body)(void *context, size_t tile), void *context);

/* A watcher is called for the loops that its thread starts: with the number of tiles, then after each tile. */
typedef struct parallel_watcher {
  void (*loop)(void *context, size_t tiles);
  void (*tile)(void *context);
  void *context;
} parallel_watcher;

/* parallel_watch runs every loop of the calling thread on this thread alone, tile by tile in order, and calls the
 * watcher, which must live until parallel_watch(NULL). It measures how the work of one processor would be divided. */
void parallel_watch(const parallel_watcher *watcher);

/* thread_count turns a request into a number of threads: all that are available for requests below 1. Never more than
 * THREADS_MAX. */
enum { THREADS_MAX = 1024 };
int thread_count(int requested);

/* thread_executor names what runs the tiles: "openmp", "pthreads" or "none" */
const char *thread_executor(void);

/* ordered_sum: total[i] += partials[t * stride + i] for t = 0, 1, ... in this order, i < width. A range of columns can
 * be summed apart (offset the pointers, keep the stride) with the same result. */
void ordered_sum_f32(double *restrict total, const float *restrict partials, size_t tiles, size_t stride, size_t width);
void ordered_sum_f64(double *restrict total, const double *restrict partials, size_t tiles, size_t stride,
                     size_t width);

/* ordered_add: out[i] += the same sums, formed from zero in double and rounded once */
void ordered_add_f32(float *restrict out, const float *restrict partials, size_t tiles, size_t stride, size_t width);
void ordered_add_f64(double *restrict out, const double *restrict partials, size_t tiles, size_t stride, size_t width);

/* flush_denormals_begin makes this thread treat denormal operands and results as zero and returns the former mode
 * for flush_denormals_end. Other control bits and the sticky exception flags are unchanged. A denormal costs a hundred
 * cycles and a decaying state runs into them. On machines without such a mode both do nothing. */
#if defined(__SSE__)
#define FLUSH_BITS UINT64_C(0x8040) /* MXCSR: flush to zero, denormals are zero */
static inline uint64_t float_mode(void) { return _mm_getcsr(); }
static inline void set_float_mode(uint64_t mode) { _mm_setcsr((unsigned)mode); }
#elif defined(__aarch64__)
#define FLUSH_BITS UINT64_C(0x1000000) /* FPCR: FZ, both directions */
static inline uint64_t float_mode(void) {
  uint64_t mode;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
static inline void set_float_mode(uint64_t mode) { __asm__ volatile("msr fpcr, %0" : : "r"(mode)); }
#else
#define FLUSH_BITS UINT64_C(0)
static inline uint64_t float_mode(void) { return 0; }
static inline void set_float_mode(uint64_t mode) { (void)mode; }
#endif

static inline uint64_t flush_denormals_begin(void) {
  uint64_t mode = float_mode();
  set_float_mode(mode | FLUSH_BITS);
  return mode;
}

static inline void flush_denormals_end(uint64_t saved) {
  set_float_mode((float_mode() & ~FLUSH_BITS) | (saved & FLUSH_BITS));
}

#endif
