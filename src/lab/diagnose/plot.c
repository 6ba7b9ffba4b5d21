/* SPDX-License-Identifier: MIT */
/* plot.c: writing a figure's files. A script has a single plot command, so that `replot` can draw it a second time as
 * PNG, and refers to its data by headings, so that it can be read, changed and run again by hand. */
#include "lab/diagnose/plot.h"

#include "base/c_locale.h"
#include "base/error.h"
#include "io/atomic_file.h"
#include "lab/gnuplot.h"

#include <limits.h>

const char *plot_colour(int i) {
  static const char *const colours[] = {"#B03060", "#3050A0", "#2F6F4F", "#B06A10", "#6A3D9A", "#1B7F8C"};
  return colours[(size_t)i % (sizeof colours / sizeof *colours)];
}

static void put_script(FILE *f, const plot *p) {
  const gnuplot_canvas canvas = {.name = p->name, .width = p->width, .height = p->height, .points = 13};
  gnuplot_begin(f, "sparc diagnose", p->name);
  gnuplot_terminal(f, "svg", &canvas);
  fprintf(f, "data = %s\n", gnuplot_file(p->name, ".csv").text);
  p->script(f, p->context);
  fprintf(f, "if (strstrt(GPVAL_TERMINALS, 'pngcairo')) {\n");
  gnuplot_terminal(f, "pngcairo", &canvas);
  fprintf(f, "replot\n}\n");
}

static void put_data(FILE *f, const plot *p) { p->data(f, p->context); }

static sparc_status write_file(const plot *p, const char *folder, const char *extension,
                               void (*body)(FILE *, const plot *)) {
  char path[PATH_MAX];
  if (snprintf(path, sizeof path, "%s/%s%s", folder, p->name, extension) >= (int)sizeof path)
    return fail(SPARC_INVALID, "the name of folder '%.200s' is too long", folder);
  atomic_file file;
  const sparc_status status = atomic_file_begin(&file, path);
  if (status != SPARC_OK) return status;
  body(file.stream, p);
  return atomic_file_commit(&file);
}

sparc_status plot_draw(const plot *p, const char *folder, bool *drawn) {
  char *svg = NULL;
  const locale_guard guard = enter_c_locale();
  sparc_status status = write_file(p, folder, ".csv", put_data);
  if (status == SPARC_OK) status = write_file(p, folder, ".gp", put_script);
  leave_c_locale(guard);
  *drawn = false;
  if (status != SPARC_OK) return status;
  status = gnuplot_draw(folder, p->name, &svg);
  *drawn = status == SPARC_OK;
  sparc_free(svg);
  return status == SPARC_UNSUPPORTED ? SPARC_OK : status;
}
