/* SPDX-License-Identifier: MIT */
/* random.c: Philox streams, draws and initialisers (interface and word counts in sparc/random.h).
 *
 * Every continuous draw is a monotone function of one uniform with a fixed number of words. That keeps
 * tell and seek exact without a cached second normal, lets element k of an array be computed from its
 * position alone, and uses the C library only for log and sqrt in the tails.
 */
#include "base/random.h"

#include "base/error.h"
#include "base/memory.h"

#include <Random123/philox.h>
#include <math.h>
#include <string.h>

/* ---- streams ---- */

static void load_block(sparc_random *r) {
  uint64_t block = r->position / 4;
  philox4x32_ctr_t counter = {{(uint32_t)block, (uint32_t)(block >> 32), r->stream[0], r->stream[1]}};
  philox4x32_key_t key = {{r->key[0], r->key[1]}};
  counter = philox4x32(counter, key);
  memcpy(r->words, counter.v, sizeof r->words);
}

static inline uint32_t next_word(sparc_random *r) {
  if (r->position % 4 == 0) load_block(r);
  return r->words[r->position++ % 4];
}

/* the permutation of the stream hash; its key is the first 64 fractional bits of pi */
static philox4x32_ctr_t permute(philox4x32_ctr_t state) {
  philox4x32_key_t key = {{0x243f6a88, 0x85a308d3}};
  return philox4x32(state, key);
}

static philox4x32_ctr_t absorb(philox4x32_ctr_t state, const char *text, size_t length) {
  for (size_t i = 0; i < length; i++) {
    state.v[i % 16 / 4] ^= (uint32_t)(unsigned char)text[i] << (8 * (i % 4));
    if (i % 16 == 15 || i + 1 == length) state = permute(state);
  }
  return state;
}

void sparc_random_init(sparc_random *r, uint64_t seed, const char *purpose, const char *name) {
  if (!r) return;
  size_t purpose_length = purpose ? strlen(purpose) : 0, name_length = name ? strlen(name) : 0;
  philox4x32_ctr_t state = {{(uint32_t)seed, (uint32_t)(seed >> 32), (uint32_t)purpose_length, (uint32_t)name_length}};
  state = absorb(permute(state), purpose, purpose_length);
  state = absorb(state, name, name_length);
  *r = (sparc_random){.key = {state.v[0], state.v[1]}, .stream = {state.v[2], state.v[3]}};
}

void random_seek(sparc_random *r, uint64_t position) {
  if (!r) return;
  r->position = position;
  if (position % 4 != 0) load_block(r);
}

/* ---- draws: zero where there is no stream ---- */

uint32_t random_u32(sparc_random *r) { return r ? next_word(r) : 0; }

uint64_t random_u64(sparc_random *r) {
  if (!r) return 0;
  uint64_t low = next_word(r);
  return (uint64_t)next_word(r) << 32 | low;
}

double sparc_random_uniform(sparc_random *r) { return r ? (double)(random_u64(r) >> 11 | 1) * 0x1p-53 : 0; }

float random_uniform_f32(sparc_random *r) { return r ? (float)(next_word(r) >> 8 | 1) * 0x1p-24f : 0; }

/* the high word of word * n is uniform once the 2^32 mod n smallest low words are rejected (Lemire 2019) */
uint32_t sparc_random_below(sparc_random *r, uint32_t n) {
  if (!r) return 0;
  uint64_t product = (uint64_t)next_word(r) * n;
  if ((uint32_t)product < n) {
    uint32_t rejected = (UINT32_MAX - n + 1) % n;
    while ((uint32_t)product < rejected) product = (uint64_t)next_word(r) * n;
  }
  return (uint32_t)(product >> 32);
}

static double polynomial(const double coefficients[8], double x) {
  double sum = coefficients[7];
  for (int k = 6; k >= 0; k--) sum = sum * x + coefficients[k];
  return sum;
}

/* Rational approximations of degree (7, 7) with relative error near 1e-16: Wichura, algorithm AS 241 (1988). One pair
 * covers |q| <= 0.425 in the variable 0.425^2 - q^2, two more the tails in sqrt(-log(tail probability)). */
static const double quantile_ratio[3][2][8] = {
    {{3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
      4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3},
     {1, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3, 2.1213794301586595867e4,
      3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3}},
    {{1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
      1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4},
     {1, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1, 1.48103976427480074590e-1,
      1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9}},
    {{6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
      2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7},
     {1, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2, 7.86869131145613259100e-4,
      1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15}},
};

static double ratio(int piece, double x) {
  return polynomial(quantile_ratio[piece][0], x) / polynomial(quantile_ratio[piece][1], x);
}

double normal_quantile(double q) {
  if (fabs(q) <= 0.425) return q * ratio(0, 0.180625 - q * q);
  double depth = sqrt(-log(0.5 - fabs(q)));
  return copysign(depth <= 5 ? ratio(1, depth - 1.6) : ratio(2, depth - 5), q);
}

/* uniform - 1/2 is exact, and so is the tail probability that normal_quantile derives from it */
double sparc_random_normal(sparc_random *r) { return r ? normal_quantile(sparc_random_uniform(r) - 0.5) : 0; }

double random_truncated_normal(sparc_random *r) {
  if (!r) return 0;
  const double mass = 0.95449973610364158560; /* of the normal distribution on [-2, 2]: erf(sqrt 2) */
  double x = normal_quantile((sparc_random_uniform(r) - 0.5) * mass);
  return x < -2 ? -2 : x > 2 ? 2 : x;
}

void random_shuffle(sparc_random *r, int *values, int count) {
  if (!r || !values) return;
  for (int i = count - 1; i > 0; i--) {
    uint32_t j = sparc_random_below(r, (uint32_t)i + 1);
    int value = values[i];
    values[i] = values[j];
    values[j] = value;
  }
}

void random_permutation(sparc_random *r, int *values, int count) {
  for (int i = 0; values && i < count; i++) values[i] = i;
  random_shuffle(r, values, count);
}

void random_fill_normal(sparc_random *r, float *values, size_t count, double stddev) {
  for (size_t i = 0; values && i < count; i++) values[i] = (float)(stddev * sparc_random_normal(r));
}

void random_fill_uniform(sparc_random *r, float *values, size_t count, double lo, double hi) {
  for (size_t i = 0; values && i < count; i++) values[i] = (float)(lo + (hi - lo) * sparc_random_uniform(r));
}

/* ---- initialisers ---- */

static sparc_status check_array(const sparc_random *r, const float *values, size_t count, int fan_in) {
  if (!r) return fail(SPARC_INVALID, "r is NULL, expected a random stream");
  if (!values && count > 0) return fail(SPARC_INVALID, "values is NULL, expected an array of %zu floats", count);
  if (fan_in < 1) return fail(SPARC_INVALID, "fan_in is %d, expected at least 1", fan_in);
  return SPARC_OK;
}

sparc_status random_lecun_normal(sparc_random *r, float *values, size_t count, int fan_in) {
  const double truncated_stddev = 0.87962566103423978; /* of the normal distribution cut to [-2, 2] */
  sparc_status status = check_array(r, values, count, fan_in);
  if (status != SPARC_OK) return status;
  double scale = sqrt(1.0 / fan_in) / truncated_stddev;
  for (size_t i = 0; i < count; i++) values[i] = (float)(scale * random_truncated_normal(r));
  return SPARC_OK;
}

sparc_status random_torch_uniform(sparc_random *r, float *values, size_t count, int fan_in) {
  sparc_status status = check_array(r, values, count, fan_in);
  if (status != SPARC_OK) return status;
  double bound = 1 / sqrt(fan_in);
  random_fill_uniform(r, values, count, -bound, bound);
  return SPARC_OK;
}

static double dot(const double *restrict a, const double *restrict b, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

/* x = (I - v v^T) x */
static void reflect(const double *restrict v, double *restrict x, size_t n) {
  double projection = dot(v, x, n);
  for (size_t i = 0; i < n; i++) x[i] -= projection * v[i];
}

/* Turns x into v with v^T v = 2, so that I - v v^T maps x onto a multiple of the first axis, and returns that
 * multiple, whose sign is opposite to x[0] to avoid cancellation. A zero x gives v = 0, the identity. */
static double householder(double *x, size_t n) {
  double norm = sqrt(dot(x, x, n));
  if (norm == 0) return 0;
  double image = x[0] > 0 ? -norm : norm;
  x[0] -= image;
  double scale = sqrt(2 / dot(x, x, n));
  for (size_t i = 0; i < n; i++) x[i] *= scale;
  return image;
}

void orthonormal_draw(sparc_random *r, double *restrict vectors, double *restrict diagonal, size_t count,
                      size_t length) {
  for (size_t i = 0; i < count * length; i++) vectors[i] = sparc_random_normal(r);

  /* factor: vector k keeps its reflector in elements k and up, R's diagonal goes aside, the rest of R is not needed */
  for (size_t k = 0; k < count; k++) {
    double *v = vectors + k * length + k;
    diagonal[k] = householder(v, length - k);
    for (size_t j = k + 1; j < count; j++) reflect(v, vectors + j * length + k, length - k);
  }

  /* apply the reflectors to the unit vectors, last one first, each vector replacing the reflector it came from */
  for (size_t k = count; k-- > 0;) {
    double *v = vectors + k * length + k;
    for (size_t j = k + 1; j < count; j++) reflect(v, vectors + j * length + k, length - k);
    double first = v[0];
    for (size_t i = 0; i < length - k; i++) v[i] *= -first;
    v[0] += 1;
    memset(vectors + k * length, 0, k * sizeof *vectors);
  }

  /* the sign that makes R's diagonal positive makes Q unique, and Haar-distributed */
  for (size_t k = 0; k < count; k++)
    if (diagonal[k] < 0)
      for (size_t i = 0; i < length; i++) vectors[k * length + i] *= -1;
}

sparc_status random_orthogonal(sparc_random *r, float *values, int rows, int cols, double gain) {
  if (!r) return fail(SPARC_INVALID, "r is NULL, expected a random stream");
  if (!values) return fail(SPARC_INVALID, "values is NULL, expected an array of rows * cols floats");
  if (rows < 1) return fail(SPARC_INVALID, "rows is %d, expected at least 1", rows);
  if (cols < 1) return fail(SPARC_INVALID, "cols is %d, expected at least 1", cols);
  if (!isfinite(gain)) return fail(SPARC_INVALID, "gain is %g, expected a finite number", gain);

  /* the vectors are the shorter side: columns of a tall matrix, rows of a wide one */
  size_t count = (size_t)(rows < cols ? rows : cols), length = (size_t)(rows < cols ? cols : rows);
  int overflow = 0;
  size_t bytes = size_product(size_product(count, length + 1, &overflow), sizeof(double), &overflow);
  double *vectors = overflow ? NULL : sparc_alloc(bytes);
  if (!vectors) return fail(SPARC_NO_MEMORY, "no memory to orthogonalise a %d x %d matrix", rows, cols);
  orthonormal_draw(r, vectors, vectors + count * length, count, length);

  size_t row_stride = rows < cols ? length : 1, col_stride = rows < cols ? 1 : length;
  for (size_t i = 0; i < (size_t)rows; i++)
    for (size_t j = 0; j < (size_t)cols; j++)
      values[i * (size_t)cols + j] = (float)(gain * vectors[i * row_stride + j * col_stride]);
  sparc_free(vectors);
  return SPARC_OK;
}

double random_ring(sparc_random *r, double rmin, double rmax) {
  if (!r) return 0;
  const double lowest = 1e-12, highest = 1 - 1e-7;
  double s = rmin * rmin + (rmax * rmax - rmin * rmin) * sparc_random_uniform(r);
  return s < lowest ? lowest : s > highest ? highest : s;
}

double random_phase(sparc_random *r, double c) {
  if (!r) return 0;
  double v = sparc_random_uniform(r);
  return c * (v < 1e-7 ? 1e-7 : v);
}
