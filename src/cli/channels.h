/* SPDX-License-Identifier: MIT */
/* channels.h: the columns of a file next to those that a model was trained on. */
#ifndef SPARC_CLI_CHANNELS_H
#define SPARC_CLI_CHANNELS_H

#include "sparc/train.h"

/* a row (io/settings_rows.h) of a structure with a member by_position */
#define BY_POSITION_SETTING \
  { "by-position", NULL, FLAG(by_position), ROLE(UNRECORDED) }

/* channels_like returns a value for read.columns: the model's columns, stored in `buffer`, except those that the
 * command line (`given`) sets otherwise. NULL: the model has none. */
const sparc_columns *channels_like(const sparc_model *model, const sparc_read_options *given, sparc_columns *buffer);

/* channels_warn prints a warning if the channels of a file, or the values of its rows, could not be matched by
 * name though the model, or the file, has names */
void channels_warn(const char *who, const char *file, const sparc_columns *model, const sparc_columns *found);

/* channels_list lists the names of channels, or values, for a message: "a, b, c", truncated if it is long */
typedef struct channel_text {
  char text[200];
} channel_text;
channel_text channels_list(const sparc_columns *columns);

#endif
