/* SPDX-License-Identifier: MIT */
/* network_inspect.c: inspection of the cells of layers: a forward pass in float, then the inspection of each cell on
 * its inputs. */
#include "nn/network_inspect.h"

#include "base/error.h"
#include "nn/network_run.h"

typedef struct visitor {
  layer_visit *visit;
  void *user;
} visitor;

static sparc_status inspect_layers(const sparc_network_plan *plan, const float *params, int first, int last,
                                   const sparc_network_sequence *sequence, float *prepared, void *work, visitor to) {
  const sparc_network *network = plan->network;
  sparc_status status = sparc_network_prepare(network, params, prepared);
  if (status == SPARC_OK) status = sparc_network_forward(plan, prepared, sequence, work);
  for (int layer = first; layer <= last && status == SPARC_OK; layer++) {
    sparc_inspection *seen;
    sparc_sequence input;
    const sparc_layer *at = network->layer[layer];
    if (!network_cell_sequence(plan, sequence, (size_t)layer, work, &input))
      return fail(SPARC_UNSUPPORTED, "layer %d, of kind %s, is not built around a cell", layer, at->kind->name);
    status = sparc_cell_inspect(at->cell, params + at->params_at + at->cell_params, plan->B, plan->T, &input, &seen);
    if (status == SPARC_OK) to.visit(to.user, layer, seen);
  }
  return status;
}

sparc_status network_inspect_layers(const sparc_network *network, const float *params, int first, int last, int B,
                                    int T, const sparc_network_sequence *sequence, layer_visit *visit, void *user) {
  sparc_network_plan *plan;
  sparc_status status = sparc_network_plan_create(network, B, T, 0, &plan);
  if (status != SPARC_OK) return status;
  float *prepared = sparc_alloc(network->sizes.prepared * sizeof *prepared);
  void *work = sparc_alloc(sparc_network_plan_work_bytes(plan, SPARC_FLOAT32));
  status = prepared && work
               ? inspect_layers(plan, params, first, last, sequence, prepared, work, (visitor){visit, user})
               : fail(SPARC_NO_MEMORY, "no memory to run %d sequences of %d steps", B, T);
  sparc_free(work);
  sparc_free(prepared);
  sparc_network_plan_free(plan);
  return status;
}

static void keep(void *user, int layer, sparc_inspection *seen) {
  (void)layer;
  *(sparc_inspection **)user = seen;
}

sparc_status sparc_network_inspect(const sparc_network *network, const float *params, int layer, int B, int T,
                                   const sparc_network_sequence *sequence, sparc_inspection **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected where to put the inspection");
  *out = NULL;
  if (!network || !params || !sequence)
    return fail(SPARC_INVALID, "%s is NULL", !network ? "network" : !params ? "params" : "sequence");
  if (layer < 0 || (size_t)layer >= network->layers)
    return fail(SPARC_INVALID, "layer is %d, expected 0 to %zu", layer, network->layers - 1);
  return network_inspect_layers(network, params, layer, layer, B, T, sequence, keep, out);
}
