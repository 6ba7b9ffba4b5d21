/* SPDX-License-Identifier: MIT */
/* paper_device.c: `sparc bench paper --device NAME`: the paper's efficiency figure and tables on a device
 * [fig:gpu_efficiency, tab:naive_fixed_tokens, tab:naive_batch, tab:naive_correctness].
 *
 * As in the paper: BF16 inputs and outputs, FP32 inside, gradients of inputs and parameters, mixers without their
 * projections; a second row has them. Both cells use the same algorithm (src/device/kernels/strip.k). The bytes that
 * the kernels move are counted from their launches and compared with the copy rate of the same device.
 *
 * A device that is too slow for the paper's shapes, such as OpenCL on a CPU, gets shorter and narrower ones; the first
 * table says so.
 */
#include "base/error.h"
#include "bench/device/bits.h"
#include "bench/device/mixer.h"
#include "bench/device/naive.h"
#include "bench/device/scan.h"
#include "bench/device/timing.h"
#include "bench/suites/paper_shapes.h"
#include "bench/suites/suites.h"
#include "device/device.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct device_run {
  bench_session *session;
  sparc_device *device;
  sparc_device_info info;
  double copy;           /* bytes per second */
  double rate;           /* modes per second, of a forward pass that is long enough for any device */
  int shorter, narrower; /* what T and widths are divided by */
  bool lost;             /* the device: nothing more can be measured */
} device_run;

#define NUMBER(key, head, value, digits) \
  { key, head, NULL, value, digits }
#define TEXT(key, head, value, width) \
  { key, head, value, 0, width }

static void put_row(const device_run *run, const char *table, const char *title, const bench_entry *value, size_t n) {
  const bench_row row = {.table = table, .title = title, .value = value, .values = n};
  run->session->output->row(run->session->context, &row);
}
#define PUT_ROW(run, table, title, value) put_row(run, table, title, value, sizeof(value) / sizeof *(value))

/* a row that fails does not keep the others from being measured, unless the device is gone */
static bool row_failed(device_run *run, const char *row, sparc_status status) {
  char reason[400];
  snprintf(reason, sizeof reason, "%s", sparc_error());
  run->lost = run->lost || status == SPARC_DEVICE;
  return bench_failed(run->session, fail(status, "%s: %s", row, reason));
}

static bool goes_on(const device_run *run) {
  return !run->lost && !run->session->output->stopped(run->session->context);
}

/* stages of one row share the seconds of a problem */
static double stage_seconds(const device_run *run) { return run->session->settings.seconds / 8; }

/* ---- mixers -------------------------------------------------------------------------------------- */

typedef struct mixer_shape {
  device_mixer_config config;
  char options[64];
} mixer_shape;

static void make_shape(const device_run *run, int cell, int projection, int B, int T, int width, mixer_shape *out) {
  const char *bare = projection == BENCH_NO_PROJECTION ? "projection=none" : "";
  if (cell == BENCH_SPARC)
    snprintf(out->options, sizeof out->options, "%s", bare);
  else
    snprintf(out->options, sizeof out->options, "block=%d%s%s", PAPER_BLOCK / run->narrower, *bare ? "," : "", bare);
  out->config = (device_mixer_config){.cell = cell == BENCH_SPARC ? "sparc" : "rglru",
                                      .options = out->options,
                                      .B = B,
                                      .T = T / run->shorter,
                                      .D = width / run->narrower,
                                      .bf16 = 1};
}

/* enough inputs and outputs in turn that no cache holds them from one call to the next, within half of the memory */
static int sets_of(const device_run *run, const mixer_shape *shape) {
  const double rows = 8.0 * shape->config.B * shape->config.T * shape->config.D, beyond = 512.0 * (1 << 20);
  int sets = 1;
  while (run->shorter == 1 && sets < MIXER_SETS && sets * rows < beyond &&
         (sets + 1) * rows < 0.5 * (double)run->info.memory)
    sets++;
  return sets;
}

typedef struct mixer_cost {
  double forward, backward;             /* seconds */
  double forward_bytes, backward_bytes; /* that the kernels move, counted */
  double memory;                        /* allocated on the device */
} mixer_cost;

static sparc_status run_forward(void *context, size_t call) { return device_mixer_forward(context, call); }
static sparc_status run_backward(void *context, size_t call) { return device_mixer_backward(context, call); }

static sparc_status measure_mixer(const device_run *run, mixer_shape *shape, mixer_cost *cost) {
  device_mixer m;
  shape->config.sets = sets_of(run, shape);
  sparc_status status = device_mixer_count(&shape->config, &cost->forward_bytes, &cost->backward_bytes);
  if (status == SPARC_OK) status = device_mixer_create(run->device, &shape->config, &m);
  if (status != SPARC_OK) return status;
  cost->memory = (double)m.bytes;
  status = device_time(run->device, run_forward, &m, stage_seconds(run), &cost->forward);
  if (status == SPARC_OK) status = device_time(run->device, run_backward, &m, stage_seconds(run), &cost->backward);
  device_mixer_free(&m);
  return status;
}

static void put_mixer(const device_run *run, const paper_mixer *paper, int projection, const mixer_shape *shape,
                      const mixer_cost *sparc, const mixer_cost *rglru) {
  static const char *const titles[] = {
      "Panel (b): mixer forward and backward, fixed number of tokens. S: SPARC, R: RG-LRU, ms; GB/s: counted bytes.",
      "Panel (c): the same at a larger width.", "Panel (d): the same by batch size."};
  static const char *const tables[] = {"panel b", "panel c", "panel d"};
  const double tokens = (double)shape->config.B * shape->config.T;
  const double s = sparc->forward + sparc->backward, r = rglru->forward + rglru->backward;
  const double s_bytes = sparc->forward_bytes + sparc->backward_bytes;
  const double r_bytes = rglru->forward_bytes + rglru->backward_bytes;
  const bench_entry value[] = {
      NUMBER("B", "B", shape->config.B, 0),
      NUMBER("T", "T", shape->config.T, 0),
      NUMBER("width", "width", shape->config.D, 0),
      TEXT("projection", "proj", projection == BENCH_NO_PROJECTION ? "no" : "yes", 4),
      NUMBER("sparc_forward_ms", "S fwd", 1e3 * sparc->forward, 3),
      NUMBER("sparc_backward_ms", "S bwd", 1e3 * sparc->backward, 3),
      NUMBER("rglru_forward_ms", "R fwd", 1e3 * rglru->forward, 3),
      NUMBER("rglru_backward_ms", "R bwd", 1e3 * rglru->backward, 3),
      NUMBER("time_ratio", "S/R", s / r, 2),
      TEXT("paper_time_ratio", "paper's S/R", projection == BENCH_NO_PROJECTION ? paper->paper : "", 12),
      NUMBER("sparc_bytes_per_token", "S B/token", s_bytes / tokens, 0),
      NUMBER("rglru_bytes_per_token", "R B/token", r_bytes / tokens, 0),
      NUMBER("bytes_ratio", "S/R", s_bytes / r_bytes, 2),
      NUMBER("sparc_gb_per_s", "S GB/s", 1e-9 * s_bytes / s, 1),
      NUMBER("rglru_gb_per_s", "R GB/s", 1e-9 * r_bytes / r, 1),
      NUMBER("sparc_of_copy", "S/copy", s_bytes / s / run->copy, 2),
      NUMBER("sparc_memory_mib", "S MiB", sparc->memory / (1 << 20), 1),
      NUMBER("rglru_memory_mib", "R MiB", rglru->memory / (1 << 20), 1),
      NUMBER("memory_ratio", "S/R", sparc->memory / rglru->memory, 2),
  };
  PUT_ROW(run, tables[paper->panel - 'b'], titles[paper->panel - 'b'], value);
}

static bool mixer_row(device_run *run, const paper_mixer *paper, int projection) {
  mixer_shape shape[BENCH_CELLS];
  mixer_cost cost[BENCH_CELLS] = {{0}};
  char name[64];
  snprintf(name, sizeof name, "panel (%c), B = %d, T = %d, width %d", paper->panel, paper->B, paper->T, paper->width);
  for (int cell = 0; cell < BENCH_CELLS; cell++) {
    make_shape(run, cell, projection, paper->B, paper->T, paper->width, &shape[cell]);
    const sparc_status status = measure_mixer(run, &shape[cell], &cost[cell]);
    if (status != SPARC_OK) return row_failed(run, name, status);
  }
  put_mixer(run, paper, projection, &shape[0], &cost[BENCH_SPARC], &cost[BENCH_RGLRU]);
  return true;
}

static bool panel_mixers(device_run *run) {
  bool good = true;
  for (size_t i = 0; i < PAPER_MIXERS; i++) {
    if (run->session->settings.quick && i > 0 && paper_mixers[i].panel == paper_mixers[i - 1].panel) continue;
    for (int projection = 0; projection < BENCH_PROJECTIONS && goes_on(run); projection++)
      good = mixer_row(run, &paper_mixers[i], projection) && good;
  }
  return good;
}

/* ---- scans with given coefficients ---------------------------------------------------------------- */

static sparc_status run_scan_forward(void *context, size_t call) { return (void)call, device_scan_forward(context); }
static sparc_status run_scan_backward(void *context, size_t call) { return (void)call, device_scan_backward(context); }

static sparc_status measure_scan(const device_run *run, const sparc_device_scan_config *config, mixer_cost *cost) {
  device_scan s;
  sparc_status status = device_scan_count(config, &cost->forward_bytes, &cost->backward_bytes);
  if (status == SPARC_OK) status = device_scan_create(run->device, config, &s);
  if (status != SPARC_OK) return status;
  status = device_time(run->device, run_scan_forward, &s, stage_seconds(run), &cost->forward);
  if (status == SPARC_OK) status = device_time(run->device, run_scan_backward, &s, stage_seconds(run), &cost->backward);
  device_scan_free(&s);
  return status;
}

static void put_scan(const device_run *run, int T, int width, const mixer_cost *sparc, const mixer_cost *rglru) {
  const double tokens = (double)PAPER_SCAN_B * T;
  const bench_entry value[] = {
      NUMBER("B", "B", PAPER_SCAN_B, 0),
      NUMBER("T", "T", T, 0),
      NUMBER("width", "width", width, 0),
      NUMBER("sparc_forward_ms", "S fwd", 1e3 * sparc->forward, 3),
      NUMBER("rglru_forward_ms", "R fwd", 1e3 * rglru->forward, 3),
      NUMBER("forward_speedup", "R/S", rglru->forward / sparc->forward, 2),
      NUMBER("sparc_backward_ms", "S bwd", 1e3 * sparc->backward, 3),
      NUMBER("rglru_backward_ms", "R bwd", 1e3 * rglru->backward, 3),
      NUMBER("backward_speedup", "R/S", rglru->backward / sparc->backward, 2),
      TEXT("paper_speedup", "paper's R/S", "3.1 to 4.7", 10),
      NUMBER("sparc_bytes_per_token", "S B/token", sparc->forward_bytes / tokens, 0),
      NUMBER("rglru_bytes_per_token", "R B/token", rglru->forward_bytes / tokens, 0),
      NUMBER("bytes_ratio", "R/S", rglru->forward_bytes / sparc->forward_bytes, 2),
      NUMBER("backward_bytes_ratio", "R/S bwd", rglru->backward_bytes / sparc->backward_bytes, 2),
      NUMBER("sparc_gb_per_s", "S GB/s", 1e-9 * sparc->forward_bytes / sparc->forward, 1),
      NUMBER("rglru_gb_per_s", "R GB/s", 1e-9 * rglru->forward_bytes / rglru->forward, 1),
      NUMBER("sparc_of_copy", "S/copy", sparc->forward_bytes / sparc->forward / run->copy, 2),
  };
  PUT_ROW(
      run, "panel a",
      "Panel (a): scans with given coefficients. S: SPARC, two controls a token; R: RG-LRU, a transition a coordinate "
      "in FP32; times in ms, bytes forward.",
      value);
}

static bool scan_row(device_run *run, int length) {
  const float kappa_r = 2.7725887f, kappa_p = 1.5707963f; /* log 16 and pi / 2 */
  const int T = length / run->shorter, width = PAPER_SCAN_WIDTH / run->narrower;
  const sparc_device_scan_config config[BENCH_CELLS] = {
      [BENCH_SPARC] = {SPARC_SCAN_SPECTRAL, PAPER_SCAN_B, T, width / 2, kappa_r, kappa_p, 1, 0},
      [BENCH_RGLRU] = {SPARC_SCAN_REAL, PAPER_SCAN_B, T, width, 0, 0, 1, 0}};
  mixer_cost cost[BENCH_CELLS] = {{0}};
  char name[32];
  snprintf(name, sizeof name, "panel (a), T = %d", length);
  for (int cell = 0; cell < BENCH_CELLS; cell++) {
    const sparc_status status = measure_scan(run, &config[cell], &cost[cell]);
    if (status != SPARC_OK) return row_failed(run, name, status);
  }
  put_scan(run, T, width, &cost[BENCH_SPARC], &cost[BENCH_RGLRU]);
  return true;
}

static bool panel_scans(device_run *run) {
  bool good = true;
  for (size_t i = 0; i < (run->session->settings.quick ? 1 : PAPER_SCANS) && goes_on(run); i++)
    good = scan_row(run, paper_scan_lengths[i]) && good;
  return good;
}

/* ---- the naive way -------------------------------------------------------------------------------- */

static sparc_status run_naive_forward(void *context, size_t call) { return (void)call, device_naive_forward(context); }
static sparc_status run_naive_backward(void *context, size_t call) {
  return (void)call, device_naive_backward(context);
}

static sparc_status measure_naive(const device_run *run, const mixer_shape *shape, mixer_cost *cost) {
  device_naive *naive;
  sparc_status status = device_naive_create(run->device, &shape->config, &naive);
  if (status == SPARC_OK)
    status = device_time(run->device, run_naive_forward, naive, stage_seconds(run), &cost->forward);
  if (status == SPARC_OK)
    status = device_time(run->device, run_naive_backward, naive, stage_seconds(run), &cost->backward);
  device_naive_free(naive);
  return status;
}

static bool naive_row(device_run *run, const paper_naive *paper) {
  mixer_shape shape;
  mixer_cost naive = {0}, fused = {0};
  char name[64];
  snprintf(name, sizeof name, "naive, B = %d, T = %d, width %d", paper->B, paper->T, paper->width);
  const char *table = strcmp(paper->table, "batch") == 0 ? "naive batch" : "naive fixed tokens";
  make_shape(run, BENCH_SPARC, BENCH_NO_PROJECTION, paper->B, paper->T, paper->width, &shape);
  sparc_status status = measure_mixer(run, &shape, &fused);
  if (status == SPARC_OK) status = measure_naive(run, &shape, &naive);
  if (status != SPARC_OK) return row_failed(run, name, status);
  const double naive_both = naive.forward + naive.backward, fused_both = fused.forward + fused.backward;
  const bench_entry value[] = {
      NUMBER("B", "B", shape.config.B, 0),
      NUMBER("T", "T", shape.config.T, 0),
      NUMBER("width", "width", shape.config.D, 0),
      NUMBER("naive_backward_ms", "naive bwd", 1e3 * naive.backward, 3),
      NUMBER("backward_ms", "bwd", 1e3 * fused.backward, 3),
      NUMBER("backward_speedup", "ratio", naive.backward / fused.backward, 1),
      NUMBER("naive_ms", "naive f+b", 1e3 * naive_both, 3),
      NUMBER("ms", "f+b", 1e3 * fused_both, 3),
      NUMBER("speedup", "ratio", naive_both / fused_both, 1),
      NUMBER("paper_backward_ms", "paper's bwd", paper->backward[1], 3),
      NUMBER("paper_backward_speedup", "ratio", paper->backward[0] / paper->backward[1], 1),
      NUMBER("paper_ms", "paper's f+b", paper->both[1], 3),
      NUMBER("paper_speedup", "ratio", paper->both[0] / paper->both[1], 1),
  };
  PUT_ROW(run, table,
          "SPARC step by step (naive) and whole sequences, no projection, times in ms; the paper's are of its "
          "own naive program and GPU.",
          value);
  return true;
}

static bool tables_naive(device_run *run) {
  bool good = true;
  for (size_t i = 0; i < PAPER_NAIVES && goes_on(run); i++) {
    if (run->session->settings.quick && i > 0) break;
    good = naive_row(run, &paper_naives[i]) && good;
  }
  return good;
}

/* ---- agreement ------------------------------------------------------------------------------------ */

/* the paper's normalised errors, by the names of our blocks */
static double paper_error(const char *tensor) {
  static const struct {
    const char *tensor;
    double error;
  } paper[] = {{"y", 5.66e-7},        {"dx", 5.28e-7},         {"log_decay", 1.17e-6},
               {"log_freq", 6.58e-7}, {"ctrl_phase", 7.09e-7}, {"ctrl_retention", 1.43e-6},
               {"log_gain", 3.32e-7}, {"gate_phase", 2.38e-7}, {"gate_retention", 1.27e-7}};
  for (size_t i = 0; i < sizeof paper / sizeof *paper; i++)
    if (strcmp(paper[i].tensor, tensor) == 0) return paper[i].error;
  return NAN;
}

static bool put_agreement(const device_run *run, const char *tensor, double tolerance, const float *got,
                          const double *want, size_t n) {
  double error = 0, largest = 1;
  for (size_t i = 0; i < n; i++) {
    const double off = fabs((double)got[i] - want[i]);
    if (!(off <= error)) error = off;
    if (fabs(want[i]) > largest) largest = fabs(want[i]);
  }
  const bool good = error / largest <= tolerance;
  char absolute[32], norm[32], paper[32];
  snprintf(absolute, sizeof absolute, "%.2e", error);
  snprintf(norm, sizeof norm, "%.2e", error / largest);
  snprintf(paper, sizeof paper, "%.2e", paper_error(tensor));
  const bench_entry value[] = {TEXT("tensor", "tensor", tensor, 16), TEXT("e_abs", "E_abs", absolute, 9),
                               TEXT("e_norm", "E_norm", norm, 9), TEXT("paper_e_norm", "paper's E_norm", paper, 9),
                               TEXT("verdict", "verdict", good ? "agrees" : "DIFFERS", 8)};
  PUT_ROW(run, "agreement", "Agreement with the double-precision reference, (B, T, width) = (2, 64, 32), FP32.", value);
  return good;
}

/* buffer: as many floats as the longest array has */
static sparc_status compare_all(const device_run *run, const device_mixer *m, float *x, float *dy, float *buffer,
                                bool *good) {
  bench_reference_result want = {.memory = NULL};
  sparc_status status = device_mixer_read(m, MIXER_X, x);
  if (status == SPARC_OK) status = device_mixer_read(m, MIXER_DY, dy);
  if (status == SPARC_OK) status = bench_reference(&m->cell, m->config.B, m->config.T, x, dy, &want);
  if (status == SPARC_OK) status = device_mixer_forward(m, 0);
  if (status == SPARC_OK) status = device_mixer_backward(m, 0);
  if (status == SPARC_OK) status = device_mixer_read(m, MIXER_Y, buffer);
  if (status == SPARC_OK)
    *good = put_agreement(run, "y", OUTPUT_TOLERANCE, buffer, want.y, device_mixer_elements(m, MIXER_Y));
  if (status == SPARC_OK) status = device_mixer_read(m, MIXER_DX, buffer);
  if (status == SPARC_OK)
    *good &= put_agreement(run, "dx", GRADIENT_TOLERANCE, buffer, want.dx, device_mixer_elements(m, MIXER_DX));
  const size_t params = sparc_cell_sizes_of(m->cell.cell).params;
  if (status == SPARC_OK) status = sparc_memory_read(m->block[MIXER_DPARAMS], buffer, params * sizeof *buffer);
  size_t count;
  const sparc_block *blocks = sparc_cell_blocks(m->cell.cell, &count);
  for (size_t i = 0; i < count && status == SPARC_OK; i++)
    *good &= put_agreement(run, blocks[i].name, GRADIENT_TOLERANCE, buffer + blocks[i].offset,
                           want.dparams + blocks[i].offset, blocks[i].size);
  sparc_free(want.memory);
  return status;
}

static bool table_agreement(device_run *run) {
  enum { B = 2, T = 64, WIDTH = 32 };
  const size_t longest = (size_t)B * T * WIDTH;
  const device_mixer_config config = {.cell = "sparc", .options = "projection=none", .B = B, .T = T, .D = WIDTH};
  device_mixer m;
  bool good = true;
  if (!goes_on(run)) return false;
  sparc_status status = device_mixer_create(run->device, &config, &m);
  if (status != SPARC_OK) return row_failed(run, "agreement", status);
  float *buffer = sparc_alloc(3 * longest * sizeof *buffer);
  status = buffer ? compare_all(run, &m, buffer, buffer + longest, buffer + 2 * longest, &good)
                  : fail(SPARC_NO_MEMORY, "no memory for the results of a mixer");
  sparc_free(buffer);
  device_mixer_free(&m);
  return status == SPARC_OK ? good : row_failed(run, "agreement", status);
}

/* ---- bits ------------------------------------------------------------------------------------------ */

static bool table_bits(device_run *run) {
  bool good = true;
  for (int i = 0; i < DEVICE_BITS && goes_on(run); i++) {
    const device_bits *committed = &device_bits_committed[i];
    uint64_t hash;
    const sparc_status status = device_bits_of(run->device, i, &hash);
    if (status != SPARC_OK) {
      good = row_failed(run, committed->name, status);
      continue;
    }
    const bool equal = hash == committed->committed, exact = run->info.exact && !run->session->settings.fast;
    char got[17], want[17];
    snprintf(got, sizeof got, "%016" PRIx64, hash);
    snprintf(want, sizeof want, "%016" PRIx64, committed->committed);
    const bench_entry value[] = {TEXT("mixer", "mixer", committed->name, 22), TEXT("hash", "hash", got, 16),
                                 TEXT("committed", "committed", want, 16),
                                 TEXT("verdict", "verdict",
                                      equal   ? "equal"
                                      : exact ? "DIFFERS"
                                              : "differs, as approximations may",
                                      8)};
    PUT_ROW(run, "bits", "Bits of outputs and gradients, equal on every device with exact arithmetic.", value);
    good = good && (equal || !exact);
  }
  return good;
}

/* ---- the device ------------------------------------------------------------------------------------ */

static void put_device(const device_run *run) {
  const bench_settings *settings = &run->session->settings;
  char shapes[200];
  if (run->shorter == 1)
    snprintf(shapes, sizeof shapes, "the paper's");
  else
    snprintf(shapes, sizeof shapes,
             "REDUCED: T / %d, widths / %d. This device is too slow for the paper's shapes; its times say nothing "
             "about a GPU",
             run->shorter, run->narrower);
  const bench_entry value[] = {
      TEXT("name", "name", run->info.name, 0),
      TEXT("platform", "platform", run->info.platform, 0),
      TEXT("driver", "driver", run->info.driver, 0),
      TEXT("backend", "backend", settings->device, 0),
      NUMBER("units", "compute units", run->info.units, 0),
      NUMBER("memory_mib", "memory, MiB", (double)run->info.memory / (1 << 20), 0),
      TEXT("arithmetic", "arithmetic", settings->fast ? "fast" : "exact", 0),
      NUMBER("copy_gb_per_s", "copy, GB/s read and written", 1e-9 * run->copy, 1),
      NUMBER("modes_per_s", "modes per second, a forward pass", run->rate, 0),
      TEXT("shapes", "shapes", shapes, 0),
      TEXT("quick", "rows", settings->quick ? "the first of each table (--quick)" : "all", 0),
  };
  const bench_row row = {
      .table = "device", .title = "Device", .value = value, .values = sizeof value / sizeof *value, .list = true};
  run->session->output->row(run->session->context, &row);
}

/* modes per second of a forward pass */
static sparc_status probe(const device_run *run, int B, int T, int width, double *rate) {
  const device_mixer_config config = {
      .cell = "sparc", .options = "projection=none", .B = B, .T = T, .D = width, .bf16 = 1};
  device_mixer m;
  double seconds;
  sparc_status status = device_mixer_create(run->device, &config, &m);
  if (status != SPARC_OK) return status;
  status = device_time(run->device, run_forward, &m, stage_seconds(run), &seconds);
  device_mixer_free(&m);
  if (status == SPARC_OK) *rate = (double)B * T * width / 2 / seconds;
  return status;
}

/* A GPU does 10^10 modes a second, OpenCL on a CPU 10^7 to 10^8, the driver over fibres of our tests 10^5 to 10^6. */
static sparc_status choose_shapes(device_run *run) {
  static const struct {
    double below;
    int shorter, narrower;
  } sizes[] = {{5e6, 256, 64}, {2e8, 32, 16}, {INFINITY, 1, 1}};
  size_t i = 0;
  sparc_status status = probe(run, 1, 64, 128, &run->rate);
  if (status == SPARC_OK && run->rate >= sizes[0].below) status = probe(run, 4, 256, 512, &run->rate);
  while (run->rate >= sizes[i].below) i++;
  run->shorter = sizes[i].shorter;
  run->narrower = sizes[i].narrower;
  return status;
}

bool suite_paper_device(bench_session *session) {
  device_run run = {.session = session};
  sparc_device_config config = {.fast = session->settings.fast};
  sparc_status status = device_parse(session->settings.device, &config);
  if (status == SPARC_OK) status = sparc_device_open(&config, &run.device);
  if (status == SPARC_OK) {
    run.info = sparc_device_info_of(run.device);
    status = device_copy_rate(run.device, stage_seconds(&run), &run.copy);
  }
  if (status == SPARC_OK) status = choose_shapes(&run);
  bool good = status == SPARC_OK || bench_failed(session, status);
  if (good) {
    put_device(&run);
    good = panel_scans(&run);
    good = panel_mixers(&run) && good;
    good = tables_naive(&run) && good;
    good = table_agreement(&run) && good;
    good = table_bits(&run) && good && !run.lost;
  }
  sparc_device_close(run.device);
  return good;
}
