/* SPDX-License-Identifier: MIT */
/* scan_rivals.c: SLEEF (exp within 1.0 ulp, sine and cosine within 3.5), glibc's libmvec, and the scalar C
 * library. The first two are there when the build found them, for the vector width of the kernels in use.
 *
 * The functions are declared here: their headers offer them only to files that are compiled for the instruction set as
 * a whole, and this one must run everywhere.
 */
#include "bench/rivals/scan_rivals.h"

#include <math.h>
#include <stdbool.h>

#if !defined(SPARC_HAVE_SLEEF) || !defined(__x86_64__)
#undef SPARC_HAVE_SLEEF
#define SPARC_HAVE_SLEEF 0
#endif
#if !defined(SPARC_HAVE_MVEC) || !defined(__x86_64__)
#undef SPARC_HAVE_MVEC
#define SPARC_HAVE_MVEC 0
#endif

#if SPARC_HAVE_SLEEF || SPARC_HAVE_MVEC
typedef float floats4 __attribute__((vector_size(16), may_alias));
typedef float floats8 __attribute__((vector_size(32), may_alias));
typedef float floats16 __attribute__((vector_size(64), may_alias));

#define TARGET_4
#define TARGET_8  __attribute__((target("avx2,fma")))
#define TARGET_16 __attribute__((target("avx512f,fma")))
#endif

#define RIVAL_PREPARED

/* ---- SLEEF -------------------------------------------------------------------------------------- */

#if SPARC_HAVE_SLEEF

/* sine in x, cosine in y */
typedef struct pair4 {
  floats4 x, y;
} pair4;
typedef struct pair8 {
  floats8 x, y;
} pair8;
typedef struct pair16 {
  floats16 x, y;
} pair16;

floats4 Sleef_expf4_u10(floats4 x);
pair4 Sleef_sincosf4_u35(floats4 x);
TARGET_8 floats8 Sleef_expf8_u10avx2(floats8 x);
TARGET_8 pair8 Sleef_sincosf8_u35avx2(floats8 x);
TARGET_16 floats16 Sleef_expf16_u10avx512f(floats16 x);
TARGET_16 pair16 Sleef_sincosf16_u35avx512f(floats16 x);

#define SLEEF_SINCOS(pair, function, angle, sine, cosine) \
  do {                                                    \
    const pair both = function(angle);                    \
    (sine) = both.x;                                      \
    (cosine) = both.y;                                    \
  } while (0)

#define RIVAL                 sleef4
#define RIVAL_VECTOR          floats4
#define RIVAL_WIDTH           4
#define RIVAL_TARGET          TARGET_4
#define RIVAL_EXP             Sleef_expf4_u10
#define RIVAL_SINCOS(x, s, c) SLEEF_SINCOS(pair4, Sleef_sincosf4_u35, x, s, c)
#include "bench/rivals/scan_rivals_body.h"

#define RIVAL                 sleef8
#define RIVAL_VECTOR          floats8
#define RIVAL_WIDTH           8
#define RIVAL_TARGET          TARGET_8
#define RIVAL_EXP             Sleef_expf8_u10avx2
#define RIVAL_SINCOS(x, s, c) SLEEF_SINCOS(pair8, Sleef_sincosf8_u35avx2, x, s, c)
#include "bench/rivals/scan_rivals_body.h"

#define RIVAL                 sleef16
#define RIVAL_VECTOR          floats16
#define RIVAL_WIDTH           16
#define RIVAL_TARGET          TARGET_16
#define RIVAL_EXP             Sleef_expf16_u10avx512f
#define RIVAL_SINCOS(x, s, c) SLEEF_SINCOS(pair16, Sleef_sincosf16_u35avx512f, x, s, c)
#include "bench/rivals/scan_rivals_body.h"

#endif

/* ---- libmvec: the names that its ABI gives to vector versions of expf, sinf and cosf --------------- */

#if SPARC_HAVE_MVEC

floats4 _ZGVbN4v_expf(floats4 x);
floats4 _ZGVbN4v_sinf(floats4 x);
floats4 _ZGVbN4v_cosf(floats4 x);
TARGET_8 floats8 _ZGVdN8v_expf(floats8 x);
TARGET_8 floats8 _ZGVdN8v_sinf(floats8 x);
TARGET_8 floats8 _ZGVdN8v_cosf(floats8 x);
TARGET_16 floats16 _ZGVeN16v_expf(floats16 x);
TARGET_16 floats16 _ZGVeN16v_sinf(floats16 x);
TARGET_16 floats16 _ZGVeN16v_cosf(floats16 x);

#define RIVAL                 mvec4
#define RIVAL_VECTOR          floats4
#define RIVAL_WIDTH           4
#define RIVAL_TARGET          TARGET_4
#define RIVAL_EXP             _ZGVbN4v_expf
#define RIVAL_SINCOS(x, s, c) ((s) = _ZGVbN4v_sinf(x), (c) = _ZGVbN4v_cosf(x))
#include "bench/rivals/scan_rivals_body.h"

#define RIVAL                 mvec8
#define RIVAL_VECTOR          floats8
#define RIVAL_WIDTH           8
#define RIVAL_TARGET          TARGET_8
#define RIVAL_EXP             _ZGVdN8v_expf
#define RIVAL_SINCOS(x, s, c) ((s) = _ZGVdN8v_sinf(x), (c) = _ZGVdN8v_cosf(x))
#include "bench/rivals/scan_rivals_body.h"

#define RIVAL                 mvec16
#define RIVAL_VECTOR          floats16
#define RIVAL_WIDTH           16
#define RIVAL_TARGET          TARGET_16
#define RIVAL_EXP             _ZGVeN16v_expf
#define RIVAL_SINCOS(x, s, c) ((s) = _ZGVeN16v_sinf(x), (c) = _ZGVeN16v_cosf(x))
#include "bench/rivals/scan_rivals_body.h"

#endif

#undef RIVAL_PREPARED

/* ---- the C library ------------------------------------------------------------------------------- */

#define RIVAL        libm
#define RIVAL_VECTOR float
#define RIVAL_WIDTH  1
#define RIVAL_TARGET
#define RIVAL_EXP             expf
#define RIVAL_SINCOS(x, s, c) ((s) = sinf(x), (c) = cosf(x))
#include "bench/rivals/scan_rivals_body.h"

void scan_rivals(size_t lanes, scan_rival out[RIVALS]) {
  (void)lanes;
  out[0] = (scan_rival){"SLEEF, prepared", NULL};
  out[1] = (scan_rival){"SLEEF", NULL};
  out[2] = (scan_rival){"libmvec, prepared", NULL};
  out[3] = (scan_rival){"libmvec", NULL};
  out[4] = (scan_rival){"libm", libm};
#if SPARC_HAVE_SLEEF
  out[0].forward = lanes == 16 ? sleef16_prepared : lanes == 8 ? sleef8_prepared : sleef4_prepared;
  out[1].forward = lanes == 16 ? sleef16 : lanes == 8 ? sleef8 : sleef4;
#endif
#if SPARC_HAVE_MVEC
  out[2].forward = lanes == 16 ? mvec16_prepared : lanes == 8 ? mvec8_prepared : mvec4_prepared;
  out[3].forward = lanes == 16 ? mvec16 : lanes == 8 ? mvec8 : mvec4;
#endif
}
