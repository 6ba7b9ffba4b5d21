/* SPDX-License-Identifier: MIT */
/* network_run.h: what a forward over whole sequences leaves behind, for those who look inside. */
#ifndef SPARC_NN_NETWORK_RUN_H
#define SPARC_NN_NETWORK_RUN_H

#include "nn/network.h"

/* the sequence as the cell of a layer saw it in the forward just run with the same work; false: the layer is not built
 * around a cell */
bool network_cell_sequence(const sparc_network_plan *plan, const sparc_network_sequence *sequence, size_t layer,
                           void *work, sparc_sequence *out);

#endif
