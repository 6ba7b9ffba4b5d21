/* SPDX-License-Identifier: MIT */
/* strip.c: see strip.h. */
#include "device/strip.h"

#include "base/error.h"

#include <stdint.h>

/* ---- shape -------------------------------------------------------------------------------------- */

/* chunks of a sequence: enough groups for a large device, never so many that a chunk is short */
static int default_chunks(const strip_shape *s) {
  const size_t groups = (size_t)s->B * (size_t)s->tiles;
  size_t chunks = ceil_quotient(STRIP_GROUPS, groups);
  if (chunks > STRIP_CHUNKS) chunks = STRIP_CHUNKS;
  if (chunks > (size_t)s->T / STRIP_SHORTEST) chunks = (size_t)s->T / STRIP_SHORTEST;
  return chunks < 1 ? 1 : (int)chunks;
}

static int steps_of(int T) { return (T + STRIP_STEP - 1) / STRIP_STEP; }

/* whole steps for every chunk but the last */
static int chunk_steps_of(int T, int chunks) { return (steps_of(T) + chunks - 1) / chunks; }

int device_chunks_of(int T, int chunks) {
  const int each = chunk_steps_of(T, chunks);
  return (steps_of(T) + each - 1) / each;
}

/* Real coordinates come in pairs, for half of the instructions of one is about addresses and control; a tile of pairs
 * must be full. */
static int width_of(int H, int parts) { return parts == 2 || H >= 2 * STRIP_MODES ? 2 : 1; }

static int tiles_of(int H, int parts) {
  const int tile = STRIP_MODES * width_of(H, parts) / parts;
  return (H + tile - 1) / tile;
}

strip_shape strip_shape_of(int B, int T, int H, int parts, int sums, int chunks) {
  strip_shape s = {.B = B,
                   .T = T,
                   .H = H,
                   .parts = parts,
                   .columns = parts * H,
                   .sums = sums,
                   .tokens = B * T,
                   .width = width_of(H, parts),
                   .tiles = tiles_of(H, parts),
                   .steps = steps_of(T)};
  if (chunks == 0) chunks = default_chunks(&s);
  s.chunk_steps = chunk_steps_of(T, chunks);
  s.chunks = device_chunks_of(T, chunks);
  s.pieces = (s.chunk_steps + STRIP_PIECE - 1) / STRIP_PIECE;
  return s;
}

size_t strip_marks(const strip_shape *s) { return (size_t)s->B * (size_t)s->steps * (size_t)s->columns; }
size_t strip_maps(const strip_shape *s) {
  return s->chunks > 1 ? (size_t)s->B * (size_t)s->chunks * (2 * (size_t)s->columns + 1) : 0;
}
size_t strip_dcontrols(const strip_shape *s) { return (size_t)s->tiles * 2 * (size_t)s->tokens; }
size_t strip_parts(const strip_shape *s) { return (size_t)s->B * (size_t)s->chunks * (size_t)s->pieces; }
size_t strip_sums(const strip_shape *s) { return strip_parts(s) * (size_t)s->sums * (size_t)s->H; }

sparc_status strip_check(int B, int T, int D, int H, int chunks) {
  enum { WIDEST = 1 << 24, LONGEST = 1 << 30 };
  const struct {
    const char *name;
    int value;
  } sizes[] = {{"B", B}, {"T", T}, {"D", D}, {"H", H}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (sizes[i].value < 1) return fail(SPARC_INVALID, "%s is %d, expected at least 1", sizes[i].name, sizes[i].value);
  if (chunks < 0 || chunks > STRIP_CHUNKS)
    return fail(SPARC_INVALID, "chunks is %d, expected 0 to %d", chunks, STRIP_CHUNKS);
  if ((int64_t)B * T > LONGEST)
    return fail(SPARC_INVALID, "B * T = %d * %d tokens are beyond the 32-bit offsets of the kernels; at most %d", B, T,
                LONGEST);
  if (D > WIDEST || H > WIDEST)
    return fail(SPARC_INVALID, "%s is %d, beyond the 32-bit offsets of the kernels; at most %d", D > WIDEST ? "D" : "H",
                D > WIDEST ? D : H, WIDEST);
  const int64_t tiles = (H + STRIP_MODES - 1) / STRIP_MODES;
  if (tiles * B * STRIP_CHUNKS > INT32_MAX)
    return fail(SPARC_INVALID, "B = %d streams of %d modes are too many groups for one launch", B, H);
  return SPARC_OK;
}

/* ---- memory ------------------------------------------------------------------------------------- */

static bool batch_fits(const sparc_device *device, int B, batch_bytes *bytes, const void *context, size_t *needed) {
  size_t largest;
  *needed = bytes(context, B, &largest);
  return *needed <= device->info.memory && largest <= device->info.largest;
}

sparc_status check_batch(const sparc_device *device, int B, int T, batch_bytes *bytes, const void *context) {
  size_t needed, unused;
  if (batch_fits(device, B, bytes, context, &needed)) return SPARC_OK;
  int low = 0, high = B; /* low fits or is 0, high does not */
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    if (batch_fits(device, middle, bytes, context, &unused))
      low = middle;
    else
      high = middle;
  }
  if (low == 0)
    return fail(SPARC_NO_MEMORY,
                "one stream of %d steps does not fit: B = %d needs %zu bytes, %s has %zu (%zu a block)", T, B, needed,
                device->info.name, device->info.memory, device->info.largest);
  return fail(SPARC_NO_MEMORY, "B = %d needs %zu bytes, %s has %zu (%zu a block): B = %d would fit", B, needed,
              device->info.name, device->info.memory, device->info.largest, low);
}

/* ---- launches ----------------------------------------------------------------------------------- */

void strip_define(const kernel_set *set, const strip_shape *s, program_text *text) {
  const definition numbers[] = {{"EXACT", !set->device->fast},
                                {"WIDE_DOUBLE", set->device->info.doubles},
                                {"BF16", set->bf16},
                                {"COMPLEX", s->parts == 2},
                                {"WIDTH", s->width},
                                {"SUMS", s->sums},
                                {"MODES", STRIP_MODES},
                                {"SLICES", STRIP_SLICES},
                                {"RUN", STRIP_RUN},
                                {"PIECE_STEPS", STRIP_PIECE}};
  text_define(text, sizeof numbers / sizeof *numbers, numbers);
}

static void pass_shape(const strip_shape *s, const strip_arrays *a, kernel_launch *l) {
  pass_int(l, s->B);
  pass_int(l, s->T);
  pass_int(l, s->H);
  pass_int(l, a->tail);
  pass_int(l, s->chunks);
  pass_int(l, s->chunk_steps);
}

/* floats, or the precision of inputs and outputs */
static void pass_either(const kernel_set *set, kernel_launch *l, sparc_slice slice, bool floats) {
  if (floats)
    pass_floats(set, l, slice);
  else
    pass_io(set, l, slice);
}

static size_t strip_groups(const strip_shape *s, int chunks) {
  return (size_t)s->tiles * (size_t)s->B * (size_t)chunks;
}

sparc_status strip_forward(const kernel_set *set, const strip_shape *s, const strip_arrays *a) {
  if (s->chunks > 1) {
    kernel_launch l = launch_of(set, KERNEL_strip_summary, strip_groups(s, s->chunks - 1));
    pass_floats(set, &l, a->constants);
    pass_either(set, &l, a->content, a->content_floats);
    pass_floats(set, &l, a->tokens);
    pass_floats(set, &l, a->gates);
    pass_floats(set, &l, a->maps);
    pass_shape(s, a, &l);
    const sparc_status status = launch_run(set, &l);
    if (status != SPARC_OK) return status;
  }
  kernel_launch l = launch_of(set, KERNEL_strip_forward, strip_groups(s, s->chunks));
  pass_floats(set, &l, a->constants);
  pass_either(set, &l, a->content, a->content_floats);
  pass_floats(set, &l, a->tokens);
  pass_floats(set, &l, a->gates);
  pass_floats(set, &l, a->maps);
  pass_floats(set, &l, a->state0);
  pass_io(set, &l, a->y);
  pass_floats(set, &l, a->state_last);
  pass_floats(set, &l, a->marks);
  pass_shape(s, a, &l);
  return launch_run(set, &l);
}

sparc_status strip_backward(const kernel_set *set, const strip_shape *s, const strip_arrays *a) {
  if (s->chunks > 1) {
    kernel_launch l = launch_of(set, KERNEL_strip_adjoint_summary, strip_groups(s, s->chunks - 1));
    pass_floats(set, &l, a->constants);
    pass_floats(set, &l, a->tokens);
    pass_floats(set, &l, a->gates);
    pass_io(set, &l, a->dy);
    pass_floats(set, &l, a->maps);
    pass_shape(s, a, &l);
    const sparc_status status = launch_run(set, &l);
    if (status != SPARC_OK) return status;
  }
  kernel_launch l = launch_of(set, KERNEL_strip_adjoint, strip_groups(s, s->chunks));
  pass_floats(set, &l, a->constants);
  pass_either(set, &l, a->content, a->content_floats);
  pass_floats(set, &l, a->tokens);
  pass_floats(set, &l, a->gates);
  pass_floats(set, &l, a->maps);
  pass_floats(set, &l, a->marks);
  pass_io(set, &l, a->dy);
  pass_floats(set, &l, a->dstate_last);
  pass_either(set, &l, a->dcontent, a->dcontent_floats);
  pass_floats(set, &l, a->dgates);
  pass_floats(set, &l, a->dcontrols);
  pass_floats(set, &l, a->dstate0);
  pass_floats(set, &l, a->sums);
  pass_shape(s, a, &l);
  return launch_run(set, &l);
}
