/* SPDX-License-Identifier: MIT */
/* json.h: what JSON needs beyond jansson. */
#ifndef SPARC_IO_JSON_H
#define SPARC_IO_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* json_text makes a JSON string of any bytes, for example the name of a file; those that are not UTF-8 are escaped as
 * \xNN. NULL: no memory. */
json_t *json_text(const char *text);

/* json_put writes a value as jansson does, with escapes for characters that could steer a terminal: jansson leaves DEL,
 * C1 and marks of direction as they are. false: no memory. */
bool json_put(FILE *out, const json_t *value, size_t flags);

#endif
