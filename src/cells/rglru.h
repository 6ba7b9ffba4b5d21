/* SPDX-License-Identifier: MIT */
/* rglru.h: the order of the per-coordinate constants of RG-LRU, for the cell and for devices. */
#ifndef SPARC_CELLS_RGLRU_H
#define SPARC_CELLS_RGLRU_H

/* arrays of H constants; after them the cell keeps the gates' weights */
enum {
  K_RATE,           /* c softplus(Lambda) */
  K_RATE_SLOPE,     /* c sigma(Lambda), its derivative */
  K_RETENTION_BIAS, /* g_r */
  K_INPUT_BIAS,     /* g_q */
  CONSTANT_ROWS
};

/* contents are cut at +-this, so that with |x| up to 1e30 and any parameters no intermediate after the projection
 * leaves the range of float32 */
#define RGLRU_CONTENT_MAX 1e34f

#endif
