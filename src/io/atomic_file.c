/* SPDX-License-Identifier: MIT */
/* atomic_file.c: write beside the target, flush, rename, flush the directory.
 *
 * The rename is the only moment at which the target changes; a link in its place is replaced, not followed. The
 * directory is opened first and every name is resolved relative to it: a directory that cannot be opened, and hence not
 * be flushed, is found before anything is written.
 *
 * A temporary file is locked while it is written. One that is not locked and whose number is that of no process is
 * left from a writer that died: the number alone could be that of a process on another machine.
 */
#include "io/atomic_file.h"

#include "base/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static sparc_status refuse(const atomic_file *file, const char *step) {
  const sparc_status status = errno == ENOMEM ? SPARC_NO_MEMORY : SPARC_IO;
  return fail(status, "cannot write '%.300s': %s: %s", file->path, step, strerror(errno));
}

/* the directory of a path, split at its last slash */
static int open_directory(const char *path, const char *name) {
  size_t length = (size_t)(name - path);
  if (length == 0) return open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  char directory[PATH_MAX];
  if (length >= sizeof directory) {
    errno = ENAMETOOLONG;
    return -1;
  }
  memcpy(directory, path, length);
  directory[length] = '\0';
  return open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* renaming over a device or a pipe would destroy it, over a directory would fail only after all the work */
static sparc_status check_target(const atomic_file *file) {
  struct stat status;
  if (fstatat(file->directory, file->name, &status, 0) != 0)
    return errno == ENOENT ? SPARC_OK : refuse(file, "reading its status");
  if (S_ISREG(status.st_mode)) return SPARC_OK;
  return fail(SPARC_IO, "cannot write '%.300s': it exists and is %s, not a regular file", file->path,
              S_ISDIR(status.st_mode) ? "a directory" : "a device, pipe or socket");
}

static const char mark[] = ".tmp.";

/* ---- leftovers ---- */

/* the number of NAME.tmp.NUMBER, as open_temporary makes it; 0: it is something else */
static long writer_of(const char *entry, const char *name) {
  const size_t length = strlen(name);
  if (strncmp(entry, name, length) != 0 || strncmp(entry + length, mark, strlen(mark)) != 0) return 0;
  const char *digits = entry + length + strlen(mark);
  const size_t count = strspn(digits, "0123456789");
  if (count == 0 || count > 9 || digits[count]) return 0;
  return strtol(digits, NULL, 10);
}

static bool is_process(long number) { return kill((pid_t)number, 0) == 0 || errno != ESRCH; }

/* on a file system without locks only the number decides */
static bool is_locked(int directory, const char *entry) {
  const int file = openat(directory, entry, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0) return false;
  const bool locked = flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(file);
  return locked;
}

static sparc_status remove_temporary(const atomic_file *file, const char *entry) {
  struct stat status;
  if (fstatat(file->directory, entry, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode)) return SPARC_OK;
  if (is_locked(file->directory, entry)) return SPARC_OK;
  if (unlinkat(file->directory, entry, 0) == 0 || errno == ENOENT) return SPARC_OK;
  return fail(SPARC_IO, "cannot remove '%s', which is left from writing '%.300s': %s", entry, file->path,
              strerror(errno));
}

static sparc_status sweep(const atomic_file *file) {
  const int listed = openat(file->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *entries = listed >= 0 ? fdopendir(listed) : NULL;
  if (!entries) {
    const sparc_status status = refuse(file, "listing its directory");
    if (listed >= 0) close(listed);
    return status;
  }
  sparc_status status = SPARC_OK;
  for (struct dirent *e; status == SPARC_OK && (e = readdir(entries));) {
    const long writer = writer_of(e->d_name, file->name);
    if (writer > 0 && !is_process(writer)) status = remove_temporary(file, e->d_name);
  }
  closedir(entries); /* and the descriptor */
  return status;
}

/* ---- writing ---- */

/* the thread's number keeps writers of the same path apart, also within one process */
static sparc_status open_temporary(atomic_file *file) {
  int length = snprintf(file->temporary, sizeof file->temporary, "%s%s%ld", file->name, mark, (long)gettid());
  if (length < 0 || (size_t)length >= sizeof file->temporary) {
    errno = ENAMETOOLONG;
    return refuse(file, "naming the temporary file");
  }
  /* a leftover with our number is from a process that died; remove it, so that O_EXCL follows no planted link */
  if (unlinkat(file->directory, file->temporary, 0) != 0 && errno != ENOENT)
    return refuse(file, "removing a stale temporary file");
  int descriptor = openat(file->directory, file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) return refuse(file, "creating the temporary file");
  (void)!flock(descriptor, LOCK_EX | LOCK_NB); /* on a file system without locks only the number decides */
  file->stream = fdopen(descriptor, "wb");
  if (file->stream) return SPARC_OK;
  sparc_status status = refuse(file, "buffering the temporary file");
  close(descriptor);
  unlinkat(file->directory, file->temporary, 0);
  return status;
}

sparc_status atomic_file_begin(atomic_file *file, const char *path) {
  const char *slash = strrchr(path, '/');
  *file = (atomic_file){.path = path, .name = slash ? slash + 1 : path, .directory = -1};
  if (!*file->name) return fail(SPARC_INVALID, "path '%.300s' names no file: its last component is empty", path);

  file->directory = open_directory(path, file->name);
  if (file->directory < 0) return refuse(file, "opening its directory");
  sparc_status status = check_target(file);
  if (status == SPARC_OK) (void)sweep(file); /* leftovers that cannot be removed are not an error */
  if (status == SPARC_OK) status = open_temporary(file);
  if (status != SPARC_OK) close(file->directory);
  return status;
}

sparc_status atomic_file_write(atomic_file *file, const void *bytes, size_t size) {
  return fwrite(bytes, 1, size, file->stream) == size ? SPARC_OK : refuse(file, "writing the temporary file");
}

void atomic_file_abandon(atomic_file *file) {
  if (file->stream) fclose(file->stream);
  unlinkat(file->directory, file->temporary, 0);
  close(file->directory);
}

/* the bytes must be on the disk before the name points at them */
static sparc_status flush_and_close(atomic_file *file) {
  if (ferror(file->stream)) /* errno of the failed write is lost */
    return fail(SPARC_IO, "cannot write '%.300s': the disk may be full", file->path);
  if (fflush(file->stream) != 0 || fsync(fileno(file->stream)) != 0)
    return refuse(file, "flushing the temporary file to the disk");
  FILE *stream = file->stream;
  file->stream = NULL;
  return fclose(stream) == 0 ? SPARC_OK : refuse(file, "closing the temporary file");
}

sparc_status atomic_file_commit(atomic_file *file) {
  sparc_status status = flush_and_close(file);
  if (status == SPARC_OK && renameat(file->directory, file->temporary, file->directory, file->name) != 0)
    status = refuse(file, "renaming the temporary file");
  if (status != SPARC_OK) {
    atomic_file_abandon(file);
    return status;
  }
  /* EINVAL: a file system that does not flush directories */
  if (fsync(file->directory) != 0 && errno != EINVAL)
    status = fail(SPARC_IO, "'%.300s' was replaced, but a crash may undo it: flushing its directory: %s", file->path,
                  strerror(errno));
  close(file->directory);
  return status;
}

sparc_status atomic_file_sweep(const char *path) {
  const char *slash = strrchr(path, '/');
  atomic_file file = {.path = path, .name = slash ? slash + 1 : path};
  file.directory = open_directory(path, file.name);
  if (file.directory < 0) return errno == ENOENT ? SPARC_OK : refuse(&file, "opening its directory");
  const sparc_status status = sweep(&file);
  close(file.directory);
  return status;
}
