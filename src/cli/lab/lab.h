/* SPDX-License-Identifier: MIT */
/* lab.h: options and functions shared by the verbs of `sparc lab`. */
#ifndef SPARC_CLI_LAB_LAB_H
#define SPARC_CLI_LAB_LAB_H

#include "cli/cli.h"
#include "cli/progress.h"
#include "lab/grid/estimate.h"
#include "lab/grid/table.h"

enum { LAB_RESULTS = 16 };

/* output of `sparc lab jobs` */
typedef enum lab_jobs_format { JOBS_PARALLEL, JOBS_SLURM, JOBS_MAKE, JOBS_JSON } lab_jobs_format;

typedef struct lab_options {
  char who[32]; /* prefix of messages: "sparc lab run" */
  const char *target;
  const char *out;
  const char *results[LAB_RESULTS]; /* additional results folders, read only */
  int more_results;
  const char *to, *commit; /* export: destination, and commit of runs that do not record theirs */
  selection_request request;
  double scale;
  bool match_params;
  int jobs, threads;       /* 0: number of processors */
  double memory_mb;        /* 0: no limit */
  const char *format_name; /* NULL: default */
  table_format format;     /* of tables */
  lab_jobs_format jobs_format;
  const char *scale_text, *out_text; /* as given; NULL: default */
  const char *numbers;               /* job numbers to run, "3,7-9"; NULL: all */
  int chunk;                         /* runs per entry of a job list; 0: default */
  bool retry, dry_run, runs, json, quiet;
  bool summary;                        /* print a summary and the next command after a run */
  const char *plugin[CLI_PLUGINS + 1]; /* permitted plugins, NULL-terminated */
  progress_style progress;
} lab_options;

/* verbs that work on selected runs of a grid */
exit_code lab_run(const lab_options *options, const grid_jobs *jobs);
exit_code lab_plan(const lab_options *options, const grid_jobs *jobs);
exit_code lab_jobs(const lab_options *options, const grid_jobs *jobs);
exit_code lab_status(const lab_options *options, const grid_jobs *jobs);
exit_code lab_table(const lab_options *options, const grid_jobs *jobs);
exit_code lab_figure(const lab_options *options, const grid_jobs *jobs);
exit_code lab_diagnose(const lab_options *options, const grid_jobs *jobs);
exit_code lab_report(const lab_options *options, const grid_jobs *jobs);
exit_code lab_export(const lab_options *options, const grid_jobs *jobs);

/* Estimates the cost of a run per task and method: from finished runs or, without any, from a short trial on this
 * machine with this number of threads. */
exit_code lab_estimate(const lab_options *options, const grid_jobs *jobs, int threads,
                       job_cost *costs /* (tasks, methods) */);

/* prints the table of scores */
void lab_print_scores(const grid_results *r);

/* verbs that work on all experiments of the results folder */
exit_code lab_status_of_all(const lab_options *options);
exit_code lab_report_of_all(const lab_options *options);

/* Finds finished runs in other folders, and warns of those that disagree with the run that is used. */
sparc_status lab_find_runs(const lab_options *options, grid_jobs *jobs);

/* whether a folder contains an experiment (lab.json) */
sparc_status lab_find_grid(const char *folder, bool *found);

/* Visits every experiment of the results folder and of the folders of --results, each name once, in order of `position`
 * (ascending; NULL: all equal), then of folders and names. Failures are reported and the remaining experiments are
 * visited. *visited is the number of experiments. */
typedef sparc_status (*lab_visit)(void *user, const grid_jobs *jobs);
typedef int (*lab_position)(const grid *g, const grid_scope *scope);
exit_code lab_each(const lab_options *options, lab_position position, lab_visit visit, void *user, int *visited);

/* Builds the command line of a job, which runs in `folder` with the settings file `settings`. `buffers` holds generated
 * strings. Plugins must have been permitted before; the command line contains --plugin. */
enum { LAB_ARGUMENTS = 18 };
typedef struct lab_buffers {
  char threads[16], seconds[32], problem[GRID_PROBLEM];
} lab_buffers;
sparc_status lab_arguments(const grid_job *job, const char *folder, const char *settings, int threads,
                           lab_buffers *buffers, char *arguments[LAB_ARGUMENTS]);

/* Replaces this process by the job's command (exec), with standard output to `out` and standard error to the log file.
 * Returns only on failure or if a stop was requested. */
exit_code lab_become(char *const *arguments, int out, const char *log);

/* Reads the last non-empty line of a file; false: there is none. */
bool lab_last_line(const char *path, char text[JOB_TEXT]);

#endif
