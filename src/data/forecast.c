/* SPDX-License-Identifier: MIT */
/* forecast.c: forecasting examples: inputs x[t] - x[t - 1], targets x[t + horizon] - x[t]. Differences have no level, so
 * series that grow beyond the range of the fit part remain predictable. */
#include "data/dataset.h"

#include <string.h>

/* ---- targets ---- */

static sparc_status check_lengths(const sparc_dataset *d, int horizon) {
  for (int i = 0; i < d->count; i++)
    if (d->examples[i].length <= horizon)
      return fail(SPARC_INVALID, "example %d of '%s' has %d steps, expected more than the horizon of %d", i,
                  quote(d->name).text, d->examples[i].length, horizon);
  return SPARC_OK;
}

sparc_status sparc_dataset_forecast(sparc_dataset *d, int horizon) {
  if (!d) return fail(SPARC_INVALID, "dataset is NULL, expected a data set");
  if (horizon < 1) return fail(SPARC_INVALID, "horizon is %d, expected at least 1", horizon);
  if (d->targets) return fail(SPARC_INVALID, "'%s' has targets already", quote(d->name).text);
  if (d->missing)
    return fail(SPARC_INVALID, "'%s' has missing values, expected none: sparc_dataset_fill_missing",
                quote(d->name).text);
  sparc_status status = check_lengths(d, horizon);
  if (status == SPARC_OK) status = dataset_own(d);
  if (status != SPARC_OK) return status;
  const size_t C = (size_t)d->channels;
  size_t total = 0;
  for (int i = 0; i < d->count; i++) total += (size_t)(d->examples[i].length - horizon) * C;
  value_block *block = sparc_alloc(sizeof *block);
  float *values = sparc_alloc(total * sizeof *values);
  if (!block || !values) {
    sparc_free(block);
    sparc_free(values);
    return fail(SPARC_NO_MEMORY, "no memory for %zu targets", total);
  }
  *block = (value_block){1, values};
  for (int i = 0; i < d->count; i++) {
    float *x = dataset_values(d, i); /* (length, C) */
    example *e = &d->examples[i];
    e->length -= horizon;
    e->target = (size_t)(values - block->values);
    const size_t count = (size_t)e->length * C;
    for (size_t k = 0; k < count; k++) values[k] = x[(size_t)horizon * C + k] - x[k];
    values += count;
    for (size_t k = count; k-- > 0;) x[k] = k < C ? 0 : x[k] - *(x + k - C);
  }
  d->targets = block;
  d->target_width = d->channels;
  d->target_steps = true;
  dataset_measure(d);
  return SPARC_OK;
}

/* ---- windows ---- */

static sparc_status append_window(builder *b, const float *x, int length) {
  float *values;
  const sparc_status status = builder_begin(b, (size_t)length, &values);
  if (status != SPARC_OK) return status;
  memcpy(values, x, (size_t)length * (size_t)b->channels * sizeof *values);
  builder_end(b, (size_t)length);
  return SPARC_OK;
}

sparc_status dataset_window(const sparc_dataset *d, int from, int to, int length, int stride, sparc_dataset **out) {
  builder b;
  sparc_status status = builder_open(&b);
  b.channels = d->channels;
  b.columns = column_names_share(d->columns);
  b.max_rows = SIZE_MAX;
  for (int at = from; status == SPARC_OK; at += stride) {
    const int steps = to - at < length ? to - at : length;
    status = append_window(&b, dataset_x(d, 0) + (size_t)at * (size_t)d->channels, steps);
    if (at + length >= to) break;
  }
  if (status == SPARC_OK) status = builder_finish(&b, d->name, out);
  builder_close(&b);
  return status;
}

sparc_status dataset_continue(const sparc_dataset *d, int from, int to, int history, int piece, int horizon,
                              sparc_dataset **out) {
  builder b;
  sparc_status status = builder_open(&b);
  b.channels = d->channels;
  b.columns = column_names_share(d->columns);
  b.max_rows = SIZE_MAX;
  /* the remaining steps must have a target */
  for (int at = from; status == SPARC_OK && to - at > horizon; at += piece) {
    const int begin = at > history ? at - history : 0, end = to - at - horizon > piece ? at + piece + horizon : to;
    status = append_window(&b, dataset_x(d, 0) + (size_t)begin * (size_t)d->channels, end - begin);
    if (status == SPARC_OK) b.examples[b.count - 1].context = at - begin;
  }
  if (status == SPARC_OK) status = builder_finish(&b, d->name, out);
  builder_close(&b);
  return status;
}
