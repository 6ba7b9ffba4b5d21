/* SPDX-License-Identifier: MIT */
/* info_cells.h: the table of `sparc info --cells`, and the list of `--options`. */
#ifndef SPARC_CLI_INFO_CELLS_H
#define SPARC_CLI_INFO_CELLS_H

#include "cli/cli.h"

typedef struct cells_settings {
  int D;          /* input width */
  int state_size; /* real state coordinates; 0: those of the paper's continuous control and POPGym */
  int H;          /* modes instead of a state size; 0: none given */
  bool json;
} cells_settings;

/* info_cells prints one row per cell: parameters, state, trace, and the memory of a stored rollout. */
exit_code info_cells(const char *who, const cells_settings *settings);

/* info_cell_options prints what can be chosen of each cell: values, defaults, meaning. */
exit_code info_cell_options(bool json);

#endif
