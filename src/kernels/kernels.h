/* SPDX-License-Identifier: MIT */
/* kernels.h: the float32 inner loops, one table per instruction set.
 *
 * The bodies are written once (kernels_body.h), over registers or as loops that compilers turn into vector code, and
 * compiled once per instruction set. A cell keeps the table it was created with (see sparc/cell.h for the
 * choice) and falls back to its scalar C where a slot is NULL.
 */
#ifndef SPARC_KERNELS_KERNELS_H
#define SPARC_KERNELS_KERNELS_H

#include "kernels/bf16.h"
#include "kernels/diagonal.h"
#include "kernels/gru.h"
#include "kernels/pointwise.h"
#include "kernels/product.h"
#include "kernels/rtrl.h"
#include "kernels/scan.h"
#include "kernels/sparc_rules.h"
#include "sparc/base.h"

#include <stddef.h>

/* the combinations of rules that have a kernel: name, rules, and whether some decay may fall below the floor */
#define SPARC_INSTANCES(ROW)                                                          \
  ROW(full, CONTROLS_SHARED, true, CLOCK_LIVE, true, true, false, false)              \
  ROW(full_floor, CONTROLS_SHARED, true, CLOCK_LIVE, true, true, false, true)         \
  ROW(linear, CONTROLS_SHARED, true, CLOCK_LIVE, true, true, true, false)             \
  ROW(linear_floor, CONTROLS_SHARED, true, CLOCK_LIVE, true, true, true, true)        \
  ROW(phase_only, CONTROLS_SHARED, false, CLOCK_LIVE, true, true, false, false)       \
  ROW(retention_only, CONTROLS_SHARED, true, CLOCK_OFF, true, true, false, false)     \
  ROW(no_clock, CONTROLS_SHARED, true, CLOCK_FULL, true, true, false, false)          \
  ROW(static_clock, CONTROLS_SHARED, true, CLOCK_STATIC, true, true, false, false)    \
  ROW(static_transition, CONTROLS_SHARED, false, CLOCK_OFF, true, true, false, false) \
  ROW(neutral_gate, CONTROLS_SHARED, true, CLOCK_LIVE, false, true, false, false)     \
  ROW(fixed_norm, CONTROLS_SHARED, true, CLOCK_LIVE, true, false, false, false)       \
  ROW(per_mode, CONTROLS_PER_MODE, true, CLOCK_LIVE, true, true, false, false)

#define SPARC_INSTANCE_ENUM(name, ...) SPARC_INSTANCE_##name,
enum { SPARC_INSTANCES(SPARC_INSTANCE_ENUM) SPARC_INSTANCE_COUNT };

/* the widest run of modes that a scan or adjoint kernel is given */
enum { KERNEL_TILE = 512 };

/* consecutive tokens of one stream, modes [first, first + n) of H */
typedef struct sparc_rows {
  size_t H, first, n, tokens;
  float kappa_r, kappa_p;
  const float *constants; /* (K_COUNT, H) */
  const float *content;   /* (tokens, content_stride): re | im before the activation */
  const float *own;       /* (tokens, own_stride): per-mode controls r | p; unused with shared ones */
  size_t content_stride, own_stride;
  const float *shared; /* (tokens, 2): r, p; unused with per-mode controls */
  const float *mask;   /* (tokens); NULL: ones */
} sparc_rows;

typedef struct sparc_scan_rows {
  sparc_rows rows;
  float *h_re, *h_im; /* (n): the state before the first token; after the last one on return */
  float *states;      /* (tokens, 2 H): the state after each token */
} sparc_scan_rows;

typedef struct sparc_adjoint_rows {
  sparc_rows rows;
  const float *states;                /* (tokens, 2 H): the state after each token */
  const float *before_re, *before_im; /* (n): the state before the first token */
  const float *dstates;               /* (tokens, 2 H) */
  float *g_re,
      *g_im;       /* (n): cotangent of the last state from the future; of the state before the first token on return */
  float *dcontent; /* (tokens, dcontent_stride) */
  size_t dcontent_stride;
  float *d_own; /* (tokens, d_own_stride): r | p, by the controls of every mode; NULL: dshared gets their sums */
  size_t d_own_stride;
  float *dshared; /* (tokens, 2): overwritten; unused with d_own, which per-mode controls must have */
  float *sums;    /* (SUM_COUNT, n): added to; the caller flushes it to double every few tokens */
  size_t earlier; /* rows of all these arrays before the first token, which come next */
} sparc_adjoint_rows;

/* the sums over modes [first, first + n) of what an adjoint has left in d_own */
typedef struct sparc_control_rows {
  size_t H, first, n, tokens;
  const float *d_own; /* (tokens, 2, H) */
  float *dshared;     /* (tokens, 2): overwritten */
} sparc_control_rows;

/* coefficients of one token for all modes and, unless outer is NULL, the drivers of its RTRL traces */
typedef struct sparc_token_rows {
  sparc_rows rows;   /* one token, first = 0, n = H */
  const float *kept; /* (2, H): m h_{t-1} */
  float *a, *b;      /* (2, H) */
  bool content_rows; /* outer has the rows of the content; else it starts with those of the controls */
  float *outer;      /* (OUTER_SLOTS, 2, H) */
  float *scalar;     /* (SCALAR_SLOTS, 2, H) */
} sparc_token_rows;

typedef void sparc_token_fn(const sparc_token_rows *rows);
typedef void sparc_scan_fn(const sparc_scan_rows *rows);
typedef void sparc_adjoint_fn(const sparc_adjoint_rows *rows);

typedef struct kernels {
  const char *name;
  product_fn *product;
  size_t product_panel; /* columns of a panel of prepared weights; 0: no product here, they are rows */
  transpose_fn *transpose;
  sparc_scan_fn *sparc_scan[SPARC_INSTANCE_COUNT];
  sparc_adjoint_fn *sparc_adjoint[SPARC_INSTANCE_COUNT];
  sparc_token_fn *sparc_token[SPARC_INSTANCE_COUNT];
  void (*sparc_control_sums)(const sparc_control_rows *rows);
  gru_kernels gru;
  pointwise_kernels pointwise;
  bf16_kernels bf16;
  diagonal_kernels diagonal;
  rtrl_kernels rtrl;
  scan_kernels scan;
} kernels;

/* kernel_names returns the NULL-terminated list of sets, best first; the last one, "plain", is scalar C */
const char *const *kernel_names(void);
/* whether this processor can run a set */
bool kernel_available(const char *name);

/* kernels_choose returns the table of the set that a configuration with this `kernel` gets (NULL: the best), with
 * SPARC_KERNEL applied; SPARC_INVALID where there is no such set or the processor cannot run it. kernel_resolve returns
 * its name. */
sparc_status kernel_resolve(const char *kernel, const char **name);
sparc_status kernels_choose(const char *kernel, const kernels **out);
/* kernels_find returns the named table, or the best for NULL, ignoring the environment; NULL: this machine cannot
 * run it, or there is none */
const kernels *kernels_find(const char *name);
/* kernels_portable returns the set that every processor of this architecture runs, for calls without a scalar form */
const kernels *kernels_portable(void);
enum { KERNELS_MAX = 8 }; /* more sets than any build has */

/* the instance for a set of rules, or -1 */
int sparc_instance_of(sparc_rules rules, bool floor);

#endif
