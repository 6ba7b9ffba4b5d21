/* SPDX-License-Identifier: MIT */
/* grids.h: the built-in grids (src/lab/grids) inside the tool. */
#ifndef SPARC_LAB_GRID_GRIDS_H
#define SPARC_LAB_GRID_GRIDS_H

#include "io/embedded.h"

/* every grid, in the order in which `sparc lab list` has them: the file's identifier, and its name */
#define GRID_FILES(ROW)                 \
  ROW(figure1, "figure1")               \
  ROW(figure1_full, "figure1-full")     \
  ROW(popgym, "popgym")                 \
  ROW(control, "control")               \
  ROW(classification, "classification") \
  ROW(ablations, "ablations")           \
  ROW(efficiency, "efficiency")         \
  ROW(agreement, "agreement")           \
  ROW(sensitivities, "sensitivities")   \
  ROW(staleness, "staleness")           \
  ROW(grouping, "grouping")             \
  ROW(stability, "stability")

#define GRID_DECLARE_(id, name) extern const embedded_file grid_##id;
GRID_FILES(GRID_DECLARE_)
#undef GRID_DECLARE_

#endif
