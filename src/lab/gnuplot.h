/* SPDX-License-Identifier: MIT */
/* gnuplot.h: figures drawn by gnuplot, a program that may not be there.
 *
 * gnuplot runs a shell for backticks in double quotes, for a data file whose name begins with '<' and for an output
 * that begins with '|', and expands @NAME outside quotes. Titles, units and names come from files of strangers. So a
 * script has no double quotes, and all text and all file names in it are written by the functions here.
 */
#ifndef SPARC_LAB_GNUPLOT_H
#define SPARC_LAB_GNUPLOT_H

#include "sparc/base.h"

#include <stdbool.h>
#include <stdio.h>

/* By value, so that a line of a script can have several. Long text is cut. */
typedef struct gnuplot_string {
  char text[1024];
} gnuplot_string;

/* gnuplot_text is text as a string in single quotes, in which gnuplot evaluates nothing: quotes become apostrophes,
 * characters that are not plain (base/plain_text.h) replaced. It is shown as it is where the terminal or the label is
 * noenhanced. gnuplot_tic is the same for the label of a tic, which gnuplot takes for a format: % is doubled. */
gnuplot_string gnuplot_text(const char *text);
gnuplot_string gnuplot_tic(const char *text);

/* gnuplot_enhanced is text to stand inside single quotes of the script's own, among enhanced text: what that has a
 * meaning for is escaped. */
gnuplot_string gnuplot_enhanced(const char *text);

/* gnuplot_file is the name of a file beside the script, in single quotes and with ./ before it, so that it is neither
 * a command nor one of gnuplot's special names, whatever it begins with. */
gnuplot_string gnuplot_file(const char *name, const char *extension);

/* gnuplot_begin writes what opens every script: a comment that says by which command and how to draw again, the
 * encoding and the form of the data. gnuplot_terminal writes the terminal ("svg" or "pngcairo") and the figure's file.
 */
void gnuplot_begin(FILE *script, const char *command, const char *name);
typedef struct gnuplot_canvas {
  const char *name;          /* of the figure, without extension */
  int width, height, points; /* size in pixels, and of the font */
  bool enhanced;             /* texts have markup; false: they are shown as they are */
} gnuplot_canvas;
void gnuplot_terminal(FILE *script, const char *terminal, const gnuplot_canvas *canvas);

/* gnuplot_draw runs the script folder/NAME.gp inside folder; it is expected to write NAME.svg there. *svg is the text
 * of that file, to be released with sparc_free, and NULL on failure. SPARC_UNSUPPORTED: there is no gnuplot. */
sparc_status gnuplot_draw(const char *folder, const char *name, char **svg);

#endif
