/* SPDX-License-Identifier: MIT */
/* json.h: what JSON needs beyond jansson. */
#ifndef SPARC_IO_JSON_H
#define SPARC_IO_JSON_H

#include <jansson.h>

/* json_text makes a JSON string of any bytes, for example the name of a file; those that are not UTF-8 are escaped as
 * \xNN. NULL: no memory. */
json_t *json_text(const char *text);

#endif
