/* SPDX-License-Identifier: MIT */
/* registry.c: the built-in kinds of environments. To add one, add a row to its family's table and a name here. */
#include "base/error.h"
#include "envs/envs.h"

#include <stdarg.h>
#include <string.h>

static const sparc_env_kind *const *const families[] = {card_kinds, control_kinds, search_kinds, robot_kinds, NULL};

/* in the order of the families */
static const char *const names[] = {"autoencode",
                                    "autoencode-ascoded",
                                    "count-recall",
                                    "repeat-first",
                                    "repeat-first-unmarked",
                                    "repeat-previous",
                                    "higher-lower",
                                    "noisy-pendulum",
                                    "pendulum",
                                    "cartpole",
                                    "noisy-cartpole",
                                    "bandit",
                                    "battleship",
                                    "minesweeper",
                                    "concentration",
                                    "ant-p",
                                    "ant-v",
                                    "ant",
                                    "cheetah-p",
                                    "cheetah-p8",
                                    "cheetah-v",
                                    "cheetah",
                                    "hopper-p",
                                    "hopper-v",
                                    "hopper",
                                    "walker-p",
                                    "walker-v",
                                    "walker",
                                    NULL};

const char *const *sparc_env_names(void) { return names; }

sparc_status env_find(const char *name, const sparc_env_kind **out) {
  for (const sparc_env_kind *const *const *family = families; *family; family++)
    for (const sparc_env_kind *const *kind = *family; *kind; kind++)
      if (strcmp((*kind)->name, name) == 0) {
        *out = *kind;
        return SPARC_OK;
      }
  const size_t length = strlen(name);
  if (length > 3 && strcmp(name + length - 3, ".so") == 0)
    return fail(SPARC_INVALID, "unknown environment '%s'; a shared object is loaded by its path: './%s'", name, name);
  return unknown_name("environment", name, names);
}

sparc_status sparc_env_refuse(const char *format, ...) {
  if (!format) return fail(SPARC_INVALID, "format is NULL, expected the reason of an environment");
  va_list arguments;
  va_start(arguments, format);
  set_error(format, arguments);
  va_end(arguments);
  return SPARC_INVALID;
}
