/* SPDX-License-Identifier: MIT */
/* folder_file.c: the type of every name is checked before it is opened, so that error messages name it and no device is
 * opened, and again through the descriptor, in case it was replaced in between. */
#include "io/folder_file.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static sparc_status cannot(const char *what, const char *path) {
  const sparc_status status = errno == ENOMEM ? SPARC_NO_MEMORY : SPARC_IO;
  return fail(status, "cannot %s '%.300s': %s", what, path, strerror(errno));
}

/* ---- kinds of files ------------------------------------------------------------------------------ */

static const char *kind_name(mode_t mode) {
  static const struct {
    mode_t kind;
    const char *name;
  } kinds[] = {{S_IFREG, "a regular file"}, {S_IFLNK, "a symbolic link"}, {S_IFDIR, "a folder"}, {S_IFIFO, "a pipe"},
               {S_IFSOCK, "a socket"},      {S_IFCHR, "a device"},        {S_IFBLK, "a device"}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if ((mode & S_IFMT) == kinds[i].kind) return kinds[i].name;
  return "of an unknown kind";
}

static sparc_status demand(const char *path, mode_t mode, mode_t kind) {
  if ((mode & S_IFMT) == kind) return SPARC_OK;
  return fail(SPARC_FORMAT, "'%.300s' is %s; refused, expected %s here", path, kind_name(mode), kind_name(kind));
}

/* checks the type of a name without following links; a name below a file does not exist */
static sparc_status check_kind(const char *path, mode_t kind, bool *found) {
  struct stat status;
  *found = lstat(path, &status) == 0;
  if (*found) return demand(path, status.st_mode, kind);
  return errno == ENOENT || errno == ENOTDIR ? SPARC_OK : cannot("read the status of", path);
}

/* ---- files --------------------------------------------------------------------------------------- */

sparc_status folder_file_find(const char *path, bool *found) { return check_kind(path, S_IFREG, found); }

/* an open file is regular; it is truncated if requested, and blocking again */
static sparc_status check_opened(const char *path, int flags, int file) {
  struct stat status;
  if (fstat(file, &status) != 0) return cannot("read the status of", path);
  const sparc_status regular = demand(path, status.st_mode, S_IFREG);
  if (regular != SPARC_OK) return regular;
  if ((flags & O_TRUNC) && ftruncate(file, 0) != 0) return cannot("empty", path);
  return fcntl(file, F_SETFL, flags & O_APPEND) == 0 ? SPARC_OK : cannot("open", path);
}

sparc_status folder_file_open(const char *path, int flags, int *file) {
  bool found;
  *file = -1;
  sparc_status status = folder_file_find(path, &found);
  if (status != SPARC_OK || (!found && !(flags & O_CREAT))) return status;
  *file = open(path, (flags & ~O_TRUNC) | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
  if (*file < 0) return errno == ENOENT && !(flags & O_CREAT) ? SPARC_OK : cannot("open", path);
  status = check_opened(path, flags, *file);
  if (status == SPARC_OK) return SPARC_OK;
  close(*file);
  *file = -1;
  return status;
}

static int flags_of(const char *mode) {
  if (*mode == 'a') return O_WRONLY | O_APPEND | O_CREAT;
  return strcmp(mode, "r+") == 0 ? O_RDWR : O_RDONLY;
}

sparc_status folder_file_stream(const char *path, const char *mode, FILE **out) {
  int file;
  *out = NULL;
  const sparc_status status = folder_file_open(path, flags_of(mode), &file);
  if (status != SPARC_OK || file < 0) return status;
  *out = fdopen(file, mode);
  if (*out) return SPARC_OK;
  const sparc_status failed = cannot("open", path);
  close(file);
  return failed;
}

static sparc_status read_all(const char *path, FILE *stream, char **text, size_t *size) {
  struct stat status;
  if (fstat(fileno(stream), &status) != 0) return cannot("read the status of", path);
  if (status.st_size > FOLDER_FILE_MAX)
    return fail(SPARC_FORMAT, "'%.300s' has %lld bytes, expected at most %d", path, (long long)status.st_size,
                FOLDER_FILE_MAX);
  *text = malloc((size_t)status.st_size + 1);
  if (!*text) return fail(SPARC_NO_MEMORY, "no memory for the %lld bytes of '%.300s'", (long long)status.st_size, path);
  errno = 0;
  *size = fread(*text, 1, (size_t)status.st_size, stream);
  (*text)[*size] = '\0';
  return ferror(stream) ? cannot("read", path) : SPARC_OK;
}

sparc_status folder_file_read(const char *path, char **text, size_t *size) {
  FILE *stream;
  *text = NULL;
  *size = 0;
  sparc_status status = folder_file_stream(path, "r", &stream);
  if (status != SPARC_OK || !stream) return status;
  status = read_all(path, stream, text, size);
  fclose(stream);
  if (status == SPARC_OK) return SPARC_OK;
  free(*text);
  *text = NULL;
  return status;
}

/* ---- folders ------------------------------------------------------------------------------------- */

/* visits the folders of ROOT/A/B one after the other, from A on */
static sparc_status walk(const char *root, const char *below, sparc_status (*visit)(const char *path)) {
  char path[PATH_MAX];
  const int length = snprintf(path, sizeof path, "%s/%s", root, below);
  if (length >= (int)sizeof path) return fail(SPARC_INVALID, "the name of folder '%.200s' is too long", root);
  sparc_status status = SPARC_OK;
  for (char *end = path + strlen(root) + 1; status == SPARC_OK; end++) {
    const char separator = *end;
    if (separator != '/' && separator != '\0') continue;
    *end = '\0';
    status = visit(path);
    if (separator == '\0') break;
    *end = separator;
  }
  return status;
}

static sparc_status check_one(const char *path) {
  bool found;
  return check_kind(path, S_IFDIR, &found);
}

static sparc_status make_one(const char *path) {
  if (mkdir(path, 0777) != 0 && errno != EEXIST) return cannot("make the folder", path);
  return check_one(path);
}

sparc_status folder_check(const char *root, const char *below) { return walk(root, below, check_one); }

sparc_status folder_make(const char *root, const char *below) {
  const sparc_status status = make_folders(root);
  return status == SPARC_OK ? walk(root, below, make_one) : status;
}

sparc_status make_folders(const char *path) {
  char part[PATH_MAX];
  if (snprintf(part, sizeof part, "%s", path) >= (int)sizeof part)
    return fail(SPARC_INVALID, "the name of folder '%.200s' is too long", path);
  struct stat status;
  for (char *end = part + 1;; end++) {
    const char separator = *end;
    if (separator != '/' && separator != '\0') continue;
    *end = '\0';
    int reason = mkdir(part, 0777) == 0 || errno == EEXIST ? 0 : errno;
    if (!reason && stat(part, &status) == 0 && !S_ISDIR(status.st_mode)) reason = ENOTDIR;
    if (reason) return fail(SPARC_IO, "cannot make the folder '%.300s': %s", path, strerror(reason));
    if (separator == '\0') return SPARC_OK;
    *end = separator;
  }
}
