/* SPDX-License-Identifier: MIT */
/* statistics.c: one function for each statistic. Sums over steps and modes share one loop: a statistic is a quotient of
 * two sums, or a mean over modes of a standard deviation over time. */
#include "lab/diagnose/statistics.h"

#include "base/moments.h"

#include <math.h>
#include <stdbool.h>

/* ---- one mode at one step ------------------------------------------------------------------------ */

static const double DEGREES = 57.295779513082320877, SATURATED = 0.95;

/* |.|^2; a real cell has no imaginary part */
static double energy(double re, double im) { return re * re + (isnan(im) ? 0 : im * im); }

static double one(const sparc_mode *m) {
  (void)m;
  return 1;
}

/* the factor in front of the content [eq:implementation_write], and the energy of the write */
static double amplitude(const sparc_mode *m) { return m->gain * m->norm * m->gate; }
static double write_energy(const sparc_mode *m) { return amplitude(m) * amplitude(m) * energy(m->u_re, m->u_im); }

static double neutral_write(const sparc_mode *m) {
  return m->gain * m->norm * m->gain * m->norm * energy(m->u_re, m->u_im);
}
static double linear_write(const sparc_mode *m) { return amplitude(m) * amplitude(m) * energy(m->z_re, m->z_im); }
static double unscaled_write(const sparc_mode *m) {
  return m->gain * m->gate * m->gain * m->gate * energy(m->u_re, m->u_im);
}

static double slope(double z, double u) { return z == u ? 1 : 1 - u * u; } /* of tanh, or of the identity */

/* a real and, of complex cells, an imaginary coordinate */
static double coordinates(const sparc_mode *m) { return isnan(m->h_im) ? 1 : 2; }
static double saturated_contents(const sparc_mode *m) {
  return (fabs(m->u_re) > SATURATED) + (isnan(m->h_im) ? 0 : fabs(m->u_im) > SATURATED);
}
static double magnitudes(const sparc_mode *m) { return fabs(m->z_re) + (isnan(m->h_im) ? 0 : fabs(m->z_im)); }
static double slopes(const sparc_mode *m) {
  return slope(m->z_re, m->u_re) + (isnan(m->h_im) ? 0 : slope(m->z_im, m->u_im));
}

static double gain(const sparc_mode *m) { return m->gain; }
static double norm(const sparc_mode *m) { return m->norm; }
static double gate(const sparc_mode *m) { return m->gate; }
static double gain_product(const sparc_mode *m) { return m->gain * m->norm; }
static double decay_scale(const sparc_mode *m) { return m->e / m->nu; }

static double kept_energy(const sparc_mode *m) { return energy(m->kept_re, m->kept_im); }
static double survived(const sparc_mode *m) { return m->rho * m->rho * kept_energy(m); }
static double survived_unchanged(const sparc_mode *m) { return exp(-2 * m->nu) * kept_energy(m); }
static double state_energy(const sparc_mode *m) { return energy(m->h_re, m->h_im); }

static double turn(const sparc_mode *m) { return fabs(m->offset) * DEGREES; }
static double uncoupled_turn(const sparc_mode *m) { return fabs(m->uncoupled) * DEGREES; }

/* ---- a fragment ---------------------------------------------------------------------------------- */

typedef double mode_function(const sparc_mode *m);

static double sum_of(const fragment *f, mode_function *of) {
  double sum = 0;
  for (size_t i = 0; i < (size_t)f->T * (size_t)f->H; i++) sum += of(&f->mode[i]);
  return sum;
}

static double quotient(const fragment *f, mode_function *above, mode_function *below) {
  const double divisor = sum_of(f, below);
  return divisor > 0 ? sum_of(f, above) / divisor : NAN;
}

/* one mode over time */
typedef struct course {
  const fragment *f;
  mode_function *of;
  int j;
} course;

static double course_at(const void *values, size_t t) {
  const course *c = values;
  return c->of(&c->f->mode[t * (size_t)c->f->H + (size_t)c->j]);
}

static double stddev_over_time(const fragment *f, mode_function *of) {
  double sum = 0;
  for (int j = 0; j < f->H; j++) sum += sqrt(batch_moments_of((size_t)f->T, course_at, &(course){f, of, j}).variance);
  return sum / f->H;
}

/* ---- the table ----------------------------------------------------------------------------------- */

const statistic statistic_table[STATISTICS] = {
    [GATE_DEVIATION] = {"gate_deviation", "Gate SD", 1, 4},
    [SATURATION] = {"saturation", "Saturation (%)", 100, 2},
    [GATE_RATIO] = {"gate_ratio", "Gate ratio", 1, 3},
    [CONTENT_RATIO] = {"content_ratio", "Content (%)", 100, 2},
    [NORM_RATIO] = {"norm_ratio", "Norm. (%)", 100, 2},
    [INPUT_MAGNITUDE] = {"input_magnitude", "Input |z|", 1, 3},
    [CONTENT_SLOPE] = {"content_slope", "Slope", 1, 3},
    [GAIN] = {"gain", "Ref. gain", 1, 3},
    [GAIN_RATIO] = {"gain_ratio", "Gain ratio", 1, 3},
    [GAIN_RATIO_DEVIATION] = {"gain_ratio_deviation", "Ratio SD", 1, 4},
    [GAIN_PRODUCT] = {"gain_product", "Product", 1, 3},
    [DECAY_SCALE] = {"decay_scale", "Decay scale", 1, 3},
    [SURVIVAL] = {"survival", "Surv. (%)", 100, 2},
    [RELATIVE_SURVIVAL] = {"relative_survival", "Rel. surv.", 1, 3},
    [PHASE_DEGREES] = {"phase_degrees", "Phase (deg)", 1, 3},
    [CLOCK_RATIO] = {"clock_ratio", "Clock (%)", 100, 2},
    [STATE_RMS] = {"state_rms", "State RMS", 1, 3},
};

/* a ratio of sums or, with `deviates`, a standard deviation over time */
static const struct {
  mode_function *above, *below, *deviates;
} definitions[STATISTICS] = {
    [GATE_DEVIATION] = {.deviates = gate},
    [SATURATION] = {saturated_contents, coordinates, NULL},
    [GATE_RATIO] = {write_energy, neutral_write, NULL},
    [CONTENT_RATIO] = {write_energy, linear_write, NULL},
    [NORM_RATIO] = {write_energy, unscaled_write, NULL},
    [INPUT_MAGNITUDE] = {magnitudes, coordinates, NULL},
    [CONTENT_SLOPE] = {slopes, coordinates, NULL},
    [GAIN] = {gain, one, NULL},
    [GAIN_RATIO] = {norm, one, NULL},
    [GAIN_RATIO_DEVIATION] = {.deviates = norm},
    [GAIN_PRODUCT] = {gain_product, one, NULL},
    [DECAY_SCALE] = {decay_scale, one, NULL},
    [SURVIVAL] = {survived, kept_energy, NULL},
    [RELATIVE_SURVIVAL] = {survived, survived_unchanged, NULL},
    [PHASE_DEGREES] = {turn, one, NULL},
    [CLOCK_RATIO] = {turn, uncoupled_turn, NULL},
    [STATE_RMS] = {state_energy, coordinates, NULL},
};

/* whether some content differs from its input, so that there is an activation which can saturate */
static bool has_activation(const fragment *f) {
  for (size_t i = 0; i < (size_t)f->T * (size_t)f->H; i++) {
    const sparc_mode *m = &f->mode[i];
    if (m->z_re < m->u_re || m->z_re > m->u_re || m->z_im < m->u_im || m->z_im > m->u_im) return true;
  }
  return false;
}

double fragment_statistic(const fragment *f, statistic_id id) {
  if (id == SATURATION && !has_activation(f)) return NAN;
  if (definitions[id].deviates) return stddev_over_time(f, definitions[id].deviates);
  const double value = quotient(f, definitions[id].above, definitions[id].below);
  return id == STATE_RMS ? sqrt(value) : value;
}
