/* SPDX-License-Identifier: MIT */
/* lab.c: `sparc lab VERB NAME`: experiments as grids of tasks, methods and seeds. Options, verbs, list and show. */
#include "cli/lab/lab.h"

#include "base/error.h"
#include "base/threads.h"
#include "envs/envs.h"
#include "io/json.h"
#include "run/launch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- list and show ------------------------------------------------------------------------------- */

static exit_code list(const lab_options *o) {
  for (const char *const *name = grid_names(); *name; name++) {
    grid g;
    if (grid_open(*name, &g) != SPARC_OK) {
      cli_message(o->who, "%s", sparc_error());
      grid_free(&g);
      return EXIT_FAILED;
    }
    if (o->json)
      cli_json_line(o->who, json_pack("{s:s, s:s, s:i, s:i, s:i}", "name", g.name, "title", g.title, "tasks", g.tasks,
                                      "methods", g.methods, "seeds", g.seeds));
    else
      printf("%-15s %2d tasks x %2d methods x %d seeds = %4d runs  %s\n", g.name, g.tasks, g.methods, g.seeds,
             g.tasks * g.methods * g.seeds, g.title);
    grid_free(&g);
  }
  return EXIT_DONE;
}

static exit_code show(const lab_options *o) {
  grid g;
  const sparc_status status = grid_open(o->target, &g);
  size_t size;
  const char *text = grid_text(o->target, &size);
  if (status != SPARC_OK)
    cli_message(o->who, "%s", sparc_error());
  else if (text)
    fwrite(text, 1, size, stdout);
  else if (json_put(stdout, g.file, JSON_INDENT(2)))
    putchar('\n');
  grid_free(&g);
  return cli_exit_code(status);
}

/* ---- options ------------------------------------------------------------------------------------- */

enum {
  KEY_TASKS = 256,
  KEY_METHODS,
  KEY_SEEDS,
  KEY_MATCH,
  KEY_RETRY,
  KEY_MEMORY,
  KEY_SCALE,
  KEY_PLUGIN,
  KEY_RESULTS,
  KEY_TO,
  KEY_RUNS,
  KEY_COMMIT,
  KEY_JOB,
  KEY_CHUNK
};

static const struct argp_option lab_argp_options[] = {
    {NULL, 0, NULL, 0, "Which runs:", 1},
    {"tasks", KEY_TASKS, "A,B", 0, "These tasks only", 1},
    {"methods", KEY_METHODS, "A,B", 0, "These methods only", 1},
    {"seeds", KEY_SEEDS, "N|A-B", 0, "The first N seeds, or those from A to B (default: those of the grid)", 1},
    {"scale", KEY_SCALE, "X", 0, "Multiply steps and updates by X; folder and tables are marked (default: 1)", 1},
    {"match", KEY_MATCH, "WHAT", 0,
     "Size of the cells: equal state size (state), or as many parameters as the reference (params) (default: state)",
     1},
    {"out", 'o', "DIR", 0, "Results folder (default: results)", 1},
    {"results", KEY_RESULTS, "DIR", 0,
     "Also use the finished runs in DIR, for example docs/results; read only; may be repeated", 1},
    {NULL, 0, NULL, 0, "Running:", 2},
    {"jobs", 'J', "N", 0, "Run N runs in parallel (default: one per thread)", 2},
    {"threads", 'T', "N", 0, "Total number of threads of all runs (default: all processors)", 2},
    {"memory", KEY_MEMORY, "MB", 0,
     "Memory limit of all runs in MB; a run starts only if its expected memory fits (default: none)", 2},
    {"retry", KEY_RETRY, NULL, 0, "Run failed runs again", 2},
    {"job", KEY_JOB, "K", 0,
     "Only the runs with these numbers of `sparc lab jobs`: 3, or 3,7-9. Waits for a run that another machine has "
     "claimed until the claim is known to be alive",
     2},
    {"chunk", KEY_CHUNK, "N", 0, "jobs: runs per entry (default: 1, or what keeps the list at 1000 entries)", 2},
    {"plugin", KEY_PLUGIN, "./PLUGIN.so", 0, "Load this environment plugin; may be repeated", 2},
    {"dry-run", 'n', NULL, 0, "Run nothing; print the number of runs, the hours at this machine's speed, and memory",
     2},
    {NULL, 0, NULL, 0, "Export:", 3},
    {"to", KEY_TO, "DIR", 0, "Destination folder", 3},
    {"commit", KEY_COMMIT, "HASH", 0, "Commit to record for runs that do not record their own", 3},
    {NULL, 0, NULL, 0, "Output:", 4},
    {"format", 'f', "F", 0,
     "table: text, markdown, latex, csv or json (default: text); diagnose: the same, to print tables; jobs: parallel, "
     "slurm, make or json (default: parallel)",
     4},
    {"runs", KEY_RUNS, NULL, 0, "table: one CSV row per run, with score, settings and provenance", 4},
    {"json", 'j', NULL, 0, "Print JSON, one object per line", 4},
    {"quiet", 'q', NULL, 0, "Print results and errors only", 4},
    {"progress", 'p', "HOW", 0, "Progress display: auto, plain (occasional lines) or none (default: auto)", 4},
    {0}};

typedef enum target_use { TARGET_NONE, TARGET_OPTIONAL, TARGET_NEEDED } target_use;

typedef struct verb {
  const char *name;
  target_use target;
  const char *options;                                       /* accepted options, separated by blanks */
  exit_code (*alone)(const lab_options *);                   /* without a target; may be NULL */
  exit_code (*with)(const lab_options *, const grid_jobs *); /* on the target's runs; may be NULL */
} verb;

#define WHICH "tasks methods seeds scale match out results"
static const verb verbs[] = {
    {"list", TARGET_NONE, "json", list, NULL},
    {"show", TARGET_NEEDED, "", show, NULL},
    {"run", TARGET_NEEDED, WHICH " jobs threads memory retry job plugin dry-run json quiet progress", NULL, lab_run},
    {"jobs", TARGET_NEEDED, WHICH " threads chunk format plugin quiet progress", NULL, lab_jobs},
    {"status", TARGET_OPTIONAL, WHICH " json quiet", lab_status_of_all, lab_status},
    {"table", TARGET_NEEDED, WHICH " format runs json", NULL, lab_table},
    {"figure", TARGET_NEEDED, WHICH " json", NULL, lab_figure},
    {"diagnose", TARGET_NEEDED, WHICH " threads plugin format json quiet progress", NULL, lab_diagnose},
    {"report", TARGET_OPTIONAL, WHICH " json", lab_report_of_all, lab_report},
    {"export", TARGET_NEEDED, WHICH " to commit json quiet", NULL, lab_export},
};
enum { VERBS = sizeof verbs / sizeof *verbs };

typedef struct lab_input {
  lab_options options;
  const verb *verb;
  const char *given[32]; /* names of options */
  int count;
} lab_input;

static const verb *find_verb(struct argp_state *state, const char *name) {
  const char *names[VERBS + 1] = {NULL};
  for (int i = 0; i < VERBS; i++) {
    if (strcmp(verbs[i].name, name) == 0) return &verbs[i];
    names[i] = verbs[i].name;
  }
  (void)unknown_name("verb", name, names);
  argp_error(state, "%s", sparc_error());
  return NULL;
}

static double parse_number(struct argp_state *state, const char *option, const char *text, double low, double high) {
  char *end;
  const double value = strtod(text, &end);
  if (end == text || *end || !(value >= low && value <= high))
    argp_error(state, "--%s is '%s', expected a number from %g to %g", option, text, low, high);
  return value;
}

static int parse_choice(struct argp_state *state, const char *option, const char *text, const char *const *names) {
  for (int i = 0; names[i]; i++)
    if (strcmp(names[i], text) == 0) return i;
  (void)unknown_name(option, text, names);
  argp_error(state, "%s", sparc_error());
  return 0;
}

static void note_option(lab_input *in, int key) {
  for (const struct argp_option *o = lab_argp_options; o->name || o->doc; o++)
    if (o->key == key && o->name && in->count < 32) in->given[in->count++] = o->name;
}

/* options that select runs and results; ARGP_ERR_UNKNOWN: another key */
static error_t parse_selection(int key, char *argument, struct argp_state *state, lab_options *o) {
  static const char *const matches[] = {"state", "params", NULL};
  switch (key) {
    case KEY_TASKS:
      o->request.tasks = argument;
      return 0;
    case KEY_METHODS:
      o->request.methods = argument;
      return 0;
    case KEY_SEEDS:
      o->request.seeds = argument;
      return 0;
    case KEY_SCALE:
      o->scale = parse_number(state, "scale", argument, GRID_SCALE_MIN, GRID_SCALE_MAX);
      o->scale_text = argument;
      return 0;
    case KEY_MATCH:
      o->match_params = parse_choice(state, "match", argument, matches) == 1;
      return 0;
    case 'o':
      o->out = o->out_text = argument;
      return 0;
    case KEY_RESULTS:
      if (o->more_results == LAB_RESULTS) argp_error(state, "expected at most %d times --results", LAB_RESULTS);
      o->results[o->more_results++] = argument;
      return 0;
    default:
      return ARGP_ERR_UNKNOWN;
  }
}

/* options of running; ARGP_ERR_UNKNOWN: another key */
static error_t parse_running(int key, char *argument, struct argp_state *state, lab_options *o) {
  switch (key) {
    case 'J':
      return cli_parse_int(state, "jobs", argument, 1, 1024, &o->jobs);
    case 'T':
      return cli_parse_int(state, "threads", argument, 1, THREADS_MAX, &o->threads);
    case KEY_MEMORY:
      o->memory_mb = parse_number(state, "memory", argument, 1, 1e9);
      return 0;
    case KEY_PLUGIN:
      return cli_add_plugin(state, argument, o->plugin);
    case KEY_JOB:
      o->numbers = argument;
      return 0;
    case KEY_CHUNK:
      return cli_parse_int(state, "chunk", argument, 1, 1000000, &o->chunk);
    case KEY_RETRY:
      o->retry = true;
      return 0;
    case 'n':
      o->dry_run = true;
      return 0;
    default:
      return ARGP_ERR_UNKNOWN;
  }
}

/* options of export and output; ARGP_ERR_UNKNOWN: another key */
static error_t parse_output(int key, char *argument, struct argp_state *state, lab_options *o) {
  static const char *const styles[] = {"auto", "plain", "none", NULL};
  switch (key) {
    case KEY_TO:
      o->to = argument;
      return 0;
    case KEY_COMMIT:
      o->commit = argument;
      return 0;
    case KEY_RUNS:
      o->runs = true;
      return 0;
    case 'f':
      o->format_name = argument;
      return 0;
    case 'j':
      o->json = true;
      return 0;
    case 'q':
      o->quiet = true;
      return 0;
    case 'p':
      o->progress = (progress_style)parse_choice(state, "progress", argument, styles);
      return 0;
    default:
      return ARGP_ERR_UNKNOWN;
  }
}

static void parse_argument(char *argument, struct argp_state *state, lab_input *in) {
  if (!in->verb)
    in->verb = find_verb(state, argument);
  else if (!in->options.target)
    in->options.target = argument;
  else
    argp_error(state, "expected one NAME, got '%s' as well", argument);
}

static error_t parse_lab(int key, char *argument, struct argp_state *state) {
  static error_t (*const groups[])(int, char *, struct argp_state *, lab_options *) = {parse_selection, parse_running,
                                                                                       parse_output};
  lab_input *in = state->input;
  error_t error = ARGP_ERR_UNKNOWN;
  note_option(in, key);
  if (key == ARGP_KEY_ARG) {
    parse_argument(argument, state, in);
    return 0;
  }
  for (size_t i = 0; i < sizeof groups / sizeof *groups && error == ARGP_ERR_UNKNOWN; i++)
    error = groups[i](key, argument, state, &in->options);
  return error;
}

static const char doc[] =
    "Run experiments: grids of tasks, methods and seeds. VERB is one of\n"
    "  list     list the built-in experiments\n"
    "  show     print an experiment as JSON, a template for your own\n"
    "  run      run in parallel processes; finished runs are kept, interrupted ones resumed\n"
    "  jobs     print the unfinished runs for a scheduler: Slurm job array, GNU parallel, make\n"
    "  status   show progress; without NAME, of all experiments in DIR\n"
    "  table    print means and standard deviations next to the paper's, differences, ranks\n"
    "  figure   draw learning curves and scores as SVG and PNG (gnuplot)\n"
    "  diagnose measure the trained cells of the reference, or of the selected methods, for the report\n"
    "  report   write DIR/report.html; without NAME, with all experiments in DIR\n"
    "  export   copy results, score logs and diagnoses of finished runs to another folder, small enough to commit\n"
    "NAME is a built-in experiment or a JSON file, optionally with a selection: popgym/repeat-first, 'popgym/*/sparc', "
    "popgym/repeat-first/sparc/s0; or the folder of an experiment, results/popgym-x0.1, which records its scale."
    "\vEach run has a run folder of `sparc rl` or `sparc train`, DIR/NAME/TASK/METHOD/sSEED. Several processes, also "
    "on "
    "several machines, can share one results folder. Exit status: 0 success, 1 a run failed or a file could not be "
    "written, 2 usage, 3 a file is missing or malformed, 130 interrupted after saving.";

static const struct argp lab_argp = {
    .options = lab_argp_options, .parser = parse_lab, .args_doc = "VERB [NAME[/TASK[/METHOD[/sSEED]]]]", .doc = doc};

/* ---- the command --------------------------------------------------------------------------------- */

static bool lists(const char *names, const char *name) {
  const size_t length = strlen(name);
  for (const char *found = names; (found = strstr(found, name)) != NULL; found += length)
    if ((found == names || found[-1] == ' ') && (found[length] == ' ' || !found[length])) return true;
  return false;
}

/* the meaning of a format depends on the verb, which may follow it on the command line */
static sparc_status resolve_format(lab_input *in) {
  static const char *const lists[] = {
      [JOBS_PARALLEL] = "parallel", [JOBS_SLURM] = "slurm", [JOBS_MAKE] = "make", [JOBS_JSON] = "json", NULL};
  lab_options *o = &in->options;
  const bool jobs = in->verb && in->verb->with == lab_jobs;
  const char *const *names = jobs ? lists : table_format_names;
  int i = 0;
  if (!o->format_name) return SPARC_OK;
  while (names[i] && strcmp(names[i], o->format_name) != 0) i++;
  if (!names[i]) return unknown_name("format", o->format_name, names);
  if (jobs)
    o->jobs_format = (lab_jobs_format)i;
  else
    o->format = (table_format)i;
  return SPARC_OK;
}

static sparc_status check(lab_input *in) {
  const lab_options *o = &in->options;
  const sparc_status named = resolve_format(in);
  if (named != SPARC_OK) return named;
  if (!in->verb) return fail(SPARC_INVALID, "no VERB given; `sparc lab --help` lists them");
  if (in->verb->target == TARGET_NEEDED && !o->target)
    return fail(SPARC_INVALID, "no NAME given; `sparc lab list` lists the built-in experiments");
  if (o->runs && (o->json || (o->format != FORMAT_TEXT && o->format != FORMAT_CSV)))
    return fail(SPARC_INVALID, "--runs prints CSV only");
  if (in->verb->with == lab_diagnose && o->json && o->format_name)
    return fail(SPARC_INVALID, "--json prints files, --format tables: give one of them");
  if (strcmp(in->verb->name, "export") == 0 && !o->to)
    return fail(SPARC_INVALID, "no --to DIR given, expected the destination folder");
  for (int i = 0; i < o->more_results; i++)
    if (access(o->results[i], R_OK | X_OK) != 0)
      return fail(SPARC_IO, "cannot read the folder of results '%.200s': %s", o->results[i], strerror(errno));
  if (in->verb->target == TARGET_NONE && o->target)
    return fail(SPARC_INVALID, "unexpected argument '%.60s'", o->target);
  for (int i = 0; i < in->count; i++)
    if (!lists(in->verb->options, in->given[i]))
      return fail(SPARC_INVALID, "--%s is not for `sparc lab %s`", in->given[i], in->verb->name);
  return SPARC_OK;
}

/* a folder given by the user may be a symbolic link; folders inside it may not */
static void resolve_link(char path[CLI_PATH]) {
  struct stat status;
  char *resolved = lstat(path, &status) == 0 && S_ISLNK(status.st_mode) ? realpath(path, NULL) : NULL;
  if (resolved) snprintf(path, CLI_PATH, "%s", resolved);
  free(resolved);
}

/* Whether the target is the folder of an experiment, such as OUT/popgym-x0.1; `out` is then its results folder. Only a
 * path with a slash counts, so that an entry of the current folder does not hide a built-in experiment. */
static sparc_status find_results(const char *target, char out[CLI_PATH], bool *found) {
  *found = false;
  if (!strchr(target, '/')) return SPARC_OK;
  snprintf(out, CLI_PATH, "%s", target);
  for (size_t n = strlen(out); n > 1 && out[n - 1] == '/'; n--) out[n - 1] = '\0';
  const sparc_status status = lab_find_grid(out, found);
  if (status != SPARC_OK || !*found) return status;
  resolve_link(out);
  char *slash = strrchr(out, '/');
  slash[slash == out] = '\0';
  return SPARC_OK;
}

/* opens such a folder, whose lab.json determines scale, match and out */
static sparc_status open_results(const lab_input *in, grid *g, grid_scope *scope) {
  static const char *const decided[] = {"scale", "match", "out"};
  for (int i = 0; i < in->count; i++)
    for (size_t k = 0; k < sizeof decided / sizeof *decided; k++)
      if (strcmp(in->given[i], decided[k]) == 0)
        return fail(SPARC_INVALID, "--%s cannot be combined with the results folder '%.200s'", decided[k],
                    in->options.target);
  return grid_folder_open(in->options.target, g, scope);
}

static sparc_status open_target(const lab_input *in, lab_options *o, char out[CLI_PATH], grid *g, grid_scope *scope) {
  char name[CLI_PATH];
  bool results;
  *scope = (grid_scope){.out = o->out, .scale = o->scale, .match_params = o->match_params};
  const sparc_status status = find_results(o->target, out, &results);
  if (status != SPARC_OK) return status;
  if (results) {
    o->out = scope->out = out;
    return open_results(in, g, scope);
  }
  return selection_split(o->target, name, sizeof name, &o->request.path)
             ? grid_open(name, g)
             : fail(SPARC_INVALID, "the name of the experiment is too long");
}

/* a grid cannot load a plugin that the user did not permit with --plugin */
static sparc_status check_plugins(const lab_options *o, const grid_jobs *jobs) {
  sparc_status status = SPARC_OK;
  for (int i = 0; i < jobs->count && status == SPARC_OK; i++)
    if (jobs->job[i].kind == GRID_RL)
      status = plugin_permit(json_string_value(json_object_get(jobs->job[i].settings, "task")), o->target, o->plugin);
  return status;
}

static exit_code work(const lab_input *in) {
  lab_options o = in->options;
  char out[CLI_PATH];
  grid g = {.file = NULL};
  grid_jobs jobs = {.g = NULL};
  grid_scope scope;
  selection chosen;
  sparc_status status = open_target(in, &o, out, &g, &scope);
  if (status == SPARC_OK) status = selection_make(&g, &o.request, &chosen);
  if (status == SPARC_OK) status = grid_jobs_create(&g, &chosen, &scope, &jobs);
  if (status == SPARC_OK && (in->verb->with == lab_run || in->verb->with == lab_jobs))
    status = check_plugins(&o, &jobs);
  if (status == SPARC_OK) status = grid_jobs_check(&jobs);
  if (status == SPARC_OK) status = lab_find_runs(&o, &jobs);
  exit_code code = cli_exit_code(status);
  if (status == SPARC_OK)
    code = in->verb->with(&o, &jobs);
  else
    cli_message(o.who, "%s", sparc_error());
  grid_jobs_free(&jobs);
  grid_free(&g);
  return code;
}

static exit_code run_lab(int argc, char **argv) {
  lab_input in = {.options = {.who = "sparc lab", .out = "results", .scale = 1, .summary = true}};
  if (argp_parse(&lab_argp, argc, argv, 0, NULL, &in) != 0) return EXIT_USAGE;
  const sparc_status status = check(&in);
  if (status != SPARC_OK) {
    cli_message(in.options.who, "%s", sparc_error());
    return cli_exit_code(status);
  }
  snprintf(in.options.who, sizeof in.options.who, "sparc lab %s", in.verb->name);
  if (launch_read().size > 1 && in.verb->with != lab_run) {
    cli_message(in.options.who, "%d ranks cannot do this together; start it without mpirun", launch_read().size);
    return EXIT_USAGE;
  }
  return in.verb->alone && (!in.options.target || !in.verb->with) ? in.verb->alone(&in.options) : work(&in);
}

const cli_command command_lab = {"lab", "run experiments: tasks by methods by seeds", &lab_argp, run_lab,
                                 CLI_EACH_RANK};
