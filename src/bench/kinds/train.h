/* SPDX-License-Identifier: MIT */
/* train.h: the classifier that training is measured with. */
#ifndef SPARC_BENCH_KINDS_TRAIN_H
#define SPARC_BENCH_KINDS_TRAIN_H

#include "bench/problem.h"
#include "sparc/network.h"

enum { CLASSIFIER_CLASSES = 10 };

/* bench_classifier describes the paper's classifier of one channel with 10 classes: `width` wide, its cell as large as fits
 * that. `options` (PROBLEM_TEXT) is a buffer for those of the cell, and lives as long as *out is used. */
sparc_status bench_classifier(const char *cell, int width, int layers, char *options, sparc_network_config *out);

#endif
