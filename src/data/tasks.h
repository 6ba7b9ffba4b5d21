/* SPDX-License-Identifier: MIT */
/* tasks.h: what is known of a generated task without drawing its sequences. */
#ifndef SPARC_DATA_TASKS_H
#define SPARC_DATA_TASKS_H

#include <stdbool.h>

/* task_has_classes: its targets are classes, not values; `name` is that of a task */
bool task_has_classes(const char *name);

#endif
