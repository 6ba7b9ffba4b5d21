/* SPDX-License-Identifier: MIT */
/* help.c: `sparc help [COMMAND]` and `sparc --help`. Both print what argp makes of the tables, so that help and
 * parser cannot disagree. */
#include "cli/cli.h"

/* ---- the tool itself ---------------------------------------------------------------------------- */

/* puts the list of commands below the options; argp frees what is not the text it gave */
static char *list_commands(int key, const char *text, void *input) {
  (void)input;
  char *list = NULL;
  size_t length = 0;
  FILE *stream = key == ARGP_KEY_HELP_POST_DOC ? open_memstream(&list, &length) : NULL;
  if (!stream) return (char *)text;
  fputs("Commands:\n", stream);
  for (const cli_command *const *c = cli_commands(); *c; c++)
    fprintf(stream, "  %-10s %s\n", (*c)->name, (*c)->summary);
  fputs("\n`sparc help COMMAND` prints the usage of a command.", stream);
  fclose(stream);
  return list;
}

const struct argp cli_tool = {
    .args_doc = "COMMAND [ARGUMENT...]",
    .doc =
        "Adaptive spectral recurrence: train, evaluate and run recurrent networks."
        "\v(the list of commands)",
    .help_filter = list_commands,
};

/* ---- the command -------------------------------------------------------------------------------- */

static error_t parse_help(int key, char *argument, struct argp_state *state) {
  const char **topic = state->input;
  if (key != ARGP_KEY_ARG) return ARGP_ERR_UNKNOWN;
  if (state->arg_num > 0) argp_error(state, "expected at most one command, got '%s' as well", argument);
  *topic = argument;
  return 0;
}

static const struct argp help_argp = {
    .parser = parse_help,
    .args_doc = "[COMMAND]",
    .doc = "Print the usage of a command, or the list of commands.",
};

static exit_code run_help(int argc, char **argv) {
  static char tool[] = "sparc", option[] = "--help";
  const char *topic = NULL;
  if (argp_parse(&help_argp, argc, argv, 0, NULL, &topic) != 0) return EXIT_USAGE;
  char *arguments[] = {tool, option, NULL};
  if (!topic) return argp_parse(&cli_tool, 2, arguments, 0, NULL, NULL) == 0 ? EXIT_DONE : EXIT_FAILED;
  const cli_command *command = cli_find(argv[0], topic);
  return command ? cli_run(command, 2, arguments) : EXIT_USAGE;
}

const cli_command command_help = {"help", "print the usage of a command, or this list", &help_argp, run_help,
                                  CLI_EACH_RANK};
