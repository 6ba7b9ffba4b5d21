/* SPDX-License-Identifier: MIT */
/* demonstration.c: two histories with equal inputs, and the best approximation by input-only writes. */
#include "lab/diagnose/demonstration.h"

#include "base/error.h"
#include "lab/plot.h"
#include "sparc/inspect.h"
#include "sparc/random.h"

#include <complex.h>
#include <math.h>
#include <string.h>

enum { D = 3, H = 8, HISTORY = 24, STEPS = DEMONSTRATION_STEPS, HISTORIES = DEMONSTRATION_HISTORIES };

const char *const write_rule_names[WRITE_RULES] = {"its own writes", "other writes", "no writes"};

/* ---- a cell and its streams ---------------------------------------------------------------------- */

typedef struct setup {
  sparc_cell *cell, *fixed; /* the full cell, and the one with r = p = 0 in its transitions */
  float *params;            /* (P) */
  sparc_random random;
} setup;

static void setup_free(setup *s) {
  sparc_cell_free(s->cell);
  sparc_cell_free(s->fixed);
  sparc_free(s->params);
}

/* adds noise to a block of parameters */
static void perturb(setup *s, const char *name, double stddev, float *params) {
  size_t count;
  const sparc_block *block = sparc_cell_blocks(s->cell, &count);
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; strcmp(block[i].name, name) == 0 && k < block[i].size; k++)
      params[block[i].offset + k] += (float)(stddev * sparc_random_normal(&s->random));
}

static void fill(const setup *s, const char *name, float value, float *params) {
  size_t count;
  const sparc_block *block = sparc_cell_blocks(s->cell, &count);
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; strcmp(block[i].name, name) == 0 && k < block[i].size; k++) params[block[i].offset + k] = value;
}

/* slow modes with strong controls */
static sparc_status setup_create(uint64_t seed, setup *s) {
  const sparc_cell_config config = {.kind = "sparc", .D = D, .H = H, .options = "variant=full"};
  const sparc_cell_config fixed = {.kind = "sparc", .D = D, .H = H, .options = "variant=static-transition"};
  *s = (setup){.cell = NULL};
  sparc_random_init(&s->random, seed, "diagnose", "demonstration");
  sparc_status status = sparc_cell_create(&config, &s->cell);
  if (status == SPARC_OK) status = sparc_cell_create(&fixed, &s->fixed);
  if (status != SPARC_OK) return status;
  s->params = sparc_alloc(sparc_cell_sizes_of(s->cell).params * sizeof *s->params);
  if (!s->params) return fail(SPARC_NO_MEMORY, "no memory for a demonstration");
  status = sparc_cell_init(s->cell, SPARC_INIT_CONTROL, seed, "demonstration", s->params);
  fill(s, "log_decay", -3, s->params);
  fill(s, "log_freq", -1.5F, s->params);
  static const char *const spread[] = {"log_decay", "log_freq", "gate_phase", "gate_retention"};
  for (size_t i = 0; i < sizeof spread / sizeof *spread; i++) perturb(s, spread[i], 0.5, s->params);
  perturb(s, "ctrl_retention", 1, s->params);
  perturb(s, "ctrl_phase", 1, s->params);
  return status;
}

/* T inputs for each of B streams, all the same or each with its own */
static void draw_inputs(setup *s, int B, int T, bool same, float *x) {
  const size_t each = (size_t)T * D;
  for (size_t i = 0; i < (same ? 1 : (size_t)B) * each; i++) x[i] = (float)sparc_random_normal(&s->random);
  for (size_t b = 1; same && b < (size_t)B; b++) memcpy(x + b * each, x, each * sizeof *x);
}

static double complex state_of(const sparc_mode *m) { return m->h_re + m->h_im * I; }
static double complex transition_of(const sparc_mode *m) { return m->rho * cexp(m->angle * I); }
static double square(double complex z) { return creal(z) * creal(z) + cimag(z) * cimag(z); }

/* B final states (B, 2 H) of different histories */
static sparc_status run_histories(setup *s, int B, float *states) {
  float *x = sparc_alloc((size_t)B * HISTORY * D * sizeof *x);
  if (!x) return fail(SPARC_NO_MEMORY, "no memory for %d histories", B);
  draw_inputs(s, B, HISTORY, false, x);
  const sparc_sequence histories = {.x = x};
  sparc_inspection *seen;
  const sparc_status status = sparc_cell_inspect(s->cell, s->params, B, HISTORY, &histories, &seen);
  for (int b = 0; b < B && status == SPARC_OK; b++)
    for (int j = 0; j < H; j++) {
      const sparc_mode *last = &seen->mode[((b + 1) * HISTORY - 1) * H + j];
      states[b * 2 * H + j] = (float)last->h_re;
      states[b * 2 * H + H + j] = (float)last->h_im;
    }
  if (status == SPARC_OK) sparc_inspection_free(seen);
  sparc_free(x);
  return status;
}

/* ---- two histories, same inputs ------------------------------------------------------------------- */

typedef struct future {
  float states[2][2 * H];           /* states after the two histories */
  float x[2 * STEPS * D];           /* (2, STEPS, D): the same twice */
  double complex product[STEPS][H]; /* of the full cell's transitions so far */
} future;

static double complex difference_at(const sparc_inspection *seen, int t, int j) {
  return state_of(&seen->mode[t * H + j]) - state_of(&seen->mode[(STEPS + t) * H + j]);
}

static double complex difference_before(const future *f, int j) {
  const float *h = f->states[0], *other = f->states[1];
  return (double)h[j] - (double)other[j] + ((double)h[H + j] - (double)other[H + j]) * I;
}

static sparc_status look(const sparc_cell *cell, const float *params, const future *f, sparc_inspection **seen) {
  const sparc_sequence sequence = {.x = f->x, .state0 = f->states[0]};
  return sparc_cell_inspect(cell, params, 2, STEPS, &sequence, seen);
}

static void multiply_transitions(const sparc_inspection *seen, future *f, double *shown) {
  for (int t = 0; t < STEPS; t++) {
    for (int j = 0; j < H; j++)
      f->product[t][j] = (t ? f->product[t - 1][j] : 1) * transition_of(&seen->mode[t * H + j]);
    shown[t] = creal(f->product[t][0] * difference_before(f, 0));
  }
}

/* real part of mode 0's difference; returns the maximum deviation from the product of the transitions */
static double compare(const sparc_inspection *seen, const future *f, double *shown) {
  double worst = 0;
  for (int t = 0; t < STEPS; t++) {
    for (int j = 0; j < H; j++) {
      const double complex before = difference_before(f, j);
      worst = fmax(worst, cabs(difference_at(seen, t, j) - f->product[t][j] * before) / cabs(before));
    }
    shown[t] = creal(difference_at(seen, t, 0));
  }
  return worst;
}

/* changes parameters that the transitions do not use */
static void change_writes(setup *s, write_rule rule, float *params) {
  static const char *const written[] = {"content_re", "content_im", "log_gain", "gate_phase", "gate_retention"};
  if (rule == WRITES_NOTHING) fill(s, "log_gain", -80, params);
  for (size_t i = 0; rule == WRITES_OTHER && i < sizeof written / sizeof *written; i++)
    perturb(s, written[i], 1, params);
}

static sparc_status follow(const future *f, const sparc_cell *cell, const float *params, double *shown, double *error) {
  sparc_inspection *seen;
  const sparc_status status = look(cell, params, f, &seen);
  if (status != SPARC_OK) return status;
  *error = compare(seen, f, shown);
  sparc_inspection_free(seen);
  return SPARC_OK;
}

static sparc_status follow_rules(setup *s, const future *f, demonstration *out) {
  const size_t n = sparc_cell_sizes_of(s->cell).params;
  float *params = sparc_alloc(n * sizeof *params);
  if (!params) return fail(SPARC_NO_MEMORY, "no memory for a demonstration");
  sparc_status status = SPARC_OK;
  for (int rule = 0; rule < WRITE_RULES && status == SPARC_OK; rule++) {
    memcpy(params, s->params, n * sizeof *params);
    change_writes(s, (write_rule)rule, params);
    status = follow(f, s->cell, params, out->difference[rule], &out->error[rule]);
  }
  if (status == SPARC_OK) status = follow(f, s->fixed, s->params, out->fixed, &out->fixed_error);
  sparc_free(params);
  return status;
}

static sparc_status compare_futures(setup *s, demonstration *out) {
  future f = {.x = {0}};
  sparc_inspection *seen;
  sparc_status status = run_histories(s, 2, f.states[0]);
  if (status != SPARC_OK) return status;
  draw_inputs(s, 2, STEPS, true, f.x);
  status = look(s->cell, s->params, &f, &seen);
  if (status != SPARC_OK) return status;
  multiply_transitions(seen, &f, out->product);
  sparc_inspection_free(seen);
  return follow_rules(s, &f, out);
}

/* ---- best approximation -------------------------------------------------------------------------- */

/* energies summed over modes, histories and inputs: residual of the best write, its prediction, total variance */
typedef struct imitation {
  double left, predicted, all;
} imitation;

static double complex kept_of(const sparc_mode *m) { return m->kept_re + m->kept_im * I; }

/* one mode and input after many histories: h_t of the full cell against lambda_0 h_{t-1} + b' with the best b', the mean
 * residual */
static void imitate(const sparc_inspection *full, const sparc_inspection *fixed, int j, imitation *sums) {
  const double complex still = transition_of(&fixed->mode[j]);
  double complex missing = 0, kept = 0, reached = 0;
  for (int b = 0; b < HISTORIES; b++) {
    const sparc_mode *m = &full->mode[b * H + j];
    missing += (state_of(m) - still * kept_of(m)) / HISTORIES;
    kept += kept_of(m) / HISTORIES;
    reached += state_of(m) / HISTORIES;
  }
  for (int b = 0; b < HISTORIES; b++) {
    const sparc_mode *m = &full->mode[b * H + j];
    sums->left += square(state_of(m) - still * kept_of(m) - missing);
    sums->predicted += square((transition_of(m) - still) * (kept_of(m) - kept));
    sums->all += square(state_of(m) - reached);
  }
}

static sparc_status imitate_input(setup *s, const float *states, imitation *sums) {
  float x[HISTORIES * D] = {0};
  sparc_inspection *full, *fixed;
  draw_inputs(s, HISTORIES, 1, true, x);
  const sparc_sequence sequence = {.x = x, .state0 = states};
  sparc_status status = sparc_cell_inspect(s->cell, s->params, HISTORIES, 1, &sequence, &full);
  if (status != SPARC_OK) return status;
  status = sparc_cell_inspect(s->fixed, s->params, HISTORIES, 1, &sequence, &fixed);
  for (int j = 0; j < H && status == SPARC_OK; j++) imitate(full, fixed, j, sums);
  sparc_inspection_free(fixed);
  sparc_inspection_free(full);
  return status;
}

static sparc_status compare_imitation(setup *s, demonstration *out) {
  float states[HISTORIES * 2 * H];
  imitation sums = {0, 0, 0};
  sparc_status status = run_histories(s, HISTORIES, states);
  for (int i = 0; i < DEMONSTRATION_INPUTS && status == SPARC_OK; i++) status = imitate_input(s, states, &sums);
  out->left = sums.left / sums.all;
  out->left_predicted = sums.predicted / sums.all;
  return status;
}

sparc_status demonstrate(uint64_t seed, demonstration *out) {
  setup s;
  sparc_status status = setup_create(seed, &s);
  if (status == SPARC_OK) status = compare_futures(&s, out);
  if (status == SPARC_OK) status = compare_imitation(&s, out);
  setup_free(&s);
  return status;
}

/* ---- the figure ---------------------------------------------------------------------------------- */

static sparc_status put_data(FILE *f, const void *context) {
  const demonstration *d = context;
  fprintf(f, "step,product,own,other,none,fixed\n");
  for (int t = 0; t < STEPS; t++)
    fprintf(f, "%d,%.6g,%.6g,%.6g,%.6g,%.6g\n", t + 1, d->product[t], d->difference[WRITES_OWN][t],
            d->difference[WRITES_OTHER][t], d->difference[WRITES_NOTHING][t], d->fixed[t]);
  return SPARC_OK;
}

static void put_script(FILE *f, const void *context) {
  (void)context;
  static const char *const columns[WRITE_RULES] = {"own", "other", "none"};
  static const double sizes[WRITE_RULES] = {1.5, 0.95, 0.45};
  fprintf(f,
          "set tmargin 4\nset xlabel 'steps with equal inputs' offset 0,0.4\nset ylabel 'Re(h - h′), one "
          "mode'\n");
  fprintf(f,
          "set xrange [0:%d]\nset xzeroaxis linecolor rgb '#c8ced6' linewidth 1\nset key below maxcols 2 Left "
          "reverse samplen 2\n",
          STEPS + 1);
  fprintf(f,
          "set label 1 'Difference between two histories over time' font 'Helvetica:Bold,14' at graph 0, "
          "graph 1 left offset 0,1.6\n");
  fprintf(f,
          "plot data using 'step':'product' with lines linewidth 2 linecolor rgb '#1c242c' title 'product of "
          "the adaptive transitions'");
  for (int i = 0; i < WRITE_RULES; i++)
    fprintf(f,
            ", \\\n     data using 'step':'%s' with points pointtype %d pointsize %.2f linewidth 1.5 linecolor "
            "rgb '%s' title 'adaptive transitions, %s'",
            columns[i], i < WRITES_NOTHING ? 6 : 7, sizes[i], plot_colour(i), write_rule_names[i]);
  fprintf(f,
          ", \\\n     data using 'step':'fixed' with lines linewidth 2 dashtype 2 linecolor rgb '%s' title "
          "'fixed transitions, adaptive writes'\n",
          plot_colour(3));
}

sparc_status demonstration_draw(const demonstration *d, const char *folder, const char *name, bool *drawn) {
  const plot p = {.command = "sparc diagnose",
                  .name = name,
                  .width = 900,
                  .height = 480,
                  .data = put_data,
                  .script = put_script,
                  .context = d};
  return plot_draw(&p, folder, drawn);
}
