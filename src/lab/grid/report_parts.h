/* SPDX-License-Identifier: MIT */
/* report_parts.h: functions shared by the files that write the report. */
#ifndef SPARC_LAB_GRID_REPORT_PARTS_H
#define SPARC_LAB_GRID_REPORT_PARTS_H

#include "lab/grid/job.h"
#include "lab/html/html.h"
#include "lab/text_table.h"

/* adds a table without its title and note */
sparc_status report_put_text_table(html_page *page, const text_table *t);

/* Adds the diagnoses (diagnostics.h): the paper's tables and mode states of one run per task; names the command if
 * finished runs are not diagnosed yet. */
sparc_status report_put_diagnostics(html_page *page, const grid_jobs *jobs);

#endif
