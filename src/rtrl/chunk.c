/* SPDX-License-Identifier: MIT */
#include "rtrl/chunk.h"

#include "base/memory.h"
#include "rtrl/sizes.h"

static bool has_channel(const sparc_cell *cell, const rtrl_sink *sink) {
  return cell->parts == 2 && sink->outer && sink->factor == FACTOR_CONSTANT;
}

/* rows of H that the slots before this one take */
static size_t rows_before(const sparc_cell *cell, int slot) {
  if (cell->parts == 1) return (size_t)slot;
  size_t rows = 0;
  for (int i = 0; i < slot; i++) rows += driver_part_of(cell->driver, (size_t)i) == DRIVER_COMPLEX ? 2 : 1;
  return rows;
}

lazy_slot chunk_slot(const sparc_cell *cell, int slot) {
  const size_t row = rows_before(cell, slot);
  if (cell->parts == 1) return (lazy_slot){row, NO_PART};
  switch (driver_part_of(cell->driver, (size_t)slot)) {
    case DRIVER_REAL:
      return (lazy_slot){row, NO_PART};
    case DRIVER_IMAGINARY:
      return (lazy_slot){NO_PART, row};
    default:
      return (lazy_slot){row, row + 1};
  }
}

size_t chunk_channel(const sparc_cell *cell, const rtrl_sink *sink) {
  if (!has_channel(cell, sink)) return 0;
  size_t channel = 1;
  for (const rtrl_sink *other = cell->sink; other < sink; other++) channel += has_channel(cell, other);
  return channel;
}

bool chunk_turned(const sparc_cell *cell, const rtrl_sink *sink) {
  return cell->parts == 2 && sink->factor == FACTOR_I;
}

chunk_layout chunk_layout_of(const sparc_cell *cell, int capacity) {
  const size_t K = (size_t)capacity, H = (size_t)cell->H, S = cell->sizes.state;
  chunk_layout at = {.x_stride = round_elements((size_t)cell->D), .drivers = rows_before(cell, cell->outer)};
  if (cell->outer > 0) at.channels = 1;
  for (size_t i = 0; i < cell->sinks; i++) at.channels += has_channel(cell, &cell->sink[i]);
  const struct {
    size_t *place, width;
  } arrays[] = {{&at.x, at.x_stride}, {&at.mask, 1}, {&at.a, S}, {&at.c, at.drivers * H}, {&at.g, at.channels * S}};
  int overflow = 0;
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    const size_t length = size_product(K, arrays[i].width, &overflow);
    if (length > (size_t)-1 / 16) overflow = 1;
    *arrays[i].place = at.total;
    at.total += overflow ? 0 : round_elements(length);
  }
  if (overflow) at.total = 0;
  return at;
}

size_t lazy_size(const sparc_cell *cell, int chunk) {
  if (!cell || cell->sizes.trace == 0 || chunk < 1) return 0;
  return chunk_layout_of(cell, chunk).total;
}
