/* SPDX-License-Identifier: MIT */
/* folder.c: files and folders of runs. */
#include "run/folder.h"

#include "base/error.h"
#include "io/atomic_file.h"
#include "io/dtype.h"
#include "io/folder_file.h"
#include "io/json.h"
#include "io/near_path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* checkpoints first: without them the folder holds no run to resume */
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

sparc_status run_folder_find(const run_folder *folder, bool *found) {
  char path[RUN_PATH];
  sparc_status status = SPARC_OK;
  *found = false;
  for (const char *const *name = run_files; *name && status == SPARC_OK; name++) {
    bool there;
    path_in(folder, *name, path);
    status = folder_file_find(path, &there);
    *found |= there;
  }
  return status;
}

static bool holds_run(const char *path) {
  run_folder folder = {.path = ""};
  bool found;
  return run_folder_at(path, &folder) == SPARC_OK && run_folder_find(&folder, &found) == SPARC_OK && found;
}

sparc_status run_folder_require(const run_folder *folder) {
  char path[RUN_PATH], near[NEAR_PATH];
  bool found, locked = false;
  sparc_status status = run_folder_find(folder, &found);
  path_in(folder, "lock", path); /* one that was killed before it wrote anything leaves this */
  if (status == SPARC_OK) status = folder_file_find(path, &locked);
  if (status != SPARC_OK || found || locked) return status;
  const bool guess = near_path(folder->path, holds_run, near);
  return fail(SPARC_IO, "there is no run to resume in '%.200s'%s%.200s%s; resume-or-create starts one", folder->path,
              guess ? "; did you mean '" : "", guess ? near : "", guess ? "'?" : "");
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
  const sparc_status status = json_read(folder->config, 0, config);
  if (status != SPARC_OK || *config) return status;
  return fail(SPARC_FORMAT, "'%.300s' has a checkpoint but no config.json, so it is no run to resume", folder->path);
}

sparc_status run_folder_settings(const run_folder *folder, const settings_binding *binding, settings_source *source) {
  json_t *object;
  const sparc_status status = json_read(folder->config, JSON_REJECT_DUPLICATES, &object);
  if (status != SPARC_OK) return status;
  if (!object) return fail(SPARC_IO, "cannot read '%.300s': %s", folder->config, strerror(ENOENT));
  source->stored = true;
  return settings_read_json(binding, folder->config, object, source);
}

sparc_status run_folder_check_data(const run_folder *folder, const char *data) {
  struct stat found;
  if (!data || stat(data, &found) != 0 || S_ISREG(found.st_mode) || S_ISDIR(found.st_mode)) return SPARC_OK;
  return fail(SPARC_FORMAT, "%.200s: data is '%.200s', which is neither a file nor a folder", folder->config,
              quote(data).text);
}

/* ---- resuming ------------------------------------------------------------------------------------ */

sparc_status run_folder_compare(const run_folder *folder, const settings_binding *binding, json_t *present) {
  json_t *then = NULL;
  sparc_status status = present ? SPARC_OK : fail(SPARC_NO_MEMORY, "no memory for the configuration");
  if (status == SPARC_OK) status = run_folder_read_config(folder, &then);
  if (status == SPARC_OK) status = settings_compare(binding, present, then, folder->config);
  json_decref(then);
  json_decref(present);
  return status;
}

sparc_status run_folder_as_format_error(const run_folder *folder, sparc_status status) {
  if (status != SPARC_INVALID) return status;
  char message[256];
  snprintf(message, sizeof message, "%s", sparc_error());
  return fail(SPARC_FORMAT, "'%.200s': %s", folder->last, message);
}
