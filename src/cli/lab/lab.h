/* SPDX-License-Identifier: MIT */
/* lab.h: what the verbs of `sparc lab` share. */
#ifndef SPARC_CLI_LAB_LAB_H
#define SPARC_CLI_LAB_LAB_H

#include "cli/cli.h"
#include "cli/progress.h"
#include "lab/grid/estimate.h"
#include "lab/grid/table.h"

enum { LAB_RESULTS = 16 };

/* how `sparc lab jobs` writes its list */
typedef enum lab_jobs_format { JOBS_PARALLEL, JOBS_SLURM, JOBS_MAKE, JOBS_JSON } lab_jobs_format;

typedef struct lab_options {
  char who[32]; /* opens messages: "sparc lab run" */
  const char *target;
  const char *out;
  const char *results[LAB_RESULTS]; /* more folders of results, which are only read */
  int more_results;
  const char *to, *commit; /* of an export: where to, and the build that made what does not say */
  selection_request request;
  double scale;
  bool match_params;
  int jobs, threads;       /* 0: as many as there are processors */
  double memory_mb;        /* 0: no limit */
  const char *format_name; /* NULL: the usual */
  table_format format;     /* of tables */
  lab_jobs_format jobs_format;
  const char *scale_text, *out_text; /* as they were given; NULL: they were not */
  const char *numbers;               /* of the jobs to run, as "3,7-9"; NULL: all */
  int chunk;                         /* of a list of jobs: runs of one entry; 0: the usual */
  bool retry, dry_run, runs, json, quiet;
  bool summary;                        /* of a run: what is done in the end, and what to type next */
  const char *plugin[CLI_PLUGINS + 1]; /* that the grid and its agents may name; ends with NULL */
  progress_style progress;
} lab_options;

/* the verbs that work on a part of a grid */
exit_code lab_run(const lab_options *options, const grid_jobs *jobs);
exit_code lab_plan(const lab_options *options, const grid_jobs *jobs);
exit_code lab_jobs(const lab_options *options, const grid_jobs *jobs);
exit_code lab_status(const lab_options *options, const grid_jobs *jobs);
exit_code lab_table(const lab_options *options, const grid_jobs *jobs);
exit_code lab_figure(const lab_options *options, const grid_jobs *jobs);
exit_code lab_diagnose(const lab_options *options, const grid_jobs *jobs);
exit_code lab_report(const lab_options *options, const grid_jobs *jobs);
exit_code lab_export(const lab_options *options, const grid_jobs *jobs);

/* lab_estimate says what runs take by task and method: from finished runs or, where there are none, by a probe on this
 * machine with so many threads */
exit_code lab_estimate(const lab_options *options, const grid_jobs *jobs, int threads,
                       job_cost *costs /* (tasks, methods) */);

/* lab_print_scores prints the table of scores */
void lab_print_scores(const grid_results *r);

/* those that work on all experiments in the folder of results */
exit_code lab_status_of_all(const lab_options *options);
exit_code lab_report_of_all(const lab_options *options);

/* lab_each visits these experiments, every one whole; what fails is told of, and the rest goes on. *visited says how
 * many there were. */
typedef sparc_status (*lab_visit)(void *user, const grid_jobs *jobs);
exit_code lab_each(const lab_options *options, lab_visit visit, void *user, int *visited);

/* lab_arguments is the command line of a job's command, its folder and its settings in the files named; `room` holds
 * what has to be put together. A plugin of the grid has been permitted, and the command is told so. */
enum { LAB_ARGUMENTS = 18 };
typedef struct lab_buffers {
  char threads[16], seconds[32], problem[GRID_PROBLEM];
} lab_buffers;
sparc_status lab_arguments(const grid_job *job, const char *folder, const char *settings, int threads,
                           lab_buffers *buffers, char *arguments[LAB_ARGUMENTS]);

/* lab_become makes this process the job's command: what it prints goes to `out`, what it says to a log. Returns only
 * if that fails or a signal has asked to stop. */
exit_code lab_become(char *const *arguments, int out, const char *log);

/* lab_last_line is the last line of a file that says something; false: there is none */
bool lab_last_line(const char *path, char text[JOB_TEXT]);

#endif
