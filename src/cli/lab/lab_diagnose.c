/* SPDX-License-Identifier: MIT */
/* lab_diagnose.c: `sparc lab diagnose`: diagnoses of an experiment's trained cells, stored beside its runs, and their
 * tables. */
#include "base/error.h"
#include "cli/lab/lab.h"
#include "io/json.h"
#include "lab/diagnose/tables.h"
#include "lab/grid/diagnostics.h"

#include <math.h>

typedef struct tally {
  int made, there, unfinished;
  exit_code worst;
} tally;

static void report_file(const lab_options *o, const grid_jobs *jobs, const grid_job *job, progress *shown) {
  char path[JOB_PATH];
  grid_diagnosis_file(jobs, job, path);
  if (o->json) {
    cli_json_line(o->who, json_pack("{s:s, s:o}", "job", job->name, "file", json_text(path)));
    fflush(stdout);
  } else if (!o->quiet) {
    progress_note(shown, "%s", job->name);
  }
}

static void diagnose_job(const lab_options *o, const grid_jobs *jobs, const grid_job *job, progress *shown, tally *t) {
  job_report report;
  bool found = false;
  replay_options options = replay_defaults();
  options.threads = o->threads;
  options.plugins = o->plugin;
  sparc_status status = job_inspect(job, &report);
  if (status == SPARC_OK) status = grid_diagnosis_find(jobs, job, &found);
  if (status == SPARC_OK && report.state != JOB_DONE) {
    t->unfinished++;
  } else if (status == SPARC_OK && found) {
    t->there++;
  } else if (status == SPARC_OK && (status = grid_diagnose(jobs, job, &options)) == SPARC_OK) {
    t->made++;
    report_file(o, jobs, job, shown);
  }
  if (status == SPARC_OK) return;
  cli_message(o->who, "%s: %s", job->name, sparc_error());
  if (t->worst == EXIT_DONE) t->worst = cli_exit_code(status);
}

static void print_summary(const lab_options *o, const grid_jobs *jobs, const tally *t) {
  if (o->json || o->quiet || o->format_name) return;
  printf("%d runs diagnosed, %d already done", t->made, t->there);
  if (t->unfinished) printf(", %d runs are not finished", t->unfinished);
  printf("; results in %s/diagnostics, shown by `sparc lab report`\n", jobs->folder);
}

/* tables of all diagnoses that there are */
static sparc_status print_tables(const lab_options *o, const grid_jobs *jobs) {
  grid_diagnoses d;
  diagnosis_tables tables = {.count = 0};
  sparc_status status = grid_diagnoses_read(jobs, &d);
  if (status != SPARC_OK) return status;
  status = diagnosis_tables_create(d.run, d.count, &tables);
  if (status == SPARC_OK) status = diagnosis_print(stdout, o->format, NULL, 0, &tables);
  diagnosis_tables_free(&tables);
  grid_diagnoses_free(&d);
  return status;
}

exit_code lab_diagnose(const lab_options *o, const grid_jobs *jobs) {
  tally t = {.worst = EXIT_DONE};
  int of = 0, done = 0;
  for (int i = 0; i < jobs->count; i++) of += grid_is_diagnosed(jobs, &jobs->job[i]);
  if (of == 0) {
    cli_message(o->who, "%s has no trained runs to diagnose", jobs->g->name);
    return EXIT_USAGE;
  }
  interrupt_catch();
  progress *shown = progress_start(o->quiet ? PROGRESS_NONE : o->progress, jobs->g->name, 0, of);
  for (int i = 0; i < jobs->count && !interrupt_requested(); i++) {
    if (!grid_is_diagnosed(jobs, &jobs->job[i])) continue;
    progress_step(shown, done++, NAN, jobs->job[i].name);
    diagnose_job(o, jobs, &jobs->job[i], shown, &t);
  }
  progress_finish(shown);
  print_summary(o, jobs, &t);
  if (o->format_name && !interrupt_requested()) {
    const sparc_status status = print_tables(o, jobs);
    if (status != SPARC_OK) cli_message(o->who, "%s", sparc_error());
    if (status != SPARC_OK && t.worst == EXIT_DONE) t.worst = cli_exit_code(status);
  }
  return interrupt_requested() ? EXIT_INTERRUPTED : t.worst;
}
