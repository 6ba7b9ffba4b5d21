/* SPDX-License-Identifier: MIT */
/* test_streams.c: many streams at once are the same streams one by one, to the last bit. */
#include "kernels/kernels.h"
#include "seq/step_f64.h"
#include "support.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct arrays {
  float *prepared, *states, *x, *masks, *y, *tapes;
} arrays;

static float *copy(const double *from, size_t count) {
  float *to = sparc_alloc(count * sizeof *to);
  for (size_t i = 0; i < count; i++) to[i] = from ? (float)from[i] : 0;
  return to;
}

/* the problem's streams before their first step */
static arrays arrays_create(const problem *p) {
  const size_t B = (size_t)p->B;
  arrays a = {.prepared = sparc_alloc(p->n.prepared * sizeof(float)),
              .states = copy(p->state0, B * p->n.state),
              .x = sparc_alloc(B * (size_t)p->D * sizeof(float)),
              .masks = sparc_alloc(B * sizeof(float)),
              .y = sparc_alloc(B * p->n.output * sizeof(float)),
              .tapes = sparc_alloc(B * p->n.tape * sizeof(float))};
  float *params = copy(p->params, p->n.params);
  assert_int_equal(sparc_prepare(p->cell, params, a.prepared), SPARC_OK);
  sparc_free(params);
  return a;
}

static void arrays_free(arrays *a) {
  float *blocks[] = {a->prepared, a->states, a->x, a->masks, a->y, a->tapes};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) sparc_free(blocks[i]);
}

/* inputs of step t of all streams */
static void feed(const problem *p, int t, arrays *a) {
  for (int b = 0; b < p->B; b++) {
    a->masks[b] = p->mask ? (float)p->mask[b * p->T + t] : 1;
    for (int d = 0; d < p->D; d++) a->x[b * p->D + d] = (float)p->x[(b * p->T + t) * p->D + d];
  }
}

static void step_singly(const problem *p, arrays *a) {
  for (size_t b = 0; b < (size_t)p->B; b++)
    assert_int_equal(sparc_step(p->cell, a->prepared, a->states + b * p->n.state, a->x + b * (size_t)p->D, a->masks[b],
                                a->y + b * p->n.output, a->tapes + b * p->n.tape),
                     SPARC_OK);
}

static void compare(const problem *p, int threads) {
  arrays one = arrays_create(p), all = arrays_create(p);
  for (int t = 0; t < p->T; t++) {
    feed(p, t, &one);
    feed(p, t, &all);
    step_singly(p, &one);
    assert_int_equal(sparc_step_streams(p->cell, all.prepared, p->B, all.states, all.x, p->mask ? all.masks : NULL,
                                        t == 1 ? NULL : all.y, all.tapes, threads),
                     SPARC_OK);
    const bool same = memcmp(one.states, all.states, (size_t)p->B * p->n.state * sizeof(float)) == 0 &&
                      (t == 1 || memcmp(one.y, all.y, (size_t)p->B * p->n.output * sizeof(float)) == 0);
    if (!same) fail_msg("streams differ from single steps at step %d, %d threads: %s", t, threads, problem_text(p));
  }
  arrays_free(&one);
  arrays_free(&all);
}

static void compare_kinds(const char *kernel) {
  sparc_random stream;
  sparc_random_init(&stream, 3, "streams", "compare");
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++) {
    static const int streams[] = {1, 2, 5, 6, 7, 12, 13, 40};
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
      /* widths that leave columns over after every tile of the projection */
      const int D = 1 + (int)sparc_random_below(&stream, 40), H = 8 * (1 + (int)sparc_random_below(&stream, 12));
      const sparc_cell_config config = {
          .kind = *kind, .D = D, .H = strcmp(*kind, "rglru") ? H + (int)(i % 3) : H, .kernel = kernel};
      problem p = problem_create(&config, streams[i], 3, i % 2 ? MASK_RANDOM : MASK_NONE, &stream);
      for (int threads = 0; threads <= 3; threads++) compare(&p, threads);
      problem_free(&p);
    }
  }
}

static void test_bits(void **unused) {
  (void)unused;
  for (const char *const *name = kernel_names(); *name; name++)
    if (kernel_available(*name)) compare_kinds(*name);
}

/* the tapes are those of single steps: RTRL continues from them */
static void test_tapes(void **unused) {
  (void)unused;
  sparc_random stream;
  sparc_random_init(&stream, 4, "streams", "tapes");
  const sparc_cell_config config = {.kind = "sparc", .D = 9, .H = 20};
  problem p = problem_create(&config, 7, 4, MASK_RANDOM, &stream);
  const size_t B = (size_t)p.B, T = p.n.trace;
  arrays one = arrays_create(&p), all = arrays_create(&p);
  float *traces[2] = {sparc_alloc(B * T * sizeof(float)), sparc_alloc(B * T * sizeof(float))};
  float *dparams[2] = {sparc_alloc(p.n.params * sizeof(float)), sparc_alloc(p.n.params * sizeof(float))};
  for (int t = 0; t < p.T; t++) {
    feed(&p, t, &one);
    feed(&p, t, &all);
    step_singly(&p, &one);
    assert_int_equal(sparc_step_streams(p.cell, all.prepared, p.B, all.states, all.x, all.masks, all.y, all.tapes, 2),
                     SPARC_OK);
    const arrays *side[2] = {&one, &all};
    for (size_t i = 0; i < 2 * B; i++) {
      const size_t b = i % B, which = i / B;
      assert_int_equal(
          sparc_rtrl_update(p.cell, side[which]->prepared, traces[which] + b * T, side[which]->tapes + b * p.n.tape,
                            side[which]->y + b * p.n.output, dparams[which], NULL),
          SPARC_OK);
    }
  }
  assert_memory_equal(traces[0], traces[1], B * T * sizeof(float));
  assert_memory_equal(dparams[0], dparams[1], p.n.params * sizeof(float));
  for (size_t i = 0; i < 2; i++) {
    sparc_free(traces[i]);
    sparc_free(dparams[i]);
  }
  arrays_free(&one);
  arrays_free(&all);
  problem_free(&p);
}

static void test_double_is_bit_identical(void **unused) {
  (void)unused;
  sparc_random stream;
  sparc_random_init(&stream, 5, "streams", "double");
  const sparc_cell_config config = {.kind = "gateloop", .D = 9, .H = 20};
  problem p = problem_create(&config, 13, 1, MASK_NONE, &stream);
  const size_t B = (size_t)p.B, S = p.n.state;
  double *prepared = sparc_alloc(p.n.prepared * sizeof *prepared), *tapes = sparc_alloc(B * p.n.tape * sizeof *tapes);
  double *states = sparc_alloc(2 * B * S * sizeof *states), *y = sparc_alloc(2 * B * p.n.output * sizeof *y);
  assert_int_equal(sparc_prepare_f64(p.cell, p.params, prepared), SPARC_OK);
  assert_int_equal(sparc_step_streams_f64(p.cell, prepared, p.B, states, p.x, NULL, y, tapes, 2), SPARC_OK);
  for (size_t b = 0; b < B; b++)
    assert_int_equal(sparc_step_f64(p.cell, prepared, states + (B + b) * S, p.x + b * (size_t)p.D, 1,
                                    y + (B + b) * p.n.output, tapes),
                     SPARC_OK);
  assert_memory_equal(states, states + B * S, B * S * sizeof *states);
  assert_memory_equal(y, y + B * p.n.output, B * p.n.output * sizeof *y);
  double *blocks[] = {prepared, tapes, states, y};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) sparc_free(blocks[i]);
  problem_free(&p);
}

static void test_arguments(void **unused) {
  (void)unused;
  sparc_cell *cell;
  assert_int_equal(sparc_cell_create(&(sparc_cell_config){.kind = "rtu", .D = 1, .H = 1}, &cell), SPARC_OK);
  float some[8] = {0}, masks[2] = {1, 2};
  assert_int_equal(sparc_step_streams(NULL, some, 1, some, some, NULL, some, some, 1), SPARC_INVALID);
  assert_int_equal(sparc_step_streams(cell, some, 0, some, some, NULL, some, some, 1), SPARC_INVALID);
  assert_int_equal(sparc_step_streams(cell, some, 2, some, some, masks, some, some, 1), SPARC_INVALID);
  assert_non_null(strstr(sparc_error(), "stream 1"));
  sparc_cell_free(cell);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bits),
      cmocka_unit_test(test_tapes),
      cmocka_unit_test(test_double_is_bit_identical),
      cmocka_unit_test(test_arguments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
