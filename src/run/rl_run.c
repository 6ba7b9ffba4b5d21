/* SPDX-License-Identifier: MIT */
/* rl_run.c: a run that can be stopped at any moment.
 *
 * At a checkpoint the metrics are complete before last.safetensors is written; whatever a kill loses is made again, bit
 * by bit, from the checkpoint before it. The returns that the score is made of are kept as the metrics have them, with
 * nine digits, so that a resumed run, which reads them from there, has the same score.
 */
#include "run/rl_run.h"

#include "base/error.h"
#include "io/folder_file.h"
#include "rl/checkpoint.h"
#include "rl/ppo.h"
#include "rl/score.h"
#include "run/folder.h"
#include "run/lock.h"
#include "run/metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROLLOUTS_PER_CHECKPOINT = 10 };

struct rl_run {
  rl_config config; /* settled */
  char options[CELL_OPTIONS_SIZE];
  run_folder folder;
  run_lock lock;        /* of the folder, during an execution */
  sparc_ppo *described; /* from the creation on; what begins is the same object */
  sparc_ppo *ppo;       /* NULL: not begun */
  metrics metrics;
  provenance earlier, made; /* of the parts before this execution, and of all */
  double *returns;          /* (rollouts) mean return of each so far */
  long recalled;            /* of them, those that were read from the metrics of a resumed run */
  rl_result result;
  bool stop;
  rl_run_fn fn; /* of the execution under way */
  void *user;
};

static void tell(rl_run *run, const rl_event *event) {
  if (run->fn && run->fn(run->user, event) != 0) run->stop = true;
}

/* what cannot be written is no fault of the configuration; a folder with something else in it is */
static sparc_status written(rl_run *run, sparc_status status) {
  if (status != SPARC_OK && status != SPARC_FORMAT) run->result.unwritten = 1;
  return status;
}

/* ---- life cycle ---------------------------------------------------------------------------------- */

static sparc_status check_config(const rl_config *config) {
  if (!config->ppo.task || !*config->ppo.task)
    return fail(SPARC_INVALID, "task is not given, expected an environment or the path of a plugin");
  if (!config->folder) return fail(SPARC_INVALID, "folder is NULL, expected where to put the run");
  if (rl_resumes(config) && config->force)
    return fail(SPARC_INVALID, "resume and force are both 1, expected one of them");
  return SPARC_OK;
}

static sparc_status settle(rl_run *run) {
  rl_config *c = &run->config;
  sparc_status status = run_folder_at(c->folder, &run->folder);
  if (status == SPARC_OK && c->resume) status = run_folder_require(&run->folder);
  if (status == SPARC_OK) status = rl_settle(c, run->options);
  if (status == SPARC_OK) status = ppo_describe(&c->ppo, &run->described);
  if (status != SPARC_OK) return status;
  run->returns = calloc((size_t)c->ppo.rollouts, sizeof *run->returns);
  return run->returns ? SPARC_OK : fail(SPARC_NO_MEMORY, "no memory for the returns of %ld rollouts", c->ppo.rollouts);
}

sparc_status rl_run_create(const rl_config *config, rl_run **out) {
  *out = NULL;
  sparc_status status = check_config(config);
  if (status != SPARC_OK) return status;
  rl_run *run = sparc_alloc(sizeof *run);
  if (!run) return fail(SPARC_NO_MEMORY, "no memory for a run");
  run->config = *config;
  run->result.saved = -1;
  status = settle(run);
  if (status == SPARC_OK)
    *out = run;
  else
    rl_run_free(run);
  return status;
}

void rl_run_free(rl_run *run) {
  if (!run) return;
  metrics_close(&run->metrics);
  sparc_ppo_free(run->ppo ? run->ppo : run->described);
  free(run->returns);
  sparc_free(run);
}

const rl_config *rl_run_config(const rl_run *run) { return &run->config; }
sparc_ppo_memory rl_run_memory(const rl_run *run) { return run->described->needs; }
const sparc_ppo *rl_run_ppo(const rl_run *run) { return run->ppo; }
const provenance *rl_run_provenance(const rl_run *run) { return &run->made; }

rl_result rl_run_result(const rl_run *run) {
  rl_result result = run->result;
  const size_t done = (size_t)result.done;
  result.scored = done < SCORE_WINDOW ? (int)done : SCORE_WINDOW;
  if (score_of(done, run->returns, &result.score) != SPARC_OK) result.score = NAN;
  return result;
}

/* ---- metrics ------------------------------------------------------------------------------------- */

/* NAN: there is no such thing */
static json_t *json_number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

#define COUNTS(X) X("steps", steps) X("episodes", episodes) X("symbols", symbols) X("faults", faults)
#define REALS(X)                                     \
  X("return", mean_return)                           \
  X("length", mean_length)                           \
  X("k1", update.k1)                                 \
  X("k2", update.k2)                                 \
  X("k3", update.k3)                                 \
  X("ratio", update.ratio)                           \
  X("clip_fraction", update.clip_fraction)           \
  X("policy_loss", update.policy_loss)               \
  X("value_loss", update.value_loss)                 \
  X("entropy", update.entropy)                       \
  X("explained_variance", update.explained_variance) \
  X("gradient_norm", update.gradient_norm)           \
  X("saturation", activity.saturation)               \
  X("gate_deviation", activity.gate_deviation)       \
  X("state_rms", activity.state_rms)

#define NAME(key, member) key,
const char *const rl_metrics[] = {COUNTS(NAME) REALS(NAME) "stale_cosine", "stale_ratio", NULL};
#undef NAME

/* how old sensitivities are: means over the epochs, and each epoch, from 1 */
static int put_staleness(json_t *object, const sparc_ppo_staleness *s) {
  double cosine = 0, ratio = 0;
  int failed = 0;
  for (int e = 0; e < s->epochs; e++) {
    char name[32];
    snprintf(name, sizeof name, "stale_cosine_%d", e + 1);
    failed |= json_object_set_new(object, name, json_number(s->cosine[e]));
    snprintf(name, sizeof name, "stale_ratio_%d", e + 1);
    failed |= json_object_set_new(object, name, json_number(s->ratio[e]));
    cosine += s->cosine[e] / s->epochs;
    ratio += s->ratio[e] / s->epochs;
  }
  if (s->epochs == 0) return 0;
  failed |= json_object_set_new(object, "stale_cosine", json_number(cosine));
  return failed | json_object_set_new(object, "stale_ratio", json_number(ratio));
}

json_t *rl_report_json(json_t *object, const sparc_ppo_report *r) {
  int failed = object == NULL;
#define PUT(key, member) failed |= json_object_set_new(object, key, json_integer(r->member));
  COUNTS(PUT)
#undef PUT
#define PUT(key, member) failed |= json_object_set_new(object, key, json_number(r->member));
  REALS(PUT)
#undef PUT
  failed = failed || put_staleness(object, &r->staleness);
  if (!failed) return object;
  json_decref(object);
  return NULL;
}

static sparc_status log_rollout(rl_run *run, const sparc_ppo_report *report) {
  json_t *object = json_pack("{s:I}", "update", (json_int_t)report->rollout);
  return written(run, metrics_add(&run->metrics, rl_report_json(object, report)));
}

/* a return as it stands in the metrics */
static double as_logged(double value) {
  char text[40];
  snprintf(text, sizeof text, "%.9g", value);
  return strtod(text, NULL);
}

/* takes the return of the next rollout that is looked for */
static sparc_status take_return(void *user, json_t *object) {
  rl_run *run = user;
  const json_t *value = json_object_get(object, "return");
  if (run->recalled < run->result.first && json_integer_value(json_object_get(object, "update")) == run->recalled + 1)
    run->returns[run->recalled++] = json_is_number(value) ? json_number_value(value) : NAN;
  return SPARC_OK;
}

/* the returns of the rollouts that the resumed run has behind it */
static sparc_status read_returns(rl_run *run) {
  run->recalled = 0;
  const sparc_status status = metrics_read(run->metrics.jsonl_path, take_return, run);
  if (status != SPARC_OK || run->recalled == run->result.first) return status;
  return fail(SPARC_FORMAT, "'%.200s' has %ld of the %ld rollouts that the checkpoint has", run->metrics.jsonl_path,
              run->recalled, run->result.first);
}

/* ---- checkpoints --------------------------------------------------------------------------------- */

/* what made the run, with the time so far */
static sparc_status write_provenance(rl_run *run) {
  provenance p = provenance_of_build(NULL, run->config.ppo.threads);
  p.seconds = run->result.seconds;
  p.done = (run->result.done - run->result.first) * run->config.ppo.steps;
  provenance_join(&run->earlier, &p);
  run->made = p;
  return provenance_write(run->folder.path, &run->made);
}

static sparc_status save(rl_run *run) {
  sparc_status status = metrics_flush(&run->metrics);
  if (status == SPARC_OK) status = sparc_ppo_save(run->ppo, NULL, 0, run->folder.last);
  if (status == SPARC_OK) status = write_provenance(run);
  if (status == SPARC_OK) run->result.saved = run->result.done;
  return written(run, status);
}

/* ---- beginning ----------------------------------------------------------------------------------- */

static json_t *config_json(const rl_config *config) {
  rl_config c = *config;
  const settings_form form = rl_form(&c);
  return settings_json(&form);
}

static sparc_status write_config(const rl_run *run) {
  json_t *object = config_json(&run->config);
  const sparc_status status =
      object ? run_folder_write_config(&run->folder, object) : fail(SPARC_NO_MEMORY, "no memory for config.json");
  json_decref(object);
  return status;
}

static sparc_status begin_fresh(rl_run *run) {
  const rl_config *c = &run->config;
  bool found;
  sparc_status status = run_folder_find(&run->folder, &found);
  if (status != SPARC_OK) return status;
  if (found && !c->force && !rl_resumes(c))
    return fail(SPARC_INVALID, "'%.300s' holds a run already; resume continues it, force replaces it", c->folder);
  status = ppo_start(run->described);
  if (status != SPARC_OK) return status;
  run->ppo = run->described;
  status = run_folder_make(&run->folder);
  if (status == SPARC_OK) status = run_lock_take(&run->folder, &run->lock);
  if (status == SPARC_OK) status = run_folder_empty(&run->folder);
  if (status == SPARC_OK) status = write_config(run);
  return written(run, status);
}

/* whether config.json defines the same run as the settled configuration with this agent */
static sparc_status compare_config(const rl_run *run, const sparc_ppo_config *ppo) {
  rl_config c = run->config;
  const settings_form form = rl_form(&c);
  c.ppo = *ppo;
  c.ppo.traces = run->config.ppo.traces; /* a checkpoint has what auto chose */
  return run_folder_compare(&run->folder, &form, config_json(&c));
}

/* whether the checkpoint is of the same run: before it is restored, which takes the memory that it asks for */
static sparc_status compare_checkpoint(const rl_run *run) {
  sparc_tensors *file;
  stored_run stored;
  sparc_status status = sparc_tensors_open(run->folder.last, &file);
  if (status == SPARC_OK) status = stored_run_read(file, run->folder.last, &stored);
  if (status == SPARC_OK) status = compare_config(run, &stored.config);
  sparc_tensors_close(file);
  return status;
}

static sparc_status restore(rl_run *run) {
  const run_folder *folder = &run->folder;
  const sparc_status locked = run_lock_take(folder, &run->lock);
  if (locked != SPARC_OK) return written(run, locked);
  bool found;
  sparc_status status = run_folder_find(folder, &found);
  if (status == SPARC_OK) status = compare_config(run, &run->config.ppo);
  if (status != SPARC_OK) return status;
  status = compare_checkpoint(run);
  /* the checkpoint's task may be a plugin only if it is the run's, which is the caller's choice */
  const char *const plugins[] = {run->config.ppo.task, NULL};
  const ppo_source from = {
      .path = folder->last, .plugins = plugins, .threads = run->config.ppo.threads, .described = run->described};
  if (status == SPARC_OK) status = ppo_restore(&from, &run->ppo);
  if (status != SPARC_OK) return run_folder_blame(folder, status);
  const long done = sparc_ppo_rollouts_done(run->ppo);
  if (done > run->config.ppo.rollouts)
    return fail(SPARC_FORMAT, "'%.200s' has %ld rollouts, expected at most %ld", folder->last, done,
                run->config.ppo.rollouts);
  run->result.first = run->result.done = run->result.saved = done;
  return SPARC_OK;
}

static sparc_status begin(rl_run *run) {
  bool continues = false;
  sparc_status status = rl_resumes(&run->config) ? folder_file_find(run->folder.last, &continues) : SPARC_OK;
  if (status == SPARC_OK) status = continues ? restore(run) : begin_fresh(run);
  if (status != SPARC_OK) return status;
  status = run_folder_sweep(&run->folder);
  if (status == SPARC_OK && run->result.first > 0) status = provenance_read(run->folder.path, &run->earlier);
  if (status == SPARC_OK) status = write_provenance(run);
  if (status == SPARC_OK)
    status = metrics_open(run->folder.path, run_folder_name(&run->folder), run->config.ppo.seed, run->result.saved,
                          &run->metrics);
  return status == SPARC_OK ? read_returns(run) : written(run, status);
}

/* ---- rollouts ------------------------------------------------------------------------------------ */

static sparc_status iterate(rl_run *run) {
  sparc_ppo_report report;
  sparc_status status = sparc_ppo_iterate(run->ppo, &report);
  if (status != SPARC_OK) return status;
  run->returns[run->result.done] = as_logged(report.mean_return);
  run->result.done = report.rollout;
  run->result.seconds += report.environment_seconds + report.collection_seconds + report.update_seconds;
  status = log_rollout(run, &report);
  if (status != SPARC_OK) return status;
  const bool ends = report.rollout == run->config.ppo.rollouts;
  if (report.rollout % ROLLOUTS_PER_CHECKPOINT == 0 || ends) status = save(run);
  if (status == SPARC_OK) tell(run, &(rl_event){.stage = RL_ROLLOUT, .run = run, .report = &report});
  return status;
}

sparc_status rl_run_execute(rl_run *run, rl_run_fn fn, void *user) {
  const long total = run->config.ppo.rollouts;
  run->fn = fn;
  run->user = user;
  run->stop = false;
  sparc_status status = run->ppo ? written(run, run_lock_take(&run->folder, &run->lock)) : begin(run);
  if (status == SPARC_OK) tell(run, &(rl_event){.stage = RL_STARTED, .run = run});
  while (status == SPARC_OK && run->result.done < total && !run->stop) status = iterate(run);
  if (status == SPARC_OK && run->result.saved != run->result.done) status = save(run);
  if (status == SPARC_OK) run->result.finished = run->result.done == total;
  run_lock_release(&run->lock);
  return status;
}
