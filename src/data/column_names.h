/* SPDX-License-Identifier: MIT */
/* column_names.h: names of the columns of a table, as stored in data sets and models.
 *
 * Names come from files. They are kept where they are UTF-8 texts of 1 to SPARC_COLUMN_NAME bytes; channels have names
 * only if all of them do and no two are alike, and so have values.
 */
#ifndef SPARC_DATA_COLUMN_NAMES_H
#define SPARC_DATA_COLUMN_NAMES_H

#include "data/text.h"
#include "sparc/model.h"

#include <stdatomic.h>

/* immutable and shared, one block of memory */
typedef struct column_names {
  atomic_int references;
  sparc_columns view;
} column_names;

/* column_names_copy makes names of texts that live elsewhere, NULL without memory. Invalid names are skipped;
 * an invalid channel or value drops all names of its kind. */
column_names *column_names_copy(const sparc_columns *given);
column_names *column_names_share(column_names *names); /* may be NULL, here and below */
void column_names_release(column_names *names);

/* column_name_valid returns whether a text is a valid name */
bool column_name_valid(const char *text);

/* column_names_check validates names given by a caller (sparc_columns); channels 0: any number */
sparc_status column_names_check(const sparc_columns *names, int channels);

/* columns_missing fails with SPARC_FORMAT: which of the required names were not found, what there is instead (a list that
 * ends with NULL), and a suggestion. `where` begins the error text. */
sparc_status columns_missing(const char *where, const char *const *required, size_t count, const bool *found,
                             const char *const *have);

#endif
