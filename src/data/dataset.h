/* SPDX-License-Identifier: MIT */
/* dataset.h: the structure of a data set, and the builder that readers fill. */
#ifndef SPARC_DATA_DATASET_H
#define SPARC_DATA_DATASET_H

#include "data/column_names.h"
#include "data/labels.h"
#include "sparc/data.h"

/* values that several data sets may share */
typedef struct value_block {
  atomic_int references;
  float *values;
} value_block;

typedef struct example {
  size_t offset; /* of its first value in the block */
  int length;    /* steps */
  int class_index;
  size_t missing; /* values that are NaN */
  size_t target;  /* of its first target in their block */
  size_t text;    /* of its id among the texts; those of its times follow */
  int context;    /* steps before those that are scored */
} example;

/* ids and times as the file has them, shared */
typedef struct text_block {
  atomic_int references;
  char *bytes; /* terminated texts, one after the other */
  size_t *at;  /* (count): offset of each text */
  size_t count, capacity, used, bytes_capacity;
  bool ids, times; /* which of them are kept */
} text_block;

struct sparc_dataset {
  char *name;
  value_block *block;
  class_map *map;
  example *examples; /* [count] */
  int count, channels;
  int shortest, longest; /* least and greatest length */
  size_t missing;        /* values */
  value_block *targets;  /* NULL: none */
  int target_width;      /* numbers of one target */
  bool target_steps;     /* one for every step */
  column_names *columns; /* NULL: without names */
  text_block *texts;     /* NULL: not kept */
};

/* dataset_measure updates shortest, longest and missing after a change of the examples */
void dataset_measure(sparc_dataset *d);

/* dataset_x and dataset_target return the values [length][channels] and the targets of an example */
static inline const float *dataset_x(const sparc_dataset *d, int i) { return d->block->values + d->examples[i].offset; }
static inline const float *dataset_target(const sparc_dataset *d, int i) {
  return d->targets->values + d->examples[i].target;
}

/* dataset_values returns the values of an example for writing. Call dataset_own before the first write: it copies the
 * block if it is shared. */
static inline float *dataset_values(sparc_dataset *d, int i) { return d->block->values + d->examples[i].offset; }
sparc_status dataset_own(sparc_dataset *d);

/* dataset_continue makes a data set of steps `from` to `to` of a series, in pieces of piece + horizon steps, each with
 * up to `history` preceding steps as its context */
sparc_status dataset_continue(const sparc_dataset *d, int from, int to, int history, int piece, int horizon,
                              sparc_dataset **out);

/* dataset_window makes a data set of windows of one series: at most `length` steps each, `stride` apart, from step `from`
 * to `to` */
sparc_status dataset_window(const sparc_dataset *d, int from, int to, int length, int stride, sparc_dataset **out);

/* dataset_target_moments computes mean and standard deviation of each number of the targets */
void dataset_target_moments(const sparc_dataset *d, double *mean, double *stddev);

void text_block_release(text_block *texts); /* may be NULL */

/* dataset_rename sets the name; false without memory */
bool dataset_rename(sparc_dataset *d, const char *name);

/* ---- building ---- */

/* One example after the other: builder_begin reserves its values, builder_end keeps them, then builder_label
 * names its class. Files read one after the other into the same builder are joined. */
typedef struct builder {
  locale_t c;                  /* the locale "C" */
  int channels;                /* set by the reader before the first example */
  char name[sizeof(quotable)]; /* as the file calls itself, or "" */
  float *values;
  size_t used, capacity;
  example *examples;
  size_t count, example_capacity;
  class_map *map;    /* the classes that are allowed; NULL: collect */
  label_list labels; /* collected */
  bool numbers;      /* labels are targets */
  char decimal;      /* the decimal point of targets */
  float *targets;
  size_t target_used, target_capacity;
  size_t targeted;  /* examples that have a target */
  int target_width; /* 0: not known yet */
  bool target_steps;
  const char *label;     /* of the source that is being read */
  size_t max_rows;       /* more are refused */
  column_names *columns; /* of the first file that has names */
  text_block *texts;     /* NULL: not kept */
} builder;

sparc_status builder_open(builder *b);
void builder_close(builder *b);

/* builder_expect reserves memory for this many further examples and values */
sparc_status builder_expect(builder *b, size_t examples, size_t values);

/* builder_too_many fails: there are more than max_rows rows or examples */
sparc_status builder_too_many(const builder *b);

/* builder_begin reserves `length` steps; builder_end keeps the first `length` of them and returns the number of missing
 * values */
sparc_status builder_begin(builder *b, size_t length, float **values);
size_t builder_end(builder *b, size_t length);

/* builder_label labels the last example, by a class or, with `numbers`, by a target. `where` starts the error
 * text. A missing label leaves the example unlabelled; a missing target is refused. */
sparc_status builder_label(builder *b, const char *where, span label);

/* builder_classes sets the classes that labels may have; `member` names the option in error texts */
sparc_status builder_classes(builder *b, const char *member, const char *const *names, int count);

/* builder_parse_target reads a number; builder_target gives the last example `width` numbers, or so many for each of
 * its steps */
sparc_status builder_parse_target(const builder *b, const char *where, span text, float *value);
sparc_status builder_target(builder *b, const char *where, const float *values, size_t width, bool steps);

/* builder_text keeps a text of the last example: its id, then the times of its steps */
sparc_status builder_text(builder *b, span text);

/* builder_finish makes the data set and leaves the builder empty */
sparc_status builder_finish(builder *b, const char *name, sparc_dataset **out);

/* the position of an example for error texts: "file:line" or "file: example n", counted from 1 */
typedef struct place {
  char text[232];
} place;
place place_line(const lines *t);
place place_example(const source *s, size_t number);

/* ---- readers ---- */

/* Every reader appends the examples of one source. `labels` is a second source, for formats that have one, or NULL. */
typedef sparc_status reader(builder *b, const source *s, const source *labels, const sparc_read_options *o);
reader read_ucr, read_ts, read_csv, read_npy, read_npz, read_idx, read_cifar;

/* read_files joins files of one format into a data set. */
sparc_status read_files(const char *const *paths, int count, const sparc_read_options *o, sparc_dataset **out);

/* labels_beside writes the path of the labels that belong to an IDX file of images, or to an NPY file; false if there
 * is no such file */
bool labels_beside(const char *images, char *path, size_t capacity);

#endif
