/* SPDX-License-Identifier: MIT */
/* rl_run.c: reinforcement-learning runs on the engine of all runs (engine.h): rollouts and their score. Returns are kept
 * with the nine digits of the metrics, so that a resumed run, which reads them from there, has the same score.
 */
#include "run/rl_run.h"

#include "base/error.h"
#include "envs/envs.h"
#include "rl/checkpoint.h"
#include "rl/ppo.h"
#include "rl/score.h"
#include "rl/team.h"
#include "run/engine.h"
#include "run/ranked.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROLLOUTS_PER_CHECKPOINT = 10 };

struct sparc_rl_run {
  sparc_rl_run_config config; /* resolved; its strings are `texts` and `options` */
  settings_texts texts;
  char options[CELL_OPTIONS_SIZE];
  run_engine engine;
  sparc_ppo *described; /* from the creation on; execution starts the same object */
  sparc_ppo *ppo;       /* NULL: not started */
  double *returns;      /* (rollouts) mean return of each so far */
  long recalled;        /* number of returns read from the metrics of a resumed run */
  sparc_rl_run_fn fn;   /* of the current execution */
  void *user;
};

static void notify(sparc_rl_run *run, const sparc_rl_run_event *event) {
  if (run->fn && run->fn(run->user, event) != 0) run->engine.stop_requested = true;
}

static void notify_stage(void *kind, sparc_run_stage stage, const char *message) {
  sparc_rl_run *run = kind;
  notify(run, &(sparc_rl_run_event){.stage = stage, .run = run, .message = message});
}

/* ---- life cycle ---------------------------------------------------------------------------------- */

static const run_ops reinforcement;

static sparc_status resolve(sparc_rl_run *run) {
  sparc_rl_run_config *c = &run->config;
  const settings_binding binding = rl_binding(c);
  sparc_status status = settings_copy_texts(&binding, &run->texts);
  const run_place place = {
      .folder = c->folder, .resume = c->resume, .resume_or_create = c->resume_or_create, .force = c->force};
  if (status == SPARC_OK) status = engine_open(&run->engine, &reinforcement, run, &place);
  if (status == SPARC_OK) status = rl_resolve(c, run->options);
  if (status == SPARC_OK) status = ppo_describe(&c->ppo, &run->described);
  if (status != SPARC_OK) return status;
  run->engine.seed = c->ppo.seed;
  run->returns = calloc((size_t)c->ppo.rollouts, sizeof *run->returns);
  return run->returns ? SPARC_OK : fail(SPARC_NO_MEMORY, "no memory for the returns of %ld rollouts", c->ppo.rollouts);
}

sparc_status sparc_rl_run_create(const sparc_rl_run_config *config, sparc_rl_run **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected where to put the run");
  *out = NULL;
  if (!config) return fail(SPARC_INVALID, "config is NULL");
  if (!config->ppo.task || !*config->ppo.task)
    return fail(SPARC_INVALID, "task is not given, expected an environment or the path of a plugin");
  sparc_rl_run *run = sparc_alloc(sizeof *run);
  if (!run) return fail(SPARC_NO_MEMORY, "no memory for a run");
  run->config = *config;
  const sparc_status status = resolve(run);
  if (status == SPARC_OK)
    *out = run;
  else
    sparc_rl_run_free(run);
  return status;
}

/* a plugin is code, which a file must not select */
static sparc_status create_from(const run_folder *folder, const settings_source *source, int threads,
                                sparc_rl_run **out) {
  sparc_rl_run_config config = {.folder = NULL};
  const settings_binding binding = rl_binding(&config);
  sparc_status status = settings_apply(&binding, source);
  config.folder = folder->path;
  config.resume = 1;
  config.ppo.threads = threads;
  if (status == SPARC_OK && config.ppo.task) status = plugin_permit(config.ppo.task, folder->config, NULL);
  return status == SPARC_OK ? sparc_rl_run_create(&config, out) : status;
}

sparc_status sparc_rl_run_load(const char *path, int threads, sparc_rl_run **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected where to put the run");
  *out = NULL;
  if (!path) return fail(SPARC_INVALID, "folder is NULL, expected that of a run");
  run_folder folder = {.path = ""};
  sparc_rl_run_config config = {.folder = NULL};
  const settings_binding binding = rl_binding(&config);
  settings_source *source = sparc_alloc(sizeof *source);
  if (!source) return fail(SPARC_NO_MEMORY, "no memory for the settings of a run");
  sparc_status status = run_folder_at(path, &folder);
  if (status == SPARC_OK) status = run_folder_settings(&folder, &binding, source);
  if (status == SPARC_OK) status = create_from(&folder, source, threads, out);
  settings_source_free(source);
  sparc_free(source);
  return status;
}

void sparc_rl_run_free(sparc_rl_run *run) {
  if (!run) return;
  engine_close(&run->engine);
  sparc_ppo_free(run->ppo ? run->ppo : run->described);
  free(run->returns);
  settings_texts_free(&run->texts);
  sparc_free(run);
}

sparc_rl_run_config sparc_rl_run_config_of(const sparc_rl_run *run) {
  return run ? run->config : (sparc_rl_run_config){.folder = NULL};
}
const sparc_ppo *rl_run_ppo(const sparc_rl_run *run) { return run->ppo; }
const provenance *rl_run_provenance(const sparc_rl_run *run) { return &run->engine.made; }

sparc_rl_run_result sparc_rl_run_result_of(const sparc_rl_run *run) {
  if (!run) return (sparc_rl_run_result){0};
  const run_engine *e = &run->engine;
  const size_t done = (size_t)e->done;
  sparc_rl_run_result result = {.finished = e->finished,
                                .io_failed = e->io_failed,
                                .first = e->first,
                                .done = e->done,
                                .saved = e->saved,
                                .seconds = e->seconds,
                                .scored = done < SCORE_WINDOW ? (int)done : SCORE_WINDOW,
                                .memory = run->described->needs};
  if (score_of(done, run->returns, &result.score) != SPARC_OK) result.score = NAN;
  return result;
}

/* ---- metrics ------------------------------------------------------------------------------------- */

/* NAN: null */
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

/* staleness of sensitivities: means over the epochs, and each epoch, from 1 */
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

static sparc_status log_rollout(sparc_rl_run *run, const sparc_ppo_report *report) {
  json_t *object = json_pack("{s:I}", "update", (json_int_t)report->rollout);
  return engine_log(&run->engine, rl_report_json(object, report));
}

/* a return with the digits of the metrics */
static double as_logged(double value) {
  char text[40];
  snprintf(text, sizeof text, "%.9g", value);
  return strtod(text, NULL);
}

/* reads the return of the next expected rollout */
static sparc_status take_return(void *user, json_t *object) {
  sparc_rl_run *run = user;
  const json_t *value = json_object_get(object, "return");
  if (run->recalled < run->engine.first && json_integer_value(json_object_get(object, "update")) == run->recalled + 1)
    run->returns[run->recalled++] = json_is_number(value) ? json_number_value(value) : NAN;
  return SPARC_OK;
}

/* reads the returns of earlier rollouts of a resumed run */
static sparc_status recall(void *kind) {
  sparc_rl_run *run = kind;
  const char *path = run->engine.metrics.jsonl_path;
  const long first = run->engine.first;
  run->recalled = 0;
  const sparc_status status = first > 0 ? metrics_read(path, take_return, run) : SPARC_OK;
  if (status != SPARC_OK || run->recalled == first) return status;
  return fail(SPARC_FORMAT, "'%.200s' has %ld of the %ld rollouts that the checkpoint has", path, run->recalled, first);
}

/* ---- start --------------------------------------------------------------------------------------- */

static json_t *json_of(const sparc_rl_run_config *config) {
  sparc_rl_run_config c = *config;
  const settings_binding binding = rl_binding(&c);
  return settings_json(&binding);
}

static json_t *config_json(const void *kind) { return json_of(&((const sparc_rl_run *)kind)->config); }

static provenance describe(const void *kind) {
  return provenance_of_build(NULL, ((const sparc_rl_run *)kind)->config.ppo.threads);
}

static long count_steps(const void *kind, long rollouts) {
  return rollouts * ((const sparc_rl_run *)kind)->config.ppo.rollout_steps;
}

/* shards and threads of this rank */
static sparc_status take_shards(sparc_rl_run *run) {
  sparc_ppo_config *c = &run->described->config;
  c->threads = engine_threads(&run->engine, c->threads);
  return ppo_join(run->described, run->engine.group);
}

static sparc_status create(void *kind) {
  sparc_rl_run *run = kind;
  sparc_status status = take_shards(run);
  if (status == SPARC_OK) status = ppo_start(run->described);
  if (status == SPARC_OK) run->ppo = run->described;
  return status;
}

/* checks that config.json defines the same run as the resolved configuration with this agent and number of steps */
static sparc_status compare_config(const sparc_rl_run *run, const sparc_ppo_config *ppo, long total_steps) {
  sparc_rl_run_config c = run->config;
  const settings_binding binding = rl_binding(&c);
  c.ppo = *ppo;
  c.total_steps = total_steps;
  /* a checkpoint stores the resolved method, and auto for a cell without sensitivities */
  if (run->config.ppo.traces == SPARC_TRACES_AUTO || ppo->traces == SPARC_TRACES_AUTO)
    c.ppo.traces = run->config.ppo.traces;
  return run_folder_compare(&run->engine.folder, &binding, json_of(&c));
}

/* steps that the run had in config.json; a greater number extends it */
static sparc_status read_steps(const sparc_rl_run *run, long *steps) {
  json_t *then = NULL;
  const sparc_status status = run_folder_read_config(&run->engine.folder, &then);
  if (status == SPARC_OK) *steps = (long)json_integer_value(json_object_get(then, "steps"));
  json_decref(then);
  return status;
}

/* checks that the checkpoint belongs to the run, before memory is allocated for it. The number of steps may differ from
 * the checkpoint: it is defined by config.json. */
static sparc_status compare_checkpoint(const sparc_rl_run *run, long total_steps) {
  const char *path = run->engine.folder.last;
  sparc_tensors *file;
  stored_run stored;
  sparc_status status = sparc_tensors_load(path, &file);
  if (status == SPARC_OK) status = stored_run_read(file, path, &stored);
  if (status == SPARC_OK) status = compare_config(run, &stored.config, total_steps);
  sparc_tensors_free(file);
  return status;
}

static sparc_status restore(void *kind, long *done) {
  sparc_rl_run *run = kind;
  const sparc_ppo_config *c = &run->config.ppo;
  const run_folder *folder = &run->engine.folder;
  long before = 0;
  sparc_status status = read_steps(run, &before);
  if (status != SPARC_OK) return status;
  const long steps = c->rollouts * c->rollout_steps, kept = steps > before ? before : steps;
  status = compare_config(run, c, kept);
  if (status != SPARC_OK) return status;
  status = compare_checkpoint(run, kept);
  if (status == SPARC_OK) status = take_shards(run);
  /* the checkpoint may name a plugin only if the caller did */
  const char *const plugins[] = {c->task, NULL};
  const ppo_source from = {.path = folder->last,
                           .plugins = plugins,
                           .threads = engine_threads(&run->engine, c->threads),
                           .described = run->described};
  if (status == SPARC_OK) status = ppo_restore(&from, &run->ppo);
  if (status != SPARC_OK) return run_folder_as_format_error(folder, status);
  *done = sparc_ppo_info_of(run->ppo).rollouts_done;
  if (*done > c->rollouts)
    return fail(SPARC_FORMAT, "'%.200s' has %ld rollouts, expected at most %ld", folder->last, *done, c->rollouts);
  run->ppo->config.rollouts = c->rollouts;
  return steps > before ? engine_write_config(&run->engine) : SPARC_OK;
}

/* ---- rollouts ------------------------------------------------------------------------------------ */

static sparc_status advance(void *kind, long *done, bool *due) {
  sparc_rl_run *run = kind;
  sparc_ppo_report report;
  bool stop = run->engine.stop_requested;
  const sparc_status status = ppo_iterate(run->ppo, &stop, &report);
  engine_agreed(&run->engine, stop);
  if (status != SPARC_OK) return status;
  run->returns[*done] = as_logged(report.mean_return);
  *done = report.rollout;
  *due = report.rollout % ROLLOUTS_PER_CHECKPOINT == 0 || report.rollout == run->config.ppo.rollouts;
  notify(run, &(sparc_rl_run_event){.stage = SPARC_RUN_UPDATE, .run = run, .report = &report});
  return log_rollout(run, &report);
}

static bool is_over(const void *kind) {
  const sparc_rl_run *run = kind;
  return run->engine.done >= run->config.ppo.rollouts;
}

static sparc_status save(void *kind, const char *path) {
  return sparc_ppo_save(((const sparc_rl_run *)kind)->ppo, NULL, 0, path);
}

static run_shards count_shards(const void *kind) {
  const sparc_ppo_config *c = &((const sparc_rl_run *)kind)->config.ppo;
  return (run_shards){ppo_shards(c), c->streams, "streams"};
}

static sparc_status gather(void *kind) {
  const sparc_ppo *ppo = ((const sparc_rl_run *)kind)->ppo;
  return ppo->team ? team_gather(ppo->team) : SPARC_OK;
}

void rl_run_join(sparc_rl_run *run, ranks *group, int threads) { engine_join(&run->engine, group, threads); }

static const run_ops reinforcement = {.create = create,
                                      .restore = restore,
                                      .config = config_json,
                                      .provenance = describe,
                                      .work = count_steps,
                                      .shards = count_shards,
                                      .gather = gather,
                                      .recall = recall,
                                      .advance = advance,
                                      .save = save,
                                      .is_over = is_over,
                                      .notify = notify_stage};

sparc_status sparc_rl_run_execute(sparc_rl_run *run, sparc_rl_run_fn fn, void *user) {
  if (!run) return fail(SPARC_INVALID, "run is NULL");
  run->fn = fn;
  run->user = user;
  return engine_execute(&run->engine);
}
