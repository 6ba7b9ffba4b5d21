/* SPDX-License-Identifier: MIT */
/* paths.h: computation paths of the library for a golden vector.
 *
 * A path takes the inputs of a vector and returns the results that it can compute. Every path exists in both
 * precisions, from one source (paths_impl.h). Numbers cross this interface as doubles.
 */
#ifndef SPARC_CLI_CHECK_PATHS_H
#define SPARC_CLI_CHECK_PATHS_H

#include "cli/check/vector_file.h"
#include "sparc/device.h"

typedef enum path_kind {
  PATH_STEP,      /* one step after another: out */
  PATH_SEQUENCE,  /* a plan, sequential or chunked: out and every gradient */
  PATH_RTRL,      /* steps with exact sensitivities: out, parameter gradients, traces */
  PATH_REFERENCE, /* the plain reference, which exists in double only: out and every gradient */
  PATH_DEVICE     /* a plan of a device: out and every gradient */
} path_kind;

typedef struct check_path {
  path_kind kind;
  int chunk; /* PATH_SEQUENCE: the plan's chunk length, 0 for the sequential scan; PATH_DEVICE: the number of chunks */
  char name[24];
} check_path;

/* the results of a path, in the layout of the vector's arrays */
typedef struct path_result {
  double *array[ARRAYS]; /* only results are set */
  bool has[ARRAYS];      /* which of them the last path computed */
} path_result;

enum { MAX_PATHS = 10 };

/* list_paths names the paths that the cell of this vector has, and returns their number */
size_t list_paths(const vector_file *vector, bool in_double, check_path paths[MAX_PATHS]);

/* result_create allocates the results of a vector; result_free accepts a zeroed result */
sparc_status result_create(const vector_file *vector, path_result *result);
void result_free(path_result *result);

/* run_path computes the results, in float or double, on up to `threads` threads (0: all). Results that a path
 * should have written but did not are NaN. */
sparc_status run_path(const vector_file *vector, const check_path *path, bool in_double, int threads,
                      path_result *result);

/* list_device_paths lists the paths of a device for this vector; 0: none, see sparc_error */
size_t list_device_paths(const vector_file *vector, check_path paths[MAX_PATHS]);
sparc_status run_device_path(const vector_file *vector, const check_path *path, sparc_device *device,
                             path_result *result);

/* the same in one precision, for every path but the reference; result->has must be clear */
sparc_status run_path_f32(const vector_file *vector, const check_path *path, int threads, path_result *result);
sparc_status run_path_f64(const vector_file *vector, const check_path *path, int threads, path_result *result);

#endif
