/* SPDX-License-Identifier: MIT */
/* rls.h: recursive least squares with forgetting, in square-root information form.
 *
 * After rows x_1 .. x_t with targets g_1 .. g_t the weights minimise
 *
 *   sum_s lam^(t-s) (g_s - w.x_s)^2 + sum_k prec_k w_k^2
 *
 * The triangular R and z hold R'R = sum lam^(t-s) x x' + diag(prec) and R w = z. A row is rotated into R by Givens
 * rotations, so R'R is never formed and stays positive definite:
 *
 *   for i: a = sqrt(lam) R[i,i]; r = sqrt(a^2 + x[i]^2); c = a/r; s = x[i]/r; R[i,i] = r
 *          R[i,j], x[j] = c sqrt(lam) R[i,j] + s x[j], c x[j] - s sqrt(lam) R[i,j]    (j > i; z[i], g likewise)
 *
 * Forgetting would wear the ridge away (wind-up). Every RIDGE_EVERY updates one row sqrt(RIDGE_EVERY n (1 - lam)
 * prec_k) e_k with target 0 restores it, k in turn; without forgetting (lam = 1) the sum above holds exactly.
 */
#ifndef SPARC_ONLINE_RLS_H
#define SPARC_ONLINE_RLS_H

#include <stdbool.h>
#include <stddef.h>

enum { MAX_WEIGHTS = 128, RIDGE_EVERY = 8 };

typedef struct rls {
  int n;
  double forgetting;       /* lam */
  const double *precision; /* (n) */
  double *R;               /* (n, n) upper triangular */
  double *z, *w;           /* (n) */
  double *updates;
} rls;

size_t rls_numbers(int n); /* doubles of its state */
rls rls_over(double *state, int n, double forgetting, const double *precision);
void rls_reset(const rls *r);
double rls_predict(const rls *r, const double *x /* n */);
void rls_update(const rls *r, const double *x /* n */, double target);
bool rls_valid(const rls *r); /* whether a loaded state is valid */

#endif
