/* SPDX-License-Identifier: MIT */
/* vector_file.h: a golden vector file in memory: one cell, its inputs and the expected results.
 *
 * Tensors of a kind lie one after another in one array of doubles, parameters in the order of the cell's block
 * table, so that expected and computed results have the same layout and are compared slot by slot.
 */
#ifndef SPARC_CLI_CHECK_VECTOR_FILE_H
#define SPARC_CLI_CHECK_VECTOR_FILE_H

#include "cells/cell.h"

typedef enum vector_array {
  /* given */
  ARRAY_X,      /* (B, T, D) */
  ARRAY_MASK,   /* (B, T) */
  ARRAY_STATE0, /* (B, S); of length 0 when the cell starts cold */
  ARRAY_COT,    /* (B, T, O), the cotangent of the output: L = sum(cot * out) */
  ARRAY_PARAMS, /* (params) */
  /* results */
  ARRAY_OUT,     /* (B, T, O) */
  ARRAY_DX,      /* (B, T, D) */
  ARRAY_DSTATE0, /* (B, S) */
  ARRAY_DPARAMS, /* (params) */
  ARRAY_TRACE,   /* traces of batch row 0's last state, block after block */
  ARRAYS,
  FIRST_RESULT = ARRAY_OUT
} vector_array;

/* one tensor of the file */
typedef struct vector_slot {
  char name[64];
  vector_array array;
  size_t offset, size; /* place in the array */
  const char *block;   /* parameters, their gradients and traces: the name of the block */
} vector_slot;

enum { MAX_SLOTS = 8 + 3 * MAX_BLOCKS };

typedef struct vector_file {
  const char *path;
  sparc_cell *cell;
  int B, T;
  double *array[ARRAYS]; /* all in one allocation, which array[0] owns */
  size_t length[ARRAYS];
  vector_slot slot[MAX_SLOTS];
  size_t slots;
} vector_file;

/* vector_load reads and checks a file: metadata, presence and shape of every tensor, finite numbers not beyond
 * limit, a mask of zeros and ones. The error text starts with the path or quotes it; a malformed file gives
 * SPARC_FORMAT. On failure there is nothing to free. */
sparc_status vector_load(const char *path, double limit, vector_file *vector);
void vector_free(vector_file *vector);

#endif
