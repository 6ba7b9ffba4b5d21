/* SPDX-License-Identifier: MIT */
/* cell_layer_step_impl.h: the step of a layer around a cell, in one precision, and the sequence that its cell sees. */
#ifndef SPARC_NN_CELL_LAYER_STEP_IMPL_H
#define SPARC_NN_CELL_LAYER_STEP_IMPL_H

#include "nn/cell_layer_impl.h"
#include "nn/layer_impl.h"

void TYPED(cell_layer_step)(const sparc_layer *layer, const TYPED(layer_step) * call);

/* the sequence as the cell saw it in the forward just run with the same call */
TYPED(sequence_call) TYPED(cell_layer_sequence)(const sparc_layer *layer, const TYPED(layer_sequence) * call);

#endif
