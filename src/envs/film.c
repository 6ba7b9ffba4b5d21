/* SPDX-License-Identifier: MIT */
/* film.c: the filmstrip and the table of an episode.
 *
 * The strip is a row of panels of equal scale. The camera of a panel follows the first part, the trunk of a robot;
 * marks on the ground are metres in world coordinates, which show the distance covered. Parts are lines with round ends
 * and a dark rim, each with a different colour, so that front and hind legs can be distinguished.
 */
#include "envs/film.h"

#include "base/c_locale.h"
#include "base/error.h"
#include "envs/envs.h"
#include "io/atomic_file.h"
#include "io/xml.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SEGMENTS = 32, PANELS = 8 };

/* ---- keeping ----------------------------------------------------------------------------------- */

typedef struct frame {
  int count;
  double segment[SEGMENTS][5]; /* x0, z0, x1, z1, radius */
} frame;

struct film {
  const char *name; /* of the kind */
  int observation, action;
  size_t steps, capacity;
  frame *frames;  /* capacity */
  float *numbers; /* capacity, reward action observation */
};

static size_t row_size(const film *f) { return (size_t)(1 + f->action + f->observation); }
static const float *row_of(const film *f, size_t step) { return f->numbers + step * row_size(f); }

sparc_status film_create(const sparc_envs *envs, film **out) {
  const sparc_env_shape shape = sparc_envs_info_of(envs).shape;
  film *f = calloc(1, sizeof *f);
  if (!f) return fail(SPARC_NO_MEMORY, "no memory for a film");
  *f = (film){.name = sparc_envs_info_of(envs).kind->name, .observation = shape.observation, .action = shape.action};
  *out = f;
  return SPARC_OK;
}

void film_free(film *f) {
  if (!f) return;
  free(f->frames);
  free(f->numbers);
  free(f);
}

static sparc_status grow(film *f) {
  if (f->steps < f->capacity) return SPARC_OK;
  const size_t capacity = f->capacity ? 2 * f->capacity : 256;
  frame *frames = realloc(f->frames, capacity * sizeof *frames);
  if (frames) f->frames = frames;
  float *numbers = realloc(f->numbers, capacity * row_size(f) * sizeof *numbers);
  if (numbers) f->numbers = numbers;
  if (!frames || !numbers) return fail(SPARC_NO_MEMORY, "no memory for %zu steps of a film", capacity);
  f->capacity = capacity;
  return SPARC_OK;
}

sparc_status film_begin_step(film *f, sparc_envs *envs, int i, const float *observation) {
  const sparc_status status = grow(f);
  if (status != SPARC_OK) return status;
  frame *l = &f->frames[f->steps];
  l->count = envs_segments(envs, i, l->segment, SEGMENTS);
  float *row = f->numbers + f->steps * row_size(f);
  memcpy(row + 1 + f->action, observation, (size_t)f->observation * sizeof *row);
  return SPARC_OK;
}

void film_end_step(film *f, const float *action, float reward) {
  float *row = f->numbers + f->steps++ * row_size(f);
  row[0] = reward;
  memcpy(row + 1, action, (size_t)f->action * sizeof *row);
}

/* the middle of the first part */
static double centre_x(const frame *l) { return (l->segment[0][0] + l->segment[0][2]) / 2; }
static double centre_z(const frame *l) { return (l->segment[0][1] + l->segment[0][3]) / 2; }

/* the sum of the rewards of the first `steps` steps */
static double return_at(const film *f, size_t steps) {
  double sum = 0;
  for (size_t i = 0; i < steps; i++) sum += row_of(f, i)[0];
  return sum;
}

/* ---- the picture ------------------------------------------------------------------------------- */

/* pixels; nearer to the edge of a panel than EDGE a mark has no number */
enum { PANEL_WIDTH = 168, PANEL_MAX_HEIGHT = 260, GAP = 8, TITLE = 34, GROUND = 22, CAPTION = 20, EDGE = 10 };

/* the part of the world in a panel */
typedef struct view {
  double half, top; /* metres left and right of the camera, and above the ground */
  double scale;     /* pixels per metre */
  double height;    /* pixels above the ground */
} view;

static size_t panel_count(const film *f) { return f->steps < PANELS ? f->steps : PANELS; }
static size_t panel_step(const film *f, size_t panel) {
  const size_t panels = panel_count(f);
  return panels < 2 ? 0 : (panel * (f->steps - 1) + (panels - 1) / 2) / (panels - 1);
}

/* one window for all panels that contains every part */
static view fit(const film *f) {
  view v = {.half = 0.1, .top = 0.1};
  for (size_t p = 0; p < panel_count(f); p++) {
    const frame *l = &f->frames[panel_step(f, p)];
    for (int i = 0; i < l->count; i++) {
      const double *s = l->segment[i], x = centre_x(l);
      v.half = fmax(v.half, fmax(fabs(s[0] - x), fabs(s[2] - x)) + s[4]);
      v.top = fmax(v.top, fmax(s[1], s[3]) + s[4]);
    }
  }
  v.half *= 1.1, v.top *= 1.1;
  v.scale = fmin(PANEL_WIDTH / (2 * v.half), PANEL_MAX_HEIGHT / v.top);
  v.height = v.scale * v.top;
  return v;
}

/* colours along the body, from the trunk to the last foot */
static void put_colour(FILE *out, double place) {
  static const double stops[][3] = {{52, 84, 104}, {42, 157, 143}, {233, 196, 106}, {244, 162, 97}, {231, 111, 81}};
  enum { LAST = sizeof stops / sizeof *stops - 1 };
  const double at = place * LAST;
  const int k = at < LAST ? (int)at : LAST - 1;
  int rgb[3];
  for (int i = 0; i < 3; i++) rgb[i] = (int)lround(stops[k][i] + (at - k) * (stops[k + 1][i] - stops[k][i]));
  fprintf(out, "#%02x%02x%02x", (unsigned)rgb[0], (unsigned)rgb[1], (unsigned)rgb[2]);
}

/* A part: a wide dark line under a narrower coloured one. A ball is a line of nearly zero length, because some viewers
 * skip lines of zero length. */
static void put_segment(FILE *out, const view *v, double camera, const double *s, double place) {
  const double x0 = PANEL_WIDTH / 2.0 + (s[0] - camera) * v->scale, x1 = PANEL_WIDTH / 2.0 + (s[2] - camera) * v->scale;
  const double y0 = v->height - s[1] * v->scale, y1 = v->height - s[3] * v->scale, width = 2 * s[4] * v->scale;
  const char *line = "<path d=\"M%.2f %.2fL%.2f %.2f\" stroke-width=\"%.2f\" stroke=\"";
  fprintf(out, line, x0, y0, x1 + 0.01, y1, width);
  fputs("#22303a\"/>", out);
  fprintf(out, line, x0, y0, x1 + 0.01, y1, fmax(width - 2, 0.5));
  put_colour(out, place);
  fputs("\"/>\n", out);
}

/* the ground, with a mark every half metre, or every metre where the view is wide */
static void put_ground(FILE *out, const view *v, double camera) {
  const double every = v->half > 2 ? 1 : 0.5, reach = PANEL_WIDTH / (2 * v->scale);
  fprintf(out, "<rect y=\"%.2f\" width=\"%d\" height=\"%d\" fill=\"#e6e1d8\"/>", v->height, PANEL_WIDTH, GROUND);
  fprintf(out, "<path d=\"M0 %.2fH%d\" stroke=\"#6b6459\" stroke-width=\"1.5\"/>\n", v->height, PANEL_WIDTH);
  const double first = ceil((camera - reach) / every) * every;
  for (int k = 0; first + k * every <= camera + reach; k++) {
    const double x = PANEL_WIDTH / 2.0 + (first + k * every - camera) * v->scale;
    fprintf(out, "<path d=\"M%.2f %.2fv5\" stroke=\"#6b6459\"/>", x, v->height);
    if (x > EDGE && x < PANEL_WIDTH - EDGE)
      fprintf(out, "<text class=\"m\" x=\"%.2f\" y=\"%.2f\">%g</text>\n", x, v->height + 15, first + k * every);
  }
}

static void put_panel(FILE *out, const film *f, const view *v, size_t panel) {
  const size_t step = panel_step(f, panel);
  const frame *l = &f->frames[step];
  const double left = GAP + (double)panel * (PANEL_WIDTH + GAP), camera = centre_x(l), high = v->height + GROUND;
  /* an svg inside an svg cuts off what is outside of it */
  fprintf(out, "<svg x=\"%.0f\" y=\"%d\" width=\"%d\" height=\"%.2f\">\n", left, TITLE, PANEL_WIDTH, high);
  fprintf(out, "<rect width=\"%d\" height=\"%.2f\" fill=\"#f3f6f8\"/>\n", PANEL_WIDTH, v->height);
  put_ground(out, v, camera);
  for (int i = 0; i < l->count; i++)
    put_segment(out, v, camera, l->segment[i], l->count < 2 ? 0 : i / (l->count - 1.0));
  fprintf(out, "</svg>\n<text x=\"%.0f\" y=\"%.2f\">step %zu, return %.4g</text>\n", left, TITLE + high + 14, step,
          return_at(f, step));
}

static void put_strip(FILE *out, const film *f, const char *title) {
  const view v = fit(f);
  const int width = GAP + (int)panel_count(f) * (PANEL_WIDTH + GAP);
  const int height = TITLE + (int)ceil(v.height) + GROUND + CAPTION;
  fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n", width,
          height, width, height);
  fputs(
      "<style>text{font:11px sans-serif;fill:#22303a}.t{font-size:15px;font-weight:600}"
      ".m{font-size:9px;text-anchor:middle;fill:#6b6459}path{stroke-linecap:round}</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
      out);
  fprintf(out, "<text class=\"t\" x=\"%d\" y=\"22\">", GAP);
  xml_put(out, title);
  fputs("</text>\n", out);
  for (size_t p = 0; p < panel_count(f); p++) put_panel(out, f, &v, p);
  fputs("</svg>\n", out);
}

/* ---- the table --------------------------------------------------------------------------------- */

static void put_table(FILE *out, const film *f, const char *title) {
  (void)title;
  const bool drawn = f->steps > 0 && f->frames[0].count > 0;
  fprintf(out, "step,reward,return%s", drawn ? ",x,z" : "");
  for (int i = 0; i < f->action; i++) fprintf(out, ",action%d", i);
  for (int i = 0; i < f->observation; i++) fprintf(out, ",observation%d", i);
  putc('\n', out);
  double sum = 0;
  for (size_t step = 0; step < f->steps; step++) {
    const float *row = row_of(f, step);
    sum += row[0];
    fprintf(out, "%zu,%.9g,%.9g", step, row[0], sum);
    if (drawn) fprintf(out, ",%.9g,%.9g", centre_x(&f->frames[step]), centre_z(&f->frames[step]));
    for (size_t i = 1; i < row_size(f); i++) fprintf(out, ",%.9g", row[i]);
    putc('\n', out);
  }
}

/* ---- files ------------------------------------------------------------------------------------- */

static sparc_status write_file(const film *f, const char *path, const char *title,
                               void (*put)(FILE *out, const film *f, const char *title)) {
  atomic_file file;
  const sparc_status status = atomic_file_begin(&file, path);
  if (status != SPARC_OK) return status;
  const locale_guard guard = enter_c_locale();
  put(file.stream, f, title);
  leave_c_locale(guard);
  return atomic_file_commit(&file);
}

sparc_status film_write_svg(const film *f, const char *path, const char *title) {
  if (f->steps == 0 || f->frames[0].count == 0) return fail(SPARC_UNSUPPORTED, "%s has no side view to draw", f->name);
  return write_file(f, path, title, put_strip);
}

sparc_status film_write_csv(const film *f, const char *path) { return write_file(f, path, NULL, put_table); }
