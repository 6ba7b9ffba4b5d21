/* SPDX-License-Identifier: MIT */
/* scan_rivals_body.h: the forward scan over a library's vector functions, once. Included with
 *   RIVAL                            the name of the function
 *   RIVAL_VECTOR, RIVAL_WIDTH        type of a vector, floats in it
 *   RIVAL_TARGET                     the attribute that allows its instructions
 *   RIVAL_EXP(x)                     exp(x)
 *   RIVAL_SINCOS(x, sin, cos)        sets both
 * Time in the outer loop, whole rows, the state in the first-level cache: as in our own kernels.
 */

RIVAL_TARGET static void RIVAL(const rival_rows *rows) {
  const size_t H = rows->H;
  for (size_t t = 0; t < rows->tokens; t++) {
    const float scale = expf(rows->kappa_r * rows->controls[2 * t]), phase = rows->kappa_p * rows->controls[2 * t + 1];
    const float *b_re = rows->b + t * 2 * H, *b_im = b_re + H;
    float *h_re = rows->h + t * 2 * H, *h_im = h_re + H, *s_re = rows->state, *s_im = s_re + H;
    for (size_t i = 0; i < H; i += RIVAL_WIDTH) {
      const RIVAL_VECTOR rho = RIVAL_EXP(*(const RIVAL_VECTOR *)(rows->nu + i) * -scale);
      const RIVAL_VECTOR angle = *(const RIVAL_VECTOR *)(rows->theta + i) + (1 - rho) * phase;
      RIVAL_VECTOR sine, cosine;
      RIVAL_SINCOS(angle, sine, cosine);
      const RIVAL_VECTOR a_re = rho * cosine, a_im = rho * sine;
      const RIVAL_VECTOR k_re = *(RIVAL_VECTOR *)(s_re + i), k_im = *(RIVAL_VECTOR *)(s_im + i);
      const RIVAL_VECTOR re = a_re * k_re - a_im * k_im + *(const RIVAL_VECTOR *)(b_re + i);
      const RIVAL_VECTOR im = a_re * k_im + a_im * k_re + *(const RIVAL_VECTOR *)(b_im + i);
      *(RIVAL_VECTOR *)(s_re + i) = *(RIVAL_VECTOR *)(h_re + i) = re;
      *(RIVAL_VECTOR *)(s_im + i) = *(RIVAL_VECTOR *)(h_im + i) = im;
    }
  }
}

#undef RIVAL
#undef RIVAL_VECTOR
#undef RIVAL_WIDTH
#undef RIVAL_TARGET
#undef RIVAL_EXP
#undef RIVAL_SINCOS
