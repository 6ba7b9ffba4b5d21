/* SPDX-License-Identifier: MIT */
/* gate.c: small problems of every cell on a device, for the gates of scripts/test-device.sh.
 *
 *   device_gate BACKEND[:INDEX] [PLANT [COUNT [FIRST]]]
 *
 * Prints a hash of the bits of each problem, and fails when a number is beyond tolerance. PLANT makes a mistake in the
 * kernels before they are compiled, which the gate must notice; `none` makes none. COUNT problems are run from FIRST on.
 * `device_gate text:N` prints the text of problem N instead, for compilers that run without a device; `device_gate
 * plans` stops after the plans, which have compiled their kernels, for the real NVRTC and a driver that needs no GPU.
 */
#include "base/hash.h"
#include "device/plan.h"
#include "support_device.h"
#include "unit.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- text ------------------------------------------------------------------------------------------- */

static int text_of = -1; /* print the text of this problem */
static bool plans_only;
static size_t limit;   /* problems to run; 0: all */
static size_t skipped; /* problems before the first */

static sparc_status print_text(void *context, const char *text, bool fast, void **program) {
  (void)context, (void)fast, (void)program;
  char *changed = text_with_mistake(text);
  fputs(changed, stdout);
  exit(0);
}

/* ---- problems --------------------------------------------------------------------------------------- */

static const struct small_problem {
  sparc_cell_config cell;
  int T, chunks;
  bool bf16;
} problems[] = {
    {{.kind = "sparc", .D = 6, .H = 40}, 70, 1, false},
    {{.kind = "sparc", .D = 6, .H = 40}, 70, 3, false},
    {{.kind = "sparc", .D = 66, .H = 33, .options = "projection=none"}, 40, 2, true},
    {{.kind = "rtu", .D = 3, .H = 33}, 40, 1, false},
    {{.kind = "rglru", .D = 5, .H = 36, .options = "block=4"}, 40, 2, false},
    {{.kind = "rglru", .D = 70, .H = 70, .options = "block=7,projection=none"}, 70, 3, true}, /* pairs of coordinates */
};

enum { NAN_PROBLEM = 3 }; /* which of them is run again with a NaN before a reset */

static uint64_t hash_doubles(uint64_t hash, const double *values, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const float value = (float)values[i];
    hash = hash_bytes(hash, &value, sizeof value);
  }
  return hash;
}

static sparc_device *device;

/* a NaN in the first input does not show after a reset in the middle of a run */
static void expect_reset(problem *p, const sparc_device_plan_config *config) {
  enum { RESET = 14 };
  result ruined = result_create(p);
  const size_t first = RESET * p->n.output, all = (size_t)p->T * p->n.output;
  const double first_input = p->x[0];
  p->x[0] = NAN;
  for (size_t t = 0; t <= RESET; t++) p->mask[t] = t < RESET;
  run_device(device, p, config, 1, &ruined);
  for (size_t i = first; i < all; i++)
    if (isnan(ruined.y[i])) fail_msg("a NaN passes the reset: y[%zu]", i);
  p->x[0] = first_input;
  result_free(&ruined);
}

static void make_plan(const struct small_problem *small, const sparc_device_plan_config *config) {
  sparc_cell *cell;
  sparc_device_plan *plan;
  device_check(sparc_cell_create(&small->cell, &cell));
  device_check(sparc_device_plan_create(device, cell, 1, small->T, config, &plan));
  sparc_device_plan_free(plan);
  sparc_cell_free(cell);
}

static void run_problem(const struct small_problem *small, size_t seed) {
  const sparc_device_plan_config config = {.chunks = small->chunks, .bf16 = small->bf16};
  if (plans_only) {
    make_plan(small, &config);
    return;
  }
  sparc_random stream;
  sparc_random_init(&stream, seed, "gate", small->cell.kind);
  problem p = problem_create(&small->cell, 1, small->T, MASK_RANDOM, &stream);
  const size_t tokens = (size_t)small->T, states = p.n.state;
  if (small->bf16) round_to_bf16(p.x, tokens * (size_t)p.D);
  if (small->bf16) round_to_bf16(p.dy, tokens * p.n.output);
  result got = result_create(&p), want = result_create(&p);
  run_device(device, &p, &config, 1, &got);
  uint64_t hash = hash_doubles(HASH_START, got.y, tokens * p.n.output);
  hash = hash_doubles(hash, got.state_last, states);
  hash = hash_doubles(hash, got.dx, tokens * (size_t)p.D);
  hash = hash_doubles(hash, got.dstate0, states);
  hash = hash_doubles(hash, got.dparams, p.n.params);
  printf("%-5s chunks %d%s  %016" PRIx64 "\n", small->cell.kind, small->chunks, small->bf16 ? " bf16" : "     ", hash);
  fflush(stdout);
  run_reference(&p, true, &want);
  expect_same_sequence(&p, "gate", &got, &want, small->bf16 ? 2e-2 : 3e-6, small->bf16 ? 2e-2 : 1e-5);
  if (seed == NAN_PROBLEM) expect_reset(&p, &config);
  result_free(&got);
  result_free(&want);
  problem_free(&p);
}

static void test_problems(void **state) {
  (void)state;
  const size_t count = sizeof problems / sizeof *problems;
  for (size_t i = skipped; i < count && (limit == 0 || i - skipped < limit); i++) run_problem(&problems[i], i);
}

int main(int argc, char **argv) {
  sparc_device_config config = {.cache = ""};
  if (argc > 1 && strncmp(argv[1], "text:", 5) == 0) text_of = atoi(argv[1] + 5);
  plans_only = argc > 1 && strcmp(argv[1], "plans") == 0;
  device_check(device_parse(text_of >= 0 || plans_only ? "cuda" : argc > 1 ? argv[1] : "opencl", &config));
  if (argc > 3) limit = (size_t)atoi(argv[3]);
  if (argc > 4) skipped = (size_t)atoi(argv[4]);
  sparc_status status = sparc_device_open(&config, &device);
  if (status == SPARC_UNSUPPORTED) { /* Oclgrind has exact arithmetic, but does not say so */
    config.fast = 1;
    status = sparc_device_open(&config, &device);
  }
  if (status != SPARC_OK) {
    fprintf(stderr, "%s\n", sparc_error());
    return 1;
  }
  if (argc > 2 && strcmp(argv[2], "none") != 0 && !plant_mistake(device, argv[2])) {
    fprintf(stderr, "no mistake is called '%s'\n", argv[2]);
    return 2;
  }
  device_backend printing = *device->backend;
  printing.build = print_text;
  if (text_of >= 0) device->backend = &printing;
  if (text_of >= 0) run_problem(&problems[text_of], 0);
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_problems)};
  const int failures = cmocka_run_group_tests_name("device gate", tests, NULL, NULL);
  sparc_device_close(device);
  return failures ? 1 : 0;
}
