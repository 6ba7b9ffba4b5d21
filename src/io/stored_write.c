/* SPDX-License-Identifier: MIT */
/* stored_write.c: the tables that a checkpoint is written from. */
#include "base/error.h"
#include "io/stored_blocks.h"

#include <stdio.h>

sparc_status stored_listing_create(stored_blocks b, size_t arrays, size_t tensors, size_t entries, stored_listing *l) {
  *l = (stored_listing){
      .tensor = sparc_alloc((arrays * b.blocks + tensors) * sizeof *l->tensor),
      .name = sparc_alloc(arrays * b.blocks * sizeof *l->name),
      .metadata = sparc_alloc((STORED_IDENTITIES + MAX_SETTINGS + entries) * sizeof *l->metadata),
      .value = sparc_alloc(MAX_SETTINGS * sizeof *l->value),
  };
  if (l->tensor && l->name && l->metadata && l->value) return SPARC_OK;
  return fail(SPARC_NO_MEMORY, "no memory for the tables of a checkpoint of %zu tensors", arrays * b.blocks + tensors);
}

void stored_listing_free(stored_listing *l) {
  void *memory[] = {l->tensor, l->name, l->metadata, l->value};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) sparc_free(memory[i]);
  *l = (stored_listing){.tensor = NULL};
}

void stored_list_tensor(stored_listing *l, const sparc_tensor_source *tensor) { l->tensor[l->tensors++] = *tensor; }

void stored_list_blocks(stored_listing *l, stored_blocks b, const block_array *array, size_t arrays) {
  for (size_t i = 0; i < b.blocks; i++)
    for (size_t k = 0; k < arrays; k++) {
      const sparc_block *block = &b.block[i];
      char *name = l->name[l->names++];
      snprintf(name, STORED_NAME, "%s%s", array[k].prefix, block->name);
      stored_list_tensor(l, &(sparc_tensor_source){.name = name,
                                                   .dtype = SPARC_F32,
                                                   .in_type = SPARC_F32,
                                                   .rank = block->rank,
                                                   .shape = {(size_t)block->shape[0], (size_t)block->shape[1]},
                                                   .data = array[k].data + block->offset});
    }
}

void stored_list_array(stored_listing *l, const stored_array *a) {
  stored_list_tensor(l, &(sparc_tensor_source){.name = a->name,
                                               .dtype = a->dtype,
                                               .in_type = a->dtype,
                                               .rank = 2,
                                               .shape = {a->rows, a->columns},
                                               .data = a->data});
}

void stored_list_format(stored_listing *l, const char *format, const char *version) {
  const char *const identity[STORED_IDENTITIES] = {format, version, sparc_version()};
  for (size_t i = 0; i < STORED_IDENTITIES; i++)
    l->metadata[l->entries++] = (sparc_metadata){stored_identity_keys[i], identity[i]};
}

void stored_list_settings(stored_listing *l, const settings_binding *binding) {
  l->entries += settings_list_metadata(binding, l->metadata + l->entries, l->value);
}

void stored_list_entries(stored_listing *l, const sparc_metadata *entry, size_t count) {
  for (size_t i = 0; i < count; i++) l->metadata[l->entries++] = entry[i];
}
