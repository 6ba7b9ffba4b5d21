/* SPDX-License-Identifier: MIT */
/* gnuplot.h: figures drawn by gnuplot, a program that may not be there. */
#ifndef SPARC_LAB_GNUPLOT_H
#define SPARC_LAB_GNUPLOT_H

#include "sparc/base.h"

/* gnuplot_draw runs the script folder/NAME.gp inside folder; it is expected to write NAME.svg there. *svg is the text
 * of that file, to be released with sparc_free, and NULL on failure. SPARC_UNSUPPORTED: there is no gnuplot. */
sparc_status gnuplot_draw(const char *folder, const char *name, char **svg);

#endif
