/* SPDX-License-Identifier: MIT */
/* table.c: from results to tables of texts and marks, and all of them as CSV. */
#include "lab/grid/table.h"

#include <math.h>
#include <string.h>

/* ---- making -------------------------------------------------------------------------------------- */

static bool any_paper(const grid_results *r, table_kind kind) {
  const selection *s = &r->jobs->chosen;
  for (int i = 0; i < s->tasks * s->methods; i++)
    if (kind == TABLE_SCORES ? r->field[i].in_paper : r->field[i].difference_in_paper) return true;
  return false;
}

static bool any_difference(const grid_results *r) {
  const selection *s = &r->jobs->chosen;
  for (int i = 0; i < s->tasks * s->methods; i++)
    if (r->field[i].difference.count) return true;
  return false;
}

static bool any_rank(const grid_results *r) {
  const selection *s = &r->jobs->chosen;
  for (int m = 0; m < s->methods; m++)
    if (r->ranked[m]) return true;
  return false;
}

/* "Partially observable continuous control, scale 0.1: differences to SPARC" */
static void make_title(const grid_results *r, table_kind kind, char title[SHEET_TITLE]) {
  const grid *g = r->jobs->g;
  char mark[96], what[128] = "";
  grid_scope_mark(&r->jobs->scope, mark, sizeof mark);
  if (kind == TABLE_DIFFERENCES) snprintf(what, sizeof what, ": difference to %s", g->method[g->reference].title);
  if (kind == TABLE_RANKS) snprintf(what, sizeof what, ": mean competition rank");
  snprintf(title, SHEET_TITLE, "%.100s%s%s%s%s", g->title, *mark ? " (" : "", mark, *mark ? ")" : "", what);
}

static void fill_ours(const grid_results *r, table_kind kind, const field_result *f, sheet_cell *c) {
  const grid_score score = grid_score_of(r->jobs->g, f->task, f->method);
  const aggregate_summary *s = kind == TABLE_SCORES ? &f->ours : &f->difference;
  c->unfinished = s->count == 0;
  if (s->count) {
    sheet_pair(s->mean, s->deviation, score.digits, c->text);
    if (*f->departure && (kind == TABLE_SCORES || f->difference_in_paper))
      strncat(c->text, RESULTS_MARK, sizeof c->text - strlen(c->text) - 1);
  } else if (kind == TABLE_SCORES) {
    field_state(r, f, c->text, sizeof c->text);
  }
  if (kind == TABLE_SCORES) c->mark = f->mark;
}

static void fill_paper(const grid_results *r, table_kind kind, const field_result *f, sheet_cell *c) {
  const grid_score score = grid_score_of(r->jobs->g, f->task, f->method);
  if (kind == TABLE_SCORES && f->in_paper) sheet_pair(f->paper, f->paper_deviation, score.digits, c->text);
  if (kind == TABLE_DIFFERENCES && f->difference_in_paper)
    sheet_pair(f->paper_difference, f->paper_difference_deviation, score.digits, c->text);
}

/* the methods that have a row: of differences the reference has none */
static int shown_methods(const grid_results *r, table_kind kind, int *shown) {
  const selection *s = &r->jobs->chosen;
  int count = 0;
  for (int m = 0; m < s->methods; m++)
    if (kind == TABLE_SCORES || s->method[m] != r->jobs->g->reference) shown[count++] = m;
  return count;
}

static void fill(const grid_results *r, table_kind kind, int task, int method, sheet_cell *c, int columns) {
  const field_result *f = grid_field(r, task, method);
  fill_ours(r, kind, f, c);
  if (columns == 2) fill_paper(r, kind, f, c + 1);
}

bool table_has_tasks_in_rows(const grid_results *r) { return r->jobs->chosen.tasks > r->jobs->chosen.methods; }

/* "Event order: error, %" where tasks are, and plain titles of methods */
static void title_fields(const grid_results *r, const int *shown, int methods, sheet *t) {
  const selection *s = &r->jobs->chosen;
  const grid *g = r->jobs->g;
  const bool turned = table_has_tasks_in_rows(r);
  for (int i = 0; i < s->tasks; i++)
    snprintf((turned ? t->row : t->group)[i], SHEET_TITLE, "%s: %s", g->task[s->task[i]].title,
             grid_score_of(g, s->task[i], s->method[0]).unit);
  for (int m = 0; m < methods; m++)
    snprintf((turned ? t->group : t->row)[m], SHEET_TITLE, "%s", g->method[s->method[shown[m]]].title);
}

static bool make_fields(const grid_results *r, table_kind kind, sheet *t) {
  const selection *s = &r->jobs->chosen;
  int shown[GRID_MOST];
  const int methods = shown_methods(r, kind, shown), columns = any_paper(r, kind) ? 2 : 1;
  const bool turned = table_has_tasks_in_rows(r);
  if (methods == 0 || !sheet_create(turned ? s->tasks : methods, turned ? methods : s->tasks, columns, t)) return false;
  title_fields(r, shown, methods, t);
  if (columns == 2) {
    t->column[0] = "here";
    t->column[1] = "paper";
  }
  for (int i = 0; i < s->tasks; i++)
    for (int m = 0; m < methods; m++)
      fill(r, kind, i, shown[m], sheet_at(t, turned ? i : m, turned ? m : i, 0), columns);
  return true;
}

static bool make_ranks(const grid_results *r, sheet *t) {
  const selection *s = &r->jobs->chosen;
  const int columns = r->jobs->g->ranks ? 2 : 1;
  if (!sheet_create(s->methods, 1, columns, t)) return false;
  snprintf(t->group[0], SHEET_TITLE, "mean rank among %d methods", r->rivals);
  if (columns == 2) {
    t->column[0] = "here";
    t->column[1] = "paper";
  }
  for (int m = 0; m < s->methods; m++) {
    const double paper = grid_paper_rank(r->jobs->g, s->method[m]);
    snprintf(t->row[m], SHEET_TITLE, "%s", r->jobs->g->method[s->method[m]].title);
    if (r->ranked[m])
      snprintf(sheet_at(t, m, 0, 0)->text, SHEET_CELL, "%.4f over %d tasks", r->mean_rank[m], r->ranked[m]);
    if (!isnan(paper)) snprintf(sheet_at(t, m, 0, 1)->text, SHEET_CELL, "%.4f", paper);
  }
  return true;
}

bool table_make(const grid_results *r, table_kind kind, sheet *out) {
  *out = (sheet){.rows = 0};
  if (kind == TABLE_RANKS && !any_rank(r)) return false;
  if (kind == TABLE_DIFFERENCES && !any_difference(r)) return false;
  if (!(kind == TABLE_RANKS ? make_ranks(r, out) : make_fields(r, kind, out))) return false;
  make_title(r, kind, out->title);
  static const char *const names[] = {
      [TABLE_SCORES] = "scores", [TABLE_DIFFERENCES] = "differences", [TABLE_RANKS] = "ranks"};
  snprintf(out->label, sizeof out->label, "%s-%s", r->jobs->g->name, names[kind]);
  if (kind == TABLE_SCORES) out->note = r->note;
  return true;
}

/* ---- CSV ----------------------------------------------------------------------------------------- */

void table_write_csv(const grid_results *r, FILE *stream) {
  const grid_jobs *jobs = r->jobs;
  fprintf(
      stream,
      "grid,scale,match,task,method,unit,seeds,state,mean,sd,paper,paper_sd,difference,difference_sd,"
      "paper_difference,paper_difference_sd,rank,parameters,departure,data_checksum,commit,version,kernels,machine\n");
  for (int i = 0; i < jobs->chosen.tasks * jobs->chosen.methods; i++) {
    const field_result *s = &r->field[i];
    char state[SHEET_CELL] = "done";
    const bool finished = s->ours.count > 0;
    if (!finished) field_state(r, s, state, sizeof state);
    fprintf(stream, "%s,%g,%s,%s,%s,", jobs->g->name, jobs->scope.scale, jobs->scope.match_params ? "params" : "state",
            jobs->g->task[s->task].name, jobs->g->method[s->method].name);
    csv_put_text(stream, grid_score_of(jobs->g, s->task, s->method).unit);
    fprintf(stream, ",%d,", jobs->chosen.seeds);
    csv_put_text(stream, state);
    csv_put_number(stream, finished, s->ours.mean);
    csv_put_number(stream, finished, s->ours.deviation);
    csv_put_number(stream, s->in_paper, s->paper);
    csv_put_number(stream, s->in_paper, s->paper_deviation);
    csv_put_number(stream, s->difference.count > 0, s->difference.mean);
    csv_put_number(stream, s->difference.count > 0, s->difference.deviation);
    csv_put_number(stream, s->difference_in_paper, s->paper_difference);
    csv_put_number(stream, s->difference_in_paper, s->paper_difference_deviation);
    csv_put_number(stream, s->rank > 0, s->rank);
    csv_put_number(stream, s->parameters > 0, (double)s->parameters);
    const char *const texts[] = {
        finished ? s->departure : "", s->made.data, s->made.commit, s->made.version, s->made.kernels, s->made.machine};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
      putc(',', stream);
      csv_put_text(stream, texts[k]);
    }
    putc('\n', stream);
  }
}
