/* SPDX-License-Identifier: MIT */
/* output.h: what `sparc bench` prints: the benchmark's records as text or as one JSON object a line, beside the results
 * of an earlier run. */
#ifndef SPARC_CLI_BENCH_OUTPUT_H
#define SPARC_CLI_BENCH_OUTPUT_H

#include "bench/bench.h"
#include "cli/cli.h"
#include "lab/html/html.h"

/* the context of all outputs */
typedef struct bench_printer {
  const char *who; /* opens messages */
  bench_settings settings;
  bool colour;
  json_t *old;       /* array of the results of an earlier run; NULL: none */
  exit_code worst;   /* of what failed so far */
  bool printed;      /* text: something is on standard output already */
  const char *table; /* text: whose head was printed last; NULL: none of this suite */
  html_page page;
  const char *page_path;
  char page_table[64];         /* of the page: the one that is open; "": none */
  const bench_output *besides; /* with a page: what else is printed; NULL: nothing */
} bench_printer;

extern const bench_output bench_text, bench_json, bench_html;

/* bench_report_failure prints the last error and keeps the exit code; shared by all outputs. */
void bench_report_failure(void *context, sparc_status status);
bool bench_output_lost(void *context);

/* bench_verdict_name is the word for a verdict. */
const char *bench_verdict_name(bench_verdict verdict);

/* bench_html_begin opens the page that bench_html fills, with the machine on top; bench_html_end makes it visible. */
sparc_status bench_html_begin(bench_printer *printer, const char *path, const char *kernel);
sparc_status bench_html_end(bench_printer *printer);
/* bench_html_begin_device opens the page of a device, whose tables are printed besides. */
sparc_status bench_html_begin_device(bench_printer *printer, const char *path);
/* bench_html_has returns whether a page can show the records of a problem or suite. */
bool bench_html_has(const char *text);

/* bench_entry_text returns a value as text, in `buffer` if needed. */
enum { BENCH_ENTRY_TEXT = 32 };
const char *bench_entry_text(const bench_entry *value, char text[BENCH_ENTRY_TEXT]);

/* bench_load_old reads a file that an earlier run wrote with --json. */
sparc_status bench_load_old(const char *path, json_t **out);

/* bench_old_seconds gives the time of the same problem, stage, threads and kernel in the earlier run, or NaN. */
double bench_old_seconds(const bench_printer *printer, const bench_result *result, const bench_figures *figures);

#endif
