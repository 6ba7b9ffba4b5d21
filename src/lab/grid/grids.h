/* SPDX-License-Identifier: MIT */
/* grids.h: the embedded built-in grids (src/lab/grids). */
#ifndef SPARC_LAB_GRID_GRIDS_H
#define SPARC_LAB_GRID_GRIDS_H

#include "io/embedded.h"

/* all grids in the order of `sparc lab list`: identifier of the embedded file, name */
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
