/* SPDX-License-Identifier: MIT */
/* data.c: loading and preprocessing of training data [app:classification_data]. */
#include "run/data.h"

#include "base/error.h"
#include "data/dataset.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

bool is_task(const char *name) {
  for (const char *const *task = sparc_task_names(); *task; task++)
    if (strcmp(*task, name) == 0) return true;
  return false;
}

/* ---- identity ------------------------------------------------------------------------------------ */

static unsigned long add_bytes(unsigned long sum, const void *bytes, size_t size) { return crc32_z(sum, bytes, size); }

/* continues a checksum with all examples of a part */
static unsigned long add_samples(unsigned long sum, const sparc_samples *samples, int outputs) {
  for (int i = 0; i < samples->count; i++) {
    const sparc_sample s = samples->at(samples->source, i);
    const int shape[] = {s.length, s.label};
    const size_t steps = (size_t)s.length;
    sum = add_bytes(sum, shape, sizeof shape);
    sum = add_bytes(sum, s.x, steps * (size_t)samples->channels * sizeof *s.x);
    const size_t rows = samples->targets && !samples->target_steps ? 1 : steps;
    if (s.target) sum = add_bytes(sum, s.target, rows * (size_t)outputs * sizeof *s.target);
  }
  return sum;
}

static unsigned long identity_of(const sparc_dataset *fit, const sparc_dataset *validation) {
  const sparc_dataset *const parts[] = {fit, validation};
  unsigned long sum = 0;
  for (int i = 0; i < 2; i++) {
    if (!parts[i]) continue;
    const sparc_samples samples = sparc_samples_of_dataset(parts[i]);
    sum = add_samples(sum, &samples, sparc_dataset_info_of(parts[i]).targets);
  }
  return sum;
}

/* ---- tasks --------------------------------------------------------------------------------------- */

static sparc_status load_task(const char *name, run_data *out) {
  const sparc_status status = sparc_task_create(name, &out->task);
  if (status != SPARC_OK) return status;
  out->fit = sparc_samples_of_task(out->task, 0);
  out->validation = sparc_samples_of_task(out->task, 1);
  out->channels = out->task->D;
  out->outputs = out->task->O;
  out->preprocessing = (sparc_preprocessing){.data = out->task->name};
  if (out->task->class_names) {
    out->preprocessing.classes = out->task->O;
    out->preprocessing.labels = out->task->class_names;
  }
  return SPARC_OK;
}

/* ---- data sets ----------------------------------------------------------------------------------- */

/* the message of a name that was not found, with a task as a suggestion where one is near */
static sparc_status suggest_task(const char *name, sparc_status status) {
  const char *guess = status == SPARC_IO ? closest(name, sparc_task_names()) : NULL;
  if (!guess) return status;
  char sentence[512];
  snprintf(sentence, sizeof sentence, "%s", sparc_error());
  return fail(status, "%s; did you mean the task '%s'?", sentence, guess);
}

static sparc_status list_labels(run_data *d) {
  const int classes = sparc_dataset_info_of(d->split.fit).classes;
  if (classes < 2)
    return fail(SPARC_FORMAT, "%s has %d class%s, expected at least 2", d->split.name, classes,
                classes == 1 ? "" : "es");
  d->labels = sparc_alloc((size_t)classes * sizeof *d->labels);
  if (!d->labels) return fail(SPARC_NO_MEMORY, "no memory for %d labels", classes);
  for (int i = 0; i < classes; i++) d->labels[i] = sparc_dataset_info_of(d->split.fit).class_names[i];
  d->outputs = d->preprocessing.classes = classes;
  d->preprocessing.labels = d->labels;
  return SPARC_OK;
}

/* targets are normalised to mean 0 and standard deviation 1 over the fit part */
static sparc_status scale_targets(run_data *d, bool forecast) {
  const int targets = sparc_dataset_info_of(d->split.fit).targets;
  if (targets < 1) return fail(SPARC_FORMAT, "%s has no targets, expected a number for every series", d->split.name);
  d->target_mean = sparc_alloc(2 * (size_t)targets * sizeof *d->target_mean);
  if (!d->target_mean) return fail(SPARC_NO_MEMORY, "no memory for %d targets", targets);
  dataset_target_moments(d->split.fit, d->target_mean, d->target_mean + targets);
  d->outputs = d->preprocessing.targets = targets;
  d->preprocessing.target_mean = d->target_mean;
  d->preprocessing.target_stddev = d->target_mean + targets;
  d->target_steps = sparc_dataset_info_of(d->split.fit).target_steps;
  d->preprocessing.change = forecast;
  return SPARC_OK;
}

static sparc_status check_labels(const sparc_dataset *part, const char *name) {
  const int count = sparc_dataset_info_of(part).count;
  int unlabelled = 0;
  for (int i = 0; i < count; i++) unlabelled += sparc_dataset_example(part, i).label < 0;
  if (unlabelled == 0) return SPARC_OK;
  return fail(SPARC_FORMAT, "%s has examples without a label, %d of %d in a part; expected a class for each", name,
              unlabelled, count);
}

static sparc_status prepare_part(const run_data *d, sparc_dataset *part, const sparc_read_options *read) {
  sparc_status status = read->objective == SPARC_OBJECTIVE_CLASSIFY ? check_labels(part, d->split.name) : SPARC_OK;
  if (status == SPARC_OK) status = sparc_dataset_fill_missing(part);
  if (status == SPARC_OK && read->objective == SPARC_OBJECTIVE_FORECAST)
    status = sparc_dataset_forecast(part, read->horizon ? read->horizon : 1);
  return status;
}

static sparc_status prepare(run_data *d, const sparc_read_options *read) {
  sparc_dataset *const parts[] = {d->split.fit, d->split.validation, d->split.test};
  double *const mean = d->mean, *const stddev = d->mean + d->channels;
  sparc_status status = SPARC_OK;
  for (int i = 0; i < 3 && status == SPARC_OK; i++)
    if (parts[i]) status = prepare_part(d, parts[i], read);
  if (status == SPARC_OK) status = sparc_dataset_moments(d->split.fit, mean, stddev);
  for (int i = 0; i < 2 && status == SPARC_OK; i++)
    if (parts[i]) status = sparc_dataset_normalise(parts[i], mean, stddev);
  /* an invalid argument here is an error in the data */
  if (status != SPARC_INVALID) return status;
  char sentence[512];
  snprintf(sentence, sizeof sentence, "%s", sparc_error());
  return fail(SPARC_FORMAT, "%s: %s", d->split.name, sentence);
}

static sparc_samples samples_of(const run_data *d, const sparc_dataset *part) {
  sparc_samples samples = sparc_samples_of_dataset(part);
  samples.target_mean = d->preprocessing.target_mean;
  samples.target_stddev = d->preprocessing.target_stddev;
  return samples;
}

static sparc_status load_set(const char *name, const sparc_data_options *options, run_data *d) {
  sparc_status status = suggest_task(name, sparc_data_split_load(name, options, &d->split));
  if (status != SPARC_OK) return status;
  d->identity = identity_of(d->split.fit, d->split.validation);
  d->channels = sparc_dataset_info_of(d->split.fit).channels;
  d->mean = sparc_alloc(2 * (size_t)d->channels * sizeof *d->mean);
  if (!d->mean) return fail(SPARC_NO_MEMORY, "no memory for %d channels", d->channels);
  d->preprocessing = (sparc_preprocessing){.channels = d->channels,
                                           .mean = d->mean,
                                           .stddev = d->mean + d->channels,
                                           .data = d->split.name,
                                           .columns = sparc_dataset_info_of(d->split.fit).columns};
  if (options->read.objective == SPARC_OBJECTIVE_CLASSIFY) status = list_labels(d);
  if (status == SPARC_OK) status = prepare(d, &options->read);
  if (status == SPARC_OK && options->read.objective != SPARC_OBJECTIVE_CLASSIFY)
    status = scale_targets(d, options->read.objective == SPARC_OBJECTIVE_FORECAST);
  if (status != SPARC_OK) return status;
  d->fit = samples_of(d, d->split.fit);
  if (d->split.validation) d->validation = samples_of(d, d->split.validation);
  if (d->split.test) d->test = samples_of(d, d->split.test);
  return SPARC_OK;
}

/* ---- both ---------------------------------------------------------------------------------------- */

sparc_status run_data_load(const char *name, const sparc_data_options *options, run_data *out) {
  *out = (run_data){.task = NULL};
  const sparc_status status = is_task(name) ? load_task(name, out) : load_set(name, options, out);
  if (status != SPARC_OK) {
    run_data_free(out);
    return status;
  }
  /* a run can only be resumed on the very same examples */
  out->checksum = add_samples(0, &out->fit, out->outputs);
  if (out->task) out->identity = add_samples(out->checksum, &out->validation, out->outputs);
  return SPARC_OK;
}

void run_data_free(run_data *d) {
  sparc_task_free(d->task);
  sparc_data_split_free(&d->split);
  sparc_free(d->mean);
  sparc_free(d->target_mean);
  sparc_free(d->labels);
  *d = (run_data){.task = NULL};
}
