/* SPDX-License-Identifier: MIT */
/* bits.c: see bits.h. Inputs and parameters follow from integers alone, so that they are the same on every host. */
#include "bench/device/bits.h"

#include "base/error.h"
#include "base/hash.h"
#include "bench/device/mixer.h"

#include <stdlib.h>
#include <string.h>

const device_bits device_bits_committed[DEVICE_BITS] = {
    {"sparc bf16", 0xf55ac58f053ac3cc},
    {"rglru bf16", 0xa3301644833816e8},
    {"sparc bf16 projection", 0x26de194bc88bc7a7},
    {"rglru bf16 projection", 0x31a60a600e65a77c},
    {"sparc float", 0x51cde9e747853e91},
    {"rglru float", 0x8df8610c8b0958eb},
};

static const struct small_mixer {
  const char *cell, *options;
  int bf16;
} mixers[DEVICE_BITS] = {
    {"sparc", "projection=none", 1}, {"rglru", "projection=none,block=8", 1}, {"sparc", "", 1},
    {"rglru", "block=8", 1},         {"sparc", "projection=none", 0},         {"rglru", "projection=none,block=8", 0},
};

/* numbers from -1 to 1 in steps of 2^-15 */
static void fill(float *values, size_t n, uint32_t seed) {
  uint64_t state = seed;
  for (size_t i = 0; i < n; i++) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    values[i] = (float)((int)(state >> 48) - 32768) / 32768.0f;
  }
}

static sparc_status hash_row(const device_mixer *m, int row, float *buffer, uint64_t *hash) {
  const sparc_status status = device_mixer_read(m, row, buffer);
  if (status == SPARC_OK) *hash = hash_bytes(*hash, buffer, device_mixer_elements(m, row) * sizeof *buffer);
  return status;
}

/* buffer: as many floats as the longest array has */
static sparc_status run(device_mixer *m, float *buffer, uint64_t *hash) {
  const size_t params = sparc_cell_sizes_of(m->cell.cell).params;
  fill(buffer, params, 1);
  sparc_status status = device_mixer_set_params(m, buffer);
  fill(buffer, device_mixer_elements(m, MIXER_X), 2);
  if (status == SPARC_OK) status = device_mixer_write(m, MIXER_X, buffer);
  fill(buffer, device_mixer_elements(m, MIXER_DY), 3);
  if (status == SPARC_OK) status = device_mixer_write(m, MIXER_DY, buffer);
  if (status == SPARC_OK) status = device_mixer_forward(m, 0);
  if (status == SPARC_OK) status = device_mixer_backward(m, 0);
  if (status == SPARC_OK) status = hash_row(m, MIXER_Y, buffer, hash);
  if (status == SPARC_OK) status = hash_row(m, MIXER_DX, buffer, hash);
  if (status == SPARC_OK) status = sparc_memory_read(m->block[MIXER_DPARAMS], buffer, params * sizeof *buffer);
  if (status == SPARC_OK) *hash = hash_bytes(*hash, buffer, params * sizeof *buffer);
  return status;
}

static size_t longest(const device_mixer *m) {
  size_t n = sparc_cell_sizes_of(m->cell.cell).params;
  for (int row = 0; row < MIXER_ROWS; row++)
    if (device_mixer_elements(m, row) > n) n = device_mixer_elements(m, row);
  return n;
}

sparc_status device_bits_of(sparc_device *device, int index, uint64_t *hash) {
  *hash = HASH_START;
  sparc_status status = SPARC_OK;
  for (int chunks = 1; chunks <= 2 && status == SPARC_OK; chunks++) {
    const device_mixer_config config = {.cell = mixers[index].cell,
                                        .options = mixers[index].options,
                                        .B = 2,
                                        .T = 70,
                                        .D = 72,
                                        .bf16 = mixers[index].bf16,
                                        .chunks = chunks};
    device_mixer m;
    status = device_mixer_create(device, &config, &m);
    if (status != SPARC_OK) return status;
    float *buffer = malloc(longest(&m) * sizeof *buffer);
    status = buffer ? run(&m, buffer, hash) : fail(SPARC_NO_MEMORY, "no memory for the results of a mixer");
    free(buffer);
    device_mixer_free(&m);
  }
  return status;
}
