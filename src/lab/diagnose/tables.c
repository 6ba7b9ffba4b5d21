/* SPDX-License-Identifier: MIT */
/* tables.c: tables of diagnosed runs [tab:gate_activity] [tab:retention_phase]. */
#include "lab/diagnose/tables.h"

#include "base/error.h"

#include <math.h>
#include <string.h>

/* ---- groups -------------------------------------------------------------------------------------- */

/* runs of the same task and cell, in order of their first run */
typedef struct group {
  const char *title;
  const diagnosis **run; /* (runs) */
  int runs;
} group;

static const char *paper_task(const group *of) { return of->run[0]->replay.paper; }

typedef struct grouping {
  group *group;
  int groups, runs;
  const diagnosis **memory; /* (runs, runs) */
  double *values;           /* (runs): numbers to be summarised */
  evolution *evolution;     /* (runs) */
  const training_log **log; /* (runs) */
} grouping;

static void grouping_free(grouping *g) {
  sparc_free(g->group);
  sparc_free(g->memory);
  sparc_free(g->values);
  sparc_free(g->evolution);
  sparc_free(g->log);
}

static group *group_of(grouping *g, const char *title) {
  for (int i = 0; i < g->groups; i++)
    if (strcmp(g->group[i].title, title) == 0) return &g->group[i];
  group *made = &g->group[g->groups];
  *made = (group){.title = title, .run = g->memory + (size_t)g->groups * (size_t)g->runs};
  g->groups++;
  return made;
}

static sparc_status make_groups(const diagnosis *runs, int count, grouping *g) {
  const size_t n = (size_t)count;
  *g = (grouping){.runs = count,
                  .group = sparc_alloc(n * sizeof *g->group),
                  .memory = sparc_alloc(n * n * sizeof *g->memory),
                  .values = sparc_alloc(n * sizeof *g->values),
                  .evolution = sparc_alloc(n * sizeof *g->evolution),
                  .log = sparc_alloc(n * sizeof *g->log)};
  if (!g->group || !g->memory || !g->values || !g->evolution || !g->log)
    return fail(SPARC_NO_MEMORY, "no memory for %d runs", count);
  for (int i = 0; i < count; i++) {
    group *to = group_of(g, runs[i].replay.title);
    to->run[to->runs++] = &runs[i];
  }
  return SPARC_OK;
}

/* ---- building ------------------------------------------------------------------------------------ */

static sparc_status start_table(diagnosis_tables *tables, table about, int columns, int max_rows, table **out) {
  table *t = &tables->table[tables->count++];
  *t = about;
  t->columns = columns;
  t->column = sparc_alloc((size_t)columns * sizeof *t->column);
  t->label = sparc_alloc((size_t)max_rows * sizeof *t->label);
  t->cell = sparc_alloc((size_t)max_rows * (size_t)columns * sizeof *t->cell);
  *out = t;
  return t->column && t->label && t->cell ? SPARC_OK : fail(SPARC_NO_MEMORY, "no memory for a table");
}

static void set_column(table *t, int i, const char *key, const char *heading) {
  snprintf(t->column[i].key, sizeof t->column[i].key, "%s", key);
  snprintf(t->column[i].heading, sizeof t->column[i].heading, "%s", heading);
}

static table_cell *cell_at(const table *t, int row, int column) { return &t->cell[row * t->columns + column]; }

/* a statistic of the whole runs of a group, or of one of their layers */
static table_cell statistic_cell(const grouping *g, const group *of, int layer, statistic_id id) {
  for (int i = 0; i < of->runs; i++) {
    const diagnosis *d = of->run[i];
    g->values[i] = layer < 0 ? d->whole[id] : layer < d->layers ? d->layer[layer][id] : NAN;
  }
  const statistic *s = &statistic_table[id];
  return (table_cell){.value = sample_summarise((size_t)of->runs, g->values), .scale = s->scale, .digits = s->digits};
}

static void set_statistic_columns(table *t, const statistic_id *ids) {
  for (int c = 0; c < t->columns; c++) set_column(t, c, statistic_table[ids[c]].key, statistic_table[ids[c]].heading);
}

static sparc_status add_statistics(const grouping *g, table about, const statistic_id *ids, int columns,
                                   diagnosis_tables *tables) {
  table *t;
  const sparc_status status = start_table(tables, about, columns, g->groups, &t);
  if (status != SPARC_OK) return status;
  set_statistic_columns(t, ids);
  for (t->rows = 0; t->rows < g->groups; t->rows++) {
    snprintf(t->label[t->rows], TABLE_LABEL, "%s", g->group[t->rows].title);
    for (int c = 0; c < columns; c++) {
      table_cell *cell = cell_at(t, t->rows, c);
      *cell = statistic_cell(g, &g->group[t->rows], -1, ids[c]);
      cell->paper = paper_find(t->key, paper_task(&g->group[t->rows]), t->column[c].key, 0);
    }
  }
  return SPARC_OK;
}

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static sparc_status add_paper_tables(const grouping *g, diagnosis_tables *tables) {
  static const statistic_id gate[] = {GATE_DEVIATION, SATURATION, GATE_RATIO, CONTENT_RATIO};
  static const statistic_id retention[] = {DECAY_SCALE, SURVIVAL, RELATIVE_SURVIVAL, PHASE_DEGREES, CLOCK_RATIO};
  static const statistic_id scales[] = {GAIN,       GAIN_RATIO,      GAIN_RATIO_DEVIATION, GAIN_PRODUCT,
                                        NORM_RATIO, INPUT_MAGNITUDE, CONTENT_SLOPE,        STATE_RMS};
  const table about[] = {
      {.key = "gate",
       .title = "Write-gate activity and content saturation",
       .first = "Task",
       .note = "Gate SD: temporal standard deviation per mode. Saturation: share of real and imaginary contents above "
               "0.95. Gate ratio, content: write energy relative to a neutral gate and to linear content."},
      {.key = "retention",
       .title = "Retention and phase activity",
       .first = "Task",
       .note = "Decay scale: effective over baseline decay. Surv.: history energy after the transition over that "
               "before; rel.: relative to survival under the baseline decay. Phase: absolute additional rotation. "
               "Clock: that "
               "relative to its value without the clock."},
      {.key = "scales",
       .title = "Static and dynamic write scales",
       .first = "Task",
       .note = "Ref. gain: exp(beta). Gain ratio: dynamic normalisation, with its temporal SD. Product: of both. "
               "Norm.: write energy relative to that without the dynamic ratio. Input |z|, slope: content before its "
               "activation, and the activation's derivative there."},
  };
  sparc_status status = add_statistics(g, about[0], gate, COUNT(gate), tables);
  if (status == SPARC_OK) status = add_statistics(g, about[1], retention, COUNT(retention), tables);
  return status == SPARC_OK ? add_statistics(g, about[2], scales, COUNT(scales), tables) : status;
}

static int layers_of(const group *of) {
  int max_layers = 0;
  for (int i = 0; i < of->runs; i++) max_layers = of->run[i]->layers > max_layers ? of->run[i]->layers : max_layers;
  return max_layers;
}

static sparc_status add_layers(const grouping *g, diagnosis_tables *tables) {
  static const statistic_id ids[] = {GATE_DEVIATION,       SATURATION,  GATE_RATIO, CONTENT_RATIO, GAIN_RATIO,
                                     GAIN_RATIO_DEVIATION, DECAY_SCALE, SURVIVAL,   PHASE_DEGREES, CLOCK_RATIO};
  int rows = 0;
  for (int i = 0; i < g->groups; i++) rows += layers_of(&g->group[i]) > 1 ? layers_of(&g->group[i]) : 0;
  if (rows == 0) return SPARC_OK;
  table *t;
  const table about = {
      .key = "layers", .title = "Layers", .first = "Task and layer", .note = "Layers are counted from the input."};
  const sparc_status status = start_table(tables, about, COUNT(ids), rows, &t);
  if (status != SPARC_OK) return status;
  set_statistic_columns(t, ids);
  for (int i = 0; i < g->groups; i++)
    for (int layer = 0; layers_of(&g->group[i]) > 1 && layer < layers_of(&g->group[i]); layer++, t->rows++) {
      snprintf(t->label[t->rows], TABLE_LABEL, "%s, layer %d", g->group[i].title, layer + 1);
      for (int c = 0; c < t->columns; c++) {
        table_cell *cell = cell_at(t, t->rows, c);
        *cell = statistic_cell(g, &g->group[i], layer, ids[c]);
        cell->paper = paper_find(t->key, paper_task(&g->group[i]), t->column[c].key, layer + 1);
      }
    }
  return SPARC_OK;
}

/* change of a run's predictions under a variant; NAN: not measured */
static double change_of(const diagnosis *d, const char *variant) {
  for (int i = 0; i < d->interventions; i++)
    if (strcmp(d->intervention[i], variant) == 0) return d->change[i];
  return NAN;
}

/* variants of all runs, in order of appearance */
static int all_interventions(const grouping *g, const char *names[MAX_INTERVENTIONS]) {
  int count = 0;
  for (int i = 0; i < g->groups; i++)
    for (int k = 0; k < g->group[i].runs; k++)
      for (int v = 0; v < g->group[i].run[k]->interventions && count < MAX_INTERVENTIONS; v++) {
        const char *name = g->group[i].run[k]->intervention[v];
        int at = 0;
        while (at < count && strcmp(names[at], name) != 0) at++;
        if (at == count) names[count++] = name;
      }
  return count;
}

static bool has_interventions(const group *of) { return of->run[0]->interventions > 0; }

static sparc_status add_interventions(const grouping *g, diagnosis_tables *tables) {
  const char *names[MAX_INTERVENTIONS];
  const int rows = all_interventions(g, names);
  if (rows == 0) return SPARC_OK;
  table *t;
  const table about = {.key = "interventions",
                       .title = "Fixed-input interventions",
                       .first = "Variant",
                       .note =
                           "Mean divergence KL(original || variant) of the policy or prediction, with the parameters "
                           "and the recorded inputs held fixed; for regression, the NMSE of the variant's outputs "
                           "to the original's."};
  int columns = 0;
  for (int i = 0; i < g->groups; i++) columns += has_interventions(&g->group[i]);
  const sparc_status status = start_table(tables, about, columns, rows, &t);
  if (status != SPARC_OK) return status;
  for (; t->rows < rows; t->rows++) snprintf(t->label[t->rows], TABLE_LABEL, "%s", names[t->rows]);
  for (int i = 0, c = 0; i < g->groups; i++) {
    const group *of = &g->group[i];
    if (!has_interventions(of)) continue;
    set_column(t, c, of->title, of->title);
    for (int row = 0; row < rows; row++) {
      for (int k = 0; k < of->runs; k++) g->values[k] = change_of(of->run[k], names[row]);
      *cell_at(t, row, c) = (table_cell){.value = sample_summarise((size_t)of->runs, g->values),
                                         .scale = 1,
                                         .digits = 4,
                                         .paper = paper_find(t->key, paper_task(of), names[row], 0)};
    }
    c++;
  }
  return SPARC_OK;
}

/* a row of the first and last tenth of training; none if the runs have no common positions */
static void add_evolution_row(const grouping *g, const group *of, int metric, table *t) {
  const logged_metric *m = &logged_metrics[metric];
  for (int i = 0; i < of->runs; i++) g->log[i] = &of->run[i]->log;
  if (evolution_of(g->log, of->runs, metric, g->evolution) == 0) return;
  snprintf(t->label[t->rows], TABLE_LABEL, "%s: %s", of->title, m->title);
  for (int end = 0; end < 2; end++) {
    for (int i = 0; i < of->runs; i++) g->values[i] = end ? g->evolution[i].last : g->evolution[i].first;
    *cell_at(t, t->rows, end) = (table_cell){.value = sample_summarise((size_t)of->runs, g->values),
                                             .scale = m->scale,
                                             .digits = m->digits,
                                             .paper = paper_find(t->key, paper_task(of), m->key, end + 1)};
  }
  t->rows++;
}

static sparc_status add_evolution(const grouping *g, diagnosis_tables *tables) {
  table *t;
  const table about = {.key = "evolution",
                       .title = "Training evolution",
                       .first = "Task and metric",
                       .note =
                           "Means over the first and last tenth of the positions at which all runs logged a finite "
                           "value. The logged gate SD is over all modes and steps of a rollout."};
  const sparc_status status = start_table(tables, about, 2, g->groups * LOGGED_METRICS, &t);
  if (status != SPARC_OK) return status;
  set_column(t, 0, "first", "First 10 %");
  set_column(t, 1, "last", "Last 10 %");
  for (int i = 0; i < g->groups; i++)
    for (int metric = 0; metric < LOGGED_METRICS; metric++) add_evolution_row(g, &g->group[i], metric, t);
  return SPARC_OK;
}

sparc_status diagnosis_tables_create(const diagnosis *runs, int count, diagnosis_tables *out) {
  grouping g;
  *out = (diagnosis_tables){.count = 0};
  sparc_status status = make_groups(runs, count, &g);
  if (status == SPARC_OK) status = add_paper_tables(&g, out);
  if (status == SPARC_OK) status = add_layers(&g, out);
  if (status == SPARC_OK) status = add_interventions(&g, out);
  if (status == SPARC_OK) status = add_evolution(&g, out);
  grouping_free(&g);
  if (status != SPARC_OK) diagnosis_tables_free(out);
  return status;
}

void diagnosis_tables_free(diagnosis_tables *tables) {
  for (int i = 0; i < tables->count; i++) {
    sparc_free(tables->table[i].column);
    sparc_free(tables->table[i].label);
    sparc_free(tables->table[i].cell);
  }
  *tables = (diagnosis_tables){.count = 0};
}
