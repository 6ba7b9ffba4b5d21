/* SPDX-License-Identifier: MIT */
/* folder_file.h: files in folders of runs and results.
 *
 * Such folders are untrusted. A symbolic link could lead to any file of the user, a pipe would block its reader, so
 * every file must be regular, and every folder below the one named by the user must be a folder. Anything else is
 * SPARC_FORMAT. A missing file is not an error; one that cannot be read is SPARC_IO. Files named by the user, such as
 * data, are not opened by these functions.
 */
#ifndef SPARC_IO_FOLDER_FILE_H
#define SPARC_IO_FOLDER_FILE_H

#include "sparc/base.h"

#include <stdbool.h>
#include <stdio.h>

/* folder_file_find returns whether there is such a file. */
sparc_status folder_file_find(const char *path, bool *found);

/* folder_file_open opens a file with these flags of open(2); links are not followed, and O_TRUNC empties the file only
 * after it was found to be regular. *file is its descriptor, -1: there is none, or the call failed. */
sparc_status folder_file_open(const char *path, int flags, int *file);

/* folder_file_stream opens a file with the mode "r", "r+" or "a" of fopen; *out is NULL where there is none. */
sparc_status folder_file_stream(const char *path, const char *mode, FILE **out);

/* folder_file_read reads a whole file of at most FOLDER_FILE_MAX bytes. *text has a zero byte after its *size bytes
 * and is to be released with free(); NULL: there is no such file. */
enum { FOLDER_FILE_MAX = 64 << 20 };
sparc_status folder_file_read(const char *path, char **text, size_t *size);

/* folder_check checks that those of the folders `below`, A/B/C, that exist are folders and not links; root may be one.
 * folder_make does so and makes those that do not exist, root included. */
sparc_status folder_check(const char *root, const char *below);
sparc_status folder_make(const char *root, const char *below);

/* make_folders is mkdir -p for a folder that the user has named */
sparc_status make_folders(const char *path);

#endif
