/* SPDX-License-Identifier: MIT */
/* start.c: initialisation of a run from a checkpoint. The network must be equal except for its head; normalisation and
 * training settings are those of the new run. */
#include "run/start.h"

#include "base/error.h"
#include "io/dtype.h"
#include "io/folder_file.h"
#include "io/settings.h"
#include "run/run_settings.h"
#include "train/train_settings.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

sparc_status start_open(const char *model, start_name *path, checkpoint *out) {
  struct stat status;
  const bool folder = stat(model, &status) == 0 && S_ISDIR(status.st_mode);
  const int length = snprintf(path->text, sizeof path->text, folder ? "%s/best.safetensors" : "%s", model);
  if (length >= (int)sizeof path->text)
    return fail(SPARC_INVALID, "from has %zu characters, expected fewer", strlen(model));
  bool found;
  const sparc_status regular = folder ? folder_file_find(path->text, &found) : SPARC_OK;
  return regular != SPARC_OK ? regular : checkpoint_open(path->text, false, out);
}

void start_inherit(const checkpoint *file, bool one_output, sparc_run_config *config) {
  const sparc_network_config *theirs = &file->state.config.network;
  sparc_network_config *n = &config->train.network;
  if (!n->cell) {
    n->cell = theirs->cell;
    if (!n->cell_options && !config->variant) n->cell_options = theirs->cell_options;
    if (n->H < 1 && config->state_size < 1) n->H = theirs->H;
  }
  if (!run_is_given(config, &n->layers)) n->layers = theirs->layers;
  if (n->width < 1) n->width = theirs->width;
  if (!run_is_given(config, &n->embedding)) n->embedding = theirs->embedding;
  const sparc_head_input head = file->state.head.input;
  run_mark(config, &n->layers);
  run_mark(config, &n->embedding);
  if (run_is_given(config, &config->head) || !one_output || (head != SPARC_HEAD_MEAN && head != SPARC_HEAD_LAST))
    return;
  config->head = head;
  run_mark(config, &config->head);
}

sparc_status start_check(const checkpoint *file, const sparc_network_config *network) {
  sparc_network_config mine = *network, theirs = file->state.config.network;
  const settings_binding here = {.part = {{.table = &network_settings, .at = &mine}}},
                         there = {.part = {{.table = &network_settings, .at = &theirs}}};
  const setting *s;
  void *at, *other;
  if (theirs.layer)
    return fail(SPARC_UNSUPPORTED, "'%.200s' has layers of several kinds, which a run cannot start from", file->path);
  for (int i = 0; (s = settings_row(&here, i, &at)) && settings_row(&there, i, &other); i++) {
    char buffer[2][SETTING_TEXT_SIZE];
    /* neither of these has weights */
    if (strcmp(s->name, "dropout") == 0 || strcmp(s->name, "init") == 0) continue;
    const char *now = setting_print(s, at, buffer[0]), *then = setting_print(s, other, buffer[1]);
    if (strcmp(now ? now : "", then ? then : "") != 0)
      return fail(SPARC_INVALID, "%s is '%.100s', but '%.100s' in '%.200s', from which the run starts", s->name,
                  now ? now : "", then ? then : "", file->path);
  }
  return SPARC_OK;
}

/* names of channels, or else of values; *count 0: there are none */
static const char *const *names_of(const sparc_columns *c, int *count) {
  *count = !c ? 0 : c->channels ? c->channels : c->values;
  return !c ? NULL : c->channels ? c->channel : c->value;
}

sparc_status start_check_columns(const checkpoint *file, const sparc_preprocessing *preprocessing) {
  int count, others, moved = -1;
  const char *const *now = names_of(preprocessing->columns, &count);
  const char *const *then = names_of(file->preprocessing.view.columns, &others);
  for (int i = 0; i < count && count == others; i++) {
    int j = 0;
    while (j < others && strcmp(now[i], then[j]) != 0) j++;
    if (j == others) return SPARC_OK; /* another table */
    if (i != j && moved < 0) moved = i;
  }
  if (count != others || moved < 0) return SPARC_OK;
  return fail(SPARC_FORMAT, "column '%s' of the data is where '%s' is in '%.200s', expected the same order",
              quote(now[moved]).text, quote(then[moved]).text, file->path);
}

static bool same_labels(const sparc_preprocessing *a, const sparc_preprocessing *b) {
  if (a->classes != b->classes) return false;
  for (int i = 0; i < a->classes; i++)
    if (strcmp(a->labels[i], b->labels[i]) != 0) return false;
  return true;
}

bool start_has_head(const checkpoint *file, const sparc_head_config *head, const sparc_preprocessing *preprocessing) {
  const sparc_head_config *theirs = &file->state.head;
  return theirs->input == head->input && theirs->outputs == head->outputs && theirs->hidden == head->hidden &&
         same_labels(&file->preprocessing.view, preprocessing);
}
