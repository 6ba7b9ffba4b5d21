/* SPDX-License-Identifier: MIT */
/* stored_blocks.h: shared parts of all kinds of checkpoints: networks as blocks, further arrays, settings and the
 * identity of the format. Readers check everything, with one error message each (stored_tensor.h); the writer is
 * stored_write.c.
 *
 * A network's numbers are arrays over its blocks, each block a tensor PREFIX + NAME: weights "", the optimiser's
 * moments "opt.m." and "opt.v.". A file has the arrays of a block one after the other. */
#ifndef SPARC_IO_STORED_BLOCKS_H
#define SPARC_IO_STORED_BLOCKS_H

#include "io/settings.h"
#include "io/stored_tensor.h"
#include "sparc/cell.h"

enum { STORED_NAME = 96, STORED_MOMENTS = 2, STORED_IDENTITIES = 3 };

#define STORED_FIRST_MOMENT  "opt.m."
#define STORED_SECOND_MOMENT "opt.v."

extern const char *const stored_identity_keys[STORED_IDENTITIES]; /* format, format_version, sparc_version */

typedef struct stored_blocks {
  const sparc_block *block;
  size_t blocks;
} stored_blocks;

/* numbers over all blocks, at their offsets */
typedef struct block_array {
  const char *prefix;
  double least; /* -INFINITY: any finite number */
  float *data;
} block_array;

/* every block of these arrays in its shape: before memory of a size given by the file is allocated */
sparc_status stored_blocks_check(const sparc_tensors *file, const char *path, stored_blocks b, const block_array *array,
                                 size_t arrays);
/* whether the file has tensors besides these and those whose names begin with one of `others`, which ends with NULL;
 * SPARC_FORMAT names the first. Of the file stored_blocks_check has found all of them. */
sparc_status stored_surplus_check(const sparc_tensors *file, const char *path, stored_blocks b,
                                  const block_array *array, size_t arrays, const char *const *others);
/* reads them, each number finite and at least `least` */
sparc_status stored_blocks_read(const sparc_tensors *file, const char *path, stored_blocks b, const block_array *array,
                                size_t arrays);

/* a tensor of rows x columns, F32 or F64 */
typedef struct stored_array {
  const char *name;
  sparc_dtype dtype;
  size_t rows, columns;
  void *data;
} stored_array;

sparc_status stored_array_check(const sparc_tensors *file, const char *path, const stored_array *a);
sparc_status stored_array_read(const sparc_tensors *file, const char *path, const stored_array *a); /* finite numbers */

/* stored_settings_read reads every setting of the form that has a key, in the range that it has */
sparc_status stored_settings_read(const sparc_tensors *file, const char *path, const settings_binding *binding);

/* stored_format_error converts SPARC_INVALID, caused by values of a file, to SPARC_FORMAT with "'PATH': WHAT: ..." */
sparc_status stored_format_error(const char *path, const char *what, sparc_status status);

/* ---- writing ---- */

/* a file in the making; the order of the calls is that of the file */
typedef struct stored_listing {
  sparc_tensor_source *tensor;
  char (*name)[STORED_NAME];
  sparc_metadata *metadata;
  char (*value)[SETTING_TEXT_SIZE];
  size_t tensors, names, entries;
} stored_listing;

/* with space for so many arrays of the blocks, further tensors and further entries; stored_listing_free releases what
 * *l holds in any case */
sparc_status stored_listing_create(stored_blocks b, size_t arrays, size_t tensors, size_t entries, stored_listing *l);
void stored_listing_free(stored_listing *l);

void stored_list_blocks(stored_listing *l, stored_blocks b, const block_array *array, size_t arrays);
void stored_list_array(stored_listing *l, const stored_array *a);
void stored_list_tensor(stored_listing *l, const sparc_tensor_source *tensor);

/* the format comes first, then the settings of one form, then other entries; texts must live until the file is written
 */
void stored_list_format(stored_listing *l, const char *format, const char *version);
void stored_list_settings(stored_listing *l, const settings_binding *binding);
void stored_list_entries(stored_listing *l, const sparc_metadata *entry, size_t count);

#endif
