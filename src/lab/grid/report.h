/* SPDX-License-Identifier: MIT */
/* report.h: the results of experiments as one self-contained HTML page. */
#ifndef SPARC_LAB_GRID_REPORT_H
#define SPARC_LAB_GRID_REPORT_H

#include "lab/grid/grid_figures.h"
#include "lab/html/html.h"

/* lab_report_begin opens the page, lab_report_end closes it; path must stay valid until then. lab_report_add adds an
 * experiment: tables next to the paper's, scores and learning curves as charts, example drawings (drawn may be NULL),
 * settings, runs and progress. */
sparc_status lab_report_begin(html_page *page, const char *path);
sparc_status lab_report_add(html_page *page, const grid_results *results, const grid_drawing *drawn);
sparc_status lab_report_end(html_page *page);

/* Position of an experiment in a report: diagnostic tasks first, then other experiments at full budget, then those with
 * a reduced budget; in each part the built-in ones in their order, then others. Equal positions keep their order. */
int lab_report_position(const grid *g, const grid_scope *scope);

#endif
