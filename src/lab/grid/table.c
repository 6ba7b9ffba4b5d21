/* SPDX-License-Identifier: MIT */
/* table.c: a table is first made as texts with marks, then printed by one of three writers. */
#include "lab/grid/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const table_formats[] = {
    [TABLE_TEXT] = "text", [TABLE_MARKDOWN] = "markdown", [TABLE_LATEX] = "latex", [TABLE_CSV] = "csv", NULL};

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
static void make_title(const grid_results *r, table_kind kind, char title[TABLE_TITLE]) {
  const grid *g = r->jobs->g;
  char mark[96], what[128] = "";
  grid_scope_mark(&r->jobs->scope, mark, sizeof mark);
  if (kind == TABLE_DIFFERENCES) snprintf(what, sizeof what, ": difference to %s", g->method[g->reference].title);
  if (kind == TABLE_RANKS) snprintf(what, sizeof what, ": mean competition rank");
  snprintf(title, TABLE_TITLE, "%.100s%s%s%s%s", g->title, *mark ? " (" : "", mark, *mark ? ")" : "", what);
}

static void print_pair(double mean, double deviation, int digits, char text[TABLE_CELL]) {
  char first[24], second[24];
  aggregate_print(mean, digits, first, sizeof first);
  aggregate_print(deviation, digits, second, sizeof second);
  snprintf(text, TABLE_CELL, isnan(deviation) ? "%s" : "%s ± %s", first, second);
}

static void fill_ours(const grid_results *r, table_kind kind, const field_result *f, table_cell *c) {
  const grid_score score = grid_score_of(r->jobs->g, f->task, f->method);
  const aggregate_summary *s = kind == TABLE_SCORES ? &f->ours : &f->difference;
  c->unfinished = s->count == 0;
  if (s->count)
    print_pair(s->mean, s->deviation, score.digits, c->text);
  else if (kind == TABLE_SCORES)
    field_state(r, f, c->text, sizeof c->text);
  if (kind == TABLE_SCORES) c->mark = f->mark;
}

static void fill_paper(const grid_results *r, table_kind kind, const field_result *f, table_cell *c) {
  const grid_score score = grid_score_of(r->jobs->g, f->task, f->method);
  if (kind == TABLE_SCORES && f->in_paper) print_pair(f->paper, f->paper_deviation, score.digits, c->text);
  if (kind == TABLE_DIFFERENCES && f->difference_in_paper)
    print_pair(f->paper_difference, f->paper_difference_deviation, score.digits, c->text);
}

/* the methods that have a row: of differences the reference has none */
static int shown_methods(const grid_results *r, table_kind kind, int *shown) {
  const selection *s = &r->jobs->chosen;
  int count = 0;
  for (int m = 0; m < s->methods; m++)
    if (kind == TABLE_SCORES || s->method[m] != r->jobs->g->reference) shown[count++] = m;
  return count;
}

static void fill(const grid_results *r, table_kind kind, int task, int method, table_cell *c, int columns) {
  const field_result *f = grid_field(r, task, method);
  fill_ours(r, kind, f, c);
  if (columns == 2) fill_paper(r, kind, f, c + 1);
}

static bool make_fields(const grid_results *r, table_kind kind, table *t) {
  const selection *s = &r->jobs->chosen;
  const grid *g = r->jobs->g;
  int shown[GRID_MOST];
  const int methods = shown_methods(r, kind, shown);
  if (methods == 0) return false;
  const bool turned = s->tasks > s->methods;
  t->rows = turned ? s->tasks : methods;
  t->groups = turned ? methods : s->tasks;
  t->columns = any_paper(r, kind) ? 2 : 1;
  t->units_in_rows = turned;
  t->cell = calloc((size_t)t->rows * (size_t)t->groups * (size_t)t->columns, sizeof *t->cell);
  for (int i = 0; i < s->tasks; i++) {
    (turned ? t->row : t->group)[i] = g->task[s->task[i]].title;
    t->unit[i] = grid_score_of(g, s->task[i], s->method[0]).unit;
  }
  for (int m = 0; m < methods; m++) (turned ? t->group : t->row)[m] = g->method[s->method[shown[m]]].title;
  for (int i = 0; t->cell && i < s->tasks; i++)
    for (int m = 0; m < methods; m++) {
      const size_t row = (size_t)(turned ? i : m), group = (size_t)(turned ? m : i);
      fill(r, kind, i, shown[m], &t->cell[(row * (size_t)t->groups + group) * (size_t)t->columns], t->columns);
    }
  return t->cell != NULL;
}

static bool make_ranks(const grid_results *r, table *t) {
  const selection *s = &r->jobs->chosen;
  t->rows = s->methods;
  t->groups = t->columns = 1;
  t->group[0] = "rank";
  t->unit[0] = "mean";
  t->cell = calloc((size_t)t->rows, sizeof *t->cell);
  for (int m = 0; t->cell && m < s->methods; m++) {
    t->row[m] = r->jobs->g->method[s->method[m]].title;
    if (r->ranked[m]) snprintf(t->cell[m].text, TABLE_CELL, "%.4f over %d tasks", r->mean_rank[m], r->ranked[m]);
  }
  return t->cell != NULL;
}

bool table_make(const grid_results *r, table_kind kind, table *out) {
  *out = (table){.note = kind == TABLE_SCORES ? r->jobs->g->note : ""};
  make_title(r, kind, out->title);
  if (kind == TABLE_RANKS) return any_rank(r) && make_ranks(r, out);
  if (kind == TABLE_DIFFERENCES && !any_difference(r)) return false;
  return make_fields(r, kind, out);
}

void table_free(table *t) {
  free(t->cell);
  *t = (table){.note = NULL};
}

const table_cell *table_cell_at(const table *t, int row, int group, int column) {
  return &t->cell[((size_t)row * (size_t)t->groups + (size_t)group) * (size_t)t->columns + (size_t)column];
}

const char *table_column_title(const table *t, int column) {
  return t->columns == 1 ? "" : column == 0 ? "here" : "paper";
}

/* "Event order: error, %", where rows or groups are tasks */
static void task_title(const char *title, const char *unit, char text[TABLE_TITLE]) {
  snprintf(text, TABLE_TITLE, "%s: %s", title, unit);
}

void table_row_title(const table *t, int row, char text[TABLE_TITLE]) {
  if (t->units_in_rows)
    task_title(t->row[row], t->unit[row], text);
  else
    snprintf(text, TABLE_TITLE, "%s", t->row[row]);
}

void table_group_title(const table *t, int group, char text[TABLE_TITLE]) {
  if (t->units_in_rows)
    snprintf(text, TABLE_TITLE, "%s", t->group[group]);
  else
    task_title(t->group[group], t->unit[group], text);
}

/* ---- text ---------------------------------------------------------------------------------------- */

enum { LINE = 118, GAP = 2 };

/* columns on a screen: a character of UTF-8 takes one */
static int width_of(const char *text) {
  int width = 0;
  for (const char *c = text; *c; c++) width += (*c & 0xc0) != 0x80;
  return width;
}

static int larger(int a, int b) { return a > b ? a : b; }

static void marked(const table_cell *c, char text[TABLE_CELL + 4]) {
  static const char *const signs[] = {[MARK_NONE] = " ", [MARK_BEST] = "*", [MARK_SECOND] = "+"};
  snprintf(text, TABLE_CELL + 4, "%s%s", c->text, signs[c->mark]);
}

static int column_width(const table *t, int group, int column) {
  char text[TABLE_CELL + 4];
  int width = width_of(table_column_title(t, column)) + 1;
  for (int r = 0; r < t->rows; r++) {
    marked(table_cell_at(t, r, group, column), text);
    width = larger(width, width_of(text));
  }
  return width;
}

static int group_width(const table *t, int group) {
  char title[TABLE_TITLE];
  int width = 0;
  for (int c = 0; c < t->columns; c++) width += GAP + column_width(t, group, c);
  table_group_title(t, group, title);
  return larger(width, GAP + width_of(title));
}

static void put(FILE *f, const char *text, int width, bool right) {
  const int pad = larger(0, width - width_of(text));
  fprintf(f, "%*s%s%*s", right ? pad : 0, "", text, right ? 0 : pad, "");
}

/* the groups of a block: as many as fit into a line */
static int block_end(const table *t, int first, int titles) {
  int width = titles, group = first;
  while (group < t->groups && (group == first || width + group_width(t, group) <= LINE))
    width += group_width(t, group++);
  return group;
}

static void put_heading(const table *t, int first, int end, int titles, FILE *f) {
  char title[TABLE_TITLE];
  put(f, "", titles, false);
  for (int g = first; g < end; g++) {
    table_group_title(t, g, title);
    put(f, title, group_width(t, g), true);
  }
  putc('\n', f);
  if (t->columns == 1) return;
  put(f, "", titles, false);
  for (int g = first; g < end; g++)
    for (int c = 0; c < t->columns; c++) {
      char heading[16];
      snprintf(heading, sizeof heading, "%s ", table_column_title(t, c));
      const int spare = group_width(t, g) - GAP * t->columns - column_width(t, g, 0) - column_width(t, g, 1);
      put(f, heading, GAP + column_width(t, g, c) + (c == 0 ? spare : 0), true);
    }
  putc('\n', f);
}

static void put_row(const table *t, int row, int first, int end, int titles, FILE *f) {
  char text[TABLE_TITLE];
  table_row_title(t, row, text);
  put(f, text, titles, false);
  for (int g = first; g < end; g++) {
    int spare = group_width(t, g);
    for (int c = 0; c < t->columns; c++) spare -= GAP + column_width(t, g, c);
    for (int c = 0; c < t->columns; c++) {
      marked(table_cell_at(t, row, g, c), text);
      put(f, text, GAP + column_width(t, g, c) + (c == 0 ? spare : 0), true);
    }
  }
  putc('\n', f);
}

static void write_text(const table *t, FILE *f) {
  char title[TABLE_TITLE];
  int titles = 0;
  for (int r = 0; r < t->rows; r++) {
    table_row_title(t, r, title);
    titles = larger(titles, width_of(title));
  }
  fprintf(f, "%s\n", t->title);
  for (int first = 0, end; first < t->groups; first = end) {
    end = block_end(t, first, titles);
    putc('\n', f);
    put_heading(t, first, end, titles, f);
    for (int r = 0; r < t->rows; r++) put_row(t, r, first, end, titles, f);
  }
  if (*t->note) fprintf(f, "\n%s\n", t->note);
}

/* ---- Markdown ------------------------------------------------------------------------------------ */

static void put_markdown(FILE *f, const char *text) {
  for (; *text; text++) fprintf(f, strchr("|*_`\\", *text) ? "\\%c" : "%c", *text);
}

static void write_markdown(const table *t, FILE *f) {
  static const char *const around[] = {[MARK_NONE] = "", [MARK_BEST] = "**", [MARK_SECOND] = "*"};
  char title[TABLE_TITLE];
  fprintf(f, "### ");
  put_markdown(f, t->title);
  fprintf(f, "\n\n|  |");
  for (int g = 0; g < t->groups; g++)
    for (int c = 0; c < t->columns; c++) {
      table_group_title(t, g, title);
      putc(' ', f);
      put_markdown(f, title);
      fprintf(f, "%s%s |", t->columns == 2 ? ", " : "", table_column_title(t, c));
    }
  fprintf(f, "\n|---|");
  for (int i = 0; i < t->groups * t->columns; i++) fprintf(f, "---:|");
  putc('\n', f);
  for (int r = 0; r < t->rows; r++) {
    table_row_title(t, r, title);
    fprintf(f, "| ");
    put_markdown(f, title);
    fprintf(f, " |");
    for (int g = 0; g < t->groups; g++)
      for (int c = 0; c < t->columns; c++) {
        const table_cell *cell = table_cell_at(t, r, g, c);
        fprintf(f, " %s%s%s |", around[cell->mark], cell->text, around[cell->mark]);
      }
    putc('\n', f);
  }
  if (*t->note) {
    putc('\n', f);
    put_markdown(f, t->note);
    putc('\n', f);
  }
}

/* ---- LaTeX: booktabs ----------------------------------------------------------------------------- */

static void put_latex(FILE *f, const char *text) {
  for (; *text; text++) {
    if (strncmp(text, "±", strlen("±")) == 0) {
      fputs("$\\pm$", f);
      text += strlen("±") - 1;
    } else if (*text == '-' && text[1] >= '0' && text[1] <= '9') {
      fputs("$-$", f);
    } else {
      fprintf(f, strchr("&%$#_{}", *text) ? "\\%c" : "%c", *text);
    }
  }
}

static void put_latex_cell(FILE *f, const table_cell *c) {
  static const char *const before[] = {[MARK_NONE] = "", [MARK_BEST] = "\\textbf{", [MARK_SECOND] = "\\underline{"};
  fputs(before[c->mark], f);
  put_latex(f, c->text);
  if (c->mark) putc('}', f);
}

static void write_latex(const table *t, FILE *f) {
  char title[TABLE_TITLE];
  fprintf(f, "\\begin{table}\n\\centering\n\\caption{");
  put_latex(f, t->title);
  fprintf(f, "}\n\\begin{tabular}{l*{%d}{r}}\n\\toprule\n", t->groups * t->columns);
  for (int g = 0; g < t->groups; g++) {
    table_group_title(t, g, title);
    fprintf(f, " & \\multicolumn{%d}{c}{", t->columns);
    put_latex(f, title);
    putc('}', f);
  }
  fprintf(f, "\\\\\n");
  for (int i = 0; t->columns == 2 && i < t->groups * t->columns; i++) fprintf(f, " & %s", table_column_title(t, i % 2));
  fprintf(f, "%s\\midrule\n", t->columns == 2 ? "\\\\\n" : "");
  for (int r = 0; r < t->rows; r++) {
    table_row_title(t, r, title);
    put_latex(f, title);
    for (int i = 0; i < t->groups * t->columns; i++) {
      fputs(" & ", f);
      put_latex_cell(f, table_cell_at(t, r, i / t->columns, i % t->columns));
    }
    fprintf(f, "\\\\\n");
  }
  fprintf(f, "\\bottomrule\n\\end{tabular}\n");
  if (*t->note) {
    fprintf(f, "\\par\\smallskip{\\footnotesize ");
    put_latex(f, t->note);
    fprintf(f, "}\n");
  }
  fprintf(f, "\\end{table}\n");
}

void table_write(const table *t, table_format format, FILE *stream) {
  static void (*const writers[])(const table *, FILE *) = {
      [TABLE_TEXT] = write_text, [TABLE_MARKDOWN] = write_markdown, [TABLE_LATEX] = write_latex};
  writers[format](t, stream);
}

/* ---- CSV ----------------------------------------------------------------------------------------- */

static void put_number(FILE *f, bool there, double value) {
  if (there && isfinite(value))
    fprintf(f, ",%.9g", value);
  else
    putc(',', f);
}

static void put_quoted(FILE *f, const char *text) {
  putc('"', f);
  for (; *text; text++) fprintf(f, *text == '"' ? "\"\"" : "%c", *text);
  putc('"', f);
}

void table_write_csv(const grid_results *r, FILE *stream) {
  const grid_jobs *jobs = r->jobs;
  fprintf(stream,
          "grid,scale,match,task,method,unit,seeds,state,mean,sd,paper,paper_sd,difference,difference_sd,"
          "paper_difference,paper_difference_sd,rank,parameters\n");
  for (int i = 0; i < jobs->chosen.tasks * jobs->chosen.methods; i++) {
    const field_result *s = &r->field[i];
    char state[TABLE_CELL] = "done";
    const bool finished = s->ours.count > 0;
    if (!finished) field_state(r, s, state, sizeof state);
    fprintf(stream, "%s,%g,%s,%s,%s,", jobs->g->name, jobs->scope.scale, jobs->scope.match_params ? "params" : "state",
            jobs->g->task[s->task].name, jobs->g->method[s->method].name);
    put_quoted(stream, grid_score_of(jobs->g, s->task, s->method).unit);
    fprintf(stream, ",%d,", jobs->chosen.seeds);
    put_quoted(stream, state);
    put_number(stream, finished, s->ours.mean);
    put_number(stream, finished, s->ours.deviation);
    put_number(stream, s->in_paper, s->paper);
    put_number(stream, s->in_paper, s->paper_deviation);
    put_number(stream, s->difference.count > 0, s->difference.mean);
    put_number(stream, s->difference.count > 0, s->difference.deviation);
    put_number(stream, s->difference_in_paper, s->paper_difference);
    put_number(stream, s->difference_in_paper, s->paper_difference_deviation);
    put_number(stream, s->rank > 0, s->rank);
    put_number(stream, s->parameters > 0, (double)s->parameters);
    putc('\n', stream);
  }
}
