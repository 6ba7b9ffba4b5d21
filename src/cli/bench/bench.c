/* SPDX-License-Identifier: MIT */
/* bench.c: `sparc bench [PROBLEM|SUITE...]`: how fast, and how far from what the machine can do.
 *
 * src/bench measures; here options are read, and text.c or json.c prints what comes of it.
 */
#include "base/build_info.h"
#include "base/error.h"
#include "base/threads.h"
#include "cli/bench/output.h"
#include "cli/ranks.h"
#include "device/device.h"
#include "kernels/kernels.h"

#include <stdlib.h>
#include <string.h>

/* ---- options ------------------------------------------------------------------------------------ */

enum {
  KEY_THREADS = 'T',
  KEY_KERNEL = 'k',
  KEY_SECONDS = 's',
  KEY_JSON = 'j',
  KEY_COMPARE = 'c',
  KEY_QUICK = 'q',
  KEY_PLAN = 'p',
  KEY_HTML = 'o',
  KEY_DEVICE = 'd',
  KEY_FAST = 'f'
};

typedef struct bench_arguments {
  bench_settings settings;
  bool json, plan;
  const char *compare, *html;
  char **problems; /* NULL-terminated; NULL: the defaults */
} bench_arguments;

static const struct argp_option bench_options[] = {
    {"threads", KEY_THREADS, "N", 0, "Use N threads (default: all processors; of the suite scale: 1 in each rank)", 0},
    {"kernel", KEY_KERNEL, "NAME", 0, "Use these kernels (default: the best; see `sparc info`)", 0},
    {"seconds", KEY_SECONDS, "S", 0, "Measure each problem for about S seconds (default: 1)", 0},
    {"json", KEY_JSON, NULL, 0, "Print one JSON object per stage, goal or table row", 0},
    {"compare", KEY_COMPARE, "FILE", 0, "Print the ratio to the results in FILE, which --json wrote", 0},
    {"html", KEY_HTML, "FILE", 0, "Write an HTML page with the machine and all figures", 0},
    {"device", KEY_DEVICE, "NAME", 0,
     "With the suite paper: measure this device, for example cuda or opencl:1 (see `sparc info`), and write an "
     "HTML page (--html, default: sparc-paper-NAME.html)",
     0},
    {"fast", KEY_FAST, NULL, 0, "With --device: allow the approximations of its hardware", 0},
    {"plan", KEY_PLAN, NULL, 0, "Print the tiles of each loop for 1 to 64 threads, and the longest share of a thread",
     0},
    {"quick", KEY_QUICK, NULL, 0,
     "Short sequences and few rows in the suites, a tenth of the time; verdicts do not count", 0},
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
      arguments->settings.kernel = argument;
      return 0;
    case KEY_SECONDS:
      arguments->settings.seconds = parse_seconds(argument, state);
      return 0;
    case KEY_JSON:
      arguments->json = true;
      return 0;
    case KEY_COMPARE:
      arguments->compare = argument;
      return 0;
    case KEY_HTML:
      arguments->html = argument;
      return 0;
    case KEY_PLAN:
      arguments->plan = true;
      return 0;
    case KEY_QUICK:
      arguments->settings.quick = true;
      return 0;
    case KEY_DEVICE:
      arguments->settings.device = argument;
      return 0;
    case KEY_FAST:
      arguments->settings.fast = true;
      return 0;
    case ARGP_KEY_ARGS:
      arguments->problems = state->argv + state->next;
      return 0;
    case ARGP_KEY_END:
      if (arguments->settings.fast && !arguments->settings.device) argp_error(state, "--fast needs --device");
      if (arguments->settings.device && (arguments->compare || arguments->plan))
        argp_error(state, "--device and --%s exclude each other", arguments->compare ? "compare" : "plan");
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
           "\n"
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
        "Measure problems given as short strings, for example mixer:B4:T2048:D512:cell=rglru, and compare them with "
        "the "
        "peak rates of the machine measured in the same run. Without arguments: a default selection."
        "\v(the list of problems)",
    .help_filter = list_problems,
};

/* ---- work --------------------------------------------------------------------------------------- */

static const char *const default_problems[] = {"mixer:B4:T2048:D512",
                                               "mixer:B4:T2048:D512:cell=rglru:block=128",
                                               "fused:B8:T2048:H512",
                                               "step:H64:D64",
                                               "rtrl:H64:D64",
                                               "rtrl:H192:D64",
                                               "prepare:H512:D512",
                                               "sgemm:M8192:N1024:K2048",
                                               NULL};

static const char *const default_plans[] = {"mixer:B4:T2048:D512", "mixer:B16:T256:D512:cell=gru", "train:B32:T784",
                                            NULL};

/* a problem that fails does not keep the others from being measured */
static bool measure_all(bench_session *session, bench_printer *printer, bool plan, bool html,
                        const char *const *problems) {
  bool good = true;
  for (; *problems && !cli_output_lost(); problems++) {
    if (!html) printer->table = NULL;
    good = (plan ? bench_plan : bench_measure)(session, *problems) && good;
  }
  return good;
}

void bench_report_failure(void *context, sparc_status status) {
  bench_printer *printer = context;
  const exit_code code = cli_exit_code(status);
  cli_message(printer->who, "%s", sparc_error());
  if (code > printer->worst) printer->worst = code;
}

bool bench_output_lost(void *context) {
  (void)context;
  return cli_output_lost();
}

const char *bench_verdict_name(bench_verdict verdict) {
  static const char *const names[] = {
      [BENCH_STRETCH] = "stretch",         [BENCH_DEMAND] = "demand",       [BENCH_MISSED] = "MISSED",
      [BENCH_INFORMATION] = "information", [BENCH_NOT_BUILT] = "not built", [BENCH_UNKNOWN] = "unknown"};
  return names[verdict];
}

static exit_code check_kernel(const char *who, const char *name) {
  const char *chosen, *near = closest(name, kernel_names());
  if (kernel_available(name)) {
    if (kernel_resolve(name, &chosen) == SPARC_OK && strcmp(chosen, name) == 0) return EXIT_DONE;
    cli_message(who, "--kernel is '%s', but the environment variable SPARC_KERNEL differs", name);
  } else if (near && strcmp(near, name) != 0)
    cli_message(who, "--kernel is '%s'; did you mean '%s'?", name, near);
  else
    cli_message(who, "--kernel is '%s', and this machine has no such kernels; `sparc info` lists them", name);
  return EXIT_USAGE;
}

/* only the suite paper runs on devices, and only on one that is named */
static exit_code check_device(const bench_arguments *arguments, const char *const *problems, bench_printer *printer) {
  sparc_device_config unused = {0};
  if (!arguments->problems || strcmp(problems[0], "paper") != 0 || problems[1]) {
    cli_message(printer->who, "--device goes with the suite paper alone: sparc bench paper --device %s",
                arguments->settings.device);
    return EXIT_USAGE;
  }
  const sparc_status status = device_parse(arguments->settings.device, &unused);
  if (status != SPARC_OK) bench_report_failure(printer, status);
  return printer->worst;
}

/* everything that can be wrong with the command line, before the first measurement */
static exit_code check_arguments(const bench_arguments *arguments, const char *const *problems,
                                 bench_printer *printer) {
  const char *chosen;
  if (arguments->settings.device) return check_device(arguments, problems, printer);
  if (arguments->settings.kernel) {
    const exit_code code = check_kernel(printer->who, arguments->settings.kernel);
    if (code != EXIT_DONE) return code;
  }
  sparc_status status = arguments->settings.kernel ? SPARC_OK : kernel_resolve(NULL, &chosen);
  for (size_t i = 0; status == SPARC_OK && problems[i]; i++) {
    status = bench_check(&arguments->settings, problems[i]);
    if (status == SPARC_OK && (arguments->compare || arguments->plan) && bench_is_suite(problems[i])) {
      cli_message(printer->who, "--%s goes with problems, not with the suite %s",
                  arguments->compare ? "compare" : "plan", problems[i]);
      return EXIT_USAGE;
    }
  }
  for (size_t i = 0; status == SPARC_OK && arguments->html && problems[i]; i++) {
    if (bench_html_has(problems[i])) continue;
    cli_message(printer->who, "--html has problems and the suites limits, goals and train, not %s", problems[i]);
    return EXIT_USAGE;
  }
  if (status == SPARC_OK && arguments->compare) status = bench_load_old(arguments->compare, &printer->old);
  if (status != SPARC_OK) bench_report_failure(printer, status);
  return printer->worst;
}

/* ---- devices ------------------------------------------------------------------------------------ */

/* prints a row, and puts it on the page, which begins with the first one: a device that does not open leaves none */
static void put_device_row(void *context, const bench_row *row) {
  bench_printer *printer = context;
  printer->besides->row(context, row);
  if (!printer->page.out) {
    const sparc_status status = bench_html_begin_device(printer, printer->page_path);
    if (status != SPARC_OK) {
      bench_report_failure(printer, status);
      return;
    }
  }
  bench_html.row(context, row);
}

static exit_code run_device(const bench_arguments *arguments, bench_printer *printer) {
  char path[64];
  bench_session *session;
  snprintf(path, sizeof path, "sparc-paper-%.32s.html", arguments->settings.device);
  for (char *at = path; *at; at++)
    if (*at == ':') *at = '-';
  printer->page_path = arguments->html ? arguments->html : path;
  printer->besides = arguments->json ? &bench_json : &bench_text;
  const bench_output output = {.row = put_device_row, .failed = bench_report_failure, .stopped = bench_output_lost};
  sparc_status status = bench_session_create(&arguments->settings, &output, printer, &session);
  if (status == SPARC_OK && !bench_measure(session, "paper") && printer->worst == EXIT_DONE)
    printer->worst = EXIT_FAILED;
  if (status == SPARC_OK && printer->page.out) {
    status = bench_html_end(printer);
    if (status == SPARC_OK) cli_message(printer->who, "%s has these tables, to send back", printer->page_path);
  }
  if (status != SPARC_OK) bench_report_failure(printer, status);
  bench_session_free(session);
  return printer->worst;
}

static exit_code run_bench(int argc, char **argv) {
  bench_arguments arguments = {.settings = {.seconds = 1}};
  bench_settings *settings = &arguments.settings;
  if (argp_parse(&bench_argp, argc, argv, 0, NULL, &arguments) != 0) return EXIT_USAGE;
  (void)setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* a run takes minutes: every result shows when it is there */
  settings->group = cli_ranks();
  if (settings->threads == 0) settings->threads = settings->group ? 1 : thread_count(0);
  if (settings->quick) settings->seconds /= 10;
  const char *const *defaults = arguments.plan ? default_plans : default_problems;
  const char *const *problems = arguments.problems ? (const char *const *)arguments.problems : defaults;

  bench_printer printer = {.who = argv[0], .settings = *settings, .colour = cli_colour()};
  exit_code code = check_arguments(&arguments, problems, &printer);
  if (code != EXIT_DONE) return code;
  if (strcmp(build_type(), "release") != 0)
    cli_message(printer.who, "this is not a release build (%s): its times mean little", build_type());
  if (settings->device) return run_device(&arguments, &printer);
  bench_session *session;
  const char *kernel = settings->kernel;
  const bench_output *output = arguments.html ? &bench_html : arguments.json ? &bench_json : &bench_text;
  sparc_status status = bench_session_create(settings, output, &printer, &session);
  if (status == SPARC_OK && arguments.html) status = kernel_resolve(kernel, &kernel);
  if (status == SPARC_OK && arguments.html) status = bench_html_begin(&printer, arguments.html, kernel);
  if (status != SPARC_OK)
    bench_report_failure(&printer, status);
  else if (!measure_all(session, &printer, arguments.plan, arguments.html != NULL, problems) &&
           printer.worst == EXIT_DONE)
    printer.worst = EXIT_FAILED;
  if (status == SPARC_OK && arguments.html) {
    status = bench_html_end(&printer);
    if (status != SPARC_OK) bench_report_failure(&printer, status);
  }
  bench_session_free(session);
  json_decref(printer.old);
  return printer.worst;
}

const cli_command command_bench = {"bench", "measure speed beside the limits of this machine", &bench_argp, run_bench,
                                   CLI_ALL_RANKS};
