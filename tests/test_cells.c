/* SPDX-License-Identifier: MIT */
/* test_cells.c: identities that hold for every cell on random shapes.
 *
 * In double: scan = loop, chunked = sequential, sum of RTRL = BPTT for every block, everything = the plain reference.
 * In float: within the paper's acceptance thresholds of double, and bit for bit the same on any number of threads.
 */
#include "support.h"
#include "unit.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int shapes = 220; /* random problems per kind and identity, unless the command line says another number */

/* calls body on `shapes` random problems of every kind; failures name the problem */
static void for_random_problems(const char *purpose, void (*body)(const problem *p, sparc_random *stream)) {
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++) {
    sparc_random stream;
    sparc_random_init(&stream, 1, purpose, *kind);
    for (int i = 0; i < shapes; i++) {
      problem p = problem_random(*kind, &stream);
      body(&p, &stream);
      problem_free(&p);
    }
  }
}

static bool has_chunks(const problem *p) {
  sparc_plan *plan;
  const sparc_status status = sparc_plan_create(p->cell, p->B, p->T, &(sparc_plan_config){.chunk = 1}, &plan);
  sparc_plan_free(plan);
  return status == SPARC_OK;
}

/* ---- double ------------------------------------------------------------------------------------ */

static void scan_is_reference(const problem *p, sparc_random *stream) {
  (void)stream;
  result got = result_create(p), want = result_create(p);
  run_sequence_f64(p, NULL, true, &got);
  run_reference(p, true, &want);
  expect_same_sequence(p, "double scan against the reference", &got, &want, 1e-12, 1e-11);
  result_free(&got);
  result_free(&want);
}

static void step_is_forward(const problem *p, sparc_random *stream) {
  (void)stream;
  result got = result_create(p), want = result_create(p);
  run_steps_f64(p, &got);
  run_sequence_f64(p, NULL, true, &want);
  expect_close(p, "step = forward, y", e_norm((size_t)(p->B * p->T) * p->n.output, got.y, want.y), 1e-12);
  expect_close(p, "step = forward, state", e_norm((size_t)p->B * p->n.state, got.state_last, want.state_last), 1e-12);
  result_free(&got);
  result_free(&want);
}

static void chunked_is_sequential(const problem *p, sparc_random *stream) {
  if (!has_chunks(p)) return;
  const int lengths[] = {1, 2, 7, p->T, p->T + 1, 1 + (int)sparc_random_below(stream, (uint32_t)p->T)};
  result got = result_create(p), want = result_create(p);
  run_sequence_f64(p, NULL, true, &want);
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    run_sequence_f64(p, &(sparc_plan_config){.chunk = lengths[i]}, true, &got);
    expect_same_sequence(p, "chunked = sequential", &got, &want, 1e-12, 1e-11);
  }
  result_free(&got);
  result_free(&want);
}

static void rtrl_is_bptt(const problem *p, sparc_random *stream) {
  (void)stream;
  if (p->n.trace == 0) return;
  result got = result_create(p), want = result_create(p);
  run_rtrl_f64(p, &got);
  run_sequence_f64(p, NULL, false, &want);
  expect_same_blocks(p, "sum of RTRL = BPTT", got.dparams, want.dparams, 1e-10);
  /* with one step there is no past: the local input gradient is the whole one */
  if (p->T == 1) expect_close(p, "local dx", e_norm((size_t)(p->B * p->D), got.dx, want.dx), 1e-11);
  result_free(&got);
  result_free(&want);
}

/* a new segment at step s: nothing before it reaches what comes after, in either direction */
static void segments_are_isolated(const problem *given, sparc_random *stream) {
  if (given->T < 2) return;
  problem p = *given;
  const size_t B = (size_t)p.B, T = (size_t)p.T, D = (size_t)p.D, O = p.n.output;
  const size_t s = 1 + sparc_random_below(stream, (uint32_t)p.T - 1);
  double *mask = sparc_alloc(B * T * sizeof *mask), *x = sparc_alloc(B * T * D * sizeof *x);
  double *dy = sparc_alloc(B * T * O * sizeof *dy);
  for (size_t i = 0; i < B * T; i++) mask[i] = i % T == s ? 0 : given->mask ? given->mask[i] : 1;
  for (size_t i = 0; i < B * T * O; i++) dy[i] = i / O % T < s ? 0 : given->dy[i];
  for (size_t i = 0; i < B * T * D; i++) x[i] = i / D % T < s ? 3 + given->x[i] : given->x[i];
  p.mask = mask;
  p.dy = dy;

  result first = result_create(&p), second = result_create(&p);
  run_sequence_f32(&p, NULL, true, &first);
  p.x = x;
  p.state0 = NULL;
  run_sequence_f32(&p, NULL, true, &second);
  for (size_t b = 0; b < B; b++) {
    const size_t from = (b * T + s) * O, count = (T - s) * O;
    if (memcmp(first.y + from, second.y + from, count * sizeof(double)) != 0)
      fail_msg("outputs from step %zu on depend on an earlier segment for %s", s, problem_text(&p));
    for (size_t i = b * T * D; i < (b * T + s) * D; i++)
      if (first.dx[i] != 0)
        fail_msg("a gradient crosses the start of a segment at step %zu for %s", s, problem_text(&p));
    for (size_t i = b * p.n.state; i < (b + 1) * p.n.state; i++)
      if (first.dstate0[i] != 0) fail_msg("dstate0 crosses the start of a segment for %s", problem_text(&p));
  }
  result_free(&first);
  result_free(&second);
  sparc_free(mask);
  sparc_free(x);
  sparc_free(dy);
}

/* splitting a sequence and handing over the state, and its cotangent back, changes nothing */
static void halves_make_a_whole(const problem *given, sparc_random *stream) {
  if (given->T < 2 || given->B > 1) return;
  const int s = 1 + (int)sparc_random_below(stream, (uint32_t)given->T - 1);
  problem head = *given, tail = *given;
  head.T = s;
  tail.T = given->T - s;
  tail.x += s * given->D;
  tail.dy += (size_t)s * given->n.output;
  if (tail.mask) tail.mask += s;
  result whole = result_create(given), first = result_create(&head), second = result_create(&tail);
  run_sequence_f64(given, NULL, true, &whole);
  run_sequence_f64(&head, NULL, true, &first);
  tail.state0 = first.state_last;
  run_sequence_f64(&tail, NULL, true, &second);
  head.dstate_last = second.dstate0;
  run_sequence_f64(&head, NULL, true, &first);

  const size_t O = given->n.output, D = (size_t)given->D, split = (size_t)s;
  expect_close(given, "first half, y", e_norm(split * O, first.y, whole.y), 1e-12);
  expect_close(given, "second half, y", e_norm((size_t)tail.T * O, second.y, whole.y + split * O), 1e-12);
  expect_close(given, "first half, dx", e_norm(split * D, first.dx, whole.dx), 1e-11);
  expect_close(given, "second half, dx", e_norm((size_t)tail.T * D, second.dx, whole.dx + split * D), 1e-11);
  expect_close(given, "halves, dstate0", e_norm(given->n.state, first.dstate0, whole.dstate0), 1e-11);
  for (size_t i = 0; i < given->n.params; i++) first.dparams[i] += second.dparams[i];
  expect_same_blocks(given, "halves", first.dparams, whole.dparams, 1e-11);
  result_free(&whole);
  result_free(&first);
  result_free(&second);
}

/* ---- float ------------------------------------------------------------------------------------- */

/* the paper's acceptance thresholds: outputs 2e-5, gradients 1e-4 */
static void float_is_double(const problem *p, sparc_random *stream) {
  result got = result_create(p), want = result_create(p);
  run_sequence_f64(p, NULL, true, &want);
  const int chunk = has_chunks(p) ? (int)sparc_random_below(stream, (uint32_t)p->T + 2) : 0;
  run_sequence_f32(p, &(sparc_plan_config){.chunk = chunk}, true, &got);
  expect_same_sequence(p, "float against double", &got, &want, 2e-5, 1e-4);
  if (p->n.trace) {
    run_rtrl_f32(p, &got);
    run_sequence_f64(p, NULL, false, &want);
    expect_close(p, "float RTRL, y", e_norm((size_t)(p->B * p->T) * p->n.output, got.y, want.y), 2e-5);
    expect_same_blocks(p, "float RTRL", got.dparams, want.dparams, 1e-4);
  }
  result_free(&got);
  result_free(&want);
}

static void expect_same_bits(const problem *p, const char *what, const result *a, const result *b) {
  const size_t B = (size_t)p->B, tokens = B * (size_t)p->T;
  if (memcmp(a->y, b->y, tokens * p->n.output * sizeof(double)) != 0 ||
      memcmp(a->state_last, b->state_last, B * p->n.state * sizeof(double)) != 0 ||
      memcmp(a->dx, b->dx, tokens * (size_t)p->D * sizeof(double)) != 0 ||
      memcmp(a->dstate0, b->dstate0, B * p->n.state * sizeof(double)) != 0 ||
      memcmp(a->dparams, b->dparams, p->n.params * sizeof(double)) != 0)
    fail_msg("%s changes bits for %s", what, problem_text(p));
}

static void threads_change_no_bit(const problem *p, sparc_random *stream) {
  const int threads[] = {1, 1, 2, 3, 7};
  const int chunk = has_chunks(p) ? (int)sparc_random_below(stream, (uint32_t)p->T + 2) : 0;
  result first = result_create(p), other = result_create(p);
  run_sequence_f32(p, &(sparc_plan_config){.threads = 1, .chunk = chunk}, true, &first);
  for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
    run_sequence_f32(p, &(sparc_plan_config){.threads = threads[i], .chunk = chunk}, true, &other);
    expect_same_bits(p, i == 0 ? "a second run" : "the number of threads", &first, &other);
  }
  result_free(&first);
  result_free(&other);
}

/* gradients of step t's loss seen by RTRL repeat to the bit as well */
static void rtrl_repeats(const problem *p, sparc_random *stream) {
  (void)stream;
  if (p->n.trace == 0) return;
  result first = result_create(p), second = result_create(p);
  run_rtrl_f32(p, &first);
  run_rtrl_f32(p, &second);
  if (memcmp(first.dparams, second.dparams, p->n.params * sizeof(double)) != 0 ||
      memcmp(first.trace, second.trace, p->n.trace * sizeof(double)) != 0)
    fail_msg("RTRL differs between two runs of %s", problem_text(p));
  result_free(&first);
  result_free(&second);
}

/* one pass over the trace gives what two passes give */
static void update_is_step_and_gradient(const problem *p, sparc_random *stream) {
  (void)stream;
  if (p->n.trace == 0) return;
  result one = result_create(p), two = result_create(p);
  const size_t tokens = (size_t)p->B * (size_t)p->T;
  run_rtrl_f64(p, &two);
  run_rtrl_update_f64(p, &one);
  expect_same_blocks(p, "one pass in double", one.dparams, two.dparams, 1e-13);
  expect_close(p, "one pass in double, trace", e_norm(p->n.trace, one.trace, two.trace), 1e-13);
  expect_close(p, "one pass in double, dx", e_norm(tokens * (size_t)p->D, one.dx, two.dx), 1e-13);
  run_rtrl_update_f32(p, &one);
  expect_same_blocks(p, "one pass in float", one.dparams, two.dparams, 1e-4);
  expect_close(p, "one pass in float, y", e_norm(tokens * p->n.output, one.y, two.y), 2e-5);
  result_free(&one);
  result_free(&two);
}

/* a new segment starts clean even after the state has been ruined */
static void reset_heals(const problem *given, sparc_random *stream) {
  (void)stream;
  problem p = *given;
  const size_t B = (size_t)p.B, T = (size_t)p.T, states = B * p.n.state;
  double *mask = sparc_alloc(B * T * sizeof *mask), *state0 = sparc_alloc(states * sizeof *state0);
  for (size_t i = 0; i < B * T; i++) mask[i] = i % T == 0 ? 0 : given->mask ? given->mask[i] : 1;
  for (size_t i = 0; i < states; i++) state0[i] = i % 2 ? NAN : INFINITY;
  p.mask = mask;
  result ruined = result_create(&p), clean = result_create(&p);
  p.state0 = state0;
  run_sequence_f32(&p, NULL, true, &ruined);
  p.state0 = NULL;
  run_sequence_f32(&p, NULL, true, &clean);
  expect_same_bits(&p, "a ruined state before a new segment", &ruined, &clean);
  p.state0 = state0;
  if (p.n.trace)
    run_rtrl_f32(&p, &ruined);
  else
    run_steps_f32(&p, &ruined);
  expect_close(&p, "steps after a ruined state", e_norm(B * T * p.n.output, ruined.y, clean.y), 2e-5);
  if (p.n.trace) expect_close(&p, "traces after a ruined state", e_norm(p.n.trace, ruined.trace, ruined.trace), 0);
  result_free(&ruined);
  result_free(&clean);
  sparc_free(mask);
  sparc_free(state0);
}

#define PROPERTY(name)                    \
  static void test_##name(void **state) { \
    (void)state;                          \
    for_random_problems(#name, name);     \
  }

PROPERTY(scan_is_reference)
PROPERTY(step_is_forward)
PROPERTY(chunked_is_sequential)
PROPERTY(rtrl_is_bptt)
PROPERTY(segments_are_isolated)
PROPERTY(halves_make_a_whole)
PROPERTY(float_is_double)
PROPERTY(threads_change_no_bit)
PROPERTY(rtrl_repeats)
PROPERTY(update_is_step_and_gradient)
PROPERTY(reset_heals)

int main(int argc, char **argv) {
  if (argc > 1) shapes = atoi(argv[1]);
  assert(shapes > 0);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_scan_is_reference),     cmocka_unit_test(test_step_is_forward),
      cmocka_unit_test(test_chunked_is_sequential), cmocka_unit_test(test_rtrl_is_bptt),
      cmocka_unit_test(test_segments_are_isolated), cmocka_unit_test(test_halves_make_a_whole),
      cmocka_unit_test(test_float_is_double),       cmocka_unit_test(test_threads_change_no_bit),
      cmocka_unit_test(test_rtrl_repeats),          cmocka_unit_test(test_update_is_step_and_gradient),
      cmocka_unit_test(test_reset_heals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
