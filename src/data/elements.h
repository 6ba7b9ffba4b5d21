/* SPDX-License-Identifier: MIT */
/* elements.h: arrays in binary files, for IDX and NPY: numbers and, as labels, texts; any byte order, any alignment. */
#ifndef SPARC_DATA_ELEMENTS_H
#define SPARC_DATA_ELEMENTS_H

#include "data/dataset.h"

typedef enum element_kind {
  ELEMENT_FLOAT,
  ELEMENT_SIGNED,
  ELEMENT_UNSIGNED,
  ELEMENT_BYTES,  /* text of single bytes, padded with zeros */
  ELEMENT_UNICODE /* text of 32-bit characters, likewise */
} element_kind;

typedef struct elements {
  const source *source;
  size_t start; /* of the first element in the source */
  element_kind kind;
  size_t size; /* bytes of one: 1, 2, 4 or 8; a float has 2, 4 or 8, a text any number */
  bool big_endian;
  bool fortran; /* the first index runs fastest */
  int rank;
  size_t shape[8];
} elements;
enum { ELEMENTS_RANK_MAX = 8 };

/* elements_check compares the shape with the bytes that are there. All dimensions must be at least 1, and there must be
 * neither too few bytes nor too many. */
sparc_status elements_check(const elements *e);

/* elements_append makes examples of an array [N][T][C] whose first dimension is N; NaN is a missing value. A label of
 * each is taken from `labels`, an array [N] or [N][1] of whole numbers or texts, unless that is NULL. */
sparc_status elements_append(builder *b, const elements *e, size_t length, size_t channels, const elements *labels);

/* npy_append makes examples of an NPY array, with labels from a second one unless that is NULL */
sparc_status npy_append(builder *b, const source *s, const source *labels);

#endif
