/* SPDX-License-Identifier: MIT */
/* catalog.h: named data sets and the locations of their files. */
#ifndef SPARC_DATA_CATALOG_H
#define SPARC_DATA_CATALOG_H

#include "data/dataset.h"

#include <limits.h>

/* suffixes of files of series, for error texts */
#define CATALOG_SUFFIXES "{.tsv,.ts,.txt,.csv,.npz,.npy}[.gz]"

enum { CATALOG_PARTS = 5 }; /* files that a training partition may be split into */

/* One layout of a data set on disk. In patterns * is replaced by the name. */
typedef struct variant {
  const char *name;                 /* NULL: any */
  const char *title;                /* the name in reports; NULL: the name itself */
  const char *const *folders;       /* patterns below the root, ends with NULL */
  const char *const *suffixes;      /* of all files, ends with NULL */
  const char *train[CATALOG_PARTS]; /* patterns; all must exist */
  const char *validation;           /* pattern, must exist; NULL: a part of train validates */
  const char *test;                 /* pattern, may be absent; NULL: there is none */
  bool labels;                      /* labels are in files beside the images */
  bool permuted;                    /* steps are put into the fixed random order */
  const char *paper_difference;     /* how it differs from the paper's; NULL: it does not */
} variant;

/* the configuration of the paper [tab:classification_data] */
typedef struct paper_set {
  const char *name;
  int length, classes, fit, validation;
} paper_set;

typedef struct location {
  const variant *variant;
  int parts;
  char train[CATALOG_PARTS][PATH_MAX];
  char validation[PATH_MAX], test[PATH_MAX]; /* "" if there is none */
} location;

/* catalog_root is the folder of named data sets: the one given, else that of SPARC_DATA; NULL if there is neither.
 * catalog_check_root fails if it is not a folder, naming the source of the setting. */
const char *catalog_root(const char *given);
sparc_status catalog_check_root(const char *root, bool from_environment);

/* catalog_find looks for a name below a root, catalog_find_in for the files of a name in a folder of its own */
bool catalog_find(const char *root, const char *name, location *out);
bool catalog_find_in(const char *folder, const char *name, location *out);

/* catalog_pattern writes the first path searched and its possible suffixes, for error texts */
void catalog_pattern(const char *root, const char *name, char *text, size_t capacity);

/* catalog_paper returns the paper's configuration of a name, NULL if it has none */
const paper_set *catalog_paper(const char *name);

/* catalog_names lists the data sets below a root, sorted, NULL-terminated. Release with catalog_names_free. */
sparc_status catalog_names(const char *root, char ***names);
void catalog_names_free(char **names);

#endif
