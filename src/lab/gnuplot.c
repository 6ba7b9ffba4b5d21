/* SPDX-License-Identifier: MIT */
/* gnuplot.c: quoting of text, running gnuplot on a script, and reading the figure.
 *
 * Scripts refer to data and output relative to their own folder, so that a user can edit and rerun them there. gnuplot
 * runs without standard input and in its own process group: Ctrl-C reaches only the tool, which finishes its report.
 */
#include "lab/gnuplot.h"

#include "base/error.h"
#include "base/plain_text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- text ---------------------------------------------------------------------------------------- */

/* Concatenates before, text and after, with `mark` before each character of `marked`. A single quote becomes an
 * apostrophe: doubling it, as gnuplot documents, does not work at the start of a string. */
static gnuplot_string compose(const char *before, const char *text, const char *after, const char *marked, char mark) {
  static const char apostrophe[] = "’";
  gnuplot_string out;
  char plain[(sizeof out.text - 32) / 3]; /* every character may take three */
  snprintf(plain, sizeof plain, "%s", text);
  make_plain(plain);
  size_t used = (size_t)snprintf(out.text, sizeof out.text, "%.8s", before);
  for (const char *c = plain; *c; c++) {
    if (strchr(marked, *c)) out.text[used++] = mark;
    const size_t size = *c == '\'' ? strlen(apostrophe) : 1;
    memcpy(out.text + used, *c == '\'' ? apostrophe : c, size);
    used += size;
  }
  snprintf(out.text + used, sizeof out.text - used, "%s", after);
  return out;
}

gnuplot_string gnuplot_text(const char *text) { return compose("'", text, "'", "", 0); }
gnuplot_string gnuplot_tic(const char *text) { return compose("'", text, "'", "%", '%'); }
gnuplot_string gnuplot_enhanced(const char *text) { return compose("", text, "", "_^{}@&~\\", '\\'); }

gnuplot_string gnuplot_file(const char *name, const char *extension) {
  char file[NAME_MAX + 1];
  snprintf(file, sizeof file, "%.230s%s", name, extension);
  return compose("'./", file, "'", "", 0);
}

/* ---- scripts ------------------------------------------------------------------------------------- */

void gnuplot_begin(FILE *script, const char *command, const char *name) {
  fprintf(script, "# written by %s; to draw the figure again, run gnuplot in this folder on %s\n", command,
          gnuplot_file(name, ".gp").text);
  fprintf(script, "set encoding utf8\nset datafile separator comma\nset datafile columnheaders\n");
  fprintf(script, "set datafile missing 'NaN'\nset border 3 linecolor rgb '#8a94a0'\n");
  fprintf(script, "set tics nomirror out scale 0.5 textcolor rgb '#3c4650'\n");
}

void gnuplot_terminal(FILE *script, const char *terminal, const gnuplot_canvas *c) {
  const bool svg = strcmp(terminal, "svg") == 0;
  fprintf(script, "set terminal %s size %d,%d%s %s font 'Helvetica,%d' background '#ffffff'\n", terminal, c->width,
          c->height, svg ? " dynamic" : "", c->enhanced ? "enhanced" : "noenhanced", c->points);
  fprintf(script, "set output %s\n", gnuplot_file(c->name, svg ? ".svg" : ".png").text);
}

/* ---- the program -------------------------------------------------------------------------------- */

/* starts gnuplot with standard error connected to the pipe; returns an errno, 0 on success */
static int spawn(const char *folder, const char *script, int error_pipe, pid_t *child) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int error = posix_spawn_file_actions_init(&actions);
  if (error) return error;
  error = posix_spawnattr_init(&attributes);
  if (error) {
    posix_spawn_file_actions_destroy(&actions);
    return error;
  }
  char program[] = "gnuplot", path[PATH_MAX];
  snprintf(path, sizeof path, "./%s", script); /* ./ so that it is never an option */
  char *arguments[] = {program, path, NULL};
  error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (!error) error = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  if (!error) error = posix_spawn_file_actions_adddup2(&actions, error_pipe, STDERR_FILENO);
  if (!error) error = posix_spawn_file_actions_addchdir_np(&actions, folder);
  if (!error) error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  if (!error) error = posix_spawnp(child, program, &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

/* reads the pipe to its end and keeps the first `size` bytes as one line */
static void read_pipe(int pipe, char *text, size_t size) {
  size_t used = 0;
  char bytes[512];
  for (ssize_t got; (got = read(pipe, bytes, sizeof bytes)) > 0 || (got < 0 && errno == EINTR);)
    for (ssize_t i = 0; i < got && used + 1 < size; i++)
      if (used || bytes[i] != '\n') text[used++] = bytes[i] == '\n' ? ' ' : bytes[i];
  while (used && text[used - 1] == ' ') used--;
  text[used] = '\0';
}

static sparc_status run(const char *folder, const char *script) {
  int ends[2], outcome = 0;
  pid_t child;
  if (pipe2(ends, O_CLOEXEC) != 0) return fail(SPARC_IO, "cannot run gnuplot: %s", strerror(errno));
  const int error = spawn(folder, script, ends[1], &child);
  close(ends[1]);
  if (error) {
    close(ends[0]);
    if (error == ENOENT) return fail(SPARC_UNSUPPORTED, "gnuplot is not installed (Debian: gnuplot-nox)");
    return fail(SPARC_IO, "cannot run gnuplot: %s", strerror(error));
  }
  char message[200];
  read_pipe(ends[0], message, sizeof message);
  close(ends[0]);
  while (waitpid(child, &outcome, 0) < 0)
    if (errno != EINTR) return fail(SPARC_IO, "cannot wait for gnuplot: %s", strerror(errno));
  if (WIFEXITED(outcome) && WEXITSTATUS(outcome) == 0) return SPARC_OK;
  return fail(SPARC_IO, "gnuplot could not draw '%s': %s", script, *message ? message : "no message");
}

/* ---- the figure --------------------------------------------------------------------------------- */

static sparc_status read_text(const char *path, char **text) {
  FILE *file = fopen(path, "rb");
  if (!file) return fail(SPARC_IO, "cannot read '%.300s': %s", path, strerror(errno));
  long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
  rewind(file);
  sparc_status status = SPARC_OK;
  char *bytes = size >= 0 ? sparc_alloc((size_t)size + 1) : NULL;
  if (size < 0 || (bytes && fread(bytes, 1, (size_t)size, file) != (size_t)size))
    status = fail(SPARC_IO, "cannot read '%.300s'", path);
  else if (!bytes)
    status = fail(SPARC_NO_MEMORY, "no memory for the %ld bytes of '%.300s'", size, path);
  fclose(file);
  if (status == SPARC_OK)
    *text = bytes;
  else
    sparc_free(bytes);
  return status;
}

/* removes old output: it must not be mistaken for new output, and a link must not redirect gnuplot */
static sparc_status remove_old(const char *folder, const char *name, const char *extension, char path[PATH_MAX]) {
  if (snprintf(path, PATH_MAX, "%s/%s.%s", folder, name, extension) >= PATH_MAX)
    return fail(SPARC_INVALID, "the name of figure '%.200s' is too long", name);
  if (unlink(path) == 0 || errno == ENOENT) return SPARC_OK;
  return fail(SPARC_IO, "cannot write '%.300s': %s", path, strerror(errno));
}

sparc_status gnuplot_draw(const char *folder, const char *name, char **svg) {
  char script[NAME_MAX + 1], path[PATH_MAX];
  *svg = NULL;
  if (snprintf(script, sizeof script, "%s.gp", name) >= (int)sizeof script)
    return fail(SPARC_INVALID, "the name of figure '%.200s' is too long", name);
  sparc_status status = remove_old(folder, name, "png", path);
  if (status == SPARC_OK) status = remove_old(folder, name, "svg", path);
  if (status != SPARC_OK) return status;
  status = run(folder, script);
  return status == SPARC_OK ? read_text(path, svg) : status;
}
