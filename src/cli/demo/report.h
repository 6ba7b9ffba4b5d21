/* SPDX-License-Identifier: MIT */
/* report.h: what `sparc demo` leaves behind, in a folder and on standard output. */
#ifndef SPARC_CLI_DEMO_REPORT_H
#define SPARC_CLI_DEMO_REPORT_H

#include "cli/demo/run.h"

#include <jansson.h>

/* demo_prepare_folder makes the folder and its data/ and finds out whether files can be written there, so that a wrong
 * name is known before the work is done. */
sparc_status demo_prepare_folder(const char *folder);

typedef struct demo_drawing {
  int figures;      /* drawn */
  char reason[256]; /* why some are missing; "": none is */
} demo_drawing;

/* demo_write writes everything: data, scripts, results.jsonl, figures, index.html. A figure that cannot be drawn is no
 * failure: the page and *drawing say so. */
sparc_status demo_write(const demo *d, const char *folder, demo_drawing *drawing);

/* demo_run_json describes a finished run; a new reference */
json_t *demo_run_json(const demo_run *run);

/* demo_print_table prints our scores beside the paper's */
void demo_print_table(const demo *d);

#endif
