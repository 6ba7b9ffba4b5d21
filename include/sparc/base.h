/* SPDX-License-Identifier: MIT */
/* base.h: status codes and error text, version, log callback, aligned memory.
 *
 * Fallible calls return a sparc_status. When it is not SPARC_OK, sparc_error() holds one sentence
 * that names the argument, the value and what was expected. The library never prints, exits or aborts.
 *
 * Calls run on threads with stacks of 128 KiB or more. A thread that multiplies matrices of several hundred rows and
 * columns allocates 320 KiB of its own once, or does without if there is no memory; they are freed when it ends. A
 * process may fork when its threads have worked: the child goes on with threads of its own, to the same bits.
 */
#ifndef SPARC_BASE_H
#define SPARC_BASE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SPARC_VERSION_MAJOR 0
#define SPARC_VERSION_MINOR 2
#define SPARC_VERSION_PATCH 0

#if defined(__GNUC__)
#define SPARC_API __attribute__((visibility("default")))
#else
#define SPARC_API
#endif

typedef enum sparc_status {
  SPARC_OK = 0,
  SPARC_INVALID,     /* an argument is out of range, unknown, or NULL, of which getters return 0 or NULL */
  SPARC_NO_MEMORY,   /* an allocation failed; nothing was changed */
  SPARC_IO,          /* the operating system refused to read or write */
  SPARC_FORMAT,      /* a file was read but is not what it should be */
  SPARC_UNSUPPORTED, /* a valid request that this cell or build does not offer */
  SPARC_NOT_FINITE,  /* a NaN or an infinity where a finite number is needed */
  SPARC_DEVICE       /* a device or its driver failed; the sentence has the driver's message */
} sparc_status;

/* sparc_error returns the sentence that belongs to the last failed call of this thread ("" if none).
 * The pointer stays valid until the next failing call on the same thread. */
SPARC_API const char *sparc_error(void);

/* sparc_status_name returns the short name of a status, for example "invalid". */
SPARC_API const char *sparc_status_name(sparc_status status);

/* sparc_version returns "MAJOR.MINOR.PATCH". */
SPARC_API const char *sparc_version(void);

/* sparc_log_fn receives one line without a newline. */
typedef void (*sparc_log_fn)(void *user, const char *line);

/* sparc_set_log sends the library's remarks of the calling thread to fn; NULL (the default) silences them. */
SPARC_API void sparc_set_log(sparc_log_fn fn, void *user);

/* sparc_alloc returns zeroed memory aligned to 64 bytes (blocks of 4 MiB and more ask for huge pages),
 * or NULL. A size of zero gives a unique pointer. Release with sparc_free; sparc_free(NULL) does nothing. */
SPARC_API void *sparc_alloc(size_t bytes);
SPARC_API void sparc_free(void *memory);

#ifdef __cplusplus
}
#endif

#endif
