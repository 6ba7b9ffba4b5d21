/* SPDX-License-Identifier: MIT */
/* lab_export.c: `sparc lab export`: copies results, score logs and diagnoses of finished runs to another folder. */
#include "base/error.h"
#include "cli/lab/lab.h"
#include "io/json.h"
#include "lab/grid/diagnostics.h"

#include <string.h>

/* writes lab.json, so that the destination is a results folder */
static sparc_status write_grid(const grid_jobs *jobs, const char *to) {
  grid_jobs there = *jobs;
  there.scope.out = to;
  const int length = snprintf(there.folder, sizeof there.folder, "%s%s", to, strrchr(jobs->folder, '/'));
  if (length >= (int)sizeof there.folder) return fail(SPARC_INVALID, "the name of folder '%.200s' is too long", to);
  return grid_jobs_write(&there);
}

typedef struct tally {
  int written, there, unfinished, diagnoses;
  exit_code worst;
} tally;

static void export_job(const lab_options *o, const grid_jobs *jobs, const grid_job *job, tally *t) {
  job_report report;
  bool written = false, diagnosed = false;
  sparc_status status = job_inspect(job, &report);
  if (status == SPARC_OK && report.state != JOB_DONE) {
    t->unfinished++;
    return;
  }
  if (status == SPARC_OK) status = job_export(jobs, job, o->to, o->commit, &written);
  if (status == SPARC_OK) status = grid_diagnosis_export(jobs, job, o->to, &diagnosed);
  t->diagnoses += diagnosed;
  t->written += status == SPARC_OK && written;
  t->there += status == SPARC_OK && !written;
  if (status == SPARC_OK && written && o->json)
    cli_json_line(o->who, json_pack("{s:s, s:o}", "job", job->name, "to", json_text(o->to)));
  if (status == SPARC_OK) return;
  cli_message(o->who, "%s: %s", job->name, sparc_error());
  if (t->worst == EXIT_DONE) t->worst = status == SPARC_NO_MEMORY ? EXIT_FAILED : EXIT_INPUT;
}

exit_code lab_export(const lab_options *o, const grid_jobs *jobs) {
  tally t = {.worst = EXIT_DONE};
  const sparc_status status = write_grid(jobs, o->to);
  if (status != SPARC_OK) {
    cli_message(o->who, "%s", sparc_error());
    return EXIT_FAILED;
  }
  for (int i = 0; i < jobs->count; i++) export_job(o, jobs, &jobs->job[i], &t);
  if (!o->json && !o->quiet)
    printf("%d runs and %d diagnoses exported to %s, %d runs already there, %d not finished\n", t.written, t.diagnoses,
           o->to, t.there, t.unfinished);
  return t.worst;
}
