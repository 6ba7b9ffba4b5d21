/* SPDX-License-Identifier: MIT */
/* network.h: networks of layers, as constant descriptions over flat arrays, like the cells themselves.
 *
 *   embedding   none, W x + b, tanh(W x + b), or a row of a table for each symbol
 *   layers      layers >= 1: the paper's residual blocks (layer norm, cell, readout, GELU, gated linear unit); layers
 *               == 0: one bare cell, and of its output the features that the heads read; or of any kinds (layer.h)
 *   heads       any number, each on the mean over time, on the last step, on every step, or on nothing: a linear
 *               layer, with or without a tanh layer in front of it
 *
 * A classifier is such a network with one head, an actor-critic one with two or three. The arrays around it (params,
 * prepared, state, trace, tape) are those of a cell, see cell.h, and so are the three ways to run it: whole sequences
 * forward and backward, one input at a time, and one input at a time with exact sensitivities. The calls in double, at
 * the end, are twins of those in float.
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
  SPARC_EMBED_NONE,   /* the cell reads the inputs themselves; without layers only */
  SPARC_EMBED_LINEAR, /* W x + b, `width` wide */
  SPARC_EMBED_TANH,   /* tanh(W x + b) */
  SPARC_EMBED_SYMBOLS /* row x of a table of `symbols` rows, `width` wide; an input is one whole number from 0 on */
} sparc_embedding;

/* what heads read of a bare cell */
typedef enum sparc_features {
  SPARC_FEATURES_OUTPUT, /* its output as it is */
  SPARC_FEATURES_RELU,   /* max(output, 0) */
  SPARC_FEATURES_POLICY  /* what policies of this kind read: max(output, 0), Re(C h) with a square C, or the output */
} sparc_features;

typedef enum sparc_head_input {
  SPARC_HEAD_MEAN,    /* the mean over the steps of the segment so far: [B][outputs] */
  SPARC_HEAD_LAST,    /* the last step: [B][outputs] */
  SPARC_HEAD_STEPS,   /* every step: [B][T][outputs] */
  SPARC_HEAD_CONSTANT /* nothing: learned numbers, for example the logarithm of a policy's deviation: [outputs] */
} sparc_head_input;

typedef enum sparc_head_kind {                      /* what a head learns */
                               SPARC_HEAD_BY_INPUT, /* values on every step; else classes, or values where examples have
                                                       targets */
                               SPARC_HEAD_CLASSES,  /* logits of classes */
                               SPARC_HEAD_VALUES    /* numbers */
} sparc_head_kind;

typedef struct sparc_head_config {
  const char *name; /* its blocks are NAME.hidden.weight, NAME.hidden.bias, NAME.weight, NAME.bias; NULL: "head" */
  sparc_head_input input;
  int outputs;
  int hidden;               /* width of the tanh layer in front of the linear one; 0: none */
  double hidden_gain, gain; /* of orthogonal initial weights; 0: lecun_normal. Biases, and constants, start at 0. */
  sparc_head_kind kind;     /* for training and models; networks run all kinds alike */
  int tied; /* 1: the linear layer's weight is the table of symbols: outputs == symbols, no hidden layer,
               features as wide as the table */
} sparc_head_config;

struct sparc_layer_kind;

typedef struct sparc_layer_config {
  const char *kind;    /* a kind of the library, see sparc_layer_kinds, or of network_config.kinds */
  const char *options; /* "key=value,..."; NULL: defaults */
} sparc_layer_config;

typedef struct sparc_network_config {
  const char *cell;         /* kind, see sparc_cell_kinds */
  const char *cell_options; /* NULL: defaults */
  const char *kernel;       /* kernel set, see cell.h; NULL: the best for this machine */
  int H;                    /* modes (or real coordinates) of each cell */
  int inputs;               /* channels of the input sequence */
  sparc_embedding embedding;
  int width;                     /* of the embedding, and so of the residual stream */
  int layers;                    /* residual layers; 0: the bare cell */
  sparc_features features;       /* without layers */
  double dropout;                /* probability, 0 to below 1, at two places of each layer */
  const sparc_head_config *head; /* (heads) */
  int heads;
  sparc_init_style init;
  int symbols;                                 /* rows of the table of SPARC_EMBED_SYMBOLS, at most 2^24 */
  const sparc_layer_config *layer;             /* (layers): the kind of each; NULL: all alike, as said above */
  const struct sparc_layer_kind *const *kinds; /* kinds of the program beside the library's, NULL-terminated, which
                                                  outlive the network; NULL: none */
} sparc_network_config;

/* counts of elements, in float and double alike */
typedef struct sparc_network_sizes {
  size_t params;   /* trainable numbers */
  size_t prepared; /* elements behind sparc_network_prepare */
  size_t state;   /* carried numbers of one stream: of the layers, one after the other; with a head on the mean also the
                   * sum of its features over the segment and the number of steps in it */
  size_t outputs; /* numbers of one step: all heads, one behind the other */
  size_t tape;    /* elements that one step of one stream needs */
  size_t trace;   /* exact sensitivities to the cell's parameters; 0: no RTRL form */
  size_t trace_exact; /* the same with those to the embedding's parameters and their drivers behind them; 0: none */
} sparc_network_sizes;

/* sparc_network_create validates config and makes a network, which keeps its own copy. *out is NULL on failure. */
SPARC_API sparc_status sparc_network_create(const sparc_network_config *config, sparc_network **out);
SPARC_API void sparc_network_free(sparc_network *network); /* network may be NULL */

SPARC_API sparc_network_config sparc_network_config_of(const sparc_network *network);
SPARC_API sparc_network_sizes sparc_network_sizes_of(const sparc_network *network);
SPARC_API const sparc_cell *sparc_network_cell(const sparc_network *network); /* of the first layer that has one */
SPARC_API const sparc_block *sparc_network_blocks(const sparc_network *network, size_t *count);
SPARC_API const sparc_span *sparc_network_spans(const sparc_network *network, size_t *count);

/* sparc_network_init draws params; as in cells, every block has its own random stream, keyed by seed and name. */
SPARC_API sparc_status sparc_network_init(const sparc_network *network, uint64_t seed, float *params);

/* sparc_network_prepare refreshes what all calls read; call it after every change of params. */
SPARC_API sparc_status sparc_network_prepare(const sparc_network *network, const float *params, float *prepared);

/* ---- whole sequences --------------------------------------------------------------------------- */

/* Dropout masks are a function of (seed, update, example, layer, place) alone. */
typedef struct sparc_dropout {
  uint64_t seed;
  uint64_t update;
} sparc_dropout;

typedef struct sparc_network_sequence {
  const float *x;               /* [B][T][inputs] */
  const float *mask;            /* [B][T], 1: continue, 0: a new segment starts here; NULL: one segment, which goes on
                                 * from state0 if that is given and else starts with the first step */
  const float *state0;          /* [B][state]; NULL: zeros */
  const int *lengths;           /* [B]: how many steps of a sequence count; NULL: all T */
  const sparc_dropout *dropout; /* NULL: evaluation */
  float *const *outputs;        /* (heads): where each head writes */
  float *state_last;            /* [B][state], after step T, so only where no length is less; may be NULL */
} sparc_network_sequence;

typedef struct sparc_network_gradient {
  const float *const *doutputs; /* (heads), shaped as the outputs; NULL in an entry: zeros */
  const float *dstate_last;     /* [B][state], with the limits of state_last; NULL: zeros */
  float *dx;                    /* [B][T][inputs], overwritten; may be NULL, and must be for symbols */
  float *dstate0;               /* [B][state], overwritten; may be NULL. A number of steps has the gradient 0. */
  float *dparams;               /* added to */
} sparc_network_gradient;

typedef struct sparc_network_plan sparc_network_plan;

/* sparc_network_plan_create lays out all activations of B sequences of up to T steps. threads as in sparc_plan_config.
 */
SPARC_API sparc_status sparc_network_plan_create(const sparc_network *network, int B, int T, int threads,
                                                 sparc_network_plan **out);
SPARC_API void sparc_network_plan_free(sparc_network_plan *plan); /* plan may be NULL; free it before its network */
SPARC_API size_t sparc_network_plan_work_bytes(const sparc_network_plan *plan);

/* sparc_network_forward computes all outputs. work, 64-byte aligned, keeps the activations for the backward. */
SPARC_API sparc_status sparc_network_forward(const sparc_network_plan *plan, const float *prepared,
                                             const sparc_network_sequence *sequence, void *work);
/* sparc_network_backward is the exact adjoint of the forward just run with the same sequence and work. */
SPARC_API sparc_status sparc_network_backward(const sparc_network_plan *plan, const float *prepared,
                                              const sparc_network_sequence *sequence,
                                              const sparc_network_gradient *gradient, void *work);

/* ---- one input at a time ------------------------------------------------------------------------- */

/* sparc_network_step advances n independent streams by one input each, without dropout, on up to `threads` threads
 * (below 1: all). The bits of a stream depend neither on the others nor on the threads. A head on the mean gives that
 * of the segment so far: its sum is carried in the precision of the state, so it drifts from the sequence call's by a
 * rounding per step, and the count of steps ends at 2^24 in float. masks may be NULL: ones. y may be NULL. */
SPARC_API sparc_status sparc_network_step(const sparc_network *network, const float *prepared, int n,
                                          float *states /* n, state */, const float *x /* n, inputs */,
                                          const float *masks /* n or NULL */, float *y /* n, outputs, or NULL */,
                                          float *tapes /* n * tape */, int threads);

/* What happens to parameters in front of the cell (embedding, layer norm): their gradient of this step alone, with the
 * carried state held fixed, or with the sensitivities of that state to the embedding. */
typedef enum sparc_encoder_gradient { SPARC_ENCODER_LOCAL, SPARC_ENCODER_EXACT } sparc_encoder_gradient;

/* sparc_network_step_rtrl is the step of one stream that also advances the exact sensitivities, sizes.trace of them,
 * or sizes.trace_exact. A stream starts with a trace of zeros. SPARC_UNSUPPORTED where that size is 0: for cells
 * without an RTRL form, several layers, and heads on the mean; exact sensitivities of an embedding exist in front of a
 * bare cell. y may be NULL where no gradient follows. */
SPARC_API sparc_status sparc_network_step_rtrl(const sparc_network *network, const float *prepared,
                                               sparc_encoder_gradient encoder, float *state, float *trace,
                                               const float *x /* inputs */, float mask, float *y /* outputs, or NULL */,
                                               float *tape);

/* sparc_network_rtrl_gradient adds the gradient of this step's loss to dparams: exact over all time for the cell's
 * parameters and those behind it, and as `encoder` says for those in front. dx receives the gradient of this step's
 * input with the carried state held fixed. tape is the one that sparc_network_step_rtrl has just filled. */
SPARC_API sparc_status sparc_network_rtrl_gradient(const sparc_network *network, const float *prepared,
                                                   sparc_encoder_gradient encoder, const float *trace, float *tape,
                                                   const float *dy /* outputs */, float *dparams /* += */,
                                                   float *dx /* inputs, or NULL */);

/* ---- the same in double -------------------------------------------------------------------------- */

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
SPARC_API size_t sparc_network_plan_work_bytes_f64(const sparc_network_plan *plan);
SPARC_API sparc_status sparc_network_forward_f64(const sparc_network_plan *plan, const double *prepared,
                                                 const sparc_network_sequence_f64 *sequence, void *work);
SPARC_API sparc_status sparc_network_backward_f64(const sparc_network_plan *plan, const double *prepared,
                                                  const sparc_network_sequence_f64 *sequence,
                                                  const sparc_network_gradient_f64 *gradient, void *work);
SPARC_API sparc_status sparc_network_step_f64(const sparc_network *network, const double *prepared, int n,
                                              double *states, const double *x, const double *masks, double *y,
                                              double *tapes, int threads);
SPARC_API sparc_status sparc_network_step_rtrl_f64(const sparc_network *network, const double *prepared,
                                                   sparc_encoder_gradient encoder, double *state, double *trace,
                                                   const double *x, double mask, double *y, double *tape);
SPARC_API sparc_status sparc_network_rtrl_gradient_f64(const sparc_network *network, const double *prepared,
                                                       sparc_encoder_gradient encoder, const double *trace,
                                                       double *tape, const double *dy, double *dparams, double *dx);

#ifdef __cplusplus
}
#endif

#endif
