/* SPDX-License-Identifier: MIT */
/* faults.c: a shared object for LD_PRELOAD that lets one call of a program fail: an allocation, or a call that opens,
 * reads, writes, flushes, renames or closes a file. tests/cli/faults.sh goes through all of them.
 *
 *   SPARC_FAULT_KIND   memory or files
 *   SPARC_FAULT_AT     which call fails, from 1 on; 0: none
 *   SPARC_FAULT_ERROR  its errno, as a number
 *   SPARC_FAULT_LASTS  1: all calls after it fail, too, as on a full disk
 *   SPARC_FAULT_COUNT  a file that gets a line with the number of such calls, from every process
 *
 * What the C library's streams do inside of it cannot be reached from here. So streams are made of functions that call
 * the ones below, and fileno returns their descriptors.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static bool memory, files, lasts; /* what is counted */
static long at, counted;
static int reason;
static char count_file[4096];

__attribute__((constructor)) static void begin(void) {
  const char *kind = getenv("SPARC_FAULT_KIND"), *where = getenv("SPARC_FAULT_AT"), *why = getenv("SPARC_FAULT_ERROR"),
             *how_long = getenv("SPARC_FAULT_LASTS"), *count = getenv("SPARC_FAULT_COUNT");
  at = where ? atol(where) : 0;
  reason = why ? atoi(why) : EIO;
  lasts = how_long && *how_long == '1';
  snprintf(count_file, sizeof count_file, "%s", count ? count : "");
  memory = kind && strcmp(kind, "memory") == 0;
  files = kind && strcmp(kind, "files") == 0;
}

__attribute__((destructor)) static void end(void) {
  if (!*count_file) return;
  memory = files = false;
  const int file = REAL(open)(count_file, O_WRONLY | O_APPEND | O_CREAT, 0666);
  dprintf(file, "%ld\n", counted);
}

static bool strikes(bool kind) {
  if (!kind) return false;
  const long number = __atomic_add_fetch(&counted, 1, __ATOMIC_RELAXED);
  if (at == 0 || (lasts ? number < at : number != at)) return false;
  errno = memory ? ENOMEM : reason;
  return true;
}

/* ---- memory -------------------------------------------------------------------------------------- */

void *malloc(size_t size) { return strikes(memory) ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return strikes(memory) ? NULL : __libc_calloc(count, size); }
void *realloc(void *block, size_t size) { return strikes(memory) ? NULL : __libc_realloc(block, size); }
void *aligned_alloc(size_t alignment, size_t size) { return strikes(memory) ? NULL : __libc_memalign(alignment, size); }

int posix_memalign(void **block, size_t alignment, size_t size) {
  void *got = strikes(memory) ? NULL : __libc_memalign(alignment, size);
  if (!got) return ENOMEM;
  *block = got;
  return 0;
}

/* ---- files --------------------------------------------------------------------------------------- */

static mode_t mode_of(int flags, va_list arguments) { return flags & O_CREAT ? va_arg(arguments, mode_t) : 0; }

int open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return strikes(files) ? -1 : REAL(open)(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return strikes(files) ? -1 : REAL(openat)(folder, path, flags, mode);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));
int openat64(int folder, const char *path, int flags, ...) __attribute__((alias("openat")));

ssize_t read(int file, void *bytes, size_t size) { return strikes(files) ? -1 : REAL(read)(file, bytes, size); }
ssize_t write(int file, const void *bytes, size_t size) {
  return strikes(files && file > STDERR_FILENO) ? -1 : REAL(write)(file, bytes, size);
}
ssize_t pread(int file, void *bytes, size_t size, off_t place) {
  return strikes(files) ? -1 : REAL(pread)(file, bytes, size, place);
}
ssize_t pread64(int file, void *bytes, size_t size, off_t place) __attribute__((alias("pread")));
int fsync(int file) { return strikes(files) ? -1 : REAL(fsync)(file); }
int ftruncate(int file, off_t size) { return strikes(files) ? -1 : REAL(ftruncate)(file, size); }
int ftruncate64(int file, off_t size) __attribute__((alias("ftruncate")));
int rename(const char *from, const char *to) { return strikes(files) ? -1 : REAL(rename)(from, to); }
int renameat(int from_folder, const char *from, int to_folder, const char *to) {
  return strikes(files) ? -1 : REAL(renameat)(from_folder, from, to_folder, to);
}
int lstat(const char *path, struct stat *status) { return strikes(files) ? -1 : REAL(lstat)(path, status); }
int mkdir(const char *path, mode_t mode) { return strikes(files) ? -1 : REAL(mkdir)(path, mode); }
int link(const char *from, const char *to) { return strikes(files) ? -1 : REAL(link)(from, to); }
DIR *opendir(const char *path) { return strikes(files) ? NULL : REAL(opendir)(path); }

/* one that fails has closed the file all the same, as on Linux */
int close(int file) {
  const bool fails = strikes(files && file > STDERR_FILENO);
  const int error = errno, result = REAL(close)(file);
  if (!fails) return result;
  errno = error;
  return -1;
}

/* ---- streams ------------------------------------------------------------------------------------- */

enum { STREAMS = 64 };
typedef struct descriptor {
  FILE *stream;
  int file;
} descriptor;
static descriptor descriptors[STREAMS];

static ssize_t read_stream(void *cookie, char *bytes, size_t size) {
  return read(((descriptor *)cookie)->file, bytes, size);
}

/* a stream expects 0 where nothing could be written */
static ssize_t write_stream(void *cookie, const char *bytes, size_t size) {
  const ssize_t written = write(((descriptor *)cookie)->file, bytes, size);
  return written < 0 ? 0 : written;
}

static int seek_stream(void *cookie, off64_t *place, int whence) {
  const off64_t to = lseek(((descriptor *)cookie)->file, *place, whence);
  if (to >= 0) *place = to;
  return to >= 0 ? 0 : -1;
}

static int close_stream(void *cookie) {
  descriptor *d = cookie;
  d->stream = NULL;
  return close(d->file);
}

FILE *fdopen(int file, const char *mode) {
  for (int i = 0; i < STREAMS; i++) {
    descriptor *d = &descriptors[i];
    if (d->stream) continue;
    d->file = file;
    d->stream = fopencookie(d, mode, (cookie_io_functions_t){read_stream, write_stream, seek_stream, close_stream});
    return d->stream;
  }
  errno = EMFILE;
  return NULL;
}

FILE *fopen(const char *path, const char *mode) {
  const int flags = *mode == 'r'   ? (strchr(mode, '+') ? O_RDWR : O_RDONLY)
                    : *mode == 'a' ? O_WRONLY | O_CREAT | O_APPEND
                                   : O_WRONLY | O_CREAT | O_TRUNC;
  const int file = open(path, flags | O_CLOEXEC, 0666);
  FILE *stream = file < 0 ? NULL : fdopen(file, mode);
  if (file >= 0 && !stream) REAL(close)(file);
  return stream;
}
FILE *fopen64(const char *path, const char *mode) __attribute__((alias("fopen")));

int fileno(FILE *stream) {
  for (int i = 0; i < STREAMS; i++)
    if (descriptors[i].stream == stream) return descriptors[i].file;
  return REAL(fileno)(stream);
}
