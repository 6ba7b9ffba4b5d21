/* SPDX-License-Identifier: MIT */
/* product_body.h: the matrix product, once; included by kernels_body.h per instruction set.
 *
 * A tile of C, PRODUCT_ROWS by PRODUCT_VECTORS registers, stays in registers while the inner dimension passes: a row of
 * B is loaded, elements of A are broadcast, and every multiply-add has both in registers. The inner dimension is taken
 * in blocks and B in panels as wide as a tile, which stay in the first-level cache while a block of rows of A passes
 * from the second-level one, where the block's part of C stays, too. Where rows that are used together lie far apart,
 * they would conflict in the cache, so a panel of B that many rows of A pass, and a block of A that passes many panels,
 * are packed first: the panel at once, on the stack, after a prefetch, and the next block of A little by little between
 * the tiles of this one, in the workspace of the thread. The panel at the right edge is padded with zeros in its packed
 * copy. Weights that are prepared for many products lie in panels from the start.
 *
 * An element of C is the sum of its products in the order of the inner dimension, block by block: its bits depend on K
 * and the operands alone, not on the rows and panels it is computed together with.
 */
#include "base/workspace.h"
#include "kernels/lanes.h"
#include "kernels/product.h"

/* rows of a tile, and registers in a row of it; a single row takes more, because nothing else hides its latency */
#if defined(__AVX512F__) || defined(__aarch64__)
enum { PRODUCT_ROWS = 6, PRODUCT_VECTORS = 4, PRODUCT_LINE_VECTORS = 8 };
#else
enum { PRODUCT_ROWS = 6, PRODUCT_VECTORS = 2, PRODUCT_LINE_VECTORS = 8 };
#endif
enum { PRODUCT_PANEL = LANES * PRODUCT_VECTORS, PRODUCT_WIDE_PANEL = LANES * PRODUCT_LINE_VECTORS };

/* terms, rows and columns of a block, and the distances of rows and columns in the packed A, which do not conflict */
enum { PRODUCT_DEPTH = 128, PRODUCT_BLOCK_ROWS = 43 * PRODUCT_ROWS, PRODUCT_BLOCK_COLUMNS = 1024 };
enum { PRODUCT_STEP = PRODUCT_DEPTH + CACHE_LINE_FLOATS, PRODUCT_TRANSPOSED_STEP = PRODUCT_BLOCK_ROWS + 14 };

/* a packed block of A, and that two of them fit into the workspace */
typedef float product_copy[PRODUCT_BLOCK_ROWS * PRODUCT_STEP];
_Static_assert(PRODUCT_DEPTH *PRODUCT_TRANSPOSED_STEP <= PRODUCT_BLOCK_ROWS * PRODUCT_STEP, "a transposed block fits");
_Static_assert(sizeof(product_copy[2]) <= WORKSPACE_BYTES, "two blocks fit");

/* terms of a sum that is formed in about the time of a memory access */
enum { PRODUCT_LEAD = 32 };

/* rows of A from which on packing a panel pays, columns of C from which on packing A does, and the distance of rows
 * from which on they may conflict */
enum { PRODUCT_PACK_FROM = 64, PRODUCT_PACK_WIDTH = 256, PRODUCT_FAR = 256 };

/* a panel of B: `depth` rows of PRODUCT_PANEL elements */
typedef struct product_panel {
  size_t depth, columns; /* columns that exist in C */
  const float *element;
  size_t row, side;  /* elements from row to row, and to the panel on the right */
  const float *bias; /* (columns): what is added to the sums; NULL: C when `add` is set, else nothing */
  bool add;
  const float *next; /* the panel that will be packed or read after this one; NULL: none */
  size_t next_row;
} product_panel;

/* rows of A, `depth` terms of each */
typedef struct product_left {
  size_t rows;
  const float *element;
  size_t row, column;
} product_left;

/* a block of A that is being packed: `count` runs of numbers, as they lie in memory */
typedef struct product_pack {
  const float *from;
  size_t step, length, count;
  float *to;
  size_t to_step;
  size_t done; /* of count */
} product_pack;

/* sums of `terms` more products; b and A are at the first of them. A tile that is wider than a panel takes what is
 * b_side further on. */
VMATH void product_terms(size_t rows, size_t vectors, size_t terms, const float *b, size_t b_row, size_t b_side,
                         const float *A, size_t a_row, size_t a_column, lanes sum[][PRODUCT_LINE_VECTORS]) {
  for (size_t k = 0; k < terms; k++, b += b_row) {
    lanes row[PRODUCT_LINE_VECTORS];
#pragma GCC unroll 8
    for (size_t v = 0; v < vectors; v++)
      row[v] = load_lanes(b + v / PRODUCT_VECTORS * b_side + v % PRODUCT_VECTORS * LANES);
#pragma GCC unroll 6
    for (size_t i = 0; i < rows; i++) {
      /* minus zero changes nothing: a broadcast */
      lanes a = A[i * a_row + k * a_column] - (lanes){0};
      PIN(a);
#pragma GCC unroll 8
      for (size_t v = 0; v < vectors; v++) sum[i][v] += a * row[v];
    }
  }
}

/* C[rows][vectors] = start + A[rows][depth] panel; rows and vectors are literal constants. C is prefetched some
 * terms before the end, so that it is near when the sums are done; earlier, the panel would evict it. */
VMATH void product_tile(size_t rows, size_t vectors, const product_panel *panel, const float *A, size_t a_row,
                        size_t a_column, float *C, size_t c_row) {
  const size_t depth = panel->depth, first = depth > PRODUCT_LEAD ? depth - PRODUCT_LEAD : 0;
  lanes sum[PRODUCT_ROWS][PRODUCT_LINE_VECTORS];
#pragma GCC unroll 6
  for (size_t i = 0; i < rows; i++)
#pragma GCC unroll 8
    for (size_t v = 0; v < vectors; v++) sum[i][v] = (lanes){0};
  product_terms(rows, vectors, first, panel->element, panel->row, panel->side, A, a_row, a_column, sum);
#pragma GCC unroll 6
  for (size_t i = 0; i < rows; i++)
#pragma GCC unroll 8
    for (size_t v = 0; v < vectors; v++) __builtin_prefetch(C + i * c_row + v * LANES, 1);
  product_terms(rows, vectors, depth - first, panel->element + first * panel->row, panel->row, panel->side,
                A + first * a_column, a_row, a_column, sum);
#pragma GCC unroll 6
  for (size_t i = 0; i < rows; i++)
#pragma GCC unroll 8
    for (size_t v = 0; v < vectors; v++) {
      float *to = C + i * c_row + v * LANES;
      if (panel->bias)
        sum[i][v] += load_lanes(panel->bias + v * LANES);
      else if (panel->add)
        sum[i][v] += load_lanes(to);
      store_lanes(to, sum[i][v]);
    }
}

/* as many rows as there is a tile for; returns their number. Eight are four and four: beside six, two would be too few
 * sums to hide the latency of a multiply-add. */
VMATH size_t product_rows(size_t rows, size_t vectors, const product_panel *panel, const float *A, size_t a_row,
                          size_t a_column, float *C, size_t c_row) {
  if (rows >= PRODUCT_ROWS && rows != 8) {
    product_tile(PRODUCT_ROWS, vectors, panel, A, a_row, a_column, C, c_row);
    return PRODUCT_ROWS;
  }
  if (rows >= 4) {
    product_tile(4, vectors, panel, A, a_row, a_column, C, c_row);
    return 4;
  }
  if (rows >= 2) {
    product_tile(2, vectors, panel, A, a_row, a_column, C, c_row);
    return 2;
  }
  product_tile(1, vectors, panel, A, a_row, a_column, C, c_row);
  return 1;
}

/* the next n runs; those that follow are prefetched, because they are too far apart for the hardware to guess */
static __attribute__((noinline)) void pack_runs(product_pack *copy, size_t n) {
  enum { AHEAD = 2 };
  const size_t rest = copy->count - copy->done, end = copy->done + (n < rest ? n : rest);
  for (; copy->done < end; copy->done++) {
    const float *from = copy->from + copy->done * copy->step;
    for (size_t j = 0; copy->done + AHEAD < copy->count && j < copy->length; j += CACHE_LINE_FLOATS)
      __builtin_prefetch(from + AHEAD * copy->step + j);
    memcpy(copy->to + copy->done * copy->to_step, from, copy->length * sizeof(float));
  }
}

/* after each tile `runs` of the following block of A are packed */
static void product_whole_panel(const product_panel *panel, const product_left *left, float *C, size_t c_row,
                                product_pack *following, size_t runs) {
  const size_t per_tile = panel->depth * PRODUCT_ROWS / left->rows + 1; /* rows of the next panel */
  size_t prefetched = 0;
  for (size_t i = 0, n; i < left->rows; i += n) {
    const float *A = left->element + i * left->row;
    for (size_t end = prefetched + per_tile; panel->next && prefetched < end && prefetched < panel->depth; prefetched++)
      for (size_t j = 0; j < PRODUCT_PANEL; j += CACHE_LINE_FLOATS)
        __builtin_prefetch(panel->next + prefetched * panel->next_row + j, 0, 2);
    n = product_rows(left->rows - i, PRODUCT_VECTORS, panel, A, left->row, left->column, C + i * c_row, c_row);
    if (following->done < following->count) pack_runs(following, runs);
  }
}

/* at the right edge C has fewer columns than a tile: tiles start from zero and go through a buffer */
static void product_edge_panel(const product_panel *panel, const product_left *left, float *C, size_t c_row) {
  float buffer[PRODUCT_ROWS * PRODUCT_PANEL];
  const product_panel alone = {.depth = panel->depth, .element = panel->element, .row = panel->row};
  for (size_t i = 0, n; i < left->rows; i += n) {
    const float *A = left->element + i * left->row;
    if (panel->columns <= LANES)
      n = product_rows(left->rows - i, 1, &alone, A, left->row, left->column, buffer, PRODUCT_PANEL);
    else
      n = product_rows(left->rows - i, PRODUCT_VECTORS, &alone, A, left->row, left->column, buffer, PRODUCT_PANEL);
    for (size_t r = 0; r < n; r++) {
      float *to = C + (i + r) * c_row;
      const float *from = buffer + r * PRODUCT_PANEL, *start = panel->bias ? panel->bias : panel->add ? to : NULL;
      for (size_t j = 0; j < panel->columns; j++) to[j] = start ? start[j] + from[j] : from[j];
    }
  }
}

/* sums of a row that are fewer than a register: terms outside, columns inside, because a loop over the terms of one
 * column may be compiled without fused additions */
static void product_few_columns(const product_panel *panel, const float *A, size_t a_column, float *C) {
  float sum[LANES] = {0};
  for (size_t k = 0; k < panel->depth; k++) {
    const float a = A[k * a_column], *row = panel->element + k * panel->row;
    for (size_t c = 0; c < panel->columns; c++) sum[c] += a * row[c];
  }
  for (size_t c = 0; c < panel->columns; c++)
    C[c] = panel->bias ? sum[c] + panel->bias[c] : panel->add ? sum[c] + C[c] : sum[c];
}

/* the same for few rows, for which packing a whole panel does not pay: register by register; of the rest, which fills
 * none, a copy that does serves all rows but a single one */
static void product_narrow_edge(const product_panel *panel, const product_left *left, float *C, size_t c_row) {
  product_panel column = *panel;
  for (; column.columns >= LANES; column.columns -= LANES) {
    for (size_t i = 0, n; i < left->rows; i += n)
      n = product_rows(left->rows - i, 1, &column, left->element + i * left->row, left->row, left->column,
                       C + i * c_row, c_row);
    column.element += LANES;
    if (column.bias) column.bias += LANES;
    C += LANES;
  }
  if (column.columns == 0) return;
  if (left->rows == 1) {
    product_few_columns(&column, left->element, left->column, C);
    return;
  }
  float copy[PRODUCT_DEPTH * LANES] __attribute__((aligned(64)));
  for (size_t k = 0; k < column.depth; k++)
    for (size_t c = 0; c < LANES; c++)
      copy[k * LANES + c] = c < column.columns ? column.element[k * column.row + c] : 0;
  column.element = copy;
  column.row = LANES;
  product_edge_panel(&column, left, C, c_row);
}

/* not inline: beside it the compiler finds too few registers for the tiles */
static __attribute__((noinline)) void pack_panel(product_panel *panel, float *copy) {
  for (size_t i = 0; i < panel->depth; i++) {
    const float *from = panel->element + i * panel->row;
    float *row = copy + i * PRODUCT_PANEL;
    if (panel->columns == PRODUCT_PANEL) {
      for (size_t j = 0; j < PRODUCT_PANEL; j += LANES) store_lanes(row + j, load_lanes(from + j));
    } else {
      for (size_t j = 0; j < PRODUCT_PANEL; j++) row[j] = j < panel->columns ? from[j] : 0;
    }
  }
  panel->element = copy;
  panel->row = PRODUCT_PANEL;
}

static size_t fewer(size_t a, size_t b) { return a < b ? a : b; }

/* a panel from column j on, or several side by side */
static product_panel panel_at(const product_operands *o, size_t j, size_t width, size_t k, size_t depth) {
  const size_t row = o->panels ? fewer(o->N - j, PRODUCT_PANEL) : o->b_row;
  return (product_panel){.depth = depth,
                         .columns = fewer(o->N - j, width),
                         .element = o->B + (o->panels ? j * o->K : j) + k * row,
                         .row = row,
                         .side = o->panels ? PRODUCT_PANEL * o->K : PRODUCT_PANEL,
                         .bias = o->bias && k == 0 ? o->bias + j : NULL,
                         .add = o->add || k > 0};
}

/* One row of A: no blocks, nothing packed, and wide panels as far as they go. Not inline: beside the other tiles its
 * loop would keep addresses in vector registers. */
static __attribute__((noinline)) void product_line(const product_operands *o) {
  for (size_t k = 0; k < o->K; k += PRODUCT_DEPTH) {
    const size_t depth = fewer(o->K - k, PRODUCT_DEPTH);
    const product_left left = {1, o->A + k * o->a_column, o->a_row, o->a_column};
    size_t j = 0;
    for (; j + PRODUCT_WIDE_PANEL <= o->N; j += PRODUCT_WIDE_PANEL) {
      const product_panel panel = panel_at(o, j, PRODUCT_WIDE_PANEL, k, depth);
      product_tile(1, PRODUCT_LINE_VECTORS, &panel, left.element, left.row, left.column, o->C + j, o->c_row);
    }
    for (; j < o->N; j += PRODUCT_PANEL) {
      const product_panel panel = panel_at(o, j, PRODUCT_PANEL, k, depth);
      if (panel.columns < PRODUCT_PANEL)
        product_narrow_edge(&panel, &left, o->C + j, o->c_row);
      else
        product_tile(1, PRODUCT_VECTORS, &panel, left.element, left.row, left.column, o->C + j, o->c_row);
    }
  }
}

/* `depth` terms from k on of the given rows of A, for all columns, while the following block of A is packed */
static void product_block(const product_operands *o, const product_left *left, size_t first, size_t k, size_t depth,
                          product_pack *following) {
  float copy[PRODUCT_DEPTH * PRODUCT_PANEL] __attribute__((aligned(64)));
  float *C = o->C + first * o->c_row;
  const size_t tiles = (left->rows / PRODUCT_ROWS + 1) * (o->N / PRODUCT_PANEL + 1);
  for (size_t j = 0; j < o->N; j += PRODUCT_PANEL) {
    product_panel panel = panel_at(o, j, PRODUCT_PANEL, k, depth);
    const bool edge = panel.columns < PRODUCT_PANEL, many = left->rows >= PRODUCT_PACK_FROM;
    const bool packed = many && (edge || panel.row > 2 * (size_t)PRODUCT_PANEL);
    if (many && (packed || o->panels) && j + 2 * (size_t)PRODUCT_PANEL <= o->N) {
      panel.next = panel.element + panel.side;
      panel.next_row = panel.row;
    }
    if (packed) pack_panel(&panel, copy);
    if (edge && !many)
      product_narrow_edge(&panel, left, C + j, o->c_row);
    else if (edge)
      product_edge_panel(&panel, left, C + j, o->c_row);
    else
      product_whole_panel(&panel, left, C + j, o->c_row, following, following->count / tiles + 1);
  }
}

/* blocks of A are numbered, terms before rows */
typedef struct product_blocks {
  size_t rows, per_row, count; /* rows of a block, blocks in a row of them, all */
  bool transposed, packed;
} product_blocks;

static product_blocks blocks_of(const product_operands *o) {
  const bool transposed = o->a_column != 1;
  const size_t rows = (o->M + PRODUCT_BLOCK_ROWS - 1) / PRODUCT_BLOCK_ROWS;
  const size_t tiles = (o->M + rows * PRODUCT_ROWS - 1) / (rows * PRODUCT_ROWS); /* blocks as even as tiles allow */
  const size_t per_row = (o->K + PRODUCT_DEPTH - 1) / PRODUCT_DEPTH;
  const bool far = (transposed ? o->a_column : o->a_row) > PRODUCT_FAR;
  return (product_blocks){tiles * PRODUCT_ROWS, per_row, rows * per_row, transposed,
                          far && (transposed || o->N >= PRODUCT_PACK_WIDTH)};
}

/* the rows and terms of a block, and its first element */
typedef struct product_place {
  size_t first, rows, k, depth;
  const float *element;
} product_place;

static product_place place_of(const product_operands *o, const product_blocks *blocks, size_t block) {
  const size_t first = block / blocks->per_row * blocks->rows, k = block % blocks->per_row * PRODUCT_DEPTH;
  return (product_place){first, fewer(o->M - first, blocks->rows), k, fewer(o->K - k, PRODUCT_DEPTH),
                         o->A + first * o->a_row + k * o->a_column};
}

/* from a block of A to `to`; nothing beyond the last */
static product_pack pack_of(const product_operands *o, const product_blocks *blocks, size_t block, float *to) {
  if (!blocks->packed || block >= blocks->count) return (product_pack){0};
  const product_place p = place_of(o, blocks, block);
  if (blocks->transposed)
    return (product_pack){p.element, o->a_column, p.rows, p.depth, to, PRODUCT_TRANSPOSED_STEP, 0};
  return (product_pack){p.element, o->a_row, p.depth, p.rows, to, PRODUCT_STEP, 0};
}

/* the columns of a block of C; copies: two, for the blocks of A that are packed */
static void product_columns(const product_operands *o, const product_blocks *blocks, product_copy *copies) {
  product_pack copy = pack_of(o, blocks, 0, blocks->packed ? copies[0] : NULL);
  for (size_t block = 0; block < blocks->count; block++) {
    const product_place p = place_of(o, blocks, block);
    product_left left = {p.rows, p.element, o->a_row, o->a_column};
    if (blocks->packed) {
      pack_runs(&copy, copy.count);
      left.element = copy.to;
      left.row = blocks->transposed ? 1 : PRODUCT_STEP;
      left.column = blocks->transposed ? PRODUCT_TRANSPOSED_STEP : 1;
    }
    copy = pack_of(o, blocks, block + 1, blocks->packed ? copies[(block + 1) % 2] : NULL);
    product_block(o, &left, p.first, p.k, p.depth, &copy);
  }
}

static void product(const product_operands *o) {
  if (o->M == 0 || o->N == 0) return;
  if (o->M == 1) {
    product_line(o);
    return;
  }
  product_blocks blocks = blocks_of(o);
  product_copy *copies = blocks.packed ? thread_workspace() : NULL;
  blocks.packed = copies != NULL; /* without memory it is slower and has the same bits */
  const size_t parts = (o->N + PRODUCT_BLOCK_COLUMNS - 1) / PRODUCT_BLOCK_COLUMNS;
  const size_t columns = (o->N + parts * PRODUCT_PANEL - 1) / (parts * PRODUCT_PANEL) * PRODUCT_PANEL;
  for (size_t j = 0; j < o->N; j += columns) {
    product_operands part = *o;
    part.N = fewer(o->N - j, columns);
    part.B += o->panels ? j * o->K : j;
    part.C += j;
    if (part.bias) part.bias += j;
    product_columns(&part, &blocks, copies);
  }
}

/* ---- transposes ---------------------------------------------------------------------------------- */

/* blocks of 4 x 4 in registers; tiles of as many lines, so that lines that conflict in the cache are few */
enum { QUAD = 4, TRANSPOSE_TILE = CACHE_LINE_FLOATS };
typedef float quad __attribute__((vector_size(4 * QUAD)));
typedef int quad_order __attribute__((vector_size(4 * QUAD)));

/* the lower, or the upper, halves of two registers, element by element in turn */
#if defined(__clang__)
#define LOWER(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define UPPER(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#else
#define LOWER(a, b) __builtin_shuffle(a, b, (quad_order){0, 4, 1, 5})
#define UPPER(a, b) __builtin_shuffle(a, b, (quad_order){2, 6, 3, 7})
#endif

VMATH void transpose_quads(const float *from, size_t from_row, float *to, size_t to_row) {
  quad in[QUAD], out[QUAD];
  for (size_t i = 0; i < QUAD; i++) memcpy(&in[i], from + i * from_row, sizeof in[i]);
  const quad even = LOWER(in[0], in[2]), odd = LOWER(in[1], in[3]);
  const quad even_above = UPPER(in[0], in[2]), odd_above = UPPER(in[1], in[3]);
  out[0] = LOWER(even, odd);
  out[1] = UPPER(even, odd);
  out[2] = LOWER(even_above, odd_above);
  out[3] = UPPER(even_above, odd_above);
  for (size_t i = 0; i < QUAD; i++) memcpy(to + i * to_row, &out[i], sizeof out[i]);
}

static void transpose_tile(size_t rows, size_t columns, const float *from, size_t from_row, float *to, size_t to_row) {
  const size_t whole_rows = rows / QUAD * QUAD, whole_columns = columns / QUAD * QUAD;
  for (size_t i = 0; i < whole_rows; i += QUAD)
    for (size_t j = 0; j < whole_columns; j += QUAD)
      transpose_quads(from + i * from_row + j, from_row, to + j * to_row + i, to_row);
  for (size_t i = 0; i < rows; i++)
    for (size_t j = i < whole_rows ? whole_columns : 0; j < columns; j++) to[j * to_row + i] = from[i * from_row + j];
}

static void transpose(size_t rows, size_t columns, const float *from, size_t from_row, float *to, size_t to_row) {
  for (size_t i = 0; i < rows; i += TRANSPOSE_TILE)
    for (size_t j = 0; j < columns; j += TRANSPOSE_TILE)
      transpose_tile(fewer(rows - i, TRANSPOSE_TILE), fewer(columns - j, TRANSPOSE_TILE), from + i * from_row + j,
                     from_row, to + j * to_row + i, to_row);
}
