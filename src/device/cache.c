/* SPDX-License-Identifier: MIT */
/* cache.c: see cache.h. A file is a header of text lines, which must match to the byte, and the driver's binary.
 *
 * The driver runs what it is given, so the folder must belong to the user and be writable by no other user, and files in
 * it are opened without following links.
 */
#include "device/cache.h"

#include "base/error.h"
#include "base/hash.h"
#include "io/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER_TEXT = 1024, BINARY_MAX = 1 << 28 };

/* ---- folder ------------------------------------------------------------------------------------- */

sparc_status cache_folder(const char *requested, char folder[PATH_MAX]) {
  const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  int length = 0;
  folder[0] = '\0';
  if (requested)
    length = snprintf(folder, PATH_MAX, "%s", requested);
  else if (base && *base == '/')
    length = snprintf(folder, PATH_MAX, "%s/sparc/kernels", base);
  else if (home && *home == '/')
    length = snprintf(folder, PATH_MAX, "%s/.cache/sparc/kernels", home);
  if (length < 0 || length > PATH_MAX - 64)
    return fail(SPARC_INVALID, "cache '%.100s...' is too long a path", requested ? requested : base);
  return SPARC_OK;
}

/* makes the folder and those above it; existing ones are as good */
static bool make_folder(const char *folder) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s", folder);
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    if (mkdir(path, 0700) != 0 && errno != EEXIST) return false;
    *slash = '/';
  }
  return mkdir(path, 0700) == 0 || errno == EEXIST;
}

/* a descriptor of a folder that is the user's alone to write, or -1 */
static int open_folder(const char *folder) {
  const int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct stat status;
  if (descriptor < 0) return -1;
  if (fstat(descriptor, &status) == 0 && status.st_uid == geteuid() && (status.st_mode & 022) == 0) return descriptor;
  log_line("cache: '%.300s' is not used: it must belong to you and be writable by nobody else", folder);
  close(descriptor);
  return -1;
}

/* ---- entries ------------------------------------------------------------------------------------ */

enum { HASHES = 2 };
static const uint64_t hash_start[HASHES] = {HASH_START, UINT64_C(0x84222325cbf29ce4)};

/* what an entry must be for; size and checksum of the binary follow it */
static int print_key(const sparc_device_info *info, bool fast, const char *text, char key[HEADER_TEXT]) {
  uint64_t hash[HASHES];
  for (size_t i = 0; i < HASHES; i++) hash[i] = hash_bytes(hash_start[i], text, strlen(text));
  return snprintf(key, HEADER_TEXT,
                  "sparc kernels 1\nversion %s\nbackend %s\nplatform %s\ndevice %s\ndriver %s\nmode %s\n"
                  "text %zu %016" PRIx64 " %016" PRIx64 "\n",
                  sparc_version(), info->backend, info->platform, info->name, info->driver, fast ? "fast" : "exact",
                  strlen(text), hash[0], hash[1]);
}

/* the name of an entry's file */
static void print_name(const char *key, char name[40]) {
  uint64_t hash[HASHES];
  for (size_t i = 0; i < HASHES; i++) hash[i] = hash_bytes(hash_start[i], key, strlen(key));
  snprintf(name, 40, "%016" PRIx64 "%016" PRIx64 ".bin", hash[0], hash[1]);
}

static int print_header(const char *key, const program_binary *binary, char header[HEADER_TEXT + 64]) {
  return snprintf(header, HEADER_TEXT + 64, "%sbinary %zu %016" PRIx64 "\n", key, binary->size,
                  hash_bytes(hash_start[0], binary->bytes, binary->size));
}

/* the whole of a regular file of reasonable size */
static program_binary read_file(int folder, const char *name) {
  program_binary out = {NULL, 0};
  struct stat status;
  const int descriptor = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return out;
  if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 &&
      status.st_size <= BINARY_MAX + HEADER_TEXT)
    out.bytes = malloc((size_t)status.st_size);
  while (out.bytes && out.size < (size_t)status.st_size) {
    const ssize_t got = read(descriptor, (char *)out.bytes + out.size, (size_t)status.st_size - out.size);
    if (got <= 0) break;
    out.size += (size_t)got;
  }
  if (out.bytes && out.size < (size_t)status.st_size) {
    free(out.bytes);
    out = (program_binary){NULL, 0};
  }
  close(descriptor);
  return out;
}

/* the binary after the header, or none where a byte is not as it must be */
static program_binary accept_entry(const char *key, program_binary file) {
  char header[HEADER_TEXT + 64];
  const size_t length = strlen(key);
  program_binary none = {NULL, 0};
  if (file.size < length || memcmp(file.bytes, key, length) != 0) return none;
  const char *line = memchr((char *)file.bytes + length, '\n', file.size - length);
  if (!line) return none;
  const size_t start = (size_t)(line - (char *)file.bytes) + 1;
  program_binary binary = {(char *)file.bytes + start, file.size - start};
  const int expected = print_header(key, &binary, header);
  if (binary.size == 0 || expected < 0 || (size_t)expected != start || memcmp(file.bytes, header, start) != 0)
    return none;
  memmove(file.bytes, binary.bytes, binary.size);
  return (program_binary){file.bytes, binary.size};
}

program_binary cache_load(const char *folder, const sparc_device_info *info, bool fast, const char *text) {
  char key[HEADER_TEXT], name[40];
  program_binary none = {NULL, 0};
  if (!*folder || print_key(info, fast, text, key) >= HEADER_TEXT) return none;
  const int descriptor = open_folder(folder);
  if (descriptor < 0) return none;
  print_name(key, name);
  program_binary file = read_file(descriptor, name);
  close(descriptor);
  if (!file.bytes) return none;
  const program_binary binary = accept_entry(key, file);
  if (binary.bytes) return binary;
  log_line("cache: '%.300s/%s' is damaged, its kernels are compiled again", folder, name);
  free(file.bytes);
  return none;
}

void cache_store(const char *folder, const sparc_device_info *info, bool fast, const char *text,
                 const program_binary *binary) {
  char key[HEADER_TEXT], name[40], path[PATH_MAX], header[HEADER_TEXT + 64];
  if (!*folder || binary->size == 0 || binary->size > BINARY_MAX) return;
  if (print_key(info, fast, text, key) >= HEADER_TEXT || !make_folder(folder)) return;
  const int descriptor = open_folder(folder);
  if (descriptor < 0) return;
  close(descriptor);
  print_name(key, name);
  if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return;

  atomic_file file;
  sparc_status status = atomic_file_begin(&file, path);
  if (status == SPARC_OK) {
    const int length = print_header(key, binary, header);
    status = atomic_file_write(&file, header, (size_t)length);
    if (status == SPARC_OK) status = atomic_file_write(&file, binary->bytes, binary->size);
    if (status == SPARC_OK)
      status = atomic_file_commit(&file);
    else
      atomic_file_abandon(&file);
  }
  if (status != SPARC_OK) log_line("cache: %s", sparc_error());
}
