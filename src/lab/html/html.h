/* SPDX-License-Identifier: MIT */
/* html.h: a page of text, tables and charts as one HTML file that needs nothing beside it: style, script, data and
 * figures are inside.
 *
 *   html_page page;
 *   if (html_begin(&page, "report/index.html", "Title", "What this is.") != SPARC_OK) ...
 *   html_section(&page, "Results");
 *   html_paragraph(&page, "%d runs; see `data/`.", runs);
 *   status = html_end(&page);
 *
 * All text is escaped; in it, what stands between backquotes is set as code. The file is well-formed XML too. Errors of
 * writing show at html_end. Pages follow the reader's choice of light or dark and fit narrow screens; a table sorts by
 * the column that is clicked; a chart shows values under the pointer.
 */
#ifndef SPARC_LAB_HTML_HTML_H
#define SPARC_LAB_HTML_HTML_H

#include "io/atomic_file.h"

#include <stdbool.h>

typedef struct html_page {
  atomic_file file;
  FILE *out;
  int items; /* written in the chart that is open */
} html_page;

/* html_begin opens the page; nothing is visible under its path before html_end. path must live until then. */
sparc_status html_begin(html_page *page, const char *path, const char *title, const char *lead);
sparc_status html_end(html_page *page);
void html_abandon(html_page *page); /* instead of html_end: an older page stays as it is */

void html_section(html_page *page, const char *title);
void html_subsection(html_page *page, const char *title);
/* what few readers want: closed until its title is clicked */
void html_details_begin(html_page *page, const char *title);
void html_details_end(html_page *page);
__attribute__((format(printf, 2, 3))) void html_paragraph(html_page *page, const char *format, ...);
/* html_warning is a paragraph that stands out */
__attribute__((format(printf, 2, 3))) void html_warning(html_page *page, const char *format, ...);

/* ---- tables: the first column is text, the others are numbers ---- */

/* html_table_begin opens a table with rows of headings, each `columns` wide. A heading may span several columns: those
 * that follow it are "". */
void html_table_begin(html_page *page, const char *const *const *headings, int rows, int columns);
void html_table_row(html_page *page, const char *const *cells, int columns, bool strong);
void html_table_end(html_page *page);

/* a row whose cells have a meaning each; row_begin, cells, row_end */
typedef enum html_mark { HTML_PLAIN, HTML_BEST, HTML_SECOND, HTML_UNFINISHED } html_mark;
void html_table_row_begin(html_page *page, bool strong);
void html_table_cell(html_page *page, const char *text, html_mark mark);
void html_table_row_end(html_page *page);

/* ---- figures ---- */

/* html_drawing puts an SVG document into the text. name makes its identifiers unique within the page. */
void html_drawing(html_page *page, const char *name, const char *svg, const char *caption);

/* Charts stand beside each other in a figure as far as there is room: figure_begin, for each chart begin, lines or bars
 * (not both), end, then figure_end. A NaN is a gap. */
typedef struct html_chart {
  const char *title, *x, *y; /* of the chart and of its axes; bars lie along y */
  bool from_zero;            /* the axis of values contains 0 */
} html_chart;

typedef struct html_line {
  const char *name, *colour; /* "#0072B2" */
  bool dashed;
  int points;
  const double *x, *y;      /* (points) */
  const double *low, *high; /* (points): the spread; NULL: none */
} html_line;

typedef struct html_bar {
  const char *name, *colour;
  double value, stddev, paper; /* NaN: not known */
} html_bar;

void html_figure_begin(html_page *page, const char *name);
void html_chart_begin(html_page *page, const html_chart *chart);
void html_chart_line(html_page *page, const html_line *line);
void html_chart_bar(html_page *page, const html_bar *bar);
void html_chart_end(html_page *page);
/* html_chart_object is a whole chart whose data are there as JSON: an object with a "kind" that page.js draws */
void html_chart_object(html_page *page, const char *title, const char *json);
void html_figure_end(html_page *page, const char *caption);

#endif
