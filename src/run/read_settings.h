/* SPDX-License-Identifier: MIT */
/* read_settings.h: how data files are read, as one table for every command that reads them. */
#ifndef SPARC_RUN_READ_SETTINGS_H
#define SPARC_RUN_READ_SETTINGS_H

#include "io/settings.h"
#include "sparc/train.h"

extern const settings_table read_settings; /* over sparc_read_options */

/* a row for the folder of named data sets, over a structure S with a member `root` */
#define ROOT_SETTING(S)                                                                                   \
  {                                                                                                       \
    .name = "root", .type = SETTING_TEXT, .role = FREE, .offset = offsetof(S, root),                      \
    .group = "Data:", .argument = "DIR", .help = "Look for named data sets in DIR (default: $SPARC_DATA)" \
  }

/* read_settled is what settings say as the library takes it: what nobody gave is the default, --label none means rows
 * without labels */
sparc_read_options read_settled(const sparc_read_options *given);

enum { READ_SETTINGS_MOST = 24 };

/* read_remember lists what a model must know to read other files as its own was read; it returns the number of entries
 * and prints numbers to room. read_recall takes what was not given from a model's metadata. */
size_t read_remember(const sparc_read_options *read, sparc_metadata entries[READ_SETTINGS_MOST],
                     char room[READ_SETTINGS_MOST][SETTING_TEXT_SIZE]);
sparc_status read_recall(const sparc_model *model, sparc_read_options *read);

#endif
