/* SPDX-License-Identifier: MIT */
/* mamba3.c: Mamba-3 with single input and output per head, in double precision.
 *
 * Per head, with a matrix state S (P x N), the previous rotated key kc, the previous value vc and the angles phi:
 *   phi <- phi + pi dt tanh(om),  kr = Rot(phi) k,  qr = Rot(phi) q,
 *   al = exp(A dt),  be = (1 - lam) dt al,  ga = lam dt,
 *   S <- al S + be vc kc^T + ga v kr^T,   o = S qr + skip v,   out = Wo (o silu(z)).
 * k and q are RMS-normalised projections shared by the heads plus a bias per head; the first 2 N_a of their N
 * coordinates rotate in adjacent pairs. Everything carried is multiplied by m_t on entry.
 */
#include "cells/reference/reference_cell.h"

#include <string.h>

/* ---- sizes and places -------------------------------------------------------------------------- */

typedef struct sizes {
  int D, heads, P, N, angles;
  int z, v, B, C, dt, A, lam, om, rows; /* first row of each group of the input projection, and their number */
} sizes;

static sizes sizes_of(const sparc_cell *cell) {
  sizes n = {
      .D = cell->D,
      .heads = (int)cell_option(cell, "heads"),
      .P = (int)cell_option(cell, "head_dim"),
      .N = (int)cell_option(cell, "state"),
      .angles = (int)cell_option(cell, "angles"),
  };
  n.v = n.z + n.heads * n.P;
  n.B = n.v + n.heads * n.P;
  n.C = n.B + n.N;
  n.dt = n.C + n.N;
  n.A = n.dt + n.heads;
  n.lam = n.A + n.heads;
  n.om = n.lam + n.heads;
  n.rows = n.om + n.angles;
  return n;
}

static size_t state_count(const sizes *n) { return row_offset(n->heads, n->P * n->N + n->N + n->P + n->angles); }

/* what one head carries, inside a state or a cotangent of one */
typedef struct carried {
  double *S;   /* (P, N) */
  double *kc;  /* (N) */
  double *vc;  /* (P) */
  double *phi; /* (angles) */
} carried;

static carried head_of(const sizes *n, double *state, int head) {
  double *kc = state + row_offset(n->heads, n->P * n->N);
  double *vc = kc + row_offset(n->heads, n->N);
  double *phi = vc + row_offset(n->heads, n->P);
  return (carried){.S = state + row_offset(head, n->P * n->N),
                   .kc = kc + row_offset(head, n->N),
                   .vc = vc + row_offset(head, n->P),
                   .phi = phi + row_offset(head, n->angles)};
}

/* values of one step that more than one head or function needs */
typedef struct values {
  sizes n;
  double *kept;      /* (S) carried quantities times m_t */
  double *next;      /* (S) the state after the step */
  double *pre;       /* (rows) W x */
  double *key_hat;   /* (N) normalised and scaled B */
  double *query_hat; /* (N) normalised and scaled C */
  double *gated;     /* (heads, P) o silu(z) */
  double *k, *q;     /* (N) of one head, before the rotation */
  double *qr;        /* (heads, N) */
  /* cotangents */
  double *dnext;        /* (S) cotangent of `next` */
  double *dpre;         /* (rows) */
  double *dgated;       /* (heads, P) */
  double *dkey_hat;     /* (N) summed over heads */
  double *dquery_hat;   /* (N) */
  double *dkr, *dqr;    /* (N) of one head */
  double *dk, *dq, *dv; /* (N), (N), (P) of one head */
} values;

/* places every array in scratch and returns their total size; scratch == NULL only counts */
static size_t place_values(const sparc_cell *cell, double *scratch, values *out) {
  const sizes n = sizes_of(cell);
  size_t S = state_count(&n), rows = (size_t)n.rows, N = (size_t)n.N, P = (size_t)n.P, heads = (size_t)n.heads;
  const struct {
    double **place;
    size_t count;
  } table[] = {
      {&out->kept, S},     {&out->next, S},       {&out->pre, rows},
      {&out->key_hat, N},  {&out->query_hat, N},  {&out->gated, heads * P},
      {&out->k, N},        {&out->q, N},          {&out->qr, heads * N},
      {&out->dnext, S},    {&out->dpre, rows},    {&out->dgated, heads * P},
      {&out->dkey_hat, N}, {&out->dquery_hat, N}, {&out->dkr, N},
      {&out->dqr, N},      {&out->dk, N},         {&out->dq, N},
      {&out->dv, P},
  };
  out->n = n;
  size_t total = 0;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    *table[i].place = scratch ? scratch + total : NULL;
    total += table[i].count;
  }
  if (scratch) memset(scratch, 0, total * sizeof *scratch);
  return total;
}

static size_t scratch_count(const sparc_cell *cell) {
  values unused;
  return place_values(cell, NULL, &unused);
}

/* ---- pieces, each with its adjoint -------------------------------------------------------------- */

/* decay activations in the order of the choices of the option `decay`: value and slope */
typedef struct activation {
  double value, slope;
} activation;

static activation rational_decay(double y) {
  return y >= 0 ? (activation){1 + y, 1} : (activation){1 / (1 - y), 1 / (1 - y) / (1 - y)};
}

static activation softplus_decay(double y) { return (activation){softplus(y), sigmoid(y)}; }

static activation (*const decays[])(double y) = {rational_decay, softplus_decay};

/* A = -max(f(y), 1e-4), and its slope in y */
static activation decay_rate(const sparc_cell *cell, double y) {
  activation f = decays[(int)cell_option(cell, "decay")](y);
  return f.value > 1e-4 ? (activation){-f.value, -f.slope} : (activation){-1e-4, 0};
}

/* scalars of one head */
typedef struct coefficients {
  double dt, A, lam; /* step, negative decay rate, write mix */
  double al, be, ga; /* factors of S, of the previous write, of the current write */
  double dt_pre;     /* before softplus */
  double A_slope;    /* dA / d(its pre-activation) */
} coefficients;

static coefficients evaluate_coefficients(const reference_input *in, const values *v, int head) {
  coefficients c = {.dt_pre = v->pre[v->n.dt + head] + block_of(in->cell, in->params, "dt_bias")[head]};
  activation rate = decay_rate(in->cell, v->pre[v->n.A + head]);
  c.dt = softplus(c.dt_pre);
  c.A = rate.value;
  c.A_slope = rate.slope;
  c.lam = sigmoid(v->pre[v->n.lam + head]);
  c.al = exp(c.A * c.dt);
  c.be = (1 - c.lam) * c.dt * c.al;
  c.ga = c.lam * c.dt;
  return c;
}

static double rms_scale(const double *raw, int n) { return 1 / sqrt(dot(raw, raw, n) / n + 1e-5); }

static void normalise(const double *raw, const double *scale, int n, double *out) {
  double rs = rms_scale(raw, n);
  for (int i = 0; i < n; i++) out[i] = raw[i] * rs * scale[i];
}

static void normalise_backward(const double *raw, const double *scale, const double *dout, int n, double *dscale,
                               double *draw) {
  double rs = rms_scale(raw, n), mean = 0;
  for (int i = 0; i < n; i++) mean += dout[i] * scale[i] * raw[i] * rs / n;
  for (int i = 0; i < n; i++) {
    dscale[i] += dout[i] * raw[i] * rs;
    draw[i] += rs * (dout[i] * scale[i] - raw[i] * rs * mean);
  }
}

/* out = Rot(sign * phi) in; the adjoint of a rotation is the rotation back */
static void rotate(const sizes *n, const double *phi, double sign, const double *in, double *out) {
  memcpy(out, in, (size_t)n->N * sizeof *out);
  for (int a = 0; a < n->angles; a++) {
    double *pair = out + row_offset(a, 2);
    double complex turned = polar(1, sign * phi[a]) * cartesian(pair[0], pair[1]);
    pair[0] = creal(turned);
    pair[1] = cimag(turned);
  }
}

/* cotangent of angle a given a rotated vector and its cotangent */
static double angle_cotangent(const double *rotated, const double *drotated, int a) {
  const double *pair = rotated + row_offset(a, 2), *dpair = drotated + row_offset(a, 2);
  return pair[0] * dpair[1] - pair[1] * dpair[0];
}

/* ---- forward ------------------------------------------------------------------------------------ */

static void head_forward(const reference_input *in, values *v, int head) {
  const sizes *n = &v->n;
  const int P = n->P, N = n->N;
  coefficients c = evaluate_coefficients(in, v, head);
  carried kept = head_of(n, v->kept, head), next = head_of(n, v->next, head);
  const double *value = v->pre + n->v + row_offset(head, P), *z = v->pre + n->z + row_offset(head, P);
  const double skip = block_of(in->cell, in->params, "skip")[head];

  /* angles, wrapped to [0, 2 pi) */
  for (int a = 0; a < n->angles; a++) {
    double phi = kept.phi[a] + PI * c.dt * tanh(v->pre[n->om + a]);
    next.phi[a] = phi - 2 * PI * floor(phi / (2 * PI));
  }

  /* rotated key and query */
  for (int i = 0; i < N; i++) {
    v->k[i] = v->key_hat[i] + block_of(in->cell, in->params, "key_bias")[head * N + i];
    v->q[i] = v->query_hat[i] + block_of(in->cell, in->params, "query_bias")[head * N + i];
  }
  double *kr = next.kc, *qr = v->qr + row_offset(head, N);
  rotate(n, next.phi, 1, v->k, kr);
  rotate(n, next.phi, 1, v->q, qr);
  memcpy(next.vc, value, (size_t)P * sizeof *value);

  /* state, then output */
  for (int p = 0; p < P; p++) {
    for (int i = 0; i < N; i++)
      next.S[p * N + i] = c.al * kept.S[p * N + i] + c.be * kept.vc[p] * kept.kc[i] + c.ga * value[p] * kr[i];
    v->gated[head * P + p] = (dot(next.S + row_offset(p, N), qr, N) + skip * value[p]) * silu(z[p]);
  }
}

static values evaluate(const reference_input *in) {
  values v;
  place_values(in->cell, in->scratch, &v);
  const sizes *n = &v.n;
  size_t S = state_count(n);
  for (size_t i = 0; i < S; i++) v.kept[i] = in->mask * in->state[i];
  for (int row = 0; row < n->rows; row++) v.pre[row] = project(in, "input", row);
  normalise(v.pre + n->B, block_of(in->cell, in->params, "key_norm"), n->N, v.key_hat);
  normalise(v.pre + n->C, block_of(in->cell, in->params, "query_norm"), n->N, v.query_hat);
  for (int head = 0; head < n->heads; head++) head_forward(in, &v, head);
  return v;
}

static void step(const reference_input *in, double *state, double *y) {
  values v = evaluate(in);
  const int inner_width = v.n.heads * v.n.P;
  memcpy(state, v.next, state_count(&v.n) * sizeof *state);
  for (int i = 0; i < v.n.D; i++)
    y[i] = dot(block_of(in->cell, in->params, "output") + row_offset(i, inner_width), v.gated, inner_width);
}

/* ---- backward ----------------------------------------------------------------------------------- */

/* cotangents of al, be and ga to those of dt, A and lam */
static void coefficients_backward(const coefficients *c, double dal, double dbe, double dga, double *ddt, double *dA,
                                  double *dlam) {
  double dexponent = c->al * (dal + (1 - c->lam) * c->dt * dbe); /* of A dt */
  *ddt = c->lam * dga + (1 - c->lam) * c->al * dbe + c->A * dexponent;
  *dA = c->dt * dexponent;
  *dlam = c->dt * (dga - c->al * dbe);
}

/* S <- al S + be vc kc^T + ga v kr^T. G is the cotangent of the new S; dprev receives the one of everything carried,
 * not yet masked, and dcoefficient those of al, be and ga; dv and dkr are added to. */
static void write_backward(const sizes *n, const coefficients *c, const carried *kept, const double *value,
                           const double *kr, const double *G, const carried *dprev, double *dv, double *dkr,
                           double dcoefficient[3]) {
  memset(dprev->vc, 0, (size_t)n->P * sizeof(double));
  memset(dprev->kc, 0, (size_t)n->N * sizeof(double));
  for (int p = 0; p < n->P; p++) {
    for (int i = 0; i < n->N; i++) {
      double g = G[p * n->N + i];
      dcoefficient[0] += g * kept->S[p * n->N + i];
      dcoefficient[1] += g * kept->vc[p] * kept->kc[i];
      dcoefficient[2] += g * value[p] * kr[i];
      dprev->vc[p] += c->be * g * kept->kc[i];
      dprev->kc[i] += c->be * g * kept->vc[p];
      dv[p] += c->ga * g * kr[i];
      dkr[i] += c->ga * g * value[p];
      dprev->S[p * n->N + i] = c->al * g;
    }
  }
}

/* o = S qr + skip v and gated = o silu(z): adds to the cotangents of S, qr, v and skip, writes the one of z */
static void read_backward(const reference_input *in, const values *v, int head, const carried *next, double *G,
                          double *dqr, double *dv, double *dskip) {
  const sizes *n = &v->n;
  const int P = n->P, N = n->N;
  const double skip = block_of(in->cell, in->params, "skip")[head];
  const double *value = v->pre + n->v + row_offset(head, P), *z = v->pre + n->z + row_offset(head, P),
               *qr = v->qr + row_offset(head, N);
  for (int p = 0; p < P; p++) {
    double o = dot(next->S + row_offset(p, N), qr, N) + skip * value[p], dgated = v->dgated[head * P + p];
    double d = dgated * silu(z[p]); /* of o */
    v->dpre[n->z + head * P + p] = dgated * o * silu_derivative(z[p]);
    add_scaled(G + row_offset(p, N), d, qr, N);
    add_scaled(dqr, d, next->S + row_offset(p, N), N);
    dv[p] += skip * d;
    *dskip += value[p] * d;
  }
}

/* kr = Rot(phi) k, qr = Rot(phi) q and the advance of phi; dphi holds the cotangent from later steps on entry and
 * that of the kept angle on return. Returns the part of dt's cotangent. */
static double rotation_backward(const reference_input *in, values *v, int head, const carried *next, double dt,
                                double *dphi, double *dparams) {
  const sizes *n = &v->n;
  const int N = n->N;
  double ddt = 0;
  for (int a = 0; a < n->angles; a++) {
    double turn = tanh(v->pre[n->om + a]);
    dphi[a] += angle_cotangent(next->kc, v->dkr, a) + angle_cotangent(v->qr + row_offset(head, N), v->dqr, a);
    ddt += PI * turn * dphi[a];
    v->dpre[n->om + a] += PI * (1 - turn * turn) * dt * dphi[a];
  }
  rotate(n, next->phi, -1, v->dkr, v->dk);
  rotate(n, next->phi, -1, v->dqr, v->dq);
  add_scaled(gradient_of(in->cell, dparams, "key_bias") + row_offset(head, N), 1, v->dk, N);
  add_scaled(gradient_of(in->cell, dparams, "query_bias") + row_offset(head, N), 1, v->dq, N);
  add_scaled(v->dkey_hat, 1, v->dk, N);
  add_scaled(v->dquery_hat, 1, v->dq, N);
  return ddt;
}

static void head_backward(const reference_input *in, values *v, int head, double *dstate, double *dparams) {
  const sizes *n = &v->n;
  const int P = n->P, N = n->N;
  coefficients c = evaluate_coefficients(in, v, head);
  carried kept = head_of(n, v->kept, head), next = head_of(n, v->next, head);
  carried dnext = head_of(n, v->dnext, head), dprev = head_of(n, dstate, head);

  /* kr and v are carried on as kc and vc */
  memcpy(v->dkr, dnext.kc, (size_t)N * sizeof(double));
  memcpy(v->dv, dnext.vc, (size_t)P * sizeof(double));
  memset(v->dqr, 0, (size_t)N * sizeof(double));

  read_backward(in, v, head, &next, dnext.S, v->dqr, v->dv, gradient_of(in->cell, dparams, "skip") + head);
  double dcoefficient[3] = {0}, ddt, dA, dlam;
  write_backward(n, &c, &kept, v->pre + n->v + row_offset(head, P), next.kc, dnext.S, &dprev, v->dv, v->dkr,
                 dcoefficient);
  coefficients_backward(&c, dcoefficient[0], dcoefficient[1], dcoefficient[2], &ddt, &dA, &dlam);
  ddt += rotation_backward(in, v, head, &next, c.dt, dnext.phi, dparams);
  memcpy(dprev.phi, dnext.phi, (size_t)n->angles * sizeof(double));

  /* rows of the input projection that belong to this head */
  double ddt_pre = ddt * sigmoid(c.dt_pre);
  memcpy(v->dpre + n->v + row_offset(head, P), v->dv, (size_t)P * sizeof(double));
  v->dpre[n->dt + head] = ddt_pre;
  v->dpre[n->A + head] = dA * c.A_slope;
  v->dpre[n->lam + head] = dlam * c.lam * (1 - c.lam);
  gradient_of(in->cell, dparams, "dt_bias")[head] += ddt_pre;
}

static void step_backward(const reference_input *in, const double *dy, double *dstate, double *dparams, double *dx) {
  values v = evaluate(in);
  const sizes *n = &v.n;
  const int inner_width = n->heads * n->P;
  size_t S = state_count(n);
  memcpy(v.dnext, dstate, S * sizeof *dstate);

  /* output projection, then head by head */
  for (int i = 0; i < n->D; i++)
    dot_backward(dy[i], block_of(in->cell, in->params, "output") + row_offset(i, inner_width), v.gated, inner_width,
                 gradient_of(in->cell, dparams, "output") + row_offset(i, inner_width), v.dgated);
  for (int head = 0; head < n->heads; head++) head_backward(in, &v, head, dstate, dparams);
  for (size_t i = 0; i < S; i++) dstate[i] *= in->mask;

  /* shared normalised projections, then the input projection */
  normalise_backward(v.pre + n->B, block_of(in->cell, in->params, "key_norm"), v.dkey_hat, n->N,
                     gradient_of(in->cell, dparams, "key_norm"), v.dpre + n->B);
  normalise_backward(v.pre + n->C, block_of(in->cell, in->params, "query_norm"), v.dquery_hat, n->N,
                     gradient_of(in->cell, dparams, "query_norm"), v.dpre + n->C);
  for (int row = 0; row < n->rows; row++) project_backward(in, "input", row, v.dpre[row], dparams, dx);
}

/* ---- inspection ---------------------------------------------------------------------------------- */

static size_t modes_of(const sparc_cell *cell) {
  const sizes n = sizes_of(cell);
  return row_offset(n.heads, n.P * n.N);
}

/* the numbers of S, which a head scales together; the rotation is one of keys and queries */
static void inspect(const reference_input *in, const double *state, sparc_mode *modes) {
  const values v = evaluate(in);
  const int each = v.n.P * v.n.N;
  for (int i = 0; i < v.n.heads * each; i++) {
    modes[i] = real_mode(in, state, i);
    modes[i].rho = evaluate_coefficients(in, &v, i / each).al;
    modes[i].e = -log(modes[i].rho);
  }
}

const reference_cell reference_mamba3 = {"mamba3", scratch_count, step, step_backward, inspect, modes_of, NULL};
