/* SPDX-License-Identifier: MIT */
/* grids.h: the built-in grids (src/lab/grids) inside the library. */
#ifndef SPARC_LAB_GRID_GRIDS_H
#define SPARC_LAB_GRID_GRIDS_H

#include "io/embedded.h"

/* every file, in the order in which `sparc lab list` has them */
#define GRID_FILES(ROW) \
  ROW(figure1)          \
  ROW(figure1_full)     \
  ROW(popgym)           \
  ROW(control)          \
  ROW(classification)   \
  ROW(ablations)        \
  ROW(efficiency)       \
  ROW(agreement)

#define GRID_DECLARE_(name) extern const embedded_file grid_##name;
GRID_FILES(GRID_DECLARE_)
#undef GRID_DECLARE_

#endif
