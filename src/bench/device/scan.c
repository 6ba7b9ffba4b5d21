/* SPDX-License-Identifier: MIT */
/* scan.c: see scan.h. */
#include "bench/device/scan.h"

#include "bench/device/fill.h"
#include "bench/device/recorder.h"

static bool is_spectral(const device_scan *s) { return s->config.kind == SPARC_SCAN_SPECTRAL; }

/* numbers of every array */
static void measure(const device_scan *s, size_t n[SCAN_ARRAYS]) {
  const size_t tokens = (size_t)s->config.B * (size_t)s->config.T, H = (size_t)s->config.H;
  const size_t row = is_spectral(s) ? 2 * H : H, given = tokens * (is_spectral(s) ? 2 : H);
  const size_t modes = is_spectral(s) ? H : 0;
  n[SCAN_PREPARED] = sparc_device_scan_sizes_of(s->scan).prepared / sizeof(float);
  n[SCAN_SAVED] = sparc_device_scan_sizes_of(s->scan).saved / sizeof(float);
  n[SCAN_WORK] = sparc_device_scan_sizes_of(s->scan).work / sizeof(float);
  n[SCAN_GIVEN] = n[SCAN_DGIVEN] = given;
  n[SCAN_B] = n[SCAN_H] = n[SCAN_DH] = n[SCAN_DB] = tokens * row;
  n[SCAN_NU] = n[SCAN_THETA] = n[SCAN_DNU] = n[SCAN_DTHETA] = modes;
}

static bool is_row(int array) { return array >= SCAN_B && array <= SCAN_DB; }

static sparc_status make_arrays(sparc_device *device, device_scan *s, const size_t n[SCAN_ARRAYS]) {
  sparc_status status = SPARC_OK;
  for (int i = 0; i < SCAN_ARRAYS && status == SPARC_OK; i++) {
    const size_t element = is_row(i) && s->config.bf16 ? 2 : sizeof(float);
    if (n[i] > 0) status = sparc_memory_create(device, n[i] * element, &s->array[i].memory);
  }
  return status;
}

static sparc_status fill_arrays(const device_scan *s, const size_t n[SCAN_ARRAYS]) {
  const sparc_slice *a = s->array;
  const bool bf16 = s->config.bf16;
  sparc_status status = device_fill(a[SCAN_B], n[SCAN_B], bf16, "b", 0, 0);
  if (status == SPARC_OK) status = device_fill(a[SCAN_DH], n[SCAN_DH], bf16, "dh", 0, 0);
  if (status == SPARC_OK)
    status = device_fill(a[SCAN_GIVEN], n[SCAN_GIVEN], false, "given", is_spectral(s) ? -1 : 0.5f, 1);
  if (status != SPARC_OK || !is_spectral(s)) return status;
  status = device_fill(a[SCAN_NU], n[SCAN_NU], false, "nu", 1e-3f, 1);
  if (status == SPARC_OK) status = device_fill(a[SCAN_THETA], n[SCAN_THETA], false, "theta", 0, 3);
  return status == SPARC_OK ? sparc_device_scan_prepare(s->scan, a[SCAN_NU], a[SCAN_THETA], a[SCAN_PREPARED]) : status;
}

sparc_status device_scan_create(sparc_device *device, const sparc_device_scan_config *config, device_scan *out) {
  size_t n[SCAN_ARRAYS];
  *out = (device_scan){.config = *config};
  sparc_status status = sparc_device_scan_create(device, config, &out->scan);
  if (status != SPARC_OK) return status;
  measure(out, n);
  status = make_arrays(device, out, n);
  if (status == SPARC_OK) status = fill_arrays(out, n);
  if (status != SPARC_OK) device_scan_free(out);
  return status;
}

void device_scan_free(device_scan *s) {
  for (int i = 0; i < SCAN_ARRAYS; i++) sparc_memory_free(s->array[i].memory);
  sparc_device_scan_free(s->scan);
  *s = (device_scan){.scan = NULL};
}

static sparc_device_scan_data data_of(const device_scan *s) {
  sparc_device_scan_data data = {.b = s->array[SCAN_B], .h = s->array[SCAN_H]};
  *(is_spectral(s) ? &data.controls : &data.a) = s->array[SCAN_GIVEN];
  return data;
}

sparc_status device_scan_forward(const device_scan *s) {
  const sparc_device_scan_data data = data_of(s);
  const sparc_slice *a = s->array;
  return sparc_device_scan_forward(s->scan, a[SCAN_PREPARED], &data, a[SCAN_SAVED], a[SCAN_WORK]);
}

sparc_status device_scan_backward(const device_scan *s) {
  const sparc_device_scan_data data = data_of(s);
  const sparc_slice *a = s->array;
  sparc_device_scan_gradient gradient = {
      .dh = a[SCAN_DH], .db = a[SCAN_DB], .dnu = a[SCAN_DNU], .dtheta = a[SCAN_DTHETA]};
  *(is_spectral(s) ? &gradient.dcontrols : &gradient.da) = a[SCAN_DGIVEN];
  return sparc_device_scan_backward(s->scan, a[SCAN_PREPARED], &data, a[SCAN_SAVED], &gradient, a[SCAN_WORK]);
}

static sparc_status enqueue_forward(const void *context) { return device_scan_forward(context); }
static sparc_status enqueue_backward(const void *context) { return device_scan_backward(context); }

sparc_status device_scan_count(const sparc_device_scan_config *config, double *forward, double *backward) {
  device_scan s;
  sparc_device *recorder;
  sparc_status status = recorder_open(false, &recorder);
  if (status != SPARC_OK) return status;
  status = device_scan_create(recorder, config, &s);
  if (status == SPARC_OK) {
    status = recorder_count_bytes(recorder, enqueue_forward, enqueue_backward, &s, forward, backward);
    device_scan_free(&s);
  }
  sparc_device_close(recorder);
  return status;
}
