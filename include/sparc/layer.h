/* SPDX-License-Identifier: MIT */
/* layer.h: layer kinds, including a program's own (docs/adding-a-layer.md).
 *
 * A network is a stack of layers between embedding and heads (network.h). Three kinds come with the library:
 *
 *   residual  layer norm, cell, readout, GELU, gated linear unit, added to its input
 *   cell      a cell and the features of its output
 *   bank      one-pole filters of values and differences, with soft thresholds: modes=N, thresholds=N, windows=1 to
 *             weight each of them by a window in time
 *
 * residual and cell take cell=KIND, H=N and the options of that cell, residual also dropout=P, cell also features=NAME;
 * defaults are those of the network's configuration. A kind is a table of functions: layout declares parameters and
 * sizes for a given input width; the others prepare weights, run whole sequences forward and backward and take single
 * steps, in float and, for gradient checks, in double. Functions must not allocate memory, and results must not depend
 * on `threads`.
 */
#ifndef SPARC_LAYER_H
#define SPARC_LAYER_H

#include "sparc/network.h"
#include "sparc/options.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- for a layout -------------------------------------------------------------------------------- */

typedef struct sparc_layer sparc_layer; /* a layer of a network; constant after its layout */

SPARC_API int sparc_layer_inputs(const sparc_layer *layer);                               /* width of its input */
SPARC_API double sparc_layer_option(const sparc_layer *layer, const char *name);          /* index of a choice */
SPARC_API const sparc_block *sparc_layer_blocks(const sparc_layer *layer, size_t *count); /* in order of addition */

/* Initial values of a block. Every block has its own random stream, keyed by the seed and its name in the network. */
typedef enum sparc_start {
  SPARC_START_ZEROS,
  SPARC_START_ONES,
  SPARC_START_NORMAL,    /* scale: the standard deviation */
  SPARC_START_LECUN,     /* normal with variance 1 / columns */
  SPARC_START_ORTHOGONAL /* scale: the gain */
} sparc_start;

/* Append a rows x cols tensor to the layer's parameters, cols == 0: a vector, and return its offset in them. At most
 * SPARC_LAYER_BLOCKS per layer. */
enum { SPARC_LAYER_BLOCKS = 32 };
SPARC_API size_t sparc_layer_add_block(sparc_layer *layer, const char *name, sparc_group group, int rows, int cols,
                                       sparc_start start, double scale);

/* element counts */
typedef struct sparc_layer_sizes {
  size_t outputs;  /* output width; initially the input width */
  size_t prepared; /* written by prepare */
  size_t state;    /* of one stream */
  size_t tape;     /* scratch of one step of one stream */
} sparc_layer_sizes;

/* ---- calls, in float and in double ----------------------------------------------------------------- */

/* whole sequences; states are `stride` elements apart */
typedef struct sparc_layer_sequence {
  const float *params, *prepared;
  int B, T, threads;
  const float *x;               /* [B][T][inputs] */
  const float *mask;            /* [B][T], 0: a new segment starts here; NULL: ones */
  const float *state0;          /* [B], state each; NULL: zeros */
  const sparc_dropout *dropout; /* NULL: evaluation */
  float *y;                     /* [B][T][outputs] */
  float *state_last;            /* [B], state each; may be NULL */
  size_t stride;
  void *saved, *work; /* kept from forward to backward; scratch. Both 64-byte aligned. */
  const void *plan;   /* of plan_create; NULL without one */
} sparc_layer_sequence;

typedef struct sparc_layer_gradient {
  const float *dy, *dstate_last; /* as y and state_last; dstate_last may be NULL: zeros */
  float *dx, *dstate0;           /* overwritten; each may be NULL */
  float *dparams;                /* accumulated */
} sparc_layer_gradient;

/* one step of streams [first, first + count) of n; arrays are those of all n */
typedef struct sparc_layer_step {
  const float *params, *prepared;
  int n, first, count;
  const float *x, *masks; /* [n][inputs], [n]; masks may be NULL: ones */
  float *states, *y;      /* [n], state each, `stride` apart; [n][outputs] */
  size_t stride;
  float *tapes; /* [n][tape] */
} sparc_layer_step;

typedef struct sparc_layer_ops {
  void (*prepare)(const sparc_layer *layer, const float *params, float *prepared); /* NULL: nothing to prepare */
  size_t (*saved)(const sparc_layer *layer, int B, int T, const void *plan);       /* bytes; NULL: none */
  size_t (*work)(const sparc_layer *layer, int B, int T, const void *plan);        /* bytes; NULL: none */
  void (*forward)(const sparc_layer *layer, const sparc_layer_sequence *call);
  void (*backward)(const sparc_layer *layer, const sparc_layer_sequence *call, const sparc_layer_gradient *gradient);
  void (*step)(const sparc_layer *layer, const sparc_layer_step *call);
} sparc_layer_ops;

typedef struct sparc_layer_sequence_f64 {
  const double *params, *prepared;
  int B, T, threads;
  const double *x, *mask, *state0;
  const sparc_dropout *dropout;
  double *y, *state_last;
  size_t stride;
  void *saved, *work;
  const void *plan;
} sparc_layer_sequence_f64;

typedef struct sparc_layer_gradient_f64 {
  const double *dy, *dstate_last;
  double *dx, *dstate0, *dparams;
} sparc_layer_gradient_f64;

typedef struct sparc_layer_step_f64 {
  const double *params, *prepared;
  int n, first, count;
  const double *x, *masks;
  double *states, *y;
  size_t stride;
  double *tapes;
} sparc_layer_step_f64;

typedef struct sparc_layer_ops_f64 {
  void (*prepare)(const sparc_layer *layer, const double *params, double *prepared);
  size_t (*saved)(const sparc_layer *layer, int B, int T, const void *plan);
  size_t (*work)(const sparc_layer *layer, int B, int T, const void *plan);
  void (*forward)(const sparc_layer *layer, const sparc_layer_sequence_f64 *call);
  void (*backward)(const sparc_layer *layer, const sparc_layer_sequence_f64 *call,
                   const sparc_layer_gradient_f64 *gradient);
  void (*step)(const sparc_layer *layer, const sparc_layer_step_f64 *call);
} sparc_layer_ops_f64;

/* ---- kinds --------------------------------------------------------------------------------------- */

typedef struct sparc_layer_kind {
  const char *name, *summary;
  const sparc_option *options; /* ends with a NULL name; NULL: layout parses the text */
  sparc_status (*layout)(sparc_layer *layer, sparc_layer_sizes *sizes);
  const sparc_layer_ops *ops;
  const sparc_layer_ops_f64 *ops_f64; /* NULL: networks with this kind do not run in double */
  /* data that depends on B and T only, created once per network plan; NULL: none */
  sparc_status (*plan_create)(const sparc_layer *layer, int B, int T, int threads, void **plan);
  void (*plan_free)(void *plan);
} sparc_layer_kind;

#ifdef __cplusplus
}
#endif

#endif
