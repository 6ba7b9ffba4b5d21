/* SPDX-License-Identifier: MIT */
/* lab_process.c: a job as a child process: this program with another command. */
#include "cli/lab/lab.h"
#include "cli/progress.h"
#include "envs/envs.h"
#include "io/folder_file.h"
#include "run/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *text_of(const json_t *settings, const char *key) {
  return (char *)json_string_value(json_object_get(settings, key));
}

sparc_status lab_arguments(const grid_job *job, const char *folder, const char *settings, int threads,
                           lab_buffers *buffers, char *arguments[LAB_ARGUMENTS]) {
  int n = 0;
  snprintf(buffers->threads, sizeof buffers->threads, "%d", threads);
  arguments[n++] = (char *)"sparc";
  arguments[n++] = (char *)grid_kind_name(job->kind);
  arguments[n++] = (char *)"--json";
  arguments[n++] = (char *)"--threads";
  arguments[n++] = buffers->threads;
  sparc_status status = SPARC_OK;
  switch (job->kind) {
    case GRID_RL:
    case GRID_TRAIN:
      arguments[n++] = (char *)"--quiet";
      arguments[n++] = (char *)"--resume-or-create";
      arguments[n++] = (char *)"--config";
      arguments[n++] = (char *)settings;
      arguments[n++] = (char *)"--out";
      arguments[n++] = (char *)folder;
      if (job->kind == GRID_RL && is_plugin(text_of(job->settings, "task"))) {
        arguments[n++] = (char *)"--plugin";
        arguments[n++] = text_of(job->settings, "task");
      }
      /* experiments use the paper's recipe unless they set another */
      if (job->kind == GRID_TRAIN && !json_object_get(job->settings, "recipe")) {
        arguments[n++] = (char *)"--recipe";
        arguments[n++] = (char *)"paper";
      }
      break;
    case GRID_BENCH:
      status = grid_problem(job->settings, buffers->problem);
      if (json_is_number(json_object_get(job->settings, "seconds"))) {
        snprintf(buffers->seconds, sizeof buffers->seconds, "%g",
                 json_number_value(json_object_get(job->settings, "seconds")));
        arguments[n++] = (char *)"--seconds";
        arguments[n++] = buffers->seconds;
      }
      arguments[n++] = (char *)"--";
      arguments[n++] = buffers->problem;
      break;
    case GRID_CHECK:
      arguments[n++] = (char *)"--";
      arguments[n++] = text_of(job->settings, "file");
      break;
  }
  arguments[n] = NULL;
  return status;
}

exit_code lab_become(char *const *arguments, int out, const char *log) {
  int words;
  if (!interrupt_release()) return EXIT_INTERRUPTED;
  if (folder_file_open(log, O_WRONLY | O_CREAT | O_TRUNC, &words) != SPARC_OK) {
    cli_message("sparc lab", "%s", sparc_error());
    return EXIT_FAILED;
  }
  launch_forget(); /* the command is not an MPI rank, although this process may be one */
  const int nothing = open("/dev/null", O_RDONLY);
  if (nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
      dup2(words, STDERR_FILENO) >= 0)
    execv("/proc/self/exe", arguments);
  cli_message("sparc lab", "cannot start this program again: %s", strerror(errno));
  return EXIT_FAILED;
}

bool lab_last_line(const char *path, char text[JOB_TEXT]) {
  char line[JOB_TEXT];
  bool found = false;
  FILE *file;
  if (folder_file_stream(path, "r", &file) != SPARC_OK || !file) return false;
  /* long lines are truncated; the rest of a line is skipped */
  for (bool begins = true; fgets(line, sizeof line, file);) {
    const bool ends = strchr(line, '\n') != NULL;
    line[strcspn(line, "\n")] = '\0';
    if (begins && *line) {
      snprintf(text, JOB_TEXT, "%s", line);
      found = true;
    }
    begins = ends;
  }
  fclose(file);
  return found;
}
