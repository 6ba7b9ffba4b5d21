/* SPDX-License-Identifier: MIT */
/* column_names.h: what the columns of a table are called, as data sets and models keep it, and finding columns by it.
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

/* column_names_copy makes names of texts that live elsewhere, NULL without memory. Those that may not be kept are left
 * out, of channels and of values all of them. */
column_names *column_names_copy(const sparc_columns *given);
column_names *column_names_share(column_names *names); /* NULL is fine, here and below */
void column_names_release(column_names *names);

/* column_name_valid says whether a text may be kept */
bool column_name_valid(const char *text);

/* column_names_check demands what sparc_columns promises of names that a caller gives; channels 0: any number */
sparc_status column_names_check(const sparc_columns *names, int channels);

/* columns_missing fails with SPARC_FORMAT: which of the wanted names were not found, what there is instead (a list that
 * ends with NULL), and what may be meant. `where` begins the sentence. */
sparc_status columns_missing(const char *where, const char *const *wanted, size_t count, const bool *found,
                             const char *const *have);

#endif
