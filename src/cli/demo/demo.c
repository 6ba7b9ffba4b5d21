/* SPDX-License-Identifier: MIT */
/* demo.c: `sparc demo`: train cells on the two diagnostic tasks and show what they can and cannot do.
 *
 * Four parts: run.c trains, figures.c writes data and scripts, report.c makes the table and the page,
 * and this file has the options and what is said meanwhile.
 */
#include "base/error.h"
#include "base/threads.h"
#include "cli/cli.h"
#include "cli/demo/figures.h"
#include "cli/demo/report.h"
#include "cli/progress.h"

#include <stdlib.h>
#include <string.h>

typedef struct demo_settings {
  char *cells, *tasks; /* lists separated by commas; NULL: the defaults */
  bool all_cells, json, quiet;
  int seeds, updates, threads;
  const char *folder;
  progress_style style;
} demo_settings;

/* ---- options ------------------------------------------------------------------------------------ */

enum { KEY_ALL_CELLS = 'a', KEY_CELLS = 'c', KEY_TASKS = 't', KEY_SEEDS = 'n', KEY_UPDATES = 'u', KEY_PROGRESS = 'p' };

static const struct argp_option demo_options[] = {
    {"seeds", KEY_SEEDS, "N", 0, "Train with the seeds 0 to N-1 (default: 1, seed 0 alone)", 0},
    {"cells", KEY_CELLS, "A,B", 0, "Train these cells (default: sparc,rtu,rglru)", 0},
    {"all-cells", KEY_ALL_CELLS, NULL, 0, "Train every cell", 0},
    {"tasks", KEY_TASKS, "A,B", 0, "Train on these tasks (default: event-order,tracking)", 0},
    {"updates", KEY_UPDATES, "N", 0, "Stop after N updates (default: what the task says, 1200 and 450)", 0},
    {"threads", 'T', "N", 0, "Train up to N runs at a time (default: as many as there are processors)", 0},
    {"out", 'o', "DIR", 0, "Put the report into DIR (default: report)", 0},
    {"json", 'j', NULL, 0, "Print one JSON object per run instead of the table", 0},
    {"quiet", 'q', NULL, 0, "Print no progress and no remarks", 0},
    {"progress", KEY_PROGRESS, "HOW", 0, "Show progress as auto (default), plain or none", 0},
    {0}};

static progress_style parse_style(const struct argp_state *state, const char *text) {
  static const char *const names[] = {
      [PROGRESS_AUTO] = "auto", [PROGRESS_PLAIN] = "plain", [PROGRESS_NONE] = "none", NULL};
  for (int i = 0; names[i]; i++)
    if (strcmp(names[i], text) == 0) return (progress_style)i;
  (void)unknown_name("value of --progress", text, names);
  argp_error(state, "%s", sparc_error());
  return PROGRESS_AUTO;
}

static error_t parse_demo(int key, char *argument, struct argp_state *state) {
  enum { MOST_SEEDS = 1000, MOST_UPDATES = 1000000 };
  demo_settings *settings = state->input;
  switch (key) {
    case KEY_SEEDS:
      return cli_parse_int(state, "seeds", argument, 1, MOST_SEEDS, &settings->seeds);
    case KEY_CELLS:
      settings->cells = argument;
      return 0;
    case KEY_ALL_CELLS:
      settings->all_cells = true;
      return 0;
    case KEY_TASKS:
      settings->tasks = argument;
      return 0;
    case KEY_UPDATES:
      return cli_parse_int(state, "updates", argument, 1, MOST_UPDATES, &settings->updates);
    case 'T':
      return cli_parse_int(state, "threads", argument, 1, THREADS_MAX, &settings->threads);
    case 'o':
      settings->folder = argument;
      return 0;
    case 'j':
      settings->json = true;
      return 0;
    case 'q':
      settings->quiet = true;
      return 0;
    case KEY_PROGRESS:
      settings->style = parse_style(state, argument);
      return 0;
    case ARGP_KEY_ARG:
      argp_error(state, "unexpected argument '%s'", argument);
      return 0;
    case ARGP_KEY_END:
      if (settings->all_cells && settings->cells) argp_error(state, "--cells and --all-cells exclude each other");
      return 0;
    default:
      return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp demo_argp = {
    .options = demo_options,
    .parser = parse_demo,
    .doc =
        "Train cells on the two diagnostic tasks, print their scores beside the paper's, and write a report with "
        "figures."
        "\vDIR gets index.html, results.jsonl, data/*.csv, and *.gp and *.svg for each figure. Without gnuplot the "
        "report has no figures.\n\n"
        "Exit status: 0 done, 1 the report could not be written, 2 usage, 4 a run met a number that is not finite, "
        "130 interrupted, with what was finished written.",
};

/* ---- names -------------------------------------------------------------------------------------- */

/* cuts a list of names at its commas and checks each; the names found are those of `known` */
static sparc_status choose(const char *what, char *list, const char *const *known, const char **chosen, int most) {
  int count = 0;
  for (char *name; (name = strsep(&list, ",")) != NULL;) {
    int k = 0;
    while (known[k] && strcmp(known[k], name) != 0) k++;
    if (!known[k]) return unknown_name(what, name, known);
    for (int i = 0; i < count; i++)
      if (chosen[i] == known[k]) return fail(SPARC_INVALID, "%s '%s' is named twice", what, name);
    if (count == most) return fail(SPARC_INVALID, "more than %d names of a %s", most, what);
    chosen[count++] = known[k];
  }
  chosen[count] = NULL;
  return SPARC_OK;
}

/* a list of everything, for choose */
static void join_names(const char *const *names, char *list, size_t size) {
  size_t used = 0;
  list[0] = '\0';
  for (; *names && used < size; names++)
    used += (size_t)snprintf(list + used, size - used, "%s%s", used ? "," : "", *names);
}

static sparc_status set_up(const demo_settings *settings, demo *d) {
  enum { LIST = 256 };
  char default_cells[LIST] = "sparc,rtu,rglru", all_tasks[LIST];
  const char *cells[DEMO_CELLS_MAX + 1], *tasks[DEMO_TASKS_MAX + 1];
  if (settings->all_cells) join_names(sparc_cell_kinds(), default_cells, sizeof default_cells);
  join_names(sparc_task_names(), all_tasks, sizeof all_tasks);
  sparc_status status =
      choose("cell", settings->cells ? settings->cells : default_cells, sparc_cell_kinds(), cells, DEMO_CELLS_MAX);
  if (status == SPARC_OK)
    status = choose("task", settings->tasks ? settings->tasks : all_tasks, sparc_task_names(), tasks, DEMO_TASKS_MAX);
  if (status != SPARC_OK) return status;
  return demo_create(tasks, cells, settings->seeds, settings->updates, settings->threads, d);
}

/* ---- what is said meanwhile ----------------------------------------------------------------------- */

typedef struct watcher {
  const demo_settings *settings;
  const char *who;
  demo *d;
  progress *shown;
  bool *told;  /* (runs): its end has been remarked */
  int printed; /* runs whose JSON line is out; they come in order */
} watcher;

static void tell_end(watcher *w, int i) {
  const demo_run *run = &w->d->run[i];
  w->told[i] = true;
  if (w->settings->quiet || atomic_load(&run->state) != RUN_DONE) return;
  progress_note(w->shown, "%-12s %-9s seed %d  %s %.4g  in %.1f s", run->task->name, demo_cell_title(run->cell),
                (int)run->seed, demo_score_label(run->task), demo_score_scale(run->task) * run->score, run->seconds);
}

/* "event-order SPARC 0.0123, event-order RTU 1.32": the training losses of the runs under way */
static void watch(void *context) {
  watcher *w = context;
  char text[256] = "";
  size_t used = 0;
  long done = 0;
  double value = 0;
  for (int i = 0; i < w->d->runs; i++) {
    const demo_run *run = &w->d->run[i];
    done += atomic_load(&run->done);
    if (run_is_over(run) && !w->told[i]) tell_end(w, i);
    if (atomic_load(&run->state) != RUN_TRAINING || used >= sizeof text) continue;
    const double loss = atomic_load(&run->recent);
    if (used == 0) value = loss;
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %s %.3g", used ? ", " : "", run->task->name,
                             demo_cell_title(run->cell), loss);
  }
  progress_step(w->shown, done, value, text);
  while (w->settings->json && w->printed < w->d->runs && run_is_over(&w->d->run[w->printed])) {
    const demo_run *run = &w->d->run[w->printed++];
    if (run_is_done(run)) cli_json_line(w->who, demo_run_json(run));
    fflush(stdout);
  }
}

static sparc_status train(const char *who, const demo_settings *settings, demo *d) {
  watcher w = {.settings = settings, .who = who, .d = d, .told = sparc_alloc((size_t)d->runs)};
  long total = 0;
  if (!w.told) return fail(SPARC_NO_MEMORY, "no memory for a list of %d runs", d->runs);
  for (int i = 0; i < d->runs; i++) total += d->run[i].updates;
  w.shown = progress_start(settings->quiet ? PROGRESS_NONE : settings->style, "demo", 0, total);
  demo_train(d, watch, &w);
  progress_finish(w.shown);
  /* watch prints in order and stops at a run that never began; those that finished behind it come now */
  for (; settings->json && w.printed < d->runs; w.printed++)
    if (run_is_done(&d->run[w.printed])) cli_json_line(who, demo_run_json(&d->run[w.printed]));
  sparc_free(w.told);
  return SPARC_OK;
}

/* ---- the command -------------------------------------------------------------------------------- */

static exit_code report_failures(const char *who, const demo *d) {
  exit_code code = EXIT_DONE;
  for (int i = 0; i < d->runs; i++) {
    const demo_run *run = &d->run[i];
    if (atomic_load(&run->state) != RUN_FAILED) continue;
    cli_message(who, "%s, %s, seed %d: %s", run->task->name, run->cell, (int)run->seed, run->error);
    if (cli_exit_code(run->status) > code) code = cli_exit_code(run->status);
  }
  return code;
}

/* table, files, and where they are */
static exit_code present(const char *who, const demo_settings *settings, const demo *d) {
  demo_drawing drawing;
  if (!settings->json) demo_print_table(d);
  if (demo_write(d, settings->folder, &drawing) != SPARC_OK) {
    cli_message(who, "%s", sparc_error());
    return EXIT_FAILED;
  }
  if (*drawing.reason && !settings->quiet) cli_message(who, "figures are missing: %s", drawing.reason);
  if (!settings->json)
    printf("\nreport: %s/index.html (%d figures)\n", settings->folder, drawing.figures);
  else if (!settings->quiet)
    cli_message(who, "the report is %s/index.html", settings->folder);
  return EXIT_DONE;
}

static exit_code run_demo(int argc, char **argv) {
  demo_settings settings = {.seeds = 1, .folder = "report"};
  if (argp_parse(&demo_argp, argc, argv, 0, NULL, &settings) != 0) return EXIT_USAGE;
  demo d;
  sparc_status status = set_up(&settings, &d);
  if (status != SPARC_OK) {
    cli_message(argv[0], "%s", sparc_error());
    return cli_exit_code(status);
  }
  interrupt_catch();
  exit_code code = EXIT_FAILED;
  if (demo_prepare_folder(settings.folder) != SPARC_OK || train(argv[0], &settings, &d) != SPARC_OK) {
    cli_message(argv[0], "%s", sparc_error());
  } else {
    code = report_failures(argv[0], &d);
    const exit_code presented = demo_finished(&d) ? present(argv[0], &settings, &d) : EXIT_DONE;
    if (code == EXIT_DONE) code = presented;
    if (interrupt_requested()) {
      cli_message(argv[0], "interrupted with %d of %d runs finished", demo_finished(&d), d.runs);
      code = EXIT_INTERRUPTED;
    }
  }
  demo_free(&d);
  return code;
}

const cli_command command_demo = {"demo", "train cells on the two diagnostic tasks and write a report", &demo_argp,
                                  run_demo};
