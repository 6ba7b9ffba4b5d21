/* SPDX-License-Identifier: MIT */
/* diagnosis_record.h: a diagnosis as a JSON object, from which tables and pages are made without the run's data. */
#ifndef SPARC_LAB_DIAGNOSE_DIAGNOSIS_RECORD_H
#define SPARC_LAB_DIAGNOSE_DIAGNOSIS_RECORD_H

#include "lab/diagnose/diagnosis.h"

#include <jansson.h>

/* Converts all measurements, and the views of the first and last layer as chart data ("views": [{"layer": 1, "charts":
 * [...]}, ...]). *out is a new reference. */
sparc_status diagnosis_record(const diagnosis *d, json_t **out);

/* Creates a diagnosis from such an object, whose reference it takes. Only the title of its replay is set; training_log_read
 * adds the log. Returns SPARC_FORMAT for another object; there is nothing to free then. */
sparc_status diagnosis_from_record(json_t *record, const char *title, diagnosis *out);

#endif
