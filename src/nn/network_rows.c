/* SPDX-License-Identifier: MIT */
/* network_rows.c: embedding and heads, forward and backward side by side, and the weights as products read them. */
#include "base/error.h"
#include "base/threads.h"
#include "nn/layer_impl.h"
#include "nn/network_rows_impl.h"

#include <string.h>

/* ---- prepare ----------------------------------------------------------------------------------- */

/* no way out of the loop, so that it becomes vector code */
static bool is_finite(size_t n, const real *values) {
  int wrong = 0;
  for (size_t i = 0; i < n; i++) wrong |= !isfinite(values[i]);
  return !wrong;
}

static sparc_status check_finite(const sparc_network *net, const real *params) {
  if (is_finite(net->sizes.params, params)) return SPARC_OK;
  for (size_t b = 0; b < net->blocks; b++)
    for (size_t i = net->block[b].offset; i < net->block[b].offset + net->block[b].size; i++)
      if (!isfinite(params[i]))
        return fail(SPARC_NOT_FINITE, "params: element %zu of %s is %g, expected a finite number",
                    i - net->block[b].offset, net->block[b].name, (double)params[i]);
  return SPARC_OK;
}

sparc_status check_precision(const sparc_network *net) {
  for (size_t i = 0; i < net->layers; i++)
    if (!TYPED(layer_ops_of)(net->layer[i]))
      return fail(SPARC_UNSUPPORTED, "layer %zu, of kind %s, has no calls in " REAL_NAME, i, net->layer[i]->kind->name);
  return SPARC_OK;
}

sparc_status PUBLIC(sparc_network_prepare)(const sparc_network *net, const real *params, real *prepared) {
  if (!net || !params || !prepared)
    return fail(SPARC_INVALID, "%s is NULL", !net ? "network" : !params ? "params" : "prepared");
  sparc_status status = check_precision(net);
  if (status == SPARC_OK) status = check_finite(net, params);
  if (status != SPARC_OK) return status;
  memcpy(prepared, params, net->sizes.params * sizeof(real));
  prepare_dense(net->kernels, &net->embed, params, prepared);
  for (size_t i = 0; i < net->layers; i++) {
    const sparc_layer *layer = net->layer[i];
    const TYPED(layer_ops) *ops = TYPED(layer_ops_of)(layer);
    if (ops->prepare) ops->prepare(layer, params + layer->params_at, prepared + layer->prepared_at);
  }
  for (int i = 0; i < net->config.heads; i++) {
    prepare_dense(net->kernels, &net->head[i].hidden, params, prepared);
    prepare_dense(net->kernels, &net->head[i].linear, params, prepared);
  }
  return SPARC_OK;
}

/* offsets of embedding and heads are those of the network's arrays */
static weight_view weights_of(const sparc_network *net, const real *prepared) {
  return (weight_view){net->kernels, prepared, prepared};
}

/* ---- symbols ----------------------------------------------------------------------------------- */

sparc_status check_symbols(const sparc_network *net, size_t n, const real *x) {
  const int symbols = net->config.symbols;
  for (size_t i = 0; reads_symbols(net) && i < n; i++)
    if (!(x[i] >= 0 && x[i] < (real)symbols) || x[i] != (real)(int)x[i])
      return fail(SPARC_INVALID, "x[%zu] is %g, expected a symbol, a whole number from 0 to %d", i, (double)x[i],
                  symbols - 1);
  return SPARC_OK;
}

static void look_up(const sparc_network *net, const real *prepared, size_t n, const real *x, real *e) {
  const size_t width = net->embed.out;
  const real *table = prepared + net->embed.weight;
  for (size_t t = 0; t < n; t++) memcpy(e + t * width, table + (size_t)x[t] * width, width * sizeof *e);
}

/* columns of the table that are summed together */
enum { COLUMN_TILE = 16 };

typedef struct symbol_job {
  const sparc_network *net;
  size_t n;
  const real *x, *de;
  real *dparams;
} symbol_job;

/* dE[x_t] += de_t in the order of tokens; a tile has columns of its own */
static void add_symbol_tile(void *context, size_t tile) {
  const symbol_job *job = context;
  const size_t width = job->net->embed.out;
  const range columns = range_of(width, COLUMN_TILE, tile);
  real *table = job->dparams + job->net->embed.weight + columns.first;
  for (size_t t = 0; t < job->n; t++) {
    const real *de = job->de + t * width + columns.first;
    real *row = table + (size_t)job->x[t] * width;
    for (size_t i = 0; i < columns.n; i++) row[i] += de[i];
  }
}

/* ---- embedding --------------------------------------------------------------------------------- */

void embed_rows(const sparc_network *net, const real *prepared, size_t n, const real *x, real *e) {
  const weight_view w = weights_of(net, prepared);
  if (reads_symbols(net))
    look_up(net, prepared, n, x, e);
  else
    dense_rows(&w, &net->embed, n, x, e, net->embed.out);
  if (net->config.embedding == SPARC_EMBED_TANH) tanh_forward(net->kernels, n * net->embed.out, e, e);
}

void embed_rows_backward(const sparc_network *net, const real *prepared, size_t n, const real *e, real *de, real *dx) {
  const weight_view w = weights_of(net, prepared);
  if (net->config.embedding == SPARC_EMBED_TANH) tanh_backward(n * net->embed.out, e, de, de);
  if (dx) dense_rows_backward(&w, &net->embed, n, de, net->embed.out, 0, dx);
}

void embed_gradient(const sparc_network *net, int threads, size_t n, const real *x, const real *de, real *dparams) {
  if (reads_symbols(net)) {
    symbol_job job = {net, n, x, de, dparams};
    parallel_for(threads, tiles_of(net->embed.out, COLUMN_TILE), add_symbol_tile, &job);
    return;
  }
  const weight_job job = {&net->embed, n, x, de, net->embed.out};
  add_weight_gradients(net->kernels, threads, &job, 1, dparams);
}

/* ---- heads ------------------------------------------------------------------------------------- */

void head_rows(const sparc_network *net, const real *prepared, const network_head *head, size_t n, const real *z,
               real *hidden, real *out, size_t stride) {
  const size_t width = head->hidden.out;
  const weight_view w = weights_of(net, prepared);
  if (head->input == SPARC_HEAD_CONSTANT) {
    for (size_t t = 0; t < n; t++)
      memcpy(out + t * stride, prepared + head->linear.bias, head->linear.out * sizeof *out);
    return;
  }
  if (width) {
    dense_rows(&w, &head->hidden, n, z, hidden, width);
    tanh_forward(net->kernels, n * width, hidden, hidden);
  }
  dense_rows(&w, &head->linear, n, width ? hidden : z, out, stride);
}

void head_rows_backward(const sparc_network *net, const real *prepared, const network_head *head, size_t n,
                        const real *dout, size_t stride, const real *hidden, real *dhidden, int accumulate, real *dz) {
  const size_t width = head->hidden.out;
  const weight_view w = weights_of(net, prepared);
  if (!width) {
    dense_rows_backward(&w, &head->linear, n, dout, stride, accumulate, dz);
    return;
  }
  dense_rows_backward(&w, &head->linear, n, dout, stride, 0, dhidden);
  tanh_backward(n * width, hidden, dhidden, dhidden);
  dense_rows_backward(&w, &head->hidden, n, dhidden, width, accumulate, dz);
}

size_t head_weight_jobs(const network_head *head, size_t n, const real *z, const real *hidden, const real *dhidden,
                        const real *dout, size_t stride, weight_job *jobs) {
  const size_t width = head->hidden.out;
  jobs[0] = (weight_job){&head->linear, n, width ? hidden : z, dout, stride};
  if (width) jobs[1] = (weight_job){&head->hidden, n, z, dhidden, width};
  return width ? 2 : 1;
}
