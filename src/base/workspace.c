/* SPDX-License-Identifier: MIT */
/* workspace.c: one block per thread. Thread-local arrays would not do: the C library takes them from the stack. */
#include "base/workspace.h"

#include "base/memory.h"

#include <pthread.h>

static pthread_key_t key;
static int has_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void create_key(void) { has_key = pthread_key_create(&key, sparc_free) == 0; }

void *thread_workspace(void) {
  pthread_once(&once, create_key);
  if (!has_key) return NULL;
  void *block = pthread_getspecific(key);
  if (block) return block;
  block = sparc_alloc(WORKSPACE_BYTES);
  if (block && pthread_setspecific(key, block) != 0) {
    sparc_free(block);
    block = NULL;
  }
  return block;
}
