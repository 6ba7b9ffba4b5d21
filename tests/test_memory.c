/* SPDX-License-Identifier: MIT */
/* test_memory.c: no allocation inside step, forward and backward; every failing allocation is survived.
 *
 * The program replaces malloc and its relatives for itself and for every library it uses, so BLAS, the thread runtime
 * and the JSON library are counted too. A sanitizer brings its own allocator: there the tests are skipped.
 */
#include "kernels/kernels.h"
#include "scratch.h"
#include "support.h"
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_ALLOCATOR 0
#else
#define OWN_ALLOCATOR 1
#endif

static long allocations; /* since the program started */
static long live;        /* allocated and not freed */
static long fail_at;     /* the allocation with this number fails; 0: none */

#if OWN_ALLOCATOR
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *memory);

static bool refuse(void) {
  const long number = __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
  if (fail_at && number == fail_at) {
    errno = ENOMEM;
    return true;
  }
  return false;
}

static void *counted(void *memory) {
  if (memory) __atomic_add_fetch(&live, 1, __ATOMIC_RELAXED);
  return memory;
}

void *malloc(size_t size) { return refuse() ? NULL : counted(__libc_malloc(size)); }
void *calloc(size_t count, size_t size) { return refuse() ? NULL : counted(__libc_calloc(count, size)); }
void *memalign(size_t alignment, size_t size);
void *memalign(size_t alignment, size_t size) { return refuse() ? NULL : counted(__libc_memalign(alignment, size)); }
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **memory, size_t alignment, size_t size) {
  *memory = memalign(alignment, size);
  return *memory ? 0 : ENOMEM;
}
void *realloc(void *memory, size_t size) {
  if (refuse()) return NULL;
  void *moved = __libc_realloc(memory, size);
  if (!memory && moved) __atomic_add_fetch(&live, 1, __ATOMIC_RELAXED);
  return moved;
}
void free(void *memory) {
  if (memory) __atomic_sub_fetch(&live, 1, __ATOMIC_RELAXED);
  __libc_free(memory);
}
#endif

static void need_own_allocator(void) {
  if (!OWN_ALLOCATOR) skip();
}

static const char *options_of(const char *kind) {
  if (strcmp(kind, "rglru") == 0) return "block=4";
  if (strcmp(kind, "mamba3") == 0) return "heads=3,head_dim=4,state=4";
  return NULL;
}

/* ---- nothing is allocated inside the calls -------------------------------------------------------- */

static long step_allocations(const problem *p) {
  float *params = sparc_alloc(p->n.params * sizeof *params), *prepared = sparc_alloc(p->n.prepared * sizeof *prepared);
  float *state = sparc_alloc(p->n.state * sizeof *state), *trace = sparc_alloc(p->n.trace * sizeof *trace);
  float *tape = sparc_alloc(p->n.tape * sizeof *tape), *y = sparc_alloc(p->n.output * sizeof *y);
  float *dparams = sparc_alloc(p->n.params * sizeof *dparams), *x = sparc_alloc((size_t)p->D * sizeof *x);
  sparc_lazy lazy = {.capacity = 2, .trace = trace};
  lazy.steps =
      sparc_alloc((sparc_rtrl_sizes_of(p->cell, &(sparc_rtrl_shape){.chunk = 2}).lazy + 1) * sizeof *lazy.steps);
  const long before = allocations;
  assert_int_equal(sparc_prepare(p->cell, params, prepared), SPARC_OK);
  assert_int_equal(sparc_step(p->cell, prepared, state, x, 1, y, tape), SPARC_OK);
  assert_int_equal(sparc_step_streams(p->cell, prepared, 1, state, x, NULL, y, tape, 1), SPARC_OK);
  if (p->n.trace) {
    for (int i = 0; i < 3; i++)
      assert_int_equal(sparc_lazy_update(p->cell, prepared, &lazy, tape, y, dparams, NULL), SPARC_OK);
    assert_int_equal(sparc_lazy_flush(p->cell, &lazy, dparams), SPARC_OK);
    assert_int_equal(sparc_step_rtrl(p->cell, prepared, state, trace, x, 1, y, tape), SPARC_OK);
    assert_int_equal(sparc_rtrl_gradient(p->cell, prepared, trace, tape, y, dparams, x), SPARC_OK);
  }
  const long count = allocations - before;
  void *blocks[] = {params, prepared, state, trace, tape, y, dparams, x, lazy.steps};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) sparc_free(blocks[i]);
  return count;
}

static long sequence_allocations(const problem *p, sparc_plan_config config) {
  const size_t tokens = (size_t)p->B * (size_t)p->T, states = (size_t)p->B * p->n.state;
  sparc_plan *plan;
  assert_int_equal(sparc_plan_create(p->cell, p->B, p->T, &config, &plan), SPARC_OK);
  float *params = sparc_alloc(p->n.params * sizeof *params), *prepared = sparc_alloc(p->n.prepared * sizeof *prepared);
  float *x = sparc_alloc(tokens * (size_t)p->D * sizeof *x), *y = sparc_alloc(tokens * p->n.output * sizeof *y);
  float *dx = sparc_alloc(tokens * (size_t)p->D * sizeof *dx), *dparams = sparc_alloc(p->n.params * sizeof *dparams);
  float *last = sparc_alloc(states * sizeof *last);
  void *saved = sparc_alloc(sparc_plan_sizes_of(plan, SPARC_FLOAT32).saved),
       *work = sparc_alloc(sparc_plan_sizes_of(plan, SPARC_FLOAT32).work);
  assert_int_equal(sparc_prepare(p->cell, params, prepared), SPARC_OK);
  const sparc_sequence io = {.x = x, .y = y, .state_last = last};
  const sparc_sequence_gradient gradient = {.dy = y, .dstate_last = last, .dx = dx, .dparams = dparams};
  /* the first round lets the thread team and the packing buffers of BLAS come into being */
  long count = 0;
  for (int round = 0; round < 2; round++) {
    const long before = allocations;
    assert_int_equal(sparc_forward(plan, prepared, &io, saved, work), SPARC_OK);
    assert_int_equal(sparc_backward(plan, prepared, &io, saved, &gradient, work), SPARC_OK);
    count = allocations - before;
  }
  void *blocks[] = {params, prepared, x, y, dx, dparams, last, saved, work};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) sparc_free(blocks[i]);
  sparc_plan_free(plan);
  return count;
}

static long bf16_allocations(const problem *p) {
  const size_t tokens = (size_t)p->B * (size_t)p->T;
  sparc_plan *plan;
  assert_int_equal(sparc_plan_create(p->cell, p->B, p->T, &(sparc_plan_config){.threads = 2}, &plan), SPARC_OK);
  float *params = sparc_alloc(p->n.params * sizeof *params), *prepared = sparc_alloc(p->n.prepared * sizeof *prepared);
  sparc_bf16 *x = sparc_alloc(tokens * (size_t)p->D * sizeof *x), *y = sparc_alloc(tokens * p->n.output * sizeof *y);
  void *saved = sparc_alloc(sparc_plan_sizes_of(plan, SPARC_BFLOAT16).saved),
       *work = sparc_alloc(sparc_plan_sizes_of(plan, SPARC_BFLOAT16).work);
  assert_int_equal(sparc_prepare(p->cell, params, prepared), SPARC_OK);
  const sparc_sequence_bf16 io = {.x = x, .y = y};
  const sparc_sequence_gradient_bf16 gradient = {.dy = y, .dx = x, .dparams = params};
  long count = 0;
  for (int round = 0; round < 2; round++) {
    const long before = allocations;
    assert_int_equal(sparc_forward_bf16(plan, prepared, &io, saved, work), SPARC_OK);
    assert_int_equal(sparc_backward_bf16(plan, prepared, &io, saved, &gradient, work), SPARC_OK);
    count = allocations - before;
  }
  void *blocks[] = {params, prepared, x, y, saved, work};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) sparc_free(blocks[i]);
  sparc_plan_free(plan);
  return count;
}

static void test_no_allocation_inside(void **unused) {
  (void)unused;
  need_own_allocator();
  sparc_random stream;
  sparc_random_init(&stream, 2, "memory", "inside");
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++) {
    const sparc_cell_config config = {.kind = *kind, .D = 9, .H = 140, .options = options_of(*kind)};
    problem p = problem_create(&config, 3, 300, MASK_RANDOM, &stream);
    assert_int_equal(step_allocations(&p), 0);
    assert_int_equal(sequence_allocations(&p, (sparc_plan_config){.threads = 1}), 0);
    assert_int_equal(sequence_allocations(&p, (sparc_plan_config){.threads = 2}), 0);
    if (p.n.trace) assert_int_equal(sequence_allocations(&p, (sparc_plan_config){.threads = 2, .chunk = 32}), 0);
    assert_int_equal(bf16_allocations(&p), 0);
    problem_free(&p);
  }
}

/* steps, targets and updates, with both passes of a horizon */
static void test_no_allocation_while_learning(void **unused) {
  (void)unused;
  need_own_allocator();
  for (int horizon = 0; horizon < 4; horizon += 3) {
    sparc_learner_config config = sparc_learner_defaults();
    config.network.inputs = 2;
    config.outputs = 1;
    config.horizon = horizon;
    sparc_learner *learner;
    assert_int_equal(sparc_learner_create(&config, &learner), SPARC_OK);
    const long before = allocations;
    for (int t = 0; t < 20; t++) {
      const float x[2] = {(float)t, 1}, target = (float)(t % 3);
      float y;
      assert_int_equal(sparc_learner_step(learner, x, &y), SPARC_OK);
      if (t >= horizon) assert_int_equal(sparc_learner_observe(learner, &target), SPARC_OK);
    }
    assert_int_equal(allocations - before, 0);
    assert_true(sparc_learner_report_of(learner).updates > 10);
    sparc_learner_free(learner);
  }
}

/* ---- every allocation may fail ---------------------------------------------------------------------- */

typedef sparc_status scenario(const char *argument);

/* fails the 1st, 2nd, ... allocation of a scenario until it succeeds: each time a status and nothing leaked */
static void survive(const char *name, scenario *run, const char *argument) {
  assert_int_equal(run(argument), SPARC_OK); /* what is allocated once per process is not a leak */
  for (long n = 1; n < 10000; n++) {
    const long live_before = live;
    fail_at = allocations + n;
    const sparc_status status = run(argument);
    const bool reached = allocations >= fail_at;
    fail_at = 0;
    if (live != live_before)
      fail_msg("%s %s: %ld blocks leaked when allocation %ld fails", name, argument, live - live_before, n);
    if (status == SPARC_OK && !reached) {
      assert_true(n > 1);
      return;
    }
    if (status == SPARC_OK) continue; /* the failure was not needed, for example a larger buffer for speed */
    if (status != SPARC_NO_MEMORY && !strstr(sparc_error(), "memory"))
      fail_msg("%s %s: allocation %ld fails with '%s'", name, argument, n, sparc_error());
  }
  fail_msg("%s %s never succeeds", name, argument);
}

static sparc_status create_all(const char *kind) {
  const sparc_cell_config config = {.kind = kind, .D = 3, .H = 8, .options = options_of(kind)};
  sparc_cell *cell = NULL;
  sparc_plan *plan = NULL;
  float params[4096];
  sparc_status status = sparc_cell_create(&config, &cell);
  if (status == SPARC_OK) {
    assert_true(sparc_cell_sizes_of(cell).params <= sizeof params / sizeof *params);
    status = sparc_cell_init(cell, SPARC_INIT_CONTROL, 1, NULL, params);
  } else {
    assert_null(cell);
  }
  if (status == SPARC_OK) status = sparc_plan_create(cell, 2, 5, NULL, &plan);
  if (status != SPARC_OK) assert_null(plan);
  sparc_plan_free(plan);
  sparc_cell_free(cell);
  return status;
}

static sparc_status read_vector(const char *path) {
  sparc_tensors *tensors = NULL;
  double x[2 * 19 * 5];
  sparc_status status = sparc_tensors_load(path, &tensors);
  if (status == SPARC_OK) status = sparc_tensors_read(tensors, "x", SPARC_F64, x, sizeof x / sizeof *x);
  sparc_tensors_free(tensors);
  return status;
}

static sparc_status write_tensors(const char *path) {
  const float values[6] = {1, 2, 3, 4, 5, 6};
  const sparc_tensor_source sources[] = {
      {.name = "a", .dtype = SPARC_F32, .rank = 2, .shape = {2, 3}, .in_type = SPARC_F32, .data = values},
      {.name = "b", .dtype = SPARC_F64, .rank = 1, .shape = {6}, .in_type = SPARC_F32, .data = values}};
  const sparc_metadata metadata[] = {{.key = "k", .value = "v"}};
  return sparc_tensors_save(path, sources, 2, metadata, 1);
}

static sparc_status learn_and_keep(const char *path) {
  sparc_learner_config config = sparc_learner_defaults();
  config.network.inputs = 1;
  config.network.H = 4;
  config.objective = SPARC_LEARN_FORECAST;
  config.horizon = 2;
  sparc_learner *learner, *restored = NULL;
  sparc_status status = sparc_learner_create(&config, &learner);
  for (int t = 0; t < 5 && status == SPARC_OK; t++) status = sparc_learner_step(learner, &(float){(float)t}, NULL);
  if (status == SPARC_OK) status = sparc_learner_save(learner, NULL, NULL, 0, path);
  if (status == SPARC_OK) status = sparc_learner_load(path, &restored);
  sparc_learner_free(learner);
  sparc_learner_free(restored);
  return status;
}

static void test_allocation_failures(void **unused) {
  (void)unused;
  need_own_allocator();
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++) survive("create", create_all, *kind);
  survive("read", read_vector, SPARC_SOURCE_DIR "/tests/vectors/sparc-full.safetensors");
  survive("write", write_tensors, in_folder("tensors"));
  survive("learn", learn_and_keep, in_folder("learner"));
}

/* ---- the workspace of a thread ---------------------------------------------------------------------- */

/* a product that packs blocks of its left factor */
enum { ROWS = 300, TERMS = 400, COLUMNS = 260 };

typedef struct multiplication {
  float *A, *B, *C;
  bool without_memory;
  long allocated;
} multiplication;

static void *multiply(void *context) {
  multiplication *m = context;
  const product_operands operands = {.M = ROWS,
                                     .N = COLUMNS,
                                     .K = TERMS,
                                     .A = m->A,
                                     .a_row = TERMS,
                                     .a_column = 1,
                                     .B = m->B,
                                     .b_row = COLUMNS,
                                     .C = m->C,
                                     .c_row = COLUMNS};
  const long before = allocations;
  if (m->without_memory) fail_at = before + 1;
  kernels_portable()->product(&operands);
  fail_at = 0;
  m->allocated = allocations - before;
  return NULL;
}

static void test_products_without_workspace(void **unused) {
  (void)unused;
  need_own_allocator();
  multiplication with = {.without_memory = false}, without = {.without_memory = true};
  float **arrays[] = {&with.A, &with.B, &with.C, &without.C};
  for (size_t i = 0; i < 4; i++) {
    *arrays[i] = sparc_alloc(ROWS * TERMS * sizeof(float));
    for (size_t k = 0; k < (size_t)ROWS * TERMS; k++) (*arrays[i])[k] = sinf((float)(k + i));
  }
  without.A = with.A;
  without.B = with.B;
  const long live_before = live;
  multiplication *both[] = {&with, &without};
  for (size_t i = 0; i < 2; i++) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, multiply, both[i]), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(both[i]->allocated, 1);
  }
  assert_memory_equal(with.C, without.C, ROWS * COLUMNS * sizeof(float));
  assert_true(live <= live_before + 1); /* what ended with its thread is free; the C library keeps a stack */
  for (size_t i = 0; i < 4; i++) sparc_free(*arrays[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_allocation_inside), cmocka_unit_test(test_products_without_workspace),
      cmocka_unit_test(test_no_allocation_while_learning), cmocka_unit_test(test_allocation_failures)};
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
