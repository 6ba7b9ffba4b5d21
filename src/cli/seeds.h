/* SPDX-License-Identifier: MIT */
/* seeds.h: --seeds A-B and --jobs N: one run for each of several seeds. */
#ifndef SPARC_CLI_SEEDS_H
#define SPARC_CLI_SEEDS_H

#include "lab/settings.h"

#include <stdint.h>

enum { MOST_SEEDS = 1000 };

/* rows over a structure S with members of these names */
#define SEEDS_SETTING(S)                                                                       \
  {                                                                                            \
    .name = "seeds", .type = SETTING_TEXT, .role = COMMAND_LINE, .offset = offsetof(S, seeds), \
    .group = "Instead of a run:", .argument = "A-B",                                           \
    .help = "One run for each of the seeds, every one in a folder of its own"                  \
  }

#define JOBS_SETTING(S)                                                                                             \
  {                                                                                                                 \
    .name = "jobs", .type = SETTING_INT, .role = COMMAND_LINE, .offset = offsetof(S, jobs), .low = 1, .high = 1024, \
    .usual = {"1"}, .group = "Instead of a run:", .argument = "N", .help = "With --seeds: N processes at a time"    \
  }

/* seeds_parse reads "A-B", or "A" for a single one */
sparc_status seeds_parse(const char *text, uint64_t *first, int *count);

#endif
