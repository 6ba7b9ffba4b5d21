/* SPDX-License-Identifier: MIT */
/* error.c: error text and log callback, both per thread so that no lock and no global is shared. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char error_text[512];
static _Thread_local sparc_log_fn log_fn;
static _Thread_local void *log_user;

const char *sparc_error(void) { return error_text; }

const char *sparc_status_name(sparc_status status) {
  static const char *const names[] = {"ok",     "invalid",     "no memory",  "io",
                                      "format", "unsupported", "not finite", "device"};
  return (size_t)status < sizeof names / sizeof *names ? names[status] : "unknown";
}

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)

const char *sparc_version(void) {
  return TEXT(SPARC_VERSION_MAJOR) "." TEXT(SPARC_VERSION_MINOR) "." TEXT(SPARC_VERSION_PATCH);
}

void set_error(const char *format, va_list arguments) { vsnprintf(error_text, sizeof error_text, format, arguments); }

void sparc_set_log(sparc_log_fn fn, void *user) {
  log_fn = fn;
  log_user = user;
}

void log_line(const char *format, ...) {
  if (!log_fn) return;
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  log_fn(log_user, line);
}

/* edit distance with transpositions, three rolling rows; words longer than the rows never match */
static size_t edit_distance(const char *a, const char *b) {
  enum { LONGEST = 63 };
  size_t n = strlen(a), m = strlen(b), rows[3][LONGEST + 1];
  if (n > LONGEST || m > LONGEST) return (size_t)-1;
  size_t *before = rows[0], *previous = rows[1], *current = rows[2];
  for (size_t j = 0; j <= m; j++) previous[j] = j;
  for (size_t i = 1; i <= n; i++) {
    current[0] = i;
    for (size_t j = 1; j <= m; j++) {
      size_t best = previous[j - 1] + (a[i - 1] != b[j - 1]);
      if (previous[j] + 1 < best) best = previous[j] + 1;
      if (current[j - 1] + 1 < best) best = current[j - 1] + 1;
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < best)
        best = before[j - 2] + 1;
      current[j] = best;
    }
    size_t *oldest = before;
    before = previous, previous = current, current = oldest;
  }
  return previous[m];
}

const char *closest(const char *word, const char *const *candidates) {
  const char *best = NULL;
  size_t best_distance = strlen(word) < 5 ? 2 : 3;
  for (; *candidates; candidates++) {
    size_t distance = edit_distance(word, *candidates);
    if (distance < best_distance) best_distance = distance, best = *candidates;
  }
  return best;
}

sparc_status unknown_name(const char *what, const char *got, const char *const *names) {
  const char *near = closest(got, names);
  char list[400] = "";
  for (size_t used = 0; *names && used < sizeof list; names++)
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", *names);
  return fail(SPARC_INVALID, "unknown %s '%s'%s%s%s (expected one of: %s)", what, got, near ? "; did you mean '" : "",
              near ? near : "", near ? "'?" : "", list);
}
