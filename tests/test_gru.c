/* SPDX-License-Identifier: MIT */
/* test_gru.c: what is particular to the GRU: sizes, groups, initialisation, and what its two gates mean.
 * Its time loops are tested in test_loops.c, its identities in test_cells.c. */
#include "support.h"
#include "unit.h"

#include <math.h>
#include <string.h>

static const sparc_block *block_of(const sparc_cell *cell, const char *name) {
  size_t count;
  const sparc_block *blocks = sparc_cell_blocks(cell, &count);
  for (size_t i = 0; i < count; i++)
    if (strcmp(blocks[i].name, name) == 0) return &blocks[i];
  fail_msg("no block %s", name);
  return NULL;
}

static sparc_cell *make(int D, int H) {
  sparc_cell *cell;
  const sparc_cell_config config = {.kind = "gru", .D = D, .H = H};
  assert_int_equal(sparc_cell_create(&config, &cell), SPARC_OK);
  return cell;
}

/* the sizes of the paper's continuous control and POPGym runs: 3 (H D + H^2 + H) + H parameters, H numbers of state */
static void test_sizes_and_groups(void **state) {
  (void)state;
  const struct {
    int H;
    size_t params;
  } cases[] = {{384, 517632}, {128, 74240}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    sparc_cell *cell = make(64, cases[i].H);
    const sparc_cell_sizes n = sparc_cell_sizes_of(cell);
    assert_int_equal(n.params, cases[i].params);
    assert_int_equal(n.state, cases[i].H);
    assert_int_equal(n.output, cases[i].H);
    assert_int_equal(n.trace, 0);
    size_t count;
    const sparc_span *spans = sparc_cell_spans(cell, &count);
    assert_int_equal(count, 1); /* every array of the cell reaches its state */
    assert_int_equal(spans[0].group, SPARC_RECURRENT);
    assert_int_equal(spans[0].size, n.params);
    sparc_cell_free(cell);
  }
  sparc_cell *cell;
  const sparc_cell_config config = {.kind = "gru", .D = 1, .H = 1, .options = "heads=2"};
  assert_int_equal(sparc_cell_create(&config, &cell), SPARC_INVALID);
  assert_non_null(strstr(sparc_error(), "no options"));
}

static void test_initialisation(void **state) {
  (void)state;
  enum { D = 64, H = 48 };
  sparc_cell *cell = make(D, H);
  const size_t size = sparc_cell_sizes_of(cell).params;
  float *a = sparc_alloc(size * sizeof *a), *b = sparc_alloc(size * sizeof *b);
  assert_int_equal(sparc_cell_init(cell, SPARC_INIT_CONTROL, 7, "layer", a), SPARC_OK);
  assert_int_equal(sparc_cell_init(cell, SPARC_INIT_CLASSIFICATION, 7, "layer", b), SPARC_OK);
  assert_memory_equal(a, b, size * sizeof *a);

  /* input weights: normal cut at two deviations, variance 1 / D; a stream for each gate */
  const char *const inputs[] = {"input_reset", "input_update", "input_new"};
  for (int g = 0; g < 3; g++) {
    const float *w = a + block_of(cell, inputs[g])->offset;
    double square = 0;
    for (size_t i = 0; i < (size_t)D * H; i++) {
      assert_true(fabs((double)w[i]) <= 2 / 0.8796256610342398 / sqrt(D) + 1e-6);
      square += (double)w[i] * (double)w[i] / (D * H);
    }
    assert_true(fabs(square * D - 1) < 0.1);
    assert_true(g == 0 || w[0] != a[block_of(cell, inputs[0])->offset]);
  }

  /* recurrent weights are orthogonal */
  const char *const recurrents[] = {"recurrent_reset", "recurrent_update", "recurrent_new"};
  for (int g = 0; g < 3; g++) {
    const float *u = a + block_of(cell, recurrents[g])->offset;
    for (size_t i = 0; i < H; i++)
      for (size_t j = 0; j < H; j++) {
        double dot = 0;
        for (size_t k = 0; k < H; k++) dot += (double)u[i * H + k] * (double)u[j * H + k];
        assert_true(fabs(dot - (i == j)) < 1e-6);
      }
  }

  const char *const biases[] = {"bias_reset", "bias_update", "bias_new", "recurrent_bias_new"};
  for (int g = 0; g < 4; g++)
    for (size_t j = 0; j < H; j++) assert_true(a[block_of(cell, biases[g])->offset + j] == 0);
  sparc_free(a);
  sparc_free(b);
  sparc_cell_free(cell);
}

static void set_block(problem *p, const char *name, double value) {
  const sparc_block *block = block_of(p->cell, name);
  for (size_t i = 0; i < block->size; i++) p->params[block->offset + i] = value;
}

/* z = 1 keeps the state; z = 0 and r = 0 forget it, but for c_n, which comes after the reset gate */
static void test_gates(void **state) {
  (void)state;
  enum { H = 5 };
  sparc_random stream;
  sparc_random_init(&stream, 1, "gates", "");
  const sparc_cell_config config = {.kind = "gru", .D = 3, .H = H};
  problem p = problem_create(&config, 1, 1, MASK_ONES, &stream);
  if (!p.state0) p.state0 = sparc_alloc(H * sizeof(double));
  for (int j = 0; j < H; j++) p.state0[j] = 0.1 * (j + 1);
  result r = result_create(&p);

  set_block(&p, "bias_update", 1e3);
  run_steps_f64(&p, &r);
  for (int j = 0; j < H; j++) assert_true(r.y[j] == p.state0[j]);

  set_block(&p, "bias_update", -1e3);
  set_block(&p, "recurrent_bias_new", 100);
  for (int open = 0; open < 2; open++) {
    set_block(&p, "bias_reset", open ? 1e3 : -1e3);
    run_steps_f64(&p, &r);
    for (int j = 0; j < H; j++) {
      double n = p.params[block_of(p.cell, "bias_new")->offset + (size_t)j];
      for (int d = 0; d < 3; d++) n += p.params[block_of(p.cell, "input_new")->offset + (size_t)(j * 3 + d)] * p.x[d];
      assert_true(fabs(r.y[j] - (open ? 1 : tanh(n))) < 1e-12);
    }
  }
  result_free(&r);
  problem_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sizes_and_groups),
      cmocka_unit_test(test_initialisation),
      cmocka_unit_test(test_gates),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
