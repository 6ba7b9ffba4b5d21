/* SPDX-License-Identifier: MIT */
/* test_device.c: sequences on a device, against the double reference; errors; the cache of kernels.
 *
 * test_device [BACKEND[:INDEX] [COUNT]]: the device to test (opencl), and how many random shapes to compare. Without a
 * COUNT only few sets of kernels are compiled, which takes PoCL ten seconds each; `make test` runs the rest on the shim
 * of tests/device, `make test-device` on both. Without the device, tests that need one are skipped with a message.
 */
#include "device/device.h"
#include "scratch.h"
#include "support_device.h"
#include "unit.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int set_up(void **state) { return make_folder(state) == 0 ? open_device(state) : -1; }
static int tear_down(void **state) { return close_device(state) == 0 ? remove_folder(state) : -1; }

/* ---- against the reference ------------------------------------------------------------------------ */

/* E_norm, docs/numerics.md: the tolerances of float, and the thresholds of long sequences. A mode is off by 9e-8 for
 * every step that it remembers, so the tolerances are promised to memories of 3e-6 / 9e-8 steps, and the thresholds to
 * any. */
typedef struct bounds {
  double output, gradient;
} bounds;
static const bounds FLOAT_BOUNDS = {3e-6, 1e-5}, LONG_BOUNDS = {2e-5, 1e-4};
enum { FLOAT_MEMORY = 32 };

/* how many modes remember more than FLOAT_MEMORY steps; with `limit` their log_decay is raised until they do not */
static int slow_modes(problem *p, bool limit) {
  size_t count;
  const sparc_block *block = sparc_cell_blocks(p->cell, &count);
  const double least = (double)(float)-log(FLOAT_MEMORY);
  int slow = 0;
  if (p->T <= FLOAT_MEMORY || strcmp(block->name, "log_decay") != 0) return 0;
  for (size_t j = block->offset; j < block->offset + block->size; j++) {
    if (p->params[j] >= least) continue;
    slow++;
    if (limit) p->params[j] = least;
  }
  return slow;
}

static void compare_problem(problem *p, int chunks, bool bf16, bounds allowed) {
  const size_t tokens = (size_t)p->B * (size_t)p->T, O = p->n.output, D = (size_t)p->D;
  result got = result_create(p), want = result_create(p);
  char what[64];
  snprintf(what, sizeof what, "device, chunks %d%s", chunks, bf16 ? ", bf16" : "");
  if (bf16) round_to_bf16(p->x, tokens * D);
  if (bf16) round_to_bf16(p->dy, tokens * O);
  run_reference(p, true, &want);
  run_device(under_test.device, p, &(sparc_device_plan_config){.chunks = chunks, .bf16 = bf16}, 1, &got);
  if (bf16) {
    expect_rounded("y", tokens * O, got.y, want.y, allowed.output);
    expect_rounded("dx", tokens * D, got.dx, want.dx, allowed.gradient);
    memcpy(got.y, want.y, tokens * O * sizeof(double));
    memcpy(got.dx, want.dx, tokens * D * sizeof(double));
  }
  expect_same_sequence(p, what, &got, &want, allowed.output, allowed.gradient);
  result_free(&got);
  result_free(&want);
}

/* a problem with slow modes by the thresholds of long sequences, and again without them by the tolerances */
static void compare_memories(problem *p, int chunks, bool bf16) {
  if (slow_modes(p, false)) {
    compare_problem(p, chunks, bf16, LONG_BOUNDS);
    slow_modes(p, true);
  }
  compare_problem(p, chunks, bf16, FLOAT_BOUNDS);
}

typedef struct device_case {
  const char *kind, *options;
  int D, H; /* D 0: the width that projection=none requires */
} device_case;

static sparc_cell_config config_of(const device_case *c, int H) {
  const int direct = strcmp(c->kind, "rglru") == 0 ? H : 2 * H;
  return (sparc_cell_config){.kind = c->kind, .D = c->D ? c->D : direct, .H = H, .options = c->options};
}

static void compare(const device_case *c, int B, int T, mask_kind mask, int chunks, bool bf16, uint64_t seed) {
  sparc_random stream;
  sparc_random_init(&stream, seed, "device", c->kind);
  const sparc_cell_config config = config_of(c, c->H);
  problem p = problem_create(&config, B, T, mask, &stream);
  if (seed % 4 == 3) {
    sparc_free(p.dstate_last);
    p.dstate_last = NULL;
  }
  compare_memories(&p, chunks, bf16);
  problem_free(&p);
}

/* few sets of kernels, for compiling them takes longest; shapes around the tile of 32 modes and the step of 32 tokens
 */
static void test_cells(void **state) {
  (void)state;
  need_device();
  const struct {
    int B, T, H, chunks;
    mask_kind mask;
  } shapes[] = {{1, 1, 1, 0, MASK_NONE},     {2, 5, 64, 1, MASK_RANDOM},  {1, 33, 33, 2, MASK_FIRST},
                {3, 31, 32, 16, MASK_NONE},  {1, 100, 31, 3, MASK_ZEROS}, {2, 300, 70, 5, MASK_RANDOM},
                {1, 1100, 5, 16, MASK_NONE}, {1, 1100, 3, 1, MASK_RANDOM}};
  const device_case cells[] = {{"sparc", "", 7, 0}, {"rtu", "", 3, 0}, {"lru", "", 70, 0}, {"rglru", "block=1", 5, 0}};
  const size_t count = under_test.random_shapes > 0 ? sizeof cells / sizeof *cells : 2;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (size_t k = 0; k < count; k++) {
      device_case c = cells[k];
      c.H = shapes[i].H;
      compare(&c, shapes[i].B, shapes[i].T, shapes[i].mask, shapes[i].chunks, false, i);
    }
}

static void test_bf16(void **state) {
  (void)state;
  need_device();
  if (under_test.random_shapes == 0) {
    print_message("skipped: bfloat16 needs a COUNT, as in make test-device\n");
    return;
  }
  const device_case direct = {"sparc", "projection=none", 0, 37}, blocks = {"rglru", "projection=none,block=3", 0, 36};
  const device_case pairs = {"rglru", "projection=none,block=1", 0, 65}; /* of coordinates; the last tile starts at 1 */
  compare(&direct, 2, 150, MASK_RANDOM, 1, true, 1);
  compare(&direct, 1, 150, MASK_NONE, 3, true, 2);
  compare(&blocks, 2, 70, MASK_RANDOM, 2, true, 3);
  compare(&pairs, 1, 70, MASK_NONE, 2, true, 4);
}

/* slow modes: 1 - exp(-e) must keep its digits, and the floor of the decay must hold */
static void test_small_decay(void **state) {
  (void)state;
  need_device();
  const sparc_cell_config config = {.kind = "sparc", .D = 7, .H = 40, .options = ""};
  sparc_random stream;
  sparc_random_init(&stream, 3, "small decay", "");
  problem p = problem_create(&config, 1, 90, MASK_NONE, &stream);
  for (int j = 0; j < 40; j++) p.params[j] = (double)(float)(-14 + 0.35 * j);
  compare_problem(&p, 1, false, FLOAT_BOUNDS);
  problem_free(&p);
}

static const char *const variants[] = {"full",
                                       "fixed-controls",
                                       "phase-only",
                                       "retention-only",
                                       "no-phase-clock",
                                       "static-phase-clock",
                                       "static-transition",
                                       "neutral-gate",
                                       "fixed-normalization",
                                       "linear-content",
                                       "frozen-gain"};

/* random shapes begin with the ends of their ranges */
static const struct {
  const char *kind;
  int T, H;
} ends[] = {{"sparc", 5000, 300}, {"sparc", 1, 300}, {"rtu", 5000, 1}, {"rglru", 1, 1}};

/* every variant, option and shape: sequences up to 5000 steps, up to 300 modes */
static void test_random(void **state) {
  (void)state;
  need_device();
  if (under_test.random_shapes == 0) {
    print_message("skipped: random shapes need a COUNT, as in make test-device\n");
    return;
  }
  sparc_random stream;
  sparc_random_init(&stream, 1, "device shapes", "");
  for (int i = 0; i < under_test.random_shapes; i++) {
    static const char *const kinds[] = {"sparc", "sparc", "sparc", "rtu", "lru", "rglru"};
    const bool at_end = i < (int)(sizeof ends / sizeof *ends);
    const char *drawn = kinds[sparc_random_below(&stream, 6)], *kind = at_end ? ends[i].kind : drawn;
    const bool is_sparc = strcmp(kind, "sparc") == 0, direct = sparc_random_below(&stream, 2);
    const int block = 1 + (int)sparc_random_below(&stream, 9);
    char options[128] = "";
    if (is_sparc)
      snprintf(options, sizeof options, "variant=%s,kappa_p=%s,projection=%s",
               variants[sparc_random_below(&stream, 11)], sparc_random_below(&stream, 4) ? "1.2" : "3.5",
               direct ? "none" : "dense");
    if (strcmp(kind, "rglru") == 0)
      snprintf(options, sizeof options, "block=%d,projection=%s", block, direct ? "none" : "dense");
    const int longest[] = {20, 70, 200, 700, 5000};
    const int length = 1 + (int)sparc_random_below(&stream, (uint32_t)longest[i % 16 == 0 ? 4 : i % 4]);
    const int modes = 1 + (int)sparc_random_below(&stream, 300), T = at_end ? ends[i].T : length;
    int H = at_end ? ends[i].H : modes;
    if (strcmp(kind, "rglru") == 0) H = (H + block - 1) / block * block;
    const bool only_dense = strcmp(kind, "rtu") == 0 || strcmp(kind, "lru") == 0;
    const device_case c = {kind, options, direct && !only_dense ? 0 : 1 + (int)sparc_random_below(&stream, 90), H};
    const int B = T > 700 ? 1 : 1 + (int)sparc_random_below(&stream, 4);
    const int chunks = (int)sparc_random_below(&stream, 17);
    const bool bf16 = sparc_random_below(&stream, 3) == 0;
    const mask_kind mask = (mask_kind)sparc_random_below(&stream, MASK_KINDS);
    print_message("shape %d: %s %s D %d H %d B %d T %d chunks %d%s\n", i, kind, options, c.D, H, B, T, chunks,
                  bf16 ? " bf16" : "");
    compare(&c, B, T, mask, chunks, bf16, (uint64_t)i);
  }
}

/* ---- contracts ------------------------------------------------------------------------------------ */

static bool same_bits(const double *a, const double *b, size_t n) { return memcmp(a, b, n * sizeof *a) == 0; }

/* the same bits every time, and dparams is added to */
static void test_repeats(void **state) {
  (void)state;
  need_device();
  const device_case c = {"sparc", "", 7, 33};
  sparc_random stream;
  sparc_random_init(&stream, 5, "repeats", "");
  const sparc_cell_config config = config_of(&c, 33);
  problem p = problem_create(&config, 2, 77, MASK_RANDOM, &stream);
  result a = result_create(&p), b = result_create(&p);
  run_device(under_test.device, &p, &(sparc_device_plan_config){.chunks = 2}, 1, &a);
  run_device(under_test.device, &p, &(sparc_device_plan_config){.chunks = 2}, 2, &b);
  assert_true(same_bits(a.y, b.y, 2 * 77 * p.n.output) && same_bits(a.dx, b.dx, 2 * 77 * 7));
  for (size_t i = 0; i < p.n.params; i++) assert_true(b.dparams[i] == 2 * a.dparams[i]);
  result_free(&a);
  result_free(&b);
  problem_free(&p);
}

/* a reset at step s: a NaN before it does not show after it, a NaN gradient after it does not show before it */
static void expect_reset(const device_case *c, int T, int s, int chunks, bool bf16) {
  sparc_random stream;
  sparc_random_init(&stream, 6, "resets", "");
  const sparc_cell_config config = config_of(c, c->H);
  problem p = problem_create(&config, 1, T, MASK_ONES, &stream);
  const size_t D = (size_t)p.D, O = p.n.output, first = (size_t)s, all = (size_t)T;
  const sparc_device_plan_config plan = {.chunks = chunks, .bf16 = bf16};
  p.mask[s] = 0;
  sparc_free(p.state0);
  p.state0 = sparc_alloc(p.n.state * sizeof *p.state0);
  result clean = result_create(&p), ruined = result_create(&p);
  run_device(under_test.device, &p, &plan, 1, &clean);

  for (size_t i = 0; i < first * D; i += 3) p.x[i] = NAN;
  for (size_t i = 0; i < p.n.state; i++) p.state0[i] = i % 2 ? NAN : INFINITY;
  run_device(under_test.device, &p, &plan, 1, &ruined);
  assert_true(same_bits(clean.y + first * O, ruined.y + first * O, (all - first) * O));
  assert_true(same_bits(clean.state_last, ruined.state_last, p.n.state));
  assert_true(same_bits(clean.dx + first * D, ruined.dx + first * D, (all - first) * D));
  if (s > 0) assert_true(isnan(ruined.y[0]));

  for (size_t i = 0; i < first * D; i += 3) p.x[i] = 0.5;
  for (size_t i = 0; i < p.n.state; i++) p.state0[i] = 0.25;
  run_device(under_test.device, &p, &plan, 1, &clean);
  for (size_t i = first * O; i < all * O; i += 2) p.dy[i] = NAN;
  for (size_t i = 0; i < p.n.state; i++) p.dstate_last[i] = INFINITY;
  run_device(under_test.device, &p, &plan, 1, &ruined);
  assert_true(same_bits(clean.dx, ruined.dx, first * D) && same_bits(clean.dstate0, ruined.dstate0, p.n.state));
  result_free(&clean);
  result_free(&ruined);
  problem_free(&p);
}

static void test_resets(void **state) {
  (void)state;
  need_device();
  static const device_case cells[] = {
      {"sparc", "", 7, 5}, {"rtu", "", 3, 33}, {"rglru", "block=1", 5, 3}, {"rglru", "block=1", 5, 97}};
  static const int starts[] = {0, 1, 3, 4, 30, 31, 32, 63, 64, 65, 99};
  for (size_t k = 0; k < (under_test.random_shapes > 0 ? sizeof cells / sizeof *cells : 2); k++)
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
      expect_reset(&cells[k], 100, starts[i], i % 2 ? 1 : 3, false);
  for (int s = 0; under_test.random_shapes > 0 && s < 600; s += 37) expect_reset(&cells[0], 600, s, 16, s % 2);
}

/* chunks follow from the shape alone: 256 groups are enough, and no chunk is shorter than 128 tokens */
static void test_chunks(void **state) {
  (void)state;
  need_device();
  const struct {
    int B, T, H, chunks;
  } cases[] = {{1, 2048, 1024, 8}, {4, 2048, 1024, 2}, {32, 2048, 64, 4},
               {1, 200, 8, 1},     {1, 5000, 1, 16},   {256, 640, 32, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    sparc_cell *cell;
    sparc_device_plan *plan;
    device_check(sparc_cell_create(&(sparc_cell_config){.kind = "rtu", .D = 1, .H = cases[i].H}, &cell));
    device_check(sparc_device_plan_create(under_test.device, cell, cases[i].B, cases[i].T, NULL, &plan));
    assert_int_equal(sparc_device_plan_sizes_of(plan).chunks, cases[i].chunks);
    sparc_device_plan_free(plan);
    sparc_cell_free(cell);
  }
}

/* ---- errors --------------------------------------------------------------------------------------- */

static void expect_failure(sparc_status got, sparc_status want, const char *message) {
  if (got != want || !strstr(sparc_error(), message))
    fail_msg("status %s, '%s'; expected %s, '%s'", sparc_status_name(got), sparc_error(), sparc_status_name(want),
             message);
}

static void test_names(void **state) {
  (void)state;
  sparc_device *opened = under_test.device;
  int count;
  expect_failure(sparc_device_describe("openc", 0, NULL, &count), SPARC_INVALID, "did you mean 'opencl'?");
  expect_failure(sparc_device_open(&(sparc_device_config){.backend = "metal"}, &opened), SPARC_INVALID,
                 "unknown backend 'metal'");
  assert_null(opened);
  setenv("SPARC_DEVICE", "opencl:x", 1);
  expect_failure(sparc_device_open(NULL, &opened), SPARC_INVALID, "has no index after the colon");
  setenv("SPARC_DEVICE", "opencl:77", 1);
  assert_int_not_equal(sparc_device_open(NULL, &opened), SPARC_OK);
  assert_true(strstr(sparc_error(), "opencl:77 does not exist") || strstr(sparc_error(), "opencl has no device"));
  unsetenv("SPARC_DEVICE");
  expect_failure(sparc_device_open(NULL, NULL), SPARC_INVALID, "out is NULL");
  sparc_device_close(NULL);
  sparc_memory_free(NULL);
  sparc_device_plan_free(NULL);
  assert_int_equal(sparc_device_plan_sizes_of(NULL).work, 0);
}

/* a program that names no device gets a GPU or nothing */
static void test_no_implicit_cpu(void **state) {
  (void)state;
  sparc_device *opened = NULL;
  if (sparc_device_open(NULL, &opened) == SPARC_OK)
    assert_int_equal(sparc_device_info_of(opened).cpu, 0);
  else
    assert_non_null(strstr(sparc_error(), "no backend has a GPU"));
  sparc_device_close(opened);
}

static sparc_status describe_without(int index, sparc_device_info *info) {
  (void)index;
  *info = (sparc_device_info){.name = "small",
                              .memory = 1 << 30,
                              .largest = 1 << 30,
                              .usable = 1,
                              .missing = "fp64, fused multiply-add, denormals"};
  return SPARC_OK;
}

/* what a device lacks for exact arithmetic is named, and the fast mode */
static void test_missing_capabilities(void **state) {
  (void)state;
  device_backend lacking = backend_opencl;
  sparc_device *opened = NULL;
  lacking.describe = describe_without;
  expect_failure(device_open_on(&lacking, &(sparc_device_config){.cache = ""}, 0, &opened), SPARC_UNSUPPORTED,
                 "lacks fp64, fused multiply-add, denormals, which exact arithmetic needs; --fast (fast = 1) does "
                 "without");
  assert_null(opened);
}

/* which keeps the tolerances */
static void test_fast(void **state) {
  (void)state;
  need_device();
  if (under_test.random_shapes == 0) {
    print_message("skipped: fast arithmetic needs a COUNT, as in make test-device\n");
    return;
  }
  sparc_device *const exact = under_test.device;
  const device_case c = {"sparc", "", 7, 33};
  device_backend lacking = *exact->backend;
  lacking.describe = describe_without;
  device_check(device_open_on(&lacking, &(sparc_device_config){.cache = "", .fast = 1}, under_test.config.index,
                              &under_test.device));
  compare(&c, 2, 70, MASK_RANDOM, 2, false, 1);
  sparc_device_close(under_test.device);
  under_test.device = exact;
}

static void test_plans_refused(void **state) {
  (void)state;
  need_device();
  const struct {
    sparc_cell_config config;
    int B, T, chunks;
    sparc_status status;
    const char *message;
  } cases[] = {
      {{.kind = "gru", .D = 2, .H = 2}, 1, 1, 0, SPARC_UNSUPPORTED, "cell gru does not run on devices"},
      {{.kind = "sparc", .D = 2, .H = 2, .options = "variant=unshared-control"},
       1,
       1,
       0,
       SPARC_UNSUPPORTED,
       "controls that its modes do not share does not run"},
      {{.kind = "sparc", .D = 2, .H = 4, .options = "groups=2"},
       1,
       1,
       0,
       SPARC_UNSUPPORTED,
       "controls that its modes do not share does not run"},
      {{.kind = "sparc", .D = 2, .H = 2, .options = "hidden=2"},
       1,
       1,
       0,
       SPARC_UNSUPPORTED,
       "a hidden layer before its controllers does not run"},
      {{.kind = "rtu", .D = 2, .H = 2}, 0, 1, 0, SPARC_INVALID, "B is 0"},
      {{.kind = "rtu", .D = 2, .H = 2}, 1, 1, 17, SPARC_INVALID, "chunks is 17"},
      {{.kind = "rtu", .D = 2, .H = 2}, 1 << 16, 1 << 16, 0, SPARC_INVALID, "32-bit offsets"},
      {{.kind = "rtu", .D = 512, .H = 512}, 1 << 20, 1 << 10, 0, SPARC_NO_MEMORY, "would fit"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    sparc_cell *cell;
    sparc_device_plan *plan;
    device_check(sparc_cell_create(&cases[i].config, &cell));
    const sparc_device_plan_config config = {.chunks = cases[i].chunks};
    expect_failure(sparc_device_plan_create(under_test.device, cell, cases[i].B, cases[i].T, &config, &plan),
                   cases[i].status, cases[i].message);
    assert_null(plan);
    sparc_cell_free(cell);
  }
}

static void test_memory(void **state) {
  (void)state;
  need_device();
  const sparc_slice block = device_block(under_test.device, 100);
  char bytes[200] = {0};
  sparc_memory *huge;
  for (int i = 0; i < 100; i++) bytes[i] = 1;
  device_check(sparc_memory_read(block, bytes, 100));
  for (int i = 0; i < 100; i++) assert_int_equal(bytes[i], 0);
  expect_failure(sparc_memory_write(block, bytes, 101), SPARC_INVALID, "ends past its block");
  expect_failure(sparc_memory_read((sparc_slice){block.memory, 101}, bytes, 0), SPARC_INVALID, "ends past its block");
  expect_failure(sparc_memory_read((sparc_slice){NULL, 0}, bytes, 1), SPARC_INVALID, "has no memory");
  expect_failure(sparc_memory_copy(block, (sparc_slice){block.memory, 10}, 20), SPARC_INVALID, "overlap");
  expect_failure(sparc_memory_create(under_test.device, (size_t)1 << 62, &huge), SPARC_NO_MEMORY, "too large for");
  expect_failure(sparc_memory_create(under_test.device, 0, &huge), SPARC_INVALID, "bytes is 0");
  memcpy(bytes, "abcdefgh", 8);
  device_check(sparc_memory_write(block, bytes, 8));
  device_check(sparc_memory_copy(block, (sparc_slice){block.memory, 50}, 8));
  device_check(sparc_memory_read((sparc_slice){block.memory, 50}, bytes + 100, 8));
  assert_memory_equal(bytes, bytes + 100, 8);
  sparc_memory_free(block.memory);
}

/* a small plan with its arrays in one block, for calls that fail */
typedef struct small_plan {
  sparc_cell *cell;
  sparc_device_plan *plan;
  sparc_slice prepared, saved, work, arrays;
  sparc_device_sequence sequence;
} small_plan;

enum { SMALL_T = 5, SMALL_D = 3, SMALL_H = 2 };

static small_plan make_small(const char *kind) {
  small_plan s = {.cell = NULL};
  device_check(sparc_cell_create(&(sparc_cell_config){.kind = kind, .D = SMALL_D, .H = SMALL_H}, &s.cell));
  device_check(sparc_device_plan_create(under_test.device, s.cell, 1, SMALL_T, NULL, &s.plan));
  s.prepared = device_block(under_test.device, sparc_device_plan_sizes_of(s.plan).prepared);
  s.saved = device_block(under_test.device, sparc_device_plan_sizes_of(s.plan).saved);
  s.work = device_block(under_test.device, sparc_device_plan_sizes_of(s.plan).work);
  s.arrays = device_block(under_test.device, 4096);
  s.sequence = (sparc_device_sequence){.x = s.arrays, .mask = {s.arrays.memory, 1024}, .y = {s.arrays.memory, 2048}};
  return s;
}

static void free_small(small_plan *s) {
  const sparc_slice all[] = {s->prepared, s->saved, s->work, s->arrays};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) sparc_memory_free(all[i].memory);
  sparc_device_plan_free(s->plan);
  sparc_cell_free(s->cell);
}

/* a mask that is none is reported once, by the next wait; the call itself only enqueues */
static void test_masks(void **state) {
  (void)state;
  need_device();
  static const char *const kinds[] = {"sparc", "rtu"};
  for (size_t k = 0; k < 2; k++) {
    small_plan s = make_small(kinds[k]);
    const float mask[SMALL_T] = {1, 0, 1, 0.5f, 1};
    device_check(sparc_memory_write(s.sequence.mask, mask, sizeof mask));
    device_check(sparc_device_forward(s.plan, s.prepared, &s.sequence, s.saved, s.work));
    expect_failure(sparc_device_wait(under_test.device), SPARC_INVALID, "element 3 of a mask is neither 0 nor 1");
    device_check(sparc_device_wait(under_test.device));
    free_small(&s);
  }
}

static void test_arguments(void **state) {
  (void)state;
  need_device();
  small_plan s = make_small("rtu");
  sparc_device_sequence bad = s.sequence;
  const sparc_slice none = {NULL, 0};
  expect_failure(sparc_device_forward(NULL, s.prepared, &bad, s.saved, s.work), SPARC_INVALID, "plan is NULL");
  bad.x = none;
  expect_failure(sparc_device_forward(s.plan, s.prepared, &bad, s.saved, s.work), SPARC_INVALID,
                 "sequence.x is absent");
  bad.x = (sparc_slice){s.arrays.memory, 2};
  expect_failure(sparc_device_forward(s.plan, s.prepared, &bad, s.saved, s.work), SPARC_INVALID, "a multiple of 4");
  bad.x = (sparc_slice){s.arrays.memory, 4092};
  expect_failure(sparc_device_forward(s.plan, s.prepared, &bad, s.saved, s.work), SPARC_INVALID,
                 "sequence.x ends past its block");
  expect_failure(sparc_device_forward(s.plan, s.prepared, &s.sequence, none, s.work), SPARC_INVALID, "saved is absent");
  expect_failure(
      sparc_device_backward(s.plan, s.prepared, &s.sequence, s.saved, &(sparc_device_gradient){.dy = none}, s.work),
      SPARC_INVALID, "gradient.dy is absent");
  float *params = sparc_alloc(4096);
  params[1] = NAN;
  device_check(sparc_memory_write(s.arrays, params, 1024));
  expect_failure(sparc_device_prepare(s.plan, s.arrays, s.prepared), SPARC_NOT_FINITE, "element 1 of log_decay is");
  sparc_free(params);
  free_small(&s);
}

/* ---- a driver that fails --------------------------------------------------------------------------- */

static const device_backend *real;
static int calls_left; /* before everything fails */

static bool fails(void) { return calls_left-- <= 0; }
static sparc_status lost(void) { return SPARC_DEVICE; }

static sparc_status failing_open(int index, void **context) { return fails() ? lost() : real->open(index, context); }
static sparc_status failing_allocate(void *context, size_t bytes, void **buffer) {
  return fails() ? SPARC_NO_MEMORY : real->allocate(context, bytes, buffer);
}
static sparc_status failing_write(void *context, void *buffer, size_t offset, const void *from, size_t bytes) {
  return fails() ? lost() : real->write(context, buffer, offset, from, bytes);
}
static sparc_status failing_read(void *context, void *buffer, size_t offset, void *to, size_t bytes) {
  return fails() ? lost() : real->read(context, buffer, offset, to, bytes);
}
static sparc_status failing_load(void *context, const program_binary *binary, bool fast, void **program) {
  return fails() ? lost() : real->load(context, binary, fast, program);
}
static sparc_status failing_build(void *context, const char *text, bool fast, void **program) {
  return fails() ? SPARC_DEVICE : real->build(context, text, fast, program);
}
static sparc_status failing_kernel(void *context, void *program, const char *name, void **kernel) {
  return fails() ? lost() : real->kernel(context, program, name, kernel);
}
static sparc_status failing_launch(void *context, const kernel_launch *launch) {
  return fails() ? lost() : real->launch(context, launch);
}
static sparc_status failing_wait(void *context) { return fails() ? lost() : real->wait(context); }

static sparc_status try_everything(const device_backend *backend, sparc_device **opened, sparc_cell *cell) {
  sparc_device_plan *plan = NULL;
  sparc_memory *memory = NULL;
  const sparc_device_config config = {.cache = in_folder("failing")}; /* compiling every time takes long */
  sparc_status status = device_open_on(backend, &config, 0, opened);
  if (status == SPARC_OK) status = sparc_device_plan_create(*opened, cell, 1, SMALL_T, NULL, &plan);
  if (status == SPARC_OK) status = sparc_memory_create(*opened, 1 << 20, &memory);
  const sparc_slice at = {memory, 0}, prepared = {memory, 1 << 16}, saved = {memory, 2 << 16}, work = {memory, 3 << 16};
  const sparc_device_sequence sequence = {.x = at, .y = {memory, 4 << 16}};
  const sparc_device_gradient gradient = {
      .dy = {memory, 5 << 16}, .dx = {memory, 6 << 16}, .dparams = {memory, 7 << 16}};
  if (status == SPARC_OK) status = sparc_device_prepare(plan, at, prepared);
  if (status == SPARC_OK) status = sparc_device_forward(plan, prepared, &sequence, saved, work);
  if (status == SPARC_OK) status = sparc_device_backward(plan, prepared, &sequence, saved, &gradient, work);
  if (status == SPARC_OK) status = sparc_device_wait(*opened);
  sparc_memory_free(memory);
  sparc_device_plan_free(plan);
  sparc_device_close(*opened);
  *opened = NULL;
  return status;
}

/* whichever call of the driver fails first, the caller hears of it, and nothing is lost */
static void test_failing_driver(void **state) {
  (void)state;
  need_device();
  sparc_cell *cell;
  sparc_device *opened = NULL;
  real = under_test.device->backend;
  device_backend failing = *real;
  failing.open = failing_open;
  failing.allocate = failing_allocate;
  failing.write = failing_write;
  failing.read = failing_read;
  failing.build = failing_build;
  failing.load = failing_load;
  failing.kernel = failing_kernel;
  failing.launch = failing_launch;
  failing.wait = failing_wait;
  device_check(sparc_cell_create(&(sparc_cell_config){.kind = "rtu", .D = SMALL_D, .H = SMALL_H}, &cell));
  int calls = 0;
  for (sparc_status status = SPARC_DEVICE; status != SPARC_OK; calls++) {
    assert_true(calls < 100);
    calls_left = calls;
    status = try_everything(&failing, &opened, cell);
    if (status != SPARC_OK && status != SPARC_DEVICE && status != SPARC_NO_MEMORY) fail_msg("%s", sparc_error());
  }
  assert_true(calls > 15);
  sparc_cell_free(cell);
}

/* ---- the cache of kernels -------------------------------------------------------------------------- */

static char log_text[4096];

static void keep_log(void *user, const char *line) {
  (void)user;
  const size_t used = strlen(log_text);
  snprintf(log_text + used, sizeof log_text - used, "%s\n", line);
}

/* a plan on a device of its own with this cache; the log of making it is in log_text */
static void make_plan_with_cache(const char *cache) {
  sparc_device_config config = under_test.config;
  sparc_device *own;
  sparc_device_plan *plan;
  sparc_cell *cell;
  config.cache = cache;
  log_text[0] = '\0';
  sparc_set_log(keep_log, NULL);
  device_check(sparc_device_open(&config, &own));
  device_check(sparc_cell_create(&(sparc_cell_config){.kind = "rtu", .D = SMALL_D, .H = SMALL_H}, &cell));
  device_check(sparc_device_plan_create(own, cell, 1, SMALL_T, NULL, &plan));
  sparc_set_log(NULL, NULL);
  sparc_device_plan_free(plan);
  sparc_cell_free(cell);
  sparc_device_close(own);
}

/* the only entry of a folder; false: there is none */
static bool find_entry(const char *cache, char path[PATH_MAX]) {
  DIR *entries = opendir(cache);
  int count = 0;
  for (struct dirent *entry; entries && (entry = readdir(entries));)
    if (entry->d_name[0] != '.') count += snprintf(path, PATH_MAX, "%s/%s", cache, entry->d_name) > 0;
  if (entries) closedir(entries);
  assert_true(count <= 1);
  return count == 1;
}

static long size_of(const char *path) {
  struct stat status;
  assert_int_equal(stat(path, &status), 0);
  return (long)status.st_size;
}

static void change_byte(const char *path, long at) {
  FILE *file = fopen(path, "r+b");
  assert_non_null(file);
  assert_int_equal(fseek(file, at, SEEK_SET), 0);
  const int byte = fgetc(file);
  assert_int_equal(fseek(file, at, SEEK_SET), 0);
  assert_int_equal(fputc(byte ^ 1, file), byte ^ 1);
  assert_int_equal(fclose(file), 0);
}

static void test_cache(void **state) {
  (void)state;
  need_device();
  char cache[PATH_MAX], path[PATH_MAX], other[PATH_MAX];
  snprintf(cache, sizeof cache, "%s", in_folder("cache/kernels"));
  make_plan_with_cache(cache);
  if (!find_entry(cache, path)) fail_msg("no kernels in the cache: %s", log_text);
  const long size = size_of(path);
  make_plan_with_cache(cache);
  assert_null(strstr(log_text, "cache"));

  /* damaged: header, binary, an end that is missing or too long */
  const long places[] = {3, 200, size / 2, size - 1};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    change_byte(path, places[i]);
    make_plan_with_cache(cache);
    if (!strstr(log_text, "is damaged")) fail_msg("byte %ld of %ld may change: %s", places[i], size, log_text);
    make_plan_with_cache(cache);
    assert_null(strstr(log_text, "is damaged"));
  }
  assert_int_equal(truncate(path, size - 1), 0);
  make_plan_with_cache(cache);
  assert_non_null(strstr(log_text, "is damaged"));

  /* a link is not followed, but replaced */
  snprintf(other, sizeof other, "%s", in_folder("elsewhere"));
  assert_int_equal(rename(path, other), 0);
  assert_int_equal(symlink(other, path), 0);
  change_byte(other, size - 1);
  make_plan_with_cache(cache);
  struct stat status;
  assert_int_equal(lstat(path, &status), 0);
  assert_true(S_ISREG(status.st_mode));

  /* a folder that others may write is not used */
  assert_int_equal(unlink(path), 0);
  assert_int_equal(chmod(cache, 0777), 0);
  make_plan_with_cache(cache);
  assert_non_null(strstr(log_text, "writable by nobody else"));
  assert_false(find_entry(cache, path));
}

/* ---- declarations of opencl_api.h ---- ---------------------------------------------------------------- */

#if defined(__has_include)
#if __has_include(<CL/cl.h>)
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#define HAVE_CL_HEADER 1
#endif
#endif

static void test_opencl_numbers(void **state) {
  (void)state;
#ifdef HAVE_CL_HEADER
  static const struct {
    const char *name;
    long long value;
  } numbers[] = {
#define NUMBER(name) {#name, (long long)(name)}
      NUMBER(CL_DEVICE_NOT_FOUND),
      NUMBER(CL_DEVICE_NOT_AVAILABLE),
      NUMBER(CL_MEM_OBJECT_ALLOCATION_FAILURE),
      NUMBER(CL_OUT_OF_RESOURCES),
      NUMBER(CL_OUT_OF_HOST_MEMORY),
      NUMBER(CL_BUILD_PROGRAM_FAILURE),
      NUMBER(CL_INVALID_COMMAND_QUEUE),
      NUMBER(CL_INVALID_BINARY),
      NUMBER(CL_INVALID_BUFFER_SIZE),
      NUMBER(CL_PLATFORM_NAME),
      NUMBER(CL_DEVICE_MAX_COMPUTE_UNITS),
      NUMBER(CL_DEVICE_MAX_WORK_GROUP_SIZE),
      NUMBER(CL_DEVICE_MAX_MEM_ALLOC_SIZE),
      NUMBER(CL_DEVICE_SINGLE_FP_CONFIG),
      NUMBER(CL_DEVICE_GLOBAL_MEM_SIZE),
      NUMBER(CL_DEVICE_LOCAL_MEM_SIZE),
      NUMBER(CL_DEVICE_COMPILER_AVAILABLE),
      NUMBER(CL_DEVICE_NAME),
      NUMBER(CL_DRIVER_VERSION),
      NUMBER(CL_DEVICE_DOUBLE_FP_CONFIG),
      NUMBER(CL_PROGRAM_BINARY_SIZES),
      NUMBER(CL_PROGRAM_BINARIES),
      NUMBER(CL_PROGRAM_BUILD_LOG),
      NUMBER(CL_FP_DENORM),
      NUMBER(CL_FP_FMA),
      NUMBER(CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT),
      NUMBER(CL_MEM_READ_WRITE),
      NUMBER(CL_DEVICE_TYPE),
      NUMBER(CL_DEVICE_TYPE_CPU),
      NUMBER(CL_DEVICE_TYPE_ALL),
#undef NUMBER
  };
  /* our own declarations, as text: both headers cannot be included in one file */
  FILE *file = fopen(SPARC_SOURCE_DIR "/src/device/opencl_api.h", "r");
  assert_non_null(file);
  char line[512];
  size_t found = 0;
  while (fgets(line, sizeof line, file))
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
      const char *at = strstr(line, numbers[i].name);
      const size_t length = strlen(numbers[i].name);
      if (!at || (strncmp(at + length, " = ", 3) != 0 && strncmp(at + length, " UINT64_C(", 10) != 0)) continue;
      const char *value = strpbrk(at + length, "(=") + 1;
      long long number = strtoll(value, NULL, 0);
      const char *shift = strstr(value, "<< ");
      if (shift && shift - value < 6) number <<= strtol(shift + 3, NULL, 10);
      if (number != numbers[i].value) fail_msg("%s is %lld, not %lld", numbers[i].name, numbers[i].value, number);
      found++;
    }
  fclose(file);
  assert_int_equal(found, sizeof numbers / sizeof *numbers);
#else
  print_message("skipped: no <CL/cl.h> (Debian: opencl-c-headers)\n");
#endif
}

int main(int argc, char **argv) {
  device_arguments(argc, argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_opencl_numbers),
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_no_implicit_cpu),
      cmocka_unit_test(test_missing_capabilities),
      cmocka_unit_test(test_fast),
      cmocka_unit_test(test_memory),
      cmocka_unit_test(test_plans_refused),
      cmocka_unit_test(test_cells),
      cmocka_unit_test(test_bf16),
      cmocka_unit_test(test_small_decay),
      cmocka_unit_test(test_repeats),
      cmocka_unit_test(test_resets),
      cmocka_unit_test(test_chunks),
      cmocka_unit_test(test_masks),
      cmocka_unit_test(test_arguments),
      cmocka_unit_test(test_failing_driver),
      cmocka_unit_test(test_cache),
      cmocka_unit_test(test_random),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
