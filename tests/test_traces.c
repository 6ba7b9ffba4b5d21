/* SPDX-License-Identifier: MIT */
/* test_traces.c: one step of the rows of a trace, by the kernels of every instruction set that this machine has: rows
 * whose driver has one part or both, of all lengths, in place and from one array to another, with and without
 * contraction, some modes after the others, against sums in double; and the same step on several threads. */
#include "base/random.h"
#include "kernels/kernels.h"
#include "rtrl/rtrl_impl.h"
#include "sparc/sparc.h"
#include "unit.h"

#include <math.h>
#include <string.h>

enum { H = 5, ROWS = 10, D_MAX = 140, OUTS = H * ROWS * D_MAX, ENTRIES = H * ROWS * 2 * D_MAX };

static const driver_part parts[DRIVER_SLOTS] = {DRIVER_REAL, DRIVER_IMAGINARY, DRIVER_COMPLEX, DRIVER_COMPLEX,
                                                DRIVER_REAL, DRIVER_REAL,      DRIVER_COMPLEX, DRIVER_IMAGINARY};

static float a[2 * H], c[ROWS * 2 * H], x[D_MAX], weights[ROWS * 2 * H], before[ENTRIES], after[ENTRIES], outs[OUTS];

static void draw(sparc_random *stream, float *values, size_t count) {
  for (size_t i = 0; i < count; i++) values[i] = 2 * random_uniform_f32(stream) - 1;
}

/* the contents of a part of a driver that is declared zero have no effect */
static float part_of(size_t row, bool imaginary, float value) {
  const driver_part part = driver_part_of(parts, row);
  return part == (imaginary ? DRIVER_REAL : DRIVER_IMAGINARY) ? 0 : value;
}

/* rows of odd numbers are shared by all modes */
static size_t stride_of(size_t row, size_t D) { return row % 2 ? 0 : D; }

static void expect_step(const char *kernel, const trace_rows *t, const float *old, const float *old_outs) {
  const size_t D = t->D;
  static double want[OUTS];
  for (size_t i = 0; i < OUTS; i++) want[i] = (double)old_outs[i];
  for (size_t j = 0; j < H; j++)
    for (size_t row = 0; row < ROWS; row++)
      for (size_t d = 0; d < D; d++) {
        const size_t re = 2 * row * H + j, im = re + H, at = (j * ROWS + row) * 2 * D + d;
        const double b_re = (double)t->mask * (double)a[j], b_im = (double)t->mask * (double)a[H + j];
        const double z_re = (double)old[at], z_im = (double)old[at + D], in = (double)x[d];
        const double new_re = b_re * z_re - b_im * z_im + (double)part_of(row, false, c[re]) * in;
        const double new_im = b_re * z_im + b_im * z_re + (double)part_of(row, true, c[im]) * in;
        const double error = fmax(fabs((double)t->Z[at] - new_re), fabs((double)t->Z[at + D] - new_im));
        if (error > 1e-6) fail_msg("%s, D %zu, row %zu, entry %zu: off by %g, allowed 1e-6", kernel, D, row, d, error);
        want[row * H * D_MAX + j * stride_of(row, D) + d] +=
            (double)weights[re] * new_re + (double)weights[im] * new_im;
      }
  for (size_t i = 0; t->weights && i < OUTS; i++)
    if (fabs((double)outs[i] - want[i]) > 1e-5)
      fail_msg("%s, D %zu: gradient %zu is %g, expected %g", kernel, D, i, (double)outs[i], want[i]);
}

static void test_steps(void **state) {
  (void)state;
  static const size_t lengths[] = {1, 3, 4, 7, 8, 15, 16, 31, 33, 64, 65, D_MAX};
  static float old[ENTRIES], old_outs[OUTS];
  sparc_random stream;
  sparc_random_init(&stream, 1, "traces", "");
  size_t tried = 0;
  for (const char *const *name = kernel_names(); *name; name++) {
    const kernels *table = kernels_find(*name);
    if (!table || !table->rtrl.trace) continue;
    tried++;
    for (size_t i = 0; i < 4 * sizeof lengths / sizeof *lengths; i++) {
      const bool in_place = i % 2, contract = i / 2 % 2;
      const size_t D = lengths[i / 4];
      float *out[ROWS];
      size_t stride[ROWS];
      draw(&stream, a, 2 * H);
      draw(&stream, c, ROWS * 2 * H);
      draw(&stream, x, D);
      draw(&stream, weights, ROWS * 2 * H);
      draw(&stream, before, ENTRIES);
      draw(&stream, outs, OUTS);
      memcpy(old, before, sizeof old);
      memcpy(old_outs, outs, sizeof old_outs);
      for (size_t row = 0; row < ROWS; row++) {
        out[row] = outs + row * H * D_MAX;
        stride[row] = stride_of(row, D);
      }
      const size_t cut = i % (H + 1); /* modes of the first of two calls */
      trace_rows t = {.H = H,
                      .n = cut,
                      .rows = ROWS,
                      .D = D,
                      .mask = 1,
                      .a = a,
                      .c = c,
                      .part = parts,
                      .x = x,
                      .before = before,
                      .Z = in_place ? before : after,
                      .weights = contract ? weights : NULL,
                      .out = out,
                      .out_stride = stride};
      table->rtrl.trace(&t);
      t.first = cut;
      t.n = H - cut;
      table->rtrl.trace(&t);
      expect_step(*name, &t, old, old_outs);
      if (!in_place) assert_memory_equal(before, old, sizeof old);
      if (!contract) assert_memory_equal(outs, old_outs, sizeof outs);
    }
  }
  assert_true(tried > 0);
}

/* traces that are large enough to be divided, over some steps with a reset among them */
static void take_steps(const sparc_cell *cell, const float *prepared, const float *inputs, int threads, float *traces) {
  enum { STEPS = 6 };
  const sparc_cell_sizes n = sparc_cell_sizes_of(cell);
  float *state = sparc_alloc(n.state * sizeof *state), *tape = sparc_alloc(n.tape * sizeof *tape);
  memset(traces, 0, n.trace * sizeof *traces);
  for (size_t t = 0; t < STEPS; t++) {
    float *trace = traces + (t % 2 ? 0 : n.trace), *from = traces + (t % 2 ? n.trace : 0);
    assert_int_equal(
        step_rtrl_f32(cell, prepared, state, from, trace, inputs + t * 64, t == 3 ? 0 : 1, NULL, tape, threads),
        SPARC_OK);
  }
  sparc_free(state);
  sparc_free(tape);
}

static void test_threads_change_no_bit(void **state) {
  (void)state;
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++) {
    sparc_cell *cell;
    if (sparc_cell_create(&(sparc_cell_config){.kind = *kind, .D = 64, .H = 136}, &cell) != SPARC_OK) continue;
    const sparc_cell_sizes n = sparc_cell_sizes_of(cell);
    if (n.trace > 0) {
      float *params = sparc_alloc(n.params * sizeof *params), *prepared = sparc_alloc(n.prepared * sizeof *prepared);
      float *want = sparc_alloc(2 * n.trace * sizeof *want), *got = sparc_alloc(2 * n.trace * sizeof *got);
      float inputs[6 * 64];
      sparc_random stream;
      sparc_random_init(&stream, 2, "traces", *kind);
      draw(&stream, inputs, sizeof inputs / sizeof *inputs);
      sparc_cell_init(cell, SPARC_INIT_CONTROL, 1, NULL, params);
      assert_int_equal(sparc_prepare(cell, params, prepared), SPARC_OK);
      take_steps(cell, prepared, inputs, 1, want);
      for (size_t i = 0; i < 5; i++) {
        take_steps(cell, prepared, inputs, (const int[]){2, 3, 7, 8, 16}[i], got);
        assert_memory_equal(got, want, 2 * n.trace * sizeof *got);
      }
      sparc_free(params);
      sparc_free(prepared);
      sparc_free(want);
      sparc_free(got);
    }
    sparc_cell_free(cell);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_steps), cmocka_unit_test(test_threads_change_no_bit)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
