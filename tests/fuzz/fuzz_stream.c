/* SPDX-License-Identifier: MIT */
/* fuzz_stream.c: libFuzzer target of streams. The first byte selects the options; the first line, after an optional line
 * "sep=;", has the columns, and each further line is a step or is rejected. */
#include "data/csv_text.h"
#include "online/stream.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "violated: %s (last error: %s)\n", what, sparc_error());
  abort();
}

static const char *line_end(const char *at, const char *end) {
  const char *stop = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
  return stop ? stop + 1 : end;
}

/* arrays have exactly the required size, so that the sanitizer detects overruns */
static void read_steps(const stream_columns *c, const char *at, const char *end) {
  float *x = malloc(c->inputs * sizeof *x), *target = malloc((c->targets + 1) * sizeof *target);
  require(x && target, "memory for a step");
  while (at < end) {
    const char *stop = line_end(at, end);
    stream_step step;
    const stream_texts texts = {malloc((size_t)(stop - at) + 1), malloc((size_t)(stop - at) + 1)};
    require(texts.id && texts.time, "memory for id and time");
    const sparc_status status = stream_read(c, at, (size_t)(stop - at), "fuzz, line 2", x, target, &texts, &step);
    require(strlen(texts.id) <= (size_t)(stop - at), "an id is not longer than its line");
    require(strlen(texts.time) <= (size_t)(stop - at), "a time is not longer than its line");
    if (status == SPARC_OK)
      require(stream_check_order(c, "fuzz", texts.time, texts.time) == SPARC_OK, "no time is before itself");
    free(texts.id);
    free(texts.time);
    require(status == SPARC_OK || (status == SPARC_FORMAT && strstr(sparc_error(), "fuzz")), "an error names the line");
    for (size_t i = 0; status == SPARC_OK && i < c->inputs; i++) require(!isinf(x[i]), "inputs are numbers or missing");
    for (size_t i = 0; status == SPARC_OK && step.has_target && i < c->targets; i++)
      require(isfinite(target[i]), "targets are finite");
    if (status == SPARC_OK && step.has_target && c->classes)
      require(step.label >= 0 && (size_t)step.label < c->classes, "a label is the index of a class");
    at = stop;
  }
  free(x);
  free(target);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const stream_options options[] = {
      {.decimal = '.'},
      {.target = "2", .decimal = '.'},
      {.target = "y,z", .ignore = "1", .decimal = ','},
      {.label = "2", .classes = "a,b", .id = "3", .decimal = '.'},
      {.time = "1", .decimal = ','},
  };
  if (size < 2) return 0;
  const char *at = (const char *)data + 1, *end = (const char *)data + size;
  const char *stop = line_end(at, end);
  if (csv_separator_line((span){at, (size_t)(stop - at)})) stop = line_end(stop, end);
  stream_columns columns;
  const stream_options *o = &options[data[0] % (sizeof options / sizeof *options)];
  static const char *const names[] = {"b", "a", "y"};
  const stream_known known = {.roles = "iit", .names = names, .target_optional = data[0] & 1};
  const bool resumed = data[0] & 0x40;
  const sparc_status status = stream_open(resumed ? &options[0] : o, resumed ? &known : NULL, at, (size_t)(stop - at),
                                          "fuzz, line 1", &columns);
  if (status == SPARC_OK)
    read_steps(&columns, columns.named ? stop : at, end);
  else
    require(status == SPARC_FORMAT || status == SPARC_INVALID || status == SPARC_NO_MEMORY, "an error of the input");
  stream_free(&columns);
  return 0;
}
