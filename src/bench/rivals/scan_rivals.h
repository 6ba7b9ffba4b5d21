/* SPDX-License-Identifier: MIT */
/* scan_rivals.h: the forward scan as one would write it with a library of vector functions, or with none. */
#ifndef SPARC_BENCH_RIVALS_SCAN_RIVALS_H
#define SPARC_BENCH_RIVALS_SCAN_RIVALS_H

#include <stddef.h>

/* consecutive tokens of one stream, all modes; h may be b */
typedef struct rival_rows {
  size_t H, tokens;
  float kappa_r, kappa_p;
  const float *nu, *theta; /* (H) */
  const float *cos, *sin;  /* (H): of theta */
  const float *controls;   /* (tokens, 2) */
  float *state;            /* (2 H): before the first token, after the last one on return; 64-byte aligned */
  const float *b;          /* (tokens, 2 H), rows 64-byte aligned */
  float *h;
} rival_rows;

/* The prepared ones turn theta by products, as our own scan does, so that they differ from it by their functions alone;
 * the others take sine and cosine of the whole angle. */
typedef struct scan_rival {
  const char *name;
  void (*forward)(const rival_rows *rows);
} scan_rival;

enum { RIVALS = 5, RIVAL_UNIT = 16 /* H must be a multiple of this */ };

/* scan_rivals gives, by name, those that this build has for vectors of so many floats; forward is NULL for others. */
void scan_rivals(size_t lanes, scan_rival out[RIVALS]);

#endif
