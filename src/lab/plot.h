/* SPDX-License-Identifier: MIT */
/* plot.h: a figure as its files: NAME.csv, and NAME.gp, which draws it as NAME.svg and NAME.png; and common looks. */
#ifndef SPARC_LAB_PLOT_H
#define SPARC_LAB_PLOT_H

#include "sparc/base.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct plot {
  const char *command; /* that writes it: "sparc diagnose" */
  const char *name;
  int width, height; /* in pixels */
  bool panels;       /* the script is a multiplot, not a single plot command */
  bool enhanced;     /* its texts have markup */
  sparc_status (*data)(FILE *f, const void *context);
  void (*script)(FILE *f, const void *context); /* reads `data`, the name of the data file */
  const void *context;
} plot;

/* plot_write writes data and script into a folder. */
sparc_status plot_write(const plot *p, const char *folder);

/* plot_draw does so and runs gnuplot. *drawn is false where that is not installed. */
sparc_status plot_draw(const plot *p, const char *folder, bool *drawn);

/* colours that tell a few things apart */
const char *plot_colour(int i);

#endif
