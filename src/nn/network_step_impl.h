/* SPDX-License-Identifier: MIT */
/* network_step_impl.h: a network's step of n streams, cut at the cell, in one precision.
 *
 * For gradients whose sensitivities come from elsewhere (stored traces, recorded steps), the step of a network with one
 * recurrent layer comes in parts: before the cell, the cell itself by the caller, after it, and both parts
 * backward. The cell's arrays are those of a network_tape: n rows each, contiguous, so that the cell's own
 * calls for n streams and the products of dense layers take them as they are.
 *
 *   network_step_pre_cell           x (n, inputs)                 -> cell_input
 *   sparc_step_streams            cell_input, states            -> cell_output, cell_tapes
 *   network_step_post_cell           cell_output                   -> y (n, outputs)
 *   network_step_post_cell_backward  dy (n, outputs)               -> dcell_output, += gradients after the cell
 *   sparc_rtrl_batch_gradient ..  dcell_output, cell_tapes      -> dcell_input, += the cell's gradients
 *   network_step_pre_cell_backward  dcell_input                   -> dx (n, inputs), += gradients before it
 *
 * Everything is cut by n and the network's shape alone: results do not depend on threads. The network has no head on
 * the mean, whose sums belong to a stream's state.
 */
#ifndef SPARC_NN_NETWORK_STEP_IMPL_H
#define SPARC_NN_NETWORK_STEP_IMPL_H

#include "nn/layer_impl.h"
#include "nn/network.h"

/* sparc_network_step_rtrl with the previous trace in another array, or the same, on up to `threads` threads */
sparc_status TYPED(network_step_rtrl)(const sparc_network *net, const real *prepared, sparc_encoder_gradient encoder,
                                      real *state, const real *before, real *trace, const real *x, real mask, real *y,
                                      real *tape, int threads);

TYPED(network_tape) TYPED(network_tape_of)(const sparc_network *net, int n, real *tapes);

void TYPED(network_step_pre_cell)(const sparc_network *net, const real *prepared, int n, const real *x, real *tapes,
                                  int threads);
void TYPED(network_step_post_cell)(const sparc_network *net, const real *prepared, int n, real *tapes, real *y,
                                   int threads);
void TYPED(network_step_post_cell_backward)(const sparc_network *net, const real *prepared, int n, const real *dy,
                                            real *tapes, real *dparams, int threads);
/* dx may be NULL */
void TYPED(network_step_pre_cell_backward)(const sparc_network *net, const real *prepared, int n, real *tapes,
                                           real *dparams, real *dx, int threads);

#endif
