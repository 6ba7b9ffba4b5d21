/* SPDX-License-Identifier: MIT */
/* xml.h: text inside HTML and SVG. */
#ifndef SPARC_IO_XML_H
#define SPARC_IO_XML_H

#include <stdio.h>

/* one character of a text; control characters have no place in it */
static inline void xml_put_character(FILE *out, char c) {
  switch (c) {
    case '&':
      fputs("&amp;", out);
      break;
    case '<':
      fputs("&lt;", out);
      break;
    case '>':
      fputs("&gt;", out);
      break;
    case '"':
      fputs("&quot;", out);
      break;
    default:
      putc((unsigned char)c < ' ' && c != '\n' ? '?' : c, out);
  }
}

#endif
