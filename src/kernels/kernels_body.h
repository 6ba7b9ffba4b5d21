/* SPDX-License-Identifier: MIT */
/* kernels_body.h: the kernels, once. Included by one small file per instruction set, which defines KERNEL_TABLE.
 *
 * Time runs in the outer loop, modes in the inner one: modes are independent, so the inner loop vectorises and its
 * iterations overlap, while state, constants and sums of a tile stay in the first-level cache.
 */
#include "kernels/bf16_body.h"
#include "kernels/diagonal_body.h"
#include "kernels/gru_body.h"
#include "kernels/kernels.h"
#include "kernels/pointwise_body.h"
#include "kernels/product_body.h"
#include "kernels/rtrl_body.h"
#include "kernels/scan_body.h"
#include "kernels/sparc_body.h"

extern const kernels KERNEL_TABLE;

#ifdef SPARC_INFERENCE

/* what goes forward; a token without the drivers of its traces */
#define DEFINE_TOKEN(name, controls, decay, clock, gate, norm, linear, floor)                 \
  static void forward_token_##name(const sparc_token_rows *rows) {                            \
    token_rows(rows, RULES(controls, decay, clock, gate, norm, linear), floor, false, false); \
  }
SPARC_INSTANCES(DEFINE_TOKEN)
#define FORWARD_TOKEN_SLOT(name, ...) [SPARC_INSTANCE_##name] = forward_token_##name,

const kernels KERNEL_TABLE = {
    .name = KERNEL_NAME,
    .product = product,
    .product_panel = PRODUCT_PANEL,
    .transpose = transpose,
    .sparc_scan = {SPARC_INSTANCES(SCAN_SLOT)},
    .sparc_token = {SPARC_INSTANCES(FORWARD_TOKEN_SLOT)},
    .gru = {.advance = gru_advance},
    .pointwise = {.norm = norm_rows, .gelu = gelu_rows, .glu = glu_rows, .tanh = tanh_entries},
    .diagonal = {.spectrum_scan = spectrum_scan,
                 .loop_scan = loop_scan,
                 .loop_read = loop_read,
                 .loop_token = loop_token,
                 .rglru_token = rglru_token,
                 .rglru_scan = rglru_scan,
                 .gate = open_gates,
                 .controls = shared_controls,
                 .silu_gate = silu_gate},
};

#else

const kernels KERNEL_TABLE = {
    .name = KERNEL_NAME,
    .product = product,
    .product_panel = PRODUCT_PANEL,
    .transpose = transpose,
    .sparc_scan = {SPARC_INSTANCES(SCAN_SLOT)},
    .sparc_adjoint = {SPARC_INSTANCES(ADJOINT_SLOT)},
    .sparc_token = {SPARC_INSTANCES(TOKEN_SLOT)},
    .sparc_control_sums = control_sums,
    .gru = GRU_KERNELS,
    .pointwise = POINTWISE_KERNELS,
    .bf16 = BF16_KERNELS,
    .diagonal = DIAGONAL_KERNELS,
    .rtrl = RTRL_KERNELS,
    .scan = SCAN_KERNELS,
};

#endif
