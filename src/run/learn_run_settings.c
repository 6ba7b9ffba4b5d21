/* SPDX-License-Identifier: MIT */
/* learn_run_settings.c: settings of a run over a stream, and the configuration of a new learner. */
#include "base/error.h"
#include "data/text.h"
#include "io/settings_rows.h"
#include "online/learner_settings.h"
#include "run/cell_choice.h"
#include "run/learn_run_state.h"
#include "run/run_settings.h"
#include "train/train_settings.h"

#include <string.h>

/* ---- table -------------------------------------------------------------------------------------- */

#define SETTING_STRUCT sparc_learn_run_config
static const setting learn_rows[] = {
    VARIANT_SETTING,
    STATE_SIZE_SETTING(state_size, "128", NULL),
    {"target", NULL, TEXT(target), OVERRIDES("label")},
    {"label", NULL, TEXT(label), OVERRIDES("target")},
    {"classes", NULL, TEXT(classes)},
    {"id", NULL, TEXT(id)},
    {"time", NULL, TEXT(time)},
    {"ignore", NULL, TEXT(ignore)},
    {"by-position", NULL, FLAG(by_position), ROLE(UNRECORDED)},
    {"decimal", NULL, TEXT(decimal)},
    {"horizons", NULL, TEXT(horizons), OVERRIDES("horizon")},
    {"model", NULL, TEXT(model), ROLE(UNRECORDED)},
    {"save-every", NULL, LONG(save_every, 0, 1e15), ROLE(UNRECORDED), DEFAULT("0")},
    {"resume", NULL, FLAG(resume), ROLE(COMMAND_LINE), OVERRIDES("force resume-or-create")},
    {"resume-or-create", NULL, FLAG(resume_or_create), ROLE(COMMAND_LINE), OVERRIDES("force resume")},
    {"force", NULL, FLAG(force), ROLE(COMMAND_LINE), OVERRIDES("resume resume-or-create")},
    {"frozen", NULL, FLAG(frozen), ROLE(UNRECORDED)},
};
static const settings_table learn_settings = SETTINGS_TABLE(learn_rows);

const char learn_run_unused_settings[] = "layers dropout"; /* a learner has one layer */

settings_binding learn_binding(sparc_learn_run_config *c) {
  uint64_t *given = c->given;
  return (settings_binding){
      .part = {{.table = &network_settings,
                .at = &c->learner.network,
                .given = &given[0],
                .prefix = "learner.network.",
                .without = learn_run_unused_settings},
               {.table = &learner_settings, .at = &c->learner, .given = &given[1], .prefix = "learner."},
               {.table = &learn_settings, .at = c, .given = &given[2]}}};
}

sparc_status sparc_learn_run_config_set(sparc_learn_run_config *config, const char *name, const char *value) {
  if (!config) return fail(SPARC_INVALID, "config is NULL");
  const settings_binding binding = learn_binding(config);
  return settings_set(&binding, name, value);
}

/* ---- configuration of a new learner --------------------------------------------------------------- */

sparc_status learn_run_check_decimal(const char *decimal) {
  if (!decimal || strcmp(decimal, ".") == 0 || strcmp(decimal, ",") == 0) return SPARC_OK;
  return fail(SPARC_INVALID, "decimal is '%.20s', expected . or a comma", decimal);
}

/* the horizons of a mixture from their text */
sparc_status learn_run_read_horizons(const char *text, sparc_learner_config *l) {
  span rest = {text, strlen(text)};
  int count = 0;
  for (bool more = true; more; count++) {
    const span number = span_trim(span_cut(&rest, ',', &more));
    int horizon;
    if (count == SPARC_MAX_HORIZONS || !parse_int(number, &horizon) || horizon < 1)
      return fail(SPARC_INVALID, "horizons is '%.80s', expected up to %d comma-separated whole numbers from 1", text,
                  SPARC_MAX_HORIZONS);
    *(count == 0 ? &l->horizon : &l->more_horizons[count - 1]) = horizon;
  }
  if (count > 1 && l->forecaster == SPARC_FORECAST_NETWORK)
    return fail(SPARC_INVALID, "horizons is '%.80s', but a network has one horizon: expected forecaster mixture", text);
  return SPARC_OK;
}

enum { MIXTURE_MODES = 16 }; /* default of a mixture, whose network is one of many experts */

sparc_status learn_run_resolve(sparc_learn_run_config *c, const stream_columns *columns,
                               char options[CELL_OPTIONS_SIZE]) {
  sparc_learner_config *l = &c->learner;
  const settings_binding binding = learn_binding(c);
  sparc_status status = settings_check(&binding, false);
  if (status != SPARC_OK) return status;
  const bool embeds = l->network.embedding != SPARC_EMBED_NONE;
  if (!embeds && l->network.width > 0)
    return fail(SPARC_INVALID, "width is %d, but the network has no embedding", l->network.width);
  const bool sized = l->network.H > 0 || c->state_size > 0;
  settings_fill_defaults(&binding, DEFAULT_DATA);
  l->objective = c->label ? SPARC_LEARN_CLASSIFY : c->target ? SPARC_LEARN_REGRESS : SPARC_LEARN_FORECAST;
  if (c->horizons && l->objective != SPARC_LEARN_FORECAST)
    return fail(SPARC_INVALID, "horizons needs a forecast, without target and label: expected horizon");
  if (c->horizons) status = learn_run_read_horizons(c->horizons, l);
  if (status != SPARC_OK) return status;
  const bool mixture = l->objective == SPARC_LEARN_FORECAST && l->forecaster == SPARC_FORECAST_MIXTURE;
  if (!c->horizons && !settings_is_given(&binding, settings_find_member(&binding, &l->horizon)))
    l->horizon = l->objective == SPARC_LEARN_FORECAST;
  l->outputs = (int)(c->label ? columns->classes : c->target ? columns->targets : 0);
  sparc_network_config *n = &l->network;
  n->inputs = (int)columns->inputs;
  n->layers = 0;
  n->dropout = 0;
  n->features = SPARC_FEATURES_OUTPUT;
  n->init = SPARC_INIT_CLASSIFICATION;
  if (!embeds) {
    n->embedding = SPARC_EMBED_NONE;
    n->width = 0;
  }
  const cell_request request = {.kind = n->cell,
                                .options = n->cell_options,
                                .variant = c->variant,
                                .modes = n->H > 0            ? n->H
                                         : mixture && !sized ? MIXTURE_MODES
                                                             : 0,
                                .state_size = c->state_size};
  status = cell_resolve(&request, embeds ? n->width : n->inputs, &n->H, options);
  n->cell_options = options;
  return status;
}
