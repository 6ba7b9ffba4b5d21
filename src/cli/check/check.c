/* SPDX-License-Identifier: MIT */
/* check.c: `sparc check FILE...`: compares every path of this build with golden vectors.
 *
 * Three parts: vector_file.c reads a file, paths.c computes the results on every path of the cell, and
 * check_report.c compares and prints. A bad file does not keep the others from being checked.
 */
#include "base/threads.h"
#include "cli/check/check_report.h"
#include "cli/cli.h"
#include "device/device.h"

#include <errno.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

typedef struct check_settings {
  int threads;
  const char *device_name; /* NULL: the CPU */
  bool fast;               /* the device may approximate */
  sparc_device *device;
  char **files; /* NULL-terminated */
  check_report report;
} check_settings;

/* ---- options ------------------------------------------------------------------------------------ */

enum {
  KEY_DOUBLE = 'd',
  KEY_TOLERANCE = 't',
  KEY_JSON = 'j',
  KEY_QUIET = 'q',
  KEY_THREADS = 'T',
  KEY_DEVICE = 'D',
  KEY_HASHES = 'H',
  KEY_FAST = 'f'
};

static const struct argp_option check_options[] = {
    {"double", KEY_DOUBLE, NULL, 0, "Check the double precision build of every path, and the plain reference", 0},
    {"tolerance", KEY_TOLERANCE, "X", 0,
     "Accept E_norm <= X for every tensor (default: 3e-6 for outputs and 1e-5 for the rest; 1e-12 with --double)", 0},
    {"json", KEY_JSON, NULL, 0, "Print one JSON object per tensor and path", 0},
    {"quiet", KEY_QUIET, NULL, 0, "Print only what is beyond tolerance, and the summary", 0},
    {"threads", KEY_THREADS, "N", 0, "Use at most N threads (default: all processors)", 0},
    {"device", KEY_DEVICE, "NAME", 0, "Check the paths of a device, for example opencl or opencl:1 (see sparc info)",
     0},
    {"hashes", KEY_HASHES, NULL, 0,
     "With --device: print a hash of every path's bits, equal on all devices with exact arithmetic", 0},
    {"fast", KEY_FAST, NULL, 0, "With --device: allow the approximations of its hardware", 0},
    {0}};

static double parse_tolerance(const char *text, const struct argp_state *state) {
  char *end;
  double value = strtod(text, &end);
  if (end == text || *end || !(value >= 0 && value <= DBL_MAX))
    argp_error(state, "--tolerance is '%s', expected a number that is not negative", text);
  return value;
}

static error_t parse_check(int key, char *argument, struct argp_state *state) {
  check_settings *settings = state->input;
  switch (key) {
    case KEY_DOUBLE:
      settings->report.in_double = true;
      return 0;
    case KEY_TOLERANCE:
      settings->report.tolerance = parse_tolerance(argument, state);
      return 0;
    case KEY_JSON:
      settings->report.json = true;
      return 0;
    case KEY_QUIET:
      settings->report.quiet = true;
      return 0;
    case KEY_THREADS:
      return cli_parse_int(state, "threads", argument, 1, THREADS_MAX, &settings->threads);
    case KEY_DEVICE:
      settings->device_name = argument;
      return 0;
    case KEY_HASHES:
      settings->report.hashes = true;
      return 0;
    case KEY_FAST:
      settings->fast = true;
      return 0;
    case ARGP_KEY_END:
      if (settings->report.hashes && !settings->device_name) argp_error(state, "--hashes needs --device");
      if (settings->fast && !settings->device_name) argp_error(state, "--fast needs --device");
      if (settings->fast && settings->report.hashes)
        argp_error(state, "--fast and --hashes exclude each other: only exact arithmetic has the same bits everywhere");
      if (settings->device_name && settings->report.in_double)
        argp_error(state, "--device and --double exclude each other: devices compute in float");
      return 0;
    case ARGP_KEY_ARGS:
      settings->files = state->argv + state->next;
      return 0;
    case ARGP_KEY_NO_ARGS:
      argp_error(state, "no FILE given");
      return 0;
    default:
      return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp check_argp = {
    .options = check_options,
    .parser = parse_check,
    .args_doc = "FILE...",
    .doc =
        "Compute each golden vector FILE on every path of its cell and compare with the expected results in the file."
        "\vE_abs is max|computed - expected|; E_norm is E_abs / max(1, max|expected|).\n\n"
        "Exit status: 0 all within tolerance, 1 something beyond it, 2 usage, 3 a file is missing or malformed.",
};

/* ---- work --------------------------------------------------------------------------------------- */

static sparc_status check_paths_of(check_settings *settings, const vector_file *vector, path_result *result) {
  check_report *report = &settings->report;
  check_path paths[MAX_PATHS];
  size_t count = settings->device ? list_device_paths(vector, paths) : list_paths(vector, report->in_double, paths);
  sparc_status worst = SPARC_OK;
  if (count == 0) cli_message(report->who, "%.200s: skipped: %s", vector->path, sparc_error());
  for (size_t i = 0; i < count && !cli_output_lost(); i++) {
    sparc_status status = settings->device ? run_device_path(vector, &paths[i], settings->device, result)
                                           : run_path(vector, &paths[i], report->in_double, settings->threads, result);
    if (status == SPARC_OK) {
      report_path(report, vector, &paths[i], result);
      continue;
    }
    cli_message(settings->report.who, "%.200s: path %s: %s", vector->path, paths[i].name, sparc_error());
    worst = status;
  }
  return worst;
}

static exit_code check_file(check_settings *settings, const char *path) {
  vector_file vector;
  path_result result;
  sparc_status status = vector_load(path, settings->report.in_double ? DBL_MAX : FLT_MAX, &vector);
  if (status != SPARC_OK) {
    cli_message(settings->report.who, "%s", sparc_error());
    return cli_exit_code(status);
  }
  status = result_create(&vector, &result);
  if (status != SPARC_OK) {
    cli_message(settings->report.who, "%s", sparc_error());
  } else {
    report_begin(&settings->report);
    /* the file is sound, so a path that does not run is a failure of the path */
    status = check_paths_of(settings, &vector, &result);
    report_end(&settings->report, &vector);
  }
  result_free(&result);
  vector_free(&vector);
  return status == SPARC_OK ? EXIT_DONE : EXIT_FAILED;
}

static exit_code run_check(int argc, char **argv) {
  check_settings settings = {.report = {.who = argv[0], .tolerance = -1, .colour = cli_colour()}};
  if (argp_parse(&check_argp, argc, argv, 0, NULL, &settings) != 0) return EXIT_USAGE;
  check_report *report = &settings.report;
  if (settings.device_name) {
    sparc_device_config config = {.fast = settings.fast};
    sparc_status status = device_parse(settings.device_name, &config);
    if (status == SPARC_OK) status = sparc_device_open(&config, &settings.device);
    if (status != SPARC_OK) {
      cli_message(argv[0], "%s", sparc_error());
      return cli_exit_code(status);
    }
  }
  for (char **file = settings.files; *file; file++) {
    int width = (int)strlen(*file);
    if (width > report->file_width) report->file_width = width;
  }

  /* a bad file outweighs a failed comparison: its results are unknown */
  exit_code code = EXIT_DONE;
  for (char **file = settings.files; *file && !cli_output_lost(); file++) {
    exit_code of_file = check_file(&settings, *file);
    if (of_file > code) code = of_file;
  }
  report_summary(report);
  sparc_device_close(settings.device);
  return code == EXIT_DONE && report->beyond > 0 ? EXIT_FAILED : code;
}

const cli_command command_check = {"check", "compare every path with golden vectors", &check_argp, run_check,
                                   CLI_ONE_RANK};
