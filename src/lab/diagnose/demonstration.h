/* SPDX-License-Identifier: MIT */
/* demonstration.h: why writing cannot replace transition control [app:write_transition_separation], in numbers.
 *
 * Two streams of a SPARC cell have different histories and then read the same inputs. Their difference is
 *   h_t - h'_t = lambda_t (h_{t-1} - h'_{t-1})                                        [eq:history_difference]
 * so it is the product of the transitions, whatever the cell writes, and a cell with fixed transitions cannot follow.
 * The best input-only write b' in A(x) h + b(x) ~ A_0 h + b'(x) over many histories h leaves (A(x) - A_0)(h - mean h):
 * nothing only where the transitions agree [eq:app_difference_span].
 */
#ifndef SPARC_LAB_DIAGNOSE_DEMONSTRATION_H
#define SPARC_LAB_DIAGNOSE_DEMONSTRATION_H

#include "sparc/base.h"

#include <stdbool.h>
#include <stdint.h>

enum { DEMONSTRATION_STEPS = 48, DEMONSTRATION_HISTORIES = 256, DEMONSTRATION_INPUTS = 32 };

/* what is written while the transitions stay */
typedef enum write_rule { WRITES_OWN, WRITES_OTHER, WRITES_NOTHING, WRITE_RULES } write_rule;
extern const char *const write_rule_names[WRITE_RULES];

typedef struct demonstration {
  /* of one mode: the real part of the difference after each step */
  double product[DEMONSTRATION_STEPS]; /* of the transitions alone */
  double difference[WRITE_RULES][DEMONSTRATION_STEPS];
  double fixed[DEMONSTRATION_STEPS]; /* with the transitions of r = p = 0 */
  /* over all modes and steps: the greatest distance of the difference from the product, relative to the first */
  double error[WRITE_RULES];
  double fixed_error;
  /* energy that the best write over a fixed transition leaves, relative to that of what it imitates: measured over
   * histories and inputs, and (A - A_0)(h - mean h) */
  double left, left_predicted;
} demonstration;

sparc_status demonstrate(uint64_t seed, demonstration *out);

/* demonstration_draw writes NAME.csv, NAME.gp, NAME.svg and NAME.png into a folder that is there; *drawn is false where
 * gnuplot is not installed, and the last two are missing */
sparc_status demonstration_draw(const demonstration *d, const char *folder, const char *name, bool *drawn);

#endif
