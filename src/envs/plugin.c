/* SPDX-License-Identifier: MIT */
/* plugin.c: kinds from shared objects. */
#include "base/dynamic.h"
#include "base/error.h"
#include "envs/envs.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static const char entry[] = "sparc_env_plugin";

sparc_status plugin_load(const char *path, void **handle, const sparc_env_kind **out) {
  struct stat about;
  if (stat(path, &about) != 0) return fail(SPARC_IO, "cannot read the environment %s: %s", path, strerror(errno));
  /* with lazy binding, missing functions would abort the program within an episode */
  *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!*handle) return fail(SPARC_FORMAT, "%s does not load: %s", path, dlerror());
  sparc_env_plugin_fn plugin;
  if (!dynamic_function(*handle, entry, &plugin))
    return fail(SPARC_FORMAT, "%s is a shared object without the function %s", path, entry);
  *out = plugin();
  if (!*out) return fail(SPARC_FORMAT, "%s has no environment: %s returns NULL", path, entry);
  return SPARC_OK;
}

bool is_plugin(const char *name) { return name && strchr(name, '/'); }

sparc_status plugin_permit(const char *name, const char *where, const char *const *allowed) {
  if (!is_plugin(name)) return SPARC_OK;
  for (; allowed && *allowed; allowed++)
    if (strcmp(*allowed, name) == 0) return SPARC_OK;
  return fail(
      SPARC_INVALID,
      "'%.200s' names the plugin '%.200s', whose code would run; if you trust it, repeat the path with --plugin", where,
      name);
}

void plugin_unload(void *handle) {
  if (handle) dlclose(handle);
}
