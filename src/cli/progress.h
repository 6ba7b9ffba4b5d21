/* SPDX-License-Identifier: MIT */
/* progress.h: progress display of long jobs, and the signals that stop them.
 *
 * On a terminal one line is rewritten in place; elsewhere a plain line is printed at intervals, so that logs stay
 * short. Everything goes to standard error. The first SIGINT, SIGTERM, SIGHUP or SIGUSR1 (which schedulers send before
 * a limit of time) requests the job to save and stop; a second one ends the program at once.
 */
#ifndef SPARC_CLI_PROGRESS_H
#define SPARC_CLI_PROGRESS_H

#include <stdbool.h>

typedef struct progress progress; /* opaque; one at a time */

typedef enum progress_style { PROGRESS_AUTO, PROGRESS_PLAIN, PROGRESS_NONE } progress_style;

/* progress_start begins a job of `total` steps, 0: unknown (first: steps already done); label names it. NULL
 * without memory: every other function accepts NULL and does nothing. */
progress *progress_start(progress_style style, const char *label, long first, long total);

/* progress_step reports that `done` steps are done; value is plotted in the sparkline, for example the loss; text is
 * shown with it ("loss 0.123  accuracy 0.95"). The display is refreshed at most a few times a second. */
void progress_step(progress *p, long done, double value, const char *text);

/* progress_reweigh changes the number of steps done at the start, when steps get other weights */
void progress_reweigh(progress *p, long first);

/* progress_note prints a line of its own without disturbing the display. */
__attribute__((format(printf, 2, 3))) void progress_note(progress *p, const char *format, ...);

/* progress_finish leaves the last state on the screen (or prints it) and releases p. */
void progress_finish(progress *p);

/* sparkline draws count values with eight heights into text (UTF-8, or ASCII where the locale is not UTF-8). */
void sparkline(const double *values, int count, int width, char *text, int size);

/* interrupt_catch installs the handlers; interrupt_requested returns whether a signal has arrived, interrupt_signal
 * which. interrupt_release restores the default actions before exec of another program: until that one catches signals,
 * they terminate it instead of being lost. False: one has arrived already. */
void interrupt_catch(void);
bool interrupt_release(void);
bool interrupt_requested(void);
int interrupt_signal(void);

#endif
