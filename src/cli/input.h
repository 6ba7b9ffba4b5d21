/* SPDX-License-Identifier: MIT */
/* input.h: lines from a descriptor as they come in. Unlike stdio it reports whether another one has already arrived,
 * and a signal can end the waiting. */
#ifndef SPARC_CLI_INPUT_H
#define SPARC_CLI_INPUT_H

#include "sparc/base.h"

#include <stdbool.h>

typedef struct line_input {
  int descriptor;
  const char *name;   /* of the input in error texts */
  bool (*stop)(void); /* called when a signal interrupts the waiting; NULL: never stop */
  char *data;
  size_t at, used, size;
  size_t scanned; /* bytes from `at` that are known to hold no end of a line */
} line_input;

/* input_next gives the next line with its end, valid until the next call; *size is 0 at the end of the input, and when
 * `stop` returns true. */
sparc_status input_next(line_input *reader, const char **line, size_t *size);

/* input_pauses returns whether the next line has not arrived yet: pending predictions are then written at once */
bool input_pauses(const line_input *reader);

void input_free(line_input *reader);

bool line_is_blank(const char *line, size_t size);

#endif
