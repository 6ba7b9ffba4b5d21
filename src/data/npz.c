/* SPDX-License-Identifier: MIT */
/* npz.c: NumPy's archives of named arrays: a ZIP file with one NPY file for each, stored or deflated.
 *
 * A ZIP file is read from its end: a record there points to a directory of the members, each of which points to a
 * header before the member's bytes. Sizes are taken from the directory, as writers of streams leave them open in
 * the header. Archives beyond 4 GiB, which would need other records, are refused.
 */
#include "data/elements.h"

#include <stdio.h>
#include <string.h>

enum { END_SIZE = 22, ENTRY_SIZE = 46, HEADER_SIZE = 30, COMMENT_MAX = 0xffff };
enum { STORED_AS_IS = 0, DEFLATED = 8 };

typedef struct member {
  span name; /* without .npy */
  bool bare; /* as it is in the archive */
  size_t header, packed, unpacked;
  uint32_t checksum;
  int method;
} member;

/* a cursor over the directory */
typedef struct directory {
  const source *source;
  size_t at, end;
} directory;

static uint32_t load(const uint8_t *bytes, int size) {
  uint32_t value = 0;
  for (int i = 0; i < size; i++) value |= (uint32_t)bytes[i] << 8 * i;
  return value;
}

static sparc_status damaged(const source *s, const char *what) {
  return fail(SPARC_FORMAT, "%s: the archive is damaged: %s", s->label, what);
}

/* ---- members ---- */

static sparc_status open_directory(const source *s, directory *d) {
  *d = (directory){.source = s};
  const size_t tail = END_SIZE + COMMENT_MAX, first = s->size > tail ? s->size - tail : 0;
  for (size_t at = s->size < END_SIZE ? 0 : s->size - END_SIZE + 1; at-- > first;) {
    const uint8_t *record = s->bytes + at;
    if (memcmp(record, "PK\5\6", 4) != 0) continue;
    const size_t size = load(record + 12, 4), start = load(record + 16, 4);
    if (size == UINT32_MAX || start == UINT32_MAX)
      return fail(SPARC_FORMAT, "%s: an archive of 4 GiB or more, expected a smaller one or NPY files", s->label);
    if (start > at || size > at - start) return damaged(s, "its directory lies outside of it");
    *d = (directory){.source = s, .at = start, .end = start + size};
    return SPARC_OK;
  }
  return damaged(s, "it has no directory at its end; is it truncated?");
}

/* the next member; its name is empty after the last */
static sparc_status next_member(directory *d, member *out) {
  *out = (member){.name = {"", 0}};
  if (d->at == d->end) return SPARC_OK;
  const uint8_t *entry = d->source->bytes + d->at;
  if (d->end - d->at < ENTRY_SIZE || memcmp(entry, "PK\1\2", 4) != 0)
    return damaged(d->source, "an entry of its directory is cut or out of place");
  const size_t name = load(entry + 28, 2), rest = load(entry + 30, 2) + load(entry + 32, 2);
  if (name + rest > d->end - d->at - ENTRY_SIZE) return damaged(d->source, "the last entry of its directory is cut");
  *out = (member){.name = {(const char *)entry + ENTRY_SIZE, name},
                  .header = load(entry + 42, 4),
                  .packed = load(entry + 20, 4),
                  .unpacked = load(entry + 24, 4),
                  .checksum = load(entry + 16, 4),
                  .method = (int)load(entry + 10, 2)};
  d->at += ENTRY_SIZE + name + rest;
  if (name == 0) return damaged(d->source, "a member has no name");
  if (load(entry + 8, 2) & 1)
    return fail(SPARC_FORMAT, "%s: '%s' is encrypted", d->source->label, span_quote(out->name).text);
  const size_t ending = strlen(".npy");
  out->bare = name <= ending || memcmp(out->name.at + name - ending, ".npy", ending) != 0;
  if (!out->bare) out->name.size -= ending;
  return SPARC_OK;
}

/* finds the member of a name; found->name is empty if there is none. Of several the last one counts, and one without
 * .npy before those with it, as in NumPy. */
static sparc_status find_member(const source *s, const char *name, member *found) {
  directory d;
  member m;
  *found = (member){.name = {"", 0}};
  sparc_status status = open_directory(s, &d);
  while (status == SPARC_OK && (status = next_member(&d, &m)) == SPARC_OK && m.name.size) {
    const bool same = m.name.size == strlen(name) && memcmp(m.name.at, name, m.name.size) == 0;
    if (same && (m.bare || !found->bare)) *found = m;
  }
  return status;
}

/* the names of all members, for error texts */
static quotable list_members(const source *s) {
  char list[sizeof(quotable) + 1] = "";
  size_t used = 0;
  directory d;
  member m;
  if (open_directory(s, &d) != SPARC_OK) return quote("");
  while (next_member(&d, &m) == SPARC_OK && m.name.size && used < sizeof list)
    used += (size_t)snprintf(list + used, sizeof list - used, used ? ", %s" : "%s", span_quote(m.name).text);
  return quote(list);
}

static sparc_status open_member(const source *s, const member *m, size_t limit, source *out) {
  const size_t available = s->size > m->header ? s->size - m->header : 0;
  const uint8_t *header = s->bytes + m->header;
  if (available < HEADER_SIZE || memcmp(header, "PK\3\4", 4) != 0)
    return damaged(s, "a member is not where the directory says");
  const size_t skip = HEADER_SIZE + load(header + 26, 2) + load(header + 28, 2);
  if (skip > available || m->packed > available - skip) return damaged(s, "a member is cut");
  if (m->method != STORED_AS_IS && m->method != DEFLATED)
    return fail(SPARC_FORMAT, "%s: '%s' is packed by method %d, expected numpy.savez or savez_compressed", s->label,
                span_quote(m->name).text, m->method);
  snprintf(out->label, sizeof out->label, "%.150s[%.40s]", s->label, span_quote(m->name).text);
  return source_member(out, header + skip, m->packed, m->method == DEFLATED, m->unpacked, m->checksum, limit);
}

/* ---- arrays ---- */

/* the given name, or the first of the default names that the archive holds; m->name is empty if there is none */
static sparc_status choose(const source *s, const char *given, const char *const *defaults, member *m) {
  sparc_status status = find_member(s, given ? given : defaults[0], m);
  for (int i = 1; !given && status == SPARC_OK && !m->name.size && defaults[i]; i++)
    status = find_member(s, defaults[i], m);
  if (status != SPARC_OK || m->name.size || !given) return status;
  return fail(SPARC_FORMAT, "%s: there is no array '%s', expected one of %s", s->label, quote(given).text,
              list_members(s).text);
}

sparc_status read_npz(builder *b, const source *s, const source *unused, const sparc_read_options *o) {
  (void)unused;
  static const char *const series_names[] = {"x", "X", "x_train", "X_train", "data", "arr_0", NULL};
  static const char *const label_names[] = {"y", "Y", "y_train", "Y_train", "labels", "arr_1", NULL};
  source series = {.size = 0}, labels = {.size = 0};
  member x, y = {.name = {"", 0}};
  sparc_status status = choose(s, o->series_array, series_names, &x);
  if (status == SPARC_OK && !x.name.size)
    return fail(SPARC_FORMAT, "%s: no array has a default name for the series, expected series_array with one of %s",
                s->label, list_members(s).text);
  if (status == SPARC_OK && !o->unlabelled) status = choose(s, o->labels_array, label_names, &y);
  if (status == SPARC_OK) status = open_member(s, &x, s->limit, &series);
  if (status == SPARC_OK && y.name.size) status = open_member(s, &y, s->limit, &labels);
  if (status == SPARC_OK) status = npy_append(b, &series, y.name.size ? &labels : NULL);
  source_close(&series);
  source_close(&labels);
  return status;
}
