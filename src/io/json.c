/* SPDX-License-Identifier: MIT */
/* json.c: strings of any bytes, printing, and files. */
#include "io/json.h"

#include "base/error.h"
#include "base/plain_text.h"
#include "io/folder_file.h"

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

sparc_status json_read(const char *path, size_t flags, json_t **out) {
  char *text;
  size_t size;
  json_error_t error;
  *out = NULL;
  sparc_status status = folder_file_read(path, &text, &size);
  if (status != SPARC_OK || !text) return status;
  *out = json_loadb(text, size, flags, &error);
  if (!*out && !*error.text) /* jansson has no message when it is out of memory */
    status = fail(SPARC_NO_MEMORY, "no memory for the values of '%.300s'", path);
  else if (!*out)
    status = fail(SPARC_FORMAT, "%.200s:%d: %s", path, error.line, error.text);
  free(text);
  return status;
}
