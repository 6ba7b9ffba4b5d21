/* SPDX-License-Identifier: MIT */
/* stored_blocks.c: checkpoints from untrusted files. */
#include "io/stored_blocks.h"

#include "base/c_locale.h"
#include "base/error.h"
#include "io/dtype.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const stored_identity_keys[STORED_IDENTITIES] = {"format", "format_version", "sparc_version"};

/* calls `each` for the blocks in the order of the file */
static sparc_status visit(const sparc_tensors *file, const char *path, stored_blocks b, const block_array *array,
                          size_t arrays,
                          sparc_status (*each)(const sparc_tensors *file, const char *path, const sparc_block *block,
                                               const block_array *array, const char *name)) {
  sparc_status status = SPARC_OK;
  for (size_t i = 0; i < b.blocks; i++)
    for (size_t k = 0; k < arrays && status == SPARC_OK; k++) {
      char name[STORED_NAME];
      snprintf(name, sizeof name, "%s%s", array[k].prefix, b.block[i].name);
      status = each(file, path, &b.block[i], &array[k], name);
    }
  return status;
}

static sparc_status check_block(const sparc_tensors *file, const char *path, const sparc_block *block,
                                const block_array *array, const char *name) {
  const size_t shape[2] = {(size_t)block->shape[0], (size_t)block->shape[1]};
  (void)array;
  return stored_tensor_check(file, path, name, SPARC_F32, shape, block->rank);
}

static sparc_status read_block(const sparc_tensors *file, const char *path, const sparc_block *block,
                               const block_array *array, const char *name) {
  return stored_f32_read(file, path, name, array->least, array->data + block->offset, block->size);
}

sparc_status stored_blocks_check(const sparc_tensors *file, const char *path, stored_blocks b, const block_array *array,
                                 size_t arrays) {
  return visit(file, path, b, array, arrays, check_block);
}

static bool begins_with(const char *name, const char *prefix) { return strncmp(name, prefix, strlen(prefix)) == 0; }

static bool is_other(const char *name, const char *const *others) {
  for (; *others; others++)
    if (begins_with(name, *others)) return true;
  return false;
}

static bool is_block(const char *name, stored_blocks b, const block_array *array, size_t arrays) {
  const char *inner = name;
  for (size_t k = 0; k < arrays; k++)
    if (begins_with(name, array[k].prefix)) inner = name + strlen(array[k].prefix);
  for (size_t i = 0; i < b.blocks; i++)
    if (strcmp(b.block[i].name, inner) == 0) return true;
  return false;
}

sparc_status stored_surplus_check(const sparc_tensors *file, const char *path, stored_blocks b,
                                  const block_array *array, size_t arrays, const char *const *others) {
  size_t count = 0;
  for (size_t i = 0; i < sparc_tensors_contents_of(file).count; i++)
    count += !is_other(sparc_tensors_contents_of(file).tensors[i].name, others);
  if (count == b.blocks * arrays) return SPARC_OK; /* they are all there, so there are no others */
  for (size_t i = 0; i < sparc_tensors_contents_of(file).count; i++) {
    const char *name = sparc_tensors_contents_of(file).tensors[i].name;
    if (!is_other(name, others) && !is_block(name, b, array, arrays))
      return fail(SPARC_FORMAT, "'%.200s': tensor '%s' does not belong to the stored configuration", path,
                  quote(name).text);
  }
  return SPARC_OK;
}

sparc_status stored_blocks_read(const sparc_tensors *file, const char *path, stored_blocks b, const block_array *array,
                                size_t arrays) {
  return visit(file, path, b, array, arrays, read_block);
}

sparc_status stored_array_check(const sparc_tensors *file, const char *path, const stored_array *a) {
  return stored_tensor_check(file, path, a->name, a->dtype, (const size_t[]){a->rows, a->columns}, 2);
}

sparc_status stored_array_read(const sparc_tensors *file, const char *path, const stored_array *a) {
  const size_t count = a->rows * a->columns;
  return a->dtype == SPARC_F64 ? stored_f64_read(file, path, a->name, -INFINITY, a->data, count)
                               : stored_f32_read(file, path, a->name, -INFINITY, a->data, count);
}

sparc_status stored_settings_read(const sparc_tensors *file, const char *path, const settings_binding *binding) {
  const locale_guard guard = enter_c_locale();
  sparc_status status = SPARC_OK;
  const setting *s;
  void *at;
  for (int i = 0; status == SPARC_OK && (s = settings_row(binding, i, &at)); i++)
    if (s->key) status = setting_read_metadata(file, path, s, true, at);
  leave_c_locale(guard);
  return status;
}

sparc_status stored_format_error(const char *path, const char *what, sparc_status status) {
  if (status != SPARC_INVALID && status != SPARC_FORMAT) return status;
  char message[256];
  snprintf(message, sizeof message, "%s", sparc_error());
  return fail(SPARC_FORMAT, "'%.200s': %s: %s", path, what, message);
}
