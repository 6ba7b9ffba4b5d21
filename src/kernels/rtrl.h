/* SPDX-License-Identifier: MIT */
/* rtrl.h: the float32 loops of RTRL, as slots of the kernel table: the rows of the trace that are driven by an outer
 * product with the input, one step or a chunk of steps or many traces at a time, and its single numbers. The plain
 * forms are in rtrl/rtrl.c, rtrl/lazy.c and rtrl/traces.c. */
#ifndef SPARC_KERNELS_RTRL_H
#define SPARC_KERNELS_RTRL_H

#include <stdbool.h>
#include <stddef.h>

/* the driver of an outer slot, where it is known to have one part only: kernels and buffered steps leave the other out
 */
typedef enum driver_part { DRIVER_COMPLEX, DRIVER_REAL, DRIVER_IMAGINARY } driver_part;
enum { DRIVER_SLOTS = 8 }; /* slots that can be declared; the rest counts as complex */

static inline driver_part driver_part_of(const driver_part declared[DRIVER_SLOTS], size_t slot) {
  return slot < DRIVER_SLOTS ? declared[slot] : DRIVER_COMPLEX;
}

/* one RTRL step of the outer rows of a complex cell: Z <- mask a before + c x^T and, with weights, the contraction of
 * the new Z in the same pass: out[row] + j * out_stride[row] += weight_re Re Z + weight_im Im Z */
typedef struct trace_rows {
  size_t H, rows, D;
  size_t first, n; /* the modes to advance */
  float mask;
  const float *a;           /* (2, H): re | im */
  const float *c;           /* (rows, 2, H) */
  const driver_part *part;  /* (DRIVER_SLOTS): of c */
  const float *x;           /* (D) */
  const float *before;      /* (H, rows, 2, D): the rows that the step found; Z itself, or no part of it */
  float *Z;                 /* (H, rows, 2, D) */
  const float *weights;     /* (rows, 2, H); NULL: no contraction */
  float *const *out;        /* (rows) */
  const size_t *out_stride; /* (rows): elements from mode to mode; 0: all modes add to one row */
} trace_rows;

/* one step of the single numbers of a trace: z <- mask a z + c */
typedef struct entry_rows {
  size_t H, entries, parts;
  float mask;
  const float *a; /* (parts, H) */
  const float *c; /* (entries, parts, H) */
  float *z;       /* (entries, parts, H) */
} entry_rows;

/* where the gradient of a chunk goes: slot `slot`, or i times it, seen through a channel of cotangents */
typedef struct lazy_sink {
  size_t slot, channel;
  bool turned;   /* the sensitivity is i times the slot */
  float *out;    /* the row of mode 0 */
  size_t group;  /* modes that add to the same rows; 1: every mode has its own */
  size_t stride; /* elements from the row of one group to that of the next; 0: all modes add to one row */
} lazy_sink;

/* where a buffered step keeps the parts of a slot's driver, as numbers of rows of H; NO_PART: it is zero */
typedef struct lazy_slot {
  size_t re, im;
} lazy_slot;
#define NO_PART ((size_t)-1)

/* the outer rows over a chunk of steps. With P_s the product of the a after step s, and A_s the cotangent of the state
 * after step s, g_s + conj(a_{s+1}) A_{s+1}:
 *   out += Re(conj(conj(a_0) A_0) Z) + sum_s Re(conj(A_s) c_s) x_s
 *   Z   <- P Z + sum_s P_s c_s x_s */
typedef struct lazy_rows {
  size_t H, D, rows, parts, steps;
  const float *x; /* (steps, x_stride): D inputs, then zeros up to a whole vector of any width */
  size_t x_stride;
  const float *a;        /* (steps, parts, H): 0 where a segment starts */
  const float *c;        /* (steps, drivers, H) */
  size_t drivers;        /* rows of H per step */
  const lazy_slot *slot; /* (rows) */
  float *g;              /* (steps, channels, parts, H): becomes A */
  size_t channels;
  const lazy_sink *sink; /* (sinks); none: no gradient */
  size_t sinks;
  size_t live;    /* the first step that the new Z remembers: the last one that starts a segment, or 0 */
  bool forgotten; /* the old Z does not reach the new one */
  bool severed;   /* the old Z does not reach the first step either */
  float *Z;       /* (H, rows, parts, D) */
} lazy_rows;

/* modes [first, first + n) of many traces: out += Re(conj(g_i) Z_i) over items i and sinks, or with i Z. The sinks' out
 * are the rows of mode 0. */
typedef struct batch_rows {
  size_t H, D, rows, parts, first, n, items;
  const float *const *Z; /* (items): (H, rows, parts, D) each */
  const float *g;        /* (items, channels, parts, H) */
  size_t channels;
  const lazy_sink *sink; /* (sinks) */
  size_t sinks;
} batch_rows;

/* many traces of rows of H numbers: out (rows, H) += y_i z_i over items i, mode by mode */
typedef struct vector_rows {
  size_t H, rows, items;
  const size_t *item;    /* (items): which of the following */
  const float *const *z; /* those from `at` on are (rows, H) */
  size_t at;
  const float *y; /* (.., H) */
  float *out;
} vector_rows;

typedef struct rtrl_kernels {
  void (*trace)(const trace_rows *rows);
  void (*entries)(const entry_rows *rows);
  /* out (rows, H) += w_re z_re + w_im z_im, mode by mode; w is (parts, H), z (rows, parts, H) */
  void (*entry_vectors)(size_t H, size_t rows, size_t parts, const float *w, const float *z, float *out);
  /* w . z over n numbers, in double */
  double (*entry_number)(size_t n, const float *w, const float *z);
  void (*lazy)(const lazy_rows *rows);
  void (*contract)(const batch_rows *rows);
  void (*contract_vectors)(const vector_rows *rows);
} rtrl_kernels;

#endif
