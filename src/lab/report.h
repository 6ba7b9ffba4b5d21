/* SPDX-License-Identifier: MIT */
/* report.h: a report as one HTML file that needs nothing beside it: style and figures are inside.
 *
 *   html_report report;
 *   if (html_begin(&report, "report/index.html", "Title", "What this is.") != SPARC_OK) ...
 *   html_section(&report, "Results");
 *   html_paragraph(&report, "%d runs; see `data/`.", runs);
 *   status = html_end(&report);
 *
 * All text is escaped; in it, what stands between backquotes is set as code. The file is well-formed XML too. Errors of
 * writing show at html_end.
 */
#ifndef SPARC_LAB_REPORT_H
#define SPARC_LAB_REPORT_H

#include "io/atomic_file.h"

#include <stdbool.h>

typedef struct html_report {
  atomic_file file;
  FILE *out;
} html_report;

/* html_begin opens the report; nothing is visible under its path before html_end. path must live until then. */
sparc_status html_begin(html_report *report, const char *path, const char *title, const char *lead);
sparc_status html_end(html_report *report);

void html_section(html_report *report, const char *title);
__attribute__((format(printf, 2, 3))) void html_paragraph(html_report *report, const char *format, ...);
/* html_remark is a paragraph that stands out */
__attribute__((format(printf, 2, 3))) void html_remark(html_report *report, const char *format, ...);

/* Tables: the first column is text, the others are numbers. A column's heading may span several columns: those that
 * follow it are "". */
void html_table_begin(html_report *report, const char *const *headings, int columns);
void html_table_heading(html_report *report, const char *const *headings, int columns);
void html_table_row(html_report *report, const char *const *cells, int columns, bool strong);
void html_table_end(html_report *report);

/* html_figure puts an SVG document into the text. name makes its identifiers unique within the report. */
void html_figure(html_report *report, const char *name, const char *svg, const char *caption);

#endif
