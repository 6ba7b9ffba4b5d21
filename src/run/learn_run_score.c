/* SPDX-License-Identifier: MIT */
/* learn_run_score.c: prequential scores of a run over a stream. */
#include "run/learn_run_state.h"

#include <math.h>

void learn_run_add_score(sparc_learn_run *run, int label) {
  const sparc_learner_report r = sparc_learner_report_of(run->learner);
  if (!r.scored) return;
  run->recent[run->targets++ % SPARC_LEARN_RUN_RECENT] = (target_score){r.loss, r.baseline, r.correct};
  run->loss += r.loss;
  run->baseline += r.baseline;
  run->correct += r.correct;
  if (run->columns.targets > 0 && isfinite(r.last_target)) run->last_target += r.last_target, run->last_targets++;
  if (label >= 0) run->frequency[label]++;
}

void learn_run_add_horizon_scores(sparc_learn_run *run) {
  for (int j = 0; j < run->horizons; j++) {
    sparc_forecast_score score;
    horizon_sum *sum = &run->sum[j];
    if (sparc_learner_forecast_score(run->learner, j, &score) != SPARC_OK || score.channels == 0) continue;
    sum->targets += score.channels;
    sum->intervals += score.intervals;
    sum->covered += score.covered;
    sum->loss += score.channels * score.loss;
    sum->persistence += score.channels * score.persistence;
    sum->seasonal_naive += score.channels * score.seasonal_naive;
  }
}

static double majority_share(const sparc_learn_run *run) {
  long most = 0;
  for (int k = 0; k < sparc_learner_info_of(run->learner).config->outputs; k++)
    if (run->frequency[k] > most) most = run->frequency[k];
  return (double)most / (double)run->targets;
}

static sparc_horizon_score horizon_score_of(const sparc_learn_run *run, int j) {
  const horizon_sum *sum = &run->sum[j];
  const double n = (double)sum->targets;
  return (sparc_horizon_score){.horizon = run->horizon[j],
                               .targets = sum->targets,
                               .intervals = sum->intervals,
                               .loss = sum->loss / n,
                               .persistence = sum->persistence / n,
                               .seasonal_naive = sum->seasonal_naive / n,
                               .coverage = (double)sum->covered / (double)sum->intervals};
}

sparc_learn_run_score learn_run_score_of(const sparc_learn_run *run) {
  sparc_learn_run_score s = {0, NAN, NAN, NAN, NAN, NAN, NAN, NAN, .horizons = 0};
  if (!learn_run_is_ready(run)) return s;
  s.horizons = run->horizons;
  for (int j = 0; j < run->horizons; j++) s.horizon[j] = horizon_score_of(run, j);
  if (run->targets == 0) return s;
  s.targets = run->targets;
  const double n = (double)run->targets;
  const long held = run->targets < SPARC_LEARN_RUN_RECENT ? run->targets : SPARC_LEARN_RUN_RECENT;
  target_score sum = {0, 0, 0};
  for (long i = 0; i < held; i++) {
    sum.loss += run->recent[i].loss;
    sum.baseline += run->recent[i].baseline;
    sum.correct += run->recent[i].correct;
  }
  const bool classes = sparc_learner_info_of(run->learner).config->objective == SPARC_LEARN_CLASSIFY;
  s.loss = run->loss / n;
  s.baseline = classes ? majority_share(run) : run->baseline / n;
  s.accuracy = (double)run->correct / n;
  s.recent_loss = sum.loss / (double)held;
  s.recent_baseline = sum.baseline / (double)held;
  s.recent_accuracy = sum.correct / (double)held;
  if (run->last_targets > 0) s.last_target = run->last_target / (double)run->last_targets;
  return s;
}
