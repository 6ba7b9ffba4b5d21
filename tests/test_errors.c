/* SPDX-License-Identifier: MIT */
/* test_errors.c: bad input gives a status and a message that names the argument and the value; nothing is written. */
#include "sparc/sparc.h"
#include "support.h"
#include "unit.h"

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* the last call must have failed with this status and a message that contains every given fragment */
static void expect_error(sparc_status got, sparc_status want, const char *first, const char *second) {
  assert_int_equal(got, want);
  if (!strstr(sparc_error(), first) || !strstr(sparc_error(), second))
    fail_msg("'%s' lacks '%s' or '%s'", sparc_error(), first, second);
}

static void test_cell_create(void **state) {
  (void)state;
  const struct {
    sparc_cell_config config;
    sparc_status status;
    const char *first, *second;
  } cases[] = {
      {{.kind = "sparc", .D = 0, .H = 4}, SPARC_INVALID, "D is 0", "expected 1"},
      {{.kind = "sparc", .D = -3, .H = 4}, SPARC_INVALID, "D is -3", "expected 1"},
      {{.kind = "sparc", .D = 4, .H = 0}, SPARC_INVALID, "H is 0", "expected 1"},
      {{.kind = "sparc", .D = 4, .H = 1 << 30}, SPARC_INVALID, "H is 1073741824", "expected 1 to"},
      {{.kind = NULL, .D = 4, .H = 4}, SPARC_INVALID, "kind", "NULL"},
      {{.kind = "sprac", .D = 4, .H = 4}, SPARC_INVALID, "unknown cell kind 'sprac'", "did you mean 'sparc'?"},
      {{.kind = "sparc", .D = 4, .H = 4, .options = "varient=full"},
       SPARC_INVALID,
       "unknown option 'varient'",
       "did you mean 'variant'?"},
      {{.kind = "sparc", .D = 4, .H = 4, .options = "variant=phase-onyl"},
       SPARC_INVALID,
       "unknown variant 'phase-onyl'",
       "did you mean 'phase-only'?"},
      {{.kind = "sparc", .D = 4, .H = 4, .options = "variant"}, SPARC_INVALID, "'variant'", "expected key=value"},
      {{.kind = "sparc", .D = 4, .H = 4, .options = "kappa_r=-1"}, SPARC_INVALID, "kappa_r is '-1'", "from 0"},
      {{.kind = "sparc", .D = 4, .H = 4, .options = "kappa_r=nan"}, SPARC_INVALID, "kappa_r is 'nan'", "from 0"},
      {{.kind = "sparc", .D = 4, .H = 4, .options = "projection=none"}, SPARC_INVALID, "D is 4", "expected 8"},
      {{.kind = "rglru", .D = 4, .H = 8, .options = "projection=none"}, SPARC_INVALID, "D is 4", "expected H = 8"},
      {{.kind = "sparc", .D = 4, .H = 8, .options = "groups=3"},
       SPARC_INVALID,
       "groups is 3",
       "divisor of H, which is 8"},
      {{.kind = "sparc", .D = 4, .H = 8, .options = "groups=0"}, SPARC_INVALID, "groups is '0'", "from 1"},
      {{.kind = "sparc", .D = 4, .H = 8, .options = "groups=2,variant=unshared-control"},
       SPARC_INVALID,
       "groups is 2",
       "unshared-control"},
      {{.kind = "sparc", .D = 4, .H = 8, .options = "hidden=1"}, SPARC_INVALID, "hidden is 1", "from 2 to 64"},
      {{.kind = "sparc", .D = 4, .H = 8, .options = "hidden=4,groups=2"},
       SPARC_INVALID,
       "hidden is 4",
       "all modes share"},
      {{.kind = "sparc", .D = 4, .H = 8, .options = "hidden=4,variant=fixed-controls"},
       SPARC_INVALID,
       "hidden is 4",
       "all modes share"},
      {{.kind = "sparc", .D = 4, .H = 4, .options = "kappa_p=2x"}, SPARC_INVALID, "kappa_p is '2x'", "a number"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    sparc_cell *cell = (sparc_cell *)&cases[i];
    const sparc_status status = sparc_cell_create(&cases[i].config, &cell);
    expect_error(status, cases[i].status, cases[i].first, cases[i].second);
    assert_null(cell);
  }
  sparc_cell *cell;
  expect_error(sparc_cell_create(NULL, &cell), SPARC_INVALID, "config", "NULL");
  expect_error(sparc_cell_create(&cases[0].config, NULL), SPARC_INVALID, "out", "NULL");
}

static sparc_cell *small_cell(void) {
  sparc_cell *cell;
  assert_int_equal(sparc_cell_create(&(sparc_cell_config){.kind = "sparc", .D = 2, .H = 3}, &cell), SPARC_OK);
  return cell;
}

static void test_options_text(void **state) {
  (void)state;
  sparc_cell *cell, *again;
  const sparc_cell_config config = {.kind = "sparc", .D = 2, .H = 3, .options = "variant=no-phase-clock,kappa_r=1.25"};
  assert_int_equal(sparc_cell_create(&config, &cell), SPARC_OK);
  /* the canonical text makes the same cell */
  const sparc_cell_config copy = {.kind = "sparc", .D = 2, .H = 3, .options = sparc_cell_config_of(cell).options};
  assert_int_equal(sparc_cell_create(&copy, &again), SPARC_OK);
  assert_string_equal(sparc_cell_config_of(cell).options, sparc_cell_config_of(again).options);
  assert_non_null(strstr(sparc_cell_config_of(cell).options, "variant=no-phase-clock"));
  assert_non_null(strstr(sparc_cell_config_of(cell).options, "kappa_r=1.25"));
  sparc_cell_free(cell);
  sparc_cell_free(again);
}

/* a program may speak a language in which numbers have a comma */
static void test_options_ignore_the_locale(void **state) {
  (void)state;
  char before[64];
  snprintf(before, sizeof before, "%s", setlocale(LC_NUMERIC, NULL));
  const char *const comma[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "es_ES.UTF-8"};
  bool found = false;
  for (size_t i = 0; i < sizeof comma / sizeof *comma && !found; i++) found = setlocale(LC_NUMERIC, comma[i]) != NULL;
  if (!found) skip();
  sparc_cell *cell;
  const sparc_cell_config config = {.kind = "sparc", .D = 2, .H = 3, .options = "kappa_r=1.25"};
  const sparc_status status = sparc_cell_create(&config, &cell);
  setlocale(LC_NUMERIC, before);
  assert_int_equal(status, SPARC_OK);
  assert_non_null(strstr(sparc_cell_config_of(cell).options, "kappa_r=1.25"));
  sparc_cell_free(cell);
}

static void test_plan_create(void **state) {
  (void)state;
  sparc_cell *cell = small_cell();
  sparc_plan *plan;
  expect_error(sparc_plan_create(NULL, 1, 1, NULL, &plan), SPARC_INVALID, "cell", "NULL");
  expect_error(sparc_plan_create(cell, 0, 1, NULL, &plan), SPARC_INVALID, "B is 0", "at least 1");
  expect_error(sparc_plan_create(cell, 1, -7, NULL, &plan), SPARC_INVALID, "T is -7", "at least 1");
  expect_error(sparc_plan_create(cell, 1, 1, &(sparc_plan_config){.chunk = -1}, &plan), SPARC_INVALID, "chunk is -1",
               "0 or more");
  expect_error(sparc_plan_create(cell, 1, 1, &(sparc_plan_config){.threads = -1}, &plan), SPARC_INVALID,
               "threads is -1", "0 or more");
  expect_error(sparc_plan_create(cell, 1 << 20, 1 << 20, NULL, &plan), SPARC_INVALID, "too large", "1048576");
  expect_error(sparc_plan_create(cell, 1, 1, NULL, NULL), SPARC_INVALID, "out", "NULL");
  sparc_cell_free(cell);
}

/* the greatest cells: what a plan needs is refused or fits in bytes, and does not shrink for more streams */
static void test_huge_plans(void **state) {
  (void)state;
  enum { WIDEST = 1 << 24 };
  int refused = 0, made = 0;
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++) {
    sparc_cell *cell;
    if (sparc_cell_create(&(sparc_cell_config){.kind = *kind, .D = WIDEST, .H = WIDEST}, &cell) != SPARC_OK) continue;
    size_t before = 0;
    for (int power = 0; power <= 30; power++) {
      const int B = 1 << power;
      sparc_plan *plan;
      const sparc_status status = sparc_plan_create(cell, B, 1, &(sparc_plan_config){.threads = 1}, &plan);
      made += status == SPARC_OK;
      refused += status != SPARC_OK;
      if (status != SPARC_OK) {
        expect_error(status, SPARC_INVALID, "too large", "parameters");
        continue;
      }
      const size_t bytes =
          sparc_plan_sizes_of(plan, SPARC_FLOAT32).work + sparc_plan_sizes_of(plan, SPARC_FLOAT32).saved;
      if (bytes < before) fail_msg("%s: %zu bytes for %d streams, %zu for half of them", *kind, bytes, B, before);
      assert_true(sparc_plan_sizes_of(plan, SPARC_FLOAT64).work >= sparc_plan_sizes_of(plan, SPARC_FLOAT32).work);
      before = bytes;
      sparc_plan_free(plan);
    }
    sparc_cell_free(cell);
  }
  assert_true(refused > 0 && made > 0);
}

/* a call with every array in place; the tests take one away or spoil it */
typedef struct call {
  sparc_cell *cell;
  sparc_plan *plan;
  float params[64], prepared[1024], x[2 * 4 * 2], mask[2 * 4], y[2 * 4 * 6], state[2 * 6], dy[2 * 4 * 6], tape[1024],
      trace[512], dparams[64], dx[2 * 4 * 2];
  void *saved, *work;
} call;

static void start(call *c) {
  memset(c, 0, sizeof *c);
  c->cell = small_cell();
  const sparc_cell_sizes n = sparc_cell_sizes_of(c->cell);
  assert_true(n.params <= 64 && n.prepared <= 1024 && n.tape <= 1024 && n.trace <= 512);
  assert_int_equal(sparc_plan_create(c->cell, 2, 4, NULL, &c->plan), SPARC_OK);
  c->saved = sparc_alloc(sparc_plan_sizes_of(c->plan, SPARC_FLOAT32).saved);
  c->work = sparc_alloc(sparc_plan_sizes_of(c->plan, SPARC_FLOAT32).work);
  for (size_t i = 0; i < 8; i++) c->mask[i] = 1;
  for (size_t i = 0; i < 48; i++) c->y[i] = 42;
  assert_int_equal(sparc_prepare(c->cell, c->params, c->prepared), SPARC_OK);
}

static void finish(call *c) {
  sparc_free(c->saved);
  sparc_free(c->work);
  sparc_plan_free(c->plan);
  sparc_cell_free(c->cell);
}

static void test_prepare(void **state) {
  (void)state;
  call c;
  start(&c);
  const float bad[] = {NAN, INFINITY, -INFINITY};
  for (size_t i = 0; i < 3; i++) {
    c.params[4] = bad[i]; /* log_freq[1] */
    c.prepared[0] = 42;
    expect_error(sparc_prepare(c.cell, c.params, c.prepared), SPARC_NOT_FINITE, "element 1 of log_freq", "finite");
    assert_float_equal(c.prepared[0], 42, 0);
  }
  expect_error(sparc_prepare(NULL, c.params, c.prepared), SPARC_INVALID, "cell", "NULL");
  expect_error(sparc_prepare(c.cell, NULL, c.prepared), SPARC_INVALID, "params", "NULL");
  expect_error(sparc_prepare(c.cell, c.params, NULL), SPARC_INVALID, "prepared", "NULL");
  expect_error(sparc_cell_init(c.cell, (sparc_init_style)9, 1, NULL, c.params), SPARC_INVALID, "style is 9",
               "expected");
  expect_error(sparc_cell_init(c.cell, SPARC_INIT_CONTROL, 1, NULL, NULL), SPARC_INVALID, "params", "NULL");
  finish(&c);
}

static void test_sequence_calls(void **state) {
  (void)state;
  call c;
  start(&c);
  sparc_sequence io = {.x = c.x, .mask = c.mask, .y = c.y};
  sparc_sequence_gradient gradient = {.dy = c.dy, .dparams = c.dparams};

  const float bad[] = {0.5f, 2, -1, NAN};
  for (size_t i = 0; i < 4; i++) {
    c.mask[6] = bad[i];
    expect_error(sparc_forward(c.plan, c.prepared, &io, c.saved, c.work), SPARC_INVALID, "mask[1][2]",
                 "expected 0 or 1");
    expect_error(sparc_backward(c.plan, c.prepared, &io, c.saved, &gradient, c.work), SPARC_INVALID, "mask[1][2]",
                 "expected 0 or 1");
  }
  c.mask[6] = 1;
  for (size_t i = 0; i < 48; i++) assert_float_equal(c.y[i], 42, 0);

  expect_error(sparc_forward(NULL, c.prepared, &io, c.saved, c.work), SPARC_INVALID, "plan", "NULL");
  expect_error(sparc_forward(c.plan, NULL, &io, c.saved, c.work), SPARC_INVALID, "prepared", "NULL");
  expect_error(sparc_forward(c.plan, c.prepared, NULL, c.saved, c.work), SPARC_INVALID, "sequence", "NULL");
  expect_error(sparc_forward(c.plan, c.prepared, &io, NULL, c.work), SPARC_INVALID, "saved", "NULL");
  expect_error(sparc_forward(c.plan, c.prepared, &io, c.saved, NULL), SPARC_INVALID, "work", "NULL");
  io.x = NULL;
  expect_error(sparc_forward(c.plan, c.prepared, &io, c.saved, c.work), SPARC_INVALID, "sequence.x", "NULL");
  io.x = c.x;
  io.y = NULL;
  expect_error(sparc_forward(c.plan, c.prepared, &io, c.saved, c.work), SPARC_INVALID, "sequence.y", "NULL");
  io.y = c.y;
  assert_int_equal(sparc_forward(c.plan, c.prepared, &io, c.saved, c.work), SPARC_OK);
  gradient.dy = NULL;
  expect_error(sparc_backward(c.plan, c.prepared, &io, c.saved, &gradient, c.work), SPARC_INVALID, "gradient.dy",
               "NULL");
  expect_error(sparc_backward(c.plan, c.prepared, &io, c.saved, NULL, c.work), SPARC_INVALID, "gradient", "NULL");
  finish(&c);
}

/* blocks that malloc might give, where whole cache lines are expected */
static void test_misaligned_blocks(void **state) {
  (void)state;
  call c;
  start(&c);
  const sparc_sequence io = {.x = c.x, .y = c.y};
  const sparc_sequence_f64 io_f64 = {.x = (double[2 * 4 * 2]){0}, .y = (double[2 * 4 * 6]){0}};
  const sparc_sequence_bf16 io_bf16 = {.x = (sparc_bf16[2 * 4 * 2]){0}, .y = (sparc_bf16[2 * 4 * 6]){0}};
  const sparc_sequence_gradient gradient = {.dy = c.dy, .dparams = c.dparams};
  const double prepared_f64[1] = {0};
  void *saved = (char *)c.saved + 16, *work = (char *)c.work + 4;
  const char *const where = "expected a block of sparc_alloc";
  expect_error(sparc_forward(c.plan, c.prepared, &io, saved, c.work), SPARC_INVALID, "saved begins 16 bytes", where);
  expect_error(sparc_forward(c.plan, c.prepared, &io, c.saved, work), SPARC_INVALID, "work begins 4 bytes", where);
  expect_error(sparc_backward(c.plan, c.prepared, &io, saved, &gradient, c.work), SPARC_INVALID, "saved begins", where);
  expect_error(sparc_backward(c.plan, c.prepared, &io, c.saved, &gradient, work), SPARC_INVALID, "work begins", where);
  expect_error(sparc_forward_f64(c.plan, prepared_f64, &io_f64, saved, c.work), SPARC_INVALID, "saved begins", where);
  expect_error(sparc_forward_bf16(c.plan, c.prepared, &io_bf16, c.saved, work), SPARC_INVALID, "work begins", where);

  float h[6] = {0}, dh[6] = {0}, db[6] = {0}, constants[4096] = {0};
  sparc_scan *scan;
  assert_int_equal(sparc_scan_create(&(sparc_scan_config){.B = 1, .T = 1, .H = 3}, &scan), SPARC_OK);
  expect_error(sparc_scan_backward(scan, constants, &(sparc_scan_data){.h = h},
                                   &(sparc_scan_gradient){.dh = dh, .db = db}, work),
               SPARC_INVALID, "work begins 4 bytes", where);
  sparc_scan_free(scan);

  sparc_network *network;
  sparc_network_plan *plan;
  const sparc_head_config head = {.name = "head", .input = SPARC_HEAD_STEPS, .outputs = 2};
  const sparc_network_config config = {.cell = "sparc", .H = 3, .inputs = 2, .head = &head, .heads = 1};
  assert_int_equal(sparc_network_create(&config, &network), SPARC_OK);
  assert_int_equal(sparc_network_plan_create(network, 1, 2, 1, &plan), SPARC_OK);
  float *const outputs[] = {c.y};
  expect_error(sparc_network_forward(plan, c.prepared, &(sparc_network_sequence){.x = c.x, .outputs = outputs}, work),
               SPARC_INVALID, "work begins 4 bytes", where);
  sparc_network_plan_free(plan);
  sparc_network_free(network);
  finish(&c);
}

static void test_step_calls(void **state) {
  (void)state;
  call c;
  start(&c);
  expect_error(sparc_step(c.cell, c.prepared, c.state, c.x, 0.5f, c.y, c.tape), SPARC_INVALID, "mask is 0.5", "0 or 1");
  expect_error(sparc_step(c.cell, c.prepared, NULL, c.x, 1, c.y, c.tape), SPARC_INVALID, "state", "NULL");
  expect_error(sparc_step(c.cell, c.prepared, c.state, NULL, 1, c.y, c.tape), SPARC_INVALID, "x", "NULL");
  expect_error(sparc_step(c.cell, c.prepared, c.state, c.x, 1, c.y, NULL), SPARC_INVALID, "tape", "NULL");
  expect_error(sparc_step_rtrl(c.cell, c.prepared, c.state, NULL, c.x, 1, c.y, c.tape), SPARC_INVALID, "trace", "NULL");
  assert_float_equal(c.y[0], 42, 0);
  /* y is optional */
  assert_int_equal(sparc_step(c.cell, c.prepared, c.state, c.x, 1, NULL, c.tape), SPARC_OK);
  assert_int_equal(sparc_step_rtrl(c.cell, c.prepared, c.state, c.trace, c.x, 1, NULL, c.tape), SPARC_OK);
  expect_error(sparc_rtrl_gradient(c.cell, c.prepared, c.trace, c.tape, NULL, c.dparams, c.dx), SPARC_INVALID, "dy",
               "NULL");
  assert_int_equal(sparc_rtrl_gradient(c.cell, c.prepared, c.trace, c.tape, c.dy, NULL, NULL), SPARC_OK);
  expect_error(sparc_trace_read(c.cell, c.prepared, c.trace, "log_dekay", c.dy), SPARC_INVALID, "log_dekay",
               "no trace");
  assert_int_equal(trace_size(c.cell, "log_dekay"), 0);
  assert_int_equal(trace_size(c.cell, "log_decay"), 2 * 3);
  assert_int_equal(trace_size(c.cell, "content_re"), 2 * 3 * 2);
  assert_int_equal(trace_size(c.cell, "ctrl_phase"), 2 * 3 * 3);
  finish(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cell_create),
      cmocka_unit_test(test_options_text),
      cmocka_unit_test(test_options_ignore_the_locale),
      cmocka_unit_test(test_plan_create),
      cmocka_unit_test(test_huge_plans),
      cmocka_unit_test(test_prepare),
      cmocka_unit_test(test_sequence_calls),
      cmocka_unit_test(test_misaligned_blocks),
      cmocka_unit_test(test_step_calls),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
