/* SPDX-License-Identifier: MIT */
/* lab_each.c: finished runs in other folders, and visits of all experiments of a results folder. */
#include "cli/lab/lab.h"
#include "io/folder_file.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- runs elsewhere ------------------------------------------------------------------------------ */

sparc_status lab_find_runs(const lab_options *o, grid_jobs *jobs) {
  const sparc_status status = grid_jobs_find(jobs, o->results, o->more_results);
  if (status != SPARC_OK) return status;
  char sentence[3 * JOB_TEXT];
  for (int i = 0; i < jobs->count; i++)
    if (job_compare(jobs, &jobs->job[i], sentence)) cli_message(o->who, "warning: %s; the first is used", sentence);
  return SPARC_OK;
}

/* ---- all experiments of a folder ----------------------------------------------------------------- */

static sparc_status visit_folder(const lab_options *o, const char *folder, lab_visit visit, void *user) {
  grid g;
  grid_scope scope = {.out = o->out};
  grid_jobs jobs = {.g = NULL};
  selection all;
  sparc_status status = grid_folder_open(folder, &g, &scope);
  if (status == SPARC_OK) status = selection_make(&g, &(selection_request){.path = NULL}, &all);
  if (status == SPARC_OK) status = grid_jobs_create(&g, &all, &scope, &jobs);
  if (status == SPARC_OK) status = grid_jobs_check(&jobs);
  if (status == SPARC_OK) status = lab_find_runs(o, &jobs);
  if (status == SPARC_OK) status = visit(user, &jobs);
  grid_jobs_free(&jobs);
  grid_free(&g);
  return status;
}

sparc_status lab_find_grid(const char *folder, bool *found) {
  char file[CLI_PATH + 16];
  snprintf(file, sizeof file, "%s/lab.json", folder);
  return folder_file_find(file, found);
}

/* an experiment's folder and its position in the order of visits */
typedef struct experiment {
  char folder[CLI_PATH];
  int position, index;
} experiment;

static int by_position(const void *a, const void *b) {
  const experiment *x = a, *y = b;
  return x->position != y->position ? x->position - y->position : x->index - y->index;
}

/* a grid that cannot be read comes first; the visit reports why */
static int position_of(const char *folder, lab_position position) {
  grid g;
  grid_scope scope = {.scale = 1};
  const int found = grid_folder_open(folder, &g, &scope) == SPARC_OK ? position(&g, &scope) : -1;
  grid_free(&g);
  return found;
}

/* Lists the experiments among the folder's entries; returns their number, and in *code the last failure. */
static int list_experiments(const lab_options *o, struct dirent *const *entries, int count, lab_position position,
                            experiment *out, exit_code *code) {
  int experiments = 0;
  for (int i = 0; i < count; i++) {
    experiment *e = &out[experiments];
    bool found = false;
    snprintf(e->folder, sizeof e->folder, "%s/%s", o->out, entries[i]->d_name);
    const sparc_status status = lab_find_grid(e->folder, &found);
    if (status != SPARC_OK) {
      cli_message(o->who, "%s", sparc_error());
      *code = cli_exit_code(status);
    }
    if (!found) continue;
    e->index = experiments++;
    e->position = position ? position_of(e->folder, position) : 0;
  }
  qsort(out, (size_t)experiments, sizeof *out, by_position);
  return experiments;
}

exit_code lab_each(const lab_options *o, lab_position position, lab_visit visit, void *user, int *visited) {
  struct dirent **entries = NULL;
  const int count = scandir(o->out, &entries, NULL, alphasort);
  exit_code code = EXIT_DONE;
  *visited = 0;
  if (count < 0 && errno != ENOENT) {
    cli_message(o->who, "cannot list '%s': %s", o->out, strerror(errno));
    return EXIT_INPUT;
  }
  experiment *list = calloc(count > 0 ? (size_t)count : 1, sizeof *list);
  if (list) *visited = list_experiments(o, entries, count, position, list, &code);
  for (int i = 0; i < *visited; i++) {
    const sparc_status status = visit_folder(o, list[i].folder, visit, user);
    if (status == SPARC_OK) continue;
    cli_message(o->who, "%s", sparc_error());
    code = cli_exit_code(status);
  }
  if (!list) {
    cli_message(o->who, "no memory for a list of experiments");
    code = EXIT_FAILED;
  } else if (*visited == 0) {
    cli_message(o->who, "there are no results in '%s'", o->out);
  }
  for (int i = 0; i < count; i++) free(entries[i]);
  free(entries);
  free(list);
  return code;
}
