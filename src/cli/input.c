/* SPDX-License-Identifier: MIT */
/* input.c: a buffer that grows with the longest line. */
#include "cli/input.h"

#include "base/error.h"
#include "online/stream.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *find_end(const line_input *r) {
  const size_t from = r->at + r->scanned;
  return r->used > from ? memchr(r->data + from, '\n', r->used - from) : NULL;
}

static sparc_status make_room(line_input *r) {
  enum { CHUNK = 1 << 16 };
  if (r->at > 0) memmove(r->data, r->data + r->at, r->used - r->at);
  r->used -= r->at;
  r->at = 0;
  if (r->size - r->used >= CHUNK) return SPARC_OK;
  char *larger = realloc(r->data, 2 * (r->size + CHUNK));
  if (!larger) return fail(SPARC_NO_MEMORY, "no memory for a line of %s", r->name);
  r->data = larger;
  r->size = 2 * (r->size + CHUNK);
  return SPARC_OK;
}

/* a signal ends poll, but not read: handlers restart that */
static bool wait_for_input(const line_input *r) {
  struct pollfd input = {.fd = r->descriptor, .events = POLLIN};
  for (;;) {
    if (r->stop && r->stop()) return false;
    if (poll(&input, 1, -1) >= 0 || errno != EINTR) return true;
  }
}

/* reads once; *got is 0 at the end of the input */
static sparc_status read_more(line_input *r, ssize_t *got) {
  const sparc_status status = make_room(r);
  *got = 0;
  if (status != SPARC_OK || !wait_for_input(r)) return status;
  do *got = read(r->descriptor, r->data + r->used, r->size - r->used);
  while (*got < 0 && errno == EINTR);
  if (*got < 0) return fail(SPARC_IO, "cannot read %s: %s", r->name, strerror(errno));
  r->used += (size_t)*got;
  return SPARC_OK;
}

sparc_status input_next(line_input *r, const char **line, size_t *size) {
  ssize_t got = 1;
  char *end;
  *line = NULL;
  *size = 0;
  while (!(end = find_end(r)) && got > 0) {
    r->scanned = r->used - r->at;
    if (r->scanned > STREAM_MAX_LINE)
      return fail(SPARC_FORMAT, "a line of %s has more than %d bytes", r->name, STREAM_MAX_LINE);
    const sparc_status status = read_more(r, &got);
    if (status != SPARC_OK) return status;
  }
  if (!end && r->stop && r->stop()) return SPARC_OK; /* half a line is not taken for a whole one */
  *line = r->data + r->at;
  *size = end ? (size_t)(end - *line) + 1 : r->used - r->at;
  r->at += *size;
  r->scanned = 0;
  return SPARC_OK;
}

bool input_pauses(const line_input *r) {
  struct pollfd input = {.fd = r->descriptor, .events = POLLIN};
  return !find_end(r) && poll(&input, 1, 0) == 0;
}

void input_free(line_input *r) {
  free(r->data);
  *r = (line_input){.descriptor = -1};
}

bool line_is_blank(const char *line, size_t size) {
  while (size > 0 && strchr(" \t\r\n", line[size - 1]) && line[size - 1]) size--;
  return size == 0;
}
