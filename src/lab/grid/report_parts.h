/* SPDX-License-Identifier: MIT */
/* report_parts.h: what the files that write the report have in common. */
#ifndef SPARC_LAB_GRID_REPORT_PARTS_H
#define SPARC_LAB_GRID_REPORT_PARTS_H

#include "lab/grid/job.h"
#include "lab/html/html.h"
#include "lab/text_table.h"

/* report_put_text_table puts a table into the page, without its title and note */
sparc_status report_put_text_table(html_page *page, const text_table *t);

/* report_put_diagnostics puts in what has been diagnosed (diagnostics.h): the paper's tables, and views of one run of
 * each task; a sentence where there is something left to diagnose */
sparc_status report_put_diagnostics(html_page *page, const grid_jobs *jobs);

#endif
