/* SPDX-License-Identifier: MIT */
/* mixer.h: a cell forward and backward on a device, with everything that it needs there. */
#ifndef SPARC_BENCH_DEVICE_MIXER_H
#define SPARC_BENCH_DEVICE_MIXER_H

#include "bench/bench_cell.h"
#include "sparc/device.h"

enum { MIXER_SETS = 8 };

typedef struct device_mixer_config {
  const char *cell, *options;
  int B, T, D, H; /* H = 0: as many coordinates as inputs */
  int bf16, chunks;
  int sets; /* sets of inputs and outputs that take turns, so that a large cache does not hold one; 0: one */
} device_mixer_config;

enum { MIXER_X, MIXER_Y, MIXER_DY, MIXER_DX, MIXER_ROWS };
enum { MIXER_PARAMS, MIXER_PREPARED, MIXER_SAVED, MIXER_WORK, MIXER_DPARAMS, MIXER_BLOCKS };

typedef struct device_mixer {
  bench_cell cell;
  sparc_device_plan *plan;
  device_mixer_config config;
  size_t row_bytes[MIXER_ROWS];
  sparc_slice row[MIXER_SETS][MIXER_ROWS];
  sparc_slice block[MIXER_BLOCKS];
  size_t bytes; /* allocated on the device, with one set */
} device_mixer;

/* device_mixer_create makes it and fills its inputs. After a failure nothing is left to free. */
sparc_status device_mixer_create(sparc_device *device, const device_mixer_config *config, device_mixer *out);
void device_mixer_free(device_mixer *m);

/* what is enqueued; set counts from 0 and wraps around. Gradients of parameters are added up. */
sparc_status device_mixer_forward(const device_mixer *m, size_t set);
sparc_status device_mixer_backward(const device_mixer *m, size_t set);

/* device_mixer_read gives a row array of set 0 as floats, device_mixer_write writes one. */
sparc_status device_mixer_read(const device_mixer *m, int row, float *to);
sparc_status device_mixer_write(const device_mixer *m, int row, const float *from);

/* device_mixer_set_params takes other parameters, [params] of the cell. */
sparc_status device_mixer_set_params(device_mixer *m, const float *params);

/* device_mixer_count counts the bytes that the kernels of a mixer move, forward and backward; no device is needed. */
sparc_status device_mixer_count(const device_mixer_config *config, double *forward, double *backward);

/* elements of a row array */
size_t device_mixer_elements(const device_mixer *m, int row);

#endif
