/* SPDX-License-Identifier: MIT */
/* store.h: finished runs of results folders, identified by the digest of their settings.
 *
 * A results folder contains RESULTS/GRID/TASK/METHOD/sSEED/result.json, written by `sparc lab run` or `sparc lab export`.
 * Symbolic links are not followed.
 */
#ifndef SPARC_LAB_GRID_STORE_H
#define SPARC_LAB_GRID_STORE_H

#include "sparc/base.h"

#include <jansson.h>
#include <stdbool.h>

enum { STORE_DIGEST = 24 };

typedef struct store_run {
  char digest[STORE_DIGEST];
  char *folder;     /* of the run */
  const char *name; /* in it: "GRID/TASK/METHOD/sSEED" */
} store_run;

typedef struct store {
  store_run *run; /* (count) in order of discovery */
  int count;
} store;

/* Adds the finished runs of a results folder; a missing folder has none. Invalid results are skipped; unreadable files
 * are an error. */
sparc_status store_add(store *s, const char *results);
void store_free(store *s); /* accepts a zeroed structure */

/* digest of settings, for identification only (not cryptographic) */
sparc_status store_digest(const json_t *settings, char digest[STORE_DIGEST]);

/* Reads a JSON file of a folder like json_read; *out is NULL if it does not exist. */
sparc_status store_load(const char *folder, const char *name, json_t **out);

#endif
