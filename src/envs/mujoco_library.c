/* SPDX-License-Identifier: MIT */
/* mujoco_library.c: finds MuJoCo at run time.
 *
 * The library is opened by its soname, never by a path: the dynamic loader searches the paths of the system and
 * the user, and no input file can name another one. The layout of mjModel and mjData changes with every version, so
 * only the version of the headers is used.
 */
#include "envs/mujoco_library.h"

#include "base/dynamic.h"
#include "base/error.h"
#include "envs/robots.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* 222 is 2.2.2 */
enum { MAJOR = mjVERSION_HEADER / 100, MINOR = mjVERSION_HEADER / 10 % 10, PATCH = mjVERSION_HEADER % 10 };

static mujoco_library library;
const mujoco_library *const mujoco = &library;
static char problem[400]; /* "": there is none */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* the address of a function in *pointer; 0: there is none, see problem */
static int find(void *handle, const char *soname, const char *name, void *pointer) {
  const bool found = dynamic_function(handle, name, pointer);
  if (!found) snprintf(problem, sizeof problem, "%s has no function %s", soname, name);
  return found;
}

static void load(void) {
  char soname[40];
  snprintf(soname, sizeof soname, "libmujoco.so.%d.%d.%d", MAJOR, MINOR, PATCH);
  void *handle = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    snprintf(problem, sizeof problem, "MuJoCo %d.%d.%d cannot be loaded (%.250s); install it (Debian: libmujoco-dev)",
             MAJOR, MINOR, PATCH, dlerror());
    return;
  }
  __typeof__(&mj_version) version;
  if (!find(handle, soname, "mj_version", &version)) return;
  if (version() != mjVERSION_HEADER) {
    snprintf(problem, sizeof problem, "%s is version %d of MuJoCo, expected %d, the version of the headers", soname,
             version(), mjVERSION_HEADER);
    return;
  }
#define FIND(member, name) \
  if (!find(handle, soname, #name, &library.member)) return;
  MUJOCO_FUNCTIONS(FIND)
#undef FIND
}

sparc_status mujoco_load(void) {
  pthread_once(&once, load);
  return *problem ? fail(SPARC_UNSUPPORTED, "robots need MuJoCo: %s", problem) : SPARC_OK;
}

sparc_status robots_available(void) { return mujoco_load(); }
