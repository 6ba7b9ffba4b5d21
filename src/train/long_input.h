/* SPDX-License-Identifier: MIT */
/* long_input.h: predictions for sequences that are too long to keep the activations of all their steps. */
#ifndef SPARC_TRAIN_LONG_INPUT_H
#define SPARC_TRAIN_LONG_INPUT_H

#include "train/batch.h"

/* long_input_predict runs every sequence piece after piece with the state carried from one to the next, so that its
 * memory depends on the network alone. outputs as in sparc_model_predict. */
sparc_status long_input_predict(const sparc_network *network, const float *prepared, const example_source *source,
                                int threads, float *outputs);

#endif
