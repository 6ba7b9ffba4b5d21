/* SPDX-License-Identifier: MIT */
/* metrics.c: metrics as JSONL and CSV. CSV rows are derived from the JSON objects, also when a run is resumed.
 * Kept lines are written to new files that replace the old ones, so a full disk loses nothing. */
#include "run/metrics.h"

#include "base/error.h"
#include "io/atomic_file.h"
#include "io/folder_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static sparc_status cannot_write(const char *path) {
  return fail(SPARC_IO, "cannot write '%.200s': %s", path, strerror(errno));
}

/* ---- rows ---------------------------------------------------------------------------------------- */

/* a field of RFC 4180, in quotes where it needs them */
static void put_field(FILE *stream, const char *text) {
  if (!strpbrk(text, ",\"\r\n")) {
    fputs(text, stream);
    return;
  }
  putc('"', stream);
  for (; *text; text++) {
    if (*text == '"') putc('"', stream);
    putc(*text, stream);
  }
  putc('"', stream);
}

static void put_rows(metrics *m, json_t *object) {
  const json_int_t update = json_integer_value(json_object_get(object, "update"));
  const char *key;
  json_t *value;
  json_object_foreach(object, key, value) {
    if (!json_is_number(value) || strcmp(key, "update") == 0) continue;
    put_field(m->csv, m->run);
    fprintf(m->csv, ",%llu,%" JSON_INTEGER_FORMAT ",%s,%.9g\n", (unsigned long long)m->seed, update, key,
            json_number_value(value));
  }
}

static sparc_status put_line(metrics *m, json_t *object) {
  errno = 0;
  const int failed = json_dumpf(object, m->jsonl, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9));
  putc('\n', m->jsonl);
  put_rows(m, object);
  if (ferror(m->jsonl) || failed) return cannot_write(m->jsonl_path);
  return ferror(m->csv) ? cannot_write(m->csv_path) : SPARC_OK;
}

sparc_status metrics_add(metrics *m, json_t *object) {
  if (!object) return fail(SPARC_NO_MEMORY, "no memory for the metrics");
  const sparc_status status = put_line(m, object);
  json_decref(object);
  return status;
}

static sparc_status flush(FILE *file, const char *path) {
  errno = 0;
  return ferror(file) || fflush(file) != 0 || fsync(fileno(file)) != 0 ? cannot_write(path) : SPARC_OK;
}

sparc_status metrics_flush(metrics *m) {
  const sparc_status status = flush(m->jsonl, m->jsonl_path);
  return status == SPARC_OK ? flush(m->csv, m->csv_path) : status;
}

/* ---- reading ------------------------------------------------------------------------------------- */

enum { MAX_LINE = 1 << 16 }; /* bytes of a line; lines written here have less than a thousand */

static sparc_status visit_line(const char *path, long number, const char *line, metrics_fn fn, void *user) {
  json_error_t error = {.text = ""};
  json_t *object = json_loads(line, 0, &error);
  if (!object && !*error.text) return fail(SPARC_NO_MEMORY, "no memory for line %ld of '%.300s'", number, path);
  const sparc_status status = json_is_object(object)
                                  ? fn(user, object)
                                  : fail(SPARC_FORMAT, "'%.300s': line %ld is no JSON object", path, number);
  json_decref(object);
  return status;
}

static sparc_status visit_lines(const char *path, FILE *file, char *line, metrics_fn fn, void *user) {
  sparc_status status = SPARC_OK;
  errno = 0;
  for (long number = 1; status == SPARC_OK && fgets(line, MAX_LINE, file); number++) {
    if (strchr(line, '\n'))
      status = visit_line(path, number, line, fn, user);
    else if (!feof(file) && !ferror(file))
      status = fail(SPARC_FORMAT, "'%.300s': line %ld is no JSON object of at most %d bytes", path, number, MAX_LINE);
  }
  if (status == SPARC_OK && ferror(file)) status = fail(SPARC_IO, "cannot read '%.300s': %s", path, strerror(errno));
  return status;
}

sparc_status metrics_read(const char *path, metrics_fn fn, void *user) {
  FILE *file;
  sparc_status status = folder_file_stream(path, "r", &file);
  if (status != SPARC_OK || !file) return status;
  char *line = malloc(MAX_LINE);
  status = line ? visit_lines(path, file, line, fn, user) : fail(SPARC_NO_MEMORY, "no memory to read '%.300s'", path);
  free(line);
  fclose(file);
  return status;
}

/* ---- files --------------------------------------------------------------------------------------- */

/* lines of the old files that are copied to new ones */
typedef struct survivors {
  metrics *to;
  long keep;
} survivors;

static sparc_status keep_line(void *user, json_t *object) {
  const survivors *s = user;
  const json_t *update = json_object_get(object, "update");
  return json_is_integer(update) && json_integer_value(update) <= s->keep ? put_line(s->to, object) : SPARC_OK;
}

/* rewrites both files with the kept lines, for metrics_add to append to */
static sparc_status write_kept(metrics *m, long keep) {
  atomic_file jsonl, csv;
  sparc_status status = atomic_file_begin(&jsonl, m->jsonl_path);
  if (status != SPARC_OK) return status;
  status = atomic_file_begin(&csv, m->csv_path);
  if (status != SPARC_OK) {
    atomic_file_abandon(&jsonl);
    return status;
  }
  m->jsonl = jsonl.stream;
  m->csv = csv.stream;
  fputs("run,seed,update,metric,value\n", m->csv);
  if (keep >= 0) status = metrics_read(m->jsonl_path, keep_line, &(survivors){m, keep});
  m->jsonl = m->csv = NULL;
  if (status == SPARC_OK)
    status = atomic_file_commit(&csv);
  else
    atomic_file_abandon(&csv);
  if (status == SPARC_OK) return atomic_file_commit(&jsonl);
  atomic_file_abandon(&jsonl);
  return status;
}

sparc_status metrics_open(const char *folder, const char *run, uint64_t seed, long keep, metrics *out) {
  *out = (metrics){.run = run, .seed = seed};
  snprintf(out->jsonl_path, sizeof out->jsonl_path, "%s/metrics.jsonl", folder);
  snprintf(out->csv_path, sizeof out->csv_path, "%s/metrics.csv", folder);
  sparc_status status = write_kept(out, keep);
  if (status == SPARC_OK) status = folder_file_stream(out->jsonl_path, "a", &out->jsonl);
  if (status == SPARC_OK) status = folder_file_stream(out->csv_path, "a", &out->csv);
  if (status != SPARC_OK) metrics_close(out);
  return status;
}

/* closes a file, and removes it if it is empty */
static void close_file(FILE *file, const char *path) {
  struct stat status;
  if (!file) return;
  fclose(file);
  if (lstat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 0) unlink(path);
}

void metrics_close(metrics *m) {
  close_file(m->jsonl, m->jsonl_path);
  close_file(m->csv, m->csv_path);
  m->jsonl = m->csv = NULL;
}

/* ---- names --------------------------------------------------------------------------------------- */

#define OF_UPDATES "loss", "gradient_norm", "rate"

const char *const *metrics_of_training(metrics_goal goal, bool validates) {
  enum { MOST = 8 };
  static const char *const names[][2][MOST] = {
      [METRICS_CLASSES] = {{OF_UPDATES, "accuracy"},
                           {OF_UPDATES, "accuracy", "validation_loss", "validation_accuracy"}},
      [METRICS_TARGETS] = {{OF_UPDATES}, {OF_UPDATES, "validation_loss", "validation_mse", "validation_r2"}},
      [METRICS_TASK_TARGETS] = {{OF_UPDATES}, {OF_UPDATES, "validation_loss", "validation_nmse"}}};
  return names[goal][validates];
}
