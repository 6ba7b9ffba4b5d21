/* SPDX-License-Identifier: MIT */
/* sparc_rules.h: what the SPARC cell and its kernels agree on: which parts of the cell are in place, the order of the
 * per-mode constants, and of the per-mode gradient sums. */
#ifndef SPARC_KERNELS_SPARC_RULES_H
#define SPARC_KERNELS_SPARC_RULES_H

#include <stdbool.h>

typedef enum control_kind { CONTROLS_SHARED, CONTROLS_PER_MODE, CONTROLS_ZERO } control_kind;
typedef enum clock_kind { CLOCK_LIVE, CLOCK_FULL, CLOCK_STATIC, CLOCK_OFF } clock_kind;

/* which parts of the cell a variant leaves in place [tab:component_ablation_definitions] */
typedef struct sparc_rules {
  control_kind controls;
  bool adaptive_decay; /* transition uses e = nu exp(kappa_r r), else nu */
  clock_kind clock;    /* the phase correction is scaled by 1 - rho, 1, 1 - exp(-nu), or removed */
  bool gate;           /* 2 sigma(s p + v r), else its neutral value 1 */
  bool adaptive_norm;  /* sqrt((1 - e^{-2e}) / (1 - e^{-2 nu})), else 1 */
  bool linear;         /* content activation is the identity */
} sparc_rules;

/* below this decay a rounded rotation could leave the unit circle; see DECAY_FLOOR in src/cells/sparc.c */
#define DECAY_FLOOR_F32 0x1p-21f

/* arrays of H constants in this order */
enum {
  K_NU,         /* baseline decay */
  K_COS,        /* cos theta */
  K_SIN,        /* sin theta */
  K_THETA,      /* baseline frequency */
  K_GAIN,       /* exp(beta) */
  K_GAIN_NORM,  /* exp(beta) / sqrt(1 - exp(-2 nu)) */
  K_PSI,        /* nu / (exp(2 nu) - 1) */
  K_RHO,        /* exp(-nu), with nu not below the decay floor */
  K_CLOCK,      /* 1 - exp(-nu) */
  K_CLOCK_RATE, /* nu exp(-nu), the derivative of K_CLOCK by log nu */
  K_GATE_P,     /* s */
  K_GATE_R,     /* v */
  K_COUNT
};

/* per-mode gradients that the adjoint accumulates */
enum { SUM_DECAY, SUM_FREQ, SUM_GAIN, SUM_GATE_P, SUM_GATE_R, SUM_COUNT };

/* RTRL slots: scalar ones, in the order of the sums and then the biases of the controllers; rows of D entries */
enum { SLOT_BIAS_R = SUM_COUNT, SLOT_BIAS_P, SCALAR_SLOTS };
enum { OUTER_RE, OUTER_IM, OUTER_R, OUTER_P, OUTER_SLOTS };

#endif
