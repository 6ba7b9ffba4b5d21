/* SPDX-License-Identifier: MIT */
/* report.h: the results of experiments as one page that needs nothing beside it. */
#ifndef SPARC_LAB_GRID_REPORT_H
#define SPARC_LAB_GRID_REPORT_H

#include "lab/grid/grid_figures.h"
#include "lab/html/html.h"

/* lab_report_begin opens the page; lab_report_add puts an experiment into it: tables beside the paper's, scores and
 * learning curves as charts, the examples that were just drawn (NULL: none), settings, every run, what is unfinished;
 * lab_report_end closes it. path must live until then. */
sparc_status lab_report_begin(html_page *page, const char *path);
sparc_status lab_report_add(html_page *page, const grid_results *results, const grid_drawing *drawn);
sparc_status lab_report_end(html_page *page);

#endif
