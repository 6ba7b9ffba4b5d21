/* SPDX-License-Identifier: MIT */
/* folder.c: files and folders of runs. */
#include "lab/run/folder.h"

#include "base/error.h"
#include "io/atomic_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* checkpoints first: without them what is left is no run to resume */
static const char *const run_files[] = {
    "last.safetensors", "best.safetensors", "metrics.jsonl", "metrics.csv", "config.json", "provenance.json", NULL};

static void path_in(const run_folder *folder, const char *name, char path[RUN_PATH]) {
  snprintf(path, RUN_PATH, "%s/%s", folder->path, name);
}

sparc_status run_folder_at(const char *path, run_folder *out) {
  const int length = snprintf(out->path, sizeof out->path, "%s", path);
  if (length < 1 || length >= (int)sizeof out->path)
    return fail(SPARC_INVALID, "the name of the run folder has %d bytes, expected 1 to %zu", length,
                sizeof out->path - 1);
  path_in(out, "last.safetensors", out->last);
  path_in(out, "best.safetensors", out->best);
  path_in(out, "config.json", out->config);
  return SPARC_OK;
}

const char *run_folder_name(const run_folder *folder) {
  const char *slash = strrchr(folder->path, '/');
  return slash && slash[1] ? slash + 1 : folder->path;
}

bool run_folder_has(const char *path) { return access(path, F_OK) == 0; }

bool run_folder_has_run(const run_folder *folder) {
  char path[RUN_PATH];
  for (const char *const *name = run_files; *name; name++) {
    path_in(folder, *name, path);
    if (run_folder_has(path)) return true;
  }
  return false;
}

sparc_status run_folder_empty(const run_folder *folder) {
  char path[RUN_PATH];
  for (const char *const *name = run_files; *name; name++) {
    path_in(folder, *name, path);
    if (unlink(path) != 0 && errno != ENOENT && errno != ENOTDIR)
      return fail(SPARC_IO, "cannot remove '%.300s': %s", path, strerror(errno));
  }
  return SPARC_OK;
}

sparc_status make_folders(const char *path) {
  char part[RUN_PATH];
  if (snprintf(part, sizeof part, "%s", path) >= (int)sizeof part)
    return fail(SPARC_INVALID, "the name of folder '%.200s' is too long", path);
  struct stat status;
  for (char *end = part + 1;; end++) {
    const char separator = *end;
    if (separator != '/' && separator != '\0') continue;
    *end = '\0';
    int reason = mkdir(part, 0777) == 0 || errno == EEXIST ? 0 : errno;
    if (!reason && stat(part, &status) == 0 && !S_ISDIR(status.st_mode)) reason = ENOTDIR;
    if (reason) return fail(SPARC_IO, "cannot make the folder '%.300s': %s", path, strerror(reason));
    if (separator == '\0') return SPARC_OK;
    *end = separator;
  }
}

sparc_status run_folder_make(const run_folder *folder) { return make_folders(folder->path); }

sparc_status run_folder_sweep(const run_folder *folder) {
  char path[RUN_PATH];
  sparc_status status = SPARC_OK;
  for (const char *const *name = run_files; *name && status == SPARC_OK; name++) {
    path_in(folder, *name, path);
    status = atomic_file_sweep(path);
  }
  return status;
}

/* ---- config.json --------------------------------------------------------------------------------- */

/* with the fewest digits that read back as the same numbers */
static char *print_config(const json_t *object) {
  char *text = NULL;
  for (size_t digits = 15; digits <= 17; digits++) {
    free(text);
    text = json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(digits));
    json_t *again = text ? json_loads(text, 0, NULL) : NULL;
    const bool same = json_equal(object, again);
    json_decref(again);
    if (same) break;
  }
  return text;
}

sparc_status run_folder_write_config(const run_folder *folder, const json_t *config) {
  char *text = print_config(config);
  if (!text) return fail(SPARC_NO_MEMORY, "no memory for '%.300s'", folder->config);
  atomic_file file;
  sparc_status status = atomic_file_begin(&file, folder->config);
  if (status == SPARC_OK) {
    status = atomic_file_write(&file, text, strlen(text));
    if (status == SPARC_OK) status = atomic_file_write(&file, "\n", 1);
    if (status == SPARC_OK)
      status = atomic_file_commit(&file);
    else
      atomic_file_abandon(&file);
  }
  free(text);
  return status;
}

sparc_status run_folder_read_config(const run_folder *folder, json_t **config) {
  json_error_t error;
  *config = json_load_file(folder->config, 0, &error);
  return *config ? SPARC_OK : fail(SPARC_FORMAT, "%.200s:%d: %s", folder->config, error.line, error.text);
}

/* ---- resuming ------------------------------------------------------------------------------------ */

sparc_status run_folder_compare(const run_folder *folder, const settings_form *form, json_t *present) {
  json_t *then = NULL;
  sparc_status status = present ? SPARC_OK : fail(SPARC_NO_MEMORY, "no memory for the configuration");
  if (status == SPARC_OK) status = run_folder_read_config(folder, &then);
  if (status == SPARC_OK) status = settings_compare(form, present, then, folder->config);
  json_decref(then);
  json_decref(present);
  return status;
}

sparc_status run_folder_blame(const run_folder *folder, sparc_status status) {
  if (status != SPARC_INVALID) return status;
  char sentence[256];
  snprintf(sentence, sizeof sentence, "%s", sparc_error());
  return fail(SPARC_FORMAT, "'%.200s': %s", folder->last, sentence);
}
