/* SPDX-License-Identifier: MIT */
/* provenance.h: the provenance of a run: data, build, kernels, threads, machine, and computing time.
 *
 * The file provenance.json of a run folder is written when the run begins and with every checkpoint, so that the
 * seconds of a resumed run cover all its parts. It is the one file of the folder that depends on time and machine.
 * Different builds or machines of parts are listed: "commit": "9917925, 1c2d3e4".
 */
#ifndef SPARC_RUN_PROVENANCE_H
#define SPARC_RUN_PROVENANCE_H

#include "sparc/run.h"

#include <jansson.h>

enum { PROVENANCE_TEXT = 128, PROVENANCE_DATA = 24, PROVENANCE_NOTE = 320 };

/* texts are "" and numbers 0 where a fact is unknown, or where there is none: RL has no data */
typedef struct provenance {
  char data[PROVENANCE_DATA];      /* CRC-32 of the examples as they were read, fit and validation parts: "7d0c2f1a" */
  int fit, validation;             /* examples */
  char split[16];                  /* paper, official, or task for generated examples */
  char departure[PROVENANCE_NOTE]; /* how the data differ from the paper's */
  char version[PROVENANCE_TEXT], commit[PROVENANCE_TEXT], kernels[PROVENANCE_TEXT], machine[PROVENANCE_TEXT];
  int threads;    /* of the last part */
  double seconds; /* of all parts, with validations */
  long done;      /* updates or environment steps in these seconds */
} provenance;

/* provenance_of_build describes this process: version, commit, kernels, threads, machine. `kernel` is the requested
 * kernel; NULL: the best. */
provenance provenance_of_build(const char *kernel, int threads);

/* provenance_join appends `part` to the earlier parts of a run, `all`, in place; the data are those of `part` */
void provenance_join(const provenance *all, provenance *part);

/* provenance_json is an object of the known facts, NULL without memory; provenance_from reads them from any object */
json_t *provenance_json(const provenance *p);
void provenance_from(const json_t *object, provenance *out);

/* files of run folders. Facts missing in the file, as in runs of earlier versions, are read as "unknown". */
sparc_status provenance_write(const char *folder, const provenance *p);
sparc_status provenance_read(const char *folder, provenance *out);

/* run_provenance is that of a training run, with the seconds spent so far */
const provenance *run_provenance(const sparc_run *run);

#endif
