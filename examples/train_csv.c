/* SPDX-License-Identifier: MIT */
/* train_csv.c [FILE [MODEL]]: train a classifier on a CSV file (one series per row, label last), test it on held-out
 * rows, and save it. Without arguments it generates a file.   cc train_csv.c $(pkg-config --cflags --libs sparc) */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <sparc/train.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int give_up(void) { return fprintf(stderr, "train_csv: %s\n", sparc_error()), 1; }

/* noisy waves of two frequencies */
static void make_up(FILE *file) {
  for (int row = 0; row < 120; row++) {
    const double phase = rand() % 628 / 100.0, frequency = row % 2 ? 0.4 : 0.8;
    for (int t = 0; t < 30; t++) fprintf(file, "%.3f,", 5 + sin(frequency * t + phase) + rand() % 100 / 100.0);
    fputs(row % 2 ? "slow\n" : "fast\n", file);
  }
}

int main(int argc, char **argv) {
  char path[] = "train_csv-XXXXXX"; /* in the current folder, removed once it is read */
  FILE *file = argc > 1 ? NULL : fdopen(mkstemp(path), "w");
  if (file) make_up(file), fclose(file);
  const sparc_data_options options = {.read = {.format = SPARC_DATA_CSV}};
  sparc_data_split split; /* nine tenths for fitting, one tenth for validation */
  const sparc_status status = sparc_data_split_load(argc > 1 ? argv[1] : path, &options, &split);
  if (file) unlink(path);
  if (status != SPARC_OK) return give_up();

  /* normalise all rows with the statistics of the fit rows */
  double mean, stddev;
  if (sparc_dataset_moments(split.fit, &mean, &stddev) != SPARC_OK ||
      sparc_dataset_normalise(split.fit, &mean, &stddev) != SPARC_OK ||
      sparc_dataset_normalise(split.validation, &mean, &stddev) != SPARC_OK)
    return give_up();
  const sparc_samples fit = sparc_samples_of_dataset(split.fit), held_out = sparc_samples_of_dataset(split.validation);

  sparc_train_config config =
      sparc_train_defaults(NULL); /* the paper's settings, but a small network and few updates */
  const sparc_head_config head = {.input = SPARC_HEAD_MEAN, .outputs = sparc_dataset_info_of(split.fit).classes};
  config.network = (sparc_network_config){.cell = "sparc", .H = 16, .inputs = 1, .layers = 2, .width = 16};
  config.network.embedding = SPARC_EMBED_LINEAR, config.network.init = SPARC_INIT_CLASSIFICATION;
  config.network.head = &head, config.network.heads = 1;
  config.updates = 100, config.warmup = 10, config.learning_rate = 0.01;
  sparc_trainer *trainer;
  sparc_update_report report = {0};
  if (sparc_trainer_create(&config, &fit, &trainer) != SPARC_OK) return give_up();
  while (report.update < config.updates)
    if (sparc_trainer_update(trainer, &report) != SPARC_OK) return give_up();
  sparc_evaluation result;
  if (sparc_trainer_evaluate(trainer, &held_out, &result) != SPARC_OK) return give_up();
  printf("loss %.3f, accuracy %.2f on %ld held-out rows\n", report.loss, result.accuracy, result.examples);
  const sparc_preprocessing treatment = {.channels = 1, .mean = &mean, .stddev = &stddev};
  if (argc > 2 && sparc_trainer_save(trainer, &treatment, NULL, 0, argv[2]) != SPARC_OK) return give_up();
  sparc_trainer_free(trainer);
  sparc_data_split_free(&split);
  return result.accuracy * head.outputs > 1.5 ? 0 : 1; /* chance is 1 / classes */
}
