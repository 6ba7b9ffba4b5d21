/* SPDX-License-Identifier: MIT */
/* claim.c: claims as numbered files. */
#include "lab/grid/claim.h"

#include "base/error.h"
#include "io/folder_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char prefix[] = "claim.";

static void path_of(const char *folder, long number, char path[CLAIM_PATH]) {
  snprintf(path, CLAIM_PATH, "%.4100s/%s%ld", folder, prefix, number);
}

/* ---- holders ------------------------------------------------------------------------------------- */

/* Field 22 of /proc/PID/stat, counted after the command name, which may contain any character; 0: unknown. Field 3 shows
 * whether the process is a zombie, which can last if init does not reap it. */
static unsigned long long start_of(long pid, bool *ended) {
  char path[64], text[1024];
  *ended = false;
  snprintf(path, sizeof path, "/proc/%ld/stat", pid);
  FILE *file = fopen(path, "r");
  if (!file) return 0;
  const size_t got = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[got] = '\0';
  const char *field = strrchr(text, ')');
  *ended = field && (strncmp(field, ") Z", 3) == 0 || strncmp(field, ") X", 3) == 0);
  for (int i = 2; field && i < 22; i++) field = strchr(field + 1, ' ');
  return field ? strtoull(field, NULL, 10) : 0;
}

static claim_holder myself(void) {
  bool ended;
  claim_holder h = {.pid = getpid(), .start = start_of(getpid(), &ended)};
  if (gethostname(h.host, sizeof h.host - 1) != 0) snprintf(h.host, sizeof h.host, "unknown");
  return h;
}

/* a returned or malformed claim has no holder: pid 0 */
static sparc_status read_holder(const char *path, claim_holder *h) {
  char *text;
  size_t size;
  json_error_t error = {.text = ""};
  *h = (claim_holder){.pid = 0};
  const sparc_status status = folder_file_read(path, &text, &size);
  if (status != SPARC_OK || !text) return status;
  json_t *object = json_loadb(text, size, 0, &error);
  free(text);
  if (!object && !*error.text) return fail(SPARC_NO_MEMORY, "no memory for the claim '%.300s'", path);
  const char *host = json_string_value(json_object_get(object, "host"));
  if (host) {
    snprintf(h->host, sizeof h->host, "%s", host);
    h->pid = (long)json_integer_value(json_object_get(object, "pid"));
    h->start = (unsigned long long)json_integer_value(json_object_get(object, "start"));
  }
  json_decref(object);
  return SPARC_OK;
}

static bool process_lives(const claim_holder *h) {
  if (kill((pid_t)h->pid, 0) != 0 && errno == ESRCH) return false;
  bool ended;
  const unsigned long long start = start_of(h->pid, &ended);
  if (ended) return false;
  return start == 0 || h->start == 0 || start == h->start;
}

static sparc_status find_live(const char *path, time_t now, claim_holder *h, bool *live) {
  struct stat about;
  *live = false;
  const sparc_status status = read_holder(path, h);
  if (status != SPARC_OK || h->pid <= 0) return status;
  if (lstat(path, &about) != 0)
    return errno == ENOENT ? SPARC_OK : fail(SPARC_IO, "cannot read '%.300s': %s", path, strerror(errno));
  const claim_holder me = myself();
  *live = strcmp(h->host, me.host) == 0 ? process_lives(h) : now - about.st_mtime < CLAIM_EXPIRY;
  return SPARC_OK;
}

/* ---- files --------------------------------------------------------------------------------------- */

/* 12 for "claim.12"; 0: not a claim */
static long number_of(const char *name) {
  char *end;
  if (strncmp(name, prefix, strlen(prefix)) != 0) return 0;
  const char *digits = name + strlen(prefix);
  const long number = *digits >= '1' && *digits <= '9' ? strtol(digits, &end, 10) : 0;
  return number > 0 && !*end ? number : 0;
}

/* 0 for a missing folder */
static sparc_status find_highest(const char *folder, long *highest) {
  *highest = 0;
  DIR *entries = opendir(folder);
  if (!entries) return errno == ENOENT ? SPARC_OK : fail(SPARC_IO, "cannot list '%.300s': %s", folder, strerror(errno));
  errno = 0;
  for (struct dirent *e; (e = readdir(entries));)
    if (number_of(e->d_name) > *highest) *highest = number_of(e->d_name);
  const int reason = errno;
  closedir(entries);
  return reason ? fail(SPARC_IO, "cannot list '%.300s': %s", folder, strerror(reason)) : SPARC_OK;
}

/* removes claims below a number or, with `everything`, all claims and files of killed processes */
static void clear(const char *folder, long number, bool everything) {
  DIR *entries = opendir(folder);
  for (struct dirent *e; entries && (e = readdir(entries));) {
    const long found = number_of(e->d_name);
    if (everything ? strncmp(e->d_name, prefix, strlen(prefix)) == 0 : found > 0 && found < number)
      unlinkat(dirfd(entries), e->d_name, 0);
  }
  if (entries) closedir(entries);
}

/* writes a private file beside the claims; its time is that of the file system's clock */
static sparc_status write_own(const char *folder, const claim_holder *h, char path[CLAIM_PATH], time_t *now) {
  snprintf(path, CLAIM_PATH, "%.3900s/%sof.%.100s.%ld", folder, prefix, h->host, h->pid);
  struct stat status = {.st_mtime = 0};
  FILE *file;
  /* an existing file is from a dead process with the same pid */
  if (unlink(path) != 0 && errno != ENOENT) return fail(SPARC_IO, "cannot write '%.300s': %s", path, strerror(errno));
  const sparc_status opened = folder_file_stream(path, "a", &file);
  if (opened != SPARC_OK) return opened;
  fprintf(file, "{\"host\": \"%s\", \"pid\": %ld, \"start\": %llu}\n", h->host, h->pid, h->start);
  const bool written = fflush(file) == 0 && fstat(fileno(file), &status) == 0;
  if (fclose(file) == 0 && written) {
    *now = status.st_mtime;
    return SPARC_OK;
  }
  unlink(path);
  return fail(SPARC_IO, "cannot write '%.300s': %s", path, strerror(errno));
}

/* ---- claims -------------------------------------------------------------------------------------- */

sparc_status claim_take(const char *folder, claim *out, bool *taken) {
  const claim_holder me = myself();
  claim_holder other;
  char own[CLAIM_PATH], path[CLAIM_PATH];
  time_t now = 0;
  *taken = false;
  *out = (claim){.number = 0};
  if (snprintf(out->folder, sizeof out->folder, "%s", folder) >= (int)sizeof out->folder)
    return fail(SPARC_INVALID, "the name of folder '%.200s' is too long", folder);
  sparc_status status = write_own(folder, &me, own, &now);
  if (status != SPARC_OK) return status;
  long last = 0, newest = 0;
  bool live = false;
  status = find_highest(folder, &last);
  if (status == SPARC_OK && last == LONG_MAX)
    status = fail(SPARC_INVALID, "'%.300s' has a claim with the largest possible number: remove %s*", folder, prefix);
  path_of(folder, last, path);
  if (status == SPARC_OK && last > 0) status = find_live(path, now, &other, &live);
  if (status == SPARC_OK && !live) {
    path_of(folder, last + 1, path);
    *taken = link(own, path) == 0;
    if (!*taken && errno != EEXIST && errno != ENOENT) /* ENOENT: a finished job's folder was cleared */
      status = fail(SPARC_IO, "cannot claim '%.300s': %s", folder, strerror(errno));
    /* another process may have taken and returned the folder meanwhile: this number is outdated then */
    if (*taken) status = find_highest(folder, &newest);
    if (*taken && (status != SPARC_OK || newest > last + 1)) {
      unlink(path);
      *taken = false;
    }
  }
  unlink(own);
  if (*taken) {
    out->number = last + 1;
    clear(folder, out->number, false);
  }
  return status;
}

bool claim_renew(const claim *c) {
  char path[CLAIM_PATH];
  path_of(c->folder, c->number, path);
  long highest;
  return utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW) == 0 &&
         (find_highest(c->folder, &highest) != SPARC_OK || highest == c->number);
}

void claim_return(claim *c) {
  char path[CLAIM_PATH];
  path_of(c->folder, c->number, path);
  FILE *file = NULL; /* only if it still exists */
  if (c->number && folder_file_stream(path, "r+", &file) == SPARC_OK && file) {
    if (ftruncate(fileno(file), 0) == 0) fputs("{}\n", file);
    fclose(file);
  }
  c->number = 0;
}

void claim_drop(claim *c) {
  if (c->number) clear(c->folder, c->number, true);
  c->number = 0;
}

sparc_status claim_inspect(const char *folder, claim_holder *holder, bool *held) {
  char path[CLAIM_PATH];
  long last;
  *held = false;
  const sparc_status status = find_highest(folder, &last);
  path_of(folder, last, path);
  return status == SPARC_OK && last > 0 ? find_live(path, time(NULL), holder, held) : status;
}
