/* SPDX-License-Identifier: MIT */
/* model_write.c: a network and its parameters, wherever they were trained, as a model file. */
#include "base/error.h"
#include "train/checkpoint.h"

#include <math.h>

static sparc_status check_params(const sparc_network *network, const float *params) {
  size_t blocks;
  const sparc_block *block = sparc_network_blocks(network, &blocks);
  for (size_t b = 0; b < blocks; b++)
    for (size_t i = 0; i < block[b].size; i++)
      if (!isfinite(params[block[b].offset + i]))
        return fail(SPARC_NOT_FINITE, "element %zu of '%s' is not finite", i, block[b].name);
  return SPARC_OK;
}

sparc_status sparc_network_save(const sparc_network *network, const float *params,
                                const sparc_preprocessing *preprocessing, const sparc_metadata *extra,
                                size_t extra_count, const char *path) {
  if (!network || !params || !path)
    return fail(SPARC_INVALID, "%s is NULL", !network ? "network" : !params ? "params" : "path");
  checkpoint_content content = {.network = network,
                                .state = {.config = sparc_train_defaults(NULL), .examples = 1}, /* the minimum */
                                .numbers = {.params = (float *)params},
                                .preprocessing = preprocessing,
                                .extra = extra,
                                .extra_count = extra_count};
  content.state.config.network = sparc_network_config_of(network);
  if (content.state.config.network.heads != 1)
    return fail(SPARC_UNSUPPORTED, "the network has %d heads, expected 1 as in all models",
                content.state.config.network.heads);
  content.state.head = *content.state.config.network.head;
  const sparc_status status = check_params(network, params);
  return status == SPARC_OK ? checkpoint_write(path, &content) : status;
}
