/* SPDX-License-Identifier: MIT */
/* dynamic.c: addresses of functions by dlsym. */
#include "base/dynamic.h"

#include <dlfcn.h>
#include <string.h>

bool dynamic_function(void *library, const char *name, void *pointer) {
  void *address = dlsym(library, name);
  memcpy(pointer, &address, sizeof address); /* C has no conversion of an object's address to a function's */
  return address != NULL;
}
