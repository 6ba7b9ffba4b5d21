/* SPDX-License-Identifier: MIT */
/* scratch.h: a temporary folder for a whole test program, below TMPDIR where that is set. */
#ifndef SPARC_TESTS_SCRATCH_H
#define SPARC_TESTS_SCRATCH_H

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char folder[PATH_MAX / 2];

/* set-up and tear-down of a group of tests */
static inline int make_folder(void **state) {
  (void)state;
  const char *root = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%s/sparc-test-XXXXXX", root && strlen(root) < 128 ? root : "/tmp");
  return mkdtemp(folder) ? 0 : -1;
}

static inline int remove_from_folder(const char *path, const struct stat *status, int kind, struct FTW *walk) {
  (void)status, (void)kind;
  return walk->level > 0 ? remove(path) : 0;
}

static inline int empty_folder(void **state) {
  (void)state;
  return nftw(folder, remove_from_folder, 16, FTW_DEPTH | FTW_PHYS);
}

static inline int remove_folder(void **state) {
  if (empty_folder(state) != 0) return -1;
  return remove(folder);
}

/* the path of a name in it; the text lives until the fourth call after this one */
static inline const char *in_folder(const char *name) {
  static char paths[4][PATH_MAX];
  static int next;
  char *path = paths[next++ % 4];
  snprintf(path, PATH_MAX, "%s/%s", folder, name);
  return path;
}

#endif
