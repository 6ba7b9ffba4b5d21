/* SPDX-License-Identifier: MIT */
/* main.c: `sparc <command> [options]`. The tool's own options come before the command; everything after it
 * belongs to the command. */
#include "cli/cli.h"
#include "cli/ranks.h"

int main(int argc, char **argv) {
  static char name[] = "sparc";
  cli_ranks_silence();
  cli_guard_output();
  cli_guard_memory();
  argp_program_version_hook = cli_print_version;
  argp_err_exit_status = EXIT_USAGE;
  if (argc < 1) return EXIT_USAGE;
  argv[0] = name;

  /* the tool's own options: argp handles --help, --usage and --version and ends the program */
  int command_at = 1;
  while (command_at < argc && argv[command_at][0] == '-') command_at++;
  if (cli_refuse_unknown_options(&cli_tool, command_at, argv)) return EXIT_USAGE;
  if (argp_parse(&cli_tool, command_at, argv, 0, NULL, NULL) != 0) return EXIT_USAGE;

  if (command_at == argc) {
    cli_message(name, "no command given; `sparc help` lists the commands");
    return EXIT_USAGE;
  }
  const cli_command *command = cli_find(name, argv[command_at]);
  return command ? cli_run(command, argc - command_at, argv + command_at) : EXIT_USAGE;
}
