/* SPDX-License-Identifier: MIT */
/* plan.h: a plan for sequences on a device: shapes, places in memory, kernels, and what a cell adds to them.
 *
 * The stages of a forward are: project (a matrix product, if the cell has one), tokens (the cell's: controls or gates),
 * then the strips (kernels/strip.k). Backward runs them in reverse. A cell fills in a device_cell.
 */
#ifndef SPARC_DEVICE_PLAN_H
#define SPARC_DEVICE_PLAN_H

#include "cells/cell.h"
#include "device/strip.h"

enum {
  TOKEN_PIECE = 256,   /* tokens whose gradients of a controller or a bias are summed in float */
  PRODUCT_EDGE = 64,   /* rows and columns of a tile of a matrix product */
  PRODUCT_BLOCK = 128, /* terms of a product that are summed by fma before they are added to the rest */
  ROW_TOKENS = 8       /* tokens of a group that forms controls */
};

typedef struct plan_shape {
  strip_shape strip;
  int D;
  bool dense;                      /* a projection makes the content */
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
  kernel_set kernels;
  const sparc_cell *cell;
  const device_cell *of_cell;
  plan_shape shape;
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
  const embedded_file *texts[3]; /* one mode at one token; ends with NULL */
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
/* ---- for cells ------------------------------------------------------------------------------------ */

/* pieces that n tokens are cut into: at most `limit`, of a multiple of PRODUCT_BLOCK tokens */
void cut_tokens(int n, size_t limit, int *pieces, int *piece);

/* dparams[offset + i] += sum over `count` parts, `stride` floats apart, of element first + i, for i below n */
sparc_status add_to_params(const device_call *call, region parts, size_t count, size_t stride, size_t first, size_t n,
                           size_t offset);

/* dx of an input that is the content and nothing else */
sparc_status copy_to_dx(const device_call *call);

/* the content that the modes read: the input, or what a projection made; in the io of the kernels' content_io */
void pass_content(const device_call *call, kernel_launch *launch);

#endif
