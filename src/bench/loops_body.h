/* SPDX-License-Identifier: MIT */
/* loops_body.h: the loops, once. Included once per instruction set with
 *   LOOP(name)                        the name of a function or type of this set
 *   LOOP_NAME, LOOP_TARGET            the set's name, and the attribute that allows its instructions
 *   LOOP_WIDTH                        floats per vector
 *   LOOP_MULTIPLY_ADD(a, b, c)        a b + c
 *   LOOP_STORE_NT(p, v), LOOP_FENCE() a non-temporal store; left undefined where there is none
 *   LOOP_KEEP(v)                      makes the compiler keep v in a register, so that no loop becomes a call of memcpy
 */

typedef float LOOP(vector) __attribute__((vector_size(4 * LOOP_WIDTH), may_alias));

enum { LOOP(CHAINS) = 12 }; /* latency times throughput of every machine fits, and so do 16 registers */

LOOP_TARGET static float LOOP(multiply_add)(size_t rounds) {
  LOOP(vector) chain[LOOP(CHAINS)], half = {0}, one = {0};
  half += 0.5f;
  one += 1;
  for (int c = 0; c < LOOP(CHAINS); c++) chain[c] = half + (float)c;
  /* v = v / 2 + 1 converges to 2: neither infinities nor denormals come up */
  for (size_t i = 0; i < rounds; i++)
#pragma GCC unroll 12
    for (int c = 0; c < LOOP(CHAINS); c++) chain[c] = LOOP_MULTIPLY_ADD(chain[c], half, one);
  for (int c = 1; c < LOOP(CHAINS); c++) chain[0] += chain[c];
  return chain[0][0];
}

LOOP_TARGET static void LOOP(copy)(float *restrict a, const float *restrict b, size_t n) {
  for (size_t i = 0; i < n; i += LOOP_WIDTH) {
    LOOP(vector) v = *(const LOOP(vector) *)(b + i);
    LOOP_KEEP(v);
    *(LOOP(vector) *)(a + i) = v;
  }
}

LOOP_TARGET static void LOOP(triad)(float *restrict a, const float *restrict b, const float *restrict c, size_t n) {
  LOOP(vector) three = {0};
  three += 3;
  for (size_t i = 0; i < n; i += LOOP_WIDTH)
    *(LOOP(vector) *)(a + i) = LOOP_MULTIPLY_ADD(*(const LOOP(vector) *)(c + i), three, *(const LOOP(vector) *)(b + i));
}

LOOP_TARGET static void LOOP(negate)(float *a, size_t n) {
  for (size_t i = 0; i < n; i += LOOP_WIDTH) *(LOOP(vector) *)(a + i) = -*(const LOOP(vector) *)(a + i);
}

LOOP_TARGET static void LOOP(subtract)(float *restrict a, const float *restrict b, size_t n) {
  for (size_t i = 0; i < n; i += LOOP_WIDTH)
    *(LOOP(vector) *)(a + i) = *(const LOOP(vector) *)(b + i) - *(const LOOP(vector) *)(a + i);
}

#ifdef LOOP_STORE_NT

LOOP_TARGET static void LOOP(copy_nt)(float *restrict a, const float *restrict b, size_t n) {
  for (size_t i = 0; i < n; i += LOOP_WIDTH) {
    LOOP(vector) v = *(const LOOP(vector) *)(b + i);
    LOOP_STORE_NT(a + i, v);
  }
  LOOP_FENCE();
}

LOOP_TARGET static void LOOP(triad_nt)(float *restrict a, const float *restrict b, const float *restrict c, size_t n) {
  LOOP(vector) three = {0};
  three += 3;
  for (size_t i = 0; i < n; i += LOOP_WIDTH) {
    LOOP(vector)
    v = LOOP_MULTIPLY_ADD(*(const LOOP(vector) *)(c + i), three, *(const LOOP(vector) *)(b + i));
    LOOP_STORE_NT(a + i, v);
  }
  LOOP_FENCE();
}

#endif

static const bench_loops LOOP(table) = {
    .name = LOOP_NAME,
    .flops = (size_t)2 * LOOP(CHAINS) * LOOP_WIDTH,
    .width = LOOP_WIDTH,
    .multiply_add = LOOP(multiply_add),
    .copy = LOOP(copy),
    .triad = LOOP(triad),
    .negate = LOOP(negate),
    .subtract = LOOP(subtract),
#ifdef LOOP_STORE_NT
    .copy_nt = LOOP(copy_nt),
    .triad_nt = LOOP(triad_nt),
#endif
};

#undef LOOP
#undef LOOP_NAME
#undef LOOP_TARGET
#undef LOOP_WIDTH
#undef LOOP_MULTIPLY_ADD
#undef LOOP_STORE_NT
#undef LOOP_FENCE
#undef LOOP_KEEP
