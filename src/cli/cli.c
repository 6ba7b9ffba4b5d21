/* SPDX-License-Identifier: MIT */
/* cli.c: finding and running commands, did-you-mean for options, messages, and output that cannot get lost. */
#include "cli/cli.h"

#include "base/error.h"
#include "base/plain_text.h"
#include "cli/option_names.h"
#include "cli/ranks.h"
#include "io/folder_file.h"
#include "io/json.h"
#include "io/settings.h"
#include "run/cell_choice.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- commands ----------------------------------------------------------------------------------- */

const cli_command *const *cli_commands(void) {
#define ADDRESS(name) &command_##name,
  static const cli_command *const commands[] = {CLI_COMMANDS(ADDRESS) NULL};
#undef ADDRESS
  return commands;
}

const cli_command *cli_find(const char *who, const char *name) {
#define NAME(name) #name,
  static const char *const names[] = {CLI_COMMANDS(NAME) NULL};
#undef NAME
  for (const cli_command *const *c = cli_commands(); *c; c++)
    if (strcmp((*c)->name, name) == 0) return *c;
  const char *guess = closest(name, names);
  if (guess)
    cli_message(who, "unknown command '%s'; did you mean '%s'?", name, guess);
  else
    cli_message(who, "unknown command '%s'; `sparc help` lists the commands", name);
  return NULL;
}

exit_code cli_run(const cli_command *command, int argc, char **argv) {
  char who[64];
  snprintf(who, sizeof who, "sparc %s", command->name);
  argv[0] = who;
  if (command->argp && cli_refuse_unknown_options(command->argp, argc, argv)) return EXIT_USAGE;
  const exit_code code = cli_ranks_enter(command, who);
  return code == EXIT_DONE ? cli_ranks_leave(who, command->run(argc, argv)) : code;
}

exit_code cli_exit_code(sparc_status status) {
  static const exit_code codes[] = {
      [SPARC_OK] = EXIT_DONE,
      [SPARC_INVALID] = EXIT_USAGE,
      [SPARC_NO_MEMORY] = EXIT_FAILED,
      [SPARC_IO] = EXIT_INPUT,
      [SPARC_FORMAT] = EXIT_INPUT,
      [SPARC_UNSUPPORTED] = EXIT_FAILED,
      [SPARC_NOT_FINITE] = EXIT_NOT_FINITE,
      [SPARC_DEVICE] = EXIT_FAILED,
  };
  return (size_t)status < sizeof codes / sizeof *codes ? codes[status] : EXIT_FAILED;
}

/* ---- unknown options ---------------------------------------------------------------------------- */

/* what argp adds to every parser */
static const struct argp_option standard_options[] = {
    {.name = "help", .key = '?'}, {.name = "usage", .key = -1}, {.name = "version", .key = 'V'}, {0}};

static bool is_end(const struct argp_option *o) { return !o->name && !o->key && !o->doc && !o->group; }
static bool takes_value(const struct argp_option *o) { return o->arg && !(o->flags & OPTION_ARG_OPTIONAL); }

/* the option whose long name starts with the given text; an exact match wins over a prefix */
static const struct argp_option *find_long(const struct argp_option *o, const char *text, size_t length) {
  const struct argp_option *found = NULL;
  for (; !is_end(o); o++) {
    if (!o->name || strncmp(o->name, text, length) != 0) continue;
    if (o->name[length] == '\0') return o;
    found = o;
  }
  return found;
}

static const struct argp_option *find_short(const struct argp_option *o, char letter) {
  for (; !is_end(o); o++)
    if (o->key == letter) return o;
  return NULL;
}

static size_t list_names(const struct argp_option *o, const char **names, size_t count, size_t capacity) {
  for (; !is_end(o); o++)
    if (o->name && !(o->flags & OPTION_HIDDEN) && count + 1 < capacity) names[count++] = o->name;
  names[count] = NULL;
  return count;
}

/* what other tools, and earlier versions, call our options */
static const char *synonym_of(const char *word, const char *const *names) {
  static const struct {
    const char *word, *names[3];
  } synonyms[] = {
      {"lr", {"learning-rate"}},
      {"batch-size", {"batch"}},
      {"hidden", {"modes"}},
      {"hidden-size", {"modes"}},
      {"units", {"modes"}},
      {"output", {"out", "format"}},
      {"out-dir", {"out"}},
      {"output-dir", {"out"}},
      {"steps", {"updates"}},
      {"iterations", {"updates"}},
      {"num-layers", {"layers"}},
      {"label-column", {"label"}},
      {"target", {"label"}},
      {"workers", {"threads"}},
      {"early-stopping", {"patience"}},
      {"max-epochs", {"epochs"}},
      {"num-epochs", {"epochs"}},
      {"val-split", {"validation"}},
      {"validation-split", {"validation"}},
      {"pretrained", {"from"}},
      {"init-from", {"from"}},
      {"gamma", {"discount"}},
      {"continue", {"resume"}},
      {"overwrite", {"force"}},
  };
  for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
    for (const char *const *name = synonyms[i].names; strcmp(word, synonyms[i].word) == 0 && *name; name++)
      for (const char *const *own = names; *own; own++)
        if (strcmp(*own, *name) == 0) return *own;
  return NULL;
}

static void report_unknown(const char *who, const struct argp_option *options, const char *text, size_t length) {
  enum { CAPACITY = 128 };
  const char *names[CAPACITY];
  char word[64];
  size_t count = list_names(options, names, 0, CAPACITY);
  list_names(standard_options, names, count, CAPACITY);
  snprintf(word, sizeof word, "%.*s", (int)length, text);
  const char *synonym = synonym_of(word, names), *guess = synonym ? synonym : closest(word, names);
  if (guess)
    cli_message(who, "unknown option '--%s'; did you mean '--%s'?", word, guess);
  else
    cli_message(who, "unknown option '--%s'; `%s --help` lists the options", word, who);
}

/* whether the last option in a cluster such as -qt takes the next argument as its value */
static bool cluster_takes_next(const struct argp_option *options, const char *letters) {
  for (; *letters; letters++) {
    const struct argp_option *o = find_short(options, *letters);
    if (o && takes_value(o)) return letters[1] == '\0';
  }
  return false;
}

bool cli_refuse_unknown_options(const struct argp *argp, int argc, char **argv) {
  const struct argp_option *options = argp->options ? argp->options : standard_options;
  for (int i = 1; i < argc; i++) {
    const char *argument = argv[i];
    if (argument[0] != '-' || argument[1] == '\0') continue;
    if (argument[1] != '-') {
      i += cluster_takes_next(options, argument + 1);
      continue;
    }
    const char *text = argument + 2;
    size_t length = strcspn(text, "=");
    if (*text == '\0') return false; /* "--" ends the options */
    const struct argp_option *o = find_long(options, text, length);
    if (!o) o = find_long(standard_options, text, length);
    if (!o) {
      report_unknown(argv[0], options, text, length);
      return true;
    }
    i += takes_value(o) && text[length] == '\0';
  }
  return false;
}

/* ---- messages and output ------------------------------------------------------------------------ */

/* the bytes of a character, as \xNN unless it is plain; returns the columns used */
static int put_character(FILE *stream, const char *text, const text_character *c) {
  if (c->plain) {
    fwrite(text, 1, (size_t)c->length, stream);
    return 1;
  }
  for (int i = 0; i < c->length; i++) fprintf(stream, "\\x%02x", (unsigned char)text[i]);
  return 4 * c->length;
}

/* returns the columns used */
static int put_escaped(FILE *stream, const char *text) {
  int columns = 0;
  while (*text) {
    const text_character c = text_next(text);
    columns += put_character(stream, text, &c);
    text += c.length;
  }
  return columns;
}

void cli_message(const char *who, const char *format, ...) {
  char sentence[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  /* keep the order of data and messages when both go to one place */
  fflush(stdout);
  fprintf(stderr, "%s: ", who);
  put_escaped(stderr, option_names(sentence).text);
  putc('\n', stderr);
}

void cli_text(const char *text, int width) {
  int columns = put_escaped(stdout, text);
  if (width > columns) printf("%*s", width - columns, "");
}

void cli_json_line(const char *who, json_t *object) {
  if (!json_put(stdout, object, JSON_COMPACT)) {
    cli_message(who, "no memory for the JSON output");
    exit(EXIT_FAILED);
  }
  putchar('\n');
  json_decref(object);
}

/* ---- words of a shell --------------------------------------------------------------------------- */

static bool needs_no_quotes(const char *text) {
  static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  return *text && strspn(text, safe) == strlen(text);
}

static bool is_plain(const char *text) {
  while (*text) {
    const text_character c = text_next(text);
    if (!c.plain) return false;
    text += c.length;
  }
  return true;
}

/* 'it'\''s' */
static void put_single_quoted(FILE *out, const char *text) {
  putc('\'', out);
  for (; *text; text++) fprintf(out, *text == '\'' ? "'\\''" : "%c", *text);
  putc('\'', out);
}

/* $'a\x1bb', for what a terminal must not see */
static void put_dollar_quoted(FILE *out, const char *text) {
  fputs("$'", out);
  while (*text) {
    const text_character c = text_next(text);
    if (strchr("'\\", *text)) putc('\\', out);
    put_character(out, text, &c);
    text += c.length;
  }
  putc('\'', out);
}

shell_word cli_shell_word(const char *text) {
  shell_word word = {""};
  FILE *out = fmemopen(word.text, sizeof word.text - 1, "w");
  if (!out) return word;
  if (needs_no_quotes(text))
    fputs(text, out);
  else
    (is_plain(text) ? put_single_quoted : put_dollar_quoted)(out, text);
  fclose(out);
  return word;
}

/* ---- output ------------------------------------------------------------------------------------- */

json_t *cli_json_variant(const char *cell_options) {
  char variant[64];
  return cell_variant(cell_options, variant, sizeof variant) ? json_string(variant) : json_null();
}

bool cli_colour(void) {
  const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");
  if (no_colour && *no_colour) return false;
  return isatty(STDOUT_FILENO) && terminal && strcmp(terminal, "dumb") != 0;
}

bool cli_output_lost(void) { return ferror(stdout) != 0; }

/* whoever read standard output has gone, as `head` does */
static bool reader_has_gone(void) {
  struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR);
}

/* runs at exit, also when argp ends the program after --help */
static void close_output(int status, void *unused) {
  (void)unused;
  errno = 0;
  const bool lost = ferror(stdout) != 0, gone = reader_has_gone();
  if (fclose(stdout) != 0 || lost) {
    if (gone) _exit(status != 0 ? status : EXIT_FAILED);
    const char *reason = errno ? strerror(errno) : "the data is incomplete";
    fprintf(stderr, "sparc: cannot write to standard output: %s\n", reason);
    _exit(status != 0 ? status : EXIT_FAILED);
  }
}

/* jansson drops digits of numbers and calls texts malformed when it gets no memory, so there must be some */
static void *allocate_json(size_t size) {
  void *block = malloc(size ? size : 1);
  if (block) return block;
  cli_message("sparc", "no memory for JSON");
  exit(EXIT_FAILED);
}

void cli_guard_memory(void) { json_set_alloc_funcs(allocate_json, free); }

void cli_guard_output(void) {
  /* occupy closed standard descriptors the wrong way round: no file of ours may land there, and writing fails */
  for (int fd = 0; fd <= 2; fd++)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0) _exit(EXIT_FAILED);
  signal(SIGPIPE, SIG_IGN);
  (void)setvbuf(stderr, NULL, _IOLBF, BUFSIZ); /* a line is one write: those of several processes do not mix */
  if (on_exit(close_output, NULL) != 0) _exit(EXIT_FAILED);
}

sparc_status cli_model_path(const char *model, char path[CLI_PATH]) {
  struct stat about;
  bool best, last = false;
  snprintf(path, CLI_PATH, "%s", model);
  if (stat(model, &about) != 0 || !S_ISDIR(about.st_mode)) return SPARC_OK;
  snprintf(path, CLI_PATH, "%s/best.safetensors", model);
  sparc_status status = folder_file_find(path, &best);
  if (status != SPARC_OK || best) return status;
  snprintf(path, CLI_PATH, "%s/last.safetensors", model);
  status = folder_file_find(path, &last);
  if (status == SPARC_OK && !last) snprintf(path, CLI_PATH, "%s/best.safetensors", model);
  return status;
}

/* a length below 4 GiB and the header that it is of */
static bool is_safetensors(const char *path) {
  unsigned char start[9] = {0};
  FILE *file = fopen(path, "rb");
  const bool read = file && fread(start, 1, sizeof start, file) == sizeof start;
  if (file) fclose(file);
  return read && start[8] == '{' && !start[4] && !start[5] && !start[6] && !start[7];
}

sparc_status cli_model_load(const char *model, const char *other, int threads, sparc_model **out) {
  char path[CLI_PATH], other_path[CLI_PATH];
  *out = NULL;
  sparc_status status = cli_model_path(model, path);
  if (status != SPARC_OK) return status;
  status = sparc_model_load(path, threads, out);
  if (status != SPARC_FORMAT || is_safetensors(path)) return status;
  const bool other_file = cli_model_path(other, other_path) == SPARC_OK;
  return fail(SPARC_FORMAT, "'%.300s' is not a model%s", model,
              other_file && is_safetensors(other_path) ? "; the MODEL comes before the data" : "");
}

sparc_status cli_hint_unlabelled(const char *path, const sparc_read_options *read, sparc_status status) {
  struct stat file;
  const bool labels_given = read->label_column || read->labels_array || read->labels_path;
  if (status != SPARC_FORMAT || read->unlabelled || labels_given) return status;
  if (stat(path, &file) != 0 || !S_ISREG(file.st_mode)) return status; /* what is not a file cannot be read twice */
  char sentence[512];
  snprintf(sentence, sizeof sentence, "%s", sparc_error());
  sparc_read_options values_only = *read;
  values_only.unlabelled = 1;
  sparc_dataset *dataset;
  const bool readable = sparc_dataset_load(path, &values_only, &dataset) == SPARC_OK;
  sparc_dataset_free(dataset);
  return fail(status, "%s%s", sentence, readable ? "; if the file has no labels, add -u (--unlabelled)" : "");
}

error_t cli_add_plugin(const struct argp_state *state, const char *path, const char *plugins[CLI_PLUGINS + 1]) {
  int count = 0;
  while (plugins[count]) count++;
  if (count == CLI_PLUGINS) argp_error(state, "--plugin is given more than %d times", CLI_PLUGINS);
  plugins[count] = path;
  return 0;
}

error_t cli_parse_int(const struct argp_state *state, const char *option, const char *text, int low, int high,
                      int *out) {
  long value = 0;
  if (!setting_parse_whole(text, low, high, &value))
    argp_error(state, "--%s is '%s', expected a whole number from %d to %d", option, text, low, high);
  *out = (int)value;
  return 0;
}
