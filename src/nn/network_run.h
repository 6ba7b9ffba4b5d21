/* SPDX-License-Identifier: MIT */
/* network_run.h: results of a forward pass over whole sequences, for inspection, and progress of a backward pass, for
 * all-reduce of gradients while it runs. */
#ifndef SPARC_NN_NETWORK_RUN_H
#define SPARC_NN_NETWORK_RUN_H

#include "nn/network.h"

/* input and output of a layer's cell in the forward pass just run with the same work; false: the layer is not built
 * around a cell */
bool network_cell_sequence(const sparc_network_plan *plan, const sparc_network_sequence *sequence, size_t layer,
                           void *work, sparc_sequence *out);

/* ready is called during a backward pass, on the calling thread: the gradient is final from element `from` on. `from`
 * decreases: heads first, then layers from the last to the first, 0 at the end. */
typedef struct gradient_listener {
  void (*ready)(void *context, size_t from);
  void *context;
} gradient_listener;

/* network_backward is sparc_network_backward with a listener, which may be NULL */
sparc_status network_backward(const sparc_network_plan *plan, const float *prepared,
                              const sparc_network_sequence *sequence, const sparc_network_gradient *gradient,
                              const gradient_listener *listener, void *work);

/* bytes of the scratch of a plan; 0: the network does not have this precision */
size_t network_plan_work_bytes_f32(const sparc_network_plan *plan);
size_t network_plan_work_bytes_f64(const sparc_network_plan *plan);

/* the input of the first head, if it reads one row per sequence, in the forward pass just run with the same work: (B,
 * features) */
const float *network_pooled(const sparc_network_plan *plan, const sparc_network_sequence *sequence, void *work);

#endif
