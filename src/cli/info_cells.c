/* SPDX-License-Identifier: MIT */
/* info_cells.c: `sparc info --cells`: sizes of each cell at a given input width and state size; `--options`: its
 * options.
 *
 * Parameters include the path to the policy's features (LRU's square complex readout), as in the paper's comparison. A
 * stored rollout keeps the traces of every step, or the state of every step for cells without RTRL.
 */
#include "cli/info_cells.h"

#include "cells/cell.h"
#include "sparc/cell.h"

#include <string.h>

enum { ROLLOUT = 2048, OPTIONS_SIZE = 128 };

/* rows of the table: a kind, and an option that makes a row of its own */
enum { LABEL_SIZE = 32 };
typedef struct cell_row {
  const char *kind;
  char label[LABEL_SIZE];
  const char *options;
} cell_row;

static void print_header(int D, int state_size, int H) {
  if (state_size)
    printf("D = %d, %d real state coordinates\n", D, state_size);
  else
    printf("D = %d, H = %d\n", D, H);
  printf("%-14s %6s %10s %7s %12s %14s\n", "cell", "H", "params", "state", "trace", "rollout MB");
}

static void print_row(const cell_row *row, const cells_settings *settings, int state_size, const sparc_cell *cell) {
  const sparc_cell_sizes n = sparc_cell_sizes_of(cell);
  const size_t H = (size_t)sparc_cell_config_of(cell).H;
  const size_t params = n.params + (cell_about(row->kind)->kind.features == POLICY_READOUT ? 2 * H * H : 0);
  const size_t per_step = n.trace ? n.trace : n.state;
  const double megabytes = (double)(per_step * ROLLOUT * sizeof(float)) / 1e6;
  if (!settings->json) {
    printf("%-14s %6zu %10zu %7zu %12zu %14.1f\n", row->label, H, params, n.state, n.trace, megabytes);
    return;
  }
  cli_json_line("sparc info", json_pack("{s:s, s:i, s:i, s:I, s:I, s:I, s:I, s:f, s:s}", "cell", row->label, "D",
                                        settings->D, "budget", state_size, "H", (json_int_t)H, "params",
                                        (json_int_t)params, "state", (json_int_t)n.state, "trace", (json_int_t)n.trace,
                                        "rollout_mb", megabytes, "options", sparc_cell_config_of(cell).options));
}

static sparc_status describe_row(const cell_row *row, const cells_settings *settings, int state_size) {
  char options[OPTIONS_SIZE] = "";
  sparc_cell_config config = {.kind = row->kind, .H = settings->H, .options = options};
  sparc_status status = state_size ? cell_fit(row->kind, state_size, &config, options, sizeof options) : SPARC_OK;
  if (status != SPARC_OK) return status;
  if (row->options) config.options = row->options;
  config.D = settings->D;
  sparc_cell *cell;
  status = sparc_cell_create(&config, &cell);
  if (status != SPARC_OK) return status;
  print_row(row, settings, state_size, cell);
  sparc_cell_free(cell);
  return SPARC_OK;
}

static exit_code describe_kind(const char *who, const cell_row *row, const cells_settings *settings, int state_size) {
  const sparc_status status = describe_row(row, settings, state_size);
  if (status == SPARC_OK) return EXIT_DONE;
  cli_message(who, "%s: %s", row->label, sparc_error());
  return cli_exit_code(status);
}

/* whether traces of the projection can be left out */
static bool has_local_traces(const char *kind) {
  const sparc_option *option = cell_about(kind)->kind.options;
  while (option->name && strcmp(option->name, "proj_trace") != 0) option++;
  return option->name;
}

/* every kind by its defaults, and once more with a local projection trace where there is one */
static exit_code describe_all(const char *who, const cells_settings *settings, int state_size) {
  if (!settings->json) print_header(settings->D, state_size, settings->H);
  exit_code worst = EXIT_DONE;
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++) {
    cell_row rows[] = {{*kind, "", NULL}, {*kind, "", "proj_trace=local"}};
    snprintf(rows[0].label, LABEL_SIZE, "%s", *kind);
    snprintf(rows[1].label, LABEL_SIZE, "%s (local)", *kind);
    for (size_t i = 0; i < (has_local_traces(*kind) ? 2 : 1); i++) {
      const exit_code code = describe_kind(who, &rows[i], settings, state_size);
      if (code > worst) worst = code;
    }
  }
  return worst;
}

/* ---- options ------------------------------------------------------------------------------------- */

static void print_option(const sparc_option *option) {
  printf("  %s=", option->name);
  if (option->type == SPARC_OPTION_CHOICE)
    for (size_t i = 0; option->choices[i]; i++) printf("%s%s", i ? "|" : "", option->choices[i]);
  else
    printf("%g..%g", option->low, option->high);
  const int number = (int)option->fallback;
  if (option->type == SPARC_OPTION_CHOICE)
    printf(" (%s)", option->choices[number]);
  else if (option->fallback >= option->low)
    printf(" (%.7g)", option->fallback);
  printf("\n      %s\n", option->help);
}

static json_t *json_option(const char *kind, const sparc_option *option) {
  static const char *const types[] = {
      [SPARC_OPTION_INT] = "int", [SPARC_OPTION_REAL] = "real", [SPARC_OPTION_CHOICE] = "choice"};
  json_t *object = json_pack("{s:s, s:s, s:s, s:s}", "cell", kind, "option", option->name, "type", types[option->type],
                             "help", option->help);
  if (option->type != SPARC_OPTION_CHOICE) {
    json_object_set_new(object, "low", json_real(option->low));
    json_object_set_new(object, "high", json_real(option->high));
    if (option->fallback >= option->low) json_object_set_new(object, "default", json_real(option->fallback));
    return object;
  }
  json_t *choices = json_array();
  for (size_t i = 0; option->choices[i]; i++) json_array_append_new(choices, json_string(option->choices[i]));
  json_object_set_new(object, "choices", choices);
  json_object_set_new(object, "default", json_string(option->choices[(int)option->fallback]));
  return object;
}

exit_code info_cell_options(bool json) {
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++) {
    const cell_kind *about = &cell_about(*kind)->kind;
    if (!json) printf("%s: %s\n", about->name, about->summary);
    for (const sparc_option *option = about->options; option->name; option++) {
      if (json)
        cli_json_line("sparc info", json_option(*kind, option));
      else
        print_option(option);
    }
  }
  return EXIT_DONE;
}

/* ---- the table ------------------------------------------------------------------------------------ */

exit_code info_cells(const char *who, const cells_settings *settings) {
  if (settings->H) return describe_all(who, settings, 0);
  if (settings->state_size) return describe_all(who, settings, settings->state_size);
  enum { CONTROL = 384, POPGYM = 128 };
  const exit_code first = describe_all(who, settings, CONTROL);
  if (!settings->json) putchar('\n');
  const exit_code second = describe_all(who, settings, POPGYM);
  return first > second ? first : second;
}
