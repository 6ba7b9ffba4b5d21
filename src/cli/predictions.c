/* SPDX-License-Identifier: MIT */
/* predictions.c: CSV as RFC 4180 has it, and JSON lines. */
#include "cli/predictions.h"

#include "base/plain_text.h"
#include "cli/cli.h"
#include "io/json.h"

#include <math.h>
#include <string.h>

const char *const prediction_formats[] = {"csv", "jsonl", NULL};

/* the label of a class; without stored labels its number */
static const char *label_of(const predictions *w, int class_index, char number[16]) {
  if (w->labels) return w->labels[class_index];
  snprintf(number, 16, "%d", class_index);
  return number;
}

/* a field of RFC 4180, in quotes where it needs them; on a terminal without what could act on it */
static void put_field(const predictions *w, const char *text) {
  if (w->terminal) {
    put_plain(stdout, text);
    return;
  }
  if (!strpbrk(text, ",\"\r\n")) {
    fputs(text, stdout);
    return;
  }
  putchar('"');
  for (; *text; text++) {
    if (*text == '"') putchar('"');
    putchar(*text);
  }
  putchar('"');
}

/* a column of the heading, whose name is made from another one */
static void put_name(const predictions *w, const char *name, const char *suffix) {
  char text[320];
  snprintf(text, sizeof text, "%s%s", name, suffix);
  putchar(',');
  put_field(w, text);
}

/* ---- ids and times ---- */

void predictions_use(predictions *w, const sparc_dataset *data) {
  w->data = data;
  w->example = 0;
}

static const char *id_of(const predictions *w) {
  return w->data ? sparc_dataset_example(w->data, w->example).id : w->id;
}
static const char *time_of(const predictions *w, int step) {
  return w->data ? sparc_dataset_time(w->data, w->example, step) : NULL;
}

/* what the file calls a column, or a word for it */
static const char *column_of(const char *name, const char *word) { return name ? name : word; }

static void put_text(const predictions *w, const char *text) {
  if (!text) return;
  putchar(',');
  put_field(w, text);
}

/* the number of what is written, its id, and the time of a step from elsewhere */
static void put_row(const predictions *w) {
  printf("%ld", w->row);
  put_text(w, id_of(w));
  put_text(w, w->time);
}

static json_t *json_row(const predictions *w, const char *unit) {
  json_t *object = json_pack("{s:I}", unit, (json_int_t)w->row);
  if (object && id_of(w)) json_object_set_new(object, "id", json_text(id_of(w)));
  if (object && w->time) json_object_set_new(object, "time", json_text(w->time));
  return object;
}

static void head_row(const predictions *w) {
  static const sparc_columns none;
  const sparc_columns *names = w->data ? sparc_dataset_info_of(w->data).columns : NULL;
  if (!names) names = &none;
  fputs(w->unit, stdout);
  if (w->id_name) put_name(w, w->id_name, "");
  if (w->time_name) put_name(w, w->time_name, "");
  if (w->data && id_of(w)) put_name(w, column_of(names->id, "id"), "");
  if (w->kind == PREDICTION_CLASSES) fputs(",class", stdout);
  if (w->kind != PREDICTION_STEPS) return;
  fputs(",step", stdout);
  if (time_of(w, 0)) put_name(w, column_of(names->time, "time"), "");
}

void predictions_header(const predictions *w) {
  char number[16], name[300];
  if (w->jsonl) return;
  head_row(w);
  for (int i = 0; i < w->outputs; i++) {
    if (w->kind == PREDICTION_CLASSES)
      snprintf(name, sizeof name, "p(%s)", label_of(w, i, number));
    else if (w->names)
      snprintf(name, sizeof name, "%s", w->names[i]);
    else if (w->outputs == 1)
      snprintf(name, sizeof name, "prediction");
    else
      snprintf(name, sizeof name, "output %d", i + 1);
    put_name(w, name, "");
    if (w->low) put_name(w, name, " low");
    if (w->low) put_name(w, name, " high");
  }
  for (int i = 0; w->anomaly && i < w->inputs; i++) put_name(w, w->channel[i], " anomaly");
  putchar('\n');
}

static int greatest(const float *p, int count) {
  int best = 0;
  for (int i = 1; i < count; i++)
    if (p[i] > p[best]) best = i;
  return best;
}

void predictions_class(const predictions *w, const float *p) {
  char number[16];
  if (w->jsonl) {
    json_t *probabilities = json_object();
    for (int i = 0; i < w->outputs; i++)
      json_object_set_new(probabilities, label_of(w, i, number), json_real((double)p[i]));
    json_t *object = json_row(w, w->unit);
    json_object_set_new(object, "class", json_text(label_of(w, greatest(p, w->outputs), number)));
    json_object_set_new(object, "probabilities", probabilities);
    cli_json_line(w->who, object);
    return;
  }
  put_row(w);
  putchar(',');
  put_field(w, label_of(w, greatest(p, w->outputs), number));
  for (int i = 0; i < w->outputs; i++) printf(",%.6g", (double)p[i]);
  putchar('\n');
}

static void put_number(float value) {
  if (isfinite(value))
    printf(",%.9g", (double)value);
  else
    putchar(',');
}

static json_t *json_numbers(const float *value, int count) {
  json_t *array = json_array();
  for (int i = 0; i < count; i++)
    json_array_append_new(array, isfinite(value[i]) ? json_real((double)value[i]) : json_null());
  return array;
}

static void prediction_object(const predictions *w, const float *y) {
  json_t *object = json_row(w, w->unit);
  if (object) json_object_set_new(object, "outputs", json_numbers(y, w->outputs));
  if (object && w->low) {
    json_object_set_new(object, "low", json_numbers(w->low, w->outputs));
    json_object_set_new(object, "high", json_numbers(w->high, w->outputs));
  }
  if (object && w->anomaly) json_object_set_new(object, "anomaly", json_numbers(w->anomaly, w->inputs));
  cli_json_line(w->who, object);
}

void predictions_numbers(const predictions *w, const float *y) {
  if (w->jsonl) {
    prediction_object(w, y);
    return;
  }
  put_row(w);
  for (int i = 0; i < w->outputs; i++) {
    printf(",%.9g", (double)y[i]);
    if (w->low) put_number(w->low[i]), put_number(w->high[i]);
  }
  for (int i = 0; w->anomaly && i < w->inputs; i++) put_number(w->anomaly[i]);
  putchar('\n');
}

static void put_step(const predictions *w, const float *y, int step) {
  put_row(w);
  printf(",%d", step + 1);
  put_text(w, time_of(w, step));
  for (int i = 0; i < w->outputs; i++) printf(",%.6g", (double)y[i]);
  putchar('\n');
}

void predictions_steps(const predictions *w, const float *y, int length) {
  if (!w->jsonl) {
    for (int t = 0; t < length; t++) put_step(w, y + (size_t)t * (size_t)w->outputs, t);
    return;
  }
  json_t *object = json_row(w, "row"), *steps = json_array(), *times = time_of(w, 0) ? json_array() : NULL;
  for (int t = 0; t < length; t++, y += w->outputs) {
    json_array_append_new(steps, json_numbers(y, w->outputs));
    if (times) json_array_append_new(times, json_text(time_of(w, t)));
  }
  if (times) json_object_set_new(object, "times", times);
  json_object_set_new(object, "outputs", steps);
  cli_json_line(w->who, object);
}
