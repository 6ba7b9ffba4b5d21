/* SPDX-License-Identifier: MIT */
/* bench.c: `sparc bench [PROBLEM|SUITE...]`: how fast, and how far from what the machine can do.
 *
 * Parts: timer.c takes times, problem.c reads problem strings and knows the kinds, one file per family of
 * kinds sets them up, verifies and runs them, limits.c measures the machine, report.c prints, and
 * suites.c, goals.c, train.c, growth.c and paper.c are the suites.
 */
#include "base/build_info.h"
#include "base/error.h"
#include "base/threads.h"
#include "bench/suites/suites.h"
#include "kernels/kernels.h"

#include <stdlib.h>
#include <string.h>

/* ---- options ------------------------------------------------------------------------------------ */

enum { KEY_THREADS = 'T', KEY_KERNEL = 'k', KEY_SECONDS = 's', KEY_JSON = 'j', KEY_COMPARE = 'c', KEY_QUICK = 'q' };

typedef struct bench_arguments {
  bench_settings settings;
  const char *kernel, *compare;
  char **problems; /* NULL-terminated; NULL: the usual ones */
} bench_arguments;

static const struct argp_option bench_options[] = {
    {"threads", KEY_THREADS, "N", 0, "Use N threads (default: all processors)", 0},
    {"kernel", KEY_KERNEL, "NAME", 0, "Use these kernels (default: the best; see `sparc info`)", 0},
    {"seconds", KEY_SECONDS, "S", 0, "Measure each problem for about S seconds (default: 1)", 0},
    {"json", KEY_JSON, NULL, 0, "Print one JSON object per stage, goal or table row", 0},
    {"compare", KEY_COMPARE, "FILE", 0, "Print the ratio to the results in FILE, which --json wrote", 0},
    {"quick", KEY_QUICK, NULL, 0, "Short sequences in the suites and a tenth of the time: a look, not a result", 0},
    {0}};

static double parse_seconds(const char *text, const struct argp_state *state) {
  char *end;
  const double value = strtod(text, &end);
  if (end == text || *end || !(value > 0 && value <= 3600))
    argp_error(state, "--seconds is '%s', expected a number above 0 and up to 3600", text);
  return value;
}

static error_t parse_bench(int key, char *argument, struct argp_state *state) {
  bench_arguments *arguments = state->input;
  switch (key) {
    case KEY_THREADS:
      return cli_parse_int(state, "threads", argument, 1, THREADS_MAX, &arguments->settings.threads);
    case KEY_KERNEL:
      arguments->kernel = argument;
      return 0;
    case KEY_SECONDS:
      arguments->settings.seconds = parse_seconds(argument, state);
      return 0;
    case KEY_JSON:
      arguments->settings.json = true;
      return 0;
    case KEY_COMPARE:
      arguments->compare = argument;
      return 0;
    case KEY_QUICK:
      arguments->settings.quick = true;
      return 0;
    case ARGP_KEY_ARGS:
      arguments->problems = state->argv + state->next;
      return 0;
    default:
      return ARGP_ERR_UNKNOWN;
  }
}

/* puts the list of problems below the options; argp frees what is not the text it gave */
static char *list_problems(int key, const char *text, void *input) {
  (void)input;
  enum { CAPACITY = 4096 };
  char *list = key == ARGP_KEY_HELP_POST_DOC ? malloc(CAPACITY) : NULL;
  if (!list) return (char *)text;
  size_t used = (size_t)snprintf(list, CAPACITY, "Problems (# is a number):\n");
  bench_usage(list + used, CAPACITY - used);
  used = strlen(list);
  snprintf(list + used, CAPACITY - used,
           "Suites:\n"
           "  limits\n      multiply-adds, copy, triad, in-place sweeps and matrix products, on 1 and N threads\n"
           "  goals\n      the goals set for the kernels: measured, demanded, stretch, verdict\n"
           "  train\n      the training step of a classifier, against the cost of its arithmetic\n"
           "  growth\n      time and memory as B, T and H grow, against a line and a formula, on 1 thread\n"
           "  paper\n      the paper's efficiency figure and naive-versus-accelerated tables, on this machine\n\n"
           "Each problem is verified before it is timed. Times are sums over short pieces of the shortest time "
           "among ten or more passes; competitors take turns.\n\n"
           "Exit status: 0 done, 1 a result is wrong or a goal is missed, 2 usage, 3 the FILE of --compare is missing "
           "or malformed.");
  return list;
}

static const struct argp bench_argp = {
    .options = bench_options,
    .parser = parse_bench,
    .args_doc = "[PROBLEM|SUITE...]",
    .doc =
        "Measure problems given as short strings, for example mixer:B4:T2048:D512:cell=rglru, beside the limits of the "
        "machine measured in the same run. Without arguments: a usual selection."
        "\v(the list of problems)",
    .help_filter = list_problems,
};

/* ---- suites ------------------------------------------------------------------------------------- */

#define SUITES(ROW)      ROW(limits) ROW(goals) ROW(train) ROW(growth) ROW(paper)
#define SUITE_NAME(name) #name,
#define SUITE_RUN(name)  bench_suite_##name,

typedef exit_code suite_fn(bench_settings *settings);
static const char *const suite_names[] = {SUITES(SUITE_NAME) NULL};
static suite_fn *const suite_runs[] = {SUITES(SUITE_RUN)};

static suite_fn *find_suite(const char *name) {
  for (size_t i = 0; suite_names[i]; i++)
    if (strcmp(suite_names[i], name) == 0) return suite_runs[i];
  return NULL;
}

/* ---- work --------------------------------------------------------------------------------------- */

static const char *const usual_problems[] = {"mixer:B4:T2048:D512",
                                             "mixer:B4:T2048:D512:cell=rglru:block=128",
                                             "fused:B8:T2048:H512",
                                             "step:H64:D64",
                                             "rtrl:H64:D64",
                                             "rtrl:H192:D64",
                                             "prepare:H512:D512",
                                             "sgemm:M8192:N1024:K2048",
                                             NULL};

static exit_code run_problem(bench_settings *settings, const char *text) {
  bench_problem problem;
  bench_case c;
  sparc_status status = bench_parse(text, suite_names, &problem);
  if (status == SPARC_OK) status = bench_open(&settings->machine, &problem, settings->threads, NULL, &c);
  if (status != SPARC_OK) return bench_report_failure(settings, status);
  status = bench_run(&c, 1, settings->seconds, 1);
  if (status == SPARC_OK) status = bench_report_case(settings, &c);
  bench_close(&c);
  return status == SPARC_OK ? EXIT_DONE : bench_report_failure(settings, status);
}

/* a problem that fails does not keep the others from being measured */
static exit_code run_all(bench_settings *settings, const char *const *problems) {
  exit_code worst = EXIT_DONE;
  for (; *problems && !cli_output_lost(); problems++) {
    suite_fn *suite = find_suite(*problems);
    if (suite) bench_separate(settings);
    const exit_code code = suite ? suite(settings) : run_problem(settings, *problems);
    if (code > worst) worst = code;
  }
  return worst;
}

/* the environment variable is what every cell looks at */
static exit_code choose_kernel(const char *who, const char *name) {
  const char *names[KERNELS_MAX + 1];
  const size_t count = kernels_available(names, KERNELS_MAX);
  names[count < KERNELS_MAX ? count : KERNELS_MAX] = NULL;
  for (size_t i = 0; names[i]; i++)
    if (strcmp(names[i], name) == 0) return setenv("SPARC_KERNEL", name, 1) == 0 ? EXIT_DONE : EXIT_FAILED;
  const char *near = closest(name, names);
  if (near)
    cli_message(who, "--kernel is '%s'; did you mean '%s'?", name, near);
  else
    cli_message(who, "--kernel is '%s', and this machine has no such kernels; `sparc info` lists them", name);
  return EXIT_USAGE;
}

/* everything that can be wrong with the command line, before the first measurement */
static exit_code check_arguments(bench_arguments *arguments, const char *const *problems) {
  bench_settings *settings = &arguments->settings;
  const kernels *chosen;
  if (arguments->kernel) {
    const exit_code code = choose_kernel(settings->who, arguments->kernel);
    if (code != EXIT_DONE) return code;
  }
  sparc_status status = kernels_choose(&chosen);
  for (size_t i = 0; status == SPARC_OK && problems[i]; i++) {
    bench_problem problem;
    if (!find_suite(problems[i])) status = bench_parse(problems[i], suite_names, &problem);
    if (status == SPARC_OK && arguments->compare && find_suite(problems[i])) {
      cli_message(settings->who, "--compare goes with problems, not with the suite %s", problems[i]);
      return EXIT_USAGE;
    }
  }
  if (status == SPARC_OK && arguments->compare) status = bench_load_old(arguments->compare, &settings->old);
  return status == SPARC_OK ? EXIT_DONE : bench_report_failure(settings, status);
}

static exit_code run_bench(int argc, char **argv) {
  bench_arguments arguments = {.settings = {.who = argv[0], .seconds = 1, .colour = cli_colour()}};
  bench_settings *settings = &arguments.settings;
  if (argp_parse(&bench_argp, argc, argv, 0, NULL, &arguments) != 0) return EXIT_USAGE;
  (void)setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* a run takes minutes: every result shows when it is there */
  if (settings->threads == 0) settings->threads = thread_count(0);
  if (settings->quick) settings->seconds /= 10;
  settings->machine.seconds = settings->seconds;
  const char *const *problems = arguments.problems ? (const char *const *)arguments.problems : usual_problems;

  exit_code code = check_arguments(&arguments, problems);
  if (code == EXIT_DONE && strcmp(build_type(), "release") != 0)
    cli_message(settings->who, "this is not a release build (%s): its times mean little", build_type());
  if (code == EXIT_DONE) code = run_all(settings, problems);
  json_decref(settings->old);
  bench_machine_free(&settings->machine);
  return code;
}

const cli_command command_bench = {"bench", "measure speed beside the limits of this machine", &bench_argp, run_bench};
