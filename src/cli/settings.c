/* SPDX-License-Identifier: MIT */
/* settings.c: argp options with help and defaults from tables of settings, and the order of precedence. */
#include "cli/settings.h"

#include "base/error.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "io/folder_file.h"
#include "run/folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct cli_sources {
  settings_source run, file, line;
  run_folder folder;
};

/* ---- settings of every command ------------------------------------------------------------------- */

static const char *const styles[] = {
    [PROGRESS_AUTO] = "auto", [PROGRESS_PLAIN] = "plain", [PROGRESS_NONE] = "none", NULL};

static const setting tool_rows[] = {
    {.name = "config",
     .type = SETTING_TEXT,
     .role = COMMAND_LINE,
     .commands = COMMAND_TRAIN | COMMAND_RL | COMMAND_LEARN,
     .offset = offsetof(tool_settings, config),
     .group = "Run:",
     .argument = "FILE",
     .help = "Read settings from a JSON FILE; options win"},
    {.name = "quiet",
     .type = SETTING_FLAG,
     .role = UNRECORDED,
     .commands = COMMAND_TRAIN | COMMAND_RL | COMMAND_DEMO | COMMAND_EVAL | COMMAND_LEARN,
     .offset = offsetof(tool_settings, quiet),
     .group = "Run:",
     .letter = 'q',
     .help = "Print results and errors only: no progress, no hints"},
    {.name = "json",
     .type = SETTING_FLAG,
     .role = UNRECORDED,
     .commands = COMMAND_TRAIN | COMMAND_RL | COMMAND_DEMO | COMMAND_DATA | COMMAND_EVAL | COMMAND_LEARN,
     .offset = offsetof(tool_settings, json),
     .group = "Run:",
     .letter = 'j',
     .help = "Print JSON: one object for each result"},
    {.name = "progress",
     .type = SETTING_CHOICE,
     .role = UNRECORDED,
     .commands = COMMAND_TRAIN | COMMAND_RL | COMMAND_DEMO | COMMAND_EVAL | COMMAND_LEARN,
     .offset = offsetof(tool_settings, progress),
     .choices = styles,
     .defaults = {"auto"},
     .group = "Run:",
     .letter = 'p',
     .argument = "HOW",
     .help = "auto, plain (one line now and then) or none"},
};

const settings_table tool_table = {tool_rows, sizeof tool_rows / sizeof *tool_rows};

/* ---- options ------------------------------------------------------------------------------------- */

enum { MAX_GROUPS = 10, HELP_SIZE = 256, OLD_NAME = 1024 /* added to the key of an option */ };

typedef struct option_list {
  struct argp_option option[2 * MAX_SETTINGS + MAX_GROUPS + 1];
  int options;
  const char *group[MAX_GROUPS];
  int groups;
  char help[MAX_SETTINGS][HELP_SIZE];
  const char *arguments; /* NULL: the command has none */
} option_list;

static int key_of(const setting *s, int i) { return s->letter && s->letter != POSITIONAL ? s->letter : 256 + i; }

/* the number of a group, from 1; a new one is added with its heading */
static int group_number(option_list *list, const char *title) {
  for (int g = 0; g < list->groups; g++)
    if (strcmp(list->group[g], title) == 0) return g + 1;
  list->group[list->groups++] = title;
  list->option[list->options++] = (struct argp_option){.doc = title, .group = list->groups};
  return list->groups;
}

static void print_help(const setting *s, char help[HELP_SIZE]) {
  const char *data = s->defaults[DEFAULT_DATA], *task = s->defaults[DEFAULT_TASK];
  if (task)
    snprintf(help, HELP_SIZE, "%s (default: %s; generated tasks: %s)", s->help, data, task);
  else if (data)
    snprintf(help, HELP_SIZE, "%s (default: %s)", s->help, data);
  else
    snprintf(help, HELP_SIZE, "%s", s->help);
}

static void list_options(const settings_binding *binding, option_list *list) {
  const setting *s;
  for (int i = 0; (s = settings_row(binding, i, NULL)); i++) {
    if (s->letter == POSITIONAL) list->arguments = s->argument;
    if (s->role == STORED || (s->letter == POSITIONAL && !s->option)) continue;
    const int group = group_number(list, s->group);
    print_help(s, list->help[i]);
    list->option[list->options++] = (struct argp_option){.name = s->option ? s->option : s->name,
                                                         .key = key_of(s, i),
                                                         .arg = s->argument,
                                                         .doc = list->help[i],
                                                         .group = group};
    if (s->old_name)
      list->option[list->options++] = (struct argp_option){
          .name = s->old_name, .key = OLD_NAME + i, .arg = s->argument, .flags = OPTION_HIDDEN, .group = group};
  }
}

/* ---- the command line ---------------------------------------------------------------------------- */

typedef struct line_input {
  const settings_binding *binding;
  settings_source *source;
  bool old_name[MAX_SETTINGS]; /* by row: given by its old name */
} line_input;

static error_t parse_option(int key, char *argument, struct argp_state *state) {
  line_input *input = state->input;
  const setting *s;
  const char *taken = NULL; /* the last positional argument that is already given */
  for (int i = 0; (s = settings_row(input->binding, i, NULL)); i++) {
    const bool old_name = s->old_name && key == OLD_NAME + i;
    if (s->role == STORED || (key == ARGP_KEY_ARG ? s->letter != POSITIONAL : key_of(s, i) != key && !old_name))
      continue;
    if (old_name) input->old_name[i] = true;
    if (s->letter == POSITIONAL && input->source->text[i]) {
      taken = s->argument;
      continue;
    }
    input->source->text[i] = s->type == SETTING_FLAG ? "true" : argument;
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
static void warn_of_old_names(const char *who, const line_input *input) {
  const setting *s;
  if (text_of(input->binding, input->source, "quiet")) return;
  for (int i = 0; (s = settings_row(input->binding, i, NULL)); i++)
    if (input->old_name[i]) cli_message(who, "--%s is now --%s", s->old_name, s->name);
}

static sparc_status read_line(int argc, char **argv, const cli_usage *usage, const settings_binding *binding,
                              settings_source *source) {
  option_list *list = calloc(1, sizeof *list);
  if (!list) return fail(SPARC_NO_MEMORY, "no memory for the options");
  list_options(binding, list);
  const struct argp argp = {.options = list->option,
                            .parser = parse_option,
                            .args_doc = usage->arguments ? usage->arguments : list->arguments,
                            .doc = usage->doc};
  line_input input = {.binding = binding, .source = source};
  if (cli_refuse_unknown_options(&argp, argc, argv)) exit(EXIT_USAGE);
  const error_t error = argp_parse(&argp, argc, argv, 0, NULL, &input);
  free(list);
  if (error == 0) warn_of_old_names(argv[0], &input);
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
    if (s->run.text[i] && row->role != DEFINES && row->role != FREE)
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
