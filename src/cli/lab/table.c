/* SPDX-License-Identifier: MIT */
/* table.c: `sparc lab table`: what the runs amount to, beside the paper's numbers. */
#include "lab/grid/table.h"

#include "cli/lab/lab.h"

#include <math.h>

static json_t *number(bool there, double value) { return there && isfinite(value) ? json_real(value) : json_null(); }

static json_t *json_field(const grid_results *r, const field_result *f) {
  char state[SHEET_CELL] = "done";
  const bool finished = f->ours.count > 0;
  if (!finished) field_state(r, f, state, sizeof state);
  return json_pack("{s:s, s:s, s:s, s:s, s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i}", "grid", r->jobs->g->name,
                   "task", r->jobs->g->task[f->task].name, "method", r->jobs->g->method[f->method].name, "unit",
                   grid_score_of(r->jobs->g, f->task, f->method).unit, "seeds", r->jobs->chosen.seeds, "state", state,
                   "mean", number(finished, f->ours.mean), "sd", number(finished, f->ours.deviation), "paper",
                   number(f->in_paper, f->paper), "paper_sd", number(f->in_paper, f->paper_deviation), "difference",
                   number(f->difference.count > 0, f->difference.mean), "difference_sd",
                   number(f->difference.count > 0, f->difference.deviation), "scale", json_real(r->jobs->scope.scale),
                   "rank", f->rank);
}

static void print_tables(const grid_results *r, sheet_format format) {
  bool first = true;
  for (int kind = 0; kind < TABLE_KINDS; kind++) {
    sheet t;
    if (table_make(r, (table_kind)kind, &t)) {
      if (!first) putchar('\n');
      sheet_write(&t, format, stdout);
      first = false;
    }
    sheet_free(&t);
  }
  const int seeds = r->jobs->chosen.seeds;
  if (format != SHEET_TEXT) return;
  if (seeds > 1)
    printf("\nMean ± sample deviation over %d seeds; * best, + second best.\n", seeds);
  else
    printf("\nOne seed; * best, + second best.\n");
}

exit_code lab_table(const lab_options *o, const grid_jobs *jobs) {
  grid_results r;
  if (grid_results_read(jobs, &r) != SPARC_OK) {
    cli_message(o->who, "%s", sparc_error());
    return EXIT_FAILED;
  }
  if (o->json || o->format == SHEET_JSON)
    for (int i = 0; i < jobs->chosen.tasks * jobs->chosen.methods; i++)
      cli_json_line(o->who, json_field(&r, &r.field[i]));
  else if (o->format == SHEET_CSV)
    table_write_csv(&r, stdout);
  else
    print_tables(&r, o->format);
  grid_results_free(&r);
  return EXIT_DONE;
}
