/* SPDX-License-Identifier: MIT */
/* plot.c: writes a figure's files. Scripts refer to columns by their headings, so that they can be edited and rerun by
 * hand. They draw SVG and PNG: a single plot by `replot`, a multiplot by a second copy of its commands, because gnuplot
 * cannot replot a multiplot. */
#include "lab/plot.h"

#include "base/c_locale.h"
#include "base/error.h"
#include "io/atomic_file.h"
#include "lab/gnuplot.h"

#include <limits.h>

enum { SVG_POINTS = 13, PNG_POINTS = 10 }; /* fonts of the same size in both */

const char *plot_colour(int i) {
  static const char *const colours[] = {"#B03060", "#3050A0", "#2F6F4F", "#B06A10", "#6A3D9A", "#1B7F8C"};
  return colours[(size_t)i % (sizeof colours / sizeof *colours)];
}

static sparc_status put_script(FILE *f, const plot *p) {
  gnuplot_canvas canvas = {
      .name = p->name, .width = p->width, .height = p->height, .points = SVG_POINTS, .enhanced = p->enhanced};
  gnuplot_begin(f, p->command, p->name);
  fprintf(f, "data = %s\n", gnuplot_file(p->name, ".csv").text);
  gnuplot_terminal(f, "svg", &canvas);
  p->script(f, p->context);
  canvas.points = PNG_POINTS;
  fprintf(f, "if (strstrt(GPVAL_TERMINALS, 'pngcairo') == 0) exit\n");
  gnuplot_terminal(f, "pngcairo", &canvas);
  if (p->panels)
    p->script(f, p->context);
  else
    fprintf(f, "replot\n");
  return SPARC_OK;
}

static sparc_status put_data(FILE *f, const plot *p) { return p->data(f, p->context); }

static sparc_status write_file(const plot *p, const char *folder, const char *extension,
                               sparc_status (*body)(FILE *, const plot *)) {
  char path[PATH_MAX];
  if (snprintf(path, sizeof path, "%s/%s%s", folder, p->name, extension) >= (int)sizeof path)
    return fail(SPARC_INVALID, "the name of folder '%.200s' is too long", folder);
  atomic_file file;
  sparc_status status = atomic_file_begin(&file, path);
  if (status != SPARC_OK) return status;
  status = body(file.stream, p);
  if (status == SPARC_OK) return atomic_file_commit(&file);
  atomic_file_abandon(&file);
  return status;
}

sparc_status plot_write(const plot *p, const char *folder) {
  const locale_guard guard = enter_c_locale();
  sparc_status status = write_file(p, folder, ".csv", put_data);
  if (status == SPARC_OK) status = write_file(p, folder, ".gp", put_script);
  leave_c_locale(guard);
  return status;
}

sparc_status plot_draw(const plot *p, const char *folder, bool *drawn) {
  char *svg = NULL;
  sparc_status status = plot_write(p, folder);
  *drawn = false;
  if (status != SPARC_OK) return status;
  status = gnuplot_draw(folder, p->name, &svg);
  *drawn = status == SPARC_OK;
  sparc_free(svg);
  return status == SPARC_UNSUPPORTED ? SPARC_OK : status;
}
