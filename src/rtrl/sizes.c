/* SPDX-License-Identifier: MIT */
#include "rtrl/sizes.h"

sparc_rtrl_sizes sparc_rtrl_sizes_of(const sparc_cell *cell, const sparc_rtrl_shape *shape) {
  if (!cell || !shape) return (sparc_rtrl_sizes){0};
  return (sparc_rtrl_sizes){
      .lazy = lazy_size(cell, shape->chunk),
      .records = record_size(cell, shape->T),
      .record_work = record_work_size_f32(cell, shape->T, shape->n, shape->interval, shape->symbols),
      .batch_work = batch_work_size_f32(cell, shape->n)};
}
