/* SPDX-License-Identifier: MIT */
/* metrics.c: metrics as JSONL and CSV. The CSV rows are made from the objects, also when a run is resumed, so
 * that one file decides what is kept. What is kept is written to new files that take the place of the old ones, so a
 * full disk costs nothing that was there. */
#include "lab/run/metrics.h"

#include "base/error.h"
#include "io/atomic_file.h"

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

static void put_line(metrics *m, json_t *object) {
  json_dumpf(object, m->jsonl, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9));
  putc('\n', m->jsonl);
  put_rows(m, object);
}

sparc_status metrics_add(metrics *m, json_t *object) {
  if (!object) return fail(SPARC_NO_MEMORY, "no memory for the metrics");
  errno = 0;
  put_line(m, object);
  json_decref(object);
  return ferror(m->jsonl) ? cannot_write(m->jsonl_path) : ferror(m->csv) ? cannot_write(m->csv_path) : SPARC_OK;
}

sparc_status metrics_flush(metrics *m) {
  if (fflush(m->jsonl) != 0 || ferror(m->jsonl)) return cannot_write(m->jsonl_path);
  if (fflush(m->csv) != 0 || ferror(m->csv)) return cannot_write(m->csv_path);
  return SPARC_OK;
}

/* ---- files --------------------------------------------------------------------------------------- */

/* the objects of the old file up to an update, in memory; an absent file and a broken last line count for nothing */
static json_t *read_kept(const char *path, long keep) {
  json_t *kept = json_array();
  FILE *old = keep >= 0 && kept ? fopen(path, "r") : NULL;
  char *line = NULL;
  size_t size = 0;
  while (old && getline(&line, &size, old) > 0) {
    json_t *object = strchr(line, '\n') ? json_loads(line, 0, NULL) : NULL;
    const json_t *update = json_object_get(object, "update");
    if (json_is_integer(update) && json_integer_value(update) <= keep)
      json_array_append_new(kept, object);
    else
      json_decref(object);
  }
  free(line);
  if (old) fclose(old);
  return kept;
}

/* both files with the kept objects, for metrics_add to go on */
static sparc_status write_kept(metrics *m, json_t *kept) {
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
  for (size_t i = 0; i < json_array_size(kept); i++) put_line(m, json_array_get(kept, i));
  m->jsonl = m->csv = NULL;
  status = atomic_file_commit(&csv);
  if (status == SPARC_OK) return atomic_file_commit(&jsonl);
  atomic_file_abandon(&jsonl);
  return status;
}

sparc_status metrics_open(const char *folder, const char *run, uint64_t seed, long keep, metrics *out) {
  *out = (metrics){.run = run, .seed = seed};
  snprintf(out->jsonl_path, sizeof out->jsonl_path, "%s/metrics.jsonl", folder);
  snprintf(out->csv_path, sizeof out->csv_path, "%s/metrics.csv", folder);
  json_t *kept = read_kept(out->jsonl_path, keep);
  if (!kept) return fail(SPARC_NO_MEMORY, "no memory for the metrics");
  sparc_status status = write_kept(out, kept);
  json_decref(kept);
  if (status == SPARC_OK && !(out->jsonl = fopen(out->jsonl_path, "a"))) status = cannot_write(out->jsonl_path);
  if (status == SPARC_OK && !(out->csv = fopen(out->csv_path, "a"))) status = cannot_write(out->csv_path);
  if (status != SPARC_OK) metrics_close(out);
  return status;
}

/* a file to which nothing could be written says nothing */
static void close_file(FILE *file, const char *path) {
  struct stat status;
  if (!file) return;
  fclose(file);
  if (stat(path, &status) == 0 && status.st_size == 0) unlink(path);
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
