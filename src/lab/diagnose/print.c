/* SPDX-License-Identifier: MIT */
/* print.c: tables in all formats. Text formats have rounded numbers in the paper's units; CSV (long form) and JSON have
 * unscaled numbers. */
#include "base/c_locale.h"
#include "base/error.h"
#include "base/plain_text.h"
#include "io/json.h"
#include "lab/diagnose/tables.h"
#include "nn/network.h"

#include <jansson.h>
#include <math.h>

/* ---- text formats -------------------------------------------------------------------------------- */

static void fill_cell(const table_cell *from, text_table_cell *to) {
  const sample_summary *v = &from->value;
  if (v->count == 0)
    snprintf(to->text, TEXT_TABLE_CELL, "-");
  else
    text_table_mean_stddev(v->mean * from->scale, v->stddev * from->scale, from->digits, to->text);
}

static bool has_paper(const table *t) {
  for (int k = 0; k < t->rows * t->columns; k++)
    if (t->cell[k].paper) return true;
  return false;
}

bool diagnosis_text_table(const table *t, text_table *out) {
  const bool paper = has_paper(t);
  if (!text_table_create(t->rows, t->columns, paper ? 2 : 1, out)) return false;
  snprintf(out->title, TEXT_TABLE_TITLE, "%s", t->title);
  snprintf(out->label, sizeof out->label, "diagnostics-%s", t->key);
  if (paper) {
    out->column[0] = "here";
    out->column[1] = "paper";
  }
  out->corner = t->first;
  out->note = t->note;
  for (int c = 0; c < t->columns; c++) snprintf(out->group[c], TEXT_TABLE_TITLE, "%s", t->column[c].heading);
  for (int r = 0; r < t->rows; r++) {
    snprintf(out->row[r], TEXT_TABLE_TITLE, "%s", t->label[r]);
    for (int c = 0; c < t->columns; c++) {
      const table_cell *cell = &t->cell[r * t->columns + c];
      fill_cell(cell, text_table_at(out, r, c, 0));
      if (cell->paper)
        text_table_mean_stddev(cell->paper->mean, cell->paper->stddev, cell->digits, text_table_at(out, r, c, 1)->text);
    }
  }
  return true;
}

static sparc_status put_table(FILE *f, table_format format, const table *t) {
  text_table s;
  const bool made = diagnosis_text_table(t, &s);
  if (made) {
    text_table_write(&s, format, f);
    putc('\n', f);
  }
  text_table_free(&s);
  return made ? SPARC_OK : fail(SPARC_NO_MEMORY, "no memory for a table");
}

static void put_runs(FILE *f, const diagnosis *runs, int count) {
  for (int i = 0; i < count; i++) {
    const replay *r = &runs[i].replay;
    long steps = 0;
    for (int k = 0; k < r->recordings; k++) steps += r->recording[k].T;
    put_plain(f, r->path);
    fprintf(f, ": %s, %s, %d layer%s; %s, %d recording%s of %ld steps in all\n", r->task, r->cell, runs[i].layers,
            runs[i].layers == 1 ? "" : "s", r->part, r->recordings, r->recordings == 1 ? "" : "s", steps);
  }
  putc('\n', f);
}

static sparc_status print_text_tables(FILE *f, table_format format, const diagnosis *runs, int count,
                                      const diagnosis_tables *tables) {
  sparc_status status = SPARC_OK;
  if (format == FORMAT_TEXT) put_runs(f, runs, count);
  for (int i = 0; i < tables->count && status == SPARC_OK; i++)
    if (tables->table[i].rows) status = put_table(f, format, &tables->table[i]);
  return status;
}

/* ---- CSV and JSON -------------------------------------------------------------------------------- */

/* unscaled, like the measured numbers */
static double plain_paper(const table_cell *cell) { return cell->paper ? cell->paper->mean / cell->scale : NAN; }

static void print_csv(FILE *f, const diagnosis_tables *tables) {
  fputs("table,row,column,runs,mean,deviation,paper\n", f);
  for (int i = 0; i < tables->count; i++) {
    const table *t = &tables->table[i];
    for (int k = 0; k < t->rows * t->columns; k++) {
      const sample_summary *v = &t->cell[k].value;
      fprintf(f, "%s,", t->key);
      csv_put_text(f, t->label[k / t->columns]);
      putc(',', f);
      csv_put_text(f, t->column[k % t->columns].key);
      fprintf(f, ",%d", v->count);
      csv_put_number(f, true, v->mean);
      csv_put_number(f, true, v->stddev);
      csv_put_number(f, true, plain_paper(&t->cell[k]));
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
      const table_cell *cell = &t->cell[r * t->columns + c];
      const sample_summary *v = &cell->value;
      json_object_set_new(row, t->column[c].key,
                          json_pack("{s:i, s:o, s:o, s:o}", "runs", v->count, "mean", json_finite(v->mean), "deviation",
                                    json_finite(v->stddev), "paper", json_finite(plain_paper(cell))));
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
                   "cell", json_text(r->cell), "options", sparc_cell_config_of(network_cell(r->network)).options,
                   "part", r->part, "layers", d->layers, "recordings", r->recordings, "steps", steps);
}

static sparc_status print_json(FILE *f, const diagnosis *runs, int count, const diagnosis_tables *tables) {
  json_t *run_list = json_array(), *table_list = json_array();
  for (int i = 0; i < count; i++) json_array_append_new(run_list, json_run(&runs[i]));
  for (int i = 0; i < tables->count; i++) json_array_append_new(table_list, json_table(&tables->table[i]));
  json_t *all = json_pack("{s:o, s:o}", "runs", run_list, "tables", table_list);
  if (!all) return fail(SPARC_NO_MEMORY, "no memory for the tables");
  const bool printed = json_put(f, all, JSON_PRESERVE_ORDER | JSON_INDENT(1) | JSON_REAL_PRECISION(9));
  putc('\n', f);
  json_decref(all);
  return printed ? SPARC_OK : fail(SPARC_NO_MEMORY, "no memory for the tables");
}

sparc_status diagnosis_print(FILE *stream, table_format format, const diagnosis *runs, int count,
                             const diagnosis_tables *tables) {
  sparc_status status = SPARC_OK;
  const locale_guard guard = enter_c_locale();
  if (format == FORMAT_CSV)
    print_csv(stream, tables);
  else
    status = format == FORMAT_JSON ? print_json(stream, runs, count, tables)
                                   : print_text_tables(stream, format, runs, count, tables);
  leave_c_locale(guard);
  return status;
}
