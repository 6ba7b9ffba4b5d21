/* SPDX-License-Identifier: MIT */
/* log.c: reads logs line by line, compressed or not (zlib also reads plain files), and writes score logs. */
#include "lab/grid/log.h"

#include "base/error.h"
#include "io/atomic_file.h"
#include "io/folder_file.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static const char metrics_name[] = "metrics.jsonl", scores_name[] = "scores.jsonl.gz", complete_key[] = "complete";
enum { LOG_PATH = 4200, MAX_LINE = 1 << 16, THINNING = 10, THIN_DIGITS = 4 };
static const size_t max_size = (size_t)1 << 30; /* uncompressed */

/* ---- lines --------------------------------------------------------------------------------------- */

typedef struct reader {
  gzFile file;
  char path[LOG_PATH], *line;
  size_t read;
  json_t *complete; /* names of metrics; NULL: all */
  bool kept;        /* a score log */
} reader;

static void reader_close(reader *r) {
  if (r->file) gzclose(r->file);
  free(r->line);
  json_decref(r->complete);
}

/* r->file is NULL where there is none */
static sparc_status open_file(reader *r, const char *folder, const char *name) {
  int file;
  snprintf(r->path, sizeof r->path, "%s/%s", folder, name);
  const sparc_status status = folder_file_open(r->path, O_RDONLY, &file);
  if (status != SPARC_OK || file < 0) return status;
  r->file = gzdopen(file, "rb");
  if (r->file) return SPARC_OK;
  close(file);
  return fail(SPARC_NO_MEMORY, "no memory to read '%.300s'", r->path);
}

/* next complete line without its newline; NULL at the end, or on failure (*status) */
static const char *next_line(reader *r, sparc_status *status) {
  int code = Z_OK;
  *status = SPARC_OK;
  if (!gzgets(r->file, r->line, MAX_LINE)) {
    const char *message = gzerror(r->file, &code);
    if (code != Z_OK && code != Z_BUF_ERROR)
      *status = fail(code == Z_ERRNO       ? SPARC_IO
                     : code == Z_MEM_ERROR ? SPARC_NO_MEMORY
                                           : SPARC_FORMAT,
                     "cannot read '%.300s': %s", r->path, message);
    else if (r->kept && code == Z_BUF_ERROR)
      *status = fail(SPARC_FORMAT, "'%.300s' is cut off", r->path);
    return NULL;
  }
  const size_t length = strlen(r->line);
  r->read += length;
  if (length + 1 == MAX_LINE || r->read > max_size) {
    *status = fail(SPARC_FORMAT, "'%.300s' has more or longer lines than any log", r->path);
    return NULL;
  }
  /* the last line of a running job may be incomplete */
  if (length == 0 || r->line[length - 1] != '\n') {
    if (r->kept) *status = fail(SPARC_FORMAT, "'%.300s' is cut off", r->path);
    return NULL;
  }
  r->line[length - 1] = '\0';
  return r->line;
}

/* jansson gives no text if it runs out of memory */
static sparc_status parse_line(const reader *r, const char *line, json_t **object) {
  json_error_t error = {.text = ""};
  *object = json_loads(line, 0, &error);
  if (*object) return SPARC_OK;
  return *error.text ? fail(SPARC_FORMAT, "'%.300s' has a line that is no JSON", r->path)
                     : fail(SPARC_NO_MEMORY, "no memory for a line of '%.300s'", r->path);
}

static sparc_status read_heading(reader *r) {
  sparc_status status;
  const char *line = next_line(r, &status);
  json_t *heading = line ? json_loads(line, 0, NULL) : NULL;
  r->complete = json_incref(json_object_get(heading, complete_key));
  json_decref(heading);
  if (status == SPARC_OK && !json_is_array(r->complete))
    status = fail(SPARC_FORMAT, "'%.300s' does not begin with the names of its metrics", r->path);
  return status;
}

static sparc_status reader_open(const char *folder, reader *r) {
  *r = (reader){.line = malloc(MAX_LINE)};
  if (!r->line) return fail(SPARC_NO_MEMORY, "no memory for a line of a log");
  sparc_status status = open_file(r, folder, metrics_name);
  if (status != SPARC_OK || r->file) return status;
  status = open_file(r, folder, scores_name);
  r->kept = r->file != NULL;
  if (r->kept) return read_heading(r);
  if (status != SPARC_OK) return status;
  return fail(SPARC_FORMAT, "cannot read '%.300s/%s': %s", folder, metrics_name, strerror(ENOENT));
}

static bool is_complete(const reader *r, const char *metric) {
  bool found = !r->complete;
  for (size_t i = 0; !found && i < json_array_size(r->complete); i++) {
    const char *name = json_string_value(json_array_get(r->complete, i));
    found = name && strcmp(name, metric) == 0;
  }
  return found;
}

/* ---- curves -------------------------------------------------------------------------------------- */

typedef struct curve {
  double *values, *places;
  size_t count, capacity;
} curve;

static sparc_status append(curve *c, double place, double value) {
  if (c->count == c->capacity) {
    const size_t capacity = c->capacity ? 2 * c->capacity : 256;
    double *values = realloc(c->values, capacity * sizeof *values);
    if (values) c->values = values;
    double *places = realloc(c->places, capacity * sizeof *places);
    if (places) c->places = places;
    if (!values || !places) return fail(SPARC_NO_MEMORY, "no memory for a log");
    c->capacity = capacity;
  }
  c->values[c->count] = value;
  c->places[c->count++] = place;
  return SPARC_OK;
}

static double number_in(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  return json_is_number(value) ? json_number_value(value) : NAN;
}

sparc_status log_read(const char *folder, const char *metric, const char *along, double **values, double **places,
                      size_t *count) {
  reader r;
  curve c = {.count = 0};
  sparc_status status = reader_open(folder, &r);
  if (status == SPARC_OK && !is_complete(&r, metric))
    status = fail(SPARC_INVALID, "the score log '%.200s' does not have %.60s in full", r.path, metric);
  const char *line = NULL;
  while (status == SPARC_OK && (line = next_line(&r, &status)) != NULL) {
    if (!strstr(line, metric)) continue;
    json_t *object;
    status = parse_line(&r, line, &object);
    if (json_object_get(object, metric)) status = append(&c, number_in(object, along), number_in(object, metric));
    json_decref(object);
  }
  reader_close(&r);
  if (status != SPARC_OK) {
    free(c.values);
    free(c.places);
    return status;
  }
  *values = c.values;
  *places = c.places;
  *count = c.count;
  return SPARC_OK;
}

sparc_status log_text(const char *folder, char **text) {
  reader r;
  size_t size = 0;
  *text = NULL;
  FILE *out = open_memstream(text, &size);
  if (!out) return fail(SPARC_NO_MEMORY, "no memory for a log");
  sparc_status status = reader_open(folder, &r);
  for (const char *line = NULL; status == SPARC_OK && (line = next_line(&r, &status)) != NULL;)
    fprintf(out, "%s\n", line);
  reader_close(&r);
  if (fclose(out) != 0 && status == SPARC_OK) status = fail(SPARC_NO_MEMORY, "no memory for a log");
  if (status == SPARC_OK) return SPARC_OK;
  free(*text);
  *text = NULL;
  return status;
}

/* ---- score logs ---------------------------------------------------------------------------------- */

/* metrics of scores and curves */
static const char *const always[] = {
    "update",   "steps",           "episodes",       "return",          "length",        "loss",
    "accuracy", "validation_loss", "validation_mse", "validation_nmse", "validation_r2", "validation_accuracy",
    NULL};

static bool is_kept(const char *key, const char *metric) {
  bool kept = strcmp(key, metric) == 0;
  for (int i = 0; !kept && always[i]; i++) kept = strcmp(key, always[i]) == 0;
  return kept;
}

static double rounded(double value) {
  char text[32];
  snprintf(text, sizeof text, "%.*g", THIN_DIGITS, value);
  return strtod(text, NULL);
}

/* a line of the score log; `whole`: with the other metrics, too. Lines without "update", the output of commands without
 * metrics, are copied. */
static json_t *thin(const json_t *object, const char *metric, bool whole) {
  const char *key;
  json_t *value, *out = json_object();
  if (!json_object_get(object, "update")) {
    json_decref(out);
    return json_deep_copy(object);
  }
  json_object_foreach((json_t *)object, key, value) {
    if (is_kept(key, metric))
      json_object_set(out, key, value);
    else if (whole)
      json_object_set_new(out, key,
                          json_is_real(value) ? json_real(rounded(json_real_value(value))) : json_copy(value));
  }
  return out;
}

static sparc_status pack(gzFile out, const char *path, json_t *object) {
  char *text = object ? json_dumps(object, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9)) : NULL;
  json_decref(object);
  if (!text) return fail(SPARC_NO_MEMORY, "no memory for '%.300s'", path);
  const bool written = gzputs(out, text) >= 0 && gzputc(out, '\n') >= 0;
  free(text);
  return written ? SPARC_OK : fail(SPARC_IO, "cannot write '%.300s'", path);
}

static json_t *heading(const char *metric) {
  json_t *names = json_array();
  for (int i = 0; always[i]; i++) json_array_append_new(names, json_string(always[i]));
  if (!is_kept(metric, "")) json_array_append_new(names, json_string(metric));
  return json_pack("{s:o}", complete_key, names);
}

/* a score log is copied line by line, with its heading */
static sparc_status pack_all(reader *r, const char *metric, gzFile out, const char *path) {
  const char *line;
  json_t *names = r->kept ? json_pack("{s:O}", complete_key, r->complete) : heading(metric);
  sparc_status status = pack(out, path, names);
  for (long i = 0; status == SPARC_OK && (line = next_line(r, &status)) != NULL;) {
    json_t *object;
    status = parse_line(r, line, &object);
    if (object) status = pack(out, path, r->kept ? json_incref(object) : thin(object, metric, i++ % THINNING == 0));
    json_decref(object);
  }
  return status;
}

/* the gzip header has no time stamp, so that equal logs give equal files */
sparc_status log_keep(const char *folder, const char *metric, const char *to) {
  char path[LOG_PATH];
  reader r;
  atomic_file file;
  snprintf(path, sizeof path, "%s/%s", to, scores_name);
  sparc_status status = reader_open(folder, &r);
  if (status == SPARC_OK) status = atomic_file_begin(&file, path);
  if (status == SPARC_OK) {
    const int copy = dup(fileno(file.stream));
    gzFile out = copy >= 0 ? gzdopen(copy, "wb9") : NULL;
    status = out ? pack_all(&r, metric, out, path) : fail(SPARC_NO_MEMORY, "no memory for '%.300s'", path);
    if (out && gzclose(out) != Z_OK && status == SPARC_OK) status = fail(SPARC_IO, "cannot write '%.300s'", path);
    if (!out && copy >= 0) close(copy);
    if (status == SPARC_OK)
      status = atomic_file_commit(&file);
    else
      atomic_file_abandon(&file);
  }
  reader_close(&r);
  return status;
}
