/* SPDX-License-Identifier: MIT */
/* data.c: `sparc data`: describes a data set or a data file as the training commands read it. */
#include "sparc/data.h"

#include "base/moments.h"
#include "cli/cli.h"
#include "cli/settings.h"
#include "data/catalog.h"
#include "io/json.h"
#include "io/settings_rows.h"
#include "run/read_settings.h"
#include "sparc/run.h"

#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct data_settings {
  const char *name, *root;
  int official;
  sparc_read_options read;
  tool_settings tool;
  uint64_t given, read_given;
  bool split_given;
} data_settings;

/* ---- options ------------------------------------------------------------------------------------ */

#define SETTING_STRUCT data_settings
static const setting data_rows[] = {
    {"name", NULL, TEXT(name), ROLE(SUBJECT)},
    ROOT_SETTING,
    {"official", NULL, FLAG(official)},
};
static const settings_table data_table = SETTINGS_TABLE(data_rows);

static const cli_option data_options[] = {
    {"name", POSITIONAL, .argument = "NAME or FILE"},
    ROOT_OPTION,
    {"official", 0, "Data:", NULL, .help = "Fit on the whole training partition, whatever its size"},
    {.name = NULL},
};

static const char doc[] =
    "Print the parts of a data set with their sizes, lengths and missing values, and its classes with the mean series "
    "of each. FILE may be UCR, ts, CSV, NPY, NPZ, IDX or CIFAR-10 binary, plain or gzip. Without an argument: list the "
    "available data sets."
    "\vExit status: 0 done, 2 usage, 3 a file is missing or malformed.";

/* ---- facts -------------------------------------------------------------------------------------- */

enum { PARTS = 3 };
static const char *const part_names[PARTS] = {"fit", "validation", "test"};

static sparc_dataset *part_of(const sparc_data_split *split, int part) {
  sparc_dataset *const parts[PARTS] = {split->fit, split->validation, split->test};
  return parts[part];
}

static int compare_ints(const void *a, const void *b) {
  const int x = *(const int *)a, y = *(const int *)b;
  return x < y ? -1 : x > y;
}

/* the lower median of the lengths; 0 without memory */
static int median_length(const sparc_dataset *d) {
  const int count = sparc_dataset_info_of(d).count;
  int *lengths = malloc((size_t)count * sizeof *lengths);
  if (!lengths) return 0;
  for (int i = 0; i < count; i++) lengths[i] = sparc_dataset_example(d, i).length;
  qsort(lengths, (size_t)count, sizeof *lengths, compare_ints);
  const int median = lengths[(count - 1) / 2];
  free(lengths);
  return median;
}

static int count_class(const sparc_dataset *d, int class_index) {
  const int examples = sparc_dataset_info_of(d).count;
  int count = 0;
  for (int i = 0; i < examples; i++) count += sparc_dataset_example(d, i).label == class_index;
  return count;
}

typedef struct target_facts {
  double mean, std, least, greatest;
} target_facts;

/* one number of the targets, over all examples and, where they have their own, steps */
static target_facts measure_target(const sparc_dataset *d, int k) {
  const sparc_dataset_info info = sparc_dataset_info_of(d);
  target_facts f = {.least = INFINITY, .greatest = -INFINITY};
  sample_sums sums = {0};
  for (int i = 0; i < info.count; i++) {
    const sparc_sample e = sparc_dataset_example(d, i);
    const float *target = e.target + k;
    const int rows = info.target_steps ? e.length : 1;
    for (int t = 0; t < rows; t++, target += info.targets) {
      sample_add(&sums, *target);
      f.least = fmin(f.least, *target);
      f.greatest = fmax(f.greatest, *target);
    }
  }
  f.mean = sample_mean(&sums);
  f.std = sqrt(sample_variance(&sums, sums.count));
  return f;
}

/* ---- sparklines --------------------------------------------------------------------------------- */

enum { COLUMNS = 48, SHOWN_CLASSES = 64 };

/* the mean course of a class in its first channel, over relative time; NaN where there are no values */
static void mean_course(const sparc_dataset *d, int class_index, int columns, double *course) {
  const sparc_dataset_info info = sparc_dataset_info_of(d);
  double sums[COLUMNS] = {0};
  long counts[COLUMNS] = {0};
  for (int i = 0; i < info.count; i++) {
    const sparc_sample e = sparc_dataset_example(d, i);
    if (e.label != class_index) continue;
    const long length = e.length;
    for (int column = 0; column < columns; column++) {
      /* at least one step, also where a series has fewer steps than there are columns */
      const long from = column * length / columns, to = (column + 1) * length / columns;
      for (long t = from; t < to || t == from; t++) {
        const float value = e.x[t * info.channels];
        if (isnan(value)) continue;
        sums[column] += value;
        counts[column]++;
      }
    }
  }
  for (int column = 0; column < columns; column++)
    course[column] = counts[column] ? sums[column] / (double)counts[column] : NAN;
}

static bool terminal_is_utf8(void) {
  locale_t user = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
  if (!user) return false;
  const bool utf8 = strcmp(nl_langinfo_l(CODESET, user), "UTF-8") == 0;
  freelocale(user);
  return utf8;
}

static void print_course(const double *course, int columns, double low, double high, bool utf8) {
  static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static const char ascii[] = "_.-~=+*#";
  enum { LEVELS = 8 };
  for (int i = 0; i < columns; i++) {
    if (isnan(course[i])) {
      putchar(' ');
      continue;
    }
    const double height = high > low ? (course[i] - low) / (high - low) : 0.5;
    const int level = height >= 1 ? LEVELS - 1 : (int)(height * LEVELS);
    if (utf8)
      fputs(bars[level], stdout);
    else
      putchar(ascii[level]);
  }
}

/* ---- text --------------------------------------------------------------------------------------- */

static void print_parts(const sparc_data_split *split) {
  printf("  %-10s  %8s  %-17s  %7s\n", "part", "examples", "length", "missing");
  for (int part = 0; part < PARTS; part++) {
    const sparc_dataset *d = part_of(split, part);
    if (!d) continue;
    char lengths[40];
    const sparc_dataset_info info = sparc_dataset_info_of(d);
    if (info.shortest == info.longest)
      snprintf(lengths, sizeof lengths, "%d", info.longest);
    else
      snprintf(lengths, sizeof lengths, "%d/%d/%d", info.shortest, median_length(d), info.longest);
    printf("  %-10s  %8d  %-17s  %7zu\n", part_names[part], info.count, lengths, info.missing);
  }
}

static void print_scale(int channels, const double *mean, const double *std) {
  for (int c = 0; c < channels; c++)
    printf("  channel %d of %d: mean %.6g, std %.6g over fit\n", c + 1, channels, mean[c], std[c]);
}

static int label_width(const sparc_dataset *d, int classes) {
  int width = (int)strlen("class");
  for (int c = 0; c < classes; c++) {
    const int size = (int)strlen(sparc_dataset_info_of(d).class_names[c]);
    if (size > width && size <= 32) width = size;
  }
  return width;
}

static void print_class(const sparc_data_split *split, int class_index, int width) {
  const char *label = class_index >= 0 ? sparc_dataset_info_of(split->fit).class_names[class_index] : NULL;
  printf("  ");
  cli_text(label ? label : "(none)", width);
  for (int part = 0; part < PARTS; part++)
    if (part_of(split, part)) printf("  %10d", count_class(part_of(split, part), class_index));
  printf("  ");
}

/* one line for each of the first classes, all courses on one scale */
static void print_classes(const sparc_data_split *split, double *courses, int first, int columns) {
  const int all = sparc_dataset_info_of(split->fit).classes, classes = all < SHOWN_CLASSES ? all : SHOWN_CLASSES;
  const int width = label_width(split->fit, classes);
  const bool utf8 = terminal_is_utf8();
  double low = INFINITY, high = -INFINITY;
  for (int c = first; c < classes; c++) {
    double *course = courses + (size_t)(c + 1) * (size_t)columns;
    mean_course(split->fit, c, columns, course);
    for (int i = 0; i < columns; i++) low = fmin(low, course[i]), high = fmax(high, course[i]);
  }
  printf("  %-*s", width, "class");
  for (int part = 0; part < PARTS; part++)
    if (part_of(split, part)) printf("  %10s", part_names[part]);
  printf("  mean of fit, %.4g to %.4g\n", low, high);
  for (int c = first; c < classes; c++) {
    print_class(split, c, width);
    print_course(courses + (size_t)(c + 1) * (size_t)columns, columns, low, high, utf8);
    putchar('\n');
  }
  if (all > classes) printf("  and %d more classes (--json prints all)\n", all - classes);
}

/* the range of the targets of each part, number by number */
static void print_targets(const sparc_data_split *split) {
  printf("  %-10s  %-8s  %12s  %12s  %12s  %12s\n", "part", "target", "mean", "std", "least", "greatest");
  for (int part = 0; part < PARTS; part++) {
    const sparc_dataset *d = part_of(split, part);
    const int targets = sparc_dataset_info_of(d).targets;
    for (int k = 0; k < targets; k++) {
      const target_facts f = measure_target(d, k);
      printf("  %-10s  %-8d  %12.6g  %12.6g  %12.6g  %12.6g\n", part_names[part], k + 1, f.mean, f.std, f.least,
             f.greatest);
    }
  }
}

static bool has_unlabelled(const sparc_data_split *split) {
  for (int part = 0; part < PARTS; part++)
    if (count_class(part_of(split, part), -1)) return true;
  return false;
}

static exit_code print_split(const char *who, const sparc_data_split *split, const double *mean, const double *std) {
  const sparc_dataset_info fit = sparc_dataset_info_of(split->fit);
  const int columns = fit.longest < COLUMNS ? fit.longest : COLUMNS;
  double *courses = malloc(((size_t)fit.classes + 1) * (size_t)columns * sizeof *courses);
  if (!courses) {
    cli_message(who, "no memory for the classes");
    return EXIT_FAILED;
  }
  cli_text(split->name, 0);
  printf("\n  %s\n", split->protocol);
  if (*split->paper_difference) printf("  not as in the paper: %s\n", split->paper_difference);
  putchar('\n');
  print_parts(split);
  putchar('\n');
  print_scale(fit.channels, mean, std);
  putchar('\n');
  if (fit.targets)
    print_targets(split);
  else
    print_classes(split, courses, has_unlabelled(split) ? -1 : 0, columns);
  free(courses);
  return EXIT_DONE;
}

/* ---- JSON --------------------------------------------------------------------------------------- */

static json_t *json_parts(const sparc_data_split *split) {
  json_t *list = json_array();
  for (int part = 0; part < PARTS; part++) {
    const sparc_dataset *d = part_of(split, part);
    if (!d) continue;
    const sparc_dataset_info info = sparc_dataset_info_of(d);
    json_array_append_new(list, json_pack("{s:s, s:i, s:i, s:i, s:i, s:I}", "part", part_names[part], "examples",
                                          info.count, "shortest", info.shortest, "median", median_length(d), "longest",
                                          info.longest, "missing", (json_int_t)info.missing));
  }
  return list;
}

static json_t *json_classes(const sparc_data_split *split) {
  const int classes = sparc_dataset_info_of(split->fit).classes;
  json_t *list = json_array();
  for (int c = has_unlabelled(split) ? -1 : 0; c < classes; c++) {
    const char *label = c >= 0 ? sparc_dataset_info_of(split->fit).class_names[c] : NULL;
    json_t *entry = json_pack("{s:i, s:o}", "class", c, "label", label ? json_text(label) : json_null());
    for (int part = 0; part < PARTS; part++)
      if (part_of(split, part))
        json_object_set_new(entry, part_names[part], json_integer(count_class(part_of(split, part), c)));
    json_array_append_new(list, entry);
  }
  return list;
}

static json_t *json_targets(const sparc_data_split *split) {
  json_t *list = json_array();
  for (int part = 0; part < PARTS; part++) {
    const sparc_dataset *d = part_of(split, part);
    const int targets = sparc_dataset_info_of(d).targets;
    for (int k = 0; k < targets; k++) {
      const target_facts f = measure_target(d, k);
      json_array_append_new(list, json_pack("{s:s, s:i, s:f, s:f, s:f, s:f}", "part", part_names[part], "target", k + 1,
                                            "mean", f.mean, "std", f.std, "least", f.least, "greatest", f.greatest));
    }
  }
  return list;
}

static json_t *json_reals(const double *values, int count) {
  json_t *list = json_array();
  for (int i = 0; i < count; i++) json_array_append_new(list, json_real(values[i]));
  return list;
}

static json_t *json_split(const sparc_data_split *split, const double *mean, const double *std) {
  const sparc_dataset_info fit = sparc_dataset_info_of(split->fit);
  json_t *object =
      json_pack("{s:o, s:s, s:s, s:i, s:o, s:o, s:o, s:o}", "name", json_text(split->name), "protocol", split->protocol,
                "differs", split->paper_difference, "channels", fit.channels, "mean", json_reals(mean, fit.channels),
                "std", json_reals(std, fit.channels), "parts", json_parts(split), "classes", json_classes(split));
  if (object && fit.targets) json_object_set_new(object, "targets", json_targets(split));
  return object;
}

/* ---- the command -------------------------------------------------------------------------------- */

static exit_code refuse(const char *who, sparc_status status) {
  cli_message(who, "%s", sparc_error());
  return cli_exit_code(status);
}

static exit_code list_names(const char *who, const data_settings *settings) {
  const char *root = catalog_root(settings->root);
  if (!root) {
    cli_message(who, "no NAME or FILE given, and no folder to list: give --root or set SPARC_DATA");
    return EXIT_USAGE;
  }
  char **names;
  sparc_status status = catalog_check_root(root, !settings->root);
  if (status == SPARC_OK) status = catalog_names(root, &names);
  if (status != SPARC_OK) return refuse(who, status);
  json_t *list = json_array();
  for (char **name = names; *name; name++) {
    if (settings->tool.json) {
      json_array_append_new(list, json_text(*name));
    } else {
      cli_text(*name, 0);
      putchar('\n');
    }
  }
  if (!*names) cli_message(who, "there is no data set in %s", root);
  catalog_names_free(names);
  if (settings->tool.json)
    cli_json_line(who, json_pack("{s:o, s:o}", "root", json_text(root), "names", list));
  else
    json_decref(list);
  return EXIT_DONE;
}

static exit_code describe(const char *who, const data_settings *settings, const sparc_data_split *split) {
  const size_t channels = (size_t)sparc_dataset_info_of(split->fit).channels;
  double *mean = malloc(2 * channels * sizeof *mean);
  if (!mean) {
    cli_message(who, "no memory for %zu channels", channels);
    return EXIT_FAILED;
  }
  double *std = mean + channels;
  exit_code code = EXIT_DONE;
  sparc_status status = sparc_dataset_moments(split->fit, mean, std);
  if (status != SPARC_OK)
    code = refuse(who, SPARC_FORMAT);
  else if (settings->tool.json)
    cli_json_line(who, json_split(split, mean, std));
  else
    code = print_split(who, split, mean, std);
  free(mean);
  return code;
}

/* as `sparc train` does without options */
static void divide_as_train(sparc_read_options *read) {
  const bool divides = read->objective != SPARC_OBJECTIVE_CLASSIFY || read->validation != 0 || read->folds;
  read->division = divides ? SPARC_DIVISION_SOUND : SPARC_DIVISION_WHOLE;
  read->whole_rows = SPARC_RIDGE_ROWS;
}

static exit_code load_and_describe(const char *who, const data_settings *settings) {
  sparc_data_options options = {.root = settings->root,
                                .protocol = settings->official ? SPARC_PROTOCOL_OFFICIAL : SPARC_PROTOCOL_PAPER,
                                .read = resolve_read_options(&settings->read)};
  if (!settings->split_given) divide_as_train(&options.read);
  const char *name = strcmp(settings->name, "-") == 0 ? "/dev/stdin" : settings->name;
  sparc_data_split split;
  const sparc_status status = cli_hint_unlabelled(name, &options.read, sparc_data_split_load(name, &options, &split));
  if (status != SPARC_OK) return refuse(who, status);
  if (*split.warning) cli_message(who, "warning: %s", split.warning);
  const exit_code code = describe(who, settings, &split);
  sparc_data_split_free(&split);
  return code;
}

static exit_code run_data(int argc, char **argv) {
  data_settings settings = {.name = NULL};
  const settings_binding binding = {
      .part = {{.table = &data_table, .at = &settings, .given = &settings.given},
               {.table = &read_settings, .at = &settings.read, .given = &settings.read_given},
               {.table = &tool_table,
                .at = &settings.tool,
                .given = &settings.tool.given,
                .without = "config quiet progress"}}};
  cli_sources *sources;
  const cli_usage usage = {
      .options = {data_options, read_options, tool_options}, .doc = doc, .arguments = "[NAME|FILE|-]"};
  const sparc_status status = cli_settings_read(argc, argv, &usage, &binding, &sources);
  settings.split_given = settings_is_given(&binding, settings_find(&binding, "split"));
  const exit_code code = status != SPARC_OK ? refuse(argv[0], status)
                         : settings.name    ? load_and_describe(argv[0], &settings)
                                            : list_names(argv[0], &settings);
  cli_sources_free(sources);
  return code;
}

const cli_command command_data = {"data", "describe a data set or a data file", NULL, run_data, CLI_ONE_RANK};
