/* SPDX-License-Identifier: MIT */
/* near_path.h: suggestions for mistyped paths. */
#ifndef SPARC_IO_NEAR_PATH_H
#define SPARC_IO_NEAR_PATH_H

#include <stdbool.h>

enum { NEAR_PATH = 4200 };

/* near_path looks for a path like this one with another name in the place of its first part that does not exist, or
 * else of its last part. fits selects the paths to consider. false: there is none. */
bool near_path(const char *path, bool (*fits)(const char *path), char near[NEAR_PATH]);

#endif
