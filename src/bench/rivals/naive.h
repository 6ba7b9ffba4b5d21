/* SPDX-License-Identifier: MIT */
/* naive.h: the SPARC mixer as the paper's naive implementation computes it, on the CPU.
 *
 * Eager: one operation at a time over whole arrays of every token and mode, each with its own result in memory; complex
 * transitions are stored; the state goes through time in a plain loop; the backward is what automatic differentiation
 * of these operations does, in the same style. Float32, the C library's functions, the BLAS for matrix products, one
 * thread.
 */
#ifndef SPARC_BENCH_RIVALS_NAIVE_H
#define SPARC_BENCH_RIVALS_NAIVE_H

#include "sparc/cell.h"

#include <stdbool.h>

typedef struct naive naive;

enum { NAIVE_ARRAYS = 26 }; /* of tokens times modes: what the forward keeps, and scratch */

/* naive_create allocates B streams of T steps of a SPARC cell of the variant `full`. With `project` it starts from
 * inputs, else from pre-activations and controls. params must stay. */
sparc_status naive_create(const sparc_cell *cell, const float *params, int B, int T, bool project, naive **out);
void naive_free(naive *n); /* may be NULL */

/* The data of a call; tokens = B T. Without projections x, dx and the gradients of the projections are left alone, and
 * content and controls are given. */
typedef struct naive_data {
  const float *x;        /* (tokens, D) */
  const float *content;  /* (tokens, 2 H): pre-activations re | im */
  const float *controls; /* (tokens, 2): r, p */
  float *y;              /* (tokens, 2 H): states re | im */
  const float *dy;       /* (tokens, 2 H) */
  float *dx;             /* (tokens, D), overwritten */
  float *dcontent;       /* (tokens, 2 H), overwritten */
  float *dcontrols;      /* (tokens, 2), overwritten */
  float *dparams;        /* added to */
} naive_data;

void naive_forward(naive *n, const naive_data *data);
void naive_backward(naive *n, const naive_data *data); /* after naive_forward with the same data */

#endif
