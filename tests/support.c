/* SPDX-License-Identifier: MIT */
#include "support.h"

#include "cells/cell.h"
#include "cells/reference/reference.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- problems ---------------------------------------------------------------------------------- */

static int pick(sparc_random *stream, const int *values, size_t count) {
  return values[sparc_random_below(stream, (uint32_t)count)];
}
#define PICK(stream, ...) pick(stream, (const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

/* one option: any choice, a small number, or a real one near its default */
static int print_draw(const sparc_option *option, sparc_random *stream, char *text, size_t size) {
  enum { SMALL = 8 };
  if (option->type == SPARC_OPTION_CHOICE) {
    uint32_t choices = 0;
    while (option->choices[choices]) choices++;
    return snprintf(text, size, "%s=%s", option->name, option->choices[sparc_random_below(stream, choices)]);
  }
  if (option->type == SPARC_OPTION_INT) {
    const double range = fmin(option->high - option->low + 1, SMALL);
    return snprintf(text, size, "%s=%.0f", option->name, option->low + sparc_random_below(stream, (uint32_t)range));
  }
  const double near = option->fallback * (0.4 + 0.7 * sparc_random_uniform(stream));
  return snprintf(text, size, "%s=%.6g", option->name, fmax(option->low, fmin(option->high, near)));
}

/* some of the options that a kind's table has */
static void draw_options(const char *kind, sparc_random *stream, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (const sparc_option *option = cell_about(kind)->kind.options; option->name; option++) {
    if (sparc_random_below(stream, 5) == 0) continue;
    if (used) used += (size_t)snprintf(text + used, size - used, ",");
    used += (size_t)print_draw(option, stream, text + used, size - used);
  }
}

static bool accepted(const sparc_cell_config *config) {
  sparc_cell *cell;
  const bool done = sparc_cell_create(config, &cell) == SPARC_OK;
  sparc_cell_free(cell);
  return done;
}

/* a configuration that the kind accepts: some options ask for an H, or a D, of their own */
static void draw_config(const char *kind, sparc_random *stream, sparc_cell_config *config, char *options, size_t size) {
  for (int tries = 0; tries < 1000; tries++) {
    const int H = PICK(stream, 1, 2, 3, 5, 6, 7, 8, 13, 24, 64, 67),
              widths[] = {PICK(stream, 1, 2, 3, 5, 11, 17), 2 * H, H};
    draw_options(kind, stream, options, size);
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
      *config = (sparc_cell_config){.kind = kind, .D = widths[i], .H = H, .options = options};
      if (accepted(config)) return;
    }
  }
  fail_msg("cell %s accepts none of 1000 draws: %s", kind, sparc_error());
}

/* n numbers that float holds exactly */
static double *draw(sparc_random *stream, size_t n, double scale) {
  double *values = sparc_alloc(n * sizeof *values);
  for (size_t i = 0; i < n; i++) values[i] = (double)(float)(scale * sparc_random_normal(stream));
  return values;
}

static double *draw_mask(mask_kind kind, int B, int T, sparc_random *stream) {
  if (kind == MASK_NONE) return NULL;
  double *mask = sparc_alloc((size_t)B * (size_t)T * sizeof *mask);
  for (int i = 0; i < B * T; i++) {
    const double choice[MASK_KINDS] = {[MASK_ONES] = 1,
                                       [MASK_ZEROS] = 0,
                                       [MASK_FIRST] = i % T != 0,
                                       [MASK_RANDOM] = sparc_random_uniform(stream) < 0.7};
    mask[i] = choice[kind];
  }
  return mask;
}

problem problem_create(const sparc_cell_config *config, int B, int T, mask_kind mask, sparc_random *stream) {
  problem p = {.B = B, .T = T, .D = config->D};
  if (sparc_cell_create(config, &p.cell) != SPARC_OK) {
    fprintf(stderr, "%s (%s)\n", sparc_error(), config->options);
    abort();
  }
  p.n = sparc_cell_sizes_of(p.cell);
  const size_t tokens = (size_t)B * (size_t)T, states = (size_t)B * p.n.state;

  /* away from the initialisation, where controllers and gates are zero and hide mistakes */
  float *initial = sparc_alloc(p.n.params * sizeof *initial);
  assert_int_equal(
      sparc_cell_init(p.cell, sparc_random_below(stream, 2) ? SPARC_INIT_CONTROL : SPARC_INIT_CLASSIFICATION,
                      random_u64(stream), "test", initial),
      SPARC_OK);
  p.params = draw(stream, p.n.params, 0.3);
  for (size_t i = 0; i < p.n.params; i++) p.params[i] = (double)((float)p.params[i] + initial[i]);
  sparc_free(initial);

  p.x = draw(stream, tokens * (size_t)p.D, 1);
  p.mask = draw_mask(mask, B, T, stream);
  p.state0 = sparc_random_below(stream, 4) ? draw(stream, states, 1) : NULL;
  p.dy = draw(stream, tokens * p.n.output, 1);
  p.dstate_last = draw(stream, states, 1);
  return p;
}

problem problem_random(const char *kind, sparc_random *stream) {
  const int B = PICK(stream, 1, 1, 2, 3, 5), T = PICK(stream, 1, 2, 3, 7, 13, 31);
  char options[256];
  sparc_cell_config config;
  draw_config(kind, stream, &config, options, sizeof options);
  return problem_create(&config, B, T, (mask_kind)sparc_random_below(stream, MASK_KINDS), stream);
}

void problem_free(problem *p) {
  double *blocks[] = {p->params, p->x, p->mask, p->state0, p->dy, p->dstate_last};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) sparc_free(blocks[i]);
  sparc_cell_free(p->cell);
}

const char *problem_text(const problem *p) {
  static char text[512];
  snprintf(text, sizeof text, "%s B=%d T=%d D=%d H=%d mask=%s state0=%s %s", sparc_cell_config_of(p->cell).kind, p->B,
           p->T, p->D, sparc_cell_config_of(p->cell).H, p->mask ? "yes" : "no", p->state0 ? "yes" : "no",
           sparc_cell_config_of(p->cell).options);
  return text;
}

/* ---- results ----------------------------------------------------------------------------------- */

result result_create(const problem *p) {
  const size_t B = (size_t)p->B, tokens = B * (size_t)p->T;
  return (result){.y = sparc_alloc(tokens * p->n.output * sizeof(double)),
                  .state_last = sparc_alloc(B * p->n.state * sizeof(double)),
                  .dx = sparc_alloc(tokens * (size_t)p->D * sizeof(double)),
                  .dstate0 = sparc_alloc(B * p->n.state * sizeof(double)),
                  .dparams = sparc_alloc(p->n.params * sizeof(double)),
                  .trace = p->n.trace ? sparc_alloc(p->n.trace * sizeof(double)) : NULL};
}

void result_free(result *r) {
  double *blocks[] = {r->y, r->state_last, r->dx, r->dstate0, r->dparams, r->trace};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) sparc_free(blocks[i]);
}

void result_clear(const problem *p, result *r) { memset(r->dparams, 0, p->n.params * sizeof(double)); }

void run_reference(const problem *p, bool with_last, result *r) {
  result_clear(p, r);
  const reference_run run = {.B = p->B,
                             .T = p->T,
                             .params = p->params,
                             .x = p->x,
                             .mask = p->mask,
                             .state0 = p->state0,
                             .dy = p->dy,
                             .dstate_last = with_last ? p->dstate_last : NULL,
                             .y = r->y,
                             .state_last = r->state_last,
                             .dparams = r->dparams,
                             .dx = r->dx,
                             .dstate0 = r->dstate0};
  if (reference_evaluate(p->cell, &run) != SPARC_OK) fail_msg("%s", sparc_error());
}

double e_norm(size_t count, const double *got, const double *want) {
  double worst = 0, scale = 1;
  for (size_t i = 0; i < count; i++) {
    const double error = fabs(got[i] - want[i]);
    if (!(error <= worst)) worst = isnan(error) ? INFINITY : error;
    if (fabs(want[i]) > scale) scale = fabs(want[i]);
  }
  return worst / scale;
}

void expect_close(const problem *p, const char *what, double error, double tolerance) {
  if (!(error <= tolerance)) fail_msg("%s: error %.3g beyond %.3g for %s", what, error, tolerance, problem_text(p));
}

static void expect_same_block(const problem *p, const char *what, const sparc_block *block, const double *got,
                              const double *want, double tolerance) {
  char name[128];
  snprintf(name, sizeof name, "%s, gradient of %s", what, block->name);
  expect_close(p, name, e_norm(block->size, got + block->offset, want + block->offset), tolerance);
}

void expect_same_blocks(const problem *p, const char *what, const double *got, const double *want, double tolerance) {
  size_t count;
  const sparc_block *blocks = sparc_cell_blocks(p->cell, &count);
  for (size_t i = 0; i < count; i++) expect_same_block(p, what, &blocks[i], got, want, tolerance);
}

/* RTRL has the whole gradient of a block that reaches the state if it has a trace of it; else that of the present */
size_t trace_size(const sparc_cell *cell, const char *block) {
  size_t count;
  const sparc_block *blocks = sparc_cell_blocks(cell, &count);
  for (size_t i = 0; i < count; i++)
    if (strcmp(blocks[i].name, block) == 0) return blocks[i].trace;
  return 0;
}

static bool is_traced(const sparc_cell *cell, const sparc_block *block) {
  size_t spans;
  const sparc_span *span = sparc_cell_spans(cell, &spans);
  while (span->offset + span->size <= block->offset) span++;
  return span->group == SPARC_REGULAR || block->trace > 0;
}

void expect_traced_blocks(const problem *p, const char *what, const double *got, const double *want, double tolerance) {
  size_t count;
  const sparc_block *blocks = sparc_cell_blocks(p->cell, &count);
  for (size_t i = 0; i < count; i++)
    if (is_traced(p->cell, &blocks[i])) expect_same_block(p, what, &blocks[i], got, want, tolerance);
}

double blocks_error(const problem *p, const double *got, const double *want, bool traced) {
  size_t count;
  const sparc_block *block = sparc_cell_blocks(p->cell, &count), *end = block + count;
  double worst = 0;
  for (; block < end; block++)
    if (!traced || is_traced(p->cell, block))
      worst = fmax(worst, e_norm(block->size, got + block->offset, want + block->offset));
  return worst;
}

void expect_same_sequence(const problem *p, const char *what, const result *got, const result *want,
                          double output_tolerance, double gradient_tolerance) {
  const size_t B = (size_t)p->B, tokens = B * (size_t)p->T;
  char name[128];
  const struct {
    const char *array;
    size_t count;
    const double *got, *want;
    double tolerance;
  } arrays[] = {{"y", tokens * p->n.output, got->y, want->y, output_tolerance},
                {"state_last", B * p->n.state, got->state_last, want->state_last, output_tolerance},
                {"dx", tokens * (size_t)p->D, got->dx, want->dx, gradient_tolerance},
                {"dstate0", B * p->n.state, got->dstate0, want->dstate0, gradient_tolerance}};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    snprintf(name, sizeof name, "%s, %s", what, arrays[i].array);
    expect_close(p, name, e_norm(arrays[i].count, arrays[i].got, arrays[i].want), arrays[i].tolerance);
  }
  expect_same_blocks(p, what, got->dparams, want->dparams, gradient_tolerance);
}
