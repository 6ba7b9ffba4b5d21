/* SPDX-License-Identifier: MIT */
/* html.h: a page of text, tables and charts as one self-contained HTML file, with style, script, data and figures.
 *
 *   html_page page;
 *   if (html_begin(&page, "report/index.html", "Title", "What this is.") != SPARC_OK) ...
 *   html_section(&page, "Results");
 *   html_paragraph(&page, "%d runs; see `data/`.", runs);
 *   status = html_end(&page);
 *
 * All text is escaped; text in backquotes is set as code. The file is also well-formed XML. Write errors are reported by
 * html_end. Pages support light and dark mode and narrow screens; tables sort by a clicked column; charts show values
 * under the pointer.
 */
#ifndef SPARC_LAB_HTML_HTML_H
#define SPARC_LAB_HTML_HTML_H

#include "io/atomic_file.h"

#include <stdbool.h>

typedef struct html_page {
  atomic_file file;
  FILE *out;
  int items; /* of the open chart */
} html_page;

/* html_begin opens the page; the file appears under its path at html_end. path must stay valid until then. */
sparc_status html_begin(html_page *page, const char *path, const char *title, const char *lead);
sparc_status html_end(html_page *page);
void html_abandon(html_page *page); /* instead of html_end; keeps an existing file */

void html_section(html_page *page, const char *title);
void html_subsection(html_page *page, const char *title);
/* a collapsed section */
void html_details_begin(html_page *page, const char *title);
void html_details_end(html_page *page);
__attribute__((format(printf, 2, 3))) void html_paragraph(html_page *page, const char *format, ...);
/* a highlighted paragraph */
__attribute__((format(printf, 2, 3))) void html_warning(html_page *page, const char *format, ...);

/* ---- tables: the first column is text, the others are numbers ---- */

/* Opens a table with `rows` rows of `columns` headings. An empty heading ("") extends the one before it. */
void html_table_begin(html_page *page, const char *const *const *headings, int rows, int columns);
void html_table_row(html_page *page, const char *const *cells, int columns, bool strong);
void html_table_end(html_page *page);

/* a row of cells with marks: row_begin, cells, row_end */
typedef enum html_mark { HTML_PLAIN, HTML_BEST, HTML_SECOND, HTML_UNFINISHED } html_mark;
void html_table_row_begin(html_page *page, bool strong);
void html_table_cell(html_page *page, const char *text, html_mark mark);
void html_table_row_end(html_page *page);

/* ---- figures ---- */

/* Embeds an SVG document. name makes its identifiers unique within the page. */
void html_drawing(html_page *page, const char *name, const char *svg, const char *caption);

/* A figure holds charts, side by side if they fit: figure_begin; for each chart begin, lines or bars (not both), end;
 * figure_end. NaN is a gap. */
typedef struct html_chart {
  const char *title, *x, *y; /* of the chart and of its axes; bars extend along y */
  bool from_zero;            /* the axis of values contains 0 */
} html_chart;

typedef struct html_line {
  const char *name, *colour; /* "#0072B2" */
  bool dashed;
  int points;
  const double *x, *y;      /* (points) */
  const double *low, *high; /* (points): band; NULL: none */
} html_line;

typedef struct html_bar {
  const char *name, *colour;
  double value, stddev, paper; /* NaN: not known */
  bool partial;                /* drawn pale */
} html_bar;

void html_figure_begin(html_page *page, const char *name);
void html_chart_begin(html_page *page, const html_chart *chart);
void html_chart_line(html_page *page, const html_line *line);
void html_chart_bar(html_page *page, const html_bar *bar);
void html_chart_end(html_page *page);
/* a chart given as a JSON object with a "kind" known to page.js */
void html_chart_object(html_page *page, const char *title, const char *json);
void html_figure_end(html_page *page, const char *caption);

#endif
