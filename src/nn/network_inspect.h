/* SPDX-License-Identifier: MIT */
/* network_inspect.h: inspection of several layers after a single forward pass. */
#ifndef SPARC_NN_NETWORK_INSPECT_H
#define SPARC_NN_NETWORK_INSPECT_H

#include "sparc/inspect.h"

/* receives the inspection of a layer and owns it */
typedef void layer_visit(void *user, int layer, sparc_inspection *seen);

/* network_inspect_layers does what sparc_network_inspect does for the layers from `first` to `last`, one after the
 * other: the network runs once, and if the visitor frees each inspection, there is at most one at a time. */
sparc_status network_inspect_layers(const sparc_network *network, const float *params, int first, int last, int B,
                                    int T, const sparc_network_sequence *sequence, layer_visit *visit, void *user);

#endif
