/* SPDX-License-Identifier: MIT */
/* command.h: commands of the tool on the files of a bundle, in a folder of their own below TMPDIR. Their output goes
 * nowhere; what counts is that they end with one of their exit codes. */
#ifndef SPARC_TESTS_FUZZ_COMMAND_H
#define SPARC_TESTS_FUZZ_COMMAND_H

#include "bundle.h"
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition, const char *what) {
  if (condition) return;
  dprintf(STDERR_FILENO, "violated: %s (last error: %s)\n", what, sparc_error());
  abort();
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk) {
  (void)status;
  (void)type;
  return walk->level > 0 || strcmp(path, ".") != 0 ? remove(path) : 0;
}

static void empty_folder(void) { (void)nftw(".", remove_entry, 16, FTW_DEPTH | FTW_PHYS); }

static char scratch[256];

static void leave_folder(void) {
  empty_folder();
  (void)rmdir(scratch);
}

/* once: a folder to work in, and streams that nobody reads */
static void enter_folder(void) {
  if (*scratch) return;
  const char *parent = getenv("TMPDIR");
  snprintf(scratch, sizeof scratch, "%s/sparc-fuzz-XXXXXX", parent && *parent ? parent : "/tmp");
  require(mkdtemp(scratch) != NULL && chdir(scratch) == 0, "a folder to work in");
  (void)atexit(leave_folder);
  stdout = fopen("/dev/null", "w");
  stderr = fopen("/dev/null", "w");
  require(stdout && stderr, "streams that nobody reads");
}

static void make_parents(const char *name) {
  char path[TAR_NAME + 1];
  snprintf(path, sizeof path, "%s", name);
  for (char *slash = path; (slash = strchr(slash, '/')); *slash++ = '/') {
    *slash = '\0';
    (void)mkdir(path, 0755);
  }
}

/* the files of an input in an empty folder; false: it is no archive */
static bool unpack(const uint8_t *data, size_t size, bundle *b) {
  enter_folder();
  const bool good = bundle_read(data, size, b);
  for (int i = 0; good && i < b->files; i++) {
    make_parents(b->file[i].name);
    const int file = open(b->file[i].name, O_WRONLY | O_CREAT | O_EXCL, 0644);
    if (file < 0) continue; /* a file that is to be a folder, too */
    require(write(file, b->file[i].bytes, b->file[i].size) == (ssize_t)b->file[i].size, "writing a file");
    close(file);
  }
  return good;
}

static void finish(bundle *b) {
  bundle_free(b);
  empty_folder();
}

/* runs "NAME ARGUMENT..." and returns its exit code, which must be one that commands have */
static exit_code run_command(const char *line) {
  enum { MOST = 24 };
  char text[512], *argv[MOST + 1] = {NULL}, *rest = text;
  int argc = 0;
  snprintf(text, sizeof text, "%s", line);
  while (argc < MOST && (argv[argc] = strsep(&rest, " "))) argc++;
  const cli_command *command = cli_find("fuzz", argv[0]);
  require(command != NULL, "a command that there is");
  const exit_code code = cli_run(command, argc, argv);
  require(code == EXIT_DONE || code == EXIT_FAILED || code == EXIT_USAGE || code == EXIT_INPUT ||
              code == EXIT_NOT_FINITE || code == EXIT_INTERRUPTED,
          "an exit code that there is");
  return code;
}

/* whether a configuration asks for little work: no number in it is large */
static inline bool is_small(const bundle_file *config, double limit) {
  json_t *root = config ? json_loadb((const char *)config->bytes, config->size, 0, NULL) : NULL;
  bool small = root != NULL;
  const char *key;
  json_t *value;
  json_object_foreach(root, key, value) {
    const char *text = json_string_value(value);
    const double number = json_is_number(value) ? json_number_value(value) : text ? strtod(text, NULL) : 0;
    small = small && !(fabs(number) > limit);
  }
  json_decref(root);
  return small;
}

#endif
