/* SPDX-License-Identifier: MIT */
/* builtin.c: opens a grid by name: a built-in one or a file. */
#include "base/error.h"
#include "lab/grid/grid.h"
#include "lab/grid/grids.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_OF(id, name) name,
#define FILE_OF(id, name) &grid_##id,
static const char *const names[] = {GRID_FILES(NAME_OF) NULL};
static const embedded_file *const files[] = {GRID_FILES(FILE_OF) NULL};
#undef FILE_OF
#undef NAME_OF

const char *const *grid_names(void) { return names; }

const char *grid_text(const char *name, size_t *size) {
  for (int i = 0; names[i]; i++) {
    if (strcmp(names[i], name) != 0) continue;
    *size = files[i]->size;
    return (const char *)files[i]->bytes;
  }
  return NULL;
}

static sparc_status read_file(const char *path, grid *out) {
  FILE *file = fopen(path, "rb");
  if (!file) return fail(SPARC_IO, "cannot read '%.300s': %s", path, strerror(errno));
  char *text = NULL;
  size_t size = 0;
  /* reads up to a zero byte, which JSON does not allow */
  const ssize_t got = getdelim(&text, &size, '\0', file);
  const int failed = ferror(file);
  fclose(file);
  sparc_status status = failed ? fail(SPARC_IO, "cannot read '%.300s'", path) : SPARC_OK;
  if (status == SPARC_OK) status = grid_parse(got > 0 ? text : "", got > 0 ? (size_t)got : 0, path, out);
  free(text);
  return status;
}

sparc_status grid_open(const char *name, grid *out) {
  *out = (grid){.file = NULL};
  const char *end = strrchr(name, '.');
  if (end && strcmp(end, ".json") == 0) return read_file(name, out);
  size_t size;
  const char *text = grid_text(name, &size);
  return text ? grid_parse(text, size, name, out) : unknown_name("grid", name, grid_names());
}
