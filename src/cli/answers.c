/* SPDX-License-Identifier: MIT */
/* answers.c: CSV as RFC 4180 has it, and JSON lines. */
#include "cli/answers.h"

#include "cli/cli.h"
#include "io/json.h"

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
    putchar(',');
    put_field(name);
  }
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

void answers_numbers(const answers *w, const float *y) {
  json_t *values = json_array();
  if (!w->jsonl) printf("%ld", w->row);
  for (int i = 0; i < w->outputs; i++) {
    json_array_append_new(values, json_real((double)y[i]));
    if (!w->jsonl) printf(",%.9g", (double)y[i]);
  }
  if (w->jsonl) {
    cli_json_line(w->who, json_pack("{s:I, s:o}", w->unit, (json_int_t)w->row, "outputs", values));
    return;
  }
  json_decref(values);
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
