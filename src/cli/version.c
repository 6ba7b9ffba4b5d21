/* SPDX-License-Identifier: MIT */
/* version.c: `sparc version` and --version. */
#include "cli/cli.h"

void cli_print_version(FILE *stream, struct argp_state *state) {
  (void)state;
  fprintf(stream, "sparc %s\n", sparc_version());
}

static error_t parse_version(int key, char *argument, struct argp_state *state) {
  if (key == ARGP_KEY_ARG) argp_error(state, "expected no argument, got '%s'", argument);
  return ARGP_ERR_UNKNOWN;
}

static const struct argp version_argp = {
    .parser = parse_version,
    .doc = "Print the version. `sparc info` prints what this build contains.",
};

static exit_code run_version(int argc, char **argv) {
  if (argp_parse(&version_argp, argc, argv, 0, NULL, NULL) != 0) return EXIT_USAGE;
  cli_print_version(stdout, NULL);
  return EXIT_DONE;
}

const cli_command command_version = {"version", "print the version", &version_argp, run_version, CLI_EACH_RANK};
