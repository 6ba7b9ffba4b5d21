/* SPDX-License-Identifier: MIT */
/* preprocessing.h: normalisation and labels as metadata of a file. */
#ifndef SPARC_TRAIN_PREPROCESSING_H
#define SPARC_TRAIN_PREPROCESSING_H

#include "sparc/train.h"

/* keys in the file; an absent one means that there is none */
#define KEY_MEAN             "preprocessing.mean"      /* numbers with blanks between them */
#define KEY_DEVIATION        "preprocessing.deviation" /* likewise */
#define KEY_LABELS           "preprocessing.labels"    /* a JSON array of strings */
#define KEY_DATA             "preprocessing.data"
#define KEY_TARGET_MEAN      "preprocessing.target_mean" /* numbers with blanks between them */
#define KEY_TARGET_DEVIATION "preprocessing.target_deviation"
#define KEY_TARGET_CHANGE    "preprocessing.target_change" /* "1": targets are changes of the channels */
#define KEY_CHANNELS         "preprocessing.channels"      /* names of columns: JSON arrays of strings */
#define KEY_IGNORED          "preprocessing.ignored"
#define KEY_VALUES           "preprocessing.values"
#define KEY_LABEL_COLUMN     "preprocessing.label_column"
#define KEY_ID_COLUMN        "preprocessing.id_column"
#define KEY_TIME_COLUMN      "preprocessing.time_column"
#define KEY_ROWS             "preprocessing.rows" /* "steps" or "series"; absent: columns have no names */

enum { PREPROCESSING_KEYS = 14, PREPROCESSING_TEXTS = 8 };

/* preprocessing_check checks that p, which may be NULL, fits a network */
sparc_status preprocessing_check(const sparc_preprocessing *p, const sparc_network_config *config);

/* p as metadata: up to PREPROCESSING_KEYS entries, whose texts are in `memory`, until sparc_free, or those of p */
typedef struct preprocessing_text {
  sparc_metadata entry[PREPROCESSING_KEYS];
  size_t count;
  char *memory[PREPROCESSING_TEXTS];
} preprocessing_text;

sparc_status preprocessing_print(const sparc_preprocessing *p, preprocessing_text *out);
void preprocessing_text_free(preprocessing_text *text);

/* a sparc_preprocessing that owns its arrays; the name of the data is valid as long as the file */
typedef struct stored_preprocessing {
  sparc_preprocessing view;
  double *numbers;                /* (2, channels) */
  double *targets;                /* (2, targets) */
  struct json_tree *labels_tree;  /* holds the labels' text */
  const char **labels;            /* (classes) */
  sparc_columns columns;          /* of the view, if it has any */
  struct json_tree *name_tree[3]; /* hold the names of channels, of ignored columns, and of values */
  const char **names[3];          /* likewise */
} stored_preprocessing;

/* path names the file in error messages */
sparc_status preprocessing_read(const sparc_tensors *file, const char *path, const sparc_network_config *config,
                                stored_preprocessing *out);
void preprocessing_free(stored_preprocessing *p);

#endif
