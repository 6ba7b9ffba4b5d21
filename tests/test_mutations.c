/* SPDX-License-Identifier: MIT */
/* test_mutations.c: files of learners and agents with one value changed at a time. Each file is refused
 * with a message that names it, or its learner or agent works; a sanitizer checks accesses to memory. The
 * bytes of saved environments have a test of their own in test_envs.c. */
#include "io/settings.h"
#include "run/learn_run.h"
#include "scratch.h"
#include "sparc/rl.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- a file in memory ---------------------------------------------------------------------------------- */

enum { MOST = 128 };

typedef struct file_copy {
  sparc_tensors *file; /* names and metadata live in it */
  sparc_metadata metadata[MOST];
  sparc_tensor_source tensor[MOST];
  size_t entries, tensors;
} file_copy;

static file_copy copy_of(const char *path) {
  file_copy c = {.entries = 0};
  if (sparc_tensors_load(path, &c.file) != SPARC_OK) fail_msg("%s", sparc_error());
  c.entries = sparc_tensors_contents_of(c.file).metadata_count;
  c.tensors = sparc_tensors_contents_of(c.file).count;
  assert_true(c.entries <= MOST && c.tensors <= MOST);
  for (size_t i = 0; i < c.entries; i++) c.metadata[i] = sparc_tensors_contents_of(c.file).metadata[i];
  for (size_t i = 0; i < c.tensors; i++) {
    const sparc_tensor_info *info = &sparc_tensors_contents_of(c.file).tensors[i];
    sparc_tensor_source *t = &c.tensor[i];
    *t = (sparc_tensor_source){.name = info->name, .dtype = info->dtype, .in_type = info->dtype, .rank = info->rank};
    memcpy(t->shape, info->shape, sizeof t->shape);
    void *data = malloc(info->bytes + sizeof(double));
    assert_int_equal(sparc_tensors_read(c.file, info->name, SPARC_U8, data, info->bytes), SPARC_OK);
    t->data = data;
  }
  return c;
}

static void free_copy(file_copy *c) {
  for (size_t i = 0; i < c->tensors; i++) free((void *)(uintptr_t)c->tensor[i].data);
  sparc_tensors_free(c->file);
}

static void write_copy(const file_copy *c, const char *path) {
  if (sparc_tensors_save(path, c->tensor, c->tensors, c->metadata, c->entries) != SPARC_OK)
    fail_msg("%s", sparc_error());
}

/* ---- changes ------------------------------------------------------------------------------------------ */

/* uses a changed file; `change` names the change, `large`: it may now require much work */
typedef void use_fn(const char *path, const char *change, bool large);

static void require_status(sparc_status status, const char *path, const char *change) {
  if (status == SPARC_OK || status == SPARC_NO_MEMORY || status == SPARC_NOT_FINITE) return;
  if (status != SPARC_FORMAT) fail_msg("%s: %s: %s", change, sparc_status_name(status), sparc_error());
  if (!strstr(sparc_error(), path)) fail_msg("%s: the message does not name the file: %s", change, sparc_error());
}

static bool is_work(const char *key) {
  static const char *const keys[] = {"steps", "streams", "epochs", "minibatches", "interval"};
  for (size_t i = 0; i < COUNT(keys); i++)
    if (strcmp(keys[i], key) == 0) return true;
  return false;
}

static void change_metadata(file_copy *c, const char *path, use_fn *use) {
  static const char *const values[] = {"",      "-1", "0",     "1048577", "2147483647", "9223372036854775807",
                                       "1e308", "x",  "itl#-", "a,a",     "[\"a\",1]"};
  for (size_t i = 0; i < c->entries; i++) {
    const sparc_metadata kept = c->metadata[i];
    for (size_t v = 0; v <= COUNT(values); v++) {
      char change[256];
      if (v < COUNT(values)) {
        c->metadata[i].value = values[v];
        write_copy(c, path);
      } else { /* without it */
        c->metadata[i] = c->metadata[--c->entries];
        write_copy(c, path);
        c->metadata[c->entries++] = c->metadata[i];
      }
      snprintf(change, sizeof change, "%.60s: %.40s -> %s", kept.key, kept.value,
               v < COUNT(values) ? values[v] : "nothing");
      use(path, change, is_work(kept.key));
      c->metadata[i] = kept;
    }
  }
}

static void change_numbers(file_copy *c, const char *path, use_fn *use) {
  static const double values[] = {NAN, -1, 1e308}; /* as a float the last one is infinite */
  for (size_t i = 0; i < c->tensors; i++) {
    sparc_tensor_source *t = &c->tensor[i];
    const bool wide = t->dtype == SPARC_F64;
    const size_t elements = sparc_tensors_find(c->file, t->name)->elements;
    if (t->dtype == SPARC_U8) continue;
    for (size_t place = 0; place < 3 && place < elements; place++) {
      const size_t at = place < 2 ? place : elements - 1;
      char *number = (char *)(uintptr_t)t->data + at * (wide ? sizeof(double) : sizeof(float)), kept[sizeof(double)];
      memcpy(kept, number, sizeof kept);
      for (size_t v = 0; v < COUNT(values); v++) {
        char change[256];
        if (wide)
          memcpy(number, &values[v], sizeof(double));
        else
          memcpy(number, &(float){(float)values[v]}, sizeof(float));
        write_copy(c, path);
        snprintf(change, sizeof change, "%.60s[%zu] -> %g", t->name, at, values[v]);
        use(path, change, false);
      }
      memcpy(number, kept, sizeof kept);
    }
  }
}

/* another shape with as many elements, another type of as many bytes, one element less, no tensor at all */
static void change_shapes(file_copy *c, const char *path, use_fn *use) {
  for (size_t i = 0; i < c->tensors; i++) {
    const sparc_tensor_source kept = c->tensor[i];
    const size_t elements = sparc_tensors_find(c->file, kept.name)->elements;
    const size_t width = kept.dtype == SPARC_F64 ? sizeof(double) : kept.dtype == SPARC_F32 ? sizeof(float) : 1;
    const sparc_tensor_source changed[] = {
        {.name = kept.name, .dtype = kept.dtype, .rank = 3, .shape = {1, elements, 1}},
        {.name = kept.name, .dtype = SPARC_U8, .rank = 1, .shape = {elements * width}},
        {.name = kept.name, .dtype = kept.dtype, .rank = 1, .shape = {elements ? elements - 1 : 1}},
        {.name = "learner.more", .dtype = kept.dtype, .rank = kept.rank, .shape = {kept.shape[0], kept.shape[1]}},
    };
    for (size_t k = 0; k < COUNT(changed); k++) {
      char change[256];
      c->tensor[i] = changed[k];
      c->tensor[i].in_type = changed[k].dtype;
      c->tensor[i].data = kept.data;
      write_copy(c, path);
      snprintf(change, sizeof change, "%.60s: shape %zu", kept.name, k);
      use(path, change, false);
    }
    c->tensor[i] = kept;
  }
}

static void change_everything(const char *path, use_fn *use) {
  file_copy c = copy_of(path);
  use(path, "nothing changed", false);
  change_metadata(&c, in_folder("changed"), use);
  change_numbers(&c, in_folder("changed"), use);
  change_shapes(&c, in_folder("changed"), use);
  free_copy(&c);
}

/* ---- learners ----------------------------------------------------------------------------------------- */

static const char *const lines[] = {"0.1,a,0.5\n", "0.7,b,0.25\n", "-0.3,a,\n", "1e30,,1\n", "0.2,b,0.5\n"};

static sparc_status feed(sparc_learn_run *run, int times) {
  sparc_status status = SPARC_OK;
  for (int t = 0; t < times && status == SPARC_OK; t++) {
    const char *line = lines[t % (int)COUNT(lines)];
    const float *prediction;
    status = sparc_learn_run_line(run, line, strlen(line), "lines", &prediction);
  }
  return status;
}

static sparc_learn_run_config config_for(const char *model, int resume) {
  return (sparc_learn_run_config){.model = model, .resume = resume};
}

static void resume_learner(const char *path, const char *change, bool large) {
  (void)large;
  sparc_learn_run *run;
  const sparc_learn_run_config config = config_for(path, 1);
  sparc_status status = sparc_learn_run_create(&config, &run);
  if (status == SPARC_OK) status = learn_run_begin(run, lines[0], strlen(lines[0]), path);
  require_status(status, path, change);
  if (status != SPARC_OK) {
    sparc_learn_run_free(run);
    return;
  }
  status = feed(run, 12);
  if (status == SPARC_OK) status = sparc_learn_run_save(run);
  if (status != SPARC_OK && status != SPARC_NOT_FINITE)
    fail_msg("%s: %s: %s", change, sparc_status_name(status), sparc_error());
  sparc_learn_run_free(run);
}

static void learners_work_or_are_refused(void **state) {
  (void)state;
  sparc_learn_run_config goals[] = {config_for(in_folder("good"), 0), config_for(in_folder("good"), 0),
                                    config_for(in_folder("good"), 0)};
  goals[0].ignore = "2,3";
  goals[0].learner.horizon = 3;
  goals[1].label = "2";
  goals[1].classes = "a,b";
  goals[1].id = "3";
  goals[2].target = "3";
  goals[2].ignore = "2";
  goals[2].learner.network.embedding = SPARC_EMBED_TANH;
  goals[2].learner.network.width = 3;
  goals[2].learner.update_every = 4;
  for (size_t i = 0; i < COUNT(goals); i++) {
    sparc_learn_run *run;
    goals[i].learner.network.H = 2;
    goals[i].force = 1;
    if (sparc_learn_run_create(&goals[i], &run) != SPARC_OK ||
        learn_run_begin(run, lines[0], strlen(lines[0]), "lines") != SPARC_OK)
      fail_msg("%s", sparc_error());
    if (feed(run, 7) != SPARC_OK || sparc_learn_run_save(run) != SPARC_OK) fail_msg("%s", sparc_error());
    sparc_learn_run_free(run);
    change_everything(in_folder("good"), resume_learner);
  }
}

/* ---- agents ------------------------------------------------------------------------------------------- */

/* what an agent is loaded for has no use for these, so their shapes are not looked at */
static bool is_of_run(const char *change) {
  static const char *const names[] = {"carry.", "environments", "normaliser.reward", "normaliser.accumulated"};
  for (size_t i = 0; i < COUNT(names); i++)
    if (strncmp(change, names[i], strlen(names[i])) == 0) return true;
  return false;
}

/* a tensor of another name, type or shape than the configuration requires is refused, even with as many elements; of
 * what a run carries, a new name is one that belongs to nothing */
static void require_shape(sparc_status status, const char *change, bool agent) {
  const char *shape = strstr(change, ": shape ");
  if (!shape || status == SPARC_FORMAT) return;
  if (strcmp(change, "environments: shape 1") == 0) return; /* bytes are bytes */
  if (!agent || !is_of_run(change) || strcmp(shape, ": shape 3") == 0) fail_msg("%s is accepted", change);
}

static void step_agent(const char *path, const char *change) {
  sparc_agent *agent;
  const sparc_status status = sparc_agent_load(path, &agent);
  require_status(status, path, change);
  require_shape(status, change, true);
  if (status != SPARC_OK) return;
  const sparc_env_shape shape = sparc_agent_info_of(agent).shape;
  float *observation = calloc((size_t)shape.observation, sizeof *observation);
  float *action = malloc((size_t)shape.action * sizeof *action);
  for (int t = 0; t < 3; t++) {
    const sparc_status stepped = sparc_agent_step(agent, NULL, observation, t > 0, NULL, action);
    assert_true(stepped == SPARC_OK || stepped == SPARC_NOT_FINITE);
    for (int i = 0; i < shape.action; i++) assert_true(isfinite(action[i]));
    assert_true(shape.choices == 0 || (action[0] >= 0 && action[0] < (float)shape.choices));
  }
  free(observation);
  free(action);
  sparc_agent_free(agent);
}

static void resume_agent(const char *path, const char *change, bool large) {
  step_agent(path, change);
  sparc_ppo *ppo;
  const sparc_status status = sparc_ppo_load(path, NULL, 1, &ppo);
  require_status(status, path, change);
  require_shape(status, change, false);
  if (status != SPARC_OK) return;
  const sparc_status iterated = large ? SPARC_OK : sparc_ppo_iterate(ppo, NULL);
  if (iterated != SPARC_OK && iterated != SPARC_NOT_FINITE) fail_msg("%s: %s", change, sparc_error());
  sparc_ppo_free(ppo);
}

static void agents_work_or_are_refused(void **state) {
  (void)state;
  const struct {
    const char *task, *cell;
    sparc_obsnorm obsnorm;
    sparc_traces traces;
  } runs[] = {{"repeat-previous", "sparc", SPARC_OBSNORM_NONE, SPARC_TRACES_AUTO},
              {"cartpole", "rtu", SPARC_OBSNORM_FEATURE, SPARC_TRACES_STORED}};
  for (size_t i = 0; i < COUNT(runs); i++) {
    sparc_ppo_config c;
    sparc_ppo *ppo;
    assert_int_equal(sparc_ppo_defaults(runs[i].task, &c), SPARC_OK);
    c.cell = runs[i].cell;
    c.obsnorm = runs[i].obsnorm;
    c.rewardnorm = runs[i].obsnorm != SPARC_OBSNORM_NONE ? SPARC_REWARDNORM_RETURN : SPARC_REWARDNORM_NONE;
    c.traces = runs[i].traces;
    c.state_size = c.width = 2;
    c.streams = 2;
    c.rollout_steps = 16;
    c.epochs = 1;
    c.minibatches = 2;
    c.threads = 1;
    if (sparc_ppo_create(&c, &ppo) != SPARC_OK) fail_msg("%s", sparc_error());
    assert_int_equal(sparc_ppo_iterate(ppo, NULL), SPARC_OK);
    assert_int_equal(sparc_ppo_save(ppo, NULL, 0, in_folder("good")), SPARC_OK);
    sparc_ppo_free(ppo);
    change_everything(in_folder("good"), resume_agent);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(learners_work_or_are_refused),
      cmocka_unit_test(agents_work_or_are_refused),
  };
  /* thousands of files are written, each of them to the disk unless there is a folder in memory */
  if (access("/dev/shm", W_OK) == 0) setenv("TMPDIR", "/dev/shm", 0);
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
