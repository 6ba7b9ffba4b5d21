/* SPDX-License-Identifier: MIT */
/* store.c: walking through folders of results. */
#include "lab/grid/store.h"

#include "base/error.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STORE_PATH = 4200, LEVELS = 4 }; /* grid, task, method, seed */

/* FNV-1a */
void store_digest(const json_t *settings, char digest[STORE_DIGEST]) {
  uint64_t hash = 14695981039346656037u;
  char *text = json_dumps(settings, JSON_COMPACT | JSON_SORT_KEYS);
  for (const char *c = text; c && *c; c++) hash = (hash ^ (unsigned char)*c) * 1099511628211u;
  free(text);
  snprintf(digest, STORE_DIGEST, "%016llx", (unsigned long long)hash);
}

json_t *store_load(const char *folder, const char *name) {
  char path[STORE_PATH];
  struct stat status;
  if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return NULL;
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return NULL;
  json_t *object = fstat(file, &status) == 0 && S_ISREG(status.st_mode) ? json_loadfd(file, 0, NULL) : NULL;
  close(file);
  return object;
}

/* the digest of a result, which must be that of the settings that stand beside it */
static bool read_digest(const char *folder, char digest[STORE_DIGEST]) {
  json_t *result = store_load(folder, "result.json"), *settings = json_incref(json_object_get(result, "settings"));
  const char *said = json_string_value(json_object_get(result, "digest"));
  if (!settings) settings = store_load(folder, "job.json");
  if (settings) store_digest(settings, digest);
  if (!settings && said) snprintf(digest, STORE_DIGEST, "%.16s", said);
  const bool agrees = said && strcmp(said, digest) == 0;
  json_decref(settings);
  json_decref(result);
  return agrees;
}

static sparc_status add_run(store *s, const char *folder, size_t root) {
  store_run run = {.folder = NULL};
  if (!read_digest(folder, run.digest)) return SPARC_OK;
  /* room doubles whenever the count is a power of two */
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
static sparc_status walk(store *s, const char *folder, size_t root, int level) {
  struct dirent **entries = NULL;
  sparc_status status = SPARC_OK;
  if (level == LEVELS) return add_run(s, folder, root);
  const int count = scandir(folder, &entries, NULL, alphasort);
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
