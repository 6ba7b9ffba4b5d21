/* SPDX-License-Identifier: MIT */
/* demo.c: `sparc demo`: the experiment of the paper's Figure 1, cells on diagnostic tasks: its options, what is said
 * meanwhile, and the table. lab/experiment does the work. */
#include "base/error.h"
#include "base/threads.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/settings.h"
#include "lab/experiment/figures.h"
#include "lab/experiment/page.h"

#include <string.h>

/* ---- settings ------------------------------------------------------------------------------------ */

typedef struct demo_settings {
  const char *cells, *tasks; /* lists separated by commas */
  int all_cells;
  const char *variant, *options;
  uint64_t seed;
  int seeds, threads;
  long updates;
  const char *folder;
} demo_settings;

#define DEMO(member) offsetof(demo_settings, member)

static const char experiment_group[] = "Experiment:";

static const setting demo_rows[] = {
    {.name = "cells",
     .type = SETTING_TEXT,
     .offset = DEMO(cells),
     .usual = {"sparc,rtu,rglru"},
     .voids = "all-cells",
     .group = experiment_group,
     .letter = 'c',
     .argument = "A,B",
     .help = "Train these cells"},
    {.name = "all-cells",
     .type = SETTING_FLAG,
     .offset = DEMO(all_cells),
     .voids = "cells",
     .group = experiment_group,
     .letter = 'a',
     .help = "Train every cell"},
    {.name = "tasks",
     .type = SETTING_TEXT,
     .offset = DEMO(tasks),
     .usual = {"event-order,tracking"},
     .group = experiment_group,
     .letter = 't',
     .argument = "A,B",
     .help = "Train on these tasks"},
    {.name = "variant",
     .type = SETTING_TEXT,
     .offset = DEMO(variant),
     .group = experiment_group,
     .argument = "NAME",
     .help = "Train this variant of the cells that have variants"},
    {.name = "options",
     .type = SETTING_TEXT,
     .offset = DEMO(options),
     .group = experiment_group,
     .argument = "LIST",
     .help = "Train the cells with these options, key=value,..., instead of the rows of the table"},
    {.name = "seed",
     .type = SETTING_SEED,
     .offset = DEMO(seed),
     .usual = {"0"},
     .group = experiment_group,
     .letter = 's',
     .argument = "N",
     .help = "The first seed"},
    {.name = "seeds",
     .type = SETTING_INT,
     .offset = DEMO(seeds),
     .low = 1,
     .high = 1000,
     .usual = {"1"},
     .group = experiment_group,
     .letter = 'n',
     .argument = "N",
     .help = "Train with N seeds, counted from the first"},
    {.name = "updates",
     .type = SETTING_LONG,
     .offset = DEMO(updates),
     .low = 1,
     .high = 1000000,
     .group = experiment_group,
     .letter = 'u',
     .argument = "N",
     .help = "Stop after N updates (default: what the task says, 1200 and 450)"},
    {.name = "threads",
     .type = SETTING_INT,
     .offset = DEMO(threads),
     .low = 1,
     .high = THREADS_MAX,
     .group = experiment_group,
     .letter = 'T',
     .argument = "N",
     .help = "Train up to N runs at a time (default: as many as there are processors)"},
    {.name = "out",
     .type = SETTING_TEXT,
     .offset = DEMO(folder),
     .usual = {"report"},
     .group = "Run:",
     .letter = 'o',
     .argument = "DIR",
     .help = "Put the report into DIR"},
};

static const settings_table demo_table = {demo_rows, sizeof demo_rows / sizeof *demo_rows};

static const char doc[] =
    "Train cells on the diagnostic tasks, print their scores beside the paper's, and write a report with figures."
    "\vDIR gets index.html, results.jsonl, data/*.csv, and *.gp and *.svg for each figure. Without gnuplot the report "
    "has no figures.\n\n"
    "Exit status: 0 done, 1 the report could not be written, 2 usage, 4 a run met a number that is not finite, 130 "
    "interrupted, with what was finished written.";

/* ---- names -------------------------------------------------------------------------------------- */

enum { NAMES_MOST = 16 };

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
    if (count == NAMES_MOST) return fail(SPARC_INVALID, "more than %d names of a %s", NAMES_MOST, what);
    chosen[count++] = known[k];
  }
  chosen[count] = NULL;
  return SPARC_OK;
}

static sparc_status set_up(const demo_settings *s, experiment *e) {
  const char *cells[NAMES_MOST + 1], *tasks[NAMES_MOST + 1];
  method methods[METHODS_MOST];
  experiment_config config = {.tasks = tasks,
                              .methods = methods,
                              .seed = s->seed,
                              .seeds = s->seeds,
                              .updates = s->updates,
                              .threads = s->threads};
  sparc_status status = choose("task", s->tasks, sparc_task_names(), tasks);
  if (status == SPARC_OK) status = choose("cell", s->cells, sparc_cell_kinds(), cells);
  if (status == SPARC_OK)
    status = methods_choose(
        &(methods_wish){
            .cells = s->all_cells ? sparc_cell_kinds() : cells, .variant = s->variant, .options = s->options},
        methods, &config.method_count);
  return status == SPARC_OK ? experiment_create(&config, e) : status;
}

/* ---- what is said meanwhile ----------------------------------------------------------------------- */

typedef struct watcher {
  const tool_settings *tool;
  const char *who;
  experiment *e;
  progress *shown;
  bool *told;  /* (runs): its end has been remarked */
  int printed; /* runs whose JSON line is out; they come in order */
} watcher;

static void tell_end(watcher *w, int i) {
  const experiment_run *run = &w->e->run[i];
  w->told[i] = true;
  if (w->tool->quiet || !run_is_done(run)) return;
  progress_note(w->shown, "%-12s %-13s seed %llu  %s %.4g  in %.1f s", run->task->name, run->method->title,
                (unsigned long long)run->seed, score_label(run->task), score_scale(run->task) * run->score,
                run->seconds);
}

static void print_lines(watcher *w) {
  while (w->tool->json && w->printed < w->e->runs && run_is_over(&w->e->run[w->printed])) {
    const experiment_run *run = &w->e->run[w->printed++];
    if (run_is_done(run)) cli_json_line(w->who, experiment_run_json(run));
    fflush(stdout);
  }
}

/* "event-order SPARC 0.0123, event-order RTU 1.32": the training losses of the runs under way */
static int watch(void *context) {
  watcher *w = context;
  char text[256] = "";
  size_t used = 0;
  long done = 0;
  double value = 0;
  for (int i = 0; i < w->e->runs; i++) {
    const experiment_run *run = &w->e->run[i];
    done += atomic_load(&run->done);
    if (run_is_over(run) && !w->told[i]) tell_end(w, i);
    if (atomic_load(&run->state) != RUN_TRAINING || used >= sizeof text) continue;
    const double loss = atomic_load(&run->recent);
    if (used == 0) value = loss;
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %s %.3g", used ? ", " : "", run->task->name,
                             run->method->title, loss);
  }
  progress_step(w->shown, done, value, text);
  print_lines(w);
  return interrupt_requested();
}

static sparc_status train(const char *who, const tool_settings *tool, experiment *e) {
  watcher w = {.tool = tool, .who = who, .e = e, .told = sparc_alloc((size_t)e->runs)};
  long total = 0;
  if (!w.told) return fail(SPARC_NO_MEMORY, "no memory for a list of %d runs", e->runs);
  for (int i = 0; i < e->runs; i++) total += e->run[i].updates;
  w.shown = progress_start(tool->quiet ? PROGRESS_NONE : (progress_style)tool->progress, "demo", 0, total);
  experiment_execute(e, watch, &w);
  progress_finish(w.shown);
  /* print_lines keeps the order and stops at a run that never began; those that finished behind it come now */
  for (; tool->json && w.printed < e->runs; w.printed++)
    if (run_is_done(&e->run[w.printed])) cli_json_line(who, experiment_run_json(&e->run[w.printed]));
  sparc_free(w.told);
  return SPARC_OK;
}

/* ---- what came of it ----------------------------------------------------------------------------- */

/* right-aligned; a character of UTF-8 takes one column */
static void print_right(const char *text, int width) {
  for (const char *c = text; *c; c++) width -= (*c & 0xc0) != 0x80;
  printf("%*s%s", width > 0 ? width : 0, "", text);
}

/* "defaults", or the longest list of options */
static int options_width(const experiment *e) {
  int width = 0;
  for (int m = 0; m < e->methods; m++) {
    const int length = (int)strlen(method_options(&e->method[m]));
    if (length > width) width = length;
  }
  return width;
}

static void print_table(const experiment *e) {
  const int ours = e->seeds > 1 ? 18 : 12, paper = 10, options = options_width(e);
  char text[192];
  printf("%-13s %-*s %8s", "", options, "", "");
  for (int task = 0; task < e->tasks; task++) {
    snprintf(text, sizeof text, "%s: %s", e->task[task]->name, score_label(e->task[task]));
    print_right(text, ours + paper);
  }
  printf("\n%-13s %-*s %8s", "cell", options, "options", "params");
  for (int task = 0; task < e->tasks; task++) {
    print_right("here", ours);
    print_right("paper", paper);
  }
  putchar('\n');
  for (int m = 0; m < e->methods; m++) {
    table_row row;
    const int columns = experiment_row(e, m, &row);
    printf("%-13s %-*s %8s", row.text[0], options, row.text[1], row.text[2]);
    for (int i = TABLE_FIXED; i < columns; i++) print_right(row.text[i], (i - TABLE_FIXED) % 2 ? paper : ours);
    putchar('\n');
  }
  experiment_remark(e, text, sizeof text);
  printf("%s\n", text);
}

static exit_code report_failures(const char *who, const experiment *e) {
  exit_code code = EXIT_DONE;
  for (int i = 0; i < e->runs; i++) {
    const experiment_run *run = &e->run[i];
    if (atomic_load(&run->state) != RUN_FAILED) continue;
    cli_message(who, "%s, %s, seed %llu: %s", run->task->name, run->method->name, (unsigned long long)run->seed,
                run->error);
    if (cli_exit_code(run->status) > code) code = cli_exit_code(run->status);
  }
  return code;
}

/* table, files, and where they are */
static exit_code present(const char *who, const tool_settings *tool, const experiment *e, const char *folder) {
  experiment_drawing drawing;
  if (!tool->json) print_table(e);
  if (experiment_write(e, folder, &drawing) != SPARC_OK) {
    cli_message(who, "%s", sparc_error());
    return EXIT_FAILED;
  }
  if (*drawing.reason && !tool->quiet) cli_message(who, "figures are missing: %s", drawing.reason);
  if (!tool->json)
    printf("\nreport: %s/index.html (%d figures)\n", folder, drawing.figures);
  else if (!tool->quiet)
    cli_message(who, "the report is %s/index.html", folder);
  return EXIT_DONE;
}

/* ---- the command -------------------------------------------------------------------------------- */

static exit_code demo(const char *who, const demo_settings *s, const tool_settings *tool) {
  experiment e;
  const sparc_status status = set_up(s, &e);
  if (status != SPARC_OK) {
    cli_message(who, "%s", sparc_error());
    return cli_exit_code(status);
  }
  interrupt_catch();
  exit_code code = EXIT_FAILED;
  if (experiment_prepare_folder(s->folder) != SPARC_OK || train(who, tool, &e) != SPARC_OK) {
    cli_message(who, "%s", sparc_error());
  } else {
    code = report_failures(who, &e);
    const exit_code presented = experiment_finished(&e) ? present(who, tool, &e, s->folder) : EXIT_DONE;
    if (code == EXIT_DONE) code = presented;
    if (interrupt_requested()) {
      cli_message(who, "interrupted with %d of %d runs finished", experiment_finished(&e), e.runs);
      code = EXIT_INTERRUPTED;
    }
  }
  experiment_free(&e);
  return code;
}

static exit_code run_demo(int argc, char **argv) {
  demo_settings s;
  tool_settings tool;
  const settings_form form = {.command = COMMAND_DEMO, .part = {{&demo_table, &s}, {&tool_table, &tool}}};
  cli_sources *sources;
  const sparc_status status = cli_settings_read(argc, argv, &(cli_usage){.doc = doc}, &form, &sources);
  exit_code code = cli_exit_code(status);
  if (status == SPARC_OK) {
    settings_fill(&form, USUAL_DATA);
    code = demo(argv[0], &s, &tool);
  } else {
    cli_message(argv[0], "%s", sparc_error());
  }
  cli_sources_free(sources);
  return code;
}

const cli_command command_demo = {"demo", "train cells on the diagnostic tasks and write a report", NULL, run_demo};
