/* SPDX-License-Identifier: MIT */
/* catalog.c: table of the layouts of named data sets on disk. The first layout whose files exist is used, so that of the
 * paper precedes similar ones. */
#include "data/catalog.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- the table ---- */

static const char *const ucr_folders[] = {"ucr/*", "*", "UCRArchive_2018/*", "Univariate_ts/*", "Multivariate_ts/*",
                                          NULL};
static const char *const mnist_folders[] = {"mnist", "MNIST/raw", "", NULL};
static const char *const cifar_folders[] = {"cifar10", "cifar-10-batches-bin", "cifar10/cifar-10-batches-bin", "",
                                            NULL};

static const char *const series_suffixes[] = {".tsv", ".tsv.gz", ".ts",  ".ts.gz", ".txt", ".txt.gz",
                                              ".csv", ".csv.gz", ".npz", ".npy",   NULL};
static const char *const image_suffixes[] = {"", ".gz", NULL};
static const char *const batch_suffixes[] = {".bin", ".bin.gz", NULL};

static const variant variants[] = {
    {.folders = ucr_folders, .suffixes = series_suffixes, .train = {"*_TRAIN"}, .test = "*_TEST"},
    {.name = "FordA",
     .title = "FordA (1896 rows)",
     .folders = ucr_folders,
     .suffixes = series_suffixes,
     .train = {"*_part1319"},
     .validation = "*_part577",
     .paper_difference =
         "1319 rows of the official TEST fit and 577 of the 3601 rows of the official TRAIN validate; the paper "
         "has 3240 and 361 rows of TRAIN"},
    {.name = "UWaveGestureLibraryAll",
     .title = "UWave X+Y+Z",
     .folders = ucr_folders,
     .suffixes = series_suffixes,
     .train = {"*_XYZ_TRAIN"},
     .test = "*_XYZ_TEST",
     .paper_difference = "the X, Y and Z sets joined row by row and z-normalised, not the archive's files"},
    {.name = "pmnist",
     .title = "Permuted MNIST",
     .folders = mnist_folders,
     .suffixes = image_suffixes,
     .train = {"train-images-idx3-ubyte"},
     .test = "t10k-images-idx3-ubyte",
     .labels = true,
     .permuted = true},
    {.name = "mnist",
     .title = "MNIST",
     .folders = mnist_folders,
     .suffixes = image_suffixes,
     .train = {"train-images-idx3-ubyte"},
     .test = "t10k-images-idx3-ubyte",
     .labels = true},
    {.name = "cifar10-gray",
     .title = "Sequential CIFAR-10 gray",
     .folders = cifar_folders,
     .suffixes = image_suffixes,
     .train = {"gray-train-images-idx3-ubyte"},
     .test = "gray-test-images-idx3-ubyte",
     .labels = true},
    {.name = "cifar10-gray",
     .title = "Sequential CIFAR-10 gray",
     .folders = cifar_folders,
     .suffixes = batch_suffixes,
     .train = {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5"},
     .test = "test_batch"},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

static const paper_set paper_sets[] = {
    {"FordA", 500, 2, 3240, 361},
    {"StarLightCurves", 1024, 3, 900, 100},
    {"UWaveGestureLibraryAll", 945, 8, 806, 90},
    {"pmnist", 784, 10, 54001, 5999},
    {"cifar10-gray", 1024, 10, 45000, 5000},
};

const paper_set *catalog_paper(const char *name) {
  for (size_t i = 0; i < sizeof paper_sets / sizeof *paper_sets; i++)
    if (strcmp(paper_sets[i].name, name) == 0) return &paper_sets[i];
  return NULL;
}

/* ---- the root ---- */

const char *catalog_root(const char *given) {
  const char *root = given ? given : getenv("SPARC_DATA");
  return root && *root ? root : NULL;
}

sparc_status catalog_check_root(const char *root, bool from_environment) {
  struct stat status;
  if (stat(root, &status) == 0 && S_ISDIR(status.st_mode)) return SPARC_OK;
  return fail(SPARC_IO, "%s is '%s', which is not a folder; expected one with data sets",
              from_environment ? "the environment variable SPARC_DATA" : "the root", quote(root).text);
}

/* ---- files ---- */

/* writes folder, '/' and the pattern with the name for *; false if it does not fit */
static bool join(char out[static PATH_MAX], const char *folder, const char *pattern, const char *name,
                 const char *suffix) {
  const char *star = strchr(pattern, '*');
  const int head = star ? (int)(star - pattern) : (int)strlen(pattern);
  const int size = snprintf(out, PATH_MAX, "%s%s%.*s%s%s%s", folder, *pattern ? "/" : "", head, pattern,
                            star ? name : "", star ? star + 1 : "", suffix);
  return size < PATH_MAX;
}

static bool is_file(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* the file of a pattern with any of the suffixes */
static bool find_file(const variant *v, const char *folder, const char *pattern, const char *name,
                      char out[static PATH_MAX]) {
  for (const char *const *suffix = v->suffixes; *suffix; suffix++)
    if (join(out, folder, pattern, name, *suffix) && is_file(out)) return true;
  *out = '\0';
  return false;
}

static bool find_variant(const variant *v, const char *folder, const char *name, location *out) {
  out->variant = v;
  out->validation[0] = out->test[0] = '\0';
  for (out->parts = 0; out->parts < CATALOG_PARTS && v->train[out->parts]; out->parts++)
    if (!find_file(v, folder, v->train[out->parts], name, out->train[out->parts])) return false;
  if (v->validation && !find_file(v, folder, v->validation, name, out->validation)) return false;
  if (v->test) find_file(v, folder, v->test, name, out->test);
  return true;
}

static bool is_for(const variant *v, const char *name) { return !v->name || strcmp(v->name, name) == 0; }

bool catalog_find(const char *root, const char *name, location *out) {
  char folder[PATH_MAX];
  for (const variant *v = variants; v < variants + VARIANTS; v++)
    for (const char *const *pattern = v->folders; is_for(v, name) && *pattern; pattern++)
      if (join(folder, root, *pattern, name, "") && find_variant(v, folder, name, out)) return true;
  return false;
}

bool catalog_find_in(const char *folder, const char *name, location *out) {
  for (const variant *v = variants; v < variants + VARIANTS; v++)
    if (is_for(v, name) && find_variant(v, folder, name, out)) return true;
  return false;
}

void catalog_pattern(const char *root, const char *name, char *text, size_t capacity) {
  char folder[PATH_MAX], path[PATH_MAX];
  const variant *v = variants;
  for (const variant *own = variants; own < variants + VARIANTS && !v->labels; own++)
    if (own->labels && is_for(own, name)) v = own;
  const char *suffix = v->labels ? "[.gz]" : CATALOG_SUFFIXES;
  const bool fits = join(folder, root, v->folders[0], name, "") && join(path, folder, v->train[0], name, suffix);
  snprintf(text, capacity, "%s", fits ? path : name);
}

/* ---- listing ---- */

typedef struct name_list {
  char **names;
  size_t count, capacity;
} name_list;

static bool add_name(name_list *list, const char *name) {
  /* one more for the NULL at the end */
  if (list->count + 1 >= list->capacity) {
    const size_t capacity = list->capacity ? 2 * list->capacity : 32;
    char **names = sparc_alloc(capacity * sizeof(char *));
    if (!names) return false;
    if (list->count) memcpy(names, list->names, list->count * sizeof(char *));
    sparc_free(list->names);
    list->names = names;
    list->capacity = capacity;
  }
  char *copy = sparc_alloc(strlen(name) + 1);
  if (!copy) return false;
  list->names[list->count++] = memcpy(copy, name, strlen(name) + 1);
  return true;
}

/* the sub-folders of `parent` that hold a data set of their name */
static bool add_folders(name_list *list, const char *parent, location *scratch) {
  DIR *directory = opendir(parent);
  bool enough = true;
  if (!directory) return true;
  for (struct dirent *entry; enough && (entry = readdir(directory));) {
    char folder[PATH_MAX];
    if (entry->d_name[0] == '.' || !join(folder, parent, "*", entry->d_name, "")) continue;
    if (catalog_find_in(folder, entry->d_name, scratch)) enough = add_name(list, entry->d_name);
  }
  closedir(directory);
  return enough;
}

static bool add_all(name_list *list, const char *root, location *scratch) {
  char parent[PATH_MAX];
  for (const char *const *pattern = ucr_folders; *pattern; pattern++) {
    /* a pattern ends with the name: "ucr/" and nothing */
    if (!join(parent, root, *pattern, "", "")) continue;
    parent[strlen(parent) - 1] = '\0';
    if (!add_folders(list, parent, scratch)) return false;
  }
  for (const variant *v = variants; v < variants + VARIANTS; v++)
    if (v->name && catalog_find(root, v->name, scratch) && !add_name(list, v->name)) return false;
  return true;
}

static int compare_names(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void sort_unique(name_list *list) {
  size_t kept = 0;
  if (list->count) qsort(list->names, list->count, sizeof(char *), compare_names);
  for (size_t i = 0; i < list->count; i++) {
    if (kept && strcmp(list->names[i], list->names[kept - 1]) == 0)
      sparc_free(list->names[i]);
    else
      list->names[kept++] = list->names[i];
  }
  list->names[kept] = NULL;
}

sparc_status catalog_names(const char *root, char ***names) {
  name_list list = {.names = sparc_alloc(sizeof(char *)), .capacity = 1};
  location *scratch = sparc_alloc(sizeof *scratch);
  const bool enough = list.names && scratch && add_all(&list, root, scratch);
  sparc_free(scratch);
  if (list.names) sort_unique(&list);
  *names = list.names;
  if (enough) return SPARC_OK;
  catalog_names_free(list.names);
  *names = NULL;
  return fail(SPARC_NO_MEMORY, "no memory for the names of data sets");
}

void catalog_names_free(char **names) {
  for (char **name = names; name && *name; name++) sparc_free(*name);
  sparc_free(names);
}
