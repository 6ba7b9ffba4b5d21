/* SPDX-License-Identifier: MIT */
/* base.h: status codes and error text, version, log callback, aligned memory.
 *
 * Functions that can fail return a sparc_status. When it is not SPARC_OK, sparc_error() returns one sentence that names
 * the argument, its value and what was expected. The library never prints, exits or aborts.
 *
 * Functions need a stack of 128 KiB. A thread that multiplies matrices of several hundred rows and columns allocates a
 * 320 KiB buffer once and frees it when it ends; without memory it works without the buffer. A process may fork after
 * using the library: the child starts threads of its own, and results are bit-identical.
 */
#ifndef SPARC_BASE_H
#define SPARC_BASE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SPARC_VERSION_MAJOR 0
#define SPARC_VERSION_MINOR 3
#define SPARC_VERSION_PATCH 0

#if defined(__GNUC__)
#define SPARC_API __attribute__((visibility("default")))
#else
#define SPARC_API
#endif

typedef enum sparc_status {
  SPARC_OK = 0,
  SPARC_INVALID,     /* an argument is NULL, unknown or out of range; getters return 0 or NULL for a NULL object */
  SPARC_NO_MEMORY,   /* an allocation failed; nothing changed */
  SPARC_IO,          /* the operating system could not read or write */
  SPARC_FORMAT,      /* a file does not have the expected format */
  SPARC_UNSUPPORTED, /* a valid request that this cell or build does not support */
  SPARC_NOT_FINITE,  /* a NaN or an infinity where a finite number is required */
  SPARC_DEVICE       /* a device or its driver failed; sparc_error() includes the driver's message */
} sparc_status;

typedef enum sparc_precision {
  SPARC_FLOAT32 = 0,
  SPARC_FLOAT64, /* double arrays */
  SPARC_BFLOAT16 /* bfloat16 inputs and outputs, float arithmetic */
} sparc_precision;

/* Return the error message of the last failed call on this thread; "" if there is none. The pointer is valid until the
 * next failed call on this thread. */
SPARC_API const char *sparc_error(void);

/* Return the short name of a status, for example "invalid". */
SPARC_API const char *sparc_status_name(sparc_status status);

/* Return "MAJOR.MINOR.PATCH". */
SPARC_API const char *sparc_version(void);

/* Receives one line without a newline. */
typedef void (*sparc_log_fn)(void *user, const char *line);

/* Send log lines of the calling thread to fn; NULL (the default) disables them. */
SPARC_API void sparc_set_log(sparc_log_fn fn, void *user);

/* Return zeroed memory aligned to 64 bytes, or NULL. Blocks of 4 MiB and more use huge pages where available. A size of
 * 0 returns a unique pointer. Release with sparc_free; memory may be NULL there. */
SPARC_API void *sparc_alloc(size_t bytes);
SPARC_API void sparc_free(void *memory);

#ifdef __cplusplus
}
#endif

#endif
