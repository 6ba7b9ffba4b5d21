/* SPDX-License-Identifier: MIT */
/* read.c: loading a file: options, format detection, sources, and the finished data set. */
#include "data/dataset.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- formats ---- */

static const struct {
  const char *name;
  reader *read;
  bool second_file;          /* has its labels in a file of their own */
  const char *extensions[4]; /* of file names, without .gz */
} formats[] = {
    [SPARC_DATA_AUTO] = {"auto", NULL, false, {NULL}},
    [SPARC_DATA_UCR] = {"ucr", read_ucr, false, {".tsv", ".txt", NULL}},
    [SPARC_DATA_TS] = {"ts", read_ts, false, {".ts", NULL}},
    [SPARC_DATA_CSV] = {"csv", read_csv, false, {".csv", NULL}},
    [SPARC_DATA_NPY] = {"npy", read_npy, true, {".npy", NULL}},
    [SPARC_DATA_NPZ] = {"npz", read_npz, false, {".npz", NULL}},
    [SPARC_DATA_IDX] = {"idx", read_idx, true, {"-ubyte", ".ubyte", ".idx", NULL}},
    [SPARC_DATA_CIFAR] = {"cifar", read_cifar, false, {".bin", NULL}},
};
enum { FORMATS = sizeof formats / sizeof *formats };

/* ---- the format of a file ---- */

static bool ends_with(span s, const char *end) {
  const size_t size = strlen(end);
  return s.size >= size && strncasecmp(s.at + s.size - size, end, size) == 0;
}

/* the last component of a path without .gz */
static span base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  span name = {slash ? slash + 1 : path, 0};
  name.size = strlen(name.at);
  if (ends_with(name, ".gz")) name.size -= strlen(".gz");
  return name;
}

static sparc_data_format format_by_name(span name) {
  for (int i = 0; i < FORMATS; i++)
    for (const char *const *extension = formats[i].extensions; *extension; extension++)
      if (ends_with(name, *extension)) return (sparc_data_format)i;
  return SPARC_DATA_AUTO;
}

/* content that can be nothing else */
static sparc_data_format format_by_magic(const source *s) {
  if (s->size >= 6 && memcmp(s->bytes, "\x93NUMPY", 6) == 0) return SPARC_DATA_NPY;
  if (s->size >= 4 && (memcmp(s->bytes, "PK\3\4", 4) == 0 || memcmp(s->bytes, "PK\5\6", 4) == 0)) return SPARC_DATA_NPZ;
  if (s->size >= 4 && !s->bytes[0] && !s->bytes[1] && s->bytes[2] >= 0x08 && s->bytes[2] <= 0x0e && s->bytes[3] &&
      s->bytes[3] < 9)
    return SPARC_DATA_IDX;
  lines t;
  if (!lines_try(&t, s)) return SPARC_DATA_AUTO;
  for (span line; lines_next_used(&t, &line);) {
    line = span_trim(line);
    if (line.at[0] == '#' || line.at[0] == '%') continue;
    return line.at[0] == '@' ? SPARC_DATA_TS : SPARC_DATA_AUTO;
  }
  return SPARC_DATA_AUTO;
}

/* whether there is a number, whatever separates it from the rest, in the first two lines: one of them may be a header
 */
static bool has_numbers(lines t, locale_t c) {
  span line;
  for (int i = 0; i < 2 && lines_next_used(&t, &line); i++) {
    const char *at = line.at, *end = line.at + line.size;
    while (at < end) {
      const char *start = at;
      while (at < end && !strchr(",;\t \"", *at)) at++;
      float value;
      if (at > start && parse_float(c, span_of(start, at), &value) != NUMBER_WRONG) return true;
      at++;
    }
  }
  return false;
}

/* the format by content, if the name gives none: binary files are CIFAR batches; text with tabs or without commas is UCR.
 * AUTO: not data. */
static sparc_data_format format_by_looks(const source *s, locale_t c) {
  enum { CIFAR_RECORD = 3073 };
  lines t;
  span line;
  if (source_is_utf16(s)) return SPARC_DATA_CSV; /* whose reader reports it */
  if (!lines_try(&t, s)) return s->size % CIFAR_RECORD || s->bytes[0] > 9 ? SPARC_DATA_AUTO : SPARC_DATA_CIFAR;
  if (!has_numbers(t, c)) return SPARC_DATA_AUTO;
  if (!lines_next_used(&t, &line) || memchr(line.at, '\t', line.size)) return SPARC_DATA_UCR;
  return memchr(line.at, ',', line.size) || memchr(line.at, ';', line.size) ? SPARC_DATA_CSV : SPARC_DATA_UCR;
}

/* how many fields after the first are words, and how many numbers; a malformed number is neither */
static void count_fields(span line, locale_t c, size_t *words, size_t *numbers) {
  const char separator = memchr(line.at, '\t', line.size) ? '\t' : memchr(line.at, ',', line.size) ? ',' : ';';
  bool more = true;
  *words = *numbers = 0;
  (void)span_cut(&line, separator, &more);
  while (more) {
    float unused;
    const span text = span_trim(span_cut(&line, separator, &more));
    const number_kind kind = parse_float(c, text, &unused);
    *numbers += kind == NUMBER_FINITE;
    *words += kind == NUMBER_WRONG && !strchr("+-.0123456789", text.at[0]);
  }
}

/* a line of UCR has numbers after its label; more words than numbers, followed by a line of numbers, are a table with
 * a header, whatever the suffix of the file */
static bool has_header(const source *s, locale_t c) {
  lines t;
  span first, second;
  size_t words, numbers, unused;
  if (!lines_try(&t, s) || !lines_next_used(&t, &first) || !lines_next_used(&t, &second)) return false;
  count_fields(first, c, &words, &numbers);
  if (words <= numbers) return false;
  count_fields(second, c, &unused, &numbers);
  return numbers > 0;
}

static bool is_safetensors(const source *s) {
  return s->size > 8 && s->bytes[8] == '{' && !s->bytes[4] && !s->bytes[5] && !s->bytes[6] && !s->bytes[7];
}

static sparc_status choose_format(const source *s, const char *path, const sparc_read_options *o, locale_t c,
                                  sparc_data_format *format) {
  *format = o->format;
  if (*format == SPARC_DATA_AUTO) *format = format_by_magic(s);
  if (*format == SPARC_DATA_AUTO) *format = format_by_name(base_name(path));
  if (*format == SPARC_DATA_AUTO) *format = format_by_looks(s, c);
  if (*format == SPARC_DATA_UCR && o->format == SPARC_DATA_AUTO && has_header(s, c)) *format = SPARC_DATA_CSV;
  if (*format != SPARC_DATA_AUTO) return SPARC_OK;
  if (is_safetensors(s)) return fail(SPARC_FORMAT, "%s: a safetensors file, such as a model, not data", s->label);
  return fail(SPARC_FORMAT, "%s: unknown format: neither rows of numbers nor ts, NPY, NPZ, IDX or CIFAR-10 binary",
              s->label);
}

/* ---- options ---- */

static sparc_status check_options(const sparc_read_options *o) {
  if ((size_t)o->format >= FORMATS)
    return fail(SPARC_INVALID, "format is %d, expected a sparc_data_format", (int)o->format);
  if ((unsigned)o->objective > SPARC_OBJECTIVE_FORECAST)
    return fail(SPARC_INVALID, "objective is %d, expected a sparc_objective", (int)o->objective);
  if ((unsigned)o->division > SPARC_DIVISION_WHOLE)
    return fail(SPARC_INVALID, "division is %d, expected a sparc_data_division", (int)o->division);
  if (o->horizon < 0 || o->context < 0)
    return fail(SPARC_INVALID, "%s is %d, expected 0 or more", o->horizon < 0 ? "horizon" : "context",
                o->horizon < 0 ? o->horizon : o->context);
  if (o->channels < 0) return fail(SPARC_INVALID, "channels is %d, expected 0 or more", o->channels);
  if (o->max_rows < 0) return fail(SPARC_INVALID, "max_rows is %ld, expected 0 or more", o->max_rows);
  if (o->decimal && strcmp(o->decimal, ".") != 0 && strcmp(o->decimal, ",") != 0)
    return fail(SPARC_INVALID, "decimal is '%s', expected . or ,", quote(o->decimal).text);
  if (o->class_count < 0 || (o->class_count && !o->classes))
    return fail(SPARC_INVALID, "class_count is %d, expected 0 or the number of classes", o->class_count);
  return column_names_check(o->columns, 0);
}

static sparc_status prepare(builder *b, const sparc_read_options *o) {
  b->numbers = o->objective == SPARC_OBJECTIVE_REGRESS;
  b->decimal = o->decimal ? *o->decimal : '.';
  b->max_rows = o->max_rows ? (size_t)o->max_rows : SPARC_DATA_MAX_ROWS;
  if (o->texts) {
    b->texts = sparc_alloc(sizeof *b->texts);
    if (!b->texts) return fail(SPARC_NO_MEMORY, "no memory for the texts of a data set");
    atomic_init(&b->texts->references, 1);
  }
  return o->class_count ? builder_classes(b, "classes", o->classes, o->class_count) : SPARC_OK;
}

static size_t limit_of(const sparc_read_options *o) {
  if (!o->max_bytes) return SPARC_DATA_MAX_BYTES;
  return o->max_bytes < PTRDIFF_MAX ? o->max_bytes : PTRDIFF_MAX;
}

/* ---- sources ---- */

/* the labels in a file of their own: given in memory, given by path, or beside the images. *have: there are
 * any, and they must be closed. */
static sparc_status open_labels(source *labels, const char *path, const sparc_read_options *o, bool *have) {
  char beside[PATH_MAX];
  *have = true;
  if (o->labels_data)
    return source_borrow(labels, o->labels_data, o->labels_size, o->labels_path ? o->labels_path : "labels",
                         limit_of(o), 0);
  if (o->labels_path) return source_open(labels, o->labels_path, limit_of(o), 0);
  if (path && labels_beside(path, beside, sizeof beside)) return source_open(labels, beside, limit_of(o), 0);
  *have = false;
  return SPARC_OK;
}

/* whether lines hold one number each */
static bool is_one_column(const source *s) {
  lines t;
  span line;
  if (!lines_try(&t, s) || !lines_next_used(&t, &line)) return false;
  line = span_trim(line);
  for (size_t i = 0; i < line.size; i++)
    if (strchr(",;\t ", line.at[i])) return false;
  return true;
}

/* appends one open source; `path` is NULL for memory */
static sparc_status read_source(builder *b, const source *s, const char *name, const char *path,
                                const sparc_read_options *given) {
  sparc_read_options options = *given;
  const sparc_read_options *o = &options;
  if (options.objective == SPARC_OBJECTIVE_FORECAST && !options.label_column) options.unlabelled = 1;
  if (s->size == 0) return fail(SPARC_FORMAT, "%s:1: the file is empty", s->label);
  sparc_data_format format;
  sparc_status status = choose_format(s, name, o, b->c, &format);
  if (status != SPARC_OK) return status;
  if (o->objective == SPARC_OBJECTIVE_FORECAST && o->format == SPARC_DATA_AUTO && format == SPARC_DATA_UCR &&
      is_one_column(s))
    format = SPARC_DATA_CSV; /* a series as `sparc learn` reads it */
  const bool second = formats[format].second_file;
  if ((o->labels_path || o->labels_data) && !second)
    return fail(SPARC_INVALID, "labels are given, but %s has its own in format %s", s->label, formats[format].name);
  if (!second || o->unlabelled) return formats[format].read(b, s, NULL, o);
  source labels = {.size = 0};
  bool have;
  status = open_labels(&labels, path, o, &have);
  if (status == SPARC_OK) status = formats[format].read(b, s, have ? &labels : NULL, o);
  source_close(&labels);
  return status;
}

/* while a source is read, error texts of the builder name it */
static sparc_status append(builder *b, const source *s, const char *name, const char *path,
                           const sparc_read_options *o) {
  b->label = s->label;
  const sparc_status status = read_source(b, s, name, path, o);
  b->label = NULL;
  return status;
}

static sparc_status append_file(builder *b, const char *path, const sparc_read_options *o) {
  source s;
  sparc_status status = source_open(&s, path, limit_of(o), b->max_rows);
  if (status != SPARC_OK) return status;
  status = append(b, &s, path, path, o);
  source_close(&s);
  return status;
}

/* the name of a data set: as the file calls itself, or the file's name without its ending */
static sparc_status finish(builder *b, const char *path, sparc_dataset **out) {
  char name[NAME_MAX + 1];
  span stem = base_name(path);
  const char *dot = memrchr(stem.at, '.', stem.size);
  if (dot && dot > stem.at) stem = span_of(stem.at, dot);
  snprintf(name, sizeof name, "%.*s", (int)stem.size, stem.at);
  return builder_finish(b, b->name[0] ? b->name : name, out);
}

/* ---- the calls ---- */

sparc_status read_files(const char *const *paths, int count, const sparc_read_options *o, sparc_dataset **out) {
  *out = NULL;
  sparc_status status = check_options(o);
  if (status != SPARC_OK) return status;
  builder b;
  status = builder_open(&b);
  if (status == SPARC_OK) status = prepare(&b, o);
  for (int i = 0; i < count && status == SPARC_OK; i++) status = append_file(&b, paths[i], o);
  if (status == SPARC_OK) status = finish(&b, paths[0], out);
  builder_close(&b);
  return status;
}

sparc_status sparc_dataset_load(const char *path, const sparc_read_options *options, sparc_dataset **out) {
  static const sparc_read_options defaults;
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected a place for the data set");
  *out = NULL;
  if (!path) return fail(SPARC_INVALID, "path is NULL, expected the name of a file");
  return read_files(&path, 1, options ? options : &defaults, out);
}

static sparc_status parse(builder *b, const void *data, size_t size, const char *name, const sparc_read_options *o) {
  source s;
  sparc_status status = source_borrow(&s, data, size, name, limit_of(o), b->max_rows);
  if (status != SPARC_OK) return status;
  status = append(b, &s, name, NULL, o);
  source_close(&s);
  return status;
}

sparc_status sparc_dataset_parse(const void *data, size_t size, const char *name, const sparc_read_options *options,
                                 sparc_dataset **out) {
  static const sparc_read_options defaults;
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected a place for the data set");
  *out = NULL;
  if (!data && size) return fail(SPARC_INVALID, "data is NULL, expected %zu bytes", size);
  if (!name) return fail(SPARC_INVALID, "name is NULL, expected a name for error texts");
  if (!options) options = &defaults;
  sparc_status status = check_options(options);
  if (status != SPARC_OK) return status;
  builder b;
  status = builder_open(&b);
  if (status == SPARC_OK) status = prepare(&b, options);
  if (status == SPARC_OK) status = parse(&b, data, size, name, options);
  if (status == SPARC_OK) status = finish(&b, name, out);
  builder_close(&b);
  return status;
}
