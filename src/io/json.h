/* SPDX-License-Identifier: MIT */
/* json.h: additions to jansson. */
#ifndef SPARC_IO_JSON_H
#define SPARC_IO_JSON_H

#include "sparc/base.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* json_text makes a JSON string of any bytes, for example the name of a file; those that are not UTF-8 are escaped as
 * \xNN. NULL: no memory. */
json_t *json_text(const char *text);

/* json_put writes a value as jansson does, with escapes for characters that control a terminal: jansson does not escape
 * DEL, C1 and direction marks. false: no memory. */
bool json_put(FILE *out, const json_t *value, size_t flags);

/* json_read reads a file in the folder of a run or of results (io/folder_file.h), with these flags of jansson's
 * decoder; *out is a new reference, NULL: there is no such file. SPARC_FORMAT: it is no JSON. */
sparc_status json_read(const char *path, size_t flags, json_t **out);

#endif
