/* SPDX-License-Identifier: MIT */
/* dynamic.h: functions of shared libraries that are loaded at run time. */
#ifndef SPARC_BASE_DYNAMIC_H
#define SPARC_BASE_DYNAMIC_H

#include <stdbool.h>

/* dynamic_function stores the address of a function of a library (from dlopen) in *pointer, a pointer to a function:
 * NULL and false if the library has none of this name. */
bool dynamic_function(void *library, const char *name, void *pointer);

#endif
