/* SPDX-License-Identifier: MIT */
/* option_names.h: error texts of the library name members of its structs; those of the tool name its options. */
#ifndef SPARC_CLI_OPTION_NAMES_H
#define SPARC_CLI_OPTION_NAMES_H

typedef struct option_text {
  char text[1024];
} option_text;

/* option_names replaces the members that a sentence names by options of the tool: max_rows by --max-rows. File and
 * column names, which are quoted or followed by a colon, are left alone. */
option_text option_names(const char *sentence);

#endif
