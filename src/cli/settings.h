/* SPDX-License-Identifier: MIT */
/* settings.h: tables of settings (io/settings.h) as options of the command line.
 *
 * Settings come from three places in rising order of precedence: the config.json of the run that is resumed, the file
 * that --config names, the command line.
 */
#ifndef SPARC_CLI_SETTINGS_H
#define SPARC_CLI_SETTINGS_H

#include "cli/options.h"
#include "io/settings.h"

/* settings that several commands share */
typedef struct tool_settings {
  const char *config;
  int quiet, json;
  int progress; /* a progress_style */
  uint64_t given;
} tool_settings;

extern const settings_table tool_table; /* over tool_settings */

enum { MAX_OPTION_TABLES = 4 };

typedef struct cli_usage {
  const cli_option
      *options[MAX_OPTION_TABLES]; /* the first row of a name counts; settings without a row are no options */
  const char *doc;                 /* as argp has it */
  const char *arguments;           /* likewise; NULL: from the row of the argument */
  /* folder of the run to resume, from the command's configuration; NULL: the command has no --resume */
  sparc_status (*folder)(const void *config, char *path, size_t size);
  const void *config;
} cli_usage;

typedef struct cli_sources cli_sources; /* the texts that settings point to */

/* Parse the command line and the files that it names into the structures of the binding. Unknown options are rejected
 * with a suggestion; wrong usage and --help end the program, as argp does. cli_sources_free() releases the texts, also
 * after a failure. */
sparc_status cli_settings_read(int argc, char **argv, const cli_usage *usage, const settings_binding *binding,
                               cli_sources **sources);

/* Whether the command line itself, not a file that it names, gives a setting. */
bool cli_typed(const cli_sources *sources, const settings_binding *binding, const char *name);
void cli_sources_free(cli_sources *sources); /* may be NULL */

#endif
