/* SPDX-License-Identifier: MIT */
/* answers.c: CSV as RFC 4180 has it, and JSON lines. */
#include "cli/answers.h"

#include "cli/cli.h"
#include "io/json.h"

#include <math.h>
#include <string.h>

const char *const answer_styles[] = {"csv", "jsonl", NULL};

/* the label of a class; without stored labels its number */
static const char *label_of(const answers *w, int class_index, char number[16]) {
  if (w->labels) return w->labels[class_index];
  snprintf(number, 16, "%d", class_index);
  return number;
}

/* a field of RFC 4180, in quotes where it needs them */
static void put_field(const char *text) {
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
static void put_name(const char *name, const char *suffix) {
  char text[320];
  snprintf(text, sizeof text, "%s%s", name, suffix);
  putchar(',');
  put_field(text);
}

void answers_header(const answers *w) {
  char number[16], name[300];
  if (w->jsonl) return;
  static const char *const columns[] = {[ANSWER_CLASSES] = ",class", [ANSWER_NUMBERS] = "", [ANSWER_STEPS] = ",step"};
  printf("%s%s", w->unit, columns[w->kind]);
  for (int i = 0; i < w->outputs; i++) {
    if (w->kind == ANSWER_CLASSES)
      snprintf(name, sizeof name, "p(%s)", label_of(w, i, number));
    else if (w->names)
      snprintf(name, sizeof name, "%s", w->names[i]);
    else if (w->outputs == 1)
      snprintf(name, sizeof name, "prediction");
    else
      snprintf(name, sizeof name, "output %d", i + 1);
    put_name(name, "");
    if (w->low) put_name(name, " low");
    if (w->low) put_name(name, " high");
  }
  for (int i = 0; w->anomaly && i < w->inputs; i++) put_name(w->channel[i], " anomaly");
  putchar('\n');
}

static int greatest(const float *p, int count) {
  int best = 0;
  for (int i = 1; i < count; i++)
    if (p[i] > p[best]) best = i;
  return best;
}

void answers_class(const answers *w, const float *p) {
  char number[16];
  if (w->jsonl) {
    json_t *probabilities = json_object();
    for (int i = 0; i < w->outputs; i++)
      json_object_set_new(probabilities, label_of(w, i, number), json_real((double)p[i]));
    cli_json_line(w->who,
                  json_pack("{s:I, s:o, s:o}", w->unit, (json_int_t)w->row, "class",
                            json_text(label_of(w, greatest(p, w->outputs), number)), "probabilities", probabilities));
    return;
  }
  printf("%ld,", w->row);
  put_field(label_of(w, greatest(p, w->outputs), number));
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

static void answer_object(const answers *w, const float *y) {
  json_t *object = json_pack("{s:I, s:o}", w->unit, (json_int_t)w->row, "outputs", json_numbers(y, w->outputs));
  if (object && w->low) {
    json_object_set_new(object, "low", json_numbers(w->low, w->outputs));
    json_object_set_new(object, "high", json_numbers(w->high, w->outputs));
  }
  if (object && w->anomaly) json_object_set_new(object, "anomaly", json_numbers(w->anomaly, w->inputs));
  cli_json_line(w->who, object);
}

void answers_numbers(const answers *w, const float *y) {
  if (w->jsonl) {
    answer_object(w, y);
    return;
  }
  printf("%ld", w->row);
  for (int i = 0; i < w->outputs; i++) {
    printf(",%.9g", (double)y[i]);
    if (w->low) put_number(w->low[i]), put_number(w->high[i]);
  }
  for (int i = 0; w->anomaly && i < w->inputs; i++) put_number(w->anomaly[i]);
  putchar('\n');
}

void answers_steps(const answers *w, const float *y, int length) {
  json_t *steps = json_array();
  for (int t = 0; t < length; t++, y += w->outputs) {
    json_t *values = json_array();
    if (!w->jsonl) printf("%ld,%d", w->row, t + 1);
    for (int i = 0; i < w->outputs; i++) {
      json_array_append_new(values, json_real((double)y[i]));
      if (!w->jsonl) printf(",%.6g", (double)y[i]);
    }
    json_array_append_new(steps, values);
    if (!w->jsonl) putchar('\n');
  }
  if (w->jsonl)
    cli_json_line(w->who, json_pack("{s:I, s:o}", "row", (json_int_t)w->row, "outputs", steps));
  else
    json_decref(steps);
}
