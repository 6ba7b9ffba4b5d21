/* SPDX-License-Identifier: MIT */
/* plan.h: a plan for sequences on a device: shapes, places in memory, kernels, and what a cell adds to them.
 *
 * The stages of a forward are: project (a matrix product, if the cell has one), tokens (the cell's: controls or gates),
 * then the strips (kernels/strip.k). Backward goes the other way. A cell fills in a device_cell.
 */
#ifndef SPARC_DEVICE_PLAN_H
#define SPARC_DEVICE_PLAN_H

#include "cells/cell.h"
#include "device/program.h"

/* The tiling, which decides the bits; the kernels get the same numbers as definitions. */
enum {
  STRIP_MODES = 32,   /* modes of a group */
  STRIP_SLICES = 8,   /* work-items of a mode */
  STRIP_RUN = 4,      /* tokens of a work-item in a step */
  STRIP_SEGMENT = 32, /* steps whose gradients of a mode are summed in float */
  STRIP_STEP = STRIP_SLICES * STRIP_RUN,
  STRIP_GROUPS = 256,   /* groups that streams and modes should give; with fewer, sequences are cut into chunks */
  STRIP_CHUNKS = 16,    /* chunks at most, */
  STRIP_SHORTEST = 128, /* of so many tokens at least */
  TOKEN_PIECE = 256,    /* tokens whose gradients of a controller or a bias are summed in float */
  PRODUCT_EDGE = 64,    /* rows and columns of a tile of a matrix product */
  PRODUCT_BLOCK = 128,  /* terms of a product that are summed by fma before they are added to the rest */
  ROW_TOKENS = 8        /* tokens of a group that forms controls */
};

/* every kernel that a plan may use */
#define DEVICE_KERNELS(ROW)  \
  ROW(check_mask)            \
  ROW(controls)              \
  ROW(controls_adjoint)      \
  ROW(input_gradient)        \
  ROW(input_copy)            \
  ROW(controller_gradient)   \
  ROW(strip_summary)         \
  ROW(strip_forward)         \
  ROW(strip_adjoint_summary) \
  ROW(strip_adjoint)         \
  ROW(add_sums)              \
  ROW(spectrum_gradient)     \
  ROW(project)               \
  ROW(unproject)             \
  ROW(weight_gradient)       \
  ROW(open_gates)            \
  ROW(gates_adjoint)         \
  ROW(gate_gradient)         \
  ROW(bias_gradient)

#define DEVICE_KERNEL_ID(name) KERNEL_##name,
typedef enum kernel_id { DEVICE_KERNELS(DEVICE_KERNEL_ID) KERNELS } kernel_id;

/* a part of prepared, saved or work, in bytes; of size 0 when the plan has none */
typedef struct region {
  size_t offset, bytes;
} region;

typedef struct plan_shape {
  int B, T, D, H;
  int tokens;         /* B T */
  int parts, columns; /* of a state coordinate: 1 or 2; of the content: parts H */
  bool dense, bf16;   /* a projection makes the content; inputs and outputs are bfloat16 */
  int tiles, steps, chunks, chunk_steps, segments;
  int pieces;                      /* of tokens, for gradients of controllers and biases */
  int weight_pieces, weight_piece; /* of tokens, for gradients of the projection, and tokens of one */
  int gate_pieces, gate_piece;     /* the same for the gates of RG-LRU */

  region constants, weights, bias, gates_in, gates_out;    /* prepared */
  region of_tokens, marks, content, gates;                 /* saved */
  region maps, dcontent, dgates, dcontrols, dshared, sums; /* work */
  region controller_parts, weight_parts, gate_parts, bias_parts;
  size_t prepared_bytes, saved_bytes, work_bytes;
} plan_shape;

typedef struct device_cell device_cell;

struct sparc_device_plan {
  sparc_device *device;
  const sparc_cell *cell;
  const device_cell *of_cell;
  plan_shape shape;
  void *program;
  void *kernel[KERNELS];    /* NULL: not needed */
  float *params, *prepared; /* the host's copies: parameters, and what sparc_prepare makes of them */
  float *image;             /* what goes to the device */
};

/* the arrays of one call */
typedef struct device_call {
  const sparc_device_plan *plan;
  sparc_slice prepared, saved, work;
  const sparc_device_sequence *sequence;
  const sparc_device_gradient *gradient; /* NULL: forward */
} device_call;

struct device_cell {
  const char *kind;
  const embedded_file *text; /* one mode at one token */
  /* why a cell cannot run on a device, or NULL */
  const char *(*refusal)(const sparc_cell *cell);
  /* sizes of what only this cell has; the regions are zero before */
  void (*measure)(const sparc_cell *cell, plan_shape *shape);
  /* definitions for the kernels */
  void (*define)(const sparc_cell *cell, program_text *text);
  bool (*needs)(const sparc_cell *cell, const plan_shape *shape, kernel_id kernel);
  /* fills the cell's part of the image: constants are those that sparc_prepare derived */
  void (*prepare)(const sparc_device_plan *plan, const float *constants);
  /* what happens per token before the scan, and after its adjoint; then gradients of the cell's own parameters */
  sparc_status (*tokens)(const device_call *call);
  sparc_status (*tokens_backward)(const device_call *call);
  sparc_status (*parameters)(const device_call *call);
};

extern const device_cell device_cell_sparc, device_cell_rtu, device_cell_lru, device_cell_rglru;

/* ---- for tools ------------------------------------------------------------------------------------ */

/* fails with the reason where a cell does not run on devices */
sparc_status device_cell_check(const sparc_cell *cell);
/* chunks that T steps are really cut into when `chunks` are asked for */
int device_chunks_of(int T, int chunks);

/* ---- regions and launches ------------------------------------------------------------------------- */

/* takes `count` floats at the end of a block whose size so far is *bytes */
region region_take(size_t *bytes, size_t count);
sparc_slice region_slice(sparc_slice block, region part); /* absent for a region of size 0 */

/* pieces that n tokens are cut into: `most` at most, of a multiple of PRODUCT_BLOCK tokens */
void cut_tokens(int n, size_t most, int *pieces, int *piece);

static inline size_t ceil_quotient(size_t n, size_t by) { return (n + by - 1) / by; }

kernel_launch launch_of(const sparc_device_plan *plan, kernel_id kernel, size_t groups);
void pass_floats(const sparc_device_plan *plan, kernel_launch *launch, sparc_slice slice); /* also of 4-byte integers */
void pass_io(const sparc_device_plan *plan, kernel_launch *launch, sparc_slice slice);     /* of the plan's precision */
void pass_int(kernel_launch *launch, int value);
void pass_long(kernel_launch *launch, int64_t value);
sparc_status launch_run(const sparc_device_plan *plan, const kernel_launch *launch);

/* dparams[offset + i] += sum over `count` parts, `stride` floats apart, of element first + i, for i below n */
sparc_status add_parts(const device_call *call, region parts, size_t count, size_t stride, size_t first, size_t n,
                       size_t offset);

/* the content that the modes read: the input, or what a projection made; in the io of the kernels' content_io */
void pass_content(const device_call *call, kernel_launch *launch);
/* checks a mask, for cells whose kernels read it as it is */
sparc_status check_mask(const device_call *call);

#endif
