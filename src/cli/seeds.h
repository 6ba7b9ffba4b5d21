/* SPDX-License-Identifier: MIT */
/* seeds.h: --seeds A-B and --jobs N: one run for each of several seeds. */
#ifndef SPARC_CLI_SEEDS_H
#define SPARC_CLI_SEEDS_H

#include "cli/cli.h"
#include "io/settings.h"

#include <stdint.h>

enum { MAX_SEEDS = 1000 };

/* rows (io/settings_rows.h) of a structure with members of these names */
/* clang-format off */
#define SEEDS_SETTING {"seeds", NULL, TEXT(seeds), ROLE(COMMAND_LINE)}
#define JOBS_SETTING  {"jobs", NULL, INT(jobs, 1, 1024), ROLE(COMMAND_LINE), DEFAULT("1")}
/* clang-format on */

/* runs that differ in their seed, each in a process of its own */
typedef struct seeds_work {
  const char *who;
  const char *seeds; /* "A-B", or "A" for a single one */
  const char *unit;  /* what is counted; NULL: "seed". Its first letter is that of the folders */
  int jobs;          /* processes at a time */
  const char *out;   /* the folder of their folders; NULL: each has its default one */
  bool quiet;        /* prints no line for each run */
  bool resumes;      /* at least one of the runs must exist; the others may be new */
  /* folder_of names the folder of one, below `folder` unless that is NULL */
  sparc_status (*folder_of)(void *user, uint64_t seed, const char *folder, char *path, size_t size);
  /* run performs one, in `folder` unless it is NULL, and writes a line "SCORE NAME" to `out` where it has a score */
  exit_code (*run)(void *user, uint64_t seed, const char *folder, int out);
  void *user;
} seeds_work;

/* of the runs that had a score */
typedef struct seeds_scores {
  int count;
  double mean, stddev, min, max;
  char name[32]; /* of the score */
} seeds_scores;

/* seeds_run performs all runs and returns the first code other than EXIT_DONE */
exit_code seeds_run(const seeds_work *work, seeds_scores *scores);

#endif
