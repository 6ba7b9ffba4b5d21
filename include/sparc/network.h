/* SPDX-License-Identifier: MIT */
/* network.h: networks around a cell, as constant descriptions over flat arrays, like the cells themselves.
 *
 * Two bodies: with layers >= 1, the paper's residual sequence backbone (embedding, then per layer: layer norm, cell,
 * readout, GELU, gated linear unit, residual); with layers == 0, the bare cell on the inputs. Three heads: a class from
 * the mean over time, a class from the last step, or numbers at every step.
 */
#ifndef SPARC_NETWORK_H
#define SPARC_NETWORK_H

#include "sparc/sequence.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sparc_network sparc_network; /* opaque, immutable, shareable between threads */

typedef enum sparc_head {
  SPARC_HEAD_MEAN, /* linear on the mean over time: logits [B][outputs] */
  SPARC_HEAD_LAST, /* linear on the last step: logits [B][outputs] */
  SPARC_HEAD_STEPS /* linear at every step: numbers [B][T][outputs] */
} sparc_head;

typedef struct sparc_network_config {
  const char *cell;         /* kind, see sparc_cell_kinds */
  const char *cell_options; /* NULL: defaults */
  int H;                    /* modes (or real coordinates) of each cell */
  int inputs;               /* channels of the input sequence */
  int outputs;              /* classes, or numbers per step */
  int layers;               /* residual layers; 0: the bare cell */
  int width;                /* of the residual stream; unused without layers */
  sparc_head head;
  int relu;       /* without layers: 1 puts a ReLU between the cell's output and the head */
  double dropout; /* probability, 0 to below 1, at two places of each layer */
  sparc_init_style init;
} sparc_network_config;

/* sparc_network_create validates config and makes a network. *out is NULL on failure. */
SPARC_API sparc_status sparc_network_create(const sparc_network_config *config, sparc_network **out);
SPARC_API void sparc_network_free(sparc_network *network); /* network may be NULL */

SPARC_API sparc_network_config sparc_network_config_of(const sparc_network *network);
SPARC_API const sparc_cell *sparc_network_cell(const sparc_network *network); /* the description all layers share */
SPARC_API size_t sparc_network_params(const sparc_network *network);          /* trainable numbers */
SPARC_API size_t sparc_network_prepared(const sparc_network *network); /* elements behind sparc_network_prepare */
SPARC_API const sparc_block *sparc_network_blocks(const sparc_network *network, size_t *count);
SPARC_API const sparc_span *sparc_network_spans(const sparc_network *network, size_t *count);
SPARC_API sparc_status sparc_network_init(const sparc_network *network, uint64_t seed, float *params);

/* sparc_network_prepare refreshes what forward and backward read; call it after every change of params. */
SPARC_API sparc_status sparc_network_prepare(const sparc_network *network, const float *params, float *prepared);
SPARC_API sparc_status sparc_network_prepare_f64(const sparc_network *network, const double *params, double *prepared);

typedef struct sparc_network_plan sparc_network_plan;

/* sparc_network_plan_create lays out all activations of B sequences of up to T steps. threads as in sparc_plan_config.
 */
SPARC_API sparc_status sparc_network_plan_create(const sparc_network *network, int B, int T, int threads,
                                                 sparc_network_plan **out);
SPARC_API void sparc_network_plan_free(sparc_network_plan *plan); /* plan may be NULL; free it before its network */
SPARC_API size_t sparc_network_plan_work_bytes(const sparc_network_plan *plan);
SPARC_API size_t sparc_network_plan_work_bytes_f64(const sparc_network_plan *plan);

/* Dropout masks are a function of (seed, update, example, layer, place) alone. */
typedef struct sparc_dropout {
  uint64_t seed;
  uint64_t update;
} sparc_dropout;

/* sparc_network_forward computes outputs from x[B][T][inputs]. lengths[B] (NULL: all T) says how many steps of a
 * sequence count. dropout NULL: evaluation. work keeps the activations for the backward; nothing is allocated. */
SPARC_API sparc_status sparc_network_forward(const sparc_network_plan *plan, const float *prepared, const float *x,
                                             const int *lengths, const sparc_dropout *dropout, float *outputs,
                                             void *work);
SPARC_API sparc_status sparc_network_forward_f64(const sparc_network_plan *plan, const double *prepared,
                                                 const double *x, const int *lengths, const sparc_dropout *dropout,
                                                 double *outputs, void *work);
/* sparc_network_backward adds to dparams; x, lengths, dropout and work are those of the forward just run. */
SPARC_API sparc_status sparc_network_backward(const sparc_network_plan *plan, const float *prepared, const float *x,
                                              const int *lengths, const sparc_dropout *dropout, const float *doutputs,
                                              float *dparams, void *work);
SPARC_API sparc_status sparc_network_backward_f64(const sparc_network_plan *plan, const double *prepared,
                                                  const double *x, const int *lengths, const sparc_dropout *dropout,
                                                  const double *doutputs, double *dparams, void *work);

#ifdef __cplusplus
}
#endif

#endif
