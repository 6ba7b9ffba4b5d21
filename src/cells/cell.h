/* SPDX-License-Identifier: MIT */
/* cell.h: the description of a cell kind, apart from its arithmetic.
 *
 * A kind is a table of options and a layout function that declares, for one D, H and set of options, the
 * named parameter blocks, the projections of the input, and the slots and sinks of the RTRL trace. Sizes,
 * optimiser groups, checkpoints, `sparc check` and the engines in src/seq and src/rtrl read those tables
 * and depend on no particular cell. The arithmetic is in cell_impl.h.
 */
#ifndef SPARC_CELLS_CELL_H
#define SPARC_CELLS_CELL_H

#include "base/options.h"
#include "base/random.h"
#include "kernels/rtrl.h"
#include "sparc/cell.h"
#include "sparc/options.h"

#include <stdbool.h>
#include <stddef.h>

enum { MAX_BLOCKS = 16, MAX_SPANS = 32, MAX_PROJECTIONS = 8, MAX_SHARED = 2 };

/* modes that are processed together: WIDE_TILE by one thread, in runs of MODE_TILE by the scalar code whose scratch
 * then fits in the first-level cache */
enum { MODE_TILE = 64, WIDE_TILE = 512 };

/* ---- the projection stage ---------------------------------------------------------------------- */

/* columns [column, column + rows) of the pre-activations are W x + bias */
typedef struct projection {
  int column, rows;
  size_t weight; /* offset of W in params */
  int stride;    /* elements between rows of W: D, or D + 1 when the bias is W's last column */
  bool has_bias;
  size_t bias;      /* offset of the first bias */
  int bias_stride;  /* elements between biases */
  bool output_only; /* read by the output alone, never by the state: no trace covers these weights */
} projection;

/* ---- RTRL -------------------------------------------------------------------------------------- */

/* Per state coordinate j the trace holds `outer` rows of D entries, driven by c_j x^T, and `scalar` single
 * entries, driven by c_j. A sink names the parameters that such a slot is the sensitivity to. */
typedef enum sink_row { ROW_OF_MODE, ROW_SHARED, ROW_OF_GROUP } sink_row;
typedef enum sink_factor { FACTOR_ONE, FACTOR_I, FACTOR_CONSTANT } sink_factor;

typedef struct rtrl_sink {
  bool outer; /* which kind of slot, and its index */
  int slot;
  int block;          /* index of the parameter block */
  int column;         /* first column inside a row of the block */
  sink_row row;       /* row j; the only row; or row (j / width) * rows + member */
  int width, rows;    /* for ROW_OF_GROUP: `width` coordinates share `rows` rows, of which this is number */
  int member;         /* `member` */
  sink_factor factor; /* sensitivity = factor * slot */
  size_t constant;    /* FACTOR_CONSTANT: offset of re[H] then im[H] in the cell's constants */
  size_t weights;     /* an outer ROW_SHARED: offset of the row's D weights in the cell's constants */
} rtrl_sink;

/* ---- the cell ---------------------------------------------------------------------------------- */

/* readout of a classifier after a cell with output h */
typedef enum cell_readout {
  READOUT_COMPLEX, /* Re(C h) + skip x */
  READOUT_REAL,    /* C h + skip x */
  READOUT_NONE     /* none: the cell ends in a projection */
} cell_readout;

/* input of a policy's heads */
typedef enum cell_features {
  POLICY_RELU,    /* max(h, 0) */
  POLICY_READOUT, /* Re(C h) with a square C */
  POLICY_OUTPUT   /* h */
} cell_features;

typedef struct cell_kind {
  const char *name, *summary;
  int coordinates; /* real state coordinates per H */
  cell_readout readout;
  cell_features features;
  const sparc_option *options; /* ends with a NULL name */
} cell_kind;

typedef struct cell_description {
  cell_kind kind;
  const char *rows_option, *rows_block; /* one more of this integer option is one more row of this block; `sparc check`
                                           reads it off a file. NULL: none */
  struct {
    int forward, backward;
  } mode_flops; /* of the fused loops, per mode and token, for the benchmark; 0: not counted */
  /* H and options for a state of `state_size` real coordinates; NULL: H = state_size / coordinates, default options */
  sparc_status (*fit)(int state_size, int *H, char *options, size_t size);
  /* layout declares blocks, projections and traces; it may refuse a combination of options */
  sparc_status (*layout)(sparc_cell *cell);
  /* init draws every block of params (which starts as zeros) from block_stream */
  sparc_status (*init)(const sparc_cell *cell, sparc_init_style style, uint64_t seed, const char *name, float *params);
} cell_description;

typedef struct cell_entry { /* what a cell's source file exports, once per precision */
  const cell_description *about;
  const void *ops; /* cell_ops_f32 or cell_ops_f64 */
} cell_entry;

/* where an affine cell's step keeps what, as element offsets into the tape */
typedef struct tape_layout {
  size_t x, mask, pre, shared, kept, a, b, state, outer, scalar; /* left by the step */
  size_t dstate, dpre, dshared, dinput, weights;                 /* scratch of the gradient */
  size_t total;
} tape_layout;

struct sparc_cell {
  const cell_description *about;
  const void *ops_f32, *ops_f64;
  const struct kernels *kernels; /* float32 inner loops of this machine */
  int D, H;
  double option[MAX_OPTIONS]; /* in the order of about->kind.options */
  char options_text[OPTIONS_TEXT];

  sparc_block block[MAX_BLOCKS];
  sparc_span span[MAX_SPANS];
  size_t blocks, spans;
  sparc_cell_sizes sizes; /* a layout without projections sets prepared, state, output and tape itself */

  /* diagonal affine cells: set by layout */
  int parts;         /* 2: complex state, planar [re | im]; 1: real state; 0: not a diagonal affine cell */
  int pre, shared;   /* pre-activation columns (>= projected), arrays of H, and shared controls per token */
  int sums;          /* per-mode parameter gradients that the adjoint accumulates */
  int outer, scalar; /* RTRL slots per state coordinate */
  int columns;       /* arrays of H in pre, where each drives the state of its own mode alone and all slots follow from
                        these: see rtrl/columns_impl.h; 0: not so, or the slots are no more than they */
  driver_part driver[DRIVER_SLOTS]; /* of the first outer slots; of no meaning to real cells */
  size_t constant_count;            /* the cell's own prepared constants */
  size_t own_products;              /* multiply-adds of a token in products that are no projections */
  bool direct_input; /* no content projection: the state reads x itself, so the adjoint writes the start of dx */

  /* filled by add_projection, add_sink and sparc_cell_create */
  projection project[MAX_PROJECTIONS];
  int projections, projected; /* their number, and the columns they fill */
  rtrl_sink *sink;
  size_t sinks, sink_capacity;
  size_t constants; /* offset of the constants in prepared */
  tape_layout tape;
};

/* ---- for layout and init functions -------------------------------------------------------------- */

/* add_block appends a tensor to params; cols == 0 makes a vector. Returns its index. */
int add_block(sparc_cell *cell, const char *name, sparc_group group, int rows, int cols);
/* add_span overrides the group of the last `elements` parameters appended (row groups of one tensor) */
void add_span(sparc_cell *cell, sparc_group group, size_t elements);
/* add_tensor appends a tensor whose spans the caller adds itself, in order and without gaps */
int add_tensor(sparc_cell *cell, const char *name, int rows, int cols);
/* add_projection makes the next pre-activation columns, one per row of the block, W x + bias. bias_block < 0: no
 * bias, or the block's own last column when it has D + 1 of them. Returns the first column. */
int add_projection(sparc_cell *cell, int block, int bias_block);
/* add_sink declares that a trace slot is the sensitivity to a parameter block */
sparc_status add_sink(sparc_cell *cell, rtrl_sink sink);
/* block_stream opens the random stream of one block */
sparc_random block_stream(uint64_t seed, const char *cell_name, const char *block);

/* ---- queries ------------------------------------------------------------------------------------ */

/* the description of a kind; NULL: there is none */
const cell_description *cell_about(const char *kind);
/* cell_fit sets kind, H and options of config for a state of `state_size` real coordinates, the way the paper matches
 * cells: half as many complex modes, as many real ones. The text is written to options[size]. */
sparc_status cell_fit(const char *kind, int state_size, sparc_cell_config *config, char *options, size_t size);
/* the value of a named option; the name must be in the kind's table */
double cell_option(const sparc_cell *cell, const char *name);
/* the name of the choice that an option of named choices has */
const char *cell_choice(const sparc_cell *cell, const char *name);
/* the options in a text that are not the kind's defaults, as "key=value,..." in the order of its table */
sparc_status cell_changed_options(const char *kind, const char *options, char text[OPTIONS_TEXT]);
/* index of a block, or -1 */
int cell_block_index(const sparc_cell *cell, const char *name);
/* elements of a block that one state coordinate sees through one sink: the whole of a shared block, else a row */
size_t sink_row_length(const sparc_cell *cell, const rtrl_sink *sink);
/* coordinates with common rows, and the elements from their rows to those of the next ones; coordinate j adds to
 * j / sink_group * sink_stride after the row of coordinate 0 */
size_t sink_group(const rtrl_sink *sink);
size_t sink_stride(const sparc_cell *cell, const rtrl_sink *sink);
/* the registry: entry i in one precision, or NULL past the last */
const cell_entry *cell_entry_f32(size_t i);
const cell_entry *cell_entry_f64(size_t i);

/* what the contents and write gates of some steps were: counts and sums; counts stay 0 for what a cell does not have */
typedef struct cell_activity {
  double contents, saturated; /* bounded contents, and those with a magnitude above 0.95 */
  double gates, gate_sum, gate_squares;
} cell_activity;

/* arrays inside prepared, tape and work start on multiples of this many elements, so vector kernels load aligned */
enum { ELEMENT_ALIGNMENT = 16 };
static inline size_t round_elements(size_t n) {
  return (n + ELEMENT_ALIGNMENT - 1) / ELEMENT_ALIGNMENT * ELEMENT_ALIGNMENT;
}

/* a weight beyond this only serves to overflow: a row of such weights times inputs of ordinary size still fits float */
static const double WEIGHT_MAX = 1e30;

/* a NaN stays one */
static inline double bounded(double value, double limit) {
  return value > limit ? limit : value < -limit ? -limit : value;
}

#endif
