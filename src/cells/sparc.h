/* SPDX-License-Identifier: MIT */
/* sparc.h: the options of a SPARC cell: its rules, its controllers, and the layout of its parameters. */
#ifndef SPARC_CELLS_SPARC_H
#define SPARC_CELLS_SPARC_H

#include "cells/cell.h"
#include "kernels/sparc_rules.h"

enum {
  OPTION_VARIANT,
  OPTION_CONTENT,
  OPTION_KAPPA_R,
  OPTION_KAPPA_P,
  OPTION_PROJECTION,
  OPTION_GROUPS,
  OPTION_HIDDEN
};
enum { MAX_HIDDEN = 64 };

sparc_rules cell_rules_of(const sparc_cell *cell);

/* pairs of controllers; with more than one of them they are rows of a matrix */
int cell_groups_of(const sparc_cell *cell);

/* units of the SiLU layer before the controllers; 0: they read the input */
static inline int hidden_of(const sparc_cell *cell) { return (int)cell->option[OPTION_HIDDEN]; }

/* numbers that a shared controller reads, without its bias */
static inline int controller_inputs(const sparc_cell *cell) { return hidden_of(cell) > 0 ? hidden_of(cell) : cell->D; }

/* the controls of a group are spread over its modes, which read them after the projected columns */
static inline bool spreads_controls(const sparc_cell *cell) {
  return cell_rules_of(cell).controls == CONTROLS_PER_MODE && cell_groups_of(cell) < cell->H;
}

/* positions in the block table; without content matrices the controllers move up */
enum {
  LOG_DECAY,
  LOG_FREQ,
  LOG_GAIN,
  GATE_PHASE,
  GATE_RETENTION,
  CONTENT_RE,
  CONTENT_IM,
  CTRL_RETENTION,
  CTRL_PHASE,
  CTRL_HIDDEN
};

static inline bool has_content(const sparc_cell *cell) { return cell->option[OPTION_PROJECTION] == 0; }
static inline int control_block(const sparc_cell *cell, int block) { return has_content(cell) ? block : block - 2; }

/* where the controls r | p of the groups, or the hidden units, start among the pre-activations: after the content, if
 * that is there too */
static inline size_t group_controls(const sparc_cell *cell) { return cell->direct_input ? 0 : 2 * (size_t)cell->H; }

/* where the controls of the modes do: these columns, or their copies after them */
static inline size_t own_controls(const sparc_cell *cell) {
  return spreads_controls(cell) ? (size_t)cell->projected : group_controls(cell);
}

/* the constants after those of the modes: w_r and w_p with their biases, the hidden layer's rows with theirs, and the
 * number of the kernel */
static inline size_t controller_constants(const sparc_cell *cell) { return (size_t)K_COUNT * (size_t)cell->H; }
static inline size_t hidden_constants(const sparc_cell *cell) {
  return controller_constants(cell) + 2 * ((size_t)controller_inputs(cell) + 1);
}
static inline size_t instance_constant(const sparc_cell *cell) {
  return hidden_constants(cell) + (size_t)hidden_of(cell) * ((size_t)cell->D + 1);
}

#endif
