/* SPDX-License-Identifier: MIT */
/* info.c: `sparc info`: the build and the machine, or the contents of safetensors files. */
#include "base/build_info.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/threads.h"
#include "cli/cli.h"
#include "cli/info_cells.h"
#include "cli/ranks.h"
#include "device/device.h"
#include "envs/robots.h"
#include "io/dtype.h"
#include "io/json.h"
#include "kernels/kernels.h"
#include "run/launch.h"
#include "sparc/cell.h"
#include "sparc/device.h"
#include "sparc/safetensors.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

typedef struct info_settings {
  bool json, cells, options;
  cells_settings of_cells;
  char **files; /* NULL-terminated; NULL: none */
} info_settings;

/* ---- options ------------------------------------------------------------------------------------ */

enum { OLD_BUDGET = 256 };

static const struct argp_option info_options[] = {
    {"json", 'j', NULL, 0, "Print one JSON object, or one for each FILE or cell", 0},
    {"cells", 'c', NULL, 0, "Print the sizes of each cell: parameters, state, trace, stored rollout", 0},
    {"options", 'o', NULL, 0, "Print the options of every cell: values, default, meaning", 0},
    {"inputs", 'D', "N", 0, "With --cells: the input width, 64 by default", 0},
    {"state-size", 'b', "N", 0, "With --cells: real state coordinates, 384 and 128 by default", 0},
    {"budget", OLD_BUDGET, "N", OPTION_HIDDEN, NULL, 0},
    {"modes", 'H', "N", 0, "With --cells: modes (or real coordinates) instead of a state size", 0},
    {0}};

enum { WIDEST = 1 << 20 };

/* NOLINTNEXTLINE(readability-non-const-parameter): the type is argp's */
static error_t parse_info(int key, char *argument, struct argp_state *state) {
  info_settings *settings = state->input;
  switch (key) {
    case 'j':
      settings->json = settings->of_cells.json = true;
      return 0;
    case 'c':
      settings->cells = true;
      return 0;
    case 'o':
      settings->options = true;
      return 0;
    case 'D':
      return cli_parse_int(state, "inputs", argument, 1, WIDEST, &settings->of_cells.D);
    case OLD_BUDGET:
      cli_message(state->name, "--budget is now --state-size");
      return cli_parse_int(state, "state-size", argument, 1, WIDEST, &settings->of_cells.state_size);
    case 'b':
      return cli_parse_int(state, "state-size", argument, 1, WIDEST, &settings->of_cells.state_size);
    case 'H':
      return cli_parse_int(state, "modes", argument, 1, WIDEST, &settings->of_cells.H);
    case ARGP_KEY_END:
      if (settings->cells && settings->options) argp_error(state, "--cells and --options exclude each other");
      if ((settings->cells || settings->options) && settings->files)
        argp_error(state, "%s takes no FILE", settings->cells ? "--cells" : "--options");
      if (settings->of_cells.H && settings->of_cells.state_size)
        argp_error(state, "--modes and --state-size exclude each other");
      return 0;
    case ARGP_KEY_ARGS:
      settings->files = state->argv + state->next;
      return 0;
    default:
      return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp info_argp = {
    .options = info_options,
    .parser = parse_info,
    .args_doc = "[FILE...]",
    .doc =
        "Without FILE: print the version, the build, the processor, the libraries and the threads. "
        "With --cells: the sizes of each cell; with --options: the options of each cell. "
        "With safetensors FILEs: list their metadata and tensors."
        "\vExit status: 0 done, 2 usage, 3 a file is missing or malformed.",
};

/* ---- this build on this machine ----------------------------------------------------------------- */

enum { FEATURES_TEXT = 256 };

static void print_caches(const cpu_info *cpu) {
  const struct {
    const char *name;
    size_t bytes;
  } caches[] = {{"L1d", cpu->l1d}, {"L2", cpu->l2}, {"L3", cpu->l3}};
  const char *separator = "";
  printf("caches    ");
  for (size_t i = 0; i < sizeof caches / sizeof *caches; i++) {
    if (caches[i].bytes == 0) continue;
    printf("%s%s %zu KiB", separator, caches[i].name, caches[i].bytes / 1024);
    separator = ", ";
  }
  puts(*separator ? "" : "unknown");
}

/* one line for each device of every backend */
static void print_devices(void) {
  const char *heading = "devices  ";
  for (const char *const *backend = device_backends(); *backend; backend++) {
    int count = 0;
    sparc_device_describe(*backend, 0, NULL, &count);
    for (int i = 0; i < count; i++) {
      sparc_device_info info;
      if (sparc_device_describe(*backend, i, &info, NULL) != SPARC_OK) continue;
      printf("%s %s:%d ", heading, *backend, i);
      cli_text(info.name, 0);
      printf(" (");
      cli_text(info.platform, 0);
      printf(", driver ");
      cli_text(info.driver, 0);
      printf("), %d units, %zu MiB, %s", info.units, info.memory >> 20,
             !info.usable ? "not usable"
             : info.exact ? "exact"
                          : "fast only");
      if (*info.missing) printf(": lacks %s", info.missing);
      putchar('\n');
      heading = "         ";
    }
  }
  if (*heading == 'd') printf("%s none\n", heading);
}

static void print_build(const char *kernel) {
  const cpu_info cpu = cpu_detect();
  char features[FEATURES_TEXT];
  cpu_feature_names(cpu.features, features, sizeof features);
  printf("version   sparc %s\n", sparc_version());
  printf("build     %s, %s, commit %s\n", build_compiler(), build_type(), build_commit());
  printf("cpu       %s\n", cpu.brand);
  printf("features  %s\n", features);
  print_caches(&cpu);
  printf("kernels   %s (of", kernel);
  for (const char *const *name = kernel_names(); *name; name++)
    if (kernel_available(*name)) printf(" %s", *name);
  printf(")\n");
  printf("blas      %s, in the benchmark alone\n", build_blas());
  printf("jansson   %s\n", jansson_version_str());
  printf("zlib      %s\n", zlibVersion());
  printf("openmp    %s\n", build_openmp() ? "yes" : "no");
  printf("mujoco    %s\n", robots_available() == SPARC_OK ? "yes" : sparc_error());
  printf("threads   %d (of %d processors, by %s)\n", thread_count(0), cpu.logical, thread_executor());
  print_devices();
  printf("cells    ");
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++) printf(" %s", *kind);
  putchar('\n');
}

/* a list of words separated by spaces; text is cut up */
static json_t *json_words(char *text) {
  json_t *list = json_array();
  for (char *word; (word = strsep(&text, " ")) != NULL;)
    if (*word) json_array_append_new(list, json_string(word));
  return list;
}

static json_t *json_kinds(void) {
  json_t *list = json_array();
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++) json_array_append_new(list, json_string(*kind));
  return list;
}

static json_t *json_kernel_sets(void) {
  json_t *list = json_array();
  for (const char *const *name = kernel_names(); *name; name++)
    json_array_append_new(list, json_pack("{s:s, s:b}", "name", *name, "available", kernel_available(*name)));
  return list;
}

static json_t *json_devices(void) {
  json_t *list = json_array();
  for (const char *const *backend = device_backends(); *backend; backend++) {
    int count = 0;
    sparc_device_describe(*backend, 0, NULL, &count);
    for (int i = 0; i < count; i++) {
      sparc_device_info info;
      if (sparc_device_describe(*backend, i, &info, NULL) != SPARC_OK) continue;
      json_array_append_new(
          list, json_pack("{s:s, s:i, s:o, s:o, s:o, s:i, s:I, s:I, s:I, s:b, s:b, s:s}", "backend", *backend, "index",
                          i, "name", json_text(info.name), "platform", json_text(info.platform), "driver",
                          json_text(info.driver), "units", info.units, "memory", (json_int_t)info.memory, "largest",
                          (json_int_t)info.largest, "local", (json_int_t)info.local, "doubles", info.doubles, "exact",
                          info.exact, "missing", info.missing));
    }
  }
  return list;
}

static json_t *json_build(const char *kernel) {
  const cpu_info cpu = cpu_detect();
  char features[FEATURES_TEXT];
  cpu_feature_names(cpu.features, features, sizeof features);
  json_t *build =
      json_pack("{s:s, s:s, s:s}", "compiler", build_compiler(), "type", build_type(), "commit", build_commit());
  json_t *machine =
      json_pack("{s:o, s:o, s:I, s:I, s:I, s:i}", "brand", json_text(cpu.brand), "features", json_words(features),
                "l1d", (json_int_t)cpu.l1d, "l2", (json_int_t)cpu.l2, "l3", (json_int_t)cpu.l3, "logical", cpu.logical);
  json_t *libraries =
      json_pack("{s:s, s:s, s:s, s:b, s:b}", "blas", build_blas(), "jansson", jansson_version_str(), "zlib",
                zlibVersion(), "openmp", build_openmp(), "mujoco", robots_available() == SPARC_OK);
  return json_pack("{s:s, s:o, s:o, s:s, s:o, s:o, s:i, s:o, s:o}", "version", sparc_version(), "build", build, "cpu",
                   machine, "kernels", kernel, "kernel_sets", json_kernel_sets(), "libraries", libraries, "threads",
                   thread_count(0), "devices", json_devices(), "cells", json_kinds());
}

/* ---- files -------------------------------------------------------------------------------------- */

static int widest(int width, const char *text) { return (int)strlen(text) > width ? (int)strlen(text) : width; }

static void print_metadata(const sparc_tensors *file) {
  int width = 0;
  const sparc_tensors_contents contents = sparc_tensors_contents_of(file);
  const size_t count = contents.metadata_count;
  for (size_t i = 0; i < count; i++) width = widest(width, contents.metadata[i].key);
  for (size_t i = 0; i < count; i++) {
    const sparc_metadata *m = &contents.metadata[i];
    printf("  ");
    cli_text(m->key, width);
    printf(" = ");
    cli_text(m->value, 0);
    putchar('\n');
  }
}

/* "[2,19,5]", padded to width */
static void print_shape(const sparc_tensor_info *t, int width) {
  char text[SPARC_TENSOR_MAX_RANK * 24] = "[";
  size_t used = 1;
  for (int i = 0; i < t->rank; i++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%zu", i ? "," : "", t->shape[i]);
  snprintf(text + used, sizeof text - used, "]");
  printf("%-*s", width, text);
}

static void print_file(const char *path, const sparc_tensors *file) {
  size_t total = 0;
  int width = 0;
  const sparc_tensors_contents contents = sparc_tensors_contents_of(file);
  const size_t count = contents.count;
  for (size_t i = 0; i < count; i++) width = widest(width, contents.tensors[i].name);
  cli_text(path, 0);
  putchar('\n');
  print_metadata(file);
  for (size_t i = 0; i < count; i++) {
    const sparc_tensor_info *t = &contents.tensors[i];
    printf("  ");
    cli_text(t->name, width);
    printf("  %-4s  ", dtype_name(t->dtype));
    print_shape(t, 14);
    printf("  %10zu bytes\n", t->bytes);
    total += t->bytes;
  }
  printf("  %zu tensors, %zu bytes\n", count, total);
}

static json_t *json_tensor(const sparc_tensor_info *t) {
  json_t *shape = json_array();
  for (int i = 0; i < t->rank; i++) json_array_append_new(shape, json_integer((json_int_t)t->shape[i]));
  return json_pack("{s:o, s:s, s:o, s:I, s:I}", "name", json_text(t->name), "dtype", dtype_name(t->dtype), "shape",
                   shape, "offset", (json_int_t)t->offset, "bytes", (json_int_t)t->bytes);
}

static json_t *json_file(const char *path, const sparc_tensors *file) {
  json_t *metadata = json_object(), *tensors = json_array();
  size_t total = 0;
  const sparc_tensors_contents contents = sparc_tensors_contents_of(file);
  for (size_t i = 0; i < contents.metadata_count; i++) {
    const sparc_metadata *m = &contents.metadata[i];
    json_object_set_new(metadata, m->key, json_text(m->value));
  }
  for (size_t i = 0; i < contents.count; i++) {
    const sparc_tensor_info *t = &contents.tensors[i];
    json_array_append_new(tensors, json_tensor(t));
    total += t->bytes;
  }
  return json_pack("{s:o, s:o, s:o, s:I}", "file", json_text(path), "metadata", metadata, "tensors", tensors, "bytes",
                   (json_int_t)total);
}

static exit_code describe_file(const char *who, const char *name, bool json) {
  sparc_tensors *file;
  char path[CLI_PATH];
  sparc_status status = cli_model_path(name, path);
  if (status == SPARC_OK) status = sparc_tensors_load(path, &file);
  if (status != SPARC_OK) {
    cli_message(who, "%s", sparc_error());
    return cli_exit_code(status);
  }
  if (json)
    cli_json_line(who, json_file(path, file));
  else
    print_file(path, file);
  sparc_tensors_free(file);
  return EXIT_DONE;
}

/* ---- the ranks of an MPI job ---------------------------------------------------------------------- */

static void print_rank(const char *who, int rank, const rank_resources *r, bool json) {
  if (json)
    cli_json_line(who, json_pack("{s:i, s:s, s:i, s:i, s:f, s:s, s:s}", "rank", rank, "host", r->host, "processors",
                                 r->processors, "threads", r->threads, "memory_gb", r->memory_gb, "kernels", r->kernels,
                                 "version", r->version));
  else
    printf("rank %-4d %-20s %3d processors, %3d threads by default, %.1f GB of memory, kernels %s\n", rank, r->host,
           r->processors, r->threads, r->memory_gb, r->kernels);
}

static exit_code describe_ranks(const char *who, bool json) {
  ranks *group = cli_ranks();
  const int count = ranks_count(group);
  rank_resources *all = calloc((size_t)count, sizeof *all);
  sparc_status status = all ? SPARC_OK : fail(SPARC_NO_MEMORY, "no memory for what %d ranks have", count);
  status = ranks_agree(group, status, NULL);
  if (status == SPARC_OK) status = launch_resources(group, all);
  if (status != SPARC_OK) cli_message(who, "%s", sparc_error());
  if (status == SPARC_OK && !json) printf("mpi       %s, %d ranks\n", ranks_link_of(group)->library, count);
  for (int i = 0; all && i < count && status == SPARC_OK; i++) print_rank(who, i, &all[i], json);
  free(all);
  return cli_exit_code(status);
}

static exit_code run_info(int argc, char **argv) {
  info_settings settings = {.of_cells = {.D = 64}};
  if (argp_parse(&info_argp, argc, argv, 0, NULL, &settings) != 0) return EXIT_USAGE;
  if (settings.cells) return info_cells(argv[0], &settings.of_cells);
  if (settings.options) return info_cell_options(settings.json);
  if (settings.files) {
    exit_code code = EXIT_DONE;
    for (char **file = settings.files; *file && !cli_output_lost(); file++) {
      exit_code of_file = describe_file(argv[0], *file, settings.json);
      if (of_file > code) code = of_file;
    }
    return code;
  }
  if (cli_ranks()) return describe_ranks(argv[0], settings.json);
  const char *kernel;
  const sparc_status status = kernel_resolve(NULL, &kernel);
  if (status != SPARC_OK) {
    cli_message(argv[0], "%s", sparc_error());
    return cli_exit_code(status);
  }
  if (settings.json)
    cli_json_line(argv[0], json_build(kernel));
  else
    print_build(kernel);
  return EXIT_DONE;
}

const cli_command command_info = {"info", "describe this build, or list what is in files", &info_argp, run_info,
                                  CLI_ALL_RANKS};
