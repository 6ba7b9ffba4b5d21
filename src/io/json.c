/* SPDX-License-Identifier: MIT */
/* json.c: strings of any bytes, and printing. */
#include "io/json.h"

#include "base/plain_text.h"

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

bool json_put(FILE *out, const json_t *value, size_t flags) {
  char *text = value ? json_dumps(value, flags) : NULL;
  if (!text) return false;
  const char *written = text, *at = text;
  while (*at) {
    const text_character c = text_next(at);
    if (!c.plain && c.code >= ' ') { /* what is less ends lines between values */
      fprintf(out, "%.*s\\u%04x", (int)(at - written), written, (unsigned)c.code);
      written = at + c.length;
    }
    at += c.length;
  }
  fputs(written, out);
  free(text);
  return true;
}
