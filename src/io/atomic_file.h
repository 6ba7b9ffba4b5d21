/* SPDX-License-Identifier: MIT */
/* atomic_file.h: replace a file as a whole or not at all.
 *
 *   atomic_file file;
 *   sparc_status status = atomic_file_begin(&file, path);
 *   if (status != SPARC_OK) return status;
 *   status = atomic_file_write(&file, bytes, size);
 *   if (status == SPARC_OK) return atomic_file_commit(&file);
 *   atomic_file_abandon(&file);
 *   return status;
 */
#ifndef SPARC_IO_ATOMIC_FILE_H
#define SPARC_IO_ATOMIC_FILE_H

#include "sparc/base.h"

#include <limits.h>
#include <stdio.h>

typedef struct atomic_file {
  const char *path;             /* as given by the caller; must outlive commit or abandon */
  const char *name;             /* its last component */
  char temporary[NAME_MAX + 1]; /* name of the file being written, in the same directory */
  int directory;                /* descriptor; keeps the place even when the working directory changes */
  FILE *stream;
} atomic_file;

/* atomic_file_begin opens the temporary file PATH.tmp.ID, after removing those that writers of the same path left when
 * they died. A path that exists must be a regular file (or a symbolic link to one, which the new file then replaces).
 */
sparc_status atomic_file_begin(atomic_file *file, const char *path);

/* atomic_file_write appends bytes (buffered) */
sparc_status atomic_file_write(atomic_file *file, const void *bytes, size_t size);

/* atomic_file_commit flushes the file to the disk, gives it its name and makes the name durable. On failure, which
 * includes that of an earlier write to the stream, it abandons; either way `file` is finished. */
sparc_status atomic_file_commit(atomic_file *file);

/* atomic_file_abandon removes the temporary file and leaves the old one as it was */
void atomic_file_abandon(atomic_file *file);

/* atomic_file_sweep removes the temporary files of writers of `path` that were killed, and none of a living process. A
 * directory that is not there has none. */
sparc_status atomic_file_sweep(const char *path);

#endif
