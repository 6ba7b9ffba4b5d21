/* SPDX-License-Identifier: MIT */
/* gnuplot.h: figures drawn by gnuplot, which is optional.
 *
 * gnuplot runs a shell for backticks in double quotes, for a data file whose name begins with '<' and for an output
 * that begins with '|', and expands @NAME outside quotes. Titles, units and names may come from untrusted files. So
 * scripts have no double quotes, and all text and file names in them are written by the functions here.
 */
#ifndef SPARC_LAB_GNUPLOT_H
#define SPARC_LAB_GNUPLOT_H

#include "sparc/base.h"

#include <stdbool.h>
#include <stdio.h>

/* Returned by value, so that one statement can use several. Long text is truncated. */
typedef struct gnuplot_string {
  char text[1024];
} gnuplot_string;

/* gnuplot_text returns a string in single quotes, in which gnuplot evaluates nothing: quotes become apostrophes, and
 * characters that are not plain (base/plain_text.h) are replaced. For noenhanced terminals and labels. gnuplot_tic also
 * doubles %, because gnuplot treats a tic label as a format. */
gnuplot_string gnuplot_text(const char *text);
gnuplot_string gnuplot_tic(const char *text);

/* Returns text to be placed inside the script's single quotes, with the special characters of enhanced text escaped. */
gnuplot_string gnuplot_enhanced(const char *text);

/* Returns the quoted name of a file in the script's folder, prefixed by ./ so that it is neither a command nor one of
 * gnuplot's special names. */
gnuplot_string gnuplot_file(const char *name, const char *extension);

/* gnuplot_begin writes the head of a script: a comment on its origin, the encoding and the data format.
 * gnuplot_terminal selects the terminal ("svg" or "pngcairo") and the output file. */
void gnuplot_begin(FILE *script, const char *command, const char *name);
typedef struct gnuplot_canvas {
  const char *name;          /* of the figure, without extension */
  int width, height, points; /* size in pixels; font size */
  bool enhanced;             /* text has enhanced markup */
} gnuplot_canvas;
void gnuplot_terminal(FILE *script, const char *terminal, const gnuplot_canvas *canvas);

/* Runs the script folder/NAME.gp in `folder`, which must write NAME.svg there. *svg is the contents of that file, freed
 * with sparc_free; NULL on failure. Returns SPARC_UNSUPPORTED if gnuplot is not installed. */
sparc_status gnuplot_draw(const char *folder, const char *name, char **svg);

#endif
