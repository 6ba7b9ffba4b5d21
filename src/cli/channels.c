/* SPDX-License-Identifier: MIT */
/* channels.c: channels by name, else by position with a warning. */
#include "cli/channels.h"

#include "cli/cli.h"
#include "io/dtype.h"

#include <string.h>

const sparc_columns *channels_like(const sparc_model *model, const sparc_read_options *given, sparc_columns *room) {
  const sparc_columns *names = sparc_model_preprocessing(model)->columns;
  if (!names) return NULL;
  *room = *names;
  if (given->label_column) room->label = NULL;
  if (given->id_column) room->id = NULL;
  if (given->time_column) room->time = NULL;
  if (given->ignore_columns) room->ignored = 0;
  if (given->channels > 0) room->channels = 0;
  return room;
}

channel_text channels_list(const sparc_columns *columns) {
  channel_text list = {.text = ""};
  size_t used = 0;
  for (int i = 0; i < columns->channels; i++) {
    const quotable name = quote(columns->channel[i]);
    if (used + strlen(name.text) + sizeof ", , ..." > sizeof list.text) {
      snprintf(list.text + used, sizeof list.text - used, ", ...");
      break;
    }
    used += (size_t)snprintf(list.text + used, sizeof list.text - used, i ? ", %s" : "%s", name.text);
  }
  return list;
}

void channels_warn(const char *who, const char *file, const sparc_columns *model, const sparc_columns *found) {
  const bool known = model && model->channels > 0, named = found && found->channels > 0;
  if (known && !named)
    cli_message(who, "warning: %s has no names of channels: its columns are taken in the order %s", quote(file).text,
                channels_list(model).text);
  if (!known && named)
    cli_message(who, "warning: the model has no names of channels: those of %s are taken in the order %s",
                quote(file).text, channels_list(found).text);
}
