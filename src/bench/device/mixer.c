/* SPDX-License-Identifier: MIT */
/* mixer.c: see mixer.h. */
#include "bench/device/mixer.h"

#include "base/error.h"
#include "bench/device/fill.h"
#include "bench/device/recorder.h"
#include "sparc/bf16.h"

#include <stdio.h>
#include <string.h>

/* ---- arrays ------------------------------------------------------------------------------------- */

static size_t element_bytes(const device_mixer *m) { return m->config.bf16 ? sizeof(sparc_bf16) : sizeof(float); }

size_t device_mixer_elements(const device_mixer *m, int row) { return m->row_bytes[row] / element_bytes(m); }

static sparc_status make_arrays(sparc_device *device, device_mixer *m) {
  const sparc_cell_sizes sizes = sparc_cell_sizes_of(m->cell.cell);
  const size_t tokens = (size_t)m->config.B * (size_t)m->config.T, element = element_bytes(m);
  const size_t inputs = tokens * (size_t)m->config.D * element, outputs = tokens * sizes.output * element;
  const size_t bytes[MIXER_BLOCKS] = {[MIXER_PARAMS] = sizes.params * sizeof(float),
                                      [MIXER_PREPARED] = sparc_device_plan_sizes_of(m->plan).prepared,
                                      [MIXER_SAVED] = sparc_device_plan_sizes_of(m->plan).saved,
                                      [MIXER_WORK] = sparc_device_plan_sizes_of(m->plan).work,
                                      [MIXER_DPARAMS] = sizes.params * sizeof(float)};
  m->row_bytes[MIXER_X] = m->row_bytes[MIXER_DX] = inputs;
  m->row_bytes[MIXER_Y] = m->row_bytes[MIXER_DY] = outputs;
  m->bytes = 2 * (inputs + outputs);
  sparc_status status = SPARC_OK;
  for (int i = 0; i < MIXER_BLOCKS && status == SPARC_OK; i++) {
    m->bytes += bytes[i];
    if (bytes[i] > 0) status = sparc_memory_create(device, bytes[i], &m->block[i].memory);
  }
  for (int set = 0; set < m->config.sets; set++)
    for (int i = 0; i < MIXER_ROWS && status == SPARC_OK; i++)
      status = sparc_memory_create(device, m->row_bytes[i], &m->row[set][i].memory);
  return status;
}

/* the same numbers for every set */
static sparc_status fill(const device_mixer *m, int row, const char *name) {
  sparc_status status = SPARC_OK;
  for (int set = 0; set < m->config.sets && status == SPARC_OK; set++)
    status = device_fill(m->row[set][row], device_mixer_elements(m, row), m->config.bf16, name, 0, 0);
  return status;
}

/* floats to and from what the device has */
static sparc_status transfer(const device_mixer *m, int row, float *to, const float *from) {
  const size_t n = device_mixer_elements(m, row);
  const sparc_slice slice = m->row[0][row];
  if (!m->config.bf16)
    return to ? sparc_memory_read(slice, to, m->row_bytes[row]) : sparc_memory_write(slice, from, m->row_bytes[row]);
  sparc_bf16 *narrow = sparc_alloc(n * sizeof *narrow);
  if (!narrow) return fail(SPARC_NO_MEMORY, "no memory for %zu numbers", n);
  if (from) sparc_bf16_from_floats(n, from, narrow);
  const sparc_status status =
      to ? sparc_memory_read(slice, narrow, m->row_bytes[row]) : sparc_memory_write(slice, narrow, m->row_bytes[row]);
  if (to && status == SPARC_OK) sparc_floats_from_bf16(n, narrow, to);
  sparc_free(narrow);
  return status;
}

sparc_status device_mixer_read(const device_mixer *m, int row, float *to) { return transfer(m, row, to, NULL); }

sparc_status device_mixer_write(const device_mixer *m, int row, const float *from) {
  return transfer(m, row, NULL, from);
}

/* ---- mixer -------------------------------------------------------------------------------------- */

static sparc_status make_cell(device_mixer *m) {
  bench_problem problem = {.text = "a mixer on a device"};
  bench_case c = {.problem = &problem};
  snprintf(problem.cell, sizeof problem.cell, "%s", m->config.cell);
  snprintf(problem.options, sizeof problem.options, "%s", m->config.options);
  return bench_cell_create(&c, m->config.D, m->config.H, &m->cell);
}

static sparc_status load_params(const device_mixer *m) {
  const size_t bytes = sparc_cell_sizes_of(m->cell.cell).params * sizeof(float);
  const sparc_status status = sparc_memory_write(m->block[MIXER_PARAMS], m->cell.params, bytes);
  return status == SPARC_OK ? sparc_device_prepare(m->plan, m->block[MIXER_PARAMS], m->block[MIXER_PREPARED]) : status;
}

sparc_status device_mixer_set_params(device_mixer *m, const float *params) {
  memcpy(m->cell.params, params, sparc_cell_sizes_of(m->cell.cell).params * sizeof(float));
  return load_params(m);
}

sparc_status device_mixer_create(sparc_device *device, const device_mixer_config *config, device_mixer *out) {
  *out = (device_mixer){.config = *config};
  if (out->config.sets == 0) out->config.sets = 1;
  const sparc_device_plan_config plan = {.bf16 = config->bf16, .chunks = config->chunks};
  sparc_status status = make_cell(out);
  if (status == SPARC_OK)
    status = sparc_device_plan_create(device, out->cell.cell, config->B, config->T, &plan, &out->plan);
  if (status == SPARC_OK) status = make_arrays(device, out);
  if (status == SPARC_OK) status = fill(out, MIXER_X, "x");
  if (status == SPARC_OK) status = fill(out, MIXER_DY, "dy");
  if (status == SPARC_OK) status = load_params(out);
  if (status != SPARC_OK) device_mixer_free(out);
  return status;
}

void device_mixer_free(device_mixer *m) {
  for (int set = 0; set < MIXER_SETS; set++)
    for (int i = 0; i < MIXER_ROWS; i++) sparc_memory_free(m->row[set][i].memory);
  for (int i = 0; i < MIXER_BLOCKS; i++) sparc_memory_free(m->block[i].memory);
  sparc_device_plan_free(m->plan);
  bench_cell_free(&m->cell);
  *m = (device_mixer){.plan = NULL};
}

sparc_status device_mixer_forward(const device_mixer *m, size_t set) {
  const sparc_slice *row = m->row[set % (size_t)m->config.sets], *block = m->block;
  const sparc_device_sequence sequence = {.x = row[MIXER_X], .y = row[MIXER_Y]};
  return sparc_device_forward(m->plan, block[MIXER_PREPARED], &sequence, block[MIXER_SAVED], block[MIXER_WORK]);
}

sparc_status device_mixer_backward(const device_mixer *m, size_t set) {
  const sparc_slice *row = m->row[set % (size_t)m->config.sets], *block = m->block;
  const sparc_device_sequence sequence = {.x = row[MIXER_X], .y = row[MIXER_Y]};
  const sparc_device_gradient gradient = {.dy = row[MIXER_DY], .dx = row[MIXER_DX], .dparams = block[MIXER_DPARAMS]};
  return sparc_device_backward(m->plan, block[MIXER_PREPARED], &sequence, block[MIXER_SAVED], &gradient,
                               block[MIXER_WORK]);
}

/* ---- bytes -------------------------------------------------------------------------------------- */

static sparc_status enqueue_forward(const void *context) { return device_mixer_forward(context, 0); }
static sparc_status enqueue_backward(const void *context) { return device_mixer_backward(context, 0); }

sparc_status device_mixer_count(const device_mixer_config *config, double *forward, double *backward) {
  device_mixer_config one = *config;
  device_mixer m;
  sparc_device *recorder;
  one.sets = 1;
  sparc_status status = recorder_open(false, &recorder);
  if (status != SPARC_OK) return status;
  status = device_mixer_create(recorder, &one, &m);
  if (status == SPARC_OK) {
    status = recorder_count_bytes(recorder, enqueue_forward, enqueue_backward, &m, forward, backward);
    device_mixer_free(&m);
  }
  sparc_device_close(recorder);
  return status;
}
