/* SPDX-License-Identifier: MIT */
/* data.h: data sets of labelled sequences, read from files or arrays, with fixed splits and normalisation.
 *
 * A data set holds N examples. Example i is a sequence of T_i steps with C channels, float [T_i][C], with a class
 * label, a numeric target, or neither. Lengths may differ. Classes are numbered in the order of their labels: by value
 * if every label is a number, else by bytes. The numbering does not depend on the order of the rows.
 *
 *   sparc_data_split split;
 *   if (sparc_data_split_load("FordA", NULL, &split) != SPARC_OK) return report(sparc_error());
 *   double mean, stddev;                                // one channel
 *   sparc_dataset_moments(split.fit, &mean, &stddev);   // of the fit subset only
 *   sparc_dataset_normalise(split.fit, &mean, &stddev);
 *   sparc_dataset_normalise(split.validation, &mean, &stddev);
 *   sparc_dataset_info info = sparc_dataset_info_of(split.fit);
 *   for (int i = 0; i < info.count; i++) {
 *     sparc_sample e = sparc_dataset_example(split.fit, i);
 *     learn(e.x, e.length, e.label);
 *   }
 *   sparc_data_split_free(&split);
 *
 * Input files are not trusted. A malformed file gives SPARC_FORMAT; sparc_error() then starts with the file name and,
 * for text formats, the line: "gun.tsv:3: value 7 is 'abc', expected a number, NaN or ?".
 */
#ifndef SPARC_DATA_H
#define SPARC_DATA_H

#include "sparc/base.h"
#include "sparc/model.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- data sets ---- */

/* A data set. Subsets share values with their source until one of them is modified (copy on write), so each behaves as
 * if it owned its values. Threads may use different data sets, or read the same one. */
typedef struct sparc_dataset sparc_dataset;

typedef struct sparc_dataset_info {
  const char *name;
  int count;                      /* N, examples, >= 1 */
  int channels;                   /* C, >= 1 */
  int shortest, longest;          /* least and greatest T_i, >= 1 */
  size_t missing;                 /* missing values. They are NaN; all other values are finite */
  int classes;                    /* number of classes; 0: unlabelled */
  const char *const *class_names; /* [classes]: labels in the file, UTF-8 */
  int targets;                    /* numbers per target; 0: no targets */
  int target_steps;               /* 1: every step has a target, 0: every example has one */
  const sparc_columns *columns;   /* column names of a CSV file with a header; NULL: none. Channels have names unless a
                                   row is a series of one channel, or a name is empty, too long, not UTF-8 or repeated */
} sparc_dataset_info;

/* Return the sizes and names of a data set, valid until it is released; all zero for NULL. */
SPARC_API sparc_dataset_info sparc_dataset_info_of(const sparc_dataset *dataset);

/* Return example i: x [length][C], label (-1: unlabelled), target [targets] or [length][targets] (NULL: none), context
 * and id. Pointers are valid until the data set is modified or released. If dataset is NULL or i is out of range, x is
 * NULL and label is -1. */
SPARC_API sparc_sample sparc_dataset_example(const sparc_dataset *dataset, int i);

/* Return the text of the time column for a step of example i, if read with sparc_read_options.texts. NULL if out of
 * range or without such a column. */
SPARC_API const char *sparc_dataset_time(const sparc_dataset *dataset, int i, int step);

/* Release a data set; dataset may be NULL. */
SPARC_API void sparc_dataset_free(sparc_dataset *dataset);

/* Create a data set of the listed examples, in this order; repetitions are allowed. Keeps all classes and shares the
 * values. name NULL: the name of the source. On failure *out is NULL. */
SPARC_API sparc_status sparc_dataset_subset(const sparc_dataset *dataset, const int *indices, int count,
                                            const char *name, sparc_dataset **out);

/* Examples in the caller's arrays. Zero-initialise what is not used. */
typedef struct sparc_arrays {
  int count, channels;
  const float *const *x;      /* (count): [length][channels]; NaN: missing */
  const int *lengths;         /* (count), >= 1 */
  const int *labels;          /* (count): class indices, -1: unlabelled; NULL: none */
  const float *const *target; /* (count): [targets], or [length][targets] with target_steps; NULL: none */
  int targets, target_steps;

  /* used by sparc_dataset_from_arrays only */
  int classes;                    /* number of classes; required with labels */
  const char *const *class_names; /* (classes); NULL: "0", "1", ... */
  const char *const *label_names; /* (count): the label of each example as text, instead of labels; NULL or "":
                                     unlabelled. Without class_names, classes are numbered as in files */
} sparc_arrays;

/* Create a data set from arrays, which are copied. name NULL: "data". SPARC_INVALID: a size, value or label is out of
 * range. On failure *out is NULL. */
SPARC_API sparc_status sparc_dataset_from_arrays(const sparc_arrays *arrays, const char *name, sparc_dataset **out);

/* Replace missing values: by linear interpolation between the known values of a channel, before the first and after the
 * last by that value. SPARC_INVALID: a channel of an example has no value; the data set is unchanged. */
SPARC_API sparc_status sparc_dataset_fill_missing(sparc_dataset *dataset);

/* Turn series into forecasting examples: the target of step t is x[t + horizon] - x[t] and the input is
 * x[t] - x[t - 1], for every channel. The last `horizon` steps, which have no target, are removed. A model with
 * sparc_preprocessing.change takes values and predicts values. SPARC_INVALID: a series is too short, or values are
 * missing; the data set is unchanged. */
SPARC_API sparc_status sparc_dataset_forecast(sparc_dataset *dataset, int horizon);

/* Compute mean [C] and population standard deviation [C] of each channel over all values that are not missing, in
 * double. A constant channel has stddev 1. */
SPARC_API sparc_status sparc_dataset_moments(const sparc_dataset *dataset, double *mean, double *stddev);

/* Replace x by (x - mean) / stddev, computed in double and rounded once; mean [C], stddev [C]. Missing values stay
 * missing. SPARC_NOT_FINITE: a result is too large for a float; the data set is unchanged. */
SPARC_API sparc_status sparc_dataset_normalise(sparc_dataset *dataset, const double *mean, const double *stddev);

/* ---- files ----
 *
 * Numbers in text are decimal in every locale. A missing value is NaN, NA, N/A, #N/A, #NA, <NA>, null, none or ?, and
 * in UCR and CSV also an empty field. A label is up to 255 bytes of UTF-8; an empty one leaves the example unlabelled.
 *
 *   ucr    One example per line: label, then values, separated by tabs, else commas, else blanks. Every line has as many
 *          values as the first; missing values at the end of a line are padding and shorten the series.
 *   ts     The header (#, @problemName, @timeStamps, @missing, @univariate, @dimension, @equalLength, @seriesLength,
 *          @classLabel, @targetLabel, @data) must agree with the data. Colons separate channels, commas values; label or
 *          target last. Time stamps are not supported.
 *   csv    Fields separated by comma, semicolon or tab (or by a line sep=;), quoted as in RFC 4180, header optional. All
 *          rows have the same number of fields: one is the label, the others are a series of one or more channels. In
 *          the long format a row is one step: id, time, value of each channel, label.
 *   npy    Version 1 to 3, [N,T] or [N,T,C] in C or Fortran order; f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1, either byte
 *          order. NaN is missing. Labels [N] or [N,1] in a second file, integers or strings (S, U). Targets [N] or
 *          [N,K], or per step [N,T] or [N,T,K].
 *   npz    Named arrays as in npy, stored or deflated: series x and labels y, unless the options name others.
 *   idx    [N, ...] of u8 i8 i16 i32 f32 f64; the dimensions after N are one sequence in row-major order. Integer labels
 *          [N] in a second file. Pixels keep their values, 0 to 255.
 *   cifar  Records of 1 label byte, 0 to 9, and 1024 red, green and blue bytes: a sequence of 1024 gray values
 *          0.299 R + 0.587 G + 0.114 B, rounded to integers, in row-major order. Always ten classes.
 */

typedef enum sparc_data_format {
  SPARC_DATA_AUTO = 0, /* NPY, IDX and TS by content, else by the file's name, else by content */
  SPARC_DATA_UCR,
  SPARC_DATA_TS,
  SPARC_DATA_CSV,
  SPARC_DATA_NPY,
  SPARC_DATA_IDX,
  SPARC_DATA_CIFAR,
  SPARC_DATA_NPZ
} sparc_data_format;

/* Default limits on the size of the input after decompression, and on its rows: a small gzip file may expand to very
 * many short rows. */
#define SPARC_DATA_MAX_BYTES ((size_t)1 << (sizeof(size_t) > 4 ? 33 : 30)) /* 8 GiB, or 1 GiB with 32-bit addresses */
#define SPARC_DATA_MAX_ROWS  20000000

/* What to learn from the data. */
typedef enum sparc_objective {
  SPARC_OBJECTIVE_CLASSIFY = 0, /* the class of a series; labels are names */
  SPARC_OBJECTIVE_REGRESS,      /* numbers for a series or for each step; labels are numbers */
  SPARC_OBJECTIVE_FORECAST      /* the values `horizon` steps later; labels are ignored */
} sparc_objective;

/* How sparc_data_split_load divides data that comes without a division. */
typedef enum sparc_data_division {
  SPARC_DIVISION_PAPER = 0, /* the validation fraction of each class, rounded, may be no example; windows of a single
                               series start from a zero state */
  SPARC_DIVISION_SOUND,     /* at least one example of each class that has two; validation and test windows of a single
                               series are preceded by context (sparc_sample.context) */
  SPARC_DIVISION_WHOLE      /* all training examples for fitting, none for validation; otherwise as SOUND */
} sparc_data_division;

/* Options for reading; zero is the default of every member. */
typedef struct sparc_read_options {
  sparc_data_format format;
  sparc_objective objective;
  int horizon;                /* forecast: steps ahead; 0: 1 */
  int context;                /* forecast: window length for a single series; 0: 64, or a quarter of the fit part */
  int unlabelled;             /* 1: UCR and CSV rows hold values only; labels of other formats are ignored */
  const char *label_column;   /* CSV: name or number, from 1; NULL: the last column */
  const char *ignore_columns; /* CSV: names or numbers of columns to skip, separated by commas */
  const char *id_column;      /* CSV: long format, rows with the same id form one example */
  const char *time_column;    /* CSV: long format, orders the rows of an example; without an id, of the whole file */
  int channels;               /* CSV: channels of a row, step by step; 0: by names NAME_INDEX in the header, else 1 */
  const char *decimal;        /* CSV: decimal point, "." or ","; NULL: "." */
  int header;                 /* CSV: 1: the first row is a header, -1: it is not, 0: detect */
  const char *labels_path;    /* NPY, IDX: file of labels; NULL: the neighbour with "labels" for "images", or
                                 NAME_labels.npy beside NAME.npy */
  const void *labels_data;    /* NPY, IDX: the labels in memory, instead of a path */
  size_t labels_size;
  const char *series_array;   /* NPZ: array of the series; NULL: x, X, x_train, X_train, data or arr_0 */
  const char *labels_array;   /* NPZ: array of the labels; NULL: y, Y, y_train, Y_train, labels, arr_1, or none */
  const char *const *classes; /* (class_count): the labels allowed; class c is classes[c]. NULL: those that occur */
  int class_count;
  size_t max_bytes;             /* after decompression; 0: SPARC_DATA_MAX_BYTES */
  long max_rows;                /* rows or examples; 0: SPARC_DATA_MAX_ROWS */
  double validation;            /* split: fraction of each class for validation; 0: 0.1 */
  int folds, fold;              /* split: k-fold cross-validation, stratified; folds >= 2, fold `fold` of 1 to folds is
                                   for validation; folds 0: see validation */
  const sparc_columns *columns; /* CSV with a header: find columns by these names, in any order, and skip others.
                                   SPARC_FORMAT: a channel, the id or the time is missing; without the label column,
                                   examples are unlabelled. NULL, or no header: columns by the options above */
  sparc_data_division division; /* split */
  int whole_rows;               /* split: the most training examples that SPARC_DIVISION_WHOLE keeps together, more are
                                   divided as with SPARC_DIVISION_SOUND; 0: any number */
  int texts;                    /* CSV: 1: keep ids and times as text, for sparc_sample.id and sparc_dataset_time */
} sparc_read_options;

/* Load a file, plain or gzip (detected by content); path may be a pipe. options NULL: the defaults. On failure *out is
 * NULL. */
SPARC_API sparc_status sparc_dataset_load(const char *path, const sparc_read_options *options, sparc_dataset **out);

/* Like sparc_dataset_load, from `size` bytes in memory; name replaces the file name in error texts and when the format
 * is detected. */
SPARC_API sparc_status sparc_dataset_parse(const void *data, size_t size, const char *name,
                                           const sparc_read_options *options, sparc_dataset **out);

/* ---- named data sets and splits ----
 *
 * Below the root folder:
 *   any UCR or UEA name  [ucr/]NAME/NAME_TRAIN and NAME_TEST with .tsv, .ts, .txt, .csv, .npz or .npy
 *   mnist, pmnist        [mnist/]train-images-idx3-ubyte, train-labels-idx1-ubyte, and t10k-...;
 *                        pmnist permutes the pixels in one fixed random order
 *   cifar10-gray         [cifar10/]gray-train-images-idx3-ubyte and its labels, or the official
 *                        data_batch_1.bin to 5
 * each plain or with .gz. The paper's data sets are FordA, StarLightCurves, UWaveGestureLibraryAll, pmnist and
 * cifar10-gray.
 */

typedef enum sparc_data_protocol {
  SPARC_PROTOCOL_PAPER = 0, /* a fixed tenth of the training partition for validation, the rest for fitting; the test
                               partition, if any, is held out */
  SPARC_PROTOCOL_OFFICIAL   /* the whole training partition for fitting, no validation; requires a test partition */
} sparc_data_protocol;

typedef struct sparc_data_options {
  const char *root; /* folder of named data sets; NULL: the environment variable SPARC_DATA */
  sparc_data_protocol protocol;
  sparc_read_options read; /* labels_path and labels_data do not apply to named data sets */
} sparc_data_options;

typedef struct sparc_data_split {
  sparc_dataset *fit;
  sparc_dataset *validation;  /* NULL: none, as with SPARC_PROTOCOL_OFFICIAL, SPARC_DIVISION_WHOLE or one example */
  sparc_dataset *test;        /* NULL: none */
  char name[128];             /* for reports, for example "FordA (1896 rows)" */
  char protocol[256];         /* how the parts were chosen, one sentence */
  char warning[256];          /* a likely mistake in the read options; "": none */
  char paper_difference[256]; /* how the data differ from the paper's; "": they do not, or the paper has none */
} sparc_data_split;

/* Load a named data set, a file, or a folder NAME that contains NAME_TRAIN and NAME_TEST. A file with _TRAIN in its name
 * also loads its _TEST. By default (SPARC_DIVISION_PAPER) n/10 of the n examples of each class (or read.validation *
 * n), rounded half to even, are for validation, at least one in total and never a whole class; see sparc_data_division
 * for the others. The selection is fixed and independent of training seeds. All parts have the classes of the training
 * partition. options NULL: the defaults. On failure *out is all zero. */
SPARC_API sparc_status sparc_data_split_load(const char *name, const sparc_data_options *options,
                                             sparc_data_split *out);

/* Release the parts and zero the struct. */
SPARC_API void sparc_data_split_free(sparc_data_split *split);

#ifdef __cplusplus
}
#endif

#endif
