/* SPDX-License-Identifier: MIT */
/* ranks.c: entering and leaving a group, for every exit of the program. */
#include "cli/ranks.h"

#include "base/error.h"
#include "run/launch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ranks *group; /* of this process; global because argp may call exit() */

ranks *cli_ranks(void) { return group; }

void cli_ranks_silence(void) {
  const launch l = launch_read();
  if (l.rank == 0) return;
  const int nothing = open("/dev/null", O_WRONLY);
  if (nothing < 0) return;
  dup2(nothing, STDOUT_FILENO);
  dup2(nothing, STDERR_FILENO);
  if (nothing > STDERR_FILENO) close(nothing);
}

/* exit handler, for argp's calls of exit(); the exit code cannot be changed here */
static void leave_at_exit(int code, void *unused) {
  (void)unused;
  (void)cli_ranks_leave("sparc", (exit_code)code);
}

exit_code cli_ranks_enter(const cli_command *command, const char *who) {
  const launch l = launch_read();
  if (l.size == 1 || command->ranks == CLI_EACH_RANK) return EXIT_DONE;
  if (command->ranks == CLI_ONE_RANK) {
    cli_message(who, "%d ranks cannot do this together; start it without mpirun", l.size);
    return EXIT_USAGE;
  }
  const sparc_status status = launch_join(&group);
  if (status != SPARC_OK) {
    cli_message(who, "%s", sparc_error());
    return cli_exit_code(status);
  }
  on_exit(leave_at_exit, NULL);
  return EXIT_DONE;
}

exit_code cli_ranks_leave(const char *who, exit_code code) {
  if (!group) return code;
  ranks *const left = group;
  const bool failed = code != EXIT_DONE && code != EXIT_INTERRUPTED;
  group = NULL;
  if (failed && !*sparc_error()) (void)fail(SPARC_INVALID, "the command line is not understood");
  const sparc_status status = ranks_agree(left, failed ? SPARC_INVALID : SPARC_OK, NULL);
  if (status != SPARC_OK && !failed) {
    cli_message(who, "%s", sparc_error());
    code = EXIT_FAILED;
  }
  ranks_free(left);
  return code;
}

void cli_ranks_show(char *text, size_t size) {
  static const double much = 0.1;
  double share;
  const int slowest = ranks_slowest(group, &share);
  const size_t used = strlen(text);
  if (share > much && used < size)
    snprintf(text + used, size - used, "  waiting %.0f %% for rank %d", 100 * share, slowest);
}
