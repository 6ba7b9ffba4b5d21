/* SPDX-License-Identifier: MIT */
/* report_diagnostics.c: diagnoses of trained cells in the report. */
#include "base/error.h"
#include "lab/diagnose/tables.h"
#include "lab/grid/diagnostics.h"
#include "lab/grid/report_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tables -------------------------------------------------------------------------------------- */

static sparc_status put_table(html_page *page, const table *t) {
  text_table s;
  sparc_status status = diagnosis_text_table(t, &s) ? SPARC_OK : fail(SPARC_NO_MEMORY, "no memory for a table");
  if (status == SPARC_OK) {
    html_subsection(page, s.title);
    status = report_put_text_table(page, &s);
    html_paragraph(page, "%s", s.note);
  }
  text_table_free(&s);
  return status;
}

static sparc_status put_tables(html_page *page, const grid_diagnoses *d) {
  diagnosis_tables tables;
  sparc_status status = diagnosis_tables_create(d->run, d->count, &tables);
  for (int i = 0; i < tables.count && status == SPARC_OK; i++)
    if (tables.table[i].rows) status = put_table(page, &tables.table[i]);
  diagnosis_tables_free(&tables);
  return status;
}

/* ---- views --------------------------------------------------------------------------------------- */

static void put_chart(html_page *page, const json_t *chart) {
  const char *title = json_string_value(json_object_get(chart, "title"));
  char *text = json_dumps(chart, JSON_COMPACT | JSON_REAL_PRECISION(6));
  if (title && text) html_chart_object(page, title, text);
  free(text);
}

/* one figure for a layer of one run */
static void put_view(html_page *page, const grid_jobs *jobs, const diagnosis *d, const grid_job *job,
                     const json_t *one) {
  const int layer = (int)json_integer_value(json_object_get(one, "layer"));
  char name[2 * GRID_NAME + 64], part[48] = "", caption[REPLAY_TITLE + 400];
  snprintf(name, sizeof name, "%.64s-%.64s-inside-%d", jobs->g->name, jobs->g->task[job->task].name, layer);
  if (d->layers > 1) snprintf(part, sizeof part, ", layer %d of %d", layer, d->layers);
  html_figure_begin(page, name);
  const json_t *charts = json_object_get(one, "charts");
  for (size_t i = 0; i < json_array_size(charts); i++) put_chart(page, json_array_get(charts, i));
  snprintf(
      caption, sizeof caption,
      "%s%s, seed %llu, first recording. Rings: eigenvalues without control; dots: with control; vertical lines: "
      "events or episode starts. Energy: |h|², slowest modes at the top. Trajectories are normalised to their maximum "
      "magnitude; opacity increases with time.",
      d->replay.title, part, (unsigned long long)job->seed);
  html_figure_end(page, caption);
}

/* shows the first run with views of each task and method; exported diagnoses have none */
static void put_views(html_page *page, const grid_jobs *jobs, const grid_diagnoses *d) {
  const char *shown = "";
  for (int i = 0; i < d->count; i++) {
    const json_t *views = json_object_get(d->run[i].record, "views");
    if (json_array_size(views) == 0 || strcmp(d->run[i].replay.title, shown) == 0) continue;
    shown = d->run[i].replay.title;
    char title[REPLAY_TITLE + 16];
    snprintf(title, sizeof title, "%s: mode states", d->run[i].replay.title);
    html_subsection(page, title);
    for (size_t k = 0; k < json_array_size(views); k++)
      put_view(page, jobs, &d->run[i], d->job[i], json_array_get(views, k));
  }
}

/* ---- all of it ----------------------------------------------------------------------------------- */

sparc_status report_put_diagnostics(html_page *page, const grid_jobs *jobs) {
  grid_diagnoses d;
  sparc_status status = grid_diagnoses_read(jobs, &d);
  if (status != SPARC_OK) return status;
  const char *reference = jobs->g->method[jobs->g->reference].title;
  if (d.count) {
    html_subsection(page, "Diagnostics of the trained cells");
    html_paragraph(
        page,
        "%s, %d runs: eight validation examples or 1024 environment steps per run; averaged over layers, then mean "
        "± sample standard deviation over seeds.",
        reference, d.count);
    status = put_tables(page, &d);
  }
  if (status == SPARC_OK) put_views(page, jobs, &d);
  if (d.missing)
    html_paragraph(page, "%d finished runs of %s are not diagnosed: run `sparc lab diagnose %s`.", d.missing, reference,
                   jobs->g->name);
  grid_diagnoses_free(&d);
  return status;
}
