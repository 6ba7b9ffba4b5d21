/* SPDX-License-Identifier: MIT */
/* table.c: tables of results as formatted cells, and CSV. */
#include "lab/grid/table.h"

#include "base/error.h"
#include "lab/grid/overall.h"

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
static void make_title(const grid_results *r, table_kind kind, char title[TEXT_TABLE_TITLE]) {
  const grid *g = r->jobs->g;
  char mark[96], what[128] = "";
  grid_scope_mark(&r->jobs->scope, mark, sizeof mark);
  if (kind == TABLE_DIFFERENCES) snprintf(what, sizeof what, ": difference to %s", g->method[g->reference].title);
  if (kind == TABLE_RANKS) snprintf(what, sizeof what, ": mean competition rank");
  if (kind == TABLE_OVERALL) snprintf(what, sizeof what, ": normalised scores over tasks");
  snprintf(title, TEXT_TABLE_TITLE, "%.100s%s%s%s%s", g->title, *mark ? " (" : "", mark, *mark ? ")" : "", what);
}

static void append(text_table_cell *c, const char *text) {
  const size_t used = strlen(c->text);
  snprintf(c->text + used, sizeof c->text - used, "%s", text);
}

/* "waiting", or behind the mean of the finished runs "(2 of 3 done)" */
static void append_state(const grid_results *r, const field_result *f, text_table_cell *c) {
  const bool alone = !*c->text;
  char state[TEXT_TABLE_CELL];
  field_state(r, f, state, sizeof state);
  if (!alone) append(c, " (");
  append(c, state);
  if (!alone) append(c, ")");
}

static void fill_ours(const grid_results *r, table_kind kind, const field_result *f, text_table_cell *c) {
  const grid_score score = grid_score_of(r->jobs->g, f->task, f->method);
  const aggregate_summary *whole = kind == TABLE_SCORES ? &f->ours : &f->difference;
  const aggregate_summary *s = kind == TABLE_SCORES && f->partial.count ? &f->partial : whole;
  c->unfinished = whole->count == 0;
  if (s->count) {
    text_table_mean_stddev(s->mean, s->stddev, score.digits, c->text);
    if (*f->departure && (kind == TABLE_SCORES || f->difference_in_paper)) append(c, RESULTS_MARK);
  }
  if (kind != TABLE_SCORES) return;
  if (c->unfinished) append_state(r, f, c);
  c->mark = f->mark;
}

static void fill_paper(const grid_results *r, table_kind kind, const field_result *f, text_table_cell *c) {
  const grid_score score = grid_score_of(r->jobs->g, f->task, f->method);
  if (kind == TABLE_SCORES && f->in_paper) text_table_mean_stddev(f->paper, f->paper_stddev, score.digits, c->text);
  if (kind == TABLE_DIFFERENCES && f->difference_in_paper)
    text_table_mean_stddev(f->paper_difference, f->paper_difference_stddev, score.digits, c->text);
}

/* "[-0.210, -0.043] worse": better or worse only if the interval excludes zero */
static void fill_interval(const grid_results *r, const field_result *f, text_table_cell *c) {
  const grid_score score = grid_score_of(r->jobs->g, f->task, f->method);
  const aggregate_summary *d = &f->difference;
  char low[32], high[32];
  if (d->count < 2) return;
  text_table_number(d->low, score.digits, low, sizeof low);
  text_table_number(d->high, score.digits, high, sizeof high);
  const bool above = d->low > 0, below = d->high < 0;
  snprintf(c->text, sizeof c->text, "[%s, %s]%s", low, high,
           !above && !below        ? ""
           : above == score.higher ? " better"
                                   : " worse");
}

/* methods shown; differences leave out the reference */
static int shown_methods(const grid_results *r, table_kind kind, int *shown) {
  const selection *s = &r->jobs->chosen;
  int count = 0;
  for (int m = 0; m < s->methods; m++)
    if (kind == TABLE_SCORES || s->method[m] != r->jobs->g->reference) shown[count++] = m;
  return count;
}

static void fill(const grid_results *r, table_kind kind, int task, int method, text_table_cell *c, bool paper) {
  const field_result *f = grid_field(r, task, method);
  fill_ours(r, kind, f, c++);
  if (kind == TABLE_DIFFERENCES) fill_interval(r, f, c++);
  if (paper) fill_paper(r, kind, f, c);
}

bool table_has_tasks_in_rows(const grid_results *r) { return r->jobs->chosen.tasks > r->jobs->chosen.methods; }

/* tasks as "Event order: error, %", methods by their titles */
static void title_fields(const grid_results *r, const int *shown, int methods, text_table *t) {
  const selection *s = &r->jobs->chosen;
  const grid *g = r->jobs->g;
  const bool turned = table_has_tasks_in_rows(r);
  for (int i = 0; i < s->tasks; i++)
    snprintf((turned ? t->row : t->group)[i], TEXT_TABLE_TITLE, "%s: %s", g->task[s->task[i]].title,
             grid_score_of(g, s->task[i], s->method[0]).unit);
  for (int m = 0; m < methods; m++)
    snprintf((turned ? t->group : t->row)[m], TEXT_TABLE_TITLE, "%s", g->method[s->method[shown[m]]].title);
}

static bool make_fields(const grid_results *r, table_kind kind, text_table *t) {
  const selection *s = &r->jobs->chosen;
  int shown[GRID_MAX_ENTRIES];
  const bool turned = table_has_tasks_in_rows(r), paper = any_paper(r, kind), intervals = kind == TABLE_DIFFERENCES;
  const int methods = shown_methods(r, kind, shown), columns = 1 + intervals + paper;
  if (methods == 0 || !text_table_create(turned ? s->tasks : methods, turned ? methods : s->tasks, columns, t))
    return false;
  title_fields(r, shown, methods, t);
  if (columns > 1) t->column[0] = "here";
  if (intervals) t->column[1] = "95 % interval";
  if (paper) t->column[columns - 1] = "paper";
  for (int i = 0; i < s->tasks; i++)
    for (int m = 0; m < methods; m++)
      fill(r, kind, i, shown[m], text_table_at(t, turned ? i : m, turned ? m : i, 0), paper);
  return true;
}

static bool make_ranks(const grid_results *r, text_table *t) {
  const selection *s = &r->jobs->chosen;
  if (!any_rank(r)) return false;
  const int columns = r->jobs->g->ranks ? 2 : 1;
  if (!text_table_create(s->methods, 1, columns, t)) return false;
  snprintf(t->group[0], TEXT_TABLE_TITLE, "mean rank among %d methods", r->rivals);
  if (columns == 2) {
    t->column[0] = "here";
    t->column[1] = "paper";
  }
  for (int m = 0; m < s->methods; m++) {
    const double paper = grid_paper_rank(r->jobs->g, s->method[m]);
    snprintf(t->row[m], TEXT_TABLE_TITLE, "%s", r->jobs->g->method[s->method[m]].title);
    if (r->ranked[m])
      snprintf(text_table_at(t, m, 0, 0)->text, TEXT_TABLE_CELL, "%.4f over %d tasks", r->mean_rank[m], r->ranked[m]);
    if (!isnan(paper)) snprintf(text_table_at(t, m, 0, 1)->text, TEXT_TABLE_CELL, "%.4f", paper);
  }
  return true;
}

static void put_interval(const interval *i, text_table_cell *c) {
  if (!isnan(i->estimate)) snprintf(c->text, sizeof c->text, "%.3f [%.3f, %.3f]", i->estimate, i->low, i->high);
}

static void fill_overall(const grid_results *r, const overall *o, text_table *t) {
  const selection *s = &r->jobs->chosen;
  const grid *g = r->jobs->g;
  snprintf(t->group[0], TEXT_TABLE_TITLE, "interquartile mean over %d task%s", o->tasks, o->tasks == 1 ? "" : "s");
  snprintf(t->group[1], TEXT_TABLE_TITLE, "P(better than %s)", g->method[g->reference].title);
  for (int m = 0; m < s->methods; m++) {
    snprintf(t->row[m], TEXT_TABLE_TITLE, "%s", g->method[s->method[m]].title);
    put_interval(&o->iqm[m], text_table_at(t, m, 0, 0));
    put_interval(&o->improved[m], text_table_at(t, m, 1, 0));
  }
}

static bool make_overall(const grid_results *r, text_table *t) {
  overall o;
  const bool done =
      overall_read(r, &o) == SPARC_OK && o.tasks > 0 && text_table_create(r->jobs->chosen.methods, 2, 1, t);
  if (done) fill_overall(r, &o, t);
  overall_free(&o);
  return done;
}

static bool make_differences(const grid_results *r, text_table *t) {
  return any_difference(r) && make_fields(r, TABLE_DIFFERENCES, t);
}
static bool make_scores(const grid_results *r, text_table *t) { return make_fields(r, TABLE_SCORES, t); }

bool table_make(const grid_results *r, table_kind kind, text_table *out) {
  static const struct {
    const char *name, *note;
    bool (*make)(const grid_results *r, text_table *t);
  } kinds[TABLE_KINDS] = {
      [TABLE_SCORES] = {"scores", NULL, make_scores},
      [TABLE_DIFFERENCES] = {"differences",
                             "Paired by seed; 95 % confidence intervals (Student's t). Marked better or worse only if "
                             "the interval excludes zero.",
                             make_differences},
      [TABLE_RANKS] = {"ranks", "", make_ranks},
      [TABLE_OVERALL] = {"overall",
                         "Scores are normalised to 0 for a random and 1 for an optimal policy; 95 % confidence "
                         "intervals by stratified bootstrap (Agarwal et al. 2021).",
                         make_overall},
  };
  *out = (text_table){.rows = 0};
  if (!kinds[kind].make(r, out)) return false;
  make_title(r, kind, out->title);
  snprintf(out->label, sizeof out->label, "%s-%s", r->jobs->g->name, kinds[kind].name);
  out->note = kinds[kind].note ? kinds[kind].note : r->note;
  return true;
}

/* ---- CSV ----------------------------------------------------------------------------------------- */

void table_write_csv(const grid_results *r, FILE *stream) {
  const grid_jobs *jobs = r->jobs;
  fprintf(stream,
          "grid,scale,match,task,method,unit,seeds,state,mean,sd,low,high,paper,paper_sd,difference,difference_sd,"
          "difference_low,difference_high,paper_difference,paper_difference_sd,rank,parameters,departure,data_checksum,"
          "commit,version,kernels,machine\n");
  for (int i = 0; i < jobs->chosen.tasks * jobs->chosen.methods; i++) {
    const field_result *s = &r->field[i];
    char state[TEXT_TABLE_CELL] = "done";
    const bool finished = s->ours.count > 0;
    if (!finished) field_state(r, s, state, sizeof state);
    fprintf(stream, "%s,%g,%s,%s,%s,", jobs->g->name, jobs->scope.scale, jobs->scope.match_params ? "params" : "state",
            jobs->g->task[s->task].name, jobs->g->method[s->method].name);
    csv_put_text(stream, grid_score_of(jobs->g, s->task, s->method).unit);
    fprintf(stream, ",%d,", jobs->chosen.seeds);
    csv_put_text(stream, state);
    csv_put_number(stream, finished, s->ours.mean);
    csv_put_number(stream, finished, s->ours.stddev);
    csv_put_number(stream, finished, s->ours.low);
    csv_put_number(stream, finished, s->ours.high);
    csv_put_number(stream, s->in_paper, s->paper);
    csv_put_number(stream, s->in_paper, s->paper_stddev);
    csv_put_number(stream, s->difference.count > 0, s->difference.mean);
    csv_put_number(stream, s->difference.count > 0, s->difference.stddev);
    csv_put_number(stream, s->difference.count > 0, s->difference.low);
    csv_put_number(stream, s->difference.count > 0, s->difference.high);
    csv_put_number(stream, s->difference_in_paper, s->paper_difference);
    csv_put_number(stream, s->difference_in_paper, s->paper_difference_stddev);
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

/* ---- a row per run ------------------------------------------------------------------------------- */

/* names of all settings of all runs, in order of appearance */
static json_t *list_settings(const grid_jobs *jobs) {
  json_t *names = json_object();
  for (int i = 0; i < jobs->count; i++) {
    const char *key;
    json_t *value;
    json_object_foreach(jobs->job[i].settings, key, value) {
      if (strcmp(key, "seed") == 0 || json_object_set_new(names, key, json_true()) == 0) continue;
      json_decref(names);
      return NULL;
    }
  }
  return names;
}

static void put_setting(FILE *stream, const json_t *value) {
  putc(',', stream);
  if (json_is_integer(value))
    fprintf(stream, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
  else if (json_is_real(value))
    fprintf(stream, "%.9g", json_real_value(value));
  else if (json_is_string(value))
    csv_put_text(stream, json_string_value(value));
  else if (value)
    fputs(json_is_true(value) ? "true" : "false", stream);
}

static sparc_status put_run(const grid_results *r, int run, json_t *names, FILE *stream) {
  const grid_jobs *jobs = r->jobs;
  const grid_job *job = &jobs->job[run];
  const char *key;
  json_t *unused;
  job_report report;
  const sparc_status status = job_inspect(job, &report);
  if (status != SPARC_OK) return status;
  const provenance *made = &report.result.made;
  const bool done = report.state == JOB_DONE;
  fprintf(stream, "%s,%g,%s,%s,%llu,%s,%d", jobs->g->name, jobs->scope.scale, jobs->g->task[job->task].name,
          jobs->g->method[job->method].name, (unsigned long long)job->seed, job_state_name(report.state),
          report.imported);
  csv_put_number(stream, done, r->score[run]);
  putc(',', stream);
  csv_put_text(stream, grid_score_of(jobs->g, job->task, job->method).unit);
  csv_put_number(stream, done && report.result.parameters > 0, (double)report.result.parameters);
  csv_put_number(stream, done, made->seconds);
  csv_put_number(stream, done, report.result.rate);
  csv_put_number(stream, done, report.result.memory_mb);
  const char *const texts[] = {job->digest, made->data, made->commit, made->version, made->kernels, made->machine};
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
    putc(',', stream);
    csv_put_text(stream, texts[k]);
  }
  json_object_foreach(names, key, unused) { put_setting(stream, json_object_get(job->settings, key)); }
  putc('\n', stream);
  return SPARC_OK;
}

sparc_status table_write_runs(const grid_results *r, FILE *stream) {
  json_t *names = list_settings(r->jobs), *unused;
  const char *key;
  if (!names) return fail(SPARC_NO_MEMORY, "no memory for the names of settings");
  fputs(
      "grid,scale,task,method,seed,state,imported,score,unit,parameters,seconds,rate,memory_mb,digest,data_checksum,"
      "commit,version,kernels,machine",
      stream);
  json_object_foreach(names, key, unused) { fprintf(stream, ",settings.%s", key); }
  putc('\n', stream);
  sparc_status status = SPARC_OK;
  for (int i = 0; i < r->jobs->count && status == SPARC_OK; i++) status = put_run(r, i, names, stream);
  json_decref(names);
  return status;
}
