/* SPDX-License-Identifier: MIT */
/* strip.h: the scan of kernels/strip.k, for cells and for scans with given coefficients: how modes and time are cut,
 * and which arrays the kernels get. Everything that decides bits follows from the shape alone. */
#ifndef SPARC_DEVICE_STRIP_H
#define SPARC_DEVICE_STRIP_H

#include "device/launch.h"

/* The tiling, which decides the bits; the kernels get the same numbers as definitions. */
enum {
  STRIP_MODES = 32, /* modes of a group, or pairs of real coordinates */
  STRIP_SLICES = 8, /* work-items of a mode */
  STRIP_RUN = 4,    /* tokens of a work-item in a step */
  STRIP_PIECE = 32, /* steps whose gradients of a mode are summed in float */
  STRIP_STEP = STRIP_SLICES * STRIP_RUN,
  STRIP_GROUPS = 256,   /* groups that streams and modes should give; with fewer, sequences are cut into chunks */
  STRIP_CHUNKS = 16,    /* chunks at most, */
  STRIP_SHORTEST = 128, /* of so many tokens at least */
};

typedef struct strip_shape {
  int B, T, H;
  int parts, columns; /* of a state coordinate: 1 or 2; of a row: parts H */
  int width;          /* numbers of a state that a work-item carries: 1 or 2 */
  int sums;           /* gradients of a mode */
  int tokens;         /* B T */
  int tiles, steps, chunks, chunk_steps, pieces;
} strip_shape;

strip_shape strip_shape_of(int B, int T, int H, int parts, int sums, int chunks);

/* chunks that T steps are really cut into when `chunks` are requested */
int device_chunks_of(int T, int chunks);

/* floats of the marks, of the chunks' maps (0 for one chunk), of the tiles' parts of dcontrols, of the sums */
size_t strip_marks(const strip_shape *s);
size_t strip_maps(const strip_shape *s);
size_t strip_dcontrols(const strip_shape *s);
size_t strip_sums(const strip_shape *s);
/* parts that the sums of a mode come in */
size_t strip_parts(const strip_shape *s);

/* fails unless numbers of tokens, of groups and offsets inside a step are 32-bit integers; D is the width of an input
 */
sparc_status strip_check(int B, int T, int D, int H, int chunks);

/* the arrays of a call; what a cell does not have is absent */
typedef struct strip_arrays {
  sparc_slice constants;
  int tail;            /* the element of constants where a cell keeps numbers of its own */
  sparc_slice content; /* as the kernels' content_io: floats after a projection */
  bool content_floats;
  sparc_slice tokens, gates, maps, marks;
  sparc_slice state0, y, state_last;
  sparc_slice dy, dstate_last, dcontent, dgates, dcontrols, dstate0, sums;
  bool dcontent_floats;
} strip_arrays;

sparc_status strip_forward(const kernel_set *set, const strip_shape *s, const strip_arrays *arrays);
sparc_status strip_backward(const kernel_set *set, const strip_shape *s, const strip_arrays *arrays);

/* definitions for the kernels */
void strip_define(const kernel_set *set, const strip_shape *s, program_text *text);

/* ---- memory that is too small --------------------------------------------------------------------- */

/* all bytes of a training step of B streams, and its largest block */
typedef size_t batch_bytes(const void *context, int B, size_t *largest);

/* fails where B streams do not fit, with the number that would */
sparc_status check_batch(const sparc_device *device, int B, int T, batch_bytes *bytes, const void *context);

#endif
