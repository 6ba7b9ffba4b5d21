/* SPDX-License-Identifier: MIT */
/* shim.h: the kernels' dialect as C++ on the CPU; fake_cuda.c puts it before every program that it compiles.
 *
 * Work-items are fibres of one thread, so a local array is a static one. The run time, in fake_cuda.c, switches fibres
 * at barriers and fills local arrays with NaN before a group starts. */
#ifndef SPARC_TESTS_DEVICE_SHIM_H
#define SPARC_TESTS_DEVICE_SHIM_H

typedef struct shim_runtime {
  int local_id, group_id;
  void (*barrier)(void);
  void (*poison)(void *array, unsigned long bytes); /* for the first fibre of a group */
} shim_runtime;

#ifdef __cplusplus
#include <cmath>
#include <cstring>

extern "C" __attribute__((visibility("default"))) shim_runtime *shim;
shim_runtime *shim;

using std::fma;

#define KERNEL(size) extern "C" __attribute__((visibility("default"))) void
#define FN           static inline
#define LOCAL_ARRAY(type, name, count) \
  static type name[count];             \
  shim->poison(name, sizeof name)
#define RESTRICT
#define BARRIER()  shim->barrier()
#define LOCAL_ID() (shim->local_id)
#define GROUP_ID() (shim->group_id)
#define UNROLL

static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }

template <class To, class From>
static inline To same_bits(From value) {
  To out;
  static_assert(sizeof out == sizeof value, "the same size");
  memcpy(&out, &value, sizeof out);
  return out;
}
#define AS_F(x) same_bits<float>((unsigned)(x))
#define AS_U(x) same_bits<unsigned>((float)(x))
#define AS_D(x) same_bits<double>((unsigned long long)(x))
#define AS_L(x) same_bits<unsigned long long>((double)(x))

struct pair {
  float x, y;
};
struct quad {
  float x, y, z, w;
};
template <class To>
static inline To load(const float *from) {
  To out;
  memcpy(&out, from, sizeof out);
  return out;
}
#define LOAD_PAIR(from) load<pair>(from)
#define LOAD_QUAD(from) load<quad>(from)
#endif

#endif
