/* SPDX-License-Identifier: MIT */
/* build_info.c: the build system passes these facts to this one file, so that nothing else recompiles with them. */
#include "base/build_info.h"

const char *build_blas(void) { return SPARC_BLAS_NAME; }
const char *build_compiler(void) { return SPARC_COMPILER; }
const char *build_commit(void) { return SPARC_COMMIT; }
const char *build_type(void) { return SPARC_BUILD_TYPE; }
int build_openmp(void) { return SPARC_USE_OPENMP; }
