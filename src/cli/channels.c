/* SPDX-License-Identifier: MIT */
/* channels.c: channels and values by name, else by position with a warning. */
#include "cli/channels.h"

#include "cli/cli.h"
#include "io/dtype.h"

#include <string.h>

const sparc_columns *channels_like(const sparc_model *model, const sparc_read_options *given, sparc_columns *buffer) {
  const sparc_columns *names = sparc_model_info_of(model).preprocessing->columns;
  if (!names) return NULL;
  *buffer = *names;
  if (given->label_column) buffer->label = NULL;
  if (given->id_column) buffer->id = NULL;
  if (given->time_column) buffer->time = NULL;
  if (given->ignore_columns) buffer->ignored = 0;
  if (given->channels > 0) buffer->channels = 0;
  return buffer;
}

channel_text channels_list(const sparc_columns *columns) {
  channel_text list = {.text = ""};
  const bool channels = columns->channels > 0;
  const char *const *names = channels ? columns->channel : columns->value;
  const int count = channels ? columns->channels : columns->values;
  size_t used = 0;
  for (int i = 0; i < count; i++) {
    const quotable name = quote(names[i]);
    if (used + strlen(name.text) + sizeof ", , ..." > sizeof list.text) {
      snprintf(list.text + used, sizeof list.text - used, ", ...");
      break;
    }
    used += (size_t)snprintf(list.text + used, sizeof list.text - used, i ? ", %s" : "%s", name.text);
  }
  return list;
}

/* what names refer to, if columns can be confused: steps of a single channel are numbered */
static const char *named_things(const sparc_columns *columns) {
  if (!columns) return NULL;
  if (columns->values) return "values";
  return columns->channels > 1 || (columns->channels && columns->steps) ? "channels" : NULL;
}

void channels_warn(const char *who, const char *file, const sparc_columns *model, const sparc_columns *found) {
  const char *known = named_things(model), *there = named_things(found);
  if (known && !there)
    cli_message(who, "warning: %s has no names of %s: its columns are taken in the order %s", quote(file).text, known,
                channels_list(model).text);
  if (!known && there)
    cli_message(who, "warning: the model has no names of %s: those of %s are taken in the order %s", there,
                quote(file).text, channels_list(found).text);
}
