/* SPDX-License-Identifier: MIT */
/* embed.c: run a trained model in another program: load it once, then one call per input. It includes sparc/model.h
 * alone, so it also builds against the inference library (docs/embedding.md).
 *
 *   embed MODEL [FILE]     FILE, or standard input: one step per line, channels separated by blanks or commas;
 *                          an empty line starts a new sequence
 *
 * Build against the installed library: cc embed.c $(pkg-config --cflags --libs sparc)
 */
#include <sparc/model.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int report(const char *what) {
  fprintf(stderr, "%s\n", what);
  return 1;
}

/* the number of values in a line, at most `most` */
static int read_step(char *line, int most, float *x) {
  int n = 0;
  for (char *end; n < most; n++, line = end) {
    line += strspn(line, " ,\t");
    x[n] = strtof(line, &end);
    if (end == line) break;
  }
  return n;
}

int main(int count, char **arguments) {
  static char line[1 << 16];
  sparc_model *model;
  if (count < 2 || count > 3) return report("usage: embed MODEL [FILE]");
  if (sparc_model_load(arguments[1], 1, &model) != SPARC_OK) return report(sparc_error());
  FILE *file = count == 3 ? fopen(arguments[2], "r") : stdin;
  if (!file) return report("the values cannot be opened");

  /* the state is the whole memory of a stream */
  const sparc_model_info info = sparc_model_info_of(model);
  const int inputs = info.inputs, outputs = info.outputs;
  const size_t state_bytes = info.state_size * sizeof(float);
  float *state = sparc_alloc(state_bytes), *x = sparc_alloc((size_t)inputs * sizeof *x);
  float *y = sparc_alloc((size_t)outputs * sizeof *y);
  const sparc_preprocessing *known = info.preprocessing;
  int status = state && x && y ? 0 : report("no memory");

  while (!status && fgets(line, sizeof line, file)) {
    const int n = read_step(line, inputs, x);
    if (n == 0) {
      memset(state, 0, state_bytes);
    } else if (n < inputs) {
      status = report("a line has fewer numbers than the model has channels");
    } else if (sparc_model_step(model, state, x, y) != SPARC_OK) {
      status = report(sparc_error());
    } else {
      int best = 0;
      for (int k = 0; k < outputs; k++) best = y[k] > y[best] ? k : best;
      if (known->labels) printf("%s ", known->labels[best]);
      for (int k = 0; k < outputs; k++) printf("%.9g%c", (double)y[k], k + 1 < outputs ? ' ' : '\n');
    }
  }
  if (count == 3) fclose(file);
  sparc_free(y);
  sparc_free(x);
  sparc_free(state);
  sparc_model_free(model);
  return status;
}
