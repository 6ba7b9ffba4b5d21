/* SPDX-License-Identifier: MIT */
/* options.h: tables of options: letters, headings and help of the settings that commands have. Name, type, range and
 * default are those of the setting (io/settings.h). */
#ifndef SPARC_CLI_OPTIONS_H
#define SPARC_CLI_OPTIONS_H

enum { POSITIONAL = 1 }; /* instead of a letter: an argument without an option, in the order of settings */

typedef struct cli_option {
  const char *name; /* of the setting */
  int letter;       /* short option; 0: none */
  const char *group, *argument, *help;
  const char *needs;  /* options, separated by blanks; at least one must be given with this one */
  const char *option; /* of a POSITIONAL argument: an equivalent option; NULL: none */
} cli_option;

/* tables end with a row without a name */
extern const cli_option train_options[], rl_options[], learn_options[];
extern const cli_option read_options[]; /* how data files are read */
extern const cli_option tool_options[]; /* of several commands */

/* rows of several tables */
#define CELL_OPTION \
  { "cell", 'c', "Network:", "KIND", .help = "Recurrent cell" }
#define CELL_OPTIONS_OPTION \
  { "cell-options", 0, "Network:", "LIST", .help = "Options of the cell: key=value,..." }
#define VARIANT_OPTION \
  { "variant", 0, "Network:", "NAME", .help = "Short for the cell option variant=NAME" }
#define STATE_SIZE_OPTION \
  { "state-size", 'b', "Network:", "N", .help = "Real state coordinates of each cell, instead of --modes" }
#define THREADS_OPTION \
  { "threads", 'T', "Training:", "N", .help = "Use at most N threads (default: all processors)" }
#define ROOT_OPTION \
  { "root", 0, "Data:", "DIR", .help = "Look for named data sets in DIR (default: $SPARC_DATA)" }
#define BY_POSITION_OPTION \
  { "by-position", 0, "Data:", NULL, .help = "Match columns by position instead of by name" }

#endif
