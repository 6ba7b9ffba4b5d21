/* SPDX-License-Identifier: MIT */
/* record.h: a diagnosis as a JSON object, so that tables and pages can be made of it without the run's data. */
#ifndef SPARC_LAB_DIAGNOSE_DIAGNOSIS_RECORD_H
#define SPARC_LAB_DIAGNOSE_DIAGNOSIS_RECORD_H

#include "lab/diagnose/diagnosis.h"

#include <jansson.h>

/* diagnosis_record describes everything that was measured, and the views of the first and the last layer as data of
 * charts ("views": [{"layer": 1, "charts": [...]}, ...]). *out is a new reference. */
sparc_status diagnosis_record(const diagnosis *d, json_t **out);

/* diagnosis_from_record makes a diagnosis of such an object, whose reference it takes. It has no replay but its title, and
 * training_log_read adds the log. SPARC_FORMAT: the object is none; there is nothing to free then. */
sparc_status diagnosis_from_record(json_t *record, const char *title, diagnosis *out);

#endif
