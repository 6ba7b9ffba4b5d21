/* SPDX-License-Identifier: MIT */
/* transition_body.h: SPARC's transition, once, for the fused kernels (sparc_body.h) and for the scans that are given
 * their content (scan_body.h): lambda = rho exp(i [theta + clock phase]) [eq:sara_transition]. */
#ifndef SPARC_KERNELS_TRANSITION_BODY_H
#define SPARC_KERNELS_TRANSITION_BODY_H

#include "kernels/vlanes.h"

/* in which range the arguments lie; the narrower, the fewer operations */
typedef enum transition_range {
  RANGE_SMALL,   /* decays up to SMALL_DECAY, |phase| <= pi / 2 */
  RANGE_GENERAL, /* any decay that decay_lanes takes, |phase| <= pi / 2 */
  RANGE_WIDE     /* the same, and any phase that wide_turn_lanes takes */
} transition_range;

typedef struct transition_terms {
  lanes decay[WAYS];          /* e = nu exp(kappa_r r) for RANGE_SMALL, else -e / ln 2 */
  lanes cos[WAYS], sin[WAYS]; /* of theta */
  lanes phase[WAYS];          /* kappa_p p */
} transition_terms;

typedef struct transition {
  lanes rho[WAYS], clock[WAYS]; /* exp(-e), and the factor of the phase: 1 - exp(-e) for a live clock */
  lanes re[WAYS], im[WAYS];     /* lambda */
} transition;

VMATH void turns_of(transition_range range, size_t ways, const lanes *angle, lanes *cos, lanes *sin) {
  if (range == RANGE_SMALL)
    small_turn_lanes(ways, angle, cos, sin);
  else if (range == RANGE_GENERAL)
    turn_lanes(ways, angle, cos, sin);
  else
    wide_turn_lanes(ways, angle, cos, sin);
}

/* Without adaptive decays out->rho, and out->clock for a live clock, are the caller's; out->clock of a static clock is
 * the caller's in any case. All but the arrays are literal constants. */
VMATH void transition_of(transition_range range, bool adaptive_decay, clock_kind clock, size_t ways,
                         const transition_terms *in, transition *out) {
  lanes angle[WAYS], cos[WAYS], sin[WAYS], re[WAYS], im[WAYS], unused[WAYS];
  lanes *one_minus = clock == CLOCK_LIVE ? out->clock : unused;
  if (adaptive_decay && range == RANGE_SMALL)
    small_decay_lanes(ways, in->decay, out->rho, one_minus);
  else if (adaptive_decay)
    decay_lanes(ways, in->decay, out->rho, one_minus);
  if (clock == CLOCK_OFF) {
    EACH_WAY(k) out->clock[k] = every_lane(0);
    EACH_WAY(k) out->re[k] = out->rho[k] * in->cos[k];
    EACH_WAY(k) out->im[k] = out->rho[k] * in->sin[k];
    return;
  }
  if (clock == CLOCK_FULL) EACH_WAY(k) out->clock[k] = every_lane(1);
  EACH_WAY(k) angle[k] = out->clock[k] * in->phase[k];
  /* an angle is small when its clock is that of a small decay */
  const bool small = range == RANGE_SMALL && adaptive_decay && clock == CLOCK_LIVE;
  turns_of(small || range == RANGE_WIDE ? range : RANGE_GENERAL, ways, angle, cos, sin);
  /* late, because 16 registers do not hold them beside the polynomials */
  EACH_WAY(k) re[k] = out->rho[k] * in->cos[k];
  EACH_WAY(k) im[k] = out->rho[k] * in->sin[k];
  EACH_WAY(k) out->re[k] = im[k] * sin[k];
  EACH_WAY(k) out->im[k] = im[k] * cos[k];
  EACH_WAY(k) out->re[k] = re[k] * cos[k] - out->re[k];
  EACH_WAY(k) out->im[k] = re[k] * sin[k] + out->im[k];
}

#endif
