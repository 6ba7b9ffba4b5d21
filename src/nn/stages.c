/* SPDX-License-Identifier: MIT */
/* stages.c: the executors. */
#include "nn/stages.h"

extern const executor_entry cpu_entry_f32, cpu_entry_f64;

const executor cpu_executor = {&cpu_entry_f32, IN_DOUBLE(&cpu_entry_f64)};
