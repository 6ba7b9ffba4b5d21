/* SPDX-License-Identifier: MIT */
/* test_fork.c: a process that was forked after its parent's threads have worked computes the same bits, and ends. */
#include "base/threads.h"
#include "sparc/sparc.h"
#include "unit.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { B = 4, T = 300, D = 3, H = 16, THREADS = 4, SECONDS = 60 };

/* outputs and gradients of one call */
typedef struct outcome {
  float y[B * T * 2 * H], dx[B * T * D], dparams[400];
} outcome;

static sparc_cell *cell;
static float params[400], prepared[4096], x[B * T * D], dy[B * T * 2 * H];

static int create(void **state) {
  (void)state;
  if (sparc_cell_create(&(sparc_cell_config){.kind = "sparc", .D = D, .H = H}, &cell) != SPARC_OK) return -1;
  const sparc_cell_sizes n = sparc_cell_sizes_of(cell);
  assert_true(n.params <= sizeof params / sizeof *params && n.prepared <= sizeof prepared / sizeof *prepared);
  for (int i = 0; i < B * T * D; i++) x[i] = sinf(0.7f * (float)i);
  for (int i = 0; i < B * T * 2 * H; i++) dy[i] = cosf(0.3f * (float)i);
  assert_int_equal(sparc_cell_init(cell, SPARC_INIT_CLASSIFICATION, 1, NULL, params), SPARC_OK);
  return sparc_prepare(cell, params, prepared) == SPARC_OK ? 0 : -1;
}

static int destroy(void **state) {
  (void)state;
  sparc_cell_free(cell);
  return 0;
}

static void compute(outcome *out) {
  sparc_plan *plan;
  memset(out, 0, sizeof *out);
  assert_int_equal(sparc_plan_create(cell, B, T, &(sparc_plan_config){.threads = THREADS}, &plan), SPARC_OK);
  void *saved = sparc_alloc(sparc_plan_sizes_of(plan, SPARC_FLOAT32).saved),
       *work = sparc_alloc(sparc_plan_sizes_of(plan, SPARC_FLOAT32).work);
  const sparc_sequence io = {.x = x, .y = out->y};
  const sparc_sequence_gradient gradient = {.dy = dy, .dx = out->dx, .dparams = out->dparams};
  assert_int_equal(sparc_forward(plan, prepared, &io, saved, work), SPARC_OK);
  assert_int_equal(sparc_backward(plan, prepared, &io, saved, &gradient, work), SPARC_OK);
  sparc_free(saved);
  sparc_free(work);
  sparc_plan_free(plan);
}

static outcome *shared_outcome(void) {
  outcome *out = mmap(NULL, sizeof *out, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_ptr_not_equal(out, MAP_FAILED);
  return out;
}

/* a child computes, and a child of this one if there are more generations; an alarm ends what hangs */
static void compute_in_child(outcome *out, int generations) {
  const pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    alarm(SECONDS);
    compute(out);
    if (generations > 1) compute_in_child(out, generations - 1);
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  if (WIFSIGNALED(status)) fail_msg("the child ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
  assert_int_equal(WEXITSTATUS(status), 0);
}

static void compare_with_child(int generations) {
  outcome *here = shared_outcome(), *there = shared_outcome();
  compute(here);
  compute_in_child(there, generations);
  assert_memory_equal(there, here, sizeof *here);
  compute(here); /* the parent's threads are as they were */
  assert_memory_equal(there, here, sizeof *here);
  munmap(here, sizeof *here);
  munmap(there, sizeof *there);
}

static void a_child_computes(void **state) {
  (void)state;
  compare_with_child(1);
}

static void a_grandchild_computes(void **state) {
  (void)state;
  compare_with_child(2);
}

static void *compare_on_thread(void *argument) {
  (void)argument;
  compare_with_child(1);
  return NULL;
}

/* the thread sanitizer starts no threads in a child of several */
static void a_thread_forks(void **state) {
  (void)state;
#ifdef __SANITIZE_THREAD__
  skip();
#endif
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, compare_on_thread, NULL), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
}

/* a process without a team of threads leaves its children the executor that it has */
static void a_child_of_one_thread_keeps_its_executor(void **state) {
  (void)state;
  const char *before = thread_executor();
  const pid_t pid = fork();
  if (pid == 0) _exit(strcmp(thread_executor(), before) != 0);
  int status;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_child_of_one_thread_keeps_its_executor),
      cmocka_unit_test(a_child_computes),
      cmocka_unit_test(a_grandchild_computes),
      cmocka_unit_test(a_thread_forks),
  };
  return cmocka_run_group_tests(tests, create, destroy);
}
