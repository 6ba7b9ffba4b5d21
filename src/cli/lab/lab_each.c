/* SPDX-License-Identifier: MIT */
/* lab_each.c: finished runs in other folders, and visits of all experiments of the results folders. */
#include "base/error.h"
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

/* ---- all experiments of the folders --------------------------------------------------------------- */

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

typedef struct experiment_list {
  experiment *at;
  int count;
} experiment_list;

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

/* whether an earlier folder has an experiment of this name */
static bool is_listed(const experiment_list *list, const char *name) {
  for (int i = 0; i < list->count; i++)
    if (strcmp(strrchr(list->at[i].folder, '/') + 1, name) == 0) return true;
  return false;
}

static sparc_status list_entry(experiment_list *list, const char *root, const char *name, lab_position position) {
  experiment e = {.index = list->count};
  bool found = false;
  if (is_listed(list, name) || snprintf(e.folder, sizeof e.folder, "%s/%s", root, name) >= (int)sizeof e.folder)
    return SPARC_OK;
  const sparc_status status = lab_find_grid(e.folder, &found);
  if (status != SPARC_OK || !found) return status;
  /* the capacity doubles when the count is a power of two */
  if ((list->count & (list->count - 1)) == 0) {
    experiment *larger = realloc(list->at, (list->count ? 2 * (size_t)list->count : 1) * sizeof *larger);
    if (!larger) return fail(SPARC_NO_MEMORY, "no memory for a list of experiments");
    list->at = larger;
  }
  e.position = position ? position_of(e.folder, position) : 0;
  list->at[list->count++] = e;
  return SPARC_OK;
}

/* adds the experiments of a results folder; *code: the last failure */
static void list_folder(const lab_options *o, experiment_list *list, const char *root, lab_position position,
                        exit_code *code) {
  struct dirent **entries = NULL;
  const int count = scandir(root, &entries, NULL, alphasort);
  if (count < 0 && errno != ENOENT) {
    cli_message(o->who, "cannot list '%s': %s", root, strerror(errno));
    *code = EXIT_INPUT;
  }
  for (int i = 0; i < count; i++) {
    const sparc_status status = list_entry(list, root, entries[i]->d_name, position);
    if (status != SPARC_OK) {
      cli_message(o->who, "%s", sparc_error());
      *code = cli_exit_code(status);
    }
    free(entries[i]);
  }
  free(entries);
}

exit_code lab_each(const lab_options *o, lab_position position, lab_visit visit, void *user, int *visited) {
  exit_code code = EXIT_DONE;
  experiment_list list = {.count = 0};
  list_folder(o, &list, o->out, position, &code);
  for (int i = 0; i < o->more_results; i++) list_folder(o, &list, o->results[i], position, &code);
  if (list.count > 0) qsort(list.at, (size_t)list.count, sizeof *list.at, by_position);
  for (int i = 0; i < list.count; i++) {
    const sparc_status status = visit_folder(o, list.at[i].folder, visit, user);
    if (status == SPARC_OK) continue;
    cli_message(o->who, "%s", sparc_error());
    code = cli_exit_code(status);
  }
  if (list.count == 0 && code == EXIT_DONE) cli_message(o->who, "there are no results in '%s'", o->out);
  *visited = list.count;
  free(list.at);
  return code;
}
