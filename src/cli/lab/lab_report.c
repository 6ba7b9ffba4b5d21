/* SPDX-License-Identifier: MIT */
/* lab_report.c: `sparc lab report`: tables, charts, settings and runs on one page. */
#include "cli/lab/lab.h"
#include "io/folder_file.h"
#include "io/json.h"
#include "lab/grid/report.h"

static sparc_status add(void *page, const grid_jobs *jobs) {
  grid_results r;
  sparc_status status = grid_results_read(jobs, &r);
  if (status == SPARC_OK) status = lab_report_add(page, &r, NULL);
  grid_results_free(&r);
  return status;
}

static exit_code begin(const lab_options *o, html_page *page, char path[CLI_PATH]) {
  snprintf(path, CLI_PATH, "%s/report.html", o->out);
  /* a page of imported results alone needs no results folder */
  sparc_status status = o->more_results > 0 ? make_folders(o->out) : SPARC_OK;
  if (status == SPARC_OK) status = lab_report_begin(page, path);
  if (status != SPARC_OK) cli_message(o->who, "%s", sparc_error());
  return cli_exit_code(status);
}

static exit_code end(const lab_options *o, html_page *page, const char *path) {
  const sparc_status status = lab_report_end(page);
  if (status != SPARC_OK)
    cli_message(o->who, "%s", sparc_error());
  else if (o->json)
    cli_json_line(o->who, json_pack("{s:o}", "report", json_text(path)));
  else
    puts(path);
  return cli_exit_code(status);
}

exit_code lab_report(const lab_options *o, const grid_jobs *jobs) {
  html_page page;
  char path[CLI_PATH];
  const exit_code code = begin(o, &page, path);
  if (code != EXIT_DONE) return code;
  const sparc_status status = add(&page, jobs);
  if (status == SPARC_OK) return end(o, &page, path);
  cli_message(o->who, "%s", sparc_error());
  html_abandon(&page);
  return cli_exit_code(status);
}

exit_code lab_report_of_all(const lab_options *o) {
  html_page page;
  char path[CLI_PATH];
  int experiments;
  const exit_code code = begin(o, &page, path);
  if (code != EXIT_DONE) return code;
  const exit_code work = lab_each(o, lab_report_position, add, &page, &experiments);
  if (work == EXIT_DONE && experiments > 0) return end(o, &page, path);
  html_abandon(&page);
  return work == EXIT_DONE ? EXIT_INPUT : work;
}
