/* SPDX-License-Identifier: MIT */
/* store.h: finished runs in folders of results, found by the digest of their settings.
 *
 * A folder of results holds RESULTS/GRID/TASK/METHOD/sSEED/result.json, as `sparc lab run` leaves it, or as `sparc lab
 * export` keeps it. Links are not followed.
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
  store_run *run; /* (count) in the order in which they were found */
  int count;
} store;

/* store_add adds the finished runs of a folder of results. One that is not there holds none; results that make no sense
 * are passed over, those that cannot be read are not. */
sparc_status store_add(store *s, const char *results);
void store_free(store *s); /* a zeroed one is fine, too */

/* store_digest is the digest of settings: they are told apart, not protected */
sparc_status store_digest(const json_t *settings, char digest[STORE_DIGEST]);

/* store_load reads a JSON file of a results folder as json_read does; *out is NULL where there is none */
sparc_status store_load(const char *folder, const char *name, json_t **out);

#endif
