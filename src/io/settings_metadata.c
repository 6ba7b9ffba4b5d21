/* SPDX-License-Identifier: MIT */
/* settings_metadata.c: settings as the metadata of safetensors files. */
#include "base/error.h"
#include "io/dtype.h"
#include "io/settings.h"

size_t settings_list_metadata(const settings_form *form, sparc_metadata *entry, char (*room)[SETTING_TEXT_SIZE]) {
  const setting *s;
  void *at;
  size_t count = 0;
  for (int i = 0; (s = settings_row(form, i, &at)); i++) {
    if (!s->key || (s->later && setting_is_zero(s, at))) continue;
    entry[count] = (sparc_metadata){.key = s->key, .value = setting_print(s, at, room[count])};
    count++;
  }
  return count;
}

sparc_status setting_read_metadata(const sparc_tensors *file, const char *path, const setting *s, bool ranged,
                                   void *at) {
  const char *text = sparc_tensors_metadata_find(file, s->key);
  char expected[96];
  if (!text && s->later) return SPARC_OK; /* what it means is zero, and so is the structure */
  if (!text) return fail(SPARC_FORMAT, "'%.200s': metadata '%s' is missing", path, s->key);
  if (setting_parse(s, text, ranged, at)) return SPARC_OK;
  return fail(SPARC_FORMAT, "'%.200s': metadata '%s' is '%s', expected %s", path, s->key, quote(text).text,
              setting_expected(s, ranged, expected, sizeof expected));
}
