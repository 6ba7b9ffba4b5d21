/* SPDX-License-Identifier: MIT */
/* paper.h: what the paper prints of its trained cells [app:component_diagnostics], all of SPARC. */
#ifndef SPARC_LAB_DIAGNOSE_PAPER_NUMBERS_H
#define SPARC_LAB_DIAGNOSE_PAPER_NUMBERS_H

#include <stdbool.h>

typedef struct paper_number {
  const char *table;   /* key of the table */
  const char *task;    /* as the paper titles it */
  const char *key;     /* of a statistic, a variant or a logged metric */
  int place;           /* layer, counted from 1; of the evolution 1 first, 2 last tenth; else 0 */
  double mean, stddev; /* in the units of print; NAN: it prints no stddev */
} paper_number;

extern const paper_number paper_numbers[]; /* ends with a table that is NULL */

/* paper_find looks a number up; `task` is a title or a name, such as RepeatFirst and repeat-first. NULL: the paper does
 * not print it. */
const paper_number *paper_find(const char *table, const char *task, const char *key, int place);

#endif
