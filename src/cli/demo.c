/* SPDX-License-Identifier: MIT */
/* demo.c: `sparc demo`: the grid of the paper's Figure 1, cells on diagnostic tasks, in a fresh folder: run, table,
 * figures and page of `sparc lab` in one command. */
#include "base/error.h"
#include "base/threads.h"
#include "cli/lab/lab.h"
#include "cli/settings.h"
#include "io/folder_file.h"
#include "io/settings_rows.h"
#include "lab/grid/demo_grid.h"
#include "lab/grid/report.h"
#include "sparc/cell.h"
#include "sparc/tasks.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- settings ------------------------------------------------------------------------------------ */

typedef struct demo_settings {
  const char *cells, *tasks; /* lists separated by commas */
  int all_cells;
  const char *variant, *options;
  uint64_t seed;
  int seeds, threads;
  long updates;
  const char *folder;
  uint64_t given;
} demo_settings;

#define SETTING_STRUCT demo_settings
static const setting demo_rows[] = {
    {"cells", NULL, TEXT(cells), DEFAULT("sparc,rtu,rglru"), OVERRIDES("all-cells")},
    {"all-cells", NULL, FLAG(all_cells), OVERRIDES("cells")},
    {"tasks", NULL, TEXT(tasks), DEFAULT("event-order,tracking")},
    {"variant", NULL, TEXT(variant)},
    {"cell-options", NULL, TEXT(options), OLD("options")},
    {"seed", NULL, SEED(seed), DEFAULT("0")},
    {"seeds", NULL, INT(seeds, 1, 1000), DEFAULT("1")},
    {"updates", NULL, LONG(updates, 1, 1000000)},
    {"threads", NULL, INT(threads, 1, THREADS_MAX)},
    {"out", NULL, TEXT(folder)},
};

static const settings_table demo_table = SETTINGS_TABLE(demo_rows);

static const char experiment[] = "Experiment:";

static const cli_option demo_options[] = {
    {"cells", 'c', experiment, "A,B", .help = "Train these cells"},
    {"all-cells", 'a', experiment, NULL, .help = "Train every cell"},
    {"tasks", 't', experiment, "A,B", .help = "Train on these tasks"},
    {"variant", 0, experiment, "NAME", .help = "Train this variant of the cells that have variants"},
    {"cell-options", 0, experiment, "LIST",
     .help = "Train the cells with these options, key=value,..., instead of the paper's"},
    {"seed", 's', experiment, "N", .help = "First seed"},
    {"seeds", 'n', experiment, "N", .help = "Train with N seeds, counted from the first"},
    {"updates", 'u', experiment, "N", .help = "Stop after N updates (default: those of the task, 1200 and 450)"},
    {"threads", 'T', experiment, "N", .help = "Train up to N runs at a time (default: the number of processors)"},
    {"out", 'o', "Run:", "DIR",
     .help = "Write report and runs to DIR, which must be new or empty (default: report, report-2, ...)"},
    {.name = NULL},
};

static const char doc[] =
    "Train cells on the diagnostic tasks, print their scores beside the paper's, and write a report with figures."
    "\vDIR gets index.html and the folder figure1, an experiment of `sparc lab`: its runs, and figures/ with *.csv, "
    "*.gp "
    "and *.svg. Without gnuplot the report has charts, but no drawings.\n\n"
    "Exit status: 0 done, 1 a run failed or the report could not be written, 2 usage, 130 interrupted, with what was "
    "finished written.";

/* ---- names -------------------------------------------------------------------------------------- */

enum { MAX_NAMES = 16 };

/* cuts a list of names at its commas and checks each; the names found are those of `known` */
static sparc_status choose(const char *what, const char *list, const char *const *known, const char **chosen) {
  char copy[512], *rest = copy;
  int count = 0;
  if (snprintf(copy, sizeof copy, "%s", list) >= (int)sizeof copy)
    return fail(SPARC_INVALID, "the list of %ss is too long", what);
  for (char *name; (name = strsep(&rest, ",")) != NULL;) {
    int k = 0;
    while (known[k] && strcmp(known[k], name) != 0) k++;
    if (!known[k]) return unknown_name(what, name, known);
    for (int i = 0; i < count; i++)
      if (chosen[i] == known[k]) return fail(SPARC_INVALID, "%s '%s' is named twice", what, name);
    if (count == MAX_NAMES) return fail(SPARC_INVALID, "more than %d names of a %s", MAX_NAMES, what);
    chosen[count++] = known[k];
  }
  chosen[count] = NULL;
  return SPARC_OK;
}

static sparc_status make_grid(const demo_settings *s, grid *g) {
  const char *cells[MAX_NAMES + 1], *tasks[MAX_NAMES + 1];
  sparc_status status = choose("task", s->tasks, sparc_task_names(), tasks);
  if (status == SPARC_OK) status = choose("cell", s->cells, sparc_cell_kinds(), cells);
  if (status != SPARC_OK) return status;
  return demo_grid(&(demo_request){.cells = s->all_cells ? sparc_cell_kinds() : cells,
                                   .tasks = tasks,
                                   .variant = s->variant,
                                   .options = s->options,
                                   .seed = s->seed,
                                   .seeds = s->seeds,
                                   .updates = s->updates},
                   g);
}

/* ---- the folder ---------------------------------------------------------------------------------- */

/* a folder that does not exist yet is made; one that does must be empty */
static sparc_status begin_folder(const char *folder) {
  struct dirent **entries = NULL;
  const sparc_status status = *folder ? make_folders(folder) : fail(SPARC_INVALID, "the name of the folder is empty");
  if (status != SPARC_OK) return status;
  const int count = scandir(folder, &entries, NULL, NULL);
  for (int i = 0; i < count; i++) free(entries[i]);
  free(entries);
  if (count < 0) return fail(SPARC_IO, "cannot list '%.200s': %s", folder, strerror(errno));
  return count <= 2 ? SPARC_OK : fail(SPARC_INVALID, "the folder '%.200s' is not empty; --out takes a new one", folder);
}

/* report, report-2, ...: the first that does not exist */
static sparc_status begin_usual_folder(char folder[CLI_PATH]) {
  enum { MOST = 10000 };
  snprintf(folder, CLI_PATH, "report");
  for (int i = 2; mkdir(folder, 0777) != 0; i++) {
    if (errno != EEXIST || i > MOST)
      return fail(SPARC_IO, "cannot make the folder '%.200s': %s", folder, strerror(errno));
    snprintf(folder, CLI_PATH, "report-%d", i);
  }
  return SPARC_OK;
}

/* ---- results ------------------------------------------------------------------------------------- */

static int finished_runs(const grid_results *r) {
  int count = 0;
  for (int i = 0; i < r->jobs->chosen.tasks * r->jobs->chosen.methods; i++) count += r->field[i].count[JOB_DONE];
  return count;
}

static sparc_status write_page(const grid_results *r, const grid_drawing *drawing, const char *path) {
  html_page page;
  sparc_status status = lab_report_begin(&page, path);
  if (status != SPARC_OK) return status;
  status = lab_report_add(&page, r, drawing);
  if (status == SPARC_OK) return lab_report_end(&page);
  html_abandon(&page);
  return status;
}

/* table, figures and page, and where they are */
static sparc_status present(const lab_options *o, const grid_results *r, grid_drawing *drawing) {
  char path[CLI_PATH + 16];
  snprintf(path, sizeof path, "%s/index.html", o->out);
  if (!o->json) lab_print_scores(r);
  sparc_status status = grid_figures_draw(r, drawing);
  if (status == SPARC_OK) status = write_page(r, drawing, path);
  if (status != SPARC_OK) return status;
  if (*drawing->reason && !o->quiet) cli_message(o->who, "figures are missing: %s", drawing->reason);
  if (!o->json)
    printf("\nreport: %s (%d figures)\n", path, drawing->figures);
  else if (!o->quiet)
    cli_message(o->who, "the report is %s", path);
  return SPARC_OK;
}

static exit_code show_results(const lab_options *o, const grid_jobs *jobs) {
  grid_results r;
  grid_drawing drawing = {.figures = 0};
  sparc_status status = grid_results_read(jobs, &r);
  const int finished = status == SPARC_OK ? finished_runs(&r) : 0;
  if (finished > 0) status = present(o, &r, &drawing);
  if (status != SPARC_OK) cli_message(o->who, "%s", sparc_error());
  if (interrupt_requested())
    cli_message(o->who, "interrupted with %d of %d runs finished; `sparc lab run %s` continues", finished, jobs->count,
                jobs->folder);
  grid_drawing_free(&drawing);
  grid_results_free(&r);
  return cli_exit_code(status);
}

/* ---- the command -------------------------------------------------------------------------------- */

static exit_code train(const lab_options *o, const grid *g) {
  selection all;
  grid_jobs jobs = {.g = NULL};
  sparc_status status = selection_make(g, &(selection_request){.path = NULL}, &all);
  if (status == SPARC_OK) status = grid_jobs_create(g, &all, &(grid_scope){.out = o->out, .scale = 1}, &jobs);
  exit_code code = cli_exit_code(status);
  if (status == SPARC_OK) {
    code = lab_run(o, &jobs);
    const exit_code shown = show_results(o, &jobs);
    if (code == EXIT_DONE) code = shown;
  } else {
    cli_message(o->who, "%s", sparc_error());
  }
  grid_jobs_free(&jobs);
  return code;
}

static exit_code demo(const char *who, const demo_settings *s, const tool_settings *tool) {
  char folder[CLI_PATH];
  lab_options o = {.out = s->folder ? s->folder : folder,
                   .scale = 1,
                   .threads = s->threads,
                   .json = tool->json,
                   .quiet = tool->quiet,
                   .progress = (progress_style)tool->progress};
  snprintf(o.who, sizeof o.who, "%s", who);
  grid g;
  sparc_status status = make_grid(s, &g);
  exit_code code = cli_exit_code(status);
  if (status == SPARC_OK) {
    status = s->folder ? begin_folder(s->folder) : begin_usual_folder(folder);
    if (status != SPARC_OK) code = status == SPARC_INVALID ? EXIT_USAGE : EXIT_FAILED;
  }
  if (status == SPARC_OK)
    code = train(&o, &g);
  else
    cli_message(who, "%s", sparc_error());
  grid_free(&g);
  return code;
}

static exit_code run_demo(int argc, char **argv) {
  demo_settings s = {.cells = NULL};
  tool_settings tool = {.config = NULL};
  const settings_binding binding = {
      .part = {{.table = &demo_table, .at = &s, .given = &s.given},
               {.table = &tool_table, .at = &tool, .given = &tool.given, .without = "config"}}};
  cli_sources *sources;
  const sparc_status status = cli_settings_read(
      argc, argv, &(cli_usage){.options = {demo_options, tool_options}, .doc = doc}, &binding, &sources);
  exit_code code = cli_exit_code(status);
  if (status == SPARC_OK) {
    settings_fill_defaults(&binding, DEFAULT_DATA);
    code = demo(argv[0], &s, &tool);
  } else {
    cli_message(argv[0], "%s", sparc_error());
  }
  cli_sources_free(sources);
  return code;
}

const cli_command command_demo = {"demo", "train cells on the diagnostic tasks and write a report", NULL, run_demo,
                                  CLI_ONE_RANK};
