/* SPDX-License-Identifier: MIT */
/* store.c: traverses results folders. */
#include "lab/grid/store.h"

#include "base/error.h"
#include "base/hash.h"
#include "io/json.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { STORE_PATH = 4200, LEVELS = 4 }; /* grid, task, method, seed */

sparc_status store_digest(const json_t *settings, char digest[STORE_DIGEST]) {
  char *text = json_dumps(settings, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
  if (!text) return fail(SPARC_NO_MEMORY, "no memory for the settings of a run");
  const uint64_t hash = hash_bytes(HASH_START, text, strlen(text));
  free(text);
  snprintf(digest, STORE_DIGEST, "%016llx", (unsigned long long)hash);
  return SPARC_OK;
}

sparc_status store_load(const char *folder, const char *name, json_t **out) {
  char path[STORE_PATH];
  *out = NULL;
  if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return SPARC_OK;
  return json_read(path, 0, out);
}

/* digest of a result, checked against its settings; "": mismatch, or no result */
static sparc_status read_digest(const char *folder, char digest[STORE_DIGEST]) {
  json_t *result, *settings = NULL;
  *digest = '\0';
  sparc_status status = store_load(folder, "result.json", &result);
  if (!result) return status;
  const char *stored = json_string_value(json_object_get(result, "digest"));
  settings = json_incref(json_object_get(result, "settings"));
  if (!settings) status = store_load(folder, "job.json", &settings);
  if (settings) status = store_digest(settings, digest);
  if (!settings && stored) snprintf(digest, STORE_DIGEST, "%.16s", stored);
  if (!stored || strcmp(stored, digest) != 0) *digest = '\0';
  json_decref(settings);
  json_decref(result);
  return status;
}

static sparc_status add_run(store *s, const char *folder, size_t root) {
  store_run run = {.folder = NULL};
  const sparc_status status = read_digest(folder, run.digest);
  if (status != SPARC_OK && status != SPARC_FORMAT) return status;
  if (status == SPARC_FORMAT || !*run.digest) return SPARC_OK;
  /* the capacity doubles when the count is a power of two */
  if ((s->count & (s->count - 1)) == 0) {
    store_run *list = realloc(s->run, (s->count ? 2 * (size_t)s->count : 1) * sizeof *list);
    if (list) s->run = list;
    if (!list) return fail(SPARC_NO_MEMORY, "no memory for a list of results");
  }
  run.folder = strdup(folder);
  if (!run.folder) return fail(SPARC_NO_MEMORY, "no memory for a list of results");
  run.name = run.folder + root + 1;
  s->run[s->count++] = run;
  return SPARC_OK;
}

static bool is_folder(const char *path) {
  struct stat status;
  return lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* folders in alphabetical order, so that the first of several runs is the same everywhere */
/* NOLINTNEXTLINE(misc-no-recursion): not deeper than LEVELS */
static sparc_status walk(store *s, const char *folder, size_t root, int level) {
  struct dirent **entries = NULL;
  sparc_status status = SPARC_OK;
  if (level == LEVELS) return add_run(s, folder, root);
  const int count = scandir(folder, &entries, NULL, alphasort);
  if (count < 0 && errno != ENOENT && errno != ENOTDIR)
    return fail(SPARC_IO, "cannot list '%.300s': %s", folder, strerror(errno));
  for (int i = 0; i < count; i++) {
    char path[STORE_PATH];
    const bool fits = snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name) < (int)sizeof path;
    if (status == SPARC_OK && fits && entries[i]->d_name[0] != '.' && is_folder(path))
      status = walk(s, path, root, level + 1);
    free(entries[i]);
  }
  free(entries);
  return status;
}

sparc_status store_add(store *s, const char *results) { return walk(s, results, strlen(results), 0); }

void store_free(store *s) {
  for (int i = 0; i < s->count; i++) free(s->run[i].folder);
  free(s->run);
  *s = (store){.count = 0};
}
