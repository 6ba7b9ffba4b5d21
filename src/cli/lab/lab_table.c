/* SPDX-License-Identifier: MIT */
/* lab_table.c: `sparc lab table`: aggregated results next to the paper's numbers. */
#include "cli/lab/lab.h"
#include "io/json.h"
#include "lab/grid/table.h"

#include <math.h>

static json_t *number(bool there, double value) { return there && isfinite(value) ? json_real(value) : json_null(); }

/* merges `more` into `object` and releases it */
static void add(json_t *object, json_t *more) {
  json_object_update(object, more);
  json_decref(more);
}

static json_t *json_field(const grid_results *r, const field_result *f) {
  char state[TEXT_TABLE_CELL] = "done";
  const grid_jobs *jobs = r->jobs;
  const bool finished = f->ours.count > 0;
  if (!finished) field_state(r, f, state, sizeof state);
  json_t *object =
      json_pack("{s:s, s:f, s:s, s:s, s:s, s:s, s:i, s:s, s:i}", "grid", jobs->g->name, "scale", jobs->scope.scale,
                "match", jobs->scope.match_params ? "params" : "state", "task", jobs->g->task[f->task].name, "method",
                jobs->g->method[f->method].name, "unit", grid_score_of(jobs->g, f->task, f->method).unit, "seeds",
                jobs->chosen.seeds, "state", state, "imported", f->imported);
  add(object,
      json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:i}", "mean", number(finished, f->ours.mean), "sd",
                number(finished, f->ours.stddev), "paper", number(f->in_paper, f->paper), "paper_sd",
                number(f->in_paper, f->paper_stddev), "difference", number(f->difference.count > 0, f->difference.mean),
                "difference_sd", number(f->difference.count > 0, f->difference.stddev), "paper_difference",
                number(f->difference_in_paper, f->paper_difference), "paper_difference_sd",
                number(f->difference_in_paper, f->paper_difference_stddev), "rank", f->rank, "ranked_among",
                r->rivals));
  add(object,
      json_pack("{s:o, s:o, s:o, s:o}", "low", number(finished, f->ours.low), "high", number(finished, f->ours.high),
                "difference_low", number(f->difference.count > 0, f->difference.low), "difference_high",
                number(f->difference.count > 0, f->difference.high)));
  add(object, json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "parameters", (json_int_t)f->parameters, "departure",
                        json_text(finished ? f->departure : ""), "data_checksum", json_text(f->made.data), "commit",
                        json_text(f->made.commit), "version", json_text(f->made.version), "kernels",
                        json_text(f->made.kernels), "machine", json_text(f->made.machine)));
  return object;
}

static bool print_table(const grid_results *r, table_kind kind, table_format format, const char *before) {
  text_table t;
  const bool made = table_make(r, kind, &t);
  if (made) {
    fputs(before, stdout);
    text_table_write(&t, format, stdout);
  }
  text_table_free(&t);
  return made;
}

void lab_print_scores(const grid_results *r) { print_table(r, TABLE_SCORES, FORMAT_TEXT, ""); }

static void print_tables(const grid_results *r, table_format format) {
  bool first = true;
  for (int kind = 0; kind < TABLE_KINDS; kind++) first &= !print_table(r, (table_kind)kind, format, first ? "" : "\n");
}

exit_code lab_table(const lab_options *o, const grid_jobs *jobs) {
  grid_results r;
  sparc_status status = grid_results_read(jobs, &r);
  if (status != SPARC_OK) {
    cli_message(o->who, "%s", sparc_error());
    return cli_exit_code(status);
  }
  if (o->runs)
    status = table_write_runs(&r, stdout);
  else if (o->json || o->format == FORMAT_JSON)
    for (int i = 0; i < jobs->chosen.tasks * jobs->chosen.methods; i++)
      cli_json_line(o->who, json_field(&r, &r.field[i]));
  else if (o->format == FORMAT_CSV)
    table_write_csv(&r, stdout);
  else
    print_tables(&r, o->format);
  grid_results_free(&r);
  if (status != SPARC_OK) cli_message(o->who, "%s", sparc_error());
  return cli_exit_code(status);
}
