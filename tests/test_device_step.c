/* SPDX-License-Identifier: MIT */
/* test_device_step.c: single steps of many streams on a device, against the double reference and, bit for bit, against
 * sequences of one step. test_device_step [BACKEND[:INDEX] [COUNT]]: as test_device.c; with a COUNT every cell. */
#include "support_device.h"
#include "unit.h"

#include <math.h>
#include <string.h>

typedef struct step_case {
  sparc_cell_config cell;
  bool bf16;
} step_case;

/* those before it run without a COUNT */
static const step_case cases[] = {
    {{.kind = "sparc", .D = 40, .H = 37}, false},
    {{.kind = "rtu", .D = 3, .H = 33}, false},
    {{.kind = "lru", .D = 70, .H = 5}, false},
    {{.kind = "rglru", .D = 5, .H = 36, .options = "block=4"}, false},
    {{.kind = "sparc", .D = 66, .H = 33, .options = "projection=none,kappa_p=3"}, true},
    {{.kind = "sparc", .D = 4, .H = 3, .options = "variant=fixed-controls"}, false},
    {{.kind = "rglru", .D = 6, .H = 6, .options = "block=3,projection=none"}, true},
    {{.kind = "rglru", .D = 5, .H = 70, .options = "block=7"}, false},
};
enum { FEW_CASES = 2, CASES = sizeof cases / sizeof *cases };

/* a plan of single steps and its arrays */
typedef struct stepper {
  sparc_device_plan *plan;
  sparc_slice params, prepared, saved, work, state_last;
  sparc_device_streams streams;
} stepper;

static stepper make_stepper(const problem *p, bool bf16) {
  sparc_device *device = under_test.device;
  const size_t B = (size_t)p->B, states = B * p->n.state;
  stepper s;
  device_check(sparc_device_plan_create(device, p->cell, p->B, 1, &(sparc_device_plan_config){.bf16 = bf16}, &s.plan));
  s.params = upload(device, p->params, p->n.params, false);
  s.prepared = poisoned_block(device, sparc_device_plan_sizes_of(s.plan).prepared);
  s.saved = poisoned_block(device, sparc_device_plan_sizes_of(s.plan).saved);
  s.work = poisoned_block(device, sparc_device_plan_sizes_of(s.plan).work);
  s.state_last = poisoned_block(device, states * sizeof(float));
  s.streams = (sparc_device_streams){
      .x = device_block(device, B * (size_t)p->D * sizeof(float)),
      .mask = device_block(device, B * sizeof(float)),
      .states = p->state0 ? upload(device, p->state0, states, false) : device_block(device, states * sizeof(float)),
      .y = poisoned_block(device, B * p->n.output * sizeof(float))};
  device_check(sparc_device_prepare(s.plan, s.params, s.prepared));
  return s;
}

static void free_stepper(stepper *s) {
  const sparc_slice all[] = {s->params,    s->prepared,     s->saved,          s->work,     s->state_last,
                             s->streams.x, s->streams.mask, s->streams.states, s->streams.y};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) sparc_memory_free(all[i].memory);
  sparc_device_plan_free(s->plan);
}

/* inputs of step t, of all streams */
static void write_inputs(const problem *p, const stepper *s, int t, bool bf16) {
  const size_t B = (size_t)p->B, T = (size_t)p->T, D = (size_t)p->D;
  float *x = sparc_alloc(B * D * sizeof *x), *mask = sparc_alloc(B * sizeof *mask);
  sparc_bf16 *narrow = sparc_alloc(B * D * sizeof *narrow);
  for (size_t b = 0; b < B; b++) {
    for (size_t d = 0; d < D; d++) x[b * D + d] = (float)p->x[(b * T + (size_t)t) * D + d];
    mask[b] = p->mask ? (float)p->mask[b * T + (size_t)t] : 1;
  }
  sparc_bf16_from_floats(B * D, x, narrow);
  device_check(sparc_memory_write(s->streams.x, bf16 ? (const void *)narrow : x, B * D * (bf16 ? 2 : sizeof *x)));
  device_check(sparc_memory_write(s->streams.mask, mask, B * sizeof *mask));
  sparc_free(x), sparc_free(narrow), sparc_free(mask);
}

/* step t as a sequence of one step, which leaves the states alone, and then as a step: the same bits */
static void expect_same_bits(const problem *p, const stepper *s, double *y, bool bf16) {
  const size_t B = (size_t)p->B, n = B * p->n.output, states = B * p->n.state;
  const sparc_device_sequence sequence = {.x = s->streams.x,
                                          .mask = s->streams.mask,
                                          .state0 = s->streams.states,
                                          .y = s->streams.y,
                                          .state_last = s->state_last};
  double *other = sparc_alloc(n * sizeof *other),
         *last[2] = {sparc_alloc(states * sizeof(double)), sparc_alloc(states * sizeof(double))};
  device_check(sparc_device_forward(s->plan, s->prepared, &sequence, s->saved, s->work));
  download(s->streams.y, other, n, bf16);
  device_check(sparc_device_step(s->plan, s->prepared, &s->streams, s->work));
  download(s->streams.y, y, n, bf16);
  download(s->state_last, last[0], states, false);
  download(s->streams.states, last[1], states, false);
  if (memcmp(y, other, n * sizeof *y) != 0 || memcmp(last[0], last[1], states * sizeof(double)) != 0)
    fail_msg("a step differs in bits from a sequence of one step, for %s", problem_text(p));
  sparc_free(other), sparc_free(last[0]), sparc_free(last[1]);
}

static void compare_case(const step_case *c, int B, int T, uint64_t seed) {
  sparc_random stream;
  sparc_random_init(&stream, seed, "device step", c->cell.kind);
  problem p = problem_create(&c->cell, B, T, MASK_RANDOM, &stream);
  const size_t O = p.n.output, n = (size_t)B * O;
  if (c->bf16) round_to_bf16(p.x, (size_t)B * (size_t)T * (size_t)p.D);
  result want = result_create(&p);
  double *y = sparc_alloc(n * sizeof *y), *expected = sparc_alloc(n * sizeof *expected);
  double *states = sparc_alloc((size_t)B * p.n.state * sizeof *states);
  run_reference(&p, true, &want);
  stepper s = make_stepper(&p, c->bf16);
  for (int t = 0; t < T; t++) {
    write_inputs(&p, &s, t, c->bf16);
    expect_same_bits(&p, &s, y, c->bf16);
    for (size_t b = 0; b < (size_t)B; b++)
      memcpy(expected + b * O, want.y + (b * (size_t)T + (size_t)t) * O, O * sizeof *expected);
    if (c->bf16)
      expect_rounded("y of a step", n, y, expected, 3e-6);
    else
      expect_close(&p, "y of a step", e_norm(n, y, expected), 3e-6);
  }
  download(s.streams.states, states, (size_t)B * p.n.state, false);
  expect_close(&p, "states after steps", e_norm((size_t)B * p.n.state, states, want.state_last), 3e-6);
  free_stepper(&s);
  sparc_free(y), sparc_free(expected), sparc_free(states);
  result_free(&want);
  problem_free(&p);
}

static void test_steps(void **state) {
  (void)state;
  need_device();
  for (size_t i = 0; i < (under_test.random_shapes > 0 ? CASES : FEW_CASES); i++) compare_case(&cases[i], 19, 12, i);
}

/* one stream, a mask that is none, and calls that are refused */
static void test_refused(void **state) {
  (void)state;
  need_device();
  compare_case(&cases[1], 1, 3, 7);
  sparc_random stream;
  sparc_random_init(&stream, 1, "device step", "refused");
  problem p = problem_create(&cases[1].cell, 5, 1, MASK_NONE, &stream);
  stepper s = make_stepper(&p, false);
  const float mask[5] = {1, 1, -1, 0, 1};
  device_check(sparc_memory_write(s.streams.mask, mask, sizeof mask));
  device_check(sparc_device_step(s.plan, s.prepared, &s.streams, s.work));
  assert_int_equal(sparc_device_wait(under_test.device), SPARC_INVALID);
  assert_non_null(strstr(sparc_error(), "element 2 of a mask is neither 0 nor 1"));
  sparc_device_streams bad = s.streams;
  bad.states.memory = NULL;
  assert_int_equal(sparc_device_step(s.plan, s.prepared, &bad, s.work), SPARC_INVALID);
  assert_non_null(strstr(sparc_error(), "streams.states is absent"));
  assert_int_equal(sparc_device_step(NULL, s.prepared, &s.streams, s.work), SPARC_INVALID);
  free_stepper(&s);

  sparc_device_plan *longer;
  device_check(sparc_device_plan_create(under_test.device, p.cell, 5, 2, NULL, &longer));
  assert_int_equal(sparc_device_step(longer, s.prepared, &bad, s.work), SPARC_INVALID);
  assert_non_null(strstr(sparc_error(), "the plan has T = 2, expected 1"));
  sparc_device_plan_free(longer);
  problem_free(&p);
}

int main(int argc, char **argv) {
  device_arguments(argc, argv);
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_steps), cmocka_unit_test(test_refused)};
  return cmocka_run_group_tests(tests, open_device, close_device);
}
