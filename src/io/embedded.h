/* SPDX-License-Identifier: MIT */
/* embedded.h: files of the source tree as bytes inside the library; cmake/EmbedFiles.cmake makes the sources. */
#ifndef SPARC_IO_EMBEDDED_H
#define SPARC_IO_EMBEDDED_H

#include <stddef.h>

typedef struct embedded_file {
  const char *name; /* "ant.xml" */
  const unsigned char *bytes;
  size_t size;
} embedded_file;

#endif
