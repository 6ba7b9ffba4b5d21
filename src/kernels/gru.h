/* SPDX-License-Identifier: MIT */
/* gru.h: the unit loops of the gated recurrent unit, as slots of the kernel table.
 *
 * Rows as in src/cells/gru.c, whose scalar functions define what is computed: gates (4 H) is r | z | n | s, dgates (4 H)
 * is n | r | z | s, the product (3 H), everything else (H).
 */
#ifndef SPARC_KERNELS_GRU_H
#define SPARC_KERNELS_GRU_H

#include <stddef.h>

typedef struct gru_kernels {
  void (*advance)(size_t H, const float *product, const float *kept, float *gates, float *h);
  void (*adjoint)(size_t H, const float *gates, const float *kept, const float *mu, float *dgates, float *direct);
} gru_kernels;

#endif
