/* SPDX-License-Identifier: MIT */
/* statistics.h: the paper's statistics of a trained cell [app:component_diagnostics], each a function of a fragment: T
 * steps of one stream. A statistic that does not apply to the cell, and a ratio to zero, is NAN. Standard deviations over
 * time are population values (divisor T). */
#ifndef SPARC_LAB_DIAGNOSE_STATISTICS_H
#define SPARC_LAB_DIAGNOSE_STATISTICS_H

#include "sparc/inspect.h"

typedef enum statistic_id {
  GATE_DEVIATION,       /* standard deviation of a mode's gate over time, mean over modes */
  SATURATION,           /* share of real and imaginary contents with a magnitude above 0.95 */
  GATE_RATIO,           /* write energy relative to that with a gate of 1 */
  CONTENT_RATIO,        /* write energy relative to that with linear content */
  NORM_RATIO,           /* write energy relative to that with a normalisation of 1 */
  INPUT_MAGNITUDE,      /* mean magnitude of real and imaginary contents before the activation */
  CONTENT_SLOPE,        /* mean derivative of the activation there */
  GAIN,                 /* mean reference gain exp(beta) */
  GAIN_RATIO,           /* mean dynamic gain ratio, the normalisation */
  GAIN_RATIO_DEVIATION, /* its standard deviation over time, mean over modes */
  GAIN_PRODUCT,         /* mean product of both */
  DECAY_SCALE,          /* mean decay over the mode's own */
  SURVIVAL,             /* energy of the kept states after the transition over that before */
  RELATIVE_SURVIVAL,    /* the same over that of the modes' own decays */
  PHASE_DEGREES,        /* mean magnitude of the additional rotation */
  CLOCK_RATIO,          /* that relative to its value without the clock */
  STATE_RMS,            /* root mean square of all real coordinates */
  STATISTICS
} statistic_id;

typedef struct statistic {
  const char *key;     /* in CSV and JSON, which have unscaled numbers */
  const char *heading; /* in tables, as in the paper */
  double scale;        /* of tables: 100 for per cent */
  int digits;          /* decimals */
} statistic;

extern const statistic statistic_table[STATISTICS];

typedef struct fragment {
  const sparc_mode *mode; /* (T, H) */
  int T, H;
} fragment;

double fragment_statistic(const fragment *f, statistic_id id);

#endif
