/* SPDX-License-Identifier: MIT */
/* demonstration.h: numerical demonstration that writes cannot replace transition control
 * [app:write_transition_separation].
 *
 * Two streams of a SPARC cell have different histories and then read the same inputs. Their difference is
 *   h_t - h'_t = lambda_t (h_{t-1} - h'_{t-1})                                        [eq:history_difference]
 * so it is the product of the transitions, independent of the writes, which a cell with fixed transitions cannot
 * reproduce. The best input-only write b' in A(x) h + b(x) ~ A_0 h + b'(x) over many histories h has the residual
 * (A(x) - A_0)(h - mean h), zero only if the transitions agree [eq:app_difference_span].
 */
#ifndef SPARC_LAB_DIAGNOSE_DEMONSTRATION_H
#define SPARC_LAB_DIAGNOSE_DEMONSTRATION_H

#include "sparc/base.h"

#include <stdbool.h>
#include <stdint.h>

enum { DEMONSTRATION_STEPS = 48, DEMONSTRATION_HISTORIES = 256, DEMONSTRATION_INPUTS = 32 };

/* writes, with unchanged transitions */
typedef enum write_rule { WRITES_OWN, WRITES_OTHER, WRITES_NOTHING, WRITE_RULES } write_rule;
extern const char *const write_rule_names[WRITE_RULES];

typedef struct demonstration {
  /* one mode: real part of the difference after each step */
  double product[DEMONSTRATION_STEPS]; /* of the transitions alone */
  double difference[WRITE_RULES][DEMONSTRATION_STEPS];
  double fixed[DEMONSTRATION_STEPS]; /* with the transitions of r = p = 0 */
  /* maximum over modes and steps of the deviation from the product, relative to the initial difference */
  double error[WRITE_RULES];
  double fixed_error;
  /* residual energy of the best write with a fixed transition, relative to the variance of the states: measured over
   * histories and inputs, and predicted by (A - A_0)(h - mean h) */
  double left, left_predicted;
} demonstration;

sparc_status demonstrate(uint64_t seed, demonstration *out);

/* Writes NAME.csv, NAME.gp, NAME.svg and NAME.png to an existing folder; *drawn is false, and the last two are missing,
 * if gnuplot is not installed. */
sparc_status demonstration_draw(const demonstration *d, const char *folder, const char *name, bool *drawn);

#endif
