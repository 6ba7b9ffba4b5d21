/* SPDX-License-Identifier: MIT */
/* plot.h: a figure as files: data NAME.csv and script NAME.gp, which draws NAME.svg and NAME.png. */
#ifndef SPARC_LAB_PLOT_H
#define SPARC_LAB_PLOT_H

#include "sparc/base.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct plot {
  const char *command; /* that writes it, for a comment: "sparc diagnose" */
  const char *name;
  int width, height; /* in pixels */
  bool panels;       /* multiplot instead of a single plot command */
  bool enhanced;     /* text has gnuplot's enhanced markup */
  sparc_status (*data)(FILE *f, const void *context);
  void (*script)(FILE *f, const void *context); /* reads `data`, the name of the data file */
  const void *context;
} plot;

/* writes data and script to a folder */
sparc_status plot_write(const plot *p, const char *folder);

/* writes data and script, and runs gnuplot; *drawn is false if gnuplot is not installed */
sparc_status plot_draw(const plot *p, const char *folder, bool *drawn);

/* qualitative palette, repeated cyclically */
const char *plot_colour(int i);

#endif
