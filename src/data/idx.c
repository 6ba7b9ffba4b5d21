/* SPDX-License-Identifier: MIT */
/* idx.c: the format of MNIST: two zero bytes, a type, a rank, the dimensions and the elements, all big-endian. */
#include "data/elements.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { MAGIC = 4, DIMENSION = 4 };

static const struct {
  uint8_t code;
  element_kind kind;
  size_t size;
} types[] = {{0x08, ELEMENT_UNSIGNED, 1}, {0x09, ELEMENT_SIGNED, 1}, {0x0b, ELEMENT_SIGNED, 2},
             {0x0c, ELEMENT_SIGNED, 4},   {0x0d, ELEMENT_FLOAT, 4},  {0x0e, ELEMENT_FLOAT, 8}};

static sparc_status parse_magic(const source *s, elements *e) {
  if (s->size < MAGIC)
    return fail(SPARC_FORMAT, "%s: %zu bytes are too few for an IDX file, expected at least %d", s->label, s->size,
                MAGIC);
  const uint8_t *bytes = s->bytes;
  if (bytes[0] || bytes[1])
    return fail(SPARC_FORMAT, "%s: the first bytes are %02x %02x, expected 00 00 of an IDX file", s->label, bytes[0],
                bytes[1]);
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (types[i].code == bytes[2]) e->kind = types[i].kind, e->size = types[i].size;
  if (!e->size)
    return fail(SPARC_FORMAT, "%s: the element type is 0x%02x, expected 08, 09, 0b, 0c, 0d or 0e", s->label, bytes[2]);
  if (bytes[3] < 1 || bytes[3] > ELEMENTS_RANK_MAX)
    return fail(SPARC_FORMAT, "%s: the rank is %d, expected 1 to %d", s->label, bytes[3], ELEMENTS_RANK_MAX);
  e->rank = bytes[3];
  return SPARC_OK;
}

static sparc_status parse(const source *s, elements *e) {
  *e = (elements){.source = s, .big_endian = true};
  sparc_status status = parse_magic(s, e);
  if (status != SPARC_OK) return status;
  e->start = MAGIC + (size_t)e->rank * DIMENSION;
  if (s->size < e->start)
    return fail(SPARC_FORMAT, "%s: %zu bytes are too few for %d dimensions: the file is truncated", s->label, s->size,
                e->rank);
  for (int i = 0; i < e->rank; i++) {
    const uint8_t *d = s->bytes + MAGIC + (size_t)i * DIMENSION;
    e->shape[i] = (size_t)d[0] << 24 | (size_t)d[1] << 16 | (size_t)d[2] << 8 | d[3];
  }
  return elements_check(e);
}

static sparc_status parse_labels(const source *s, bool numbers, elements *e) {
  sparc_status status = parse(s, e);
  if (status == SPARC_OK && !numbers && e->kind == ELEMENT_FLOAT)
    return fail(SPARC_FORMAT, "%s: the labels are real numbers, expected whole ones", s->label);
  return status;
}

sparc_status read_idx(builder *b, const source *s, const source *labels, const sparc_read_options *o) {
  (void)o;
  elements e, l;
  sparc_status status = parse(s, &e);
  if (status == SPARC_OK && e.rank < 2)
    return fail(SPARC_FORMAT, "%s: shape %s is one of labels, expected at least two dimensions", s->label,
                quote_shape(e.shape, e.rank).text);
  if (status == SPARC_OK && labels) status = parse_labels(labels, b->numbers, &l);
  if (status != SPARC_OK) return status;
  size_t length = 1;
  for (int i = 1; i < e.rank; i++) length *= e.shape[i];
  return elements_append(b, &e, length, 1, labels ? &l : NULL);
}

/* ---- where the labels are ---- */

/* where a word occurs last in the last component of a path; SIZE_MAX if it does not */
static size_t find_last(const char *path, const char *word) {
  const char *slash = strrchr(path, '/');
  size_t found = SIZE_MAX;
  for (const char *at = slash ? slash : path; (at = strstr(at, word)); at++) found = (size_t)(at - path);
  return found;
}

static bool exists(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* "gun_TRAIN.npy" and "gun_TRAIN_labels.npy" */
static bool labels_of_array(const char *series, char *path, size_t capacity) {
  const size_t length = strlen(series), ending = strlen(".npy");
  if (length <= ending || strcmp(series + length - ending, ".npy") != 0) return false;
  const int size = snprintf(path, capacity, "%.*s_labels.npy", (int)(length - ending), series);
  return size > 0 && (size_t)size < capacity && exists(path);
}

bool labels_beside(const char *images, char *path, size_t capacity) {
  if (labels_of_array(images, path, capacity)) return true;
  /* "train-images-idx3-ubyte.gz" and "train-labels-idx1-ubyte.gz": both words have six letters */
  const size_t word = find_last(images, "images"), length = strlen(images);
  if (word == SIZE_MAX || length >= capacity) return false;
  memcpy(path, images, length + 1);
  memcpy(path + word, "labels", strlen("labels"));
  const size_t rank = find_last(path, "idx");
  if (rank != SIZE_MAX && path[rank + 3] >= '1' && path[rank + 3] <= '9') path[rank + 3] = '1';
  if (exists(path)) return true;
  /* one of the two may be packed and the other not */
  const bool packed = length > 3 && strcmp(path + length - 3, ".gz") == 0;
  if (!packed && length + 4 > capacity) return false;
  if (packed)
    path[length - 3] = '\0';
  else
    memcpy(path + length, ".gz", 4);
  return exists(path);
}
