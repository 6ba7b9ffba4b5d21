/* SPDX-License-Identifier: MIT */
/* near_path.c: names in the same folder, by edit distance. */
#include "io/near_path.h"

#include "base/error.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* where the wrong part of a path begins, and how long it is */
static void find_wrong(const char *path, size_t *begin, size_t *length) {
  char part[NEAR_PATH];
  *begin = *length = 0;
  for (size_t at = strspn(path, "/"); path[at]; at += strspn(path + at, "/")) {
    *begin = at;
    *length = strcspn(path + at, "/");
    at += *length;
    snprintf(part, sizeof part, "%.*s", (int)at, path);
    if (access(part, F_OK) != 0) return;
  }
}

/* whether a name is nearer to the word than the best one so far */
static bool is_nearer(const char *word, const char *name, const char *best) {
  const char *const names[] = {*best ? best : name, name, NULL};
  const char *nearest = closest(word, names);
  return nearest && strcmp(nearest, name) == 0 && strcmp(word, name) != 0;
}

bool near_path(const char *path, bool (*fits)(const char *path), char near[NEAR_PATH]) {
  size_t begin, length;
  char word[NAME_MAX + 1], folder[NEAR_PATH], other[NEAR_PATH], best[NAME_MAX + 1] = "";
  if (strlen(path) >= NEAR_PATH - sizeof best) return false;
  find_wrong(path, &begin, &length);
  if (length == 0 || length >= sizeof word) return false;
  snprintf(word, sizeof word, "%.*s", (int)length, path + begin);
  snprintf(folder, sizeof folder, "%.*s", (int)begin, path);
  DIR *entries = opendir(begin ? folder : ".");
  for (struct dirent *e; entries && (e = readdir(entries));) {
    if (!is_nearer(word, e->d_name, best)) continue;
    if (snprintf(other, sizeof other, "%s%s%s", folder, e->d_name, path + begin + length) >= NEAR_PATH || !fits(other))
      continue;
    snprintf(best, sizeof best, "%s", e->d_name);
    snprintf(near, NEAR_PATH, "%s", other);
  }
  if (entries) closedir(entries);
  return *best != '\0';
}
