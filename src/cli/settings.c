/* SPDX-License-Identifier: MIT */
/* settings.c: argp options from tables of settings and of options, and the order of precedence. */
#include "cli/settings.h"

#include "base/error.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "io/folder_file.h"
#include "io/settings_rows.h"
#include "run/folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct cli_sources {
  settings_source run, file, line;
  run_folder folder;
};

/* ---- settings of several commands ---------------------------------------------------------------- */

static const char *const styles[] = {
    [PROGRESS_AUTO] = "auto", [PROGRESS_PLAIN] = "plain", [PROGRESS_NONE] = "none", NULL};

#define SETTING_STRUCT tool_settings
static const setting tool_rows[] = {
    {"config", NULL, TEXT(config), ROLE(COMMAND_LINE)},
    {"quiet", NULL, FLAG(quiet), ROLE(UNRECORDED)},
    {"json", NULL, FLAG(json), ROLE(UNRECORDED)},
    {"progress", NULL, CHOICE(progress, styles), ROLE(UNRECORDED), DEFAULT("auto")},
};

const settings_table tool_table = SETTINGS_TABLE(tool_rows);

/* ---- options ------------------------------------------------------------------------------------- */

enum { MAX_GROUPS = 10, HELP_SIZE = 256, OLD_NAME = 1024 /* added to the key of an option */ };

typedef struct command_line {
  const cli_usage *usage;
  const settings_binding *binding;
  settings_source *source;
  bool old_name[MAX_SETTINGS]; /* by row: given by its old name */
  struct argp_option option[2 * MAX_SETTINGS + MAX_GROUPS + 1];
  int options;
  const char *group[MAX_GROUPS];
  int groups;
  char help[MAX_SETTINGS][HELP_SIZE];
  const char *arguments; /* NULL: the command has none */
} command_line;

/* the option of a setting; NULL: it has none */
static const cli_option *option_of(const cli_usage *usage, const setting *s) {
  if (s->role == STORED) return NULL;
  for (int t = 0; t < MAX_OPTION_TABLES && usage->options[t]; t++)
    for (const cli_option *o = usage->options[t]; o->name; o++)
      if (strcmp(o->name, s->name) == 0) return o;
  return NULL;
}

static int key_of(const cli_option *o, int i) { return o->letter && o->letter != POSITIONAL ? o->letter : 256 + i; }

/* the number of a group, from 1; a new one is added with its heading */
static int group_number(command_line *line, const char *title) {
  for (int g = 0; g < line->groups; g++)
    if (strcmp(line->group[g], title) == 0) return g + 1;
  line->group[line->groups++] = title;
  line->option[line->options++] = (struct argp_option){.doc = title, .group = line->groups};
  return line->groups;
}

/* a default in the text of an option replaces that of its setting */
static void print_help(const setting *s, const cli_option *o, char help[HELP_SIZE]) {
  const bool described = strstr(o->help, "(default: ") != NULL;
  const char *data = described ? NULL : s->defaults[DEFAULT_DATA], *task = described ? NULL : s->defaults[DEFAULT_TASK];
  if (task)
    snprintf(help, HELP_SIZE, "%s (default: %s; generated tasks: %s)", o->help, data, task);
  else if (data)
    snprintf(help, HELP_SIZE, "%s (default: %s)", o->help, data);
  else
    snprintf(help, HELP_SIZE, "%s", o->help);
}

static void list_options(command_line *line) {
  const setting *s;
  for (int i = 0; (s = settings_row(line->binding, i, NULL)); i++) {
    const cli_option *o = option_of(line->usage, s);
    if (!o) continue;
    if (o->letter == POSITIONAL) line->arguments = o->argument;
    if (o->letter == POSITIONAL && !o->option) continue;
    const int group = group_number(line, o->group);
    print_help(s, o, line->help[i]);
    line->option[line->options++] = (struct argp_option){.name = o->option ? o->option : s->name,
                                                         .key = key_of(o, i),
                                                         .arg = o->argument,
                                                         .doc = line->help[i],
                                                         .group = group};
    if (s->old_name)
      line->option[line->options++] = (struct argp_option){
          .name = s->old_name, .key = OLD_NAME + i, .arg = o->argument, .flags = OPTION_HIDDEN, .group = group};
  }
}

/* ---- the command line ---------------------------------------------------------------------------- */

static error_t parse_option(int key, char *argument, struct argp_state *state) {
  command_line *line = state->input;
  const setting *s;
  const char *taken = NULL; /* the last positional argument that is already given */
  for (int i = 0; (s = settings_row(line->binding, i, NULL)); i++) {
    const cli_option *o = option_of(line->usage, s);
    const bool old_name = s->old_name && key == OLD_NAME + i;
    if (!o || (key == ARGP_KEY_ARG ? o->letter != POSITIONAL : key_of(o, i) != key && !old_name)) continue;
    if (o->letter == POSITIONAL && line->source->text[i]) {
      taken = o->argument;
      continue;
    }
    line->old_name[i] |= old_name;
    line->source->text[i] = s->type == SETTING_FLAG ? "true" : argument;
    return 0;
  }
  if (taken) argp_error(state, "expected one %s, got '%s' as well", taken, argument);
  if (key != ARGP_KEY_ARG) return ARGP_ERR_UNKNOWN;
  argp_error(state, "unexpected argument '%s'", argument);
  return EINVAL;
}

/* the text that the command line gives for a setting; NULL: none */
static const char *text_of(const settings_binding *binding, const settings_source *source, const char *name) {
  const int i = settings_find(binding, name);
  return i >= 0 ? source->text[i] : NULL;
}

/* options of 0.2.0 are accepted with a warning */
static void warn_of_old_names(const char *who, const command_line *line) {
  const setting *s;
  if (text_of(line->binding, line->source, "quiet")) return;
  for (int i = 0; (s = settings_row(line->binding, i, NULL)); i++)
    if (line->old_name[i]) cli_message(who, "--%s is now --%s", s->old_name, s->name);
}

/* an option without effect is an error; one of several in `needs` is enough */
static sparc_status check_needs(const cli_usage *usage, const settings_binding *binding,
                                const settings_source *source) {
  const setting *s;
  for (int i = 0; (s = settings_row(binding, i, NULL)); i++) {
    const cli_option *o = source->text[i] ? option_of(usage, s) : NULL;
    char without[96] = "", word[32];
    size_t used = 0;
    bool found = !o || !o->needs;
    for (const char *at = found ? NULL : o->needs; !found && *at; at += strspn(at, " ")) {
      const size_t length = strcspn(at, " ");
      snprintf(word, sizeof word, "%.*s", (int)length, at);
      at += length;
      const int k = settings_find(binding, word);
      if (k < 0) continue;
      found = source->text[k] != NULL;
      used += (size_t)snprintf(without + used, sizeof without - used, "%s--%s", used ? " or " : "", word);
    }
    if (!found) return fail(SPARC_INVALID, "--%s has no effect without %s", s->name, without);
  }
  return SPARC_OK;
}

static sparc_status read_line(int argc, char **argv, const cli_usage *usage, const settings_binding *binding,
                              settings_source *source) {
  command_line *line = calloc(1, sizeof *line);
  if (!line) return fail(SPARC_NO_MEMORY, "no memory for the options");
  line->usage = usage;
  line->binding = binding;
  line->source = source;
  source->prefix = "--";
  list_options(line);
  const struct argp argp = {.options = line->option,
                            .parser = parse_option,
                            .args_doc = usage->arguments ? usage->arguments : line->arguments,
                            .doc = usage->doc};
  if (cli_refuse_unknown_options(&argp, argc, argv)) exit(EXIT_USAGE);
  const error_t error = argp_parse(&argp, argc, argv, 0, NULL, line);
  if (error == 0) warn_of_old_names(argv[0], line);
  free(line);
  return error == 0 ? SPARC_OK : fail(SPARC_INVALID, "cannot parse the command line: %s", strerror(error));
}

/* ---- precedence ---------------------------------------------------------------------------------- */

static sparc_status merge(const settings_binding *binding, const cli_sources *s) {
  const settings_source *const sources[] = {&s->run, &s->file, &s->line};
  sparc_status status = SPARC_OK;
  settings_clear(binding);
  for (size_t i = 0; i < sizeof sources / sizeof *sources && status == SPARC_OK; i++)
    status = settings_apply(binding, sources[i]);
  return status;
}

/* Read config.json of the run to be resumed, if there is one; only settings that runs write are allowed in it. With
 * several seeds or folds, the caller checks that at least one of the runs exists. */
static sparc_status read_run(const cli_usage *usage, const settings_binding *binding, cli_sources *s) {
  char path[sizeof s->folder.path];
  bool found = false;
  sparc_status status = usage->folder(usage->config, path, sizeof path);
  if (status == SPARC_OK) status = run_folder_at(path, &s->folder);
  const bool folds = text_of(binding, &s->line, "folds") && !text_of(binding, &s->line, "fold");
  if (status == SPARC_OK && text_of(binding, &s->line, "resume") && !text_of(binding, &s->line, "seeds") && !folds)
    status = run_folder_require(&s->folder);
  if (status == SPARC_OK) status = folder_file_find(s->folder.config, &found);
  if (status == SPARC_OK && found) status = run_folder_settings(&s->folder, binding, &s->run);
  const setting *row;
  for (int i = 0; status == SPARC_OK && (row = settings_row(binding, i, NULL)); i++)
    if (s->run.text[i] && row->role != SUBJECT && row->role != DEFINES && row->role != FREE)
      status =
          fail(SPARC_FORMAT, "%.200s: %s is not allowed in the configuration of a run", s->folder.config, row->name);
  return status;
}

sparc_status cli_settings_read(int argc, char **argv, const cli_usage *usage, const settings_binding *binding,
                               cli_sources **sources) {
  cli_sources *s = *sources = calloc(1, sizeof *s);
  if (!s) return fail(SPARC_NO_MEMORY, "no memory for the settings");
  sparc_status status = read_line(argc, argv, usage, binding, &s->line);
  const char *file = text_of(binding, &s->line, "config");
  if (status == SPARC_OK && file) status = settings_read_file(binding, file, &s->file);
  if (status == SPARC_OK) status = merge(binding, s);
  if (status == SPARC_OK) status = check_needs(usage, binding, &s->line);
  const bool resumes = text_of(binding, &s->line, "resume") || text_of(binding, &s->line, "resume-or-create");
  if (status == SPARC_OK && usage->folder && resumes) {
    status = read_run(usage, binding, s);
    if (status == SPARC_OK) status = merge(binding, s);
  }
  return status;
}

bool cli_typed(const cli_sources *s, const settings_binding *binding, const char *name) {
  return text_of(binding, &s->line, name) != NULL;
}

void cli_sources_free(cli_sources *s) {
  if (!s) return;
  settings_source_free(&s->run);
  settings_source_free(&s->file);
  free(s);
}
