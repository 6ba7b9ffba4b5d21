/* SPDX-License-Identifier: MIT */
/* settings.h: tables of settings (io/settings.h) as options of the command line.
 *
 * Settings come from three places in rising order of precedence: the config.json of the run that is resumed, the file
 * that --config names, the command line.
 */
#ifndef SPARC_CLI_SETTINGS_H
#define SPARC_CLI_SETTINGS_H

#include "io/settings.h"

/* what every command with settings has besides those of its work */
typedef struct tool_settings {
  const char *config;
  int quiet, json;
  int progress; /* a progress_style */
} tool_settings;

extern const settings_table tool_table; /* over tool_settings */

typedef struct cli_usage {
  const char *doc;       /* as argp has it */
  const char *arguments; /* likewise; NULL: as the row of the argument says */
  /* where --resume looks for config.json, by the command's own configuration; NULL: there is no --resume */
  sparc_status (*folder)(const void *config, char *path, size_t size);
  const void *config;
} cli_usage;

typedef struct cli_sources cli_sources; /* the texts that settings point to */

/* cli_settings_read parses the command line, refusing unknown options with a suggestion, and the files that it leads
 * to; the settings go to the structures of the form. Wrong usage and --help end the program, as argp does.
 * cli_sources_free releases the texts, also after a failure. */
sparc_status cli_settings_read(int argc, char **argv, const cli_usage *usage, const settings_form *form,
                               cli_sources **sources);

/* cli_typed says whether the command line itself gives a setting, and not a file that it leads to */
bool cli_typed(const cli_sources *sources, const settings_form *form, const char *name);
void cli_sources_free(cli_sources *sources); /* may be NULL */

#endif
