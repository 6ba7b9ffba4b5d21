/* SPDX-License-Identifier: MIT */
/* cache.h: compiled kernels on disk, so that a program compiles them once and not every time it starts.
 *
 * An entry is found by a hash of the program's text and everything else that decides its binary; its file repeats all
 * of it and is believed only when every byte is accounted for. What is missing, foreign or damaged counts as absent:
 * the kernels are then compiled and the entry is written anew. Failures to write are remarks in the log, never errors.
 */
#ifndef SPARC_DEVICE_CACHE_H
#define SPARC_DEVICE_CACHE_H

#include "device/backend.h"

#include <limits.h>

/* cache_folder resolves the folder of a configuration; "" where there is none. */
sparc_status cache_folder(const char *requested, char folder[PATH_MAX]);

/* cache_load gives the binary of a program, or one without bytes; free its bytes with free(). */
program_binary cache_load(const char *folder, const sparc_device_info *info, bool fast, const char *text);
void cache_store(const char *folder, const sparc_device_info *info, bool fast, const char *text,
                 const program_binary *binary);

#endif
