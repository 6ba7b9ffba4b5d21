/* SPDX-License-Identifier: MIT */
/* network_encoder_impl.h: exact sensitivities of a bare cell's state to the embedding before it, in one precision.
 *
 * They lie after the cell's trace: Z_e (H, inputs + 1, parts, width), an entry for each weight of the embedding and,
 * as input number `inputs` with the value 1, each of its biases; after these Q (S, width), the derivative of the last
 * step's state by the embedding's pre-activations.
 */
#ifndef SPARC_NN_NETWORK_ENCODER_IMPL_H
#define SPARC_NN_NETWORK_ENCODER_IMPL_H

#include "base/real.h"
#include "nn/network.h"

/* after the RTRL step that filled the cell's tape; x (inputs), e (width): the embedding's input and output */
void TYPED(encoder_advance)(const sparc_network *net, const real *prepared, const real *x, const real *e,
                            real *cell_tape, real *trace);
/* after the cell's RTRL gradient on that tape: adds the part through the state to the embedding's gradient, and
 * subtracts that of the current step from de (width), the cotangent of the pre-activations. The rest of de bypasses the
 * state, from the cell's input to its output; false: it is zero. */
bool TYPED(encoder_contract)(const sparc_network *net, const real *trace, real *cell_tape, real *de, real *dparams);

/* Without the step itself: adds to the embedding's gradient that of a cotangent dstate (S) of the state that `trace`
 * belongs to, */
void TYPED(encoder_contract_state)(const sparc_network *net, const real *trace, const real *dstate, real *dparams);
/* and that of cotangents de (n, width), which are overwritten, of n embedded inputs */
void TYPED(encoder_rows_gradient)(const sparc_network *net, const real *prepared, size_t n, const real *x,
                                  const real *e, real *de, real *dparams, int threads);

#endif
