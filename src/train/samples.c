/* SPDX-License-Identifier: MIT */
/* samples.c: views of the examples of data sets, generated tasks and arrays. */
#include "sparc/train.h"

#include <stdbool.h>

/* ---- data sets --------------------------------------------------------------------------------- */

static sparc_sample dataset_sample(const void *source, int index) { return sparc_dataset_example(source, index); }

sparc_samples sparc_samples_of_dataset(const sparc_dataset *dataset) {
  if (!dataset) return (sparc_samples){0};
  const sparc_dataset_info info = sparc_dataset_info_of(dataset);
  return (sparc_samples){.count = info.count,
                         .channels = info.channels,
                         .longest = info.longest,
                         .source = dataset,
                         .at = dataset_sample,
                         .targets = info.targets,
                         .target_steps = info.target_steps};
}

/* ---- generated tasks --------------------------------------------------------------------------- */

static sparc_sample part_sample(const sparc_task *task, const sparc_task_part *part, int index) {
  if (index < 0 || index >= part->count) return (sparc_sample){.label = -1};
  const size_t first = (size_t)index * (size_t)task->T;
  return (sparc_sample){.x = part->x + first * (size_t)task->D,
                        .length = task->T,
                        .label = part->label ? part->label[index] : -1,
                        .target = part->target ? part->target + first * (size_t)task->O : NULL};
}

static sparc_sample train_sample(const void *source, int index) {
  const sparc_task *task = source;
  return part_sample(task, &task->train, index);
}

static sparc_sample evaluation_sample(const void *source, int index) {
  const sparc_task *task = source;
  return part_sample(task, &task->evaluation, index);
}

sparc_samples sparc_samples_of_task(const sparc_task *task, int evaluation) {
  if (!task) return (sparc_samples){0};
  const bool values = task->target_kind != SPARC_TARGET_CLASS;
  return (sparc_samples){.count = evaluation ? task->evaluation.count : task->train.count,
                         .channels = task->D,
                         .longest = task->T,
                         .source = task,
                         .at = evaluation ? evaluation_sample : train_sample,
                         .targets = values ? task->O : 0,
                         .target_steps = values};
}

/* ---- arrays ------------------------------------------------------------------------------------ */

static sparc_sample array_sample(const void *source, int index) {
  const sparc_arrays *a = source;
  if (index < 0 || index >= a->count) return (sparc_sample){.label = -1};
  return (sparc_sample){.x = a->x[index],
                        .length = a->lengths[index],
                        .label = a->labels ? a->labels[index] : -1,
                        .target = a->target ? a->target[index] : NULL};
}

sparc_samples sparc_samples_of_arrays(const sparc_arrays *arrays) {
  if (!arrays || !arrays->x || !arrays->lengths) return (sparc_samples){0};
  int longest = 0;
  for (int i = 0; i < arrays->count; i++) longest = arrays->lengths[i] > longest ? arrays->lengths[i] : longest;
  return (sparc_samples){.count = arrays->count,
                         .channels = arrays->channels,
                         .longest = longest,
                         .source = arrays,
                         .at = array_sample,
                         .targets = arrays->target ? arrays->targets : 0,
                         .target_steps = arrays->target_steps};
}
