/* SPDX-License-Identifier: MIT */
/* settings_metadata.c: settings as the metadata of safetensors files. */
#include "base/error.h"
#include "io/dtype.h"
#include "io/settings.h"

size_t settings_list_metadata(const settings_binding *binding, sparc_metadata *entry,
                              char (*buffer)[SETTING_TEXT_SIZE]) {
  const setting *s;
  void *at;
  size_t count = 0;
  for (int i = 0; (s = settings_row(binding, i, &at)); i++) {
    if (!s->key || (s->zero_if_absent && setting_is_zero(s, at))) continue;
    entry[count] = (sparc_metadata){.key = s->key, .value = setting_print(s, at, buffer[count])};
    count++;
  }
  return count;
}

sparc_status setting_read_metadata(const sparc_tensors *file, const char *path, const setting *s, bool check_range,
                                   void *at) {
  const char *text = sparc_tensors_metadata_find(file, s->key);
  char expected[96];
  if (!text && s->zero_if_absent) return SPARC_OK; /* zero, which the structure already is */
  if (!text) return fail(SPARC_FORMAT, "'%.200s': metadata '%s' is missing", path, s->key);
  if (setting_parse(s, text, check_range, at)) return SPARC_OK;
  return fail(SPARC_FORMAT, "'%.200s': metadata '%s' is '%s', expected %s", path, s->key, quote(text).text,
              setting_expected(s, check_range, expected, sizeof expected));
}
