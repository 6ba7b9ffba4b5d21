/* SPDX-License-Identifier: MIT */
/* vlanes.h: the functions of vmath.h over several whole vectors at once, operation by operation.
 *
 * One vector at a time waits for the result of each multiply-add; four that take turns keep the units busy. So every
 * function here handles `ways` vectors, a literal constant, and each line is one operation on all of them. Besides the
 * functions of vmath.h there is a pair for small decays, which needs no exponent and shorter polynomials.
 */
#ifndef SPARC_KERNELS_VLANES_H
#define SPARC_KERNELS_VLANES_H

#include "kernels/lanes.h"
#include "kernels/scan.h"

enum { WAYS = 4 };

typedef uint32_t lane_bits __attribute__((vector_size(4 * LANES)));

/* NOLINTNEXTLINE(bugprone-macro-parentheses): k is a name */
#define EACH_WAY(k) _Pragma("GCC unroll 4") for (size_t k = 0; (k) < ways; (k)++)

/* (2^f - 1) / f for |f| <= 1 / 2, see exp2m1_of */
VMATH void exp2_slope_lanes(size_t ways, const lanes *f, lanes *p) {
  EACH_WAY(k) p[k] = EXP2M1[5] * f[k] + EXP2M1[4];
  EACH_WAY(k) p[k] = p[k] * f[k] + EXP2M1[3];
  EACH_WAY(k) p[k] = p[k] * f[k] + EXP2M1[2];
  EACH_WAY(k) p[k] = p[k] * f[k] + EXP2M1[1];
  EACH_WAY(k) p[k] = p[k] * f[k] + EXP2M1[0];
}

/* decay_of: rho = 2^x and one_minus = 1 - 2^x; x from -126 to 0, the caller sees to that */
VMATH void decay_lanes(size_t ways, const lanes *x, lanes *rho, lanes *one_minus) {
  const float magic = 0x1.8p23f + 127;
  lanes shifted[WAYS], f[WAYS], scale[WAYS], p[WAYS];
  EACH_WAY(k) shifted[k] = x[k] + magic;
  EACH_WAY(k) f[k] = shifted[k] - magic;
  EACH_WAY(k) f[k] = x[k] - f[k];
  EACH_WAY(k) scale[k] = (lanes)((lane_bits)shifted[k] << 23);
  exp2_slope_lanes(ways, f, p);
  EACH_WAY(k) p[k] = p[k] * f[k];
  EACH_WAY(k) one_minus[k] = (1 - scale[k]) - scale[k] * p[k];
  EACH_WAY(k) rho[k] = scale[k] * p[k] + scale[k];
}

/* turn_of: cos x and sin x for |x| <= pi / 2 */
VMATH void turn_lanes(size_t ways, const lanes *x, lanes *re, lanes *im) {
  lanes y[WAYS], s[WAYS], c[WAYS];
  EACH_WAY(k) y[k] = x[k] * x[k];
  EACH_WAY(k) s[k] = SINE[3] * y[k] + SINE[2];
  EACH_WAY(k) c[k] = COSINE[4] * y[k] + COSINE[3];
  EACH_WAY(k) s[k] = s[k] * y[k] + SINE[1];
  EACH_WAY(k) c[k] = c[k] * y[k] + COSINE[2];
  EACH_WAY(k) s[k] = s[k] * y[k] + SINE[0];
  EACH_WAY(k) c[k] = c[k] * y[k] + COSINE[1];
  EACH_WAY(k) s[k] = s[k] * y[k];
  EACH_WAY(k) c[k] = c[k] * y[k] + COSINE[0];
  EACH_WAY(k) im[k] = s[k] * x[k] + x[k];
  EACH_WAY(k) re[k] = c[k] * y[k] + 1;
}

/* wide_turn_of: cos x and sin x for |x| <= WIDE_TURN_MAX */
VMATH void wide_turn_lanes(size_t ways, const lanes *x, lanes *re, lanes *im) {
  const float magic = 0x1.8p23f;
  lanes shifted[WAYS], n[WAYS], rest[WAYS];
  EACH_WAY(k) shifted[k] = x[k] * INVERSE_PI + magic;
  EACH_WAY(k) n[k] = shifted[k] - magic;
  EACH_WAY(k) rest[k] = x[k] - n[k] * PI_PARTS[0];
  EACH_WAY(k) rest[k] = rest[k] - n[k] * PI_PARTS[1];
  EACH_WAY(k) rest[k] = rest[k] - n[k] * PI_PARTS[2];
  turn_lanes(ways, rest, re, im);
  EACH_WAY(k) re[k] = (lanes)((lane_bits)re[k] ^ ((lane_bits)shifted[k] << 31));
  EACH_WAY(k) im[k] = (lanes)((lane_bits)im[k] ^ ((lane_bits)shifted[k] << 31));
}

/* 2^x + plus; x from -126 to 126, the caller sees to that */
VMATH void power_lanes(size_t ways, float plus, const lanes *x, lanes *out) {
  const float magic = 0x1.8p23f + 127;
  lanes shifted[WAYS], f[WAYS], scale[WAYS], p[WAYS];
  EACH_WAY(k) shifted[k] = x[k] + magic;
  EACH_WAY(k) f[k] = shifted[k] - magic;
  EACH_WAY(k) f[k] = x[k] - f[k];
  EACH_WAY(k) scale[k] = (lanes)((lane_bits)shifted[k] << 23);
  exp2_slope_lanes(ways, f, p);
  EACH_WAY(k) p[k] = p[k] * f[k] + 1;
  EACH_WAY(k) out[k] = scale[k] * p[k] + plus;
}

/* tanh z = sign(z) (1 - E) / (1 + E) with E = exp(-2 |z|), as tanh_fraction */
VMATH void tanh_lanes(size_t ways, const lanes *z, lanes *over, lanes *under) {
  const float magic = 0x1.8p23f + 127, rate = 2.8853900817779268f;
  const lanes lowest = every_lane(-40); /* where E is long lost beside 1 */
  const uint32_t sign = UINT32_C(1) << 31;
  lanes x[WAYS], shifted[WAYS], f[WAYS], scale[WAYS], p[WAYS];
  EACH_WAY(k) x[k] = (lanes)((lane_bits)z[k] | sign);
  EACH_WAY(k) x[k] = max_lanes(lowest, x[k]);
  EACH_WAY(k) shifted[k] = x[k] * rate + magic;
  EACH_WAY(k) f[k] = shifted[k] - magic;
  EACH_WAY(k) f[k] = x[k] * rate - f[k];
  EACH_WAY(k) scale[k] = (lanes)((lane_bits)shifted[k] << 23);
  exp2_slope_lanes(ways, f, p);
  EACH_WAY(k) p[k] = p[k] * f[k];
  EACH_WAY(k) over[k] = 1 - scale[k];
  EACH_WAY(k) under[k] = 1 + scale[k];
  EACH_WAY(k) over[k] = over[k] - scale[k] * p[k];
  EACH_WAY(k) under[k] = under[k] + scale[k] * p[k];
  EACH_WAY(k) over[k] = (lanes)((lane_bits)over[k] | ((lane_bits)z[k] & sign));
}

/* ---- small decays -------------------------------------------------------------------------------- */

/* the largest turn that goes with SMALL_DECAY: (1 - 1 / sqrt 2) pi / 2, rounded up */
#define SMALL_TURN 0.46008f

/* minimax fits, lowest power first: (1 - exp(-e) - e) / e^2 up to SMALL_DECAY, relative to 1 - exp(-e); (sin x - x) /
 * x^3 and (cos x - 1) / x^2 in x^2 up to SMALL_TURN */
static const float SMALL_EXP[] = {-.4999987125992958f, .16663089649001794f, -.04135450981891361f, .007241846471825126f};
static const float SMALL_SINE[] = {-.1666628261161205f, .008274890562753408f};
static const float SMALL_COSINE[] = {-.4999999570390583f, .04166543438441881f, -.0013788359834655953f};

/* sqrt((1 - exp(-2 e)) / e) and e / (exp(2 e) - 1) up to SMALL_DECAY, relative */
static const float SMALL_NORM[] = {1.4142135323940715f, -.7071025401568437f, .2945306927594788f, -.08760124437487837f,
                                   .01674614491381864f};
static const float SMALL_PSI[] = {.5000000126856953f, -.5000015963078983f, .16669916792640797f, -.00022386663643559564f,
                                  -.01057330327708159f};

/* rho = exp(-e) and 1 - exp(-e) for e from 0 to SMALL_DECAY */
VMATH void small_decay_lanes(size_t ways, const lanes *e, lanes *rho, lanes *one_minus) {
  lanes p[WAYS];
  EACH_WAY(k) p[k] = SMALL_EXP[3] * e[k] + SMALL_EXP[2];
  EACH_WAY(k) p[k] = p[k] * e[k] + SMALL_EXP[1];
  EACH_WAY(k) p[k] = p[k] * e[k] + SMALL_EXP[0];
  EACH_WAY(k) p[k] = p[k] * e[k];
  EACH_WAY(k) one_minus[k] = p[k] * e[k] + e[k];
  EACH_WAY(k) rho[k] = 1 - one_minus[k];
}

/* cos x and sin x for |x| <= SMALL_TURN */
VMATH void small_turn_lanes(size_t ways, const lanes *x, lanes *re, lanes *im) {
  lanes y[WAYS], s[WAYS], c[WAYS];
  EACH_WAY(k) y[k] = x[k] * x[k];
  EACH_WAY(k) s[k] = SMALL_SINE[1] * y[k] + SMALL_SINE[0];
  EACH_WAY(k) c[k] = SMALL_COSINE[2] * y[k] + SMALL_COSINE[1];
  EACH_WAY(k) s[k] = s[k] * y[k];
  EACH_WAY(k) c[k] = c[k] * y[k] + SMALL_COSINE[0];
  EACH_WAY(k) im[k] = s[k] * x[k] + x[k];
  EACH_WAY(k) re[k] = c[k] * y[k] + 1;
}

VMATH void small_polynomial_lanes(size_t ways, const float c[5], const lanes *e, lanes *out) {
  EACH_WAY(k) out[k] = c[4] * e[k] + c[3];
  EACH_WAY(k) out[k] = out[k] * e[k] + c[2];
  EACH_WAY(k) out[k] = out[k] * e[k] + c[1];
  EACH_WAY(k) out[k] = out[k] * e[k] + c[0];
}

#endif
