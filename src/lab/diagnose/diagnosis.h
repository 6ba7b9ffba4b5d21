/* SPDX-License-Identifier: MIT */
/* diagnosis.h: all measurements of one trained run. */
#ifndef SPARC_LAB_DIAGNOSE_DIAGNOSIS_H
#define SPARC_LAB_DIAGNOSE_DIAGNOSIS_H

#include "lab/diagnose/evolution.h"
#include "lab/diagnose/interventions.h"
#include "lab/diagnose/statistics.h"

#include <jansson.h>

typedef struct diagnosis {
  replay replay;
  double whole[STATISTICS];    /* mean of the layers */
  double (*layer)[STATISTICS]; /* (layers): means over the recordings that have the statistic */
  int layers;
  const char *intervention[MAX_INTERVENTIONS];
  double change[MAX_INTERVENTIONS];
  int interventions;
  training_log log;
  json_t *record; /* if read from a file (diagnosis_record.h): owns the names above; NULL: measured */
} diagnosis;

/* Opens a checkpoint, or that of a run folder, and measures it. On failure there is nothing to free. */
sparc_status diagnose(const char *path, const replay_options *options, diagnosis *out);
void diagnosis_free(diagnosis *d); /* accepts a zeroed structure */

/* inspects one layer on one recording */
sparc_status diagnosis_inspect(const replay *r, int layer, const recording *from, sparc_inspection **out);

#endif
