/* SPDX-License-Identifier: MIT */
/* json.c: strings of any bytes. */
#include "io/json.h"

#include <stdio.h>
#include <stdlib.h>

json_t *json_text(const char *text) {
  json_t *string = json_string(text);
  if (string) return string;
  char *escaped = NULL;
  size_t length = 0;
  FILE *stream = open_memstream(&escaped, &length);
  if (!stream) return NULL;
  for (const char *c = text; *c; c++) fprintf(stream, (signed char)*c < 0 ? "\\x%02x" : "%c", (unsigned char)*c);
  string = fclose(stream) == 0 ? json_string(escaped) : NULL;
  free(escaped);
  return string;
}
