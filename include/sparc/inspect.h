/* SPDX-License-Identifier: MIT */
/* inspect.h: what a cell does with a sequence, mode by mode and step by step: how it forgets, turns and writes.
 *
 *   sparc_inspection *seen;
 *   const sparc_sequence sequence = {.x = x};
 *   if (sparc_cell_inspect(cell, params, 1, T, &sequence, &seen) != SPARC_OK) return report(sparc_error());
 *   for (int t = 0; t < T; t++) printf("%g %g\n", seen->mode[t * seen->H].r, seen->mode[t * seen->H].rho);
 *   sparc_inspection_free(seen);
 *
 * The numbers are computed in double from the float parameters, by the plain form of the cell that tests compare all
 * kernels with: they are those of the cell up to float's rounding. This is for looking, not for speed.
 */
#ifndef SPARC_INSPECT_H
#define SPARC_INSPECT_H

#include "sparc/network.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One mode at one step, where a complex cell does h_t = lambda m_t h_{t-1} + b with lambda = rho exp(i angle) and, for
 * SPARC, angle = theta + offset, b = gain norm gate u [eq:app_expanded_transition] [eq:implementation_write]. NAN: the
 * cell has no such thing, as a real cell has no imaginary parts. What a variant of SPARC takes away has the value
 * that stands in for it: a neutral gate is 1, a static decay nu. */
typedef struct sparc_mode {
  double r, p;                     /* controls of retention and phase, in (-1, 1) */
  double nu, e, rho;               /* decay of the mode; decay at this step, -log rho; |lambda| */
  double theta, offset, uncoupled; /* frequency of the mode; what p adds to it; what it would add without the clock */
  double angle;                    /* arg lambda, whole turns included */
  double gain, norm, gate; /* SPARC: exp(beta), sqrt((1 - e^{-2e}) / (1 - e^{-2 nu})), 2 sigma(s p + v r). RTU: norm,
                              LRU: gain; RG-LRU: norm and input gate; GRU: gate = 1 - z */
  double z_re, z_im;       /* content before its activation */
  double u_re, u_im;       /* content; of GateLoop k v, of GRU the candidate n */
  double kept_re, kept_im; /* m_t h_{t-1} */
  double h_re, h_im;       /* h_t */
} sparc_mode;

typedef struct sparc_inspection {
  int B, T, H; /* H: the cell's modes; of Mamba-3 all numbers of its matrix states, heads * head_dim * state */
  const sparc_mode *mode; /* [B][T][H] */
} sparc_inspection;

/* sparc_cell_inspect runs B streams of T steps. Of the sequence x, mask and state0 count; y and state_last may be NULL.
 */
SPARC_API sparc_status sparc_cell_inspect(const sparc_cell *cell, const float *params, int B, int T,
                                          const sparc_sequence *sequence, sparc_inspection **out);

/* sparc_network_inspect does so for the cell of one layer (0 for a bare cell), whose input is what the float network
 * gives it. The heads' outputs are written, too; lengths are not looked at. */
SPARC_API sparc_status sparc_network_inspect(const sparc_network *network, const float *params, int layer, int B, int T,
                                             const sparc_network_sequence *sequence, sparc_inspection **out);

SPARC_API void sparc_inspection_free(sparc_inspection *inspection); /* inspection may be NULL */

#ifdef __cplusplus
}
#endif

#endif
