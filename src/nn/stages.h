/* SPDX-License-Identifier: MIT */
/* stages.h: executors of the stages of a network (stages_impl.h): a table for each precision. */
#ifndef SPARC_NN_STAGES_H
#define SPARC_NN_STAGES_H

#include <stddef.h>

typedef struct executor_entry { /* what an executor's typed sources export, once per precision */
  const void *stages;           /* a table of stages_impl.h */
} executor_entry;

typedef struct executor {
  const executor_entry *f32, *f64;
} executor;

/* tiles on the threads of this machine; arrays are in its memory */
extern const executor cpu_executor;

/* the inference library has one precision */
#ifdef SPARC_INFERENCE
#define IN_DOUBLE(table) NULL
#else
#define IN_DOUBLE(table) (table)
#endif

#endif
