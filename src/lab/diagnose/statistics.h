/* SPDX-License-Identifier: MIT */
/* statistics.h: what the paper measures of a trained cell at work [app:component_diagnostics], each a function of one
 * fragment: T steps of one stream. A statistic that needs what the cell does not have is NAN, and so is a ratio to
 * nothing. Deviations over time are those of the T steps themselves (divided by T). */
#ifndef SPARC_LAB_DIAGNOSE_STATISTICS_H
#define SPARC_LAB_DIAGNOSE_STATISTICS_H

#include "sparc/inspect.h"

typedef enum statistic_id {
  GATE_DEVIATION,       /* stddev of a mode's gate over time, mean of the modes */
  SATURATION,           /* share of real and imaginary contents with a magnitude above 0.95 */
  GATE_RATIO,           /* energy of the writes over theirs with a gate of 1 */
  CONTENT_RATIO,        /* energy of the writes over theirs with linear content */
  NORM_RATIO,           /* energy of the writes over theirs with a normalisation of 1 */
  INPUT_MAGNITUDE,      /* mean magnitude of real and imaginary contents before the activation */
  CONTENT_SLOPE,        /* mean derivative of the activation there */
  GAIN,                 /* mean reference gain exp(beta) */
  GAIN_RATIO,           /* mean dynamic gain ratio, the normalisation */
  GAIN_RATIO_DEVIATION, /* its stddev over time, mean of the modes */
  GAIN_PRODUCT,         /* mean product of both */
  DECAY_SCALE,          /* mean decay over the mode's own */
  SURVIVAL,             /* energy of the kept states behind the transition over that before */
  RELATIVE_SURVIVAL,    /* the same over that of the modes' own decays */
  PHASE_DEGREES,        /* mean magnitude of the additional rotation */
  CLOCK_RATIO,          /* that over what it would be without the clock */
  STATE_RMS,            /* root mean square of all real coordinates */
  STATISTICS
} statistic_id;

typedef struct statistic {
  const char *key;     /* in CSV and JSON, where numbers are plain */
  const char *heading; /* in tables, as the paper has it */
  double scale;        /* of tables: 100 for per cent */
  int digits;          /* behind the point */
} statistic;

extern const statistic statistic_table[STATISTICS];

typedef struct fragment {
  const sparc_mode *mode; /* (T, H) */
  int T, H;
} fragment;

double fragment_statistic(const fragment *f, statistic_id id);

#endif
