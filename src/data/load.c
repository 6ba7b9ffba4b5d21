/* SPDX-License-Identifier: MIT */
/* load.c: from a name or a path to fit, validation and test [app:classification_data]. */
#include "data/catalog.h"
#include "data/split.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* a data set to load */
typedef struct request {
  const char *name; /* as in the catalog, or of the file */
  const location *where;
  sparc_data_protocol protocol;
  sparc_read_options read;
  bool environment; /* the root is that of SPARC_DATA */
} request;

/* ---- parts ---- */

static sparc_status need_labels(const char *images) {
  char path[PATH_MAX];
  if (labels_beside(images, path, sizeof path)) return SPARC_OK;
  return fail(SPARC_IO, "%.200s: its labels are not beside it, expected the same name with 'labels' for 'images'",
              images);
}

/* reads the files of one part; the classes of `like`, if given, are the only ones allowed */
static sparc_status read_part(const request *r, const char *const *paths, int count, const sparc_dataset *like,
                              sparc_dataset **out) {
  sparc_read_options read = r->read;
  const bool named = r->where->variant != NULL;
  if (named) read.labels_path = NULL, read.labels_data = NULL;
  if (like) read.classes = like->map->names, read.class_count = like->map->count;
  if (like && like->columns) read.columns = &like->columns->view;
  sparc_status status = named && r->where->variant->labels ? need_labels(paths[0]) : SPARC_OK;
  if (status == SPARC_OK) status = read_files(paths, count, &read, out);
  if (status == SPARC_OK && named && r->where->variant->permuted) status = permute_steps(*out);
  if (status == SPARC_OK && like && like->channels != (*out)->channels)
    status = fail(SPARC_FORMAT, "%.200s: %d channels, expected %d as the training partition has", paths[0],
                  (*out)->channels, like->channels);
  return status;
}

static sparc_status read_train(const request *r, sparc_dataset **train) {
  const char *paths[CATALOG_PARTS] = {r->where->train[0]};
  for (int i = 1; i < r->where->parts; i++) paths[i] = r->where->train[i];
  return read_part(r, paths, r->where->parts, NULL, train);
}

/* a part that may be absent */
static sparc_status read_other(const request *r, const char *path, const sparc_dataset *train, sparc_dataset **out) {
  return *path ? read_part(r, &path, 1, train, out) : SPARC_OK;
}

/* ---- the split ---- */

/* one long series is divided by time: 80 % fit, 10 % validation, 10 % test. Each part is cut into windows: overlapping
 * ones for fitting, adjacent ones for evaluation. */
static sparc_status divide_by_time(const request *r, sparc_data_split *out) {
  enum { DEFAULT_CONTEXT = 64, HISTORY = 1024 };
  sparc_dataset *series = out->fit;
  const int length = series->examples[0].length, horizon = r->read.horizon ? r->read.horizon : 1;
  const int first = (int)(8L * length / 10), second = (int)(9L * length / 10);
  int context = r->read.context ? r->read.context : first / 4 < DEFAULT_CONTEXT ? first / 4 : DEFAULT_CONTEXT;
  if (context < 1) context = 1;
  if (second - first <= horizon || length - second <= horizon)
    return fail(SPARC_FORMAT, "'%s' has %d steps, too few to forecast %d ahead and to measure it", quote(r->name).text,
                length, horizon);
  out->fit = NULL;
  const int window = context + horizon, stride = context / 4 ? context / 4 : 1;
  sparc_status status = dataset_window(series, 0, first, window, stride, &out->fit);
  const int history = context > HISTORY ? context : HISTORY;
  if (r->read.division != SPARC_DIVISION_PAPER) {
    if (status == SPARC_OK)
      status = dataset_continue(series, first, second, history, history, horizon, &out->validation);
    if (status == SPARC_OK) status = dataset_continue(series, second, length, history, history, horizon, &out->test);
  } else {
    if (status == SPARC_OK) status = dataset_window(series, first, second, window, context, &out->validation);
    if (status == SPARC_OK) status = dataset_window(series, second, length, window, context, &out->test);
  }
  sparc_dataset_free(series);
  snprintf(out->protocol, sizeof out->protocol,
           "one series of %d steps: the first %d fit in windows of %d, the next %d validate, the last %d test", length,
           first, context, second - first, length - second);
  return status;
}

static bool is_one_series(const request *r, const sparc_dataset *train) {
  return r->read.objective == SPARC_OBJECTIVE_FORECAST && train->count == 1 && !r->where->test[0] &&
         !r->where->validation[0];
}

static bool fits_whole(const request *r, const sparc_dataset *train) {
  return r->protocol == SPARC_PROTOCOL_OFFICIAL ||
         (r->read.division == SPARC_DIVISION_WHOLE && (!r->read.whole_rows || train->count <= r->read.whole_rows));
}

/* why there is nothing to draw for validation; NULL: there is */
static const char *not_divided(const request *r, const sparc_dataset *train) {
  return is_one_series(r, train)   ? "a single series is divided by time"
         : r->where->validation[0] ? "there is a file for validation"
         : fits_whole(r, train)    ? "the whole training partition fits"
                                   : NULL;
}

/* divides the training partition; out->fit holds all of it at first */
static sparc_status divide(const request *r, sparc_data_split *out) {
  sparc_dataset *train = out->fit;
  const double part = r->read.validation;
  const int folds = r->read.folds;
  const char *const reason = not_divided(r, train);
  if (part != 0 && !(part > 0 && part < 1))
    return fail(SPARC_INVALID, "validation is %g, expected a part between 0 and 1", part);
  if (part != 0 && reason) return fail(SPARC_INVALID, "validation is %g, but %s", part, reason);
  if (folds && (part != 0 || reason))
    return fail(SPARC_INVALID, "folds is %d, but %s", folds, part != 0 ? "validation is given, too" : reason);
  if (folds && (folds < 2 || folds > train->count || r->read.fold < 1 || r->read.fold > folds))
    return fail(SPARC_INVALID, "fold is %d of %d, expected 1 to %d of 2 to %d folds, as many as there are examples",
                r->read.fold, folds, folds, train->count);
  if (is_one_series(r, train)) return divide_by_time(r, out);
  if (r->where->validation[0]) {
    snprintf(out->protocol, sizeof out->protocol, "fit and validation are files of their own, used whole");
    return read_other(r, r->where->validation, train, &out->validation);
  }
  if (fits_whole(r, train)) {
    snprintf(out->protocol, sizeof out->protocol, "fit is the whole training partition%s",
             r->where->test[0] ? ", the report is on the test partition" : ", there is no validation part");
    return SPARC_OK;
  }
  out->fit = NULL;
  const int count = train->count;
  const bool every_class = r->read.division != SPARC_DIVISION_PAPER;
  sparc_status status = folds ? split_fold(train, folds, r->read.fold, &out->fit, &out->validation)
                              : split_part(train, part != 0 ? part : 0.1, every_class, &out->fit, &out->validation);
  sparc_dataset_free(train);
  if (status != SPARC_OK) return status;
  if (folds) {
    snprintf(out->protocol, sizeof out->protocol, "fold %d of %d validates: %d of %d training examples, dealt by class",
             r->read.fold, folds, count - out->fit->count, count);
    return SPARC_OK;
  }
  snprintf(out->protocol, sizeof out->protocol,
           "fit and validation are %d and %d of %d training examples, drawn by class once for all runs%s",
           out->fit->count, count - out->fit->count, count,
           r->where->test[0] ? "; the test partition is kept apart" : "");
  return SPARC_OK;
}

/* how the data differ from the paper's */
static void compare_with_paper(const request *r, sparc_data_split *out) {
  const variant *v = r->where->variant;
  const paper_set *paper = v ? catalog_paper(r->name) : NULL;
  if (!paper) return;
  const int validation = out->validation ? out->validation->count : 0, length = out->fit->longest;
  if (v->paper_difference)
    snprintf(out->paper_difference, sizeof out->paper_difference, "%s", v->paper_difference);
  else if (r->protocol == SPARC_PROTOCOL_OFFICIAL)
    snprintf(out->paper_difference, sizeof out->paper_difference,
             "the paper fits %d of the training examples and reports on %d others", paper->fit, paper->validation);
  else if (out->fit->count != paper->fit || validation != paper->validation || length != paper->length ||
           out->fit->map->count != paper->classes)
    snprintf(out->paper_difference, sizeof out->paper_difference,
             "%d fit and %d validation examples of %d steps in %d classes; the paper has %d, %d, %d and %d",
             out->fit->count, validation, length, out->fit->map->count, paper->fit, paper->validation, paper->length,
             paper->classes);
}

/* labels that hardly ever repeat are probably not labels */
static void warn_of_classes(sparc_data_split *out) {
  const int rows = out->fit->count + (out->validation ? out->validation->count : 0), classes = out->fit->map->count;
  if (out->fit->targets || rows < 10 || 5 * (long)classes < 4 * (long)rows) return;
  snprintf(out->warning, sizeof out->warning,
           "%d classes in %d rows: the label may be in another column (label_column), or be a number to predict "
           "(objective regress)",
           classes, rows);
}

static sparc_status name_parts(const request *r, sparc_data_split *out) {
  const variant *v = r->where->variant;
  /* a file may contain its name */
  const char *title = v && v->title ? v->title : v ? r->name : out->fit->name;
  snprintf(out->name, sizeof out->name, "%s", title);
  sparc_dataset *const parts[] = {out->fit, out->validation, out->test};
  for (int i = 0; i < 3; i++)
    if (parts[i] && !dataset_rename(parts[i], out->name)) return fail(SPARC_NO_MEMORY, "no memory for a name");
  return SPARC_OK;
}

static sparc_status load(const request *r, sparc_data_split *out) {
  if (r->protocol == SPARC_PROTOCOL_OFFICIAL && !r->where->test[0])
    return fail(SPARC_INVALID, "protocol is official, but '%s' has no test partition", quote(r->name).text);
  sparc_status status = read_train(r, &out->fit);
  if (status == SPARC_OK) status = read_other(r, r->where->test, out->fit, &out->test);
  if (status == SPARC_OK) status = divide(r, out);
  if (status == SPARC_OK) status = name_parts(r, out);
  if (status != SPARC_OK) return status;
  compare_with_paper(r, out);
  warn_of_classes(out);
  return status;
}

/* ---- names and paths ---- */

/* a name below the root that resembles the requested one */
static void suggest(const char *root, const char *name, char *text, size_t capacity) {
  char **names;
  *text = '\0';
  if (catalog_names(root, &names) != SPARC_OK) return;
  const char *guess = NULL;
  for (char **n = names; *n && !guess; n++)
    if (strcasecmp(*n, name) == 0) guess = *n;
  if (!guess) guess = closest(name, (const char *const *)names);
  if (guess) snprintf(text, capacity, "; did you mean '%s'?", quote(guess).text);
  catalog_names_free(names);
}

static sparc_status not_found(const char *root, bool from_environment, const char *name) {
  if (!root)
    return fail(SPARC_IO, "there is no file '%s', and no folder of data sets is known: set SPARC_DATA or give the root",
                quote(name).text);
  const sparc_status folder = catalog_check_root(root, from_environment);
  if (folder != SPARC_OK) return folder;
  char guess[128], pattern[256];
  suggest(root, name, guess, sizeof guess);
  catalog_pattern(root, name, pattern, sizeof pattern);
  return fail(SPARC_IO, "no data set '%s': looked for %s, and for a file of that name%s", quote(name).text, pattern,
              guess);
}

/* finds "x_TEST.tsv" beside "x_TRAIN.tsv" */
static void find_test(location *where) {
  struct stat status;
  const char *path = where->train[0], *slash = strrchr(path, '/'), *mark = NULL;
  for (const char *at = slash ? slash : path; (at = strstr(at, "_TRAIN")); at++) mark = at;
  if (!mark) return;
  const int size = snprintf(where->test, PATH_MAX, "%.*s_TEST%s", (int)(mark - path), path, mark + strlen("_TRAIN"));
  if (size >= PATH_MAX || stat(where->test, &status) != 0 || !S_ISREG(status.st_mode)) where->test[0] = '\0';
}

static sparc_status load_file(const char *path, location *where, request *r, sparc_data_split *out) {
  if (strlen(path) >= PATH_MAX) return fail(SPARC_IO, "cannot open '%.200s': %s", path, strerror(ENAMETOOLONG));
  where->parts = 1;
  memcpy(where->train[0], path, strlen(path) + 1);
  find_test(where);
  r->name = path;
  return load(r, out);
}

/* a folder holds the data set of its name */
static sparc_status load_folder(const char *path, location *where, const request *r, sparc_data_split *out) {
  char folder[PATH_MAX];
  snprintf(folder, sizeof folder, "%s", path);
  for (size_t size = strlen(folder); size > 1 && folder[size - 1] == '/';) folder[--size] = '\0';
  const char *slash = strrchr(folder, '/'), *name = slash && slash[1] ? slash + 1 : folder;
  if (!catalog_find_in(folder, name, where))
    return fail(SPARC_IO, "the folder '%s' does not hold %s_TRAIN" CATALOG_SUFFIXES, quote(path).text,
                quote(name).text);
  request named = *r;
  named.name = name;
  return load(&named, out);
}

static sparc_status load_path(const char *path, location *where, request *r, sparc_data_split *out) {
  struct stat status;
  const bool folder = stat(path, &status) == 0 && S_ISDIR(status.st_mode);
  return folder ? load_folder(path, where, r, out) : load_file(path, where, r, out);
}

static sparc_status resolve(const char *name, const char *root, location *where, request *r, sparc_data_split *out) {
  struct stat status;
  r->where = where;
  r->name = name;
  if (!strchr(name, '/') && root && catalog_find(root, name, where)) return load(r, out);
  *where = (location){.variant = NULL};
  if (strchr(name, '/') || stat(name, &status) == 0) return load_path(name, where, r, out);
  return not_found(root, r->environment, name);
}

sparc_status sparc_data_split_load(const char *name, const sparc_data_options *options, sparc_data_split *out) {
  static const sparc_data_options defaults;
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected a place for the split");
  *out = (sparc_data_split){.fit = NULL};
  if (!name || !*name) return fail(SPARC_INVALID, "name is %s, expected a data set or a file", name ? "''" : "NULL");
  if (!options) options = &defaults;
  if (options->protocol != SPARC_PROTOCOL_PAPER && options->protocol != SPARC_PROTOCOL_OFFICIAL)
    return fail(SPARC_INVALID, "protocol is %d, expected a sparc_data_protocol", (int)options->protocol);
  const char *root = catalog_root(options->root);

  location *where = sparc_alloc(sizeof *where);
  if (!where) return fail(SPARC_NO_MEMORY, "no memory for the paths of '%s'", quote(name).text);
  request r = {.protocol = options->protocol, .read = options->read, .environment = !options->root};
  sparc_status status = resolve(name, root, where, &r, out);
  if (status != SPARC_OK) sparc_data_split_free(out);
  sparc_free(where);
  return status;
}

void sparc_data_split_free(sparc_data_split *split) {
  if (!split) return;
  sparc_dataset_free(split->fit);
  sparc_dataset_free(split->validation);
  sparc_dataset_free(split->test);
  *split = (sparc_data_split){.fit = NULL};
}
