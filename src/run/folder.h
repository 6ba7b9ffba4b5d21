/* SPDX-License-Identifier: MIT */
/* folder.h: the folder of a run: its files, making it, emptying it. */
#ifndef SPARC_RUN_FOLDER_H
#define SPARC_RUN_FOLDER_H

#include "io/settings.h"

#include <jansson.h>
#include <stdbool.h>

enum { RUN_PATH = 4200 };

typedef struct run_folder {
  char path[RUN_PATH - 64]; /* room for names in it */
  char last[RUN_PATH], best[RUN_PATH], config[RUN_PATH];
} run_folder;

/* run_folder_at fills in the names; nothing is looked at */
sparc_status run_folder_at(const char *path, run_folder *out);

/* run_folder_name is its last component, which names the run */
const char *run_folder_name(const run_folder *folder);

/* run_folder_find tells whether there is any file of a run, whole or not; whether a single one is there,
 * folder_file_find does. SPARC_FORMAT: one of them is a link or no regular file. */
sparc_status run_folder_find(const run_folder *folder, bool *found);

/* run_folder_require demands that a run was begun there. SPARC_IO: it was not; the sentence names a folder with a run
 * whose name is similar. */
sparc_status run_folder_require(const run_folder *folder);

/* run_folder_empty removes the files of an old run, its checkpoints first */
sparc_status run_folder_empty(const run_folder *folder);

/* run_folder_make makes the folder and those above it */
sparc_status run_folder_make(const run_folder *folder);

/* run_folder_sweep removes what a run that was killed in the middle of a write left behind */
sparc_status run_folder_sweep(const run_folder *folder);

sparc_status run_folder_write_config(const run_folder *folder, const json_t *config);
sparc_status run_folder_read_config(const run_folder *folder, json_t **config);

/* run_folder_settings reads config.json as a source of settings, whose messages name folder->config */
sparc_status run_folder_settings(const run_folder *folder, const settings_binding *binding, settings_source *source);

/* run_folder_compare says whether config.json defines the same run as `present`, an object of the form's settings whose
 * reference it takes; NULL: there was no memory for it */
sparc_status run_folder_compare(const run_folder *folder, const settings_binding *binding, json_t *present);

/* run_folder_blame turns what is impossible because last.safetensors says it into an error of that file */
sparc_status run_folder_blame(const run_folder *folder, sparc_status status);

#endif
