/* SPDX-License-Identifier: MIT */
/* read_settings.h: the table of sparc_read_options, shared by all commands that read data files. */
#ifndef SPARC_RUN_READ_SETTINGS_H
#define SPARC_RUN_READ_SETTINGS_H

#include "io/settings.h"
#include "sparc/train.h"

extern const settings_table read_settings; /* over sparc_read_options */

/* a row for the folder of named data sets (io/settings_rows.h), of a structure with a member `root` */
#define ROOT_SETTING \
  { "root", NULL, TEXT(root), ROLE(FREE) }

/* Return the options as the library expects them: label "none" means rows without labels. */
sparc_read_options resolve_read_options(const sparc_read_options *given);

/* Return the division of this name; the paper's where name is NULL or unknown. */
sparc_data_division division_named(const char *name);

enum { MAX_READ_SETTINGS = 24 };

/* read_options_metadata() lists the options that a model stores to read other files like its training data, and returns
 * their number; numbers are printed to buffer. read_options_inherit() takes options that are not given from a model.
 * given is the bit set of given options. */
size_t read_options_metadata(const sparc_read_options *read, uint64_t given, sparc_metadata entries[MAX_READ_SETTINGS],
                             char buffer[MAX_READ_SETTINGS][SETTING_TEXT_SIZE]);
sparc_status read_options_inherit(const sparc_model *model, sparc_read_options *read, uint64_t *given);

#endif
