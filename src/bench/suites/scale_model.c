/* SPDX-License-Identifier: MIT */
/* scale_model.c: the communication time of an update, see docs/cluster.md. */
#include "bench/suites/scale_model.h"

enum { AGREEMENT = 512, LOSSES = 16 }; /* bytes from every rank */

int scale_rounds(int ranks) {
  int rounds = 1;
  while ((1L << rounds) < ranks) rounds++;
  return rounds;
}

static double gather(const scale_network *n, int ranks, double bytes) {
  return scale_rounds(ranks) * n->latency + (ranks - 1) * bytes / n->bytes_per_second;
}

double scale_communication(const scale_network *n, int ranks, size_t params) {
  if (ranks < 2) return 0;
  const double gradient = sizeof(float) * (double)params;
  const double slices = (ranks - 1) * (n->latency + gradient / ranks / n->bytes_per_second);
  return gather(n, ranks, AGREEMENT) + gather(n, ranks, LOSSES) + 2 * slices;
}
