/* SPDX-License-Identifier: MIT */
/* diagnosis_record.c: numbers by the keys of their statistics; missing values are null. */
#include "lab/diagnose/diagnosis_record.h"

#include "base/error.h"
#include "io/json.h"
#include "lab/diagnose/view.h"

#include <math.h>
#include <stdio.h>

/* ---- writing ------------------------------------------------------------------------------------- */

static json_t *number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static json_t *statistics(const double *values) {
  json_t *object = json_object();
  for (int s = 0; s < STATISTICS; s++) json_object_set_new(object, statistic_table[s].key, number(values[s]));
  return object;
}

static json_t *interventions(const diagnosis *d) {
  json_t *object = json_object();
  for (int i = 0; i < d->interventions; i++) json_object_set_new(object, d->intervention[i], number(d->change[i]));
  return object;
}

static sparc_status add_view(const diagnosis *d, int layer, json_t *views) {
  view v;
  const sparc_status status = view_open(&d->replay, layer, &v);
  if (status != SPARC_OK) return status;
  json_array_append_new(views, json_pack("{s:i, s:o}", "layer", layer + 1, "charts", view_charts(&v)));
  view_close(&v);
  return SPARC_OK;
}

sparc_status diagnosis_record(const diagnosis *d, json_t **out) {
  const replay *r = &d->replay;
  json_t *layers = json_array(), *views = json_array();
  json_int_t steps = 0;
  *out = NULL;
  for (int i = 0; i < d->layers; i++) json_array_append_new(layers, statistics(d->layer[i]));
  for (int i = 0; i < r->recordings; i++) steps += r->recording[i].T;
  sparc_status status = add_view(d, 0, views);
  if (status == SPARC_OK && d->layers > 1) status = add_view(d, d->layers - 1, views);
  json_t *object = json_pack("{s:o, s:o, s:s, s:i, s:I, s:o, s:o, s:o, s:o}", "task", json_text(r->task), "cell",
                             json_text(r->cell), "part", r->part, "recordings", r->recordings, "steps", steps, "whole",
                             statistics(d->whole), "layers", layers, "interventions", interventions(d), "views", views);
  if (status == SPARC_OK && !object) status = fail(SPARC_NO_MEMORY, "no memory for what was measured");
  if (status == SPARC_OK)
    *out = object;
  else
    json_decref(object);
  return status;
}

/* ---- reading ------------------------------------------------------------------------------------- */

static double value_of(const json_t *value) { return json_is_number(value) ? json_number_value(value) : NAN; }

static void read_statistics(const json_t *object, double *values) {
  for (int s = 0; s < STATISTICS; s++) values[s] = value_of(json_object_get(object, statistic_table[s].key));
}

static void read_interventions(const json_t *object, diagnosis *d) {
  const char *name;
  json_t *value;
  json_object_foreach((json_t *)object, name, value) {
    if (d->interventions == MAX_INTERVENTIONS) break;
    d->intervention[d->interventions] = name;
    d->change[d->interventions++] = value_of(value);
  }
}

sparc_status diagnosis_from_record(json_t *record, const char *title, diagnosis *out) {
  const json_t *layers = json_object_get(record, "layers"), *whole = json_object_get(record, "whole");
  *out = (diagnosis){.layers = (int)json_array_size(layers), .record = record};
  if (!json_is_object(whole) || out->layers < 1) {
    diagnosis_free(out);
    return fail(SPARC_FORMAT, "the object is no record of a diagnosis");
  }
  out->layer = sparc_alloc((size_t)out->layers * sizeof *out->layer);
  if (!out->layer) {
    diagnosis_free(out);
    return fail(SPARC_NO_MEMORY, "no memory for a diagnosis");
  }
  snprintf(out->replay.title, sizeof out->replay.title, "%s", title);
  read_statistics(whole, out->whole);
  for (int i = 0; i < out->layers; i++) read_statistics(json_array_get(layers, (size_t)i), out->layer[i]);
  read_interventions(json_object_get(record, "interventions"), out);
  return SPARC_OK;
}
