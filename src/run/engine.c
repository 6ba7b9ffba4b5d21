/* SPDX-License-Identifier: MIT */
/* engine.c: a run that can be stopped at any moment. */
#include "run/engine.h"

#include "base/clock.h"
#include "base/error.h"
#include "io/folder_file.h"
#include "io/near_path.h"
#include "run/ranked.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

sparc_status engine_written(run_engine *e, sparc_status status) {
  if (status != SPARC_OK && status != SPARC_FORMAT) e->io_failed = true;
  return status;
}

static void notify(run_engine *e, sparc_run_stage stage, const char *message) {
  if (e->ops->notify) e->ops->notify(e->run, stage, message);
}

/* a file is that of one process */
static bool is_written(const run_engine *e) { return engine_has_folder(e) || (e->place.file && !e->place.read_only); }

void engine_join(run_engine *e, ranks *group, int threads) {
  e->group = group;
  e->threads = threads;
}

static const char *checkpoint_path(const run_engine *e) {
  return engine_has_folder(e) ? e->folder.last : e->place.file;
}

/* ---- existing runs -------------------------------------------------------------------------------- */

static bool is_readable(const char *path) { return access(path, R_OK) == 0; }

/* other errors are reported when the file is opened */
static bool exists(const char *path) { return access(path, F_OK) == 0 || errno != ENOENT; }

static sparc_status require_file(const char *path) {
  char near[NEAR_PATH];
  if (exists(path)) return SPARC_OK;
  const bool guess = near_path(path, is_readable, near);
  return fail(SPARC_IO, "there is no learner to resume in '%.200s'%s%.200s%s; resume-or-create starts one", path,
              guess ? "; did you mean '" : "", guess ? near : "", guess ? "'?" : "");
}

static sparc_status look_for_run(run_engine *e) {
  const run_place *p = &e->place;
  e->continues = false;
  if (!place_resumes(p)) return SPARC_OK;
  sparc_status status = !p->resume ? SPARC_OK : p->folder ? run_folder_require(&e->folder) : require_file(p->file);
  if (status != SPARC_OK) return status;
  if (p->folder) return folder_file_find(e->folder.last, &e->continues);
  e->continues = exists(p->file);
  return SPARC_OK;
}

/* an existing run is not overwritten without force */
static sparc_status check_free(const run_engine *e) {
  const run_place *p = &e->place;
  bool found = false;
  const sparc_status status = p->folder ? run_folder_find(&e->folder, &found) : SPARC_OK;
  if (status != SPARC_OK || p->force || place_resumes(p)) return status;
  if (found)
    return fail(SPARC_INVALID, "'%.300s' holds a run already; resume continues it, force replaces it", p->folder);
  if (!p->folder && p->file && access(p->file, F_OK) == 0)
    return fail(SPARC_INVALID, "'%.200s' exists already; resume continues it, force replaces it", p->file);
  return SPARC_OK;
}

sparc_status engine_open(run_engine *e, const run_ops *ops, void *run, const run_place *place) {
  *e = (run_engine){.ops = ops, .run = run, .place = *place, .saved = -1};
  if (place_resumes(place) && !place->folder && !place->file)
    return fail(SPARC_INVALID, "folder is NULL, expected that of the run to resume");
  if (place_resumes(place) && place->force)
    return fail(SPARC_INVALID, "resume and force are both 1, expected one of them");
  const sparc_status status = place->folder ? run_folder_at(place->folder, &e->folder) : SPARC_OK;
  return status == SPARC_OK ? look_for_run(e) : status;
}

void engine_close(run_engine *e) {
  metrics_close(&e->metrics);
  run_lock_release(&e->lock);
}

/* ---- metrics and checkpoints ---------------------------------------------------------------------- */

sparc_status engine_write_config(run_engine *e) {
  json_t *object = e->ops->config(e->run);
  const sparc_status status =
      object ? run_folder_write_config(&e->folder, object) : fail(SPARC_NO_MEMORY, "no memory for config.json");
  json_decref(object);
  return engine_written(e, status);
}

sparc_status engine_log(run_engine *e, json_t *object) {
  if (engine_has_folder(e)) return engine_written(e, metrics_add(&e->metrics, object));
  json_decref(object);
  return SPARC_OK;
}

static void count_time(run_engine *e) {
  const double now = seconds_now();
  e->seconds += now - e->clock;
  e->clock = now;
}

/* writes provenance with the time so far */
static sparc_status write_provenance(run_engine *e) {
  provenance p = e->ops->provenance(e->run);
  const long steps = e->done - e->first;
  p.seconds = e->seconds;
  p.done = e->ops->work ? e->ops->work(e->run, steps) : steps;
  provenance_join(&e->earlier, &p);
  e->made = p;
  return provenance_write(e->folder.path, &e->made);
}

sparc_status engine_save(run_engine *e) {
  const sparc_status gathered = e->group && e->ops->gather ? e->ops->gather(e->run) : SPARC_OK;
  if (gathered != SPARC_OK) return gathered;
  if (!is_written(e)) {
    if (e->group) e->saved = e->done; /* by rank 0 */
    return SPARC_OK;
  }
  sparc_status status = engine_has_folder(e) ? metrics_flush(&e->metrics) : SPARC_OK;
  if (status == SPARC_OK) status = e->ops->save(e->run, checkpoint_path(e));
  count_time(e);
  if (status == SPARC_OK && engine_has_folder(e)) status = write_provenance(e);
  if (status != SPARC_OK) return engine_written(e, status);
  e->saved = e->done;
  notify(e, SPARC_RUN_CHECKPOINT, NULL);
  return SPARC_OK;
}

/* ---- beginning ------------------------------------------------------------------------------------ */

sparc_status engine_lock(run_engine *e) {
  if (!is_written(e)) return SPARC_OK;
  return engine_written(
      e, engine_has_folder(e) ? run_lock_take(&e->folder, &e->lock) : file_lock_take(e->place.file, &e->lock));
}

/* a run that was killed before its first checkpoint starts again; its files are removed */
static sparc_status make_place(run_engine *e) {
  sparc_status status = SPARC_OK;
  if (!is_written(e)) return SPARC_OK;
  if (engine_has_folder(e)) status = engine_written(e, run_folder_make(&e->folder));
  if (status == SPARC_OK) status = engine_lock(e);
  if (status != SPARC_OK || !engine_has_folder(e)) return status;
  status = engine_written(e, run_folder_empty(&e->folder));
  return status == SPARC_OK ? engine_write_config(e) : status;
}

/* checks and locks before weights are created or loaded */
static sparc_status enter_place(run_engine *e) {
  bool found;
  if (!e->continues) return check_free(e);
  const sparc_status status = engine_lock(e);
  return status == SPARC_OK && engine_has_folder(e) ? run_folder_find(&e->folder, &found) : status;
}

static sparc_status make_or_restore(run_engine *e) {
  if (!e->continues) return e->ops->create(e->run);
  const sparc_status status = e->ops->restore(e->run, &e->done);
  if (status == SPARC_OK) e->first = e->saved = e->done;
  return status;
}

static sparc_status open_folder(run_engine *e) {
  sparc_status status = run_folder_sweep(&e->folder);
  if (status == SPARC_OK && e->first > 0) status = provenance_read(e->folder.path, &e->earlier);
  if (status == SPARC_OK) status = write_provenance(e);
  if (status == SPARC_OK)
    status = metrics_open(e->folder.path, run_folder_name(&e->folder), e->seed, e->saved, &e->metrics);
  return engine_written(e, status);
}

/* ranks must be equal; only rank 0 locks and creates the folder */
static sparc_status check_ranks(run_engine *e) {
  if (!e->ops->shards) return fail(SPARC_UNSUPPORTED, "this kind of run is not divided among ranks");
  return ranked_check(e);
}

/* ranks agree after every part, so that none waits for another that has failed */
sparc_status engine_begin(run_engine *e) {
  const bool first = ranks_number(e->group) == 0;
  sparc_status status = ranks_agree(e->group, look_for_run(e), NULL);
  if (status == SPARC_OK && e->group) status = check_ranks(e);
  if (status == SPARC_OK) status = ranks_agree(e->group, first ? enter_place(e) : SPARC_OK, NULL);
  if (status == SPARC_OK) status = ranks_agree(e->group, make_or_restore(e), NULL);
  if (status == SPARC_OK && first && !e->continues) status = make_place(e);
  if (e->group && e->place.folder) status = ranked_see_folder(e, status);
  if (status != SPARC_OK) return status;
  e->begun = true;
  e->clock = seconds_now();
  if (engine_has_folder(e)) status = open_folder(e);
  const bool recalls = e->ops->recall && ranks_number(e->group) == 0;
  return status == SPARC_OK && recalls ? e->ops->recall(e->run) : status;
}

/* ---- steps ---------------------------------------------------------------------------------------- */

sparc_status engine_advance(run_engine *e) {
  bool due = false;
  sparc_status status = e->ops->advance(e->run, &e->done, &due);
  count_time(e);
  if (status != SPARC_OK || !due) return status;
  if (e->ops->measure) status = e->ops->measure(e->run);
  if (status == SPARC_OK) status = engine_save(e);
  count_time(e);
  return status;
}

static sparc_status finish(run_engine *e) {
  const bool over = e->ops->is_over(e->run);
  sparc_status status = e->saved != e->done ? engine_save(e) : SPARC_OK;
  if (status != SPARC_OK || !over) return status;
  if (e->ops->conclude) status = e->ops->conclude(e->run);
  if (status != SPARC_OK) return status;
  e->finished = true;
  notify(e, SPARC_RUN_FINISHED, NULL);
  return SPARC_OK;
}

static sparc_status work(run_engine *e) {
  sparc_status status = e->begun ? engine_lock(e) : engine_begin(e);
  if (status != SPARC_OK) return status;
  notify(e, SPARC_RUN_STARTED, NULL);
  e->clock = seconds_now();
  e->stop = e->stop_requested && !e->group;
  while (status == SPARC_OK && !e->ops->is_over(e->run) && !e->stop) {
    status = engine_advance(e);
    if (!e->group) e->stop = e->stop_requested;
  }
  return status == SPARC_OK ? finish(e) : status;
}

sparc_status engine_execute(run_engine *e) {
  if (e->failed) return fail(SPARC_INVALID, "the run has failed before; create or load it again");
  e->stop_requested = e->stop = false;
  const sparc_status status = work(e);
  run_lock_release(&e->lock);
  if (status == SPARC_OK) return SPARC_OK;
  char message[512];
  snprintf(message, sizeof message, "%s", sparc_error());
  e->failed = true;
  notify(e, SPARC_RUN_FAILED, message);
  return fail(status, "%s", message);
}
