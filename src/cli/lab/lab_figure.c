/* SPDX-License-Identifier: MIT */
/* lab_figure.c: `sparc lab figure`: learning curves and scores as SVG and PNG. */
#include "cli/lab/lab.h"
#include "io/json.h"
#include "lab/grid/grid_figures.h"

static void print_files(const lab_options *o, const grid_results *r, const grid_drawing *drawing) {
  grid_figure figures[GRID_MAX_FIGURES];
  const int count = grid_figures(r, figures);
  char folder[JOB_PATH], path[JOB_PATH + sizeof figures->name + 8];
  grid_figures_folder(r->jobs, folder);
  for (int i = 0; i < count; i++) {
    const char *extension = drawing->figures ? "svg" : "gp";
    snprintf(path, sizeof path, "%s/%.72s.%s", folder, figures[i].name, extension);
    if (o->json)
      cli_json_line(o->who, json_pack("{s:o}", "figure", json_text(path)));
    else
      puts(path);
  }
}

exit_code lab_figure(const lab_options *o, const grid_jobs *jobs) {
  grid_results r;
  grid_drawing drawing = {.figures = 0};
  const sparc_status status = grid_results_read(jobs, &r);
  if (status != SPARC_OK || grid_figures_draw(&r, &drawing) != SPARC_OK) {
    cli_message(o->who, "%s", sparc_error());
    grid_drawing_free(&drawing);
    grid_results_free(&r);
    return status != SPARC_OK ? cli_exit_code(status) : EXIT_FAILED;
  }
  print_files(o, &r, &drawing);
  if (*drawing.reason)
    cli_message(o->who, "figures are missing: %s", drawing.reason);
  else if (drawing.figures == 0)
    cli_message(o->who, "there is nothing to draw yet");
  grid_drawing_free(&drawing);
  grid_results_free(&r);
  return EXIT_DONE;
}
