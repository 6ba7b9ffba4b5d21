/* SPDX-License-Identifier: MIT */
/* progress.c: progress line, sparklines, and signals.
 *
 * The sparkline shows the whole job in a fixed number of buckets: when they are full, neighbours are joined and each
 * bucket covers twice as many steps, so memory is constant and the whole history is shown.
 */
#include "cli/progress.h"

#include "base/clock.h"
#include "base/plain_text.h"
#include "cli/option_names.h"

#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { BUCKETS = 64, SPARK_COLUMNS = 16, TEXT_SIZE = 160, LINE_SIZE = 512 };

static const double refresh_seconds = 0.2, plain_seconds = 15;

struct progress {
  const char *label;
  bool live; /* rewrites its line on a terminal */
  bool silent;
  bool drawn; /* the cursor is at the end of a drawn line */
  long first, done, total;
  double begun, shown;     /* seconds */
  double bucket[BUCKETS];  /* mean value of `span` steps each; the last one may be filling */
  int buckets, span, held; /* held: steps in the last bucket */
  char text[TEXT_SIZE];
};

/* ---- sparklines ---------------------------------------------------------------------------------- */

static bool locale_is_utf8(void) {
  locale_t user = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
  if (!user) return false;
  const bool utf8 = strcmp(nl_langinfo_l(CODESET, user), "UTF-8") == 0;
  freelocale(user);
  return utf8;
}

/* the mean of the finite values in [from, to), or NaN */
static double mean_of(const double *values, int from, int to) {
  double sum = 0;
  int count = 0;
  for (int i = from; i < to; i++) {
    if (!isfinite(values[i])) continue;
    sum += values[i];
    count++;
  }
  return count ? sum / count : NAN;
}

void sparkline(const double *values, int count, int width, char *text, int size) {
  static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static const char *const plain[] = {"_", ".", "-", "~", "=", "+", "*", "#"};
  enum { LEVELS = sizeof bars / sizeof *bars };
  if (size < 1) return;
  text[0] = '\0';
  if (count < 1 || width < 1) return;
  const char *const *levels = locale_is_utf8() ? bars : plain;
  if (width > count) width = count;

  /* the range is that of the columns: a single outlier in a column of many does not flatten the rest */
  double low = INFINITY, high = -INFINITY;
  for (int c = 0; c < width; c++) {
    const double mean = mean_of(values, (int)((long)c * count / width), (int)((long)(c + 1) * count / width));
    if (mean < low) low = mean;
    if (mean > high) high = mean;
  }
  int used = 0;
  for (int c = 0; c < width; c++) {
    const double mean = mean_of(values, (int)((long)c * count / width), (int)((long)(c + 1) * count / width));
    const int level = high > low ? (int)((mean - low) / (high - low) * (LEVELS - 1) + 0.5) : 0;
    const char *glyph = isnan(mean) ? " " : levels[level];
    const int length = (int)strlen(glyph);
    if (used + length >= size) break;
    memcpy(text + used, glyph, (size_t)length + 1);
    used += length;
  }
}

/* ---- history ------------------------------------------------------------------------------------- */

static void join_buckets(progress *p) {
  for (size_t i = 0; i < BUCKETS / 2; i++) p->bucket[i] = (p->bucket[2 * i] + p->bucket[2 * i + 1]) / 2;
  p->buckets = BUCKETS / 2;
  p->span *= 2;
}

static void add_value(progress *p, double value) {
  if (!isfinite(value)) return;
  if (p->buckets == 0 || p->held == p->span) {
    if (p->buckets == BUCKETS) join_buckets(p);
    p->bucket[p->buckets++] = 0;
    p->held = 0;
  }
  double *last = &p->bucket[p->buckets - 1];
  *last += (value - *last) / ++p->held;
}

/* ---- the line ------------------------------------------------------------------------------------ */

static int terminal_columns(void) {
  struct winsize size;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

static void print_duration(double seconds, char *text, size_t size) {
  const long s = (long)(seconds + 0.5);
  if (s >= 3600)
    snprintf(text, size, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
  else
    snprintf(text, size, "%ld:%02ld", s / 60, s % 60);
}

/* "train FordA  1200/20000  6%  85.1/s  eta 3:41  loss 0.123  ▆▅▃▁" */
static void compose(const progress *p, double time, char *line, size_t size) {
  char left[32] = "", spark[4 * SPARK_COLUMNS + 1], rate[32] = "";
  const double spent = time - p->begun, speed = spent > 0 ? (double)(p->done - p->first) / spent : 0;
  if (speed > 0) {
    char duration[24];
    const bool over = p->done >= p->total;
    print_duration(over ? spent : (double)(p->total - p->done) / speed, duration, sizeof duration);
    snprintf(rate, sizeof rate, "  %.3g/s", speed);
    snprintf(left, sizeof left, "  %s %s", over ? "in" : "eta", duration);
  }
  sparkline(p->bucket, p->buckets, SPARK_COLUMNS, spark, sizeof spark);
  if (p->total == 0) {
    snprintf(line, size, "%s  %ld%s%s  %s  %s", p->label, p->done, rate, left, p->text, spark);
    return;
  }
  const long percent = p->total > 0 ? p->done * 100 / p->total : 100;
  snprintf(line, size, "%s  %ld/%ld  %ld%%%s%s  %s  %s", p->label, p->done, p->total, percent, rate, left, p->text,
           spark);
}

/* cuts text to a number of columns; every character is one column wide */
static void cut_to_columns(char *text, int columns) {
  int used = 0;
  for (char *c = text; *c; c++) {
    if ((*c & 0xc0) == 0x80) continue;
    if (used++ == columns) {
      *c = '\0';
      return;
    }
  }
}

static void show(progress *p, double time) {
  char line[LINE_SIZE];
  compose(p, time, line, sizeof line);
  make_plain(line); /* names in it may come from a hostile file */
  if (p->live) {
    /* a full last column would wrap */
    cut_to_columns(line, terminal_columns() - 1);
    fprintf(stderr, "\r%s\033[K", line);
  } else {
    fprintf(stderr, "%s\n", line);
  }
  fflush(stderr);
  p->drawn = p->live;
  p->shown = time;
}

/* ---- interface ----------------------------------------------------------------------------------- */

progress *progress_start(progress_style style, const char *label, long first, long total) {
  progress *p = calloc(1, sizeof *p);
  if (!p) return NULL;
  const char *terminal = getenv("TERM");
  const bool can_rewrite = isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb") != 0;
  *p = (progress){.label = label,
                  .live = style == PROGRESS_AUTO && can_rewrite,
                  .silent = style == PROGRESS_NONE,
                  .first = first,
                  .done = first,
                  .total = total,
                  .begun = seconds_now(),
                  .span = 1};
  p->shown = p->begun;
  return p;
}

void progress_step(progress *p, long done, double value, const char *text) {
  if (!p || p->silent) return;
  p->done = done;
  add_value(p, value);
  const double time = seconds_now();
  snprintf(p->text, sizeof p->text, "%s", text);
  if (time - p->shown >= (p->live ? refresh_seconds : plain_seconds)) show(p, time);
}

void progress_reweigh(progress *p, long first) {
  if (p) p->first = first;
}

void progress_note(progress *p, const char *format, ...) {
  if (!p || p->silent) return;
  if (p->drawn) fputs("\r\033[K", stderr);
  p->drawn = false;
  char line[LINE_SIZE];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  make_plain(line); /* names in it may come from a hostile file */
  fprintf(stderr, "%s\n", option_names(line).text);
  if (p->live && p->done > p->first) show(p, seconds_now());
}

void progress_finish(progress *p) {
  if (!p) return;
  if (!p->silent && p->done > p->first) {
    show(p, seconds_now());
    if (p->live) putc('\n', stderr);
  }
  free(p);
}

/* ---- signals ------------------------------------------------------------------------------------- */

static volatile sig_atomic_t caught;

static void on_signal(int number) {
  if (caught) _exit(128 + number);
  caught = number;
}

static const int caught_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
enum { CAUGHT_SIGNALS = sizeof caught_signals / sizeof *caught_signals };

void interrupt_catch(void) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, before;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < CAUGHT_SIGNALS; i++) {
    /* a SIGHUP that nohup ignores stays ignored */
    const bool ignored = sigaction(caught_signals[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN;
    if (caught_signals[i] != SIGHUP || !ignored) sigaction(caught_signals[i], &action, NULL);
  }
}

bool interrupt_release(void) {
  sigset_t held, before;
  struct sigaction now, standard = {.sa_handler = SIG_DFL};
  sigemptyset(&held);
  sigemptyset(&standard.sa_mask);
  for (size_t i = 0; i < CAUGHT_SIGNALS; i++) sigaddset(&held, caught_signals[i]);
  sigprocmask(SIG_BLOCK, &held, &before);
  const bool none = caught == 0;
  for (size_t i = 0; i < CAUGHT_SIGNALS; i++)
    if (sigaction(caught_signals[i], NULL, &now) == 0 && now.sa_handler == on_signal)
      sigaction(caught_signals[i], &standard, NULL);
  sigprocmask(SIG_SETMASK, &before, NULL);
  return none;
}

bool interrupt_requested(void) { return caught != 0; }
int interrupt_signal(void) { return caught; }
