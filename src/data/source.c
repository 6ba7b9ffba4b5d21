/* SPDX-License-Identifier: MIT */
/* source.c: reading files whole, and gzip.
 *
 * Data files are read whole because a reader over one block of bytes is easy to fuzz. The memory of text is released
 * while its numbers are parsed (forget_bytes), so that text and numbers never take their full size together. gzip is
 * detected by its magic bytes. A small file can unpack to a very large one, so the output grows as it is produced and
 * stops at the limit.
 */
#include "data/source.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#define ZLIB_CONST /* next_in points to const */
#include <zlib.h>

/* ---- a block that grows ---- */

typedef struct growing {
  uint8_t *bytes;
  size_t used, capacity, limit; /* the capacity may exceed the limit by one byte, which shows that there is more */
} growing;

static bool grow(growing *g, size_t capacity) {
  if (capacity > g->limit) capacity = g->limit + 1;
  if (capacity <= g->capacity) return true;
  /* the system moves a large block without copying it, and gives memory to what is written to alone */
  uint8_t *larger = realloc(g->bytes, capacity);
  if (!larger) return false;
  g->bytes = larger;
  g->capacity = capacity;
  return true;
}

static bool reserve(growing *g) {
  enum { FIRST = 1 << 16 };
  return g->used < g->capacity || grow(g, g->capacity < FIRST ? FIRST : 2 * g->capacity);
}

static sparc_status no_memory(const source *s, const growing *g) {
  return fail(SPARC_NO_MEMORY, "%s: no memory after %zu bytes", s->label, g->used);
}

static sparc_status beyond_limit(const source *s, const growing *g, const char *verb) {
  return fail(SPARC_FORMAT, "%s: %s more than the limit of %zu bytes", s->label, verb, g->limit);
}

const char *forget_bytes(const char *from, const char *to) {
  enum { CHUNK = 1 << 20 };
  if (to - from < CHUNK) return from;
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  const char *first = from + (page - (uintptr_t)from % page) % page, *last = to - (uintptr_t)to % page;
  if (last <= first) return from;
  (void)madvise((void *)first, (size_t)(last - first), MADV_DONTNEED); /* a refusal costs memory alone */
  return to;
}

/* ---- gzip ---- */

static bool is_gzip(const uint8_t *bytes, size_t size) { return size >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b; }

/* the last four bytes hold the unpacked size modulo 2^32; a wrong size costs a copy or, since deflate cannot do better
 * than 1032:1, some memory in proportion to the file. One byte more lets the stream end without another block. */
static size_t size_hint(const uint8_t *bytes, size_t size) {
  if (size < 18) return 0;
  const uint8_t *tail = bytes + size - 4;
  size_t hint = tail[0] | (size_t)tail[1] << 8 | (size_t)tail[2] << 16 | (size_t)tail[3] << 24;
  return hint / 1032 <= size ? hint + 1 : 0;
}

static sparc_status damaged(const source *s, const z_stream *z, size_t at) {
  return fail(SPARC_FORMAT, "%s: the gzip data is damaged near byte %zu: %s", s->label, at,
              z->msg ? z->msg : "unknown error");
}

/* whether bytes that begin so may be text; no binary format that is read does */
static bool begins_as_text(const uint8_t *bytes) {
  return bytes[0] >= 0x20 ? bytes[0] < 0x80 || bytes[0] >= 0xc0 : strchr("\t\n\r", bytes[0]) && bytes[0];
}

/* a small packed file may hold very many short rows, which take far more memory as examples than as text */
static sparc_status count_rows(const source *s, const growing *out, size_t from, size_t *rows) {
  if (!s->max_rows || !out->used || !begins_as_text(out->bytes)) return SPARC_OK;
  const uint8_t *at = out->bytes + from, *end = out->bytes + out->used;
  while ((at = memchr(at, '\n', (size_t)(end - at)))) at++, ++*rows;
  /* as many lines may hold a header, comments or nothing */
  if (*rows / 2 <= s->max_rows) return SPARC_OK;
  return fail(SPARC_FORMAT, "%s: the gzip data unpacks to more than the limit of %zu rows; max_rows allows more",
              s->label, s->max_rows);
}

/* unpacks members one after the other until the input is used up */
static sparc_status inflate_all(const source *s, z_stream *z, const uint8_t *in, size_t size, growing *out) {
  enum { PIECE = 1 << 20, MAX_OUTPUT = 1 << 24 };
  const char *kept = (const char *)in; /* packed bytes from here on are still needed */
  size_t taken = 0, rows = 0;
  for (;;) {
    const size_t before = out->used;
    if (!reserve(out)) return no_memory(s, out);
    const size_t rest = size - taken, available = out->capacity - out->used;
    z->next_in = in + taken;
    z->avail_in = rest < PIECE ? (uInt)rest : PIECE;
    z->next_out = out->bytes + out->used;
    z->avail_out = available < MAX_OUTPUT ? (uInt)available : MAX_OUTPUT;
    const int code = inflate(z, Z_NO_FLUSH);
    taken = (size_t)(z->next_in - in);
    out->used = (size_t)(z->next_out - out->bytes);
    if (s->owned) kept = forget_bytes(kept, (const char *)in + taken);
    if (out->used > out->limit) return beyond_limit(s, out, "the gzip data unpacks to");
    const sparc_status status = count_rows(s, out, before, &rows);
    if (status != SPARC_OK) return status;
    if (code == Z_MEM_ERROR) return no_memory(s, out);
    if (code == Z_STREAM_END) {
      if (taken == size) return SPARC_OK;
      if (!is_gzip(in + taken, size - taken))
        return fail(SPARC_FORMAT, "%s: %zu bytes that are not gzip follow the gzip data", s->label, size - taken);
      if (inflateReset(z) != Z_OK) return damaged(s, z, taken);
    } else if (code == Z_OK || code == Z_BUF_ERROR) {
      if (taken == size && z->avail_out > 0)
        return fail(SPARC_FORMAT, "%s: the gzip data is truncated: it ends after %zu bytes, unpacked %zu", s->label,
                    size, out->used);
    } else {
      return damaged(s, z, taken);
    }
  }
}

static sparc_status gunzip(const source *s, const uint8_t *in, size_t size, growing *out) {
  enum { GZIP_ONLY = 16 };
  z_stream z = {.zalloc = Z_NULL};
  if (inflateInit2(&z, MAX_WBITS + GZIP_ONLY) != Z_OK) return no_memory(s, out);
  sparc_status status = grow(out, size_hint(in, size)) ? inflate_all(s, &z, in, size, out) : no_memory(s, out);
  inflateEnd(&z);
  return status;
}

/* ---- members of archives ---- */

/* the whole of a deflated member; a wrong size costs memory in proportion to its packed bytes at most */
static sparc_status inflate_member(source *out, const uint8_t *bytes, size_t size, size_t unpacked) {
  z_stream z = {.zalloc = Z_NULL};
  if (unpacked / 1032 > size) return fail(SPARC_FORMAT, "%s: the packed data is damaged: its size", out->label);
  uint8_t *buffer = malloc(unpacked + 1);
  if (!buffer || inflateInit2(&z, -MAX_WBITS) != Z_OK) {
    free(buffer);
    return fail(SPARC_NO_MEMORY, "%s: no memory for %zu bytes", out->label, unpacked);
  }
  out->bytes = out->owned = buffer;
  int code = Z_OK;
  size_t taken = 0, made = 0;
  while (code == Z_OK && made <= unpacked) {
    const size_t rest = size - taken, space = unpacked + 1 - made;
    z.next_in = bytes + taken;
    z.avail_in = rest < UINT_MAX ? (uInt)rest : UINT_MAX;
    z.next_out = buffer + made;
    z.avail_out = space < UINT_MAX ? (uInt)space : UINT_MAX;
    code = inflate(&z, Z_NO_FLUSH);
    taken = (size_t)(z.next_in - bytes);
    made = (size_t)(z.next_out - buffer);
  }
  inflateEnd(&z);
  if (code == Z_MEM_ERROR) return fail(SPARC_NO_MEMORY, "%s: no memory for %zu bytes", out->label, unpacked);
  if (code == Z_STREAM_END && made == unpacked) return SPARC_OK;
  return fail(SPARC_FORMAT, "%s: the packed data is damaged after %zu bytes", out->label, made);
}

sparc_status source_member(source *out, const uint8_t *bytes, size_t size, bool deflated, size_t unpacked,
                           uint32_t checksum, size_t limit) {
  out->limit = limit;
  if (unpacked > limit)
    return fail(SPARC_FORMAT, "%s: %zu bytes, more than the limit of %zu bytes", out->label, unpacked, limit);
  if (!deflated && size != unpacked)
    return fail(SPARC_FORMAT, "%s: %zu bytes, but %zu in its directory", out->label, size, unpacked);
  out->bytes = bytes;
  out->size = unpacked;
  sparc_status status = deflated ? inflate_member(out, bytes, size, unpacked) : SPARC_OK;
  if (status == SPARC_OK && crc32_z(0, out->bytes, out->size) != checksum)
    status = fail(SPARC_FORMAT, "%s: the data does not have the checksum in its directory", out->label);
  if (status != SPARC_OK) source_close(out);
  return status;
}

/* ---- either, as a source's bytes ---- */

/* replaces gzip bytes by what they hold; other bytes stay */
static sparc_status unpack(source *s, size_t limit) {
  if (!is_gzip(s->bytes, s->size)) return SPARC_OK;
  growing out = {.limit = limit};
  sparc_status status = gunzip(s, s->bytes, s->size, &out);
  if (status != SPARC_OK) {
    free(out.bytes);
    return status;
  }
  free(s->owned);
  s->bytes = s->owned = out.bytes;
  s->size = out.used;
  return SPARC_OK;
}

/* ---- files ---- */

static sparc_status read_all(const source *s, int file, growing *g) {
  for (;;) {
    if (!reserve(g)) return no_memory(s, g);
    ssize_t got = read(file, g->bytes + g->used, g->capacity - g->used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(SPARC_IO, "%s: reading at byte %zu: %s", s->label, g->used, strerror(errno));
    if (got == 0) return SPARC_OK;
    g->used += (size_t)got;
    if (g->used > g->limit) return beyond_limit(s, g, "the file has");
  }
}

static sparc_status check_kind(const source *s, int file, size_t *size) {
  struct stat status;
  if (fstat(file, &status) != 0) return fail(SPARC_IO, "cannot open '%s': %s", s->label, strerror(errno));
  if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode))
    return fail(SPARC_IO, "cannot open '%s': it is %s, not a file", s->label,
                S_ISDIR(status.st_mode) ? "a directory" : "a device or a socket");
  *size = S_ISREG(status.st_mode) && status.st_size > 0 ? (size_t)status.st_size : 0;
  return SPARC_OK;
}

static sparc_status read_file(source *s, int file, size_t limit) {
  size_t size = 0;
  sparc_status status = check_kind(s, file, &size);
  if (status != SPARC_OK) return status;
  growing g = {.limit = limit};
  if (size > limit) return beyond_limit(s, &g, "the file has");
  status = grow(&g, size + 1) ? read_all(s, file, &g) : no_memory(s, &g);
  s->owned = g.bytes;
  s->bytes = g.bytes;
  s->size = g.used;
  return status == SPARC_OK ? unpack(s, limit) : status;
}

sparc_status source_open(source *s, const char *path, size_t limit, size_t max_rows) {
  *s = (source){.limit = limit, .max_rows = max_rows};
  snprintf(s->label, sizeof s->label, "%s", path);
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (file < 0) return fail(SPARC_IO, "cannot open '%s': %s", s->label, strerror(errno));
  sparc_status status = read_file(s, file, limit);
  close(file);
  if (status != SPARC_OK) source_close(s);
  return status;
}

sparc_status source_borrow(source *s, const void *data, size_t size, const char *name, size_t limit, size_t max_rows) {
  *s = (source){.bytes = data, .size = size, .limit = limit, .max_rows = max_rows};
  snprintf(s->label, sizeof s->label, "%s", name);
  growing g = {.limit = limit};
  if (size > limit) return beyond_limit(s, &g, "the data has");
  return unpack(s, limit);
}

void source_close(source *s) {
  free(s->owned);
  *s = (source){.size = 0};
}
