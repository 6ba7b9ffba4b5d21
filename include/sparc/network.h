/* SPDX-License-Identifier: MIT */
/* network.h: networks of layers: immutable descriptions over flat arrays, like cells.
 *
 *   embedding   none, W x + b, tanh(W x + b), or a row of a table for each symbol
 *   layers      layers >= 1: the paper's residual blocks (layer norm, cell, readout, GELU, gated linear unit); layers
 *               == 0: one bare cell, whose features the heads read; or layers of any kinds (layer.h)
 *   heads       any number, each on the mean over time, the last step, every step, or constant: a linear layer,
 *               optionally after a tanh layer
 *
 * A classifier is a network with one head, an actor-critic network one with two or three. The arrays (params, prepared,
 * state, trace, tape) are those of a cell, see cell.h, and so are the three modes: whole sequences forward and backward,
 * one input at a time, and one input at a time with exact sensitivities. Functions in double are at the end.
 */
#ifndef SPARC_NETWORK_H
#define SPARC_NETWORK_H

#include "sparc/sequence.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sparc_network sparc_network; /* opaque, immutable, shareable between threads */

/* ---- description ------------------------------------------------------------------------------- */

typedef enum sparc_embedding {
  SPARC_EMBED_NONE,   /* the cell reads the inputs; only without layers */
  SPARC_EMBED_LINEAR, /* W x + b, `width` wide */
  SPARC_EMBED_TANH,   /* tanh(W x + b) */
  SPARC_EMBED_SYMBOLS /* row x of a table of `symbols` rows, `width` wide; an input is one integer >= 0 */
} sparc_embedding;

/* Features of a bare cell that the heads read. */
typedef enum sparc_features {
  SPARC_FEATURES_OUTPUT, /* its output */
  SPARC_FEATURES_RELU,   /* max(output, 0) */
  SPARC_FEATURES_POLICY /* as in the paper's policies, by kind: max(output, 0), Re(C h) with a square C, or the output */
} sparc_features;

typedef enum sparc_head_input {
  SPARC_HEAD_MEAN,    /* the mean over the steps of the segment so far: [B][outputs] */
  SPARC_HEAD_LAST,    /* the last step: [B][outputs] */
  SPARC_HEAD_STEPS,   /* every step: [B][T][outputs] */
  SPARC_HEAD_CONSTANT /* no input: learned numbers, for example a policy's log standard deviation: [outputs] */
} sparc_head_input;

/* What a head predicts. */
typedef enum sparc_head_kind {
  SPARC_HEAD_BY_INPUT, /* values on every step; else classes, or values if the examples have targets */
  SPARC_HEAD_CLASSES,  /* logits of classes */
  SPARC_HEAD_VALUES    /* numbers */
} sparc_head_kind;

typedef struct sparc_head_config {
  const char *name; /* its blocks are NAME.hidden.weight, NAME.hidden.bias, NAME.weight, NAME.bias; NULL: "head" */
  sparc_head_input input;
  int outputs;
  int hidden;               /* width of the tanh layer before the linear one; 0: none */
  double hidden_gain, gain; /* of orthogonal initial weights; 0: lecun_normal. Biases and constants start at 0. */
  sparc_head_kind kind;     /* used by training and models only */
  int tied; /* 1: the linear layer's weight is the table of symbols: outputs == symbols, no hidden layer,
               features as wide as the table */
} sparc_head_config;

struct sparc_layer_kind;

typedef struct sparc_layer_config {
  const char *kind;    /* a kind of the library or of network_config.kinds */
  const char *options; /* "key=value,..."; NULL: defaults */
} sparc_layer_config;

typedef struct sparc_network_config {
  const char *cell;         /* kind, see sparc_cell_kinds */
  const char *cell_options; /* NULL: defaults */
  const char *kernel;       /* kernel set, see cell.h; NULL: the best for this machine */
  int H;                    /* modes (or real coordinates) of each cell */
  int inputs;               /* channels of the input sequence */
  sparc_embedding embedding;
  int width;                     /* of the embedding and the residual stream */
  int layers;                    /* residual layers; 0: the bare cell */
  sparc_features features;       /* without layers */
  double dropout;                /* probability, in [0, 1), at two places of each layer */
  const sparc_head_config *head; /* (heads) */
  int heads;
  sparc_init_style init;
  int symbols;                                 /* rows of the table of SPARC_EMBED_SYMBOLS, at most 2^24 */
  const sparc_layer_config *layer;             /* (layers): kind of each; NULL: all residual, or a bare cell */
  const struct sparc_layer_kind *const *kinds; /* the program's own kinds, NULL-terminated; they must outlive the
                                                  network. NULL: none */
} sparc_network_config;

/* Element counts, the same in float and double. */
typedef struct sparc_network_sizes {
  size_t params;   /* trainable parameters */
  size_t prepared; /* written by sparc_network_prepare */
  size_t state;    /* of one stream: the states of all layers; with a head on the mean also the sum of its features over
                   * the segment and its number of steps */
  size_t outputs;  /* of one step: all heads, concatenated */
  size_t tape;     /* scratch of one step of one stream */
  size_t trace;    /* exact sensitivities to the cell's parameters; 0: no RTRL form */
  size_t trace_exact; /* the same followed by those to the embedding's parameters and their drivers; 0: none */
} sparc_network_sizes;

/* Create a network. config is copied. *out is NULL on failure. */
SPARC_API sparc_status sparc_network_create(const sparc_network_config *config, sparc_network **out);
SPARC_API void sparc_network_free(sparc_network *network); /* network may be NULL */

SPARC_API sparc_network_config sparc_network_config_of(const sparc_network *network);
SPARC_API sparc_network_sizes sparc_network_sizes_of(const sparc_network *network);
SPARC_API const sparc_block *sparc_network_blocks(const sparc_network *network, size_t *count);
SPARC_API const sparc_span *sparc_network_spans(const sparc_network *network, size_t *count);

/* Initialise params. Every block has its own random stream, keyed by seed and name. */
SPARC_API sparc_status sparc_network_init(const sparc_network *network, uint64_t seed, float *params);

/* Compute prepared from params. Call it after every change of params. */
SPARC_API sparc_status sparc_network_prepare(const sparc_network *network, const float *params, float *prepared);

/* ---- whole sequences --------------------------------------------------------------------------- */

/* Dropout masks depend on (seed, update, example, layer, place) only. */
typedef struct sparc_dropout {
  uint64_t seed;
  uint64_t update;
} sparc_dropout;

typedef struct sparc_network_sequence {
  const float *x;               /* [B][T][inputs] */
  const float *mask;            /* [B][T], 1: continue, 0: a new segment starts here; NULL: one segment, which continues
                                 * from state0, or starts at the first step if state0 is NULL */
  const float *state0;          /* [B][state]; NULL: zeros */
  const int *lengths;           /* [B]: steps of each sequence; NULL: all T */
  const sparc_dropout *dropout; /* NULL: evaluation */
  float *const *outputs;        /* (heads): one array per head */
  float *state_last;            /* [B][state], after step T; requires lengths of T. May be NULL */
} sparc_network_sequence;

typedef struct sparc_network_gradient {
  const float *const *doutputs; /* (heads), shaped as the outputs; NULL in an entry: zeros */
  const float *dstate_last;     /* [B][state], requires lengths of T; NULL: zeros */
  float *dx;                    /* [B][T][inputs], overwritten; may be NULL, must be NULL for symbols */
  float *dstate0;               /* [B][state], overwritten; may be NULL. Step counts have gradient 0. */
  float *dparams;               /* accumulated */
} sparc_network_gradient;

typedef struct sparc_network_plan sparc_network_plan;

/* Plan the activations of B sequences of up to T steps. threads as in sparc_plan_config. */
SPARC_API sparc_status sparc_network_plan_create(const sparc_network *network, int B, int T, int threads,
                                                 sparc_network_plan **out);
SPARC_API void sparc_network_plan_free(sparc_network_plan *plan); /* plan may be NULL; free it before its network */
/* Bytes of `work` of sparc_network_forward and sparc_network_backward; 0 for a precision that networks do not have. */
SPARC_API size_t sparc_network_plan_work_bytes(const sparc_network_plan *plan, sparc_precision precision);

/* Compute all outputs. work, 64-byte aligned, keeps the activations for sparc_network_backward. */
SPARC_API sparc_status sparc_network_forward(const sparc_network_plan *plan, const float *prepared,
                                             const sparc_network_sequence *sequence, void *work);
/* Backpropagate through the last sparc_network_forward with the same sequence and work. */
SPARC_API sparc_status sparc_network_backward(const sparc_network_plan *plan, const float *prepared,
                                              const sparc_network_sequence *sequence,
                                              const sparc_network_gradient *gradient, void *work);

/* ---- one input at a time ------------------------------------------------------------------------- */

/* Advance n independent streams by one input each, without dropout, on up to `threads` threads (< 1: all). The result of
 * a stream does not depend on the other streams or on threads. A head on the mean reads the mean of the segment so far;
 * its sum is carried in the precision of the state, so it differs from that of sparc_network_forward by one rounding per
 * step, and the step count saturates at 2^24 in float. masks NULL: ones. y may be NULL. */
SPARC_API sparc_status sparc_network_step(const sparc_network *network, const float *prepared, int n,
                                          float *states /* n, state */, const float *x /* n, inputs */,
                                          const float *masks /* n or NULL */, float *y /* n, outputs, or NULL */,
                                          float *tapes /* n * tape */, int threads);

/* Gradient of parameters before the cell (embedding, layer norm): of the current step with the carried state held
 * fixed, or exact, with the sensitivities of the state to the embedding. */
typedef enum sparc_encoder_gradient { SPARC_ENCODER_LOCAL, SPARC_ENCODER_EXACT } sparc_encoder_gradient;

/* Advance one stream by one input together with its exact sensitivities, sizes.trace or sizes.trace_exact numbers, zeros
 * at the start. SPARC_UNSUPPORTED if that size is 0: cells without an RTRL form, several layers, heads on the mean;
 * exact sensitivities of an embedding exist for a bare cell only. y may be NULL if no gradient follows. */
SPARC_API sparc_status sparc_network_step_rtrl(const sparc_network *network, const float *prepared,
                                               sparc_encoder_gradient encoder, float *state, float *trace,
                                               const float *x /* inputs */, float mask, float *y /* outputs, or NULL */,
                                               float *tape);

/* Add the gradient of this step's loss to dparams: exact over all time for the parameters of the cell and after it, as
 * `encoder` says for those before it. dx receives the gradient with respect to this step's input with the carried state
 * held fixed. tape must be that of the last sparc_network_step_rtrl. */
SPARC_API sparc_status sparc_network_rtrl_gradient(const sparc_network *network, const float *prepared,
                                                   sparc_encoder_gradient encoder, const float *trace, float *tape,
                                                   const float *dy /* outputs */, float *dparams /* += */,
                                                   float *dx /* inputs, or NULL */);

/* ---- double precision ---------------------------------------------------------------------------- */

typedef struct sparc_network_sequence_f64 {
  const double *x, *mask, *state0;
  const int *lengths;
  const sparc_dropout *dropout;
  double *const *outputs;
  double *state_last;
} sparc_network_sequence_f64;

typedef struct sparc_network_gradient_f64 {
  const double *const *doutputs;
  const double *dstate_last;
  double *dx, *dstate0, *dparams;
} sparc_network_gradient_f64;

SPARC_API sparc_status sparc_network_prepare_f64(const sparc_network *network, const double *params, double *prepared);
SPARC_API sparc_status sparc_network_forward_f64(const sparc_network_plan *plan, const double *prepared,
                                                 const sparc_network_sequence_f64 *sequence, void *work);
SPARC_API sparc_status sparc_network_backward_f64(const sparc_network_plan *plan, const double *prepared,
                                                  const sparc_network_sequence_f64 *sequence,
                                                  const sparc_network_gradient_f64 *gradient, void *work);
SPARC_API sparc_status sparc_network_step_f64(const sparc_network *network, const double *prepared, int n,
                                              double *states, const double *x, const double *masks, double *y,
                                              double *tapes, int threads);

#ifdef __cplusplus
}
#endif

#endif
