/* SPDX-License-Identifier: MIT */
/* diagnose.c: `sparc diagnose`: statistics, interventions and figures of trained cells. */
#include "base/error.h"
#include "base/threads.h"
#include "cli/cli.h"
#include "io/folder_file.h"
#include "lab/diagnose/demonstration.h"
#include "lab/diagnose/diagnose_figures.h"
#include "lab/diagnose/tables.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

enum {
  DIAGNOSE_KEY_FIGURES = 256,
  DIAGNOSE_KEY_DEMONSTRATION,
  DIAGNOSE_KEY_EXAMPLES,
  DIAGNOSE_KEY_STEPS,
  DIAGNOSE_KEY_SEED,
  DIAGNOSE_KEY_DATA,
  DIAGNOSE_KEY_ROOT,
  DIAGNOSE_KEY_PLUGIN
};

typedef struct diagnose_settings {
  char **path; /* (paths) */
  int paths;
  int format;
  const char *figures; /* folder; NULL: none */
  bool demonstration;
  bool io_failed; /* figures could not be written */
  replay_options replay;
  const char *plugin[CLI_PLUGINS + 1]; /* ends with NULL */
} diagnose_settings;

/* ---- options ------------------------------------------------------------------------------------- */

static const struct argp_option diagnose_options[] = {
    {"format", 'f', "F", 0, "Print tables as text, markdown, latex, csv or json (default: text)", 0},
    {"figures", DIAGNOSE_KEY_FIGURES, "DIR", 0, "Write figures (SVG, PNG, data and gnuplot scripts) to DIR", 0},
    {"demonstration", DIAGNOSE_KEY_DEMONSTRATION, NULL, 0,
     "Instead of runs: show numerically why input-dependent writes cannot replace transition control", 0},
    {"examples", DIAGNOSE_KEY_EXAMPLES, "N", 0, "Models: use the first N validation examples (default: 8)", 0},
    {"steps", DIAGNOSE_KEY_STEPS, "N", 0, "Agents: record N environment steps (default: 1024)", 0},
    {"seed", DIAGNOSE_KEY_SEED, "N", 0, "Agents: seed of the environment and the actions (default: 0)", 0},
    {"data", DIAGNOSE_KEY_DATA, "FILE|NAME", 0, "Models: data set to use instead of the recorded path", 0},
    {"root", DIAGNOSE_KEY_ROOT, "DIR", 0, "Folder of named data sets (default: that of the run, else $SPARC_DATA)", 0},
    {"plugin", DIAGNOSE_KEY_PLUGIN, "./PLUGIN.so", 0, "Agents: load this environment plugin; may be repeated", 0},
    {"threads", 'T', "N", 0, "Number of threads; results do not depend on it (default: all processors)", 0},
    {0}};

static error_t parse_format(const struct argp_state *state, const char *name, int *format) {
  for (*format = 0; table_format_names[*format]; ++*format)
    if (strcmp(table_format_names[*format], name) == 0) return 0;
  argp_error(state, "--format is '%s', expected text, markdown, latex, csv or json", name);
  return EINVAL;
}

static error_t parse_diagnose(int key, char *argument, struct argp_state *state) {
  diagnose_settings *s = state->input;
  int number = 0;
  switch (key) {
    case 'f':
      return parse_format(state, argument, &s->format);
    case DIAGNOSE_KEY_FIGURES:
      s->figures = argument;
      return 0;
    case DIAGNOSE_KEY_DEMONSTRATION:
      s->demonstration = true;
      return 0;
    case DIAGNOSE_KEY_EXAMPLES:
      return cli_parse_int(state, "examples", argument, 1, 1 << 20, &s->replay.examples);
    case DIAGNOSE_KEY_STEPS:
      return cli_parse_int(state, "steps", argument, 1, 1 << 20, &s->replay.steps);
    case DIAGNOSE_KEY_SEED:
      cli_parse_int(state, "seed", argument, 0, INT32_MAX, &number);
      s->replay.seed = (uint64_t)number;
      return 0;
    case DIAGNOSE_KEY_DATA:
      s->replay.data = argument;
      return 0;
    case DIAGNOSE_KEY_ROOT:
      s->replay.root = argument;
      return 0;
    case DIAGNOSE_KEY_PLUGIN:
      return cli_add_plugin(state, argument, s->plugin);
    case 'T':
      return cli_parse_int(state, "threads", argument, 1, THREADS_MAX, &s->replay.threads);
    case ARGP_KEY_ARGS:
      s->path = state->argv + state->next;
      s->paths = state->argc - state->next;
      return 0;
    case ARGP_KEY_END:
      if (s->demonstration && s->paths) argp_error(state, "--demonstration takes no checkpoint");
      if (!s->demonstration && !s->paths) argp_error(state, "no checkpoint given");
      return 0;
    default:
      return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp diagnose_argp = {
    .options = diagnose_options,
    .parser = parse_diagnose,
    .args_doc = "CHECKPOINT|FOLDER...\n--demonstration",
    .doc =
        "Measure trained cells: gate activity, saturation, write scales, retention and phase, the effect of removing "
        "components (interventions), and changes during training. Arguments are checkpoints or run folders of `sparc "
        "train` and `sparc rl`; runs of the same task and cell are averaged.\v"
        "Models are run on the first validation examples, agents in their environment from a reset; both are "
        "deterministic. docs/diagnostics.md defines the statistics.\n\n"
        "Exit status: 0 success, 1 failed, 2 usage, 3 a file is missing, malformed or not a checkpoint, or the data "
        "are "
        "not those of the run.",
};

/* ---- the command --------------------------------------------------------------------------------- */

static sparc_status print(const diagnose_settings *s, const diagnosis *runs) {
  diagnosis_tables tables;
  sparc_status status = diagnosis_tables_create(runs, s->paths, &tables);
  if (status == SPARC_OK) status = diagnosis_print(stdout, (table_format)s->format, runs, s->paths, &tables);
  diagnosis_tables_free(&tables);
  return status;
}

/* without gnuplot, data and scripts are written, and the command fails */
static sparc_status report_figures(const diagnose_settings *s, int count, bool drawn) {
  if (!drawn)
    return fail(SPARC_UNSUPPORTED, "gnuplot is not installed (Debian: gnuplot-nox); '%.200s' has the data and scripts",
                s->figures);
  if (s->format != FORMAT_TEXT) return SPARC_OK;
  printf("%d figure%s in ", count, count == 1 ? "" : "s");
  cli_text(s->figures, 0);
  putchar('\n');
  return SPARC_OK;
}

static sparc_status draw(diagnose_settings *s, const diagnosis *runs) {
  diagnosis_figures figures = {.count = 0};
  sparc_status status = make_folders(s->figures);
  if (status == SPARC_OK) status = diagnosis_draw(runs, s->paths, s->figures, &figures);
  bool drawn = true;
  for (int i = 0; i < figures.count; i++) drawn = drawn && figures.figure[i].drawn;
  if (status == SPARC_OK) status = report_figures(s, figures.count, drawn);
  diagnosis_figures_free(&figures);
  s->io_failed = status != SPARC_OK;
  return status;
}

static sparc_status diagnose_runs(diagnose_settings *s) {
  diagnosis *runs = sparc_alloc((size_t)s->paths * sizeof *runs);
  if (!runs) return fail(SPARC_NO_MEMORY, "no memory for %d runs", s->paths);
  sparc_status status = SPARC_OK;
  for (int i = 0; i < s->paths && status == SPARC_OK; i++) status = diagnose(s->path[i], &s->replay, &runs[i]);
  if (status == SPARC_OK) status = print(s, runs);
  if (status == SPARC_OK && s->figures) status = draw(s, runs);
  for (int i = 0; i < s->paths; i++) diagnosis_free(&runs[i]);
  sparc_free(runs);
  return status;
}

/* ---- the demonstration --------------------------------------------------------------------------- */

static void print_demonstration(const char *who, const diagnose_settings *s, const demonstration *d) {
  if (s->format == FORMAT_JSON) {
    cli_json_line(who,
                  json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "own_writes", d->error[WRITES_OWN], "other_writes",
                            d->error[WRITES_OTHER], "no_writes", d->error[WRITES_NOTHING], "fixed_transitions",
                            d->fixed_error, "imitation_left", d->left, "imitation_left_predicted", d->left_predicted));
    return;
  }
  printf(
      "Two streams with different histories read the same %d inputs. Maximum deviation of their state difference\n"
      "from the product of the adaptive transitions times the initial difference, relative to the latter:\n\n",
      DEMONSTRATION_STEPS);
  for (int i = 0; i < WRITE_RULES; i++)
    printf("  adaptive transitions, %-16s %.1e\n", write_rule_names[i], d->error[i]);
  printf("  fixed transitions, adaptive writes    %.1e\n\n", d->fixed_error);
  printf(
      "%d inputs after %d histories each: with a fixed transition, the best input-only write leaves %.1f %% of the\n"
      "variance of the adaptive cell's states unexplained; (A - A_0)(h - mean h) predicts %.1f %%.\n",
      DEMONSTRATION_INPUTS, DEMONSTRATION_HISTORIES, 100 * d->left, 100 * d->left_predicted);
}

static sparc_status show_demonstration(const char *who, diagnose_settings *s) {
  demonstration d;
  sparc_status status = demonstrate(s->replay.seed, &d);
  if (status != SPARC_OK) return status;
  print_demonstration(who, s, &d);
  if (!s->figures) return SPARC_OK;
  bool drawn = false;
  status = make_folders(s->figures);
  if (status == SPARC_OK) status = demonstration_draw(&d, s->figures, "demonstration", &drawn);
  if (status == SPARC_OK) status = report_figures(s, 1, drawn);
  s->io_failed = status != SPARC_OK;
  return status;
}

static exit_code run_diagnose(int argc, char **argv) {
  diagnose_settings s = {.replay = replay_defaults()};
  s.replay.plugins = s.plugin;
  if (argp_parse(&diagnose_argp, argc, argv, 0, NULL, &s) != 0) return EXIT_USAGE;
  const sparc_status status = s.demonstration ? show_demonstration(argv[0], &s) : diagnose_runs(&s);
  if (status != SPARC_OK) cli_message(argv[0], "%s", sparc_error());
  return s.io_failed ? EXIT_FAILED : cli_exit_code(status);
}

const cli_command command_diagnose = {"diagnose", "measure trained cells: tables and figures", &diagnose_argp,
                                      run_diagnose, CLI_ONE_RANK};
