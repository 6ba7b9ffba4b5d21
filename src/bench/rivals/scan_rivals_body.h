/* SPDX-License-Identifier: MIT */
/* scan_rivals_body.h: the forward scan over a library's vector functions, once. Included with
 *   RIVAL                            the name of the function, and with _prepared behind it that of the other one
 *   RIVAL_VECTOR, RIVAL_WIDTH        type of a vector, floats in it
 *   RIVAL_TARGET                     the attribute that allows its instructions
 *   RIVAL_EXP(x)                     exp(x)
 *   RIVAL_SINCOS(x, sin, cos)        sets both
 * Time in the outer loop, whole rows, the state in the first-level cache: as in our own kernels.
 */

#define RIVAL_JOIN(a, b) a##b
#define RIVAL_NAME(a, b) RIVAL_JOIN(a, b)

RIVAL_TARGET static inline void RIVAL_NAME(RIVAL, _scan)(const rival_rows *rows, bool prepared) {
  const size_t H = rows->H;
  for (size_t t = 0; t < rows->tokens; t++) {
    const float scale = expf(rows->kappa_r * rows->controls[2 * t]), phase = rows->kappa_p * rows->controls[2 * t + 1];
    const float *b_re = rows->b + t * 2 * H, *b_im = b_re + H;
    float *h_re = rows->h + t * 2 * H, *h_im = h_re + H, *s_re = rows->state, *s_im = s_re + H;
    for (size_t i = 0; i < H; i += RIVAL_WIDTH) {
      const RIVAL_VECTOR rho = RIVAL_EXP(*(const RIVAL_VECTOR *)(rows->nu + i) * -scale);
      RIVAL_VECTOR angle = (1 - rho) * phase, sine, cosine, a_re, a_im;
      if (!prepared) angle += *(const RIVAL_VECTOR *)(rows->theta + i);
      RIVAL_SINCOS(angle, sine, cosine);
      if (prepared) {
        const RIVAL_VECTOR re = rho * *(const RIVAL_VECTOR *)(rows->cos + i);
        const RIVAL_VECTOR im = rho * *(const RIVAL_VECTOR *)(rows->sin + i);
        a_re = re * cosine - im * sine;
        a_im = re * sine + im * cosine;
      } else {
        a_re = rho * cosine;
        a_im = rho * sine;
      }
      const RIVAL_VECTOR k_re = *(RIVAL_VECTOR *)(s_re + i), k_im = *(RIVAL_VECTOR *)(s_im + i);
      const RIVAL_VECTOR re = a_re * k_re - a_im * k_im + *(const RIVAL_VECTOR *)(b_re + i);
      const RIVAL_VECTOR im = a_re * k_im + a_im * k_re + *(const RIVAL_VECTOR *)(b_im + i);
      *(RIVAL_VECTOR *)(s_re + i) = *(RIVAL_VECTOR *)(h_re + i) = re;
      *(RIVAL_VECTOR *)(s_im + i) = *(RIVAL_VECTOR *)(h_im + i) = im;
    }
  }
}

RIVAL_TARGET static void RIVAL(const rival_rows *rows) { RIVAL_NAME(RIVAL, _scan)(rows, false); }
#ifdef RIVAL_PREPARED
RIVAL_TARGET static void RIVAL_NAME(RIVAL, _prepared)(const rival_rows *rows) { RIVAL_NAME(RIVAL, _scan)(rows, true); }
#endif

#undef RIVAL_JOIN
#undef RIVAL_NAME
#undef RIVAL
#undef RIVAL_VECTOR
#undef RIVAL_WIDTH
#undef RIVAL_TARGET
#undef RIVAL_EXP
#undef RIVAL_SINCOS
