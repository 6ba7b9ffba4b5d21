/* SPDX-License-Identifier: MIT */
/* answers.c: everything that a model says, for inputs made up here: built against the full library and against the
 * inference library, it must print the same. With --damage it reads many spoilt copies of the model instead; each must
 * be refused with a sentence or be a model. */
#include <math.h>
#include <sparc/model.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEQUENCES = 5, LONG = 20000 };
_Static_assert((int)LONG > (int)SPARC_MODEL_WHOLE, "some sequence must go through in pieces");

#define DEMAND(condition)                                                                \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, sparc_error()); \
      exit(1);                                                                           \
    }                                                                                    \
  } while (0)

typedef struct inputs {
  const float *x;
  int length[SEQUENCES];
} inputs;

static sparc_sample sample_at(const void *source, int index) {
  const inputs *in = source;
  return (sparc_sample){.x = in->x, .length = in->length[index], .label = -1};
}

static void print_row(const char *what, int index, const float *y, size_t count) {
  printf("%s %d", what, index);
  for (size_t k = 0; k < count; k++) printf(" %.9g", (double)y[k]);
  printf("\n");
}

/* whole sequences; every_step: the model has an output for each step */
static void predict(sparc_model *model, const float *x, int longest, int every_step) {
  inputs in = {x, {longest, 1, 2 * longest / 3, longest / 2, 17}};
  const int count = longest == LONG ? 1 : SEQUENCES;
  const size_t row = (size_t)sparc_model_info_of(model).outputs * (every_step ? (size_t)longest : 1);
  const sparc_samples samples = {.count = count,
                                 .channels = sparc_model_info_of(model).inputs,
                                 .longest = longest,
                                 .source = &in,
                                 .at = sample_at};
  float *y = sparc_alloc((size_t)count * row * sizeof *y);
  DEMAND(y && sparc_model_predict(model, &samples, y) == SPARC_OK);
  for (int i = 0; i < count; i++) print_row("sequence", i, y + (size_t)i * row, row < 600 ? row : 600);
  sparc_free(y);
}

static void follow(sparc_model *model, const float *x, int steps) {
  const sparc_model_info info = sparc_model_info_of(model);
  const size_t C = (size_t)info.inputs, K = (size_t)info.outputs;
  float *state = sparc_alloc(info.state_size * sizeof *state), *y = sparc_alloc(K * sizeof *y);
  DEMAND(state && y);
  for (int t = 0; t < steps; t++) {
    DEMAND(sparc_model_step(model, state, x + (size_t)t * C, y) == SPARC_OK);
    print_row("step", t, y, K);
  }
  const float bad[] = {NAN, 0, 0, 0, 0, 0, 0, 0};
  DEMAND(sparc_model_step(model, state, bad, y) == SPARC_NOT_FINITE);
  sparc_free(state);
  sparc_free(y);
}

static unsigned char *slurp(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  DEMAND(file && fseek(file, 0, SEEK_END) == 0);
  *size = (size_t)ftell(file);
  rewind(file);
  unsigned char *data = malloc(*size);
  DEMAND(data && fread(data, 1, *size, file) == *size);
  fclose(file);
  return data;
}

/* cut off at every length in the header and at some behind it, and with one byte changed */
static void damage(unsigned char *data, size_t size) {
  size_t refused = 0, accepted = 0;
  sparc_model *model;
  for (size_t cut = 0; cut < size; cut += cut < 4096 ? 7 : size / 50 + 1) {
    DEMAND(sparc_model_parse(data, cut, "cut", 1, &model) == SPARC_FORMAT && !model && *sparc_error());
    refused++;
  }
  for (size_t at = 0; at < size; at += at < 4096 ? 3 : size / 200 + 1) {
    const unsigned char before = data[at];
    data[at] ^= (unsigned char)(1 << at % 8);
    const sparc_status status = sparc_model_parse(data, size, "changed", 1, &model);
    DEMAND(status == SPARC_OK || *sparc_error());
    refused += status != SPARC_OK;
    accepted += status == SPARC_OK;
    sparc_model_free(model);
    data[at] = before;
  }
  memset(data, 0xa5, size);
  DEMAND(sparc_model_parse(data, size, "garbage", 1, &model) == SPARC_FORMAT);
  printf("%zu refused, %zu still models\n", refused, accepted);
}

int main(int count, char **arguments) {
  const int damaging = count == 3 && strcmp(arguments[2], "--damage") == 0;
  const int every_step = count == 3 && strcmp(arguments[2], "--steps") == 0;
  sparc_model *model, *again;
  size_t size;
  unsigned char *data = slurp(arguments[1], &size);
  if (damaging) {
    damage(data, size);
    free(data);
    return 0;
  }
  DEMAND(sparc_model_load(arguments[1], 1, &model) == SPARC_OK);
  DEMAND(sparc_model_parse(data, size, arguments[1], 1, &again) == SPARC_OK);
  free(data); /* the model has its own copy */
  const size_t C = (size_t)sparc_model_info_of(model).inputs, values = C * LONG;
  float *x = sparc_alloc(values * sizeof *x);
  DEMAND(x && C > 0 && C <= 8 && sparc_model_info_of(again).inputs == (int)C);
  unsigned noise = 1;
  for (size_t i = 0; i < values; i++) {
    noise = noise * 1664525u + 1013904223u;
    x[i] = (float)(noise >> 8) / (float)(1 << 23) - 1;
  }
  const sparc_preprocessing *known = sparc_model_info_of(model).preprocessing;
  for (int k = 0; k < known->classes; k++) printf("class %s\n", known->labels[k]);
  printf("cell %s\n", sparc_model_metadata(model, "network.cell"));
  predict(model, x, 97, every_step);
  predict(model, x, LONG, every_step);
  follow(again, x, 40);
  sparc_free(x);
  sparc_model_free(again);
  sparc_model_free(model);
  return 0;
}
