/* SPDX-License-Identifier: MIT */
/* print.c: tables as text, Markdown, LaTeX (booktabs), CSV and JSON. The first three are for people: rounded, in the
 * paper's units. The other two are for programs: plain numbers, CSV in long form. */
#include "base/c_locale.h"
#include "base/error.h"
#include "io/json.h"
#include "lab/diagnose/tables.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

const char *const print_format_names[PRINT_FORMATS + 1] = {"text", "markdown", "latex", "csv", "json", NULL};

enum { CELL_TEXT = 80 };

/* ---- for people ---------------------------------------------------------------------------------- */

/* how a format of tables looks */
typedef struct table_look {
  const char *plus_minus, *absent;
  void (*begin)(FILE *f, const table *t, const int *width);
  void (*row)(FILE *f, const table *t, const int *width, const char *label, char (*cell)[CELL_TEXT]);
  void (*end)(FILE *f, const table *t);
} table_look;

static void cell_text(const table_look *look, const table_cell *c, char text[CELL_TEXT]) {
  const summary *v = &c->value;
  if (v->count == 0)
    snprintf(text, CELL_TEXT, "%s", look->absent);
  else if (isnan(v->deviation))
    snprintf(text, CELL_TEXT, "%.*f", c->digits, v->mean * c->scale);
  else
    snprintf(text, CELL_TEXT, "%.*f%s%.*f", c->digits, v->mean * c->scale, look->plus_minus, c->digits,
             v->deviation * c->scale);
}

/* columns on a screen: bytes that continue a character of UTF-8 take none */
static int shown(const char *text) {
  int n = 0;
  for (; *text; text++) n += ((unsigned char)*text & 0xC0) != 0x80;
  return n;
}

static void put_padded(FILE *f, const char *text, int width, bool left) {
  const int blanks = width - shown(text);
  fprintf(f, "%*s%s%*s", left || blanks < 0 ? 0 : blanks, "", text, !left || blanks < 0 ? 0 : blanks, "");
}

static void put_row(FILE *f, const table *t, const int *width, const char *label, const char *between,
                    char (*cell)[CELL_TEXT]) {
  put_padded(f, label, width[0], true);
  for (int c = 0; c < t->columns; c++) {
    fputs(between, f);
    put_padded(f, cell[c], width[c + 1], false);
  }
}

/* text from a file must not steer a terminal */
static void put_harmless(FILE *f, const char *text) {
  for (; *text; text++) putc((unsigned char)*text < 0x20 || *text == 0x7F ? '?' : *text, f);
}

static void text_begin(FILE *f, const table *t, const int *width) {
  fprintf(f, "%s\n\n", t->title);
  put_padded(f, t->first, width[0], true);
  for (int c = 0; c < t->columns; c++) {
    fputs("  ", f);
    put_padded(f, t->column[c].heading, width[c + 1], false);
  }
  putc('\n', f);
  for (int c = 0; c <= t->columns; c++) {
    if (c) fputs("  ", f);
    for (int i = 0; i < width[c]; i++) putc('-', f);
  }
  putc('\n', f);
}

static void text_row(FILE *f, const table *t, const int *width, const char *label, char (*cell)[CELL_TEXT]) {
  put_row(f, t, width, label, "  ", cell);
  putc('\n', f);
}

/* the note in lines of at most 100 characters */
static void text_end(FILE *f, const table *t) {
  enum { LINE = 100 };
  int column = 0;
  for (const char *word = t->note; *word;) {
    const int length = (int)strcspn(word, " ");
    if (column && column + 1 + length > LINE) {
      putc('\n', f);
      column = 0;
    }
    column += fprintf(f, "%s%.*s", column ? " " : "", length, word);
    word += length + (word[length] == ' ');
  }
  fputs("\n\n", f);
}

static void markdown_begin(FILE *f, const table *t, const int *width) {
  fprintf(f, "### %s\n\n| ", t->title);
  put_padded(f, t->first, width[0], true);
  for (int c = 0; c < t->columns; c++) {
    fputs(" | ", f);
    put_padded(f, t->column[c].heading, width[c + 1], false);
  }
  fputs(" |\n|", f);
  for (int c = 0; c <= t->columns; c++) fputs(c ? "---:|" : ":---|", f);
  putc('\n', f);
}

static void markdown_row(FILE *f, const table *t, const int *width, const char *label, char (*cell)[CELL_TEXT]) {
  fputs("| ", f);
  put_row(f, t, width, label, " | ", cell);
  fputs(" |\n", f);
}

static void markdown_end(FILE *f, const table *t) { fprintf(f, "\n%s\n\n", t->note); }

/* what LaTeX reads as a command */
static void put_latex(FILE *f, const char *text) {
  for (; *text; text++) {
    if (strchr("%&_#$", *text)) putc('\\', f);
    if (*text == '|')
      fputs("$|$", f);
    else
      putc(*text, f);
  }
}

static void latex_begin(FILE *f, const table *t, const int *width) {
  (void)width;
  fprintf(f, "\\begin{table}\n\\centering\n\\caption{%s.}\n\\begin{tabular}{@{}l", t->title);
  for (int c = 0; c < t->columns; c++) putc('r', f);
  fprintf(f, "@{}}\n\\toprule\n%s", t->first);
  for (int c = 0; c < t->columns; c++) {
    fputs(" & ", f);
    put_latex(f, t->column[c].heading);
  }
  fputs("\\\\\n\\midrule\n", f);
}

static void latex_row(FILE *f, const table *t, const int *width, const char *label, char (*cell)[CELL_TEXT]) {
  (void)width;
  put_latex(f, label);
  for (int c = 0; c < t->columns; c++) fprintf(f, " & $%s$", cell[c]);
  fputs("\\\\\n", f);
}

static void latex_end(FILE *f, const table *t) {
  fputs("\\bottomrule\n\\end{tabular}\n\n\\smallskip{\\footnotesize ", f);
  put_latex(f, t->note);
  fputs("}\n\\end{table}\n\n", f);
}

static const table_look looks[] = {
    [PRINT_TEXT] = {" +- ", "-", text_begin, text_row, text_end},
    [PRINT_MARKDOWN] = {" ± ", "–", markdown_begin, markdown_row, markdown_end},
    [PRINT_LATEX] = {" \\pm ", "-", latex_begin, latex_row, latex_end},
};

static void widen(int *width, const char *text) {
  if (shown(text) > *width) *width = shown(text);
}

static sparc_status put_table(FILE *f, const table_look *look, const table *t) {
  char(*cell)[CELL_TEXT] = sparc_alloc((size_t)(t->rows + 1) * (size_t)t->columns * sizeof *cell);
  int *width = sparc_alloc(((size_t)t->columns + 1) * sizeof *width);
  const bool enough = cell && width;
  if (enough) {
    width[0] = shown(t->first);
    for (int c = 0; c < t->columns; c++) width[c + 1] = shown(t->column[c].heading);
    for (int r = 0; r < t->rows; r++) {
      widen(&width[0], t->label[r]);
      for (int c = 0; c < t->columns; c++) {
        cell_text(look, &t->cell[r * t->columns + c], cell[r * t->columns + c]);
        widen(&width[c + 1], cell[r * t->columns + c]);
      }
    }
    look->begin(f, t, width);
    for (size_t r = 0; r < (size_t)t->rows; r++) look->row(f, t, width, t->label[r], cell + r * (size_t)t->columns);
    look->end(f, t);
  }
  sparc_free(cell);
  sparc_free(width);
  return enough ? SPARC_OK : fail(SPARC_NO_MEMORY, "no memory for a table");
}

static void put_runs(FILE *f, const diagnosis *runs, int count) {
  for (int i = 0; i < count; i++) {
    const replay *r = &runs[i].replay;
    long steps = 0;
    for (int k = 0; k < r->recordings; k++) steps += r->recording[k].T;
    put_harmless(f, r->path);
    fprintf(f, ": %s, %s, %d layer%s; %s, %d recording%s of %ld steps in all\n", r->task, r->cell, runs[i].layers,
            runs[i].layers == 1 ? "" : "s", r->part, r->recordings, r->recordings == 1 ? "" : "s", steps);
  }
  putc('\n', f);
}

static sparc_status print_for_people(FILE *f, print_format format, const diagnosis *runs, int count,
                                     const diagnosis_tables *tables) {
  sparc_status status = SPARC_OK;
  if (format == PRINT_TEXT) put_runs(f, runs, count);
  for (int i = 0; i < tables->count && status == SPARC_OK; i++)
    if (tables->table[i].rows) status = put_table(f, &looks[format], &tables->table[i]);
  return status;
}

/* ---- for programs -------------------------------------------------------------------------------- */

static void put_csv_text(FILE *f, const char *text) {
  putc('"', f);
  for (; *text; text++) {
    if (*text == '"') putc('"', f);
    putc(*text, f);
  }
  putc('"', f);
}

static void put_csv_number(FILE *f, double value) {
  putc(',', f);
  if (isfinite(value)) fprintf(f, "%.9g", value);
}

static void print_csv(FILE *f, const diagnosis_tables *tables) {
  fputs("table,row,column,runs,mean,deviation\n", f);
  for (int i = 0; i < tables->count; i++) {
    const table *t = &tables->table[i];
    for (int k = 0; k < t->rows * t->columns; k++) {
      const summary *v = &t->cell[k].value;
      fprintf(f, "%s,", t->key);
      put_csv_text(f, t->label[k / t->columns]);
      putc(',', f);
      put_csv_text(f, t->column[k % t->columns].key);
      fprintf(f, ",%d", v->count);
      put_csv_number(f, v->mean);
      put_csv_number(f, v->deviation);
      putc('\n', f);
    }
  }
}

static json_t *json_finite(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static json_t *json_table(const table *t) {
  json_t *rows = json_array();
  for (int r = 0; r < t->rows; r++) {
    json_t *row = json_pack("{s:o}", "row", json_text(t->label[r]));
    for (int c = 0; row && c < t->columns; c++) {
      const summary *v = &t->cell[r * t->columns + c].value;
      json_object_set_new(row, t->column[c].key,
                          json_pack("{s:i, s:o, s:o}", "runs", v->count, "mean", json_finite(v->mean), "deviation",
                                    json_finite(v->deviation)));
    }
    json_array_append_new(rows, row);
  }
  return json_pack("{s:s, s:s, s:s, s:o}", "table", t->key, "title", t->title, "note", t->note, "rows", rows);
}

static json_t *json_run(const diagnosis *d) {
  const replay *r = &d->replay;
  json_int_t steps = 0;
  for (int k = 0; k < r->recordings; k++) steps += r->recording[k].T;
  return json_pack("{s:o, s:o, s:o, s:s, s:s, s:i, s:i, s:I}", "path", json_text(r->path), "task", json_text(r->task),
                   "cell", json_text(r->cell), "options", sparc_cell_options(sparc_network_cell(r->network)), "part",
                   r->part, "layers", d->layers, "recordings", r->recordings, "steps", steps);
}

static sparc_status print_json(FILE *f, const diagnosis *runs, int count, const diagnosis_tables *tables) {
  json_t *run_list = json_array(), *table_list = json_array();
  for (int i = 0; i < count; i++) json_array_append_new(run_list, json_run(&runs[i]));
  for (int i = 0; i < tables->count; i++) json_array_append_new(table_list, json_table(&tables->table[i]));
  json_t *all = json_pack("{s:o, s:o}", "runs", run_list, "tables", table_list);
  if (!all) return fail(SPARC_NO_MEMORY, "no memory for the tables");
  json_dumpf(all, f, JSON_PRESERVE_ORDER | JSON_INDENT(1) | JSON_REAL_PRECISION(9));
  putc('\n', f);
  json_decref(all);
  return SPARC_OK;
}

sparc_status diagnosis_print(FILE *stream, print_format format, const diagnosis *runs, int count,
                             const diagnosis_tables *tables) {
  sparc_status status = SPARC_OK;
  const locale_guard guard = enter_c_locale();
  if (format == PRINT_CSV)
    print_csv(stream, tables);
  else
    status = format == PRINT_JSON ? print_json(stream, runs, count, tables)
                                  : print_for_people(stream, format, runs, count, tables);
  leave_c_locale(guard);
  return status;
}
