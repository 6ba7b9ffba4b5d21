/* SPDX-License-Identifier: MIT */
/* build_info.h: what this library was built with, for `sparc info`, bug reports and the provenance of results. */
#ifndef SPARC_BASE_BUILD_INFO_H
#define SPARC_BASE_BUILD_INFO_H

const char *build_blas(void);     /* name of the BLAS that the benchmark compares with */
const char *build_compiler(void); /* compiler and version */
const char *build_commit(void);   /* hash of the commit, -dirty after it with changed files; "unknown": no clone */
const char *build_type(void);     /* release, debug, ... */
int build_openmp(void);           /* 1: tiles run on OpenMP threads, 0: on pthreads */

#endif
