/* SPDX-License-Identifier: MIT */
/* xml.h: text inside HTML and SVG. */
#ifndef SPARC_IO_XML_H
#define SPARC_IO_XML_H

#include "base/plain_text.h"

#include <string.h>

/* xml_put_character writes the first character of a text and returns its length in bytes. What is not plain
 * (base/plain_text.h) is replaced; xml_put writes the whole text so. */
static inline int xml_put_character(FILE *out, const char *text) {
  static const char special[] = "&<>\"", *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;"};
  const char *found = strchr(special, *text);
  if (!found) return put_plain_character(out, text);
  fputs(entities[found - special], out);
  return 1;
}

static inline void xml_put(FILE *out, const char *text) {
  while (*text) text += xml_put_character(out, text);
}

#endif
