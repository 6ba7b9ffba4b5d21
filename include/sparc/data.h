/* SPDX-License-Identifier: MIT */
/* data.h: labelled sequences from files, named data sets, fixed splits, normalisation.
 *
 * A data set holds N examples. Example i is a sequence of T_i steps with C channels, stored as float [T_i][C], and a
 * class index (-1: unlabelled). Lengths may differ. Classes are numbered in the order of their labels: by value when
 * every label is a number, else by bytes; so the numbering does not depend on the order of the rows.
 *
 *   sparc_data_split split;
 *   if (sparc_data_load("FordA", NULL, &split) != SPARC_OK) return report(sparc_error());
 *   double mean, deviation;                                 // one channel: one number each
 *   sparc_normalisation_fit(split.fit, &mean, &deviation);  // of the fit subset only
 *   sparc_dataset_normalise(split.fit, &mean, &deviation);
 *   sparc_dataset_normalise(split.validation, &mean, &deviation);
 *   for (int i = 0; i < sparc_dataset_count(split.fit); i++)
 *     learn(sparc_dataset_series(split.fit, i), sparc_dataset_length(split.fit, i), sparc_dataset_class(split.fit, i));
 *   sparc_data_split_free(&split);
 *
 * Nothing in a file is trusted: whatever is wrong with one gives SPARC_FORMAT and a sentence that starts with the file
 * and, for text, the line: "gun.tsv:3: value 7 is 'abc', expected a number, NaN or ?".
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

/* Values may be shared between a data set and its subsets; whoever changes values first takes a copy. So a data set
 * behaves as if it owned everything, and threads may use different data sets, or read the same one. */
typedef struct sparc_dataset sparc_dataset;

/* sparc_dataset_free releases a data set; NULL is fine. */
SPARC_API void sparc_dataset_free(sparc_dataset *dataset);

SPARC_API const char *sparc_dataset_name(const sparc_dataset *dataset);
SPARC_API int sparc_dataset_count(const sparc_dataset *dataset);    /* N, at least 1 */
SPARC_API int sparc_dataset_channels(const sparc_dataset *dataset); /* C, at least 1 */
SPARC_API int sparc_dataset_shortest(const sparc_dataset *dataset); /* the least T_i, at least 1 */
SPARC_API int sparc_dataset_longest(const sparc_dataset *dataset);  /* the greatest T_i */

/* How many values are missing. They are NaN in the series; every other value is finite. */
SPARC_API size_t sparc_dataset_missing(const sparc_dataset *dataset);

/* One example, 0 <= i < N: its steps T_i, its values [T_i][C], its class or -1. Outside that range: 0, NULL, -1. The
 * pointer lives until the data set is changed or released. */
SPARC_API int sparc_dataset_length(const sparc_dataset *dataset, int i);
SPARC_API const float *sparc_dataset_series(const sparc_dataset *dataset, int i);
SPARC_API int sparc_dataset_class(const sparc_dataset *dataset, int i);

/* Targets that are numbers: how many there are of each (0: none), whether every step has its own, and those of one
 * example, [targets] or [T_i][targets]; NULL outside the range or without targets. */
SPARC_API int sparc_dataset_targets(const sparc_dataset *dataset);
SPARC_API int sparc_dataset_target_steps(const sparc_dataset *dataset);
SPARC_API const float *sparc_dataset_target(const sparc_dataset *dataset, int i);

/* How many steps of an example lie before the part that it belongs to: they prepare the state and are not measured. */
SPARC_API int sparc_dataset_context(const sparc_dataset *dataset, int i);

/* The number of classes (0: unlabelled) and the label of one as it stood in the file, UTF-8; NULL outside the range. */
SPARC_API int sparc_dataset_classes(const sparc_dataset *dataset);
SPARC_API const char *sparc_dataset_label(const sparc_dataset *dataset, int class_index);

/* The names of the columns of a CSV file with a header; NULL: there are none. Channel c is channel[c], if channels have
 * names: not where a row is a series of a single channel, and not where a name is empty, too long, not UTF-8, or there
 * twice. */
SPARC_API const sparc_columns *sparc_dataset_columns(const sparc_dataset *dataset);

/* What the file has in the column of ids for an example, and in that of times for one of its steps, if the options
 * asked for texts; NULL outside the range, and where there is no such column. */
SPARC_API const char *sparc_dataset_id(const sparc_dataset *dataset, int i);
SPARC_API const char *sparc_dataset_time(const sparc_dataset *dataset, int i, int step);

/* sparc_dataset_subset makes a data set of the listed examples, in this order; repetition is fine. All classes are
 * kept and the values are shared. name NULL: as in the source. On failure *out is NULL. */
SPARC_API sparc_status sparc_dataset_subset(const sparc_dataset *dataset, const int *indices, int count,
                                            const char *name, sparc_dataset **out);

/* sparc_dataset_fill_missing replaces missing values: between two known values of a channel by the straight line
 * through them, before the first and after the last by that value. A channel of an example without any value is
 * SPARC_INVALID; then nothing has changed. */
SPARC_API sparc_status sparc_dataset_fill_missing(sparc_dataset *dataset);

/* sparc_dataset_forecast makes what every channel will have changed by `horizon` steps later the targets of every step,
 * and of the values themselves what they have changed by since the step before; series lose their last steps, which
 * have no target. A model of such targets (sparc_preprocessing.change) takes values and answers with values.
 * SPARC_INVALID: a series is too short, or values are missing; then nothing has changed. */
SPARC_API sparc_status sparc_dataset_forecast(sparc_dataset *dataset, int horizon);

/* ---- normalisation ---- */

/* sparc_normalisation_fit computes the mean and the standard deviation (of the population) of each channel over all
 * values that are not missing, in double: mean [C], deviation [C]. A channel that does not vary gets the deviation 1.
 */
SPARC_API sparc_status sparc_normalisation_fit(const sparc_dataset *fit, double *mean, double *deviation);

/* (x - mean) / deviation, computed in double and rounded once. Missing values stay missing. The first form changes the
 * data set, or fails and leaves it alone when a result is too large for a float; the second writes steps * channels
 * values without looking at them, and in and out may be the same. */
SPARC_API sparc_status sparc_dataset_normalise(sparc_dataset *dataset, const double *mean, const double *deviation);
SPARC_API void sparc_normalise(const float *in, float *out, int steps, int channels, const double *mean,
                               const double *deviation);

/* ---- files ----
 *
 * Numbers in text are decimal whatever the locale; a missing value is NaN, NA, N/A, #N/A, #NA, <NA>, null, none
 * or ?, and in UCR and CSV also nothing between two separators. A label may be anything up to 255 bytes of UTF-8; a
 * missing one leaves the example unlabelled.
 *
 *   ucr    One example a line: label, then values, separated by tabs, else commas, else blanks. Every line has as many
 *          values as the first; missing values at the end of a line are padding: the series is shorter.
 *   ts     The header (#, @problemName, @timeStamps, @missing, @univariate, @dimension, @equalLength, @seriesLength,
 *          @classLabel, @targetLabel, @data) must not contradict the data. Channels by colon, values by comma, label or
 *          target last. Time stamps are refused.
 *   csv    Fields by comma, semicolon or tab (or as a line sep=; says), quotes as in RFC 4180, a header or none. All
 *          rows have the same number of fields: one is the label, the others are the series, of one channel or more. In
 *          the long format a row is one step: id, time, value of each channel, label.
 *   npy    Version 1 to 3, [N,T] or [N,T,C] in C or Fortran order; f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1, either byte
 *          order. Labels [N] or [N,1] of whole numbers or texts (S, U) in a second file. NaN is missing.
 *          Targets are [N] or [N,K], or of every step [N,T] or [N,T,K].
 *   npz    Named arrays as in npy, stored or deflated: the series x and the labels y, or as the options say.
 *   idx    [N, ...] of u8 i8 i16 i32 f32 f64; what follows N is one sequence, row by row. Labels [N] of whole
 *          numbers in a second file. Pixels keep the values of the file, 0 to 255.
 *   cifar  Records of 1 label byte, 0 to 9, and 1024 red, green and blue bytes: a sequence of 1024 gray values
 *          0.299 R + 0.587 G + 0.114 B, rounded to whole numbers, row by row. Always ten classes.
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

/* The names "auto", "ucr", "ts", "csv", "npy", "idx", "cifar", "npz"; NULL for a value outside the enumeration. */
SPARC_API const char *sparc_data_format_name(sparc_data_format format);
SPARC_API sparc_status sparc_data_format_parse(const char *name, sparc_data_format *out);

/* Larger input, and gzip that expands to more, is refused: 8 GiB, or 1 GiB where addresses have 32 bits. */
#define SPARC_DATA_LIMIT ((size_t)1 << (sizeof(size_t) > 4 ? 33 : 30))

/* So are more rows than this, unless the options say otherwise: a small packed file may hold very many short ones. */
#define SPARC_DATA_MAX_ROWS 20000000

/* How sparc_data_load divides what has no parts of its own. */
typedef enum sparc_data_division {
  SPARC_DIVISION_PAPER = 0, /* of each class the part that validates, rounded, which may be none; a single series is cut
                               into windows that begin with nothing before them */
  SPARC_DIVISION_SOUND /* at least one example of each class that has two; validation and test of a single series go
                               on with the state that its past leads to, see sparc_dataset_context */
} sparc_data_division;

/* What is to be learned from a file. */
typedef enum sparc_data_goal {
  SPARC_GOAL_CLASSIFY = 0, /* the class of a series: labels are names */
  SPARC_GOAL_REGRESS,      /* numbers for a series, or for each of its steps: labels are numbers */
  SPARC_GOAL_FORECAST      /* the values some steps later: labels are not looked at */
} sparc_data_goal;

/* How to read; zero is the default everywhere. */
typedef struct sparc_read_options {
  sparc_data_format format;
  sparc_data_goal goal;
  int horizon;    /* forecast: how many steps later; 0: 1 */
  int context;    /* forecast: steps of the windows into which a single series is cut; 0: 64, or a quarter of it */
  int unlabelled; /* 1: UCR and CSV rows hold values only; the labels of other formats are ignored */
  const char *label_column;   /* CSV: name of the column, or its number from 1; NULL: the last */
  const char *ignore_columns; /* CSV: names or numbers of columns that are nothing, commas between them */
  const char *id_column;      /* CSV: long format: rows with the same id are one example */
  const char *time_column;    /* CSV: long format: orders the rows of an example; without an id, of the whole file */
  int channels;               /* CSV: of a row, step by step; 0: as names NAME_INDEX in the header tell, else 1 */
  const char *decimal;        /* CSV: the decimal point, "." or ","; NULL: "." */
  int header;                 /* CSV: 1 the first row is a header, -1 it is not, 0 see for yourself */
  const char *labels_path;    /* NPY, IDX: the file of labels; NULL: the neighbour with "labels" for "images", or
                                 that of NAME.npy which is called NAME_labels.npy */
  const void *labels_data;    /* NPY, IDX: the same in memory, instead of a path */
  size_t labels_size;
  const char *series_array;   /* NPZ: the array of the series; NULL: x, X, x_train, X_train, data or arr_0 */
  const char *labels_array;   /* NPZ: that of the labels; NULL: y, Y, y_train, Y_train, labels, arr_1, or none */
  const char *const *classes; /* the only labels allowed; class c is classes[c]. NULL: those that occur */
  int class_count;
  size_t limit;      /* bytes, unpacked; 0: SPARC_DATA_LIMIT */
  long max_rows;     /* rows or examples; 0: SPARC_DATA_MAX_ROWS */
  double validation; /* of sparc_data_load: the part of each class that validates; 0: a tenth */
  int folds,
      fold; /* of sparc_data_load: the examples of each class are dealt to so many folds, at least 2, of which this
                      one, from 1, validates; folds 0: a part of them, see validation */
  const sparc_columns *like; /* CSV with a header: columns are found by these names, in any order, and others are left
                                out. SPARC_FORMAT: a channel, the id or the time is missing; without the label, examples
                                are unlabelled. Without a header columns are as the other options say. NULL: no names */
  sparc_data_division division; /* of sparc_data_load */
  int texts;                    /* CSV: 1: keep ids and times, for sparc_dataset_id and sparc_dataset_time */
} sparc_read_options;

/* sparc_dataset_read reads a file, plain or gzip (told by its first bytes, not by its name); a pipe is fine.
 * sparc_dataset_parse does the same with bytes in memory; name stands for the file, also when the format is chosen.
 * options NULL: the defaults. On failure *out is NULL. */
SPARC_API sparc_status sparc_dataset_read(const char *path, const sparc_read_options *options, sparc_dataset **out);
SPARC_API sparc_status sparc_dataset_parse(const void *data, size_t size, const char *name,
                                           const sparc_read_options *options, sparc_dataset **out);

/* ---- named data sets and splits ----
 *
 * Below the root:
 *   any UCR or UEA name  [ucr/]NAME/NAME_TRAIN and NAME_TEST with .tsv, .ts, .txt, .csv, .npz or .npy
 *   mnist, pmnist        [mnist/]train-images-idx3-ubyte, train-labels-idx1-ubyte, and t10k-...;
 *                        pmnist reads the pixels in one fixed random order
 *   cifar10-gray         [cifar10/]gray-train-images-idx3-ubyte and its labels, or the official
 *                        data_batch_1.bin to 5
 * each plain or with .gz. The paper's sets are FordA, StarLightCurves, UWaveGestureLibraryAll, pmnist, cifar10-gray.
 */

typedef enum sparc_data_protocol {
  SPARC_PROTOCOL_PAPER = 0, /* a fixed tenth of the training partition validates, the rest fits; the test partition,
                               when there is one, is kept apart */
  SPARC_PROTOCOL_OFFICIAL   /* the whole training partition fits, nothing validates, the test partition must exist */
} sparc_data_protocol;

typedef struct sparc_data_options {
  const char *root; /* folder of named data sets; NULL: the environment variable SPARC_DATA */
  sparc_data_protocol protocol;
  sparc_read_options read; /* named sets find their own labels; the rest applies */
} sparc_data_options;

typedef struct sparc_data_split {
  sparc_dataset *fit;
  sparc_dataset *validation; /* NULL under SPARC_PROTOCOL_OFFICIAL, and of a single example */
  sparc_dataset *test;       /* NULL when there is none */
  char name[128];            /* how to call it in a report, for example "FordA (1896 rows)" */
  char protocol[256];        /* what the parts are, in a sentence */
  char remark[256];          /* what looks like a mistake in reading; "" if nothing does */
  char differs[256];         /* how this is not what the paper used; "" if it is, or if the paper has no such set */
} sparc_data_split;

/* sparc_data_load loads a named data set, a file, or a folder NAME with NAME_TRAIN and NAME_TEST in it. A file with
 * _TRAIN in its name brings its _TEST along. The split is stratified: of the n examples of each class n/10, or what
 * read.validation says in the place of 1/10, rounded to the nearest whole number and between two to the even one,
 * validate (at least one in all, never all of a class); which ones was drawn once and depends on no training seed. All
 * parts have the classes of the training partition. options NULL: the defaults. On failure *out is all zero.
 * sparc_data_split_free leaves it so too. */
SPARC_API sparc_status sparc_data_load(const char *name, const sparc_data_options *options, sparc_data_split *out);
SPARC_API void sparc_data_split_free(sparc_data_split *split);

#ifdef __cplusplus
}
#endif

#endif
