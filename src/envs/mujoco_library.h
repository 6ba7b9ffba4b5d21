/* SPDX-License-Identifier: MIT */
/* mujoco_library.h: MuJoCo's shared library, loaded when the first robot is created. libsparc does not link it, so
 * everything else runs on machines without MuJoCo. */
#ifndef SPARC_ENVS_MUJOCO_LIBRARY_H
#define SPARC_ENVS_MUJOCO_LIBRARY_H

#include "sparc/base.h"

#include <mujoco/mujoco.h>

/* MuJoCo's handlers of one thread. The library exports them for its own Python bindings and declares them in no header;
 * the handlers of mujoco.h are those of the whole process and belong to the program. */
typedef void (*mujoco_handler)(const char *message);
mujoco_handler _mjPRIVATE__get_tls_error_fn(void);
mujoco_handler _mjPRIVATE__get_tls_warning_fn(void);
void _mjPRIVATE__set_tls_error_fn(mujoco_handler handler);
void _mjPRIVATE__set_tls_warning_fn(mujoco_handler handler);

/* every function that mujoco.c calls: member of mujoco_library, name in the shared library */
#define MUJOCO_FUNCTIONS(F)                             \
  F(default_vfs, mj_defaultVFS)                         \
  F(make_empty_file_vfs, mj_makeEmptyFileVFS)           \
  F(find_file_vfs, mj_findFileVFS)                      \
  F(delete_vfs, mj_deleteVFS)                           \
  F(load_xml, mj_loadXML)                               \
  F(delete_model, mj_deleteModel)                       \
  F(make_data, mj_makeData)                             \
  F(delete_data, mj_deleteData)                         \
  F(reset_data, mj_resetData)                           \
  F(normalize_quat, mj_normalizeQuat)                   \
  F(forward, mj_forward)                                \
  F(step, mj_step)                                      \
  F(kinematics, mj_kinematics)                          \
  F(get_tls_error_fn, _mjPRIVATE__get_tls_error_fn)     \
  F(get_tls_warning_fn, _mjPRIVATE__get_tls_warning_fn) \
  F(set_tls_error_fn, _mjPRIVATE__set_tls_error_fn)     \
  F(set_tls_warning_fn, _mjPRIVATE__set_tls_warning_fn)

typedef struct mujoco_library {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a name, not a value */
#define MEMBER(member, name) __typeof__(&(name)) member;
  MUJOCO_FUNCTIONS(MEMBER)
#undef MEMBER
} mujoco_library;

/* mujoco_load loads the library on the first call of the process. SPARC_UNSUPPORTED: it is missing, or its version is
 * not that of the headers; later calls return the same. */
sparc_status mujoco_load(void);

/* the functions, after mujoco_load returned SPARC_OK */
extern const mujoco_library *const mujoco;

#endif
