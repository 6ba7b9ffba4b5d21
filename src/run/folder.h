/* SPDX-License-Identifier: MIT */
/* folder.h: the folder of a run and its files. */
#ifndef SPARC_RUN_FOLDER_H
#define SPARC_RUN_FOLDER_H

#include "io/settings.h"

#include <jansson.h>
#include <stdbool.h>

enum { RUN_PATH = 4200 };

typedef struct run_folder {
  char path[RUN_PATH - 64]; /* 64 bytes shorter: file names are appended */
  char last[RUN_PATH], best[RUN_PATH], config[RUN_PATH];
} run_folder;

/* run_folder_at composes the names; it does not access files */
sparc_status run_folder_at(const char *path, run_folder *out);

/* run_folder_name is its last component, which names the run */
const char *run_folder_name(const run_folder *folder);

/* run_folder_find: *found if there is any file of a run, complete or not. SPARC_FORMAT: one of them is a link or not a
 * regular file. */
sparc_status run_folder_find(const run_folder *folder, bool *found);

/* run_folder_require checks that the folder holds a run. SPARC_IO: it does not; the message suggests a run folder with a
 * similar name. */
sparc_status run_folder_require(const run_folder *folder);

/* run_folder_empty removes the files of a run, checkpoints first */
sparc_status run_folder_empty(const run_folder *folder);

/* run_folder_make creates the folder and its parents */
sparc_status run_folder_make(const run_folder *folder);

/* run_folder_sweep removes temporary files of a killed run */
sparc_status run_folder_sweep(const run_folder *folder);

sparc_status run_folder_write_config(const run_folder *folder, const json_t *config);
sparc_status run_folder_read_config(const run_folder *folder, json_t **config);

/* run_folder_settings reads config.json as a source of settings, whose messages name folder->config */
sparc_status run_folder_settings(const run_folder *folder, const settings_binding *binding, settings_source *source);

/* run_folder_check_data refuses data named by the configuration that are a pipe, a device or the like; NULL passes */
sparc_status run_folder_check_data(const run_folder *folder, const char *data);

/* run_folder_compare checks that config.json defines the same run as `present`, an object of the form's settings whose
 * reference it takes; NULL: there was no memory for it */
sparc_status run_folder_compare(const run_folder *folder, const settings_binding *binding, json_t *present);

/* run_folder_as_format_error turns SPARC_INVALID into a format error of last.safetensors */
sparc_status run_folder_as_format_error(const run_folder *folder, sparc_status status);

#endif
