/* SPDX-License-Identifier: MIT */
/* lock.c: flock() on a lock file, which ends with the process that holds it. The file names its holder. It is removed
 * while the lock is still held; a process that opened it in between finds that the name refers to another file, and
 * retries. */
#include "run/lock.h"

#include "base/error.h"
#include "io/folder_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef HOST_NAME_MAX
#define HOST_NAME_MAX 255
#endif

static sparc_status cannot(const run_lock *lock, const char *what) {
  return fail(SPARC_IO, "cannot %s '%.300s': %s", what, lock->path, strerror(errno));
}

/* whether the open file is still the one of this name */
static bool is_current(const run_lock *lock) {
  struct stat opened, named;
  return fstat(lock->file, &opened) == 0 && lstat(lock->path, &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

static sparc_status refuse(const run_lock *lock, const char *what, const char *path) {
  char owner[HOST_NAME_MAX + 64] = "";
  const ssize_t size = pread(lock->file, owner, sizeof owner - 1, 0);
  owner[size > 0 ? size : 0] = '\0';
  owner[strcspn(owner, "\n")] = '\0';
  return fail(SPARC_IO, "%s '%.300s': %s", what, path, *owner ? owner : "of an unknown process");
}

/* writes the holder into the file; failure to do so is not an error */
static void sign(const run_lock *lock) {
  char host[HOST_NAME_MAX + 1] = "?", text[HOST_NAME_MAX + 64];
  if (gethostname(host, sizeof host) != 0) snprintf(host, sizeof host, "?");
  host[sizeof host - 1] = '\0';
  const int size = snprintf(text, sizeof text, "process %ld on host %s\n", (long)getpid(), host);
  if (ftruncate(lock->file, 0) == 0) (void)!pwrite(lock->file, text, (size_t)size, 0);
}

/* locks lock->path; `what` and `path` are for the error message */
static sparc_status take(run_lock *lock, const char *what, const char *path) {
  lock->busy = false;
  for (;;) {
    sparc_status status = folder_file_open(lock->path, O_RDWR | O_CREAT, &lock->file);
    if (status != SPARC_OK) return status;
    if (flock(lock->file, LOCK_EX | LOCK_NB) != 0) {
      lock->busy = errno == EWOULDBLOCK;
      status = lock->busy ? refuse(lock, what, path) : cannot(lock, "lock");
      close(lock->file);
      return status;
    }
    if (is_current(lock)) break;
    close(lock->file);
  }
  lock->held = true;
  sign(lock);
  return SPARC_OK;
}

sparc_status run_lock_take(const run_folder *folder, run_lock *lock) {
  if (lock->held) return SPARC_OK;
  snprintf(lock->path, sizeof lock->path, "%s/lock", folder->path);
  return take(lock, "a run is writing to", folder->path);
}

sparc_status file_lock_take(const char *path, run_lock *lock) {
  if (lock->held) return SPARC_OK;
  if (strlen(path) + sizeof ".lock" > sizeof lock->path)
    return fail(SPARC_INVALID, "a path of %zu bytes is too long to be locked", strlen(path));
  snprintf(lock->path, sizeof lock->path, "%s.lock", path);
  return take(lock, "another process is using", path);
}

void run_lock_release(run_lock *lock) {
  if (!lock->held) return;
  unlink(lock->path);
  close(lock->file);
  lock->held = false;
}
