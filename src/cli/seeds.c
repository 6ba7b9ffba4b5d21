/* SPDX-License-Identifier: MIT */
/* seeds.c: one run for each of several seeds, and statistics of their scores. */
#include "cli/seeds.h"

#include "base/error.h"
#include "base/moments.h"
#include "cli/jobs.h"
#include "run/folder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sparc_status parse(const char *text, uint64_t *first, int *count) {
  char *end;
  const unsigned long long a = strtoull(text, &end, 10);
  const char *second = *end == '-' ? end + 1 : text;
  const unsigned long long b = strtoull(second, &end, 10);
  if (strspn(text, "0123456789-") != strlen(text) || *text == '-' || *second == '-' || !*second || *end || b < a ||
      b - a >= MAX_SEEDS)
    return fail(SPARC_INVALID, "--seeds is '%.60s', expected A-B, at most %d seeds", text, MAX_SEEDS);
  *first = a;
  *count = (int)(b - a) + 1;
  return SPARC_OK;
}

typedef struct seed_runs {
  const seeds_work *work;
  uint64_t first;
  int count, next;
  double score[MAX_SEEDS]; /* by seed; NAN: none */
  char name[sizeof((seeds_scores *)0)->name];
} seed_runs;

static int next_seed(void *user) {
  seed_runs *s = user;
  return s->next < s->count ? s->next++ : CLI_JOBS_OVER;
}

static const char *unit_of(const seeds_work *w) { return w->unit ? w->unit : "seed"; }

/* OUT/s3; NULL: each run has its default folder */
static const char *folder_in(const seeds_work *w, uint64_t seed, char folder[CLI_PATH - 64]) {
  snprintf(folder, CLI_PATH - 64, "%.4000s/%c%llu", w->out ? w->out : "", *unit_of(w), (unsigned long long)seed);
  return w->out ? folder : NULL;
}

static exit_code work_on_seed(void *user, int i, int out) {
  const seed_runs *s = user;
  const uint64_t seed = s->first + (uint64_t)i;
  char folder[CLI_PATH - 64];
  return s->work->run(s->work->user, seed, folder_in(s->work, seed, folder), out);
}

/* the error message is that of the first failure */
static sparc_status require_one(const seed_runs *s) {
  const seeds_work *w = s->work;
  sparc_status status = SPARC_OK;
  for (int i = s->count - 1; i >= 0; i--) {
    const uint64_t seed = s->first + (uint64_t)i;
    char folder[CLI_PATH - 64], path[CLI_PATH - 64];
    run_folder names = {.path = ""};
    status = w->folder_of(w->user, seed, folder_in(w, seed, folder), path, sizeof path);
    if (status == SPARC_OK) status = run_folder_at(path, &names);
    if (status == SPARC_OK) status = run_folder_require(&names);
    if (status == SPARC_OK) return SPARC_OK;
  }
  return status;
}

static void read_score(void *user, int i, const char *line) {
  seed_runs *s = user;
  char *end;
  s->score[i] = strtod(line, &end);
  snprintf(s->name, sizeof s->name, "%s", *end == ' ' ? end + 1 : "");
}

static void show_seed(void *user, int i, const cli_job_end *end) {
  const seed_runs *s = user;
  if (end->code == EXIT_DONE && !s->work->quiet && isnan(s->score[i]))
    printf("%s %-6llu has no score: there is neither a validation nor a test part\n", unit_of(s->work),
           (unsigned long long)s->first + (unsigned long long)i);
  else if (end->code == EXIT_DONE && !s->work->quiet)
    printf("%s %-6llu %s %.4f\n", unit_of(s->work), (unsigned long long)s->first + (unsigned long long)i, s->name,
           s->score[i]);
  fflush(stdout);
}

static seeds_scores scores_of(const seed_runs *s) {
  seeds_scores r = {.min = INFINITY, .max = -INFINITY};
  for (int i = 0; i < s->count; i++) {
    if (isnan(s->score[i])) continue;
    r.min = fmin(r.min, s->score[i]);
    r.max = fmax(r.max, s->score[i]);
  }
  const sample_summary all = sample_summarise((size_t)s->count, s->score);
  r.count = all.count;
  if (all.count > 0) r.mean = all.mean;
  if (all.count > 1) r.stddev = all.stddev;
  memcpy(r.name, s->name, sizeof r.name);
  return r;
}

exit_code seeds_run(const seeds_work *work, seeds_scores *scores) {
  seed_runs s = {.work = work};
  const cli_jobs jobs = {.max_running = work->jobs,
                         .next = next_seed,
                         .work = work_on_seed,
                         .on_line = read_score,
                         .on_end = show_seed,
                         .user = &s};
  *scores = (seeds_scores){.count = 0};
  sparc_status status = parse(work->seeds, &s.first, &s.count);
  if (status == SPARC_OK && work->resumes) status = require_one(&s);
  if (status != SPARC_OK) {
    cli_message(work->who, "%s", sparc_error());
    return cli_exit_code(status);
  }
  for (int i = 0; i < s.count; i++) s.score[i] = NAN;
  const exit_code code = cli_jobs_run(work->who, &jobs);
  *scores = scores_of(&s);
  return code;
}
