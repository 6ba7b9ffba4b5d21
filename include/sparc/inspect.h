/* SPDX-License-Identifier: MIT */
/* inspect.h: transitions, gates and states of a cell for every mode and step of a sequence.
 *
 *   sparc_inspection *out;
 *   const sparc_sequence sequence = {.x = x};
 *   if (sparc_cell_inspect(cell, params, 1, T, &sequence, &out) != SPARC_OK) return report(sparc_error());
 *   for (int t = 0; t < T; t++) printf("%g %g\n", out->mode[t * out->H].r, out->mode[t * out->H].rho);
 *   sparc_inspection_free(out);
 *
 * The numbers are computed in double from the float parameters by the reference implementation of the cell. They agree
 * with the kernels up to float rounding. Meant for diagnostics; not optimised.
 */
#ifndef SPARC_INSPECT_H
#define SPARC_INSPECT_H

#include "sparc/network.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One mode at one step. A complex cell computes h_t = lambda m_t h_{t-1} + b with lambda = rho exp(i angle); for SPARC
 * angle = theta + offset and b = gain norm gate u [eq:app_expanded_transition] [eq:implementation_write]. Quantities
 * that a cell does not have are NAN, such as the imaginary parts of a real cell. Quantities that a variant of SPARC
 * removes have their neutral value: a gate of 1, a decay of nu. */
typedef struct sparc_mode {
  double r, p;                     /* retention and phase control, in (-1, 1) */
  double nu, e, rho;               /* base decay; decay at this step, -log rho; |lambda| */
  double theta, offset, uncoupled; /* base frequency; phase offset by p; the same without the clock */
  double angle;                    /* arg lambda, not reduced modulo 2 pi */
  double gain, norm, gate; /* SPARC: exp(beta), sqrt((1 - e^{-2e}) / (1 - e^{-2 nu})), 2 sigma(s p + v r). RTU: norm,
                              LRU: gain; RG-LRU: norm and input gate; GRU: gate = 1 - z */
  double z_re, z_im;       /* content before its activation */
  double u_re, u_im;       /* content; GateLoop: k v; GRU: the candidate n */
  double kept_re, kept_im; /* m_t h_{t-1} */
  double h_re, h_im;       /* h_t */
} sparc_mode;

typedef struct sparc_inspection {
  int B, T, H;            /* H: modes; for Mamba-3 the size of its matrix states, heads * head_dim * state */
  const sparc_mode *mode; /* [B][T][H] */
} sparc_inspection;

/* Run B streams of T steps. Reads x, mask and state0 of the sequence; y and state_last may be NULL. */
SPARC_API sparc_status sparc_cell_inspect(const sparc_cell *cell, const float *params, int B, int T,
                                          const sparc_sequence *sequence, sparc_inspection **out);

/* Run a network and inspect the cell of one layer (0 for a bare cell). Its input is computed by the float network. The
 * outputs of the heads are written, too; lengths are ignored. */
SPARC_API sparc_status sparc_network_inspect(const sparc_network *network, const float *params, int layer, int B, int T,
                                             const sparc_network_sequence *sequence, sparc_inspection **out);

SPARC_API void sparc_inspection_free(sparc_inspection *inspection); /* inspection may be NULL */

#ifdef __cplusplus
}
#endif

#endif
