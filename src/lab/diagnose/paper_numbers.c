/* SPDX-License-Identifier: MIT */
/* paper_numbers.c: numbers of [tab:gate_activity], [tab:retention_phase] and the text. */
#include "lab/diagnose/paper_numbers.h"

#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#define GATE(task, sd, sd_spread, saturation, saturation_spread, ratio, content)                                      \
  {"gate", task, "gate_deviation", 0, sd, sd_spread}, {"gate", task, "saturation", 0, saturation, saturation_spread}, \
      {"gate", task, "gate_ratio", 0, ratio, NAN}, {"gate", task, "content_ratio", 0, content, NAN},
#define RETENTION(task, scale, survival, relative, phase, clock)                                                       \
  {"retention", task, "decay_scale", 0, scale, NAN}, {"retention", task, "survival", 0, survival, NAN},                \
      {"retention", task, "relative_survival", 0, relative, NAN}, {"retention", task, "phase_degrees", 0, phase, NAN}, \
      {"retention", task, "clock_ratio", 0, clock, NAN},
#define SCALES(task, gain, ratio, product, norm)                                         \
  {"scales", task, "gain", 0, gain, NAN}, {"scales", task, "gain_ratio", 0, ratio, NAN}, \
      {"scales", task, "gain_product", 0, product, NAN}, {"scales", task, "norm_ratio", 0, norm, NAN},
#define KL(variant, task, divergence) {"interventions", task, variant, 0, divergence, NAN},
#define DEPTH(task, statistic, first, fourth) \
  {"layers", task, statistic, 1, first, NAN}, {"layers", task, statistic, 4, fourth, NAN},
#define EVOLUTION(task, metric, first, last) \
  {"evolution", task, metric, 1, first, NAN}, {"evolution", task, metric, 2, last, NAN},

/* a line for each line of the paper */
/* clang-format off */
const paper_number paper_numbers[] = {
    GATE("Autoencode", 0.0913, 0.0299, 32.67, 3.70, 1.171, 15.49)
    GATE("CountRecall", 0.0426, 0.0274, 23.50, 5.50, 1.252, 25.38)
    GATE("RepeatFirst", 0.4508, 0.0382, 95.73, 1.79, 1.816, 0.76)
    GATE("RepeatPrevious", 0.0081, 0.0013, 31.52, 4.34, 1.244, 16.43)
    GATE("Noisy Pendulum", 0.0890, 0.0203, 75.65, 1.48, 1.079, 4.23)
    GATE("CartPole", 0.0072, 0.0015, 28.33, 5.32, 1.149, 26.49)
    GATE("HigherLower", 0.0028, 0.0015, 0.01, 0.02, 1.014, 75.86)
    GATE("Ant-P", 0.0075, 0.0060, 0.74, 0.93, 1.020, 58.37)
    GATE("Walker-P", 0.0044, 0.0007, 1.20, 0.77, 1.026, 55.15)
    GATE("Hopper-P", 0.0148, 0.0078, 9.82, 2.93, 1.128, 34.79)
    GATE("Cheetah-P", 0.0146, 0.0020, 6.09, 0.79, 1.032, 42.82)
    GATE("FordA", 0.0082, 0.0044, 3.01, 0.15, 1.011, 51.45)
    GATE("StarLightCurves", 0.0131, 0.0020, 1.04, 0.72, 1.004, 55.66)
    GATE("UWave", 0.0223, 0.0037, 4.45, 1.42, 1.050, 47.08)
    GATE("Permuted MNIST", 0.0094, 0.0024, 2.66, 0.57, 1.006, 57.53)
    GATE("Seq. CIFAR-10 Gray", 0.0132, 0.0018, 3.33, 1.30, 1.008, 48.01)
    RETENTION("Autoencode", 2.769, 63.99, 1.039, 30.553, 38.05)
    RETENTION("CountRecall", 0.708, 80.46, 1.114, 17.901, 25.30)
    RETENTION("RepeatFirst", 0.255, 99.12, 1.091, 2.963, 3.29)
    RETENTION("RepeatPrevious", 0.223, 84.66, 1.584, 6.026, 9.74)
    RETENTION("Noisy Pendulum", 4.416, 54.92, 0.967, 30.287, 41.12)
    RETENTION("CartPole", 0.623, 67.66, 1.210, 17.442, 22.16)
    RETENTION("HigherLower", 1.801, 54.09, 0.864, 17.852, 43.13)
    RETENTION("Ant-P", 2.762, 17.71, 0.465, 5.492, 45.33)
    RETENTION("Walker-P", 1.782, 46.55, 0.892, 13.414, 42.92)
    RETENTION("Hopper-P", 2.856, 46.14, 0.860, 33.468, 45.57)
    RETENTION("Cheetah-P", 2.261, 35.86, 0.708, 20.096, 49.86)
    RETENTION("FordA", 0.591, 95.15, 1.043, 0.776, 3.00)
    RETENTION("StarLightCurves", 1.216, 91.40, 0.991, 1.778, 5.77)
    RETENTION("UWave", 0.895, 94.86, 1.024, 1.459, 4.02)
    RETENTION("Permuted MNIST", 0.590, 96.21, 1.032, 0.623, 2.97)
    RETENTION("Seq. CIFAR-10 Gray", 0.520, 96.23, 1.042, 0.581, 2.56)
    SCALES("RepeatFirst", 3.574, 0.324, 1.153, 21.2)
    SCALES("FordA", 0.289, 0.702, 0.203, 59.2)
    KL("neutral-gate", "RepeatFirst", 1.7050)
    KL("neutral-gate", "Walker-P", 0.0014)
    KL("neutral-gate", "FordA", 0.0009)
    KL("no-phase-clock", "RepeatFirst", 5.4257)
    KL("no-phase-clock", "Walker-P", 5.2410)
    KL("no-phase-clock", "FordA", 3.9080)
    DEPTH("FordA", "saturation", 9.02, 0.75)
    DEPTH("FordA", "gain_ratio_deviation", 0.1056, 0.3239)
    DEPTH("UWave", "gate_deviation", 0.0119, 0.0315)
    EVOLUTION("RepeatFirst", "saturation", 54.152, 95.625)
    EVOLUTION("RepeatFirst", "gate_deviation", 0.331, 0.735)
    EVOLUTION("RepeatFirst", "state_rms", 2.666, 22.638)
    EVOLUTION("HigherLower", "gate_deviation", 0.008, 0.010)
    {NULL, NULL, NULL, 0, 0, 0}
};
/* clang-format on */

/* data sets whose name differs from the paper's title */
static const char *const other_names[][2] = {
    {"UWaveGestureLibraryAll", "UWave"}, {"pmnist", "Permuted MNIST"}, {"cifar10-gray", "Seq. CIFAR-10 Gray"}};

/* compares letters and digits, ignoring case */
static bool is_named(const char *a, const char *b) {
  for (;; a++, b++) {
    while (*a && !isalnum((unsigned char)*a)) a++;
    while (*b && !isalnum((unsigned char)*b)) b++;
    if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) return false;
    if (!*a) return true;
  }
}

const paper_number *paper_find(const char *table, const char *task, const char *key, int place) {
  for (size_t i = 0; i < sizeof other_names / sizeof *other_names; i++)
    if (is_named(task, other_names[i][0])) task = other_names[i][1];
  for (const paper_number *n = paper_numbers; n->table; n++)
    if (n->place == place && strcmp(n->table, table) == 0 && strcmp(n->key, key) == 0 && is_named(task, n->task))
      return n;
  return NULL;
}
