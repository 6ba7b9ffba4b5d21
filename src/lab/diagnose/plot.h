/* SPDX-License-Identifier: MIT */
/* plot.h: a figure as three files: NAME.csv, NAME.gp that draws it as NAME.svg and NAME.png, and their common looks. */
#ifndef SPARC_LAB_DIAGNOSE_PLOT_H
#define SPARC_LAB_DIAGNOSE_PLOT_H

#include "sparc/base.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct plot {
  const char *name;
  int width, height;                            /* in pixels */
  void (*data)(FILE *f, const void *context);   /* of NAME.csv */
  void (*script)(FILE *f, const void *context); /* what is plotted, ending in one plot command */
  const void *context;
} plot;

/* plot_draw writes both files into a folder and runs gnuplot. *drawn is false where that is not installed. */
sparc_status plot_draw(const plot *p, const char *folder, bool *drawn);

/* colours that tell a few things apart */
const char *plot_colour(int i);

#endif
