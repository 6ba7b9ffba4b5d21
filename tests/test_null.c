/* SPDX-License-Identifier: MIT */
/* test_null.c: every public function is called with NULL for every pointer, and those that work on an object again
 * with one pointer after the other left out. They return SPARC_INVALID and a message, with zero, or do nothing.
 *
 * A call runs in a process of its own, so that one that crashes is named and the others are still tried. The first list
 * must have the order of exported-symbols.txt: a new function that is not in it fails the test.
 */
#include "base/random.h"
#include "cells/cell.h"
#include "rtrl/rtrl_f64.h"
#include "seq/scan.h"
#include "seq/step_f64.h"
#include "sparc/sparc.h"
#include "unit.h"

#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_CALLS = 2048 };
enum { SURVIVED = 0, WRONG = 42 }; /* exit codes */

static const char *called[MAX_CALLS];
static size_t calls, bad;

/* true in the process that makes the call; the caller waits for it here */
static bool is_caller(const char *name) {
  assert_true(calls < MAX_CALLS);
  called[calls++] = name;
  fflush(NULL);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL}; /* cmocka would go on with the tests in the child */
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) signal(deadly[i], SIG_DFL);
    alarm(180); /* a call that hangs; the driver of a device takes long to load under valgrind */
    return true;
  }
  int how = 0;
  assert_int_equal(waitpid(child, &how, 0), child);
  if (WIFEXITED(how) && WEXITSTATUS(how) == SURVIVED) return false;
  print_error("%s(NULL...): %s\n", name, WIFEXITED(how) && WEXITSTATUS(how) == WRONG ? "wrong result" : "crashed");
  bad++;
  return false;
}

static void finish(bool correct) { _exit(correct ? SURVIVED : WRONG); }
static bool refused(sparc_status status) { return status == SPARC_INVALID && strstr(sparc_error(), "NULL"); }

#define CALL(name, condition)                \
  do                                         \
    if (is_caller(#name)) finish(condition); \
  while (0)
#define REFUSES(name, arguments) CALL(name, refused(name arguments)) /* SPARC_INVALID; the message has NULL */
#define ZERO(name, arguments)    CALL(name, !(name arguments))       /* NULL, zero, or a structure of them */
#define RETURNS(name, arguments) CALL(name, name arguments)          /* a value; also for functions without a pointer */
#define QUIET(name, arguments)   CALL(name, (name arguments, true))  /* returns */

static const char *const no_text = NULL;
static const sparc_slice nowhere = {NULL, 0};

/* ---- nothing at all -------------------------------------------------------------------------------- */

static void call_without_anything(void) {
  RETURNS(sparc_adam_defaults, ().beta1 > 0);
  REFUSES(sparc_adam_update, (NULL, NULL, 1, 1, 1, 1, 1, NULL, NULL, NULL));
  QUIET(sparc_agent_free, (NULL));
  ZERO(sparc_agent_info_of, (NULL).state_size);
  REFUSES(sparc_agent_load, (NULL, NULL));
  ZERO(sparc_agent_metadata, (NULL, NULL));
  REFUSES(sparc_agent_step, (NULL, NULL, NULL, 1, NULL, NULL));
  CALL(sparc_alloc, (sparc_free(sparc_alloc(0)), true));
  REFUSES(sparc_backward, (NULL, NULL, NULL, NULL, NULL, NULL));
  REFUSES(sparc_backward_bf16, (NULL, NULL, NULL, NULL, NULL, NULL));
  REFUSES(sparc_backward_f64, (NULL, NULL, NULL, NULL, NULL, NULL));
  QUIET(sparc_bf16_from_floats, (1, NULL, NULL));
  ZERO(sparc_cell_blocks, (NULL, NULL));
  ZERO(sparc_cell_config_of, (NULL).H);
  REFUSES(sparc_cell_create, (NULL, NULL));
  QUIET(sparc_cell_free, (NULL));
  REFUSES(sparc_cell_init, (NULL, SPARC_INIT_CONTROL, 1, NULL, NULL));
  REFUSES(sparc_cell_inspect, (NULL, NULL, 1, 1, NULL, NULL));
  RETURNS(sparc_cell_kinds, ());
  ZERO(sparc_cell_sizes_of, (NULL).params);
  ZERO(sparc_cell_spans, (NULL, NULL));
  QUIET(sparc_data_split_free, (NULL));
  REFUSES(sparc_data_split_load, (NULL, NULL, NULL));
  RETURNS(sparc_dataset_example, (NULL, 1).label == -1);
  REFUSES(sparc_dataset_fill_missing, (NULL));
  REFUSES(sparc_dataset_forecast, (NULL, 1));
  QUIET(sparc_dataset_free, (NULL));
  REFUSES(sparc_dataset_from_arrays, (NULL, NULL, NULL));
  ZERO(sparc_dataset_info_of, (NULL).count);
  REFUSES(sparc_dataset_load, (NULL, NULL, NULL));
  REFUSES(sparc_dataset_moments, (NULL, NULL, NULL));
  REFUSES(sparc_dataset_normalise, (NULL, NULL, NULL));
  REFUSES(sparc_dataset_parse, (NULL, 1, NULL, NULL, NULL));
  REFUSES(sparc_dataset_subset, (NULL, NULL, 1, NULL, NULL));
  ZERO(sparc_dataset_time, (NULL, 1, 1));
  REFUSES(sparc_device_backward, (NULL, nowhere, NULL, nowhere, NULL, nowhere));
  QUIET(sparc_device_close, (NULL));
  REFUSES(sparc_device_describe, (NULL, 0, NULL, NULL));
  REFUSES(sparc_device_forward, (NULL, nowhere, NULL, nowhere, nowhere));
  ZERO(sparc_device_info_of, (NULL).units);
  REFUSES(sparc_device_open, (NULL, NULL));
  REFUSES(sparc_device_plan_create, (NULL, NULL, 1, 1, NULL, NULL));
  QUIET(sparc_device_plan_free, (NULL));
  ZERO(sparc_device_plan_sizes_of, (NULL).work);
  REFUSES(sparc_device_prepare, (NULL, nowhere, nowhere));
  REFUSES(sparc_device_scan_backward, (NULL, nowhere, NULL, nowhere, NULL, nowhere));
  REFUSES(sparc_device_scan_create, (NULL, NULL, NULL));
  REFUSES(sparc_device_scan_forward, (NULL, nowhere, NULL, nowhere, nowhere));
  QUIET(sparc_device_scan_free, (NULL));
  REFUSES(sparc_device_scan_prepare, (NULL, nowhere, nowhere, nowhere));
  ZERO(sparc_device_scan_sizes_of, (NULL).work);
  REFUSES(sparc_device_step, (NULL, nowhere, NULL, nowhere));
  REFUSES(sparc_device_wait, (NULL));
  RETURNS(sparc_env_names, ());
  REFUSES(sparc_env_refuse, (no_text));
  REFUSES(sparc_envs_create, (NULL, NULL));
  QUIET(sparc_envs_free, (NULL));
  ZERO(sparc_envs_info_of, (NULL).state_bytes);
  REFUSES(sparc_envs_oracle, (NULL, NULL));
  REFUSES(sparc_envs_reset, (NULL, NULL));
  REFUSES(sparc_envs_restore, (NULL, NULL, 1));
  QUIET(sparc_envs_save, (NULL, NULL));
  REFUSES(sparc_envs_step, (NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  RETURNS(sparc_error, ());
  QUIET(sparc_floats_from_bf16, (1, NULL, NULL));
  REFUSES(sparc_forward, (NULL, NULL, NULL, NULL, NULL));
  REFUSES(sparc_forward_bf16, (NULL, NULL, NULL, NULL, NULL));
  REFUSES(sparc_forward_f64, (NULL, NULL, NULL, NULL, NULL));
  QUIET(sparc_free, (NULL));
  REFUSES(sparc_input_jacobian, (NULL, NULL, NULL, NULL));
  QUIET(sparc_inspection_free, (NULL));
  ZERO(sparc_layer_add_block, (NULL, NULL, SPARC_REGULAR, 1, 1, SPARC_START_ZEROS, 0));
  ZERO(sparc_layer_blocks, (NULL, NULL));
  ZERO(sparc_layer_inputs, (NULL));
  ZERO(sparc_layer_option, (NULL, NULL));
  REFUSES(sparc_lazy_flush, (NULL, NULL, NULL));
  REFUSES(sparc_lazy_update, (NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  REFUSES(sparc_learn_run_config_set, (NULL, NULL, NULL));
  REFUSES(sparc_learn_run_create, (NULL, NULL));
  QUIET(sparc_learn_run_free, (NULL));
  ZERO(sparc_learn_run_info_of, (NULL).learner);
  REFUSES(sparc_learn_run_line, (NULL, NULL, 0, NULL, NULL));
  ZERO(sparc_learn_run_result_of, (NULL).done);
  REFUSES(sparc_learn_run_save, (NULL));
  REFUSES(sparc_learner_create, (NULL, NULL));
  RETURNS(sparc_learner_defaults, ().learning_rate > 0);
  REFUSES(sparc_learner_forecast_score, (NULL, 0, NULL));
  QUIET(sparc_learner_free, (NULL));
  REFUSES(sparc_learner_freeze, (NULL, 1));
  ZERO(sparc_learner_info_of, (NULL).params);
  REFUSES(sparc_learner_interval, (NULL, NULL, NULL, NULL));
  REFUSES(sparc_learner_load, (NULL, NULL));
  REFUSES(sparc_learner_observe, (NULL, NULL));
  REFUSES(sparc_learner_observe_class, (NULL, 0));
  REFUSES(sparc_learner_periods, (NULL, 0, NULL));
  ZERO(sparc_learner_report_of, (NULL).steps);
  REFUSES(sparc_learner_reset_state, (NULL));
  REFUSES(sparc_learner_save, (NULL, NULL, NULL, 1, NULL));
  REFUSES(sparc_learner_step, (NULL, NULL, NULL));
  REFUSES(sparc_memory_copy, (nowhere, nowhere, 1));
  REFUSES(sparc_memory_create, (NULL, 1, NULL));
  QUIET(sparc_memory_free, (NULL));
  REFUSES(sparc_memory_read, (nowhere, NULL, 1));
  REFUSES(sparc_memory_write, (nowhere, NULL, 1));
  REFUSES(sparc_model_evaluate, (NULL, NULL, NULL));
  QUIET(sparc_model_free, (NULL));
  ZERO(sparc_model_info_of, (NULL).network);
  REFUSES(sparc_model_load, (NULL, 1, NULL));
  REFUSES(sparc_model_load_kinds, (NULL, NULL, 1, NULL));
  ZERO(sparc_model_metadata, (NULL, NULL));
  REFUSES(sparc_model_params, (NULL, NULL));
  REFUSES(sparc_model_parse, (NULL, 1, NULL, 1, NULL));
  REFUSES(sparc_model_predict, (NULL, NULL, NULL));
  REFUSES(sparc_model_step, (NULL, NULL, NULL, NULL));
  REFUSES(sparc_network_backward, (NULL, NULL, NULL, NULL, NULL));
  REFUSES(sparc_network_backward_f64, (NULL, NULL, NULL, NULL, NULL));
  ZERO(sparc_network_blocks, (NULL, NULL));
  ZERO(sparc_network_config_of, (NULL).H);
  REFUSES(sparc_network_create, (NULL, NULL));
  REFUSES(sparc_network_forward, (NULL, NULL, NULL, NULL));
  REFUSES(sparc_network_forward_f64, (NULL, NULL, NULL, NULL));
  QUIET(sparc_network_free, (NULL));
  REFUSES(sparc_network_init, (NULL, 1, NULL));
  REFUSES(sparc_network_inspect, (NULL, NULL, 1, 1, 1, NULL, NULL));
  REFUSES(sparc_network_plan_create, (NULL, 1, 1, 1, NULL));
  QUIET(sparc_network_plan_free, (NULL));
  ZERO(sparc_network_plan_work_bytes, (NULL, SPARC_FLOAT32));
  REFUSES(sparc_network_prepare, (NULL, NULL, NULL));
  REFUSES(sparc_network_prepare_f64, (NULL, NULL, NULL));
  REFUSES(sparc_network_rtrl_gradient, (NULL, NULL, SPARC_ENCODER_LOCAL, NULL, NULL, NULL, NULL, NULL));
  REFUSES(sparc_network_save, (NULL, NULL, NULL, NULL, 1, NULL));
  ZERO(sparc_network_sizes_of, (NULL).params);
  ZERO(sparc_network_spans, (NULL, NULL));
  REFUSES(sparc_network_step, (NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, 1));
  REFUSES(sparc_network_step_f64, (NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, 1));
  REFUSES(sparc_network_step_rtrl, (NULL, NULL, SPARC_ENCODER_LOCAL, NULL, NULL, NULL, 1, NULL, NULL));
  REFUSES(sparc_plan_create, (NULL, 1, 1, NULL, NULL));
  QUIET(sparc_plan_free, (NULL));
  ZERO(sparc_plan_sizes_of, (NULL, SPARC_FLOAT32).work);
  REFUSES(sparc_ppo_create, (NULL, NULL));
  REFUSES(sparc_ppo_defaults, (NULL, NULL));
  QUIET(sparc_ppo_free, (NULL));
  ZERO(sparc_ppo_info_of, (NULL).config);
  REFUSES(sparc_ppo_iterate, (NULL, NULL));
  REFUSES(sparc_ppo_load, (NULL, NULL, 1, NULL));
  REFUSES(sparc_ppo_save, (NULL, NULL, 1, NULL));
  REFUSES(sparc_prepare, (NULL, NULL, NULL));
  REFUSES(sparc_prepare_f64, (NULL, NULL, NULL));
  ZERO(sparc_random_below, (NULL, 1));
  QUIET(sparc_random_init, (NULL, 1, NULL, NULL));
  ZERO(sparc_random_normal, (NULL));
  ZERO(sparc_random_uniform, (NULL));
  REFUSES(sparc_record_boundary, (NULL, NULL, 1, 1, NULL, NULL));
  REFUSES(sparc_record_gradient, (NULL, NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1));
  REFUSES(sparc_record_step, (NULL, NULL, 1, 1, NULL));
  ZERO(sparc_rl_run_config_of, (NULL).folder);
  REFUSES(sparc_rl_run_config_set, (NULL, NULL, NULL));
  REFUSES(sparc_rl_run_create, (NULL, NULL));
  REFUSES(sparc_rl_run_execute, (NULL, NULL, NULL));
  QUIET(sparc_rl_run_free, (NULL));
  REFUSES(sparc_rl_run_load, (NULL, 1, NULL));
  ZERO(sparc_rl_run_result_of, (NULL).done);
  REFUSES(sparc_rtrl_batch_gradient, (NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1));
  REFUSES(sparc_rtrl_gradient, (NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  REFUSES(sparc_rtrl_gradient_f64, (NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  ZERO(sparc_rtrl_sizes_of, (NULL, NULL).lazy);
  REFUSES(sparc_rtrl_update, (NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  ZERO(sparc_run_config_of, (NULL).data);
  REFUSES(sparc_run_config_set, (NULL, NULL, NULL));
  REFUSES(sparc_run_create, (NULL, NULL));
  ZERO(sparc_run_data_of, (NULL).name);
  REFUSES(sparc_run_execute, (NULL, NULL, NULL));
  QUIET(sparc_run_free, (NULL));
  REFUSES(sparc_run_load, (NULL, 1, NULL));
  ZERO(sparc_run_result_of, (NULL).done);
  ZERO(sparc_samples_of_arrays, (NULL).count);
  ZERO(sparc_samples_of_dataset, (NULL).count);
  ZERO(sparc_samples_of_task, (NULL, 1).count);
  REFUSES(sparc_scan_backward, (NULL, NULL, NULL, NULL, NULL));
  REFUSES(sparc_scan_create, (NULL, NULL));
  REFUSES(sparc_scan_forward, (NULL, NULL, NULL));
  QUIET(sparc_scan_free, (NULL));
  REFUSES(sparc_scan_prepare, (NULL, NULL, NULL, NULL));
  ZERO(sparc_scan_sizes_of, (NULL).work);
  ZERO(sparc_schedule_learning_rate, (NULL, 1));
  QUIET(sparc_set_log, (NULL, NULL));
  RETURNS(sparc_status_name, (SPARC_OK));
  REFUSES(sparc_step, (NULL, NULL, NULL, NULL, 1, NULL, NULL));
  REFUSES(sparc_step_f64, (NULL, NULL, NULL, NULL, 1, NULL, NULL));
  REFUSES(sparc_step_rtrl, (NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL));
  REFUSES(sparc_step_rtrl_f64, (NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL));
  REFUSES(sparc_step_streams, (NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, 1));
  REFUSES(sparc_task_create, (NULL, NULL));
  QUIET(sparc_task_free, (NULL));
  RETURNS(sparc_task_names, ());
  ZERO(sparc_tensors_contents_of, (NULL).count);
  ZERO(sparc_tensors_find, (NULL, NULL));
  QUIET(sparc_tensors_free, (NULL));
  REFUSES(sparc_tensors_load, (NULL, NULL));
  ZERO(sparc_tensors_metadata_find, (NULL, NULL));
  REFUSES(sparc_tensors_parse, (NULL, 1, NULL, NULL));
  REFUSES(sparc_tensors_read, (NULL, NULL, SPARC_F32, NULL, 1));
  REFUSES(sparc_tensors_save, (NULL, NULL, 1, NULL, 1));
  REFUSES(sparc_trace_read, (NULL, NULL, NULL, NULL, NULL));
  RETURNS(sparc_train_defaults, (NULL).updates);
  REFUSES(sparc_trainer_create, (NULL, NULL, NULL));
  REFUSES(sparc_trainer_evaluate, (NULL, NULL, NULL));
  QUIET(sparc_trainer_free, (NULL));
  ZERO(sparc_trainer_info_of, (NULL).network);
  REFUSES(sparc_trainer_load, (NULL, NULL, NULL, 1, NULL));
  REFUSES(sparc_trainer_save, (NULL, NULL, NULL, 1, NULL));
  REFUSES(sparc_trainer_update, (NULL, NULL));
  RETURNS(sparc_version, ());
}

static void expect_survival(void) {
  if (bad) fail_msg("%zu of %zu calls did not survive NULL", bad, calls);
}

static void test_nothing(void **state) {
  (void)state;
  calls = bad = 0;
  call_without_anything();
  expect_survival();
}

/* the list above is the list of what is exported */
static void test_every_function(void **state) {
  (void)state;
  FILE *file = fopen(SPARC_SOURCE_DIR "/tests/exported-symbols.txt", "r");
  assert_non_null(file);
  char line[128];
  size_t i = 0;
  for (; fgets(line, sizeof line, file); i++) {
    line[strcspn(line, "\n")] = '\0';
    if (i >= calls || strcmp(called[i], line) != 0)
      fail_msg("call_without_anything has %s where exported-symbols.txt has %s", i < calls ? called[i] : "nothing",
               line);
  }
  fclose(file);
  assert_int_equal(i, calls);
}

/* ---- one pointer after the other ------------------------------------------------------------------ */

enum { BUFFER_SIZE = 1 << 20, BUFFERS = 16 };
static char buffers[BUFFERS][BUFFER_SIZE] __attribute__((aligned(64)));
static int place, left_out;

/* zeros of which there are enough, for every argument its own; NULL for the one that is left out */
static void *o(void) {
  const int here = place++;
  if (here >= BUFFERS) _exit(WRONG);
  return here == left_out ? NULL : buffers[here];
}

/* makes the call once for every o() in it, whose number is `pointers`; optional arguments may be NULL */
#define EACH(pointers, name, arguments)                 \
  for (left_out = 0; left_out < (pointers); left_out++) \
  CALL(name, (place = 0, (void)(name arguments), place == (pointers)))

typedef struct objects {
  sparc_cell *cell;
  sparc_plan *plan;
  sparc_network *network;
  sparc_network_plan *network_plan;
  sparc_scan *scan;
  sparc_dataset *dataset;
  sparc_envs *envs;
  sparc_tensors *tensors;
  sparc_model *model;
  sparc_random random;
} objects;

static void make_objects(objects *m) {
  static const char rows[] = "1,2,a\n3,4,b\n",
                    checkpoint[] = SPARC_SOURCE_DIR "/tests/checkpoints/format-1-task.safetensors";
  const sparc_head_config head = {.name = "head", .input = SPARC_HEAD_STEPS, .outputs = 2};
  const sparc_network_config network = {.cell = "sparc", .H = 3, .inputs = 2, .head = &head, .heads = 1};
  assert_int_equal(sparc_cell_create(&(sparc_cell_config){.kind = "sparc", .D = 2, .H = 3}, &m->cell), SPARC_OK);
  assert_int_equal(sparc_plan_create(m->cell, 1, 2, &(sparc_plan_config){.threads = 1}, &m->plan), SPARC_OK);
  assert_int_equal(sparc_network_create(&network, &m->network), SPARC_OK);
  assert_int_equal(sparc_network_plan_create(m->network, 1, 2, 1, &m->network_plan), SPARC_OK);
  assert_int_equal(sparc_scan_create(&(sparc_scan_config){.B = 1, .T = 2, .H = 3, .threads = 1}, &m->scan), SPARC_OK);
  assert_int_equal(sparc_dataset_parse(rows, sizeof rows - 1, "rows.csv", NULL, &m->dataset), SPARC_OK);
  const sparc_envs_config envs = {.name = "cartpole", .n = 1, .threads = 1};
  assert_int_equal(sparc_envs_create(&envs, &m->envs), SPARC_OK);
  assert_int_equal(sparc_tensors_load(checkpoint, &m->tensors), SPARC_OK);
  assert_int_equal(sparc_model_load(checkpoint, 1, &m->model), SPARC_OK);
  sparc_random_init(&m->random, 1, "test", "null");
}

static void free_objects(objects *m) {
  sparc_model_free(m->model);
  sparc_tensors_free(m->tensors);
  sparc_envs_free(m->envs);
  sparc_dataset_free(m->dataset);
  sparc_scan_free(m->scan);
  sparc_network_plan_free(m->network_plan);
  sparc_network_free(m->network);
  sparc_plan_free(m->plan);
  sparc_cell_free(m->cell);
}

static void call_cells(const sparc_cell *cell, const sparc_plan *plan) {
  char options[64];
  EACH(2, cell_fit, ("sparc", 8, o(), o(), sizeof options));
  EACH(2, sparc_cell_create, (o(), o()));
  EACH(1, sparc_cell_blocks, (cell, o()));
  EACH(1, sparc_cell_spans, (cell, o()));
  EACH(1, sparc_cell_init, (cell, SPARC_INIT_CONTROL, 1, NULL, o()));
  EACH(3, sparc_cell_inspect, (cell, o(), 1, 2, &(sparc_sequence){.x = o()}, o()));
  EACH(2, sparc_plan_create, (cell, 1, 2, o(), o()));
#define BOTH_PRECISIONS(SUFFIX)                                                                                       \
  EACH(2, sparc_prepare##SUFFIX, (cell, o(), o()));                                                                   \
  EACH(5, sparc_step##SUFFIX, (cell, o(), o(), o(), 1, o(), o()));                                                    \
  EACH(6, sparc_step_rtrl##SUFFIX, (cell, o(), o(), o(), o(), 1, o(), o()));                                          \
  EACH(6, sparc_rtrl_gradient##SUFFIX, (cell, o(), o(), o(), o(), o(), o()));                                         \
  EACH(6, sparc_rtrl_update##SUFFIX, (cell, o(), o(), o(), o(), o(), o()));                                           \
  EACH(4, sparc_trace_read##SUFFIX, (cell, o(), o(), o(), o()));                                                      \
  EACH(6, sparc_step_streams##SUFFIX, (cell, o(), 1, o(), o(), o(), o(), o(), 1));                                    \
  EACH(7, sparc_lazy_update##SUFFIX,                                                                                  \
       (cell, o(), &(sparc_lazy##SUFFIX){.capacity = 2, .trace = o(), .steps = o()}, o(), o(), o(), o()));            \
  EACH(2, sparc_lazy_flush##SUFFIX, (cell, o(), o()));                                                                \
  EACH(8, sparc_rtrl_batch_gradient##SUFFIX, (cell, o(), 1, o(), o(), o(), o(), o(), o(), o(), 1));                   \
  EACH(2, sparc_record_step##SUFFIX, (cell, o(), 1, 0, o()));                                                         \
  EACH(10, sparc_record_gradient##SUFFIX, (cell, o(), o(), 1, o(), o(), o(), o(), o(), o(), o(), o(), 1));            \
  EACH(5, sparc_record_boundary##SUFFIX,                                                                              \
       (cell, &(sparc_record_view##SUFFIX){.T = 1, .prepared = o(), .records = o(), .states = o()}, 0, 1, o(), o())); \
  EACH(3, sparc_input_jacobian##SUFFIX, (cell, o(), o(), o()));                                                       \
  EACH(6, sparc_forward##SUFFIX, (plan, o(), &(sparc_sequence##SUFFIX){.x = o(), .mask = o(), .y = o()}, o(), o()));  \
  EACH(7, sparc_backward##SUFFIX,                                                                                     \
       (plan, o(), &(sparc_sequence##SUFFIX){.x = o(), .y = o()}, o(),                                                \
        &(sparc_sequence_gradient##SUFFIX){.dy = o(), .dparams = o()}, o()))
  BOTH_PRECISIONS();
  BOTH_PRECISIONS(_f64);
#undef BOTH_PRECISIONS
  EACH(6, sparc_forward_bf16, (plan, o(), &(sparc_sequence_bf16){.x = o(), .mask = o(), .y = o()}, o(), o()));
  EACH(6, sparc_backward_bf16,
       (plan, o(), &(sparc_sequence_bf16){.x = o()}, o(), &(sparc_sequence_gradient_bf16){.dy = o(), .dparams = o()},
        o()));
}

static void call_networks(const sparc_network *network, const sparc_network_plan *plan) {
  float outputs[4], *to[] = {outputs};
  double outputs_f64[4], *to_f64[] = {outputs_f64};
  EACH(2, sparc_network_create, (o(), o()));
  EACH(1, sparc_network_blocks, (network, o()));
  EACH(1, sparc_network_spans, (network, o()));
  EACH(1, sparc_network_init, (network, 1, o()));
  EACH(1, sparc_network_plan_create, (network, 1, 2, 1, o()));
  EACH(6, sparc_network_step_rtrl, (network, o(), SPARC_ENCODER_LOCAL, o(), o(), o(), 1, o(), o()));
  EACH(6, sparc_network_rtrl_gradient, (network, o(), SPARC_ENCODER_LOCAL, o(), o(), o(), o(), o()));
  EACH(3, sparc_network_inspect, (network, o(), 0, 1, 2, &(sparc_network_sequence){.x = o()}, o()));
#define BOTH_PRECISIONS(SUFFIX)                                                               \
  EACH(2, sparc_network_prepare##SUFFIX, (network, o(), o()));                                \
  EACH(6, sparc_network_step##SUFFIX, (network, o(), 1, o(), o(), o(), o(), o(), 1));         \
  EACH(4, sparc_network_forward##SUFFIX,                                                      \
       (plan, o(), &(sparc_network_sequence##SUFFIX){.x = o(), .outputs = o()}, o()));        \
  EACH(3, sparc_network_forward##SUFFIX,                                                      \
       (plan, o(), &(sparc_network_sequence##SUFFIX){.x = o(), .outputs = to##SUFFIX}, o())); \
  EACH(5, sparc_network_backward##SUFFIX,                                                     \
       (plan, o(), &(sparc_network_sequence##SUFFIX){.x = o(), .outputs = to##SUFFIX},        \
        &(sparc_network_gradient##SUFFIX){.doutputs = o(), .dparams = o()}, o()))
  BOTH_PRECISIONS();
  BOTH_PRECISIONS(_f64);
#undef BOTH_PRECISIONS
}

static void call_scans(const sparc_scan *scan) {
  EACH(2, sparc_scan_create, (o(), o()));
  EACH(3, sparc_scan_prepare, (scan, o(), o(), o()));
  EACH(2, scan_order, (3, o(), o()));
  EACH(4, sparc_scan_forward, (scan, o(), &(sparc_scan_data){.controls = o(), .b = o(), .h = o()}));
  EACH(6, sparc_scan_backward,
       (scan, o(), &(sparc_scan_data){.controls = o(), .h = o()}, &(sparc_scan_gradient){.dh = o(), .db = o()}, o()));
  EACH(3, real_scan_forward, (scan, &(real_scan_data){.a = o(), .x = o(), .h = o()}));
  EACH(5, real_scan_backward,
       (scan, &(real_scan_data){.a = o(), .h = o()}, &(real_scan_gradient){.dh = o(), .dx = o(), .da = o()}));
}

static void call_data(const sparc_dataset *dataset, const sparc_tensors *tensors) {
  sparc_dataset *copy;
  assert_int_equal(sparc_dataset_subset(dataset, (const int[]){0, 1}, 2, "copy", &copy), SPARC_OK);
  EACH(3, sparc_dataset_subset, (dataset, o(), 1, o(), o()));
  EACH(2, sparc_dataset_moments, (dataset, o(), o()));
  EACH(2, sparc_dataset_normalise, (copy, o(), o()));
  EACH(3, sparc_dataset_from_arrays, (o(), o(), o()));
  EACH(3, sparc_dataset_load, (o(), o(), o()));
  EACH(4, sparc_dataset_parse, (o(), 4, o(), o(), o()));
  EACH(3, sparc_data_split_load, (o(), o(), o()));
  sparc_dataset_free(copy);

  EACH(2, sparc_task_create, (o(), o()));

  EACH(1, sparc_tensors_find, (tensors, o()));
  EACH(1, sparc_tensors_metadata_find, (tensors, o()));
  EACH(2, sparc_tensors_read, (tensors, o(), SPARC_F32, o(), 1));
  EACH(2, sparc_tensors_read, (tensors, o(), SPARC_F64, o(), 1));
  EACH(2, sparc_tensors_read, (tensors, o(), SPARC_U8, o(), 1));
  EACH(2, sparc_tensors_load, (o(), o()));
  EACH(3, sparc_tensors_parse, (o(), 16, o(), o()));
  EACH(3, sparc_tensors_save, (o(), o(), 1, o(), 1));
}

static void call_learners(sparc_envs *envs, sparc_model *model, sparc_random *random) {
  sparc_learner_config config = sparc_learner_defaults();
  config.network.inputs = config.outputs = 1;
  sparc_learner *learner;
  assert_int_equal(sparc_learner_create(&config, &learner), SPARC_OK);
  EACH(2, sparc_learner_create, (o(), o()));
  EACH(2, sparc_learner_step, (learner, o(), o()));
  EACH(1, sparc_learner_observe, (learner, o()));
  EACH(3, sparc_learner_save, (learner, o(), o(), 1, o()));
  EACH(2, sparc_learner_load, (o(), o()));
  sparc_learner_free(learner);

  EACH(2, sparc_envs_create, (o(), o()));
  EACH(1, sparc_envs_reset, (envs, o()));
  EACH(6, sparc_envs_step, (envs, o(), o(), o(), o(), o(), o()));
  EACH(1, sparc_envs_save, (envs, o()));
  EACH(1, sparc_envs_restore, (envs, o(), sparc_envs_info_of(envs).state_bytes));
  EACH(1, sparc_envs_oracle, (envs, o()));
  EACH(2, sparc_ppo_defaults, (o(), o()));
  EACH(2, sparc_ppo_create, (o(), o()));
  EACH(3, sparc_ppo_load, (o(), o(), 1, o()));
  EACH(2, sparc_agent_load, (o(), o()));

  EACH(3, sparc_trainer_create, (o(), o(), o()));
  EACH(3, sparc_trainer_load, (o(), o(), NULL, 1, o()));
  EACH(2, sparc_model_load, (o(), 1, o()));
  EACH(3, sparc_model_load_kinds, (o(), o(), 1, o()));
  EACH(3, sparc_model_parse, (o(), 1, o(), 1, o()));
  EACH(1, sparc_model_metadata, (model, o()));
  EACH(3, sparc_model_step, (model, o(), o(), o()));
  EACH(2, sparc_model_predict, (model, o(), o()));
  EACH(2, sparc_model_evaluate, (model, o(), o()));
  EACH(1, sparc_model_params, (model, o()));
  EACH(4, sparc_network_save, (sparc_model_info_of(model).network, o(), o(), o(), 0, o()));
  EACH(2, sparc_run_create, (o(), o()));
  EACH(2, sparc_run_load, (o(), 1, o()));
  EACH(2, sparc_rl_run_create, (o(), o()));
  EACH(2, sparc_learn_run_create, (o(), o()));
  EACH(2, sparc_rl_run_load, (o(), 1, o()));

  EACH(5, sparc_adam_update, (o(), o(), 1, 1, 1, 1, 1, o(), o(), o()));
  EACH(1, random_shuffle, (random, o(), 2));
  EACH(1, random_permutation, (random, o(), 2));
  EACH(1, random_fill_uniform, (random, o(), 2, 0, 1));
  EACH(1, random_lecun_normal, (random, o(), 2, 1));
  EACH(1, random_torch_uniform, (random, o(), 2, 1));
  EACH(1, random_orthogonal, (random, o(), 2, 1, 1));
}

static void test_one_after_the_other(void **state) {
  (void)state;
  objects m;
  make_objects(&m);
  calls = bad = 0;
  call_cells(m.cell, m.plan);
  call_networks(m.network, m.network_plan);
  call_scans(m.scan);
  call_data(m.dataset, m.tensors);
  call_learners(m.envs, m.model, &m.random);
  free_objects(&m);
  expect_survival();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_nothing),
      cmocka_unit_test(test_every_function),
      cmocka_unit_test(test_one_after_the_other),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
