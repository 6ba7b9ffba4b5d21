/* SPDX-License-Identifier: MIT */
/* paper_numbers.h: the paper's diagnostics of trained SPARC cells [app:component_diagnostics]. */
#ifndef SPARC_LAB_DIAGNOSE_PAPER_NUMBERS_H
#define SPARC_LAB_DIAGNOSE_PAPER_NUMBERS_H

#include <stdbool.h>

typedef struct paper_number {
  const char *table;   /* key of the table */
  const char *task;    /* as the paper titles it */
  const char *key;     /* of a statistic, a variant or a logged metric */
  int place;           /* layer, counted from 1; of the evolution 1 first, 2 last tenth; else 0 */
  double mean, stddev; /* in printed units; stddev NAN: not given */
} paper_number;

extern const paper_number paper_numbers[]; /* terminated by table NULL */

/* Finds a number; `task` is a title or a name, such as RepeatFirst or repeat-first. NULL: not in the paper. */
const paper_number *paper_find(const char *table, const char *task, const char *key, int place);

#endif
