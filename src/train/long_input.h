/* SPDX-License-Identifier: MIT */
/* long_input.h: prediction of sequences whose activations do not fit in memory. */
#ifndef SPARC_TRAIN_LONG_INPUT_H
#define SPARC_TRAIN_LONG_INPUT_H

#include "train/batch.h"

/* long_input_predict runs every sequence in chunks with carried state; its memory depends on the network only. outputs
 * as in sparc_model_predict. */
sparc_status long_input_predict(const sparc_network *network, const float *prepared, const example_source *source,
                                int threads, float *outputs);

#endif
