/* SPDX-License-Identifier: MIT */
/* methods.c: the table of methods, one row for each cell, and two for RG-LRU, whose paper and released code differ. A
 * cell that the table does not name has a row by its own name. */
#include "lab/experiment/methods.h"

#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A palette that the colour-blind can tell apart. RG-LRU stands twice: with the defaults of this library (gates in
 * blocks of 8, decays as in the released code), and with one dense block of gates over the 128 coordinates of these
 * tasks and decays as in Griffin's text, which is what the paper compares with. See docs/cells.md. */
static const method table[] = {
    {.cell = "sparc", .in_paper = true, .title = "SPARC", .colour = "#D55E00"},
    {.cell = "rtu", .in_paper = true, .title = "RTU", .colour = "#0072B2"},
    {.cell = "rglru", .title = "RG-LRU", .colour = "#009E73"},
    {.cell = "rglru",
     .options = "block=128,ring=transition",
     .in_paper = true,
     .title = "RG-LRU, dense",
     .colour = "#8FB339"},
    {.cell = "lru", .title = "LRU", .colour = "#56B4E9"},
    {.cell = "gateloop", .title = "GateLoop", .colour = "#CC79A7"},
    {.cell = "mamba3", .title = "Mamba-3", .colour = "#B8860B"},
    {.cell = "gru", .title = "GRU", .colour = "#7A6FB0"},
};
enum { ROWS = sizeof table / sizeof *table };

/* the row of a cell that the table does not name, such as one that was just added; `nth` among the rows chosen */
static method row_of_other(const char *cell, int nth) {
  static const char *const colours[] = {"#4D4D4D", "#A0A0A0", "#000000"}; /* greys, which no row of the table has */
  return (method){.cell = cell, .title = cell, .colour = colours[nth % (int)(sizeof colours / sizeof *colours)]};
}

/* whether a cell has an option of that name */
static sparc_status has_variants(const char *kind, bool *has) {
  enum { ANY = 128 };
  char options[CELL_OPTIONS_SIZE], variant[METHOD_NAME];
  int modes;
  const sparc_status status = cell_settle(&(cell_wish){.kind = kind, .budget = ANY}, ANY, &modes, options);
  if (status == SPARC_OK) *has = cell_variant(options, variant, sizeof variant);
  return status;
}

static sparc_status add(const method *row, method chosen[METHODS_MOST], int *count) {
  if (*count == METHODS_MOST) return fail(SPARC_INVALID, "more than %d methods to compare", METHODS_MOST);
  method *m = &chosen[*count];
  *m = *row;
  const cell_wish wish = {.kind = m->cell, .options = m->options, .variant = m->variant};
  const sparc_status status = cell_said(&wish, m->said);
  if (status != SPARC_OK) return status;
  options_file_name(m->cell, m->said, m->name, sizeof m->name);
  ++*count;
  return SPARC_OK;
}

/* the row of a cell with other options: the paper has none such, unless they are the defaults after all */
static sparc_status add_asked_for(const method *row, const methods_wish *wish, bool variants,
                                  method chosen[METHODS_MOST], int *count) {
  method asked = *row;
  asked.options = wish->options;
  asked.variant = variants ? wish->variant : NULL;
  const sparc_status status = add(&asked, chosen, count);
  if (status == SPARC_OK && *chosen[*count - 1].said) chosen[*count - 1].in_paper = false;
  return status;
}

static sparc_status add_cell(const char *cell, const methods_wish *wish, method chosen[METHODS_MOST], int *count,
                             bool *any_variants) {
  bool variants = false;
  sparc_status status = has_variants(cell, &variants);
  const bool asked = wish->options || (wish->variant && variants);
  *any_variants |= variants;
  const method other = row_of_other(cell, *count);
  const method *rows[ROWS] = {&other};
  int found = 0;
  for (int i = 0; i < ROWS; i++)
    if (strcmp(table[i].cell, cell) == 0) rows[found++] = &table[i];
  if (status == SPARC_OK && asked) return add_asked_for(rows[0], wish, variants, chosen, count);
  for (int i = 0; i < (found ? found : 1) && status == SPARC_OK; i++) status = add(rows[i], chosen, count);
  return status;
}

sparc_status methods_choose(const methods_wish *wish, method chosen[METHODS_MOST], int *count) {
  bool any_variants = false;
  sparc_status status = SPARC_OK;
  *count = 0;
  for (const char *const *cell = wish->cells; *cell && status == SPARC_OK; cell++)
    status = add_cell(*cell, wish, chosen, count, &any_variants);
  if (status == SPARC_OK && wish->variant && !any_variants)
    return fail(SPARC_INVALID, "variant is '%.60s', but none of the cells has variants", wish->variant);
  return status;
}

double method_paper_score(const method *m, const sparc_task *task) {
  return m->in_paper ? sparc_task_paper_score(task, m->cell) : NAN;
}

/* the width of the cell's output for D inputs */
static sparc_status output_width(const method *m, int budget, int D, size_t *width) {
  const cell_wish wish = {.kind = m->cell, .options = m->options, .variant = m->variant, .budget = budget};
  char options[CELL_OPTIONS_SIZE];
  int modes;
  sparc_status status = cell_settle(&wish, D, &modes, options);
  if (status != SPARC_OK) return status;
  sparc_cell *cell;
  status = sparc_cell_create(&(sparc_cell_config){.kind = m->cell, .D = D, .H = modes, .options = options}, &cell);
  if (status == SPARC_OK) *width = sparc_cell_sizes(cell).output;
  sparc_cell_free(cell);
  return status;
}

sparc_status method_needs_width(const method *m, const sparc_task *task, int width, bool *needs) {
  size_t narrow = 0, wide = 0;
  sparc_status status = output_width(m, task->training.state, task->D, &narrow);
  if (status == SPARC_OK) status = output_width(m, task->training.state, width, &wide);
  if (status == SPARC_OK) *needs = narrow < wide;
  return status;
}

const char *method_options(const method *m) { return *m->said ? m->said : "defaults"; }
