/* SPDX-License-Identifier: MIT */
/* sizes.h: the parts of sparc_rtrl_sizes_of, in elements. A size is 0 where sparc/rtrl.h documents it. */
#ifndef SPARC_RTRL_SIZES_H
#define SPARC_RTRL_SIZES_H

#include "sparc/rtrl.h"

size_t lazy_size(const sparc_cell *cell, int chunk);
size_t record_size(const sparc_cell *cell, int T);
size_t record_work_size_f32(const sparc_cell *cell, int T, int n, int interval, int symbols);
size_t record_work_size_f64(const sparc_cell *cell, int T, int n, int interval, int symbols);
size_t batch_work_size_f32(const sparc_cell *cell, int n);
size_t batch_work_size_f64(const sparc_cell *cell, int n);

#endif
