/* SPDX-License-Identifier: MIT */
/* chunk.h: where a lazy block keeps its steps.
 *
 * Per step: the input, the mask, m a, the drivers of the outer slots without parts that are always zero, and the
 * cotangent of the state. A sink whose factor is a constant of the cell has a cotangent of its own, with the factor of
 * that step in it: the constants may change before the chunk is flushed.
 */
#ifndef SPARC_RTRL_CHUNK_H
#define SPARC_RTRL_CHUNK_H

#include "cells/cell.h"
#include "kernels/rtrl.h"

typedef struct chunk_layout {
  size_t x, mask, a, c, g; /* offsets in elements */
  size_t x_stride;         /* (steps, x_stride): D inputs and zeros */
  size_t drivers;          /* (steps, drivers, H) */
  size_t channels;         /* (steps, channels, S) */
  size_t total;            /* 0: too large */
} chunk_layout;

chunk_layout chunk_layout_of(const sparc_cell *cell, int capacity);

/* which rows of H a step keeps of an outer slot's driver */
lazy_slot chunk_slot(const sparc_cell *cell, int slot);
/* the channel of cotangents of an outer sink, and whether the slot is to be turned by i besides */
size_t chunk_channel(const sparc_cell *cell, const rtrl_sink *sink);
bool chunk_turned(const sparc_cell *cell, const rtrl_sink *sink);

#endif
