/* SPDX-License-Identifier: MIT */
/* head.h: the output part of a head, independent of its input. */
#ifndef SPARC_NN_HEAD_H
#define SPARC_NN_HEAD_H

#include "sparc/network.h"

#include <stdbool.h>

/* one row of outputs for every step, else one for a sequence */
static inline bool head_has_steps(const sparc_head_config *head) { return head->input == SPARC_HEAD_STEPS; }

/* values, else classes; has_targets: examples have targets that are numbers */
static inline bool head_learns_values(const sparc_head_config *head, bool has_targets) {
  if (head->kind == SPARC_HEAD_BY_INPUT) return head_has_steps(head) || has_targets;
  return head->kind == SPARC_HEAD_VALUES;
}

#endif
