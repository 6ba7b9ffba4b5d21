/* SPDX-License-Identifier: MIT */
/* dataset.h: what the fuzz targets of the data readers demand. A reader takes the bytes or refuses them with a sentence
 * that starts with their name; a data set that it makes keeps every promise of data.h. */
#ifndef SPARC_TESTS_FUZZ_DATASET_H
#define SPARC_TESTS_FUZZ_DATASET_H

#include "sparc/data.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "violated: %s (last error: %s)\n", what, sparc_error());
  abort();
}

/* every value is finite or missing, and the missing ones are counted */
static void check_values(const sparc_dataset *d) {
  const sparc_dataset_info info = sparc_dataset_info_of(d);
  size_t missing = 0;
  for (int i = 0; i < info.count; i++) {
    const sparc_sample e = sparc_dataset_example(d, i);
    require(e.length >= info.shortest && e.length <= info.longest && e.length >= 1, "a length");
    for (size_t k = 0; k < (size_t)e.length * (size_t)info.channels; k++) {
      require(isfinite(e.x[k]) || isnan(e.x[k]), "a finite value");
      missing += isnan(e.x[k]) != 0;
    }
  }
  require(missing == info.missing, "the count of missing values");
}

static void check_labels(const sparc_dataset *d) {
  const int classes = sparc_dataset_info_of(d).classes;
  for (int c = 0; c < classes; c++) {
    require(*sparc_dataset_info_of(d).class_names[c] != '\0', "a label");
    require(!c || strcmp(sparc_dataset_info_of(d).class_names[c], sparc_dataset_info_of(d).class_names[c - 1]) != 0,
            "labels that differ");
  }
  for (int i = 0, examples = sparc_dataset_info_of(d).count; i < examples; i++)
    require(sparc_dataset_example(d, i).label >= -1 && sparc_dataset_example(d, i).label < classes, "a class");
}

static void check_targets(const sparc_dataset *d) {
  const sparc_dataset_info info = sparc_dataset_info_of(d);
  for (int i = 0; info.targets && i < info.count; i++) {
    const sparc_sample e = sparc_dataset_example(d, i);
    const size_t rows = info.target_steps ? (size_t)e.length : 1;
    for (size_t k = 0; k < rows * (size_t)info.targets; k++) require(isfinite(e.target[k]), "a finite target");
  }
}

/* a view is filled and normalised; the data set must not notice */
static void check_changes(const sparc_dataset *d) {
  const int last = sparc_dataset_info_of(d).count - 1, twice[] = {last, 0, last};
  const size_t missing = sparc_dataset_info_of(d).missing, channels = (size_t)sparc_dataset_info_of(d).channels;
  sparc_dataset *view;
  require(sparc_dataset_subset(d, twice, 3, "view", &view) == SPARC_OK, "a subset");
  sparc_status status = sparc_dataset_fill_missing(view);
  require(status == SPARC_OK ? sparc_dataset_info_of(view).missing == 0 : status == SPARC_INVALID, "filled");
  double *scale = malloc(2 * channels * sizeof *scale);
  require(scale != NULL, "memory");
  status = sparc_dataset_moments(view, scale, scale + channels);
  if (status == SPARC_OK) {
    for (size_t c = 0; c < channels; c++)
      require(isfinite(scale[c]) && isfinite(scale[channels + c]) && scale[channels + c] > 0, "a scale");
    status = sparc_dataset_normalise(view, scale, scale + channels);
    require(status == SPARC_OK || status == SPARC_NOT_FINITE, "normalised");
  } else {
    require(status == SPARC_INVALID, "no scale");
  }
  free(scale);
  check_values(view);
  sparc_dataset_free(view);
  require(sparc_dataset_info_of(d).missing == missing, "the source is as it was");
  check_values(d);
}

static inline void try_bytes(const uint8_t *data, size_t size, sparc_read_options o) {
  sparc_dataset *d = NULL;
  o.max_bytes = (size_t)1 << 24;
  const sparc_status status = sparc_dataset_parse(data, size, "fuzz", &o, &d);
  if (status != SPARC_OK) {
    /* a table that can be read in two ways is no fault of its format */
    const bool ambiguous = o.objective == SPARC_OBJECTIVE_FORECAST && status == SPARC_INVALID;
    require((status == SPARC_FORMAT || ambiguous) && !d, "a refusal is one of the format");
    require(strncmp(sparc_error(), "fuzz:", 5) == 0 || strncmp(sparc_error(), "fuzz[", 5) == 0 ||
                strncmp(sparc_error(), "labels:", 7) == 0,
            "a sentence");
    return;
  }
  require(sparc_dataset_info_of(d).count >= 1 && sparc_dataset_info_of(d).channels >= 1, "an example and a channel");
  check_values(d);
  check_labels(d);
  check_targets(d);
  check_changes(d);
  sparc_dataset_free(d);
}

#endif
