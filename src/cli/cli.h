/* SPDX-License-Identifier: MIT */
/* cli.h: what the sub-commands of the tool share: the table of commands, exit codes, messages, output.
 *
 * A command is one file with one `const cli_command command_NAME`, and one row in CLI_COMMANDS. Data goes to
 * standard output and messages to standard error. Commands parse their options with argp; cli_run has
 * already refused unknown long options with a suggestion, which argp cannot give.
 */
#ifndef SPARC_CLI_CLI_H
#define SPARC_CLI_CLI_H

#include "sparc/train.h"

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* every command, in the order in which `sparc --help` lists them */
#define CLI_COMMANDS(ROW) \
  ROW(demo)               \
  ROW(check)              \
  ROW(info)               \
  ROW(data)               \
  ROW(train)              \
  ROW(eval)               \
  ROW(predict)            \
  ROW(learn)              \
  ROW(envs)               \
  ROW(rl)                 \
  ROW(diagnose)           \
  ROW(lab)                \
  ROW(bench)              \
  ROW(help)               \
  ROW(version)

typedef enum exit_code {
  EXIT_DONE = 0,
  EXIT_FAILED = 1,       /* the work failed, or a check did not pass */
  EXIT_USAGE = 2,        /* the command line is invalid */
  EXIT_INPUT = 3,        /* an input file is missing, unreadable or malformed */
  EXIT_NOT_FINITE = 4,   /* a NaN or an infinity stopped the work */
  EXIT_INTERRUPTED = 130 /* SIGINT, after saving what can be saved */
} exit_code;

/* what a command does when mpirun starts it several times */
typedef enum cli_ranks_use {
  CLI_ONE_RANK,  /* it refuses */
  CLI_ALL_RANKS, /* the ranks work together (cli/ranks.h) */
  CLI_EACH_RANK  /* every rank works for itself */
} cli_ranks_use;

typedef struct cli_command {
  const char *name, *summary;
  const struct argp *argp;                 /* NULL: its options come from tables, and cli/settings.h parses them */
  exit_code (*run)(int argc, char **argv); /* argv[0] is "sparc NAME", for messages */
  cli_ranks_use ranks;
} cli_command;

#define CLI_DECLARE_(name) extern const cli_command command_##name;
CLI_COMMANDS(CLI_DECLARE_)
#undef CLI_DECLARE_

extern const struct argp cli_tool; /* the options of `sparc` before a command */
void cli_print_version(FILE *stream, struct argp_state *state);

/* cli_commands returns the NULL-terminated table of commands. */
const cli_command *const *cli_commands(void);

/* cli_find returns the command of that name; if there is none it prints a message with a
 * suggestion and returns NULL. who starts the message. */
const cli_command *cli_find(const char *who, const char *name);

/* cli_run runs a command with its own arguments; argv[0] is ignored. */
exit_code cli_run(const cli_command *command, int argc, char **argv);

/* cli_refuse_unknown_options looks for long options that argp does not know (unambiguous or not, a prefix is
 * known), reports the first with a suggestion, and returns whether there was one. */
bool cli_refuse_unknown_options(const struct argp *argp, int argc, char **argv);

/* cli_exit_code maps a status of the library to an exit code. */
exit_code cli_exit_code(sparc_status status);

/* cli_message writes "who: sentence" to standard error. Characters that are not plain (base/plain_text.h) are escaped
 * as \xNN: names in a sentence may come from a hostile file. */
__attribute__((format(printf, 2, 3))) void cli_message(const char *who, const char *format, ...);

/* cli_text writes text that comes from a file to standard output, escaped in the same way, and pads
 * it with spaces to width columns. */
void cli_text(const char *text, int width);

/* cli_shell_word is text as one word of a command that a user may copy into a shell: as it is, in quotes, or as $'...'
 * where it has characters that are not plain. Of a text longer than any path the rest is left off. */
enum { CLI_PATH = 4200 };
typedef struct shell_word {
  char text[4 * CLI_PATH];
} shell_word;
shell_word cli_shell_word(const char *text);

/* cli_json_line writes one object as one line to standard output and drops the reference. NULL, which is what
 * jansson gives without memory, ends the program. */
void cli_json_line(const char *who, json_t *object);

/* cli_json_variant is the variant among a cell's options as a JSON string, or null */
json_t *cli_json_variant(const char *cell_options);

/* cli_colour returns whether verdicts on standard output may be coloured. */
bool cli_colour(void);

/* cli_guard_output makes sure that lost output never goes unnoticed: a closed, full or broken standard output
 * ends the program with a code other than 0 and, unless the reader of a pipe has gone, a message. Call it once,
 * first. */
void cli_guard_output(void);

/* cli_guard_memory ends the program with a message, as a kill would, where JSON gets no memory. Call it once, before
 * there is any. */
void cli_guard_memory(void);

/* cli_output_lost returns whether writing has already failed, so that long work can stop early. */
bool cli_output_lost(void);

/* cli_model_path returns the file of a MODEL or AGENT argument: for a run folder its best checkpoint or, without one,
 * its last one */
sparc_status cli_model_path(const char *model, char path[CLI_PATH]);

/* cli_model_load loads the model of a MODEL argument. If it is not a model, the error text suggests swapping it with
 * `other`, the next argument, if that is one. */
sparc_status cli_model_load(const char *model, const char *other, int threads, sparc_model **out);

/* cli_hint_unlabelled appends a hint to the error text of a file that can be read without labels only; returns
 * `status`. */
sparc_status cli_hint_unlabelled(const char *path, const sparc_read_options *read, sparc_status status);

/* cli_add_plugin adds the path of a --plugin to those that files may name; the list is zero at first and ends with
 * NULL. Too many end the program with a usage error. Returns 0. */
enum { CLI_PLUGINS = 16 };
error_t cli_add_plugin(const struct argp_state *state, const char *path, const char *plugins[CLI_PLUGINS + 1]);

/* cli_parse_int reads the whole number of an option; anything else ends the program with a usage error. Returns 0. */
error_t cli_parse_int(const struct argp_state *state, const char *option, const char *text, int low, int high,
                      int *out);

#endif
