/* SPDX-License-Identifier: MIT */
/* info_cells.c: `sparc info --cells`: what each cell costs at a given input width and state budget.
 *
 * Parameters include the path to the policy's features (LRU's square complex readout), as in the paper's comparison. A
 * stored rollout keeps the traces of every step, or the state of every step for cells without RTRL.
 */
#include "cli/info_cells.h"

#include "cells/cell.h"

#include <string.h>

enum { ROLLOUT = 2048, OPTIONS_SIZE = 128 };

/* rows of the table: a kind, and options that make a row of their own */
typedef struct cell_row {
  const char *kind, *label, *options;
} cell_row;

static void print_header(int D, int budget, int H) {
  if (budget)
    printf("D = %d, %d real state coordinates\n", D, budget);
  else
    printf("D = %d, H = %d\n", D, H);
  printf("%-14s %6s %10s %7s %12s %14s\n", "cell", "H", "params", "state", "trace", "rollout MB");
}

static void print_row(const cell_row *row, const cells_settings *settings, int budget, const sparc_cell *cell) {
  const sparc_sizes n = sparc_cell_sizes(cell);
  const size_t H = (size_t)sparc_cell_modes(cell);
  const size_t params = n.params + (cell->about->features == FEATURES_READOUT ? 2 * H * H : 0);
  const size_t per_step = n.trace ? n.trace : n.state;
  const double megabytes = (double)(per_step * ROLLOUT * sizeof(float)) / 1e6;
  if (!settings->json) {
    printf("%-14s %6zu %10zu %7zu %12zu %14.1f\n", row->label, H, params, n.state, n.trace, megabytes);
    return;
  }
  cli_json_line("sparc info", json_pack("{s:s, s:i, s:i, s:I, s:I, s:I, s:I, s:f, s:s}", "cell", row->label, "D",
                                        settings->D, "budget", budget, "H", (json_int_t)H, "params", (json_int_t)params,
                                        "state", (json_int_t)n.state, "trace", (json_int_t)n.trace, "rollout_mb",
                                        megabytes, "options", sparc_cell_options(cell)));
}

static sparc_status describe_row(const cell_row *row, const cells_settings *settings, int budget) {
  char options[OPTIONS_SIZE] = "";
  sparc_cell_config config = {.kind = row->kind, .H = settings->H, .options = options};
  sparc_status status = budget ? sparc_cell_fit(row->kind, budget, &config, options, sizeof options) : SPARC_OK;
  if (status != SPARC_OK) return status;
  if (row->options) config.options = row->options;
  config.D = settings->D;
  sparc_cell *cell;
  status = sparc_cell_create(&config, &cell);
  if (status != SPARC_OK) return status;
  print_row(row, settings, budget, cell);
  sparc_cell_free(cell);
  return SPARC_OK;
}

/* every kind by its defaults, and RG-LRU once more with its local projection trace */
static exit_code describe_all(const char *who, const cells_settings *settings, int budget) {
  if (!settings->json) print_header(settings->D, budget, settings->H);
  exit_code code = EXIT_DONE;
  for (const char *const *kind = sparc_cell_kinds(); *kind; kind++) {
    const cell_row rows[] = {{*kind, *kind, NULL}, {*kind, "rglru (local)", "proj_trace=local"}};
    const size_t count = strcmp(*kind, "rglru") == 0 ? 2 : 1;
    for (size_t i = 0; i < count; i++) {
      const sparc_status status = describe_row(&rows[i], settings, budget);
      if (status == SPARC_OK) continue;
      cli_message(who, "%s: %s", rows[i].label, sparc_error());
      code = cli_exit_code(status);
    }
  }
  return code;
}

exit_code info_cells(const char *who, const cells_settings *settings) {
  if (settings->H) return describe_all(who, settings, 0);
  if (settings->budget) return describe_all(who, settings, settings->budget);
  enum { CONTROL = 384, POPGYM = 128 };
  const exit_code first = describe_all(who, settings, CONTROL);
  if (!settings->json) putchar('\n');
  const exit_code second = describe_all(who, settings, POPGYM);
  return first > second ? first : second;
}
