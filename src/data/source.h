/* SPDX-License-Identifier: MIT */
/* source.h: the bytes of one input, from a file or from memory, unpacked when they are gzip. */
#ifndef SPARC_DATA_SOURCE_H
#define SPARC_DATA_SOURCE_H

#include "sparc/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct source {
  char label[200]; /* the file in sentences, cut when longer */
  const uint8_t *bytes;
  size_t size;
  size_t limit, max_rows; /* no more bytes, and if it is text about as many lines, may come out of it; 0: any number */
  void *owned;            /* what source_close releases; NULL when the bytes belong to the caller */
} source;

/* source_open reads a regular file or a pipe to its end; source_borrow takes memory that must outlive the source. Input
 * of more than `limit` bytes, as it comes or unpacked, is refused, and gzip text of more than twice `max_rows` lines.
 * After a failure there is nothing to close. */
sparc_status source_open(source *s, const char *path, size_t limit, size_t max_rows);
sparc_status source_borrow(source *s, const void *data, size_t size, const char *name, size_t limit, size_t max_rows);

/* source_member makes a source of a part of an archive: `size` bytes that are used as they are or are deflated, and
 * then have `unpacked` bytes with this CRC-32. out->label is the caller's, the rest is filled in. */
sparc_status source_member(source *out, const uint8_t *bytes, size_t size, bool deflated, size_t unpacked,
                           uint32_t checksum, size_t limit);

/* forget_bytes gives the memory of bytes that a source owns and that nobody reads again back to the system, once they
 * are many; what it returns is the `from` of the next call */
const char *forget_bytes(const char *from, const char *to);
void source_close(source *s);

#endif
