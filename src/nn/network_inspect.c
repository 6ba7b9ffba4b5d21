/* SPDX-License-Identifier: MIT */
/* network_inspect.c: one layer's cell under the inputs that the network gives it: a forward in float, then the
 * inspection of the cell over what reached it. */
#include "base/error.h"
#include "nn/network_run.h"
#include "sparc/inspect.h"

static sparc_status inspect_layer(const sparc_network_plan *plan, const float *params, size_t layer,
                                  const sparc_network_sequence *sequence, float *prepared, void *work,
                                  sparc_inspection **out) {
  const sparc_network *network = plan->network;
  sparc_status status = sparc_network_prepare(network, params, prepared);
  if (status == SPARC_OK) status = sparc_network_forward(plan, prepared, sequence, work);
  if (status != SPARC_OK) return status;
  const sparc_sequence seen = network_cell_sequence(plan, sequence, layer, work);
  return sparc_cell_inspect(network->cell, params + network->layer[layer].cell, plan->B, plan->T, &seen, out);
}

sparc_status sparc_network_inspect(const sparc_network *network, const float *params, int layer, int B, int T,
                                   const sparc_network_sequence *sequence, sparc_inspection **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected where to put the inspection");
  *out = NULL;
  if (!network || !params || !sequence)
    return fail(SPARC_INVALID, "%s is NULL", !network ? "network" : !params ? "params" : "sequence");
  if (layer < 0 || (size_t)layer >= cells_of(network))
    return fail(SPARC_INVALID, "layer is %d, expected 0 to %zu", layer, cells_of(network) - 1);
  sparc_network_plan *plan;
  sparc_status status = sparc_network_plan_create(network, B, T, 0, &plan);
  if (status != SPARC_OK) return status;
  float *prepared = sparc_alloc(network->sizes.prepared * sizeof *prepared);
  void *work = sparc_alloc(sparc_network_plan_work_bytes(plan));
  status = prepared && work ? inspect_layer(plan, params, (size_t)layer, sequence, prepared, work, out)
                            : fail(SPARC_NO_MEMORY, "no memory to run %d sequences of %d steps", B, T);
  sparc_free(work);
  sparc_free(prepared);
  sparc_network_plan_free(plan);
  return status;
}
