/* SPDX-License-Identifier: MIT */
/* npy.c: NumPy's array files: a magic, a version, a Python dictionary as text, the elements.
 *
 *   {'descr': '<f4', 'fortran_order': False, 'shape': (100, 150), }
 *
 * Only what a writer of such a dictionary produces is understood, not Python.
 */
#include "data/elements.h"

#include <string.h>

enum { PREFIX = 8 }; /* magic and version */
enum { MAX_CHARACTERS = 1 << 20 };

typedef struct npy_header {
  span descr;
  bool fortran;
  bool seen[3]; /* descr, fortran_order, shape */
  int rank;
  size_t shape[ELEMENTS_RANK_MAX];
} npy_header;

/* ---- the dictionary ---- */

static void skip_blanks(span *s) {
  while (s->size && strchr(" \t\n\r", s->at[0]) && s->at[0]) s->at++, s->size--;
}

/* takes one character, if it is the next */
static bool take(span *s, char c) {
  skip_blanks(s);
  if (!s->size || s->at[0] != c) return false;
  s->at++, s->size--;
  return true;
}

static bool take_word(span *s, const char *word) {
  skip_blanks(s);
  const size_t size = strlen(word);
  if (s->size < size || memcmp(s->at, word, size) != 0) return false;
  s->at += size, s->size -= size;
  return true;
}

static bool take_string(span *s, span *out) {
  const char quote = take(s, '\'') ? '\'' : '"';
  if (quote == '"' && !take(s, '"')) return false;
  bool closed;
  *out = span_cut(s, quote, &closed);
  return closed && !memchr(out->at, '\\', out->size);
}

static bool take_size(span *s, size_t *out) {
  skip_blanks(s);
  size_t digits = 0;
  *out = 0;
  for (; digits < s->size && s->at[digits] >= '0' && s->at[digits] <= '9'; digits++) {
    const size_t digit = (size_t)(s->at[digits] - '0');
    if (*out > (SIZE_MAX - digit) / 10) return false;
    *out = 10 * *out + digit;
  }
  s->at += digits, s->size -= digits;
  return digits > 0;
}

static bool take_descr(span *s, npy_header *h) { return take_string(s, &h->descr); }

static bool take_order(span *s, npy_header *h) {
  h->fortran = take_word(s, "True");
  return h->fortran || take_word(s, "False");
}

static bool take_shape(span *s, npy_header *h) {
  if (!take(s, '(')) return false;
  for (h->rank = 0; !take(s, ')'); h->rank++) {
    if (h->rank == ELEMENTS_RANK_MAX || !take_size(s, &h->shape[h->rank])) return false;
    if (!take(s, ',')) return h->rank++, take(s, ')');
  }
  return true;
}

static sparc_status parse_dictionary(const source *s, span text, npy_header *h) {
  static const struct {
    const char *key, *expected;
    bool (*take)(span *, npy_header *);
  } fields[] = {{"descr", "a type such as '<f4'", take_descr},
                {"fortran_order", "True or False", take_order},
                {"shape", "a tuple of at most 8 numbers", take_shape}};
  enum { FIELDS = sizeof fields / sizeof *fields };
  const span whole = text;
  bool closed = false;
  if (!take(&text, '{'))
    return fail(SPARC_FORMAT, "%s: the header is '%s', expected {", s->label, span_quote(text).text);
  while (!closed && !(closed = take(&text, '}'))) {
    span key = {"", 0};
    size_t i = 0;
    if (!take_string(&text, &key) || !take(&text, ':')) break;
    while (i < FIELDS && (strlen(fields[i].key) != key.size || memcmp(fields[i].key, key.at, key.size) != 0)) i++;
    if (i == FIELDS || h->seen[i])
      return fail(SPARC_FORMAT, "%s: the header has '%s' %s, expected descr, fortran_order and shape once", s->label,
                  span_quote(key).text, i == FIELDS ? "in it" : "twice");
    if (!fields[i].take(&text, h))
      return fail(SPARC_FORMAT, "%s: %s in the header is not %s: '%s'", s->label, fields[i].key, fields[i].expected,
                  span_quote(text).text);
    h->seen[i] = true;
    if (!take(&text, ',') && !(closed = take(&text, '}'))) break;
  }
  skip_blanks(&text);
  for (size_t i = 0; i < FIELDS; i++)
    if (!h->seen[i] || !closed || text.size)
      return fail(SPARC_FORMAT, "%s: the header '%s' is not a dictionary of descr, fortran_order and shape", s->label,
                  span_quote(whole).text);
  return SPARC_OK;
}

/* ---- the array ---- */

/* "<U7" and "|S3": texts of so many characters */
static bool parse_text_type(span descr, elements *e) {
  int characters;
  if (descr.size < 3 || !strchr("US", descr.at[1]) || !parse_int((span){descr.at + 2, descr.size - 2}, &characters))
    return false;
  const bool unicode = descr.at[1] == 'U';
  if (!strchr(unicode ? "<>" : "|<>", descr.at[0]) || characters < 1 || characters > MAX_CHARACTERS) return false;
  e->kind = unicode ? ELEMENT_UNICODE : ELEMENT_BYTES;
  e->size = (size_t)characters * (unicode ? 4 : 1);
  e->big_endian = descr.at[0] == '>';
  return true;
}

static sparc_status parse_type(const source *s, span descr, elements *e) {
  static const struct {
    const char *name;
    element_kind kind;
    size_t size;
  } types[] = {{"f2", ELEMENT_FLOAT, 2},    {"f4", ELEMENT_FLOAT, 4},    {"f8", ELEMENT_FLOAT, 8},
               {"i1", ELEMENT_SIGNED, 1},   {"i2", ELEMENT_SIGNED, 2},   {"i4", ELEMENT_SIGNED, 4},
               {"i8", ELEMENT_SIGNED, 8},   {"u1", ELEMENT_UNSIGNED, 1}, {"u2", ELEMENT_UNSIGNED, 2},
               {"u4", ELEMENT_UNSIGNED, 4}, {"u8", ELEMENT_UNSIGNED, 8}, {"b1", ELEMENT_UNSIGNED, 1}};
  if (parse_text_type(descr, e)) return SPARC_OK;
  for (size_t i = 0; i < sizeof types / sizeof *types && descr.size == 3; i++) {
    if (memcmp(descr.at + 1, types[i].name, 2) != 0) continue;
    /* the order of a single byte is "not applicable" */
    if (!strchr(types[i].size == 1 ? "|<>" : "<>", descr.at[0])) break;
    e->kind = types[i].kind;
    e->size = types[i].size;
    e->big_endian = descr.at[0] == '>';
    return SPARC_OK;
  }
  if (descr.size && descr.at[descr.size - 1] == 'O')
    return fail(SPARC_FORMAT, "%s: the elements are Python objects, expected numbers or texts (array.astype(str))",
                s->label);
  return fail(SPARC_FORMAT,
              "%s: the element type is '%s', expected f2, f4, f8, i1 to i8, u1 to u8 or b1 with < or >, or of labels U "
              "or S",
              s->label, span_quote(descr).text);
}

/* the place and size of the header; version 1 has a length of two bytes, 2 and 3 of four */
static sparc_status find_header(const source *s, span *header) {
  static const uint8_t magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
  if (s->size < sizeof magic || memcmp(s->bytes, magic, sizeof magic) != 0)
    return fail(SPARC_FORMAT, "%s: does not start with the magic of a NumPy file", s->label);
  const size_t width = s->size > PREFIX && s->bytes[6] == 1 ? 2 : 4;
  if (s->size < PREFIX + width)
    return fail(SPARC_FORMAT, "%s: %zu bytes are too few for a NumPy header: the file is truncated", s->label, s->size);
  if (s->bytes[6] < 1 || s->bytes[6] > 3)
    return fail(SPARC_FORMAT, "%s: the version is %d.%d, expected 1, 2 or 3", s->label, s->bytes[6], s->bytes[7]);
  size_t length = 0;
  for (size_t i = 0; i < width; i++) length |= (size_t)s->bytes[PREFIX + i] << 8 * i;
  if (length > s->size - PREFIX - width)
    return fail(SPARC_FORMAT, "%s: a header of %zu bytes, but only %zu follow: the file is truncated", s->label, length,
                s->size - PREFIX - width);
  *header = (span){(const char *)s->bytes + PREFIX + width, length};
  return SPARC_OK;
}

static sparc_status parse(const source *s, elements *e) {
  span text = {"", 0};
  npy_header h = {.rank = 0};
  *e = (elements){.source = s};
  sparc_status status = find_header(s, &text);
  if (status == SPARC_OK) status = parse_dictionary(s, text, &h);
  if (status == SPARC_OK) status = parse_type(s, h.descr, e);
  if (status != SPARC_OK) return status;
  e->fortran = h.fortran && h.rank > 1;
  e->start = (size_t)(text.at + text.size - (const char *)s->bytes);
  e->rank = h.rank;
  memcpy(e->shape, h.shape, sizeof h.shape);
  return elements_check(e);
}

sparc_status npy_append(builder *b, const source *s, const source *labels) {
  elements e, l;
  sparc_status status = parse(s, &e);
  if (status == SPARC_OK && e.rank != 2 && e.rank != 3)
    return fail(SPARC_FORMAT, "%s: the shape is %s, expected [N, T] or [N, T, C]", s->label,
                quote_shape(e.shape, e.rank).text);
  if (status == SPARC_OK && labels) status = parse(labels, &l);
  if (status != SPARC_OK) return status;
  return elements_append(b, &e, e.shape[1], e.rank == 3 ? e.shape[2] : 1, labels ? &l : NULL);
}

sparc_status read_npy(builder *b, const source *s, const source *labels, const sparc_read_options *o) {
  (void)o;
  return npy_append(b, s, labels);
}
