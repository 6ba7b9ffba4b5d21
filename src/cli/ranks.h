/* SPDX-License-Identifier: MIT */
/* ranks.h: the tool as one of several ranks of an MPI job (base/ranks.h). Only rank 0 writes: the standard output
 * and error of others are discarded, and a failure of one rank becomes the failure, with its message, of all. */
#ifndef SPARC_CLI_RANKS_H
#define SPARC_CLI_RANKS_H

#include "base/ranks.h"
#include "cli/cli.h"

/* cli_ranks_silence makes every rank but the first silent. Call it before anything is written. */
void cli_ranks_silence(void);

/* cli_ranks_enter joins the group if the command works on several ranks; anything but EXIT_DONE ends the program */
exit_code cli_ranks_enter(const cli_command *command, const char *who);

/* cli_ranks_leave waits for the other ranks and returns the code that all of them end with */
exit_code cli_ranks_leave(const char *who, exit_code code);

/* cli_ranks is the group; NULL: this process is on its own */
ranks *cli_ranks(void);

/* cli_ranks_show adds to a line of progress the time spent waiting for the slowest rank, if it is large */
void cli_ranks_show(char *text, size_t size);

#endif
